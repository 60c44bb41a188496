"""V-MDAV: groups of variable size, the same as the naive version's."""

import numpy as np
import pytest
from bench.samples import distributed
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from samples import loss, matrices
from shoal.partitioning.vmdav import vmdav

GAINS = [0.0, 0.2, 1.0, 1.1, 3.0]


@settings(max_examples=200)
@given(X=matrices(most=45), data=st.data())
@pytest.mark.filterwarnings("ignore:invalid value")  # gain 0 times an infinite distance
def test_the_groups_are_those_of_the_naive_version_to_the_record(X, data):
    k = data.draw(st.integers(1, min(len(X), 6)))
    gain = data.draw(st.sampled_from(GAINS))
    assert vmdav(X, k, gain).tolist() == naive.vmdav(X, k, gain).tolist()


def test_small_numbers_are_told_apart_beside_very_large_ones():
    X = np.array(
        [[1e50], [-1e-151], [6e-33], [1e106], [-5e15], [4e-141], [1e79], [9e67], [-7e102], [-1e-98], [-6e-125]]
    )
    assert vmdav(X, 2, 0.2).tolist() == naive.vmdav(X, 2, 0.2).tolist()


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("kind", ["uniform", "clustered", "skewed"])
def test_every_group_has_at_least_k_records(kind, gain):
    sizes = np.bincount(vmdav(distributed(kind, 5_000, 3), 4, gain))
    assert sizes.min() >= 4


def test_groups_grow_where_the_data_are_clustered():
    tight = np.repeat(np.arange(40.0)[:, None] * 100.0, 5, axis=0) + np.tile(np.arange(5.0), 40)[:, None] / 10
    assert set(np.bincount(vmdav(tight, 3, 1.1))) == {5}


def test_without_gain_groups_have_k_records_and_only_the_rest_joins_them():
    sizes = np.bincount(vmdav(distributed("uniform", 1_000, 2), 3, 0.0))
    assert sorted(set(sizes)) == [3, 4]


PUBLISHED = {
    ("census", 0.2): {3: 5.662, 5: 9.007, 10: 14.073},
    ("tarragona", 0.2): {3: 16.963, 5: 22.878, 10: 33.253},
    ("eia", 1.1): {3: 0.508, 5: 1.304, 10: 2.805},
}


@pytest.mark.parametrize(("name", "gain", "k"), [(*key, k) for key, row in PUBLISHED.items() for k in row])
def test_the_known_information_loss_is_reproduced(reference, name, gain, k):
    X = reference(name)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert round(100 * loss(Z, vmdav(Z, k, gain)) / Z.size, 3) == PUBLISHED[name, gain][k]


def test_progress_ends_at_the_number_of_records():
    watch = np.zeros(2, np.int64)
    vmdav(distributed("uniform", 500, 2), 3, 0.2, watch)
    assert watch[0] == 500
