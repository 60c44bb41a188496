"""A manifest whose sections do not agree fails the check, in whatever section it was edited."""

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from tests.expect import reports

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
    "no blocks": (lambda m: m["verified"].update(blocks=[]), "block-not-verified", {"columns": ["age", "income"]}),
    "no blocks, no k": (
        lambda m: m["verified"].update(blocks=[]) or m["verified"].pop("k"),
        "contradicts-plan",
        {"fields": ["k"]},
    ),
    "another k": (lambda m: m["plan"].update(k=2), "contradicts-plan", {"fields": ["k"]}),
    "no k": (lambda m: m["plan"].pop("k"), "contradicts-plan", {"fields": ["k"]}),
    "fewer quasi-identifiers": (
        lambda m: m["plan"].update(quasi=["age"], publish=["income"]),
        "contradicts-groups",
        {},
    ),
    "no quasi-identifiers": (lambda m: m["plan"].update(quasi=[]), "contradicts-groups", {}),
    "other quasi-identifiers": (
        lambda m: m["plan"].update(quasi=["age", "wage"]),
        "block-not-verified",
        {"columns": ["wage"]},
    ),
    "attribute blocks": (lambda m: m["plan"].update(blocks=[["age"], ["income"]]), "contradicts-groups", {}),
    "a method without groups": (lambda m: m["plan"].update(method="mic1d"), "contradicts-plan", {"fields": ["k"]}),
    "no strata": (lambda m: m["plan"].pop("strata"), "contradicts-groups", {}),
    "another l": (lambda m: m["plan"].update(l=3), "contradicts-plan", {"fields": ["l"]}),
    "no l": (lambda m: m["plan"].pop("l"), "contradicts-diversity", {"columns": 1, "promised": 0}),
    "another form of l": (
        lambda m: m["plan"].update(l_form="entropy"),
        "contradicts-plan",
        {"fields": ["l_form"]},
    ),
    "a c": (lambda m: m["plan"].update(c=2.0), "contradicts-plan", {"fields": ["c"]}),
    "a t": (lambda m: m["plan"].update(t=0.2), "contradicts-plan", {"fields": ["t"]}),
    "no diversity": (
        lambda m: m["verified"]["blocks"][0].update(diversity=[]),
        "contradicts-diversity",
        {"columns": 0, "promised": 1},
    ),
    "another confidential column": (
        lambda m: m["plan"].update(confidential=["weight"]),
        "contradicts-diversity",
        {"columns": 1, "promised": 1},
    ),
    "a column with two roles": (
        lambda m: m["plan"].update(publish=["age"]),
        "two-roles-in-plan",
        {"columns": ["age"], "number": 1},
    ),
    "an identifier among the columns": (
        lambda m: m["plan"].update(identifiers=["patient_no", "icd"]),
        "identifier-published",
        {},
    ),
    "no weighted totals": (lambda m: m["plan"].pop("preserve"), "contradicts-plan", {"fields": ["preserve"]}),
    "blocks of other columns": (
        lambda m: m["plan"].update(blocks=[["age"], ["income", "weight"]]),
        "contradicts-blocks",
        {},
    ),
    "dominance": (
        lambda m: m["verified"].update(dominance=True),
        "contradicts-plan",
        {"fields": ["p_percent", "dominance"]},
    ),
    "totals of domains": (
        lambda m: m["verified"].update(domain_totals=True),
        "contradicts-plan",
        {"fields": ["keep_totals"]},
    ),
    "rules that were excused": (
        lambda m: m["verified"].update(rules={"number": 1, "excused": True}),
        "contradicts-plan",
        {},
    ),
    "a household": (
        lambda m: m["plan"].update(household="patient_no"),
        "two-roles-in-plan",
        {"columns": ["patient_no"], "number": 1},
    ),
    "a unit": (lambda m: m["plan"].update(unit="patient_no"), "contradicts-plan", {"fields": ["unit"]}),
}


@pytest.mark.parametrize(("edit", "code", "data"), EDITS.values(), ids=EDITS)
def test_a_manifest_that_contradicts_itself_fails(edit, code, data, saved):
    assert reports(check_edited(saved, edit), code, **data)


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
