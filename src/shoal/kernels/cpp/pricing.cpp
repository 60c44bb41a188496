// Groups of negative reduced cost, found by a depth-first search that covers all of them.
#include "pricing.hpp"

#include <algorithm>
#include <vector>

#include "candidates.hpp"

namespace shoal::ISA {

namespace {

// The search for the groups of one anchor after another.
struct Pricing {
    Pricing(Table X, Index k, Floats duals, Table near, Matrix<const Index> lists, Integers rank, double threshold,
            bool only_better, Index limit, Index room, Watch watch)
        : X(X), k(k), duals(duals), near(near), lists(lists), rank(rank), threshold(threshold),
          only_better(only_better), limit(limit), room(room), watch(watch), bounds(k, near, X.rows), levels(levels_for(k, X.rows)),
          member(2 * k - 1), lightest((X.rows + 1) * k), smallest(2 * k - 2) {
        weigh();
    }

    bool over() const { return groups >= room || watch.stopped(); }

    // Collect the groups of an anchor and records of higher ranks; return a lower bound on the reduced cost of them all.
    double search(Index anchor) {
        Index size = 1, nodes = 0;
        best = threshold;
        start(anchor);
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
    // Note the least that any record of some rank or a higher one can add to a group beside its distance from the anchor,
    // by the size m of the group: its part of the pairs among the m - 1 others, less its dual value.
    void weigh() {
        Index n = X.rows;
        Buffer<Index> order(n);
        for (Index x = 0; x < n; x++)
            order[rank[x]] = x;
        std::fill(lightest.begin() + n * k, lightest.end(), INFINITE);
        for (Index r = n - 1; r >= 0; r--)
            for (Index m = k; m <= 2 * k - 1; m++) {
                Index x = order[r], at = r * k + m - k;
                double alone = near[x][m - 2] / (2.0 * static_cast<double>(m)) - duals[x];
                lightest[at] = std::min(lightest[at + k], alone);
            }
    }

    // Begin with the anchor alone, and all that may join it: among its neighbours, if no group with others is promising.
    void start(Index anchor) {
        Level &first = levels[1];
        const Index *list = lists[anchor];
        Index count = 0, listed = 0;
        while (listed < lists.columns && list[listed] >= 0)
            count = join(first, count, anchor, list[listed++], INFINITE);
        double radius = listed == 0 ? INFINITE : 0.0;
        if (listed > 0 && listed < X.rows - 1)
            radius = farthest(first, count, anchor, list[listed - 1]);
        if (radius > 0.0) {
            count = 0;
            for (Index x = 0; x < X.rows; x++)
                count = join(first, count, anchor, x, radius);
        }
        member[0] = anchor;
        first.cost = 0.0;
        first.gain = duals[anchor];
        keep_promising(first, count, 1);
    }

    // Make a record a candidate, if it has a higher rank than the anchor and is as near as that.
    Index join(Level &first, Index count, Index anchor, Index x, double radius) {
        if (rank[x] > rank[anchor]) {
            first.candidate[count] = x;
            first.apart[count] = squared_distance(X, x, anchor);
            count += first.apart[count] <= radius;
        }
        return count;
    }

    // How far from the anchor, as a squared distance, a member of a group below the threshold can be; 0 if no farther than
    // the last one listed. No other member adds less than the lightest records would, were they as near as that one.
    double farthest(const Level &first, Index count, Index anchor, Index last) {
        double reach = squared_distance(X, last, anchor) * (1 - 1e-12); // lists may be rounded otherwise
        double radius = 0.0;
        for (Index m = k; m <= 2 * k - 1; m++) {
            double divisor = static_cast<double>(m), light = lightest[(rank[anchor] + 1) * k + m - k];
            Span<double> terms = smallest.first(m - 2); // of the members beside the anchor and the farthest
            std::fill(terms.begin(), terms.end(), reach / divisor + light);
            for (Index c = 0; c < count; c++) {
                Index x = first.candidate[c];
                put_in_place((first.apart[c] + near[x][m - 2] / 2) / divisor - duals[x], terms);
            }
            double left = best + duals[anchor];
            for (double term : terms)
                left -= term;
            radius = std::max(radius, (left - light) * divisor);
        }
        return radius > reach ? radius * (1 + 1e-9) : 0.0;
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
    Table near;
    Matrix<const Index> lists;
    Integers rank;
    double threshold;
    bool only_better;
    Index limit, room;
    Watch watch;
    Bounds<false> bounds;
    std::vector<Level> levels;
    Buffer<Index> member;
    Buffer<double> lightest, smallest;
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

Buffer<Index> price(Table X, Index k, Floats duals, Table near, Matrix<const Index> lists, Integers rank, Integers anchors,
                    double threshold, bool only_better, Index limit, Index room, Watch watch, Span<double> lowest) {
    Index n = X.rows;
    require(duals.size == n && near.rows == n && rank.size == n, "duals, near and rank must have a row for each record");
    require(k >= 2 && k <= n && near.columns >= 2 * k - 1, "near must have 2k - 1 columns, k being 2 to n");
    require(lists.rows == n && lists.columns < n, "lists must have a row of others for each record");
    require_indices(lists, -1, n, "lists must name records");
    require_permutation(rank, "rank must be a permutation");
    require_indices(anchors, 0, n, "anchors must be records");
    require(lowest.size == anchors.size, "lowest must have an element for each anchor");
    Pricing pricing(X, k, duals, near, lists, rank, threshold, only_better, limit, room, watch);
    std::fill(lowest.begin(), lowest.end(), -INFINITE);
    for (Index a = 0; a < anchors.size; a++) {
        if (watch.stopped())
            break;
        lowest[a] = pricing.search(anchors[a]);
        if (pricing.over())
            break;
    }
    Buffer<Index> rows(static_cast<Index>(pricing.found.size()));
    std::copy(pricing.found.begin(), pricing.found.end(), rows.begin());
    return rows;
}

} // namespace shoal::ISA
