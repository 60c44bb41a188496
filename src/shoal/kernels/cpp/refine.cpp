#include "refine.hpp"

#include <initializer_list>

#include "partition.hpp"

namespace shoal::ISA {

namespace {

// Move record i to group b and note it.
void moved(const Partition &s, Journal journal, Index i, Index b) {
    Index at = journal.length[0]++;
    journal.record[at] = i;
    journal.origin[at] = s.label[i];
    s.move(i, b);
}

// Take a number for a new group; there must be one.
Index new_group(const Partition &s) { return s.free[s.free[0]--]; }

} // namespace

void fill_groups(Grouping given, Index groups) {
    Partition s{given};
    Index n = s.X.rows, room = s.size.size;
    require(s.X.columns % STRIDE == 0 && s.X.columns == s.centroid.columns, "X must have a multiple of 4 columns");
    require(s.label.size == n && s.place.size == n, "there must be a label and a place for each row of X");
    require(groups <= room && s.members.rows == room && s.centroid.rows == room && s.free.size == room + 1,
            "there must be room for all groups");
    for (Index i = 0; i < n; i++) {
        Index g = s.label[i];
        require(0 <= g && g < groups && s.size[g] < s.most(), "labels must name groups of at most 2k - 1 records");
        s.place[i] = s.size[g];
        s.members[g][s.size[g]++] = i;
    }
    for (Index g = room - 1; g >= groups; g--)
        s.free[++s.free[0]] = g;
    recentre(s);
}

void recentre(Grouping s) {
    for (Index g = 0; g < s.size.size; g++) {
        if (s.size[g] == 0)
            continue;
        double *centroid = s.centroid[g];
        for (Index j = 0; j < s.X.columns; j++)
            centroid[j] = 0.0;
        for (Index p = 0; p < s.size[g]; p++) {
            const double *x = s.X[s.members[g][p]];
            for (Index j = 0; j < s.X.columns; j++)
                centroid[j] += x[j];
        }
        for (Index j = 0; j < s.X.columns; j++)
            centroid[j] /= static_cast<double>(s.size[g]);
    }
}

double joining(Grouping s, Index i, Index b) { return Partition{s}.joining(i, b); }
double leaving(Grouping s, Index i) { return Partition{s}.leaving(i); }
double swapping(Grouping s, Index i, Index m) { return Partition{s}.swapping(i, m); }
std::pair<double, Index> best_swap(Grouping s, Index i, Index b) { return Partition{s}.best_swap(i, b); }
void move(Grouping s, Index i, Index b) { Partition{s}.move(i, b); }
void swap(Grouping s, Index i, Index m) { Partition{s}.swap(i, m); }

void take_back(Grouping given, Journal journal) {
    Partition s{given};
    for (Index at = journal.length[0] - 1; at >= 0; at--) {
        Index b = journal.origin[at];
        if (s.size[b] == 0)
            s.free[0]--; // emptied in this journal, and so the last that was put there
        s.move(journal.record[at], b);
    }
    journal.length[0] = 0;
}

double dissolve(Grouping given, Neighbours near, Index g, Journal journal) {
    Partition s{given};
    double change = 0.0;
    while (s.size[g] > 0) {
        Index i = s.members[g][s.size[g] - 1], target = -1, before = g;
        double best = INFINITE;
        for (Index j : near.row(i)) {
            Index b = s.label[j];
            if (b == before || b == g || s.size[b] == s.most())
                continue;
            before = b;
            double cost = s.joining(i, b);
            if (cost < best) {
                best = cost;
                target = b;
            }
        }
        if (target < 0)
            return INFINITE;
        if (s.size[g] > 1)
            change -= s.leaving(i);
        change += best;
        moved(s, journal, i, target);
    }
    return change;
}

double form(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s{given};
    Index k = s.k();
    if (s.free[0] == 0 || s.size[s.label[i]] == k)
        return INFINITE;
    Index g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    for (Index j : near.row(i)) {
        Index b = s.label[j];
        if (b == g || s.size[b] == k)
            continue;
        change += s.joining(j, g) - s.leaving(j);
        moved(s, journal, j, g);
        if (s.size[g] == k)
            return change;
    }
    return INFINITE;
}

double regroup(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s{given};
    Index k = s.k();
    if (s.free[0] == 0)
        return INFINITE;
    Index g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    for (Index j : near.row(i)) {
        if (s.label[j] == g)
            continue;
        if (s.size[s.label[j]] > 1)
            change -= s.leaving(j);
        change += s.joining(j, g);
        moved(s, journal, j, g);
        if (s.size[g] == k)
            break;
    }
    Index taken = journal.length[0];
    while (s.size[g] >= k) {
        Index least = k, short_group = -1;
        for (Index at = 0; at < taken; at++) {
            Index b = journal.origin[at];
            if (0 < s.size[b] && s.size[b] < least) {
                least = s.size[b];
                short_group = b;
            }
        }
        if (short_group < 0)
            return change;
        change += dissolve(s, near, short_group, journal);
        if (s.size[short_group] > 0)
            break;
    }
    return INFINITE;
}

double resplit(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s{given};
    Index a = s.label[i], b = -1;
    for (Index j : near.row(i)) {
        if (s.label[j] != a) {
            b = s.label[j];
            break;
        }
    }
    if (b < 0 || s.free[0] == 0)
        return INFINITE;
    Index size = s.size[a], g = new_group(s);
    double change = -s.leaving(i);
    moved(s, journal, i, g);
    while (s.size[g] < size) {
        double best = INFINITE;
        Index nearest = -1;
        for (Index group : {a, b})
            for (Index p = 0; p < s.size[group]; p++) {
                double cost = s.joining(s.members[group][p], g);
                if (cost < best) {
                    best = cost;
                    nearest = s.members[group][p];
                }
            }
        change += best - s.leaving_or_alone(nearest);
        moved(s, journal, nearest, g);
    }
    while (s.size[a] > 0 && s.size[b] > 0) {
        Index j = s.members[a][s.size[a] - 1];
        change += s.joining(j, b) - s.leaving_or_alone(j);
        moved(s, journal, j, b);
    }
    return change;
}

} // namespace shoal::ISA
