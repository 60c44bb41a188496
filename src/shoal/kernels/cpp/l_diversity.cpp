// How diverse the values of a confidential attribute are in a class; see shoal.kernels.l_diversity.
#include "l_diversity.hpp"

#include <algorithm>
#include <cmath>

namespace shoal::ISA {

namespace {

Index sum(Integers counts) {
    Index total = 0;
    for (Index count : counts)
        total += count;
    return total;
}

void require_classes(Integers start, Integers code) {
    require_starts(start, code.size, 0, "classes must follow each other within the records");
}

} // namespace

Index count_known(Integers code, Index known, Span<Index> counts) {
    Index different = 0;
    for (Index i = 0; i < code.size && code[i] < known; i++) {
        if (i == 0 || code[i] != code[i - 1])
            counts[different++] = 0;
        counts[different - 1]++;
    }
    std::sort(counts.begin(), counts.begin() + different);
    return different;
}

double diversity_of(Integers counts, Index form, double c) {
    Index m = counts.size;
    if (m == 0 || form == DISTINCT)
        return static_cast<double>(m);
    if (form == ENTROPY) {
        double n = static_cast<double>(sum(counts)), entropy = 0.0;
        for (Index count : counts)
            entropy -= static_cast<double>(count) / n * std::log(static_cast<double>(count) / n);
        return std::exp(entropy);
    }
    Index tail = 0;
    for (Index i = 0; i < m; i++) {
        tail += counts[i];
        if (static_cast<double>(counts[m - 1]) < c * static_cast<double>(tail))
            return static_cast<double>(m - i);
    }
    return 0.0;
}

void diversities(Integers start, Integers code, Index known, Index form, double c, Span<double> found) {
    require_classes(start, code);
    require(found.size == start.size - 1, "found must have an element for each class");
    Buffer<Index> counts(code.size);
    for (Index i = 0; i < found.size; i++) {
        Index different = count_known(code.from(start[i]).first(start[i + 1] - start[i]), known, counts);
        found[i] = diversity_of(counts.first(different), form, c);
    }
}

Index dominated(Integers start, Integers code, Index known, double share) {
    require_classes(start, code);
    Buffer<Index> counts(code.size);
    Index found = 0;
    for (Index i = 0; i < start.size - 1; i++) {
        Index different = count_known(code.from(start[i]).first(start[i + 1] - start[i]), known, counts);
        double all = static_cast<double>(sum(counts.first(different)));
        if (different > 0 && static_cast<double>(counts[different - 1]) > share * all)
            found++;
    }
    return found;
}

} // namespace shoal::ISA
