"""Every k in one run: shoal.sweep and its command."""

import json

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.cli.sweep import sizes_of
from shoal.evidence.sweep import knee


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pa.table(
        {"age": rng.integers(18, 90, 90), "income": rng.normal(2000, 500, 90), "town": ["n", "s", "w"] * 30}
    )


def test_a_row_says_what_a_release_of_its_own_would(people):
    rows = shoal.sweep(people, k=[3, 4, 7], method=["tour", "mdav"], quasi=["age", "income"], publish=["town"]).rows
    assert [(row["method"], row["k"]) for row in rows] == [(m, k) for m in ("tour", "mdav") for k in (3, 4, 7)]
    for row in rows:
        release = shoal.protect(people, k=row["k"], method=row["method"], quasi=["age", "income"], publish=["town"])
        assert row["IL"] == pytest.approx(release.loss()["IL"])
        assert row["groups"] == len(np.unique(release.groups))
        assert row["reidentification"] == pytest.approx(100 * row["groups"] / 90)


def test_types_strata_and_edits_are_swept_too(people):
    rows = shoal.sweep(people, k=[3, 5], method="mdav", quasi=["age", "income", "town"]).rows
    assert all(row["linked"] is None for row in rows)
    rows = shoal.sweep(people, k=[3, 5], quasi=["age", "income"], strata=["town"]).rows
    assert rows[0]["groups"] > rows[1]["groups"]
    assert len(shoal.sweep(people, k=[3], quasi=["age", "income"], publish=["town"], edits=["age is integer"])) == 1


def test_the_knee_is_the_row_nearest_to_no_loss_and_no_risk():
    rows = [{"IL": loss, "reidentification": risk, "k": k} for k, loss, risk in ((2, 0, 50), (3, 1, 20), (9, 10, 10))]
    assert knee(rows)["k"] == 3
    assert knee(rows[:2]) is None


def test_csv_and_json_hold_the_rows(people):
    found = shoal.sweep(people, k=range(3, 6), quasi=["age", "income"], publish=["town"])
    assert len(found.to_csv().splitlines()) == 4
    assert json.loads(found.to_json())["rows"] == found.rows


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"k": []}, "k: names no group size"),
        ({"k": [1, 3]}, "k: must be at least 2"),
        ({"method": []}, "method: names no method"),
        ({"method": "mic1d"}, "method: 'mic1d' forms no groups"),
        ({"method": "nonsense"}, "method: must be"),
        ({"method": ["tour", "nonsense"]}, "method: must be"),
        ({"method": None}, "method: must be the name of a method"),
        ({"k": None}, "k: must be a group size"),
        ({"k": "35"}, "k: must be a group size"),
        ({"bound": True}, "bound: does not apply to a sweep"),
    ],
)
def test_what_cannot_be_is_said(people, options, sentence):
    with pytest.raises(shoal.PlanError) as error:
        shoal.sweep(people, **{"quasi": ["age", "income"], "publish": ["town"], **options})
    assert sentence in str(error.value)


def test_a_k_beyond_the_table_is_said(people):
    with pytest.raises(shoal.DataError, match="k = 91 asks for groups larger than the table"):
        shoal.sweep(people, k=[3, 91], quasi=["age", "income"], publish=["town"])


def test_sizes_are_read():
    assert sizes_of("3-5,8") == [3, 4, 5, 8]
    for wrong in ("", "a", "5-3", "3-", "-3", "2-99999999"):
        with pytest.raises(shoal.PlanError):
            sizes_of(wrong)


def test_what_groups_must_be_besides_large_counts_in_a_sweep_too(people):
    town = {"confidential": ["town"], "quasi": ["age", "income"], "l": 2}
    [row] = shoal.sweep(people, k=3, **town)
    assert row["groups"] == len(set(shoal.protect(people, k=3, method="tour", **town).groups))
    [row] = shoal.sweep(people, k=[3], quasi=["age", "income"], publish="rest", scale={"block_size": 30})
    assert row["groups"] == len(
        set(
            shoal.protect(
                people, k=3, method="tour", quasi=["age", "income"], publish="rest", scale={"block_size": 30}
            ).groups
        )
    )


def test_missing_values_and_a_budget_for_those_that_search(people):
    age = people["age"].to_pylist()
    gaps = people.set_column(0, "age", pa.array([None, *age[1:]]))
    assert shoal.sweep(gaps, k=[3], quasi=["age", "income"], publish="rest", missing="impute").rows[0]["smallest"] >= 3
    rows = shoal.sweep(
        people, k=[3], method=["tour", "best"], budget=1000, quasi=["age", "income"], publish=["town"]
    ).rows
    assert rows[1]["IL"] <= rows[0]["IL"] * 1.2
