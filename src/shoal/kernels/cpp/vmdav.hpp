// Entry point of vmdav.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the labels of V-MDAV.
void vmdav_tree(Table X, Index k, double gain, Watch watch, Span<Index> labels);

} // namespace shoal::ISA
