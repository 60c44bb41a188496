// The headers that list entry points; module.cpp includes them once for each instruction set, so they have no guards.
#include "anneal.hpp"
#include "exact_sum.hpp"
#include "groups.hpp"
#include "kd_nearest.hpp"
#include "mdav.hpp"
#include "optimal_cut.hpp"
#include "pricing.hpp"
#include "refine.hpp"
