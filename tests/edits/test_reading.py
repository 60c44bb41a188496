"""Rules from files and lists: which language a file is in, what its rules are called, and what cannot be read."""

import codecs
import os

import pytest
from tests.expect import refused, reports

from shoal.edits.expressions import Comparison, Missing, Number, Or, Variable
from shoal.edits.load import read_rules
from shoal.errors import FileError, PlanError

SCHEMA = '<pattern name="{}"><rule context="Record"><assert test="V1 = 1"/></rule></pattern>'
PLAIN = "# edits of 2024\n\na == 1\r\n  \ntotal: a + b == c  # sums\rtotal: b == 2"


@pytest.fixture
def file(tmp_path):
    """Write a file and give its path."""

    def _file(content, name="rules.txt"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return _file


def test_a_list_of_texts():
    first, second = read_rules(["", "a == 1", "# nothing", "b is missing"])
    assert (first.name, first.text) == ("rule 2", "a == 1")
    assert first.condition == Or((Missing("a"), Comparison("==", Variable("a"), Number(1), exact=False)))
    assert (second.name, second.condition) == ("rule 4", Missing("b"))


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_file_of_lines(file, mark):
    rules = read_rules(file(mark + PLAIN.encode()))
    assert [rule.name for rule in rules] == ["line 3", "total", "total (2)"]
    assert [rule.text for rule in rules] == ["a == 1", "a + b == c", "b == 2"]


def test_a_path_may_be_a_text(file):
    assert read_rules(str(file("a == 1")))[0].name == "line 1"


@pytest.mark.parametrize("name", ["rules.sch", "rules.XML", "rules.txt", "rules"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_schematron_is_known_by_its_beginning_or_its_name(file, name, encoding):
    schema = SCHEMA.format("é" if encoding == "utf-16" else "e")
    (rule,) = read_rules(file(f" \n{schema}".encode(encoding), name))
    assert rule.condition == Comparison("==", Variable("V1"), Number(1))


def test_what_is_called_schematron_and_is_not(file):
    with refused(FileError, "damaged-file", format="XML", line=1):
        read_rules(file("a == 1", "rules.sch"))


def test_names_are_told_apart_from_those_that_look_alike():
    rules = read_rules(["t (2): a == 1", "t: a == 1", "t: a == 1", "t: a == 1", "t (2): a == 1"])
    assert [rule.name for rule in rules] == ["t (2)", "t", "t (3)", "t (4)", "t (2) (2)"]


def test_all_mistakes_are_named(file):
    with pytest.raises(PlanError) as error:
        read_rules(file("a ==\nb == 1\nc ++ 1"))
    assert [each.data for each in error.value.messages] == [
        {"line": 1, "file": "rules.txt", "position": 5},
        {"line": 3, "file": "rules.txt", "position": 4},
    ]
    assert error.value.codes == ["value-expected"] * 2


def test_a_data_file_in_place_of_rules_is_not_shown(file):
    """A list was written as rules, and may be shown; a file may be the data."""
    data = "name;income\nSmith;48211\nJones: 51 77\n"
    with pytest.raises(PlanError) as of_file:
        read_rules(file(data))
    with pytest.raises(PlanError) as of_list:
        read_rules(data.splitlines())
    assert not any(word in str(of_file.value) for word in ("Smith", "48211", "Jones", "51", "77", "income"))
    assert reports(of_file.value.messages, "unexpected-character", file="rules.txt", line=2, position=6)
    assert not any("excerpt" in each.data for each in of_file.value.messages)
    assert reports(of_list.value.messages, "unexpected-character", number=2, position=6, excerpt=";48211")


@pytest.mark.parametrize("content", ["", "\n\n", "# a == 1", "\ufeff"])
def test_a_file_without_rules(file, content):
    with refused(PlanError, "no-rules", "edits", file="rules.txt"):
        read_rules(file(content))


@pytest.mark.parametrize("source", [[], (), ["# nothing"]])
def test_a_list_without_rules(source):
    with refused(PlanError, "no-rules", "edits", file=""):
        read_rules(source)


@pytest.mark.parametrize("source", [None, 3, b"a == 1", [b"a == 1"], [1], {"a == 1"}, object()])
def test_what_is_neither_a_path_nor_a_list(source):
    with refused(PlanError, "not-rules", "edits"):
        read_rules(source)


def test_a_rule_in_place_of_a_path():
    with pytest.raises(FileError, match="--edit"):
        read_rules("V9 + V10 == V14")


@pytest.mark.parametrize("path", ["a\0b", "a" * 5000, "", "."])
def test_paths_that_are_none(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError):
        read_rules(path)


@pytest.mark.parametrize(("data", "line"), [(b"a == '\xe9'", 1), (b"a == 1\r\nb\xff == 1\n", 2), (b"\n\r\xff", 3)])
def test_other_encodings_are_refused_with_the_line(file, data, line):
    with refused(FileError, "not-utf8", line=line, file="rules.txt"):
        read_rules(file(data))


def test_files_of_more_than_ten_megabytes_are_refused(file):
    with refused(FileError, "file-too-large", what="file of rules", most=10_000_000):
        read_rules(file(b"#" * 10_000_001))


@pytest.mark.skipif(os.name == "nt", reason="not on Windows")
def test_a_file_without_end_is_refused():
    with refused(FileError, "file-too-large", path="/dev/zero"):
        read_rules("/dev/zero")


def test_ten_thousand_rules_of_one_name():
    rules = read_rules(["t: if a + b < 2 then c <= d"] * 10_000)
    assert len({rule.name for rule in rules}) == 10_000
