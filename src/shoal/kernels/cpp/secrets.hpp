// What groups must hold of confidential attributes; see shoal.kernels.diversity and shoal.kernels.l_diversity.
#pragma once

#include "arrays.hpp"

namespace shoal {

// Confidential attributes.
struct Attributes {
    Matrix<const Index> codes; // (attributes, records): the rank of the value among all different ones in the file
    Integers below;            // how many records of the file have a value up to each, one attribute after the other
    Integers first;            // (attributes + 1): where each begins in `below`
    Integers known;            // (attributes): how many values are known; ranks from there on are missing values
    Span<const bool> ordered;  // (attributes)
    Integers unit;             // (records): the unit of each, numbered from 0; empty if k counts records
    Index units;               // that every group has at least; 0 if k counts records
};

// The records in the order of a confidential attribute, cut into parts that have shares in pools of records.
struct Parts {
    Integers pool;     // (records)
    Integers start;    // (parts + 1): where the shares of a part begin
    Integers shares;   // the pool of each share
    Span<Index> left;  // how many records of that pool the part has still to give
    Span<Index> extra; // (parts): how many records more than there are groups it has
};

// The l that every class must reach, its form, and the c of the recursive form.
struct LDiversity {
    double l;
    Index form;
    double c;
};

enum Form : Index { DISTINCT, ENTROPY, RECURSIVE };

} // namespace shoal
