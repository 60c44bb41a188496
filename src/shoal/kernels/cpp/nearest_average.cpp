// The nearest of some average records, for records that miss values; see shoal.kernels.nearest_average.
#include "nearest_average.hpp"

#include "encoded.hpp"

namespace shoal::ISA {

void nearest_average(Table values, Table averages, Floats centre, Integers kinds, Floats weights, Watch watch,
                     Span<Index> nearest) {
    Index d = values.columns;
    require(nearest.size == values.rows, "nearest must have an element for each record");
    require(averages.columns == d && centre.size == d && kinds.size == d && weights.size == d,
            "averages, centre, kinds and weights must have the columns of the values");
    for (Index i = 0; i < values.rows && !watch.stopped(); i++) {
        double best = INFINITE, best_unknown = INFINITE;
        nearest[i] = 0;
        for (Index g = 0; g < averages.rows; g++) {
            double known = 0.0, unknown = 0.0;
            for (Index j = 0; j < d; j++) {
                bool missing = std::isnan(values[i][j]);
                double value = missing ? centre[j] : values[i][j], step = value - averages[g][j];
                double apart = kinds[j] != MODE ? step * step : value == averages[g][j] ? 0.0 : weights[j];
                (missing ? unknown : known) += apart;
            }
            if (known < best || (known == best && unknown < best_unknown)) {
                best = known;
                best_unknown = unknown;
                nearest[i] = g;
            }
        }
    }
}

} // namespace shoal::ISA
