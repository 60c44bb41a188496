// Records in blocks of eight, and the farthest of them from a centre that moves little.
//
// Inside a block the values lie attribute by attribute, so that eight distances are computed at once. A record is
// removed by making its lane NaN. Blocks are the leaves of an eight-ary heap: the children of node g are
// 8g + 1 .. 8g + 8, and block b is node (number of inner nodes) + b. What a node knows of its eight children lies side
// by side as well.
#pragma once

#include "lanes.hpp"

namespace shoal::ISA {

// Relative error that no chain of roundings in these files reaches, and one that covers squares which underflow.
constexpr double SLACK = 1e-12;
constexpr double UNDERFLOW_MARGIN = 1e-160;

struct Blocks {
    Index d;               // attributes
    Index blocks;          // leaves
    Index inner;           // inner nodes
    bool searched;         // whether there are boxes and lowest records, to search the blocks as a tree
    Buffer<double> values; // (blocks, d, 8): NaN where no record is
    Buffer<Index> record;  // (8 * blocks): the record in each lane, -1 where there never was one
    Buffer<double> keys;   // (inner, 8): how far from the centre a child's records can be, see `farthest_from_centre`
    Buffer<double> boxes;  // (inner, d, low and high, 8): of the children's records
    Buffer<Index> lowest;  // (inner, 8): no child's record has a lower index

    double *block(Index b) const { return values.data() + b * d * LANES; }
    double *box(Index node) const { return boxes.data() + node * d * 2 * LANES; }
    double *key(Index node) const { return keys.data() + node * LANES; }
};

// Records, row by row, and which they are.
struct Rows {
    Buffer<double> values; // (count, d)
    Buffer<Index> record;
};

// The `count` records without a label.
Rows remaining(Table X, Integers labels, Index count);

// Lay out records in blocks, in the order given, and note in `place` in which lane each is.
//
// Room for boxes is made if the blocks are to be searched as a tree; `fit_boxes` fills it.
Blocks pack(Table rows, Integers record, Span<Index> place, bool searched);

// Take the record out of a lane.
inline void erase(Blocks &store, Index lane) {
    double *values = store.block(lane / LANES) + lane % LANES;
    for (Index j = 0; j < store.d; j++)
        values[j * LANES] = NOT_A_NUMBER;
}

// Set the key of every node to the distance from the centre to the farthest record below it.
void measure_from(Blocks &store, const double *centre);

struct Farthest {
    Index lane;
    double squared; // its squared distance
};

// The record farthest from the centre (lowest index on ties).
//
// What makes it fast: a key is the distance measured at some time, less the way `travelled` by the centre up to then.
// The centre cannot have moved away from a record by more than it has travelled since, so key + travelled bounds the
// distance from above for ever, whatever is removed. Only blocks whose bound reaches the best are measured again. MDAV's
// mean hardly moves while the records around it are peeled off from outside, so these are few.
Farthest farthest_from_centre(Blocks &store, const double *centre, double travelled);

// A mean that moves, and the record farthest from it.
class MovingMean {
  public:
    explicit MovingMean(Index d) : centre(d) {}

    // Measure all records from the mean, where the way begins.
    void restart(Blocks &store, const double *mean);

    // The lane of the record farthest from the mean, which was at `centre` before.
    Index farthest(Blocks &store, const double *mean);

    Buffer<double> centre;
    double travelled = 0.0; // the way since all was measured

  private:
    Index asked = 0; // how often since then
};

// The nearest records so far: a heap with the worst (distance, record) on top.
struct Nearest {
    Span<double> near;
    Span<Index> record; // as many as there is room for
    Index size = 0;

    void clear() { size = 0; }

    // Offer a record.
    void offer(double distance, Index candidate);

    bool full() const { return size == record.size; }

    // Fewer are found than there are only where distances are no numbers.
    void require_full() const { require(full(), "distances must be numbers"); }

    // Sort the records, the nearest first, which ends the heap.
    void sort();
};

// The nearest records so far of different units, none of them of the unit that is left out: of each unit the nearest. A
// heap as `Nearest`, in which every unit knows its place.
struct NearestUnits {
    Span<double> near;
    Span<Index> record; // as many as there is room for
    Integers unit;      // of every record
    Span<Index> place;  // (units): in the heap, NOT_IN if it has none of the unit; NOT_IN for all to begin with
    Index size = 0, left_out = -1;

    // Begin again, without any record of the unit of record i from now on.
    void leave_out_unit_of(Index i);

    void clear();

    // Offer a record.
    void offer(double distance, Index candidate);

    bool full() const { return size == record.size; }

    void require_full() const { require(full(), "distances must be numbers"); }

    static constexpr Index NOT_IN = -1, LEFT_OUT = -2;

  private:
    bool farther(Index at, double distance, Index candidate) const {
        return near[at] > distance || (near[at] == distance && record[at] > candidate);
    }
    void put(Index at, double distance, Index candidate);
    void rise(Index at, double distance, Index candidate);
    void sink(Index at, double distance, Index candidate);
};

} // namespace shoal::ISA
