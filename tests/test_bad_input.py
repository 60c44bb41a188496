"""Every kind of bad input, typed and in Python: refused in the same words, or protected all the same."""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv as pacsv
import pytest
from tests.expect import reports

import shoal
from shoal import cli

SECRET = "917236453"  # a cell that no message may show
TOWNS = ("south", "north")
ROWS = [f"p{i},{20 + i},{SECRET if i == 5 else 1000 + 7 * i * i},{TOWNS[i % 2]}" for i in range(12)]
PEOPLE = "\n".join(["name,age,income,town", *ROWS, ""])
SECOND = "p1,21,1007,north"


class Bad(NamedTuple):
    """A kind of bad input: what the file holds, and what is asked for."""

    content: str | bytes | None
    options: dict[str, Any]
    ending: str = "csv"


def people(second: str = SECOND, **options: Any) -> Bad:
    """Twelve people; another second record, and other options than k = 3 of age and income."""
    content = PEOPLE.replace(SECOND, second)
    return Bad(content, {"k": 3, "quasi": ["age", "income"], "publish": "rest", **options})


def numbers(header: str, line: str, records: int = 9) -> Bad:
    return Bad("\n".join([header, *(line.format(i) for i in range(records)), ""]), {"k": 3})


KINDS = {
    "k = 0": people(k=0),
    "k = -3": people(k=-3),
    "k = 1": people(k=1),
    "k = 2.7": people(k=2.7),
    "k = five": people(k="five"),
    "k larger than the number of records": people(k=13),
    "one record": Bad("name,age\np,3\n", {"k": 3, "publish": "rest"}),
    "an infinite value": people("p1,21,inf,north"),
    "a number beyond the largest float": people("p1,21,1e999,north"),
    "NaN": people("p1,21,NaN,north"),
    "a missing cell": people("p1,21,,north"),
    "a missing cell that is asked to be grouped": people("p1,21,,north", missing="group"),
    "text in a column of numbers": people("p1,21,much,north"),
    "text in a column of numbers that nobody named": Bad(PEOPLE.replace(SECOND, "p1,21,much,north"), {"k": 3}),
    "an integer that no float can hold": people("p1,21,9007199254740993,north"),
    "an empty file": Bad("", {"k": 3}),
    "a header without records": Bad("name,age\n", {"k": 3}),
    "no such file": Bad(None, {"k": 3}),
    "two columns of one name": Bad(PEOPLE.replace("income", "age"), {"k": 3}),
    "an unknown column": people(quasi=["agee"]),
    "a column in two roles": people(quasi=["age"], confidential=["age"]),
    "a column named twice": people(quasi=["age", "age"]),
    "no column of numbers": Bad("a,b\n" + 9 * "x,y\n", {"k": 3, "publish": "rest"}),
    "a column without values": Bad(re.sub("north|south", "", PEOPLE), {"k": 3, "quasi": ["town"], "publish": "rest"}),
    "a constant column": numbers("a,b", "{0},5"),
    "columns that are all the same": numbers("a,b", "{0},{0}"),
    "records that are all the same": numbers("a,b", "1,2"),
    "a column of true and false": Bad(
        PEOPLE.replace("north", "true").replace("south", "false"), {"k": 3, "quasi": ["town"], "publish": "rest"}
    ),
    "a record with a cell too many": people("p1,21,1007,north,x"),
    "a quote that is never closed": people('p1,21,1007,"north'),
    "bytes that are no text": Bad(bytes(range(256)) * 4, {"k": 3}),
    "text in another encoding than the named one": Bad(
        PEOPLE.replace("north", "nörd").encode("latin-1"), {"k": 3, "quasi": ["age"], "csv": {"encoding": "utf-8"}}
    ),
    "another kind of file than its name says": Bad(PEOPLE, {"k": 3}, "parquet"),
    "a survey weight of zero": people("p1,21,0,north", quasi=["age"], weights="income"),
    "a negative survey weight": people("p1,21,-5,north", quasi=["age"], weights="income"),
    "a level that is not in the list": people(
        "p1,21,1007,east", quasi=["town"], types={"town": "ordinal"}, levels={"town": ["north", "south"]}
    ),
}


