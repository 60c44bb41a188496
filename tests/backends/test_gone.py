"""Nothing of those who are gone: no file holds a category, label or note of a record that is not published."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from tests.expect import refused

import shoal
from shoal.errors import CheckFailed
from shoal.plan import Plan
from shoal.release import protect_file
from shoal.tables import Table, write_table
from shoal.tables.stat.labels import Labels, labels_of, with_labels
from shoal.tables.storage import Kind

GONE = "Zyxwvut"  # begins every category that nobody publishes
KINDS: dict[str, Kind] = {
    "csv": "csv",
    "parquet": "parquet",
    "arrow": "arrow",
    "feather": "arrow",
    "xlsx": "excel",
    "xml": "xml",
    "sav": "sav",
    "zsav": "zsav",
    "por": "por",
    "dta": "dta",
    "xpt": "xpt",
}
ROLES = {
    "k": 3,
    "quasi": ["AGE", "TOWN", "GRADE"],
    "confidential": ["ILLNESS"],
    "publish": ["REGION", "CODE"],
    "strata": ["SITE"],
    "t": 0.9,
    "small_strata": "suppress",
    "missing": "suppress",
    "edits": ["AGE >= 0"],
    "edits_original": "exclude",
}
WORDS = {"TOWN": "Ulm", "GRADE": "low high", "ILLNESS": "flu cold", "REGION": "north south", "SITE": "one two"}


def people(n=60):
    """Records of which 7, 8 and 9 are left out for three reasons; masking replaces the rare values of 11."""
    rng = np.random.default_rng(5)
    age = [float(value) for value in rng.integers(20, 60, n)]
    words = {name: rng.choice(known.split(), n).astype(object) for name, known in WORDS.items()}
    code = rng.integers(1, 3, n)
    for record in (7, 8, 9):
        for name, values in words.items():
            if name != "SITE" or record == 9:
                values[record] = f"{GONE}{record}"
        code[record] = record
    age[7], age[8] = None, -5.0
    words["TOWN"][11] = words["GRADE"][11] = f"{GONE}m"
    columns = {"AGE": pa.array(age), "CODE": pa.array(code)}
    for name, values in words.items():
        levels = [f"{GONE}{record}" for record in (9, "m", 7, 8)] + WORDS[name].split()
        places = pa.array([levels.index(value) for value in values], pa.int8())
        columns[name] = pa.DictionaryArray.from_arrays(places, levels, ordered=name in ("GRADE", "ILLNESS"))
    table = pa.table(columns)
    labels = Labels("Code", {1.0: "yes", 2.0: "no", 7.0: GONE, 8.0: GONE, 9.0: GONE}, ((7.0, 8.0), (9.0, 9.0)))
    noted = table.schema.field("CODE").with_metadata({"note": GONE})
    return pa.table(table.columns, schema=table.schema.set(1, with_labels(noted, labels))).replace_schema_metadata(
        {"geo": GONE}
    )


def texts(path: Path) -> bytes:
    """All that a file, or a folder of files, holds: as it is, and without its compression."""
    if path.is_dir():
        return b"".join(texts(each) for each in path.iterdir() if each.suffix in (".parquet", ".csv"))
    found = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            found += b"".join(archive.read(name) for name in archive.namelist())
    if path.suffix in (".parquet", ".arrow", ".feather"):
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            found += repr(pq.read_metadata(path).metadata).encode()
        else:
            table = pa.ipc.open_file(path).read_all()
        with pa.ipc.new_stream(sink := pa.BufferOutputStream(), table.schema) as writer:
            writer.write_table(table)
        found += sink.getvalue().to_pybytes()
    if path.suffix == ".zsav":
        rows, said = pyreadstat.read_sav(path)
        found += (str(rows) + str(vars(said))).encode()
    return found


def holds(path: Path) -> bool:
    found = texts(path)
    return GONE.encode() in found or GONE.encode("utf-16-le") in found


@pytest.fixture(scope="module")
def release():
    return shoal.protect(people(), **ROLES)


@pytest.mark.parametrize("ending", KINDS)
def test_no_file_holds_a_category_of_a_record_that_is_gone(release, ending, tmp_path):
    path = tmp_path / f"people.{ending}"
    write_table(Table(people()), path, KINDS[ending])
    assert holds(path)  # so that it would be found
    release.save(tmp_path / f"masked.{ending}")
    assert not any(holds(each) for each in tmp_path.glob("masked.*"))


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("source", ["parquet", "arrow"])
def test_no_file_in_pieces_holds_a_category_of_a_record_that_is_gone(release, source, ending, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.backends.file.run._ROWS", 16)
    path, output = tmp_path / f"people.{source}", tmp_path / f"masked.{ending}"
    write_table(Table(people()), path, KINDS[source])
    protect_file(Plan(**ROLES, engine="file", input=str(path), output=str(output)))
    assert not any(holds(each) for each in tmp_path.glob("masked.*"))
    if ending != "csv":
        in_memory = tmp_path / f"memory.{ending}"
        release.save(in_memory)
        one, two = (pq.read_table(each) if ending == "parquet" else _arrow(each) for each in (output, in_memory))
        assert one.schema.equals(two.schema, check_metadata=True)
        for name in WORDS:
            assert one[name].chunk(0).dictionary.to_pylist() == two[name].chunk(0).dictionary.to_pylist()


def _arrow(path):
    return pa.ipc.open_file(path).read_all()


@pytest.mark.slow
def test_no_file_of_spark_holds_a_category_of_a_record_that_is_gone(spark, tmp_path):
    table = people().to_pandas().drop(columns="CODE").astype(dict.fromkeys(WORDS, str))
    df = spark.createDataFrame(table.astype({"AGE": object}).where(table.notna(), None))
    for name in WORDS:
        df = df.withMetadata(name, {"ml_attr": {"vals": [GONE]}})
    levels = {"GRADE": ["low", *(f"{GONE}{record}" for record in ("m", 7, 8, 9)), "high"]}
    release = shoal.protect(df, **{**ROLES, "publish": ["REGION"], "levels": levels})
    for ending in ("csv", "parquet"):
        release.save(tmp_path / f"masked.{ending}")
        assert not holds(tmp_path / f"masked.{ending}")


def test_labels_in_use_stay(release, tmp_path):
    release.save(tmp_path / "masked.sav")
    labels = labels_of(shoal.tables.open_table(tmp_path / "masked.sav").native.schema.field("CODE"))
    assert (labels.label, labels.values, labels.missing) == ("Code", {1.0: "yes", 2.0: "no"}, ())


@pytest.mark.parametrize("of", ["pandas", "polars"])
def test_no_dataframe_lists_a_category_of_a_record_that_is_gone(of):
    frame = people().to_pandas()
    frame.attrs["source"] = GONE
    if of == "polars":
        levels = {name: frame[name].cat.categories.tolist() for name in WORDS}
        frame = pl.from_pandas(frame).cast({name: pl.Enum(levels[name]) for name in WORDS})
    table = shoal.protect(frame, **ROLES).table
    listed = {
        name: table[name].dtype.categories.tolist() if of == "pandas" else table[name].dtype.categories.to_list()
        for name in WORDS
    }
    assert listed == {name: known.split() for name, known in WORDS.items()}
    if of == "pandas":
        assert table.attrs == {}
        assert isinstance(table["GRADE"].dtype, pd.CategoricalDtype)
        assert table["GRADE"].cat.ordered


@pytest.mark.parametrize("ending", ["parquet", "arrow", "sav", "dta"])
def test_a_file_that_lists_what_no_record_has_is_refused(release, ending, tmp_path, monkeypatch):
    def careless(table, path, kind):
        arrow = table.to_arrow()
        column = arrow["REGION"].combine_chunks()
        levels = pa.concat_arrays([column.dictionary, pa.array([GONE], column.dictionary.type)])
        more = pa.DictionaryArray.from_arrays(column.indices, levels)
        at = arrow.column_names.index("REGION")
        write_table(Table(arrow.set_column(at, "REGION", more)), path, kind)

    monkeypatch.setattr("shoal.pipeline.save.write_table", careless)
    with refused(CheckFailed, "unused-level", column="REGION"):
        release.save(tmp_path / f"masked.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_the_label_of_a_file_is_not_published(ending, tmp_path):
    frame = people().to_pandas()[["AGE", "CODE"]].dropna()
    write = pyreadstat.write_sav if ending == "sav" else pyreadstat.write_dta
    write(frame, tmp_path / f"in.{ending}", file_label=GONE)
    assert holds(tmp_path / f"in.{ending}")
    release = shoal.protect(tmp_path / f"in.{ending}", k=3, quasi=["AGE"], publish=["CODE"])
    for out in (ending, "arrow", "parquet"):
        release.save(tmp_path / f"masked.{out}")
        assert not holds(tmp_path / f"masked.{out}")
