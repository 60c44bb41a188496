// The length of an edge between two records, of paths and tours.
#pragma once

#include <cmath>

#include "arrays.hpp"

namespace shoal::ISA {

// The distance between two records: four sums side by side, as one addition need not wait for the last.
inline double edge(Table X, Index a, Index b) {
    const double *x = X[a], *y = X[b];
    Index d = X.columns, j = 0;
    double s = 0.0, t = 0.0, u = 0.0, v = 0.0;
    for (; j + 3 < d; j += 4) {
        s += (x[j] - y[j]) * (x[j] - y[j]);
        t += (x[j + 1] - y[j + 1]) * (x[j + 1] - y[j + 1]);
        u += (x[j + 2] - y[j + 2]) * (x[j + 2] - y[j + 2]);
        v += (x[j + 3] - y[j + 3]) * (x[j + 3] - y[j + 3]);
    }
    for (; j < d; j++)
        s += (x[j] - y[j]) * (x[j] - y[j]);
    return std::sqrt((s + t) + (u + v));
}

} // namespace shoal::ISA
