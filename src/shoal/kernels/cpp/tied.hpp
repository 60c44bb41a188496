// The published classes that are nearest to a record.
#pragma once

#include <algorithm>

#include "arrays.hpp"

namespace shoal {

// The published classes at the least distance so far.
struct Tied {
    double distance = INFINITE;
    Index lowest = -1; // of these classes
    Index records = 0; // how many they have
    bool mine = false; // whether `own` is one of them

    void offer(double other, Index found, Index own, Index size) {
        if (other < distance)
            *this = {other, found, size, found == own};
        else if (other == distance) {
            lowest = lowest < 0 ? found : std::min(lowest, found);
            records += size;
            mine = mine || found == own;
        }
    }

    double expected() const { return mine ? 1.0 / static_cast<double>(records) : 0.0; }
};

inline void require_links(Table records, Integers labels, Integers size, Integers asked) {
    require(labels.size == records.rows, "labels must have an element for each record");
    require_indices(labels, 0, size.size, "labels must be those of published classes");
    require_indices(asked, 0, records.rows, "the records asked must be among all");
}

} // namespace shoal
