// Entry points of suda2.cpp; see shoal.kernels.suda2.
#include "arrays.hpp"

namespace shoal::ISA {

// Find the minimal sample uniques of records that all differ, whose values are numbered from 1, 0 being a missing one;
// only those that are `single` can be unique. One of so many attributes has the points of that number. Add the points
// of each record up in `score`, those in which an attribute takes part in `contribution`, and count in `sizes`.
void suda2(Matrix<const std::int32_t> codes, Span<const bool> single, Floats points, Watch watch, Span<double> score,
           Matrix<double> contribution, Span<Index> sizes);

} // namespace shoal::ISA
