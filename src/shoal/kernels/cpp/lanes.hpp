// Eight float64 at a time: the few vector operations that blocks and trees are made of.
//
// Compilers vectorise loops over eight lanes only in part, so these are written in vectors as wide as the processor has
// them. Nothing is reordered: every lane sees the additions of the plain loop in the same order, and so the same
// rounding.
//
// An operand is a pointer to the first of eight neighbours in memory. A lane that is NaN is dead: it compares false with
// everything, and so drops out of every mask by itself. For attributes of several types, where values may be missing
// (`mixed_distances`), NaN is a missing value; a row of its own, before those of the attributes, marks dead lanes: 0, or
// NaN if dead.
#pragma once

#include <cstring>

#include "encoded.hpp"

namespace shoal::ISA {

constexpr Index LANES = 8;
constexpr double ROUNDING = 1e-11; // relative; a sum over a hundred attributes is off by less than 1e-13

#ifdef __AVX__
constexpr int WIDTH = 4;
#else
constexpr int WIDTH = 2;
#endif
constexpr int PARTS = 8 / WIDTH;

typedef double Vector __attribute__((vector_size(WIDTH * sizeof(double))));
typedef Index Comparison __attribute__((vector_size(WIDTH * sizeof(Index))));

inline Vector load(const double *from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}

inline void store(double *to, Vector vector) { std::memcpy(to, &vector, sizeof vector); }

inline Vector splat(double value) { return value - Vector{}; }

inline int bits_of(Comparison chosen) {
#if defined(__AVX__)
    return __builtin_ia32_movmskpd256(reinterpret_cast<Vector>(chosen));
#elif defined(__SSE2__)
    return __builtin_ia32_movmskpd(reinterpret_cast<Vector>(chosen));
#else
    return static_cast<int>(chosen[0] & 1) | static_cast<int>(chosen[1] & 2);
#endif
}

// Eight numbers in as many vectors as it takes.
struct Lanes {
    Vector part[PARTS];

