"""Spark on a real session: the release of memory, record by record."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from tests.expect import pattern, refused, reports

import shoal.spark
from shoal.backends.spark import session as sessions
from shoal.backends.spark.blocks import Cut
from shoal.backends.spark.disk import Disk
from shoal.backends.spark.session import in_plain_words, refuse_without_java, reporting_errors
from shoal.errors import CheckFailed, DataError, FileError, MissingExtra, PlanError, ShoalError
from shoal.messages import Message
from shoal.pipeline.manifest import load_manifest
from shoal.plan import Plan
from shoal.release import protect_file


def protect_files(plan, overwrite=False):
    """Protect the plan's input on Spark, and write the release."""
    release = shoal.protect(plan=plan.updated(engine="spark"))
    release.save(overwrite=overwrite)
    return release


def in_memory(table, plan):
    """What every backend must give."""
    options = {"engine": None, "input": None, "output": None, "scale": {"master": None}}
    return shoal.protect(table, plan.updated(**options)).table


def sorted_rows(table):
    """All records in one order, with the names and the types of the columns."""
    return [
        (field.name, re.sub("Etc/|(?<=list<)item", "", str(field.type)).replace("element", ""))
        for field in table.schema
    ], sorted(map(repr, zip(*(column.to_pylist() for column in table.columns), strict=True)))


def people(n=2_000, seed=1):
    rng = np.random.default_rng(seed)
    day = np.datetime64("2000-01-01")
    return pa.table(
        {
            "name": [f"n{i}" for i in range(n)],
            "income.net": rng.normal(size=n).round(2),
            "age": pa.array(rng.integers(18, 90, n), pa.int32(), mask=rng.random(n) < 0.05),
            "town": rng.choice(["Bree", "Dale", "Esgaroth"], n),
            "born": pa.array(day + rng.integers(0, 9_000, n)),
            "seen": pa.array(day.astype("M8[us]") + rng.integers(0, 10**6, n) * 10**6, pa.timestamp("us", "UTC")),
            "illness": rng.choice(["none", "some"], n),
            "visits": pa.array([[i, i + 1] for i in range(n)], pa.list_(pa.int32())),
        }
    )


PEOPLE = Plan(
    k=3,
    quasi=["income.net", "age", "town", "born", "seen"],
    identifiers="name",
    confidential="illness",
    publish="visits",
    missing="group",
    scale={"block_size": 500},
)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"standardize": "minmax", "missing": "impute", "round": True}])
def test_the_release_is_that_of_memory(spark, options):
    table, plan = people(), PEOPLE.updated(**options)
    df = spark.createDataFrame(table).repartition(3)
    release = shoal.spark.protect(df, plan)
    assert sorted_rows(release.table.toArrow()) == sorted_rows(in_memory(df.toArrow(), plan))
    assert release.risk()["after"]["smallest"] >= 3
    assert release.summary()["records"] == len(table)
    assert release.summary()["blocking"]["blocks"] > 1
    assert release.summary()["blocking"]["largest"] <= 500
    release.published.masked.unpersist()


@pytest.mark.slow
def test_the_order_and_the_partitions_of_records_do_not_matter(spark):
    table = people(1_000)
    shuffled = table.take(np.random.default_rng(0).permutation(len(table)))
    releases = [
        shoal.spark.protect(spark.createDataFrame(rows).repartition(parts), PEOPLE).table.toArrow()
        for rows, parts in ((table, 1), (shuffled, 4))
    ]
    assert sorted_rows(releases[0]) == sorted_rows(releases[1])


