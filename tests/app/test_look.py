"""What the page shows of the values of one column: nothing that few records share, unless the keeper allows it."""

import numpy as np
import pandas as pd
import pytest
from tests.expect import refused

from shoal.app.look import look_at
from shoal.app.worker import inspect, risk_utility
from shoal.errors import DataError
from shoal.parallel import quiet
from shoal.plan import Plan

pytest.importorskip("altair", reason="distributions come with the extra 'report'")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A table with rare values in every column."""
    rng = np.random.default_rng(0)
    town = ["Here"] * 150 + ["There"] * 40 + ["Secretville"] * 9 + ["Nowhere"]
    age = rng.integers(20, 80, 200)
    age[0], age[5:25] = 117, 999
    path = tmp_path_factory.mktemp("look") / "people.csv"
    pd.DataFrame({"town": town, "age": age, "name": [f"n{i}" for i in range(200)], "empty": ""}).to_csv(
        path, index=False
    )
    return Plan(k=2, input=str(path))


def test_a_file_larger_than_memory_is_not_counted(people, monkeypatch):
    monkeypatch.setattr("shoal.app.look.engine_for", lambda plan: ("file", ""))
    with refused(DataError, "too-large-to-count"):
        look_at(people, "town", "", [], False)


def test_rare_values_are_pooled(people):
    found = look_at(people, "town", "", [], False)
    assert found["rows"] == [["Here", 75.0, None], ["There", 20.0, None], ["(all others)", 5.0, None]]


def test_numbers_are_in_ranges_without_their_extremes_and_codes_are_missing(people):
    rows = look_at(people, "age", "", ["999"], False)["rows"]
    labels = [label for label, _, _ in rows]
    assert labels[-1] == "(missing)"
    assert labels[0].startswith("under")
    assert labels[-2].endswith("or more")
    assert "117" not in str(rows)
    assert sum(share for _, share, _ in rows) == pytest.approx(100, abs=0.5)


def test_nothing_is_shown_of_a_column_of_names(people):
    assert look_at(people, "name", "", [], False)["rows"] == []


@pytest.mark.parametrize("type_", ["date", "ordinal", "boolean"])
def test_a_type_that_does_not_suit_the_column_is_no_obstacle(people, type_):
    assert look_at(people, "town", type_, [], False)["rows"][0][0] == "Here"


def test_single_values_are_counted_if_that_is_allowed(people):
    town, age = (look_at(people, name, "", [], True) for name in ("town", "age"))
    assert ["Nowhere", 0.5, 1] in town["rows"]
    assert town["notes"] == []
    assert "From 20 to 999." in age["notes"] or "to 999" in " ".join(age["notes"])
    assert sum(count for _, _, count in town["rows"]) == 200


def test_a_file_is_read_as_the_form_says(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a|b\n" + "\n".join(f"{i}|nix" if i % 3 else f"{i}|{i}" for i in range(60)) + "\n")
    found = inspect(str(path), quiet, {"csv": {"delimiter": "|", "missing": ["nix"]}})
    assert [each["column"] for each in found["columns"]] == ["a", "b"]
    assert found["columns"][1]["missing"] == 40
    assert found["reading"] == {"csv.delimiter": "|", "csv.missing": ["nix"]}
    options = {"k": 3, "quasi": ["a"], "identifiers": ["b"], "csv": {"delimiter": "|"}}
    assert risk_utility(str(path), options, quiet)["records"] == 60
