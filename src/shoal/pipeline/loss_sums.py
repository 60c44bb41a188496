"""What a release costs, added up block by block: the measures of `shoal.pipeline.loss` without all records at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, Scale
from shoal.pipeline.loss import by_type, percent
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute

Sums = NDArray[np.float64]


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

        ``pairs`` are the sums, before and after masking, over the records that have both of two numbers: how many,
        of the products, of the first, and of its squares.
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
        }

    @property
    def size(self) -> int:
        """How many sums there are."""
        return sum(int(np.prod(shape)) for shape in self._shapes.values())

    def measure(self, codes: Matrix, published: Matrix) -> Sums:
        """Measure some records."""
        missing, gone = np.isnan(codes), np.isnan(published)
        lost = missing != gone
        X, Y = self._scaled(codes), self._scaled(published)
        apart = np.where(missing | gone, 0.0, X - Y)
        at = self._numbers
        other = np.setdiff1d(np.arange(X.shape[1]), at)
        apart[:, other] = np.where(self._is_category()[other], apart[:, other] != 0, apart[:, other])
        both = np.where(missing | gone, 0.0, X)[:, at]
        sums = {
            "missing_before": missing.sum(axis=0),
            "missing_after": gone.sum(axis=0),
            "lost": lost.sum(axis=0),
            "changed": (lost | (~missing & ~gone & (codes != published))).sum(axis=0),
            "moved": np.abs(apart).sum(axis=0),
            "squared": np.einsum("ij,ij->j", apart, apart),
            "both_sum": both.sum(axis=0),
            "both_squares": np.einsum("ij,ij->j", both, both),
            "pairs": np.stack([_pairs(X[:, at]), _pairs(Y[:, at])]),
            "levels": np.stack([self._histograms(codes), self._histograms(published)]),
            "records": np.array([len(codes)]),
        }
        return np.concatenate([np.ravel(sums[name]) for name in self._shapes]).astype(np.float64)

    def _scaled(self, codes: Matrix) -> Matrix:
        X = codes.copy()
        for j in self._numbers:
            scale = self.scales[self.attributes[j].name]
            X[:, j] = (X[:, j] - scale.shift) / (scale.spread or 1.0)
        return X

    def _is_category(self) -> NDArray[np.bool_]:
        return np.array([attribute.type in CATEGORIES for attribute in self.attributes])

    def _histograms(self, codes: Matrix) -> Sums:
        found: list[NDArray[Any]] = [np.zeros(0)]
        for j, attribute in enumerate(self.attributes):
            if attribute.levels is not None:
                present = codes[~np.isnan(codes[:, j]), j].astype(np.int64)
                found.append(np.bincount(present, minlength=len(attribute.levels)))
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
        named = self._named(sums)
        pairs = zip(self.attributes, named["missing_before"], named["missing_after"], strict=True)
        return {attribute.name: (int(before), int(after)) for attribute, before, after in pairs}

    def used(self, sums: Sums) -> dict[str, NDArray[np.bool_]]:
        """Return which levels or categories of each attribute are published."""
        return {self.attributes[j].name: after > 0 for j, (_, after) in self._levels(self._named(sums)).items()}

    def _levels(self, named: Mapping[str, Any]) -> dict[int, NDArray[np.float64]]:
        """Give the histograms before and after of each attribute that has levels."""
        found, at = {}, 0
        for j, attribute in enumerate(self.attributes):
            if attribute.levels is not None:
                found[j] = named["levels"][:, at : at + len(attribute.levels)]
                at += len(attribute.levels)
        return found

    def summary(self, sums: Sums) -> dict[str, Any]:
        """Give what `shoal.pipeline.loss.costs` gives for all records at once."""
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
        """Give `shoal.measures.loss` of the numbers: on z-scores of the original."""
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
        """Tell which numbers vary, and give their variances on the scale of the sums; 1 where they do not."""
        spread = np.array([self.scales[self.attributes[j].name].spread for j in self._numbers])
        variance = _moments(named["pairs"][0])[1]
        varies = (spread > 0) & (variance > 0)
        return varies, np.where(varies, variance, 1.0)

    def _of_levels(self, named: Mapping[str, Any], j: int, histograms: NDArray[np.float64]) -> dict[str, Any]:
        """Give `shoal.measures.ordinal_loss` or `shoal.measures.nominal_loss`."""
        n = named["records"][0]
        missing = {when: float(100 * named[when][j] / n) for when in ("missing_before", "missing_after")}
        row: dict[str, Any] = {"IL": None, "changed": float(100 * named["changed"][j] / n)}
        if self.attributes[j].type not in CATEGORIES:
            both = n - (named["missing_before"] + named["missing_after"] + named["lost"])[j] / 2
            moved = float(named["moved"][j] / both) if both else None
            distance = None if moved is None else moved / histograms.shape[1]
            return {**row, "levels_moved": moved, "distance": distance, **missing}
        before, after = histograms
        row["total_variation"] = None
        if before.sum() and after.sum():
            row["total_variation"] = float(np.abs(before / before.sum() - after / after.sum()).sum() / 2)
        row["categories_before"] = int((before > 0).sum())
        row["categories_after"] = int((after > 0).sum())
        row["categories_vanished"] = int(((before > 0) & (after == 0)).sum())
        return {**row, **missing}

    def _distances(self, named: Mapping[str, Any], rows: dict[str, Any]) -> dict[str, Any]:
        """Sum up squared distances over attributes of all types, and give each of the `rows` its IL."""
        d = len(self.attributes)
        n, missing = named["records"][0], named["missing_before"]
        unit, spread = np.ones(d), np.zeros(d)
        varies, variance = self._variances(named)
        unit[self._numbers] = np.where(varies, 1 / variance, 0.0)
        spread[self._numbers] = np.where(varies, n - missing[self._numbers], 0.0)
        for j, (before, _) in self._levels(named).items():
            if self.attributes[j].type in CATEGORIES:
                spread[j] = before.sum() - before.max(initial=0.0)
            else:
                unit[j] = 1 / len(before) ** 2
                median = np.searchsorted(np.cumsum(before), before.sum() / 2)
                spread[j] = before @ (np.arange(len(before)) - median) ** 2 * unit[j]
        total = np.where(missing > n - missing, n - missing, spread + missing)
        squared = np.where(total > 0, named["squared"] * unit + named["lost"], 0.0)
        return by_type(self.attributes, squared, total, rows)


def _pairs(Z: Matrix) -> NDArray[np.float64]:
    """Sum up over the records that have both of two numbers; see `Losses._shapes`."""
    present = (~np.isnan(Z)).astype(np.float64)
    values = np.nan_to_num(Z, nan=0.0)
    return np.stack([present.T @ present, values.T @ values, values.T @ present, (values**2).T @ present])


def _moments(pairs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and variance of each number."""
    count, _, total, squares = (np.diagonal(each) for each in pairs)
    mean = total / np.maximum(count, 1)
    return mean, np.maximum(squares / np.maximum(count, 1) - mean**2, 0.0)


def _correlations(pairs: NDArray[np.float64]) -> Matrix:
    """Return Pearson's correlations; 0 where one of the two is constant, 1 with itself."""
    count, products, total, squares = pairs
    count = np.maximum(count, 1)
    spread = squares - total**2 / count
    # what is left of a constant are rounding errors of its squares
    spread = np.where(spread > 1e-12 * squares, spread, 0.0)
    both = np.sqrt(spread * spread.T)
    R: Matrix = np.divide(products - total * total.T / count, both, out=np.zeros_like(both), where=both > 0)
    np.fill_diagonal(R, 1.0)
    return R