@pytest.mark.slow
def test_a_crowded_place_is_cut_in_pieces(spark):
    rng = np.random.default_rng(3)
    n = 1_500
    spread = rng.random(n) < 0.2
    table = pa.table({"x": np.where(spread, rng.normal(size=n), 0.0), "town": rng.choice(["a", "b", "c"], n)})
    plan = Plan(k=3, quasi=["x", "town"], scale={"block_size": 200})
    release = shoal.spark.protect(spark.createDataFrame(table).repartition(2), plan)
    sizes = release.published.masker.blocks.sizes
    assert sizes.max() >= 400  # or this tests nothing
    pieces = Cut.of(release.published.masker).pieces
    assert pieces.max() > 1
    assert (sizes // pieces >= min(200, sizes.min())).all()
    assert sorted_rows(release.table.toArrow()) == sorted_rows(in_memory(table, plan))


def test_few_records_are_one_block_and_options_take_the_place_of_a_plan(spark):
    table = pa.table({"a`b": [1.0, 2.0, 30.0, 40.0], "Shoal_Block": [1, 2, 3, 4]})
    release = shoal.spark.protect(spark.createDataFrame(table), k=2, quasi="a`b", publish="Shoal_Block")
    assert release.table.columns == ["a`b", "Shoal_Block"]
    rows = sorted(map(tuple, release.table.collect()))
    assert rows == [(1.5, 1), (1.5, 2), (35.0, 3), (35.0, 4)]
    assert release.blocking is None
    assert reports(release.notes, "records-unordered")
    with refused(PlanError, "groups-not-kept", "engine", engine="spark"):
        release.published.partitions  # noqa: B018 - a property


def test_spark_notices_a_release_that_is_not_what_it_claims(spark):
    table = pa.table({"id": pa.array(range(60), pa.int32()), "a": np.random.default_rng(0).normal(size=60)})
    df = spark.createDataFrame(table)
    release = shoal.spark.protect(df, k=3, quasi="a", publish="id")
    published = release.published
    assert published.verify().blocks[0].keys() >= {3}
    seven = F.col("c0") == 7  # the columns of the release are numbered, pairs stand beside them
    good, columns = published.masked, ["id", "a"]
    for bad, code, data in (
        (good.withColumn("c1", F.when(seven, -9.0).otherwise(F.col("c1"))), "group-below-k", {"k": 3}),
        (good.withColumn("c1", F.col("c1") + 9.0), "outside-the-range", {"column": "a", "values": 18}),
        (good.filter(~seven), "number-of-records-differs", {"records": 59, "expected": 60}),
        (good.withColumn("c0", F.when(seven, 8).otherwise(F.col("c0"))), "column-changed", {}),
        (good.withColumn("c1", F.col("c1").cast("float")), "columns-changed", {"types": True}),
    ):
        with refused(CheckFailed, code, **data):
            replace(published, masked=bad, table=bad.select("c0", "c1").toDF(*columns)).verify()
    with refused(CheckFailed, "columns-changed", types=True):
        replace(published, table=published.table.select("a", "id")).verify()


@pytest.mark.parametrize(
    ("options", "kind", "code", "data"),
    [
        ({"method": "mic1d"}, PlanError, "not-on-engine", {"field": "method", "engine": "spark", "instead": "memory"}),
        ({"engine": "memory"}, PlanError, "engine-not-for-table", {"field": "engine", "spark": True}),
        ({"where": "c > 9"}, DataError, "no-records", {}),
        ({"names": ["a", "B", "b"]}, DataError, "names-differ-in-case", {"columns": ["B", "b"]}),
    ],
)
def test_what_spark_cannot_do_is_refused(spark, options, kind, code, data):
    df = spark.createDataFrame(pa.table({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0], "c": [1.0, 2.0, 3.0]}))
    options = dict(options)
    df = df.filter(options.pop("where", "true")).toDF(*options.pop("names", df.columns))
    with refused(kind, code, **data):
        shoal.protect(df, k=2, quasi=["a"], publish="rest", **options)


def test_what_cannot_be_masked_is_refused_in_a_sentence(spark):
    df = spark.createDataFrame(pa.table({"a": [1.0, None, 3.0], "b": [[1], [2], [3]], "c": [1.0, 2.0, 3.0]}))
    with refused(DataError, "missing-values", column="a"):
        shoal.spark.protect(df, k=2, quasi="a", publish="rest")
    with refused(DataError, "nested-column", column="b"):
        shoal.spark.protect(df, k=2, quasi="b", publish="rest")
    with refused(PlanError, "unknown-column", "quasi", column="d"):
        shoal.spark.protect(df, k=2, quasi="d", publish="rest")
    with refused(DataError, "k-too-large", k=4, number=3):
        shoal.spark.protect(df, k=4, quasi="c", publish="rest")
    with pytest.raises(DataError, match="'s' has as many categories"):
        shoal.spark.protect(df.withColumn("s", F.col("c").cast("string")), k=2, quasi=["c", "s"], publish="rest")
    with refused(PlanError, "not-a-kind", "plan", kind="Plan"):
        shoal.spark.protect(df, 3)


def test_what_is_refused_on_a_worker_is_refused_in_the_same_words(spark):
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, None, None, None]})
    with refused(DataError, "too-few-complete", number=1, k=2, part=True):
        shoal.spark.protect(spark.createDataFrame(table), k=2, quasi=["a", "b"], missing="impute")


