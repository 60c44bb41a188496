// An intruder's links: the published class nearest to a record, and the patterns in which two records agree; see
// shoal.kernels.linkage.
#include "linkage.hpp"

#include <algorithm>
#include <cmath>

#include "kd_tree.hpp"
#include "tied.hpp"

namespace shoal::ISA {

namespace {

// The classes nearest to a point, beginning with the block of `lane`.
//
// Unlike `nearest_in_tree` this must see all that are tied, so a box that touches the ball is always entered.
Tied nearest_classes(const Blocks &store, Index lane, const double *point, Index own, Integers size, Search &search) {
    alignas(64) double distance[LANES];
    Tied tied;
    Index home = store.inner + lane / LANES, left = 1;
    search.bound[0] = 0.0;
    search.node[0] = home;
    while (true) {
        while (left > 0) {
            left--;
            Index node = search.node[left];
            if (search.bound[left] > tied.distance)
                continue;
            if (node < store.inner) {
                Lanes bounds = nearest_bounds(store.box(node), point, store.d);
                bounds.store(distance);
                left = push(search, left, lanes_at_most(bounds, tied.distance), node, distance, 1.0);
                continue;
            }
            Index block = node - store.inner;
            Lanes distances = squared_distances(store.block(block), point, store.d);
            unsigned mask = lanes_at_most(distances, tied.distance);
            distances.store(distance);
            while (mask != 0) {
                int at = next_lane(mask);
                Index found = store.record[block * LANES + at];
                tied.offer(distance[at], found, own, size[found]);
            }
        }
        if (home == 0)
            return tied;
        Index above = (home - 1) / LANES;
        Lanes bounds = nearest_bounds(store.box(above), point, store.d);
        bounds.store(distance);
        unsigned mask = lanes_at_most(bounds, tied.distance) & ~(1u << ((home - 1) % LANES));
        left = push(search, 0, mask, above, distance, 1.0);
        home = above;
    }
}

// Write the pattern of agreement with each published class: bit j is set where attribute j is within the limit.
void agreement(const double *point, Table columns, double within, Span<Index> pattern) {
    std::fill(pattern.begin(), pattern.end(), 0);
    for (Index j = 0; j < columns.rows; j++) {
        const double *column = columns[j];
        double x = point[j];
        Index bit = Index{1} << j;
        for (Index c = 0; c < pattern.size; c++)
            pattern[c] += std::fabs(column[c] - x) <= within ? bit : 0;
    }
}

} // namespace

std::pair<Index, double> link_to_nearest(Table Z, Table rows, Integers labels, Integers first, Integers size,
                                         Integers asked, Watch watch) {
    require_links(Z, labels, size, asked);
    require(Z.columns == rows.columns && size.size == rows.rows && first.size == rows.rows,
            "classes must have values in the columns of the records, a first record and a size");
    Buffer<Index> place(rows.rows), none(rows.rows, -1);
    Blocks store = plant(remaining(rows, none, rows.rows), rows.columns, place, watch);
    Search search;
    Index linked = 0;
    double expected = 0.0;
    for (Index i : asked) {
        if (watch.stopped())
            break;
        Index own = labels[i];
        // Masking moves a record a little: where it went is the best place to begin.
        Tied tied = nearest_classes(store, place[own], Z[i], own, size, search);
        linked += tied.lowest == own && first[own] == i;
        expected += tied.expected();
    }
    return {linked, expected};
}

void count_patterns(Table Z, Table columns, Integers size, Integers asked, double within, Watch watch,
                    Span<Index> counts) {
    require(Z.columns == columns.rows && size.size == columns.columns && columns.rows < 62 &&
                counts.size == Index{1} << columns.rows,
            "there must be a count for each pattern, and a size for each class");
    require_indices(asked, 0, Z.rows, "the records asked must be among all");
    Buffer<Index> pattern(columns.columns);
    std::fill(counts.begin(), counts.end(), 0);
    for (Index i : asked) {
        if (watch.stopped())
            break;
        agreement(Z[i], columns, within, pattern);
        for (Index c = 0; c < pattern.size(); c++)
            counts[pattern[c]] += size[c];
    }
}

double link_by_weight(Table Z, Table columns, Integers labels, Integers size, Integers asked, double within,
                      Floats weight, Watch watch) {
    require_links(Z, labels, size, asked);
    require(Z.columns == columns.rows && size.size == columns.columns && columns.rows < 62 &&
                weight.size == Index{1} << columns.rows,
            "there must be a weight for each pattern, and a size for each class");
    Buffer<Index> pattern(columns.columns);
    double expected = 0.0;
    for (Index i : asked) {
        if (watch.stopped())
            break;
        agreement(Z[i], columns, within, pattern);
        double best = -INFINITE;
        Index tied = 0;
        for (Index c = 0; c < pattern.size(); c++) {
            double w = weight[pattern[c]];
            if (w > best) {
                best = w;
                tied = size[c];
            } else if (w == best)
                tied += size[c];
        }
        if (weight[pattern[labels[i]]] == best)
            expected += 1.0 / static_cast<double>(tied);
    }
    return expected;
}

} // namespace shoal::ISA
