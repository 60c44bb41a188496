// Entry point of hilbert.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the place of each cell (a row of coordinates of so many bits) along the Hilbert curve, 62 bits to a column.
void hilbert_places(Matrix<const Index> cells, Index bits, Watch watch, Matrix<Index> places);

} // namespace shoal::ISA
