"""Whatever is given as rules: a rule or a sentence comes out, soon, and no other file is opened on the way."""

import builtins
import contextlib
import io
import os
import socket
import tempfile
from pathlib import Path
from unittest import mock
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.edits.load import read_rules
from shoal.edits.messages import Location
from shoal.edits.plain_text import parse_rule
from shoal.edits.schematron import read_schematron
from shoal.edits.xpath import RECORD, condition_of, parse
from shoal.errors import FileError, PlanError

LONGEST_SENTENCE = 600
FUZZED = settings(max_examples=150, deadline=60_000)

RULES = [
    "total: V9 + V10 == V14  # sums",
    "0 <= V3 <= 7500",
    "if V8 < 1115 then V13 <= V12 else `family income` is not missing",
    "town in original and sex in {1, 'b', -2.5e3} or not (abs(-x) % 2 != .5)",
]
TESTS = [
    "1.0 * number(V9) + 1.0 * number(V10) = number(V14)",
    "not(number(V8) < 1115) or (number(V13) <= number(V12))",
    "exists(index-of($ original //Record/V1, V1)) and V1 = ('a', 'b')",
    "if (V1 = '') then round(V2 div 3) mod 2 eq -1 else true()",
]
SCHEMA = """<?xml version="1.0" encoding="UTF-8"?>
<schema xmlns="http://purl.oclc.org/dsdl/schematron"><title>a</title><let name="original" value="document('a.xml')"/>
<pattern name="a"><rule context="Record[number(V8) &lt; 1115]"><assert test="V1 = $original//V1">&amp;</assert></rule>
<rule context="//Record"><report test="V2 = 1"><value-of select="V2"/></report></rule></pattern></schema>"""
PIECES = [
    *"()[]{}<>=+-*/%,.:;!'\"`#$@|&^~?\\ \n\t\0\ufeff\u2028\U0001f600é",
    *["==", "<=", "!=", "//", "::", "..", "(:", ":)", "if", "then", "else", "and", "or", "not", "in", "is", "missing"],
    *[
        "integer",
        "original",
        "abs(",
        "number(",
        "exists(",
        "index-of(",
        "document('a')",
        "div",
        "mod",
        "to",
        "V1",
        "`a b`",
    ],
    *[
        "1",
        "1e999",
        ".5",
        "'a'",
        '"b"',
        "for $x in V1 return",
        "some",
        "xs:",
        "fn:",
        "child::",
        "self::",
        "parent::",
        "<!--",
    ],
    *[
        "]]>",
        "<![CDATA[",
        "<!DOCTYPE a>",
        "<!ENTITY a 'b'>",
        "&a;",
        "&#0;",
        "&#x41;",
        "<?a",
        "?>",
        "<let",
        "/>",
        "</rule>",
    ],
    *[
        "(" * 300,
        ")" * 300,
        "not(" * 200,
        "9" * 4400,
        "castable as xs:integer",
        "instance of item()",
        "treat as",
        "=" * 50,
    ],
]
SOUP = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map(" ".join) | st.lists(
    st.sampled_from(PIECES), max_size=12
).map("".join)


def parse_test(test, where, variables):
    return condition_of(parse(test, where), RECORD, variables)


@st.composite
def damaged(draw, texts):
    """A text of some, with a few pieces of it taken out, put in or written twice."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        put = draw(st.sampled_from(["", text[start:end] * 2]) | st.sampled_from(PIECES) | st.text(max_size=3))
        text = text[:start] + put + text[end:]
    return text


@contextlib.contextmanager
def nothing_opened(but=None):
    """Fail if a file is opened, or a connection made; files within a process other than Python's are not seen."""
    real = io.open

    def opened(path, *args, **kwargs):
        assert but is not None, f"{path} was opened"
        assert Path(path) == but, f"{path} was opened"
        return real(path, *args, **kwargs)

    def connected(*args, **kwargs):
        raise AssertionError("a connection was made")

    with (
        mock.patch.object(builtins, "open", opened),
        mock.patch.object(io, "open", opened),
        mock.patch.object(os, "open", opened),
        mock.patch.object(socket, "socket", connected),
    ):
        yield


