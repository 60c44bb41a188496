// MDAV-generic by three searches for the same groups, and CBFS by one of them; see shoal.kernels.mdav.
#include "mdav.hpp"

#include <algorithm>

#include "exact_sum.hpp"
#include "kd_tree.hpp"
#include "mixed_records.hpp"
#include "tally.hpp"

namespace shoal::ISA {

namespace {

// The exact sum of the records that have no group yet, and their mean.
struct RemainingMean {
    explicit RemainingMean(Table X)
        : bits{reinterpret_cast<const Index *>(X.data), X.rows, X.columns},
          range(digit_range({bits.data, X.rows * X.columns})), digits(X.columns * range.second, 0), mean(X.columns) {
        sum_of(bits, range.first, total());
    }

    Matrix<Index> total() const { return digits.matrix(bits.columns, range.second); }

    void take_away(Index i) { add_record(total(), range.first, bits.row(i), -1); }

    const double *of(Index count) {
        mean_of(total(), range.first, count, mean);
        return mean.data();
    }

  private:
    Matrix<const Index> bits;
    std::pair<Index, Index> range;
    Buffer<Index> digits;
    Buffer<double> mean;
};

// Fill the heap of the records nearest to a point, and return the farthest record.
Index scan(const Blocks &store, const double *point, Nearest &nearest) {
    alignas(64) double distance[LANES];
    double limit = nearest.record.size == 0 ? -1.0 : INFINITE, best = -1.0;
    Index farthest = -1;
    nearest.size = 0;
    for (Index block = 0; block < store.blocks; block++) {
        Lanes distances = squared_distances(store.block(block), point, store.d);
        unsigned near = lanes_at_most(distances, limit), far = lanes_at_least(distances, best);
        if ((near | far) == 0)
            continue;
        distances.store(distance);
        const Index *record = &store.record[block * LANES];
        while (near != 0) {
            int lane = next_lane(near);
            nearest.offer(distance[lane], record[lane]);
            if (nearest.full())
                limit = nearest.near[0];
        }
        while (far != 0) {
            int lane = next_lane(far);
            if (distance[lane] > best || (distance[lane] == best && record[lane] < farthest)) {
                best = distance[lane];
                farthest = record[lane];
            }
        }
    }
    return farthest;
}

// Give the records that are left a group of their own.
void label_rest(Span<Index> labels, Index formed) {
    for (Index &label : labels)
        if (label < 0)
            label = formed;
}

void require_sizes(Table X, Index k, Span<Index> labels) {
    require(labels.size == X.rows, "labels must have an element for each row of X");
    require(X.columns >= 1, "records must have at least one column");
    require_k(k);
}

// The farthest record, which there is unless distances are no numbers.
Index found(Index record) {
    require(record >= 0, "distances must be numbers");
    return record;
}

// Groups of any k records.
struct AnyRecords {
    explicit AnyRecords(Index k) : near(k - 1), records(k - 1), nearest{near, records} {}

    void around(Index) {}
    void take(Index) {}
    bool suffice() const { return true; }

    Buffer<double> near;
    Buffer<Index> records;
    Nearest nearest;
};

// Groups of k records of different units. They suffice as long as k units have records left.
struct RecordsOfUnits {
    RecordsOfUnits(Index k, Integers unit)
        : near(k - 1), records(k - 1), left(count_of(unit), 0), place(left.size(), NearestUnits::NOT_IN),
          nearest{near, records, unit, place}, k(k) {
        for (Index u : unit)
            units += left[u]++ == 0;
    }

    void around(Index x) { nearest.leave_out_unit_of(x); }
    void take(Index i) { units -= --left[nearest.unit[i]] == 0; }
    bool suffice() const { return units >= k; }

    Buffer<double> near;
    Buffer<Index> records, left, place;
    NearestUnits nearest;

  private:
    static Index count_of(Integers unit) {
        Index count = 0;
        for (Index u : unit) {
            require(u >= 0 && u < unit.size, "units must be numbered from 0");
            count = std::max(count, u + 1);
        }
        return count;
    }

