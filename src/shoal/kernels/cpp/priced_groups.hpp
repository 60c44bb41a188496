// Groups with prices, and for each record the groups of the least distance and price; see shoal.kernels.assignment.
//
// Prices only rise, so that a list of the groups nearest to a record by distance and price bounds all others from below
// for ever: a list is made again only where a group beyond it might be nearer.
#pragma once

#include <vector>

#include "mixed_tree.hpp"

namespace shoal::ISA {

struct Candidate {
    double key; // distance and price when the list was made
    double cost;
    Index group;

    bool operator<(const Candidate &other) const { return key < other.key || (key == other.key && group < other.group); }
};

// The groups nearest to a record by distance and price, in order; all others were no nearer than `reach`.
struct NearGroups {
    static constexpr Index FIRST = 6; // groups in the first list of a record

    std::vector<Candidate> near;
    double reach = 0.0;
    Index length = FIRST;
    Index made = -1; // after how many changes of prices
};

// The least distance and price from a record to a group, and the least to any other group.
struct BestGroup {
    double least = INFINITE, second = INFINITE, cost = 0.0;
    Index group = -1;
};

class PricedGroups {
  public:
    PricedGroups(Table points, Table rows, Integers kinds, Floats apart, Watch watch);

    Index records() const { return count; }
    Index groups() const { return price.size(); }
    double price_of(Index g) const { return price[g]; }
    double cost(Index i, Index g) const { return mixed_distance(point(i), row(g), kinds.data(), apart.data(), d); }

    // Give all groups prices, and forget all lists.
    void set(Floats prices);
    // Make the search tree again, by the prices of now.
    void plant();
    void raise(Index g, double to);

    // The squared distance of the last of the records nearest to a group, `size` of them.
    double ball(const MixedTree &all, Integers supply, Index g, Index size);
    MixedTree tree_of_records() const;

    // The best group of a record, up to `slack`, and a value that no other group is below.
    BestGroup best_of(Index i, double slack);
    const NearGroups &list(Index i) const { return lists[static_cast<std::size_t>(i)]; }
    // List more groups: by the prices of now if these have risen since, else twice as many.
    void extend(Index i, double slack);
    // The least distance and price over all groups, not from the list.
    double least(Index i) const;

    Index steps = 0; // pairs of a record and a group that were looked at
    Index listed = 0; // groups in all lists together

  private:
    const double *point(Index i) const { return points.data() + i * (d + 1); }
    const double *row(Index g) const { return rows.data() + g * (d + 1); }
    Buffer<double> with_price(Table given) const;
    void nearest(const MixedTree &among, const double *point, Index count, double limit, double slack, std::vector<Candidate> &near);
    void fill(Index i, double slack);

    Index d, count;
    Watch watch;
    Buffer<double> points, rows; // (records, d + 1), (groups, d + 1): in the last column the root of the price
    Buffer<Index> kinds;
    Buffer<double> apart;
    Buffer<double> price;
    MixedTree tree;
    std::vector<NearGroups> lists;
    Index changes = 0;
};

} // namespace shoal::ISA
