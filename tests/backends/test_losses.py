"""Losses that are added up block by block equal those of all records at once."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.standardize import Scale
from shoal.pipeline.loss import Losses, costs
from shoal.tables.attributes import Attribute

LEVELS = pa.array(list("abcdef"))


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[Attribute], list[np.ndarray]]:
    """Attributes of all types with what is published for them; values may be missing before, after or both."""
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    gaps = draw(st.sampled_from([0.0, 0.1, 0.7]))
    attributes, masked = [], []
    for j, kind in enumerate(
        draw(st.lists(st.sampled_from(["continuous", "constant", "ordinal", "nominal"]), min_size=1))
    ):
        if kind == "continuous":
            codes = rng.normal(5, 3, n)
            published = np.round(codes)
        elif kind == "constant":
            codes = np.full(n, 7.0)
            published = codes.copy()
        else:
            codes = rng.integers(0, 6, n).astype(float)
            published = np.clip(codes + rng.integers(-1, 2, n), 0, 5)
        codes[rng.random(n) < gaps] = np.nan
        if len(np.unique(codes[~np.isnan(codes)])) < 2:
            published = codes.copy()  # as groups publish what is constant
        published[rng.random(n) < gaps / 2] = np.nan
        type_ = "continuous" if kind == "constant" else kind
        stored, levels = (pa.float64(), None) if type_ == "continuous" else (pa.string(), LEVELS)
        attributes.append(Attribute(f"a{j}", type_, codes, stored, levels))
        masked.append(published)
    return attributes, masked


def same(one, two, path: str = "") -> None:
    if isinstance(one, dict):
        assert set(one) == set(two), path
        for key in one:
            same(one[key], two[key], f"{path}/{key}")
    elif isinstance(one, float):
        assert two == pytest.approx(one, rel=1e-7, abs=1e-7), path
    else:
        assert one == two, path


@given(releases(), st.integers(1, 20))
def test_blocks_add_up_to_the_whole(release, rows):
    attributes, masked = release
    X, Y = np.column_stack([attribute.codes for attribute in attributes]), np.column_stack(masked)
    scales = {}
    for attribute in attributes:
        present = attribute.codes[~np.isnan(attribute.codes)]
        scales[attribute.name] = Scale(4.0, float(np.ptp(present)) if len(present) else 0.0)
    losses = Losses([replace(attribute, codes=np.empty(0)) for attribute in attributes], scales)
    sums = sum(losses.measure(X[start : start + rows], Y[start : start + rows]) for start in range(0, len(X), rows))
    same(costs(attributes, masked), losses.summary(sums))
