// Entry points of pricing.cpp; see shoal.kernels.pricing.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the SSE of each group, a row of `members` that ends in -1 where it is shorter than the longest.
void group_costs(Table X, Matrix<const Index> members, Span<double> costs);

// Groups whose reduced cost is below a threshold, row after row of 2k - 1 members, each ending in -1; and in `lowest` a
// lower bound for every anchor. `lists` has neighbours of each record, nearest first, or no columns.
Buffer<Index> price(Table X, Index k, Floats duals, Table near, Matrix<const Index> lists, Integers rank, Integers anchors,
                    double threshold, bool only_better, Index limit, Index room, Watch watch, Span<double> lowest);

} // namespace shoal::ISA
