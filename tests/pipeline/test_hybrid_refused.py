"""Hybrid data: what is refused, and what verification finds."""

import numpy as np
import pytest
from tests.expect import refused

import shoal
from hybrid_samples import HYBRID, MS, people
from shoal.pipeline.verify_hybrid import Claim, verify_hybrid
from shoal.tables import Table

ILL, NOMINAL = {"confidential": ["ill"]}, {"column": "ill", "type": "nominal"}
SUM = {"edits": ["income = children + age"], "edits_original": "exclude"}
WHOLE = {"column": "income", "rule": "integer"}


@pytest.mark.parametrize(
    ("asked", "options", "code", "data"),
    [
        (HYBRID, {"k": 6}, "k-too-small-for-synthesis", {"field": "k", "records": 6, "least": 7}),
        (HYBRID, {"k": 6, "ipso": "orthogonal"}, "k-too-small-for-synthesis", {"records": 6, "least": 7}),
        (HYBRID, {"partition": "univariate"}, "one-attribute-only", {"field": "partition"}),
        (HYBRID, {**ILL, "partition": "tour"}, "type-not-for-method", {"method": "tour", **NOMINAL}),
        (HYBRID, {**ILL, "refine": True}, "needs-numbers", {"field": "refine", **NOMINAL}),
        (
            HYBRID,
            {"constraints": {"income": "integer"}},
            "constraint-broken-before",
            {"rule": "integer", "records": 120},
        ),
        (HYBRID, {**ILL, "constraints": {"ill": "integer"}}, "constraint-not-for-type", NOMINAL),
        (HYBRID, {"constraints": {"income": "non-negative"}, **SUM}, "rule-on-constrained", {"columns": ["income"]}),
        (HYBRID, {"mask_quasi": True, **SUM}, "rule-on-masked", {}),
        (MS, {"alpha": 1 - 1e-15}, "unchanged-by-alpha", {"column": "income", "records": 120}),
        (MS, ILL, "type-not-for-method", {"field": "method", "method": "ms", "instead": "--method=hybrid", **NOMINAL}),
    ],
)
def test_what_hybrid_data_cannot_be_made_of_has_its_code(asked, options, code, data):
    with refused(shoal.ShoalError, code, **data):
        shoal.protect(people(), publish="rest", **{**asked, **options})


def test_text_among_confidential_numbers_is_refused(tmp_path):
    rows = [f"{i},{i * 7 % 11}" for i in range(30)]
    (tmp_path / "spoilt.csv").write_text("\n".join(["a,b", *rows, "31,many"]) + "\n")
    with pytest.raises(shoal.DataError, match=r"'b'.*record 31"):
        shoal.protect(tmp_path / "spoilt.csv", k=10, method="hybrid", quasi=["a"], confidential=["b"])


def swapped(values):
    return np.concatenate([values[1::-1], values[2:]])


@pytest.mark.parametrize(
    ("name", "tamper", "code", "data"),
    [
        ("income", lambda x: x + 1e-3, "mean-not-kept", {"group": False}),
        ("income", lambda x: (x - x.mean()) * 1.001 + x.mean(), "covariance-not-kept", {"other": "income"}),
        ("income", lambda x: x[::-1], "covariance-not-kept", {"other": "age"}),
        ("income", swapped, "covariance-not-kept", {"group": True}),
        ("ill", lambda x: np.roll(x, 1), "marginals-not-kept", {}),
        ("children", lambda x: x - 10, "constraint-broken", {"rule": "non-negative"}),
        ("children", lambda x: x + 0.5, "constraint-broken", {"rule": "integer"}),
    ],
)
def test_verification_finds_what_is_not_as_claimed(name, tamper, code, data):
    table = people()
    constraints = {"children": ["non-negative", "integer"]}
    asked = {**HYBRID, "k": 15, "confidential": ["income", "ill", "children"], "constraints": constraints}
    release = shoal.protect(table, publish=["town", "debt"], **asked)
    claim = release.published.claim
    changed = tamper(np.array(release.table[name]))
    spoilt = release.table.set_column(release.table.column_names.index(name), name, [changed])
    with refused(shoal.CheckFailed, code, column=name, **data):
        verify_hybrid(Table(spoilt), Table(table), claim)


def test_verification_finds_values_that_are_their_own():
    table = people()
    types = dict.fromkeys(["income"], "continuous")
    claim = Claim(np.arange(120) // 12, ["income"], [], [], {}, types, {})
    with refused(shoal.CheckFailed, "own-values-published", column="income", values=120):
        verify_hybrid(Table(table), Table(table), claim)
