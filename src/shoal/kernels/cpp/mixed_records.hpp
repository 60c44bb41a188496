// Records with attributes of every type in blocks of eight, where any value may be missing (NaN).
//
// A missing value is as far from every value, so that distances have no triangle inequality that a tree could use, and
// all is scanned. The first row of a block is 0, or NaN where no record is.
#pragma once

#include "encoded.hpp"
#include "packed_records.hpp"

namespace shoal::ISA {

struct MixedRecords {
    EncodedMatrix space;
    Index blocks = 0;
    Buffer<double> values{0}; // (blocks, 1 + attributes, 8)
    Buffer<Index> record{0};  // the record in each lane

    explicit MixedRecords(const EncodedMatrix &space) : space(space) {}

    double *block(Index b) const { return values.data() + b * (1 + space.values.columns) * LANES; }

    Lanes distances(Index b, const double *point) const {
        return mixed_distances(block(b), point, space.kinds.data, space.apart.data, space.values.columns);
    }

    // Lay out the `count` rows without a label, and note in `place` in which lane each is.
    //
    // Records keep their order, on which `scan` relies.
    void pack(Table rows, Integers labels, Index count, Span<Index> place);

    // Put a record into a lane.
    void put(Index lane, const double *values) const;

    // Take the record out of a lane.
    void erase(Index lane) const { block(lane / LANES)[lane % LANES] = NOT_A_NUMBER; }

    // Fill the heap of the records nearest to a point, and return the farthest record.
    //
    // Records come in the order of their indices, so that of several as near or as far the first to come stays. The heap
    // is a `Nearest` or a `NearestUnits`.
    template <class Heap> Index scan(const double *point, Heap &nearest) const;

    Index farthest(const double *point) const;
};

} // namespace shoal::ISA
