// Entry points of mixed_anneal.cpp; see shoal.kernels.mixed_anneal.
#include <utility>

#include "encoded.hpp"
#include "grouping.hpp"
#include "secrets.hpp"

namespace shoal::ISA {

// Anneal a partition whose labels number groups without a gap; return the change of its loss, and its loss computed
// afresh. Groups have at least k records, and satisfy what is asked of confidential attributes; they go on doing so. None
// grows beyond `most` records.
std::pair<double, double> anneal_mixed(const EncodedMatrix &space, const Attributes &attributes, const LDiversity &wanted,
                                       double slack, double t, Index k, Index most, Neighbours near, Floats local,
                                       double temperature, Index steps, Span<std::uint64_t> state, Span<Index> labels,
                                       Watch watch);

// Write the loss of each group: the sum of the squared distances of its records to what they publish.
void group_losses(const EncodedMatrix &space, Index k, Integers labels, Span<double> losses);

} // namespace shoal::ISA
