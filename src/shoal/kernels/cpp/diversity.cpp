// Groups that must hold enough different values, or the distribution of the file, of confidential attributes; see
// shoal.kernels.diversity.
#include "diversity.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "demand.hpp"
#include "mixed_records.hpp"
#include "tally.hpp"

namespace shoal::ISA {

namespace {

// The average records of groups, one after the other.
class Centres {
  public:
    // A tally of no records that has room for the sum of all.
    explicit Centres(const EncodedMatrix &space) : tally(space) {
        for (Index i = 0; i < space.values.rows; i++)
            tally.count(i, -1);
    }

    // Write the average record of a group; the tally is empty before and after.
    void centre(Integers members, Span<double> point) {
        for (Index i : members)
            tally.count(i, 1);
        tally.average(members.size, point);
        for (Index i : members)
            tally.count(i, -1);
    }

  private:
    Tally tally;
};

Integers group(Integers order, Integers start, Index g) {
    return order.from(start[g]).first(start[g + 1] - start[g]);
}

// The group with the highest severity, the lowest of several.
Index worst_of(Floats severity) {
    Index worst = 0;
    for (Index g = 1; g < severity.size; g++)
        if (severity[g] > severity[worst])
            worst = g;
    return worst;
}

void require_groups(const EncodedMatrix &space, Integers order, Integers start) {
    space.require_sizes();
    require(order.size == space.values.rows, "order must have an element for each record");
    require_indices(order, 0, order.size, "order must be of these records");
    require_starts(start, order.size, 0, "groups must follow each other");
}

// The nearest records of each pool, as many as a group can take.
class PoolHeaps {
  public:
    // Room for one record a share, and an extra one.
    explicit PoolHeaps(const Parts &parts)
        : parts(parts), pools(1 + *std::max_element(parts.shares.begin(), parts.shares.end())), start(pools + 1, 0),
          near(parts.shares.size + pools), nearest(parts.shares.size + pools), taken(pools) {
        for (Index pool : parts.shares)
            start[pool + 1]++;
        for (Index pool = 0; pool < pools; pool++) {
            start[pool + 1] += start[pool] + 1;
            Index low = start[pool], room = start[pool + 1] - low;
            heaps.push_back(Nearest{{&near[low], room}, {&nearest[low], room}});
        }
    }

    // Find the records of each pool that are nearest to a point, and sort them, the nearest first.
    void fill(const MixedRecords &store, const double *point) {
        alignas(64) double distance[LANES];
        for (Nearest &heap : heaps)
            heap.size = 0;
        for (Index block = 0; block < store.blocks; block++) {
            store.distances(block, point).store(distance);
            Index lanes = std::min(LANES, store.record.size() - block * LANES);
            for (Index lane = 0; lane < lanes; lane++) {
                Index i = store.record[block * LANES + lane];
                Nearest &heap = heaps[static_cast<std::size_t>(parts.pool[i])];
                double limit = heap.full() ? heap.near[0] : INFINITE;
                if (distance[lane] < limit) // never true of a dead lane, which is NaN
                    heap.offer(distance[lane], i);
            }
        }
        for (Nearest &heap : heaps)
            heap.sort();
        std::fill(taken.begin(), taken.end(), 0);
    }

    // Write the group that takes the nearest record of each part, and one that a part has too many; return its size.
    Index one_of_each(Span<Index> group) {
        Index size = 0;
        bool more = true;
        for (Index p = 0; p < parts.extra.size; p++) {
            group[size++] = take(p);
            if (more && parts.extra[p] > 0) {
                parts.extra[p]--;
                group[size++] = take(p);
                more = false;
            }
        }
        return size;
    }

  private:
    // The nearest record that part p can give.
    Index take(Index p) {
        Index best = -1, best_at = -1;
        for (Index share = parts.start[p]; share < parts.start[p + 1]; share++) {
            Index pool = parts.shares[share], at = start[pool] + taken[pool];
            if (parts.left[share] <= 0 || taken[pool] >= heaps[static_cast<std::size_t>(pool)].size)
                continue;
            if (best < 0 || near[at] < near[best_at] || (near[at] == near[best_at] && nearest[at] < nearest[best_at])) {
                best = share;
                best_at = at;
            }
        }
        require(best >= 0, "a part has fewer records than there are groups");
        parts.left[best]--;
        taken[parts.shares[best]]++;
        return nearest[best_at];
    }

