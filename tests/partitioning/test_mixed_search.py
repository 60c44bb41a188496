"""The search over attributes of every type: it lowers the loss that is reported, and never breaks what is asked."""

from itertools import pairwise

import numpy as np
import pytest
from bench.mixed import mixed_records
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from partitioning.test_mixed import spaces
from shoal.errors import DataError
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import FORMS, LDiversity
from shoal.kernels.mixed_anneal import anneal_mixed, group_losses
from shoal.partitioning import mixed_refinement
from shoal.partitioning.best import best_mixed
from shoal.partitioning.diversity import Limits, Secret, diverse
from shoal.partitioning.mdav import mdav_mixed
from shoal.partitioning.methods import contiguous
from shoal.partitioning.mixed_refinement import NO_DEMAND, embedded, refine_mixed
from shoal.partitioning.refinement import neighbour_lists
from shoal.plan import Effort

pytestmark = pytest.mark.usefixtures("instruction_set")


def close(one: float, two: float, space: EncodedMatrix) -> bool:
    """Whether two losses are the same but for rounding, which is in units of the largest squared distance."""
    largest = np.nanmax(np.abs(np.nan_to_num(space.values)), initial=0.0) ** 2 + space.apart.max()
    return one == pytest.approx(two, rel=1e-9, abs=1e-9 * (1 + largest))


@st.composite
def counted_spaces(draw: st.DrawFn) -> EncodedMatrix:
    """Spaces whose records count alike, or by weights."""
    space = draw(spaces())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.sampled_from([0, 1, 3, 40]))
    weights = rng.integers(1, most + 1, len(space.values) if most else 0)
    return space._replace(weights=weights.astype(np.float64))


