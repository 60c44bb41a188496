// Optimal assignment of records to groups by successive shortest paths; see shoal.kernels.assignment.
//
// Each group g has a price p_g >= 0, and all that is assigned is where c_ig + p_g is least. Prices only rise, so that a
// list of the groups nearest to a record by distance and price bounds all others from below for ever: paths are shortest
// among all pairs, though few pairs are looked at.
#include "assignment.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <vector>

#include "mixed_tree.hpp"

namespace shoal::ISA {

namespace {

constexpr Index FIRST = 8;       // groups in the first list of a record
constexpr Index MOST_LISTED = Index{1} << 26;
constexpr double LARGEST = 1e140; // of the values, so that sums of squares are numbers

struct Candidate {
    double key; // distance and price when the list was made
    double cost;
    Index group;

    bool operator<(const Candidate &other) const { return key < other.key || (key == other.key && group < other.group); }
};

// The groups nearest to a record by distance and price, in order; all others were no nearer than `reach`.
struct List {
    std::vector<Candidate> near;
    double reach = 0.0;
    Index length = FIRST;
    Index made = 0; // by which tree
};

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
        : d(rows.columns), records(points.rows), groups(rows.rows), most(most), watch(watch),
          points(with_price(points)), rows(with_price(rows)), kinds(d + 1, MEAN), apart(d + 1, 0.0), supply(records),
          size(groups), room(groups), price(groups, 0.0), distance(groups, INFINITE), settled(groups, false), from(groups), by(groups),
          lists(static_cast<std::size_t>(records)), held(static_cast<std::size_t>(groups)) {
        std::copy(kinds.begin(), kinds.end(), this->kinds.begin());
        std::copy(apart.begin(), apart.end(), this->apart.begin());
        std::copy(size.begin(), size.end(), this->size.begin());
        std::copy(supply.begin(), supply.end(), this->supply.begin());
    }

    void solve() {
        begin_prices();
        plant();
        begin();
        for (Index g = 0; g < groups; g++)
            while (room[g] < 0 && !over())
                augment(g);
    }

    bool over() {
        halted |= steps > most || watch.stopped();
        return halted;
    }

    // By how much the sum is above that of the duals, each record at the least of distance and price over all groups.
    double gap() {
        plant();
        std::vector<double> least(static_cast<std::size_t>(records), INFINITE);
        for (Index i = 0; i < records && !watch.stopped(); i++) {
            double &lowest = least[static_cast<std::size_t>(i)];
            tree.search(
                point(i), [&](double found, Index) { lowest = std::min(lowest, found); }, [&] { return lowest; });
        }
        double total = 0.0;
        for (Index g = 0; g < groups; g++)
            for (const Part &part : of(g)) {
                double above = part.cost + price[g] - least[static_cast<std::size_t>(part.record)];
                total += above > 0.0 ? above * static_cast<double>(part.count) : 0.0;
            }
        return total;
    }

    std::vector<Part> &of(Index g) { return held[static_cast<std::size_t>(g)]; }

  private:
    struct Best {
        double least = INFINITE, cost = 0.0; // distance and price, distance
        Index group = -1;
    };

    // Begin with a price for each group that falls with the distance of the last of its m nearest records, so that
    // groups far from all records get some: the power diagram of these balls.
    void begin_prices() {
        MixedTree near_records(points.matrix(records, d + 1), kinds, apart, watch);
        std::vector<Candidate> near;
        double largest = 0.0;
        for (Index g = 0; g < groups && !over(); g++) {
            nearest(near_records, row(g), std::min(size[g], records), near);
            Index count = 0, at = 0;
            while (count < size[g])
                count += supply[near[static_cast<std::size_t>(at++)].group];
            price[g] = near[static_cast<std::size_t>(at - 1)].key;
            largest = std::max(largest, price[g]);
        }
        for (Index g = 0; g < groups; g++)
            price[g] = largest - price[g];
    }

    // The group of the least distance and price to a record.
    Best best_of(Index i) {
        while (!over()) {
            Best best;
            for (const Candidate &each : list(i).near)
                if (each.cost + price[each.group] < best.least)
                    best = {each.cost + price[each.group], each.cost, each.group};
            if (list(i).reach >= best.least)
                return best;
            extend(i);
        }
        return {};
    }

    // All records at their best groups.
    void begin() {
        std::copy(size.begin(), size.end(), room.begin());
        for (Index i = 0; i < records && !over(); i++) {
            fill(i);
            Best best = best_of(i);
            if (best.group < 0)
                break;
            of(best.group).push_back({i, supply[i], best.cost});
            room[best.group] -= supply[i];
        }
    }