def test_a_path_is_read_by_spark_and_the_release_is_saved_where_that_is_named_later(spark, tmp_path):
    table = people(300)
    pq.write_table(table, tmp_path / "in.parquet")
    release = shoal.protect(tmp_path / "in.parquet", PEOPLE, engine="spark")
    release.save(tmp_path / "out.parquet")
    assert sorted_rows(pq.read_table(tmp_path / "out.parquet")) == sorted_rows(in_memory(table, release.plan))


@pytest.mark.slow
def test_parquet_files_become_a_folder_with_the_plan_beside_it(spark, tmp_path):
    table = people(600)
    (tmp_path / "in.parquet").mkdir()
    for part in range(2):
        pq.write_table(table.slice(300 * part, 300), tmp_path / "in.parquet" / f"{part}.parquet")
    out = tmp_path / "out.parquet"
    plan = PEOPLE.updated(input=tmp_path / "in.parquet", output=out, scale={"block_size": 200})
    release = protect_files(plan)
    assert sorted(os.listdir(tmp_path)) == [
        "in.parquet",
        "out.parquet",
        "out.parquet.manifest.json",
        "out.parquet.plan.toml",
    ]
    assert sorted_rows(pq.read_table(out)) == sorted_rows(in_memory(table, plan))
    assert release.summary()["risk"]["before"]["uniques"] > 0
    manifest = tmp_path / "out.parquet.manifest.json"
    parts = load_manifest(manifest).published.parts
    assert sorted(part.name for part in parts) == sorted(file.name for file in out.glob("[!._]*"))
    assert shoal.check(out, manifest=manifest)["records"] == 600
    again = Plan.load(tmp_path / "out.parquet.plan.toml")
    with refused(FileError, "file-exists", path=str(out)):
        protect_files(again)
    protect_files(again, overwrite=True)
    assert shoal.check(out, manifest=manifest)["records"] == 600
    assert sorted_rows(pq.read_table(out)) == sorted_rows(in_memory(table, plan))


@pytest.mark.slow
def test_the_release_is_that_of_the_file_backend(spark, tmp_path):
    pq.write_table(people(), tmp_path / "in.parquet")
    plan = PEOPLE.updated(input=tmp_path / "in.parquet", output=tmp_path / "local.parquet")
    local = protect_file(plan)
    spread = protect_files(plan.updated(output=tmp_path / "spark.parquet"))
    tables = [pq.read_table(tmp_path / f"{name}.parquet") for name in ("local", "spark")]
    assert sorted_rows(tables[0]) == sorted_rows(tables[1])
    assert local.blocking.blocks > 1
    assert spread.loss()["IL"] == pytest.approx(local.loss()["IL"], rel=1e-12)
    assert spread.risk() == local.risk()
    assert spread.plan.method == local.plan.method


def test_csv_files_keep_what_is_not_masked_as_it_was_written(spark, tmp_path):
    text = 'code,a,town,note\n007,1.5,"x",""\n0010,2,y,"a ""b"", c"\n1e3,30,x,  two\n1.50,40,y,"line\nbreak"\n'
    (tmp_path / "in.csv").write_text(text)
    plan = Plan(k=2, quasi="a", publish="rest", input=tmp_path / "in.csv", output=tmp_path / "out.csv")
    protect_files(plan)
    found = spark.read.options(header="true", escape='"', multiLine="true").csv(str(tmp_path / "out.csv"))
    assert sorted((row.code, row.a) for row in found.collect()) == [
        ("0010", "1.75"), ("007", "1.75"), ("1.50", "35.0"), ("1e3", "35.0"),
    ]  # fmt: skip
    assert {row.note for row in found.collect() if row.note} == {'a "b", c', "  two", "line\nbreak"}
    assert shoal.check(tmp_path / "out.csv", manifest=tmp_path / "out.csv.manifest.json")["records"] == 4
    other = Plan(k=2, publish="rest", input=tmp_path / "in.csv", output=tmp_path / "other.csv")
    with refused(PlanError, "csv-needs-quasi", "quasi"):
        protect_files(other)
    spoken = other.updated(quasi="a", csv={"decimal": ",", "missing": ["?", "-"]})
    with refused(PlanError, "decimal-not-on-spark", "csv.decimal") as caught:
        protect_files(spoken)
    assert reports(caught.value.messages, "several-words-on-spark", "csv.missing")


