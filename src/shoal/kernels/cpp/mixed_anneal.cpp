#include "mixed_anneal.hpp"

#include <algorithm>

#include "changes.hpp"
#include "mixed_partition.hpp"

namespace shoal::ISA {

namespace {

constexpr Index LARGE = 8;     // times k: groups of more records are not dissolved, nor pairs of them formed again
constexpr Index SPLIT_OFF = 4; // times k: the most records of a group that is split off
constexpr Index TRIES = 8;     // sizes of such a group that are tried

// Split a group off from that of record i: cut into as many parts by a confidential attribute as the new group has
// members, the old one gives the record of each part that is nearest to i. So both have about the distribution of the
// old one, as in the groups of t-closeness first. Several sizes are tried, until both satisfy what is asked.
class Splitting {
  public:
    Splitting(MixedPartition &s, Demand &demand, Span<std::uint64_t> state, Index room)
        : s(s), demand(demand), state(state), order(room), codes(room), apart(room),
          taken(room, false) {}

    double operator()(Index i, Journal journal) {
        Index size = s.size[s.label[i]], k = s.k();
        if (size < 2 * k || s.free[0] == 0 || demand.attributes() == 0)
            return INFINITE;
        std::uint64_t bits = random_bits(state) >> 33;
        sort_members(i, static_cast<Index>(bits % static_cast<std::uint64_t>(demand.attributes())));
        Index sizes = std::min(SPLIT_OFF * k, size - k) - k + 1, first = static_cast<Index>(bits / 8) % sizes;
        for (Index at = 0; at < std::min(TRIES, sizes); at++) {
            Index count = k + (first + at) % sizes;
            choose(size, count);
            if (satisfies(size))
                return split(size, journal);
        }
        return INFINITE;
    }

  private:
    // Sort the group of record i by a confidential attribute, and measure how far from i its members are.
    void sort_members(Index i, Index attribute) {
        Index a = s.label[i], size = s.size[a];
        std::copy_n(s.members[a].begin(), size, order.begin());
        std::sort(order.begin(), order.begin() + size, [&](Index x, Index y) {
            Index one = demand.code(attribute, x), two = demand.code(attribute, y);
            return one < two || (one == two && x < y);
        });
        for (Index p = 0; p < size; p++)
            apart[p] = order[p] == i ? -1.0 : s.distance(i, order[p]);
    }

    // Choose the nearest member of each of so many parts, by its place.
    void choose(Index size, Index count) {
        std::fill_n(taken.begin(), size, false);
        for (Index part = 0; part < count; part++) {
            Index nearest = part * size / count;
            for (Index p = nearest; p < (part + 1) * size / count; p++)
                if (apart[p] < apart[nearest])
                    nearest = p;
            taken[nearest] = true;
        }
    }

    // Whether the members that are chosen and the others satisfy what is asked.
    bool satisfies(Index size) {
        for (bool which : {true, false})
            for (Index attribute = 0; attribute < demand.attributes(); attribute++) {
                Index count = 0;
                for (Index p = 0; p < size; p++)
                    if (taken[p] == which)
                        codes[count++] = demand.code(attribute, order[p]);
                std::sort(codes.begin(), codes.begin() + count);
                if (!demand.satisfies(attribute, codes.first(count)))
                    return false;
            }
        return true;
    }

    double split(Index size, Journal journal) {
        Index g = new_group(s);
        double change = 0.0;
        for (Index p = 0; p < size; p++) {
            if (!taken[p])
                continue;
            change += s.joining(order[p], g) - s.leaving(order[p]);
            moved(s, journal, order[p], g);
        }
        return change;
    }

