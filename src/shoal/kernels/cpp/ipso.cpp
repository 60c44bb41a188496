// Hybrid data: synthetic values for the records of one group after the other; see shoal.kernels.ipso.
//
// Attributes lie in rows here, so that a row is one attribute of all members of a group and sums run over memory as it
// lies. Nothing is inverted and nothing is factored by Cholesky: whatever is constant or collinear inside a group only
// makes a basis shorter.
#include "ipso.hpp"

#include <algorithm>
#include <cmath>

namespace shoal::ISA {

namespace {

// A row (of length one) of which less than this is left, beside a basis, is a combination of that basis. Leaving it out
// moves a correlation by no more, and it is far above what rounding leaves of a true combination.
constexpr double LEAST = 1e-11;

double dot(Floats a, Floats b) {
    double total = 0.0;
    for (Index i = 0; i < a.size; i++)
        total += a[i] * b[i];
    return total;
}

// Take from a row its projection on a row of length one.
void remove(Span<double> row, Floats unit) {
    double share = dot(unit, row);
    for (Index i = 0; i < row.size; i++)
        row[i] -= share * unit[i];
}

// Rows of numbers, the first of which may be an orthonormal basis.
class Rows {
  public:
    Rows(Index count, Index length) : numbers(count * length), count(count), length(length) {}

    Span<double> operator[](Index r) const { return {numbers.data() + r * length, length}; }
    void copy(const Rows &other) const { std::copy(other.numbers.begin(), other.numbers.end(), numbers.begin()); }

    // Turn the first rows into an orthonormal basis of all, and return how many: the rank.
    //
    // Gram-Schmidt, with the longest of what is left as the next row. Its projection on those before it is removed once
    // more before it is brought to length one: twice is enough.
    Index orthonormal() {
        rank = 0;
        while (rank < count) {
            Index longest = rank;
            double square = 0.0;
            for (Index r = rank; r < count; r++) {
                double size = dot((*this)[r], (*this)[r]);
                if (size > square) {
                    longest = r;
                    square = size;
                }
            }
            if (square <= LEAST * LEAST)
                break;
            Span<double> row = (*this)[rank];
            if (longest != rank)
                std::swap_ranges(row.begin(), row.end(), (*this)[longest].begin());
            project_out(row);
            double size = std::sqrt(dot(row, row));
            for (double &x : row)
                x /= size;
            rank++;
            for (Index r = rank; r < count; r++)
                remove((*this)[r], row);
        }
        return rank;
    }

    // Take from a row its projection on the basis.
    void project_out(Span<double> row) const {
        for (Index b = 0; b < rank; b++)
            remove(row, (*this)[b]);
    }

