#include "kd_nearest.hpp"

#include <algorithm>
#include <numeric>

#include "kd_tree.hpp"

namespace shoal::ISA {

namespace {

// A tree of points, and in `place` the lane of each.
Blocks planted(Table points, Span<Index> place, Watch watch) {
    Buffer<Index> none(points.rows, -1);
    return plant(remaining(points, none, points.rows), points.columns, place, watch);
}

} // namespace

void nearest_points(Table points, Table asked, Integers begin, Watch watch, Matrix<Index> found) {
    Index m = found.columns;
    require(points.columns == asked.columns, "points and asked must have the same columns");
    require(begin.size == asked.rows && found.rows == asked.rows, "begin and found must have a row for each asked");
    require_indices(begin, 0, points.rows, "searches must begin at a point");
    if (m == 0 || asked.rows == 0)
        return;
    Buffer<Index> place(points.rows);
    Blocks store = planted(points, place, watch);
    Search search;
    Buffer<double> near(m);
    std::fill(found.data, found.data + found.rows * m, -1);
    // Rows that begin near each other look at the same leaves: one after the other, they find them in the cache.
    Buffer<Index> order(asked.rows);
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(), [&](Index a, Index b) {
        Index one = place[begin[a]], two = place[begin[b]];
        return one < two || (one == two && a < b);
    });
    Index done = 0;
    for (Index i : order) {
        if (watch.stopped())
            break;
        Nearest nearest{near, found.row(i)};
        nearest_in_tree(store, place[begin[i]], asked[i], nearest, search);
        nearest.sort();
        watch.done(++done);
    }
}

void fuse_small(Table centroids, Integers counts, Index k, Watch watch, Span<Index> block) {
    Index leaves = centroids.rows, left = leaves;
    require(counts.size == leaves && block.size == leaves, "there must be a count and a block for each centroid");
    Buffer<Index> place(leaves), size(leaves);
    Blocks store = planted(centroids, place, watch);
    Search search;
    double near[1];
    Index record[1];
    for (Index i = 0; i < leaves; i++) {
        size[i] = counts[i];
        block[i] = i;
    }
    for (Index i = 0; i < leaves && !watch.stopped(); i++) {
        if (size[i] < k && left > 1) {
            remove(store, place[i]);
            Nearest nearest{{near, 1}, {record, 1}};
            nearest_in_tree(store, place[i], centroids[i], nearest, search);
            nearest.require_full();
            block[i] = record[0];
            size[record[0]] += size[i];
            left--;
        }
    }
    for (Index i = 0; i < leaves; i++)
        while (block[block[i]] != block[i])
            block[i] = block[block[i]];
}

} // namespace shoal::ISA
