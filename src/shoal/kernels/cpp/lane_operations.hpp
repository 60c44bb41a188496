// Entry points of lane_operations.cpp: the vector operations of lanes.hpp on eight lanes, so that tests can see them.
#include <tuple>

#include "arrays.hpp"

namespace shoal::ISA {

void squared_distances(Floats block, Floats point, Span<double> out);
void nearest_bounds(Floats boxes, Floats point, Span<double> out);
void farthest_bounds(Floats boxes, Floats keys, Floats point, Floats centre, double away, Span<double> out);
void mixed_distances(Floats block, Floats point, Integers kinds, Floats weights, Span<double> out);

// The lanes at most, at least, below and above a limit, the least and the largest value.
std::tuple<Index, Index, Index, Index, double, double> lane_summary(Floats values, double limit);

} // namespace shoal::ISA
