// Entry points of linkage.cpp.
#include <utility>

#include "arrays.hpp"

namespace shoal::ISA {

// Link the records `asked` of Z to the nearest of the published classes, whose values are `rows`.
//
// Returns how many are linked to themselves if the first record of the lowest nearest class is taken, and how many are
// to be expected if one of all the nearest records is drawn.
std::pair<Index, double> link_to_nearest(Table Z, Table rows, Integers labels, Integers first, Integers size,
                                         Integers asked, Watch watch);

// Count each pattern of agreement over the pairs of the records asked with all published records.
void count_patterns(Table Z, Table columns, Integers size, Integers asked, double within, Watch watch,
                    Span<Index> counts);

// How many records are expected to be linked to themselves if each takes one of highest weight at random.
double link_by_weight(Table Z, Table columns, Integers labels, Integers size, Integers asked, double within,
                      Floats weight, Watch watch);

} // namespace shoal::ISA
