// Entry points of matching_bound.cpp; see shoal.kernels.matching_bound.
#include "arrays.hpp"

namespace shoal::ISA {

// Write into `shares` what every record adds at least to the SSE of any partition; return how many steps were taken.
//
// The pairs of record i are start[i] .. start[i + 1] - 1: the other record, the place of the same pair among those of
// the other, and the squared distance. No pair that is not listed is nearer than reach[i]. `sums` gets for each record
// the sum of the 0, 1, ..., 2k - 2 smallest squared distances, as they are shared out.
Index matching_shares(Index k, Integers start, Integers other, Integers twin, Floats apart, Floats reach, Index steps,
                      double first_step, double last_step, Watch watch, Span<double> shares, Matrix<double> sums);

} // namespace shoal::ISA
