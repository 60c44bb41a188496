// The average of attributes of every type, as records leave; see shoal.kernels.mixed_average.
#include "mixed_average.hpp"

#include "tally.hpp"

namespace shoal::ISA {

void averages_as_they_leave(const EncodedMatrix &space, Integers leaving, Matrix<double> averages) {
    space.require_sizes();
    Index n = space.values.rows;
    require(leaving.size < n && averages.rows == leaving.size + 1 && averages.columns == space.values.columns,
            "averages must have a column for each attribute, and a row more than records leave");
    require_indices(leaving, 0, n, "records that leave must be among all");
    Tally tally(space);
    for (Index gone = 0; gone <= leaving.size; gone++) {
        tally.average(n - gone, averages.row(gone));
        if (gone < leaving.size)
            tally.count(leaving[gone], -1);
    }
}

} // namespace shoal::ISA
