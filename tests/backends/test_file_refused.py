"""What files larger than memory refuse: in one sentence, with no output and nothing left behind."""

import contextlib
import errno
import gc
import multiprocessing
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import expect
from tests.backends.backend_samples import MASKED, numbers, people, saved

import shoal
from shoal.backends.database import DuckPairs
from shoal.backends.file import checkpoint as work_folder
from shoal.backends.file import output as writing
from shoal.errors import CheckFailed, DataError, FileError, PlanError, ShoalError
from shoal.pipeline import verify as verifying
from shoal.pipeline.masker import BlockMasker
from shoal.plan import Plan
from shoal.release import protect_file, protect_to_file


def plan_for(folder: Path, source: Path, **options) -> Plan:
    given = options.pop("scale", {})
    scale = None if given is None else {"block_size": 200, "memory": "400MB", **given}
    output = str(folder / "out.parquet")
    return Plan(**{"k": 3, "publish": "rest", "scale": scale, "input": str(source), "output": output, **options})


@contextlib.contextmanager
def refused_with(code: str, folder: Path, error: type[ShoalError] = FileError, **data):
    before = sorted(os.listdir(folder))
    with expect.refused(error, code, **data):
        yield
    assert sorted(os.listdir(folder)) == before


def refused_by_code(plan: Plan, error: type[ShoalError], code: str, folder: Path, **data: Any) -> None:
    with refused_with(code, folder, error, **data):
        protect_file(plan)


@pytest.mark.parametrize(
    ("options", "field", "option"),
    [({"method": "mic1d"}, "method", "method = 'mic1d'"), ({"bound": True}, "bound", "bound = true")],
)
def test_options_of_other_engines(tmp_path, options, field, option):
    plan = plan_for(tmp_path, saved(numbers(300), tmp_path / "in.parquet"), scale=None, **options)
    with refused_with("not-on-engine", tmp_path, PlanError, field=field, option=option, engine="file"):
        protect_file(plan)


def leaves_nothing(plan: Plan, code: str, folder: Path, **data: Any) -> None:
    refused_by_code(plan, DataError, code, folder, **data)


@pytest.mark.parametrize(
    ("options", "error", "code", "data"),
    [
        ({"quasi": ["x7"]}, PlanError, "unknown-column", {"field": "quasi", "column": "x7"}),
        ({"aggregate": "geometric_mean"}, DataError, "not-positive", {"column": "x0"}),
        ({"k": 301, "scale": {"block_size": 900}}, DataError, "k-too-large", {"k": 301, "number": 300}),
    ],
)
def test_plans(tmp_path, options, error, code, data):
    plan = plan_for(tmp_path, saved(numbers(300), tmp_path / "in.parquet"), **options)
    refused_by_code(plan, error, code, tmp_path, **data)


@pytest.mark.parametrize(
    ("column", "options", "code", "data"),
    [
        (pa.array([1.0] * 299 + [None]), {}, "missing-values", {"records": 1, "first": 300}),
        (pa.array([None] * 300, pa.float64()), {"missing": "group"}, "empty-column", {}),
        (pa.array([1.0] * 299 + [float("inf")]), {}, "infinite-values", {"first": 300}),
        (pa.array([2**60 + 1] * 300), {}, "inexact-integers", {}),
        (pa.array([str(i) for i in range(300)]), {}, "numbers-as-text", {}),
        (pa.array([*map(str, range(299)), "x"]), {}, "word-among-numbers", {"record": 300}),
        (pa.array([b"x"] * 300), {}, "type-not-masked", {"type": "binary"}),
        (pa.array(["low", "high"] * 150), {"types": {"c": "ordinal"}}, "order-not-known", {}),
        (pa.array([1.0] * 300), {"types": {"c": "date"}}, "not-moments", {"wanted": "dates", "type": "double"}),
    ],
)
def test_columns(tmp_path, column, options, code, data):
    source = saved(numbers(300).append_column("c", column), tmp_path / "in.parquet")
    plan = plan_for(tmp_path, source, quasi=["x0", "c"], **options)
    leaves_nothing(plan, code, tmp_path, column="c", **data)


@pytest.mark.parametrize(
    ("column", "code"),
    [(pa.array([f"n{i}" for i in range(300)]), "many-categories"), (pa.array([[1]] * 300), "type-not-masked")],
)
def test_columns_of_the_file(tmp_path, column, code):
    source = saved(numbers(300).append_column("c", column), tmp_path / "in.parquet")
    leaves_nothing(plan_for(tmp_path, source, quasi=["x0", "c"]), code, tmp_path, column="c")


def test_numbers_in_disguise_do_not_slip_through(tmp_path):
    source = saved(numbers(300).append_column("c", pa.array(map(str, range(300)))), tmp_path / "in.parquet")
    leaves_nothing(plan_for(tmp_path, source), "numbers-as-text", tmp_path, column="c")


def test_options_of_csv_files(tmp_path):
    plan = plan_for(tmp_path, saved(numbers(300), tmp_path / "in.parquet"), csv={"delimiter": ";"})
    refused_by_code(plan, PlanError, "only-for-format", tmp_path, field="csv", format="CSV")


