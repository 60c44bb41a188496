"""kill -9 at any moment: never a partial output, and a run that resumes ends with the bytes of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.backends.backend_samples import MASKED, people, saved
from tests.expect import refused

from shoal.errors import FileError
from shoal.plan import Plan
from shoal.release import protect_file

# Runs a plan, and kills itself after so many calls of progress with a step, if one is given, or so many blocks.
CHILD = """
import os, signal, sys
from shoal.pipeline.masker import BlockMasker
from shoal.release import protect_file
from shoal.plan import Plan
plan, resume, step, calls = sys.argv[1], sys.argv[2] == "resume", sys.argv[3], int(sys.argv[4])
def progress(at, done, total):
    global calls
    if at == step:
        calls -= 1
        if calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
mask = BlockMasker.mask
def counted(*args):
    progress("block", 0, 0)
    return mask(*args)
BlockMasker.mask = counted
print("begins", flush=True)
protect_file(Plan.load(plan), resume=resume, progress=progress)
"""


@pytest.fixture
def plan(tmp_path) -> Path:
    source = saved(people(6000), tmp_path / "in.parquet")
    (tmp_path / "plan.toml").write_text(
        f'k = 3\nquasi = {MASKED}\nidentifiers = ["id"]\npublish = "rest"\ninput = "{source}"\noutput = "out.parquet"\n'
        '[scale]\nblock_size = 300\nmemory = "400MB"\n'
    )
    return tmp_path / "plan.toml"


def start(plan: Path, how: str, step: str = "", calls: int = 0) -> subprocess.Popen:
    command = [sys.executable, "-c", CHILD, str(plan), how, step, str(calls)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])


def undisturbed(plan: Path) -> bytes:
    protect_file(Plan.load(plan), overwrite=True)
    output = plan.with_name("out.parquet")
    content = output.read_bytes()
    output.unlink()
    plan.with_name("out.parquet.plan.toml").unlink()
    plan.with_name("out.parquet.manifest.json").unlink()
    return content


@pytest.mark.slow
def test_killed_in_one_step_after_the_other(plan):
    expected = undisturbed(plan)
    output, folder = plan.with_name("out.parquet"), plan.with_name(".out.parquet.shoal")
    for step, calls in (("measure", 0), ("sort", 0), ("block", 12), ("write", 0), ("verify", 0)):
        assert start(plan, "resume", step, calls).wait() == -signal.SIGKILL
        assert not output.exists()
        assert folder.stat().st_mode & 0o777 == 0o700
    steps = []
    protect_file(Plan.load(plan), resume=True, progress=lambda step, done, total: steps.append(step))
    assert output.read_bytes() == expected
    assert not folder.exists()
    assert not {"sort", "partition"} & set(steps)  # what is known of the whole is found again, blocks are not


def test_a_killed_run_is_cleaned_up_by_the_next(plan):
    assert start(plan, "", "block").wait() == -signal.SIGKILL
    steps = []
    protect_file(Plan.load(plan), progress=lambda step, done, total: steps.append(step))
    assert "measure" in steps
    assert sorted(os.listdir(plan.parent)) == [
        "in.parquet", "out.parquet", "out.parquet.manifest.json", "out.parquet.plan.toml", "plan.toml",
    ]  # fmt: skip


def test_killed_before_a_scale_that_needs_no_pass(plan):
    plan.write_text('standardize = "minmax"\n' + plan.read_text())
    expected = undisturbed(plan)
    assert start(plan, "", "measure").wait() == -signal.SIGKILL
    protect_file(Plan.load(plan), resume=True)
    assert plan.with_name("out.parquet").read_bytes() == expected


@pytest.mark.slow
def test_killed_at_seams(plan):
    plan.write_text(plan.read_text().replace(str(MASKED), "['income', 'age']") + "seams = true\n")
    expected = undisturbed(plan)
    for step, calls in (("sort", 1), ("sort", 0), ("block", 0), ("write", 0)):
        assert start(plan, "resume", step, calls).wait() == -signal.SIGKILL
    protect_file(Plan.load(plan), resume=True)
    assert plan.with_name("out.parquet").read_bytes() == expected


def test_only_the_same_is_resumed(plan):
    assert start(plan, "", "block").wait() == -signal.SIGKILL
    folder = plan.with_name(".out.parquet.shoal")
    with refused(FileError, "different-run", path=folder):
        protect_file(Plan.load(plan).updated(k=4), resume=True)
    saved(people(6000, seed=1), plan.with_name("in.parquet"))
    with refused(FileError, "different-run", path=folder):
        protect_file(Plan.load(plan), resume=True)
    assert folder.exists()
    assert not plan.with_name("out.parquet").exists()


def test_nothing_to_resume_is_a_run_like_any_other(plan):
    protect_file(Plan.load(plan), resume=True)
    assert plan.with_name("out.parquet").exists()


@pytest.mark.slow
def test_killed_at_twenty_random_moments(plan):
    expected = undisturbed(plan)
    output = plan.with_name("out.parquet")
    beside = [plan.with_name("out.parquet.plan.toml"), plan.with_name("out.parquet.manifest.json")]
    whole = start(plan, "")
    whole.stdout.readline()
    began = time.monotonic()
    assert whole.wait() == 0
    takes = time.monotonic() - began
    output.unlink()
    for file in beside:
        file.unlink()
    moments = random.Random(0)
    killed = 0
    while killed < 20:
        child = start(plan, "")
        child.stdout.readline()
        time.sleep(moments.uniform(0, takes))
        child.kill()
        killed += child.wait() == -signal.SIGKILL  # or it was faster
        if not output.exists():
            protect_file(Plan.load(plan), resume=True)
            assert not plan.with_name(".out.parquet.shoal").exists()
        assert output.read_bytes() == expected
        output.unlink()
        for file in beside:
            file.unlink()
