"""Spark keeps rules: its release is that of the file backend, record by record."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from tests.backends.backend_samples import RULED, RULES, broken_rules, firms
from tests.backends.test_file_edits import spoiled
from tests.backends.test_spark import protect_files
from tests.expect import refused, reports

import shoal.spark
from shoal.edits.passes import Broken
from shoal.errors import CheckFailed, DataError
from shoal.messages import Message
from shoal.plan import Plan
from shoal.release import protect_file

PLAN = Plan(k=3, quasi=RULED, identifiers="id", publish="rest", edits=RULES, scale={"block_size": 250})


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.slow
def test_the_release_is_that_of_the_file_backend_and_breaks_no_rule(spark, tmp_path):
    pq.write_table(firms(900), tmp_path / "in.parquet")
    plan = PLAN.updated(input=tmp_path / "in.parquet", output=tmp_path / "local.parquet")
    local = protect_file(plan)
    spread = protect_files(plan.updated(output=tmp_path / "spark.parquet"))
    one, two = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("local", "spark"))
    assert rows(one) == rows(two)
    assert not any(broken_rules(two).values())
    assert spread.summary()["edits"] == local.summary()["edits"]
    assert spread.summary()["blocking"]["blocks"] == local.blocking.blocks > 4
    assert spread.plan.aggregate == local.plan.aggregate


@pytest.mark.slow
def test_originals_that_break_rules_are_refused_or_kept(spark):
    df = spark.createDataFrame(spoiled(firms(800)))
    broken = [Message("rule-broken", rule=rule, records=n, first=None) for rule, n in (("sum", 2), ("capped", 1))]
    with refused(DataError, "original-breaks-rules", broken=broken):
        shoal.spark.protect(df, PLAN)
    excluded = shoal.spark.protect(df, PLAN, edits_original="exclude")
    assert (excluded.suppressed, excluded.table.count()) == (3, 797)
    assert not any(broken_rules(excluded.table.toArrow()).values())
    release = shoal.spark.protect(df, PLAN, edits_original="keep")
    found = broken_rules(release.table.toArrow())
    assert 0 < found["sum"] < 20
    assert 0 < found["capped"] < 10
    assert reports(release.notes, "records-kept-that-break-rules", records=3, broken=broken)
    unexcused = release.published.masked.withColumn("b0", F.lit(True))  # in all records: few groups have an excuse
    with refused(CheckFailed, "release-breaks-rule", rule="sum", medoid=True) as caught:
        replace(release.published, masked=unexcused).verify()
    [records] = [each.data["records"] for each in caught.value.failures if each.data.get("rule") == "sum"]
    assert 700 <= records < 800
    release.published.masked.unpersist()


@pytest.mark.slow
def test_a_release_that_breaks_a_rule_is_noticed(spark):
    df = spark.createDataFrame(firms(300))
    published = shoal.spark.protect(df, PLAN).published
    found = replace(published, broken=Broken({3: (7, None)}))  # as blocks would report it
    with refused(CheckFailed, "release-breaks-rule", rule="domain", records=7, medoid=True):
        found.verify()
    published.masked.unpersist()


def test_what_rules_part_off_is_refused(spark):
    df = spark.createDataFrame(firms(300))
    rule = "few: if size == 's' and region == 'east' and wages < 300 then cap >= 0"
    with refused(DataError, "small-parts", rules=["few"], k=9):
        shoal.spark.protect(df, PLAN, k=9, edits=[rule])
