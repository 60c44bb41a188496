#include "refine.hpp"

#include <algorithm>

#include "changes.hpp"
#include "partition.hpp"

namespace shoal::ISA {

namespace {

Partition of_record(Grouping given, Index i) {
    Partition s = checked(given);
    s.require_record(i);
    return s;
}

Partition of_group(Grouping given, Index i, Index g) {
    Partition s = of_record(given, i);
    s.require_group(g);
    return s;
}

// Two records of different groups.
Partition of_pair(Grouping given, Index i, Index m) {
    Partition s = of_record(given, i);
    s.require_record(m);
    require(s.label[i] != s.label[m], "the records must be of different groups");
    return s;
}

// A partition, with an empty journal for the moves of a change.
Partition changing(Grouping given, Neighbours near, Journal journal) {
    Partition s = checked(given);
    s.require_near(near);
    s.require_room(journal);
    require(journal.length[0] == 0, "the journal must be empty");
    return s;
}

// Compute all centroids afresh.
void centre(const Partition &s) {
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

} // namespace

void fill_groups(Grouping given, Index groups) {
    Partition s{given};
    Index n = s.X.rows, room = s.size.size;
    s.require_sizes();
    require(0 <= groups && groups <= room, "there must be room for all groups");
    std::fill(s.size.begin(), s.size.end(), 0);
    s.free[0] = 0;
    for (Index i = 0; i < n; i++) {
        Index g = s.label[i];
        require(0 <= g && g < groups && s.size[g] < s.most(), "labels must name groups of at most 2k - 1 records");
        s.place[i] = s.size[g];
        s.members[g][s.size[g]++] = i;
    }
    for (Index g = room - 1; g >= groups; g--)
        s.free[++s.free[0]] = g;
    centre(s);
}

void recentre(Grouping given) { centre(checked(given)); }

double joining(Grouping given, Index i, Index b) { return of_group(given, i, b).joining(i, b); }
double leaving(Grouping given, Index i) { return of_record(given, i).leaving(i); }
double swapping(Grouping given, Index i, Index m) { return of_pair(given, i, m).swapping(i, m); }
std::pair<double, Index> best_swap(Grouping given, Index i, Index b) { return of_group(given, i, b).best_swap(i, b); }
void swap(Grouping given, Index i, Index m) { of_pair(given, i, m).swap(i, m); }

void move(Grouping given, Index i, Index b) {
    Partition s = of_group(given, i, b);
    require(s.size[b] < s.most() && s.label[i] != b, "the other group must have room");
    s.move(i, b);
}

void take_back(Grouping given, Journal journal) {
    Partition s = checked(given);
    require(journal.length.size >= 1 && 0 <= journal.length[0] && journal.length[0] <= journal.record.size &&
                journal.length[0] <= journal.origin.size,
            "the journal must have its moves");
    while (journal.length[0] > 0) {
        Index i = journal.record[journal.length[0] - 1], b = journal.origin[journal.length[0] - 1];
        s.require_record(i);
        s.require_group(b);
        bool last = s.size[b] > 0 || (s.free[0] > 0 && s.free[s.free[0]] == b);
        require(s.label[i] != b && s.size[b] < s.most() && last, "the journal must be of this partition");
        undo_last(s, journal);
    }
}

double dissolve(Grouping given, Neighbours near, Index g, Journal journal) {
    Partition s = changing(given, near, journal);
    s.require_group(g);
    return dissolve_group(s, near, g, journal);
}

double form(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s = changing(given, near, journal);
    s.require_record(i);
    return form_group(s, near, i, journal);
}

double regroup(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s = changing(given, near, journal);
    s.require_record(i);
    return regroup_around(s, near, i, journal);
}

double resplit(Grouping given, Neighbours near, Index i, Journal journal) {
    Partition s = changing(given, near, journal);
    s.require_record(i);
    return resplit_pair(s, near, i, journal);
}

} // namespace shoal::ISA
