// Entry points of potentials.cpp; see shoal.kernels.potentials.
#include "arrays.hpp"

namespace shoal::ISA {

// Raise the potentials of the records; write the best duals found into `duals`, and return the sum of them.
double raise_potentials(Table X, Index k, Table near, Matrix<const Index> lists, Matrix<const Index> pool,
                        Floats pool_costs, Floats scale, Index steps, double first_step, double last_step, Index limit,
                        Watch watch, Span<double> potentials, Span<double> duals);

} // namespace shoal::ISA
