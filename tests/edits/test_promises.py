"""What is promised is kept: rules of all kinds on data of all kinds, and the cases in which they get into conflict."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.census_edits import FIGURES, census_with_edits
from tests.expect import codes, refused, reports

import shoal
import shoal.pipeline.aggregate
from shoal.edits.controlled_rounding import as_read_by_digits, is_plain
from shoal.edits.load import read_rules
from shoal.edits.repair import repaired
from shoal.edits.strategy import Table, strategy_for
from shoal.messages import Message

KINDS = {
    "ints": lambda rng, n: rng.integers(0, 50, n),
    "few": lambda rng, n: rng.integers(0, 3, n),
    "cents": lambda rng, n: np.round(rng.integers(1, 5000, n) / 100, 2),
    "floats": lambda rng, n: rng.normal(size=n) * 10,
    "positive": lambda rng, n: rng.uniform(0.1, 9, n),
    "constant": lambda rng, n: np.full(n, 10.3),
}
RULES = [
    "a + b == s",
    "s - b == a",
    "2*a == w",
    "0.1*w == 0.2*a",
    "1.1*a == v",
    "1.1*a <= v",
    "a + 0.5 == h",
    "s - b <= a + 0.000001",
    "lo <= hi",
    "lo + c <= hi + c",
    "not lo > hi",
    "lo + hi == s",
    "if c > 2 then a + b == s",
    "if sex == 'm' then a + b == s else lo + hi == s",
    "if a is integer then w is integer",
    "a in original",
    "c in original",
    "a * c == p",
    "start < end",
    "start <= end",
    "if start < '2020-01-03' then start < end",
    "start % 7 >= 0",
    "if lo == hi then a == b",
    "a != -1",
]


def table_of(rng, kind, n):
    a, b, c = (KINDS[kind](rng, n) for _ in range(3))
    start = np.array("2020-01-01", dtype="datetime64[D]") + rng.integers(0, 5, n)
    columns = {"a": a, "b": b, "c": c, "lo": np.minimum(a, b), "hi": np.maximum(a, b), "s": a + b, "w": 2 * a}
    columns |= {"v": 1.1 * a, "h": a + 0.5, "p": a * c, "sex": rng.choice(["f", "m"], n)}
    columns |= {"start": start, "end": start + rng.integers(1, 3, n)}
    return {name: pa.array(column) for name, column in columns.items()}


def with_gaps(rng, columns):
    for name in rng.choice(["a", "b", "c", "s", "lo"], 2):
        gaps = rng.random(len(columns[name])) < 0.2
        columns[name] = pa.array(columns[name].to_pylist(), mask=gaps)


@st.composite
def asked(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = table_of(rng, draw(st.sampled_from(sorted(KINDS))), int(rng.integers(8, 30)))
    rules = draw(st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True))
    bound = f"a <= {float(columns['a'].to_numpy().max())!r}"
    options = {"k": int(rng.integers(2, 5)), "edits": [*rules, *([bound] if rng.random() < 0.4 else [])]}
    if draw(st.booleans()):
        options |= {"missing": str(rng.choice(["group", "impute"]))}
        with_gaps(rng, columns)
    options |= draw(
        st.sampled_from(
            [{}, {}, {"round": True}, {"aggregate": {"lo": "median"}}, {"aggregate": "medoid"}]
            + [{"recompute": [name]} for name in "spw"]
            + [{"adjust": names} for names in (["a"], ["b", "s"])]
        )
    )
    return pa.table(columns), {"quasi": list(columns), "small_strata": "suppress", **options}


@settings(max_examples=30, deadline=None)
@given(asked())
def test_what_is_promised_never_fails(sample):
    table, options = sample
    try:
        release = shoal.protect(table, **options)
    except (shoal.PlanError, shoal.DataError):
        return  # said before anything is published, with the ways out
    except shoal.CheckFailed as error:
        left = {name: option for name, option in options.items() if name != "edits"}
        promised = [each["rule"] for each in shoal.rules(table, options["edits"], **left) if each["promised"]]
        if any(reports(error.failures, "release-breaks-rule", rule=name) for name in promised):
            raise
        return
    shoal.check(release.table, k=options["k"], quasi=options["quasi"], edits=options["edits"], original=table)


def schematron(tmp_path, *tests, tag="assert"):
    texts = [each.replace("&", "&amp;").replace("<", "&lt;") for each in tests]
    patterns = [f'<pattern><rule context="Record"><{tag} test="{each}">no</{tag}></rule></pattern>' for each in texts]
    path = tmp_path / "rules.sch"
    path.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{"".join(patterns)}</schema>')
    return str(path)


def dates(*days):
    return pa.array(days, pa.int32()).cast(pa.date32())


TENTHS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.7])
FLOATS = np.random.default_rng(0).normal(size=(2, 8))


@pytest.mark.parametrize(
    ("columns", "rules", "options"),
    [
        ({"a": [0.5, 1.5, 2.5, 3.5], "b": [1.0, 2, 3, 4]}, ["a is not integer"], {}),
        ({"a": [1, 2, 0.5, 1.7], "b": [0.0, 0, 1, 2]}, ["if a is integer then b == 0"], {}),
        ({"d": dates(4, 11, 18, 25)}, ["d % 7 == 4"], {}),
        ({"d": dates(0, 2, 0, 2)}, ["abs(d - 1) >= 1"], {}),
        ({"a": [1, 2, 10, 11], "b": [2, 3, 11, 12]}, ["a < b"], {"round": True}),
        ({"a": dates(1, 2, 10, 11), "b": dates(2, 3, 11, 12)}, ["a < b"], {}),
        ({"a": [1, 2, 3, 4], "e": [1.0, 2, 3, 4]}, ["a <= e"], {"round": True}),
        ({"a": [1, 2, 3, 4], "e": [1.0, 2, 3, 4]}, ["a >= e"], {"round": True}),
        (
            {"a": FLOATS[0], "b": FLOATS[1], "s": FLOATS.sum(axis=0)},
            ["a + b == s", "a in original"],
            {"adjust": ["b", "s"]},
        ),
        (
            {"a": FLOATS[0], "b": FLOATS[1], "s": FLOATS.sum(axis=0), "w": 2 * FLOATS[0]},
            ["0.1*w == 0.2*a", "a + b == s"],
            {},
        ),
        ({"a": TENTHS, "w": 2 * TENTHS, "b": TENTHS, "s": 2 * TENTHS}, ["2*a == w", "s - b <= a + 0.000001"], {}),
        (
            {"lo": [1.0, 2, 3, 4], "c": [5.0, 5, 6, 6], "hi": [2.0, 2, 4, 4], "s": [3.0, 4, 7, 8]},
            ["lo + c <= hi + c", "lo + hi == s"],
            {},
        ),
        (
            {"c": [3.0, 4, 6, 8], "a": [1.0, 2, 3, 4], "b": [2.0, 2, 3, 2], "g": list("xyxy")},
            ["if g == 'x' then c == a + b else c == a * b"],
            {"recompute": ["c"]},
        ),
    ],
)
def test_rules_that_rounding_brings_into_conflict_are_kept(columns, rules, options):
    table = pa.table(columns)
    release = shoal.protect(table, k=2, quasi=table.column_names, edits=rules, **options)
    assert all(each["promised"] for each in release.edits)


@pytest.mark.parametrize(
    ("columns", "tests"),
    [
        ({"a": [10.3] * 6, "b": TENTHS, "s": 10.3 + TENTHS}, ["number(a)+number(b)=number(s)", "number(a) <= 10.3"]),
        (
            {"a": [10.3] * 6, "b": 1 + TENTHS, "s": 10.3 * (1 + TENTHS)},
            ["number(a)*number(b)=number(s)", "number(a) <= 10.3"],
        ),
        ({"x": 1 + TENTHS, "y": 1.1 * (1 + TENTHS)}, ["1.1*number(x) <= number(y)"]),
        ({"a": 3 + TENTHS, "v": 1.1 * (3 + TENTHS)}, ["1.1*number(a)=number(v)"]),
        (
            {
                "a": 3 + TENTHS,
                "b": 2 + TENTHS,
                "c": 5 + TENTHS,
                "p": (3 + TENTHS) * (2 + TENTHS),
                "q": (2 + TENTHS) * (5 + TENTHS),
            },
            ["number(a)*number(b)=number(p)", "number(b)*number(c)=number(q)"],
        ),
    ],
)
def test_exact_rules_that_no_lattice_holds_are_kept(tmp_path, columns, tests):
    release = shoal.protect(pa.table(columns), k=3, edits=schematron(tmp_path, *tests))
    assert all(each["promised"] for each in release.edits)


def test_shared_factors_give_products_that_every_reader_reads_alike(tmp_path):
    rng = np.random.default_rng(3)
    a, b, c = rng.uniform(1, 90, (3, 300))
    table = pa.table({"a": a, "b": b, "c": c, "p": a * b, "q": b * c})
    rules = schematron(tmp_path, "number(a)*number(b)=number(p)", "number(b)*number(c)=number(q)")
    found = shoal.protect(table, k=3, edits=rules).table
    v = {name: found[name].to_numpy() for name in "abcpq"}
    assert all(is_plain(column).all() for column in v.values())
    assert (v["a"] * v["b"] == v["p"]).all()
    assert (v["b"] * v["c"] == v["q"]).all()


def test_a_coefficient_of_no_lattice_is_read_alike(tmp_path):
    a = np.random.default_rng(4).uniform(1, 90, 300)
    release = shoal.protect(
        pa.table({"a": a, "v": 1.1 * a}), k=3, edits=schematron(tmp_path, "1.1*number(a)=number(v)")
    )
    a, v = (release.table[name].to_numpy() for name in "av")
    assert (1.1 * as_read_by_digits(a) == as_read_by_digits(v)).all()


def test_a_report_does_not_mix_records_that_miss_a_value(tmp_path):
    table = pa.table({"a": [10.0, 10, 1, 1, 100, 100], "b": [None, None, 2, 2, 100, 200.0]})
    rules = schematron(tmp_path, "number(a) > number(b)", tag="report")
    release = shoal.protect(table, k=2, missing="group", edits=rules)
    assert release.table["b"].null_count == 2


def test_gaps_and_what_is_computed_anew():
    table = pa.table({"a": [1.0, None, 3, 4], "b": [1.0, 2, 3, 4], "s": [2.0, 9, 6, 8]})
    options = {"k": 2, "missing": "group", "small_strata": "merge", "recompute": ["s"]}
    release = shoal.protect(table, edits=["a + b == s"], **options)
    assert shoal.check(release.table, k=2, quasi=["a", "b", "s"], edits=["a + b == s"])["records"] == 4


def met(**of):
    names = list("abcps")
    return Table(
        **{
            "names": names,
            "identifiers": (),
            "masked": dict.fromkeys(names, "continuous"),
            "defaults": dict.fromkeys(names, "mean"),
            "asked": {},
            "blocks": [names],
            **of,
        }
    )


def test_one_attribute_needs_no_parts_for_its_gaps_and_imputed_ones_none():
    assert strategy_for(read_rules(["a <= 10"]), met()).splits == []
    assert len(strategy_for(read_rules(["a + b == s"]), met()).splits) == 3
    assert strategy_for(read_rules(["a + b == s"]), met(imputed=True)).splits == []
    either, governed = (read_rules([rule]) for rule in ("a >= 16 or b == 0", "if a < 16 then b == 0"))
    assert not strategy_for(either, met(imputed=True)).requirements[0].promised
    assert strategy_for(governed, met(imputed=True)).requirements[0].promised


def test_attributes_with_levels_in_different_orders_are_not_compared():
    table = pa.table({"a": [1, 2, 1, 3], "b": [2, 2, 3, 3]})
    levels = {"a": [3, 2, 1], "b": [1, 2, 3]}
    with refused(shoal.PlanError, "different-levels", "edits", column="a", other="b"):
        shoal.rules(table, ["a <= b"], quasi=["a", "b"], levels=levels)
    [found] = shoal.rules(table, ["a <= b"], quasi=["a", "b"], levels={"a": [1, 2, 3], "b": [1, 2, 3]})
    assert found["promised"]


def test_what_is_not_whole_is_not_made_whole():
    table = pa.table({"a": [1, 2, 3, 4], "b": [0.5] * 4, "s": [1.5, 2.5, 3.5, 4.5]})
    tied = {"columns": ["a"], "others": ["b", "s"]}
    with refused(shoal.DataError, "whole-tied-to-fractions", **tied):
        shoal.protect(table, k=2, edits=["a + b == s"], round=True)
    with refused(shoal.DataError, "whole-tied-to-fractions", **tied):
        shoal.protect(table, k=2, edits=["a + b == s", "a is integer"])
    with refused(shoal.DataError, "whole-tied-to-fractions", columns=["a"], others=["s"]):
        shoal.protect(table.select(["a", "s"]), k=2, edits=["a + 0.5 == s"], round=True)


def test_a_rule_that_no_record_of_a_group_obeys_exactly_is_refused(tmp_path):
    table = pa.table({"a": [10.300000000000002] * 4})
    rules = schematron(tmp_path, "number(a) <= 10.3")
    with refused(shoal.DataError, "no-record-obeys", rule="line 1", groups=2):
        shoal.protect(table, k=2, types={"a": "continuous"}, edits=rules)


def test_a_division_by_zero_is_said():
    table = pa.table({"a": [1.0, 2, 3, 4], "b": [1.0, 1, -1, -1], "r": [1.0, 2, -3, -4]})
    with refused(shoal.DataError, "not-computable", column="r", columns=["a", "b"]):
        shoal.protect(table, k=4, edits=["a / b == r"], recompute=["r"])


def refusals(rules, **of):
    with pytest.raises(shoal.PlanError) as error:
        strategy_for(read_rules(rules), met(**of))
    return error.value.messages


def test_ways_out_are_ways_out():
    different = "rules-need-different-aggregates"
    assert reports(refusals(["a * b == p", "a in original"]), different, column="a", computed="p", adjusted=None)
    strategy_for(read_rules(["a * b == p", "a in original"]), met(recompute=["p"]))
    wanted = [Message("wants-geometric-mean", rule="rule 1"), Message("wants-member", rule="rule 2")]
    [found] = refusals(["a * b == p", "p in original"])
    assert reports([found], different, column="p", wanted=wanted, computed=None)
    assert found.options == [("--aggregate", "medoid")]
    assert reports(refusals(["a <= b"], asked={"a": "mode"}), "order-needs-one-aggregate", odd=["mode"])
    found = refusals(["a + b == s", "a - b == c"], asked={"a": "median"})
    assert reports(found, "aggregate-breaks-rule", rules=["rule 1", "rule 2"], allowed=("mean",), column="a")


def test_only_what_is_adjusted_moves():
    kept = strategy_for(read_rules(["a + b == s"]), met(adjust=["a"]))
    original = {"a": np.array([1.0, 2]), "b": np.array([3.0, 4]), "s": np.array([4.0, 6])}
    published = {"a": np.array([1.5, 1.5]), "b": np.array([3.25, 3.25]), "s": np.array([5.0, 5.0])}
    found = repaired(kept, original, published, dict.fromkeys(original, np.zeros(2, dtype=np.int64)))
    assert {name: codes[0] for name, codes in found.values.items()} == {"a": 1.75, "b": 3.25, "s": 5.0}


def test_ordinary_sums_need_no_record_of_their_own():
    rng = np.random.default_rng(5)
    original = {"a": rng.integers(0, 99, 40) / 100, "b": rng.normal(size=40)}
    original["s"] = original["a"] + original["b"]
    labels = np.repeat(np.arange(10), 4)
    published = {name: np.repeat(codes.reshape(10, 4).mean(axis=1), 4) for name, codes in original.items()}
    for rules in (["a + b == s"], ["a + b == s", "a <= 1", "a + b <= s + 1"]):
        found = repaired(strategy_for(read_rules(rules), met()), original, published, dict.fromkeys(original, labels))
        assert (found.own, found.misread) == (0, 0)


def test_the_rules_of_the_paper_need_no_record_of_their_own(reference_file, tmp_path):
    path = tmp_path / "figures.sch"
    path.write_text(FIGURES)
    for k in (4, 25):
        published = shoal.protect(census_with_edits(reference_file("census")), k=k, edits=str(path)).published
        assert (published.own, published.misread) == (0, 0)


def test_the_record_that_is_published_is_the_nearest_and_does_not_depend_on_the_order():
    kept = strategy_for(
        read_rules(["2*a == w", "1.1*a <= s"]), met(names=list("aws"), masked=dict.fromkeys("aws", "continuous"))
    )
    a = np.array([0.1, 0.7, 0.3, 0.4, 1.9])
    original = {"a": a, "w": 2 * a, "s": 1.1 * a}
    published = {name: np.full(5, codes.mean()) for name, codes in original.items()}
    published["s"] = published["s"] - 1e-3
    labels = dict.fromkeys(original, np.zeros(5, dtype=np.int64))
    order = np.array([3, 1, 4, 0, 2])
    found = repaired(kept, original, published, labels)
    turned = repaired(kept, {n: c[order] for n, c in original.items()}, published, labels)
    assert (found.values["s"] >= 1.1 * found.values["a"]).all()
    assert all((found.values[name] == turned.values[name]).all() for name in original)


@pytest.mark.slow
def test_problems_are_said_in_the_same_order_whatever_the_hashes():
    code = (
        "from test_promises import refusals; "
        "print(*refusals(['a * b == p', 'a + b == s', 'p + s == c', 'a in original', 'b in original', "
        "'c in original']))"
    )
    here = Path(__file__).parent
    said = set()
    for seed in "01":
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parent), *sys.path]),
        }
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        said.add(done.stdout)
    assert len(said) == 1


def test_a_rule_about_gaps_says_how_it_is_kept():
    [requirement] = strategy_for(read_rules(["a is not missing"]), met()).requirements
    assert codes(requirement.how) == ["kept-by-any-value"]