@given(counted_spaces(), st.integers(2, 5), st.integers(0, 2**32))
def test_the_kernel_says_the_loss_that_the_naive_version_counts(space, k, seed):
    n = len(space.values)
    assume(n >= 2 * k)
    labels = contiguous(np.random.default_rng(seed).permutation(np.arange(n) // k % (n // k)))
    assert close(group_losses(space, k, labels).sum(), naive.published_loss(space, k, labels), space)


@given(counted_spaces(), st.integers(2, 5), st.integers(1, 2**32), st.sampled_from([0.0, 0.3, 3.0]))
def test_every_change_changes_the_loss_by_what_it_says(space, k, seed, temperature):
    assume(len(space.values) >= 2 * k)
    labels = contiguous(mdav_mixed(space, k))
    before = naive.published_loss(space, k, labels)
    state, watch = np.array([seed], np.uint64), np.zeros(2, np.int64)
    near, local = neighbour_lists(embedded(space), k, watch)
    run = space, NO_DEMAND, (k, 2 * k - 1), near, local, temperature, 400
    change, loss = anneal_mixed(*run, state, labels, watch)
    after = naive.published_loss(space, k, labels)
    assert close(loss, after, space)
    assert close(before + change, after, space)
    sizes = np.bincount(contiguous(labels))
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1


@given(counted_spaces(), st.integers(2, 4), st.sampled_from([2.0**-40, 0.5, 1024.0]))
def test_a_weight_counts_by_its_share_of_all_weights(space, k, factor):
    assume(len(space.values) >= 2 * k)
    start = mdav_mixed(space, k)
    found, scaled = (
        refine_mixed(each, k, start, steps=2_100) for each in (space, space._replace(weights=space.weights * factor))
    )
    assert np.array_equal(found, scaled)


@given(counted_spaces(), st.integers(2, 4), st.integers(0, 9))
def test_more_steps_are_never_worse(space, k, seed):
    assume(len(space.values) >= 2 * k)
    start = mdav_mixed(space, k)
    losses = [naive.published_loss(space, k, start)]
    for steps in (2_100, 4_500, 12_300, 30_000):
        found = refine_mixed(space, k, start, steps=steps, seed=seed, searches=2)
        losses.append(naive.published_loss(space, k, found))
        assert np.bincount(found).min() >= k
    for earlier, later in pairwise(losses):
        assert later <= earlier or close(later, earlier, space)


@st.composite
def limits(draw: st.DrawFn, n: int) -> Limits:
    """An l of some form, a t or both, that all records together reach."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    secrets = []
    for name, ordered in (("ill", False), ("income", True))[: draw(st.integers(1, 2))]:
        values = draw(st.integers(3, 6))
        codes = np.concatenate([np.arange(values), rng.integers(0, values, max(n - values, 0))])[:n]
        secrets.append(Secret(name, rng.permutation(codes).astype(np.int64), ordered))
    asked = draw(st.sampled_from(["l", "t", "both"]))
    l = LDiversity(2.0, draw(st.sampled_from(range(len(FORMS)))), 3.0) if asked != "t" else None  # noqa: E741
    return Limits(secrets, l, draw(st.sampled_from([0.15, 0.3])) if asked != "l" else None)


@given(st.data(), spaces(), st.integers(2, 3))
def test_limits_are_kept_by_every_change(data, space, k):
    n = len(space.values)
    assume(n >= 12)
    asked = data.draw(limits(n))
    try:
        start = diverse(space, k, mdav_mixed(space, k), *asked)
    except DataError:  # not even all records reach it
        assume(False)
    before = naive.published_loss(space, k, start)
    for steps in (2_100, 9_000):
        found = refine_mixed(space, k, start, limits=asked, steps=steps)
        after = naive.published_loss(space, k, found)
        assert after <= before or close(after, before, space)
        before = after
        assert np.bincount(found).min() >= k
        for secret in asked.secrets:
            if asked.t is not None:
                assert naive.closeness(found.tolist(), secret.codes.tolist(), secret.ordered) <= asked.t + 1e-9
            if asked.l is not None:
                form = FORMS[asked.l.form]
                groups = [secret.codes[found == g].tolist() for g in range(found.max() + 1)]
                assert min(naive.diversity_of(group, form, asked.l.c) for group in groups) >= asked.l.l - 1e-9


@settings(max_examples=25)
@given(spaces(), st.integers(2, 3))
def test_regions_are_searched_as_the_whole_is(space, k):
    n = len(space.values)
    assume(n >= 4 * k)
    start = mdav_mixed(space, k)
    losses = [naive.published_loss(space, k, start)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mixed_refinement, "WHOLE", 8)
        patched.setattr(mixed_refinement, "REGION", 20)
        for steps in (3_000, 20_000):
            found = [refine_mixed(space, k, start, steps=steps, searches=threads) for threads in (1, 3)]
            assert np.array_equal(*found)  # whatever the number of threads
            losses.append(naive.published_loss(space, k, found[0]))
            assert np.bincount(found[0]).min() >= k
    for earlier, later in pairwise(losses):
        assert later <= earlier or close(later, earlier, space)


def test_a_search_that_is_stopped_keeps_what_it_has():
    space = mixed_records(300)
    start = contiguous(mdav_mixed(space, 4))
    stopped = np.array([0, 1, 0])
    assert np.array_equal(refine_mixed(space, 4, start, seconds=60.0, watch=stopped), start)
    assert (best_mixed(space, 4, watch=stopped) == -1).all()


def test_the_order_of_the_records_decides_nothing():
    space = mixed_records(200, categories=5)
    labels = best_mixed(space, 4, effort=Effort(60_000, None))
    back = best_mixed(space.rows(np.arange(200)[::-1].copy()), 4, effort=Effort(60_000, None))[::-1]
    assert naive.published_loss(space, 4, labels) == pytest.approx(naive.published_loss(space, 4, back), rel=1e-9)


@pytest.mark.parametrize("weights", [[0.0], [-1.0], [np.nan], [np.inf], []], ids=str)
def test_weights_are_positive_numbers_one_for_each_record(weights):
    space = mixed_records(20, 1)._replace(weights=np.array([1.0] * 19 + weights))
    with pytest.raises(ValueError, match="weight"):
        group_losses(space, 4, np.arange(20) // 4)
