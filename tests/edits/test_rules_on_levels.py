"""Rules on ordinal attributes: levels are compared by their order, and what has no order is refused."""

import tempfile
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused
from tests.naive import rule_holds, rule_test, rule_text

import shoal
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.messages import Message

LEVELS = ["low", "mid", "high", "top"]  # not in the order of the alphabet
NAMES = ["a", "b", "c"]
SIGNS = ["<", "<=", ">", ">=", "=="]
QUASI = [*NAMES, "x"]
FOLDER = tempfile.TemporaryDirectory()  # until the tests end
# of records that obey, too few for groups
NOTHING_LEFT = {"all-parts-small", "all-strata-small"}

attributes = st.sampled_from(NAMES).map(lambda name: ("attribute", name))
constants = st.sampled_from(LEVELS).map(lambda level: ("level", level))
atoms = st.one_of(
    st.tuples(st.just("compare"), attributes, st.sampled_from(SIGNS), st.one_of(attributes, constants)),
    st.tuples(st.just("compare"), st.just(("quantity", "x")), st.sampled_from(SIGNS[:4]), st.just(("number", 3))),
    st.tuples(st.just("in"), st.sampled_from(NAMES), st.lists(st.sampled_from(LEVELS), min_size=1, unique=True)),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), inner, inner),
        st.tuples(st.just("if"), inner, inner),
    ),
    max_leaves=4,
)
cell = st.sampled_from([*LEVELS, None])


@st.composite
def tables(draw, missing=True):
    """Records in which b is mostly not below a, so that rules hold in many."""
    n = draw(st.integers(8, 40))
    column = st.lists(cell if missing else st.sampled_from(LEVELS), min_size=n, max_size=n)
    found = {name: draw(column) for name in NAMES}
    if draw(st.booleans()):
        both = zip(found["a"], found["b"], strict=True)
        found["b"] = [two if one is None or two is None else max(one, two, key=LEVELS.index) for one, two in both]
    return {**found, "x": draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))}


def arrow(lists, *, categorical):
    """Columns of text, or of ordered categories."""
    levels = pa.array(LEVELS)
    columns = {"x": pa.array(lists["x"])}
    for name in NAMES:
        text = pa.array(lists[name], pa.string())
        places = pa.compute.index_in(text, value_set=levels)
        columns[name] = pa.DictionaryArray.from_arrays(places, levels, ordered=True) if categorical else text
    return pa.table(columns)


def obeyed(rule, lists, *, written=False):
    records = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    return [rule_holds(rule, record, LEVELS, written=written) for record in records]


def schema(folder, test):
    """Write a rule as Schematron; a list of rules is plain text."""
    path = folder / "rules.sch"
    path.write_text(f"<pattern><rule context='Record'><assert test={quoteattr(test)}/></rule></pattern>")
    return path


def ordered(rule):
    """The attributes that a rule compares by order."""
    if rule[0] == "compare":
        return {what for kind, what in (rule[1], rule[3]) if kind == "attribute" and rule[2] != "=="}
    return set().union(*(ordered(each) for each in rule[1:] if rule[0] != "in"))


def broken_by_check(table, edits, levels):
    """The number of records that `check` finds to break the only rule."""
    try:
        shoal.check(table, k=2, quasi=QUASI, edits=edits, levels=levels)
    except CheckFailed as failed:
        return next((each.data["records"] for each in failed.failures if each.code == "release-breaks-rule"), 0)
    return 0


@given(conditions, tables(), st.booleans(), st.booleans())
def test_edits_protect_and_check_agree_with_a_slow_evaluator(rule, lists, categorical, written):
    table = arrow(lists, categorical=categorical)
    edits = schema(Path(FOLDER.name), rule_test(rule)) if written else [rule_text(rule)]
    held = obeyed(rule, lists, written=written)
    broken = held.count(False)
    levels = {"types": dict.fromkeys(NAMES, "ordinal")} if categorical else {"levels": dict.fromkeys(NAMES, LEVELS)}
    options = {"quasi": QUASI, "missing": "group", **levels}
    [found] = shoal.rules(table, edits, **options)
    assert found["broken"] == broken
    assert broken_by_check(table, edits, None if categorical else dict.fromkeys(ordered(rule), LEVELS)) == broken
    options |= {"k": 2, "method": "mdav", "small_strata": "suppress", "edits": edits}
    if broken:
        with refused(DataError, "original-breaks-rules"):
            shoal.protect(table, **options)
    try:
        release = shoal.protect(table, **options, edits_original="exclude")
    except CheckFailed:
        assert not found["promised"]
    except DataError as error:
        if not NOTHING_LEFT & {*error.codes} and "would be left" not in str(error):
            raise
    else:
        published = {name: release.table[name].to_pylist() for name in lists}
        assert all(obeyed(rule, published, written=written))


