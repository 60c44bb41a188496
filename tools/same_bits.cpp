// Prints a hash of what kernels compute on drawn numbers; tools/aarch64.sh compares it between processors.
#include <cstdio>
#include <cstring>
#include <vector>

#include "entries.hpp"

using namespace shoal;
using namespace shoal::ISA;

namespace {

std::uint64_t hash, state = 88172645463325252;

void add(std::uint64_t bits) { hash = (hash ^ bits) * 1099511628211u, hash ^= hash >> 29; }

void add(const std::vector<double> &values) {
    for (double value : values) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        add(value != value ? std::uint64_t{7} : bits); // processors differ in the sign of NaN
    }
}

void add(const std::vector<Index> &values) {
    for (Index value : values)
        add(static_cast<std::uint64_t>(value));
}

// A number from -5 to 5, by xorshift64.
double draw() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53 * 10 - 5;
}

template <class T> Span<T> span(std::vector<T> &values) { return {values.data(), static_cast<Index>(values.size())}; }

void print(const char *name) {
    std::printf("%s: %016llx\n", name, static_cast<unsigned long long>(hash));
    hash = 0;
}

void add_summary(std::vector<double> values, double limit) {
    auto [at_most, at_least, below, above, least, largest] = lane_summary(span(values), limit);
    add(std::vector<Index>{at_most, at_least, below, above});
    add(std::vector<double>{least, largest});
}

void lane_operations_of(Index d, bool missing) {
    std::vector<double> boxes(16 * d), block(8 * (d + 1)), distances(8 * d), point(d), centre(d), weights(d), keys(8);
    std::vector<double> out(8);
    std::vector<Index> kinds(d);
    for (Index j = 0; j < d; j++) {
        point[j] = draw(), centre[j] = draw(), weights[j] = draw() + 5, kinds[j] = j % 4;
        for (Index lane = 16 * j; lane < 16 * j + 8; lane++) {
            boxes[lane] = draw();
            boxes[lane + 8] = boxes[lane] + draw() + 5;
        }
    }
    for (double &value : block)
        value = draw() > 4 ? NOT_A_NUMBER : draw();
    for (int lane = 0; lane < 8; lane++)
        block[lane] = draw() > 4 ? NOT_A_NUMBER : 0.0, keys[lane] = draw() + 5;
    for (double &value : distances)
        value = draw();
    squared_distances(span(distances), span(point), span(out)), add(out);
    nearest_bounds(span(boxes), span(point), span(out)), add(out);
    farthest_bounds(span(boxes), span(keys), span(point), span(centre), draw() + 5, span(out)), add(out);
    add_summary(out, out[3]);
    if (missing)
        point[0] = NOT_A_NUMBER;
    mixed_distances(span(block), span(point), span(kinds), span(weights), span(out)), add(out);
    add_summary(out, 10.0);
}

void groups_of(Index n, Index d, Index k) {
    std::vector<double> values(n * d);
    std::vector<Index> labels(n);
    Index watch[2] = {0, 0};
    for (double &value : values)
        value = k == 7 ? static_cast<int>(draw() * 4) / 4.0 : draw(); // many ties, or none
    Table X{values.data(), n, d};
    mdav_scan(X, k, {watch}, span(labels)), add(labels);
    mdav_tree(X, k, {watch}, span(labels)), add(labels);
    vmdav_tree(X, k, 1.1, {watch}, span(labels)), add(labels);
    cut_by_scan(X, k, {watch}, span(labels)), add(labels);
    add(std::vector<double>{group_sse(X, k, 5, 5 + k)});
}

} // namespace

int main() {
    for (int i = 0; i < 20000; i++)
        lane_operations_of(1 + i % 9, i % 5 == 0);
    print("lane operations");
    for (Index d : {1, 2, 3, 5, 8})
        for (Index k : {2, 3, 7})
            groups_of(1500, d, k);
    print("MDAV by scan and by tree, V-MDAV, optimal cuts");
}
