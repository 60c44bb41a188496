#include "mixed_partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "medians.hpp"
#include "partition.hpp"

namespace shoal::ISA {

namespace {

constexpr int END = std::numeric_limits<int>::max();
constexpr Index EIGHT = 8;    // levels compared at once
constexpr Index PARTNERS = 32; // of a larger group, so many members at most are looked at for a swap

Index up_to_eight(Index count) { return (count + EIGHT - 1) / EIGHT * EIGHT; }

// How many of some levels are equal to x; there are END up to a multiple of eight.
Index equal_to(const int *levels, Index count, int x) {
    int found = 0;
    for (Index at = 0; at < count; at += EIGHT)
        for (Index lane = 0; lane < EIGHT; lane++)
            found += levels[at + lane] == x;
    return found;
}

// How many of some levels are below x.
Index below(const int *levels, Index count, int x) {
    int found = 0;
    for (Index at = 0; at < count; at += EIGHT)
        for (Index lane = 0; lane < EIGHT; lane++)
            found += levels[at + lane] < x;
    return found;
}

bool has_gaps(const EncodedMatrix &space, Index j) {
    for (Index i = 0; i < space.values.rows; i++)
        if (std::isnan(space.values[i][j]))
            return true;
    return false;
}

Index count_whole(const EncodedMatrix &space) {
    Index count = 0;
    for (Index j = 0; j < space.values.columns; j++)
        count += space.kinds[j] == MEAN && !has_gaps(space, j);
    return (count + STRIDE - 1) / STRIDE * STRIDE;
}

Index most_levels(const EncodedMatrix &space) {
    Index most = 1;
    for (Index levels : space.levels)
        most = std::max(most, levels);
    return most;
}

Index groups_of(Integers labels, Index k) {
    Index groups = 0;
    for (Index g : labels)
        groups = std::max(groups, g + 1);
    return std::max(groups, labels.size / k) + 1; // one to spare, so that a group can be formed before others go
}

} // namespace

MixedPartition::MixedPartition(const EncodedMatrix &space, Index k, Index most, Demand &demand, Span<Index> labels)
    : label(labels), place(labels.size), size(groups_of(labels, k), 0), free(size.size() + 1, 0), space(space), least(k),
      largest(most), weighted(space.weights.size > 0), weight(labels.size, 1.0), mass(size.size(), 0.0), demand(demand), columns(count_whole(space)), numbers(labels.size * columns, 0.0),
      centroids(size.size() * columns, 0.0), code(0), frequency(most_levels(space), 0), hull(most_levels(space)),
      masses(frequency.size(), 0.0), raised(frequency.size()) {
    Index n = labels.size, room = size.size(), attributes = demand.attributes(), at = 0;
    for (Index j = 0; j < space.values.columns; j++) {
        if (space.kinds[j] != MEAN)
            listed.push_back(j);
        else if (has_gaps(space, j))
            gaps.push_back(j);
        else {
            require(at < columns, "values must stay as they are"); // another thread may have changed them meanwhile
            for (Index i = 0; i < n; i++)
                numbers[i * columns + at] = space.values[i][j];
            at++;
        }
    }
    std::copy(space.weights.begin(), space.weights.end(), weight.begin());
    Index v = static_cast<Index>(listed.size());
    code = Buffer<int>(n * v);
    for (Index i = 0; i < n; i++)
        for (Index j = 0; j < v; j++) {
            double x = space.values[i][listed[j]];
            code[i * v + j] = std::isnan(x) ? -1 : static_cast<int>(space.level_of(x, listed[j]));
        }
    members.resize(room);
    codes.resize(room);
    known.assign(room * gaps.size(), Known{0, 0.0, 0.0, 0.0, 0.0});
    level.assign(room * v, Levels{0, 0, 0, 0, 0, 0.0});
    ranks.resize(room * attributes);
    for (Index i = 0; i < n; i++)
        size[label[i]]++;
    for (Index g = 0; g < room; g++) {
        make_room(g, std::max(size[g], 2 * k - 1));
        size[g] = 0;
    }
    for (Index i = 0; i < n; i++) {
        Index g = label[i];
        place[i] = size[g];
        members[g][size[g]] = i;
        append(g, i);
        size[g]++;
    }
    for (Index g = room - 1; g >= 0; g--) {
        if (size[g] == 0)
            free[++free[0]] = g;
        for (Index j = 0; j < v; j++)
            std::sort(levels_of(g, j), levels_of(g, j) + level[g * v + j].count);
        for (Index a = 0; a < attributes; a++)
            std::sort(ranks[g * attributes + a].begin(), ranks[g * attributes + a].end());
    }
    recentre();
}

void MixedPartition::recentre() {
    Index u = static_cast<Index>(gaps.size());
    for (Index g = 0; g < size.size(); g++) {
        if (size[g] == 0)
            continue;
        std::fill_n(centroid(g), columns, 0.0);
        std::fill_n(known.begin() + g * u, u, Known{0, 0.0, 0.0, 0.0, 0.0});
        weigh(g);
        for (Index p = 0; p < size[g]; p++) {
            Index i = members[g][p];
            for (Index c = 0; c < columns; c++)
                centroid(g)[c] += weight[i] * row(i)[c];
            for (Index j = 0; j < u; j++)
                known[g * u + j] = known_after(j, g, -1, i);
        }
        for (Index c = 0; c < columns; c++)
            centroid(g)[c] /= mass[g];
        settle(g);
    }
}

// Make room for so many records in group g.
void MixedPartition::make_room(Index g, Index records) {
    Index before = static_cast<Index>(members[g].size()), after = up_to_eight(records);
    if (after <= before)
        return;
    Index v = static_cast<Index>(listed.size());
    std::vector<int> levels(v * after, END);
    for (Index j = 0; j < v; j++)
        std::copy_n(codes[g].begin() + j * before, before, levels.begin() + j * after);
    codes[g].swap(levels);
    members[g].resize(after, -1);
}

int *MixedPartition::levels_of(Index g, Index j) const {
    return const_cast<int *>(codes[g].data()) + j * static_cast<Index>(members[g].size());
}

// Whether a group of so many records publishes a value of which so many are known. Groups below k, which are on their
// way to more records or to none, are counted as if k were their size: a record alone loses nothing.
bool MixedPartition::published(Index known, Index records, double known_mass, double missing_mass) const {
    return known >= std::min(least, records) && missing_mass <= known_mass;
}

double MixedPartition::number_cost(Index j, const Known &now, Index records, double mass) const {
    if (!published(now.count, records, now.mass, mass - now.mass))
        return space.apart[j] * now.mass;
    return now.squares + space.apart[j] * (mass - now.mass);
}

// What group g loses in the listed attribute j once level x has left and y has come, -1 for none; then so many are known.
double MixedPartition::level_cost(Index j, Index g, Index known, Index records, int x, int y) {
    Index at = listed[j];
    if (!published(known, records, static_cast<double>(known), static_cast<double>(records - known)))
        return space.apart[at] * static_cast<double>(known);
    double missing = space.apart[at] * static_cast<double>(records - known);
    if (space.kinds[at] == MEDIAN)
        return missing + middle_cost(j, g, known, x, y);
    if (space.kinds[at] == CONVEX_MEDIAN)
        return missing + hull_cost(j, g, known, x, y);
    const Levels &now = level[g * static_cast<Index>(listed.size()) + j];
    const int *levels = levels_of(g, j);
    Index top = now.top;
    if (x >= 0 && now.tied == 1 && equal_to(levels, now.count, x) == top)
        top--;
    if (y >= 0)
        top = std::max(top, equal_to(levels, now.count, y) + 1);
    return missing + space.apart[at] * static_cast<double>(known - top);
}

// The squared differences from the lower median, as for `level_cost`.
double MixedPartition::middle_cost(Index j, Index g, Index known, int x, int y) const {
    const Levels &now = level[g * static_cast<Index>(listed.size()) + j];
    const int *levels = levels_of(g, j);
    if (known == 0)
        return 0.0;
    Index middle = (known - 1) / 2, total = now.total, squares = now.squares;
    Index gone = now.count; // where x was: the levels after it move up
    if (x >= 0) {
        gone = below(levels, now.count, x);
        total -= x;
        squares -= static_cast<Index>(x) * x;
    }
    Index come = known; // where y is then
    if (y >= 0) {
        come = below(levels, now.count, y);
        come -= x >= 0 && gone < come;
        total += y;
        squares += static_cast<Index>(y) * y;
    }
    Index median = y;
    if (middle != come) {
        Index from = middle - (middle > come);
        median = levels[from + (from >= gone)];
    }
    double step = space.steps[listed[j]];
    return static_cast<double>(squares - 2 * median * total + known * median * median) * (step * step);
}

// The squared differences from the convex median, as for `level_cost`.
double MixedPartition::hull_cost(Index j, Index g, Index known, int x, int y) {
    if (known == 0)
        return 0.0;
    const Levels &now = level[g * static_cast<Index>(listed.size()) + j];
    Span<Index> often = frequency.first(space.levels[listed[j]]), raised = hull.first(often.size);
    for (Index at = 0; at < now.count; at++)
        often[levels_of(g, j)[at]]++;
    if (x >= 0)
        often[x]--;
    if (y >= 0)
        often[y]++;
    convex(Integers(often), raised);
    Index median = median_level(Integers(raised)), total = 0;
    for (Index at = 0; at < often.size; at++) {
        total += often[at] * (at - median) * (at - median);
        often[at] = 0;
    }
    double step = space.steps[listed[j]];
    return static_cast<double>(total) * (step * step);
}

// What is known in group g of attribute gaps[j] once record `out` has left and record `in` has come, -1 for none.
MixedPartition::Known MixedPartition::known_after(Index j, Index g, Index out, Index in) const {
    Index at = gaps[j];
    Known now = known[g * static_cast<Index>(gaps.size()) + j];
    if (out >= 0 && !std::isnan(space.values[out][at])) {
        double e = space.values[out][at] - now.mean, w = weight[out], left = now.mass - w;
        now.count--;
        bool none = now.count == 0 || !(left > 0.0); // of very different weights, the small ones are lost in rounding
        now.squares = none ? 0.0 : std::max(now.squares - e * e * (left + w) * w / left, 0.0);
        now.mean = none ? 0.0 : now.mean - e * w / left;
        now.mass = none ? 0.0 : left;
    }
    if (in >= 0 && !std::isnan(space.values[in][at])) {
        double e = space.values[in][at] - now.mean, w = weight[in], left = now.mass;
        now.count++;
        now.mass = left + w;
        now.squares += e * e * left * w / now.mass;
        now.mean += e * w / now.mass;
    }
    now.cost = number_cost(at, now, size[g] - (out >= 0) + (in >= 0), mass_after(g, out, in));
    return now;
}

// What group g loses more in all attributes but the numbers that no record misses.
double MixedPartition::change_beside(Index g, Index out, Index in) {
    Index v = static_cast<Index>(listed.size()), u = static_cast<Index>(gaps.size());
    Index records = size[g] - (out >= 0) + (in >= 0);
    double total = 0.0;
    for (Index j = 0; j < u; j++)
        total += known_after(j, g, out, in).cost - known[g * u + j].cost;
    for (Index j = 0; weighted && j < v; j++)
        total += weighted_level_cost(j, g, out, in) - level[g * v + j].cost;
    for (Index j = 0; !weighted && j < v; j++) {
        int x = out < 0 ? -1 : code[out * v + j], y = in < 0 ? -1 : code[in * v + j];
        if (x == y && out >= 0 && in >= 0)
            continue;
        const Levels &now = level[g * v + j];
        total += level_cost(j, g, now.count - (x >= 0) + (y >= 0), records, x, y) - now.cost;
    }
    return total;
}

double MixedPartition::joining(Index i, Index b) {
    double m = mass[b], w = weight[i];
    return squared(row(i), centroid(b), columns) * m * w / (m + w) + change_beside(b, -1, i);
}

double MixedPartition::leaving(Index i) {
    Index a = label[i];
    double m = mass[a], w = weight[i], left = m - w;
    double change = left > 0.0 ? squared(row(i), centroid(a), columns) * m * w / left : 0.0;
    return change - change_beside(a, i, -1);
}

double MixedPartition::swapping(Index i, Index m) {
    Index a = label[i], b = label[m];
    double beside = change_beside(a, i, m), other = change_beside(b, m, i);
    if (weighted)
        return swap_in(a, i, m) + swap_in(b, m, i) + beside + other;
    double w = 1.0 / mass[a] + 1.0 / mass[b];
    return change_of_swap(row(i), row(m), centroid(a), centroid(b), w, columns) + beside + other;
}

std::pair<double, Index> MixedPartition::best_swap(Index i, Index b) {
    double least_change = INFINITE;
    Index other = -1, step = 1 + size[b] / PARTNERS;
    for (Index p = 0; p < size[b]; p += step) {
        double change = swapping(i, members[b][p]);
        if (change < least_change) {
            least_change = change;
            other = members[b][p];
        }
    }
    return {least_change, other};
}

// Note the levels and the ranks of record i in group g; they are not in order then.
void MixedPartition::append(Index g, Index i) {
    Index v = static_cast<Index>(listed.size());
    for (Index j = 0; j < v; j++) {
        int x = code[i * v + j];
        if (x < 0)
            continue;
        Levels &now = level[g * v + j];
        levels_of(g, j)[now.count++] = x;
        now.total += x;
        now.squares += static_cast<Index>(x) * x;
    }
    for (Index a = 0; a < demand.attributes(); a++)
        ranks[g * demand.attributes() + a].push_back(demand.code(a, i));
}

// Note the levels and the ranks of record i in group g in their order, before its size is counted up.
void MixedPartition::take_in(Index g, Index i) {
    Index v = static_cast<Index>(listed.size()), u = static_cast<Index>(gaps.size());
    for (Index j = 0; j < u; j++)
        known[g * u + j] = known_after(j, g, -1, i);
    for (Index j = 0; j < v; j++) {
        int x = code[i * v + j];
        if (x < 0)
            continue;
        Levels &now = level[g * v + j];
        int *levels = levels_of(g, j);
        Index at = now.count++;
        for (; at > 0 && levels[at - 1] > x; at--)
            levels[at] = levels[at - 1];
        levels[at] = x;
        now.total += x;
        now.squares += static_cast<Index>(x) * x;
    }
    for (Index a = 0; a < demand.attributes(); a++) {
        std::vector<Index> &own = ranks[g * demand.attributes() + a];
        Index rank = demand.code(a, i);
        own.insert(std::lower_bound(own.begin(), own.end(), rank), rank);
    }
}

// Forget the levels and the ranks of record i in group g, before its size is counted down.
void MixedPartition::let_out(Index g, Index i) {
    Index v = static_cast<Index>(listed.size()), u = static_cast<Index>(gaps.size());
    for (Index j = 0; j < u; j++)
        known[g * u + j] = known_after(j, g, i, -1);
    for (Index j = 0; j < v; j++) {
        int x = code[i * v + j];
        if (x < 0)
            continue;
        Levels &now = level[g * v + j];
        int *levels = levels_of(g, j);
        Index at = below(levels, now.count, x);
        now.count--;
        for (; at < now.count; at++)
            levels[at] = levels[at + 1];
        levels[now.count] = END;
        now.total -= x;
        now.squares -= static_cast<Index>(x) * x;
    }
    for (Index a = 0; a < demand.attributes(); a++) {
        std::vector<Index> &own = ranks[g * demand.attributes() + a];
        own.erase(std::lower_bound(own.begin(), own.end(), demand.code(a, i)));
    }
}

// Count modes and costs of group g again, whose records have changed.
void MixedPartition::settle(Index g) {
    Index v = static_cast<Index>(listed.size()), u = static_cast<Index>(gaps.size());
    for (Index j = 0; j < u; j++) {
        Known &now = known[g * u + j];
        now.cost = number_cost(gaps[j], now, size[g], mass[g]);
    }
    for (Index j = 0; j < v; j++) {
        Levels &now = level[g * v + j];
        if (weighted) {
            now.cost = weighted_level_cost(j, g, -1, -1);
            continue;
        }
        if (space.kinds[listed[j]] == MODE) {
            const int *levels = levels_of(g, j);
            now.top = now.tied = 0;
            for (Index at = 0, run = 0; at < now.count; at++) {
                run = at > 0 && levels[at] == levels[at - 1] ? run + 1 : 1;
                if (run > now.top) {
                    now.top = run;
                    now.tied = 0;
                }
                now.tied += run == now.top;
            }
        }
        now.cost = level_cost(j, g, now.count, size[g], -1, -1);
    }
}

void MixedPartition::move(Index i, Index b) {
    Index a = label[i], last = members[a][size[a] - 1];
    make_room(b, size[b] + 1);
    members[a][place[i]] = last;
    place[last] = place[i];
    let_out(a, i);
    size[a]--;
    members[b][size[b]] = i;
    place[i] = size[b];
    take_in(b, i);
    size[b]++;
    label[i] = b;
    weigh(a);
    weigh(b);
    double out = weight[i] / (size[a] > 0 ? mass[a] : weight[i]), into = weight[i] / mass[b];
    move_centroids(row(i), centroid(a), centroid(b), out, into, columns);
    settle(a);
    settle(b);
    if (size[a] == 0)
        free[++free[0]] = a;
}

void MixedPartition::swap(Index i, Index m) {
    Index a = label[i], b = label[m];
    let_out(a, i);
    let_out(b, m);
    members[a][place[i]] = m;
    members[b][place[m]] = i;
    std::swap(place[i], place[m]);
    label[i] = b;
    label[m] = a;
    take_in(a, m);
    take_in(b, i);
    weigh(a);
    weigh(b);
    if (weighted)
        for (Index c = 0; c < columns; c++) {
            double x = row(i)[c], y = row(m)[c], w = weight[i], u = weight[m];
            double from = centroid(a)[c], to = centroid(b)[c];
            centroid(a)[c] = from + (u * (y - from) - w * (x - from)) / mass[a];
            centroid(b)[c] = to + (w * (x - to) - u * (y - to)) / mass[b];
        }
    else
        swap_centroids(row(i), row(m), centroid(a), centroid(b), 1.0 / mass[a], 1.0 / mass[b], columns);
    settle(a);
    settle(b);
}

bool MixedPartition::allowed(Index g) {
    for (Index a = 0; a < demand.attributes(); a++) {
        const std::vector<Index> &own = ranks[g * demand.attributes() + a];
        if (!own.empty() && !demand.satisfies(a, {own.data(), static_cast<Index>(own.size())}))
            return false;
    }
    return true;
}

double MixedPartition::distance(Index i, Index j) const {
    return mixed_distance(space.values[i], space.values[j], space.kinds.data, space.apart.data, space.values.columns);
}

double MixedPartition::loss(Index g) {
    Index v = static_cast<Index>(listed.size()), u = static_cast<Index>(gaps.size());
    double total = 0.0;
    for (Index p = 0; p < size[g]; p++)
        total += weight[members[g][p]] * squared(row(members[g][p]), centroid(g), columns);
    for (Index j = 0; j < u; j++)
        total += known[g * u + j].cost;
    for (Index j = 0; j < v; j++)
        total += level[g * v + j].cost;
    return total;
}

} // namespace shoal::ISA
