"""Files that lie oddly: dictionaries that differ between row groups, strata in one piece, records in one place."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.expect import refused

import shoal
from shoal.backends.capabilities import LIMITS
from shoal.backends.file import run


@pytest.fixture
def protected(tmp_path):
    """Protect a Parquet file in memory and in pieces of a few records, and return both releases."""

    def protect(table: pa.Table | list[pa.Table], **options) -> tuple[pa.Table, pa.Table]:
        pieces = table if isinstance(table, list) else [table]
        source = tmp_path / "in.parquet"
        with pq.ParquetWriter(source, pieces[0].schema) as writer:
            for piece in pieces:
                writer.write_table(piece)
        options = {"k": 3, "method": "mdav", **options}
        memory = shoal.protect(source, engine="memory", **options)
        file = shoal.protect(source, engine="file", output=tmp_path / "out.parquet", **options)
        memory.save(tmp_path / "memory.parquet")
        file.save()
        return pq.read_table(tmp_path / "memory.parquet"), pq.read_table(tmp_path / "out.parquet")

    return protect


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(run, "_ROWS", 50)


def towns(names: list[str], n: int = 60) -> pa.Table:
    rng = np.random.default_rng(len(names))
    town = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(names), n), pa.int32()), pa.array(names))
    return pa.table({"town": town, "income": rng.lognormal(7, 1, n)})


def test_row_groups_with_other_dictionaries_are_one_column(protected):
    memory, file = protected([towns(["Ulm", "Bonn"]), towns(["Kiel", "Ulm", "Jena"])], quasi=["town", "income"])
    assert memory.equals(file)


def test_a_stratum_that_lies_in_one_piece_only(protected):
    rng = np.random.default_rng(1)
    region = np.repeat(["north", "south", "east"], [100, 7, 93])
    table = pa.table({"x": rng.normal(size=200), "y": rng.normal(size=200), "region": region})
    memory, file = protected(table, quasi=["x", "y"], strata=["region"], scale={"block_size": 40})
    assert memory.equals(file)


@pytest.mark.parametrize("crowd", [200, 190])
def test_records_that_all_lie_in_one_place_make_blocks_all_the_same(protected, crowd):
    rng = np.random.default_rng(2)
    x = np.concatenate([np.zeros(crowd), rng.normal(size=200 - crowd)])
    memory, file = protected(pa.table({"x": x, "y": -x}), quasi=["x", "y"], scale={"block_size": 40})
    assert memory.equals(file)


def test_a_type_that_changes_late_is_the_same_in_pieces(tmp_path, protected):
    lines = [*(str(i % 17) for i in range(300)), "2.5", "3"]
    (tmp_path / "in.csv").write_text("a,b\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(lines)))
    found = {}
    for engine in ("memory", "file"):
        release = shoal.protect(
            tmp_path / "in.csv", k=3, quasi=["a"], publish=["b"], engine=engine, output=tmp_path / f"{engine}.csv"
        )
        release.save()
        found[engine] = (tmp_path / f"{engine}.csv").read_bytes()
    assert found["memory"] == found["file"]


def test_text_after_many_numbers_is_refused_with_its_record(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(300)) + "unknown,3\n")
    for engine in ("memory", "file"):
        with pytest.raises(shoal.DataError, match=r"'a'.*record 301"):
            shoal.protect(
                tmp_path / "in.csv", k=3, quasi=["a"], publish=["b"], engine=engine, output=tmp_path / "out.csv"
            )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.csv"]


ASKING = {
    "method = 'mic1d'": {"method": "mic1d", "k": 30},
    "epsilon": {"epsilon": 1.0, "bounds": {"x": [0, 1]}},
    "bound = true": {"bound": True},
    "a budget in seconds": {"budget": "1s", "method": "best"},
    "method = 'ms'": {"method": "ms", "k": None, "confidential": ["y"], "alpha": 0.5},
    "keep_totals": {"keep_totals": ["y"], "publish": ["y"]},
    "seams = true": {"scale": {"seams": True, "block_size": 100}},
}


@pytest.mark.parametrize(
    ("limit", "engine"),
    [(limit, engine) for limit in LIMITS for engine in limit.engines],
    ids=lambda each: str(each)[:40],
)
def test_what_a_backend_does_not_have_is_refused_before_any_data_is_read(limit, engine, tmp_path):
    options = {"k": 3, "quasi": ["x"], **ASKING[limit.option]}
    having = [name for name in ("memory", "file", "spark") if name not in limit.engines]
    data = {"option": limit.option, "engine": engine, "reason": limit.reason, "instead": having[0]}
    with refused(shoal.PlanError, "not-on-engine", limit.field, **data, other=[*having, None][1]):
        shoal.protect(tmp_path / "nowhere.parquet", engine=engine, output=tmp_path / "out.parquet", **options)
