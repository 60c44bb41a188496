// A k-d tree over blocks of eight records, from which records are removed.
//
// The tree is only an order of the records: sorted so that every aligned run of 8, 64, 512, ... of them is compact, they
// need no pointers (see packed_records.hpp for the numbering of nodes). A node keeps the bounding boxes of its eight
// children, tightened whenever a record goes, and tests a point against all eight at once.
#pragma once

#include "packed_records.hpp"

namespace shoal::ISA {

// Scratch of the searches in a tree: nodes still to visit, the best on top. Room for any tree: seven siblings stay
// behind on each level, and 22 levels hold 2^66 records.
struct Search {
    double bound[22 * LANES];
    Index node[22 * LANES];
};

// Put the children of a node that are in the mask on the stack, least bound on top; return its new size.
//
// Of equal ones the first comes on top: among duplicates, that is where the lowest indices are.
Index push(Search &search, Index size, unsigned mask, Index node, const double *bounds, double sign);

// Reorder records so that every aligned run of 8, 64, 512, ... of them fills a small box.
//
// Halve across the widest attribute, always at a multiple of the largest power of eight below the run's length. Once
// stopped, runs stay as wide as they are.
void sort_compactly(Matrix<double> rows, Span<Index> record, Watch watch);

// The records in a tree, and in `place` the lane of each.
Blocks plant(Rows rows, Index d, Span<Index> place, Watch watch);

// Remove the record in a lane; boxes are fitted towards the root for as long as they change.
void remove(Blocks &store, Index lane);

// Fill the heap of the records nearest to a point, beginning with the block of `lane`.
//
// From that block up to the root, only siblings whose box reaches into the ball of the nearest so far are entered. A box
// that just touches the ball is entered if it may have a record as far as the worst, with a lower index. The heap is a
// `Nearest` or a `NearestUnits`.
template <class Heap>
void nearest_in_tree(const Blocks &store, Index lane, const double *point, Heap &nearest, Search &search);

// The record farthest from a point, the lowest index on ties: far boxes first, none that falls short. -1 if no distance
// is a number.
//
// `centre` and `travelled` say what the keys of the store mean (see `farthest_from_centre`), for a second bound.
Index farthest_in_tree(const Blocks &store, const double *point, const double *centre, double travelled,
                       Search &search);

} // namespace shoal::ISA
