// The optimal cut of a line of records into groups of k to 2k-1: the dynamic programme of Hansen and Mukherjee.
//
// Nothing here subtracts running sums, so nothing cancels. The line has a *post* at every k-th record, and each start of
// a group has its post: the first that is not before it. A group of k to 2k-1 records has `left` records before the post
// of its start, fewer than k, and `right` from the post on, fewer than 2k. With mean and SSE of the two sides at hand,
//
//     SSE = SSE_left + SSE_right + left right / (left + right) |mean_right - mean_left|^2   (Chan, Golub & LeVeque 1983)
//
// is a sum of terms that are never negative, measured from records beside the post, of which the group has one at least
// (left < k <= left + right). Its relative error is of order k eps at worst, whatever lies elsewhere on the line: an
// offset of 1e9, a gap, 1e7 records; 2e-14 was the most that was seen at k = 100,000. Ends in (b, b + k] have starts in
// (b - 2k, b], which have their posts at b and b - k: two posts are in use at a time, in the two halves of the arrays,
// and the state is O(k d) however long the line.
//
// The cost of the best cut of the first i records, f(i), is kept in double-double: where the line begins with outliers,
// f is large and the differences that decide are not.
#include "optimal_cut.hpp"

#include <algorithm>

namespace shoal::ISA {

namespace {

double number(Index i) { return static_cast<double>(i); }

// A sum in double-double.
struct Cost {
    double high, low;
};

// A cost plus a group's SSE (Knuth's TwoSum, then renormalised).
Cost extended(Cost cost, double sse) {
    double total = cost.high + sse;
    double part = total - cost.high;
    double rest = (cost.high - (total - part)) + (sse - part) + cost.low;
    double high = total + rest;
    return {high, rest - (high - total)};
}

double lead_of(Cost one, Cost other) { return (one.high - other.high) + (one.low - other.low); }

// A start, its post, its row in `before`, and what to add to an end to have the row of the end in `after`.
struct Start {
    Index j, post, row, shift;
};

// The means, and in the last column the SSE, of every number of records on the two sides of two posts.
class Posts {
  public:
    Posts(Table line, Index k)
        : line(line), k(k), d(line.columns), before(2 * k * (d + 1)), after(4 * k * (d + 1)) {}

    // Put the next post at record b.
    //
    // Row `left` of `before` describes the records b - left .. b - 1, row `right` of `after` the records b .. b + right
    // - 1. Welford's update, walking away from the post. The walk back measures from record b - 1, so that the rounding
    // of a gap at the post enters once and not with every step (at k = 100,000 that is a factor of 100); its means are
    // stored, like those of the walk on, as measured from record b.
    void set(Index b) {
        half = 1 - half;
        post = b;
        double *lefts = before.data() + half * k * (d + 1), *rights = after.data() + half * 2 * k * (d + 1);
        Index left_end = std::min(k, b + 1), right_end = std::min(2 * k, line.rows - b + 1);
        std::fill(lefts, lefts + left_end * (d + 1), 0.0);
        std::fill(rights, rights + right_end * (d + 1), 0.0);
        for (Index a = 0; a < d; a++) {
            double mean = 0.0, sse = 0.0;
            for (Index left = 1; left < left_end; left++) {
                double x = line[b - left][a] - line[b - 1][a];
                double deviation = x - mean;
                mean += deviation * (1.0 / number(left));
                sse += deviation * (x - mean);
                lefts[left * (d + 1) + a] = mean + (line[b - 1][a] - line[b][a]);
                lefts[left * (d + 1) + d] += sse;
            }
            mean = 0.0;
            sse = 0.0;
            for (Index right = 1; right < right_end; right++) {
                double x = line[b + right - 1][a] - line[b][a];
                double deviation = x - mean;
                mean += deviation * (1.0 / number(right));
                sse += deviation * (x - mean);
                rights[right * (d + 1) + a] = mean;
                rights[right * (d + 1) + d] += sse;
            }
        }
    }

    // Start j, whose post is the last that was set, or the one before it.
    Start start(Index j) const {
        if (j <= post - k)
            return {j, post - k, (1 - half) * k + (post - k) - j, (1 - half) * 2 * k - (post - k)};
        return {j, post, half * k + post - j, half * 2 * k - post};
    }

    // SSE of the records from a start up to, and without, an end.
    double sse(const Start &from, Index end) const {
        const double *left = before.data() + from.row * (d + 1), *right = after.data() + (from.shift + end) * (d + 1);
        double between = 0.0;
        for (Index a = 0; a < d; a++) {
            double step = right[a] - left[a];
            between += step * step;
        }
        double share = number((from.post - from.j) * (end - from.post)) / number(end - from.j);
        return left[d] + right[d] + between * share;
    }

    // The row of f(i), which is that of f(i - 2k): no later end can use it.
    Index row_of(Index i) const { return (1 - half) * k + post + k - i; }

