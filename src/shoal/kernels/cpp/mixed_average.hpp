// Entry point of mixed_average.cpp.
#include "encoded.hpp"

namespace shoal::ISA {

// Write the average of all records, then that of those left after the first leaving one is gone, the second, ...
void averages_as_they_leave(const EncodedMatrix &space, Integers leaving, Matrix<double> averages);

} // namespace shoal::ISA
