// Entry point of nearest_average.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write, for each record, the average record nearest to it in the values that it has.
void nearest_average(Table values, Table averages, Floats centre, Integers kinds, Floats weights, Watch watch,
                     Span<Index> nearest);

} // namespace shoal::ISA
