// A partition of records with attributes of every type, and what each change does to the loss that it would have.
//
// The loss of a group is the sum of the squared distances, as in `EncodedMatrix`, of its records to what they publish:
// attribute by attribute the mean, the lower median, the convex median or the mode of the values known; nothing where
// fewer than k are known, or more are missing than known. Numbers that no record misses have centroids, as in
// partition.hpp. For the others a group keeps what is known: how many values, and their mean and squares, or their
// levels in order. So a change costs O(k) an attribute, to weigh and to make.
//
// Where records have weights, they count by these in the loss and in what is published; k counts records.
#pragma once

#include <utility>
#include <vector>

#include "demand.hpp"
#include "encoded.hpp"
#include "grouping.hpp"

namespace shoal::ISA {

class MixedPartition {
  public:
    // Groups by the labels, which number them without a gap and are kept up.
    MixedPartition(const EncodedMatrix &space, Index k, Index most, Demand &demand, Span<Index> labels);

    Span<Index> label;
    std::vector<std::vector<Index>> members; // of each group; there is room for more than it has
    Buffer<Index> place, size, free;         // see Grouping

    Index k() const { return least; }
    Index most() const { return largest; }

    // See partition.hpp.
    double joining(Index i, Index b);
    double leaving(Index i);
    double leaving_or_alone(Index i) { return size[label[i]] > 1 ? leaving(i) : 0.0; } // alone, it loses nothing
    double swapping(Index i, Index m);
    std::pair<double, Index> best_swap(Index i, Index b);
    void move(Index i, Index b);
    void swap(Index i, Index m);

    // Whether group g satisfies what is asked of confidential attributes.
    bool allowed(Index g);

    // The squared distance of two records.
    double distance(Index i, Index j) const;

    // Compute all means afresh, so that rounding does not add up.
    void recentre();

    // The loss of group g.
    double loss(Index g);

  private:
    // What is known in a group of a number that some records miss.
    struct Known {
        Index count;
        double mass;          // the sum of the weights
        double mean, squares; // the sum of the squared differences from the mean
        double cost;
    };

    // What is known in a group of an attribute with levels.
    struct Levels {
        Index count;
        Index top, tied;      // how often the mode occurs, and how many levels occur as often
        Index total, squares; // the sums of the places of the levels, and of their squares
        double cost;
    };

    bool published(Index known, Index records, double known_mass, double missing_mass) const;
    double number_cost(Index j, const Known &now, Index records, double mass) const;
    double level_cost(Index j, Index g, Index known, Index records, int x, int y);
    double middle_cost(Index j, Index g, Index known, int x, int y) const;
    double hull_cost(Index j, Index g, Index known, int x, int y);
    double weighted_level_cost(Index j, Index g, Index out, Index in);
    int weighted_median(Index j, Index g, int y, double known_mass);
    double swap_in(Index g, Index out, Index in) const;
    void weigh(Index g);
    Known known_after(Index j, Index g, Index out, Index in) const;
    double change_beside(Index g, Index out, Index in);
    void append(Index g, Index i);
    void take_in(Index g, Index i);
    void let_out(Index g, Index i);
    void settle(Index g);
    int *levels_of(Index g, Index j) const;
    void make_room(Index g, Index records);
    double mass_after(Index g, Index out, Index in) const {
        return mass[g] - (out >= 0 ? weight[out] : 0.0) + (in >= 0 ? weight[in] : 0.0);
    }
    double *centroid(Index g) const { return centroids.data() + g * columns; }
    const double *row(Index i) const { return numbers.data() + i * columns; }

    EncodedMatrix space;
    Index least, largest;
    bool weighted;
    Buffer<double> weight, mass; // of each record, of each group; ones and sizes without weights
    Demand &demand;
    Index columns;                   // numbers that no record misses, and zeros up to a multiple of STRIDE
    Buffer<double> numbers;          // (records, columns)
    Buffer<double> centroids;        // (groups, columns)
    std::vector<Index> gaps, listed; // the attributes that are numbers some records miss, and those that have levels
    Buffer<int> code;                // (records, listed): the place of the level, -1 if it is missing
    std::vector<Known> known;        // (groups, gaps)
    std::vector<Levels> level;       // (groups, listed)
    // Of each group: (listed, capacity), the levels in order, then END; the capacity is a multiple of eight.
    std::vector<std::vector<int>> codes;
    std::vector<std::vector<Index>> ranks; // (groups, confidential attributes): in order
    Buffer<Index> frequency, hull;         // scratch: as many as the most levels
    Buffer<double> masses, raised;         // the same, by weights
};

} // namespace shoal::ISA
