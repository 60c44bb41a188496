// Minimal sample uniques: the smallest sets of attributes on which a record is like no other.
#include "suda2.hpp"

#include <algorithm>
#include <vector>

namespace shoal::ISA {

namespace {

using Record = std::int32_t;
using Set = std::uint32_t; // of attributes: the first attribute has the highest bit

constexpr Index MOST_ATTRIBUTES = 31;
constexpr Set NONE = ~Set{0}; // is no subset of any

// The minimal sample uniques that each record has so far, by their last attribute. Sets are looked at only where the
// record is not unique without the last attribute, so that a subset on which it is unique has the same last one.
class Found {
  public:
    Found(Index records, Index attributes) : attributes(attributes), first(records * attributes, -1) {}

    // Whether a set has a subset among those of a record.
    bool covers(Record record, Set set) const {
        for (std::int32_t at = list(record, set); at >= 0; at = chunks[static_cast<std::size_t>(at)].next) {
            bool found = false;
            for (Set each : chunks[static_cast<std::size_t>(at)].sets)
                found |= (each & ~set) == 0;
            if (found)
                return true;
        }
        return false;
    }

    void add(Record record, Set set) {
        std::int32_t &at = list(record, set);
        if (at < 0 || chunks[static_cast<std::size_t>(at)].sets[SETS - 1] != NONE) {
            require(chunks.size() < std::size_t{1} << 31, "there are too many minimal sample uniques");
            chunks.push_back({{NONE, NONE, NONE, NONE, NONE, NONE, NONE}, at});
            at = static_cast<std::int32_t>(chunks.size() - 1);
        }
        Set *free = chunks[static_cast<std::size_t>(at)].sets;
        while (*free != NONE)
            free++;
        *free = set;
    }

  private:
    static constexpr Index SETS = 7;
    struct Chunk { // half a cache line
        Set sets[SETS];
        std::int32_t next;
    };

    std::int32_t &list(Record record, Set set) const { return first[record * attributes + __builtin_ctz(set)]; }

    Index attributes;
    std::vector<Chunk> chunks;
    Buffer<std::int32_t> first;
};

// A depth-first search: records that are alike on a set of attributes are divided by one more attribute. Attributes are
// added from the last to the first after those of the set, so that sets come in the order of their bits, and every set
// after its subsets: one that has no subset among those found before is minimal.
struct Search {
    Search(Matrix<const std::int32_t> given, Span<const bool> single, Floats points, Watch watch, Span<double> score,
           Matrix<double> contribution, Span<Index> sizes)
        : codes(given.rows * given.columns), single(single), points(points), watch(watch), score(score),
          contribution(contribution), sizes(sizes), attributes(given.columns), levels(given.columns, 1),
          found(given.rows, given.columns), keys(given.rows) {
        Index most = 1;
        for (Index at = 0; at < codes.size(); at++) { // a copy, which nobody changes while it is used
            std::int32_t code = given.data[at];
            require(0 <= code && code < std::int32_t{1} << 30, "codes must be 0 for a missing value, or from 1 on");
            codes[at] = code;
            Index &level = levels[at % attributes];
            level = std::max(level, Index{code} + 1);
            most = std::max(most, level);
        }
        starts = Buffer<Index>(most + 1);
        for (Index depth = 0; depth < attributes; depth++)
            divided.emplace_back(given.rows);
    }

    // Look at all sets that have attributes from `next` on besides those on which these records are alike.
    void extend(Span<const Record> records, Set set, Index next, Index depth) {
        for (Index attribute = attributes - 1; attribute >= next && !stopped; attribute--) {
            Span<Record> rest = divide(records, attribute, depth);
            Set larger = set | Set{1} << (attributes - 1 - attribute);
            for (Index begin = 0, end; begin < rest.size && !stopped; begin = end) {
                std::int32_t code = at(rest[begin], attribute);
                for (end = begin + 1; end < rest.size && at(rest[end], attribute) == code;)
                    end++;
                look(rest.from(begin).first(end - begin), larger, attribute + 1, depth + 1);
            }
        }
    }

