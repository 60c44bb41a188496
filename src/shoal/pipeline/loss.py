"""What a release costs, attribute by attribute according to its type: sums that pieces of the records add up to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, Scale
from shoal.pipeline.encode import balance
from shoal.pipeline.moments import Extent, moments
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, Codes

Sums = NDArray[np.float64]

_ROWS = 1 << 14  # records that are measured at a time

_BEYOND = 1e70  # standard deviations: what is published so far off is counted there, so that squares are numbers
_ROUNDING = 1e-12  # of the sum of squares: what is left of a constant when its mean is taken off


def costs(attributes: Sequence[Attribute], masked: Sequence[Codes], weights: Codes | None = None) -> dict[str, Any]:
    """Measure the loss of all records at once.

    Numbers and dates are measured as in `shoal.measures.loss`. If there are other types, or missing values, ``SSE`` and
    ``SST`` are sums of balanced squared distances (see `shoal.pipeline.encode`), and ``IL`` is the mean over the
    attributes of 100 SSE / SST, so that they count alike. Then ``types`` has the IL of each type.

    Returns
    -------
    dict
        As `shoal.measures.loss`, with the ``type`` of each attribute. For the others ``changed``, the percentage of
        records that publish another value than their own, how many miss it, and how many levels or categories there are
        before and after; for ordinal ones the mean of |level - published level| as ``levels_moved``, and as a share of
        the levels (``distance``); for nominal ones the ``total_variation``, half the sum of |share before - share
        after|.
    """
    losses = Losses(attributes, {each.name: scale_of(each.codes) for each in attributes if each.type in NUMBERS})
    codes = np.column_stack([attribute.codes for attribute in attributes])
    return losses.summary(losses.measure(codes, np.column_stack(list(masked)), weights))


def scale_of(codes: Codes) -> Scale:
    """Return the z-scores of a column, missing values left out."""
    low, high = np.fmin.reduce(codes, initial=np.inf), np.fmax.reduce(codes, initial=-np.inf)
    if not low <= high:
        return Scale(0.0, 0.0)
    return moments(codes[:, None], [Extent(float(low), float(high))]).scales()[0]


@dataclass(frozen=True)
class Losses:
    """Adds up what is lost.

    Attributes
    ----------
    attributes
        Of the records; without codes.
    scales
        Any that bring the numbers near one: what is measured does not depend on them, but for its last digits. One
        that is constant has no spread.
    """

    attributes: Sequence[Attribute]
    scales: Mapping[str, Scale]

    @property
    def _numbers(self) -> list[int]:
        return [j for j, attribute in enumerate(self.attributes) if attribute.type in NUMBERS]

    @property
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """What is added up: for each attribute; for each number or pair of numbers; for each level or category.

        All sums but ``gaps``, the records that miss a value before and after, count records by their weight. ``pairs``
        are the sums, before and after masking, over the records that have both of two numbers: how many, of the
        products, of the first, and of its squares.
        """
        d, m = len(self.attributes), len(self._numbers)
        one_each = ("missing_before", "missing_after", "lost", "changed", "moved", "squared")
        levels = sum(len(attribute.levels) for attribute in self.attributes if attribute.levels is not None)
        return {
            **dict.fromkeys(one_each, (d,)),
            "both_sum": (m,),
            "both_squares": (m,),
            "pairs": (2, 4, m, m),
            "levels": (2, levels),
            "records": (1,),
            "gaps": (2, d),
        }

    @property
    def size(self) -> int:
        """How many sums there are."""
        return sum(int(np.prod(shape)) for shape in self._shapes.values())

    def measure(self, codes: Matrix, published: Matrix, weights: Codes | None = None) -> Sums:
        """Measure some records, a piece at a time: what fits in a cache is quicker."""
        sums = np.zeros(self.size)
        for start in range(0, len(codes), _ROWS):
            piece = slice(start, start + _ROWS)
            sums += self._measure(codes[piece], published[piece], None if weights is None else weights[piece])
        return sums

    def _measure(self, codes: Matrix, published: Matrix, weights: Codes | None) -> Sums:
        missing, gone = np.isnan(codes), np.isnan(published)
        absent, lost = missing | gone, missing != gone
        X, Y = self.scaled(codes), self.scaled(published)
        apart = X - Y
        at = self._numbers
        categories = [j for j, attribute in enumerate(self.attributes) if attribute.type in CATEGORIES]
        apart[:, categories] = apart[:, categories] != 0
        both = X[:, at]
        if absent.any():
            apart, both = np.where(absent, 0.0, apart), np.where(absent[:, at], 0.0, both)
        w = np.ones(len(codes)) if weights is None else weights
        sums = {
            "missing_before": w @ missing,
            "missing_after": w @ gone,
            "lost": w @ lost,
            "changed": w @ (lost | (~absent & (codes != published))),
            "moved": w @ np.abs(apart),
            "squared": w @ apart**2,
            "both_sum": w @ both,
            "both_squares": w @ both**2,
            "pairs": np.stack([_pairs(X[:, at], w), _pairs(Y[:, at], w)]),
            "levels": np.stack([self._histograms(codes, w), self._histograms(published, w)]),
            "records": np.array([w.sum()]),
            "gaps": np.stack([missing.sum(axis=0), gone.sum(axis=0)]),
        }
        return np.concatenate([np.ravel(sums[name]) for name in self._shapes]).astype(np.float64)

    def scaled(self, codes: Matrix, which: Sequence[int] | None = None) -> Matrix:
        """Bring the numbers among some attributes, all if none are named, near one."""
        X = codes.copy()
        for at, j in enumerate(range(len(self.attributes)) if which is None else which):
            if self.attributes[j].type not in NUMBERS:
                continue
            scale = self.scales[self.attributes[j].name]
            with np.errstate(over="ignore"):
                scaled = (np.ldexp(X[:, at], -scale.exponent) - scale.shift) / (scale.spread or 1.0)
            X[:, at] = np.clip(scaled, -_BEYOND, _BEYOND)
        return X

    def _histograms(self, codes: Matrix, weights: Codes) -> Sums:
        found: list[NDArray[Any]] = [np.zeros(0)]
        for j, attribute in enumerate(self.attributes):
            if attribute.levels is not None:
                known = codes[:, j] < len(attribute.levels)  # not NaN, nor a category that the original has not
                found.append(np.bincount(codes[known, j].astype(np.int64), weights[known], len(attribute.levels)))
        return np.concatenate(found)

    def _named(self, sums: Sums) -> dict[str, NDArray[np.float64]]:
        found, at = {}, 0
        for name, shape in self._shapes.items():
            size = int(np.prod(shape))
            found[name] = sums[at : at + size].reshape(shape)
            at += size
        return found

    def missing(self, sums: Sums) -> dict[str, tuple[int, int]]:
        """Return how many records miss each attribute before and after masking."""
        before, after = self._named(sums)["gaps"]
        return {each.name: (int(before[j]), int(after[j])) for j, each in enumerate(self.attributes)}

    def correlations(self, sums: Sums, *, after: bool = False) -> Matrix:
        """Return Pearson's correlations of the numbers, before or after masking."""
        return _correlations(self._named(sums)["pairs"][int(after)])

    def histograms(self, sums: Sums) -> dict[str, NDArray[np.float64]]:
        """Return for each attribute that has levels how many records, by weight, have each: before and after."""
        return {self.attributes[j].name: found for j, found in self._levels(self._named(sums)).items()}

    def _levels(self, named: Mapping[str, Any]) -> dict[int, NDArray[np.float64]]:
        """Return the histograms before and after of each attribute that has levels."""
        found, at = {}, 0
        for j, attribute in enumerate(self.attributes):
            if attribute.levels is not None:
                found[j] = named["levels"][:, at : at + len(attribute.levels)]
                at += len(attribute.levels)
        return found

    def summary(self, sums: Sums) -> dict[str, Any]:
        """Return what was lost: see `costs`."""
        named = self._named(sums)
        found = self._of_numbers(named)
        rows = found["attributes"]
        for j, histograms in self._levels(named).items():
            rows[self.attributes[j].name] = self._of_levels(named, j, histograms)
        for attribute in self.attributes:
            rows[attribute.name]["type"] = attribute.type
        found["attributes"] = {attribute.name: rows[attribute.name] for attribute in self.attributes}
        gaps = named["missing_after"].any() or named["missing_before"][self._numbers].any()
        if len(self._numbers) < len(self.attributes) or gaps:
            found |= self._distances(named, found["attributes"])
        return found

    def _of_numbers(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """Return `shoal.measures.loss` of the numbers: on z-scores of the original."""
        at = self._numbers
        before, after = (_moments(pairs) for pairs in named["pairs"])
        varies, variance = self._variances(named)
        records = named["records"][0] - (named["missing_before"] + named["missing_after"] + named["lost"])[at] / 2
        # around the mean of all values, not of those that are in both files
        total = named["both_squares"] - 2 * before[0] * named["both_sum"] + records * before[0] ** 2
        total = np.where(varies, total / variance, 0.0)
        squared = np.where(varies, named["squared"][at] / variance, 0.0)
        change = np.abs(_correlations(named["pairs"][1]) - _correlations(named["pairs"][0]))
        rows: dict[str, Any] = {}
        for i, j in enumerate(at):
            counts = bool(total[i] > 0)
            rows[self.attributes[j].name] = {
                "IL": percent(squared[i], total[i]),
                "mean_change": float((after[0][i] - before[0][i]) / np.sqrt(variance[i])) if counts else None,
                "variance_ratio": float(after[1][i] / variance[i]) if counts else None,
                "correlation_change": float(change[i].max()) if len(at) > 1 else None,
            }
            if not counts:
                rows[self.attributes[j].name]["changed"] = bool(named["changed"][j] > 0)
        return {
            "SSE": float(squared.sum()),
            "SST": float(total.sum()),
            "IL": percent(squared.sum(), total.sum()),
            "correlation_change": float(change.max()) if len(at) > 1 else None,
            "attributes": rows,
        }

    def _variances(self, named: Mapping[str, Any]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Find which numbers vary, and return their variances on the scale of the sums; 1 where they do not."""
        spread = np.array([self.scales[self.attributes[j].name].spread for j in self._numbers])
        variance = _moments(named["pairs"][0])[1]
        varies = (spread > 0) & (variance > 0)
        return varies, np.where(varies, variance, 1.0)

    def _of_levels(self, named: Mapping[str, Any], j: int, histograms: NDArray[np.float64]) -> dict[str, Any]:
        """Return the row of an ordinal or nominal attribute."""
        n = named["records"][0]
        missing = {when: float(100 * named[when][j] / n) for when in ("missing_before", "missing_after")}
        before, after = histograms
        row: dict[str, Any] = {
            "IL": None,
            "changed": float(100 * named["changed"][j] / n),
            "categories_before": int((before > 0).sum()),
            "categories_after": int((after > 0).sum()),
            "categories_vanished": int(((before > 0) & (after == 0)).sum()),
        }
        if self.attributes[j].type not in CATEGORIES:
            both = n - (named["missing_before"] + named["missing_after"] + named["lost"])[j] / 2
            moved = float(named["moved"][j] / both) if both else None
            distance = None if moved is None else moved / histograms.shape[1]
            return {**row, "levels_moved": moved, "distance": distance, **missing}
        row["total_variation"] = None
        if before.sum() and after.sum():
            row["total_variation"] = float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)
        return {**row, **missing}

    def _distances(self, named: Mapping[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
        """Sum up squared distances over attributes of all types, and give each of the `rows` its IL."""
        n, missing = named["records"][0], named["missing_before"]
        unit, apart = self._units(named)
        spread = np.zeros(len(self.attributes))
        for j, varies, variance in zip(self._numbers, *self._variances(named), strict=True):
            spread[j] = (n - missing[j]) * unit[j] * variance * varies
        for j, (before, _) in self._levels(named).items():
            if self.attributes[j].type in CATEGORIES:
                spread[j] = (before.sum() - before.max(initial=0.0)) * unit[j]
            else:
                median = np.searchsorted(np.cumsum(before), before.sum() / 2)
                spread[j] = before @ (np.arange(len(before)) - median) ** 2 * unit[j]
        total = np.where(missing > n - missing, (n - missing) * apart, spread + missing * apart)
        squared = np.where(total > 0, named["squared"] * unit + named["lost"] * apart, 0.0)
        return self._by_type(squared, total, rows)

    def units(self, sums: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what balances each attribute: see `shoal.pipeline.encode.Balance`; numbers as `scaled` has them."""
        return self._units(self._named(sums))

    def _units(self, named: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        d = len(self.attributes)
        n, missing = named["records"][0], named["missing_before"]
        unit, apart = np.ones(d), np.ones(d)
        for j, varies, variance in zip(self._numbers, *self._variances(named), strict=True):
            counts = np.array([n - missing[j], missing[j]])
            unit[j], apart[j] = balance(self.attributes[j].type, counts, float(varies))
            unit[j] = unit[j] / variance if varies else 0.0
        for j, (before, _) in self._levels(named).items():
            unit[j], apart[j] = balance(self.attributes[j].type, np.append(before, missing[j]))
        return unit, apart

    def _by_type(self, squared: Codes, total: Codes, rows: dict[str, Any]) -> dict[str, Any]:
        """Add the IL to each of the `rows`, and return the mean IL of all attributes and of those of a type."""
        by_type: dict[str, list[float | None]] = {}
        for j, attribute in enumerate(self.attributes):
            rows[attribute.name]["IL"] = lost = percent(squared[j], total[j])
            by_type.setdefault(attribute.type, []).append(lost)
        return {
            "SSE": float(squared.sum()),
            "SST": float(total.sum()),
            "IL": _mean([row["IL"] for row in rows.values()]),
            "types": {type_: _mean(each) for type_, each in by_type.items()},
        }


def percent(squared: float, total: float) -> float | None:
    """Return 100 SSE / SST; None for what is constant."""
    return float(100 * squared / total) if total > 0 else None


def _mean(losses: Sequence[float | None]) -> float | None:
    """Return the mean loss of attributes that vary; None if there is none."""
    known = [each for each in losses if each is not None]
    return float(np.mean(known)) if known else None


def _pairs(Z: Matrix, weights: Codes) -> NDArray[np.float64]:
    """Sum up over the records that have both of two numbers; see `Losses._shapes`."""
    if not np.isnan(Z).any():
        weighted = Z * weights[:, None]
        total, squares = weights @ Z, np.einsum("ij,ij->j", weighted, Z)
        m = Z.shape[1]
        ones = np.ones((m, m))
        return np.stack([weights.sum() * ones, weighted.T @ Z, total[:, None] * ones, squares[:, None] * ones])
    present = (~np.isnan(Z)).astype(np.float64)
    values = np.nan_to_num(Z, nan=0.0)
    w = weights[:, None]
    return np.stack(
        [(present * w).T @ present, (values * w).T @ values, (values * w).T @ present, (values**2 * w).T @ present]
    )


def _moments(pairs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of each number."""
    count, _, total, squares = (np.diagonal(each) for each in pairs)
    count = np.where(count > 0, count, 1.0)
    mean = total / count
    return mean, np.maximum(squares / count - mean**2, 0.0)


def _correlations(pairs: NDArray[np.float64]) -> Matrix:
    """Return Pearson's correlations; 0 where one of the two is constant, 1 with itself."""
    count, products, total, squares = pairs
    count = np.where(count > 0, count, 1.0)
    spread = squares - total**2 / count
    # what is left of a constant are rounding errors of its squares
    spread = np.where(spread > _ROUNDING * squares, spread, 0.0)
    both = np.sqrt(spread * spread.T)
    R: Matrix = np.divide(products - total * total.T / count, both, out=np.zeros_like(both), where=both > 0)
    np.fill_diagonal(R, 1.0)
    return R
