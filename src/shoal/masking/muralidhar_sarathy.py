"""Muralidhar-Sarathy: hybrid data that mix every record with noise, in a given proportion.

Sensitive attributes are masked by x' = gamma + x alpha' + y beta' + e. With S the covariance matrix of X given Y (that
of the residuals of X regressed on Y),

- beta' = S_YY^-1 S_YX (I - alpha'), gamma = (I - alpha) mean(X) - beta mean(Y),
- e has mean 0, the covariance matrix S - alpha S alpha', and is uncorrelated with X and Y,

so that x' = fitted + residual alpha' + e. Means of X, covariances of X and of X with Y stay exactly what they were
[1]_. Alpha is one number for all attributes (always possible), one for each, or a matrix. 0 is a synthetic file; the
nearer to 1, the more of each record is its own. Anyone who knows the seed can remove the noise, so it must not be
published.

As the noise is uncorrelated with X, the products of published and original residuals are alpha S, which is known:
equations for the values of each attribute, one for each of the others. If values are whole numbers of few digits and
records are few, they can be solved, which is why small files are refused.

All that the method must know of the whole file are means of products. They are exact sums over pieces of the records,
so it does not matter where these are:

1. `gram` of (1, Y, X) gives the `Regression` of X on Y (`regress`);
2. `gram` of its columns beside random numbers, one row a record, gives the `Mixture` (`mix`);
3. the mixture masks any piece of the records.

References
----------
.. [1] K. Muralidhar and R. Sarathy, "Generating sufficiency-based non-synthetic perturbed data", Transactions on Data
   Privacy 1 (2008) 17-33; J. Domingo-Ferrer, "Microaggregation-based numerical hybrid data", Joint UNECE/Eurostat work
   session on statistical data confidentiality, Bilbao 2009, section 4.1.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import DataError
from shoal.kernels.exact_sum import DIGITS, UNIT, sum_of_products, whole
from shoal.kernels.standardize import Matrix

Column = NDArray[np.float64]
Decimals = NDArray[Any]  # of Decimal

# The least number of records, in all and for each attribute.
LEAST_RECORDS, PER_ATTRIBUTE = 100, 10
# An alpha of 1 would publish the original; the nearest that is offered instead.
MOST = 0.99
# What is smaller than this, in units of standard deviations, is the rounding error of a zero.
ROUNDING = 1e-10
STEPS = 1000
_PRECISION = 80  # decimal digits: columns may be collinear but for 1e-10, and sums are exact


@dataclass(frozen=True)
class Gram:
    """Sums of the products of columns over some records, as whole numbers of 2^-1074: those above the diagonal too."""

    records: int
    products: tuple[int, ...]

    def __add__(self, other: "Gram") -> "Gram":
        pairs = zip(self.products, other.products, strict=True)
        return Gram(self.records + other.records, tuple(one + two for one, two in pairs))

    def means(self) -> Decimals:
        """Return the means of the products, as a matrix."""
        size = int(np.sqrt(2 * len(self.products)))
        found = np.empty((size, size), dtype=object)
        rows, columns = np.tril_indices(size)
        found[rows, columns] = [Decimal(each) / (UNIT * self.records) for each in self.products]
        found[columns, rows] = found[rows, columns]
        return found


def gram(Z: Matrix) -> Gram:
    """Add up the products of columns over some records, without any rounding."""
    return Gram(len(Z), tuple(map(whole, sum_of_products(np.ascontiguousarray(Z), DIGITS))))


def beside_one(*Z: Matrix) -> Matrix:
    """Return (1, Y, X) or (1, Y) of some records, which are in standard deviations of the whole file."""
    return np.column_stack([np.ones(len(Z[0])), *Z])


@dataclass(frozen=True)
class Regression:
    """X given Y: what there is to mix, and in which proportion."""

    of_y: Matrix  # combinations of (1, Y), one a column, that are orthonormal over all records
    fit: Matrix  # of these to X: what is left are residuals
    of_x: Matrix  # combinations of the residuals that are orthonormal
    own: Matrix  # alpha, in standard deviations
    left: Column  # of each attribute: 1 less R squared of its regression on Y; near 0, Y nearly gives it away

    def basis(self, Zy: Matrix, Zx: Matrix) -> Matrix:
        """Return both combinations side by side, of some records."""
        fitted = _product(beside_one(Zy), self.of_y)
        return np.column_stack([fitted, _product(Zx - _product(fitted, self.fit), self.of_x)])

    def columns(self, Zy: Matrix, Zx: Matrix, drawn: Matrix) -> Matrix:
        """Return what a mixture is made from: the basis, X, and random numbers, of some records."""
        return np.column_stack([self.basis(Zy, Zx), Zx, drawn])

    def room(self, Zy: Matrix, Zx: Matrix, records: int) -> Column:
        """Return for some of so many records 1 less their leverage; near 0, there is hardly any noise."""
        found: Column = 1 - np.square(self.basis(Zy, Zx)).sum(axis=1) / records
        return found


@dataclass(frozen=True)
class Mixture:
    """The linear map of a record and its random numbers to what is published."""

    regression: Regression  # of X on Y
    fit: Matrix  # of the combinations of (1, Y), as they are computed, to X: what is left are residuals
    noise: Matrix  # of `Regression.columns` to the noise

    def change(self, Zy: Matrix, Zx: Matrix, drawn: Matrix) -> Matrix:
        """Return by how much X is lowered in some records: residual (1 - alpha') - e, in standard deviations."""
        columns = self.regression.columns(Zy, Zx, drawn)
        residuals = Zx - _product(columns[:, : len(self.fit)], self.fit)
        residuals[:, self.regression.left <= ROUNDING**2] = 0.0
        return _product(residuals, np.eye(Zx.shape[1]) - self.regression.own.T) - _product(columns, self.noise)


def regress(found: Gram, q: int, alpha: ArrayLike, deviation: Column, exponents: NDArray[np.int32]) -> Regression:
    """Regress X on Y, and refuse an alpha that leaves no room for noise.

    `found` is that of (1, Y, X) in standard deviations, zero where constant; Y has q attributes. The standard
    deviations of X are `deviation` times two to the power of its exponent.
    """
    with localcontext() as context:
        context.prec = _PRECISION
        products = found.means()
        p = len(products) - 1 - q
        _refuse_few(found.records, p, q)
        sweep = _Sweep(products)
        of_y = np.array([*sweep.orthonormal([0]), *sweep.orthonormal(range(1, 1 + q))])
        fit = of_y @ products[:, 1 + q :]
        residuals = sweep.left[1 + q :, 1 + q :]
        of_x = np.array(_Sweep(residuals).orthonormal(range(p))).reshape(-1, p)
    S = residuals.astype(np.float64)
    left = np.diag(S)
    own = _in_deviations(alpha, np.where(deviation > 0, deviation, 1.0), exponents)
    _refuse_inadmissible(own, _without(S, left), np.asarray(alpha, dtype=np.float64))
    return Regression(
        of_y[:, : 1 + q].T.astype(np.float64),
        fit.astype(np.float64),
        of_x.T.astype(np.float64),
        _matrix(own, p),
        np.where(deviation > 0, np.maximum(left, 0.0), 1.0),
    )


def mix(regression: Regression, found: Gram) -> Mixture:
    """Return the mixture whose noise has exactly the means, variances and covariances that it must have.

    `found` is that of the regression's `columns`, computed again as basis and random numbers are rounded. A ValueError
    if the random numbers are a combination of the data.
    """
    own, (r, p) = regression.own, regression.fit.shape
    both = r + regression.of_x.shape[1]
    with localcontext() as context:
        context.prec = _PRECISION
        sweep = _Sweep(found.means())
        for column in range(r):
            sweep.out(column)
        fit = -sweep.made[both : both + p, :r].astype(np.float64).T
        S = _without(sweep.left[both : both + p, both : both + p].astype(np.float64), regression.left)
        for column in range(r, both):
            sweep.out(column)
        root = _root(S - own @ S @ own.T)
        noise = []
        for column in range(both + p, both + p + len(root)):
            if sweep.left[column, column] < ROUNDING**2:
                raise DataError("random-numbers-dependent")
            noise.append(sweep.out(column))
    made = np.array(noise, dtype=np.float64).reshape(len(root), both + 2 * p)
    return Mixture(regression, fit, made.T @ root)


def _without(S: Matrix, left: Column) -> Matrix:
    """Return covariances of residuals, with zeros for those that are the rounding error of a zero."""
    there = left > ROUNDING**2
    return np.where(there & there[:, None], S, 0.0)


class _Sweep:
    """Gram-Schmidt on columns of which only the means of products are known.

    `left` are the means of products of what is left of the columns, beside those that were swept out; `made`, in the
    rows, how that is made from the columns.
    """

    def __init__(self, products: Decimals) -> None:
        self.size = len(products)
        self.left = products
        self.made = np.array([[Decimal(int(i == j)) for j in range(self.size)] for i in range(self.size)], dtype=object)

    def out(self, column: int) -> Decimals:
        """Sweep a column out of all others; return how what was left of it is made, with a mean square of one."""
        own, with_all = self.made[column], self.left[:, column]
        square = with_all[column]
        self.left = self.left - np.outer(with_all, with_all) / square
        self.made = self.made - np.outer(with_all / square, own)
        made: Decimals = own / square.sqrt()
        return made

    def orthonormal(self, columns: Any) -> list[Decimals]:
        """Sweep some columns out, the largest first; those of which no more than rounding is left are passed over."""
        found, waiting = [], list(columns)
        while waiting:
            column = max(waiting, key=lambda each: self.left[each, each])
            if self.left[column, column] <= ROUNDING**2:
                break
            waiting.remove(column)
            found.append(self.out(column))
        return found


def admissible_near(alpha: ArrayLike, S: Matrix) -> Matrix:
    """Return an alpha near the one requested, or itself, for which S - alpha S alpha' is positive semidefinite.

    It lies on the straight way from there (its diagonal brought between 0 and 1) to the same level for all attributes,
    the mean of the diagonal. That end is always admissible, and as admissible alphas are a convex set, what is past the
    first one is admissible too. The way is gone in thousandths, so that what is offered has few digits.
    """
    asked = np.array(alpha, dtype=np.float64)
    diagonal = np.diagonal(asked) if asked.ndim == 2 else asked
    within = np.where(diagonal >= 1, MOST, np.maximum(diagonal, 0.0))
    end = np.broadcast_to(within.mean(), within.shape)
    if asked.ndim == 2:
        asked, end = asked - np.diag(diagonal - within), np.diag(end)
    else:
        asked = within
    low, high = 0, STEPS  # the first admissible step is beyond low - 1, and not beyond high
    while low < high:
        middle = (low + high) // 2
        if _admissible(asked + (end - asked) * (middle / STEPS), S):
            high = middle
        else:
            low = middle + 1
    found: Matrix = asked + (end - asked) * (high / STEPS)
    return found


def _refuse_few(n: int, p: int, q: int) -> None:
    least = max(LEAST_RECORDS, PER_ATTRIBUTE * (p + q))
    if n < least:
        raise DataError("too-few-for-ms", records=n, least=least, base=LEAST_RECORDS, each=PER_ATTRIBUTE)


def _in_deviations(alpha: ArrayLike, deviation: Column, exponents: NDArray[np.int32]) -> Matrix:
    """Return alpha for attributes in units of their standard deviations; only what is off a diagonal changes."""
    given = np.asarray(alpha, dtype=np.float64)
    if given.ndim < 2:
        return given
    scale = np.ldexp(deviation / deviation[:, None], exponents - exponents[:, None])
    return np.where(given == 0, 0.0, given * np.where(given == 0, 1.0, scale))


def _refuse_inadmissible(own: Matrix, S: Matrix, alpha: Matrix) -> None:
    """Refuse an alpha (`own`, in standard deviations), and offer another, in the units of the alpha given."""
    matrix = _matrix(own, len(S))
    diagonal = np.diag(matrix)
    near = admissible_near(own, S)
    offered = near if alpha.ndim < 2 else near * np.divide(alpha, own, out=np.ones_like(alpha), where=own != 0)
    rounded = np.round(offered, 6).tolist()
    if not ((diagonal >= 0) & (diagonal < 1)).all():
        raise DataError("alpha-out-of-range", field="alpha", offered=rounded)
    if not _admissible(matrix, S):
        raise DataError("alpha-inadmissible", offered=rounded)


def _matrix(alpha: ArrayLike, p: int) -> Matrix:
    """Return alpha, given as a number, as p numbers or as a matrix, as a matrix of p by p."""
    given = np.asarray(alpha, dtype=np.float64)
    return given if given.ndim == 2 else np.eye(p) * given


def _admissible(alpha: Matrix, S: Matrix) -> bool:
    """Return whether S - alpha S alpha' is positive semidefinite, whatever the units."""
    deviation = np.sqrt(np.where(np.diag(S) > 0, np.diag(S), 1.0))
    R = S / np.outer(deviation, deviation)
    own = _matrix(alpha, len(S)) * deviation / deviation[:, None]
    return bool(np.linalg.eigvalsh(R - own @ R @ own.T).min(initial=0.0) >= -ROUNDING)


def _root(S: Matrix) -> Matrix:
    """Return C with C'C = S and as many rows as S has rank."""
    values, vectors = np.linalg.eigh(S)
    positive = values > ROUNDING
    C: Matrix = np.sqrt(values[positive])[:, None] * vectors[:, positive].T
    return C


def _product(A: Matrix, B: Matrix) -> Matrix:
    """Return A B, each row computed alike whatever others there are, which matrix products do not promise."""
    found = np.zeros((len(A), B.shape[1]))
    for column, row in zip(A.T, B, strict=True):
        found += column[:, None] * row
    return found
