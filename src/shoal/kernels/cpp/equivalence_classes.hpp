// Entry points of equivalence_classes.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the classes of records that are alike in both a and b, labels from 0, and return how many classes there are.
Index combine(Integers a, Integers b, Span<Index> labels);

// Write the first record of each class, and how many it has.
void first_and_size(Integers labels, Span<Index> first, Span<Index> size);

} // namespace shoal::ISA
