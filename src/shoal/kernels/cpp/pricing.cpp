// Groups of negative reduced cost, found by a depth-first search that covers all of them.
#include "pricing.hpp"

#include <algorithm>
#include <vector>

namespace shoal::ISA {

namespace {

// The squared distance between two records.
double distance(Table X, Index a, Index b) {
    const double *x = X[a], *y = X[b];
    double total = 0.0;
    for (Index j = 0; j < X.columns; j++)
        total += (x[j] - y[j]) * (x[j] - y[j]);
    return total;
}

// The candidates to join a group S of `size` members.
struct Level {
    Level(Index n) : candidate(n), apart(n), key(n) {}

    Buffer<Index> candidate;
    Buffer<double> apart; // the squared distances between a candidate and the members of S, added up
    Buffer<double> key;   // a bound on the reduced cost of the groups with the candidate
    Index count = 0, at = 0;
    double cost = 0.0, gain = 0.0; // SSE of S, and its duals
};

struct Pricing {
    Pricing(Index k, Floats duals, Table near) : k(k), duals(duals), near(near), term(duals.size), smallest(2 * k - 1) {}

    // Keep the candidates that can join a group S in a group whose reduced cost is below the threshold.
    //
    // Let T have m members: the `size` of S and t = m - size others, the pairs of S being known, those between S and the
    // candidate x summing to apart[x], and those of x with the t - 1 others being no nearer than its t - 1 nearest
    // records anywhere, near[x][t - 1]. So the reduced cost of T is at least
    //
    //     size * cost(S) / m - gain(S) + sum over the others x of (apart[x] + near[x][t - 1] / 2) / m - duals[x],
    //
    // and at least that with the t smallest terms of all candidates in place of T's own. `key` becomes this bound with x
    // forced to be one of them, the least over m. Those kept are at the front of the arrays.
    void keep_promising(Level &level, Index count, Index size, double threshold) {
        std::fill(level.key.begin(), level.key.begin() + count, INFINITE);
        for (Index m = std::max(k, size + 1); m <= 2 * k - 1; m++) {
            Index t = m - size;
            if (t > count)
                break;
            std::fill(smallest.begin(), smallest.begin() + t, INFINITE);
            double divisor = static_cast<double>(m);
            for (Index c = 0; c < count; c++) {
                Index x = level.candidate[c];
                double value = (level.apart[c] + near[x][t - 1] / 2) / divisor - duals[x];
                term[c] = value;
                if (value < smallest[t - 1]) {
                    Index at = t - 1;
                    while (at > 0 && smallest[at - 1] > value) {
                        smallest[at] = smallest[at - 1];
                        at--;
                    }
                    smallest[at] = value;
                }
            }
            double least = static_cast<double>(size) * level.cost / divisor - level.gain;
            for (Index at = 0; at < t; at++)
                least += smallest[at];
            if (least < threshold)
                for (Index c = 0; c < count; c++)
                    level.key[c] = std::min(level.key[c], least + std::max(0.0, term[c] - smallest[t - 1]));
        }
        level.at = 0;
        level.count = 0;
        for (Index c = 0; c < count; c++) {
            if (level.key[c] < threshold) {
                level.candidate[level.count] = level.candidate[c];
                level.apart[level.count] = level.apart[c];
                level.key[level.count] = level.key[c];
                level.count++;
            }
        }
    }

    Index k;
    Floats duals;
    Table near;
    Buffer<double> term, smallest; // scratch
};

} // namespace

void group_costs(Table X, Matrix<const Index> members, Span<double> costs) {
    require(costs.size == members.rows, "costs must have an element for each group");
    for (Index g = 0; g < members.rows; g++) {
        const Index *member = members[g];
        Index size = 0;
        double pairs = 0.0;
        for (; size < members.columns && member[size] >= 0; size++)
            for (Index b = 0; b < size; b++)
                pairs += distance(X, member[size], member[b]);
        costs[g] = pairs / static_cast<double>(size);
    }
}

Buffer<Index> price(Table X, Index k, Floats duals, Table near, Integers rank, Integers anchors, double threshold,
                    bool only_better, Index limit, Index room, Watch watch, Span<double> lowest) {
    Index n = X.rows, longest = 2 * k - 1, groups = 0;
    require(duals.size == n && near.rows == n && rank.size == n, "duals, near and rank must have a row for each record");
    require(k >= 2 && near.columns >= longest, "near must have 2k - 1 columns, k being at least 2");
    require(lowest.size == anchors.size, "lowest must have an element for each anchor");
    Pricing pricing(k, duals, near);
    std::vector<Level> levels; // by the size of the group so far
    for (Index size = 0; size < longest; size++)
        levels.emplace_back(n);
    Buffer<Index> member(longest);
    std::vector<Index> found;
    std::fill(lowest.begin(), lowest.end(), -INFINITE);
    for (Index a = 0; a < anchors.size; a++) {
        Index anchor = anchors[a], size = 1, nodes = 0, count = 0;
        double best = threshold;
        Level &start = levels[1];
        for (Index x = 0; x < n; x++) {
            if (rank[x] > rank[anchor]) {
                start.candidate[count] = x;
                start.apart[count] = distance(X, x, anchor);
                count++;
            }
        }
        member[0] = anchor;
        start.cost = 0.0;
        start.gain = duals[anchor];
        pricing.keep_promising(start, count, 1, best);
        while (size > 0) {
            Level &level = levels[static_cast<std::size_t>(size)];
            Index first = level.at, next = level.at;
            for (Index c = first; c < level.count; c++)
                if (level.key[c] < level.key[next])
                    next = c;
            if (first == level.count || level.key[next] >= best) {
                size--;
                continue;
            }
            nodes++;
            if (nodes > limit || groups >= room || watch.stopped())
                break;
            Index x = level.candidate[next];
            member[size] = x;
            double cost = (static_cast<double>(size) * level.cost + level.apart[next]) / static_cast<double>(size + 1);
            double gain = level.gain + duals[x];
            // Once all groups with it have been seen, x is no candidate any more.
            level.candidate[next] = level.candidate[first];
            level.apart[next] = level.apart[first];
            level.key[next] = level.key[first];
            level.at = first + 1;
            if (size + 1 >= k && cost - gain < best) {
                for (Index c = 0; c < longest; c++)
                    found.push_back(c <= size ? member[c] : -1);
                groups++;
                if (only_better)
                    best = cost - gain;
            }
            if (size + 1 < longest) {
                Level &deeper = levels[static_cast<std::size_t>(size) + 1];
                count = 0;
                for (Index other = first + 1; other < level.count; other++, count++) {
                    Index y = level.candidate[other];
                    deeper.candidate[count] = y;
                    deeper.apart[count] = level.apart[other] + distance(X, x, y);
                }
                size++;
                deeper.cost = cost;
                deeper.gain = gain;
                pricing.keep_promising(deeper, count, size, best);
            }
        }
        lowest[a] = best;
        for (Index s = 1; s <= size; s++) { // what a search given up has left to do
            const Level &level = levels[static_cast<std::size_t>(s)];
            for (Index c = level.at; c < level.count; c++)
                lowest[a] = std::min(lowest[a], level.key[c]);
        }
        if (groups >= room || watch.stopped())
            break;
    }
    Buffer<Index> rows(static_cast<Index>(found.size()));
    std::copy(found.begin(), found.end(), rows.begin());
    return rows;
}

} // namespace shoal::ISA
