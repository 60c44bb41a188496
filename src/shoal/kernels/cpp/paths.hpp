// Entry points of paths.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the pairs of near neighbours, each once, and what joining them saves over two trips from the depot,
// s(a, b) = d(depot, a) + d(depot, b) - d(a, b); return how many there are.
Index savings(Table X, Floats depot, Matrix<const Index> near, Watch watch, Matrix<Index> pairs, Span<double> saved);

// Join pairs in the order of the ranking wherever both are ends of different paths.
//
// Writes the up to two records that each is joined to, -1 where there is none; and, for the ends of paths, the record at
// the other end (a record alone is both).
void join_ends(Matrix<const Index> pairs, Integers ranking, Watch watch, Matrix<Index> joined, Span<Index> other);

// Walk from `start` over all paths: enter each at the end nearest to where the last one was left.
//
// Writes the ends by which paths were entered, in order, and returns how many; if the walk was stopped, all n, with -1
// for those that are missing.
Index nearest_next(Table X, Integers other, Index start, Watch watch, Span<Index> entered);

// Write all records in order, each path from the end by which it was entered to the other.
void unrolled(Integers entered, Matrix<const Index> joined, Span<Index> order);

} // namespace shoal::ISA
