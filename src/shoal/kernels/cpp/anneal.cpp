#include "anneal.hpp"

#include <algorithm>

#include "changes.hpp"
#include "partition.hpp"

namespace shoal::ISA {

namespace {

constexpr double WORTHWHILE = 1e-9; // of the squared distances involved: less may be rounding
constexpr double NOISE = 1e-20;     // attributes are at most 1 in size: a gain below may come from rounding alone

Partition searched(Grouping given, Neighbours near, Floats local) {
    Partition s = checked(given);
    s.require_near(near);
    require(local.size == near.rows, "local must have an element for each record");
    return s;
}

// See `ruin` of anneal.hpp, and `improve` below.
double ruin(const Partition &s, Neighbours near, Index i, Index kind, Journal journal, double below) {
    journal.length[0] = 0;
    double change = kind == DISSOLVE  ? dissolve_group(s, near, s.label[i], journal)
                    : kind == FORM    ? form_group(s, near, i, journal)
                    : kind == REGROUP ? regroup_around(s, near, i, journal)
                                      : resplit_pair(s, near, i, journal);
    if (change < below)
        return change;
    undo_moves(s, journal);
    return 0.0;
}

double improve(const Partition &s, Neighbours near, Index i, double usual, Journal journal) {
    Index a = s.label[i], before = a;
    double left = s.leaving(i), below = -WORTHWHILE * (left + usual) - NOISE;
    for (Index j : near.row(i)) {
        Index b = s.label[j];
        if (b == a || b == before)
            continue;
        before = b;
        auto [change, other] = s.best_swap(i, b);
        if (s.size[a] > s.k() && s.size[b] < s.most() && s.joining(i, b) - left < std::min(change, below)) {
            change = s.joining(i, b) - left;
            other = s.members[a][0] != i ? s.members[a][0] : s.members[a][1];
            s.move(i, b);
        } else if (change < below)
            s.swap(i, other);
        else
            continue;
        journal.record[0] = i;
        journal.record[1] = other;
        journal.length[0] = 2;
        return change;
    }
    for (int kind : {DISSOLVE, FORM, REGROUP, RESPLIT}) {
        double change = ruin(s, near, i, kind, journal, below);
        if (change < 0.0)
            return change;
    }
    return 0.0;
}

} // namespace

std::uint64_t random_bits(Span<std::uint64_t> state) {
    require(state.size > 0, "state must have an element");
    std::uint64_t x = state[0];
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state[0] = x;
    return x * 0x2545F4914F6CDD1D;
}

double ruin(Grouping given, Neighbours near, Index i, Index kind, Journal journal, double below) {
    Partition s = checked(given);
    s.require_record(i);
    s.require_near(near);
    s.require_room(journal);
    return ruin(s, near, i, kind, journal, below);
}

double improve(Grouping given, Neighbours near, Index i, double usual, Journal journal) {
    Partition s = checked(given);
    s.require_record(i);
    s.require_near(near);
    s.require_room(journal);
    return improve(s, near, i, usual, journal);
}

double anneal(Grouping given, Neighbours near, Floats local, double temperature, Index steps,
              Span<std::uint64_t> state, Watch watch) {
    Partition s = searched(given, near, local);
    require(near.rows > 0 && near.columns > 0, "there must be records, and neighbours");
    require(state.size > 0, "state must have an element");
    Moves journal(s.longest_journal());
    auto change = [&](Index i, Index kind, double below) { return ruin(s, near, i, kind, journal, below); };
    const double ruins[] = {30, 30, 50, 30};
    return propose(s, near, local, temperature, steps, state, watch, {ruins, 4}, change);
}

double descend(Grouping given, Neighbours near, Floats local, Span<bool> awake, Watch watch) {
    Partition s = searched(given, near, local);
    require(awake.size == near.rows, "awake must have an element for each record");
    Moves moves(s.longest_journal());
    Journal journal = moves;
    double total = 0.0;
    for (int round = 0; round < 100; round++) { // among records a rounding error apart, gains need never end
        bool changed = false;
        for (Index i = 0; i < near.rows; i++) {
            if (!awake[i])
                continue;
            if (watch.stopped())
                return total;
            double change = improve(s, near, i, local[i], journal);
            if (change == 0.0) {
                awake[i] = false;
                continue;
            }
            total += change;
            changed = true;
            for (Index at = 0; at < journal.length[0]; at++) {
                Index g = s.label[journal.record[at]];
                for (Index p = 0; p < s.size[g]; p++)
                    awake[s.members[g][p]] = true;
            }
        }
        if (!changed)
            break;
    }
    return total;
}

} // namespace shoal::ISA
