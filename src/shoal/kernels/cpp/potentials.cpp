// Potentials of records, raised until no group near a record costs less than the potentials of its members.
#include "potentials.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "candidates.hpp"

namespace shoal::ISA {

namespace {

// The groups that records know: for each, the group with it of the least (SSE - potentials) / size met so far.
struct Known {
    Known(Index n, Index longest) : longest(longest), members(n * longest), size(n, 0), cost(n), ratio(n) {}

    Index *group(Index i) const { return members.data() + i * longest; }

    // Weigh what every record knows by new potentials.
    void weigh(Floats potentials) {
        for (Index i = 0; i < size.size(); i++)
            ratio[i] = size[i] > 0 ? ratio_of(group(i), size[i], cost[i], potentials) : INFINITE;
    }

    static double ratio_of(const Index *member, Index count, double its_cost, Floats potentials) {
        double gain = 0.0;
        for (Index at = 0; at < count; at++)
            gain += potentials[member[at]];
        return (its_cost - gain) / static_cast<double>(count);
    }

    // Let every member of a group know it, if it knows none of a lower ratio.
    void tell(const Index *member, Index count, double its_cost, double its_ratio) {
        for (Index at = 0; at < count; at++) {
            Index i = member[at];
            if (its_ratio < ratio[i]) {
                std::copy(member, member + count, group(i));
                size[i] = count;
                cost[i] = its_cost;
                ratio[i] = its_ratio;
            }
        }
    }

    Index longest;
    Buffer<Index> members, size;
    Buffer<double> cost, ratio;
};

// The depth-first search among the neighbours of one record; candidates are places in its list.
struct NearSearch {
    NearSearch(Table X, Index k, Table near, Matrix<const Index> lists, Floats potentials, Known &known)
        : X(X), k(k), lists(lists), potentials(potentials), known(known), bounds(k, near, lists.columns),
          levels(levels_for(k, lists.columns)), between(lists.columns * lists.columns), member(2 * k - 1),
          chosen(2 * k - 1) {}

    // Look for a group of the anchor with a lower ratio than the one it knows, and tell its members.
    void search(Index anchor, Index limit) {
        list = lists[anchor];
        best = known.ratio[anchor];
        found = 0;
        start(anchor);
        for (Index size = 1, nodes = 0; size > 0 && nodes < limit;) {
            Level &level = levels[static_cast<std::size_t>(size)];
            Index next = level.most_promising();
            if (next == level.count || level.key[next] >= best) {
                size--;
                continue;
            }
            nodes++;
            size = add(level, next, size);
        }
        if (found > 0)
            known.tell(chosen.data(), found, found_cost, best);
    }

  private:
    // Begin with the anchor alone; those who may join it are measured among themselves.
    void start(Index anchor) {
        Level &first = levels[1];
        Index room = lists.columns, count = 0;
        for (; count < room && list[count] >= 0; count++) {
            first.candidate[count] = count;
            first.apart[count] = squared_distance(X, anchor, list[count]);
        }
        member[0] = anchor;
        first.cost = 0.0;
        first.gain = potentials[anchor];
        keep_promising(first, count, 1);
        for (Index a = 0; a < first.count; a++)
            for (Index b = 0; b < a; b++) {
                Index x = first.candidate[a], y = first.candidate[b];
                between[x * room + y] = between[y * room + x] = squared_distance(X, list[x], list[y]);
            }
    }

    // Add a candidate to the group, and keep that if it is the best; return the size to go on with.
    Index add(Level &level, Index next, Index size) {
        Index x = level.candidate[next];
        double cost = level.cost_with(next, size), gain = level.gain + potentials[list[x]];
        member[size] = list[x];
        level.drop(next);
        double ratio = (cost - gain) / static_cast<double>(size + 1);
        if (size + 1 >= k && ratio < best) {
            best = ratio;
            found = size + 1;
            found_cost = cost;
            std::copy(member.begin(), member.begin() + found, chosen.begin());
        }
        if (size + 1 == 2 * k - 1)
            return size;
        Level &deeper = levels[static_cast<std::size_t>(size) + 1];
        Index count = 0;
        for (Index c = level.at; c < level.count; c++, count++) {
            deeper.candidate[count] = level.candidate[c];
            deeper.apart[count] = level.apart[c] + between[x * lists.columns + level.candidate[c]];
        }
        deeper.cost = cost;
        deeper.gain = gain;
        keep_promising(deeper, count, size + 1);
        return size + 1;
    }

