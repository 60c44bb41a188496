// Prices of groups by auction, near those of an optimal assignment; see shoal.kernels.assignment.
//
// Records without a place bid for the group of the least distance and price. A bid is by epsilon above what makes the
// group as good as the next one, so that prices rise however many groups are alike. At the end all records are within
// 2 epsilon of their best groups; a smaller epsilon begins from these prices.
#pragma once

#include <deque>
#include <vector>

#include "priced_groups.hpp"

namespace shoal::ISA {

class Auction {
  public:
    Auction(PricedGroups &market, Integers supply, Integers size, Index most, Watch watch);

    // Hold auctions in which a bid is above the next best by `from`, then less and less, until prices are so near to
    // those of an optimal assignment that few records are left to move.
    void run(double from);

  private:
    // So many places of a group, at the price for which a record (-1 if none) has them.
    struct Places {
        double price;
        Index record, count;

        bool operator<(const Places &other) const { // the first of a heap is the cheapest
            return price != other.price ? price > other.price : record > other.record;
        }
    };
    using Heap = std::vector<Places>;

    double hold(double epsilon);
    void release(double epsilon);
    void bid(Index i, double epsilon);
    void ask(Index i, Index count);
    double typical_cost() const;
    bool over() const { return market.steps > most || watch.stopped(); }
    Heap &of(Index g) { return places[static_cast<std::size_t>(g)]; }

    PricedGroups &market;
    Index most;
    Watch watch;
    std::vector<Heap> places;
    Buffer<Index> pending;     // of each record, how many have no place
    std::deque<Index> waiting; // the records that have some such
};

} // namespace shoal::ISA
