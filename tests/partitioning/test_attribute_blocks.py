"""Attribute blocks: every column once, blocks large enough, and the papers' own where these follow correlations."""

import numpy as np
import pytest
from bench.papers import ATTRIBUTES, nine_attributes
from bench.samples import distributed
from hypothesis import given
from hypothesis import strategies as st

from samples import matrices
from shoal.kernels.standardize import standardize
from shoal.partitioning.attribute_blocks import blocks_by_correlation

HOW = ["correlated", "uncorrelated"]
# the blocks of Nin, "Beyond multivariate microaggregation", section 4.2, with a1..a9 numbered from 0
PAPER = {"correlated": [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "uncorrelated": [[0, 3, 6], [1, 4, 7], [2, 5, 8]]}
CENSUS = ATTRIBUTES["census"]


def choose_blocks(X: np.ndarray, size: int, how: str) -> list[list[int]]:
    Z = standardize(X)
    return blocks_by_correlation(Z.T @ Z / len(Z), size, how)


@pytest.fixture
def nine(reference_file):
    """The nine attributes of a file of the paper, by its name."""
    return lambda name: nine_attributes(name, reference_file(name).parent)


def within(X: np.ndarray, blocks: list[list[int]]) -> float:
    """Sum of absolute correlations between attributes of one block."""
    R = np.abs(np.corrcoef(X.T))
    return sum(R[i, j] for block in blocks for i in block for j in block if i < j)


@pytest.mark.parametrize("how", HOW)
@given(X=matrices(most=20), size=st.integers(1, 7))
def test_every_column_is_in_one_block_and_sizes_differ_by_one_at_most(how, X, size):
    d = X.shape[1]
    blocks = choose_blocks(X, size, how)
    sizes = [len(block) for block in blocks]
    assert sorted(column for block in blocks for column in block) == list(range(d))
    assert min(sizes) >= min(size, d)
    assert max(sizes) - min(sizes) <= 1
    assert blocks == choose_blocks(X, size, how)


@pytest.mark.parametrize("how", HOW)
def test_on_water_the_blocks_are_those_of_the_paper(nine, how):
    assert choose_blocks(nine("water-treatment"), 3, how) == PAPER[how]


def test_on_census_the_blocks_are_more_correlated_than_those_of_the_paper_which_set_fedtax_apart(nine):
    X = nine("census")
    blocks = choose_blocks(X, 3, "correlated")
    names = [[CENSUS[column] for column in block] for block in blocks]
    assert names == [["AGI", "TAXINC", "FEDTAX"], ["STATETAX", "WSALVAL", "ERNVAL"], ["EMCONTRB", "POTHVAL", "INTVAL"]]
    assert within(X, blocks) > within(X, PAPER["correlated"])


def test_on_census_correlated_attributes_are_in_different_blocks_if_so_asked(nine):
    X = nine("census")
    blocks = choose_blocks(X, 3, "uncorrelated")
    assert [[CENSUS[column] for column in place] for place in zip(*blocks, strict=True)] == [
        ["AGI", "TAXINC", "FEDTAX"],
        ["STATETAX", "WSALVAL", "ERNVAL"],
        ["EMCONTRB", "POTHVAL", "INTVAL"],
    ]
    assert within(X, blocks) < within(X, choose_blocks(X, 3, "correlated"))


def test_opposed_attributes_count_as_correlated():
    x, y = np.random.default_rng(0).normal(size=(2, 100))
    X = np.column_stack([x, y, -x, -y])
    assert choose_blocks(X, 2, "correlated") == [[0, 2], [1, 3]]
    assert choose_blocks(X, 2, "uncorrelated") == [[0, 1], [2, 3]]


@pytest.mark.parametrize("how", HOW)
def test_attributes_that_are_all_alike_are_taken_in_the_order_of_columns(how):
    X = np.repeat(np.random.default_rng(0).normal(size=(50, 1)), 6, axis=1)
    in_order = {"correlated": [[0, 1], [2, 3], [4, 5]], "uncorrelated": [[0, 3], [1, 4], [2, 5]]}
    assert choose_blocks(X, 2, how) == in_order[how]
    assert choose_blocks(np.zeros((50, 6)), 2, how) == in_order[how]


@pytest.mark.parametrize("how", HOW)
def test_a_block_size_of_the_whole_file_or_more_makes_one_block(how):
    assert choose_blocks(distributed("uniform", 50, 4), 4, how) == [[0, 1, 2, 3]]
    assert choose_blocks(distributed("uniform", 50, 4), 9, how) == [[0, 1, 2, 3]]
    assert choose_blocks(distributed("uniform", 50, 4), 3, how) == [[0, 1, 2, 3]]


@pytest.mark.parametrize("how", HOW)
def test_scale_does_not_matter(how):
    X = distributed("clustered", 80, 7)
    assert choose_blocks(X * 10.0 ** np.arange(-150, 200, 50), 3, how) == choose_blocks(X, 3, how)
