"""Groups of k units: the nearest records of units that are not in the group yet."""

from itertools import pairwise

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.expect import refused

import naive
from partitioning.test_mixed import spaces
from shoal.errors import DataError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import FORMS, LDiversity
from shoal.partitioning.best import best_within_limits
from shoal.partitioning.diversity import Limits, Secret, Units, merge_until, satisfied
from shoal.partitioning.mdav import mdav, mdav_mixed
from shoal.partitioning.mixed_refinement import refine_mixed
from shoal.partitioning.units import mdav_units
from shoal.plan import Effort


def plain(X: np.ndarray) -> EncodedMatrix:
    d = X.shape[1]
    return EncodedMatrix(X, np.zeros(d, np.int64), np.ones(d), np.ones(d), np.zeros(d, np.int64))


def units_of(labels: np.ndarray, unit: np.ndarray) -> list[int]:
    return [len({*unit[labels == g].tolist()}) for g in range(labels.max() + 1)]


def dense(unit: list[int] | np.ndarray) -> np.ndarray:
    return np.unique(unit, return_inverse=True)[1].astype(np.int64)


@st.composite
def records(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Few different values, so that there are ties; units of any size, and a k that they allow."""
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), (n, d)).astype(float)
    skew = draw(st.sampled_from([1.0, 3.0]))
    unit = dense((draw(st.integers(2, 40)) * rng.random(n) ** skew).astype(np.int64))
    return X, unit, draw(st.integers(1, int(unit.max()) + 1))


@given(records())
def test_the_groups_are_those_of_the_naive_version_to_the_record(drawn):
    X, unit, k = drawn
    found = mdav_units(plain(X), Units(unit, k))
    assert found.tolist() == naive.mdav_units(X, k, unit.tolist()).tolist()
    assert min(units_of(found, unit)) >= k


@given(records())
def test_units_of_one_record_each_give_the_groups_of_mdav(drawn):
    X, _, _ = drawn
    k = min(3, len(X))
    assert mdav_units(plain(X), Units(np.arange(len(X)), k)).tolist() == mdav(X, k).tolist()


@given(spaces(), st.integers(2, 4), st.integers(2, 12), st.integers(0, 1000))
def test_groups_of_every_type_have_k_units(space, k, number, seed):
    n = len(space.values)
    unit = dense(np.random.default_rng(seed).integers(0, number, n))
    assume(unit.max() + 1 >= k)
    found = mdav_units(space, Units(unit, k))
    assert min(units_of(found, unit)) >= k
    if n >= k:
        assert mdav_units(space, Units(np.arange(n), k)).tolist() == mdav_mixed(space, k).tolist()


def test_a_unit_with_most_records_still_gives_groups_of_k_units():
    rng = np.random.default_rng(4)
    unit = np.concatenate([np.zeros(700, np.int64), np.arange(1, 301)])
    found = mdav_units(plain(rng.normal(size=(1000, 2))), Units(unit, 5))
    assert min(units_of(found, unit)) >= 5
    assert found.max() + 1 >= 50


def test_fewer_than_k_units_are_refused():
    with refused(DataError, "k-above-block", number=2, counts="unit", k=3):
        mdav_units(plain(np.ones((6, 1))), Units(np.array([0, 1, 0, 1, 0, 1]), 3))


@given(records())
def test_merging_and_refinement_keep_k_units(drawn):
    X, unit, k = drawn
    assume(k >= 2)
    assume(len(X) >= 2 * k)
    space, units = plain(X), Units(unit, k)
    limits = Limits([], None, None, units=units)
    merged = merge_until(space, mdav(X, k), *limits)
    assert min(units_of(merged, unit)) >= k
    start = mdav_units(space, units)
    losses = [naive.published_loss(space, k, start)]
    for steps in (1_000, 6_000):
        found = refine_mixed(space, k, start, limits=limits, steps=steps)
        assert min(units_of(found, unit)) >= k
        losses.append(naive.published_loss(space, k, found))
    assert all(later <= earlier * (1 + 1e-9) + 1e-9 for earlier, later in pairwise(losses))


@given(records(), st.sampled_from(range(len(FORMS))), st.sampled_from([None, 0.4]), st.integers(0, 1000))
def test_l_and_t_count_a_unit_once_for_each_value(drawn, form, t, seed):
    X, unit, k = drawn
    assume(k >= 2)
    codes = np.random.default_rng(seed).integers(0, 4, len(X))
    secret, wanted = Secret("ill", dense(codes), True), LDiversity(2.0, form, 3.0)
    limits = Limits([secret], wanted, t, units=Units(unit, k))
    try:
        found = merge_until(plain(X), mdav(X, k), *limits)
    except DataError:
        assume(False)
    found = best_within_limits(
        plain(X), k, found, lambda _: found, limits, effort=Effort(3_000, None), watch=np.zeros(2, np.int64)
    )
    assert satisfied(found, *limits).all()
    pairs = sorted({(int(g), int(u), int(c)) for g, u, c in zip(found, unit, secret.codes, strict=True)})
    for g in range(found.max() + 1):
        values = [c for h, _, c in pairs if h == g]
        assert len({u for h, u, _ in pairs if h == g}) >= k
        assert naive.diversity_of(values, FORMS[form], 3.0) >= 2.0 - 1e-9
