// What is asked of groups: a diversity of every confidential attribute, a distance from the file of at most t, and
// records of so many units.
//
// Where records have units, a unit counts once for each value that it has in a group: so a rank is that of a value and a
// unit together, and the units themselves are one attribute more, the last.
#pragma once

#include <vector>

#include "file_distribution.hpp"
#include "secrets.hpp"

namespace shoal::ISA {

// The border: attributes of so many records, or none.
void require_attributes(const Attributes &attributes, Index records);

class Demand {
  public:
    // Diversity is not asked for if its l is 0, a distance if t is infinite. A diversity may be `slack` below l.
    Demand(const Attributes &attributes, const LDiversity &wanted, double slack, double t);

    Index attributes() const { return given.codes.rows + (given.unit.size > 0); }

    // The rank of the value of attribute a that record i has.
    Index code(Index a, Index i) const {
        if (given.unit.size == 0)
            return given.codes[a][i];
        return a < given.codes.rows ? given.codes[a][i] * numbers + given.unit[i] : given.unit[i];
    }

    // How far a group is from what is asked: by the values it lacks, then by its distance; -1 if it satisfies.
    double severity(Integers members);

    // Whether a group satisfies what is asked of attribute a; its ranks are given in order.
    bool satisfies(Index a, Integers codes);

  private:
    // How many units are missing in a group; its ranks are in order.
    double units_lacking(Integers codes) const;

    // The ranks of the values, in order, in which each unit counts once; as they are if records have no units.
    Integers values_of(Integers codes);

    // What a group lacks of the diversity of attribute a, and its distance from the file; its ranks are in order.
    double lacking(Index a, Integers codes);
    double distance(Index a, Integers codes) const;

    Attributes given;
    LDiversity wanted;
    double slack, t;
    std::vector<FileDistribution> files;
    Index numbers; // of units
    Buffer<Index> ranks, counts, values; // scratch
};

} // namespace shoal::ISA
