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

// Changes of several moves; see changes.hpp.
void take_back(Grouping s, Journal journal);
double dissolve(Grouping s, Neighbours near, Index g, Journal journal);
double form(Grouping s, Neighbours near, Index i, Journal journal);
double regroup(Grouping s, Neighbours near, Index i, Journal journal);
double resplit(Grouping s, Neighbours near, Index i, Journal journal);

} // namespace shoal::ISA
