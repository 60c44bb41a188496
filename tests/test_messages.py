"""Codes of messages: each has one sentence, reviewed in `tests/messages`, and is used with the data that it names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import snapshots

import shoal
import shoal.plan  # which spells options for Python
from shoal.messages import Message, _segments
from shoal.messages.table import SENTENCES

SOURCE = Path(shoal.__file__).parent
MAKERS = {"Message", "ShoalError", "PlanError", "DataError", "FileError", "NotEstimable"}


def made() -> Iterator[tuple[str, str, set[str] | None]]:
    """Every message that the source builds: where, its code, and the names of its data unless they are passed on."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS):
                continue
            keywords = {each.arg for each in node.keywords} - {"field", "source"}
            for first in node.args[:1]:
                for code in _literals(first):
                    where = f"{path.relative_to(SOURCE)}:{node.lineno}"
                    yield where, code, None if None in keywords else keywords


def _literals(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(code)):
            yield code
        case ast.IfExp(body=body, orelse=orelse):
            yield from _literals(body)
            yield from _literals(orelse)


def placeholders(template: str, optional: bool) -> set[str]:
    """Names of data in a template, with or without those of its optional segments."""
    text = "".join(each.text for at, each in enumerate(_segments(template)) if optional or not at % 2)
    return set(re.findall(r"\{(\w+)", text))


def test_every_sentence_is_as_reviewed():
    held = snapshots.stored()
    changed = [code for code, entry in held.items() if code in SENTENCES and snapshots.rendered(code, entry) != entry]
    assert not changed, "look at the sentences, and renew them: python -m tests.snapshots"


def test_every_code_has_a_reviewed_sentence_and_no_other_has():
    assert snapshots.stored().keys() ^ SENTENCES.keys() == set(), "pytest --record-messages adds new ones"


def test_every_message_has_the_data_that_its_sentence_names():
    wrong = [
        f"{where}: {code}"
        for where, code, data in made()
        if code not in SENTENCES
        or (data is not None and not placeholders(SENTENCES[code][1], False) <= data)
        or (data is not None and not data <= placeholders(SENTENCES[code][1], True))
    ]
    assert wrong == []


def test_every_code_is_used():
    literals = {
        node.value
        for path in SOURCE.rglob("*.py")
        if path.parent.name != "messages"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert SENTENCES.keys() - literals == set()


@pytest.mark.parametrize(
    ("template", "data", "text"),
    [
        ("{n:record}", {"n": 1}, "1 record"),
        ("{n:category/categories}", {"n": 2000}, "2,000 categories"),
        ("{n:{unit}}", {"n": 3, "unit": "household"}, "3 households"),
        ("{n:~is/are}", {"n": 1}, "is"),
        ("{names:names}", {"names": ["a", "b"]}, "'a', 'b'"),
        ("{words:or}", {"words": ["a", "b"]}, "a or b"),
        ("A[ (first: {first})].", {"first": 5}, "A (first: 5)."),
        ("A[ (first: {first})].", {"first": None}, "A."),
        ("A[ (first: {first})].", {}, "A."),
        ("A[ {names:names}].", {"names": []}, "A."),
        ("[{on:?}on][{on:!}off]", {"on": True}, "on"),
        ("[{on:?}on][{on:!}off]", {"on": False}, "off"),
        ("x[[{extra}]]", {"extra": "all"}, "x[all]"),
        ("Use --missing={how}, or -k=3.", {"how": "group"}, "Use --missing group, or -k 3."),
        ("Leave out {other:option}.", {"other": "--missing=group"}, "Leave out --missing group."),
        ("{name}", {"name": "a\x1b"}, "a\\x1b"),
    ],
)
def test_a_template_is_filled_with_its_data(monkeypatch, template, data, text):
    monkeypatch.setitem(SENTENCES, "example", ("note", template))
    assert Message("example", **data) == text


def test_each_reader_sees_an_option_in_familiar_words(monkeypatch):
    monkeypatch.setitem(SENTENCES, "example", ("error", "Use --missing=group[ or {other:option}]."))
    message = Message("example", other="--publish-rest")
    assert message.text("terminal") == "Use --missing group or --publish-rest."
    assert message.text("python") == "Use missing='group' or publish='rest'."
    assert message.options == [("--missing", "group"), ("--publish-rest", None)]


@pytest.mark.parametrize(
    ("template", "data", "terminal", "python"),
    [
        ("Add {other:option}.", {"other": "--weights={column}", "column": "a b"}, "--weights a b", "weights='a b'"),
        ("Add --no-suda.", {}, "--no-suda", "suda=False"),
        ("Add --overwrite.", {}, "--overwrite", "overwrite=True"),
        ("Add (c, l)-diverse.", {}, "(c, l)-diverse", "(c, l)-diverse"),
    ],
)
def test_options_as_data_and_of_other_commands_are_spelled(monkeypatch, template, data, terminal, python):
    monkeypatch.setitem(SENTENCES, "example", ("error", template))
    message = Message("example", **data)
    assert (message.text("terminal"), message.text("python")) == (f"Add {terminal}.", f"Add {python}.")


def test_a_message_has_at_most_two_sentences_and_ends_in_a_stop():
    long = [
        code
        for code, (_, text) in SENTENCES.items()
        if code not in snapshots.phrases()
        and (len(re.findall(r"[.?!](?: |$)", text)) > 2 or text.rstrip("]")[-1] not in ".?:}")
    ]
    assert long == []
