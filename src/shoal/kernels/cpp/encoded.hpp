// EncodedMatrix: records among which distances are measured, each attribute according to its type; see
// shoal.kernels.encoded.
#pragma once

#include <cmath>

#include "arrays.hpp"

namespace shoal {

// How the average record is computed in a column; all but the last are numbers, of which differences are squared.
enum Kind : Index { MEAN, MEDIAN, CONVEX_MEDIAN, MODE };

struct EncodedMatrix {
    Table values;
    Integers kinds;
    Floats apart;
    Floats steps;
    Integers levels;

    // The place of a level, or the number of a category; attributes without weight have their levels at 0.
    Index level_of(double x, Index j) const {
        return steps[j] > 0.0 ? static_cast<Index>(std::nearbyint(x / steps[j])) : 0;
    }

    void require_sizes() const {
        Index d = values.columns;
        require(kinds.size == d && apart.size == d && steps.size == d && levels.size == d,
                "kinds, apart, steps and levels must have an element for each column of the values");
    }
};

} // namespace shoal
