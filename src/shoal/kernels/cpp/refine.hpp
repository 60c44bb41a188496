// Entry points of refine.cpp; see shoal.kernels.refine.
#include <utility>

#include "grouping.hpp"

namespace shoal::ISA {

// Fill in members, sizes, places, free numbers and centroids by the labels 0 .. groups - 1.
void fill_groups(Grouping s, Index groups);

// Compute all centroids afresh.
void recentre(Grouping s);

// What a move or a swap changes the error by, and the move or swap itself; see partition.hpp.
double joining(Grouping s, Index i, Index b);
double leaving(Grouping s, Index i);
double swapping(Grouping s, Index i, Index m);
std::pair<double, Index> best_swap(Grouping s, Index i, Index b);
void move(Grouping s, Index i, Index b);
void swap(Grouping s, Index i, Index m);

// Undo all moves of the journal, the last first.
void take_back(Grouping s, Journal journal);

// Changes of several moves. Each returns the change of the error, or infinity if it cannot be done; what the journal
// notes must then be taken back.

// Send each member of group g to the best other group of its neighbours.
double dissolve(Grouping s, Neighbours near, Index g, Journal journal);

// Form a group of record i and its nearest that their groups can spare.
double form(Grouping s, Neighbours near, Index i, Journal journal);

// Form a group of record i and its k - 1 nearest. Groups that fall below k by it are dissolved, the smallest first: its
// members may fill up the next.
double regroup(Grouping s, Neighbours near, Index i, Journal journal);

// Merge the group of record i with that of its nearest outside and split them again: a group grows from record i, by the
// member of the two that is nearest to its centroid, to the size that i's group had; the rest is the other.
double resplit(Grouping s, Neighbours near, Index i, Journal journal);

} // namespace shoal::ISA
