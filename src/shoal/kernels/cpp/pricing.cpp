// Groups of negative reduced cost, found by a depth-first search that covers all of them.
#include "pricing.hpp"

#include <algorithm>
#include <vector>

#include "candidates.hpp"

namespace shoal::ISA {

namespace {

// The search for the groups of one anchor after another.
struct Pricing {
    Pricing(Table X, Index k, Floats duals, Table near, double threshold, bool only_better, Index limit, Index room,
            Watch watch)
        : X(X), k(k), duals(duals), threshold(threshold), only_better(only_better), limit(limit), room(room),
          watch(watch), bounds(k, near, X.rows), levels(levels_for(k, X.rows)), member(2 * k - 1) {}

    bool over() const { return groups >= room || watch.stopped(); }

    // Collect the groups of an anchor and records of higher ranks; return a lower bound on the reduced cost of them all.
    double search(Index anchor, Integers rank) {
        Index size = 1, nodes = 0;
        best = threshold;
        start(anchor, rank);
        while (size > 0) {
            Level &level = levels[static_cast<std::size_t>(size)];
            Index next = level.most_promising();
            if (next == level.count || level.key[next] >= best) {
                size--;
                continue;
            }
            if (++nodes > limit || over())
                break;
            size = add(level, next, size);
        }
        double lowest = best;
        for (Index s = 1; s <= size; s++) { // what a search given up has left to do
            const Level &level = levels[static_cast<std::size_t>(s)];
            for (Index c = level.at; c < level.count; c++)
                lowest = std::min(lowest, level.key[c]);
        }
        return lowest;
    }

    std::vector<Index> found; // groups, row after row of 2k - 1 members, each ending in -1

  private:
    // Begin with the anchor alone, and all that may join it.
    void start(Index anchor, Integers rank) {
        Level &first = levels[1];
        Index count = 0;
        for (Index x = 0; x < X.rows; x++)
            if (rank[x] > rank[anchor]) {
                first.candidate[count] = x;
                first.apart[count] = squared_distance(X, x, anchor);
                count++;
            }
        member[0] = anchor;
        first.cost = 0.0;
        first.gain = duals[anchor];
        keep_promising(first, count, 1);
    }

    // Add a candidate to the group, and collect that; return the size to go on with.
    Index add(Level &level, Index next, Index size) {
        Index x = level.candidate[next];
        double cost = level.cost_with(next, size), gain = level.gain + duals[x];
        member[size] = x;
        level.drop(next);
        if (size + 1 >= k && cost - gain < best) {
            for (Index c = 0; c < 2 * k - 1; c++)
                found.push_back(c <= size ? member[c] : -1);
            groups++;
            if (only_better)
                best = cost - gain;
        }
        if (size + 1 == 2 * k - 1)
            return size;
        Level &deeper = levels[static_cast<std::size_t>(size) + 1];
        Index count = 0;
        for (Index c = level.at; c < level.count; c++, count++) {
            deeper.candidate[count] = level.candidate[c];
            deeper.apart[count] = level.apart[c] + squared_distance(X, x, level.candidate[c]);
        }
        deeper.cost = cost;
        deeper.gain = gain;
        keep_promising(deeper, count, size + 1);
        return size + 1;
    }

    void keep_promising(Level &level, Index count, Index size) {
        bounds.keep_promising(level, count, size, duals, best, [](Index candidate) { return candidate; });
    }

    Table X;
    Index k;
    Floats duals;
    double threshold;
    bool only_better;
    Index limit, room;
    Watch watch;
    Bounds<false> bounds;
    std::vector<Level> levels;
    Buffer<Index> member;
    double best = 0.0; // groups of the anchor must be below it
    Index groups = 0;
};

} // namespace

void group_costs(Table X, Matrix<const Index> members, Span<double> costs) {
    require(costs.size == members.rows, "costs must have an element for each group");
    require_indices(members, -1, X.rows, "members must be records");
    for (Index g = 0; g < members.rows; g++) {
        const Index *member = members[g];
        Index size = 0;
        double pairs = 0.0;
        for (; size < members.columns && member[size] >= 0; size++)
            for (Index b = 0; b < size; b++)
                pairs += squared_distance(X, member[size], member[b]);
        costs[g] = pairs / static_cast<double>(size);
    }
}

Buffer<Index> price(Table X, Index k, Floats duals, Table near, Integers rank, Integers anchors, double threshold,
                    bool only_better, Index limit, Index room, Watch watch, Span<double> lowest) {
    Index n = X.rows;
    require(duals.size == n && near.rows == n && rank.size == n, "duals, near and rank must have a row for each record");
    require(k >= 2 && k <= n && near.columns >= 2 * k - 1, "near must have 2k - 1 columns, k being 2 to n");
    require_indices(anchors, 0, n, "anchors must be records");
    require(lowest.size == anchors.size, "lowest must have an element for each anchor");
    Pricing pricing(X, k, duals, near, threshold, only_better, limit, room, watch);
    std::fill(lowest.begin(), lowest.end(), -INFINITE);
    for (Index a = 0; a < anchors.size; a++) {
        if (watch.stopped())
            break;
        lowest[a] = pricing.search(anchors[a], rank);
        if (pricing.over())
            break;
    }
    Buffer<Index> rows(static_cast<Index>(pricing.found.size()));
    std::copy(pricing.found.begin(), pricing.found.end(), rows.begin());
    return rows;
}

} // namespace shoal::ISA
