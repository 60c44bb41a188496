// Entry points of groups.cpp; see shoal.kernels.groups for the order of members.
#include "arrays.hpp"

namespace shoal::ISA {

// Write values and weights group by group, each group sorted, by insertion: for small groups only.
void gathered(Floats x, Floats weights, Integers group, Integers starts, Span<double> values, Span<double> counts);

// Write the weighted mean of the members first[g] .. last[g] - 1 of each group, added with compensation.
void means(Floats values, Floats weights, Integers first, Integers last, Span<double> result);

// Write the places of the lower and the upper median of each group.
void middle(Floats weights, Integers starts, Span<Index> lower, Span<Index> upper);

// Write the convex median of each group of levels, given by their places 0, 1, ... in the order of the levels.
void convex_medians(Integers places, Floats weights, Integers starts, Span<Index> result);

// Write the place of each group's member with the least weighted sum of squared distances to all; the first wins.
void least_distant(Table values, Span<const bool> numbers, Floats column_weights, Floats weights, Integers starts,
                   Span<Index> result);

} // namespace shoal::ISA
