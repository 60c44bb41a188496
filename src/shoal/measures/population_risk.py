"""Risk in the population, before masking, from how often keys occur in the sample and, by its weights, out there.

A key is a combination of values of the key variables. Values are numbered from 1; 0 is a missing value, which stands
for any value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.equivalence_classes import combine, first_and_size
from shoal.kernels.types import Floats, Integers
from shoal.kernels.wildcards import matching_sums

Codes = NDArray[np.int32]

_SERIES = 0.05  # below this 1 - p, the risk of a pair is added up term by term
_TERMS = 14


@dataclass(frozen=True)
class KeyCombinations:
    """The combinations of key values that occur in a file."""

    codes: Codes  # (combinations, keys) the numbers of the values
    size: Integers  # (combinations,) how many records have each
    of: Integers  # (records,) the combination of each record


def key_combinations(keys: Sequence[Integers]) -> KeyCombinations:
    """Find the combinations of keys that occur; a missing value equals only a missing value here."""
    labels, count = combine(np.zeros(len(keys[0]), np.int64), keys[0])
    for codes in keys[1:]:
        labels, count = combine(labels, codes)
    first, size = first_and_size(labels, count)
    return KeyCombinations(np.column_stack([codes[first] for codes in keys]).astype(np.int32), size, labels)


def frequencies(keys: KeyCombinations, weights: Floats | None = None) -> tuple[Integers, Floats]:
    """Sample frequency f_k of each record's key, and the population frequency F_k that weights estimate.

    F_k is the sum of the weights of all records with the key; without weights the sample is the population. A missing
    value stands for any value, as in sdcMicro: records match if they are alike in every key that both of them have.
    """
    by_key = keys.size.astype(float) if weights is None else np.bincount(keys.of, weights, len(keys.size))
    sums = matching_sums(keys.codes, keys.codes, np.column_stack([keys.size, by_key]))[keys.of]
    return sums[:, 0].astype(np.int64), np.ascontiguousarray(sums[:, 1])


def frequencies_in(keys: KeyCombinations, population: KeyCombinations) -> Integers:
    """How many records of a population match the key of each record; a missing value on either side matches any."""
    counted: Floats = matching_sums(keys.codes, population.codes, population.size.astype(float)[:, None])[:, 0]
    return counted[keys.of].astype(np.int64)


def individual_risk(f: Integers, F: Floats) -> Floats:
    """Probability that a record is re-identified by its key, the mean of 1 / F_k given f_k.

    With p = f / F the share of the key that was sampled, q = 1 - p, and F_k - f_k negative binomial:

    - f = 1: ``p/q ln(1/p)``;
    - f = 2: ``p/q - (p/q)^2 ln(1/p)``;
    - f > 2: ``p / (f - q)``, an approximation that sdcMicro and mu-Argus use too;
    - F <= f, where the sample has all of the population: ``1/f``, to which all three tend as p goes to 1.

    Where p is near 1 the second is a difference of two large numbers, so the series of the same value is added up.

    References
    ----------
    Benedetti & Franconi (1998), Statistical and technological solutions for controlled data dissemination, New
    Techniques and Technologies for Statistics. Franconi & Polettini (2004), Individual risk estimation in mu-Argus: a
    review, Privacy in Statistical Databases.
    """
    whole = f >= F
    p = np.where(whole, 0.5, f / F)
    q = np.where(whole, 0.5, (F - f) / F)
    log = -np.log(p)
    many = p / (np.maximum(f, 3) - q)
    found = np.where(f == 1, p / q * log, np.where(f == 2, _risk_of_pair(p, q, log), many))
    return np.where(whole, 1 / f, found)


def _risk_of_pair(p: Floats, q: Floats, log: Floats) -> Floats:
    """Return p/q - (p/q)^2 ln(1/p), which is p times the sum over n >= 1 of q^(n-1) / (n (n + 1))."""
    small = np.minimum(q, _SERIES)
    series = np.zeros_like(p)
    for n in range(_TERMS, 0, -1):
        series = series * small + 1 / (n * (n + 1))
    return np.where(q < _SERIES, p * series, p / q - (p / q) ** 2 * log)


def household_risk(individual: Floats, household: Integers) -> Floats:
    """Probability that at least one member of a record's household is re-identified, ``1 - prod(1 - r_i)``.

    Members are re-identified independently of each other, as in sdcMicro and mu-Argus. `household` numbers households
    from 0.
    """
    with np.errstate(divide="ignore"):  # a risk of 1 makes that of the household 1
        none = np.bincount(household, np.log1p(-individual))
    return -np.expm1(none)[household]


def k_map(f: Integers, in_population: Integers) -> dict[str, Any]:
    """k-map: how many people of a population have the key of a record that is in the sample.

    Returns ``k``, the least number over all records; ``uniques``, records whose key one person has; ``expected``, the
    re-identifications to expect, the sum of 1 / F_k; ``absent``, records whose key nobody in the population has; and
    ``fewer``, records whose key is rarer in the population than in the sample. The last two are 0 if the sample was
    drawn from that population and both are coded alike. Records that are absent count 1 in ``expected``.

    References
    ----------
    Sweeney (2001), Computational disclosure control: a primer on data privacy protection, PhD thesis, MIT.
    """
    return {
        "k": int(in_population.min()),
        "uniques": int((in_population == 1).sum()),
        "expected": float((1 / np.maximum(in_population, 1)).sum()),
        "absent": int((in_population == 0).sum()),
        "fewer": int((in_population < f).sum()),
    }
