// Entry points of exact_sum.cpp.
#include <utility>

#include "arrays.hpp"

namespace shoal::ISA {

// The lowest 32-bit digit that the doubles with these bits reach, and how many digits their sum needs.
std::pair<Index, Index> digit_range(Integers bits);

// Add (sign = 1) or take away (sign = -1) a record, given as the bits of its values.
void add_record(Matrix<Index> total, Index first, Integers record, Index sign);

// Write the mean of `count` records: the correctly rounded sum, divided by the count.
void mean_of(Matrix<Index> total, Index first, Index count, Span<double> mean);

// Add all records, given as the bits of their values, to the sums, which are zero.
void sum_of(Matrix<const Index> bits, Index first, Matrix<Index> total);

// Add the products of columns, (0, 0), (1, 0), (1, 1), (2, 0), ..., to the sums, which are zero.
void sum_of_products(Table Z, Watch watch, Matrix<Index> total);

} // namespace shoal::ISA
