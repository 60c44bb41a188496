// Entry points of anneal.cpp; see shoal.kernels.anneal.
#include "grouping.hpp"

namespace shoal::ISA {

// The next of a sequence of random 64-bit integers (xorshift64*, Vigna 2016); the state is not zero.
std::uint64_t random_bits(Span<std::uint64_t> state);

// Dissolve the group of record i, form one around it, or split it and another again; return the change made.
//
// It is made if the error changes by less than `below`; if not, 0 is returned. The journal is left with the moves.
double ruin(Grouping s, Neighbours near, Index i, Index kind, Journal journal, double below);

// Propose as many changes as there are steps and accept each by the rule of Metropolis; return the error's change.
double anneal(Grouping s, Neighbours near, Floats local, double temperature, Index steps, Span<std::uint64_t> state,
              Watch watch);

// Make the first change around record i that lowers the error; return by how much it changes, 0 if none does.
//
// A gain must stand out from the rounding of what leaving costs and of a squared distance that is `usual` here. The
// journal is left with a record of each group that was changed.
double improve(Grouping s, Neighbours near, Index i, double usual, Journal journal);

// Improve around every record that is awake, and so on; return what the error changes by.
double descend(Grouping s, Neighbours near, Floats local, Span<bool> awake, Watch watch);

} // namespace shoal::ISA
