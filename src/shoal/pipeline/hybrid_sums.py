"""What is known of hybrid data, as sums that blocks of records add up to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.standardize import Matrix, Scale
from shoal.masking.microhybrid import Rule
from shoal.messages import Message
from shoal.pipeline.hybrid_parts import Made, Parts, xy
from shoal.pipeline.verify_hybrid import breaking, same
from shoal.plan import Plan
from shoal.tables.attributes import Attribute, Codes

Floats = NDArray[np.float64]

LITTLE_ROOM = 0.01  # records with less than this share of a residual to change have hardly moved
_CONSTANT = 1e-18  # a variance, where the range is one, of what is constant


@dataclass(frozen=True)
class HybridSums:
    """What the records of some blocks show.

    Attributes
    ----------
    added
        Sums. ``records``, ``groups`` and ``fused`` groups; of each confidential attribute, the groups whose members all
        have the same value (``alike``) and their records (``alike_records``); of each confidential number, values that
        are ``unchanged``, or once rounded their ``own``, or now ``negative``, originals that break a constraint
        (``broken``), values that constraints ``moved``, and the share of variance that quasi-identifiers leave, times
        records (``left``); records with little room to change (``tight``); and ``products`` of 1, the values, by how
        much constraints moved them, and the quasi-identifiers; and `drift`, see
        `shoal.pipeline.hybrid_noise.drift_of`.
    most
        Largest numbers: of a group's records, ``smallest`` with its sign changed; ``shift``, by how much constraints
        moved the mean of a group.
    failures
        What verification found.
    """

    added: Mapping[str, Floats]
    most: Mapping[str, Floats]
    failures: tuple[Message, ...] = ()

    def __add__(self, other: "HybridSums") -> "HybridSums":
        return HybridSums(
            {name: values + other.added[name] for name, values in self.added.items()},
            {name: np.maximum(values, other.most[name]) for name, values in self.most.items()},
            tuple(dict.fromkeys([*self.failures, *other.failures])),
        )

    @classmethod
    def none(cls, parts: Parts) -> "HybridSums":
        """Return the sums of no records."""
        p, d, q = len(parts.synthetic), len(parts.dealt), len(parts.others)
        one, each = np.zeros(1), np.zeros(p)
        added = {
            **dict.fromkeys(("records", "groups", "fused", "tight"), one),
            **dict.fromkeys(("alike", "alike_records"), np.zeros(p + d)),
            **dict.fromkeys(("unchanged", "own", "negative", "moved", "left"), each),
            "broken": np.zeros((2, p)),
            "products": np.zeros((1 + 2 * p + q, 1 + 2 * p + q)),
            "drift": np.zeros((p, 1 + p + q)),
        }
        return cls(added, {"smallest": np.full(1, -np.inf), "largest": one, "shift": each})

    def of_one_group(self) -> "HybridSums":
        """Return what is known if the records of all blocks are one group."""
        records, p = self.added["records"], len(self.added["left"])
        one = {"groups": np.minimum(records, 1.0), "alike": np.minimum(self.added["alike"], 1.0)}
        shift = np.abs(self.added["products"][0, 1 + p : 1 + 2 * p]) / np.maximum(records, 1.0)
        return HybridSums(
            {**self.added, **one}, {"smallest": -records, "largest": records, "shift": shift}, self.failures
        )

    def row(self) -> Floats:
        """Return all numbers in a row, to be stored; failures are not among them."""
        return np.concatenate([np.ravel(values) for values in (*self.added.values(), *self.most.values())])

    def of_row(self, row: Floats) -> "HybridSums":
        """Return what a row of numbers says that was stored of sums of the same shape as these."""
        added: dict[str, Floats] = {}
        most: dict[str, Floats] = {}
        for found, shapes in ((added, self.added), (most, self.most)):
            for name, values in shapes.items():
                found[name], row = row[: values.size].reshape(values.shape), row[values.size :]
        return HybridSums(added, most)

    def count(self, name: str) -> int:
        """Return a sum over all records."""
        return int(self.added[name][0])

    @property
    def left(self) -> Floats:
        """The share of each number's variance that quasi-identifiers leave."""
        left: Floats = self.added["left"] / max(1, self.count("records"))
        return left

    def group_sizes(self) -> dict[str, int]:
        """Return how many groups there are, and the smallest and the largest."""
        return {
            "count": self.count("groups"),
            "smallest": int(-self.most["smallest"][0]),
            "largest": int(self.most["largest"][0]),
        }

    def costs(self, parts: Parts, plan: Plan) -> dict[str, dict[str, Any]]:
        """Return what it cost each number to keep to its constraints, or each date to the calendar.

        Means and covariances are in standard deviations, in the file, of the values as they were before that; those of
        a constant attribute, which has none, in units of its own value.
        """
        p, products = len(parts.synthetic), self.added["products"] / max(1, self.count("records"))
        value, by, other = slice(1, 1 + p), slice(1 + p, 1 + 2 * p), slice(1 + 2 * p, None)
        spread = _deviations(products, value)
        mean, moved, quasi = products[0, value], products[0, by], products[0, other]
        with_values = products[by, value] + products[value, by] + products[by, by]
        with_values = with_values - np.outer(moved, mean) - np.outer(mean, moved) - np.outer(moved, moved)
        with_quasi = (products[by, other] - np.outer(moved, quasi)) / _deviations(products, other)
        covariances = np.hstack([with_values / spread, with_quasi]) / spread[:, None]
        return {
            attribute.name: {
                "rules": plan.constraints.get(attribute.name, ["in the calendar"]),
                "moved": int(self.added["moved"][j]),
                "mean": float(moved[j] / spread[j]),
                "group_mean": float(self.most["shift"][j] / spread[j]),
                "covariance": float(np.abs(covariances[j]).max()),
            }
            for j, attribute in enumerate(parts.synthetic)
            if attribute.name in plan.constraints or self.added["moved"][j]
        }


