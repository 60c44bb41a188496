"""Noise of the discrete Laplace distribution, exact, from the cryptographic generator of the operating system."""

import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Source = Callable[[int], bytes]  # as many random bytes as asked for

LARGEST_SCALE = 2**54  # so that noise stays within 64 bits: beyond 255 scales it gets in one of 10^110 draws


def discrete_laplace(scale: int, count: int, source: Source = os.urandom) -> Integers:
    """Draw whole numbers z with probability proportional to exp(-abs(z) / scale), scale a whole number [1]_.

    Nothing is rounded: every step draws whole numbers and compares them. Laplace noise in floating-point numbers, of
    which the last digits tell what it was added to [2]_, is not.

    The steps, for all draws side by side: u is uniform in 0..scale-1 and kept with probability exp(-u / scale), v
    counts successes of probability exp(-1) before the first failure; u + scale v is then geometric. It gets a sign, and
    minus zero is drawn again.

    References
    ----------
    .. [1] C. L. Canonne, G. Kamath and T. Steinke, "The discrete Gaussian for differential privacy", Advances in Neural
       Information Processing Systems 33 (2020), algorithms 1 and 2.
    .. [2] I. Mironov, "On significance of the least significant bits for differential privacy", ACM Conference on
       Computer and Communications Security 2012.
    """
    noise = np.empty(count, np.int64)
    left = np.arange(count)
    while len(left):
        u = uniform(scale, len(left), source)
        kept = _exponential(u, scale, source)
        size = u + scale * _successes(len(left), source)
        negative = uniform(2, len(left), source) == 1
        kept &= ~(negative & (size == 0))
        noise[left[kept]] = np.where(negative, -size, size)[kept]
        left = left[~kept]
    return noise


def uniform(below: int, count: int, source: Source = os.urandom) -> Integers:
    """Draw whole numbers from 0 to below - 1, all alike: as many bits as it takes, again where they are too many."""
    mask = np.uint64((1 << (below - 1).bit_length()) - 1)
    drawn = np.empty(count, np.int64)
    left = np.arange(count)
    while len(left):
        bits = np.frombuffer(source(8 * len(left)), np.uint64) & mask
        drawn[left] = bits.astype(np.int64)
        left = left[drawn[left] >= below]
    return drawn


def _exponential(u: Integers, scale: int, source: Source) -> Truths:
    """Be true with probability exp(-u / scale), for each u from 0 to scale.

    K counts on while a draw of probability u / (scale K) succeeds; that it ends odd has the probability of the
    alternating series of exp.
    """
    odd = np.ones(len(u), bool)
    left = np.arange(len(u))
    K = 1
    while len(left):
        more = (uniform(scale, len(left), source) < u[left]) & (uniform(K, len(left), source) == 0)
        odd[left[~more]] = K % 2 == 1
        left = left[more]
        K += 1
    return odd


def _successes(count: int, source: Source) -> Integers:
    """Count successes of probability exp(-1) before the first failure."""
    successes = np.zeros(count, np.int64)
    left = np.arange(count)
    while len(left):
        left = left[_exponential(np.ones(len(left), np.int64), 1, source)]
        successes[left] += 1
    return successes