def sentence_or_rules(read, *args, but=None):
    with nothing_opened(but):
        try:
            return read(*args)
        except (PlanError, FileError) as error:
            sentences = error.sentences
            assert all(0 < len(sentence) < LONGEST_SENTENCE for sentence in sentences)
            assert all(sentence.isprintable() for sentence in sentences)
    return None


@FUZZED
@given(SOUP | damaged(RULES) | st.text())
@example("if " * 6000)
def test_plain_rules(text):
    sentence_or_rules(parse_rule, text, Location(line=1))


@FUZZED
@given(SOUP | damaged(TESTS) | st.text())
@example("V1 = (1 to 1000000000000)")
@example("doc('/etc/passwd')//a = V1")
@example("V1 = document('http://localhost/')//V1")
@example("unparsed-text('/etc/passwd') = V1")
@example("collection('/etc') = V1")
def test_xpath(text):
    sentence_or_rules(parse_test, text, Location(line=1), {})


@FUZZED
@given(damaged([SCHEMA]) | SOUP | st.text(), st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "latin-1", "utf-32"]))
def test_schemas(text, encoding):
    sentence_or_rules(read_schematron, text.encode(encoding, "replace"), "rules.sch")


@FUZZED
@given(st.binary(max_size=60), st.integers(0, len(SCHEMA)))
def test_schemas_with_any_bytes_in_them(some, at):
    data = SCHEMA.encode()
    sentence_or_rules(read_schematron, data[:at] + some + data[at:], "rules.sch")


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=12)
XPATH = damaged(TESTS).map(lambda text: "".join(each for each in text if each.isprintable())) | WORDS


@FUZZED
@given(XPATH, XPATH, XPATH)
def test_whole_schemas_with_any_expressions_in_them(context, let, test):
    schema = (
        f"<schema><pattern name={quoteattr(let)}><rule context={quoteattr(context)}>"
        f"<let name='original' value={quoteattr(let)}/><assert test={quoteattr(test)}/></rule></pattern></schema>"
    )
    sentence_or_rules(read_schematron, schema.encode(), "rules.sch")


@settings(max_examples=100, deadline=60_000)
@given(st.binary() | (damaged(["\n".join(RULES), SCHEMA]) | SOUP).map(lambda text: text.encode(errors="replace")))
def test_files(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules")
        path.write_bytes(data)
        sentence_or_rules(read_rules, path, but=path)


@settings(max_examples=100, deadline=60_000)
@given(st.lists(SOUP | damaged(RULES), max_size=4))
def test_lists(lines):
    sentence_or_rules(read_rules, lines)


def test_what_is_not_damaged_is_read():
    assert len(sentence_or_rules(read_rules, RULES)) == len(RULES)
    assert len(sentence_or_rules(read_schematron, SCHEMA.encode(), "rules.sch")) == 2


@pytest.mark.parametrize("system", ["http://127.0.0.1:{}/a", "ftp://127.0.0.1:{}/a"])
@pytest.mark.parametrize(
    "declared", ['<!DOCTYPE schema SYSTEM "{}">', '<!DOCTYPE schema [<!ENTITY % a SYSTEM "{}"> %a;]>', "{}"]
)
def test_nobody_is_called(system, declared):
    """The parser of XML is not Python's: only who listens knows that it did not call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        address = system.format(server.getsockname()[1])
        include = (
            f'<?xml-model href="{address}"?><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{address}"/>'
        )
        head = declared.format(address) if declared != "{}" else ""
        with pytest.raises((FileError, PlanError)):
            read_schematron(f"{head}<schema>{include}</schema>".encode(), "rules.sch")
        with pytest.raises(TimeoutError):
            server.accept()
