"""Totals of domains: the change is the smallest there is, and sums over pieces are those of the whole."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import naive
from shoal.aggregation.totals import Domains


def solved(domains: Domains, x: np.ndarray, published: np.ndarray, least: float, steps: int = 40) -> np.ndarray:
    """The values of groups after steps of Newton's method."""
    multipliers = np.zeros(domains.count)
    for _ in range(steps):
        multipliers = multipliers + domains.sums(x, published, multipliers, least).step()
    return domains.values(published, multipliers, least)


def sample(seed: int, n: int = 60, groups: int = 15, count: int = 4, weighted: bool = False):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(groups), rng.integers(0, groups, n - groups)])
    domain = np.concatenate([np.arange(count), rng.integers(0, count, n - count)])
    weights = rng.uniform(0.5, 4, n) if weighted else None
    x = rng.lognormal(0, 1, n)
    means = np.bincount(labels, x) / np.bincount(labels)
    return Domains(labels, domain, count, weights), x, means[labels]


def parts(domains: Domains, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = np.ones(len(x)) if domains.weights is None else domains.weights
    counts = np.zeros((domains.count, domains.labels.max() + 1))
    np.add.at(counts, (domains.domain, domains.labels), weights)
    return counts, np.bincount(domains.labels), np.bincount(domains.domain, weights * x)


@given(st.integers(0, 10_000), st.booleans())
def test_the_change_is_that_of_a_dense_system_of_equations(seed, weighted):
    domains, x, published = sample(seed, weighted=weighted)
    counts, sizes, totals = parts(domains, x)
    values = np.empty(len(sizes))
    values[domains.labels] = published
    found = solved(domains, x, published, -np.inf)
    np.testing.assert_allclose(counts @ found, totals, rtol=1e-10)
    np.testing.assert_allclose(found, naive.domain_values(values, counts, sizes, totals), rtol=1e-6, atol=1e-8)


def test_no_value_falls_below_zero_and_the_change_is_still_the_smallest():
    met = 0
    for seed in range(40):
        domains, x, published = sample(seed, n=40, groups=8, count=3)
        published = published - published.min() * 0.999  # near zero, so that some would fall below
        counts, sizes, _ = parts(domains, x)
        totals = counts @ np.bincount(domains.labels, published) / sizes.mean()
        shifted = np.bincount(domains.domain, published) * np.array([0.2, 1.1, 1.0])
        target = published * shifted[domains.domain] / np.bincount(domains.domain, published)[domains.domain]
        free, found = solved(domains, target, published, -np.inf), solved(domains, target, published, 0.0)
        _, _, totals = parts(domains, target)
        if not np.allclose(counts @ found, totals, rtol=1e-9):
            continue  # there may be none
        assert found.min() >= 0
        if free.min() >= 0:
            np.testing.assert_allclose(found, free)
            continue
        met += 1
        values = np.empty(len(sizes))
        values[domains.labels] = published

        def cost(g, values=values, sizes=sizes):
            return (sizes * (g - values) ** 2).sum()

        limits = {"type": "eq", "fun": lambda g, counts=counts, totals=totals: counts @ g - totals}
        slow = minimize(cost, found, bounds=[(0, None)] * len(sizes), constraints=limits, method="SLSQP")
        assert cost(found) <= slow.fun * (1 + 1e-6) + 1e-9
    assert met


@given(st.integers(0, 10_000), st.integers(1, 14))
def test_sums_over_pieces_are_those_of_the_whole(seed, cut):
    domains, x, published = sample(seed)
    multipliers = np.linspace(-1, 1, domains.count)
    whole = domains.sums(x, published, multipliers, 0.0)
    pieces = [np.flatnonzero(domains.labels < cut), np.flatnonzero(domains.labels >= cut)]
    one, two = (
        Domains(np.unique(domains.labels[some], return_inverse=True)[1], domains.domain[some], domains.count).sums(
            x[some], published[some], multipliers, 0.0
        )
        for some in pieces
    )
    for name in ("total", "size", "kept", "slopes"):
        np.testing.assert_allclose(getattr(one + two, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    assert (one + two).groups == whole.groups
