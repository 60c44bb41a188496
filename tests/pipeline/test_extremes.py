"""Numbers at the ends of what a float and an integer can hold: k holds, nothing overflows, nothing becomes NaN."""

import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests import expect
from tests.samples import diagonal

import shoal

MOST = np.finfo(np.float64).max
TINY = 5e-324  # the least number above zero
FORMING = ["mdav", "vmdav", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "best", "auto"]
OPTIONS = {"best": {"budget": 300}}
STEPS = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0, 9.0])  # 13 records, with ties

EXTREMES = {
    "1e308": STEPS * 1e307,
    "the largest of both signs": np.where(STEPS > 4, MOST, -MOST),
    "the largest and its neighbour": np.where(STEPS > 4, MOST, np.nextafter(MOST, 0)),
    "denormals": STEPS * 1e-310,
    "the least above zero": STEPS * TINY,
    "spread of 1e-300": STEPS * 1e-300,
    "one unit in the last place apart": 1.0 + STEPS * 2.0**-52,
    "1e308 beside 1e-308": np.where(STEPS > 4, STEPS * 1e307, STEPS * 1e-309),
    "from 1e-300 to 1e300": 10.0 ** (STEPS * 60 - 270),
    "all ties": np.full(13, 1e308),
    "all zero, of both signs": np.where(STEPS > 4, 0.0, -0.0),
    "one record apart": np.r_[np.zeros(12), 1e308],
    "one record a hair apart": np.r_[np.ones(12), np.nextafter(1.0, 2)],
}


@pytest.fixture(autouse=True)
def loud():
    """Whatever overflows or gives NaN is an error; what vanishes next to something larger is not."""
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        yield


def smallest(table, names):
    """Count how many records share what they publish, without the help of the package."""
    return min(Counter(zip(*(table[name].to_pylist() for name in names), strict=True)).values())


def refused(error, words):
    """Look whether an error has a code, or says what is wrong."""
    assert words in error.codes or words in str(error)


def check(original, release, names, k):
    """Look at what is published: groups of k, no NaN, within the range of the original, and the same mean."""
    assert smallest(release.table, names) >= k
    for name in names:
        x, y = original[name].to_pylist(), release.table[name].to_pylist()
        assert all(math.isfinite(value) for value in y)
        assert min(x) <= min(y)
        assert max(y) <= max(x)
        size = sum(abs(Fraction(value)) for value in x)
        assert abs(sum(map(Fraction, x)) - sum(map(Fraction, y))) <= size / 10**12 + len(x) * Fraction(TINY)
    for value in release.loss().values():
        assert not isinstance(value, float) or math.isfinite(value)
    assert release.summary()["risk"]["after"]["smallest"] >= k


@pytest.mark.parametrize(("values", "method"), diagonal(EXTREMES, FORMING))
def test_an_extreme_column_beside_an_ordinary_one(values, method):
    table = pa.table({"x": values, "y": STEPS[::-1]})
    release = shoal.protect(table, k=3, quasi=["x", "y"], method=method, aggregate="mean", **OPTIONS.get(method, {}))
    check(table, release, ["x", "y"], 3)


@pytest.mark.parametrize(
    ("values", "how"),
    diagonal(EXTREMES, [("mdav", "minmax"), ("mdav", "none"), ("univariate", "zscore"), ("univariate", "none")]),
)
def test_an_extreme_column_by_itself(values, how):
    method, standardize = how
    table = pa.table({"x": values})
    release = shoal.protect(table, k=3, quasi=["x"], method=method, standardize=standardize)
    check(table, release, ["x"], 3)


