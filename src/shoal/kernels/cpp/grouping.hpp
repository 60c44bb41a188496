// A partition that changes record by record, as Python owns it; see shoal.kernels.refine.
#pragma once

#include "arrays.hpp"

namespace shoal {

using Neighbours = Matrix<const std::int32_t>; // row i: the neighbours of record i, which itself fills up a short list

struct Grouping {
    Table X; // with zero columns added up to a multiple of 4
    Span<Index> label, place, size;
    Matrix<Index> members;
    Matrix<double> centroid;
    Span<Index> free;
};

// Moves made, in order, so that they can be taken back: their number in length[0], the records, whence.
struct Journal {
    Span<Index> length, record, origin;
};

} // namespace shoal
