// The arrays that kernels take and allocate. Python owns what it passes; a Buffer is scratch of a kernel.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>

namespace shoal {

using Index = std::int64_t;

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();

// One dimension, contiguous.
template <class T> struct Span {
    T *data;
    Index size;

    T &operator[](Index i) const { return data[i]; }
    T *begin() const { return data; }
    T *end() const { return data + size; }
    Span first(Index count) const { return {data, count}; }
    Span from(Index start) const { return {data + start, size - start}; }
    operator Span<const T>() const { return {data, size}; }
};

// Two dimensions, row after row.
template <class T> struct Matrix {
    T *data;
    Index rows, columns;

    T *operator[](Index i) const { return data + i * columns; }
    Span<T> row(Index i) const { return {data + i * columns, columns}; }
    operator Matrix<const T>() const { return {data, rows, columns}; }
};

using Floats = Span<const double>;
using Integers = Span<const Index>;
using Table = Matrix<const double>;

// Numbers that are not initialised, unless a value is given; aligned so that eight doubles fill a cache line.
template <class T> class Buffer {
  public:
    explicit Buffer(Index count) : span{allocate(count), count} {}
    Buffer(Index count, T value) : Buffer(count) {
        for (Index i = 0; i < count; i++)
            span[i] = value;
    }
    Buffer(Buffer &&other) noexcept : span(other.span) { other.span = {nullptr, 0}; }
    Buffer &operator=(Buffer &&other) noexcept {
        Span<T> mine = span;
        span = other.span;
        other.span = mine;
        return *this;
    }
    ~Buffer() { std::free(span.data); }

    T &operator[](Index i) const { return span[i]; }
    T *data() const { return span.data; }
    Index size() const { return span.size; }
    T *begin() const { return span.begin(); }
    T *end() const { return span.end(); }
    operator Span<T>() const { return span; }
    operator Span<const T>() const { return span; }
    Span<T> first(Index count) const { return span.first(count); }
    Matrix<T> matrix(Index rows, Index columns) const { return {span.data, rows, columns}; }

  private:
    static T *allocate(Index count) {
        if (count < 0 || count > static_cast<Index>(PTRDIFF_MAX / sizeof(T)) - 64)
            throw std::bad_alloc();
        std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(T) / 64 + 1) * 64;
        void *memory = std::aligned_alloc(64, bytes);
        if (memory == nullptr)
            throw std::bad_alloc();
        return static_cast<T *>(memory);
    }

    Span<T> span;
};

// What a kernel and its caller tell each other while it runs: how much is done, and whether to stop.
struct Watch {
    Index *data;

    bool stopped() const { return __atomic_load_n(data + 1, __ATOMIC_RELAXED) != 0; }
    // The same at every 1024th of many short steps, not stopped at the others.
    bool stopped_at(Index step) const { return step % 1024 == 0 && stopped(); }
    void done(Index count) const { __atomic_store_n(data, count, __ATOMIC_RELAXED); }
};

// The border: sizes that do not fit are a ValueError in Python.
inline void require(bool holds, const char *message) {
    if (!holds)
        throw std::invalid_argument(message);
}

// Indices must lie in first .. end - 1.
template <class T> void require_indices(Span<const T> indices, Index first, Index end, const char *message) {
    bool inside = true;
    for (T i : indices)
        inside &= (first <= i) & (i < end);
    require(inside, message);
}

template <class T> void require_indices(Matrix<const T> indices, Index first, Index end, const char *message) {
    require_indices(Span<const T>{indices.data, indices.rows * indices.columns}, first, end, message);
}

// A permutation has every index once.
inline void require_permutation(Integers order, const char *message) {
    require_indices(order, 0, order.size, message);
    Buffer<bool> seen(order.size, false);
    for (Index i : order) {
        require(!seen[i], message);
        seen[i] = true;
    }
}

// Groups that follow each other: that at g has the places starts[g] .. starts[g + 1] - 1 of so many.
inline void require_starts(Integers starts, Index places, Index least, const char *message) {
    require(starts.size >= 1 && starts[0] >= 0 && starts[starts.size - 1] <= places, message);
    bool following = true;
    for (Index g = 0; g + 1 < starts.size; g++)
        following &= starts[g] <= starts[g + 1] && starts[g + 1] - starts[g] >= least;
    require(following, message);
}

// The size of a group: at least 1, and so small that no product of sizes overflows.
inline void require_k(Index k) { require(1 <= k && k <= Index{1} << 31, "k must be at least 1, and at most 2^31"); }

} // namespace shoal
