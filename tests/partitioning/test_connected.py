"""Components of a graph are those of SciPy, by the same numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from shoal.partitioning.connected import connected


@given(st.integers(1, 60), st.integers(0, 80), st.integers(0, 2**32 - 1))
def test_components_are_those_of_scipy(n, edges, seed):
    one, other = np.random.default_rng(seed).integers(n, size=(2, edges))
    expected = connected_components(coo_array((np.ones(edges), (one, other)), (n, n)), directed=False)[1]
    assert connected(n, one, other).tolist() == expected.tolist()


def test_a_long_path_in_any_order_is_one_component():
    path = np.random.default_rng(0).permutation(100_000)
    assert not connected(len(path), path[:-1], path[1:]).any()
