#include "kd_tree.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

constexpr Index NO_RECORD = Index{1} << 62;

void exchange(Matrix<double> rows, Span<Index> record, Index a, Index b) {
    double *x = rows[a], *y = rows[b];
    Index j = 0;
    for (; j + WIDTH <= rows.columns; j += WIDTH) {
        Vector kept = load(x + j);
        store(x + j, load(y + j));
        store(y + j, kept);
    }
    for (; j < rows.columns; j++)
        std::swap(x[j], y[j]);
    std::swap(record[a], record[b]);
}

// Reorder rows low .. high so that by attribute j the first nth are the smallest (Hoare's quickselect).
void select(Matrix<double> rows, Span<Index> record, Index low, Index high, Index nth, Index j) {
    high--;
    while (low < high) {
        double a = rows[low][j], b = rows[(low + high) / 2][j], c = rows[high][j];
        double pivot = std::max(std::min(a, b), std::min(std::max(a, b), c));
        Index up = low, down = high;
        while (up <= down) {
            while (rows[up][j] < pivot)
                up++;
            while (rows[down][j] > pivot)
                down--;
            if (up <= down)
                exchange(rows, record, up++, down--);
        }
        if (nth <= down)
            high = down;
        else if (nth >= up)
            low = up;
        else
            return;
    }
}

