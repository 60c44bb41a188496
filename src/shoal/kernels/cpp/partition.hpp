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

// What the error changes by if x of a group with centroid c_a and y of one with centroid c_b change places; w is the sum
// of one over each of their sizes.
inline double change_of_swap(const double *x, const double *y, const double *c_a, const double *c_b, double w,
                             Index columns) {
    Quad total{};
    for (Index j = 0; j < columns; j += STRIDE)
        for (Index p = 0; p < STRIDE / WIDTH; p++) {
            Index at = j + p * WIDTH;
            Vector e = load(y + at) - load(x + at);
            total.part[p] += e * (2.0 * (load(c_a + at) - load(c_b + at)) + w * e);
        }
    return -total.sum();
}

// Take x out of a group with centroid c_a, which has 1 / out records then, into one with centroid c_b, of 1 / into.
inline void move_centroids(const double *x, double *c_a, double *c_b, double out, double into, Index columns) {
    for (Index j = 0; j < columns; j += WIDTH) {
        Vector from = load(c_a + j), to = load(c_b + j), value = load(x + j);
        store(c_a + j, from + (from - value) * out);
        store(c_b + j, to + (value - to) * into);
    }
}

// Let x and y change places; w_a and w_b are one over the sizes of their groups.
inline void swap_centroids(const double *x, const double *y, double *c_a, double *c_b, double w_a, double w_b,
                           Index columns) {
    for (Index j = 0; j < columns; j += WIDTH) {
        Vector e = load(y + j) - load(x + j);
        store(c_a + j, load(c_a + j) + e * w_a);
        store(c_b + j, load(c_b + j) - e * w_b);
    }
}

struct Partition : Grouping {
    // The border: members, labels and places must agree, or a change would write outside of the arrays.
    void require_valid() const {
        Index n = X.rows, room = size.size;
        require_sizes();
        require_indices(Integers(size), 0, most() + 1, "groups must have at most 2k - 1 records");
        require_indices(Integers(label), 0, room, "labels must be those of groups");
        require_indices(Integers(free), 0, room + 1, "free numbers must be those of groups");
        bool agree = true;
        for (Index i = 0; i < n; i++) {
            Index g = label[i], at = place[i];
            agree &= 0 <= at && at < size[g] && members[g][at] == i;
        }
        Index records = 0;
        for (Index count : size)
            records += count;
        Buffer<bool> seen(room, false);
        for (Index at = 1; at <= free[0]; at++) {
            agree &= free[at] < room && size[free[at]] == 0 && !seen[free[at]];
            seen[free[at] < room ? free[at] : 0] = true;
        }
        require(agree && records == n, "labels, places, members and sizes must agree, and free groups be empty");
    }

    void require_sizes() const {
        Index n = X.rows, room = size.size;
        require(X.columns % STRIDE == 0 && X.columns == centroid.columns, "X must have a multiple of 4 columns");
        require(label.size == n && place.size == n, "there must be a label and a place for each row of X");
        require(room >= 1 && members.rows == room && members.columns >= 1 && centroid.rows == room &&
                    free.size == room + 1,
                "there must be room for all groups");
    }

    void require_record(Index i) const { require(0 <= i && i < X.rows, "the record must be among all"); }
    void require_group(Index g) const { require(0 <= g && g < size.size, "the group must be among all"); }

    void require_near(Neighbours near) const {
        require(near.rows == X.rows, "near must have a row for each record");
        require_indices(near, 0, X.rows, "neighbours must be records");
    }

    // There must be room for the moves of the largest change: regrouping moves k records, and dissolves k groups.
    void require_room(Journal journal) const {
        require(journal.length.size >= 1 && journal.record.size >= longest_journal() &&
                    journal.origin.size >= longest_journal(),
                "the journal must have room for its moves");
    }

    Index longest_journal() const { return most() * (k() + 1); }

    Index most() const { return members.columns; } // 2k - 1 members
    Index k() const { return (members.columns + 1) / 2; }
    bool allowed(Index) const { return true; } // nothing else is asked of a group

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
        return change_of_swap(x, y, c_a, c_b, w, X.columns);
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
        move_centroids(X[i], centroid[a], centroid[b], out, into, X.columns);
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
        swap_centroids(X[i], X[m], centroid[a], centroid[b], w_a, w_b, X.columns);
    }
};

// A partition whose members, labels, places and sizes agree.
inline Partition checked(Grouping given) {
    Partition s{given};
    s.require_valid();
    return s;
}

} // namespace shoal::ISA
