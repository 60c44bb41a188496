// A search tree over records with attributes of every type, where any value may be missing (NaN).
//
// A missing value is as far from every value, so that there is no triangle inequality. What a box knows of each column
// (the range of its values, whether some are missing) bounds the distance all the same.
#pragma once

#include <algorithm>
#include <vector>

#include "lanes.hpp"

namespace shoal::ISA {

class MixedTree {
  public:
    MixedTree(Table given, Integers kinds, Floats apart, Watch watch);

    // Call offer(distance, row) for all rows that may be as near to the point as limit(), which offers may lower.
    template <class Offer, class Limit> void search(const double *point, Offer offer, Limit limit) const {
        bool numbers = plain;
        for (Index j = 0; j < d; j++)
            numbers &= point[j] == point[j];
        if (!nodes.empty() && numbers)
            visit<true>(0, point, offer, limit);
        else if (!nodes.empty())
            visit<false>(0, point, offer, limit);
    }

    // Change a value of a row.
    void put(Index row, Index j, double value);

    double distance(const double *point, const double *row) const {
        return mixed_distance(point, row, kinds.data, apart.data, d);
    }

  private:
    struct Node {
        Index right; // the second child, the first being the next node; 0 for a leaf
        Index block; // of a leaf
        Index above; // the node whose child it is; -1 for the first
    };

    // What the rows of a node have in a column: no value if low > high.
    struct Range {
        double low, high;
        bool missing;
    };

    Index build(Table rows, Index first, Index end, Index above, Watch watch);
    void measure(Table rows, Index first, Index end);
    Index widest(Index node) const;
    void fill(Table rows, Index block);

    // No more than the rounded distance of any row below the node: each step is at most that of a row, in the same order.
    //
    // Among numbers that are all there, without branches, which could not be predicted.
    template <bool NUMBERS> double bound(Index node, const double *point) const {
        const Range *range = &ranges[static_cast<std::size_t>(node * d)];
        double total = 0.0;
        for (Index j = 0; j < d; j++)
            if constexpr (NUMBERS) {
                double gap = std::max(0.0, std::max(range[j].low - point[j], point[j] - range[j].high));
                total += gap * gap;
            } else
                total += step(range[j], point[j], kinds[j], apart[j]);
        return total;
    }

    static double step(const Range &range, double x, Index kind, double apart) {
        if (x != x)
            return range.missing ? 0.0 : apart;
        if (range.low > range.high)
            return apart;
        double gap = x < range.low ? range.low - x : x > range.high ? x - range.high : 0.0;
        if (kind == MODE)
            return gap > 0.0 ? apart : 0.0;
        return range.missing && apart < gap * gap ? apart : gap * gap;
    }

    Range seen(Index block, Index j) const;

    template <bool NUMBERS, class Offer, class Limit>
    void visit(Index at, const double *point, Offer offer, Limit limit) const {
        const Node &node = nodes[static_cast<std::size_t>(at)];
        if (node.right == 0) {
            scan(node.block, point, offer, limit);
            return;
        }
        Index near = at + 1, far = node.right;
        double one = bound<NUMBERS>(near, point), two = bound<NUMBERS>(far, point);
        if (two < one) {
            std::swap(near, far);
            std::swap(one, two);
        }
        if (one <= limit())
            visit<NUMBERS>(near, point, offer, limit);
        if (two <= limit())
            visit<NUMBERS>(far, point, offer, limit);
    }

    template <class Offer, class Limit> void scan(Index block, const double *point, Offer offer, Limit limit) const {
        alignas(64) double distance[LANES];
        Lanes found = mixed_distances(values.data() + block * (1 + d) * LANES, point, kinds.data, apart.data, d);
        unsigned mask = lanes_at_most(found, limit());
        found.store(distance);
        while (mask != 0) {
            int lane = next_lane(mask);
            offer(distance[lane], order[block * LANES + lane]);
        }
    }

    Integers kinds;
    Floats apart;
    Index d;
    bool plain = true; // whether all are numbers that are there
    Buffer<Index> order;      // the row in each lane
    Buffer<Index> place, leaf; // the lane of each row, and the node of each block
    Buffer<double> values{0}; // (blocks, 1 + attributes, 8)
    std::vector<Node> nodes;
    std::vector<Range> ranges; // (nodes, attributes)
};

} // namespace shoal::ISA