    Index k, units = 0;
};

// Form groups of k around the record farthest from the mean of those left, while k are left; with `pairs`, while 2k are,
// and as long as there are 3k, also one around the record farthest from it. Return how many groups were formed; -1 if
// stopped. Records that do not suffice for a group more are left.
template <class Members>
Index fixed_size_groups(Table X, Index k, bool pairs, Members &members, Watch watch, Span<Index> labels) {
    Index n = X.rows, d = X.columns, count = n, formed = 0, least = pairs ? 2 * k : k;
    RemainingMean mean(X);
    MovingMean moving(d);
    Buffer<Index> place(n);
    auto &nearest = members.nearest;
    Search search;
    std::fill(labels.begin(), labels.end(), -1);
    while (count >= least && members.suffice()) {
        // A tree serves until half of its records are gone; then the rest is packed into a new one.
        Blocks store = plant(remaining(X, labels, count), d, place, watch);
        moving.restart(store, mean.of(count));
        Index enough = std::max(least, count / 2);
        Index x = -1;
        bool pair = false; // x_s is next, the record farthest from x_r = x
        while ((count >= enough || pair) && members.suffice()) {
            if (watch.stopped())
                return -1;
            if (pair) {
                x = found(farthest_in_tree(store, X[x], moving.centre.data(), moving.travelled, search));
                pair = false;
            } else {
                x = store.record[found(moving.farthest(store, mean.of(count)))];
                pair = pairs && count >= 3 * k;
            }
            remove(store, place[x]);
            labels[x] = formed;
            mean.take_away(x);
            members.take(x);
            members.around(x);
            if (k > 1)
                nearest_in_tree(store, place[x], X[x], nearest, search);
            nearest.require_full();
            for (Index y : members.records) { // what these records need lies far apart in memory: ask for all of it at once
                labels[y] = formed;
                __builtin_prefetch(X[y]);
                __builtin_prefetch(&place[y]);
            }
            for (Index y : members.records) {
                mean.take_away(y);
                members.take(y);
                remove(store, place[y]);
            }
            formed++;
            count -= k;
            watch.done(n - count);
        }
    }
    return formed;
}

} // namespace

void mdav_scan(Table X, Index k, Watch watch, Span<Index> labels) {
    require_sizes(X, k, labels);
    Index n = X.rows, d = X.columns, count = n, formed = 0;
    RemainingMean mean(X);
    MovingMean moving(d);
    Buffer<Index> place(n), records(k - 1);
    Buffer<double> near(k - 1);
    Nearest nearest{near, records}, none{near.first(0), records.first(0)};
    std::fill(labels.begin(), labels.end(), -1);
    while (count >= 2 * k) {
        // Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        Rows rows = remaining(X, labels, count);
        Blocks store = pack(rows.values.matrix(count, d), rows.record, place, false);
        moving.restart(store, mean.of(count));
        Index enough = std::max(2 * k, count - count / LANES);
        Index opposite = -1; // x_s, known as soon as the group of x_r has been found by a scan from x_r
        while (count >= enough || opposite >= 0) {
            if (watch.stopped())
                return;
            Index x = opposite;
            bool pair = false;
            if (opposite < 0) {
                x = store.record[found(moving.farthest(store, mean.of(count)))];
                pair = count >= 3 * k;
            }
            opposite = -1;
            erase(store, place[x]);
            Index farthest = scan(store, X[x], nearest);
            nearest.require_full();
            labels[x] = formed;
            mean.take_away(x);
            for (Index y : records) {
                labels[y] = formed;
                mean.take_away(y);
                erase(store, place[y]);
            }
            formed++;
            count -= k;
            watch.done(n - count);
            // If even the farthest was taken into the group, all that are left are as far: look again without it.
            if (pair)
                opposite = found(labels[found(farthest)] < 0 ? farthest : scan(store, X[x], none));
        }
    }
    label_rest(labels, formed);
    watch.done(n);
}

void mdav_tree(Table X, Index k, Watch watch, Span<Index> labels) {
    require_sizes(X, k, labels);
    AnyRecords members(k);
    Index formed = fixed_size_groups(X, k, true, members, watch, labels);
    if (formed < 0)
        return;
    label_rest(labels, formed);
    watch.done(X.rows);
}

void mdav_units_tree(Table X, Index k, Integers unit, Watch watch, Span<Index> labels) {
    require(unit.size == X.rows, "units must have an element for each row of X");
    require_sizes(X, k, labels);
    RecordsOfUnits members(k, unit);
    Index formed = fixed_size_groups(X, k, true, members, watch, labels);
    if (formed < 0)
        return;
    if (members.suffice())
        label_rest(labels, formed);
    watch.done(X.rows);
}

void cbfs_tree(Table X, Index k, Watch watch, Span<Index> labels) {
    require_sizes(X, k, labels);
    AnyRecords members(k);
    if (fixed_size_groups(X, k, false, members, watch, labels) >= 0)
        watch.done(X.rows);
}

namespace {

// MDAV-generic by scans; records that do not suffice for a group more are left.
template <class Members>
void mdav_by_scans(const EncodedMatrix &space, Index k, Members &members, Watch watch, Span<Index> labels) {
    Table X = space.values;
    space.require_sizes();
    Index n = X.rows, d = X.columns, count = n, formed = 0;
    Tally tally(space);
    MixedRecords store(space);
    Buffer<Index> place(n);
    Buffer<double> average(d);
    auto &nearest = members.nearest;
    std::fill(labels.begin(), labels.end(), -1);
    while (count >= 2 * k && members.suffice()) {
        // Pack the remaining records together again as soon as an eighth of the lanes would be dead.
        store.pack(X, labels, count, place);
        Index enough = std::max(2 * k, count - count / LANES);
        Index opposite = -1; // x_s, known as soon as the group of x_r has been found by a scan from x_r
        while ((count >= enough || opposite >= 0) && members.suffice()) {
            if (watch.stopped())
                return;
            Index x = opposite;
            bool pair = false;
            if (opposite < 0) {
                tally.average(count, average);
                x = found(store.farthest(average.data()));
                pair = count >= 3 * k;
            }
            opposite = -1;
            store.erase(place[x]);
            members.take(x);
            members.around(x);
            Index farthest = store.scan(X[x], nearest);
            nearest.require_full();
            labels[x] = formed;
            tally.count(x, -1);
            for (Index y : members.records) {
                labels[y] = formed;
                members.take(y);
                tally.count(y, -1);
                store.erase(place[y]);
            }
            formed++;
            count -= k;
            watch.done(n - count);
            // If even the farthest was taken into the group, all that are left are as far: look again without it.
            if (pair)
                opposite = found(labels[found(farthest)] < 0 ? farthest : store.farthest(X[x]));
        }
    }
    if (members.suffice())
        label_rest(labels, formed);
    watch.done(n);
}

} // namespace

void mdav_generic(const EncodedMatrix &space, Index k, Watch watch, Span<Index> labels) {
    require_sizes(space.values, k, labels);
    AnyRecords members(k);
    mdav_by_scans(space, k, members, watch, labels);
}

void mdav_units_generic(const EncodedMatrix &space, Index k, Integers unit, Watch watch, Span<Index> labels) {
    require(unit.size == space.values.rows, "units must have an element for each record");
    require_sizes(space.values, k, labels);
    RecordsOfUnits members(k, unit);
    mdav_by_scans(space, k, members, watch, labels);
}

} // namespace shoal::ISA
