"""SUDA2: special uniques by the number and size of their minimal sample uniques, and what each attribute adds."""

from dataclasses import dataclass
from math import factorial

import numpy as np

from shoal.kernels.suda2 import suda2 as search
from shoal.kernels.types import Floats, Integers
from shoal.measures.population_risk import KeyCombinations

MOST_KEYS = 16  # there are 2^16 sets of so many keys


@dataclass(frozen=True)
class Suda2:
    """Scores of all records.

    Attributes
    ----------
    score : array
        SUDA2 score, 0 for a record that has a twin.
    dis : array
        The probability that a match with the record is right, after data intrusion simulation.
    contribution : array
        (combinations, keys): the part of the score that comes from sets with each key.
    sizes : array
        How many minimal sample uniques of 1, 2, ... keys there are.
    """

    score: Floats
    dis: Floats
    contribution: Floats
    sizes: Integers


def suda2(keys: KeyCombinations, fraction: float) -> Suda2:
    """Score records by their minimal sample uniques (MSUs): sets of keys that single them out, none of them spare.

    Of M keys, an MSU of m keys scores ``(M - m)!``: so many orders of the other keys lead to it. A record's score is
    the sum over its MSUs. A missing value is in no MSU. The DIS score is that of `dis_scores`.

    References
    ----------
    Elliot, Manning & Ford (2002), A computational algorithm for handling the special uniques problem, International
    Journal of Uncertainty, Fuzziness and Knowledge-Based Systems 10. Manning, Haglin & Keane (2008), A recursive search
    algorithm for statistical disclosure assessment, Data Mining and Knowledge Discovery 16.
    """
    d = keys.codes.shape[1]
    # Keys with many values first: they divide the records sooner.
    order = np.argsort(-keys.codes.max(axis=0), kind="stable")
    points = np.array([float(factorial(d - m)) for m in range(1, d + 1)])
    score, contribution, sizes = search(np.ascontiguousarray(keys.codes[:, order]), keys.size == 1, points)
    by_key = np.empty_like(contribution)
    by_key[:, order] = contribution
    pairs = 2 * int((keys.size == 2).sum())
    return Suda2(score[keys.of], dis_scores(score, d, pairs, fraction)[keys.of], by_key, sizes)


def dis_scores(score: Floats, keys: int, pairs: int, fraction: float) -> Floats:
    """Probability that a match with each record is right, from its SUDA2 score and a simulated intrusion.

    Data intrusion simulation (DIS) estimates the probability that a unique match is right as ``U f / (U f + P (1 -
    f))``: U records are unique, P are in pairs, f is the sampling fraction. It is spread over records by their scores:
    ``1 / (1 + P (1 - f)/f / (S^Q sum of S^-Q))``, where S is the score and ``Q = 1 + (8 - M)/20`` for M keys, as in
    sdcMicro. A record without a score has 0.

    References
    ----------
    Skinner & Elliot (2002), A measure of disclosure risk for microdata, Journal of the Royal Statistical Society B 64.
    Elliot, Manning, Mayes, Gurd & Bane (2005), SUDA: a program for detecting special uniques, UNECE work session on
    statistical data confidentiality, Geneva.
    """
    scored = score > 0
    power = np.where(scored, score, 1.0) ** (1 + (8 - keys) / 20)
    against = pairs * (1 - fraction) / fraction
    spread = power * float((1 / power)[scored].sum())
    return np.where(scored, 1 / (1 + against / np.where(scored, spread, 1.0)), 0.0)


def key_contributions(found: Suda2) -> Floats:
    """Percent of the sum of all scores that comes from sets with each key; they add up to more than 100."""
    total = float(found.score.sum())
    parts: Floats = found.contribution.sum(axis=0)
    return 100 * parts / (total or 1.0)


def level_contributions(found: Suda2, keys: KeyCombinations, key: int, levels: int) -> Floats:
    """Percent of what a key contributes that comes from records with each of its levels."""
    parts = found.contribution[:, key]
    by_level = np.bincount(keys.codes[:, key], parts, levels + 1)[1:]
    return 100 * by_level / (float(parts.sum()) or 1.0)
