#include "groups.hpp"

#include <algorithm>
#include <cmath>

#include "medians.hpp"

namespace shoal::ISA {

namespace {

// The squared distance of two records as in `EncodedMatrix`; columns are of numbers or of categories.
double distance(const double *a, const double *b, Span<const bool> numbers, Floats weights) {
    double total = 0.0;
    for (Index j = 0; j < numbers.size; j++) {
        double difference = a[j] - b[j];
        if (std::isnan(difference)) {
            if (std::isnan(a[j]) != std::isnan(b[j]))
                total += weights[j];
        } else if (numbers[j])
            total += difference * difference;
        else if (difference != 0.0)
            total += weights[j];
    }
    return total;
}

void require_groups(Integers starts, Index members, Index groups) {
    require(starts.size == groups + 1, "there must be a start for each group, and an end");
    require_starts(starts, members, 1, "groups must follow each other, and have members");
}

} // namespace

void gathered(Floats x, Floats weights, Integers group, Integers starts, Span<double> values, Span<double> counts) {
    require(weights.size == x.size && group.size == x.size && values.size == x.size && counts.size == x.size,
            "all arrays must have an element for each member");
    require_starts(starts, x.size, 0, "groups must follow each other");
    require_indices(group, 0, starts.size - 1, "members must be those of groups");
    Buffer<Index> place(starts.size);
    std::copy(starts.begin(), starts.end(), place.begin());
    for (Index i = 0; i < x.size; i++) {
        Index first = starts[group[i]], j = place[group[i]]++;
        require(j < starts[group[i] + 1], "a group must have room for its members");
        while (j > first && (values[j - 1] > x[i] || (values[j - 1] == x[i] && counts[j - 1] > weights[i]))) {
            values[j] = values[j - 1];
            counts[j] = counts[j - 1];
            j--;
        }
        values[j] = x[i];
        counts[j] = weights[i];
    }
}

void means(Floats values, Floats weights, Integers first, Integers last, Span<double> result) {
    require(first.size == result.size && last.size == result.size, "there must be a first and a last for each group");
    require(weights.size == values.size, "weights must have an element for each value");
    require_indices(first, 0, values.size + 1, "groups must lie among the values");
    require_indices(last, 0, values.size + 1, "groups must lie among the values");
    for (Index g = 0; g < result.size; g++) {
        // Weights of one change no bit of the plain mean.
        double total = 0.0, lost = 0.0, weight = 0.0;
        for (Index i = first[g]; i < last[g]; i++) {
            double term = weights[i] * values[i], sum = total + term;
            lost += std::fabs(total) >= std::fabs(term) ? (total - sum) + term : (term - sum) + total;
            total = sum;
            weight += weights[i];
        }
        double mean = (total + lost) / weight;
        if (!std::isfinite(mean)) { // the sum overflowed, the mean does not
            mean = 0.0;
            for (Index i = first[g]; i < last[g]; i++)
                mean += (weights[i] / weight) * values[i];
        }
        result[g] = mean;
    }
}

void middle(Floats weights, Integers starts, Span<Index> lower, Span<Index> upper) {
    require_groups(starts, weights.size, lower.size);
    require(upper.size == lower.size, "there must be an upper median for each group");
    for (Index g = 0; g < lower.size; g++) {
        double total = 0.0;
        for (Index i = starts[g]; i < starts[g + 1]; i++)
            total += weights[i];
        Index place = starts[g];
        double running = weights[place];
        while (running < total / 2 && place + 1 < starts[g + 1])
            running += weights[++place];
        lower[g] = place;
        upper[g] = running == total / 2 ? place + 1 : place;
    }
}

void convex_medians(Integers places, Floats weights, Integers starts, Span<Index> result) {
    require_groups(starts, places.size, result.size);
    require(weights.size == places.size, "weights must have an element for each place");
    require_indices(places, 0, Index{1} << 31, "places must be those of levels");
    for (Index g = 0; g < result.size; g++) {
        Index low = places[starts[g]], levels = places[starts[g + 1] - 1] - low + 1;
        Integers own = places.from(starts[g]).first(starts[g + 1] - starts[g]);
        require_indices(own, low, low + levels, "the places of a group must be in order");
        Buffer<double> frequency(levels, 0.0), hull(levels);
        for (Index i = starts[g]; i < starts[g + 1]; i++)
            frequency[places[i] - low] += weights[i];
        convex<double>(frequency, hull);
        result[g] = low + median_level<double>(hull);
    }
}

void least_distant(Table values, Span<const bool> numbers, Floats column_weights, Floats weights, Integers starts,
                   Span<Index> result) {
    require_groups(starts, values.rows, result.size);
    require(numbers.size == values.columns && column_weights.size == values.columns && weights.size == values.rows,
            "there must be a weight for each row and each column of values");
    for (Index g = 0; g < result.size; g++) {
        // Every pair is measured once, and each member's sum runs over the others in their order.
        Index first = starts[g], last = starts[g + 1];
        Buffer<double> sums(last - first, 0.0);
        for (Index a = first; a < last; a++)
            for (Index b = a + 1; b < last; b++) {
                double apart = distance(values[a], values[b], numbers, column_weights);
                sums[a - first] += weights[b] * apart;
                sums[b - first] += weights[a] * apart;
            }
        result[g] = first + (std::min_element(sums.begin(), sums.end()) - sums.begin());
    }
}

} // namespace shoal::ISA
