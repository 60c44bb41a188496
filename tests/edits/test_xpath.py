"""Tests in XPath: their trees mean what lxml's own XPath says of a record, and what looks further is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from naive_rules import holds
from tests.expect import reports

from shoal.edits.expressions import (
    And,
    Arithmetic,
    Comparison,
    Function,
    InOriginal,
    Member,
    Missing,
    Not,
    Number,
    Or,
    Text,
    Truth,
    Variable,
)
from shoal.edits.messages import Location
from shoal.edits.xpath import OUTSIDE, RECORD, Let, Place, condition_of, parse, speaks_of_itself
from shoal.errors import PlanError

NAMES = ("V1", "V2", "V3")
V1, V2, V3 = (Variable(name) for name in NAMES)
N1, N2, N3 = (Variable(name, number=True) for name in NAMES)


def parse_test(test, where, variables):
    return condition_of(parse(test, where), RECORD, variables)


def refusal(test, variables=None):
    with pytest.raises(PlanError) as error:
        parse_test(test, Location(line=4), variables or {})
    (message,) = error.value.messages
    assert message.field == "edits"
    return message


@pytest.mark.parametrize(
    ("test", "condition"),
    [
        ("V1 = V2", Comparison("==", V1, V2)),
        ("child::V1 != ./V2", Comparison("!=", V1, V2)),
        ("number(V1) ge 2", Comparison(">=", N1, Number(2))),
        ("fn:number(V1) = number(V2 + 1)", Comparison("==", N1, Arithmetic("+", V2, Number(1)))),
        ("string(V1) = 'a''b'", Comparison("==", V1, Text("a'b"))),
        ("V1/text() = 'a'", Comparison("==", V1, Text("a"))),
        ("V1 div 2 = -V2", Comparison("==", Arithmetic("/", V1, Number(2)), Arithmetic("*", Number(-1), V2))),
        ("round(V1) = -2.5e0", Comparison("==", Function("round", V1), Number(-2.5))),
        ("V1 = ('a', 'b')", Member(V1, ("a", "b"))),
        ("(1, -2) = number(V1)", Member(N1, (1.0, -2.0))),
        ("not(V1 = (1, 2))", Not(Member(V1, (1.0, 2.0)))),
        ("boolean(V1 != '') or false()", Or((Not(Missing("V1")), Truth(False)))),
        ("not(V1 != '')", Missing("V1")),
        ("V1 = ''", Missing("V1")),
        ("'' != string(V1)", Not(Missing("V1"))),
        ("V1 = '' and (V2 = '' and V3 = '')", And((Missing("V1"), And((Missing("V2"), Missing("V3")))))),
        ("V1 = '' and V2 = '' and V3 = ''", And((Missing("V1"), Missing("V2"), Missing("V3")))),
        ("if (V1 != '') then V2 = 1 else true()", Or((Missing("V1"), Comparison("==", V2, Number(1))))),
        ("if (V1 = 1) then V2 != '' else V3 != ''", And((
            Or((Not(Comparison("==", V1, Number(1))), Not(Missing("V2")))),
            Or((Comparison("==", V1, Number(1)), Not(Missing("V3")))),
        ))),
        ("V1 = document('microdata.xml')//Record/V1", InOriginal(V1, "V1")),
        ("doc('a')/Records/Record/V2 = number(V1)", InOriginal(N1, "V2")),
        ("exists(index-of(document('a')/*/Record/V1, V1))", InOriginal(V1, "V1")),
        ("empty((index-of(document('a')//V1, V1)))", Not(InOriginal(V1, "V1"))),
        ("exists(index-of(('a', 'b'), V1))", Member(V1, ("a", "b"))),
        ("div = number", Comparison("==", Variable("div"), Variable("number"))),
        ("V-1 = 2 (: a comment :)", Comparison("==", Variable("V-1"), Number(2))),
    ],
)  # fmt: skip
def test_what_is_written_and_what_it_means(test, condition):
    assert parse_test(test, Location(line=4), {}) == condition


@pytest.mark.parametrize(
    ("test", "position", "code", "data"),
    [
        ("V1 +", 5, "not-xpath", {}),
        ("V1 = 'a", 6, "not-xpath", {}),
        ("V1 & V2", 4, "not-xpath", {}),
        ("foo(V1)", 1, "not-xpath", {"reason": "unknown function 'foo'"}),
        ("a:V1 = 1", 2, "not-xpath", {}),
        ("number(V1) = 1 and count(//Record) = 3", 20, "several-records", {"what": "count"}),
        ("distinct-values(V1) = 3", 1, "several-records", {"what": "distinct-values"}),
        ("//Record/V1 = 1", 1, "several-records", {}),
        (".//V1 = 1", 2, "descendants-not-supported", {}),
        ("../V1 = 1", 1, "path-too-long", {}),
        ("V1/V2 = 1", 4, "path-too-long", {}),
        ("* = 1", 1, "path-too-long", {}),
        (". = 1", 1, "attribute-expected", {"what": "record"}),
        ("number() = 1", 1, "attribute-expected", {"what": "record"}),
        ("V1[1] = 2", 3, "xpath-not-supported", {"symbol": "[", "instead": "//Record[number(V8) < 1115]"}),
        ("@V1 = 2", 1, "xpath-not-supported", {"symbol": "@", "instead": "V1"}),
        ("V1 = 1 to 1000000000000", 8, "xpath-not-supported", {"symbol": "to"}),
        ("V1 idiv 2 = 1", 4, "integer-division", {}),
        ("V1 != (1, 2)", 4, "sequence-compared", {}),
        ("V1 < (1, 2)", 4, "sequence-compared", {}),
        ("V1 + (1, 2) = 1", 6, "sequence-as-value", {}),
        ("V1 = (1, V2)", 10, "only-constants-in-sets", {}),
        ("V1 = ()", 6, "empty-sequence", {}),
        ("V1 = $x", 6, "variable-undefined", {"name": "x"}),
        ("V1 div 0 = 1", 8, "division-by-zero-in-rule", {}),
        ("V1 mod -0.0 = 1", 8, "division-by-zero-in-rule", {}),
        ("V1", 1, "element-in-every-record", {"name": "V1"}),
        ("V2 = 1 or not(V1)", 15, "element-in-every-record", {"name": "V1"}),
        ("exists(V1)", 8, "element-in-every-record", {"name": "V1"}),
        ("empty(V1)", 7, "element-in-every-record", {"name": "V1"}),
        ("boolean(V1)", 9, "element-in-every-record", {"name": "V1"}),
        ("if (V1) then V2 = 1 else true()", 5, "element-in-every-record", {"name": "V1"}),
        ("V1 + 1", 4, "value-as-condition", {}),
        ("'a'", 1, "value-as-condition", {}),
        ("(V1 = 1) = true()", 1, "condition-as-value", {}),
        ("V1 + 'a' = 2", 6, "text-as-number", {}),
        ("V1 = 1e999", 6, "constant-too-large", {}),
        ("string(number(V1)) = 'a'", 1, "only-for-attributes", {"what": "string()"}),
        ("index-of(V1, V2)", 1, "xpath-not-supported", {"instead": "exists(index-of(..., V1))"}),
        ("document('a')", 1, "original-out-of-place", {}),
        ("document('a') = V1", 15, "original-attribute-expected", {}),
        ("exists(1)", 8, "path-start", {}),
        ("matches(V1, '(a+)+$')", 1, "xpath-not-supported", {"symbol": "matches", "instead": None}),
        ("some $x in V1 satisfies $x = 1", 1, "xpath-not-supported", {"symbol": "some", "instead": None}),
        ("xs:integer(V1) = 1", 3, "prefixed-name", {}),
        ("V1\0", 3, "not-xpath", {}),
        ("", 1, "not-xpath", {}),
    ],
)
def test_what_is_not_supported_is_refused_with_its_position(test, position, code, data):
    assert reports([refusal(test)], code, "edits", line=4, position=position, **data)


@pytest.mark.parametrize(
    "test",
    [
        "(" * 5_000 + "V1" + ")" * 5_000,
        "not(" * 3_000 + "V1" + ")" * 3_000,
        "-" * 15_000 + "V1 = 1",
        "V1 + " * 3_000 + "V1 = 1",
        "V1 or " * 3_000 + "V1",
        "V1/" * 3_000 + "V1",
        "if (V1) then V1 else " * 500 + "V1",
        "V1 = " + "1" * 10_000,
        "V1 = " + "1" * 4_000,
        "(:" * 9_000,
        "'" * 19_999,
        "V1" * 20_000,
    ],
)
def test_tests_that_nobody_wrote_are_refused_in_a_sentence(test):
    assert len(refusal(test)) < 250


def test_a_set_of_a_thousand_towns_is_read():
    condition = parse_test(f"V1 = ({', '.join(repr(f'town {i}') for i in range(1000))})", Location(line=4), {})
    assert isinstance(condition, Member)
    assert condition.among[::999] == ("town 0", "town 999")


def test_variables_stand_for_what_they_were_defined_as():
    lets: dict[str, Let] = {}
    lets["low"] = Let(parse("2 * 3", Location(line=1)), OUTSIDE, {})
    lets["sum"] = Let(parse("number(V1) + $low", Location(line=2)), RECORD, dict(lets))
    lets["big"] = Let(parse("$sum > 10", Location(line=3)), RECORD, dict(lets))
    six = Arithmetic("*", Number(2), Number(3))
    assert parse_test("not($ big)", Location(line=4), lets) == Not(
        Comparison(">", Arithmetic("+", N1, six), Number(10))
    )


def test_an_attribute_has_no_value_outside_of_the_records():
    let = Let(parse("1 + V1", Location(line=1)), OUTSIDE, {})
    assert reports([refusal("V1 = $x", {"x": let})], "outside-of-records", line=1, position=5)


def test_variables_of_variables_do_not_blow_up():
    lets: dict[str, Let] = {"x0": Let(parse("V1", Location(line=1)), RECORD, {})}
    for i in range(60):
        lets[f"x{i + 1}"] = Let(parse(f"$x{i} + $x{i}", Location(line=1)), RECORD, dict(lets))
    assert refusal("$x60 = 1", lets).code == "rule-too-complex"


def test_a_point_is_the_value_of_an_attribute_in_its_own_context():
    def read(test):
        return condition_of(parse(test, Location(line=4)), Place("attribute", "V3"), {})

    assert read(". > 1") == Comparison(">", V3, Number(1))
    assert read("number() > ../V1") == Comparison(">", N3, V1)
    assert read("string(.) = text()") == Comparison("==", V3, V3)


@pytest.mark.parametrize(
    ("test", "itself"),
    [(". > 1", True), ("number() > 1", True), ("../V1 = 1", True), ("./V1 = 1", False), ("number(V1) > 1", False)],
)
def test_which_tests_speak_of_the_element_they_start_from(test, itself):
    assert speaks_of_itself(parse(test, Location(line=4))) == itself


def element(record):
    """The record as it stands in a file: a missing value is an element without text."""
    root = etree.Element("Record")
    for name, text in record.items():
        etree.SubElement(root, name).text = text
    return root


TEXTS = st.sampled_from([None, "0", "1", "2", "-1", "2.5", "-0.5", "1.0", "01", "a", "b", "1e3"])
RECORDS = st.fixed_dictionaries(dict.fromkeys(NAMES, TEXTS))
ATTRIBUTES = st.sampled_from(NAMES)
NUMBERS = st.recursive(
    ATTRIBUTES.map("number({})".format) | ATTRIBUTES | st.sampled_from(["0", "1", "2.5", ".5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "div", "mod"]), inner)
        .filter(lambda it: it[1] not in ("div", "mod") or it[2].strip("(-) ") != "0")  # which is refused
        .map(lambda it: f"({' '.join(it)})"),
        inner.map("(- {})".format),
        st.tuples(st.sampled_from(["floor", "ceiling", "round"]), inner).map(lambda it: f"{it[0]}({it[1]})"),
    ),
    max_leaves=5,
)
COMPARED = st.one_of(
    st.tuples(NUMBERS, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), NUMBERS).map(" ".join),
    st.tuples(ATTRIBUTES, st.sampled_from(["= 'a'", "!= 'b'", "= ''", "!= ''", "= '1'"])).map(" ".join),
    st.tuples(ATTRIBUTES, st.sampled_from([" = ", " != "]), ATTRIBUTES).map(
        lambda it: "string({}){}string({})".format(*it)
    ),
    st.sampled_from(["true()", "false()"]),
)
TESTS = st.recursive(
    COMPARED,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda it: f"({' '.join(it)})"),
        inner.map("not({})".format),
        inner.map("boolean({})".format),
    ),
    max_leaves=4,
)


@settings(max_examples=400, deadline=None)
@given(TESTS, st.lists(RECORDS, min_size=1, max_size=5))
def test_trees_mean_what_lxml_says_of_a_record(test, records):
    condition = parse_test(test, Location(line=4), {})
    oracle = etree.XPath(f"boolean({test})")
    for record in records:
        assert holds(condition, record) == oracle(element(record)), (test, record)


@settings(max_examples=50, deadline=None)
@given(RECORDS, st.lists(RECORDS, min_size=1, max_size=4))
def test_values_in_the_original_are_those_that_lxml_finds_there(record, originals):
    root = etree.Element("Records")
    root.extend([element(each) for each in originals])
    lets = {"original": Let(parse("document('no such file')", Location(line=1)), OUTSIDE, {})}
    condition = parse_test("V1 = $ original //Record/V1", Location(line=4), lets)
    found = etree.XPath("V1 = $original//Record/V1")(element(record), original=root)
    # A missing value is no value of the original, where lxml finds one empty text in another.
    assert holds(condition, record, {"V1": [each["V1"] for each in originals]}) == (found and record["V1"] is not None)
