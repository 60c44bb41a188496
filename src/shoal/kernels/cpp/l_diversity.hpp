// Entry points of l_diversity.cpp.
#include "secrets.hpp"

namespace shoal::ISA {

// The largest l for which a class is l-diverse, given how many records have each value, the rarest first.
double diversity_of(Integers counts, Index form, double c);

// Write `diversity_of` each class; class i has the records start[i] .. start[i + 1], sorted by `code`.
void diversities(Integers start, Integers code, Index known, Index form, double c, Span<double> found);

// Count the classes in which one value has more than this share of the records whose value is known.
Index dominated(Integers start, Integers code, Index known, double share);

// Write how many records of a class have each value, the rarest first, and return how many values there are.
//
// The class is sorted by `code`, the rank of a value; ranks from `known` on are missing values, which do not count.
Index count_known(Integers code, Index known, Span<Index> counts);

} // namespace shoal::ISA
