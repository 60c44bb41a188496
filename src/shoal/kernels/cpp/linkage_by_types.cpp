// An intruder's links by distances of every type of attribute; see shoal.kernels.linkage_by_types.
#include "linkage_by_types.hpp"

#include <algorithm>
#include <vector>

#include "mixed_tree.hpp"
#include "tied.hpp"

namespace shoal::ISA {

namespace {

void require_space(Table points, Table rows, Integers kinds, Floats apart) {
    require(points.columns == rows.columns && rows.columns > 0, "records must have at least one column");
    require(kinds.size == rows.columns && apart.size == rows.columns, "each column must have a kind and a distance");
    require_indices(kinds, MEAN, MODE + 1, "kinds must be those of columns");
}

} // namespace

std::pair<Index, double> link_by_types(Table values, Table rows, Integers labels, Integers first, Integers size,
                                       Integers asked, Integers kinds, Floats apart, Watch watch) {
    require_links(values, labels, size, asked);
    require(size.size == rows.rows && first.size == rows.rows, "classes must have a first record and a size");
    require_space(values, rows, kinds, apart);
    MixedTree tree(rows, kinds, apart, watch);
    Index linked = 0;
    double expected = 0.0;
    for (Index i : asked) {
        if (watch.stopped())
            break;
        Index own = labels[i];
        Tied tied;
        tied.distance = tree.distance(values[i], rows[own]); // masking moves a record a little: few are nearer
        tree.search(
            values[i], [&](double distance, Index c) { tied.offer(distance, c, own, size[c]); },
            [&] { return tied.distance; });
        linked += tied.lowest == own && first[own] == i;
        expected += tied.expected();
    }
    return {linked, expected};
}

std::pair<Buffer<Index>, Buffer<Index>> nearest_by_types(Table points, Table rows, Integers kinds, Floats apart,
                                                         Watch watch) {
    require_space(points, rows, kinds, apart);
    MixedTree tree(rows, kinds, apart, watch);
    Buffer<Index> ends(points.rows, 0);
    std::vector<Index> every, tied;
    for (Index i = 0; i < points.rows && !watch.stopped(); i++) {
        double least = INFINITE;
        tied.clear();
        tree.search(
            points[i],
            [&](double distance, Index row) {
                if (distance < least)
                    tied.clear();
                if (distance <= least) {
                    least = distance;
                    tied.push_back(row);
                }
            },
            [&] { return least; });
        std::sort(tied.begin(), tied.end());
        every.insert(every.end(), tied.begin(), tied.end());
        ends[i] = static_cast<Index>(every.size());
    }
    Buffer<Index> found(static_cast<Index>(every.size()));
    std::copy(every.begin(), every.end(), found.begin());
    return {std::move(ends), std::move(found)};
}

} // namespace shoal::ISA
