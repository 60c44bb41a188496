// Entry points of matching_bound.cpp; see shoal.kernels.matching_bound.
#include "arrays.hpp"

namespace shoal::ISA {

// Write into `shares` what every record adds at least to the SSE of any partition; return how many steps were taken.
//
// The pairs of record i are start[i] .. start[i + 1] - 1: the other record, the place of the same pair among those of
// the other, and the squared distance. No pair that is not listed is nearer than reach[i].
Index matching_shares(Index k, Integers start, Integers other, Integers twin, Floats apart, Floats reach, Index steps,
                      double first_step, double last_step, Watch watch, Span<double> shares);

} // namespace shoal::ISA