def test_a_run_that_fails_leaves_nothing(spark, tmp_path):
    pq.write_table(people(50), tmp_path / "in.parquet")
    plan = PEOPLE.updated(input=tmp_path / "in.parquet", output=tmp_path / "out.csv")
    with refused(FileError, "cannot-write-on-spark", format="csv"):  # found after masking, when it is written
        protect_files(plan)
    (tmp_path / "bad.parquet").write_bytes((tmp_path / "in.parquet").read_bytes()[:-50])
    with refused(FileError, "parts-not-readable"):
        protect_files(plan.updated(input=tmp_path / "bad.parquet"))
    with refused(FileError, "file-not-readable", path=str(tmp_path / "none.parquet")):
        protect_files(plan.updated(input=tmp_path / "none.parquet"))
    mixed = tmp_path / "mixed.parquet"
    mixed.mkdir()
    pq.write_table(people(50), mixed / "1.parquet")
    pq.write_table(people(50).set_column(1, "income.net", [["?"] * 50]), mixed / "2.parquet")
    with refused(FileError, "parts-not-readable"):
        protect_files(plan.updated(input=mixed))
    pq.write_table(people(50).drop_columns(["visits"]), mixed / "1.parquet")
    pq.write_table(people(50), mixed / "2.parquet")
    with refused(FileError, "files-differ", path=str(mixed)):
        protect_files(plan.updated(input=mixed))
    with refused(FileError, "no-folder", path=str(tmp_path / "no")):
        protect_files(plan.updated(output=tmp_path / "no" / "out.parquet"))
    with refused(FileError, "unknown-extension", path=str(tmp_path / "out.sav")):
        protect_files(plan.updated(output=tmp_path / "out.sav"))
    with refused(FileError, "output-is-input", path=str(tmp_path / "in.parquet")):
        protect_files(plan.updated(output=tmp_path / "in.parquet"))
    with refused(PlanError, "no-input", "input"):
        protect_files(plan.updated(input=None))
    with pytest.raises(PlanError) as caught:
        protect_files(plan.updated(output=None))
    assert caught.value.messages[0].field == "output"
    assert sorted(os.listdir(tmp_path)) == ["bad.parquet", "in.parquet", "mixed.parquet"]


def test_files_that_differ_from_the_release_are_not_published(spark, tmp_path, monkeypatch):
    pq.write_table(people(50), tmp_path / "in.parquet")
    monkeypatch.setattr("shoal.backends.spark.files.traces", lambda *_: [50, 0])
    with refused(CheckFailed, "not-as-released"):
        protect_files(PEOPLE.updated(input=tmp_path / "in.parquet", output=tmp_path / "out.parquet"))
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_a_name_that_is_taken_or_a_disk_that_refuses_is_named(spark, tmp_path):
    disk = Disk(spark, str(tmp_path / "out.parquet"))
    (tmp_path / "taken").mkdir()
    with refused(FileError, "file-not-writable", path=str(tmp_path / "taken"), reason=Message("another-process")):
        disk._rename(str(tmp_path / "new"), str(tmp_path / "taken"))
    with refused(FileError, "file-not-writable", path=str(tmp_path / "out.parquet"), reason=os.strerror(errno.ENOENT)):
        disk._rename(str(tmp_path / "new"), str(tmp_path / "free"))
    disk._local, disk._files = False, SimpleNamespace(exists=lambda _: False, rename=lambda *_: False)
    with refused(FileError, "file-not-writable", path=str(tmp_path / "free"), reason=Message("disk-refuses")):
        disk._rename(str(tmp_path / "new"), str(tmp_path / "free"))


