#include "anneal.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "partition.hpp"
#include "refine.hpp"

namespace shoal::ISA {

namespace {

constexpr double WORTHWHILE = 1e-9; // of the squared distances involved: less may be rounding
constexpr double NOISE = 1e-20;     // attributes are at most 1 in size: a gain below may come from rounding alone
constexpr Index TABLE = 4096;
enum { DISSOLVE, FORM, REGROUP, RESPLIT, KINDS };
// How often in 1024 proposals, times k, since each weighs some k records.
constexpr double RUINS[KINDS] = {30, 30, 50, 30};

// A number below n by the upper half of random bits.
Index share(std::uint64_t bits, Index n) {
    return static_cast<Index>(((bits >> 32) * static_cast<std::uint64_t>(n)) >> 32);
}

struct Moves {
    explicit Moves(Index room) : length(1, 0), record(room), origin(room) {}

    operator Journal() const { return {length, record, origin}; }

    Buffer<Index> length, record, origin;
};

void require_sizes(Grouping s, Neighbours near, Floats local) {
    require(s.X.rows == near.rows && s.label.size == near.rows, "near must have a row for each record");
    require(local.size == near.rows, "local must have an element for each record");
}

} // namespace

std::uint64_t random_bits(Span<std::uint64_t> state) {
    std::uint64_t x = state[0];
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    state[0] = x;
    return x * 0x2545F4914F6CDD1D;
}

double ruin(Grouping s, Neighbours near, Index i, Index kind, Journal journal, double below) {
    journal.length[0] = 0;
    double change = kind == DISSOLVE  ? dissolve(s, near, s.label[i], journal)
                    : kind == FORM    ? form(s, near, i, journal)
                    : kind == REGROUP ? regroup(s, near, i, journal)
                                      : resplit(s, near, i, journal);
    if (change < below)
        return change;
    take_back(s, journal);
    return 0.0;
}

double anneal(Grouping given, Neighbours near, Floats local, double temperature, Index steps,
              Span<std::uint64_t> state, Watch watch) {
    require_sizes(given, near, local);
    require(state.size > 0, "state must have an element");
    Partition s{given};
    Index n = near.rows, most = s.most(), k = s.k();
    Moves journal(most * (k + 1));
    double heights[TABLE];
    for (Index at = 0; at < TABLE; at++)
        heights[at] = -std::log((static_cast<double>(at) + 0.5) / TABLE);
    Index bars[KINDS], bar = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        bar += std::max(Index{2}, static_cast<Index>(std::nearbyint(RUINS[kind] / static_cast<double>(k))));
        bars[kind] = bar;
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
            total += ruin(s, near, i, kind, journal, below);
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
                total += change;
                continue;
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
            total += change;
        }
    }
    return total;
}

double improve(Grouping given, Neighbours near, Index i, double usual, Journal journal) {
    Partition s{given};
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
    for (int kind = 0; kind < KINDS; kind++) {
        double change = ruin(s, near, i, kind, journal, below);
        if (change < 0.0)
            return change;
    }
    return 0.0;
}

double descend(Grouping s, Neighbours near, Floats local, Span<bool> awake, Watch watch) {
    require_sizes(s, near, local);
    require(awake.size == near.rows, "awake must have an element for each record");
    Index most = s.members.columns;
    Moves moves(most * (most + 1));
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