  private:
    Table line;
    Index k, d, half = 1, post = 0;
    Buffer<double> before, after; // (2k, d + 1), (4k, d + 1)
};

// Set costs[m] to the SSE of the m records before `end`, for every m up to the end of the array.
//
// Welford's update once more, from the end back: one walk has the groups of all sizes, for every k. `mean` is scratch.
void costs_before(Table line, Index end, Span<double> mean, Span<double> costs) {
    Index d = line.columns;
    std::fill(mean.begin(), mean.end(), 0.0);
    double sse = 0.0;
    for (Index m = 1; m <= std::min(costs.size - 1, end); m++) {
        const double *x = line[end - m], *last = line[end - 1];
        double between = 0.0, share = 1.0 / number(m);
        for (Index a = 0; a < d; a++) {
            double deviation = (x[a] - last[a]) - mean[a];
            between += deviation * deviation;
            mean[a] += deviation * share;
        }
        sse += between * (number(m - 1) / number(m));
        costs[m] = sse;
    }
}

void require_sizes(Table line, Index k, Span<Index> sizes) {
    require(sizes.size == line.rows, "sizes must have an element for each row of the line");
    require(1 <= k && k <= std::max(line.rows, Index{1}), "k must be at least 1, and at most the number of records");
}

void require_ks(Integers ks) {
    require(ks.size > 0, "there must be a k");
    require_indices(ks, 1, Index{1} << 24, "ks must be at least 1, and below 2^24");
}

} // namespace

void cut_by_scan(Table line, Index k, Watch watch, Span<Index> sizes) {
    require_sizes(line, k, sizes);
    Index n = line.rows;
    Posts posts(line, k);
    Buffer<Cost> f(2 * k, {INFINITE, INFINITE}); // in the rows of `before`; infinite where there is no cut
    f[0] = {0.0, 0.0};
    std::fill(sizes.begin(), sizes.end(), 0);
    for (Index b = 0; b < n; b += k) {
        posts.set(b);
        for (Index i = std::max(b + 1, k); i <= std::min(b + k, n); i++) {
            watch.done(i);
            if (watch.stopped())
                return;
            // f(i) = min over m in k..2k-1 of f(i - m) + SSE(i - m .. i - 1); the smallest m wins ties.
            double best = INFINITE;
            Index best_row = 0, best_size = 0;
            for (Index m = k; m <= std::min(2 * k - 1, i); m++) {
                Start start = posts.start(i - m);
                double sse = posts.sse(start, i);
                if (lead_of(f[start.row], f[best_row]) + sse < best) {
                    best = sse;
                    best_row = start.row;
                    best_size = m;
                }
            }
            sizes[i - 1] = best_size;
            f[posts.row_of(i)] = extended(f[best_row], best);
        }
    }
}

void cut_sorted(Table line, Index k, Watch watch, Span<Index> sizes) {
    // Sorted, the SSE satisfies the quadrangle inequality: for starts q < j, SSE(q, i) - SSE(j, i) does not fall as i
    // grows. Once j is the better start it remains so, and it outlives q. So the starts that are best for some end form
    // a queue, each with the first end that it serves, and the ends move along the queue and never back.
    require_sizes(line, k, sizes);
    require(line.columns == 1, "the line must have one attribute");
    Index n = line.rows, head = 0, tail = 0, reach = 0;
    Posts posts(line, k);
    Buffer<Cost> f(2 * k, {INFINITE, INFINITE});
    f[0] = {0.0, 0.0};
    Buffer<Index> starts(2 * k), first_ends(2 * k);
    std::fill(sizes.begin(), sizes.end(), 0);
    for (Index b = 0; b < n; b += k) {
        posts.set(b);
        for (Index a = 0; a < tail - head; a++) { // at most k starts are alive: with the k to come they fit
            starts[a] = starts[head + a];
            first_ends[a] = first_ends[head + a];
        }
        tail -= head;
        head = 0;
        for (Index i = std::max(b + 1, k); i <= std::min(b + k, n); i++) {
            watch.done(i);
            if (watch.stopped())
                return;
            while (head < tail && (starts[head] <= i - 2 * k || (head + 1 < tail && first_ends[head + 1] <= i)))
                head++;
            Start start = posts.start(i - k);
            if (f[start.row].high < INFINITE) {
                Index first = i;
                while (head < tail) {
                    Start old = posts.start(starts[tail - 1]);
                    double lead = lead_of(f[start.row], f[old.row]);
                    auto old_is_better = [&](Index end) { return lead + posts.sse(start, end) > posts.sse(old, end); };
                    Index low = std::max(i, first_ends[tail - 1]);
                    if (old_is_better(low)) {
                        // The new one is better at `high`, or the old one has ended there. Between them, gallop from
                        // where the last search ended: most end a few records from there.
                        Index high = std::min(old.j + 2 * k, n + 1);
                        Index probe = std::max(std::min(i + reach, high - 1), low + 1), step = 1;
                        while (high - low > 1) {
                            if (old_is_better(probe)) {
                                low = probe;
                                probe += step;
                            } else {
                                high = probe;
                                probe -= step;
                            }
                            step *= 2;
                            if (!(low < probe && probe < high))
                                probe = (low + high) / 2;
                        }
                        first = high;
                        reach = first - i;
                        break;
                    }
                    tail--;
                }
                if (first <= n) {
                    starts[tail] = start.j;
                    first_ends[tail] = first;
                    tail++;
                }
            }
            require(head < tail, "the line must have numbers");
            Start best = posts.start(starts[head]);
            sizes[i - 1] = i - best.j;
            f[posts.row_of(i)] = extended(f[best.row], posts.sse(best, i));
        }
    }
}

void number_groups(Integers sizes, Integers order, Span<Index> labels) {
    Index n = sizes.size, g = -1;
    require(order.size == n && labels.size == n, "order and labels must have an element for each size");
    require_indices(order, 0, n, "order must be of these records");
    for (Index i = n; i > 0; i -= sizes[i - 1]) {
        require(0 < sizes[i - 1] && sizes[i - 1] <= i, "sizes must lead back to the start of the line");
        g++;
    }
    for (Index i = n; i > 0; i -= sizes[i - 1], g--)
        for (Index t = i - sizes[i - 1]; t < i; t++)
            labels[order[t]] = g;
}

void cut_for_each(Table line, Integers ks, Integers openings, Watch watch, Matrix<Index> sizes) {
    require_ks(ks);
    require(sizes.rows == ks.size && openings.size == ks.size, "there must be an opening and sizes for each k");
    require_indices(openings, 0, line.rows + 1, "openings must lie on the line");
    Index n = sizes.columns, most = 2 * *std::max_element(ks.begin(), ks.end());
    Buffer<double> mean(line.columns), costs(most);
    Buffer<Cost> f(ks.size * most, {INFINITE, INFINITE}); // f(i) is in row i mod 2k; infinite where there is no cut
    for (Index q = 0; q < ks.size; q++)
        f[q * most] = {0.0, 0.0};
    std::fill(sizes.data, sizes.data + sizes.rows * n, 0);
    for (Index end = *std::min_element(ks.begin(), ks.end()); end <= line.rows; end++) {
        watch.done(std::min(end, n));
        if (watch.stopped())
            return;
        costs_before(line, end, mean, costs);
        for (Index q = 0; q < ks.size; q++) {
            Index k = ks[q], i = end - openings[q];
            if (i < k || i > n)
                continue;
            Cost *own = &f[q * most];
            double best = INFINITE;
            Index best_row = 0, best_size = 0, row = (i - k) % (2 * k);
            for (Index m = k; m <= std::min(2 * k - 1, i); m++) {
                if (lead_of(own[row], own[best_row]) + costs[m] < best) {
                    best = costs[m];
                    best_row = row;
                    best_size = m;
                }
                row = row > 0 ? row - 1 : 2 * k - 1;
            }
            sizes[q][i - 1] = best_size;
            own[i % (2 * k)] = extended(own[best_row], best);
        }
    }
}

void closing_costs(Table line, Index n, Integers ks, Watch watch, Matrix<double> closing) {
    require_ks(ks);
    Index most = 2 * *std::max_element(ks.begin(), ks.end());
    require(closing.rows == ks.size && closing.columns == most - 1, "closing must have a row for each k");
    require(0 <= n && n <= line.rows, "the cycle must lie on the line");
    Buffer<double> mean(line.columns), costs(most);
    Buffer<double> f(ks.size * most * (most - 1), INFINITE); // f(i), opened at s, is in row i mod 2k and column s
    std::fill(closing.data, closing.data + closing.rows * closing.columns, INFINITE);
    for (Index end = 0; end <= line.rows; end++) {
        watch.done(std::min(end, n));
        if (watch.stopped())
            return;
        costs_before(line, end, mean, costs);
        for (Index q = 0; q < ks.size; q++) {
            Index k = ks[q], openings = 2 * k - 1;
            double *own = &f[q * most * (most - 1)];
            double *__restrict best = own + end % (2 * k) * (most - 1);
            std::fill(best, best + openings, INFINITE);
            for (Index m = k; m <= std::min(2 * k - 1, end); m++) {
                const double *__restrict before = own + (end - m) % (2 * k) * (most - 1);
                double cost_of_last = costs[m];
                for (Index s = 0; s < openings; s++) {
                    double cost = before[s] + cost_of_last;
                    best[s] = cost < best[s] ? cost : best[s];
                }
            }
            if (n <= end && end < n + openings)
                closing[q][end - n] = best[end - n];
            if (end < openings)
                best[end] = 0.0;
        }
    }
}

double group_sse(Table line, Index k, Index j, Index end) {
    require(0 <= j && j <= end && end <= line.rows && 1 <= k && k <= end - j && end - j < 2 * k,
            "the group must lie on the line, and have k to 2k - 1 records");
    Posts posts(line, k);
    posts.set((j + k - 1) / k * k);
    return posts.sse(posts.start(j), end);
}

} // namespace shoal::ISA
