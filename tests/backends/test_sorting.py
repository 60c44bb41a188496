"""Records by block and back."""

import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.backends.file.sorting import in_file_order, sort_by_block
from shoal.backends.file.spill import Spill


@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 50), st.integers(1, 50), st.integers(0, 2**32))
def test_every_record_comes_back_to_its_place(tmp_path_factory, n, blocks, rows, other_rows, seed):
    folder = tmp_path_factory.mktemp("spills")
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, blocks, n), rng.normal(size=n)])
    sizes = np.bincount(X[:, 0].astype(np.int64), minlength=blocks)
    starts = np.cumsum(sizes) - sizes
    with (
        Spill(folder / "codes", 2, np.float64) as codes,
        Spill(folder / "records", 2, np.float64, n) as records,
        Spill(folder / "block_of", 1, np.int32, n) as block_of,
    ):
        codes.write(0, X)
        done = list(sort_by_block(codes, lambda some: some[:, 0].astype(np.int64), starts, records, block_of, rows))
        assert done[-1] == n
        np.testing.assert_array_equal(records.read(0, n), X[np.argsort(X[:, 0], kind="stable")])
        back = list(in_file_order(records, block_of, starts, other_rows))
        np.testing.assert_array_equal(np.concatenate([some for some, _ in back]), X)
        assert {len(some) for some, _ in back[:-1]} <= {other_rows}


def test_a_spill_is_private_and_knows_its_end(tmp_path):
    with Spill(tmp_path / "codes", 3, np.float64) as spill:
        spill.write(2, np.ones((2, 3)))
        assert len(spill) == 4
        assert spill.read(1, 2).tolist() == [[0, 0, 0], [1, 1, 1]]
        with pytest.raises(EOFError):
            spill.read(3, 2)
        assert stat.S_IMODE((tmp_path / "codes").stat().st_mode) == 0o600
