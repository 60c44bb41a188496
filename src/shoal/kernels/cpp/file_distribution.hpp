// The distribution of a confidential attribute in the whole file, and how far that in a class is from it.
#pragma once

#include "arrays.hpp"

namespace shoal::ISA {

class FileDistribution {
  public:
    // below[v] records of the file have a value up to v.
    explicit FileDistribution(Integers below);

    // The sum over all values of |share of the class up to it - share of the file up to it|.
    //
    // A class is given by the ranks of its records' values among all different ones, sorted. Between two values of a
    // class its share stays the same while that of the file grows, so one search finds where the sign changes, and
    // running sums give both parts: a class costs as much as it has records, not as the file has values.
    double ordered_distance(Integers code) const;

    // The sum over the values that a class has more of than the file of how much more, in shares.
    double unordered_distance(Integers code) const;

    // The earth mover's distance, from 0 to 1.
    double distance(Integers code, bool ordered) const;

  private:
    Integers below;
    Buffer<double> running; // sums of `below`: whole numbers, exact to 2^53
};

} // namespace shoal::ISA
