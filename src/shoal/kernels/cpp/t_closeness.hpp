// Entry points of t_closeness.cpp.
#include "arrays.hpp"

namespace shoal::ISA {

// Write for each class the sum over all values of |share of the class up to it - share of the file up to it|.
void ordered_distances(Integers start, Integers code, Integers below, Span<double> distances);

// Write the earth mover's distance, from 0 to 1, of each class; arguments as for `ordered_distances`.
void distances_from_file(Integers start, Integers code, Integers below, bool ordered, Span<double> distances);

} // namespace shoal::ISA
