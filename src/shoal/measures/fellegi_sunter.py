"""Probabilistic record linkage: Fellegi & Sunter's weights, estimated by EM from patterns of agreement."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.linkage import count_patterns, link_by_weight
from shoal.kernels.standardize import Matrix, standardize
from shoal.measures.distance_linkage import some_records
from shoal.measures.equivalence_classes import published_classes
from shoal.measures.intervals import wilson

Floats = NDArray[np.float64]

MOST_ATTRIBUTES = 14  # patterns are counted in a table of 2^d
MOST_PAIRS = 100_000_000  # about a second; every pair of a file of 10,000 records
LIMITS = (0.5, 0.3, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001)  # of agreement, in standard deviations
_MISSING = 1e9  # standard deviations: no value is so far off, so that a missing value agrees with a missing one only
_SURE = 1e-6  # no probability is nearer to 0 or 1: weights stay finite


def probabilistic_linkage(
    original: Matrix, masked: Matrix, within: Sequence[float] = LIMITS, pairs: int = MOST_PAIRS, seed: int = 0
) -> dict[str, Any]:
    """Percentage of records that an intruder links rightly by probability (PLD).

    Attribute j of an original and a masked record agrees if their z-scores, each file's by its own mean and standard
    deviation, differ by at most a limit. With m_j and u_j the probability of agreement in a pair that is, and
    that is not, one and the same person, a pair has the weight of Fellegi & Sunter

        sum over j that agree of log2(m_j / u_j) + sum over the others of log2((1 - m_j) / (1 - u_j))

    and each original record is linked to the masked one of the highest weight, to one of them at random on ties. Of
    more than 14 attributes, those with the most different published values are used.

    Which limit of agreement is best depends on how far values were moved and how dense they lie: of those in `within`,
    in standard deviations, the intruder is given the one that links most, so that risk is not understated. At most so
    many `pairs` of an original record with a different masked one are compared for one limit: all original records are
    linked if that is enough, otherwise a seeded sample, each to *all* masked records.

    Returns ``linked``, the expected percentage of right links; ``m`` and ``u``, the two probabilities, by attribute;
    ``within``, the limit that links most; ``attributes``, the columns used; ``records``, how many were linked;
    ``sampled``, whether some original records or attributes were left out; ``interval``, 95 % for ``linked``.

    Notes
    -----
    EM as in Jaro (1989), with attributes independent given the kind of pair. The share of true pairs is not estimated:
    both files have the same n records, so it is 1/n. That keeps EM from settling on another division of the pairs.

    References
    ----------
    Fellegi & Sunter (1969), A theory for record linkage, JASA 64. Jaro (1989), Advances in record-linkage methodology
    as applied to matching the 1985 census of Tampa, Florida, JASA 84. Domingo-Ferrer & Torra (2001), see
    `distance_linkage`.
    """
    return probabilistic_linkage_by_types(standardize(original), standardize(masked), within, pairs, seed)


def agreement_values(space: EncodedMatrix) -> Matrix:
    """Return values that agree if they differ by at most a limit below 1, for attributes of every type.

    Numbers and levels are in standard deviations, categories agree if they are equal, and a missing value agrees with
    another missing one only.
    """
    return np.where(np.isnan(space.values), _MISSING, space.values)


def probabilistic_linkage_by_types(
    original: Matrix, masked: Matrix, within: Sequence[float] = LIMITS, pairs: int = MOST_PAIRS, seed: int = 0
) -> dict[str, Any]:
    """Percentage of records linked rightly by probability: see `probabilistic_linkage`; matrices are scaled already."""
    n, d = original.shape
    attributes = _most_varied(masked)
    Z, Y = (np.ascontiguousarray(X[:, attributes]) for X in (original, masked))
    classes = published_classes(Y)
    columns = np.ascontiguousarray(Y[classes.first].T)
    asked = some_records(n, max(1, pairs // len(classes.size)), seed)
    found = []
    for limit in within:
        counts = count_patterns(Z, columns, classes.size, asked, limit)
        m, u, weight = _estimate(counts, len(attributes), n)
        expected = float(link_by_weight(Z, columns, classes.labels, classes.size, asked, limit, weight))
        found.append({"linked": 100 * expected / len(asked), "m": m.tolist(), "u": u.tolist(), "within": limit})
    best = max(found, key=lambda measured: measured["linked"])
    return {
        **best,
        "attributes": attributes,
        "interval": wilson(best["linked"] / 100 * len(asked), len(asked)),
        "records": len(asked),
        "sampled": len(asked) < n or len(attributes) < d,
    }


def _most_varied(masked: Matrix) -> list[int]:
    d = masked.shape[1]
    if d <= MOST_ATTRIBUTES:
        return list(range(d))
    different = [len(np.unique(masked[:, j])) for j in range(d)]
    return sorted(sorted(range(d), key=lambda j: (-different[j], j))[:MOST_ATTRIBUTES])


def _estimate(counts: NDArray[np.int64], d: int, n: int) -> tuple[Floats, Floats, Floats]:
    """Estimate m and u from how often patterns occur, by EM; return them and the rank of every pattern's weight."""
    seen = np.flatnonzero(counts)
    agrees = ((seen[:, None] >> np.arange(d)) & 1).astype(np.float64)
    share = counts[seen] / counts.sum()
    u = np.clip(share @ agrees, _SURE, 1 - _SURE)  # nearly all pairs are of different people
    m = np.maximum(0.9, u)
    for _ in range(200):
        odds = _weights(agrees, m, u) - np.log2(max(n - 1, 1))
        true = 1 / (1 + np.exp2(np.clip(-odds, -1000, 1000)))  # the probability that a pair is one person
        before = np.concatenate([m, u])
        matches, others = share * true, share * (1 - true)
        if matches.sum() > 0:
            m = np.clip(matches @ agrees / matches.sum(), _SURE, 1 - _SURE)
        if others.sum() > 0:
            u = np.clip(others @ agrees / others.sum(), _SURE, 1 - _SURE)
        if np.abs(np.concatenate([m, u]) - before).max() < 1e-9:
            break
    every = ((np.arange(1 << d)[:, None] >> np.arange(d)) & 1).astype(np.float64)
    return m, u, _ranked(_weights(every, m, u))


def _ranked(weights: Floats) -> Floats:
    """Replace weights by their ranks; those that only rounding tells apart tie."""
    order = np.argsort(weights, kind="stable")
    ranks = np.empty_like(weights)
    ranks[order] = np.concatenate([[0], np.cumsum(np.diff(weights[order]) > 1e-9)])
    return ranks


def _weights(agrees: Floats, m: Floats, u: Floats) -> Floats:
    weights: Floats = agrees @ np.log2(m / u) + (1 - agrees) @ np.log2((1 - m) / (1 - u))
    return weights
