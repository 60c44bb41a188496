"""A clock that is wrong, or jumps while the command or the page runs (libfaketime); the monotonic one goes on."""

import contextlib
import json
import os
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests.app.clients import Client
from tests.app.conftest import serving
from tests.faults.runs import OPTIONS, Place, large, small

LIBRARY = Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "", "faketime", "libfaketimeMT.so.1")
CLOCKS = {
    "before 1970": "@1950-01-01 00:00:00",
    "1980": "@1980-01-01 00:00:00",
    "after 32 bits": "@2039-01-01 00:00:00",
    "after 32 bits without sign": "@2106-03-01 00:00:00",
    "1000 times faster": "+0 x1000",
    "backwards": "+0 x-5",
    "jumping": "",
}
MAKERS = {"memory": small, "file": large}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LIBRARY.exists(), reason="no libfaketime; Debian has it in the package of that name"),
]


class Clock:
    """The clock of processes that get its environment."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.set("+0")

    def set(self, words: str) -> None:
        """Set it, also for processes that run."""
        new = self._file.with_suffix(".new")
        new.write_text(words + "\n")
        new.replace(self._file)

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which a process gets this clock; times of files, which are the disk's, stay as they are."""
        settings = {"DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        return {
            **settings,
            "LD_PRELOAD": str(LIBRARY),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
        }

    @contextlib.contextmanager
    def jumping(self) -> Iterator[None]:
        """Let it jump to and fro, ten times a second."""
        over = threading.Event()

        def jump() -> None:
            while not over.wait(0.1):
                self.set(CLOCKS["1980"])
                over.wait(0.1)
                self.set(CLOCKS["after 32 bits without sign"])

        thread = threading.Thread(target=jump)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.fixture
def clock(tmp_path) -> Clock:
    return Clock(tmp_path / "clock")


def run(place: Place, clock: Clock, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command by a clock; it takes some seconds, and hangs if not over in ten minutes."""
    words = [sys.executable, "-m", "shoal", "protect", place.source, *OPTIONS, "-o", place.output, *place.options]
    environment = {**os.environ, **place.environment, **clock.environment}
    with contextlib.ExitStack() as stack:
        if name == "jumping":
            stack.enter_context(clock.jumping())
        else:
            clock.set(CLOCKS[name])
        return subprocess.run(
            [*words, *more], cwd=place.folder, env=environment, capture_output=True, text=True, timeout=600, check=False
        )


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    """What is published by a clock that is right."""
    found = {}
    for engine, make in MAKERS.items():
        place = make(tmp_path_factory.mktemp(engine))
        assert place.run().code == 0
        found[engine] = place.read()
    return found


def test_the_clock_of_a_process_is_the_one_that_is_set(clock):
    clock.set(CLOCKS["1980"])
    program = "import time; print(time.gmtime().tm_year, time.monotonic() < 1e9)"
    environment = {**os.environ, **clock.environment}
    said = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout == "1980 True\n"


@pytest.mark.parametrize("name", CLOCKS)
@pytest.mark.parametrize("engine", MAKERS)
def test_the_release_is_the_same_by_any_clock(engine, name, clock, expected, tmp_path):
    place = MAKERS[engine](tmp_path)
    ended = run(place, clock, name, *(["--report", "report.html"] if engine == "memory" else []))
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False), ended.stderr
    assert place.read() == expected[engine]
    assert place.hidden == []


@pytest.mark.parametrize("name", ["1980", "jumping"])
def test_a_killed_run_is_resumed_by_another_clock(name, clock, expected, tmp_path):
    place = large(tmp_path)
    assert place.run(at="write", fault="SIGKILL").code == -9
    assert run(place, clock, name, "--resume").returncode == 0
    assert place.read() == expected["file"]
    assert place.hidden == []


@pytest.mark.parametrize("name", ["1000 times faster", "backwards", "jumping"])
def test_a_budget_of_seconds_ends_by_any_clock(name, clock, tmp_path):
    place = small(tmp_path)
    method = ["--method", "best", "--budget", "2s", "--json"]
    start = time.monotonic()
    ended = run(place, clock, name, *method)
    assert time.monotonic() - start > 1  # a thousandth of the budget would not do
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["risk"]["after"]["smallest"] == 3


@pytest.fixture
def page(clock, tmp_path, monkeypatch) -> Iterator[Callable[[], str]]:
    """The page by a clock: what returns the link with the token."""
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "served"
    folder.mkdir()
    with serving(folder) as served:
        yield lambda: served.link


def test_sessions_and_waiting_do_not_follow_the_clock(clock, page):
    first = Client(page(), headers={})
    wrong = httpx.URL(page()).copy_with(params={"token": "wrong"})
    for _ in range(11):
        httpx.get(wrong)
    for name in ("after 32 bits without sign", "1980", "before 1970", "after 32 bits"):
        clock.set(CLOCKS[name])
        waiting = httpx.get(wrong)
        assert waiting.status_code == 429
        assert 1 <= int(waiting.headers["Retry-After"]) <= 60
        another = Client(page(), headers={})
        assert {each.get("/").status_code for each in (first, another)} == {200}
        assert another.upload("people.csv", b"age,income\n30,1000\n31,1100\n").status_code == 200
        assert "people.csv" in another.until("people.csv")
    first.http.post(f"{first.base}/end")
    assert first.get("/").status_code == 401