def test_damaged_files(tmp_path):
    source = tmp_path / "in.parquet"
    pq.write_table(numbers(3000), source, write_page_checksum=True)
    whole = source.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:5000] + b"\xff" * 400 + whole[5400:]):
        source.write_bytes(content)
        refused_by_code(plan_for(tmp_path, source), FileError, "damaged-file", tmp_path, format="Parquet")


def test_folders(tmp_path):
    (folder := tmp_path / "parts").mkdir()
    refused_by_code(plan_for(tmp_path, folder), FileError, "no-parquet-file", tmp_path, path=str(folder))
    saved(numbers(300), folder / "a.parquet")
    with refused_with("output-is-input", tmp_path, path=folder / "out.parquet"):
        protect_file(plan_for(tmp_path, folder, output=str(folder / "out.parquet")))
    saved(numbers(300, d=2), folder / "b.parquet")
    files = {"path": str(folder / "b.parquet"), "other": str(folder / "a.parquet")}
    refused_by_code(plan_for(tmp_path, folder), DataError, "files-differ", tmp_path, **files)


def test_kinds_and_paths(tmp_path):
    source = saved(numbers(300), tmp_path / "in.parquet")
    absent = tmp_path / "no.parquet"
    refused_by_code(plan_for(tmp_path, absent), FileError, "no-file", tmp_path, path=str(absent))
    with refused_with("not-written-in-pieces", tmp_path, path=tmp_path / "out.xlsx"):
        protect_file(plan_for(tmp_path, source, output=str(tmp_path / "out.xlsx")))
    refused_by_code(plan_for(tmp_path, source, output=str(source)), FileError, "output-is-input", tmp_path)
    (tmp_path / "in.xlsx").write_bytes(b"")
    refused_by_code(plan_for(tmp_path, tmp_path / "in.xlsx"), FileError, "not-in-pieces", tmp_path)
    (tmp_path / "out.parquet").write_bytes(b"")
    refused_by_code(plan_for(tmp_path, source), FileError, "file-exists", tmp_path, path=str(tmp_path / "out.parquet"))


def test_two_runs_on_one_output(tmp_path):
    source = saved(numbers(300), tmp_path / "in.parquet")
    plan = plan_for(tmp_path, source)
    with (
        work_folder.work_folder(tmp_path / "out.parquet", plan, [source], [], resume=False),
        expect.refused(FileError, "output-in-use", path=tmp_path / "out.parquet"),
    ):
        protect_file(plan)
    protect_file(plan)


