// Optimal assignment of records to groups by successive shortest paths; see shoal.kernels.assignment.
//
// Each group g has a price p_g >= 0, and all that is assigned is where c_ig + p_g is least. An auction finds prices by
// which nearly all records fit; shortest paths among all pairs, though few pairs are looked at, move the others.
#include "assignment.hpp"

#include <algorithm>
#include <queue>
#include <vector>

#include "auction.hpp"
#include "priced_groups.hpp"

namespace shoal::ISA {

namespace {

constexpr Index MOST_LISTED = Index{1} << 26;

// So many of a record in a group.
struct Part {
    Index record, count;
    double cost;
};

// A group at a distance from the source; or what a record in a settled group may reach beyond its list.
struct Event {
    double key;
    Index group, record; // -1 if it is the group
    double cost;

    bool operator<(const Event &other) const { // the first of a priority queue is the largest
        return key != other.key ? key > other.key : group != other.group ? group > other.group : record > other.record;
    }
};

class Transport {
  public:
    Transport(Table points, Integers supply, Table rows, Integers size, Integers kinds, Floats apart, Index most,
              Watch watch)
        : groups(rows.rows), most(most), watch(watch), market(points, rows, kinds, apart, watch),
          supply(copied(supply)), size(copied(size)), room(groups), distance(groups, INFINITE), settled(groups, false),
          from(groups), by(groups), held(static_cast<std::size_t>(groups)) {}

    void solve() {
        begin();
        if (balanced() || over())
            return;
        double largest = begin_prices();
        Auction(market, supply, size, most, watch).run(largest / 4);
        lower_prices();
        begin();
        for (Index g = 0; g < groups; g++)
            while (room[g] < 0 && !over())
                augment(g);
    }

    bool over() {
        halted |= market.steps > most || market.listed > MOST_LISTED || watch.stopped();
        return halted;
    }

    // By how much the sum is above that of the duals, each record at the least of distance and price over all groups.
    double gap() {
        Buffer<double> least(market.records(), INFINITE);
        for (Index i = 0; i < market.records() && !watch.stopped(); i++)
            least[i] = market.least(i);
        double total = 0.0;
        for (Index g = 0; g < groups; g++)
            for (const Part &part : of(g)) {
                double above = part.cost + market.price_of(g) - least[part.record];
                total += above > 0.0 ? above * static_cast<double>(part.count) : 0.0;
            }
        return total;
    }

    std::vector<Part> &of(Index g) { return held[static_cast<std::size_t>(g)]; }

  private:
    static Buffer<Index> copied(Integers given) {
        Buffer<Index> copy(given.size);
        std::copy(given.begin(), given.end(), copy.begin());
        return copy;
    }

    bool balanced() const {
        return std::all_of(room.begin(), room.end(), [](Index each) { return each == 0; });
    }

    // Begin with a price for each group that falls with the distance of the last of its m nearest records, so that
    // groups far from all records get some: the power diagram of these balls. Returns the largest such distance.
    double begin_prices() {
        MixedTree all = market.tree_of_records();
        Buffer<double> price(groups, 0.0);
        double largest = 0.0;
        for (Index g = 0; g < groups && !over(); g++) {
            price[g] = market.ball(all, supply, g, size[g]);
            largest = std::max(largest, price[g]);
        }
        for (Index g = 0; g < groups; g++)
            price[g] = largest - price[g];
        market.set(price);
        return largest;
    }

    // Only differences of prices count: the lowest is 0, so that little is lost in rounding.
    void lower_prices() {
        Buffer<double> price(groups);
        double lowest = INFINITE;
        for (Index g = 0; g < groups; g++) {
            price[g] = market.price_of(g);
            lowest = std::min(lowest, price[g]);
        }
        for (Index g = 0; g < groups; g++)
            price[g] -= lowest;
        market.set(price);
    }

    // All records at their best groups.
    void begin() {
        std::copy(size.begin(), size.end(), room.begin());
        for (auto &parts : held)
            parts.clear();
        for (Index i = 0; i < market.records() && !over(); i++) {
            BestGroup best = market.best_of(i, 0.0);
            if (best.group < 0)
                break;
            of(best.group).push_back({i, supply[i], best.cost});
            room[best.group] -= supply[i];
        }
    }

    // Move what a path of least cost can take from a group that has too many to the nearest that has room.
    void augment(Index source) {
        Index target = shortest_path(source);
        if (target < 0) {
            halted = true;
            return;
        }
        Index count = std::min(-room[source], room[target]);
        for (Index h = target; h != source; h = from[h])
            count = std::min(count, part_of(by[h], from[h])->count);
        for (Index h = target; h != source; h = from[h])
            move(by[h], from[h], h, count);
        room[source] += count;
        room[target] -= count;
    }

