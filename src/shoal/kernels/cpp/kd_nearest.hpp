// Entry points of kd_nearest.cpp; see shoal.kernels.kd_nearest.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the m points nearest to each row of `asked`, in order, m being the columns of `found`; -1 where there are fewer.
void nearest_points(Table points, Table asked, Integers begin, Watch watch, Matrix<Index> found);

// Fuse leaves of fewer than k records, in their order, with the one of the nearest centroid that is still there.
void fuse_small(Table centroids, Integers counts, Index k, Watch watch, Span<Index> block);

} // namespace shoal::ISA
