// The average of the remaining records, attribute by attribute according to its type, kept up as records leave.
//
// Sums are exact, and frequencies are counted, so that the average is always the one that a fresh start would give.
#pragma once

#include <utility>

#include "encoded.hpp"

namespace shoal::ISA {

class Tally {
  public:
    // Counts all records.
    explicit Tally(const EncodedMatrix &space);

    // Add (sign = 1) a record to the average, or take it out (sign = -1).
    void count(Index i, Index sign);

    // Write the average of the `count` records counted; missing where more of them miss the value than have it.
    void average(Index count, Span<double> record);

  private:
    void settle(Index j, Index node);

    EncodedMatrix space;
    std::pair<Index, Index> range; // the lowest digit of the sums, and how many digits they have
    Buffer<Index> present;         // (attributes): how many remaining records have a value
    Buffer<Index> total;           // (attributes, digits): the exact sums where the average is a mean, see exact_sum.hpp
    Buffer<Index> starts;          // (attributes + 1): where the levels of an attribute begin in `frequency`
    Buffer<Index> frequency;       // how many remaining records have each level or category
    Buffer<Index> winner;          // a tournament a nominal attribute, from 2 * starts[j] on, see `settle`
    Buffer<Index> hull;            // scratch: as many as the most levels
    bool playing = false;          // whether the tournaments follow the counts
};

} // namespace shoal::ISA
