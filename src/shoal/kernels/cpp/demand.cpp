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
    require(attributes.unit.size == 0 || attributes.unit.size == records, "units must be of these records");
    require_indices(attributes.unit, 0, records, "units must be numbered from 0");
    require((count == 0 || attributes.codes.columns == records) && attributes.first.size == count + 1 &&
                attributes.known.size == count && attributes.ordered.size == count,
            "attributes must be of these records");
    require_starts(attributes.first, attributes.below.size, 1, "the values of attributes must follow each other");
    for (Index a = 0; a < count; a++)
        require_indices(Integers(attributes.codes.row(a)), 0, attributes.first[a + 1] - attributes.first[a],
                        "codes must be ranks of values in the file");
}

Demand::Demand(const Attributes &attributes, const LDiversity &wanted, double slack, double t)
    : given(attributes), wanted(wanted), slack(slack), t(t), numbers(0),
      ranks(std::max(given.codes.columns, given.unit.size)), counts(ranks.size()), values(given.unit.size) {
    for (Index u : given.unit)
        numbers = std::max(numbers, u + 1);
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

double Demand::units_lacking(Integers codes) const {
    Index different = 0;
    for (Index i = 0; i < codes.size && different < given.units; i++)
        different += i == 0 || codes[i] != codes[i - 1];
    return static_cast<double>(given.units - different);
}

Integers Demand::values_of(Integers codes) {
    if (given.unit.size == 0)
        return codes;
    Index count = 0;
    for (Index i = 0; i < codes.size; i++)
        if (i == 0 || codes[i] != codes[i - 1])
            values[count++] = codes[i] / numbers;
    return values.first(count);
}

double Demand::severity(Integers members) {
    double most_lacking = 0.0, farthest = 0.0;
    Span<Index> codes = ranks.first(members.size);
    for (Index a = 0; a < attributes(); a++) {
        for (Index i = 0; i < members.size; i++)
            codes[i] = code(a, members[i]);
        std::sort(codes.begin(), codes.end());
        if (a == given.codes.rows) {
            most_lacking = std::max(most_lacking, units_lacking(codes));
            continue;
        }
        Integers own = values_of(codes);
        most_lacking = std::max(most_lacking, lacking(a, own));
        farthest = std::max(farthest, distance(a, own));
    }
    if (most_lacking <= slack && farthest <= t)
        return -1.0;
    return std::nearbyint(most_lacking * 2 / UNIT) + std::nearbyint(farthest / UNIT);
}

bool Demand::satisfies(Index a, Integers codes) {
    if (a == given.codes.rows)
        return units_lacking(codes) <= 0;
    Integers own = values_of(codes);
    return lacking(a, own) <= slack && distance(a, own) <= t;
}

} // namespace shoal::ISA
