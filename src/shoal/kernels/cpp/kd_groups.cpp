// The leaves of a k-d tree as groups: the partition that takes least time.
#include "kd_groups.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shoal::ISA {

namespace {

// The attribute in which some records lie farthest apart.
Index widest(Table X, const Index *records, Index count) {
    Index best = 0;
    double most = -1.0;
    for (Index j = 0; j < X.columns; j++) {
        double low = INFINITE, high = -INFINITE;
        for (Index at = 0; at < count; at++) {
            low = std::min(low, X[records[at]][j]);
            high = std::max(high, X[records[at]][j]);
        }
        if (high - low > most) {
            most = high - low;
            best = j;
        }
    }
    return best;
}

} // namespace

void kd_groups(Table X, Index k, Watch watch, Span<Index> labels) {
    require(labels.size == X.rows && X.columns > 0, "there must be a label for each row of X, and a column");
    require(2 <= k && k <= X.rows, "k must be at least 2, and at most the number of records");
    for (Index i = 0; i < X.rows; i++)
        for (Index j = 0; j < X.columns; j++)
            require(X[i][j] == X[i][j], "values must be numbers");
    struct Range {
        Index first, last;
    };
    Buffer<Index> order(X.rows);
    std::iota(order.begin(), order.end(), Index{0});
    std::vector<Range> waiting{{0, X.rows}};
    Index groups = 0, done = 0;
    while (!waiting.empty() && !watch.stopped()) {
        auto [first, last] = waiting.back();
        waiting.pop_back();
        Index count = last - first;
        if (count < 2 * k) {
            for (Index at = first; at < last; at++)
                labels[order[at]] = groups;
            groups++;
            watch.done(done += count);
            continue;
        }
        Index axis = widest(X, order.data() + first, count);
        Index middle = first + count / k / 2 * k + count % k / 2; // both sides have k records for each of their groups
        std::nth_element(order.begin() + first, order.begin() + middle, order.begin() + last, [&](Index a, Index b) {
            return X[a][axis] < X[b][axis] || (X[a][axis] == X[b][axis] && a < b);
        });
        waiting.push_back({middle, last});
        waiting.push_back({first, middle});
    }
}

} // namespace shoal::ISA