    Buffer<double> numbers;
    Index count, length, rank = 0;
};

// Write each attribute of the members as a row of mean 0 and length 1, or of zeros if it is constant.
void standardise(Table X, Integers members, const Rows &rows, Span<double> centre, Span<double> length) {
    double count = static_cast<double>(members.size);
    for (Index j = 0; j < X.columns; j++) {
        Span<double> row = rows[j];
        // Differences from a member, not from 0: equal values give exact zeros, and their centre is their own value.
        double origin = X[members[0]][j], mean = 0.0, widest = 0.0;
        for (Index i = 0; i < members.size; i++) {
            row[i] = X[members[i]][j] - origin;
            mean += row[i];
        }
        mean /= count;
        for (double &x : row) {
            x -= mean;
            widest = std::max(widest, std::fabs(x));
        }
        centre[j] = origin + mean;
        length[j] = widest;
        if (widest > 0.0) {
            for (double &x : row)
                x /= widest;
            double size = std::sqrt(dot(row, row));
            for (double &x : row)
                x /= size;
            length[j] *= size;
        }
    }
}

// An orthonormal basis of span(1, Y).
Rows explaining(Table Y, Integers members) {
    Rows rows(Y.columns + 1, members.size);
    Buffer<double> centre(Y.columns), length(Y.columns);
    Span<double> ones = rows[Y.columns];
    std::fill(ones.begin(), ones.end(), 1.0 / std::sqrt(static_cast<double>(members.size)));
    standardise(Y, members, rows, centre, length);
    rows.orthonormal();
    return rows;
}

// Orthonormal rows of noise, orthogonal to (1, Y), drawn once; and to the original residuals U where these are given.
//
// Whatever is chosen among several draws by how unlike the original it is avoids the original's direction, which shows in
// repeated releases; noise regressed on X avoids it altogether.
Rows orthonormal_noise(Table noise, Integers members, Index count, const Rows &basis, const Rows *U) {
    Rows V(count, members.size);
    for (Index v = 0; v < count; v++) {
        for (Index i = 0; i < members.size; i++)
            V[v][i] = noise[members[i]][v];
        for (int twice = 0; twice < 2; twice++) {
            basis.project_out(V[v]);
            if (U != nullptr)
                U->project_out(V[v]);
        }
    }
    require(V.orthonormal() == count, "the random numbers are a combination of the data. Use another --seed");
    return V;
}

// Replace the residuals E by synthetic ones, made of noise.
//
// E = T'U with U an orthonormal basis of the residuals; U is replaced by as many orthonormal rows V of noise, which
// leaves E E' as it was (variant C of Burridge).
void replace_residuals(const Rows &E, const Rows &U, Table noise, Integers members, const Rows &basis,
                       bool orthogonal) {
    Index count = U.rank;
    Rows T(count, E.count);
    for (Index u = 0; u < count; u++)
        for (Index j = 0; j < E.count; j++)
            T[u][j] = dot(U[u], E[j]);
    Rows V = orthonormal_noise(noise, members, count, basis, orthogonal ? &U : nullptr);
    for (Index j = 0; j < E.count; j++) {
        std::fill(E[j].begin(), E[j].end(), 0.0);
        for (Index u = 0; u < count; u++)
            for (Index i = 0; i < E.length; i++)
                E[j][i] += T[u][j] * V[u][i];
    }
}

} // namespace

void synthesise(Table X, Table Y, Table noise, Integers order, Integers starts, bool orthogonal, Watch watch,
                Matrix<double> values, Span<double> room, Matrix<double> left) {
    Index n = X.rows, d = X.columns;
    require(Y.rows == n && noise.rows == n && noise.columns >= d && order.size == n,
            "Y, noise and order must have a row for each record, and noise the columns of X");
    require(values.rows == n && values.columns == d && room.size == n && left.rows == n && left.columns == d,
            "what is written must have the shape of X");
    require_indices(order, 0, n, "order must be of these records");
    require_starts(starts, n, 1, "groups must follow each other, and have records");
    Buffer<double> centre(d), length(d);
    for (Index g = 0; g < starts.size - 1 && !watch.stopped(); g++) {
        Integers members = order.from(starts[g]).first(starts[g + 1] - starts[g]);
        Rows basis = explaining(Y, members);
        Rows fitted(d, members.size), E(d, members.size);
        standardise(X, members, fitted, centre, length);
        E.copy(fitted);
        for (Index j = 0; j < d; j++) {
            basis.project_out(E[j]);
            basis.project_out(E[j]);
            double unexplained = length[j] > 0.0 ? dot(E[j], E[j]) : NOT_A_NUMBER;
            for (Index i : members)
                left[i][j] = unexplained;
        }
        for (Index at = 0; at < fitted.numbers.size(); at++)
            fitted.numbers[at] -= E.numbers[at];
        Rows U(d, members.size);
        U.copy(E);
        U.orthonormal();
        for (Index i = 0; i < members.size; i++) {
            double space = 1.0; // less the leverage of the member in the regression of noise
            for (Index b = 0; b < basis.rank; b++)
                space -= basis[b][i] * basis[b][i];
            for (Index u = 0; orthogonal && u < U.rank; u++)
                space -= U[u][i] * U[u][i];
            room[members[i]] = space;
        }
        replace_residuals(E, U, noise, members, basis, orthogonal);
        for (Index i = 0; i < members.size; i++)
            for (Index j = 0; j < d; j++)
                values[members[i]][j] = centre[j] + length[j] * (fitted[j][i] + E[j][i]);
    }
}

} // namespace shoal::ISA