    void keep_promising(Level &level, Index count, Index size) {
        const Index *records = list;
        bounds.keep_promising(level, count, size, potentials, best, [records](Index place) { return records[place]; });
    }

    Table X;
    Index k;
    Matrix<const Index> lists;
    Floats potentials;
    Known &known;
    Bounds<true> bounds;
    std::vector<Level> levels;
    Buffer<double> between; // squared distances within the list of the anchor
    Buffer<Index> member, chosen;
    const Index *list = nullptr; // of the anchor
    double best = 0.0, found_cost = 0.0;
    Index found = 0; // members of the best group, `chosen`
};

// Let the members of the groups of a pool know them.
void tell_pool(Known &known, Matrix<const Index> pool, Floats costs, Floats potentials) {
    for (Index g = 0; g < pool.rows; g++) {
        const Index *member = pool[g];
        Index count = std::find(member, member + pool.columns, -1) - member;
        known.tell(member, count, costs[g], Known::ratio_of(member, count, costs[g], potentials));
    }
}

// Take a step along the subgradient: a record is raised by one, and lowered by its part of every group that is the least
// of another.
void step_up(const Known &known, Floats scale, double step, Buffer<double> &raised, Span<double> potentials) {
    std::fill(raised.begin(), raised.end(), 1.0);
    for (Index i = 0; i < potentials.size; i++)
        for (Index at = 0; at < known.size[i]; at++)
            raised[known.group(i)[at]] -= 1.0 / static_cast<double>(known.size[i]);
    for (Index i = 0; i < potentials.size; i++)
        potentials[i] += step * scale[i] * raised[i];
}

} // namespace

double raise_potentials(Table X, Index k, Table near, Matrix<const Index> lists, Matrix<const Index> pool,
                        Floats pool_costs, Floats scale, Index steps, double first_step, double last_step, Index limit,
                        Watch watch, Span<double> potentials, Span<double> duals) {
    Index n = X.rows;
    require(k >= 2 && k <= n && near.rows == n && near.columns >= 2 * k - 1,
            "near must have a row for each record, and 2k - 1 columns");
    require(lists.rows == n && scale.size == n && potentials.size == n && duals.size == n,
            "lists, scale, potentials and duals must have a row for each record");
    require(lists.columns >= k - 1, "lists must have k - 1 columns");
    require(pool.rows == pool_costs.size && pool.columns == 2 * k - 1,
            "pool must have 2k - 1 columns and a cost for each group");
    require_indices(lists, -1, n, "lists must name records");
    require_indices(pool, -1, n, "pool must name records");
    Known known(n, 2 * k - 1);
    NearSearch near_search(X, k, near, lists, potentials, known);
    Buffer<double> spare(n), raised(n);
    double best = -INFINITE, step = first_step;
    double falling = steps > 1 ? std::pow(last_step / first_step, 1.0 / static_cast<double>(steps - 1)) : 1.0;
    for (Index done = 0; done < steps; done++, step *= falling) {
        known.weigh(potentials);
        tell_pool(known, pool, pool_costs, potentials);
        for (Index i = 0; i < n; i++) {
            near_search.search(i, limit);
            if (watch.stopped())
                return best;
        }
        double total = 0.0;
        for (Index i = 0; i < n; i++) {
            spare[i] = potentials[i] + known.ratio[i];
            total += spare[i];
        }
        if (total > best) {
            best = total;
            std::copy(spare.begin(), spare.end(), duals.begin());
        }
        step_up(known, scale, step, raised, potentials);
        watch.done(done + 1);
    }
    return best;
}

} // namespace shoal::ISA