    // Part by part: copied as a whole, by pieces of another width, eight numbers would take their way through memory.
    void store(double *to) const {
        for (int p = 0; p < PARTS; p++)
            std::memcpy(to + p * WIDTH, &part[p], sizeof part[p]);
    }
};

inline Lanes load_lanes(const double *from) {
    Lanes lanes;
    for (int p = 0; p < PARTS; p++)
        lanes.part[p] = load(from + p * WIDTH);
    return lanes;
}

// Eight results, part by part.
template <class Operation> inline Lanes each_part(Operation operation) {
    Lanes lanes;
    for (int p = 0; p < PARTS; p++)
        lanes.part[p] = operation(p);
    return lanes;
}

// The squared distances from a point to the eight records of a block.
inline Lanes squared_distances(const double *block, const double *point, Index d) {
    Lanes total{};
    for (Index j = 0; j < d; j++, block += LANES) {
        Vector q = splat(point[j]);
        for (int p = 0; p < PARTS; p++) {
            Vector step = load(block + p * WIDTH) - q;
            total.part[p] += step * step;
        }
    }
    return total;
}

// Lower bounds of the squared distances from a point to what lies in eight boxes.
//
// Subtraction, squaring and addition round monotonically, and a bound does them in the order of the distance itself: for
// a record x in the box, each step is at most the same step with x. So no bound exceeds the *rounded* distance.
inline Lanes nearest_bounds(const double *boxes, const double *point, Index d) {
    Lanes total{};
    for (Index j = 0; j < d; j++, boxes += 2 * LANES) {
        Vector q = splat(point[j]);
        for (int p = 0; p < PARTS; p++) {
            Vector below = load(boxes + p * WIDTH) - q;
            Vector above = q - load(boxes + LANES + p * WIDTH);
            Vector outside = below > above ? below : above;
            Vector gap = outside < 0.0 ? Vector{} : outside; // NaN where the box is
            total.part[p] += gap * gap;
        }
    }
    return total;
}

// Upper bounds of the squared distances from a point q to what lies in the eight boxes of a node.
//
// The smaller of two. To the far corner of the box: safe for the reason given in `nearest_bounds`. And, knowing that all
// records x of the box are within r = key + away of a centre c,
//
//     |x - q|^2 = |x - c|^2 + |c - q|^2 + 2 (x - c).(c - q) <= r^2 + |c - q|^2 + 2 max over the box of (x - c).(c - q)
//
// so that a corner which sticks out of the ball around c, as most do when attributes are many, no longer counts. This
// bound is rounded up by far more than its error, all of which is relative to r^2 + |c - q|^2 + the first bound.
inline Lanes farthest_bounds(const double *boxes, const double *keys, const double *point, const double *centre,
                             double away, Index d) {
    Lanes corner{}, slope{};
    double apart = 0.0;
    for (Index j = 0; j < d; j++, boxes += 2 * LANES) {
        double g = centre[j] - point[j];
        const double *side = g > 0.0 ? boxes + LANES : boxes;
        Vector q = splat(point[j]), c = splat(centre[j]), slant = splat(g);
        for (int p = 0; p < PARTS; p++) {
            Vector below = q - load(boxes + p * WIDTH);
            Vector above = load(boxes + LANES + p * WIDTH) - q;
            Vector reach = below > above ? below : above;
            corner.part[p] += reach * reach;
            slope.part[p] += slant * (load(side + p * WIDTH) - c);
        }
        apart += g * g;
    }
    return each_part([&](int p) {
        Vector r = load(keys + p * WIDTH) + away;
        Vector ball = r * r + apart;
        ball = (ball + ROUNDING * (ball + corner.part[p])) + (slope.part[p] + slope.part[p]);
        return ball < corner.part[p] ? ball : corner.part[p];
    });
}

// The squared distance of two records as in `EncodedMatrix`.
inline double mixed_distance(const double *x, const double *y, const Index *kinds, const double *weights, Index d) {
    double total = 0.0;
    for (Index j = 0; j < d; j++) {
        if (x[j] != x[j] || y[j] != y[j])
            total += x[j] != x[j] && y[j] != y[j] ? 0.0 : weights[j];
        else if (kinds[j] == MODE)
            total += x[j] == y[j] ? 0.0 : weights[j];
        else
            total += (x[j] - y[j]) * (x[j] - y[j]);
    }
    return total;
}

// The squared distances, as in `EncodedMatrix`, from a point to the eight records of a block.
//
// What a column is, and whether the point misses its value, is the same for all blocks: the branches cost little.
inline Lanes mixed_distances(const double *block, const double *point, const Index *kinds, const double *weights,
                             Index d) {
    Lanes total = load_lanes(block); // 0, or NaN for ever if the lane is dead
    for (Index j = 0; j < d; j++) {
        block += LANES;
        Vector q = splat(point[j]), weight = splat(weights[j]), zero{};
        if (point[j] != point[j]) {
            for (int p = 0; p < PARTS; p++) {
                Vector values = load(block + p * WIDTH);
                total.part[p] += values == values ? weight : zero;
            }
        } else if (kinds[j] == MODE) {
            for (int p = 0; p < PARTS; p++)
                total.part[p] += load(block + p * WIDTH) != q ? weight : zero;
        } else {
            for (int p = 0; p < PARTS; p++) {
                Vector values = load(block + p * WIDTH), step = values - q;
                total.part[p] += values == values ? step * step : weight;
            }
        }
    }
    return total;
}

// The lanes, as bits of an integer, whose value is at most, at least, below or above the limit.
#define LANES_THAT(name, comparison)                                                                                   \
    inline unsigned name(const Lanes &values, double limit) {                                                          \
        unsigned mask = 0;                                                                                             \
        for (int p = 0; p < PARTS; p++)                                                                                \
            mask |= static_cast<unsigned>(bits_of(values.part[p] comparison splat(limit))) << (p * WIDTH);             \
        return mask;                                                                                                   \
    }
LANES_THAT(lanes_at_most, <=)
LANES_THAT(lanes_at_least, >=)
LANES_THAT(lanes_below, <)
LANES_THAT(lanes_above, >)
#undef LANES_THAT

// The number of the lowest bit that is set, which is cleared; the mask must not be zero.
inline int next_lane(unsigned &mask) {
    int lane = __builtin_ctz(mask);
    mask &= mask - 1;
    return lane;
}

// The least or largest of eight, `better` of two vectors, halving three times; dead lanes count as `none`.
template <class Better> inline double extreme(Lanes values, double none, Better better) {
    for (int p = 0; p < PARTS; p++)
        values.part[p] = values.part[p] == values.part[p] ? values.part[p] : splat(none);
    for (int half = PARTS / 2; half > 0; half /= 2)
        for (int p = 0; p < half; p++)
            values.part[p] = better(values.part[p], values.part[p + half]);
    double lane[WIDTH];
    std::memcpy(lane, values.part, sizeof lane);
    for (int half = WIDTH / 2; half > 0; half /= 2)
        for (int p = 0; p < half; p++)
            lane[p] = better(lane[p], lane[p + half]);
    return lane[0];
}

// The least of eight values; infinity if all are dead.
inline double smallest(const Lanes &values) {
    return extreme(values, INFINITE, [](auto a, auto b) { return a < b ? a : b; });
}

// The largest of eight values; minus infinity if all are dead.
inline double largest(const Lanes &values) {
    return extreme(values, -INFINITE, [](auto a, auto b) { return a > b ? a : b; });
}

} // namespace shoal::ISA
