// Entry points of diversity.cpp.
#include "encoded.hpp"
#include "secrets.hpp"

namespace shoal::ISA {

// Write for each group the lowest of those it is merged with; group g has the records order[start[g]] ..
// order[start[g + 1]]. A diversity may be `slack` below what is wanted.
void merge_groups(const EncodedMatrix &space, const Attributes &attributes, Integers order, Integers start,
                  const LDiversity &wanted, double slack, double t, Watch watch, Span<Index> home);

// The sum of the squared distances of the records to the average record of their group.
double squared_error(const EncodedMatrix &space, Integers order, Integers start, Watch watch);

// Write the labels of groups with one record of each part. `parts` is used up. No squared distance may overflow.
void groups_across(const EncodedMatrix &space, const Parts &parts, Watch watch, Span<Index> labels);

} // namespace shoal::ISA
