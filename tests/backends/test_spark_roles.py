"""The proposals for a Spark DataFrame are those for a table in memory."""

from test_file_roles import PEOPLE

import shoal


def test_a_spark_dataframe_gives_the_same_proposals(spark):
    df = spark.createDataFrame(PEOPLE.to_pandas()).repartition(3)
    found = shoal.roles(df)
    assert found.records == 900
    expected = shoal.roles(PEOPLE)
    assert [each._replace(shape="") for each in found] == [each._replace(shape="") for each in expected]