def people(n=60):
    """Records whose job is never below their education, with x at least 1000 from 'mid' on."""
    places = [(i * 7 % 4, max(i * 7 % 4, i % 4)) for i in range(n)]
    columns = {"edu": [LEVELS[one] for one, _ in places], "job": [LEVELS[two] for _, two in places]}
    return pa.table({**columns, "x": [1000 * (one > 0) + i for i, (one, _) in enumerate(places)]})


def named(levels, rule):
    return {name: order for name, order in levels.items() if name in rule}


BOTH = {"edu": LEVELS, "job": LEVELS}
MASKED = {"quasi": ["edu", "job", "x"]}


def test_a_rule_that_all_obey_is_broken_by_none_and_kept():
    [found] = shoal.rules(people(), ["edu <= job"], **MASKED, levels=BOTH)
    assert (found["broken"], found["class"], found["promised"]) == (0, "EC-GV", True)
    release = shoal.protect(people(), k=3, **MASKED, levels=BOTH, edits=["edu <= job"])
    places = [[LEVELS.index(each) for each in release.table[name].to_pylist()] for name in ("edu", "job")]
    assert all(one <= two for one, two in zip(*places, strict=True))


def test_a_condition_on_levels_governs_those_below():
    [found] = shoal.rules(people(), ["if edu < 'mid' then x >= 1000"], **MASKED, levels=BOTH)
    assert found["broken"] == people()["edu"].to_pylist().count("low")
    broken = [Message("rule-broken", rule="rule 1", records=15, first=1)]
    with refused(DataError, "original-breaks-rules", broken=broken):
        shoal.protect(people(), k=3, **MASKED, levels=BOTH, edits=["if edu < 'mid' then x >= 1000"])
    release = shoal.protect(people(), k=3, **MASKED, levels=BOTH, edits=["if edu >= 'mid' then x >= 1000"])
    rows = release.table.to_pylist()
    assert all(row["x"] >= 1000 for row in rows if row["edu"] != "low")


@pytest.mark.parametrize(
    ("rules", "levels", "code", "data"),
    [
        (["edu <= job"], {}, "text-without-order", {"column": "edu"}),
        (["edu <= job"], {"edu": LEVELS}, "text-without-order", {"column": "job"}),
        (["edu < 'expert'"], BOTH, "constant-not-a-level", {"column": "edu"}),
        (["edu < 3"], BOTH, "constant-not-a-level", {"column": "edu"}),
        (
            ["edu <= job"],
            {"edu": LEVELS, "job": [*LEVELS, "expert"]},
            "different-levels",
            {"column": "edu", "other": "job"},
        ),
        (["edu <= job"], {"edu": LEVELS, "job": LEVELS[::-1]}, "different-levels", {"column": "edu", "other": "job"}),
        (["edu <= x"], {"edu": LEVELS}, "different-levels", {"column": "edu", "other": "x"}),
        (["edu + 1 < x"], {"edu": LEVELS}, "words-as-numbers", {"column": "edu", "ordered": True}),
        (["x < 'many'"], {}, "number-compared-with-text", {"column": "x", "order": True}),
    ],
)
def test_what_has_no_common_order_is_refused(rules, levels, code, data):
    for look in (
        lambda: shoal.rules(people(), rules, **MASKED, levels=levels),
        lambda: shoal.protect(people(), k=3, **MASKED, levels=levels, edits=rules),
        lambda: shoal.check(people(), k=2, edits=rules, levels=named(levels, rules[0])),
    ):
        with refused(PlanError, code, "edits", rule="rule 1", **data):
            look()


def test_data_outside_of_the_levels_is_refused_by_its_record():
    short = dict.fromkeys(BOTH, LEVELS[:3])
    for look in (
        lambda: shoal.rules(people(), ["edu <= job"], **MASKED, levels=short),
        lambda: shoal.protect(people(), k=3, **MASKED, levels=short, edits=["edu <= job"]),
        lambda: shoal.check(people(), k=2, edits=["edu <= job"], levels=short),
        lambda: shoal.assess(people(), people(), quasi=["x"], edits=["edu <= job"], levels=short),
    ):
        with pytest.raises(DataError, match=r"'edu'.* record 2 \(15 records") as error:
            look()
        assert "top" not in str(error.value)


