// Changes of a partition, whatever its records are made of: Groups is `Partition` (numbers) or `MixedPartition`.
//
// Whatever takes several moves is made move by move, with a journal from which it can be taken back. Each function
// returns the change of the error, or infinity if it cannot be done; what the journal notes must then be taken back.
// Nothing is checked here: entry points do that, once.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <tuple>

#include "grouping.hpp"

namespace shoal::ISA {

// The next of a sequence of random 64-bit integers (xorshift64*, Vigna 2016); the state is not zero.
std::uint64_t random_bits(Span<std::uint64_t> state);

enum { DISSOLVE, FORM, REGROUP, RESPLIT, SPLIT, KINDS };

struct Moves {
    explicit Moves(Index room) : length(1, 0), record(room), origin(room) {}

    operator Journal() const { return {length, record, origin}; }

    Buffer<Index> length, record, origin;
};

// Move record i to group b and note it.
template <class Groups> void moved(Groups &s, Journal journal, Index i, Index b) {
    Index at = journal.length[0]++;
    journal.record[at] = i;
    journal.origin[at] = s.label[i];
    s.move(i, b);
}

// Take a number for a new group; there must be one.
template <class Groups> Index new_group(Groups &s) { return s.free[s.free[0]--]; }

// Undo the last move.
template <class Groups> void undo_last(Groups &s, Journal journal) {
    Index at = --journal.length[0], b = journal.origin[at];
    if (s.size[b] == 0)
        s.free[0]--; // emptied in this journal, and so the last that was put there
    s.move(journal.record[at], b);
}

// Undo all moves of the journal, the last first.
template <class Groups> void undo_moves(Groups &s, Journal journal) {
    while (journal.length[0] > 0)
        undo_last(s, journal);
}

// Send each member of group g to the best other group of its neighbours.
template <class Groups> double dissolve_group(Groups &s, Neighbours near, Index g, Journal journal) {
    double change = 0.0;
    while (s.size[g] > 0) {
        Index i = s.members[g][s.size[g] - 1], target = -1, before = g;
        double best = INFINITE;
        for (Index j : near.row(i)) {
            Index b = s.label[j];
            if (b == before || b == g || s.size[b] >= s.most())
                continue;
            before = b;
            double cost = s.joining(i, b);
            if (cost < best) {
                best = cost;
                target = b;
            }
        }
        if (target < 0)
            return INFINITE;
        if (s.size[g] > 1)
            change -= s.leaving(i);
        change += best;
        moved(s, journal, i, target);
    }
    return change;
}

// Form a group of record i and its nearest that their groups can spare.
template <class Groups> double form_group(Groups &s, Neighbours near, Index i, Journal journal) {
    Index k = s.k();
    if (s.free[0] == 0 || s.size[s.label[i]] == k)
        return INFINITE;
    Index g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    for (Index j : near.row(i)) {
        Index b = s.label[j];
        if (b == g || s.size[b] == k)
            continue;
        change += s.joining(j, g) - s.leaving(j);
        moved(s, journal, j, g);
        if (s.size[g] == k)
            return change;
    }
    return INFINITE;
}

// Form a group of record i and its k - 1 nearest. Groups that fall below k by it are dissolved, the smallest first: its
// members may fill up the next.
template <class Groups> double regroup_around(Groups &s, Neighbours near, Index i, Journal journal) {
    Index k = s.k();
    if (s.free[0] == 0)
        return INFINITE;
    Index g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    for (Index j : near.row(i)) {
        if (s.label[j] == g)
            continue;
        if (s.size[s.label[j]] > 1)
            change -= s.leaving(j);
        change += s.joining(j, g);
        moved(s, journal, j, g);
        if (s.size[g] == k)
            break;
    }
    Index taken = journal.length[0];
    while (s.size[g] >= k) {
        Index least = k, short_group = -1;
        for (Index at = 0; at < taken; at++) {
            Index b = journal.origin[at];
            if (0 < s.size[b] && s.size[b] < least) {
                least = s.size[b];
                short_group = b;
            }
        }
        if (short_group < 0)
            return change;
        change += dissolve_group(s, near, short_group, journal);
        if (s.size[short_group] > 0)
            break;
    }
    return INFINITE;
}

// Merge the group of record i with that of its nearest outside and split them again: a group grows from record i, by the
// member of the two that is nearest to its centroid, to the size that i's group had; the rest is the other.
template <class Groups> double resplit_pair(Groups &s, Neighbours near, Index i, Journal journal) {
    Index a = s.label[i], b = -1;
    for (Index j : near.row(i)) {
        if (s.label[j] != a) {
            b = s.label[j];
            break;
        }
    }
    if (b < 0 || s.free[0] == 0 || s.size[a] + s.size[b] > 8 * s.k()) // large groups take as long as their square
        return INFINITE;
    Index size = s.size[a], g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    while (s.size[g] < size) {
        double best = INFINITE;
        Index nearest = -1;
        for (Index group : {a, b})
            for (Index p = 0; p < s.size[group]; p++) {
                double cost = s.joining(s.members[group][p], g);
                if (cost < best) {
                    best = cost;
                    nearest = s.members[group][p];
                }
            }
        if (nearest < 0) // values are no numbers
            return INFINITE;
        change += best - s.leaving_or_alone(nearest);
        moved(s, journal, nearest, g);
    }
    while (s.size[a] > 0 && s.size[b] > 0) {
        Index j = s.members[a][s.size[a] - 1];
        change += s.joining(j, b) - s.leaving_or_alone(j);
        moved(s, journal, j, b);
    }
    return change;
}

// Propose as many changes as there are steps and accept each by the rule of Metropolis; return the error's change.
//
// `ruins` says how often in 1024 proposals each kind of change of several moves is tried, times k, since each weighs
// some k records; `ruin(i, kind, below)` makes it if the error changes by less than `below`, and returns the change.
template <class Groups, class Ruin>
double propose(Groups &s, Neighbours near, Floats local, double temperature, Index steps, Span<std::uint64_t> state,
               Watch watch, Floats ruins, Ruin ruin) {
    constexpr Index TABLE = 4096;
    auto share = [](std::uint64_t bits, Index n) { // a number below n by the upper half of random bits
        return static_cast<Index>(((bits >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    };
    Index n = near.rows, most = s.most(), k = s.k();
    double heights[TABLE];
    for (Index at = 0; at < TABLE; at++)
        heights[at] = -std::log((static_cast<double>(at) + 0.5) / TABLE);
    Index bars[KINDS], bar = 0, kinds = 0;
    for (double often : ruins) {
        bar += std::max(Index{2}, static_cast<Index>(std::nearbyint(often / static_cast<double>(k))));
        bars[kinds++] = bar;
    }
    double total = 0.0;
    for (Index step = 0; step < steps; step++) {
        if (step % 1024 == 0 && watch.stopped())
            break;
        std::uint64_t bits = random_bits(state);
        Index i = share(bits, n);
        double below = temperature * local[i] * heights[bits & (TABLE - 1)];
        Index chance = static_cast<Index>((bits >> 12) & 1023);
        if (chance < bar) {
            int kind = 0;
            while (chance >= bars[kind])
                kind++;
            total += ruin(i, kind, below);
            continue;
        }
        bits = random_bits(state);
        Index a = s.label[i], b = s.label[near[i][share(bits, near.columns)]];
        if (a == b)
            continue;
        if (s.size[a] > k && s.size[b] < most) {
            double change = s.joining(i, b) - s.leaving(i);
            if (change < below) {
                s.move(i, b);
                if (s.allowed(a) && s.allowed(b)) {
                    total += change;
                    continue;
                }
                s.move(i, a);
            }
        }
        double change;
        Index other;
        if (chance & 1) { // the best partner or any one, in turn: neither alone was clearly better for its time
            std::tie(change, other) = s.best_swap(i, b);
        } else {
            other = s.members[b][share(bits << 32, s.size[b])];
            change = s.swapping(i, other);
        }
        if (change < below) {
            s.swap(i, other);
            if (s.allowed(a) && s.allowed(b))
                total += change;
            else
                s.swap(other, i);
        }
    }
    return total;
}

} // namespace shoal::ISA
