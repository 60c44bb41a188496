// Entry points of tour.cpp; see shoal.kernels.tour.
#include <utility>

#include "cycle.hpp"

namespace shoal::ISA {

// Reverse a stretch of the tour.
void turn_round(Tour tour, Index start, Index length);

// Take back all turns that are remembered: each is its own inverse.
void undo(Tour tour);

// Exchange two stretches, of `first` and `second` records, that lie one after the other.
void exchange(Tour tour, Index start, Index first, Index second);

// Look at one record of the queue, and make the best move that gives it a nearer neighbour; return the gain. Moves of
// more than `reach` records are not made.
double shorten(Table X, Matrix<const Index> near, Tour tour, Queue queue, Index reach);

// Exchange two stretches and look at the records at their ends; return the gain and the length of the new edges.
std::pair<double, double> kick(Table X, Tour tour, Queue queue, Index start, Index first, Index second);

// Shorten a tour until no 2-opt or Or-opt move that joins near neighbours does; then by so many kicks.
void shortened(Table X, Matrix<const Index> near, Index reach, Index kicks, Watch watch, Span<Index> order);

} // namespace shoal::ISA
