#include "lane_operations.hpp"

#include "lanes.hpp"

namespace shoal::ISA {

namespace {

void require_lanes(Floats operand, Index rows, Span<double> out) {
    require(operand.size == rows * LANES && out.size == LANES, "there must be eight lanes");
}

} // namespace

void squared_distances(Floats block, Floats point, Span<double> out) {
    require_lanes(block, point.size, out);
    squared_distances(block.data, point.data, point.size).store(out.data);
}

void nearest_bounds(Floats boxes, Floats point, Span<double> out) {
    require_lanes(boxes, 2 * point.size, out);
    nearest_bounds(boxes.data, point.data, point.size).store(out.data);
}

void farthest_bounds(Floats boxes, Floats keys, Floats point, Floats centre, double away, Span<double> out) {
    require_lanes(boxes, 2 * point.size, out);
    require(keys.size == LANES && centre.size == point.size, "there must be eight keys, and a centre like the point");
    farthest_bounds(boxes.data, keys.data, point.data, centre.data, away, point.size).store(out.data);
}

void mixed_distances(Floats block, Floats point, Integers kinds, Floats weights, Span<double> out) {
    require_lanes(block, point.size + 1, out);
    require(kinds.size == point.size && weights.size == point.size, "there must be a kind and a weight a column");
    mixed_distances(block.data, point.data, kinds.data, weights.data, point.size).store(out.data);
}

std::tuple<Index, Index, Index, Index, double, double> lane_summary(Floats values, double limit) {
    require(values.size == LANES, "there must be eight lanes");
    Lanes lanes = load_lanes(values.data);
    return {lanes_at_most(lanes, limit), lanes_at_least(lanes, limit), lanes_below(lanes, limit),
            lanes_above(lanes, limit),   smallest(lanes),              largest(lanes)};
}

} // namespace shoal::ISA
