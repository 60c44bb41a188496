// Entry points of mdav.cpp.
#include "encoded.hpp"

namespace shoal::ISA {

// Write the labels of MDAV-generic, by scans: the quickest way while records are few, or their attributes many.
void mdav_scan(Table X, Index k, Watch watch, Span<Index> labels);

// Write the labels of MDAV-generic, by searches in a k-d tree: in about n log n while the attributes are few.
void mdav_tree(Table X, Index k, Watch watch, Span<Index> labels);

// Write the labels of CBFS, by searches in a k-d tree; -1 for the fewer than k records that are left.
void cbfs_tree(Table X, Index k, Watch watch, Span<Index> labels);

// Write the labels of MDAV-generic on attributes of every type, by scans. No squared distance may overflow.
void mdav_generic(const EncodedMatrix &space, Index k, Watch watch, Span<Index> labels);

// The same with groups of k records of different units, numbered from 0: a group takes the nearest record of each of the
// k - 1 nearest units. -1 for records of fewer than k units, which are left.
void mdav_units_tree(Table X, Index k, Integers unit, Watch watch, Span<Index> labels);
void mdav_units_generic(const EncodedMatrix &space, Index k, Integers unit, Watch watch, Span<Index> labels);

} // namespace shoal::ISA
