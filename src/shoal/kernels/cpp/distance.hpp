// The squared distance of two points, for loops that take one pair at a time; lanes.hpp takes eight.
#pragma once

#include "arrays.hpp"

namespace shoal::ISA {

inline double squared_distance(const double *a, const double *b, Index d) {
    double total = 0.0;
    for (Index j = 0; j < d; j++)
        total += (a[j] - b[j]) * (a[j] - b[j]);
    return total;
}

// Between two records.
inline double squared_distance(Table X, Index a, Index b) { return squared_distance(X[a], X[b], X.columns); }

} // namespace shoal::ISA