@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES.keys())
def test_mic1d_stays_within_the_range_or_asks_for_a_larger_k(values):
    try:
        release = shoal.protect(pa.table({"x": values, "y": STEPS[::-1]}), k=5, quasi=["x", "y"], method="mic1d")
    except shoal.DataError as error:  # ties come out as they were
        refused(error, "mic1d-leaves-unchanged")
        return
    published, everything = release.table["x"].to_numpy(), np.r_[values, STEPS]
    assert np.isfinite(published).all()
    # values of all columns share parts, and next to 1e308 a denormal number is as good as zero
    assert everything.min() <= published.min() or (published.min() == 0.0 < everything.min() < 1e-300)
    assert published.max() <= everything.max()


@pytest.mark.parametrize(("method", "standardize"), diagonal(FORMING, ["zscore", "minmax", "none"]))
def test_all_extremes_at_once(method, standardize):
    table = pa.table(EXTREMES)
    names = table.column_names
    options = OPTIONS.get(method, {})
    release = shoal.protect(table, k=4, quasi=names, method=method, standardize=standardize, **options)
    check(table, release, names, 4)


AGGREGATES = ["mean", "median", "lower_median", "trimmed_mean", "medoid"]


@pytest.mark.parametrize(("values", "aggregate"), diagonal(EXTREMES, AGGREGATES))
def test_every_aggregate(values, aggregate):
    table = pa.table({"x": values, "y": STEPS[::-1]})
    release = shoal.protect(table, k=3, quasi=["x", "y"], method="mdav", aggregate=aggregate)
    assert smallest(release.table, ["x", "y"]) >= 3
    published = release.table["x"].to_numpy()
    assert np.isfinite(published).all()
    assert values.min() <= published.min()
    assert published.max() <= values.max()


@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES.keys())
def test_extremes_among_texts_dates_and_missing_values(values):
    table = pa.table(
        {
            "x": pa.array(values, mask=np.arange(13) == 5),
            "town": ["a", "b", None, *"abcabcabca"],
            "born": pa.array([-719_162, 2_932_896, *range(11)], pa.int32()).cast(pa.date32()),
        }
    )
    release = shoal.protect(table, k=3, quasi=table.column_names, missing="group")
    assert smallest(release.table, table.column_names) >= 3
    assert all(value is None or math.isfinite(value) for value in release.table["x"].to_pylist())


@pytest.mark.parametrize(("method", "n"), diagonal(FORMING, [5, 6, 9, 10]))
def test_as_many_records_as_one_group_or_two_take(method, n):
    table = pa.table({"x": EXTREMES["1e308"][:n], "y": EXTREMES["denormals"][:n]})
    release = shoal.protect(table, k=5, quasi=["x", "y"], method=method, **OPTIONS.get(method, {}))
    check(table, release, ["x", "y"], 5)
    assert len(set(release.groups)) <= n // 5


@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES.keys())
def test_restored_variances_stay_finite_or_are_refused(values):
    table = pa.table({"x": values, "y": STEPS[::-1]})
    try:
        release = shoal.protect(table, k=3, quasi=["x", "y"], method="mdav", restore_variance=True)
    except shoal.DataError:
        return
    assert smallest(release.table, ["x", "y"]) >= 3
    assert np.isfinite(release.table["x"].to_numpy()).all()


@pytest.mark.parametrize(("values", "method"), diagonal(EXTREMES, ["hybrid", "ms"]))
def test_hybrid_data_are_finite_or_refused_in_words(values, method):
    rng = np.random.default_rng(1)
    table = pa.table({"q": rng.normal(size=130), "x": rng.permutation(np.tile(values, 10)), "z": rng.normal(size=130)})
    options = {"k": 8} if method == "hybrid" else {"alpha": 0.5}
    try:
        release = shoal.protect(table, quasi=["q"], confidential=["x", "z"], method=method, seed=1, **options)
    except shoal.DataError as error:
        refused(error, "'x'")
        return
    assert np.isfinite(release.table["x"].to_numpy()).all()


