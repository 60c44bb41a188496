#include "mixed_tree.hpp"

#include <algorithm>

namespace shoal::ISA {

MixedTree::MixedTree(Table given, Integers kinds, Floats apart, Watch watch)
    : kinds(kinds), apart(apart), d(given.columns), order(given.rows), place(given.rows), leaf((given.rows + LANES - 1) / LANES) {
    // A copy: another thread may change the values while they are put in order.
    Buffer<double> copy(given.rows * d);
    std::copy(given.data, given.data + given.rows * d, copy.begin());
    Table rows = copy.matrix(given.rows, d);
    for (Index kind : kinds)
        plain &= kind != MODE;
    for (double value : copy)
        plain &= value == value;
    for (Index i = 0; i < rows.rows; i++)
        order[i] = i;
    values = Buffer<double>(leaf.size() * (1 + d) * LANES);
    if (rows.rows > 0)
        build(rows, 0, rows.rows, -1, watch);
    for (Index at = 0; at < rows.rows; at++)
        place[order[at]] = at;
}

// Returns the node of the rows order[first .. end - 1]; all leaves but the last are full.
Index MixedTree::build(Table rows, Index first, Index end, Index above, Watch watch) {
    Index node = static_cast<Index>(nodes.size());
    nodes.push_back({0, first / LANES, above});
    measure(rows, first, end);
    if (end - first <= LANES) {
        leaf[first / LANES] = node;
        fill(rows, first / LANES);
        return node;
    }
    Index j = widest(node), blocks = (end - first + LANES - 1) / LANES;
    Index middle = first + (blocks + 1) / 2 * LANES;
    auto before = [rows, j](Index a, Index b) {
        double x = rows[a][j], y = rows[b][j];
        return x == x && y == y ? x < y || (x == y && a < b) : x == x ? true : y == y ? false : a < b;
    };
    if (!watch.stopped())
        std::nth_element(order.begin() + first, order.begin() + middle, order.begin() + end, before);
    build(rows, first, middle, node, watch);
    Index right = build(rows, middle, end, node, watch);
    nodes[static_cast<std::size_t>(node)].right = right;
    return node;
}

void MixedTree::measure(Table rows, Index first, Index end) {
    std::size_t start = ranges.size();
    ranges.resize(start + static_cast<std::size_t>(d), {INFINITE, -INFINITE, false});
    Range *range = &ranges[start];
    for (Index at = first; at < end; at++) {
        const double *row = rows[order[at]];
        for (Index j = 0; j < d; j++) {
            range[j].missing |= row[j] != row[j];
            range[j].low = row[j] < range[j].low ? row[j] : range[j].low;
            range[j].high = row[j] > range[j].high ? row[j] : range[j].high;
        }
    }
}

// The column in which the rows of a node can be farthest apart.
Index MixedTree::widest(Index node) const {
    const Range *range = &ranges[static_cast<std::size_t>(node * d)];
    Index found = 0;
    double most = -1.0;
    for (Index j = 0; j < d; j++) {
        bool some = range[j].low <= range[j].high;
        double wide = !some ? 0.0 : kinds[j] == MODE ? (range[j].low < range[j].high ? apart[j] : 0.0)
                                                     : (range[j].high - range[j].low) * (range[j].high - range[j].low);
        wide = some && range[j].missing && wide < apart[j] ? apart[j] : wide;
        if (wide > most) {
            most = wide;
            found = j;
        }
    }
    return found;
}

void MixedTree::put(Index row, Index j, double value) {
    plain &= value == value;
    Index block = place[row] / LANES;
    values[(block * (1 + d) + 1 + j) * LANES + place[row] % LANES] = value;
    Range range = seen(block, j);
    for (Index at = leaf[block]; at >= 0; at = nodes[static_cast<std::size_t>(at)].above) {
        const Node &node = nodes[static_cast<std::size_t>(at)];
        Range &mine = ranges[static_cast<std::size_t>(at * d + j)];
        if (node.right != 0) {
            const Range &one = ranges[static_cast<std::size_t>((at + 1) * d + j)];
            const Range &two = ranges[static_cast<std::size_t>(node.right * d + j)];
            range = {std::min(one.low, two.low), std::max(one.high, two.high), one.missing || two.missing};
        }
        if (range.low == mine.low && range.high == mine.high && range.missing == mine.missing)
            return;
        mine = range;
    }
}

// What the rows of a block have in a column.
MixedTree::Range MixedTree::seen(Index block, Index j) const {
    Range range{INFINITE, -INFINITE, false};
    const double *column = values.data() + (block * (1 + d) + 1 + j) * LANES;
    for (Index lane = 0; lane < std::min<Index>(LANES, order.size() - block * LANES); lane++) {
        range.missing |= column[lane] != column[lane];
        range.low = column[lane] < range.low ? column[lane] : range.low;
        range.high = column[lane] > range.high ? column[lane] : range.high;
    }
    return range;
}

void MixedTree::fill(Table rows, Index block) {
    double *to = values.data() + block * (1 + d) * LANES;
    for (Index lane = 0; lane < LANES; lane++) {
        Index at = block * LANES + lane;
        bool filled = at < order.size();
        to[lane] = filled ? 0.0 : NOT_A_NUMBER;
        for (Index j = 0; j < d; j++)
            to[(1 + j) * LANES + lane] = filled ? rows[order[at]][j] : NOT_A_NUMBER;
    }
}

} // namespace shoal::ISA
