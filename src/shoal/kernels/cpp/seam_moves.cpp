// Records that change their group: swaps, moves and dissolved groups; see shoal.kernels.seam_moves.
#include "seam_moves.hpp"

#include <algorithm>

#include "distance.hpp"

namespace shoal::ISA {

namespace {

constexpr double WORTHWHILE = 1e-9; // of the squared distances involved: less may be rounding

struct Groups {
    Table X;
    Matrix<Index> members;
    Span<Index> size;
    Matrix<double> centroids;

    double count(Index g) const { return static_cast<double>(size[g]); }

    void require_sizes(Integers chosen, Matrix<const Index> near) const {
        require(members.rows == size.size && centroids.rows == size.size && centroids.columns == X.columns,
                "members, size and centroids must have a row for each group");
        require_indices(Integers(size), 0, members.columns + 1, "a group must have room for its members");
        for (Index g = 0; g < size.size; g++)
            require_indices(Integers(members.row(g).first(size[g])), 0, X.rows, "members must be records");
        require_indices(chosen, 0, size.size, "groups must be among all");
        require_indices(near, -1, size.size, "groups that are near must be among all");
    }

    // Compute the centroid of a group afresh.
    void recentre(Index g) const {
        for (Index j = 0; j < X.columns; j++) {
            double total = 0.0;
            for (Index p = 0; p < size[g]; p++)
                total += X[members[g][p]][j];
            centroids[g][j] = total / count(g);
        }
    }

    // What a record in a group costs it less if it goes, and more if it comes.
    double leaving(const double *x, Index g) const {
        return squared_distance(x, centroids[g], X.columns) * count(g) / (count(g) - 1.0);
    }
    double joining(const double *x, Index g) const {
        return squared_distance(x, centroids[g], X.columns) * count(g) / (count(g) + 1.0);
    }

    // Make the best swap between groups a and b, or move from a to b; return whether there was one.
    bool improve_pair(Index k, Index a, Index b) const {
        double best = 0.0, weight = 1.0 / count(a) + 1.0 / count(b);
        Index give = -1, take = -1;
        bool may_move = size[a] > k && size[b] < members.columns;
        for (Index p = 0; p < size[a]; p++) {
            const double *x = X[members[a][p]];
            for (Index q = 0; q < size[b]; q++) {
                const double *y = X[members[b][q]];
                double slope = 0.0, apart = 0.0;
                for (Index j = 0; j < X.columns; j++) {
                    slope += (y[j] - x[j]) * (centroids[a][j] - centroids[b][j]);
                    apart += (y[j] - x[j]) * (y[j] - x[j]);
                }
                double gain = 2.0 * slope + apart * weight;
                if (gain > best && gain > WORTHWHILE * apart) {
                    best = gain;
                    give = p;
                    take = q;
                }
            }
            if (may_move) {
                double left = leaving(x, a), gain = left - joining(x, b);
                if (gain > best && gain > WORTHWHILE * left) {
                    best = gain;
                    give = p;
                    take = -1;
                }
            }
        }
        if (give < 0)
            return false;
        if (take >= 0)
            std::swap(members[a][give], members[b][take]);
        else {
            members[b][size[b]++] = members[a][give];
            members[a][give] = members[a][--size[a]];
        }
        recentre(a);
        recentre(b);
        return true;
    }
};

} // namespace

Index improve_pairs(Table X, Matrix<Index> members, Span<Index> size, Matrix<double> centroids, Index k,
                    Integers groups, Matrix<const Index> near, Watch watch) {
    Groups all{X, members, size, centroids};
    all.require_sizes(groups, near);
    require(near.rows == groups.size, "near must have a row for each of the groups");
    require_k(k);
    Index changes = 0;
    for (Index at = 0; at < groups.size && !watch.stopped(); at++) {
        Index a = groups[at];
        for (Index b : near.row(at)) {
            if (b < 0 || b == a || size[a] == 0 || size[b] == 0)
                continue;
            // At most as many as there are members: among records a rounding error apart, gains never end.
            for (Index change = 0; change < 2 * k && all.improve_pair(k, a, b); change++)
                changes++;
        }
    }
    return changes;
}

Index dissolve_groups(Table X, Matrix<Index> members, Span<Index> size, Matrix<double> centroids, Integers groups,
                      Matrix<const Index> near, Watch watch) {
    Groups all{X, members, size, centroids};
    Index most = members.columns, dissolved = 0;
    all.require_sizes(groups, near);
    require(near.rows == groups.size * most, "near must have a row for each member that the groups can have");
    Buffer<Index> target(most);
    for (Index at = 0; at < groups.size && !watch.stopped(); at++) {
        Index g = groups[at];
        double gain = 0.0;
        for (Index p = 0; p < size[g]; p++) {
            const double *x = X[members[g][p]];
            double best = INFINITE;
            target[p] = -1;
            for (Index b : near.row(at * most + p)) {
                bool free = b >= 0 && b != g && 0 < size[b] && size[b] < most;
                // A group that takes in another member changes, and so would the cost.
                if (!free || std::find(target.begin(), target.begin() + p, b) != target.begin() + p)
                    continue;
                double cost = all.joining(x, b);
                if (cost < best) {
                    best = cost;
                    target[p] = b;
                }
            }
            gain += squared_distance(x, centroids[g], X.columns) - best;
        }
        if (!(gain > 0.0))
            continue;
        for (Index p = 0; p < size[g]; p++) {
            Index b = target[p];
            members[b][size[b]++] = members[g][p];
            all.recentre(b);
        }
        size[g] = 0;
        dissolved++;
    }
    return dissolved;
}

} // namespace shoal::ISA
