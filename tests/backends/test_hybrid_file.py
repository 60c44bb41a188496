"""Hybrid data of files larger than memory: moments of every group, refusals counted over all blocks, the secret."""

import signal
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.backends.test_resume import start
from tests.expect import refused, reports

import shoal
from hybrid_samples import HYBRID, MS, columns, deviations, people
from shoal.pipeline import hybrid
from shoal.pipeline.keeper import keepers_secret
from shoal.plan import Plan

SCALE = {"block_size": 200}


def in_pieces(table, folder, **options):
    source, output = folder / "in.parquet", folder / "out.parquet"
    pq.write_table(table, source)
    asked = {**HYBRID, "publish": "rest", "scale": SCALE, **options}
    release = shoal.protect(source, engine="file", output=output, **asked)
    release.save()
    return release, pq.read_table(output), shoal.protect(source, engine="memory", **asked)


@pytest.mark.parametrize("strata", [None, ["town"]])
def test_means_and_covariances_are_kept_in_every_group_of_every_block(tmp_path, strata):
    table = people(2000)
    release, published, in_memory = in_pieces(table, tmp_path, strata=strata, seed=3)
    assert release.blocking.blocks > 5
    names = ["income", "debt", "age", "height"]
    V, W = columns(table, names), columns(published, names)
    assert published.equals(in_memory.table)
    for members in (np.flatnonzero(in_memory.groups == g) for g in np.unique(in_memory.groups)):
        assert deviations(V[members], W[members], 2) < 1e-9
    assert deviations(V, W, 2) < 1e-9
    assert release.summary()["hybrid"] == {
        "groups": in_memory.summary()["hybrid"]["groups"],
        "constraints": {},
        "dealt": [],
    }
    assert "preserved" in in_memory.summary()["hybrid"]


def noisy_in_pieces(table, folder, **options):
    return in_pieces(table, folder, **{"k": None, **MS, **options})


def test_noise_of_many_blocks_keeps_means_and_covariances_in_the_file(tmp_path):
    table = people(2000)
    release, published, in_memory = noisy_in_pieces(table, tmp_path, seed=3)
    assert release.blocking.blocks > 5
    names = ["income", "debt", "age", "height"]
    assert deviations(columns(table, names), columns(published, names), 2) < 1e-12
    assert published.equals(in_memory.table)
    assert release.summary()["hybrid"]["groups"] == {"count": 1, "smallest": 2000, "largest": 2000}
    assert set(in_memory.groups) == {0}


def test_records_that_are_equal_get_noise_of_their_own(tmp_path):
    table = pa.table({"x": np.repeat([1.0, 2.0, 5.0], 300)})
    _, published, in_memory = noisy_in_pieces(table, tmp_path, quasi=None, confidential=["x"], identifiers=[], seed=3)
    assert len(set(published["x"].to_pylist())) == 900
    assert published.equals(in_memory.table)
    assert deviations(columns(table, ["x"]), columns(published, ["x"]), 1) < 1e-12


def test_noise_that_does_not_keep_what_it_claims_is_not_published(tmp_path, monkeypatch):
    real = hybrid.mix
    monkeypatch.setattr(hybrid, "mix", lambda *given: replace(real(*given), noise=1.001 * real(*given).noise))
    with refused(shoal.CheckFailed, "covariance-not-kept", column="income", other="income"):
        noisy_in_pieces(people(900), tmp_path)
    assert not (tmp_path / "out.parquet").exists()


def test_a_constant_attribute_is_one_group_that_shares_it_however_many_blocks_there_are(tmp_path):
    table = people(900).append_column("same", pa.array(np.full(900, 7.5)))
    release, published, _ = noisy_in_pieces(table, tmp_path, confidential=["income", "same"])
    assert published["same"].to_pylist() == [7.5] * 900
    assert reports(release.notes, "same-in-groups", column="same", groups=1)


def test_what_would_be_published_as_it_is_is_counted_over_all_blocks(tmp_path):
    table = people(900)
    total = columns(table, ["age", "height"]).sum(axis=1)
    table = table.append_column("total", pa.array(total))
    with refused(shoal.DataError, "unchanged-by-quasi", column="total", records=900):
        in_pieces(table, tmp_path, confidential=["income", "total"])
    with refused(shoal.DataError, "constraint-broken-before", column="income", records=900):
        in_pieces(table, tmp_path, constraints={"income": "integer"})


def test_a_block_that_does_not_keep_what_it_claims_is_not_published(tmp_path, monkeypatch):
    real = hybrid.microhybrid

    def spoilt(*arguments, **options):
        result = real(*arguments, **options)
        return result._replace(values=result.values * 1.001)

    monkeypatch.setattr(hybrid, "microhybrid", spoilt)
    with refused(shoal.CheckFailed, "mean-not-kept", column="income", group=True):
        in_pieces(people(900), tmp_path)
    assert not (tmp_path / "out.parquet").exists()


def test_a_run_that_resumes_draws_the_same_random_numbers_and_keeps_no_secret(tmp_path):
    pq.write_table(people(3000), tmp_path / "in.parquet")
    asked = Plan(**HYBRID, publish="rest", scale=SCALE, engine="file", input=str(tmp_path / "in.parquet"))
    plan = tmp_path / "plan.toml"
    plan.write_text(asked.updated(output=str(tmp_path / "out.parquet")).to_toml(tmp_path))
    assert start(plan, "fresh", "block", 5).wait() == -signal.SIGKILL
    secret, created = keepers_secret()
    assert not created
    kept = b"".join(path.read_bytes() for path in (tmp_path / ".out.parquet.shoal").rglob("*") if path.is_file())
    assert secret not in kept
    assert secret.hex().encode() not in kept
    shoal.protect_file(Plan.load(plan), resume=True)
    assert not (tmp_path / ".out.parquet.shoal").exists()
    again = shoal.protect(tmp_path / "in.parquet", **HYBRID, publish="rest", scale=SCALE, engine="memory")
    assert again.table.equals(pq.read_table(tmp_path / "out.parquet"))
