"""`tools/voice.py`: each rule finds a planted sentence and passes a clean one; the list of exceptions only shrinks."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import voice


def rules(source, path="src/shoal/a.py"):
    return [each.rule for each in voice.findings({path: source})]


@pytest.mark.parametrize("word", ["What", "Whoever", "Of", "Where", "That"])
def test_no_sentence_begins_with_a_banned_word(word):
    assert "opening" in rules(f'"""Blocks. {word} the records are cut."""')


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (
            'def f():\n    """Return x.\n\n    Returns\n    -------\n    float\n        What it costs.\n    """',
            "src/a.py",
        ),
        ("x = 1  # What it costs", "src/a.py"),
        ("# Sizes are counted\n# twice. What fails is kept", "src/a.py"),
        ('raise ValueError(f"{name} is missing. What is left is refused.")', "src/a.py"),
        ("int x; // What it costs", "src/a.cpp"),
        ("/* Sizes.\n * What it costs. */", "src/a.hpp"),
        ("Sizes are counted. What fails is\nkept.", "docs/a.md"),
        ("- What fails is kept.", "README.md"),
        ("| a |\n|---|\n| What fails |", "docs/a.md"),
    ],
)
def test_every_text_for_a_reader_is_checked(source, path):
    assert rules(source, path) == ["opening"]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("## What it costs", "docs/a.md"),
        ("What does it cost?", "docs/a.md"),
        ("```\nWhat fails is kept.\n```", "docs/a.md"),
        ("Use it:\n\n    What fails stands here.", "docs/a.md"),
        ("The option `What stands` is read.", "docs/a.md"),
        ('"""Sizes, e.g. What, and `stands`.\n\n>>> f()\nWhat stands\n\nAs in::\n\n    What stands.\n"""', "src/a.py"),
        ('x = "# What stands"  # noqa: E501 - What', "src/a.py"),
        ('x = ("what stands", "stands", "What else")', "src/a.py"),
        ('x = "// What stands"; // Sizes of groups', "src/a.cpp"),
        ("# Return the sizes. The record of which they are, and whatever stood there, is at risk.", "src/a.py"),
    ],
)
def test_code_questions_headings_and_clean_sentences_pass(source, path):
    assert rules(source, path) == []


PHRASES = """so many, as they are, as they were, in place of, be it, of its own, of their own, at hand, gives away,
put together, stands, lies, tells, anew, whoever"""


@pytest.mark.parametrize("phrase", re.split(r",\s", PHRASES))
def test_banned_phrases_are_found_across_rows(phrase):
    assert rules("# The group {} here.".format(phrase.replace(" ", "\n# "))) == ["phrase"]


def test_one_of_its_own_is_another_phrase():
    assert rules("# Each group publishes one of its own records.") == []


@pytest.mark.parametrize("first", ["Name the columns.", "Tell units apart.", "Say how many.", "Give a file its name."])
def test_no_function_begins_with_a_banned_verb(first):
    assert rules(f'def f():\n    """{first}"""') == ["verb"]
    assert rules(f'class A:\n    """{first}"""') == []


@pytest.mark.parametrize("first", ["Name of the column.", "Names of columns.", "Return the names.", "Given sizes."])
def test_nouns_and_other_verbs_pass(first):
    assert rules(f'def f():\n    """{first}"""') == []


def test_sentences_of_documents_have_at_most_thirty_words():
    sentence = "Groups " + "and " * 28
    assert rules(f"{sentence}records. {sentence}`of code`.", "docs/a.md") == []
    assert rules(f"{sentence}more records.", "docs/a.md") == ["long"]
    assert rules(f"| {sentence}more records. |\n|---|", "docs/a.md") == []
    assert rules(f"# {sentence}more records.") == []


def test_two_classes_share_no_name_and_some_names_are_banned():
    assert rules("class Block: ...\nclass Blocks: ...") == []
    assert rules("class _Holder: ...") == ["class-name"]
    found = voice.findings({"src/a.py": "class Block: ...", "src/b.py": "\nclass Block: ..."})
    assert [each[:3] for each in found] == [("src/a.py", 1, "same-name"), ("src/b.py", 2, "same-name")]


def test_a_finding_has_path_line_rule_and_words(repository, capsys):
    write, check = repository
    write("Sizes are counted.\nWhat fails is\nkept.", "")
    assert check() == 1
    assert capsys.readouterr().out == "README.md:2: opening: What fails is kept.\n"


def test_exceptions_allow_as_many_findings_as_they_count(repository, capsys):
    write, check = repository
    write("What fails.\n\nWhat is kept.", "2 README.md opening\n")
    assert check() == 0
    assert check("README.md") == 1  # prints what is excepted, too
    assert capsys.readouterr().out.count("README.md:") == 2
    write("What fails.\n\nWhat is kept.", "1 README.md opening\n")
    assert check() == 1
    assert "README.md: opening: 2 found, 1 excepted" in capsys.readouterr().out


def test_exceptions_only_shrink(repository, capsys):
    write, check = repository
    write("What fails.", "3 README.md opening\n1 README.md phrase\n1 docs/gone.md opening\n")
    assert check() == 1
    assert capsys.readouterr().out.endswith("run python tools/voice.py --shrink\n")
    assert check("--shrink") == 0
    assert write.list.read_text() == "1 README.md opening\n"
    write("What fails, so many times.\n\nWhat is kept.", "1 README.md opening\n")
    assert check("--shrink") == 1
    assert write.list.read_text() == "1 README.md opening\n"


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "tools").mkdir()

    def write(readme, exceptions):
        (tmp_path / "README.md").write_text(readme)
        write.list.write_text(exceptions)

    write.list = tmp_path / voice.EXCEPTIONS
    return write, lambda *arguments: voice.main([*arguments], tmp_path)
