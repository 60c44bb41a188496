"""What all tests share: the reference data sets, the settings of hypothesis, and the count of every published file."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from tests.snapshots import Recorder
from tests.sql_check import Tally, Watch

from shoal.kernels import _native

# A machine may be busy: no deadlines. CI must give the same answer twice, so there nothing is drawn anew.
# For a long look: pytest --hypothesis-profile thorough
settings.register_profile("shoal", deadline=None, max_examples=30, derandomize=bool(os.environ.get("CI")))
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("shoal")

# Every file that a test publishes is counted anew, in plain SQL.
WATCH = Watch()
WATCH.start()
FOUND = Tally()  # by all processes

# Which tests need more than the core: by their room, by their file, or by the fixture that they ask for.
ROOMS = {"app": "app", "backends": "file", "docs": "docs", "faults": "faults", "fuzz": "fuzz"}
FIXTURES = {"chromium": "browser", "spark": "spark"}
PROCESSES = {
    "test_files",
    "test_formats",
    "test_no_network",
    "test_planted",
    "test_sbom",
    "test_service_account",
    "test_threat_claims",
    "test_threats",
    "test_versions",
    "test_wheel",
}

# With pytest-xdist one process takes all tests of a group, begun in this order: first what takes longest. The tests of
# a file are a group, since they share fixtures; those on Spark share one session, those with faults one process.
GROUPS = ["spark", "kernels", "faults", "test_site", "test_browser", "partitioning", "test_examples", "test_wheel"]

# Hybrid data of tests draw from a secret of their own.
KEPT = tempfile.TemporaryDirectory()
os.environ["SHOAL_SECRET"] = str(Path(KEPT.name) / "secret")

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).parents[2] / "shared" / "data"))

# 'EIA with 11 attributes' in the literature: UTILITYID and the ten revenue and sales columns.
COLUMNS = {"census": range(13), "tarragona": range(13), "eia": [0, *range(5, 15)]}


@pytest.fixture(scope="session")
def reference_file():
    """The path of a reference data set, by name; skips where the sets are absent."""

    def find(name: str) -> Path:
        path = DATA / f"{name}.csv"
        if not path.exists():
            pytest.skip(f"reference data set {path.name} not found; SHOAL_DATA names its folder")
        return path

    return find


@pytest.fixture(scope="session")
def reference(reference_file):
    """A reference data set as a matrix, by name: census, tarragona, eia."""

    def load(name: str) -> np.ndarray:
        return np.loadtxt(reference_file(name), delimiter=",", quotechar='"', skiprows=1, usecols=COLUMNS[name])

    return load


@pytest.fixture(params=_native.instruction_sets(), scope="module")
def instruction_set(request):
    """Run the tests of a module with the kernels of each instruction set that the machine has."""
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(_native.instruction_sets()[-1])


def group(nodeid: str) -> str:
    """Name the group of a test."""
    if "spark" in nodeid.split("[")[0]:
        return "spark"
    return "faults" if nodeid.startswith("tests/faults/") else nodeid.split("::")[0]


def place(nodeid: str) -> int:
    """Return which of the groups that are begun first a test belongs to, if any."""
    return next((at for at, name in enumerate(GROUPS) if name in group(nodeid)), len(GROUPS))


def pytest_collection_modifyitems(config, items):
    """Mark each test with the backend or front end that it runs on; what has no such mark is the core."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place(item.nodeid))
    here = Path(__file__).parent
    for item in items:
        inside = item.path.relative_to(here)
        marks = {FIXTURES[name] for name in FIXTURES if name in getattr(item, "fixturenames", ())}
        if "spark" in inside.stem:
            marks.add("spark")
        elif inside.parts[0] in ROOMS:
            marks.add(ROOMS[inside.parts[0]])
        elif inside.stem in PROCESSES:
            marks.add("processes")
        for mark in marks:
            item.add_marker(mark)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each group of tests to one process, in the order of the collection."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        _split_scope = staticmethod(group)

    config.option.loadscopereorder = False
    return Groups(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take what a process of pytest-xdist has counted."""
    if "published" in getattr(node, "workeroutput", {}):
        FOUND.add(node.workeroutput["published"])


def pytest_addoption(parser):
    parser.addoption("--record-messages", action="store_true", help="add new codes of messages to tests/messages")


def pytest_configure(config):
    if config.getoption("--record-messages"):
        config.recorder = Recorder()


def pytest_sessionfinish(session):
    """Count what other processes published; no run passes that published a group below k, or what nobody can read."""
    WATCH.look_through(session.config._tmp_path_factory.getbasetemp())
    if session.config.getoption("--record-messages"):
        session.config.recorder.save()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["published"] = WATCH.found
        return
    FOUND.add(WATCH.found)
    if (FOUND.below or FOUND.unread) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Print what the count found."""
    terminalreporter.write_line(FOUND.line, red=bool(FOUND.below or FOUND.unread))
    for problem in [*FOUND.below, *FOUND.unread]:
        terminalreporter.write_line(problem, red=True)


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder; returns exit code, output and errors, the latter on one line each."""
    from shoal.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["shoal", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            main()
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return call
