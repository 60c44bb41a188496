// Entry points of wildcards.cpp; see shoal.kernels.wildcards.
#include "arrays.hpp"

namespace shoal::ISA {

// Add up, for each row asked, the values of all rows that match it: those alike wherever neither is 0, a missing value.
void matching_sums(Matrix<const std::int32_t> asked, Matrix<const std::int32_t> rows, Table values, Watch watch,
                   Matrix<double> sums);

} // namespace shoal::ISA
