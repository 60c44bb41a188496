// Entry points of optimal_cut.cpp; see shoal.kernels.optimal_cut.
#include "arrays.hpp"

namespace shoal::ISA {

// Write the size of the last group in the best cut of the first i records at place i - 1; any line. O(n k d).
void cut_by_scan(Table line, Index k, Watch watch, Span<Index> sizes);

// As `cut_by_scan`, for one attribute in sorted order: about O(n) for any k, O(n log k) at the very worst.
void cut_sorted(Table line, Index k, Watch watch, Span<Index> sizes);

// Walk back over the last groups, and label the records, in record order, with groups counted along the line.
void number_groups(Integers sizes, Integers order, Span<Index> labels);

// As `cut_by_scan`, for every k of a range at once, from the same group costs: a row of sizes for each. O(n k d).
void cut_for_each(Table line, Integers ks, Integers openings, Watch watch, Matrix<Index> sizes);

// Write the cost of the best cut of a cycle of n records opened at s, for every k (a row each) and s = 0 .. 2k-2.
void closing_costs(Table line, Index n, Integers ks, Watch watch, Matrix<double> closing);

// The SSE of the records j .. end - 1 as the cuts compute it, end - j being k to 2k - 1.
double group_sse(Table line, Index k, Index j, Index end);

} // namespace shoal::ISA
