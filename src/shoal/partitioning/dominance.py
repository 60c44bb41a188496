"""Dominance: groups in which no contributor to a magnitude stands out, so that their totals give none away."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.types import Floats, Integers

SLACK = 1e-12  # of a total, by which a rule may be missed: sums are rounded
_DOWN = 2.0**-64  # a power of two with which no sum overflows


class Rules(NamedTuple):
    """The rules that every cell must satisfy [1]_.

    With the contributions x_1 >= x_2 >= ... to a cell and their total T:

    Attributes
    ----------
    p
        The p % rule: T - x_1 - x_2 >= p / 100 * x_1. Otherwise the second largest contributor, who takes its own
        contribution from the total, knows the largest to within p %. None if not asked for.
    n, share
        (n, k)-dominance: x_1 + ... + x_n <= share / 100 * T. None if not asked for.

    References
    ----------
    .. [1] A. Hundepool, J. Domingo-Ferrer, L. Franconi, S. Giessing, E. Schulte Nordholt, K. Spicer and P.-P. de Wolf,
       "Statistical disclosure control", Wiley 2012, section 4.2.
    """

    p: float | None = None
    n: int = 1
    share: float | None = None

    @property
    def most(self) -> int:
        """How many of the largest contributors matter."""
        return max(2 if self.p is not None else 1, self.n if self.share is not None else 1)


class Magnitudes(NamedTuple):
    """What records contribute to the totals of their cells."""

    values: Floats  # (n, m): a column for each magnitude, from zero up; NaN is no contribution
    contributors: Integers | None = None  # (n,): the unit of each record; None if each record is one
    weights: Floats | None = None  # (n,): survey weights

    def rows(self, which: Integers) -> "Magnitudes":
        """Return those of some records."""
        units, weights = self.contributors, self.weights
        return Magnitudes(
            self.values[which], units if units is None else units[which], weights if weights is None else weights[which]
        )


@dataclass(frozen=True)
class Cells:
    """The contributions to one magnitude in every cell; two can be added, piece by piece of a file.

    The contribution x of a unit to a cell is the sum of those of its records. With survey weights, T is the weighted
    total, and x counts as often as its weight tells, at least once: an enterprise of weight 3 stands for three of its
    size [1]_. The weight of a unit with several records is their mean, weighted by what they contribute.

    Attributes
    ----------
    cell, unit, x
        Of each contribution; no unit if every record is one of its own. Then only the largest are kept.
    mass
        x times its weight.
    total
        Of each cell.

    References
    ----------
    .. [1] A. Hundepool et al., "tau-ARGUS user's manual", Statistics Netherlands 2014.
    """

    cell: Integers
    unit: Integers | None
    x: Floats
    mass: Floats
    total: Floats

    @classmethod
    def of(cls, labels: Integers, magnitudes: Magnitudes, column: int, cells: int, most: int) -> "Cells":
        """Gather the contributions of some records; `most` of a cell are needed."""
        x = np.nan_to_num(magnitudes.values[:, column], nan=0.0) * _DOWN
        mass = x if magnitudes.weights is None else x * magnitudes.weights
        total = np.bincount(labels, mass, minlength=cells).astype(np.float64, copy=False)
        return cls(labels, magnitudes.contributors, x, mass, total)._combined(most)

    def plus(self, other: "Cells", most: int) -> "Cells":
        """Add the contributions of other records."""
        unit = None if self.unit is None or other.unit is None else np.concatenate([self.unit, other.unit])
        cell = np.concatenate([self.cell, other.cell])
        x, mass = np.concatenate([self.x, other.x]), np.concatenate([self.mass, other.mass])
        return Cells(cell, unit, x, mass, self.total + other.total)._combined(most)

    def _combined(self, most: int) -> "Cells":
        """Add up the records of a unit, and sort the contributions of a cell, the largest first."""
        cell, unit, x, mass = self.cell, self.unit, self.x, self.mass
        if unit is not None and len(unit):
            order = np.lexsort((unit, cell))
            cell, unit = cell[order], unit[order]
            first = np.flatnonzero(np.append(True, (cell[1:] != cell[:-1]) | (unit[1:] != unit[:-1])))
            x, mass = np.add.reduceat(x[order], first), np.add.reduceat(mass[order], first)
            cell, unit = cell[first], unit[first]
        order = np.lexsort((-x, cell))
        if unit is None:  # nothing is ever added to a contribution: the smaller ones are not needed again
            start = np.searchsorted(cell[order], np.arange(len(self.total)))
            order = order[np.arange(len(order)) - start[cell[order]] < most]
        return Cells(cell[order], None if unit is None else unit[order], x[order], mass[order], self.total)

    def margins(self, rules: Rules) -> Floats:
        """Return how far each cell is from breaking a rule, as a share of its total: negative if it does."""
        start = np.searchsorted(self.cell, np.arange(len(self.total) + 1))
        worst = np.full(len(self.total), np.inf)
        if rules.p is not None:
            largest = np.append(self.x, 0.0)[start[:-1]] * (start[1:] > start[:-1])
            worst = self.total - self._largest(start, 2) - rules.p / 100 * largest
        if rules.share is not None:
            worst = np.minimum(worst, rules.share / 100 * self.total - self._largest(start, rules.n))
        return np.asarray(np.divide(worst, self.total, out=np.zeros(len(worst)), where=self.total > 0))

    def _largest(self, start: Integers, n: int) -> Floats:
        """Return the sum of the n largest contributions to each cell."""
        left, found = np.full(len(start) - 1, float(n)), np.zeros(len(start) - 1)
        x, mass = np.append(self.x, 0.0), np.append(self.mass, 0.0)
        for rank in range(n):
            at = np.minimum(start[:-1] + rank, start[1:])
            there = (at < start[1:]) & (x[at] > 0)
            times = np.divide(mass[at], x[at], out=np.zeros(len(at)), where=there)
            used = np.where(there, np.minimum(np.maximum(times, 1.0), left), 0.0)
            found += used * x[at]
            left -= used
        return found


def margins(labels: Integers, magnitudes: Magnitudes, rules: Rules) -> Floats:
    """Return how far each group is from breaking a rule, for each magnitude: see `Cells.margins`.

    Labels have no gaps.
    """
    cells = int(labels.max(initial=-1)) + 1
    found = np.empty((cells, magnitudes.values.shape[1]))
    for j in range(found.shape[1]):
        found[:, j] = Cells.of(labels, magnitudes, j, cells, rules.most).margins(rules)
    return found


def dominated(labels: Integers, magnitudes: Magnitudes, rules: Rules) -> NDArray[np.bool_]:
    """Return which groups break a rule, for each magnitude."""
    return margins(labels, magnitudes, rules) < -SLACK
