// How far the distribution of an attribute in a class is from that in the file; see shoal.kernels.t_closeness.
#include "t_closeness.hpp"

#include <algorithm>

#include "file_distribution.hpp"

namespace shoal::ISA {

FileDistribution::FileDistribution(Integers below) : below(below), running(below.size + 1) {
    running[0] = 0.0;
    for (Index v = 0; v < below.size; v++)
        running[v + 1] = running[v] + static_cast<double>(below[v]);
}

double FileDistribution::ordered_distance(Integers code) const {
    Index n = below[below.size - 1], at = 0;
    double total = 0.0;
    for (Index i = 0; i <= code.size; i++) {
        Index until = i < code.size ? code[i] : below.size;
        if (until <= at)
            continue;
        // The values at .. until have i records of the class below them.
        double level = static_cast<double>(i) * static_cast<double>(n) / static_cast<double>(code.size);
        Index middle = std::lower_bound(below.begin() + at, below.begin() + until, level,
                                        [](Index records, double reached) { return static_cast<double>(records) < reached; }) -
                       below.begin();
        total += level * static_cast<double>(middle - at) - (running[middle] - running[at]);
        total += running[until] - running[middle] - level * static_cast<double>(until - middle);
        at = until;
    }
    return total / static_cast<double>(n);
}

double FileDistribution::unordered_distance(Integers code) const {
    double n = static_cast<double>(below[below.size - 1]), size = static_cast<double>(code.size), distance = 0.0;
    Index since = 0;
    for (Index i = 0; i < code.size; i++) {
        Index v = code[i];
        if (i + 1 == code.size || code[i + 1] != v) {
            Index in_file = below[v] - (v > 0 ? below[v - 1] : 0);
            distance += std::max(static_cast<double>(i + 1 - since) / size - static_cast<double>(in_file) / n, 0.0);
            since = i + 1;
        }
    }
    return distance;
}

double FileDistribution::distance(Integers code, bool ordered) const {
    return ordered && below.size > 1 ? ordered_distance(code) / static_cast<double>(below.size - 1)
                                     : unordered_distance(code);
}

namespace {

// Write a distance of each class, whose ranks must be those of values in the file.
template <class Distance>
void of_each_class(Integers start, Integers code, Integers below, Span<double> distances, Distance distance) {
    require(distances.size == start.size - 1, "distances must have an element for each class");
    require(below.size > 0, "the file must have values");
    require_indices(code, 0, below.size, "codes must be ranks of values in the file");
    require_starts(start, code.size, 1, "classes must follow each other, and have records");
    for (Index c = 0; c < distances.size; c++)
        distances[c] = distance(code.from(start[c]).first(start[c + 1] - start[c]));
}

} // namespace

void ordered_distances(Integers start, Integers code, Integers below, Span<double> distances) {
    FileDistribution file(below);
    of_each_class(start, code, below, distances, [&](Integers members) { return file.ordered_distance(members); });
}

void distances_from_file(Integers start, Integers code, Integers below, bool ordered, Span<double> distances) {
    FileDistribution file(below);
    of_each_class(start, code, below, distances, [&](Integers members) { return file.distance(members, ordered); });
}

} // namespace shoal::ISA
