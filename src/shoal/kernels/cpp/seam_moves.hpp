// Entry points of seam_moves.cpp. The members of group g are members[g][0] .. members[g][size[g] - 1].
#include "arrays.hpp"

namespace shoal::ISA {

// Improve each of the groups with each of those near it, in their order; return how many changes were made.
Index improve_pairs(Table X, Matrix<Index> members, Span<Index> size, Matrix<double> centroids, Index k,
                    Integers groups, Matrix<const Index> near, Watch watch);

// Dissolve groups whose members fit better elsewhere; return how many.
//
// near[at * most + p] are the groups near to member p of the group at this place of `groups`.
Index dissolve_groups(Table X, Matrix<Index> members, Span<Index> size, Matrix<double> centroids, Integers groups,
                      Matrix<const Index> near, Watch watch);

} // namespace shoal::ISA