ROUND = {  # beyond 2^53, and floats all the same
    "powers of two": (pa.int64(), [2**53, 2**62, -(2**63)] * 4),
    "sums beyond 2^63": (pa.int64(), [2**62 + i * 2**40 for i in range(12)]),
    "sums beyond 2^64": (pa.uint64(), [2**63 + i * 2**40 for i in range(12)]),
    "of 8 bits, at both ends": (pa.int8(), [127 if i % 2 else -128 for i in range(12)]),
}
ODD = {  # what no float can hold
    "beyond 2^53": (pa.int64(), [2**53 + 1 + 2 * i for i in range(12)]),
    "all 2^53 + 1": (pa.int64(), [2**53 + 1] * 12),
    "at the end of 64 bits": (pa.int64(), [2**63 - 1 - i for i in range(12)]),
    "without a sign": (pa.uint64(), [2**64 - 1 - i for i in range(12)]),
    "of 30 digits": (pa.decimal128(38, 0), [10**29 + i for i in range(12)]),
}


@pytest.mark.parametrize(
    ("integers", "method", "whole"), diagonal(ROUND, ["mdav", "best", "univariate"], [False, True])
)
def test_large_integers_that_a_float_can_hold_are_masked(integers, method, whole):
    kind, values = integers
    table = pa.table({"x": pa.array(values, kind), "kept": pa.array(values, kind)})
    options = {"method": method, "round": whole, **OPTIONS.get(method, {})}
    release = shoal.protect(table, k=3, quasi=["x"], confidential=["kept"], **options)
    assert release.table["kept"].to_pylist() == values  # to the last digit
    assert release.table["kept"].type == kind
    assert smallest(release.table, ["x"]) >= 3
    published = release.table["x"].to_pylist()
    for label in set(release.groups):
        rows = [i for i, group in enumerate(release.groups) if group == label]
        mean = Fraction(sum(values[i] for i in rows), len(rows))
        size = max(abs(values[i]) for i in rows)
        assert all(abs(Fraction(published[i]) - mean) <= max(Fraction(size, 2**51), whole) for i in rows)


@pytest.mark.parametrize(("kind", "values"), ODD.values(), ids=ODD.keys())
def test_integers_that_no_float_can_hold_are_refused_and_not_rounded(kind, values):
    table = pa.table({"x": pa.array(values, kind)})
    with expect.refused(shoal.DataError, "inexact-integers", column="x", record=1):
        shoal.protect(table, k=3, quasi=["x"])


ENDINGS = ["csv", "parquet", "arrow", "xml"]


@pytest.mark.parametrize(("integers", "ending"), diagonal(ROUND | ODD, ENDINGS))
def test_large_integers_that_are_not_masked_stay_as_they_are_in_files(integers, ending, tmp_path):
    kind, values = integers
    table = pa.table({"kept": pa.array(values, kind), "x": STEPS[:12]})
    out, again = tmp_path / f"out.{ending}", tmp_path / f"again.{ending}"
    shoal.protect(table, k=3, quasi=["x"], confidential=["kept"], method="mdav").save(out)
    release = shoal.protect(out, k=4, quasi=["x"], confidential=["kept"], method="mdav")
    release.save(again)
    assert smallest(release.table, ["x"]) >= 4
    assert [int(value) for value in release.table["kept"].to_pylist()] == values


@pytest.mark.parametrize(("values", "ending"), diagonal(EXTREMES, ENDINGS))
def test_extreme_floats_through_files(values, ending, tmp_path):
    table = pa.table({"kept": values, "x": values, "y": STEPS[::-1]})
    original, out = tmp_path / f"original.{ending}", tmp_path / f"out.{ending}"
    shoal.protect(table, k=3, quasi=["y"], confidential=["kept", "x"], method="mdav").save(original)
    release = shoal.protect(original, k=3, quasi=["x"], confidential=["kept", "y"], method="mdav")
    release.save(out)
    shoal.check(out, k=3, quasi=["x"])
    assert [float(value) for value in release.table["kept"].to_pylist()] == values.tolist()
    assert smallest(release.table, ["x"]) >= 3
