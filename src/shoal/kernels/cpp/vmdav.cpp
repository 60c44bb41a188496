// V-MDAV on the tree: groups that grow while their next record is much nearer to them than to the others; see
// shoal.kernels.vmdav.
#include "vmdav.hpp"

#include <algorithm>
#include <cmath>

#include "exact_sum.hpp"
#include "kd_tree.hpp"

namespace shoal::ISA {

namespace {

struct Neighbour {
    double distance; // squared; infinite if there is none
    Index record;    // -1 if there is none
};

// The nearer of two, that with the lower index if they are as near.
Neighbour nearer(Neighbour a, Neighbour b) {
    bool better = b.record >= 0 && (a.record < 0 || b.distance < a.distance ||
                                    (b.distance == a.distance && b.record < a.record));
    return better ? b : a;
}

// The records around a group that grows: for each member, the nearest record outside, measured once, and again only when
// that one joins.
class Surroundings {
  public:
    Surroundings(Table X, Integers place, Index k) : X(X), place(place), beyond(2 * k) {}

    // The record nearest to a member, which is no longer in the tree.
    Neighbour nearest_to_member(const Blocks &store, Index x) { return nearest_to(store, x, 1); }

    // The record nearest to another of the tree.
    Neighbour nearest_to_other(const Blocks &store, Index x) { return nearest_to(store, x, 2); }

    // The nearest record outside to any of the first members.
    Neighbour nearest_outside(Index members) const {
        Neighbour best{INFINITE, -1};
        for (Index at = 0; at < members; at++)
            best = nearer(best, beyond[at]);
        return best;
    }

    Neighbour &of(Index member) const { return beyond[member]; }

  private:
    // Of the nearest found, as many as there is room for, the first that is not the record itself.
    Neighbour nearest_to(const Blocks &store, Index x, Index room) {
        double near[2];
        Index record[2];
        Nearest nearest{{near, room}, {record, room}};
        nearest_in_tree(store, place[x], X[x], nearest, search);
        Neighbour best{INFINITE, -1};
        for (Index at = 0; at < nearest.size; at++)
            if (record[at] != x)
                best = nearer(best, {near[at], record[at]});
        return best;
    }

    Table X;
    Integers place;
    Search search;
    Buffer<Neighbour> beyond;
};

// Assign each record without a label to the group with the nearest mean; `order` has the others, group by group.
void attach(Table X, Span<Index> labels, Integers order, Index first, Index digits) {
    Index d = X.columns, size = 0;
    Matrix<const Index> bits{reinterpret_cast<const Index *>(X.data), X.rows, d};
    Buffer<Index> left(X.rows - order.size), chosen(left.size(), 0), total(d * digits);
    for (Index i = 0; i < X.rows; i++)
        if (labels[i] < 0)
            left[size++] = i;
    Buffer<double> best(size, INFINITE), mean(d);
    Index start = 0;
    while (start < order.size && size > 0) {
        Index stop = start, label = labels[order[start]];
        std::fill(total.begin(), total.end(), 0);
        while (stop < order.size && labels[order[stop]] == label)
            add_record(total.matrix(d, digits), first, bits.row(order[stop++]), 1);
        mean_of(total.matrix(d, digits), first, stop - start, mean);
        for (Index at = 0; at < size; at++) {
            const double *x = X[left[at]];
            double distance = 0.0;
            for (Index j = 0; j < d; j++)
                distance += (x[j] - mean[j]) * (x[j] - mean[j]);
            if (distance < best[at]) {
                best[at] = distance;
                chosen[at] = label;
            }
        }
        start = stop;
    }
    for (Index at = 0; at < size; at++)
        labels[left[at]] = chosen[at];
}

} // namespace

void vmdav_tree(Table X, Index k, double gain, Watch watch, Span<Index> labels) {
    Index n = X.rows, d = X.columns, assigned = 0, formed = 0;
    require(labels.size == n, "labels must have an element for each row of X");
    require(d >= 1, "records must have at least one column");
    require_k(k);
    Matrix<const Index> bits{reinterpret_cast<const Index *>(X.data), n, d};
    auto [first, digits] = digit_range({bits.data, n * d});
    Buffer<Index> place(n), order(n), records(k - 1), total(d * digits, 0);
    Buffer<double> centroid(d), near(k - 1);
    sum_of(bits, first, total.matrix(d, digits));
    mean_of(total.matrix(d, digits), first, n, centroid);
    Nearest nearest{near, records};
    Surroundings around(X, place, k);
    Search search;
    std::fill(labels.begin(), labels.end(), -1);
    while (n - assigned >= k) {
        Blocks store = plant(remaining(X, labels, n - assigned), d, place, watch);
        measure_from(store, centroid.data());
        Index enough = std::max(k, (n - assigned) / 2);
        while (n - assigned >= enough) {
            if (watch.stopped())
                return;
            Index start = assigned;
            Index lane = farthest_from_centre(store, centroid.data(), 0.0).lane;
            require(lane >= 0, "distances must be numbers");
            Index x = store.record[lane];
            remove(store, lane);
            order[assigned] = x;
            if (k > 1)
                nearest_in_tree(store, lane, X[x], nearest, search);
            nearest.require_full();
            for (Index at = 0; at < k - 1; at++) {
                order[assigned + 1 + at] = records[at];
                remove(store, place[records[at]]);
            }
            assigned += k;
            for (Index at = 0; at < k; at++)
                around.of(at) = around.nearest_to_member(store, order[start + at]);
            while (assigned - start < 2 * k - 1 && assigned < n) {
                Neighbour inside = around.nearest_outside(assigned - start);
                x = inside.record;
                require(x >= 0, "distances must be numbers");
                Neighbour outside = around.nearest_to_other(store, x);
                if (!(std::sqrt(inside.distance) < gain * std::sqrt(outside.distance)))
                    break;
                remove(store, place[x]);
                order[assigned] = x;
                around.of(assigned - start) = outside;
                for (Index at = 0; at < assigned - start; at++)
                    if (around.of(at).record == x)
                        around.of(at) = around.nearest_to_member(store, order[start + at]);
                assigned++;
            }
            for (Index at = start; at < assigned; at++)
                labels[order[at]] = formed;
            formed++;
            watch.done(assigned);
        }
    }
    attach(X, labels, order.first(assigned), first, digits);
    watch.done(n);
}

} // namespace shoal::ISA