    // Dijkstra's algorithm from a group to the nearest with room, where moving record i from g to h costs
    // c_ih + p_h - c_ig - p_g. Returns that group, or -1 if it was stopped; prices rise so that costs stay at least 0.
    Index shortest_path(Index source) {
        std::priority_queue<Event> queue;
        touched.assign(1, source);
        distance[source] = 0.0;
        queue.push({0.0, source, -1, 0.0});
        nearest_room = INFINITE;
        Index target = -1;
        while (target < 0 && !queue.empty() && !over()) {
            Event event = queue.top();
            queue.pop();
            if (event.record >= 0) {
                if (event.key < nearest_room) {
                    market.extend(event.record, 0.0);
                    relax(event.group, event.record, event.cost, queue);
                }
            } else if (room[event.group] > 0) {
                target = event.group;
            } else if (!settled[event.group]) {
                settled[event.group] = true;
                for (const Part &part : of(event.group))
                    relax(event.group, part.record, part.cost, queue);
            }
        }
        for (Index g : touched) {
            if (target >= 0 && settled[g])
                market.raise(g, market.price_of(g) + (nearest_room - distance[g]));
            settled[g] = false;
            distance[g] = INFINITE;
        }
        return target;
    }

    void relax(Index g, Index i, double cost, std::priority_queue<Event> &queue) {
        const NearGroups &mine = market.list(i);
        double here = distance[g], least = cost + market.price_of(g);
        for (const Candidate &each : mine.near) {
            market.steps++;
            if (here + (each.key - least) >= nearest_room)
                return;
            Index h = each.group;
            double step = each.cost + market.price_of(h) - least, there = here + (step > 0.0 ? step : 0.0);
            if (settled[h] || !(there < distance[h]) || !(there < nearest_room))
                continue;
            if (distance[h] == INFINITE)
                touched.push_back(h);
            distance[h] = there;
            from[h] = g;
            by[h] = i;
            queue.push({there, h, -1, 0.0});
            if (room[h] > 0)
                nearest_room = there;
        }
        double beyond = here + std::max(mine.reach - least, 0.0);
        if (beyond < nearest_room)
            queue.push({beyond, g, i, cost});
    }

    std::vector<Part>::iterator part_of(Index i, Index g) {
        return std::find_if(of(g).begin(), of(g).end(), [i](const Part &part) { return part.record == i; });
    }

    void move(Index i, Index g, Index h, Index count) {
        auto part = part_of(i, g);
        part->count -= count;
        if (part->count == 0)
            of(g).erase(part);
        auto other = part_of(i, h);
        if (other != of(h).end()) {
            other->count += count;
            return;
        }
        of(h).push_back({i, count, market.cost(i, h)});
    }

    Index groups, most;
    Watch watch;
    PricedGroups market;
    Buffer<Index> supply, size, room; // room is below 0 if a group has too many
    Buffer<double> distance;
    Buffer<bool> settled;
    Buffer<Index> from, by; // the group before on the path, and the record that moves
    std::vector<std::vector<Part>> held;
    std::vector<Index> touched;
    bool halted = false;
    double nearest_room = INFINITE; // the distance of the nearest group with room that was reached
};

Index total(Integers counts, const char *message) {
    require_indices(counts, 1, Index{1} << 31, message);
    Index sum = 0;
    for (Index count : counts)
        sum += count;
    return sum;
}

} // namespace

std::tuple<Buffer<Index>, Buffer<Index>, Buffer<Index>, double, double>
assign_to_groups(Table points, Integers supply, Table rows, Integers size, Integers kinds, Floats apart, Index most,
                 Watch watch) {
    require(points.columns == rows.columns && rows.columns > 0, "records must have at least one column");
    require(kinds.size == rows.columns && apart.size == rows.columns, "each column must have a kind and a distance");
    require_indices(kinds, MEAN, MODE + 1, "kinds must be those of columns");
    for (double weight : apart)
        require(weight >= 0.0 && weight <= 1e280, "distances must not be negative or infinite");
    require(supply.size == points.rows && size.size == rows.rows, "records and groups must have a number each");
    require(rows.rows > 0 && total(supply, "records must be one at least") == total(size, "groups must have a size"),
            "groups must have room for all records, and no more");
    Transport transport(points, supply, rows, size, kinds, apart, most, watch);
    transport.solve();
    bool complete = !transport.over();
    double gap = complete ? transport.gap() : -1.0, cost = 0.0;
    std::vector<Index> found[3];
    for (Index g = 0; g < rows.rows && complete; g++)
        for (const Part &part : transport.of(g)) {
            cost += part.cost * static_cast<double>(part.count);
            found[0].push_back(part.record);
            found[1].push_back(g);
            found[2].push_back(part.count);
        }
    auto given = [](const std::vector<Index> &from) {
        Buffer<Index> to(static_cast<Index>(from.size()));
        std::copy(from.begin(), from.end(), to.begin());
        return to;
    };
    return {given(found[0]), given(found[1]), given(found[2]), cost, gap};
}

} // namespace shoal::ISA
