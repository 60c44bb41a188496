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
    Floats weights; // of the records; none if they count alike

    // The place of a level, or the number of a category; attributes without weight have their levels at 0.
    //
    // Looked at each time, not once at the border: another thread may change the values meanwhile.
    Index level_of(double x, Index j) const {
        double level = steps[j] > 0.0 ? std::nearbyint(x / steps[j]) : 0.0;
        require(level >= 0.0 && level < static_cast<double>(levels[j]), "values must be those of levels");
        return static_cast<Index>(level);
    }

    void require_sizes() const {
        Index d = values.columns;
        require(kinds.size == d && apart.size == d && steps.size == d && levels.size == d,
                "kinds, apart, steps and levels must have an element for each column of the values");
        require_indices(kinds, MEAN, MODE + 1, "kinds must be those of columns");
        require_indices(levels, 0, Index{1} << 31, "the number of levels must not be negative");
        for (double weight : apart)
            require(weight >= 0.0 && weight < INFINITE, "distances must not be negative or infinite");
        require(weights.size == 0 || weights.size == values.rows, "there must be a weight for each record");
        for (double weight : weights)
            require(weight > 0.0 && weight < INFINITE, "weights must be positive");
    }
};

} // namespace shoal
