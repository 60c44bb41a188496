// What records with weights lose, in the attributes with levels and in swaps; the rest is in mixed_partition.cpp.
#include <algorithm>

#include "medians.hpp"
#include "mixed_partition.hpp"
#include "partition.hpp"

namespace shoal::ISA {

// Add up the weights of group g again, so that rounding does not add up.
void MixedPartition::weigh(Index g) {
    mass[g] = static_cast<double>(size[g]);
    if (!weighted)
        return;
    mass[g] = 0.0;
    for (Index p = 0; p < size[g]; p++)
        mass[g] += weight[members[g][p]];
}

// What group g loses more in the numbers that no record misses once record `out` has left and record `in` has come.
//
// With v and u from the centroid to the two, it moves by -r v when the first leaves, r = w / (m - w): the second is then
// u + r v from it.
double MixedPartition::swap_in(Index g, Index out, Index in) const {
    double w = weight[out], left = mass[g] - w;
    if (!(left > 0.0))
        return 0.0;
    double v = squared(row(out), centroid(g), columns), u = squared(row(in), centroid(g), columns);
    double both = (u + v - squared(row(in), row(out), columns)) / 2, r = w / left;
    double apart = std::max(u + 2.0 * r * both + r * r * v, 0.0);
    return apart * left * weight[in] / (left + weight[in]) - v * mass[g] * w / left;
}

// What group g loses in the listed attribute j once record `out` has left and record `in` has come, -1 for none.
double MixedPartition::weighted_level_cost(Index j, Index g, Index out, Index in) {
    Index v = static_cast<Index>(listed.size()), at = listed[j], known = 0, records = size[g] - (out >= 0) + (in >= 0);
    double known_mass = 0.0, missing_mass = 0.0, top = 0.0;
    auto each = [&](auto visit) {
        for (Index p = 0; p < size[g]; p++)
            if (members[g][p] != out)
                visit(code[members[g][p] * v + j], weight[members[g][p]]);
        if (in >= 0)
            visit(code[in * v + j], weight[in]);
    };
    each([&](int x, double w) {
        if (x < 0) {
            missing_mass += w;
            return;
        }
        known++;
        known_mass += w;
        masses[x] += w;
        top = std::max(top, masses[x]);
    });
    double cost = space.apart[at] * known_mass;
    if (known > 0 && published(known, records, known_mass, missing_mass)) {
        cost = space.apart[at] * (known_mass - top);
        if (space.kinds[at] != MODE) {
            int median = weighted_median(j, g, in >= 0 ? code[in * v + j] : -1, known_mass);
            double squares = 0.0;
            each([&](int x, double w) { squares += x < 0 ? 0.0 : w * (x - median) * (x - median); });
            cost = squares * (space.steps[at] * space.steps[at]);
        }
        cost += space.apart[at] * missing_mass;
    }
    each([&](int x, double) { masses[std::max(x, 0)] = 0.0; });
    return cost;
}

// The lower or the convex median of `masses`, which the levels of group g have and the level y, -1 for none.
int MixedPartition::weighted_median(Index j, Index g, int y, double known_mass) {
    if (space.kinds[listed[j]] == CONVEX_MEDIAN) {
        Span<double> own = masses.first(space.levels[listed[j]]), hull = raised.first(own.size);
        convex(Floats(own), hull);
        return static_cast<int>(median_level(Floats(hull)));
    }
    const int *levels = levels_of(g, j);
    Index count = level[g * static_cast<Index>(listed.size()) + j].count;
    double below = 0.0;
    int last = -1;
    for (Index at = 0; at < count || y >= 0;) {
        bool new_one = y >= 0 && (at == count || y <= levels[at]);
        int x = new_one ? y : levels[at++];
        y = new_one ? -1 : y;
        if (x == last || !(masses[x] > 0.0))
            continue;
        last = x;
        below += masses[x];
        if (!(2.0 * below < known_mass))
            break;
    }
    return last;
}

} // namespace shoal::ISA
