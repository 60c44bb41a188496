// What every record adds at least to the squared error of any partition, when pairs are shared out at best.
#include "matching_bound.hpp"

#include <algorithm>
#include <cmath>

namespace shoal::ISA {

namespace {

// The pairs of one record, and what it takes of them.
struct Sharing {
    Sharing(Index k, Index pairs) : k(k), least(2 * k - 2), place(2 * k - 2), taken(pairs) {}

    // The least of (1 / 2m) * (the m - 1 smallest costs of i), m = k..2k-1; pairs that are taken get the weight 1 / 2m.
    // The sums of the 0, 1, ..., 2k - 2 smallest costs are written into `sums`.
    double take(Index first, Index last, Floats apart, Floats moved, double reach, double *sums) {
        Index room = 2 * k - 2, count = 0;
        for (Index e = first; e < last; e++) {
            taken[e] = 0.0;
            double cost = apart[e] + moved[e];
            if (cost >= reach || (count == room && cost >= least[room - 1]))
                continue;
            Index at = count < room ? count++ : room - 1;
            for (; at > 0 && least[at - 1] > cost; at--) {
                least[at] = least[at - 1];
                place[at] = place[at - 1];
            }
            least[at] = cost;
            place[at] = e;
        }
        double sum = 0.0, best = INFINITE;
        Index size = k;
        sums[0] = 0.0;
        for (Index m = 2; m <= 2 * k - 1; m++) {
            sum += m - 2 < count ? least[m - 2] : reach; // what is not listed, or farther, costs `reach` at least
            sums[m - 1] = sum;
            double value = sum / (2.0 * static_cast<double>(m));
            if (m >= k && value < best) {
                best = value;
                size = m;
            }
        }
        for (Index at = 0; at < std::min(count, size - 1); at++)
            taken[place[at]] = 1.0 / (2.0 * static_cast<double>(size));
        return best;
    }

    Index k;
    Buffer<double> least; // the smallest costs, in order
    Buffer<Index> place;  // the pairs that they are of
    Buffer<double> taken;
};

} // namespace

Index matching_shares(Index k, Integers start, Integers other, Integers twin, Floats apart, Floats reach, Index steps,
                      double first_step, double last_step, Watch watch, Span<double> shares, Matrix<double> sums) {
    Index n = shares.size, pairs = other.size;
    require(k >= 2 && k <= std::max<Index>(n, 2) && steps >= 1, "k must be 2 to n, and steps at least 1");
    require(start.size == n + 1 && reach.size == n, "start and reach must have an element for each record");
    require(sums.rows == n && sums.columns == 2 * k - 1, "sums must have a row for each record, and 2k - 1 columns");
    require(twin.size == pairs && apart.size == pairs, "twin and apart must have an element for each pair");
    require_starts(start, pairs, 0, "start must list the pairs of each record");
    require_indices(other, 0, n, "pairs must name records");
    require_indices(twin, 0, pairs, "pairs must name their twins");
    Sharing sharing(k, pairs);
    Buffer<double> moved(pairs, 0.0), scale(n), found(n), adding(n * sums.columns);
    double best = -INFINITE, step = first_step;
    double falling = steps > 1 ? std::pow(last_step / first_step, 1.0 / static_cast<double>(steps - 1)) : 1.0;
    Index done = 0;
    for (; done < steps && !watch.stopped(); done++, step *= falling) {
        double total = 0.0;
        for (Index i = 0; i < n; i++) {
            found[i] = sharing.take(start[i], start[i + 1], apart, moved, reach[i], adding.data() + i * sums.columns);
            total += found[i];
        }
        if (done == 0)
            for (Index i = 0; i < n; i++)
                scale[i] = std::sqrt(found[i]);
        if (total > best) {
            best = total;
            std::copy(found.begin(), found.end(), shares.begin());
            std::copy(adding.begin(), adding.end(), sums.data);
        }
        // The subgradient: a pair that only one of its records takes becomes dearer for it, and cheaper for the other.
        for (Index i = 0; i < n; i++)
            for (Index e = start[i]; e < start[i + 1]; e++)
                if (i < other[e]) {
                    double uneven = sharing.taken[e] - sharing.taken[twin[e]];
                    moved[e] += step * scale[i] * scale[other[e]] * uneven;
                    moved[twin[e]] = -moved[e];
                }
        watch.done(done + 1);
    }
    return done;
}

} // namespace shoal::ISA
