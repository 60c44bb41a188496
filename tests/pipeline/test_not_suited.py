"""Tables that do not suit a plan, and what is noted on those that do."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import refused, reports

import shoal
from shoal.messages import Message
from shoal.pipeline import resolve, save
from shoal.pipeline.keeper import keepers_secret
from shoal.pipeline.manifest import sha256_of

N = 60
DRAWN = np.random.default_rng(0).normal(size=(3, N))
ONE = [1.0, *[None] * (N - 1)]


def table(**more) -> pa.Table:
    return pa.table({"a": DRAWN[0], "b": DRAWN[1], "c": DRAWN[2], **more})


@pytest.mark.parametrize(
    ("options", "column", "code", "data"),
    [
        ({}, pa.nulls(N, pa.float64()), "empty-column", {"column": "x"}),
        ({}, [1.0, np.inf, *[2.0] * (N - 2)], "infinite-values", {"column": "x", "first": 2, "records": None}),
        ({}, [*[1.0] * (N - 2), np.inf, -np.inf], "infinite-values", {"column": "x", "first": N - 1, "records": 2}),
        ({"restore_variance": True, "k": N}, [*range(N)], "variance-of-one-value", {"column": "a"}),
        ({"edits": ["x > 57"], "edits_original": "exclude"}, [*range(N)], "too-few-obeying", {"records": 2, "k": 3}),
        ({"missing": "impute"}, ONE, "too-few-complete", {"number": 1, "counts": "record"}),
        ({"missing": "suppress"}, ONE, "too-few-complete", {"number": 1, "k": 3, "grouping": True}),
    ],
)
def test_values_that_cannot_be_masked_are_refused(options, column, code, data):
    with refused(shoal.DataError, code, **data):
        shoal.protect(table(x=column), **{"k": 3, "method": "mdav", "quasi": ["a", "x"], "publish": "rest", **options})


@pytest.mark.parametrize(
    ("options", "code", "field", "data"),
    [
        ({"quasi": ["a"], "method": "pca", "missing": "group"}, "missing-not-for-method", "method", {"column": "x"}),
        ({"scale": {"memory": "1MB"}, "k": 30_000}, "memory-below-2k", "scale.memory", {"least": 60_000}),
    ],
)
def test_what_a_method_or_memory_cannot_take_is_refused(options, code, field, data):
    rows = 70_000 if "scale" in options else N
    numbers = np.random.default_rng(1).normal(size=(2, rows))
    x = pa.array(numbers[1], mask=np.arange(rows) == 3) if options.get("missing") else numbers[1]
    with refused(shoal.PlanError, code, field, **data):
        shoal.protect(pa.table({"a": numbers[0], "x": x}), **{"k": 3, **options, "quasi": ["a", "x"]})


def test_dates_that_would_leave_the_calendar_are_refused():
    years = [9999] * 20 + [1000, 5000] * 20
    days = pa.array([dt.date(year, 12, 31) for year in years])
    together = {"a": np.repeat([0.0, 1, 2], 20), "x": days}
    options = {"restore_variance": True, "attribute_weights": {"a": 1000}, "method": "mdav"}
    with refused(shoal.DataError, "variance-beyond-calendar", column="x"):
        shoal.protect(pa.table(together), k=20, quasi=["a", "x"], **options)


def test_sensitive_values_are_text_numbers_or_dates():
    with refused(shoal.DataError, "type-not-counted", column="x", type="binary"):
        shoal.protect(table(x=[b"1"] * N), k=3, quasi=["a"], confidential=["x"], l=2, publish="rest")


def test_more_categories_than_can_be_counted_are_refused(monkeypatch):
    monkeypatch.setattr(resolve, "MOST_CATEGORIES", 2)
    with refused(shoal.DataError, "many-categories", column="x", most=2):
        shoal.protect(table(x=["n", "s", "w"] * (N // 3)), k=3, quasi=["a", "x"], publish="rest")


def test_what_was_written_is_compared_with_the_release(tmp_path, monkeypatch):
    release = shoal.protect(table(), k=3, quasi=["a"], publish="rest")
    with monkeypatch.context() as patch:
        patch.setattr(save, "stored_type", lambda kind, type_: pa.int8())
        with refused(shoal.CheckFailed, "wrong-type", column="a", type="double", promised="int8"):
            release.save(tmp_path / "out.parquet")
    whole = save.open_table
    monkeypatch.setattr(save, "open_table", lambda *of: save.Table(whole(*of).to_arrow().slice(1)))
    with refused(shoal.CheckFailed, "not-as-released"):
        release.save(tmp_path / "out.parquet")
    assert not any(tmp_path.iterdir())


def test_a_file_that_holds_something_else_is_no_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_SECRET", str(tmp_path / "secret"))
    for text in ("not hex", "abcd"):
        (tmp_path / "secret").write_text(text)
        (tmp_path / "secret").chmod(0o600)
        with refused(shoal.FileError, "secret-unusable", wrong=True):
            keepers_secret()


def test_a_published_file_that_cannot_be_read_is_named(tmp_path):
    with refused(shoal.FileError, "file-not-readable", path=str(tmp_path)):
        sha256_of(tmp_path)


@pytest.mark.parametrize(
    ("options", "code", "data"),
    [
        ({"quasi": ["a", "b"], "budget": "1s", "method": "best"}, "budget-in-seconds", {}),
        ({"quasi": ["x"]}, "no-number-preserved", {}),
        (
            {"quasi": ["a", "b"], "restore_variance": True},
            "variance-preserved",
            {"kind": "attribute", "rounded": False},
        ),
        ({"quasi": ["a", "x"]}, "mean-preserved", {"kind": "number", "columns": [], "weighted": False}),
        ({"quasi": ["a", "b"], "aggregate": "median"}, "no-moment-preserved", {"aggregates": ["median"]}),
        ({"quasi": ["a"], "weights": "w"}, "mean-preserved", {"kind": "attribute", "weighted": True}),
        ({"quasi": ["a"], "confidential": ["b"]}, "no-l-diversity", {"other": ""}),
        ({"quasi": ["a"], "confidential": ["b"], "only": "at_risk"}, "no-l-diversity", {"other": "--only"}),
        ({"quasi": ["a", "b"], "k": 40}, "all-in-one-group", {"ways": [Message("other-value", option="-k")]}),
    ],
)
def test_what_a_release_preserves_and_how_it_was_made_is_noted(options, code, data):
    more = {"x": ["n", "s", "w"] * (N // 3), "w": np.linspace(1, 2, N)}
    release = shoal.protect(table(**more), **{"k": 3, "publish": "rest", **options})
    assert reports(release.notes, code, **data), release.notes


@pytest.mark.parametrize(("seed", "code"), [(1, "seed-is-secret"), (None, "secret-used")])
def test_hybrid_data_say_where_their_noise_came_from(seed, code):
    options = {"method": "ms", "alpha": 0.3, "confidential": ["a", "b"]}
    numbers = pa.table(dict(zip("ab", np.random.default_rng(2).normal(size=(2, 200)), strict=True)))
    shoal.protect(numbers, **options)  # creates the secret
    assert reports(shoal.protect(numbers, **options, seed=seed).notes, code)