def _deviations(products: Matrix, which: slice) -> Floats:
    variance = np.diag(products)[which] - products[0, which] ** 2
    return np.where(variance > _CONSTANT, np.sqrt(np.maximum(variance, 0.0)), 1.0)


def sums_of_block(
    parts: Parts,
    made: Made,
    kept: Matrix,
    read: Mapping[str, Codes],
    rules: Sequence[Rule],
    units: Mapping[str, Scale],
    drift: Matrix | None = None,
) -> HybridSums:
    """Add up what the records of a block show.

    Parameters
    ----------
    parts
        The attributes with their codes.
    made, kept
        The new values, and the same once they keep to constraints.
    read
        What is published, as a reader finds it.
    rules
        What each number must be.
    units
        Bring numbers near one.
    drift
        By how much moments of the file moved; None if they are kept in every group.
    """
    sizes = np.bincount(made.labels)
    found = HybridSums.none(parts)
    own = [
        ~same_to_all & same(each.codes, read[each.name])
        for each, same_to_all in zip(parts.synthetic, made.equal, strict=False)
    ]
    added = {
        "records": [len(made.labels)],
        "groups": [len(sizes)],
        "fused": [made.fused],
        "tight": [(made.room < LITTLE_ROOM).sum() if parts.synthetic else 0],
        "alike": [len(np.unique(made.labels[each])) for each in made.equal],
        "alike_records": [each.sum() for each in made.equal],
        "unchanged": [(made.unchanged[:, j] & ~made.equal[j]).sum() for j in range(len(parts.synthetic))],
        "own": [each.sum() for each in own],
        "negative": [(read[each.name] < 0).sum() for each in parts.synthetic],
        "moved": (kept != made.values).sum(axis=0),
        "left": made.left * len(made.labels),
        "broken": [[breaking(rule, each.codes) for each in parts.synthetic] for rule in ("non-negative", "integer")],
    }
    most = {"smallest": [-sizes.min()], "largest": [sizes.max()], "shift": found.most["shift"]}
    products = found.added["products"]
    added["drift"] = found.added["drift"] if drift is None else drift
    if any(rule != Rule() for rule in rules):
        products, most["shift"] = _products(parts, made, kept, units)
    return HybridSums(
        {
            name: products if name == "products" else np.asarray(added[name], np.float64).reshape(empty.shape)
            for name, empty in found.added.items()
        },
        {name: np.asarray(values, np.float64) for name, values in most.items()},
    )


def _products(parts: Parts, made: Made, kept: Matrix, units: Mapping[str, Scale]) -> tuple[Matrix, Floats]:
    """Return the products of what moved with everything, and the most that the mean of a group moved."""
    before, after = _in_units(parts.synthetic, made.values, units), _in_units(parts.synthetic, kept, units)
    by = np.where(kept == made.values, 0.0, after - before)
    groups = [np.abs(np.bincount(made.labels, column) / np.bincount(made.labels)).max() for column in by.T]
    Z = np.column_stack([np.ones(len(by)), before, by, _in_units(parts.others, xy(parts)[1], units)])
    return Z.T @ Z, np.array(groups)


def _in_units(attributes: Sequence[Attribute], values: Matrix, units: Mapping[str, Scale]) -> Matrix:
    found = np.empty(values.shape)
    for j, attribute in enumerate(attributes):
        unit = units[attribute.name]
        found[:, j] = (np.ldexp(values[:, j], -unit.exponent) - unit.shift) / (unit.spread or 1.0)
    return found
