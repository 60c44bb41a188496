// Paths of records, joined end to end until one goes through all of them; see shoal.kernels.paths.
#include "paths.hpp"

#include <algorithm>
#include <cmath>

#include "edges.hpp"
#include "kd_tree.hpp"

namespace shoal::ISA {

Index savings(Table X, Floats depot, Matrix<const Index> near, Watch watch, Matrix<Index> pairs, Span<double> saved) {
    Index n = near.rows, m = near.columns, size = 0;
    require(X.rows == n && depot.size == X.columns, "near must have a row for each record, the depot their columns");
    require(pairs.rows == n * m && pairs.columns == 2 && saved.size == n * m, "there must be room for all pairs");
    require_indices(near, 0, n, "neighbours must be records");
    Buffer<double> away(n, 0.0);
    for (Index a = 0; a < n; a++) {
        for (Index j = 0; j < X.columns; j++)
            away[a] += (X[a][j] - depot[j]) * (X[a][j] - depot[j]);
        away[a] = std::sqrt(away[a]);
    }
    for (Index a = 0; a < n && !watch.stopped(); a++) {
        for (Index b : near.row(a)) {
            Integers others = near.row(b);
            if (a < b || std::find(others.begin(), others.end(), a) == others.end()) {
                pairs[size][0] = a;
                pairs[size][1] = b;
                saved[size] = away[a] + away[b] - edge(X, a, b);
                size++;
            }
        }
    }
    return size;
}

void join_ends(Matrix<const Index> pairs, Integers ranking, Watch watch, Matrix<Index> joined, Span<Index> other) {
    Index n = joined.rows;
    require(pairs.columns == 2 && joined.columns == 2 && other.size == n, "pairs and joined must have two columns");
    require_indices(pairs, 0, n, "pairs must be of records");
    require_indices(ranking, 0, pairs.rows, "the ranking must be of pairs");
    std::fill(joined.data, joined.data + 2 * n, -1);
    for (Index i = 0; i < n; i++)
        other[i] = i;
    for (Index at : ranking) {
        if (watch.stopped())
            break;
        Index a = pairs[at][0], b = pairs[at][1];
        if (joined[a][1] >= 0 || joined[b][1] >= 0 || other[a] == b)
            continue;
        joined[a][joined[a][0] < 0 ? 0 : 1] = b;
        joined[b][joined[b][0] < 0 ? 0 : 1] = a;
        Index start = other[a], stop = other[b];
        other[start] = stop;
        other[stop] = start;
    }
}

Index nearest_next(Table X, Integers other, Index start, Watch watch, Span<Index> entered) {
    Index n = X.rows, x = start, count = n, size = 0;
    require(other.size == n && entered.size == n, "other and entered must have an element for each record");
    require(n == 0 || (0 <= start && start < n), "the way must start at a record");
    require_indices(other, 0, n, "other must be records");
    for (Index i = 0; i < n; i++)
        require(other[other[i]] == i, "each end must be the other of its other");
    std::fill(entered.begin(), entered.end(), -1);
    Buffer<Index> gone(n, -1), place(n); // 0 once a record was walked over
    double near[1];
    Index record[1];
    Nearest nearest{{near, 1}, {record, 1}};
    Search search;
    while (count > 0) {
        // As in MDAV, a tree serves until half of its records are gone.
        Blocks store = plant(remaining(X, gone, count), X.columns, place, watch);
        Index enough = count / 2;
        Index begin = 0; // any lane will do to begin the search in a new tree
        while (count > enough) {
            if (watch.stopped())
                return n;
            if (size > 0) {
                nearest_in_tree(store, begin, X[x], nearest, search);
                nearest.require_full();
                x = record[0];
            }
            entered[size++] = x;
            remove(store, place[x]);
            gone[x] = 0;
            count--;
            if (other[x] != x) {
                x = other[x];
                remove(store, place[x]);
                gone[x] = 0;
                count--;
            }
            begin = place[x];
            watch.done(n - count);
        }
    }
    return size;
}

void unrolled(Integers entered, Matrix<const Index> joined, Span<Index> order) {
    require(joined.columns == 2 && order.size == joined.rows, "order must have an element for each record");
    require_indices(entered, 0, order.size, "paths must be entered at records");
    require_indices(joined, -1, order.size, "joined must be records");
    Index size = 0;
    for (Index x : entered) {
        Index before = -1, here = x;
        while (here >= 0) {
            require(size < order.size, "paths must not meet");
            order[size++] = here;
            Index ahead = joined[here][joined[here][0] != before ? 0 : 1];
            before = here;
            here = ahead;
        }
    }
}

} // namespace shoal::ISA
