// A tour that changes by turning stretches of it round, and the records to look at.
#pragma once

#include "arrays.hpp"

namespace shoal {

// A cycle of records that remembers how it was changed.
struct Tour {
    Span<Index> order, position; // the position of each record in the order
    Matrix<Index> turns;         // position and length of each stretch turned round since the last was forgotten
    Span<Index> made;            // (1): how many these are
};

// Records to look at, in a ring, none of them twice.
struct Queue {
    Span<Index> record, waiting; // whether each record is in the queue
    Span<Index> span;            // (2): where the queue begins in the ring, and how many wait
};

} // namespace shoal
