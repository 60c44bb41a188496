"""Groups of values, some missing, with weights: drawn for the tests of aggregation."""

import numpy as np
from hypothesis import strategies as st

LEVELS = 6
# Eighths add up exactly, so that what is exactly half is so in fractions and in doubles.
weights = st.one_of(st.integers(1, 4).map(float), st.integers(1, 40).map(lambda eighths: eighths / 8))
levels = st.integers(0, LEVELS - 1).map(float)
numbers = st.one_of(levels, st.floats(-1e9, 1e9))
positive = st.one_of(levels.map(lambda level: level + 1), st.floats(1e-300, 1e300))


@st.composite
def groups(draw: st.DrawFn, values=numbers, missing=True, weights=weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, labels and weights; ties, groups of one, groups that miss all values."""
    values = st.one_of(values, st.just(np.nan)) if missing else values
    records = draw(st.lists(st.tuples(values, st.integers(0, 3), weights), min_size=1, max_size=25))
    codes, labels, w = (np.array(column) for column in zip(*records, strict=True))
    return codes, np.unique(labels, return_inverse=True)[1], w


def repeated(codes, labels, weights):
    """A record of weight 2 twice, and so on."""
    times = weights.astype(int)
    return np.repeat(codes, times), np.repeat(labels, times)


def shuffled(random, *columns):
    order = list(range(len(columns[0])))
    random.shuffle(order)
    return order, *(column[order] for column in columns)
