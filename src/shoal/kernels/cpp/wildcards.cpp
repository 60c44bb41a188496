// Sums over rows that match where a missing value stands for any value.
#include "wildcards.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace shoal::ISA {

namespace {

using Codes = Matrix<const std::int32_t>;
using Set = std::uint32_t; // of columns

constexpr std::uint64_t GOLDEN = 0x9E3779B97F4A7C15; // 2^64 / golden ratio: a multiplication spreads neighbouring keys

// An odd number of 64 random bits for each column (the generator splitmix64), so that few combinations have one sum.
std::uint64_t factor_of(Index column) {
    std::uint64_t bits = GOLDEN * static_cast<std::uint64_t>(column + 1);
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return (bits ^ bits >> 31) | 1;
}

// Rows that have values in the same columns.
struct Pattern {
    Set known;
    std::vector<Index> rows;
};

std::vector<Pattern> patterns_of(Codes codes) {
    std::map<Set, std::vector<Index>> rows; // sorted: sums must not depend on anything but the rows
    for (Index i = 0; i < codes.rows; i++) {
        Set known = 0;
        for (Index j = 0; j < codes.columns; j++)
            known |= Set{codes[i][j] != 0} << j;
        rows[known].push_back(i);
    }
    std::vector<Pattern> found;
    for (auto &[known, those] : rows)
        found.push_back({known, std::move(those)});
    return found;
}

// Sums for combinations of values in some columns: those of the rows that were put in first.
class Sums {
  public:
    Sums(Index columns, Set compared_columns, Index rows, Index values)
        : values(values), sums(rows * values, 0.0) {
        for (Index j = 0; j < columns; j++)
            if (compared_columns >> j & 1) {
                compared.push_back(j);
                factors.push_back(factor_of(j));
            }
        while (Index{1} << bits < 2 * rows)
            bits++;
        places = Buffer<Place>(Index{1} << bits, {0, -1});
        row_of.reserve(static_cast<std::size_t>(rows));
    }

    // Make room for the combination of a row.
    void put(const std::int32_t *row) {
        std::uint64_t hash = hash_of(row);
        Place &place = places[probe(row, hash)];
        if (place.at < 0) {
            place = {static_cast<std::uint32_t>(hash), static_cast<std::int32_t>(row_of.size())};
            row_of.push_back(row);
        }
    }

    // Add the values of a row to its combination, if that is here.
    void add(const std::int32_t *row, const double *given) {
        Index place = places[probe(row, hash_of(row))].at;
        for (Index v = 0; place >= 0 && v < values; v++)
            sums[place * values + v] += given[v];
    }

    // Add the sums of a row's combination to what it has already.
    void read(const std::int32_t *row, double *into) const {
        Index place = places[probe(row, hash_of(row))].at;
        for (Index v = 0; place >= 0 && v < values; v++)
            into[v] += sums[place * values + v];
    }

  private:
    struct Place {
        std::uint32_t hash;
        std::int32_t at; // in `row_of` and `sums`; -1 where there is no combination
    };

    // A sum of products: the processor works on several columns at once.
    std::uint64_t hash_of(const std::int32_t *row) const {
        std::uint64_t hash = 0;
        for (std::size_t c = 0; c < compared.size(); c++)
            hash += static_cast<std::uint32_t>(row[compared[c]]) * factors[c];
        return (hash ^ hash >> 32) * GOLDEN;
    }

    // The place of a combination in the table, or the free one where it would be.
    Index probe(const std::int32_t *row, std::uint64_t hash) const {
        Index last = (Index{1} << bits) - 1;
        Index at = static_cast<Index>(hash >> (64 - bits));
        while (places[at].at >= 0 && (places[at].hash != static_cast<std::uint32_t>(hash) ||
                                      !alike(row_of[static_cast<std::size_t>(places[at].at)], row)))
            at = (at + 1) & last;
        return at;
    }

    bool alike(const std::int32_t *a, const std::int32_t *b) const {
        for (Index j : compared)
            if (a[j] != b[j])
                return false;
        return true;
    }

    Index values;
    std::vector<Index> compared; // columns
    std::vector<std::uint64_t> factors;
    int bits = 1;
    Buffer<Place> places{0};
    std::vector<const std::int32_t *> row_of; // a row with each combination
    Buffer<double> sums;
};

// Do something with each row of a pattern; return whether it was stopped.
template <class Work> bool each_row(const Pattern &pattern, Watch watch, Work work) {
    for (Index row : pattern.rows) {
        if (watch.stopped_at(row))
            return true;
        work(row);
    }
    return false;
}

} // namespace

void matching_sums(Codes asked, Codes rows, Table values, Watch watch, Matrix<double> sums) {
    require(asked.columns == rows.columns && 1 <= rows.columns && rows.columns <= 32,
            "asked and rows must have the same number of columns, 1 to 32");
    require(rows.rows < Index{1} << 31, "rows must be fewer than 2^31");
    require(values.rows == rows.rows && sums.rows == asked.rows && sums.columns == values.columns,
            "values must have a row for each row, and sums one for each row asked");
    std::fill(sums.data, sums.data + sums.rows * sums.columns, 0.0);
    std::vector<Pattern> asking = patterns_of(asked), answering = patterns_of(rows);
    for (const Pattern &there : answering) {
        // What both know is the same for many patterns that ask: each table is made once.
        std::vector<Set> common;
        for (const Pattern &here : asking)
            common.push_back(here.known & there.known);
        std::sort(common.begin(), common.end());
        common.erase(std::unique(common.begin(), common.end()), common.end());
        for (Set columns : common) {
            std::vector<const Pattern *> here;
            std::size_t count = 0;
            for (const Pattern &each : asking)
                if ((each.known & there.known) == columns) {
                    here.push_back(&each);
                    count += each.rows.size();
                }
            // The smaller side makes the table, which then fits into the cache; the larger one is read in order.
            bool ours = count < there.rows.size();
            Sums found(rows.columns, columns, static_cast<Index>(ours ? count : there.rows.size()), values.columns);
            bool stopped = watch.stopped();
            for (const Pattern *each : here)
                stopped = stopped || (ours && each_row(*each, watch, [&](Index row) { found.put(asked[row]); }));
            stopped = stopped || (!ours && each_row(there, watch, [&](Index row) { found.put(rows[row]); }));
            stopped = stopped || each_row(there, watch, [&](Index row) { found.add(rows[row], values[row]); });
            for (const Pattern *each : here)
                stopped = stopped || each_row(*each, watch, [&](Index row) { found.read(asked[row], sums[row]); });
            if (stopped)
                return;
        }
    }
}

} // namespace shoal::ISA
