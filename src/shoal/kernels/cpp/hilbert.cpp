// Places of points along a Hilbert curve of any number of dimensions.
#include "hilbert.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

constexpr Index PER_COLUMN = 62;

// Turn the coordinates of a point, of so many bits each, into its place on the Hilbert curve, in place.
//
// Skilling's AxestoTranspose: the bits of the place, from the highest, are bit b - 1 of all coordinates in turn, then bit
// b - 2 of all, and so on (J. Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707, 2004).
void transpose(Span<Index> axes, Index bits) {
    Index top = Index{1} << (bits - 1);
    for (Index q = top; q > 1; q >>= 1) { // undo the turns of the cubes within cubes, from the largest
        for (Index &axis : axes) {
            if ((axis & q) != 0)
                axes[0] ^= q - 1;
            else {
                Index swap = (axes[0] ^ axis) & (q - 1);
                axes[0] ^= swap;
                axis ^= swap;
            }
        }
    }
    for (Index j = 1; j < axes.size; j++) // Gray encoding
        axes[j] ^= axes[j - 1];
    Index flip = 0;
    for (Index q = top; q > 1; q >>= 1)
        if ((axes[axes.size - 1] & q) != 0)
            flip ^= q - 1;
    for (Index &axis : axes)
        axis ^= flip;
}

} // namespace

void hilbert_places(Matrix<const Index> cells, Index bits, Watch watch, Matrix<Index> places) {
    Index d = cells.columns;
    require(1 <= bits && bits <= PER_COLUMN && d >= 1, "there must be coordinates of 1 to 62 bits");
    require(places.rows == cells.rows && places.columns == (bits * d + PER_COLUMN - 1) / PER_COLUMN,
            "places must have a row for each cell, and a column for each 62 bits");
    Buffer<Index> axes(d);
    require_indices(cells, 0, Index{1} << bits, "coordinates must have no more than these bits");
    for (Index i = 0; i < cells.rows && !watch.stopped_at(i); i++) {
        std::copy(cells[i], cells[i] + d, axes.begin());
        transpose(axes, bits);
        Index *place = places[i];
        std::fill(place, place + places.columns, 0);
        Index at = 0;
        for (Index bit = bits - 1; bit >= 0; bit--)
            for (Index j = 0; j < d; j++, at++) {
                Index &column = place[at / PER_COLUMN];
                column = column * 2 + ((axes[j] >> bit) & 1);
            }
    }
}

} // namespace shoal::ISA
