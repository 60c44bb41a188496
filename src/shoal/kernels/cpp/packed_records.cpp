#include "packed_records.hpp"

#include <cmath>

#include "distance.hpp"

namespace shoal::ISA {

namespace {

// The distance between two points, rounded up.
double step_length(const double *before, const double *after, Index d) {
    return std::sqrt(squared_distance(before, after, d)) * (1.0 + SLACK) + UNDERFLOW_MARGIN;
}

} // namespace

Rows remaining(Table X, Integers labels, Index count) {
    Rows rows{Buffer<double>(count * X.columns), Buffer<Index>(count)};
    Index at = 0;
    for (Index i = 0; i < X.rows; i++) {
        if (labels[i] < 0) {
            std::memcpy(rows.values.data() + at * X.columns, X[i], static_cast<std::size_t>(X.columns) * sizeof(double));
            rows.record[at] = i;
            at++;
        }
    }
    return rows;
}

Blocks pack(Table rows, Integers record, Span<Index> place, bool searched) {
    require(rows.columns >= 1, "records must have at least one column");
    Index d = rows.columns, blocks = (rows.rows + LANES - 1) / LANES;
    Index inner = 1, width = LANES;
    while (width < blocks) {
        inner += width;
        width *= LANES;
    }
    Index boxed = searched ? inner : 0;
    Blocks store{d,
                 blocks,
                 inner,
                 searched,
                 Buffer<double>(blocks * d * LANES),
                 Buffer<Index>(blocks * LANES),
                 Buffer<double>(inner * LANES),
                 Buffer<double>(boxed * d * 2 * LANES),
                 Buffer<Index>(boxed * LANES)};
    for (Index lane = 0; lane < blocks * LANES; lane++) {
        double *values = store.block(lane / LANES) + lane % LANES;
        bool used = lane < rows.rows;
        for (Index j = 0; j < d; j++)
            values[j * LANES] = used ? rows[lane][j] : NOT_A_NUMBER;
        store.record[lane] = used ? record[lane] : -1;
        if (used)
            place[record[lane]] = lane;
    }
    return store;
}

void measure_from(Blocks &store, const double *centre) {
    Index used = store.blocks, first = store.inner;
    while (first > 0) {
        Index above = (first - 1) / LANES, full = (used + LANES - 1) / LANES;
        double *keys = store.key(above);
        for (Index at = 0; at < used; at++)
            keys[at] = first == store.inner ? std::sqrt(largest(squared_distances(store.block(at), centre, store.d)))
                                            : largest(load_lanes(store.key(first + at)));
        for (Index at = used; at < full * LANES; at++)
            keys[at] = -INFINITE;
        used = full;
        first = above;
    }
}

Farthest farthest_from_centre(Blocks &store, const double *centre, double travelled) {
    double best = -1.0, limit = -INFINITE, away = travelled * (1.0 + SLACK) + UNDERFLOW_MARGIN;
    Index chosen = -1, chosen_record = -1, node = 0;
    int level = 0;
    unsigned seen[32] = {0}; // children that were looked at, one a level
    while (true) {
        double *keys = store.key(node);
        int lane = -1;
        double key = -INFINITE;
        for (int at = 0; at < LANES; at++)
            if (keys[at] > key && !((seen[level] >> at) & 1)) {
                lane = at;
                key = keys[at];
            }
        if (lane < 0 || key < limit) {
            if (node == 0)
                return {chosen, best};
            Index above = (node - 1) / LANES;
            store.key(above)[(node - 1) % LANES] = largest(load_lanes(keys));
            node = above;
            level--;
            continue;
        }
        seen[level] |= 1u << lane;
        alignas(64) double distance[LANES];
        if (store.searched && chosen_record >= 0 && store.lowest[node * LANES + lane] > chosen_record) {
            // No tie below can win. Without this test, a search among many duplicates would enter every one of them.
            farthest_bounds(store.box(node), keys, centre, centre, away, store.d).store(distance);
            if (!(distance[lane] > best))
                continue;
        }
        Index child = LANES * node + 1 + lane;
        if (child < store.inner) {
            node = child;
            seen[++level] = 0;
            continue;
        }
        Index block = child - store.inner;
        Lanes distances = squared_distances(store.block(block), centre, store.d);
        double far = largest(distances);
        keys[lane] = far >= 0.0 ? std::sqrt(far) - travelled : far;
        if (far < best)
            continue;
        unsigned mask = lanes_at_least(distances, far);
        while (mask != 0) {
            Index at = block * LANES + next_lane(mask);
            if (far > best || store.record[at] < chosen_record) {
                best = far;
                chosen = at;
                chosen_record = store.record[at];
            }
        }
        double radius = std::sqrt(best);
        limit = radius - travelled - SLACK * (radius + travelled) - UNDERFLOW_MARGIN;
    }
}

void MovingMean::restart(Blocks &store, const double *mean) {
    std::memcpy(centre.data(), mean, static_cast<std::size_t>(store.d) * sizeof(double));
    travelled = 0.0;
    asked = 0;
    measure_from(store, centre.data());
}

Index MovingMean::farthest(Blocks &store, const double *mean) {
    // Rounded up, so that the difference of two readings is never less than the way between them.
    travelled = (travelled + step_length(centre.data(), mean, store.d)) * (1.0 + 4.5e-16);
    std::memcpy(centre.data(), mean, static_cast<std::size_t>(store.d) * sizeof(double));
    Farthest found = farthest_from_centre(store, centre.data(), travelled);
    asked++;
    // Bounds become loose with the way, which is long although the mean goes to and fro: measure afresh when it has come
    // to a twentieth of the largest distance (17 % faster at 1,000,000 x 4), but not all the time.
    if (travelled > 0.05 * std::sqrt(found.squared) && asked * LANES * LANES >= store.blocks)
        restart(store, mean);
    return found.lane;
}

void Nearest::offer(double distance, Index candidate) {
    Index capacity = record.size, at;
    if (size < capacity) {
        at = size++;
        while (at > 0) {
            Index up = (at - 1) / 2;
            if (near[up] > distance || (near[up] == distance && record[up] > candidate))
                break;
            near[at] = near[up];
            record[at] = record[up];
            at = up;
        }
    } else {
        if (distance > near[0] || (distance == near[0] && candidate > record[0]))
            return;
        at = 0;
        while (2 * at + 1 < capacity) {
            Index down = 2 * at + 1, other = down + 1;
            if (other < capacity &&
                (near[other] > near[down] || (near[other] == near[down] && record[other] > record[down])))
                down = other;
            if (distance > near[down] || (distance == near[down] && candidate > record[down]))
                break;
            near[at] = near[down];
            record[at] = record[down];
            at = down;
        }
    }
    near[at] = distance;
    record[at] = candidate;
}

void Nearest::sort() {
    // The farthest goes to the end, the end into the heap.
    for (Index end = size - 1; end > 0; end--) {
        double distance = near[end];
        Index candidate = record[end];
        near[end] = near[0];
        record[end] = record[0];
        Nearest{near.first(end), record.first(end), end}.offer(distance, candidate);
    }
}

void NearestUnits::leave_out_unit_of(Index i) {
    clear();
    if (left_out >= 0)
        place[left_out] = NOT_IN;
    left_out = unit[i];
    place[left_out] = LEFT_OUT;
}

void NearestUnits::clear() {
    for (Index i : record.first(size))
        place[unit[i]] = NOT_IN;
    size = 0;
}

void NearestUnits::offer(double distance, Index candidate) {
    Index at = place[unit[candidate]];
    if (at == LEFT_OUT)
        return;
    if (at >= 0) {
        if (farther(at, distance, candidate))
            sink(at, distance, candidate);
    } else if (!full()) {
        rise(size++, distance, candidate);
    } else if (size > 0 && farther(0, distance, candidate)) {
        place[unit[record[0]]] = NOT_IN;
        sink(0, distance, candidate);
    }
}

void NearestUnits::put(Index at, double distance, Index candidate) {
    near[at] = distance;
    record[at] = candidate;
    place[unit[candidate]] = at;
}

void NearestUnits::rise(Index at, double distance, Index candidate) {
    for (Index up = (at - 1) / 2; at > 0 && !farther(up, distance, candidate); up = (at - 1) / 2) {
        put(at, near[up], record[up]);
        at = up;
    }
    put(at, distance, candidate);
}

void NearestUnits::sink(Index at, double distance, Index candidate) {
    while (2 * at + 1 < size) {
        Index down = 2 * at + 1, other = down + 1;
        if (other < size && farther(other, near[down], record[down]))
            down = other;
        if (!farther(down, distance, candidate))
            break;
        put(at, near[down], record[down]);
        at = down;
    }
    put(at, distance, candidate);
}

} // namespace shoal::ISA
