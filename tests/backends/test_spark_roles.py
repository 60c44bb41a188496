"""The proposals for a Spark DataFrame are those for a table in memory."""

import pyarrow as pa
from test_file_roles import PEOPLE

import shoal


def test_a_spark_dataframe_gives_the_same_proposals(spark):
    df = spark.createDataFrame(PEOPLE.to_pandas()).repartition(3)
    found = shoal.roles(df)
    assert found.records == 900
    expected = shoal.roles(PEOPLE)
    assert [each._replace(shape="") for each in found] == [each._replace(shape="") for each in expected]


def test_declared_codes_are_missing_on_spark_as_in_memory(spark):
    table = pa.table({"income": [1200, 999999, 1300, 999999, 1250, 1400], "note": ["a", "-9", "b", "-9 ", "c", "d"]})
    plan = {"k": 2, "quasi": ["income"], "confidential": ["note"], "missing": "group"}
    codes = {"income": [999999], "note": [-9]}
    found = shoal.protect(spark.createDataFrame(table.to_pandas()), **plan, missing_codes=codes)
    expected = shoal.protect(table, **plan, missing_codes=codes)
    assert sorted(map(str, found.table.toPandas()["note"].isna())) == ["False"] * 4 + ["True"] * 2
    assert sorted(found.table.toPandas()["income"].dropna()) == sorted(expected.table["income"].drop_null().to_pylist())
