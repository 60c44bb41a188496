"""Schematron: the paper's figures, all that a schema may say, and what it may not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree, isoschematron
from naive_rules import holds
from tests.census_edits import FIGURES
from tests.expect import refused, reports

from shoal.edits.expressions import And, Arithmetic, Comparison, InOriginal, Missing, Not, Number, Or, Variable
from shoal.edits.load import read_rules
from shoal.edits.messages import MOST_PARTS
from shoal.edits.schematron import read_schematron
from shoal.errors import FileError, PlanError

ISO = "http://purl.oclc.org/dsdl/schematron"
BARE = '<pattern name="a"/><pattern name="é"/>'
NAMES = ("V1", "V2", "V3")


def n(name):
    return Variable(name, number=True)


def read(text):
    return read_schematron(text.encode() if isinstance(text, str) else text, "rules.sch")


def patterns(*rules):
    return "".join(f"<pattern>{rule}</pattern>" for rule in rules)


def on(context, test="V1 = 1"):
    return patterns(f'<rule context="{context}"><assert test="{test}"/></rule>')


def refusals(text):
    with pytest.raises(PlanError) as error:
        read(text)
    return error.value.messages


def test_the_figures_of_the_paper_as_printed():
    linear, product, values, governed, domain = read(FIGURES)
    assert linear.name == "EC-LC: V9+V10 = V14"
    assert linear.text == "1.0 * number(V9) + 1.0 * number(V10) = number(V14)"
    one = Number(1.0)
    total = Arithmetic("+", Arithmetic("*", one, n("V9")), Arithmetic("*", one, n("V10")))
    assert linear.condition == Comparison("==", total, n("V14"))
    assert product.name == "EC-NLC: V5*V15 = V16"
    assert product.condition == Comparison("==", Arithmetic("*", n("V5"), n("V15")), n("V16"))
    assert values.condition == And((Comparison("<=", Number(0), n("V3")), Comparison("<=", n("V3"), Number(7500))))
    assert governed.name == "EC-LC: if V8 < 1115 then V13 <= V12"
    earns_little = Comparison("<", n("V8"), Number(1115))
    assert governed.condition == Or((Not(earns_little), Comparison("<=", n("V13"), n("V12"))))
    assert domain.name == "Value-domain restriction"
    assert domain.condition == InOriginal(Variable("V1"), "V1")


@pytest.mark.parametrize("namespace", [ISO, "http://www.ascc.net/xml/schematron"])
def test_the_figures_in_a_schema_of_either_namespace(namespace):
    schema = f'<?xml version="1.0"?>\n<s:schema xmlns:s="{namespace}">{FIGURES}</s:schema>'
    prefixed = schema
    for tag in ("pattern", "rule", "assert", "let", "value-of"):
        prefixed = prefixed.replace(f"<{tag}", f"<s:{tag}").replace(f"</{tag}", f"</s:{tag}")
    assert [rule.condition for rule in read(prefixed)] == [rule.condition for rule in read(FIGURES)]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_bare_patterns_in_other_encodings(encoding):
    declared = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    assert read((declared + FIGURES).encode(encoding)) == read(FIGURES)
    assert read(FIGURES.strip().encode(encoding)) == read(FIGURES)


@pytest.mark.parametrize("text", [BARE, f"<?xml version='1.0' encoding='iso-8859-1'?>{BARE}"])
def test_bare_patterns_whose_encoding_would_be_a_guess_are_refused(text):
    with refused(FileError, "several-roots-not-utf8", file="rules.sch"):
        read(text.encode("iso-8859-1"))


def test_what_a_schema_may_hold_besides_rules_is_passed_over():
    (rule,) = read(
        f"""
        <schema xmlns="{ISO}" xmlns:x="urn:other" queryBinding="xslt2" defaultPhase="one">
          <title>Edits</title> <ns prefix="x" uri="urn:other"/> <p>Prose.</p> <!-- a comment --> <?and more?>
          <phase id="one"><active pattern="a"/></phase>
          <x:annotation test="count("/>
          <pattern id="a"><title>The  <x:b>title</x:b></title><p/>
            <rule context="Record"><assert test="V1 = 1" diagnostics="d">It is <name/>.</assert></rule>
          </pattern>
          <diagnostics><diagnostic id="d">no</diagnostic></diagnostics>
        </schema>""".strip().replace('test="count("', "")
    )
    assert (rule.name, rule.text) == ("a", "V1 = 1")


def test_names():
    def rule(*tests):
        return f'<rule context="Record">{"".join(f"<assert test={test!r}/>" for test in tests)}</rule>'

    rules = read(
        f"""<schema>
        <pattern name=" a  b " id="c">{rule("V1 = 1", "V2 = 1", "V3 = 1")}</pattern>
        <pattern id="c"><title>d</title>{rule("V1 = 1")}</pattern>
        <pattern><title> d
        e </title>{rule("V1 = 1")}</pattern>
        <pattern>{rule("V1 = 1")}</pattern>
        </schema>"""
    )
    assert [rule.name for rule in rules] == ["a b", "a b (2)", "a b (3)", "c", "d e", "line 6"]


def test_a_report_is_the_opposite():
    first, second = read(
        patterns("""<rule context="Record"><report test=" V1  > 2 "/><report test="V1 != ''"/></rule>""")
    )
    assert first.condition == Not(Comparison(">", Variable("V1"), Number(2)))
    assert first.text == "not(V1 > 2)"
    assert second.condition == Missing("V1")


@pytest.mark.parametrize(
    "context", ["Record", "//Record", "/Records/Record", "Records/Record", "/child::Records/Record"]
)
def test_contexts_of_records(context):
    (rule,) = read(patterns(f'<rule context="{context}"><assert test="V1 = 1"/></rule>'))
    assert rule.condition == Comparison("==", Variable("V1"), Number(1))


def test_a_condition_on_the_context_governs():
    (rule,) = read(patterns('<rule context="Record[number(V8) &lt; 1115]"><assert test="V1 = 1"/></rule>'))
    governs, governed = Comparison("<", n("V8"), Number(1115)), Comparison("==", Variable("V1"), Number(1))
    assert rule.condition == Or((Not(governs), governed))


def test_only_the_first_rule_that_matches_a_record_tests_it():
    first, second, third = read(
        patterns(
            '<rule context="Record[V1 = 1]"><assert test="V2 = 1"/></rule>'
            "<rule context=\"Record[V3 != ''][V1 = 2]\"><assert test='V2 = 2'/></rule>"
            '<rule context="//Record"><assert test="V2 = 3"/></rule>'
        )
    )
    one, two = (Comparison("==", Variable("V1"), Number(each)) for each in (1, 2))
    both = And((Not(Missing("V3")), two))
    test = [Comparison("==", Variable("V2"), Number(each)) for each in (1, 2, 3)]
    assert first.condition == Or((Not(one), test[0]))
    assert second.condition == Or((one, Not(both), test[1]))
    assert third.condition == Or((one, both, test[2]))


def test_a_rule_that_no_record_reaches_is_refused():
    rule = '<rule context="Record"><assert test="V1 = 1"/></rule>'
    assert reports(refusals(patterns(rule + rule)), "unreachable-rule", "edits", line=1, file="rules.sch")


def test_contexts_of_attributes():
    rules = read(
        patterns(
            '<rule context="Record/V3"><assert test=". >= 0"/><assert test="number() &lt; ../V1"/></rule>'
            '<rule context="Record[V1 = 1]/V2[. != 2]"><assert test="string(.) = \'a\'"/></rule>'
        )
    )
    assert rules[0].condition == Comparison(">=", Variable("V3"), Number(0))
    assert rules[1].condition == Comparison("<", n("V3"), Variable("V1"))
    limit = And((Comparison("==", Variable("V1"), Number(1)), Comparison("!=", Variable("V2"), Number(2))))
    assert isinstance(rules[2].condition, Or)
    assert rules[2].condition.parts[0] == Not(limit)


def test_variables_at_all_levels():
    (rule,) = read(
        """<schema><let name="low" value="2"/>
        <pattern><let name="high" value="$low + 1"/>
        <rule context="Record[number(V1) > $low]"><let name="it" value="number(V2)"/><assert test="$it = $high"/></rule>
        </pattern></schema>"""
    )
    high = Arithmetic("+", Number(2), Number(1))
    assert rule.condition == Or((Not(Comparison(">", n("V1"), Number(2))), Comparison("==", n("V2"), high)))


NO_RULES, NEEDS, MISPLACED = "no-rules", "element-without-attribute", "element-misplaced"
NOT_SUPPORTED, NO_PATH = "schematron-not-supported", "context-not-a-path"


@pytest.mark.parametrize(
    ("schema", "code", "data"),
    [
        ("<pattern/>", NO_RULES, {"file": "rules.sch"}),
        ("<schema/>", NO_RULES, {}),
        (patterns('<rule context="Record"/>'), NO_RULES, {}),
        (patterns('<rule><assert test="V1 = 1"/></rule>'), NEEDS, {"element": "rule", "attribute": "context"}),
        (patterns('<rule context="Record"><assert/></rule>'), NEEDS, {"element": "assert", "attribute": "test"}),
        (on("Record", " "), NEEDS, {"attribute": "test"}),
        (patterns('<rule context="Record"><let name="a"/></rule>'), NEEDS, {"element": "let", "attribute": "value"}),
        (patterns('<rule context="Record"><let value="1"/></rule>'), NEEDS, {"element": "let", "attribute": "name"}),
        (patterns('<rule context="Record"><asert test="V1 = 1"/></rule>'), MISPLACED,
         {"element": "asert", "parent": "rule"}),
        (patterns('<assert test="V1 = 1"/>'), MISPLACED, {"element": "assert", "parent": "pattern"}),
        ("<schema><rule/></schema>", MISPLACED, {"element": "rule", "parent": "schema"}),
        ('<pattern abstract="true"/>', NOT_SUPPORTED, {"element": "pattern", "attribute": "abstract"}),
        ('<pattern is-a="b"/>', NOT_SUPPORTED, {"attribute": "is-a"}),
        ('<pattern documents="b"/>', NOT_SUPPORTED, {"attribute": "documents"}),
        (patterns('<rule abstract="true" id="a"/>'), NOT_SUPPORTED, {"element": "rule", "attribute": "abstract"}),
        (patterns('<rule context="Record"><extends rule="a"/></rule>'), NOT_SUPPORTED, {"element": "extends"}),
        ('<schema><include href="/etc/passwd"/></schema>', NOT_SUPPORTED, {"element": "include"}),
        ('<schema><i:include xmlns:i="http://www.w3.org/2001/XInclude" href="/etc/passwd"/></schema>', NOT_SUPPORTED,
         {"element": "include"}),
        (on("*"), NO_PATH, {"position": 1}),
        (on("/"), NO_PATH, {"position": 1}),
        (on("V1 | V2"), NO_PATH, {"position": 4}),
        (on("Record["), "not-xpath", {}),
        (on("Record[1]"), "value-as-condition", {"position": 8}),
        (on("a[b]/Record"), "condition-not-on-record",
         {"position": 3}),
        (patterns('<rule context="A"><assert test="V1=1"/></rule>', '<rule context="B"><assert test="V1=1"/></rule>'),
         "second-record", {"name": "B", "record": "A"}),
        (patterns('<rule context="Record">\n<assert test="count(V1)"/></rule>'), "several-records",
         {"line": 2, "file": "rules.sch", "position": 1, "what": "count"}),
    ],
)  # fmt: skip
def test_what_is_refused_of_a_schema(schema, code, data):
    assert reports(refusals(schema), code, "edits", **data)


def test_all_that_is_wrong_is_said_at_once():
    rule = '<rule context="Record"><assert test="{}"/><assert test="{}"/></rule>'
    with pytest.raises(PlanError) as error:
        read(patterns(rule.format("last()", "sum(V1)"), rule.format("V1=1", "max(V1)"), rule.format("V1 +", "V1=1")))
    assert error.value.codes == ["several-records", "several-records", "several-records", "not-xpath"]


def test_of_very_many_mistakes_some_are_shown():
    found = refusals(patterns(*['<rule context="Record"><assert test="last()"/></rule>'] * 100))
    assert len(found) == 21
    assert reports(found[-1:], "more-unread-rules", "edits", number=80)


def test_thousands_of_conditions_in_one_pattern_do_not_blow_up():
    rules = "".join(f'<rule context="Record[V1 = {i}]"><assert test="V2 = 1"/></rule>' for i in range(2000))
    assert reports(refusals(patterns(rules)), "rule-too-complex", most=MOST_PARTS)


LEVELS = [("lol", "lol"), *[(f"lol{i}", f"&lol{i - 1};".replace("lol0", "lol") * 10) for i in range(1, 10)]]
BOMB = f"<!DOCTYPE lolz [{''.join(f'<!ENTITY {name} {text!r}>' for name, text in LEVELS)}]>"
BODY = '<pattern name="{}"><rule context="Record"><assert test="V1 = \'{}\'"/></rule></pattern>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1"])
@pytest.mark.parametrize(
    ("declared", "entities", "more"),
    [
        (BOMB, ["lol", "lol1", "lol2", "lol3", "lol4"], 5),
        ('<!DOCTYPE a [<!ENTITY secret SYSTEM "file:///etc/passwd">]>', ["secret"], 0),
        ('<!DOCTYPE a [<!ENTITY % far SYSTEM "http://localhost:9/a.dtd"> %far;]>', ["far"], 0),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd">', [], 0),
        ("<!DOCTYPE a>", [], 0),
    ],
)
def test_declarations_are_refused_by_name(encoding, declared, entities, more):
    head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    for value in ("1", "&lol9;", "&secret;"):
        with refused(FileError, "doctype", file="rules.sch", entities=entities, more=more):
            read((head + declared + BODY.format(value, value)).encode(encoding))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"<", b"<a", b"<pattern>", b"\0", b"<schema></schema", b"\xff\xfe", b"&a;", b"<a>&a;</a>",
        b'<?xml version="1.0" encoding="no-such"?><pattern/>', b"<pattern/><!DOCTYPE a><pattern/>",
        b"<pattern/><pattern>", b"<a>" * 1000 + b"</a>" * 1000, b"<Records><Record/></Records>", b"<!-- -->",
        b"<pattern xmlns='urn:other'/>", BODY.format("&lol;", "").encode(),
    ],
)  # fmt: skip
def test_what_is_no_schema_is_refused_in_a_sentence(data):
    with pytest.raises(FileError, match=r"^'rules.sch' ") as error:
        read(data)
    assert len(str(error.value)) < 150


def test_ten_thousand_rules(tmp_path):
    rules = patterns(*[f'<rule context="Record"><assert test="number(V{i}) + 1 = V2"/></rule>' for i in range(10_000)])
    (tmp_path / "rules.txt").write_text(rules)
    assert len({rule.name for rule in read_rules(tmp_path / "rules.txt")}) == 10_000


TEXTS = st.sampled_from([None, "0", "1", "2", "3", "a"])
CONDITIONS = st.sampled_from(
    ["V1 = 1", "number(V2) > 1", "V3 != 'a'", "not(V1 < V2)", "V1 + V2 = V3", "V3 = 2 or V1 = 0"]
)
RULES = st.builds(
    '<rule context="Record{}"><{} test="{}"/></rule>'.format,
    CONDITIONS.map("[{}]".format),
    st.sampled_from(["assert", "report"]),
    CONDITIONS,
)
ON_VALUES = st.builds(
    '<rule context="Record{}/V1"><let name="x" value="number(.)"/><assert test="$x > {}"/></rule>'.format,
    CONDITIONS.map("[{}]".format) | st.just(""),
    st.integers(0, 2),
)
LAST = st.just("") | CONDITIONS.map('<rule context="//Record"><assert test="{}"/></rule>'.format)
PATTERNS = st.tuples(st.lists(RULES, min_size=1, max_size=3).map("".join), LAST, ON_VALUES | st.just("")).map("".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(PATTERNS, min_size=1, max_size=2), st.lists(st.tuples(*[TEXTS] * 3), min_size=1, max_size=6))
def test_rules_hold_where_a_schematron_validator_finds_nothing(texts, records):
    schema = f'<schema xmlns="{ISO}">{patterns(*texts)}</schema>'.replace("&", "&amp;").replace(" < ", " &lt; ")
    finder = isoschematron.Schematron.ASSERTS_AND_REPORTS
    validator = isoschematron.Schematron(etree.fromstring(schema), error_finder=finder)
    rules = read(schema)
    for values in records:
        record = dict(zip(NAMES, values, strict=True))
        root = etree.Element("Records")
        element = etree.SubElement(root, "Record")
        for name, text in record.items():
            etree.SubElement(element, name).text = text
        assert all(holds(rule.condition, record) for rule in rules) == validator.validate(root)
