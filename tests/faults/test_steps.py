"""Every step of `shoal protect` with every fault: a complete output or none, nothing else left, a code and a line."""

import pytest
from tests.expect import prints
from tests.faults.runs import Place, assert_nothing_left, assert_one_clear_line, assert_private, large, small
from tests.samples import diagonal

# Where a step does its work: see `tests.faults.nursery`.
IN_MEMORY = {
    "read": "shoal.backends.choose:open_table",
    "scan": "scan",
    "encode": "shoal.pipeline.masker:BlockMasker.encode",
    "partition": "shoal.pipeline.masker:grouped",  # in a thread of its own
    "aggregate": "shoal.pipeline.masker:representatives",
    "verify": "shoal.backends.memory:verify",
    "write": "shoal.pipeline.save:write_table:after",
    "verify on disk": "shoal.pipeline.save:_verified",
    "plan": "shoal.plan:Plan.to_toml",
    "manifest": "shoal.pipeline.save:manifest_of_file",
    "name": "shoal.tables.atomic:_sync_folder",
    "report": "shoal.report.pages:written_whole",
}
LARGE = {
    "scan": "scan",
    "measure": "measure",
    "divide": "divide",
    "sort": "sort",
    "partition": "shoal.pipeline.masker:BlockMasker.mask",  # in a thread of its own
    "cost": "cost",
    "write": "write",
    "verify": "verify",
    "plan": "shoal.plan:Plan.to_toml",
    "manifest": "shoal.backends.file.run:manifest_of_file",
    "name": "shoal.tables.atomic:_sync_folder",
}
WHERE = {
    f"{engine}-{step}": (engine, step) for engine, steps in (("memory", IN_MEMORY), ("large", LARGE)) for step in steps
}
RAISED = {
    "disk full": "No space left on device",
    "permission lost": "Permission denied",
    "out of memory": "not enough memory",
    "memory limit in NumPy": "not enough memory",
    "memory limit in Arrow": "not enough memory",
    "memory limit in DuckDB": "not enough memory",
    "unexpected error": "Unexpected RuntimeError",
}
ASKED_TO_STOP = ["Ctrl-C", "Ctrl-C twice", "SIGTERM", "SIGHUP"]


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> dict[str, bytes]:
    """What an undisturbed run publishes."""
    contents = {}
    for engine, make in (("memory", small), ("large", large)):
        place = make(tmp_path_factory.mktemp(engine))
        assert place.run().code == 0
        contents[engine] = place.read()
    return contents


def placed(engine: str, step: str, folder) -> tuple[Place, str, list[str]]:
    if engine == "large":
        return large(folder), LARGE[step], []
    return small(folder), IN_MEMORY[step], ["--report", "report.html"] if step == "report" else []


@pytest.mark.parametrize(("where", "fault"), diagonal(WHERE, [*RAISED]))
def test_an_error_in_a_step(where, fault, expected, tmp_path):
    engine, step = where
    place, at, more = placed(engine, step, tmp_path)
    ended = place.run(*more, at=at, fault=fault)
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert RAISED[fault] in ended.lines[0]
    if step == "report":
        assert place.read() == expected[engine]
        assert place.hidden == []
        assert not (place.folder / "report.html").exists()
    else:
        assert_nothing_left(place)


@pytest.mark.parametrize(("where", "fault"), diagonal(WHERE, ASKED_TO_STOP))
def test_asked_to_stop_in_a_step(where, fault, expected, tmp_path):
    engine, step = where
    place, at, more = placed(engine, step, tmp_path)
    ended = place.run(*more, at=at, fault=fault)
    if ended.code == 0:  # too late: nothing comes after it that could be stopped
        assert ended.lines == []
        assert place.read() == expected[engine]
        assert place.hidden == []
    else:
        assert ended.code == 130
        assert_one_clear_line(ended, "Stopped: Interrupted.")
        assert_nothing_left(place)


@pytest.mark.parametrize(("engine", "step"), WHERE.values(), ids=WHERE)
def test_killed_in_a_step(engine, step, expected, tmp_path):
    place, at, more = placed(engine, step, tmp_path)
    assert place.run(*more, at=at, fault="SIGKILL").code == -9
    assert place.read() in (None, expected[engine])
    assert_private(place)
    assert place.run(*more, "--overwrite").code == 0
    assert place.read() == expected[engine]
    assert place.hidden == []


@pytest.mark.slow
@pytest.mark.parametrize("step", LARGE)
def test_killed_and_resumed(step, expected, tmp_path):
    place = large(tmp_path)
    assert place.run(at=LARGE[step], fault="SIGKILL").code == -9
    assert place.run("--resume").code == 0
    assert place.read() == expected["large"]
    assert place.hidden == []


CHANGES = ["input truncated", "input appended to", "input replaced", "input removed"]
READING = ["memory-read", "memory-verify", "large-measure", "large-partition", "large-verify"]


@pytest.mark.parametrize(("where", "change"), diagonal(READING, CHANGES))
def test_the_input_changes(where, change, tmp_path):
    place, at, _ = placed(*WHERE[where], tmp_path)
    ended = place.run(at=at, fault=change)
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert prints(ended.lines[0], "input-changed")
    assert_nothing_left(place)


@pytest.mark.parametrize("jump", ["clock forward", "clock back"])
@pytest.mark.parametrize(("engine", "step"), [("memory", "read"), ("large", "measure")])
def test_the_clock_jumps(engine, step, jump, expected, tmp_path):
    place, at, _ = placed(engine, step, tmp_path)
    assert place.run(at=at, fault=jump).code == 0
    assert place.read() == expected[engine]


@pytest.mark.parametrize("step", ["partition", "write", "verify"])
def test_the_work_folder_is_removed(step, tmp_path):
    place = large(tmp_path)
    ended = place.run(at=LARGE[step], fault="work folder removed")
    assert ended.code == 2
    assert_one_clear_line(ended)
    assert_nothing_left(place)
