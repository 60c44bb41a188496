#include "priced_groups.hpp"

#include <algorithm>
#include <cmath>

namespace shoal::ISA {

namespace {

constexpr double LARGEST = 1e140; // of the values, so that sums of squares are numbers

template <class T> Buffer<T> one_more(Span<const T> given, T last) {
    Buffer<T> longer(given.size + 1, last);
    std::copy(given.begin(), given.end(), longer.begin());
    return longer;
}

} // namespace

PricedGroups::PricedGroups(Table points, Table rows, Integers kinds, Floats apart, Watch watch)
    : d(rows.columns), count(points.rows), watch(watch), points(with_price(points)), rows(with_price(rows)),
      kinds(one_more(kinds, Index{MEAN})), apart(one_more(apart, 0.0)), price(rows.rows, 0.0),
      tree(this->rows.matrix(rows.rows, d + 1), this->kinds, this->apart, watch),
      lists(static_cast<std::size_t>(points.rows)) {}

// Rows with a column more, in which the squared difference of a group from any point is its price.
Buffer<double> PricedGroups::with_price(Table given) const {
    Buffer<double> wide(given.rows * (d + 1), 0.0);
    bool finite = true;
    for (Index i = 0; i < given.rows; i++)
        for (Index j = 0; j < d; j++) {
            double x = given[i][j];
            wide[i * (d + 1) + j] = x;
            finite &= !(x > LARGEST || x < -LARGEST);
        }
    require(finite, "values must not be infinite");
    return wide;
}

void PricedGroups::set(Floats prices) {
    std::copy(prices.begin(), prices.end(), price.begin());
    plant();
    std::fill(lists.begin(), lists.end(), NearGroups());
    listed = 0;
    changes++;
}

void PricedGroups::plant() {
    for (Index g = 0; g < groups(); g++)
        rows[g * (d + 1) + d] = std::sqrt(price[g]);
    tree = MixedTree(rows.matrix(groups(), d + 1), kinds, apart, watch);
}

void PricedGroups::raise(Index g, double to) {
    price[g] = to;
    tree.put(g, d, std::sqrt(to));
    changes++;
}

MixedTree PricedGroups::tree_of_records() const {
    return MixedTree(points.matrix(count, d + 1), kinds, apart, watch);
}

double PricedGroups::ball(const MixedTree &all, Integers supply, Index g, Index size) {
    std::vector<Candidate> near;
    Buffer<double> centre(d + 1, 0.0);
    std::copy(row(g), row(g) + d, centre.begin());
    nearest(all, centre.data(), std::min(size, count), INFINITE, 0.0, near);
    Index inside = 0;
    for (const Candidate &each : near)
        if ((inside += supply[each.group]) >= size)
            return each.key;
    return near.back().key;
}

BestGroup PricedGroups::best_of(Index i, double slack) {
    while (true) {
        const NearGroups &mine = list(i);
        BestGroup best;
        for (const Candidate &each : mine.near) {
            double value = each.cost + price[each.group];
            if (value < best.least) {
                best.second = best.least;
                best.least = value;
                best.cost = each.cost;
                best.group = each.group;
            } else if (value < best.second)
                best.second = value;
        }
        steps += static_cast<Index>(mine.near.size());
        if (mine.reach >= best.least - slack || watch.stopped()) {
            best.second = std::max(best.least, std::min(best.second, mine.reach));
            return best;
        }
        extend(i, slack);
    }
}

void PricedGroups::extend(Index i, double slack) {
    NearGroups &mine = lists[static_cast<std::size_t>(i)];
    mine.length = mine.made == changes ? 2 * mine.length : NearGroups::FIRST;
    fill(i, slack / 2);
}

// The rows of a tree nearest to a point, in order.
void PricedGroups::nearest(const MixedTree &among, const double *point, Index count, double limit, double slack, std::vector<Candidate> &near) {
    std::size_t length = static_cast<std::size_t>(count);
    near.clear();
    among.search(
        point,
        [&](double key, Index row) {
            Candidate offered{key, 0.0, row};
            steps++;
            if (near.size() == length) {
                if (!(offered < near.front()))
                    return;
                std::pop_heap(near.begin(), near.end());
                near.pop_back();
            }
            near.push_back(offered);
            std::push_heap(near.begin(), near.end());
        },
        [&] {
            steps++;
            return (near.size() == length ? std::min(near.front().key, limit) : limit) - slack;
        });
    std::sort_heap(near.begin(), near.end());
}

void PricedGroups::fill(Index i, double slack) {
    NearGroups &mine = lists[static_cast<std::size_t>(i)];
    listed -= static_cast<Index>(mine.near.size());
    Index length = std::min(mine.length, groups());
    double limit = INFINITE;
    if (static_cast<Index>(mine.near.size()) >= length) {
        limit = 0.0;
        for (const Candidate &each : mine.near)
            limit = std::max(limit, each.cost + price[each.group]);
        limit = limit * (1 + 1e-12) + slack; // so that at least `length` are found
    }
    nearest(tree, point(i), length, limit, slack, mine.near);
    listed += static_cast<Index>(mine.near.size());
    for (Candidate &each : mine.near)
        each.cost = cost(i, each.group);
    mine.reach = mine.length < groups() ? mine.near.back().key - slack : INFINITE;
    mine.made = changes;
}

double PricedGroups::least(Index i) const {
    double lowest = INFINITE;
    tree.search(
        point(i), [&](double found, Index) { lowest = std::min(lowest, found); }, [&] { return lowest; });
    return lowest;
}

} // namespace shoal::ISA
