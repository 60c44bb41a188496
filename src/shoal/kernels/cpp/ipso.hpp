// Entry point of ipso.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// IPSO group by group: write X', the room of each record, and what Y leaves of the variance of its group.
void synthesise(Table X, Table Y, Table noise, Integers order, Integers starts, Matrix<double> values,
                Span<double> room, Matrix<double> left);

} // namespace shoal::ISA
