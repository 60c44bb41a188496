"""What the documentation shows is run: every Python block, every command, every plan, every docstring's example."""

import doctest
import importlib
import re
import shlex
import shutil
import signal
import sys
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.docs.pages import DOCS, PAGES, ROOT, Block, blocks, shows

from shoal.cli import main
from shoal.cli.demo import run
from shoal.parallel import quiet
from shoal.plan import Plan
from shoal.plan.policy import Policy
from shoal.tables import open_table, write_table

WIDTH = 100  # of the screen that the outputs in the pages were printed on
# Commands that stand in the text, indented, and need what is not here; blocks with a fence say so themselves.
NOT_RUN = {
    "shoal app": "serves a page until it is stopped",
    "--resume": "needs a run that was killed",
    "--engine spark": "needs a cluster",
    "--plan plan.toml": "needs a cluster to be compared with",
}
RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert test="number(wages) + number(other) = number(costs)">sum</assert>
<assert test="number(age) = floor(number(age))">whole</assert>
</rule></pattern></schema>
"""
RUN = {"python", "console", "sh"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _people(n: int = 200) -> pa.Table:
    """The people that pages speak of where they make no file of their own."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "income": rng.integers(100, 9000, n),
            "town": rng.choice(["north", "south", "east"], n),
            "illness": rng.choice(["none", "flu", "cold", "gout"], n),
        }
    )


def _firms(n: int = 200) -> pa.Table:
    rng = np.random.default_rng(1)
    wages, other = rng.integers(10, 99, n), rng.integers(10, 99, n)
    return pa.table({"age": rng.integers(1, 90, n), "wages": wages, "other": other, "costs": wages + other})


@pytest.fixture(scope="session")
def given(tmp_path_factory):
    """The files that a page finds: the demonstration's folder, and those of the README."""
    folder = tmp_path_factory.mktemp("given")
    run(folder / "shoal-demo", 5, quiet)
    people = _people()
    pa.csv.write_csv(people, folder / "data.csv")
    pa.csv.write_csv(_firms(), folder / "firms.csv")
    ill = people.drop(["town"]).rename_columns(["name", "age", "income", "ill"])
    pa.csv.write_csv(ill, folder / "people.csv")
    pa.parquet.write_table(ill.drop(["name"]), folder / "big.parquet")
    rng = np.random.default_rng(0)
    survey = people.select(["age", "town"])
    survey = survey.append_column("educ", pa.array(rng.integers(1, 6, len(survey)), mask=rng.random(len(survey)) < 0.1))
    survey = survey.append_column("w", pa.array(rng.uniform(1, 3, len(survey))))
    write_table(open_table(survey), folder / "survey.sav", "sav")
    (folder / "rules.sch").write_text(RULES, encoding="utf-8")
    return folder


