// Entry points of cells.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the leaf of each record; -1 if no record that the tree was grown from lies there.
void leaves_of(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Watch watch,
               Span<Index> found);

// Count, for each open leaf, the records in each of the 2^bits cells below it, and the extent of their places.
//
// slot[node] is the number of an open leaf, -1 for other nodes.
void count_below(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Integers slot,
                 Index bits, Watch watch, Matrix<Index> counts, Matrix<Index> least, Matrix<Index> most);

// Write how many records each leaf has, and the sums of their places; number[node] numbers the leaves.
void sum_in_leaves(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Integers number,
                   Watch watch, Span<Index> counts, Matrix<Index> sums);

// Write numbers of the leaves, along the path of bits that leads to them (-1 for inner nodes), and return how many.
Index number_leaves(Matrix<const Index> children, Span<Index> number);

} // namespace shoal::ISA
