"""What the page shows of a command is what the command shows, and its result is the one for machines."""

import re
from html import unescape

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text
from tests.expect import prints
from typer.testing import CliRunner

from shoal.app.commands import Entered, arguments, command_line
from shoal.cli import app
from shoal.cli.as_html import as_html
from shoal.cli.commands import SUMMARIES, LateCommand
from shoal.cli.page_commands import command_pages
from shoal.cli.page_worker import command
from shoal.errors import PlanError, ShoalError
from shoal.parallel import quiet
from shoal.tables import open_table, write_table

PAGES = {page.path: page for page in command_pages()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An original, a masked file and a policy."""
    rng = np.random.default_rng(0)
    age, sex = rng.integers(20, 60, 200), rng.integers(1, 3, 200)
    columns = {"age": age, "sex": sex, "w": rng.uniform(1, 9, 200).round(2), "ill": rng.integers(0, 3, 200)}
    write_table(open_table(pa.table(columns)), tmp_path / "data.csv", "csv")
    masked = pa.table({**columns, "age": age // 10 * 10 + 5})
    write_table(open_table(masked), tmp_path / "masked.csv", "csv")
    (tmp_path / "policy.toml").write_text("k = 2\nloss = 0.001\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def words(text):
    """The words of a screen or of HTML, without order."""
    return set(re.findall(r"[^\s│─]+", unescape(re.sub(r"<[^>]+>", " ", text))))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("risk data.csv --keys age,sex --weights w --records", 0),
        ("assess data.csv masked.csv --confidential ill --policy policy.toml", 1),
        ("check masked.csv -k 3 --quasi age,sex", 0),
        ("check masked.csv -k 100 --quasi age,sex", 1),
        ("check masked.csv -k 3 --quasi age,sex --against data.csv", None),
    ],
)
def test_the_page_shows_what_the_command_shows(folder, line, code):
    found = command(line.split(), str(folder), quiet)
    screen = CliRunner().invoke(app, line.split(), env={"COLUMNS": "400"})
    assert found["code"] == screen.exit_code or isinstance(screen.exception, ShoalError)
    assert code in (None, found["code"])
    assert words(screen.stdout) <= words(found["html"])
    machines = CliRunner().invoke(app, [*line.split(), "--json"])
    assert found["json"] == machines.stdout


def test_a_wrong_request_names_options_as_they_are_typed(folder):
    with pytest.raises(ShoalError) as caught:
        command(["risk", "data.csv", "--keys", "nothing"], str(folder), quiet)
    assert prints(str(caught.value), "unknown-column", column="nothing")
    with pytest.raises(ShoalError, match=r"^--fraction: "):
        command(["risk", "data.csv", "--keys", "age", "--fraction", "2"], str(folder), quiet)
    with pytest.raises(ShoalError, match="No such option"):
        command(["risk", "data.csv", "--nothing"], str(folder), quiet)


def test_names_of_columns_are_no_markup():
    table = Table("<b>head</b>", "", caption="<i>")
    table.add_row(Text("<script>"), Text("[red]x"), style="red")
    html = as_html([Group(Text("<p>", "bold red"), table)])
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;script&gt;" in html
    assert "[red]x" in html


def test_every_option_of_the_commands_is_on_a_page():
    for page in PAGES.values():
        typed = {each.spelling for each in page.options if each.spelling}
        known = {each.opts[-1] for each in LateCommand(page.command, SUMMARIES[page.command]).loaded.params}
        assert {spelling for spelling in known if spelling.startswith("-")} - typed == {"--json"}
        assert {*page.front} <= {each.name for each in page.options}


def test_what_is_entered_becomes_the_command_line(tmp_path):
    entered = Entered(
        files={"original": [tmp_path / "my data.csv"], "masked": [tmp_path / "-masked.csv"]},
        values={"quasi": ["age", "sex"], "k": " 5 ", "analysis": "y ~ x\n\nz ~ x\n", "seed": "", "edit": "-a < 3"},
    )
    assert command_line(arguments(PAGES["assess"], entered)) == (
        "shoal assess 'my data.csv' ./-masked.csv --quasi age,sex -k 5 '--edit=-a < 3' "
        "--analysis 'y ~ x' --analysis 'z ~ x'"
    )


def test_what_is_missing_is_named():
    with pytest.raises(PlanError, match=r"Masked file: Choose a file.\nEarlier release: Choose a file"):
        arguments(PAGES["compare"], Entered())
    with pytest.raises(PlanError, match=r"comma"):
        arguments(PAGES["risk"], Entered(values={"keys": ["a,b"]}))