@pytest.fixture
def page_folder(given, tmp_path, monkeypatch):
    """A folder of its own for a page, with the files that are given."""
    folder = tmp_path / "page"
    shutil.copytree(given, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    terminate = signal.getsignal(signal.SIGTERM)
    yield folder
    signal.signal(signal.SIGTERM, terminate)  # which the command line takes for itself


def words(text: str) -> str:
    return " ".join(text.split())


def run_command(command: str, printed: list[str], capsys, monkeypatch, code: str | None = None) -> None:
    """Run one command: its exit code is as its output says, and what the page shows comes in that order."""
    argv = shlex.split(command, comments=True)
    assert argv[0] == "shoal", f"only shoal is run here, not {argv[0]}"
    monkeypatch.setattr(sys, "argv", argv)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    first = next((line for line in printed if line.strip()), "")
    expected = int(code) if code else 1 if first.startswith("Failed:") else 2 if first.startswith("Error:") else 0
    assert (ended.value.code or 0) == expected, f"{command}\n{out}\n{err}"
    rest = words(f"{err}\n{out}")
    for line in printed:
        if (wanted := words(line)) not in ("", "..."):
            end = shows(rest, wanted, by_search="masked by best" in out or argv[1] == "sweep")
            assert end, f"{command}\nshould print: {wanted}\nprinted:\n{out}\n{err}"
            rest = rest[end:]


def run_python(block: Block, where: str, namespace: dict) -> None:
    """Run a block: statements, or a session whose answers must be those shown."""
    if ">>>" not in block.text:
        exec(compile(block.text, where, "exec"), namespace)
        return
    session = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, block.line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(session, out=said.append, clear_globs=False)
    namespace.update(session.globs)
    assert not runner.failures, "".join(said)


def alternative(command: str, place: int, folder: Path) -> str:
    """Give another name to the output of a command in a list whose first has that name."""
    command = command.split("  #")[0]
    output = re.search(r"(?<= -o )\S+", command)
    if output and any(folder.glob(f"{Path(output[0]).stem}.*")):
        command = f"{command[: output.start()]}{place}-{output[0]}{command[output.end() :]}"
    return command


def run_page(path: Path, folder: Path, given: Path, capsys, monkeypatch) -> None:
    """Run the blocks of a page in one folder and one namespace; each list of commands in a folder of its own."""
    namespace: dict = {"table": _people(), "X": np.random.default_rng(0).random((30, 2))}
    for block in blocks(path):
        where = f"{name_of(path)}, line {block.line}"
        if block.file is not None:
            (folder / block.file).write_text(block.text, encoding="utf-8")
        if block.not_run is not None or block.language not in RUN:
            continue
        listed = block.language == "sh"
        here = Path(shutil.copytree(given, folder.with_name(f"list-{block.line}"))) if listed else folder
        monkeypatch.chdir(here)
        if block.language == "python":
            run_python(block, where, namespace)
            continue
        commands = block.commands()
        for place, (command, printed) in enumerate(commands, start=1):
            if listed:
                if any(part in command for part in NOT_RUN):
                    continue
                command = alternative(command, place, here)
            code = block.exit_code if place == len(commands) else None
            run_command(command, printed, capsys, monkeypatch, code)


WITH_EXAMPLES = [path for path in PAGES if any(block.language in RUN for block in blocks(path))]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_the_examples_of_a_page_run_and_print_what_it_shows(path, page_folder, given, capsys, monkeypatch):
    run_page(path, page_folder, given, capsys, monkeypatch)


def test_what_is_not_run_says_why():
    skipped = [f"{name_of(path)}, line {block.line}: {block.not_run}" for path in PAGES for block in blocks(path)
               if block.not_run is not None]  # fmt: skip
    print("\n".join(skipped))
    assert len(skipped) <= 8  # a page whose examples cannot be run is no use to anybody


def test_a_block_with_a_wrong_answer_is_found(page_folder):
    wrong = Block("python", 1, [">>> 1 + 1", "3"])
    with pytest.raises(AssertionError, match="Expected"):
        run_python(wrong, "here", {})


def test_a_command_that_prints_something_else_is_found(page_folder, capsys, monkeypatch):
    with pytest.raises(AssertionError, match="should print"):
        run_command("shoal check data.csv -k 2 --quasi town", ["Passed: 7 records"], capsys, monkeypatch)


def is_policy(block: Block) -> bool:
    return block.file is not None and block.file.endswith("policy.toml")


PLANS = [
    pytest.param(block, id=f"{name_of(path)}-{block.line}")
    for path in PAGES
    for block in blocks(path)
    if block.language == "toml" and not is_policy(block)
]
POLICIES = [
    pytest.param(block, id=f"{name_of(path)}-{block.line}")
    for path in PAGES
    for block in blocks(path)
    if is_policy(block)
]


@pytest.mark.parametrize("block", POLICIES)
def test_policies_in_pages_are_policies(block):
    assert Policy(**tomllib.loads(block.text)).limits


@pytest.mark.parametrize("block", PLANS)
def test_plans_in_pages_are_plans(block):
    options = tomllib.loads(block.text)
    # Some show a few lines of a plan only; every method but ms needs a k.
    plan = Plan(**({} if options.get("method") == "ms" else {"k": 5}) | options)
    assert set(options) <= set(plan.model_dump(exclude_unset=True))


MODULES = sorted(
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src" / "shoal").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_give_what_they_show(module):
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.attempted
    assert not found.failed


def test_pages_name_no_place_of_this_machine():
    for path in PAGES:
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp)/", path.read_text(encoding="utf-8")), name_of(path)


def test_links_to_pages_in_the_repository_lead_somewhere():
    for path in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{name_of(path)} links to {target}"


def test_every_page_is_reached_from_the_front_page():
    assert (DOCS / "index.md") in PAGES
    reached, waiting = set(), [DOCS / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert not [name_of(path) for path in PAGES if path.is_relative_to(DOCS) and path not in reached]
