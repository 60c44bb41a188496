// Entry points of assignment.cpp; see shoal.kernels.assignment.
#include <tuple>

#include "arrays.hpp"

namespace shoal::ISA {

// Distribute records to groups at the least sum of squared distances, `supply` of each record and `size` to each group.
//
// Returns the record, the group and the number of each part; the sum; how much less the sum of the best could be by the
// prices, or -1 if the search was stopped or took more steps than `most`.
std::tuple<Buffer<Index>, Buffer<Index>, Buffer<Index>, double, double>
assign_to_groups(Table points, Integers supply, Table rows, Integers size, Integers kinds, Floats apart, Index most,
                 Watch watch);

} // namespace shoal::ISA
