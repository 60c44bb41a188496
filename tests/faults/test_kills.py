"""Kills at every rename and at random moments, and two runs at one output: a complete file or none."""

import random
import subprocess
import sys
import time

import pytest
from tests.faults.runs import OPTIONS, Place, large, small

# The files that get their names one after another: plan, manifest, output. `written_together` gives them by links, and
# by renaming where they replace others.
LINK, RENAME = "pathlib:Path.hardlink_to", "pathlib:Path.replace"
MAKERS = {"memory": small, "large": large}
MOMENTS = 50


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, tuple[bytes, float]]:
    """What an undisturbed run publishes, and how long it takes when libraries are loaded."""
    found = {}
    for name, make in MAKERS.items():
        place = make(tmp_path_factory.mktemp(name))
        assert place.run().code == 0  # which loads libraries
        start = time.monotonic()
        assert place.run("--overwrite").code == 0
        found[name] = (place.read(), time.monotonic() - start)
    return found


def assert_no_original(place: Place) -> None:
    """Assert that others can read nothing of a killed run but complete files, which wait for their names."""
    for path in place.hidden:
        mode = path.stat().st_mode & 0o777
        assert mode == (0o700 if path.is_dir() else 0o600) or b"person" not in path.read_bytes(), path


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("engine", MAKERS)
def test_killed_at_every_rename(engine, overwrite, when, number, expected, tmp_path):
    place, whole = MAKERS[engine](tmp_path), expected[engine][0]
    more = []
    if overwrite:
        (place.folder / place.output).write_bytes(b"old")
        more = ["--overwrite"]
    at = f"{RENAME if overwrite else LINK}:{when}:{number}"
    assert place.run(*more, at=at, fault="SIGKILL").code == -9
    assert place.read() in ((b"old", whole) if overwrite else (None, whole))
    assert_no_original(place)
    assert place.run("--overwrite").code == 0
    assert place.read() == whole
    assert place.hidden == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", MAKERS)
def test_killed_at_fifty_random_moments(engine, expected, tmp_path):
    whole, seconds = expected[engine]
    place, rng = MAKERS[engine](tmp_path), random.Random(engine)
    killed = runs = 0
    while killed < MOMENTS:  # a run may end before its moment comes
        runs += 1
        assert runs < 20 * MOMENTS
        for path in place.published:
            path.unlink()
        more = ["--resume"] if engine == "large" and rng.random() < 0.5 else []
        ended = place.run(*more, killed_after=max(0.001, rng.uniform(0, seconds)))
        killed += ended.code == -9
        assert ended.code in (-9, 0)
        assert place.read() in (None, whole)
        assert_no_original(place)
    for path in place.published:
        path.unlink()
    assert place.run(*(["--resume"] if engine == "large" else [])).code == 0
    assert place.read() == whole
    assert place.hidden == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", MAKERS)
def test_two_runs_at_one_output(engine, expected, tmp_path):
    place = MAKERS[engine](tmp_path)
    words = ["protect", place.source, *OPTIONS, "-o", place.output, *place.options]
    command = [sys.executable, "-m", "shoal", *words]
    runs = [subprocess.Popen(command, cwd=place.folder, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate()[1] for run in runs]
    codes = sorted(run.returncode for run in runs)
    assert codes in ([0, 2], [0, 0]), said
    assert not any("Traceback" in each for each in said)
    assert place.read() == expected[engine][0]
    assert place.hidden == []
