"""The Hilbert curve: it fills the cube, and never jumps."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.hilbert import hilbert_places


@pytest.mark.parametrize(("d", "bits"), [(1, 5), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (10, 1)])
def test_hilbert_curve_visits_every_cell_and_goes_from_each_to_one_beside_it(d, bits):
    cells = np.array(list(product(range(2**bits), repeat=d)))
    places = hilbert_places(cells, bits)
    assert sorted(places[:, 0]) == list(range(len(cells)))
    steps = np.abs(np.diff(cells[np.argsort(places[:, 0])], axis=0)).sum(axis=1)
    assert (steps == 1).all()


@given(st.integers(0, 2**32), st.integers(1, 10))
def test_places_of_many_bits_are_refined_by_the_next_columns(seed, d):
    """The first bits of a coordinate alone have the same order as far as they go (with all bits, of even number)."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2**20, (60, d))
    places = hilbert_places(cells, 20)
    assert places.shape[1] == -(-20 * d // 62)
    assert (places >= 0).all()
    assert (places[:, : places.shape[1] - 1] < 2**62).all()
    whole = [int("".join(format(v, "062b") for v in row[:-1]) or "0", 2) for row in places.tolist()]
    rest = 20 * d - 62 * (places.shape[1] - 1)
    whole = [(w << rest) | row[-1] for w, row in zip(whole, places.tolist(), strict=True)]
    assert all(w < 2 ** (20 * d) for w in whole)
    assert len(set(whole)) == len({tuple(cell) for cell in cells.tolist()})
