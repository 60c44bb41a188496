"""Survey weights in the search: what it lowers is the weighted loss that is reported."""

import numpy as np
import pyarrow as pa
import pytest

import naive
import shoal
from shoal.pipeline import partition

NUMBERS, MIXED = ["age", "income"], ["age", "income", "job"]


def people(n=240, seed=3):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.uniform(18, 90, n),
            "income": rng.lognormal(8, 1, n),
            "job": rng.choice([*"abcde"], n),
            "site": rng.choice([*"xy"], n),
            "w": rng.lognormal(3, 1, n),
            "ill": rng.integers(0, 5, n),
        }
    )


def release_of(table, **asked):
    table = table if "job" in asked["quasi"] else table.drop_columns(["job"])
    return shoal.protect(table, **{"k": 3, "method": "best", "publish": ["site", "ill"], "weights": "w", **asked})


def without_weights_in_the_search(monkeypatch):
    monkeypatch.setattr(partition, "_weighted", lambda space, weights: space)


SEARCHES = {
    "numbers": {"quasi": NUMBERS},
    "mixed": {"quasi": MIXED},
    "refined": {"quasi": NUMBERS, "method": "vmdav", "refine": True},
    "refined mixed": {"quasi": MIXED, "method": "mdav", "refine": True, "budget": 60_000},
    "l": {"quasi": MIXED, "confidential": ["ill"], "publish": ["site"], "l": 2},
    "strata": {"quasi": MIXED, "strata": ["site"], "publish": ["ill"]},
}


@pytest.mark.parametrize("asked", SEARCHES.values(), ids=SEARCHES)
def test_the_weighted_loss_is_lower_than_that_of_a_search_without_weights(asked, monkeypatch):
    ours = release_of(people(), **asked).loss()["SSE"]
    without_weights_in_the_search(monkeypatch)
    assert ours < release_of(people(), **asked).loss()["SSE"]


@pytest.mark.parametrize("asked", SEARCHES.values(), ids=SEARCHES)
def test_the_loss_that_is_reported_is_that_of_the_groups_by_weights(asked):
    table = people()
    release = release_of(table, **asked)
    columns = {name: table[name].to_pylist() for name in asked["quasi"]}
    expected = naive.reported_sse(columns, release.groups.tolist(), table["w"].to_pylist())
    assert release.loss()["SSE"] == pytest.approx(expected, rel=1e-9)
    assert np.bincount(release.groups).min() >= 3


@pytest.mark.parametrize("quasi", [NUMBERS, MIXED], ids=["numbers", "mixed"])
def test_weights_that_are_all_the_same_change_no_group(quasi):
    table = people()
    alone = release_of(table.drop_columns(["w"]), quasi=quasi, weights=None)
    for weight in (1.0, 0.3, 1e100):
        same = table.set_column(table.column_names.index("w"), "w", pa.array(np.full(len(table), weight)))
        assert release_of(same, quasi=quasi).groups.tolist() == alone.groups.tolist()


def test_scaling_all_weights_changes_no_group():
    table = people()
    scaled = table.set_column(table.column_names.index("w"), "w", pa.array(table["w"].to_numpy() * 2.0**-30))
    groups = [release_of(each, quasi=MIXED).groups.tolist() for each in (table, scaled)]
    assert groups[0] == groups[1]


def test_the_order_of_the_records_does_not_matter():
    table, order = people(), np.random.default_rng(1).permutation(240)
    one, two = release_of(table, quasi=MIXED), release_of(table.take(order), quasi=MIXED)
    assert one.table.select(MIXED).take(order) == two.table.select(MIXED)


def test_weights_of_any_size_are_searched():
    table = people()
    w = 10.0 ** np.random.default_rng(2).integers(-100, 100, len(table))
    extreme = table.set_column(table.column_names.index("w"), "w", pa.array(w))
    release = release_of(extreme, quasi=MIXED, budget=20_000)
    assert np.bincount(release.groups).min() >= 3


def test_gaps_that_are_filled_join_groups_of_a_weighted_search():
    table = people()
    income = table["income"].to_pylist()
    income[::10] = [None] * len(income[::10])
    gaps = table.set_column(1, "income", pa.array(income))
    release = release_of(gaps, quasi=MIXED, missing="impute", budget=20_000)
    assert np.bincount(release.groups).min() >= 3
