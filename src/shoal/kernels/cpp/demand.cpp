#include "demand.hpp"

#include <algorithm>
#include <cmath>

#include "l_diversity.hpp"

namespace shoal::ISA {

namespace {

// Groups as far from what is asked are ties, whatever rounding says: distances are compared in units of this size.
constexpr double UNIT = 1e-12;

} // namespace

void require_attributes(const Attributes &attributes, Index records) {
    Index count = attributes.codes.rows;
    require((count == 0 || attributes.codes.columns == records) && attributes.first.size == count + 1 &&
                attributes.known.size == count && attributes.ordered.size == count,
            "attributes must be of these records");
    require_starts(attributes.first, attributes.below.size, 1, "the values of attributes must follow each other");
    for (Index a = 0; a < count; a++)
        require_indices(Integers(attributes.codes.row(a)), 0, attributes.first[a + 1] - attributes.first[a],
                        "codes must be ranks of values in the file");
}

Demand::Demand(const Attributes &attributes, const LDiversity &wanted, double slack, double t)
    : given(attributes), wanted(wanted), slack(slack), t(t), ranks(given.codes.columns), counts(given.codes.columns) {
    for (Index a = 0; a < given.codes.rows; a++)
        files.emplace_back(given.below.from(given.first[a]).first(given.first[a + 1] - given.first[a]));
}

double Demand::lacking(Index a, Integers codes) {
    if (!(wanted.l > 0))
        return 0.0;
    Index different = count_known(codes, given.known[a], counts);
    return wanted.l - diversity_of(counts.first(different), wanted.form, wanted.c);
}

double Demand::distance(Index a, Integers codes) const {
    return t < INFINITE ? files[static_cast<std::size_t>(a)].distance(codes, given.ordered[a]) : 0.0;
}

double Demand::severity(Integers members) {
    double most_lacking = 0.0, farthest = 0.0;
    Span<Index> codes = ranks.first(members.size);
    for (Index a = 0; a < attributes(); a++) {
        for (Index i = 0; i < members.size; i++)
            codes[i] = code(a, members[i]);
        std::sort(codes.begin(), codes.end());
        most_lacking = std::max(most_lacking, lacking(a, codes));
        farthest = std::max(farthest, distance(a, codes));
    }
    if (most_lacking <= slack && farthest <= t)
        return -1.0;
    return std::nearbyint(most_lacking * 2 / UNIT) + std::nearbyint(farthest / UNIT);
}

bool Demand::satisfies(Index a, Integers codes) { return lacking(a, codes) <= slack && distance(a, codes) <= t; }

} // namespace shoal::ISA
