"""A manifest whose sections do not agree fails the check, in whatever section it was edited."""

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import shoal

ROLES = {"identifiers": ["patient_no"], "strata": ["region"], "weights": "weight", "confidential": ["icd"]}
PLAN = {"k": 4, "quasi": ["age", "income"], **ROLES, "l": 2, "method": "mdav", "preserve": "weighted_mean"}
HYBRID = {"method": "hybrid", "seed": 1, "k": 6, "confidential": ["income"], "identifiers": ["patient_no", "icd"]}


def patients(n: int = 120) -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table(
        {
            "patient_no": np.arange(n) // 3,
            "age": rng.normal(50, 9, n),
            "income": rng.lognormal(9, 1, n),
            "region": np.array(["north", "south", "east"])[np.minimum(np.arange(n) // 50, 2)],
            "icd": rng.choice(["N18", "F20", "I10", "C50"], n),
            "weight": rng.integers(1, 6, n) * 1.5,
        }
    )


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("release") / "masked.csv"
    shoal.protect(patients(), **PLAN).save(path)
    return path


def check_edited(path, edit: Callable[[dict], object]) -> list[str]:
    """Check a release with an edited manifest, and return what fails."""
    manifest = json.loads(path.with_name("masked.csv.manifest.json").read_text())
    edit(manifest)
    forged = path.with_name("forged.json")
    forged.write_text(json.dumps(manifest))
    try:
        shoal.check(path, manifest=forged)
    except shoal.CheckFailed as failed:
        return failed.failures
    return []


EDITS = {
    "no blocks": lambda m: m["verified"].update(blocks=[]),
    "no blocks, no k": lambda m: m["verified"].update(blocks=[]) or m["verified"].pop("k"),
    "another k": lambda m: m["plan"].update(k=2),
    "no k": lambda m: m["plan"].pop("k"),
    "fewer quasi-identifiers": lambda m: m["plan"].update(quasi=["age"], publish=["income"]),
    "no quasi-identifiers": lambda m: m["plan"].update(quasi=[]),
    "other quasi-identifiers": lambda m: m["plan"].update(quasi=["age", "wage"]),
    "attribute blocks": lambda m: m["plan"].update(blocks=[["age"], ["income"]]),
    "a method without groups": lambda m: m["plan"].update(method="mic1d"),
    "no strata": lambda m: m["plan"].pop("strata"),
    "another l": lambda m: m["plan"].update(l=3),
    "no l": lambda m: m["plan"].pop("l"),
    "another form of l": lambda m: m["plan"].update(l_form="entropy"),
    "a c": lambda m: m["plan"].update(c=2.0),
    "a t": lambda m: m["plan"].update(t=0.2),
    "no diversity": lambda m: m["verified"]["blocks"][0].update(diversity=[]),
    "another confidential column": lambda m: m["plan"].update(confidential=["weight"]),
    "a column with two roles": lambda m: m["plan"].update(publish=["age"]),
    "an identifier among the columns": lambda m: m["plan"].update(identifiers=["patient_no", "icd"]),
    "no weighted totals": lambda m: m["plan"].pop("preserve"),
    "units of another column": lambda m: m["plan"].pop("identifiers"),
    "units in other groups": lambda m: m["verified"]["units"][0].update(groups=1),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_manifest_that_contradicts_itself_fails(edit, saved):
    failures = check_edited(saved, edit)
    assert failures
    assert failures[0].startswith("the manifest contradicts itself: ")


OTHERS = {
    "as it was": PLAN,
    "attribute blocks": {"k": 3, "blocks": [["age"], ["income", "icd"]], "publish": "rest"},
    "one of several engines": {"k": 3, "quasi": ["age"], "publish": "rest", "engine": "memory"},
    "small strata merged": {
        "k": 30,
        "quasi": ["age"],
        "strata": ["region"],
        "small_strata": "merge",
        "publish": "rest",
    },
    "t-closeness": {"k": 4, "quasi": ["age"], "confidential": ["icd", "income"], "t": 0.5, "publish": "rest"},
    "recursive l": {
        **{"k": 6, "quasi": ["age"], "confidential": ["icd"], "l": 2, "l_form": "recursive", "c": 3},
        "publish": "rest",
    },
    "no groups": {"k": 9, "quasi": ["age", "income"], "method": "mic1d", "publish": "rest"},
    "hybrid": {**HYBRID, "quasi": ["age"], "publish": "rest"},
    "hybrid, masked": {**HYBRID, "quasi": ["age"], "mask_quasi": True, "publish": "rest"},
}


@pytest.mark.parametrize("options", OTHERS.values(), ids=OTHERS)
def test_a_manifest_agrees_with_itself_whatever_the_plan_promises(options, tmp_path):
    shoal.protect(patients(), **{"identifiers": ["patient_no"], **options}).save(tmp_path / "masked.csv")
    assert check_edited(tmp_path / "masked.csv", lambda manifest: None) == []
