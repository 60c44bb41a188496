// Cells of space, halved attribute by attribute; see shoal.kernels.cells.
#include "cells.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

constexpr Index BITS = 30; // 2^33 records of 30 bits add up in an int64

// The children of a node, -1 where there is none, come after it, and each has one parent: every way down ends.
void require_tree(Matrix<const Index> children) {
    require(children.columns == 2 && children.rows >= 1, "children must have two columns, and a row for each node");
    Buffer<bool> seen(children.rows, false);
    for (Index node = 0; node < children.rows; node++)
        for (Index child : children.row(node)) {
            bool fits = child == -1 || (node < child && child < children.rows && !seen[child]);
            require(fits, "children must come after their parent, which is one");
            if (child >= 0)
                seen[child] = true;
        }
}

// A tree of cells, and the place of one record after the other in it.
class Cells {
  public:
    Cells(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth)
        : X(X), low(low), scale(scale), children(children), depth(depth), place(X.columns) {
        require(X.columns >= 1 && low.size == X.columns && scale.size == X.columns,
                "low and scale must have an element for each attribute");
        require_tree(children);
        require(depth.size == children.rows, "depth must have an element for each node");
        require_indices(depth, 0, BITS * X.columns + 1, "depth must be that of cells");
        for (Index node = 0; node < depth.size; node++)
            require(depth[node] < BITS * X.columns || (children[node][0] < 0 && children[node][1] < 0),
                    "the deepest cells must have no children");
    }

    // Find where a record lies in the box, each attribute in 0 .. 2^30 - 1, and the leaf in which that is.
    Index locate(Index i) {
        constexpr double END = static_cast<double>(Index{1} << BITS);
        for (Index j = 0; j < X.columns; j++) {
            double at = (X[i][j] - low[j]) * scale[j];
            place[j] = at >= END ? (Index{1} << BITS) - 1 : at > 0.0 ? static_cast<Index>(at) : 0;
        }
        Index node = 0;
        while (node >= 0 && (children[node][0] >= 0 || children[node][1] >= 0))
            node = children[node][bit_at(depth[node])];
        return node;
    }

    // As `locate`, for records that the tree was grown from.
    Index leaf_of(Index i) {
        Index leaf = locate(i);
        require(leaf >= 0, "a record lies in no leaf of the tree");
        return leaf;
    }

    // Which half is taken at a depth.
    Index bit_at(Index level) const {
        Index d = X.columns;
        return (place[level % d] >> (BITS - 1 - level / d)) & 1;
    }

    Table X;
    Floats low, scale;
    Matrix<const Index> children;
    Integers depth;
    Buffer<Index> place;
};

} // namespace

void leaves_of(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Watch watch,
               Span<Index> found) {
    Cells cells(X, low, scale, children, depth);
    require(found.size == X.rows, "found must have an element for each record");
    for (Index i = 0; i < X.rows && !watch.stopped_at(i); i++)
        found[i] = cells.locate(i);
}

void count_below(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Integers slot,
                 Index bits, Watch watch, Matrix<Index> counts, Matrix<Index> least, Matrix<Index> most) {
    Cells cells(X, low, scale, children, depth);
    Index d = X.columns, open = counts.rows;
    require(slot.size == children.rows && 0 <= bits && bits < 62 && counts.columns == Index{1} << bits &&
                least.rows == open && most.rows == open && least.columns == d && most.columns == d,
            "there must be a slot for each node, and counts and extents for each open leaf");
    require_indices(slot, -1, open, "a slot must be an open leaf's");
    std::fill(counts.data, counts[open], 0);
    std::fill(least.data, least[open], Index{1} << BITS);
    std::fill(most.data, most[open], -1);
    for (Index i = 0; i < X.rows && !watch.stopped_at(i); i++) {
        Index leaf = cells.leaf_of(i), at = slot[leaf];
        if (at < 0)
            continue;
        Index path = 0;
        for (Index t = depth[leaf]; t < depth[leaf] + bits; t++)
            path = 2 * path + (t < BITS * d ? cells.bit_at(t) : 0);
        counts[at][path]++;
        for (Index j = 0; j < d; j++) {
            least[at][j] = std::min(least[at][j], cells.place[j]);
            most[at][j] = std::max(most[at][j], cells.place[j]);
        }
    }
}

void sum_in_leaves(Table X, Floats low, Floats scale, Matrix<const Index> children, Integers depth, Integers number,
                   Watch watch, Span<Index> counts, Matrix<Index> sums) {
    Cells cells(X, low, scale, children, depth);
    require(number.size == children.rows && sums.rows == counts.size && sums.columns == X.columns,
            "there must be a number for each node, and sums for each leaf");
    require_indices(number, -1, counts.size, "a number must be a leaf's");
    std::fill(counts.begin(), counts.end(), 0);
    std::fill(sums.data, sums[sums.rows], 0);
    for (Index i = 0; i < X.rows && !watch.stopped_at(i); i++) {
        Index leaf = number[cells.leaf_of(i)];
        require(leaf >= 0, "every leaf must have a number");
        counts[leaf]++;
        for (Index j = 0; j < X.columns; j++)
            sums[leaf][j] += cells.place[j];
    }
}

Index number_leaves(Matrix<const Index> children, Span<Index> number) {
    require_tree(children);
    require(number.size == children.rows, "number must have an element for each node");
    Buffer<Index> stack(children.rows + 1);
    std::fill(number.begin(), number.end(), -1);
    stack[0] = 0;
    Index size = 1, leaves = 0;
    while (size > 0) {
        Index node = stack[--size];
        if (children[node][0] < 0 && children[node][1] < 0)
            number[node] = leaves++;
        for (Index side : {1, 0})
            if (children[node][side] >= 0)
                stack[size++] = children[node][side];
    }
    return leaves;
}

} // namespace shoal::ISA
