// What a change of a partition does to its sum of squared errors: O(d) to weigh and O(d) to make. With centroids c_A,
// c_B of groups of a and b members, the sum changes by
//
//     b/(b + 1) |x_i - c_B|^2 - a/(a - 1) |x_i - c_A|^2                      if x_i moves from A to B,
//     -2 (x_j - x_i).(c_A - c_B) - |x_j - x_i|^2 (1/a + 1/b)                 if x_i of A and x_j of B change places.
#pragma once

#include <utility>

#include "grouping.hpp"
#include "lanes.hpp"

namespace shoal::ISA {

constexpr Index STRIDE = 4; // attributes added at once

// Four sums side by side.
struct Quad {
    Vector part[STRIDE / WIDTH];

    double sum() const {
        double t[STRIDE];
        std::memcpy(t, part, sizeof t);
        return (t[0] + t[1]) + (t[2] + t[3]);
    }
};

// The squared distance of two rows of `columns` attributes, a multiple of STRIDE.
inline double squared(const double *x, const double *y, Index columns) {
    Quad total{};
    for (Index j = 0; j < columns; j += STRIDE)
        for (Index p = 0; p < STRIDE / WIDTH; p++) {
            Vector e = load(x + j + p * WIDTH) - load(y + j + p * WIDTH);
            total.part[p] += e * e;
        }
    return total.sum();
}

struct Partition : Grouping {
    Index most() const { return members.columns; } // 2k - 1 members
    Index k() const { return (members.columns + 1) / 2; }

    // What the error rises by if record i joins group b.
    double joining(Index i, Index b) const {
        double distance = squared(X[i], centroid[b], X.columns);
        return distance * static_cast<double>(size[b]) / static_cast<double>(size[b] + 1);
    }

    // What the error falls by if record i leaves its group of two or more.
    double leaving(Index i) const {
        Index a = label[i];
        double distance = squared(X[i], centroid[a], X.columns);
        return distance * static_cast<double>(size[a]) / static_cast<double>(size[a] - 1);
    }

    // What the error falls by if record i leaves its group; nothing if it is alone there.
    double leaving_or_alone(Index i) const { return size[label[i]] > 1 ? leaving(i) : 0.0; }

    // What the error changes by if records i and m of different groups change places.
    double swapping(Index i, Index m) const {
        Index a = label[i], b = label[m];
        const double *x = X[i], *y = X[m], *c_a = centroid[a], *c_b = centroid[b];
        double w = 1.0 / static_cast<double>(size[a]) + 1.0 / static_cast<double>(size[b]);
        Quad total{};
        for (Index j = 0; j < X.columns; j += STRIDE)
            for (Index p = 0; p < STRIDE / WIDTH; p++) {
                Index at = j + p * WIDTH;
                Vector e = load(y + at) - load(x + at);
                total.part[p] += e * (2.0 * (load(c_a + at) - load(c_b + at)) + w * e);
            }
        return -total.sum();
    }

    // The member of group b with which record i had best change places, and what the error changes by.
    std::pair<double, Index> best_swap(Index i, Index b) const {
        double least = INFINITE;
        Index other = -1;
        for (Index p = 0; p < size[b]; p++) {
            double change = swapping(i, members[b][p]);
            if (change < least) {
                least = change;
                other = members[b][p];
            }
        }
        return {least, other};
    }

    // Move record i to group b, which may be empty, from a group, which may become so.
    void move(Index i, Index b) const {
        Index a = label[i], last = members[a][size[a] - 1];
        members[a][place[i]] = last;
        place[last] = place[i];
        size[a]--;
        members[b][size[b]] = i;
        place[i] = size[b];
        size[b]++;
        label[i] = b;
        double out = 1.0 / static_cast<double>(size[a] > 1 ? size[a] : 1), into = 1.0 / static_cast<double>(size[b]);
        const double *x = X[i];
        double *c_a = centroid[a], *c_b = centroid[b];
        for (Index j = 0; j < X.columns; j += WIDTH) {
            Vector from = load(c_a + j), to = load(c_b + j), value = load(x + j);
            store(c_a + j, from + (from - value) * out);
            store(c_b + j, to + (value - to) * into);
        }
        if (size[a] == 0)
            free[++free[0]] = a;
    }

    // Let records i and m of different groups change places.
    void swap(Index i, Index m) const {
        Index a = label[i], b = label[m];
        members[a][place[i]] = m;
        members[b][place[m]] = i;
        std::swap(place[i], place[m]);
        label[i] = b;
        label[m] = a;
        double w_a = 1.0 / static_cast<double>(size[a]), w_b = 1.0 / static_cast<double>(size[b]);
        const double *x = X[i], *y = X[m];
        double *c_a = centroid[a], *c_b = centroid[b];
        for (Index j = 0; j < X.columns; j += WIDTH) {
            Vector e = load(y + j) - load(x + j);
            store(c_a + j, load(c_a + j) + e * w_a);
            store(c_b + j, load(c_b + j) - e * w_b);
        }
    }
};

} // namespace shoal::ISA
