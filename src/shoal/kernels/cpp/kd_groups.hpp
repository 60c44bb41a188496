// Entry point of kd_groups.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Label the rows of X by the leaves of a k-d tree of k to 2k - 1 records each.
void kd_groups(Table X, Index k, Watch watch, Span<Index> labels);

} // namespace shoal::ISA