def test_ctrl_c_leaves_nothing(tmp_path):
    source = saved(people(500), tmp_path / "in.parquet")

    def stop(step: str, done: int, total: int) -> None:
        if step == "partition":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        protect_file(plan_for(tmp_path, source, quasi=MASKED), progress=stop)
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_disk_that_fills_up(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        source = saved(numbers(30_000), tmp_path / "in.parquet")
        plan = plan_for(tmp_path, source, output=str(disk / "out.parquet"), scale={"block_size": 2000})
        full = os.strerror(errno.ENOSPC)
        with expect.refused(FileError, "file-not-writable", path=disk / "out.parquet", reason=full):
            protect_file(plan)
        assert os.listdir(disk) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _with_small_files(plan: Plan, most: int, answer) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        protect_file(plan)
    except FileError as error:
        answer.put((error.code, error.messages[0].data["reason"]))
    else:
        answer.put(None)


@pytest.mark.parametrize("most", [100_000, 600_000])
def test_files_that_may_not_grow(tmp_path, most):
    """The smaller limit stops the codes, the larger one the output, which has a long text beside the numbers."""
    texts = pa.array([f"{i:060d}" for i in range(20_000)]) if most > 480_000 else pa.array(["x"] * 20_000)
    source = saved(numbers(20_000).append_column("t", texts), tmp_path / "in.parquet")
    plan = plan_for(tmp_path, source, quasi=["x0", "x1", "x2"], output=str(tmp_path / "out.csv"))
    context = multiprocessing.get_context("spawn")
    answer = context.Queue()
    process = context.Process(target=_with_small_files, args=(plan, most, answer))
    process.start()
    assert answer.get(timeout=600) == ("file-not-writable", os.strerror(errno.EFBIG))
    process.join()
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_file_that_is_not_what_was_promised_is_not_published(tmp_path, monkeypatch):
    source = saved(people(500), tmp_path / "in.parquet")
    plan = plan_for(tmp_path, source, quasi=MASKED, identifiers=["id"])
    decode = BlockMasker.decode

    def in_wrong_order(masker, published, rescaled):
        return decode(masker, published[::-1], rescaled)

    monkeypatch.setattr(BlockMasker, "decode", in_wrong_order)
    with refused_with("outside-the-range", tmp_path, CheckFailed):
        protect_file(plan)

    def too_few(masker, published, rescaled):
        published = published.copy()
        published[0] += 0.001
        return decode(masker, published, rescaled)

    monkeypatch.setattr(BlockMasker, "decode", too_few)
    plan = plan_for(tmp_path, saved(numbers(300), tmp_path / "in.parquet"))
    with refused_with("group-below-k", tmp_path, CheckFailed, k=3):
        protect_file(plan)
    monkeypatch.setattr(BlockMasker, "decode", decode)
    monkeypatch.setattr(verifying, "_ROUNDING", -1.0)
    with refused_with("sum-not-kept", tmp_path, CheckFailed, column="x0"):
        protect_file(plan_for(tmp_path, source, quasi=["x0", "x1"]))


def test_a_release_that_is_let_go_of_leaves_no_folder(tmp_path):
    source = saved(numbers(300), tmp_path / "in.parquet")
    plan = plan_for(tmp_path, source).updated(engine="file")
    release = shoal.protect(plan=plan)
    with expect.refused(FileError, "output-in-use", path=tmp_path / "out.parquet"):
        shoal.protect(plan=plan)
    gc.disable()
    try:
        del release
        assert [each.name for each in tmp_path.iterdir()] == ["in.parquet"]
    finally:
        gc.enable()


def test_a_release_is_saved_in_another_folder_without_a_rename_across_folders(tmp_path, monkeypatch):
    """As if the folder were on another disk, where nothing can be renamed or linked to."""
    source = saved(numbers(300), tmp_path / "in.parquet")
    release = shoal.protect(plan=plan_for(tmp_path, source).updated(engine="file"))
    (tmp_path / "elsewhere").mkdir()
    link, replace = Path.hardlink_to, Path.replace

    def same_disk(one: Path, two: Path) -> None:
        if one.parent != two.parent:
            raise OSError(errno.EXDEV, "another disk")

    def linked(self: Path, target: Path) -> None:
        same_disk(self, target)
        link(self, target)

    def replaced(self: Path, target: Path) -> None:
        same_disk(self, target)
        replace(self, target)

    monkeypatch.setattr(Path, "hardlink_to", linked)
    monkeypatch.setattr(Path, "replace", replaced)
    with expect.refused(PlanError, "format-differs", "output", path=tmp_path / "elsewhere" / "out.csv"):
        release.save(tmp_path / "elsewhere" / "out.csv")
    release.save(tmp_path / "elsewhere" / "out.parquet")
    with expect.refused(FileError, "release-gone"):
        release.save(tmp_path / "elsewhere" / "again.parquet")
    names = {each.name for each in (tmp_path / "elsewhere").iterdir()}
    assert names == {"out.parquet", "out.parquet.plan.toml", "out.parquet.manifest.json"}


def test_no_report_compares_a_release_with_another_input(tmp_path):
    pytest.importorskip("altair")
    source = saved(numbers(300), tmp_path / "in.parquet")
    release = shoal.protect(plan=plan_for(tmp_path, source).updated(engine="file"))
    release.save()
    saved(numbers(300, d=6), source)
    with expect.refused(FileError, "input-changed-later", path=str(source)):
        release.report(tmp_path / "page.html")


def test_resuming_over_a_file_is_refused_before_the_work(tmp_path):
    source = saved(numbers(300), tmp_path / "in.parquet")
    (tmp_path / "out.parquet").write_bytes(b"")
    plan = plan_for(tmp_path, source).updated(engine="file")
    steps = []
    with expect.refused(FileError, "file-exists"):
        protect_to_file(plan, tmp_path / "out.parquet", resume=True, progress=lambda *step: steps.append(step))
    assert not steps


def test_a_release_does_not_have_the_group_of_each_record(tmp_path):
    release = shoal.protect(
        plan=plan_for(tmp_path, saved(numbers(300), tmp_path / "in.parquet")).updated(engine="file")
    )
    with expect.refused(PlanError, "groups-not-kept", "engine", engine="file"):
        release.published.partitions  # noqa: B018 - a property


@pytest.mark.parametrize(("ending", "name"), [("csv", "CSV"), ("parquet", "Parquet")])
def test_types_that_a_format_cannot_hold(tmp_path, ending, name):
    span = pa.array([(1, 2, 3)] * 300, pa.month_day_nano_interval())
    source = tmp_path / "in.arrow"
    table = numbers(300).append_column("c", span)
    with pa.ipc.new_file(source, table.schema) as writer:
        writer.write_table(table)
    data = {"column": "c", "type": "month_day_nano_interval", "format": name}
    with refused_with("type-not-for-format", tmp_path, DataError, **data):
        protect_file(plan_for(tmp_path, source, quasi=["x0"], output=str(tmp_path / f"out.{ending}")))


def test_categories_that_differ_between_pieces(tmp_path):
    tables = [pa.table({"c": pa.array([word]).dictionary_encode()}) for word in ("a", "b")]
    with pa.ipc.new_file(tmp_path / "out.arrow", tables[0].schema) as writer:
        writing._write_arrow(writer, tables[0])
        with expect.refused(DataError, "categories-differ"):
            writing._write_arrow(writer, tables[1])


def test_a_database_that_fails_is_named():
    pairs = DuckPairs(lambda: iter([pa.record_batch({"x": [1.0]})]))
    with expect.refused(FileError, "cannot-verify", error=duckdb.CatalogException.__name__):
        pairs.rows("SELECT * FROM elsewhere")
