// Entry points of linkage_by_types.cpp.
#include <utility>

#include "arrays.hpp"

namespace shoal::ISA {

// As link_to_nearest, by the distances of EncodedMatrix.
std::pair<Index, double> link_by_types(Table values, Table rows, Integers labels, Integers first, Integers size,
                                       Integers asked, Integers kinds, Floats apart, Watch watch);

// The rows nearest to each point by the distances of EncodedMatrix, all that are tied, in order: where those of the next
// point begin, and the rows.
std::pair<Buffer<Index>, Buffer<Index>> nearest_by_types(Table points, Table rows, Integers kinds, Floats apart,
                                                         Watch watch);

} // namespace shoal::ISA
