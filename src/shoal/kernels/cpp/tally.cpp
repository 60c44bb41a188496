#include "tally.hpp"

#include <algorithm>

#include "exact_sum.hpp"
#include "medians.hpp"

namespace shoal::ISA {

namespace {

// The lowest digit and the number of digits that the sums of all columns of means need.
std::pair<Index, Index> sum_digits(const EncodedMatrix &space) {
    Table values = space.values;
    Buffer<double> column(values.rows);
    Index first = 64, end = 0;
    for (Index j = 0; j < values.columns; j++) {
        if (space.kinds[j] != MEAN)
            continue;
        for (Index i = 0; i < values.rows; i++)
            column[i] = std::isnan(values[i][j]) ? 0.0 : values[i][j];
        auto [low, digits] = digit_range({reinterpret_cast<const Index *>(column.data()), values.rows});
        first = std::min(first, low);
        end = std::max(end, low + digits);
    }
    return {first, std::max(end - first, Index{0})};
}

Buffer<Index> level_starts(Integers levels) {
    Buffer<Index> starts(levels.size + 1, 0);
    for (Index j = 0; j < levels.size; j++)
        starts[j + 1] = starts[j] + levels[j];
    return starts;
}

Index most(Integers levels) { return levels.size == 0 ? 0 : *std::max_element(levels.begin(), levels.end()); }

} // namespace

Tally::Tally(const EncodedMatrix &space)
    : space(space), range(sum_digits(space)), present(space.values.columns, 0),
      total(space.values.columns * range.second, 0), starts(level_starts(space.levels)),
      frequency(starts[space.levels.size], 0), winner(2 * starts[space.levels.size], 0), hull(most(space.levels)) {
    for (Index i = 0; i < space.values.rows; i++)
        count(i, 1);
    playing = true;
    for (Index j = 0; j < space.values.columns; j++) {
        if (space.kinds[j] != MODE)
            continue;
        Index categories = space.levels[j];
        for (Index c = 0; c < categories; c++)
            winner[2 * starts[j] + categories + c] = c;
        for (Index node = categories - 1; node > 0; node--)
            settle(j, node);
    }
}

// Let the two children of a node play: the more frequent category wins, of equals the one with the lower number.
//
// The winner of node g plays in node g / 2, that of node 1 is the mode, and category c starts from node (number of
// categories) + c. When a category gains or loses a record, only the nodes above it play again.
void Tally::settle(Index j, Index node) {
    const Index *often = &frequency[starts[j]];
    Index *won = &winner[2 * starts[j]];
    Index a = won[2 * node], b = won[2 * node + 1];
    bool b_wins = often[b] > often[a] || (often[b] == often[a] && b < a);
    won[node] = b_wins ? b : a;
}

void Tally::count(Index i, Index sign) {
    auto [first, digits] = range;
    const double *record = space.values[i];
    for (Index j = 0; j < space.values.columns; j++) {
        if (std::isnan(record[j]))
            continue;
        present[j] += sign;
        if (space.kinds[j] == MEAN) {
            const Index *bits = reinterpret_cast<const Index *>(record + j);
            add_record({&total[j * digits], 1, digits}, first, {bits, 1}, sign);
            continue;
        }
        Index level = space.level_of(record[j], j);
        frequency[starts[j] + level] += sign;
        if (playing && space.kinds[j] == MODE)
            for (Index node = (space.levels[j] + level) / 2; node > 0; node /= 2)
                settle(j, node);
    }
}

void Tally::average(Index count, Span<double> record) {
    auto [first, digits] = range;
    for (Index j = 0; j < record.size; j++) {
        if (count - present[j] > present[j])
            record[j] = NOT_A_NUMBER;
        else if (space.kinds[j] == MEAN)
            mean_of({&total[j * digits], 1, digits}, first, present[j], {&record[j], 1});
        else if (space.kinds[j] == MODE)
            record[j] = space.levels[j] > 0 ? static_cast<double>(winner[2 * starts[j] + 1]) : NOT_A_NUMBER;
        else {
            Integers often{&frequency[starts[j]], space.levels[j]};
            if (space.kinds[j] == CONVEX_MEDIAN) {
                convex(often, Span<Index>(hull));
                often = hull.first(often.size);
            }
            record[j] = static_cast<double>(median_level(often)) * space.steps[j];
        }
    }
}

} // namespace shoal::ISA
