"""The same answer everywhere: however many cores, in pieces of any size, by either engine, in any order of rows."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.golden.cases import CASES, RECORDS, answer, table
from tests.golden.test_golden import assert_golden
from tests.samples import diagonal

import shoal
from shoal.backends.file import run as local
from shoal.plan import Plan
from shoal.tables.csv import pieces as csv_source

NUMBERS = ["income", "hours", "height"]
MIXED = ["income", "hours", "town", "born"]


def released(records: pa.Table, name: str) -> shoal.Release:
    return shoal.protect(records, publish="rest", **{**({} if name == "ms" else {"k": 3}), **CASES[name]})


def streamed(source: Path, output: Path, **options) -> bytes:
    """Protect a file in passes over it; return the bytes of the release."""
    plan = Plan(
        **{"k": 3, "quasi": MIXED, "publish": "rest", "scale": {"block_size": 100, "memory": "400MB"}, **options}
    )
    shoal.protect_file(plan.updated(input=str(source), output=str(output)), overwrite=True)
    return output.read_bytes()


def written(folder: Path, kind: str, records: int = 900) -> Path:
    path = folder / f"in.{kind}"
    columns = table(records).select([*NUMBERS, "town", "born", "age"])
    pq.write_table(columns, path, row_group_size=128) if kind == "parquet" else pyarrow.csv.write_csv(columns, path)
    return path


@pytest.mark.parametrize(("name", "cores"), diagonal([*CASES], [1, 7]))
def test_the_number_of_cores_does_not_matter(monkeypatch, name, cores):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert_golden(name, answer(name))


def test_the_number_of_cores_does_not_matter_to_blocks_and_proofs(monkeypatch):
    found = []
    for cores in (1, 2, 7):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        records = table(900)
        blocks = [
            shoal.protect(
                records, k=3, quasi=quasi, publish="rest", scale={"block_size": 100, "seams": quasi == NUMBERS}
            ).table
            for quasi in (NUMBERS, MIXED)
        ]
        proved = shoal.protect(table(60), k=3, quasi=NUMBERS, publish="rest", method="best", budget=3000, bound=True)
        found.append((blocks, proved.groups.tolist(), proved.certificate.bound))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_neither_cores_nor_the_size_of_pieces_matter_to_a_file(monkeypatch, tmp_path, kind):
    source, output = written(tmp_path, kind), tmp_path / f"out.{kind}"
    found = streamed(source, output)
    for cores, rows in ((1, 64), (7, 333)):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(local, "_ROWS", rows)
        monkeypatch.setattr(csv_source, "_PIECE", 1 << 12)
        if kind == "csv":
            assert streamed(source, output) == found
        else:  # a file of Parquet shows in its row groups how it was written
            before, after = (
                pq.read_table(pa.BufferReader(found)),
                pq.read_table(pa.BufferReader(streamed(source, output))),
            )
            assert after.equals(before)


@pytest.mark.parametrize("quasi", [NUMBERS, MIXED])
def test_both_engines_publish_the_same(tmp_path, quasi):
    source = written(tmp_path, "parquet", 300)
    streamed(source, tmp_path / "out.parquet", quasi=quasi, scale={"block_size": 300})
    whole = shoal.protect(pq.read_table(source), k=3, quasi=quasi, publish="rest", method="mdav").table
    published = pq.read_table(tmp_path / "out.parquet")
    for name in whole.column_names:
        one, two = published.column(name).to_pylist(), whole.column(name).to_pylist()
        assert one == two, name


@pytest.mark.parametrize(("name", "seed"), diagonal([*CASES], [1, 2]))
def test_another_order_of_rows_gives_the_same_release_in_that_order(name, seed):
    records = table(RECORDS.get(name, 60))
    order = np.random.default_rng(seed).permutation(len(records))
    one, other = released(records, name), released(records.take(order), name)
    assert other.table.equals(one.table.take(order))
    for labels, shuffled in zip(one.partitions, other.partitions, strict=True):
        pairs = set(zip(labels[order].tolist(), shuffled.tolist(), strict=True))
        assert len(pairs) == len(set(labels.tolist())) == len(set(shuffled.tolist()))