// The attribute in which rows start .. stop differ most, and by how much.
std::pair<Index, double> widest(Matrix<double> rows, Index start, Index stop) {
    Index attribute = 0, d = rows.columns, j = 0;
    double width = -1.0;
    auto consider = [&](Index which, double by) {
        if (by > width) {
            attribute = which;
            width = by;
        }
    };
    for (; j + WIDTH <= d; j += WIDTH) {
        Vector least = load(rows[start] + j), most = least;
        for (Index i = start + 1; i < stop; i++) {
            Vector x = load(rows[i] + j);
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        for (int lane = 0; lane < WIDTH; lane++)
            consider(j + lane, most[lane] - least[lane]);
    }
    for (; j < d; j++) {
        double least = rows[start][j], most = least;
        for (Index i = start + 1; i < stop; i++) {
            double x = rows[i][j];
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        consider(j, most - least);
    }
    return {attribute, width};
}

// Fit the box of a node, kept by its parent, to what is left below it; return whether it changed.
bool fit_box(Blocks &store, Index node) {
    double *box = store.box((node - 1) / LANES) + (node - 1) % LANES;
    const double *low_of, *high_of;
    Index step;
    if (node >= store.inner) {
        low_of = high_of = store.block(node - store.inner);
        step = LANES;
    } else {
        low_of = store.box(node);
        high_of = low_of + LANES;
        step = 2 * LANES;
    }
    bool changed = false;
    for (Index j = 0; j < store.d; j++, box += 2 * LANES, low_of += step, high_of += step) {
        double low = smallest(load_lanes(low_of)), high = largest(load_lanes(high_of));
        if (low > high) // nothing is left: a box of NaN is never entered
            low = high = NOT_A_NUMBER;
        if (low != box[0] || high != box[LANES]) {
            box[0] = low;
            box[LANES] = high;
            changed = true;
        }
    }
    return changed;
}

// Fill in the boxes and the lowest record of all nodes.
void fit_boxes(Blocks &store) {
    Index used = store.blocks, first = store.inner;
    while (first > 0) {
        Index above = (first - 1) / LANES, full = (used + LANES - 1) / LANES;
        std::fill(store.box(above), store.box(above + full), NOT_A_NUMBER);
        std::fill(&store.lowest[above * LANES], &store.lowest[(above + full) * LANES], NO_RECORD);
        for (Index at = 0; at < used; at++) {
            fit_box(store, first + at);
            bool leaf = first == store.inner;
            const Index *below = leaf ? &store.record[at * LANES] : &store.lowest[(first + at) * LANES];
            Index lowest = NO_RECORD;
            for (Index lane = 0; lane < LANES; lane++)
                if (below[lane] >= 0)
                    lowest = std::min(lowest, below[lane]);
            store.lowest[above * LANES + at] = lowest;
        }
        used = full;
        first = above;
    }
}

// An index that no record below a node undercuts: with it, ties are settled without entering the node.
//
// Duplicates are packed in the order of their index, so that among many of them a search enters few.
Index lowest_below(const Blocks &store, Index node) { return store.lowest[node - 1]; }

} // namespace

Index push(Search &search, Index size, unsigned mask, Index node, const double *bounds, double sign) {
    Index floor = size;
    while (mask != 0) {
        int lane = next_lane(mask);
        double bound = sign * bounds[lane];
        Index at = size;
        while (at > floor && search.bound[at - 1] <= bound) {
            search.bound[at] = search.bound[at - 1];
            search.node[at] = search.node[at - 1];
            at--;
        }
        search.bound[at] = bound;
        search.node[at] = LANES * node + 1 + lane;
        size++;
    }
    return size;
}

void sort_compactly(Matrix<double> rows, Span<Index> record, Watch watch) {
    Index low[128], high[128];
    low[0] = 0;
    high[0] = rows.rows;
    Index size = 1;
    while (size > 0 && !watch.stopped()) {
        size--;
        Index start = low[size], stop = high[size];
        if (stop - start <= LANES)
            continue;
        auto [attribute, width] = widest(rows, start, stop);
        if (width == 0.0) {
            std::sort(record.data + start, record.data + stop); // duplicates in order of their index: see `lowest_below`
            continue;
        }
        Index run = LANES;
        while (run * LANES < stop - start)
            run *= LANES;
        Index runs = (stop - start + run - 1) / run;
        Index middle = start + runs / 2 * run;
        select(rows, record, start, stop, middle, attribute);
        low[size] = start;
        high[size] = middle;
        low[size + 1] = middle;
        high[size + 1] = stop;
        size += 2;
    }
}

Blocks plant(Rows rows, Index d, Span<Index> place, Watch watch) {
    Matrix<double> values = rows.values.matrix(rows.record.size(), d);
    sort_compactly(values, rows.record, watch);
    Blocks store = pack(values, rows.record, place, true);
    fit_boxes(store);
    return store;
}

void remove(Blocks &store, Index lane) {
    erase(store, lane);
    Index node = store.inner + lane / LANES;
    while (node > 0 && fit_box(store, node))
        node = (node - 1) / LANES;
}

template <class Heap>
void nearest_in_tree(const Blocks &store, Index lane, const double *point, Heap &nearest, Search &search) {
    alignas(64) double distance[LANES];
    double limit = INFINITE;
    nearest.clear();
    Index home = store.inner + lane / LANES;
    search.bound[0] = 0.0;
    search.node[0] = home;
    Index size = 1;
    // A block is measured when the next one is met, so that memory has the time to fetch it: 4 to 15 % of MDAV at ten
    // attributes.
    Index waiting = -1;
    auto measure = [&] {
        if (waiting < 0)
            return;
        Lanes distances = squared_distances(store.block(waiting), point, store.d);
        distances.store(distance);
        unsigned mask = lanes_at_most(distances, limit);
        while (mask != 0) {
            int at = next_lane(mask);
            nearest.offer(distance[at], store.record[waiting * LANES + at]);
            if (nearest.full())
                limit = nearest.near[0];
        }
        waiting = -1;
    };
    while (true) {
        while (size > 0) {
            size--;
            Index node = search.node[size];
            if (search.bound[size] > limit ||
                (search.bound[size] == limit && lowest_below(store, node) > nearest.record[0]))
                continue;
            if (node < store.inner) {
                Lanes bounds = nearest_bounds(store.box(node), point, store.d);
                bounds.store(distance);
                size = push(search, size, lanes_at_most(bounds, limit), node, distance, 1.0);
                continue;
            }
            Index block = node - store.inner;
            for (Index j = 0; j < store.d; j++)
                __builtin_prefetch(store.block(block) + j * LANES);
            measure();
            waiting = block;
        }
        measure();
        if (home == 0)
            return;
        Index above = (home - 1) / LANES;
        Lanes bounds = nearest_bounds(store.box(above), point, store.d);
        bounds.store(distance);
        unsigned mask = lanes_at_most(bounds, limit) & ~(1u << ((home - 1) % LANES));
        size = push(search, 0, mask, above, distance, 1.0);
        home = above;
    }
}

template void nearest_in_tree(const Blocks &, Index, const double *, Nearest &, Search &);
template void nearest_in_tree(const Blocks &, Index, const double *, NearestUnits &, Search &);

Index farthest_in_tree(const Blocks &store, const double *point, const double *centre, double travelled,
                       Search &search) {
    alignas(64) double distance[LANES];
    double best = -1.0, away = travelled * (1.0 + SLACK) + UNDERFLOW_MARGIN;
    Index farthest = -1, size = 1;
    search.bound[0] = -INFINITE;
    search.node[0] = 0;
    while (size > 0) {
        size--;
        Index node = search.node[size];
        double bound = -search.bound[size];
        if (bound < best || (bound == best && lowest_below(store, node) > farthest))
            continue;
        if (node < store.inner) {
            Lanes bounds = farthest_bounds(store.box(node), store.key(node), point, centre, away, store.d);
            bounds.store(distance);
            size = push(search, size, lanes_at_least(bounds, best), node, distance, -1.0);
            continue;
        }
        Index block = node - store.inner;
        Lanes distances = squared_distances(store.block(block), point, store.d);
        distances.store(distance);
        unsigned mask = lanes_at_least(distances, best);
        while (mask != 0) {
            int at = next_lane(mask);
            Index record = store.record[block * LANES + at];
            if (distance[at] > best || (distance[at] == best && record < farthest)) {
                best = distance[at];
                farthest = record;
            }
        }
    }
    return farthest;
}

} // namespace shoal::ISA