    Parts parts;
    Index pools;
    Buffer<Index> start; // (pools + 1): where those of a pool begin
    Buffer<double> near;
    Buffer<Index> nearest;
    Buffer<Index> taken; // (pools): how many of them the group has
    std::vector<Nearest> heaps;
};

void require_parts(const Parts &parts, Index n) {
    require(parts.pool.size == n, "pool must have an element for each record");
    require(parts.start.size == parts.extra.size + 1 && parts.shares.size == parts.left.size && parts.shares.size > 0,
            "parts must have shares");
    require_indices(parts.shares, 0, n, "shares must be of pools");
    Index pools = 1 + *std::max_element(parts.shares.begin(), parts.shares.end());
    require_indices(parts.pool, 0, pools, "every pool must have a share");
    require_starts(parts.start, parts.shares.size, 0, "the shares of parts must follow each other");
}

} // namespace

void merge_groups(const EncodedMatrix &space, const Attributes &attributes, Integers order, Integers start,
                  const LDiversity &wanted, double slack, double t, Watch watch, Span<Index> home) {
    require_groups(space, order, start);
    Index groups = start.size - 1, d = space.values.columns;
    require(home.size == groups, "home must have an element for each group");
    require_attributes(attributes, space.values.rows);
    Demand demand(attributes, wanted, slack, t);
    Centres centres(space);
    Buffer<double> points(groups * d), severity(groups);
    Matrix<double> centre = points.matrix(groups, d);
    // A merged group is a chain of groups, under the number of the lowest.
    Buffer<Index> gone(groups, -1); // the group that one was merged into, -1 if it is still there
    Buffer<Index> following(groups, -1), last(groups), gathered(order.size), place(groups);
    for (Index g = 0; g < groups; g++) {
        home[g] = last[g] = g;
        if (watch.stopped()) // before there is anything to merge by
            continue;
        centres.centre(group(order, start, g), centre.row(g));
        severity[g] = demand.severity(group(order, start, g));
    }
    double near[1];
    Index record[1];
    Nearest nearest{{near, 1}, {record, 1}};
    Index count = groups, packed = groups;
    MixedRecords store(space);
    store.pack(centre, gone, count, place);
    while (count > 1 && !watch.stopped()) {
        Index worst = worst_of(severity);
        if (severity[worst] < 0)
            break;
        if (count < packed - packed / LANES) { // an eighth of the lanes are dead
            store.pack(centre, gone, count, place);
            packed = count;
        }
        store.erase(place[worst]);
        store.scan(centre[worst], nearest);
        nearest.require_full();
        Index low = std::min(worst, record[0]), high = std::max(worst, record[0]);
        gone[high] = low;
        severity[high] = -1.0;
        count--;
        following[last[low]] = high;
        last[low] = last[high];
        Index size = 0;
        for (Index part = low; part >= 0; part = following[part]) {
            home[part] = low;
            for (Index i : group(order, start, part))
                gathered[size++] = i;
        }
        centres.centre(gathered.first(size), centre.row(low));
        severity[low] = demand.severity(gathered.first(size));
        store.put(place[low], centre[low]);
        store.erase(place[high]);
    }
}

double squared_error(const EncodedMatrix &space, Integers order, Integers start, Watch watch) {
    require_groups(space, order, start);
    Table X = space.values;
    Centres centres(space);
    Buffer<double> point(X.columns);
    double total = 0.0;
    for (Index g = 0; g < start.size - 1 && !watch.stopped(); g++) {
        Integers members = group(order, start, g);
        centres.centre(members, point);
        for (Index i : members)
            total += mixed_distance(X[i], point.data(), space.kinds.data, space.apart.data, X.columns);
    }
    return total;
}

void groups_across(const EncodedMatrix &space, const Parts &parts, Watch watch, Span<Index> labels) {
    Table X = space.values;
    Index n = X.rows, count = n, formed = 0;
    space.require_sizes();
    require(labels.size == n, "labels must have an element for each record");
    require_parts(parts, n);
    Tally tally(space);
    PoolHeaps heaps(parts);
    MixedRecords store(space);
    Buffer<Index> place(n), members(parts.extra.size + 1);
    Buffer<double> average(X.columns);
    const double *point = average.data();
    std::fill(labels.begin(), labels.end(), -1);
    while (count > 0) {
        // Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        store.pack(X, labels, count, place);
        Index enough = std::max(Index{1}, count - count / LANES);
        while (count >= enough) {
            if (watch.stopped())
                return;
            if (formed % 2 == 0) { // x_r, farthest from the average; else x_s, farthest from x_r
                tally.average(count, average);
                point = average.data();
            }
            Index farthest = store.farthest(point);
            require(farthest >= 0, "distances must be numbers");
            point = X[farthest];
            heaps.fill(store, point);
            Index size = heaps.one_of_each(members);
            for (Index y : members.first(size)) {
                labels[y] = formed;
                tally.count(y, -1);
                store.erase(place[y]);
            }
            formed++;
            count -= size;
        }
    }
}

} // namespace shoal::ISA