  private:
    // Records that are alike on a set: one alone is unique; in others, larger sets may single a record out.
    void look(Span<const Record> alike, Set set, Index next, Index depth) {
        if (++steps % 1024 == 0 && watch.stopped()) {
            stopped = true;
            return;
        }
        if (alike.size == 1) {
            if (single[alike[0]])
                add(alike[0], set);
        } else if (alike.size == 2) {
            add_differences(alike[0], alike[1], set, next);
        } else if (next < attributes && has_single(alike)) {
            extend(alike, set, next, depth);
        }
    }

    // Two records: each attribute in which they differ, and a set with no other, makes both unique.
    void add_differences(Record a, Record b, Set set, Index next) {
        for (Index attribute = attributes - 1; attribute >= next; attribute--) {
            std::int32_t one = at(a, attribute), two = at(b, attribute);
            Set larger = set | Set{1} << (attributes - 1 - attribute);
            if (one == two)
                continue;
            if (one != 0 && single[a])
                add(a, larger);
            if (two != 0 && single[b])
                add(b, larger);
        }
    }

    void add(Record record, Set set) {
        if (found.covers(record, set))
            return;
        found.add(record, set);
        Index size = __builtin_popcount(set);
        double gained = points[size - 1];
        score[record] += gained;
        sizes[size - 1]++;
        for (Index attribute = 0; attribute < attributes; attribute++)
            if (set >> (attributes - 1 - attribute) & 1)
                contribution[record][attribute] += gained;
    }

    bool has_single(Span<const Record> records) const {
        for (Record record : records)
            if (single[record])
                return true;
        return false;
    }

    // Put records of the same value together, and leave out those whose value is missing.
    Span<Record> divide(Span<const Record> records, Index attribute, Index depth) {
        Record *sorted = divided[static_cast<std::size_t>(depth)].data();
        if (levels[attribute] <= 4 * records.size)
            return {sorted, count_sort(records, attribute, sorted)};
        Index known = 0;
        for (Record record : records)
            if (std::int32_t code = at(record, attribute))
                keys[known++] = std::uint64_t(code) << 32 | static_cast<std::uint64_t>(record);
        std::sort(keys.begin(), keys.begin() + known);
        for (Index i = 0; i < known; i++)
            sorted[i] = static_cast<Record>(keys[i] & 0xFFFFFFFF);
        return {sorted, known};
    }

    Index count_sort(Span<const Record> records, Index attribute, Record *sorted) {
        Index values = levels[attribute];
        std::fill(starts.begin(), starts.begin() + values + 1, 0);
        for (Record record : records)
            starts[at(record, attribute) + 1]++;
        Index missing = starts[1];
        starts[1] = 0;
        for (Index value = 1; value <= values; value++)
            starts[value] += starts[value - 1];
        for (Record record : records)
            if (std::int32_t code = at(record, attribute))
                sorted[starts[code]++] = record;
        return records.size - missing;
    }

    std::int32_t at(Record record, Index attribute) const { return codes[record * attributes + attribute]; }

    Buffer<std::int32_t> codes;
    Span<const bool> single;
    Floats points;
    Watch watch;
    Span<double> score;
    Matrix<double> contribution;
    Span<Index> sizes;
    Index attributes;
    Buffer<Index> levels; // one more than the highest code of each attribute
    Found found;
    Buffer<std::uint64_t> keys;         // scratch of `divide`
    Buffer<Index> starts{1};            // likewise
    std::vector<Buffer<Record>> divided; // records by value, for each depth of the search
    Index steps = 0;
    bool stopped = false;
};

} // namespace

void suda2(Matrix<const std::int32_t> codes, Span<const bool> single, Floats points, Watch watch, Span<double> score,
           Matrix<double> contribution, Span<Index> sizes) {
    Index n = codes.rows, d = codes.columns;
    require(1 <= d && d <= MOST_ATTRIBUTES, "codes must have 1 to 31 columns");
    require(n < Index{1} << 31, "codes must have fewer than 2^31 rows");
    require(single.size == n && score.size == n && contribution.rows == n,
            "single, score and contribution must have an element for each record");
    require(contribution.columns == d && points.size == d && sizes.size == d,
            "contribution, points and sizes must have an element for each attribute");
    if (watch.stopped())
        return;
    Search search(codes, single, points, watch, score, contribution, sizes);
    Buffer<Record> all(n);
    for (Index i = 0; i < n; i++)
        all[i] = static_cast<Record>(i);
    search.extend(Span<const Record>(all), 0, 0, 0);
}

} // namespace shoal::ISA
