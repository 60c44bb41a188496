"""Attribute inference: guessing a sensitive value from the published records nearest to a person's."""

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.linkage_by_types import nearest_by_types
from shoal.measures.equivalence_classes import published_classes

Values = NDArray[np.float64]


def best_guess(values: Values, tolerance: float = 0.0) -> float:
    """Return the value that is right for most of the values, the lowest of several; NaN if there is none.

    Right is what differs from the true value by at most `tolerance` times its magnitude.
    """
    line = np.sort(values[~np.isnan(values)])
    if len(line) == 0:
        return np.nan
    one, two = line / (1 + tolerance), line / (1 - tolerance)
    low, high = np.minimum(one, two), np.maximum(one, two)
    right = np.searchsorted(line, high, side="right") - np.searchsorted(line, low)
    return float(line[np.argmax(right)])


def right_guesses(guesses: Values | float, true: Values, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Return which guesses are right; none is that was not made (NaN)."""
    right: NDArray[np.bool_] = np.abs(guesses - true) <= tolerance * np.abs(true)
    return right


def guesses_from_nearest(
    targets: EncodedMatrix, published: EncodedMatrix, sensitive: Values, tolerance: float = 0.0
) -> Values:
    """Guess a sensitive value of each target: `best_guess` among the published records nearest to the target.

    Parameters
    ----------
    targets, published : EncodedMatrix
        What the intruder knows of the targets, and the published records in the same attributes and on the same scale.
    sensitive : array
        The sensitive value of each published record; NaN where it is missing.

    References
    ----------
    Giomi et al. (2022), see `shoal.measures.attack_rates.excess`.
    """
    classes = published_classes(published.values)
    ends, found = nearest_by_types(targets, np.ascontiguousarray(published.values[classes.first]))
    order = np.argsort(classes.labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(classes.size)])
    known: dict[bytes, float] = {}
    guesses = np.empty(len(ends))
    for i, near in enumerate(np.split(found, ends)[:-1]):
        if (key := near.tobytes()) not in known:
            members = [order[starts[c] : starts[c + 1]] for c in near]
            known[key] = best_guess(sensitive[np.concatenate(members)], tolerance) if members else np.nan
        guesses[i] = known[key]
    return guesses
