// Sums of float64 that are exact, also after any number of subtractions; see shoal.kernels.exact_sum.
#include "exact_sum.hpp"

#include <cmath>
#include <cstring>

namespace shoal::ISA {

namespace {

constexpr Index DIGIT = (Index{1} << 32) - 1;
constexpr Index FRACTION = (Index{1} << 52) - 1;
constexpr double SPLITTER = (1 << 27) + 1;

// Bring every digit but the last, which has the sign, into 0 .. 2^32 - 1; the value stays the same.
void carry(Span<Index> digits) {
    for (Index i = 0; i < digits.size - 1; i++) {
        digits[i + 1] += digits[i] >> 32;
        digits[i] &= DIGIT;
    }
}

// The double nearest to the value of carried, non-negative digits; ties go to the even one.
double rounded(Span<Index> digits, Index first) {
    Index top = digits.size - 1;
    while (top >= 0 && digits[top] == 0)
        top--;
    if (top < 0)
        return 0.0;
    // 62 bits from the leading one on; what lies below them only matters as 'more than nothing' (the sticky last bit).
    Index window = digits[top];
    Index width = 64 - __builtin_clzll(static_cast<unsigned long long>(window));
    Index exponent = 32 * (first + top) - 1074;
    bool sticky = false;
    for (Index i = top - 1; i >= 0; i--) {
        Index room = 62 - width < 0 ? 0 : 62 - width < 32 ? 62 - width : 32;
        Index rest = 32 - room;
        window = (window << room) | (digits[i] >> rest);
        sticky |= (digits[i] & ((Index{1} << rest) - 1)) != 0;
        width += room;
        exponent -= room;
    }
    if (sticky)
        window |= 1;
    return std::ldexp(static_cast<double>(window), static_cast<int>(exponent));
}

void negate(Span<Index> digits) {
    for (Index &digit : digits)
        digit = -digit;
}

// The upper half of the digits of a double.
double high_half(double x) {
    double scaled = SPLITTER * x;
    return scaled - (scaled - x);
}

Index bits_of(double x) {
    Index bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

void require_digits(Matrix<Index> total, Index first) {
    require(total.columns >= 1 && 0 <= first && first < 64, "sums must have digits, from one of a double on");
}

// Add a double, given as its bits, to the digits of a sum.
inline void add(Span<Index> digits, Index first, Index value, Index sign) {
    Index exponent = (value >> 52) & 2047;
    Index significand = value & FRACTION;
    if (exponent == 0) {
        if (significand == 0)
            return;
        exponent = 1;
    } else
        significand |= Index{1} << 52;
    Index s = value < 0 ? -sign : sign;
    Index place = exponent - 1;
    Index digit = (place >> 5) - first;
    require(digit >= 0 && digit + 2 < digits.size, "the sum has too few digits for its values");
    Index shift = place & 31;
    Index low = (significand & DIGIT) << shift;
    Index high = (significand >> 32) << shift;
    digits[digit] += s * (low & DIGIT);
    digits[digit + 1] += s * ((low >> 32) + (high & DIGIT));
    digits[digit + 2] += s * (high >> 32);
}

} // namespace

std::pair<Index, Index> digit_range(Integers bits) {
    Index low = 2047, high = 0;
    for (Index value : bits) {
        if ((value & ~(Index{1} << 63)) != 0) {
            Index exponent = (value >> 52) & 2047;
            low = exponent < low ? exponent : low;
            high = exponent > high ? exponent : high;
        }
    }
    Index least = low < high ? low : high;
    Index first = (least > 1 ? least - 1 : 0) >> 5;
    // three digits of the largest value, and one for carries and sign
    return {first, ((high > 1 ? high - 1 : 0) >> 5) - first + 4};
}

void add_record(Matrix<Index> total, Index first, Integers record, Index sign) {
    require(total.rows == record.size, "total must have a row for each value of the record");
    require_digits(total, first);
    require(sign == 1 || sign == -1, "the sign must be 1 or -1");
    for (Index j = 0; j < record.size; j++)
        add(total.row(j), first, record[j], sign);
}

void mean_of(Matrix<Index> total, Index first, Index count, Span<double> mean) {
    require(total.rows == mean.size, "total must have a row for each value of the mean");
    require_digits(total, first);
    for (Index j = 0; j < total.rows; j++) {
        Span<Index> digits = total.row(j);
        carry(digits);
        double sign = 1.0;
        if (digits[digits.size - 1] < 0) {
            sign = -1.0;
            negate(digits);
            carry(digits);
        }
        mean[j] = sign * rounded(digits, first) / static_cast<double>(count);
        if (sign < 0.0)
            negate(digits);
    }
}

void sum_of(Matrix<const Index> bits, Index first, Matrix<Index> total) {
    for (Index i = 0; i < bits.rows; i++)
        add_record(total, first, bits.row(i), 1);
}

void sum_of_products(Table Z, Watch watch, Matrix<Index> total) {
    Index m = Z.columns;
    require(total.rows == m * (m + 1) / 2, "total must have a row for each pair of columns");
    Buffer<double> high(m);
    for (Index r = 0; r < Z.rows && !watch.stopped_at(r); r++) {
        const double *z = Z[r];
        for (Index i = 0; i < m; i++)
            high[i] = high_half(z[i]);
        Index at = 0;
        for (Index i = 0; i < m; i++) {
            double low_i = z[i] - high[i];
            for (Index j = 0; j <= i; j++, at++) {
                double low_j = z[j] - high[j];
                double product = z[i] * z[j];
                double error = high[i] * high[j] - product;
                add(total.row(at), 0, bits_of(product), 1);
                add(total.row(at), 0, bits_of(((error + high[i] * low_j) + low_i * high[j]) + low_i * low_j), 1);
            }
        }
    }
}

} // namespace shoal::ISA
