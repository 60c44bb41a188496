// Medians of levels that are counted, by whole records or by their weights.
#pragma once

#include "arrays.hpp"

namespace shoal::ISA {

// Write the least frequencies above the given ones that rise to a peak and fall: no dips remain. At level i, the smaller
// of the largest frequency up to i and the largest from i on.
//
// J. Domingo-Ferrer and V. Torra, "Median-based aggregation operators for prototype construction in ordinal scales",
// International Journal of Intelligent Systems 18 (2003) 633-655.
template <class Number> void convex(Span<const Number> frequency, Span<Number> hull) {
    Number peak = 0;
    for (Index i = 0; i < frequency.size; i++)
        hull[i] = peak = frequency[i] > peak ? frequency[i] : peak;
    peak = 0;
    for (Index i = frequency.size - 1; i >= 0; i--) {
        peak = frequency[i] > peak ? frequency[i] : peak;
        hull[i] = peak < hull[i] ? peak : hull[i];
    }
}

// The lower median: the first level up to which at least half of all are.
template <class Number> Index median_level(Span<const Number> frequency) {
    Number total = 0, below = 0;
    for (Number f : frequency)
        total += f;
    for (Index level = 0; level < frequency.size; level++) {
        below += frequency[level];
        if (!(2 * below < total))
            return level;
    }
    return 0; // there are no levels
}

} // namespace shoal::ISA