@pytest.mark.parametrize("home", ["", "nowhere"])
def test_java_that_is_missing_gets_one_sentence(home, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", home and str(tmp_path / home))
    with refused(ShoalError, "no-java", home=bool(home)):
        refuse_without_java()


def test_a_session_that_does_not_start_gets_one_sentence(monkeypatch):
    def refuse(_builder):
        raise PySparkException("unknown address")

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with refused(ShoalError, "spark-not-started", master="spark://nowhere"):
        sessions._started("spark://nowhere")


def test_temporary_files_without_a_folder_get_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(SparkContext, "_gateway", None)
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "none"))
    with refused(ShoalError, "no-spark-folder", reason=os.strerror(errno.ENOENT)), sessions._spills():
        pass


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (PySparkException("Disk quota exceeded"), ShoalError, "spark-disk-full"),
        (PySparkException("Python worker exited"), ShoalError, "spark-worker-lost"),
        (PySparkException("SparkContext was shut"), ShoalError, "java-gone"),
        (PySparkException("[CANNOT_READ_FILE_FOOTER] secret value"), FileError, "parts-not-readable"),
        (Py4JNetworkError("no answer"), ShoalError, "java-gone"),
        (ConnectionRefusedError("no answer"), ShoalError, "java-gone"),
    ],
)
def test_errors_of_spark_get_one_sentence(error, kind, code):
    with refused(kind, code) as caught, in_plain_words():
        raise error
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        DataError("names-differ-in-case", columns=["a", "A"]),
        PlanError("not-for-method", field="seed", kind="method", method="m", remedy=Message("use-method", method="n")),
        CheckFailed([Message("column-changed", column="a\x1b\n"), Message("columns-changed")]),
    ],
)
def test_an_error_of_a_worker_is_raised_on_the_driver_with_its_codes_and_data(error):
    def work(_batches):
        raise error

    with pytest.raises(sessions.WorkerError) as reported:
        list(reporting_errors(work)(iter([])))
    lines = traceback.format_exception(reported.value)
    with pytest.raises(type(error)) as caught, in_plain_words():
        raise PySparkException("".join(lines))
    assert caught.value.codes == error.codes
    assert str(caught.value) == str(error)
    assert [each.field for each in caught.value.messages] == [each.field for each in error.messages]


@pytest.mark.parametrize("module", ["pyspark", "pandas"])
def test_spark_that_is_missing_names_the_extra(module):
    code = f"import sys; sys.modules['{module}'] = None; import shoal.spark"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    said = pattern("missing-extra", feature="shoal.spark", extra="spark")
    assert re.search(f"{MissingExtra.__name__}: {said}", found.stderr)


CLUSTER = """
import sys
import shoal

release = shoal.protect(plan=sys.argv[1], progress=lambda step, done, total: print(step, flush=True))
release.save()
print("smallest", release.risk()["after"]["smallest"])
"""


def start_cluster(tmp_path, plan):
    """Protect a file on executors of their own, from a process of its own."""
    (tmp_path / "plan.toml").write_text(plan.to_toml(tmp_path))
    command = [sys.executable, "-c", CLUSTER, str(tmp_path / "plan.toml")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)


def descendants(pid):
    """The processes under a process, with their command lines."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    found, more = {}, [pid]
    while more:
        more = [child for child, parent in parents.items() if parent in more]
        for child in more:
            try:
                found[child] = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
    return found


def million(tmp_path):
    rng = np.random.default_rng(6)
    n = 1_000_000
    table = pa.table({"id": np.arange(n), **{f"x{j}": rng.normal(size=n) for j in range(3)}})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100_000)
    plan = Plan(
        k=3,
        quasi=["x0", "x1", "x2"],
        publish=["id"],
        input=tmp_path / "in.parquet",
        output=tmp_path / "out.parquet",
        engine="spark",
        scale={"block_size": 100_000, "master": "local-cluster[2,1,2048]"},
    )
    return table, plan


def same_table(tmp_path, table, plan):
    found = pq.read_table(tmp_path / "out.parquet").sort_by("id").combine_chunks()
    return found.equals(in_memory(table, plan).combine_chunks())


@pytest.mark.slow
def test_a_million_records_on_separate_executors(tmp_path):
    table, plan = million(tmp_path)
    process = start_cluster(tmp_path, plan)
    said, _ = process.communicate(timeout=1_200)
    assert process.returncode == 0
    assert int(said.split("smallest ")[1]) >= 3
    assert same_table(tmp_path, table, plan)


@pytest.mark.slow
def test_a_worker_and_an_executor_that_die_change_nothing(tmp_path):
    table, plan = million(tmp_path)
    process = start_cluster(tmp_path, plan)
    steps = []
    reader = threading.Thread(target=lambda: steps.extend(line.strip() for line in process.stdout))
    reader.start()
    for step, victim in (("divide", "daemon"), ("partition", "CoarseGrainedExecutorBackend")):
        kill_one(process, steps, step, victim)
    assert process.wait(timeout=1_200) == 0
    reader.join()
    assert same_table(tmp_path, table, plan)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".crc") == [
        "in.parquet", "out.parquet", "out.parquet.manifest.json", "out.parquet.plan.toml", "plan.toml",
    ]  # fmt: skip


def kill_one(process, steps, step, victim):
    """Kill one of the processes that work on a step, in the middle of it."""
    pids: list[int] = []
    while step not in steps or not pids:
        assert process.poll() is None
        time.sleep(0.1)
        pids = [pid for pid, command in descendants(process.pid).items() if victim in command]
    os.kill(pids[-1], signal.SIGKILL)
    assert steps[-1] == step