    MixedPartition &s;
    Demand &demand;
    Span<std::uint64_t> state;
    Buffer<Index> order, codes; // the members, sorted; scratch
    Buffer<double> apart;
    Buffer<bool> taken;
};

// Whether all groups that a journal changed satisfy what is asked.
bool all_allowed(MixedPartition &s, Journal journal) {
    for (Index at = 0; at < journal.length[0]; at++)
        if (!s.allowed(journal.origin[at]) || !s.allowed(s.label[journal.record[at]]))
            return false;
    return true;
}

// Labels must number groups of at least so many records without a gap.
void require_labels(const EncodedMatrix &space, Index k, Integers labels, Index least) {
    constexpr const char *MESSAGE = "labels must number groups without a gap";
    space.require_sizes();
    require(labels.size == space.values.rows, "there must be a label for each record");
    require(2 <= k && k <= labels.size, "k must be at least 2, and at most the number of records");
    require_indices(labels, 0, labels.size, MESSAGE);
    Buffer<Index> size(labels.size, 0);
    for (Index g : labels)
        size[g]++;
    Index groups = 1 + *std::max_element(labels.begin(), labels.end());
    for (Index g = 0; g < groups; g++) {
        require(size[g] > 0, MESSAGE);
        require(size[g] >= least, "groups must have at least k records");
    }
}

double loss_of(MixedPartition &s) {
    double total = 0.0;
    for (Index g = 0; g < s.size.size(); g++)
        if (s.size[g] > 0)
            total += s.loss(g);
    return total;
}

} // namespace

std::pair<double, double> anneal_mixed(const EncodedMatrix &space, const Attributes &attributes, const LDiversity &wanted,
                                       double slack, double t, Index k, Index most, Neighbours near, Floats local,
                                       double temperature, Index steps, Span<std::uint64_t> state, Span<Index> labels,
                                       Watch watch) {
    require_labels(space, k, labels, k);
    Index n = labels.size;
    require(near.rows == n && local.size == n, "near and local must have a row for each record");
    require(near.columns > 0, "there must be neighbours");
    require_indices(near, 0, n, "neighbours must be records");
    require(state.size > 0, "state must have an element");
    require_attributes(attributes, n);
    Demand demand(attributes, wanted, slack, t);
    MixedPartition s(space, k, most, demand, labels);
    Index room = std::min(n, std::max(most, *std::max_element(s.size.begin(), s.size.end())));
    Moves moves(2 * k * (k + 1) + 2 * (LARGE + 1) * k + room);
    Journal journal = moves;
    Splitting split(s, demand, state, room);
    auto ruin = [&](Index i, Index kind, double below) {
        Index a = s.label[i];
        journal.length[0] = 0;
        double change = INFINITE;
        if (kind == SPLIT)
            change = split(i, journal);
        else if (s.size[a] <= LARGE * k)
            change = kind == DISSOLVE  ? dissolve_group(s, near, a, journal)
                     : kind == FORM    ? form_group(s, near, i, journal)
                     : kind == REGROUP ? regroup_around(s, near, i, journal)
                                       : resplit_pair(s, near, i, journal);
        if (change < below && all_allowed(s, journal))
            return change;
        undo_moves(s, journal);
        return 0.0;
    };
    const double ruins[] = {30, 30, 50, 30, 200}; // splitting, the last, is for groups beyond 2k
    Index kinds = demand.attributes() > 0 ? KINDS : SPLIT;
    double change = propose(s, near, local, temperature, steps, state, watch, {ruins, kinds}, ruin);
    s.recentre();
    return {change, loss_of(s)};
}

void group_losses(const EncodedMatrix &space, Index k, Integers labels, Span<double> losses) {
    require_labels(space, k, labels, 1);
    Attributes none{{nullptr, 0, labels.size}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}, 0};
    Index zero = 0;
    none.first = {&zero, 1};
    Demand nothing(none, {0.0, DISTINCT, 0.0}, 0.0, INFINITE);
    Buffer<Index> own(labels.size);
    std::copy(labels.begin(), labels.end(), own.begin());
    MixedPartition s(space, k, labels.size, nothing, own);
    require(losses.size <= s.size.size(), "losses must have an element for each group");
    for (Index g = 0; g < losses.size; g++)
        losses[g] = s.size[g] > 0 ? s.loss(g) : 0.0;
}

} // namespace shoal::ISA
