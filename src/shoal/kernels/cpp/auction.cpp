#include "auction.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

constexpr double SMALLER = 0.2;  // the bids of an auction, by those of the auction before
constexpr double SMALLEST = 0.1; // the last bids, by the median cost of a record
constexpr double LARGER = 10.0;  // those that follow on so many by each record and group
constexpr Index PATIENCE = 40;
constexpr double LEAST = 1e-9;   // and by the first bids, so that prices rise by more than is lost in rounding

} // namespace

Auction::Auction(PricedGroups &market, Integers supply, Integers size, Index most, Watch watch)
    : market(market), most(most), watch(watch), places(static_cast<std::size_t>(market.groups())),
      pending(market.records(), 0) {
    for (Index g = 0; g < market.groups(); g++)
        of(g).push_back({market.price_of(g), -1, size[g]});
    for (Index i = 0; i < market.records(); i++)
        ask(i, supply[i]);
}

void Auction::run(double from) {
    for (double epsilon = from, first = from; epsilon > LEAST * first && !over(); epsilon *= SMALLER) {
        epsilon = hold(epsilon);
        first = std::max(first, epsilon);
        if (epsilon <= SMALLEST * typical_cost())
            break;
        release(epsilon * SMALLER);
        market.plant();
    }
}

// Records bid until all have places. Where a part of the file has too few, its prices must rise to those of another,
// which may be far away: with ever larger bids. Returns epsilon, as it was in the end.
double Auction::hold(double epsilon) {
    Index bids = 0;
    while (!waiting.empty() && !over()) {
        Index i = waiting.front();
        waiting.pop_front();
        bid(i, epsilon);
        if (++bids > PATIENCE * (market.records() + market.groups())) {
            epsilon *= LARGER;
            bids = 0;
        }
    }
    return epsilon;
}

// A record bids for its best group as much as makes it no better than the next, and `epsilon` more. It gets the places
// that were cheaper than that; who had them is without.
void Auction::bid(Index i, double epsilon) {
    BestGroup best = market.best_of(i, epsilon);
    if (best.group < 0)
        return;
    Heap &heap = of(best.group);
    double now = market.price_of(best.group);
    double offer = best.second < INFINITE ? now + (best.second - best.least) + epsilon : INFINITE;
    while (pending[i] > 0 && heap.front().price < offer) {
        std::pop_heap(heap.begin(), heap.end());
        Places cheapest = heap.back();
        heap.pop_back();
        bool own = cheapest.record == i;
        Index count = own ? cheapest.count : std::min(pending[i], cheapest.count);
        if (!own)
            pending[i] -= count;
        if (!own && cheapest.record >= 0)
            ask(cheapest.record, count);
        heap.push_back({offer, i, count});
        std::push_heap(heap.begin(), heap.end());
        if (count < cheapest.count) {
            heap.push_back({cheapest.price, cheapest.record, cheapest.count - count});
            std::push_heap(heap.begin(), heap.end());
        }
    }
    if (heap.front().price > now)
        market.raise(best.group, heap.front().price);
    if (pending[i] > 0)
        waiting.push_back(i);
}

void Auction::ask(Index i, Index count) {
    if (pending[i] == 0)
        waiting.push_back(i);
    pending[i] += count;
}

// Take from records the places that are not their best by more than `epsilon`; the price of all others falls to that
// of the cheapest of the group.
void Auction::release(double epsilon) {
    for (Index g = 0; g < market.groups() && !over(); g++) {
        double price = market.price_of(g);
        Index free = 0;
        Heap kept;
        for (const Places &each : of(g)) {
            if (each.record < 0) {
                free += each.count;
                continue;
            }
            double here = market.cost(each.record, g) + price;
            if (here <= market.best_of(each.record, epsilon).least + epsilon) {
                kept.push_back({price, each.record, each.count});
                continue;
            }
            free += each.count;
            ask(each.record, each.count);
        }
        if (free > 0)
            kept.push_back({price, -1, free});
        std::make_heap(kept.begin(), kept.end());
        of(g).swap(kept);
    }
}

// The median cost of the groups' records.
double Auction::typical_cost() const {
    std::vector<double> costs;
    for (Index g = 0; g < market.groups(); g++)
        for (const Places &each : places[static_cast<std::size_t>(g)])
            if (each.record >= 0)
                costs.push_back(market.cost(each.record, g));
    if (costs.empty())
        return INFINITE;
    auto middle = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 2);
    std::nth_element(costs.begin(), middle, costs.end());
    return *middle;
}

} // namespace shoal::ISA
