"""An apostrophe is a quote where a file needs it to be one; elsewhere no record is ever lost or merged over it."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import DataError
from shoal.plan import Csv
from shoal.tables import open_table

TOWNS = ["34,1000,'s-Hertogenbosch,0", "71,9100,Delft,1", "36,1050,Leiden,0", "70,9000,Hoorn',1", "33,990,Gouda,0"]
WORDS = st.sampled_from(
    [
        "'s-Gravenhage",
        "'s-Hertogenbosch",
        "O'Neil",
        "dogs'",
        "'n",
        "'t Veld",
        "rock 'n' roll",
        "'",
        "''",
        "'x'",
        "Delft",
        "a b",
        "d'",
    ]
)


@pytest.fixture
def opened(tmp_path):
    def _open(text, csv=None):
        (tmp_path / "in.csv").write_bytes(text.encode())
        return open_table(tmp_path / "in.csv", csv)

    return _open


def test_an_apostrophe_at_the_start_of_a_town_joins_no_records(opened):
    table = opened("\n".join(["age,income,town,ill", *TOWNS]) + "\n")
    assert table.column("age").to_pylist() == [34, 71, 36, 70, 33]
    assert table.column("town").to_pylist() == ["'s-Hertogenbosch", "Delft", "Leiden", "Hoorn'", "Gouda"]
    assert table.dialect.quote == '"'


def test_apostrophes_that_quote_line_ends_are_quotes_only_when_asked_for(opened):
    text = "a,b\n'x\ny',2\nz,3\n"
    with pytest.raises(DataError, match="record 1 has 1 cell"):
        opened(text)
    assert opened(text, Csv(quote="'")).native.to_pydict() == {"a": ["x\ny", "z"], "b": [2, 3]}


def test_a_header_in_apostrophes_says_that_they_are_quotes(opened):
    assert opened("'a','b'\n'x','2'\n'z','3'\n").native.to_pydict() == {"a": ["x", "z"], "b": [2, 3]}


def test_a_row_that_falls_apart_either_way_is_refused(opened):
    with pytest.raises(DataError, match="record 1 has 3 cells"):
        opened("a,b\n'x,y',1\n1,2,3\n")


@settings(max_examples=100)
@given(
    st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(WORDS, min_size=n, max_size=n), min_size=1, max_size=12)),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_no_record_is_lost_or_merged_over_an_apostrophe(rows, delimiter, end, number_last):
    names = [f"name{j}" for j in range(len(rows[0]))] + ["n"]
    records = [[*row, str(i)] if number_last else [str(i), *row] for i, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        with Path(folder, "in.csv").open("w", newline="") as file:
            csv.writer(file, delimiter=delimiter, lineterminator=end).writerows([names, *records])
        table = open_table(Path(folder, "in.csv"))
        read = [[str(cell) for cell in row.values()] for row in table.native.to_pylist()]
        assert table.names == names
        assert read == records


KILLED = """
import os, signal, sys, duckdb
import shoal.tables.csv.dialect as dialect
from shoal.tables import open_table
class Killer:
    def __enter__(self): return self
    def __exit__(self, *args): pass
    def execute(self, query, arguments):
        assert open(arguments[0]).read().startswith("a,b")
        os.kill(os.getpid(), signal.SIGKILL)
dialect.cursor = Killer
open_table(sys.argv[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs files without names")
def test_kill_9_leaves_nothing_of_the_original_behind(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n")
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    run = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "in.csv")], env=environment, check=False)
    assert run.returncode == -signal.SIGKILL
    assert list((tmp_path / "tmp").iterdir()) == []


def test_systems_without_nameless_files_use_a_folder_that_goes(opened, monkeypatch, tmp_path):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr("shoal.tables.csv.dialect.sys.platform", "darwin")
    assert opened("a|b\n1|2\n").names == ["a", "b"]
    assert list((tmp_path / "tmp").iterdir()) == []
