// A search tree over records with attributes of every type, where any value may be missing (NaN).
//
// A missing value is as far from every value, so that there is no triangle inequality. What a box knows of each column
// (the range of its values, whether some are missing) bounds the distance all the same.
#pragma once

#include <vector>

#include "lanes.hpp"

namespace shoal::ISA {

class MixedTree {
  public:
    MixedTree(Table given, Integers kinds, Floats apart, Watch watch);

    // Call offer(distance, row) for all rows that may be as near to the point as limit(), which offers may lower.
    template <class Offer, class Limit> void search(const double *point, Offer offer, Limit limit) const {
        if (!nodes.empty() && bound(0, point) <= limit())
            visit(0, point, offer, limit);
    }

    double distance(const double *point, const double *row) const {
        return mixed_distance(point, row, kinds.data, apart.data, d);
    }

  private:
    struct Node {
        Index right; // the second child, the first being the next node; 0 for a leaf
        Index block; // of a leaf
    };

    // What the rows of a node have in a column: no value if low > high.
    struct Range {
        double low, high;
        bool missing;
    };

    Index build(Table rows, Index first, Index end, Watch watch);
    void measure(Table rows, Index first, Index end);
    Index widest(Index node) const;
    void fill(Table rows, Index block);

    // No more than the rounded distance of any row below the node: each step is at most that of a row, in the same order.
    double bound(Index node, const double *point) const {
        const Range *range = &ranges[static_cast<std::size_t>(node * d)];
        double total = 0.0;
        for (Index j = 0; j < d; j++)
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

    template <class Offer, class Limit> void visit(Index at, const double *point, Offer offer, Limit limit) const {
        const Node &node = nodes[static_cast<std::size_t>(at)];
        if (node.right == 0) {
            scan(node.block, point, offer, limit);
            return;
        }
        Index near = at + 1, far = node.right;
        double one = bound(near, point), two = bound(far, point);
        if (two < one) {
            std::swap(near, far);
            std::swap(one, two);
        }
        if (one <= limit())
            visit(near, point, offer, limit);
        if (two <= limit())
            visit(far, point, offer, limit);
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
    Buffer<Index> order;      // the row in each lane
    Buffer<double> values{0}; // (blocks, 1 + attributes, 8)
    std::vector<Node> nodes;
    std::vector<Range> ranges; // (nodes, attributes)
};

} // namespace shoal::ISA
