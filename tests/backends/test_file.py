"""Files larger than memory: what is published, in which order, in which kind of file."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.backends.backend_samples import MASKED, masked_in_memory, numbers, people, saved
from tests.expect import refused, reports

import shoal
from shoal.backends.choose import free_memory
from shoal.backends.file import run as local
from shoal.errors import CheckFailed
from shoal.plan import Plan, Scale
from shoal.release import protect_file


def run(table: pa.Table, folder: Path, name: str = "out.parquet", **options):
    source = saved(table, folder / "in.parquet")
    scale = {"block_size": 400, "memory": "400MB", **options.pop("scale", {})}
    plan = Plan(input=str(source), output=str(folder / name), scale=scale, **{"k": 3, "publish": "rest", **options})
    return protect_file(plan, overwrite=True)


def test_publishes_what_memory_does(tmp_path):
    table = people(2000)
    release = run(table, tmp_path, quasi=MASKED, identifiers=["id"])
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.to_pylist() == masked_in_memory(table, release.plan).to_pylist()
    for name in ("ill", "note"):
        assert written.column(name).equals(table.column(name))
    assert written.column_names == [name for name in table.column_names if name != "id"]
    assert release.blocking.blocks > 3
    assert release.risk()["after"]["smallest"] >= 3


@pytest.mark.parametrize("missing", ["group", "impute", "suppress"])
def test_missing_values(tmp_path, missing):
    table = people(1500, missing=0.05)
    release = run(table, tmp_path, quasi=MASKED, missing=missing)
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.to_pylist() == masked_in_memory(table, release.plan).to_pylist()
    assert written.column("income").null_count == (0 if missing != "group" else written.column("income").null_count)
    if missing == "suppress":
        assert 0 < release.suppressed == len(table) - len(written)
    else:
        assert reports(release.notes, "missing-before-and-after", column="income")


def test_one_block_publishes_what_protect_publishes(tmp_path):
    table = numbers(500)
    run(table, tmp_path, scale={"block_size": None})
    in_memory = shoal.protect(table, k=3).table
    written = pq.read_table(tmp_path / "out.parquet")
    for name in table.column_names:
        np.testing.assert_allclose(written.column(name), in_memory.column(name), rtol=1e-12)


def test_the_method_is_chosen_by_the_number_of_records_as_in_memory(tmp_path):
    source = saved(numbers(300), tmp_path / "in.parquet")
    chosen = protect_file(Plan(k=3, input=str(source), output=str(tmp_path / "out.parquet"))).plan.method
    assert chosen == shoal.protect(source, k=3).plan.method


def test_evidence_is_that_of_protect(tmp_path):
    table = people(600)
    options = {"quasi": MASKED, "k": 3, "publish": "rest", "round": True, "method": "mdav"}
    streamed = run(table, tmp_path, scale={"block_size": 600}, **options).summary()
    whole = shoal.protect(table, **options).summary()
    assert streamed["risk"] == whole["risk"]
    for name, row in whole["loss"]["attributes"].items():
        for key, value in row.items():
            got = streamed["loss"]["attributes"][name][key]
            assert got == (pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value), (name, key)
    assert streamed["loss"]["IL"] == pytest.approx(whole["loss"]["IL"])
    assert set(whole) <= set(streamed)


@pytest.mark.parametrize(("rows", "memory"), [(64, "300MB"), (1000, "2GB"), (1 << 17, "900MiB")])
def test_pieces_and_memory_do_not_matter(tmp_path, monkeypatch, rows, memory):
    table = people(1500)
    run(table, tmp_path, "reference.parquet", quasi=MASKED)
    monkeypatch.setattr(local, "_ROWS", rows)
    run(table, tmp_path, quasi=MASKED, scale={"memory": memory})
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "reference.parquet"))


def test_order_of_rows_does_not_matter(tmp_path):
    table = people(1500)
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    run(table, tmp_path, "one.parquet", quasi=MASKED)
    run(shuffled, tmp_path, "two.parquet", quasi=MASKED)
    one, two = (pq.read_table(tmp_path / name).sort_by("id") for name in ("one.parquet", "two.parquet"))
    for name in one.column_names:
        assert one.column(name).to_pylist() == two.column(name).to_pylist()


def test_the_plan_beside_gives_the_same_bytes(tmp_path):
    run(people(1500), tmp_path, quasi=MASKED, scale={"block_size": None})
    first = (tmp_path / "out.parquet").read_bytes()
    protect_file(Plan.load(tmp_path / "out.parquet.plan.toml"), overwrite=True)
    assert (tmp_path / "out.parquet").read_bytes() == first


def test_nothing_is_left_and_the_output_is_for_others_to_read(tmp_path):
    run(people(500), tmp_path, quasi=MASKED)
    assert sorted(os.listdir(tmp_path)) == [
        "in.parquet",
        "out.parquet",
        "out.parquet.manifest.json",
        "out.parquet.plan.toml",
    ]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "out.parquet").stat().st_mode) == 0o666 & ~mask


def test_work_files_are_private(tmp_path):
    seen = {}

    def look(step: str, done: int, total: int) -> None:
        for path in (folder := tmp_path / ".out.parquet.shoal").iterdir():
            seen[path.name] = stat.S_IMODE(path.stat().st_mode)
        seen["."] = stat.S_IMODE(folder.stat().st_mode)

    source = saved(people(500), tmp_path / "in.parquet")
    plan = Plan(
        k=3,
        quasi=MASKED,
        publish="rest",
        input=str(source),
        output=str(tmp_path / "out.parquet"),
        scale={"block_size": 100},
    )
    protect_file(plan, progress=look)
    assert {"codes", "records", "published", "block_of", "sums", "partial.parquet", "state.json"} <= set(seen)
    assert seen.pop(".") == seen.pop("sorting", 0o700) == 0o700
    assert set(seen.values()) == {0o600}


def test_every_pass_shows_how_far_it_is(tmp_path):
    steps: dict[str, list[tuple[int, int]]] = {}
    source = saved(people(3000), tmp_path / "in.parquet")
    plan = Plan(
        k=3,
        quasi=MASKED,
        publish="rest",
        input=str(source),
        output=str(tmp_path / "out.parquet"),
        scale={"block_size": 500},
    )
    protect_file(plan, progress=lambda step, done, total: steps.setdefault(step, []).append((done, total)))
    assert list(steps) == [
        *("scan", "measure", "divide", "sort", "partition", "write", "verify"),
    ]
    for step in set(steps) - {"partition"}:
        assert steps[step][-1] == (3000, 3000)


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    table = people(900)
    (folder := tmp_path / "parts").mkdir()
    for name, start in (("b.parquet", 500), ("a.parquet", 0), (".hidden.parquet", 0), ("_SUCCESS", 0)):
        saved(table.slice(start, 500 if start == 0 else 400), folder / name)
    plan = Plan(
        k=3,
        quasi=["age"],
        publish="rest",
        input=str(folder),
        output=str(tmp_path / "out.parquet"),
        scale={"block_size": 300},
    )
    protect_file(plan)
    assert pq.read_table(tmp_path / "out.parquet").column("id").to_pylist() == table.column("id").to_pylist()


@pytest.mark.parametrize("kind", ["arrow", "parquet", "csv"])
def test_arrow_in_and_every_kind_out(tmp_path, kind):
    table = people(700)
    with pa.OSFile(str(tmp_path / "in.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    output = tmp_path / f"out.{kind}"
    release = protect_file(
        Plan(
            k=3,
            quasi=MASKED,
            publish="rest",
            input=str(tmp_path / "in.arrow"),
            output=str(output),
            scale={"block_size": 200},
        )
    )
    written = shoal.tables.open_table(output)
    assert written.column("id").to_pylist() == table.column("id").to_pylist()
    expected = masked_in_memory(table, release.plan)
    assert [str(town) for town in written.column("town").to_pylist()] == expected["town"].to_pylist()
    assert written.column("since").to_pylist() == expected["since"].to_pylist()
    if kind == "arrow":
        assert written.column("town").type == table.schema.field("town").type


def test_a_category_that_nobody_publishes_is_gone(tmp_path):
    town = pa.array(["Ulm"] * 500 + ["Rare"] + ["Ulm"] * 499).dictionary_encode()
    table = people(1000).set_column(3, "town", town)
    run(table, tmp_path, quasi=["income", "town"], scale={"block_size": 100})
    assert pq.read_table(tmp_path / "out.parquet").column("town").chunk(0).dictionary.to_pylist() == ["Ulm"]


def test_all_records_equal_make_one_large_block(tmp_path):
    release = run(pa.table({"x": [1.5] * 1000, "y": [2.0] * 1000}), tmp_path, scale={"block_size": 100})
    assert release.blocking is None
    assert reports(release.notes, "blocks-crowded", crowded=1, intervals=False)
    assert pq.read_table(tmp_path / "out.parquet").column("x").unique().to_pylist() == [1.5]


def test_two_d_tree_across_chosen_dimensions(tmp_path):
    release = run(numbers(1500), tmp_path, scale={"blocking": "2^d", "dimensions": ["x0", "x2"]})
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.to_pylist() == masked_in_memory(numbers(1500), release.plan).to_pylist()
    assert release.blocking.blocks > 4


def test_blocking_is_priced(tmp_path):
    release = run(numbers(3000), tmp_path, scale={"block_size": 150})
    assert 1.0 < release.blocking.cost < 1.5
    assert release.summary()["blocking"]["cost"] == release.blocking.cost


def test_sizes_of_memory():
    sizes = {"2GB": 2 * 10**9, "1.5 MiB": 1572864, "3000k": 3 * 10**6, "1TB": 10**12, "4gb": 4 * 10**9}
    assert {size: Scale(memory=size).memory_bytes for size in sizes} == sizes
    assert 2**26 < free_memory() < 2**50


RUN = """
import resource, sys
from shoal.release import protect_file
from shoal.plan import Plan
protect_file(Plan(k=3, input=sys.argv[1], output=sys.argv[2], scale={"memory": "500MB"}))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_stays_near_its_limit(tmp_path):
    """Three million records of five numbers; the program and its libraries take some 300 MB without any."""
    saved(numbers(3_000_000, 5), tmp_path / "in.parquet", rows=1_000_000)
    command = [sys.executable, "-c", RUN, str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet")]
    said = subprocess.run(command, capture_output=True, check=True, text=True)
    assert said.stderr == ""
    assert int(said.stdout) * 1024 < 900e6


@pytest.mark.parametrize(
    ("change", "code", "data"),
    [
        (lambda table: table.slice(0, 1999), "number-of-records-differs", {"records": 1999, "expected": 2000}),
        (lambda table: table.slice(0, 1), "number-of-records-differs", {"records": 1, "expected": 2000}),
        (lambda table: pa.concat_tables([table, table]), "number-of-records-differs", {"records": 4000}),
        (lambda table: table.drop_columns(["ill"]), "columns-changed", {}),
        (
            lambda table: table.set_column(0, "id", table["id"].dictionary_encode()),
            "wrong-type",
            {"column": "id", "promised": "string"},
        ),
    ],
)
def test_a_file_that_is_not_the_release_does_not_pass(tmp_path, change, code, data):
    source = saved(people(2000), tmp_path / "in.parquet")
    plan = Plan(
        k=3, input=str(source), output=str(tmp_path / "out.parquet"), engine="file", quasi=MASKED, publish="rest"
    )
    published = shoal.protect(plan=plan).published
    table = pq.read_table(published.partial)
    pq.write_table(change(table), published.partial)
    with refused(CheckFailed, code, **data):
        published.verify()
