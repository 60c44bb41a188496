"""Hybrid data: what is refused, and what verification finds."""

import numpy as np
import pytest

import shoal
from hybrid_samples import HYBRID, MS, people
from shoal.pipeline.verify_hybrid import Claim, verify_hybrid
from shoal.tables import Table


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 6}, r"k: groups of 6 records are too small for .* Use -k 7 or more.*add --mask-quasi"),
        ({"k": 1}, "k: must be at least 2"),
        ({"k": 6, "ipso": "orthogonal"}, r"groups of 6 records are too small .* Use -k 7 or more"),
        ({"ipso": "literal"}, "ipso: must be 'independent' or 'orthogonal'"),
        ({"method": "mdav", "ipso": "orthogonal"}, "ipso: does not apply to method 'mdav'. Use --method hybrid"),
        ({"partition": "optimal"}, "partition: 'optimal' does not apply to method 'hybrid'. Use --partition best"),
        ({"partition": "univariate"}, "partition: 'univariate' takes one attribute. Use --partition mdav or best"),
        ({"partition": "ward"}, "partition: must be 'mdav', "),
        ({"method": "mdav", "partition": "best"}, "partition: does not apply to method 'mdav'. Use --method best"),
        ({"partition": "best", "refine": True}, "refine: does not apply to partition 'best', which always refines"),
        ({"gain": 0.5}, "gain: does not apply to partition 'mdav'. Use --partition vmdav"),
        ({"budget": 10}, "budget: does not apply to partition 'mdav'. Use --partition best or --refine"),
        ({"bound": True}, "bound: does not apply to method 'hybrid'"),
        ({"confidential": ["ill"], "partition": "tour"}, "partition: 'tour' cannot take 'ill', which is nominal"),
        ({"confidential": ["ill"], "refine": True}, "refine: applies to numbers and dates, but 'ill' is nominal"),
        ({"confidential": []}, "^Set confidential, the attributes that method 'hybrid' gives new values"),
        ({"confidential": ["income", "age"]}, "confidential: names 'age', which is in quasi too"),
        ({"alpha": 0.3}, "alpha: does not apply to method 'hybrid'"),
        ({"constraints": {"age": "integer"}}, "constraints: names 'age', which is not sensitive"),
        ({"constraints": {"income": "even"}}, "constraints.income: must be 'non-negative' or 'integer'"),
        ({"constraints": {"income": "integer"}}, "'income' is not integer in 120 records"),
        ({"constraints": {"ill": "integer"}, "confidential": ["ill"]}, "do not apply to 'ill', which is nominal"),
        ({"missing": "group"}, "missing: 'group' does not apply"),
        ({"mask_quasi": True, "quasi": None}, "mask_quasi: does not apply without quasi-identifiers"),
        *(
            ({field: value}, f"{field}: does not apply to method 'hybrid'")
            for field, value in {
                "blocks": [["age"], ["height"]],
                "weights": "debt",
                "l": 2,
                "t": 0.2,
                "restore_variance": True,
                "aggregate": "median",
                "round": True,
            }.items()
        ),
        ({"scale": {"block_size": 9}}, "scale.block_size: must be at least k = 10"),
        ({"scale": {"block_size": 60, "seams": True}}, "scale.seams: does not apply to method 'hybrid'"),
        ({"method": "mdav", "mask_quasi": True}, "mask_quasi: does not apply to method 'mdav'"),
        ({"method": "mdav", "constraints": {"income": "integer"}}, "constraints: does not apply to method 'mdav'"),
        ({"method": "ms", "alpha": 0.5}, "k: does not apply to method 'ms'"),
    ],
)
def test_what_hybrid_data_cannot_do_is_one_clear_sentence(options, message):
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.protect(people(), publish="rest", **{**HYBRID, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": None}, "^Set alpha, .* for example --alpha 0.3"),
        ({"alpha": 1.0}, "alpha: must be at least 0 and less than 1"),
        ({"alpha": [0.5, -0.1]}, "alpha: must be at least 0 and less than 1"),
        ({"alpha": [0.5]}, "alpha: must have a number, or a row of 2, for each of the 2"),
        ({"alpha": {"income": 0.5}}, "alpha: leaves out 'debt'"),
        ({"alpha": "much"}, "^alpha: must be a number.$"),
        ({"alpha": float("nan")}, "^alpha: must be a number.$"),
        (
            {"alpha": 1 - 1e-15},
            "'income' would be .* in 120 records: alpha leaves no visible noise",
        ),
        ({"strata": ["town"]}, "strata: does not apply to method 'ms'"),
        ({"scale": {"seams": True}}, "scale.seams: does not apply to method 'ms'"),
        ({"confidential": ["ill"]}, "method: 'ms' cannot take 'ill', which is nominal. Use --method hybrid"),
    ],
)
def test_what_ms_cannot_do_is_one_clear_sentence(options, message):
    with pytest.raises(shoal.ShoalError, match=message):
        shoal.protect(people(), publish="rest", **{**MS, **options})


def test_text_among_confidential_numbers_is_refused(tmp_path):
    rows = [f"{i},{i * 7 % 11}" for i in range(30)]
    (tmp_path / "spoilt.csv").write_text("\n".join(["a,b", *rows, "31,many"]) + "\n")
    with pytest.raises(shoal.DataError, match=r"'b'.*record 31"):
        shoal.protect(tmp_path / "spoilt.csv", k=10, method="hybrid", quasi=["a"], confidential=["b"])


def swapped(values):
    return np.concatenate([values[1::-1], values[2:]])


@pytest.mark.parametrize(
    ("name", "tamper", "failure"),
    [
        ("income", lambda x: x + 1e-3, "'income' does not keep its mean in the file"),
        ("income", lambda x: (x - x.mean()) * 1.001 + x.mean(), "'income' does not keep its covariance with 'income'"),
        ("income", lambda x: x[::-1], "'income' does not keep its covariance with 'age' in the file"),
        ("income", swapped, "in some group"),
        ("ill", lambda x: np.roll(x, 1), "'ill' does not keep its marginals"),
        ("children", lambda x: x - 10, "'children' is not non-negative"),
        ("children", lambda x: x + 0.5, "'children' is not integer"),
    ],
)
def test_verification_finds_what_is_not_as_claimed(name, tamper, failure):
    table = people()
    constraints = {"children": ["non-negative", "integer"]}
    asked = {**HYBRID, "k": 15, "confidential": ["income", "ill", "children"], "constraints": constraints}
    release = shoal.protect(table, publish=["town", "debt"], **asked)
    claim = release.published.claim
    changed = tamper(np.array(release.table[name]))
    spoilt = release.table.set_column(release.table.column_names.index(name), name, [changed])
    with pytest.raises(shoal.CheckFailed, match=failure):
        verify_hybrid(Table(spoilt), Table(table), claim)


def test_verification_finds_values_that_are_their_own():
    table = people()
    types = dict.fromkeys(["income"], "continuous")
    claim = Claim(np.arange(120) // 12, ["income"], [], [], {}, types, {})
    with pytest.raises(shoal.CheckFailed, match="'income' publishes 120 values unchanged"):
        verify_hybrid(Table(table), Table(table), claim)
