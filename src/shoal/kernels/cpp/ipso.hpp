// Entry point of ipso.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// IPSO group by group: write X', the room of each record, and what Y leaves of the variance of its group. The noise is
// regressed on Y, and where it must be orthogonal to the original residuals, on X as well.
void synthesise(Table X, Table Y, Table noise, Integers order, Integers starts, bool orthogonal, Watch watch,
                Matrix<double> values, Span<double> room, Matrix<double> left);

} // namespace shoal::ISA