def test_equality_and_sets_of_text_need_no_levels():
    found = shoal.rules(people(), ["edu != 'expert'", "job in {'low', 'mid', 'high', 'top'}", "edu == job"], **MASKED)
    different = sum(one != two for one, two in zip(people()["edu"], people()["job"], strict=True))
    assert [each["broken"] for each in found] == [0, 0, different]


def test_levels_of_an_attribute_that_is_not_masked_serve_rules_and_nothing_else():
    options = {"k": 3, "quasi": ["x"], "publish": ["edu", "job"]}
    release = shoal.protect(people(), **options, levels={"edu": LEVELS}, edits=["if edu >= 'mid' then x >= 1000"])
    assert all(row["x"] >= 1000 for row in release.table.to_pylist() if row["edu"] != "low")
    with refused(PlanError, "levels-unused", "levels", column="job"):
        shoal.protect(people(), **options, levels=BOTH, edits=["if edu >= 'mid' then x >= 1000"])


def pandas_ordered(table):
    frame = table.to_pandas()
    return frame.assign(**{name: pd.Categorical(frame[name], LEVELS, ordered=True) for name in BOTH})


def polars_enum(table):
    return pl.DataFrame(table.to_pydict()).with_columns(pl.col("edu", "job").cast(pl.Enum(LEVELS)))


@pytest.mark.parametrize("frame", [pandas_ordered, polars_enum])
def test_ordered_categories_and_enums_bring_their_levels(frame):
    rules = ["edu <= job", "if edu >= 'mid' then x >= 1000"]
    table = frame(people())
    assert [each["broken"] for each in shoal.rules(table, rules, **MASKED)] == [0, 0]
    release = shoal.protect(table, k=3, **MASKED, edits=rules)
    assert shoal.check(release.table, k=3, **MASKED, edits=rules)["edits"] == 2
    with refused(CheckFailed, "release-breaks-rule", rule="rule 1"):
        shoal.check(release.table, k=3, **MASKED, edits=["edu > job"])


def test_unordered_categories_have_no_order():
    frame = people().to_pandas().astype({"edu": "category", "job": "category"})
    with refused(PlanError, "text-without-order", "edits", rule="rule 1", column="edu"):
        shoal.protect(frame, k=3, **MASKED, edits=["edu <= job"])


def test_a_masked_file_that_lost_a_level_is_checked_by_those_of_its_original():
    original = pandas_ordered(people())
    masked = original[original["edu"] < "top"]
    masked = masked.assign(edu=masked["edu"].cat.remove_unused_categories())
    assert shoal.check(masked, k=2, quasi=["edu"], edits=["edu <= job"])["edits"] == 1
    with refused(PlanError, "constant-not-a-level", "edits", rule="rule 1", column="edu"):
        shoal.check(masked, k=2, quasi=["edu"], edits=["edu < 'top'"])
    assert shoal.check(masked, k=2, quasi=["edu"], edits=["edu < 'top'"], original=original)["edits"] == 1


