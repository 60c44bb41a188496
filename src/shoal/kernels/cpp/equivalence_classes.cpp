// Records that are published alike: labels of classes, numbered in the order of their first record.
#include "equivalence_classes.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

constexpr std::uint64_t GOLDEN = 0x9E3779B97F4A7C15; // 2^64 / golden ratio: a multiplication spreads neighbouring keys

} // namespace

Index combine(Integers a, Integers b, Span<Index> labels) {
    Index n = a.size, width = 1, count = 0;
    require(b.size == n && labels.size == n, "a, b and labels must have an element for each record");
    require_indices(a, 0, Index{1} << 31, "a and b must be labels");
    require_indices(b, 0, Index{1} << 31, "a and b must be labels");
    for (Index code : b)
        width = std::max(width, code + 1);
    int bits = 1;
    while (Index{1} << bits < 2 * n)
        bits++;
    Index last = (Index{1} << bits) - 1;
    Buffer<Index> keys(last + 1, -1), label_of(last + 1);
    for (Index i = 0; i < n; i++) {
        Index key = a[i] * width + b[i]; // below n^2: exact for any file that fits in memory
        Index at = static_cast<Index>((static_cast<std::uint64_t>(key) * GOLDEN) >> (64 - bits));
        while (keys[at] != key && keys[at] >= 0)
            at = (at + 1) & last;
        if (keys[at] < 0) {
            keys[at] = key;
            label_of[at] = count++;
        }
        labels[i] = label_of[at];
    }
    return count;
}

void first_and_size(Integers labels, Span<Index> first, Span<Index> size) {
    require(first.size == size.size, "there must be a first record and a size for each class");
    std::fill(size.begin(), size.end(), 0);
    for (Index i = 0; i < labels.size; i++) {
        Index label = labels[i];
        require(0 <= label && label < size.size, "labels must be below the number of classes");
        if (size[label]++ == 0)
            first[label] = i;
    }
}

} // namespace shoal::ISA
