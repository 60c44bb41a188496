#include "tour.hpp"

#include <algorithm>
#include <initializer_list>

#include "edges.hpp"

namespace shoal::ISA {

namespace {

constexpr Index LONGEST_SEGMENT = 3; // that an Or-opt move carries
constexpr Index LONGEST_KICK = 50;   // records in each of the two stretches that a kick exchanges
constexpr Index KICK_REACH = 1000;   // records that a move after a kick may turn round
constexpr Index MOST_TURNS = 1000;   // before a kick is judged, whatever is left to look at
// A move must gain more than the rounding of the edges that go: each one shortens the tour, so that they come to an end.
constexpr double WORTH = 1e-12;

// A change of the tour: edges at `a` and `c` go, and the edge between them comes.
struct Move {
    double gain = 0.0;
    Index a = 0, c = 0;
    Index segment = 0;  // 0 for a 2-opt move, the number of records carried for an Or-opt move
    bool ahead = false; // whether the edge that goes at `a` (2-opt), or the segment that begins there, lies ahead
    bool after = false; // whether the edge that goes at `c` does
};

// A position that may have left the array, by up to n, as one in it.
inline Index wrapped(Index position, Index n) {
    if (position < 0)
        return position + n;
    return position >= n ? position - n : position;
}

Index record_at(const Tour &tour, Index position) { return tour.order[wrapped(position, tour.order.size)]; }

// Put a record at the end of the queue, if it is not in it.
void look_at(const Queue &queue, Index x) {
    if (!queue.waiting[x]) {
        queue.waiting[x] = 1;
        queue.record[wrapped(queue.span[0] + queue.span[1], queue.record.size)] = x;
        queue.span[1]++;
    }
}

// Take the first record out of the queue.
Index next_of(const Queue &queue) {
    Index a = queue.record[queue.span[0]];
    queue.span[0] = wrapped(queue.span[0] + 1, queue.record.size);
    queue.span[1]--;
    queue.waiting[a] = 0;
    return a;
}

// The best 2-opt move that gives record a a nearer neighbour, if it gains more than `best`.
//
// Edges (a, b) and (c, d) go, (a, c) and (b, d) come, where b and d both follow, or both precede, a and c.
void best_two_opt(Table X, Matrix<const Index> near, const Tour &tour, Index a, Index reach, Move &best) {
    Index n = tour.order.size;
    for (bool ahead : {true, false}) {
        Index step = ahead ? 1 : -1;
        Index b = record_at(tour, tour.position[a] + step);
        double ab = edge(X, a, b);
        for (Index c : near.row(a)) {
            double ac = edge(X, a, c);
            if (ac >= ab)
                break;
            Index d = record_at(tour, tour.position[c] + step);
            double cd = edge(X, c, d);
            double gain = ab + cd - ac - edge(X, b, d);
            if (gain > best.gain && gain > WORTH * (ab + cd)) {
                Index between = wrapped(tour.position[c] - tour.position[a], n);
                if (std::min(between, n - between) <= reach)
                    best = {gain, a, c, 0, ahead, ahead};
            }
        }
    }
}

// The best Or-opt move that gives record a a nearer neighbour, if it gains more than `best`.
//
// A segment a..e of one to three records between p and q is carried to between c and f: edges (p, a), (e, q), (c, f) go,
// (p, q), (a, c), (e, f) come.
void best_or_opt(Table X, Matrix<const Index> near, const Tour &tour, Index a, Index reach, Move &best) {
    Index n = tour.order.size, at = tour.position[a], longest = std::min(LONGEST_SEGMENT, n - 2);
    double gone[LONGEST_SEGMENT + 1];  // for segments of each length, the edges that go at its ends,
    double freed[LONGEST_SEGMENT + 1]; // and these less the one that comes
    for (bool ahead : {true, false}) {
        Index step = ahead ? 1 : -1;
        Index p = record_at(tour, at - step);
        double pa = edge(X, p, a);
        if (edge(X, a, near[a][0]) >= pa)
            continue;
        for (Index length = 1; length <= longest; length++) {
            Index e = record_at(tour, at + step * (length - 1)), q = record_at(tour, at + step * length);
            gone[length] = pa + edge(X, e, q);
            freed[length] = gone[length] - edge(X, p, q);
        }
        for (Index c : near.row(a)) {
            double ac = edge(X, a, c);
            if (ac >= pa)
                break;
            Index c_at = wrapped(step * (tour.position[c] - at), n); // from a towards e
            if (std::min(c_at, n - c_at) > reach)
                continue;
            for (bool after : {true, false}) {
                Index f = record_at(tour, tour.position[c] + (after ? 1 : -1));
                Index f_at = wrapped(step * (tour.position[f] - at), n);
                double cf = edge(X, c, f);
                for (Index length = 1; length <= std::min({longest, c_at, f_at}); length++) { // without c and f
                    Index e = record_at(tour, at + step * (length - 1));
                    double gain = freed[length] + cf - ac - edge(X, e, f);
                    if (gain > best.gain && gain > WORTH * (gone[length] + cf))
                        best = {gain, a, c, length, ahead, after};
                }
            }
        }
    }
}

// Reverse a stretch of the tour.
void turn(const Tour &tour, Index start, Index length) {
    Index n = tour.order.size, i = start, j = wrapped(start + length - 1, n);
    Index *made = tour.turns[tour.made[0]++];
    made[0] = start;
    made[1] = length;
    for (Index pair = 0; pair < length / 2; pair++) {
        Index a = tour.order[i], b = tour.order[j];
        tour.order[i] = b;
        tour.order[j] = a;
        tour.position[b] = i;
        tour.position[a] = j;
        i = wrapped(i + 1, n);
        j = wrapped(j - 1, n);
    }
}

// Take back all turns that are remembered: each is its own inverse.
void take_back(const Tour &tour) {
    while (tour.made[0] > 0) {
        const Index *last = tour.turns[--tour.made[0]];
        turn(tour, last[0], last[1]);
        tour.made[0]--; // which this turn has added
    }
}

// Exchange two stretches that lie one after the other.
void swap(const Tour &tour, Index start, Index first, Index second) {
    turn(tour, start, first + second);
    turn(tour, start, second);
    turn(tour, wrapped(start + second, tour.order.size), first);
}

// Make a move, and look again at the records whose edges it changes.
void make(const Move &move, const Tour &tour, const Queue &queue) {
    Index n = tour.order.size, length = move.segment, at = tour.position[move.a], step = move.ahead ? 1 : -1;
    Index f = record_at(tour, tour.position[move.c] + (move.after ? 1 : -1));
    for (Index x : {move.a, move.c, f, record_at(tour, at + step * std::max(length, Index{1}))})
        look_at(queue, x);
    if (length == 0) {
        Index start = move.ahead ? wrapped(at + 1, n) : at, between = wrapped(tour.position[move.c] - at, n);
        if (2 * between > n) {
            start = wrapped(start + between, n);
            between = n - between;
        }
        turn(tour, start, between);
        return;
    }
    look_at(queue, record_at(tour, at - step));
    look_at(queue, record_at(tour, at + step * (length - 1)));
    Index first = move.ahead ? at : wrapped(at - length + 1, n);
    Index gap = wrapped(tour.position[move.after ? f : move.c] - first, n) - length; // up to where the segment must go
    if (2 * gap <= n - length) {
        swap(tour, first, length, gap);
        first = wrapped(first + gap, n);
    } else {
        gap = n - length - gap;
        first = wrapped(first - gap, n);
        swap(tour, first, gap, length);
    }
    if (move.ahead != move.after)
        turn(tour, first, length);
}

// The next number of a linear congruential generator (Knuth's MMIX), from 0 to below - 1.
Index drawn(std::uint64_t &state, Index below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<Index>(state >> 33) % below;
}

// See `shorten` and `kick` of tour.hpp.
double improve(Table X, Matrix<const Index> near, const Tour &tour, const Queue &queue, Index reach) {
    Index a = next_of(queue);
    Move move;
    best_two_opt(X, near, tour, a, reach, move);
    best_or_opt(X, near, tour, a, reach, move);
    if (move.gain > 0.0)
        make(move, tour, queue);
    return move.gain;
}

std::pair<double, double> disturb(Table X, const Tour &tour, const Queue &queue, Index start, Index first, Index second) {
    double before = 0.0, length = 0.0;
    for (Index at : {start, start + first, start + first + second})
        before += edge(X, record_at(tour, at - 1), record_at(tour, at));
    swap(tour, start, first, second);
    for (Index at : {start, start + second, start + first + second}) {
        Index a = record_at(tour, at - 1), b = record_at(tour, at);
        length += edge(X, a, b);
        look_at(queue, a);
        look_at(queue, b);
    }
    return {before - length, length};
}

// The border: the order and the positions of a tour must be each other's inverse, and there must be room for more turns.
void require_tour(const Tour &tour, Index turns) {
    Index n = tour.order.size;
    require(n >= 1 && tour.position.size == n && tour.turns.columns == 2 && tour.made.size >= 1,
            "a tour must have a position for each record, and turns");
    require_indices(Integers(tour.order), 0, n, "a tour must have every record once");
    for (Index at = 0; at < n; at++)
        require(tour.position[tour.order[at]] == at, "a tour must have every record once");
    require(0 <= tour.made[0] && tour.made[0] <= tour.turns.rows - turns, "there must be room for the turns of a tour");
}

void require_stretch(const Tour &tour, Index start, Index length) {
    Index n = tour.order.size;
    require(0 <= start && start < n && 0 <= length && length <= n, "a stretch must lie on the tour");
}

// Two stretches that lie one after the other.
void require_stretches(const Tour &tour, Index start, Index first, Index second) {
    require_stretch(tour, start, first);
    require_stretch(tour, start, second);
    require_stretch(tour, start, first + second);
}

// The records that wait must be in the queue, each once.
void require_queue(const Queue &queue, Index n) {
    require(queue.record.size == n && queue.waiting.size == n && queue.span.size >= 2,
            "a queue must have room for every record");
    require(0 <= queue.span[0] && queue.span[0] < n && 0 <= queue.span[1] && queue.span[1] <= n,
            "a queue must lie in its ring");
    Buffer<bool> seen(n, false);
    Index waiting = 0;
    for (Index flag : queue.waiting)
        waiting += flag != 0;
    for (Index at = 0; at < queue.span[1]; at++) {
        Index x = queue.record[wrapped(queue.span[0] + at, n)];
        require(0 <= x && x < n && !seen[x] && queue.waiting[x] != 0, "a queue must have records that wait, once");
        seen[x] = true;
    }
    require(waiting == queue.span[1], "records that wait must be in the queue");
}

// No record may be its own neighbour: joining it to itself would seem to shorten the tour for ever.
void require_neighbours(Matrix<const Index> near) {
    require_indices(near, 0, near.rows, "neighbours must be records");
    for (Index i = 0; i < near.rows; i++)
        for (Index c : near.row(i))
            require(c != i, "no record may be its own neighbour");
}

void require_records(Table X, const Tour &tour) {
    require(X.rows == tour.order.size, "X must have a row for each record of the tour");
}

} // namespace

void turn_round(Tour tour, Index start, Index length) {
    require_tour(tour, 1);
    require_stretch(tour, start, length);
    turn(tour, start, length);
}

void undo(Tour tour) {
    require_tour(tour, 0);
    for (Index at = 0; at < tour.made[0]; at++)
        require_stretch(tour, tour.turns[at][0], tour.turns[at][1]);
    take_back(tour);
}

void exchange(Tour tour, Index start, Index first, Index second) {
    require_tour(tour, 3);
    require_stretches(tour, start, first, second);
    swap(tour, start, first, second);
}

double shorten(Table X, Matrix<const Index> near, Tour tour, Queue queue, Index reach) {
    Index n = tour.order.size;
    require_tour(tour, 4);
    require_records(X, tour);
    require_queue(queue, n);
    require(near.rows == n && near.columns >= 1, "near must have a row for each record of the tour");
    require_neighbours(near);
    require(queue.span[1] > 0, "a record must be waiting");
    return improve(X, near, tour, queue, reach);
}

std::pair<double, double> kick(Table X, Tour tour, Queue queue, Index start, Index first, Index second) {
    require_tour(tour, 3);
    require_records(X, tour);
    require_queue(queue, tour.order.size);
    require_stretches(tour, start, first, second);
    return disturb(X, tour, queue, start, first, second);
}

void shortened(Table X, Matrix<const Index> near, Index reach, Index kicks, Watch watch, Span<Index> order) {
    Index n = order.size;
    require(X.rows == n && near.rows == n, "X and near must have a row for each record of the tour");
    require(n >= 4 || kicks == 0, "a tour of fewer than 4 records cannot be kicked");
    require(near.columns >= 1, "there must be neighbours");
    require_neighbours(near);
    require_permutation(order, "the tour must have every record once");
    Buffer<Index> position(n), turns((MOST_TURNS + 4) * 2), made(1, 0), record(n), waiting(n, 1), span(2);
    Tour tour{order, position, turns.matrix(MOST_TURNS + 4, 2), made};
    Queue queue{record, waiting, span};
    for (Index i = 0; i < n; i++) {
        position[order[i]] = i;
        record[i] = order[i];
    }
    span[0] = 0;
    span[1] = n;
    while (span[1] > 0 && !watch.stopped()) {
        watch.done(n - span[1]);
        improve(X, near, tour, queue, reach);
        made[0] = 0;
    }
    // A kick exchanges two short stretches anywhere, drawn by a generator with a fixed seed; if the moves that follow do
    // not make the tour shorter than it was, all is undone.
    std::uint64_t state = 0;
    Index most = std::min(LONGEST_KICK, (n - 2) / 2);
    for (Index at = 0; at < kicks; at++) {
        if (watch.stopped())
            break;
        watch.done(at * n / kicks);
        Index start = drawn(state, n), first = 1 + drawn(state, most), second = 1 + drawn(state, most);
        auto [gain, length] = disturb(X, tour, queue, start, first, second);
        while (span[1] > 0 && made[0] < MOST_TURNS)
            gain += improve(X, near, tour, queue, std::min(reach, KICK_REACH));
        while (span[1] > 0)
            next_of(queue);
        if (gain > WORTH * length)
            made[0] = 0;
        else
            take_back(tour);
    }
}

} // namespace shoal::ISA