    // Rows with a column more, in which the squared difference of a group from any point is its price.
    Buffer<double> with_price(Table given) const {
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

    const double *point(Index i) const { return points.data() + i * (d + 1); }
    const double *row(Index g) const { return rows.data() + g * (d + 1); }

    List &list(Index i) { return lists[static_cast<std::size_t>(i)]; }

    // The tree of the groups that are not settled, by the prices of now.
    void plant() {
        Buffer<double> open(groups * (d + 1));
        planted_groups.clear();
        for (Index g = 0; g < groups; g++) {
            if (settled[g])
                continue;
            double *to = open.data() + static_cast<Index>(planted_groups.size()) * (d + 1);
            std::copy(row(g), row(g) + d, to);
            to[d] = std::sqrt(price[g]);
            planted_groups.push_back(g);
        }
        tree = MixedTree(open.matrix(static_cast<Index>(planted_groups.size()), d + 1), kinds, apart, watch);
        without = settled_count;
        planted++;
        since = 0;
    }

    // The rows of a tree nearest to a point, in order.
    void nearest(const MixedTree &among, const double *point, Index count, std::vector<Candidate> &near) {
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
            [&] { return near.size() == length ? near.front().key : INFINITE; });
        std::sort_heap(near.begin(), near.end());
    }

    // List the groups nearest to a record by distance and price.
    void fill(Index i) {
        List &mine = list(i);
        Index open = static_cast<Index>(planted_groups.size());
        listed -= static_cast<Index>(mine.near.size());
        nearest(tree, point(i), std::min(mine.length, open), mine.near);
        listed += static_cast<Index>(mine.near.size());
        halted |= listed > MOST_LISTED;
        for (Candidate &each : mine.near) {
            each.group = planted_groups[static_cast<std::size_t>(each.group)];
            each.cost = mixed_distance(point(i), row(each.group), kinds.data(), apart.data(), d);
        }
        mine.reach = mine.length < open ? mine.near.back().key : INFINITE;
        mine.made = planted;
        if (without > 0)
            partial.push_back(i);
    }

    // List more groups: by the prices of now if these have risen since, else twice as many.
    //
    // On long paths nearly all groups near a record are settled: they are left out, for the rest of the path.
    void extend(Index i) {
        if (since > 16 + groups / 64 || settled_count > 256 + without + without / 2)
            plant();
        list(i).length = list(i).made == planted ? 2 * list(i).length : FIRST;
        fill(i);
    }

    // Forget what was listed without settled groups.
    void forget() {
        settled_count = 0;
        if (without == 0)
            return;
        for (Index i : partial) {
            listed -= static_cast<Index>(list(i).near.size());
            list(i) = List();
        }
        partial.clear();
        plant();
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
        since++;
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
                    extend(event.record);
                    relax(event.group, event.record, event.cost, queue);
                }
            } else if (room[event.group] > 0) {
                target = event.group;
            } else if (!settled[event.group]) {
                settled[event.group] = true;
                settled_count++;
                for (const Part &part : of(event.group))
                    relax(event.group, part.record, part.cost, queue);
            }
        }
        for (Index g : touched) {
            if (target >= 0 && settled[g])
                price[g] += nearest_room - distance[g];
            settled[g] = false;
            distance[g] = INFINITE;
        }
        forget();
        return target;
    }

    void relax(Index g, Index i, double cost, std::priority_queue<Event> &queue) {
        const List &mine = list(i);
        double here = distance[g], least = cost + price[g];
        for (const Candidate &each : mine.near) {
            steps++;
            if (here + (each.key - least) >= nearest_room)
                return;
            Index h = each.group;
            double step = each.cost + price[h] - least, there = here + (step > 0.0 ? step : 0.0);
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
        double cost = mixed_distance(point(i), row(h), kinds.data(), apart.data(), d);
        of(h).push_back({i, count, cost});
    }

    Index d, records, groups, most;
    Watch watch;
    Buffer<double> points, rows; // (records, d + 1), (groups, d + 1)
    Buffer<Index> kinds;
    Buffer<double> apart;
    Buffer<Index> supply, size, room; // room is below 0 if a group has too many
    Buffer<double> price, distance;
    Buffer<bool> settled;
    Buffer<Index> from, by; // the group before on the path, and the record that moves
    std::vector<List> lists;
    std::vector<std::vector<Part>> held;
    std::vector<Index> touched;
    std::vector<Index> planted_groups, partial; // the groups in the tree, and records whose lists lack settled ones
    MixedTree tree{{nullptr, 0, 0}, {nullptr, 0}, {nullptr, 0}, watch};
    Index planted = 0, since = 0, steps = 0; // trees, and paths since the last
    Index settled_count = 0, without = 0, listed = 0; // groups settled, and when the tree was made; all lists together
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
        require(weight >= 0.0 && weight <= LARGEST * LARGEST, "distances must not be negative or infinite");
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
