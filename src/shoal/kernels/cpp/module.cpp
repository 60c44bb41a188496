// The border between Python and the kernels: which functions there are, what they take, and which build of them runs.
#include <cstdlib>
#include <string>
#include <vector>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "casters.hpp"

#define ISA base
#include "entries.hpp"
#undef ISA
#ifdef HAS_V3
#define ISA v3
#include "entries.hpp"
#undef ISA
#endif

namespace {

bool wide = false; // whether the build for x86-64-v3 runs

// The instruction sets that kernels were built for and this processor has, the best last.
std::vector<std::string> instruction_sets() {
    std::vector<std::string> names{"base"};
#ifdef HAS_V3
    if (__builtin_cpu_supports("x86-64-v3"))
        names.push_back("x86-64-v3");
#endif
    return names;
}

// Let the kernels of one instruction set run from now on.
void use_instruction_set(const std::string &name) {
    for (const std::string &each : instruction_sets())
        if (each == name) {
            wide = name != "base";
            return;
        }
    throw std::invalid_argument("the kernels have no instruction set " + name + " on this processor");
}

std::string instruction_set() { return wide ? "x86-64-v3" : "base"; }

template <class Given> using Passed = std::conditional_t<std::is_same_v<Given, shoal::Index>, shoal::Whole, Given>;

template <auto base, auto v3> struct Chosen;
template <class Result, class... Given, Result (*base)(Given...), Result (*v3)(Given...)> struct Chosen<base, v3> {
    static Result call(Passed<Given>... given) { return (wide ? v3 : base)(given...); }
};

} // namespace

#ifdef HAS_V3
#define CHOSEN(name) &Chosen<&shoal::base::name, &shoal::v3::name>::call
#else
#define CHOSEN(name) &Chosen<&shoal::base::name, &shoal::base::name>::call
#endif
// The interpreter's lock is released while a kernel runs.
#define KERNEL(name) m.def(#name, CHOSEN(name), nb::call_guard<nb::gil_scoped_release>())

NB_MODULE(_native, m) {
    m.def("instruction_sets", &instruction_sets, "Return the instruction sets of the kernels, the best last.");
    m.def("instruction_set", &instruction_set, "Return the instruction set whose kernels run.");
    m.def("use_instruction_set", &use_instruction_set, "Run the kernels of one instruction set from now on.");
    const char *asked = std::getenv("SHOAL_INSTRUCTION_SET");
    use_instruction_set(asked != nullptr && *asked != 0 ? asked : instruction_sets().back());

    KERNEL(anneal);
    KERNEL(descend);
    KERNEL(improve);
    KERNEL(random_bits);
    KERNEL(ruin);

    KERNEL(assign_to_groups);

    KERNEL(count_below);
    KERNEL(leaves_of);
    KERNEL(number_leaves);
    KERNEL(sum_in_leaves);

    KERNEL(groups_across);
    KERNEL(merge_groups);
    KERNEL(squared_error);

    KERNEL(combine);
    KERNEL(first_and_size);

    KERNEL(add_record);
    KERNEL(digit_range);
    KERNEL(mean_of);
    KERNEL(sum_of);
    KERNEL(sum_of_products);

    KERNEL(convex_medians);
    KERNEL(gathered);
    KERNEL(least_distant);
    KERNEL(means);
    KERNEL(middle);

    KERNEL(hilbert_places);
    KERNEL(kd_groups);

    KERNEL(synthesise);

    KERNEL(fuse_small);
    KERNEL(nearest_points);

    KERNEL(diversities);
    KERNEL(diversity_of);
    KERNEL(dominated);

    KERNEL(farthest_bounds);
    KERNEL(lane_summary);
    KERNEL(mixed_distances);
    KERNEL(nearest_bounds);
    KERNEL(squared_distances);

    KERNEL(count_patterns);
    KERNEL(link_by_weight);
    KERNEL(link_to_nearest);

    KERNEL(link_by_types);
    KERNEL(nearest_by_types);

    KERNEL(matching_shares);

    KERNEL(cbfs_tree);
    KERNEL(mdav_generic);
    KERNEL(mdav_scan);
    KERNEL(mdav_tree);
    KERNEL(mdav_units_generic);
    KERNEL(mdav_units_tree);

    KERNEL(anneal_mixed);
    KERNEL(group_losses);

    KERNEL(averages_as_they_leave);

    KERNEL(nearest_average);

    KERNEL(closing_costs);
    KERNEL(cut_by_scan);
    KERNEL(cut_for_each);
    KERNEL(cut_sorted);
    KERNEL(group_sse);
    KERNEL(number_groups);

    KERNEL(join_ends);
    KERNEL(nearest_next);
    KERNEL(savings);
    KERNEL(unrolled);

    KERNEL(raise_potentials);

    KERNEL(group_costs);
    KERNEL(price);

    KERNEL(best_swap);
    KERNEL(dissolve);
    KERNEL(fill_groups);
    KERNEL(form);
    KERNEL(joining);
    KERNEL(leaving);
    KERNEL(move);
    KERNEL(recentre);
    KERNEL(regroup);
    KERNEL(resplit);
    KERNEL(swap);
    KERNEL(swapping);
    KERNEL(take_back);

    KERNEL(suda2);

    KERNEL(distances_from_file);
    KERNEL(ordered_distances);

    KERNEL(exchange);
    KERNEL(kick);
    KERNEL(shorten);
    KERNEL(shortened);
    KERNEL(turn_round);
    KERNEL(undo);

    KERNEL(vmdav_tree);

    KERNEL(matching_sums);
}