def test_labels_of_a_statistics_package_name_levels(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    codes = [LEVELS.index(each) + 1 for each in people()["edu"].to_pylist()]
    frame = pd.DataFrame({"edu": [float(code) for code in codes], "x": people()["x"].to_pylist()})
    labels = {"edu": {float(at + 1): level for at, level in enumerate(LEVELS)}}
    pyreadstat.write_sav(
        frame, tmp_path / "people.sav", variable_value_labels=labels, variable_measure={"edu": "ordinal"}
    )
    rules = ["if edu < 'mid' then x < 1000", "if edu < 2 then x < 1000", "if edu <= 'top' then x < 1000"]
    found = shoal.rules(tmp_path / "people.sav", rules, quasi=["edu", "x"])
    assert [each["broken"] for each in found] == [0, 0, 45]
    with refused(PlanError, "constant-not-a-level", "edits", rule="rule 1", column="edu"):
        shoal.rules(tmp_path / "people.sav", ["edu < 'expert'"], quasi=["edu", "x"])
    release = shoal.protect(tmp_path / "people.sav", k=3, quasi=["edu", "x"], edits=rules[:2])
    assert all(row["x"] < 1000 for row in release.table.to_pylist() if row["edu"] < 2)


@pytest.mark.parametrize("rank", [None, 1, 2, 3, 0.5, 0.9])
def test_order_statistics_keep_orders_of_levels(rank):
    options = {"k": 3, **MASKED, "levels": BOTH, "edits": ["edu <= job"]}
    how = dict.fromkeys(["edu", "job"], "order_statistic")
    release = shoal.protect(people(), **options, aggregate=how, **({} if rank is None else {"rank": rank}))
    [found] = shoal.rules(people(), ["edu <= job"], **MASKED, levels=BOTH, aggregate=how, rank=rank)
    assert found["promised"]
    if rank in (None, 0.5):
        assert release.table.equals(shoal.protect(people(), **options).table)  # the lower median


@pytest.mark.parametrize("how", ["mode", "convex_median"])
def test_aggregates_that_are_not_increasing_keep_no_order_of_levels(how):
    with refused(PlanError, "order-needs-one-aggregate", "edits", column="edu", other="job", odd=[how], number=1):
        shoal.rules(people(), ["edu <= job"], **MASKED, levels=BOTH, aggregate={"edu": how, "job": how})


def test_assess_counts_who_breaks_rules_in_both_tables():
    masked = people().set_column(0, "edu", pa.array(["top"] * 60))
    found = shoal.assess(people(), masked, quasi=["x"], edits=["edu <= job"], levels=BOTH)["edits"]
    below = 60 - people()["job"].to_pylist().count("top")
    assert found == [{"rule": "rule 1", "text": "edu <= job", "broken_before": 0, "broken_after": below}]


WORDS = pa.table({"edu": ["low", "mid"] * 6, "code": ["01", "x"] * 6, "x": range(12)})


@pytest.mark.parametrize("rule", ["if edu + 1 > 3 then x < 0", "if abs(edu) < 2 then x < 0", "x <= edu * 2"])
@pytest.mark.parametrize("engine", ["memory", "file"])
def test_words_are_not_calculated_with(rule, engine, tmp_path):
    """What governs such a rule is false in every record: it was certified, and nobody obeyed it."""
    pd.DataFrame(WORDS.to_pydict()).to_csv(tmp_path / "in.csv", index=False)
    asked = {"k": 2, "quasi": ["x"], "publish": "rest", "edits": [rule], "engine": engine}
    with refused(PlanError, "words-as-numbers", "edits", rule="rule 1", column="edu"):
        shoal.protect(tmp_path / "in.csv", output=tmp_path / "out.csv", **asked)
    for ask in (lambda: shoal.rules(WORDS, [rule]), lambda: shoal.check(WORDS, k=2, quasi=["edu"], edits=[rule])):
        with refused(PlanError, "words-as-numbers", "edits", rule="rule 1", column="edu"):
            ask()


def test_text_with_some_numbers_is_calculated_with():
    rule = ["if code + 1 > 1 then x >= 0"]
    assert shoal.rules(WORDS, rule)[0]["broken"] == 0
    assert shoal.protect(WORDS, k=2, quasi=["x"], publish="rest", edits=rule).edits


@pytest.mark.parametrize(
    "rule", ["if edu == 'mid' then x < 0", "edu != 'mid'", "'mid' != edu", "edu in {'mid', 'high'}"]
)
def test_codes_do_not_equal_their_labels_and_nobody_is_told_they_do(rule, tmp_path):
    """Such a condition is false in every record: rules were certified that nobody obeyed."""
    codes = pd.Categorical(["low", "mid", "high"] * 4, categories=["low", "mid", "high"], ordered=True)
    pd.DataFrame({"edu": codes, "x": range(12)}).to_stata(tmp_path / "in.dta", write_index=False)
    with refused(PlanError, "label-of-a-code", "edits", rule="rule 1", column="edu"):
        shoal.protect(tmp_path / "in.dta", k=2, quasi=["edu", "x"], edits=[rule])
    numbers = pa.table({"edu": [0, 1, 2] * 4, "x": range(12)})
    with refused(PlanError, "number-compared-with-text", "edits", rule="rule 1", column="edu"):
        shoal.rules(numbers, [rule])


def test_a_number_may_equal_a_number_in_quotes():
    assert shoal.rules(pa.table({"x": [1, 2]}), ["x != '2'"])[0]["broken"] == 1
    assert shoal.rules(pa.table({"x": [1, 2]}), ["x in {'2', 'two', 1}"])[0]["broken"] == 0
