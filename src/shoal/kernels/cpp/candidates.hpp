// The depth-first search for groups of k to 2k - 1 records, one member at a time: what pricing and potentials share.
#pragma once

#include <algorithm>
#include <vector>

#include "distance.hpp"

namespace shoal::ISA {

// A group S, and the candidates to join it: those from `at` on.
struct Level {
    explicit Level(Index room) : candidate(room), apart(room), key(room) {}

    // The place of the candidate of the lowest key; `count` if none is left.
    Index most_promising() const {
        Index next = at;
        for (Index c = at; c < count; c++)
            if (key[c] < key[next])
                next = c;
        return next;
    }

    // The SSE of S and the candidate at a place, S having `size` members.
    double cost_with(Index place, Index size) const {
        return (static_cast<double>(size) * cost + apart[place]) / static_cast<double>(size + 1);
    }

    // Once all groups with it have been seen, the one at this place is no candidate any more.
    void drop(Index place) {
        copy(at, place);
        at++;
    }

    void copy(Index from, Index to) {
        candidate[to] = candidate[from];
        apart[to] = apart[from];
        key[to] = key[from];
    }

    Buffer<Index> candidate;
    Buffer<double> apart; // the squared distances between a candidate and the members of S, added up
    Buffer<double> key;   // a bound on the reduced cost of the groups with the candidate
    Index count = 0, at = 0;
    double cost = 0.0, gain = 0.0; // SSE of S, and its duals
};

// The levels of one search, by the size of the group so far.
inline std::vector<Level> levels_for(Index k, Index room) {
    std::vector<Level> levels;
    for (Index size = 0; size < 2 * k - 1; size++)
        levels.emplace_back(room);
    return levels;
}

// Put a value in its place if it is below the last of values in order, which it drops.
inline void put_in_place(double value, Span<double> smallest) {
    Index at = smallest.size - 1;
    if (at < 0 || value >= smallest[at])
        return;
    for (; at > 0 && smallest[at - 1] > value; at--)
        smallest[at] = smallest[at - 1];
    smallest[at] = value;
}

// Bounds on the reduced cost of the groups that a group can grow to; `PER_MEMBER`, on that divided by their size.
template <bool PER_MEMBER> struct Bounds {
    Bounds(Index k, Table near, Index room) : k(k), near(near), term(room), smallest(2 * k - 1) {}

    // Keep the candidates that can join a group S of `size` members in a group whose bound is below the threshold.
    //
    // Let T have m members: the `size` of S and t = m - size others, the pairs of S being known, those between S and the
    // candidate x summing to apart[x], and those of x with the t - 1 others being no nearer than its t - 1 nearest
    // records anywhere, near[x][t - 1]. So the reduced cost of T is at least
    //
    //     size * cost(S) / m - gain(S) + sum over the others x of (apart[x] + near[x][t - 1] / 2) / m - duals[x],
    //
    // and at least that with the t smallest terms of all candidates in place of T's own. `key` becomes this bound with x
    // forced to be one of them, the least over m. `record_of` turns candidates into records. Those kept are at the front
    // of the arrays.
    template <class RecordOf>
    void keep_promising(Level &level, Index count, Index size, Floats duals, double threshold, RecordOf record_of) {
        std::fill(level.key.begin(), level.key.begin() + count, INFINITE);
        for (Index m = std::max(k, size + 1); m <= 2 * k - 1 && m - size <= count; m++) {
            Index t = m - size;
            double divisor = static_cast<double>(m), per = PER_MEMBER ? divisor : 1.0;
            std::fill(smallest.begin(), smallest.begin() + t, INFINITE);
            for (Index c = 0; c < count; c++) {
                Index x = record_of(level.candidate[c]);
                term[c] = (level.apart[c] + near[x][t - 1] / 2) / divisor - duals[x];
                put_in_place(term[c], smallest.first(t));
            }
            double least = static_cast<double>(size) * level.cost / divisor - level.gain;
            for (Index at = 0; at < t; at++)
                least += smallest[at];
            if (least < threshold * per)
                for (Index c = 0; c < count; c++)
                    level.key[c] = std::min(level.key[c], (least + std::max(0.0, term[c] - smallest[t - 1])) / per);
        }
        level.at = level.count = 0;
        for (Index c = 0; c < count; c++)
            if (level.key[c] < threshold)
                level.copy(c, level.count++);
    }

  private:
    Index k;
    Table near;
    Buffer<double> term, smallest; // scratch
};

} // namespace shoal::ISA
