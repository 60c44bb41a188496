"""Confidence intervals of shares."""

import math

Z_95 = 1.959963984540054  # of the normal distribution, two-sided

Interval = tuple[float, float]


def wilson(successes: float, trials: float) -> Interval:
    """95 % interval of a share, in percent.

    Successes may be probabilities that were added up: these vary less than hits and misses, and the interval is then
    wider than it had to be.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA 22, 209-212.
    """
    if trials == 0:
        return 0.0, 100.0
    share, z2 = successes / trials, Z_95**2
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = Z_95 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    low = 0.0 if share <= 0 else centre - half
    return 100 * max(0.0, low), 100.0 if share >= 1 else 100 * min(1.0, centre + half)
