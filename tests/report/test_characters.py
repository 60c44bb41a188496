"""Names and cells with characters that no screen should obey: reports, charts, notebooks, messages and errors."""

import pyarrow as pa
import pytest

import shoal
from shoal.messages import Message

ESCAPE, RIGHT_TO_LEFT, NO_CHARACTER = "\x1b[2K", "\u202e", "\uffff"
ODD = f"a{ESCAPE}ge{RIGHT_TO_LEFT}"


@pytest.fixture(scope="module")
def release():
    towns = [f"A{RIGHT_TO_LEFT}", "B\x07", f"C{NO_CHARACTER}", "\ufdd0"]
    columns = {
        ODD: [i * 7 % 41 for i in range(120)],
        f"b{NO_CHARACTER}\x00": [i * 5 % 37 + 0.5 for i in range(120)],
        "town\x9d": [towns[i % 4] for i in range(120)],
    }
    return shoal.protect(pa.table(columns), k=5, quasi=[*columns], method="mdav")


def hidden(text):
    return {each for each in text if not each.isprintable()} - {"\n"}


def test_a_report_of_odd_names_and_cells_shows_them_by_their_codes(release, tmp_path):
    release.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert not hidden(text)
    assert r"a\x1b[2Kge\u202e" in text


def test_a_notebook_shows_no_hidden_character(release):
    assert not hidden(release._repr_html_())


def test_the_data_keep_their_characters(release):
    assert release.table.column_names[0] == ODD
    assert {*release.table["town\x9d"].to_pylist()} <= {f"A{RIGHT_TO_LEFT}", "B\x07", f"C{NO_CHARACTER}", "\ufdd0"}


def test_errors_and_messages_hold_no_character_that_a_terminal_obeys():
    with pytest.raises(shoal.ShoalError) as caught:
        shoal.protect(pa.table({ODD: [None, 1.0, 2.0]}), k=2, quasi=[ODD])
    assert not hidden(str(caught.value))
    assert not hidden(Message("knows-columns", columns=[ODD]))