# Codes of what is refused, with data; a text is part of a sentence of a record and a column.
TOO_SMALL, SECOND_RECORD = ("too-small", {"field": "k", "limit": 2}), "'income' .*record 2"
REFUSED: dict[str, tuple[str, dict[str, Any]] | str] = {
    "k = 0": TOO_SMALL,
    "k = -3": TOO_SMALL,
    "k = 1": TOO_SMALL,
    "k = 2.7": ("not-whole", {"field": "k"}),
    "k = five": ("not-whole", {"field": "k"}),
    "k larger than the number of records": "k = 13 .*12 records",
    "one record": "k = 3 .*1 record",
    "an infinite value": SECOND_RECORD,
    "a number beyond the largest float": SECOND_RECORD,
    "NaN": SECOND_RECORD,
    "a missing cell": SECOND_RECORD,
    "text in a column of numbers": SECOND_RECORD,
    "text in a column of numbers that nobody named": SECOND_RECORD,
    "an integer that no float can hold": SECOND_RECORD,
    "an empty file": "people.csv'",
    "a header without records": "people.csv'",
    "no such file": "people.csv'",
    "two columns of one name": "people.csv' .*'age'",
    "an unknown column": "'agee' .*'age'",
    "a column in two roles": ("two-roles", {"field": "confidential", "column": "age", "other": "quasi"}),
    "a column named twice": ("names-twice", {"field": "quasi", "column": "age"}),
    "no column of numbers": "--quasi",
    "a column without values": "'town'",
    "a record with a cell too many": "people.csv'.* record 2 .*5 .* 4",
    "a quote that is never closed": "people.csv'.* record 2 ",
    "bytes that are no text": "people.csv'",
    "text in another encoding than the named one": "people.csv' .*utf-8 .*byte 51",
    "another kind of file than its name says": "people.parquet' .*Parquet",
    "a survey weight of zero": SECOND_RECORD,
    "a negative survey weight": SECOND_RECORD,
    "a level that is not in the list": "'town' .*record 2",
}


def made(bad: Bad, folder: Path) -> Path:
    path = folder / f"people.{bad.ending}"
    if bad.content is not None:
        path.write_bytes(bad.content if isinstance(bad.content, bytes) else bad.content.encode())
    return path


def arguments(options: dict[str, Any]) -> list[str]:
    """Say in options of the command line what is asked for in Python."""
    names = {"k": "-k", "types": "--type", "csv": "--encoding"}
    given = []
    for name, value in options.items():
        if name == "publish":
            given.append("--publish-rest")
            continue
        if name == "csv":
            value = value["encoding"]
        if isinstance(value, dict):
            value = ",".join(
                f"{key}={each if isinstance(each, str) else ','.join(each)}" for key, each in value.items()
            )
        given += [names.get(name, f"--{name}"), ",".join(value) if isinstance(value, list) else str(value)]
    return given


def typed(bad: Bad, folder: Path, monkeypatch, capsys) -> tuple[int, str]:
    """Run the command in a folder; returns the exit code and what it says of errors."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "500")
    path = made(bad, folder)
    monkeypatch.setattr(
        sys, "argv", ["shoal", "protect", str(path), *arguments(bad.options), "-o", f"out.{bad.ending}"]
    )
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    return exit_.value.code or 0, capsys.readouterr().err


@pytest.mark.parametrize("kind", REFUSED)
def test_both_faces_refuse_in_the_same_sentence(kind, tmp_path, monkeypatch, capsys):
    bad = KINDS[kind]
    code, err = typed(bad, tmp_path, monkeypatch, capsys)
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.protect(made(bad, tmp_path), **bad.options)
    [message], expected = caught.value.messages, REFUSED[kind]
    assert code == 2
    said = f"{message.text(label=arguments({message.field: ''})[0]) if message.field else message}"
    assert err.strip() == f"Error: {said}"
    if isinstance(expected, str):
        assert re.search(expected, message)
    else:
        assert reports([message], expected[0], **expected[1])
    assert SECRET not in err
    assert [path.name for path in tmp_path.iterdir()] == ([] if bad.content is None else [f"people.{bad.ending}"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in REFUSED])
def test_what_is_protected_all_the_same_has_groups_of_k(kind, tmp_path, monkeypatch, capsys):
    bad = KINDS[kind]
    code, err = typed(bad, tmp_path, monkeypatch, capsys)
    assert (code, err) == (0, "")
    table = pacsv.read_csv(tmp_path / "out.csv")
    masked = bad.options.get("quasi", table.column_names)
    rows = list(zip(*(table[name].to_pylist() for name in masked), strict=True))
    assert min(Counter(rows).values()) >= 3
    assert len(rows) == len(made(bad, tmp_path).read_text().splitlines()) - 1
    release = shoal.protect(tmp_path / "people.csv", **bad.options)
    assert min(Counter(release.groups.tolist()).values()) >= 3


def published(kind, tmp_path):
    bad = KINDS[kind]
    return shoal.protect(made(bad, tmp_path), **bad.options)


def test_a_missing_cell_is_shared_by_its_group_or_by_nobody(tmp_path):
    """The group publishes the mean of the others, or misses the value as a whole."""
    release = published("a missing cell that is asked to be grouped", tmp_path)
    income = release.table["income"].to_pylist()
    alike = [value for value, group in zip(income, release.groups, strict=True) if group == release.groups[1]]
    assert len(set(alike)) == 1


def test_what_is_the_same_everywhere_stays_as_it_is(tmp_path):
    assert set(published("a constant column", tmp_path).table["b"].to_pylist()) == {5}
    same = published("records that are all the same", tmp_path).table
    assert set(same["a"].to_pylist()) == {1}
    assert set(same["b"].to_pylist()) == {2}
    twins = published("columns that are all the same", tmp_path).table
    assert twins["a"].to_pylist() == twins["b"].to_pylist()


def test_true_and_false_are_categories(tmp_path):
    release = published("a column of true and false", tmp_path)
    assert set(release.table["town"].to_pylist()) <= {True, False}
