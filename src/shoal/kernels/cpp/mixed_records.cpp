#include "mixed_records.hpp"

#include <algorithm>

namespace shoal::ISA {

void MixedRecords::put(Index lane, const double *record) const {
    double *to = block(lane / LANES) + lane % LANES;
    *to = 0.0;
    for (Index j = 0; j < space.values.columns; j++)
        to[(1 + j) * LANES] = record[j];
}

void MixedRecords::pack(Table rows, Integers labels, Index count, Span<Index> place) {
    blocks = (count + LANES - 1) / LANES;
    values = Buffer<double>(blocks * (1 + rows.columns) * LANES);
    record = Buffer<Index>(count);
    if (blocks > 0) // lanes that stay empty are in the last block
        std::fill(block(blocks - 1), block(blocks), NOT_A_NUMBER);
    Index lane = 0;
    for (Index i = 0; i < rows.rows; i++) {
        if (labels[i] < 0) {
            put(lane, rows[i]);
            record[lane] = i;
            place[i] = lane;
            lane++;
        }
    }
}

template <class Heap> Index MixedRecords::scan(const double *point, Heap &nearest) const {
    alignas(64) double distance[LANES];
    double limit = nearest.record.size == 0 ? -1.0 : INFINITE, best = -1.0;
    Index farthest = -1;
    nearest.clear();
    for (Index b = 0; b < blocks; b++) {
        Lanes found = distances(b, point);
        unsigned near = lanes_below(found, limit), far = lanes_above(found, best);
        if ((near | far) == 0)
            continue;
        found.store(distance);
        const Index *records = &record[b * LANES];
        while (near != 0) {
            int lane = next_lane(near);
            nearest.offer(distance[lane], records[lane]);
            if (nearest.full())
                limit = nearest.near[0];
        }
        while (far != 0) {
            int lane = next_lane(far);
            if (distance[lane] > best) {
                best = distance[lane];
                farthest = records[lane];
            }
        }
    }
    return farthest;
}

template Index MixedRecords::scan(const double *, Nearest &) const;
template Index MixedRecords::scan(const double *, NearestUnits &) const;

Index MixedRecords::farthest(const double *point) const {
    Nearest none{{nullptr, 0}, {nullptr, 0}};
    return scan(point, none);
}

} // namespace shoal::ISA
