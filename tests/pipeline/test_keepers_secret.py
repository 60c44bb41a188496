"""One secret of the keeper for all releases: a second release of the same data is no second sample."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.expect import refused, reports

import shoal
from hybrid_samples import HYBRID, MS, people
from shoal.pipeline.keeper import group_bits, keepers_secret, record_bits

MIXED = {**HYBRID, "confidential": ["income", "debt", "ill"], "publish": "rest"}
NOISY = {**MS, "publish": "rest"}


@pytest.fixture
def secret(tmp_path, monkeypatch):
    """The file of a new secret."""
    monkeypatch.setenv("SHOAL_SECRET", str(tmp_path / "kept" / "secret"))
    return tmp_path / "kept" / "secret"


def other_secret(path):
    path.unlink()
    return keepers_secret()[1]


def test_the_secret_is_made_once_and_for_its_owner_alone(secret):
    first, created = keepers_secret()
    assert created
    assert secret.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
    assert keepers_secret() == (first, False)
    assert other_secret(secret)
    assert keepers_secret()[0] != first


def test_without_a_variable_the_secret_is_among_the_settings_of_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_SECRET")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    keepers_secret()
    assert (tmp_path / ".config" / "shoal" / "secret").exists()


@pytest.mark.parametrize("text", ["", "abc", "zz" * 32, "ab" * 31])
def test_a_file_that_holds_no_secret_is_refused_without_its_text(secret, text):
    secret.parent.mkdir()
    secret.write_text(text)
    secret.chmod(0o600)
    with pytest.raises(shoal.ShoalError, match=r"holds something else.*SHOAL_SECRET") as caught:
        keepers_secret()
    assert not text or text not in str(caught.value)


def test_a_folder_is_no_file_of_the_secret(secret):
    secret.mkdir(parents=True, mode=0o755)
    with refused(shoal.FileError, "secret-unusable", folder=True):
        keepers_secret()


def test_ms_warns_that_another_alpha_is_a_second_sample(secret):
    release = shoal.protect(people(), publish="rest", **MS)
    found = [note for note in release.notes if note.code == "second-sample"]
    assert [note.severity for note in found] == ["warning"]


def test_a_secret_that_others_can_read_or_nobody_can_write_is_refused(secret, monkeypatch):
    keepers_secret()
    secret.chmod(0o644)
    with refused(shoal.FileError, "secret-readable-by-others"):
        keepers_secret()
    monkeypatch.setenv("SHOAL_SECRET", os.devnull + "/secret")
    with refused(shoal.FileError, "secret-unusable"):
        keepers_secret()
    monkeypatch.delenv("SHOAL_SECRET")
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with refused(shoal.FileError, "no-home-for-secret"):
        keepers_secret()


def pairs(release):
    return sorted(zip(release.table["income"].to_pylist(), release.table["debt"].to_pylist(), strict=True))


@pytest.mark.parametrize("asked", [MIXED, {**MIXED, "ipso": "orthogonal"}, NOISY])
def test_the_same_data_give_the_same_values_in_any_format_order_and_list(asked, tmp_path):
    table = people()
    release = shoal.protect(table, **asked)
    pa.csv.write_csv(table, tmp_path / "in.csv")
    turned = {**asked, "confidential": asked["confidential"][::-1], "publish": "rest"}
    for again in (
        shoal.protect(tmp_path / "in.csv", **asked),
        shoal.protect(table.take(np.arange(len(table))[::-1]), **asked),
        shoal.protect(table, **(turned if asked is NOISY else {**asked, "publish": ["town", "children"]})),
        shoal.protect(table.cast(pa.schema([*table.schema.set(1, pa.field("age", pa.float64()))])), **asked),
    ):
        rows = pa.Table.from_pydict({name: list(again.table[name]) for name in ("income", "debt")})
        assert sorted(map(str, rows.to_pylist())) == sorted(
            map(str, release.table.select(["income", "debt"]).to_pylist())
        )


def test_noise_does_not_depend_on_how_records_are_divided(tmp_path):
    pq.write_table(people(2000), tmp_path / "in.parquet")
    whole, divided = (
        shoal.protect(tmp_path / "in.parquet", **NOISY, **options)
        for options in ({}, {"engine": "file", "output": tmp_path / "out.parquet", "scale": {"block_size": 300}})
    )
    divided.save()
    published = pq.read_table(tmp_path / "out.parquet")
    assert published["income"].to_pylist() == whole.table["income"].to_pylist()


def test_another_alpha_shares_no_noise_from_which_originals_could_be_solved():
    # With the same noise e, x1 = f + a1 r + s1 e and x2 = f + a2 r + s2 e are two equations for r and e.
    table = people(400)
    one, two = (shoal.protect(table, **{**NOISY, "alpha": alpha}).table["debt"].to_numpy() for alpha in (0.0, 0.1))
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.4
    quasi = shoal.protect(table, **{**NOISY, "alpha": 0.0, "quasi": ["age"]}).table["debt"].to_numpy()
    assert abs(np.corrcoef(one, quasi)[0, 1]) < 0.4


def test_random_numbers_are_even_and_equal_records_have_their_own():
    rows = np.repeat([[1.0, np.nan], [2.0, -0.0]], [500, 500], axis=0)
    bits = record_bits(b"s", rows, 3)
    assert len(np.unique(bits)) == 3000
    assert abs((bits >> np.uint64(63)).mean() - 0.5) < 0.05
    np.testing.assert_array_equal(record_bits(b"s", np.abs(rows), 3), bits)
    assert not np.intersect1d(record_bits(b"t", rows, 3), bits).size


def test_another_member_gives_other_numbers_to_a_whole_group():
    members = np.arange(8.0).reshape(4, 2)
    bits = group_bits(b"s", members, 3)
    assert len(np.unique(bits)) == 12
    assert not np.intersect1d(group_bits(b"s", members[:3], 3), bits).size
    assert not np.intersect1d(group_bits(b"s", members[:, :1], 3), bits).size
    np.testing.assert_array_equal(group_bits(b"s", members * -1 + 0.0, 3), group_bits(b"s", -members, 3))


@pytest.mark.parametrize("asked", [MIXED, NOISY])
def test_no_release_plan_manifest_report_or_note_holds_the_secret(asked, secret, tmp_path):
    release = shoal.protect(people(), **asked)
    assert reports(release.notes, "secret-created")
    release.save(tmp_path / "out.csv")
    text = "".join(path.read_text() for path in tmp_path.iterdir() if path.is_file())
    text += json.dumps(release.summary()) + repr(release) + repr(release.published.masker)
    value = secret.read_text().strip()
    assert value not in text
    assert str(bytes.fromhex(value))[2:-1] not in text
    assert str(secret) not in text
    assert release.published.masker.hybrid.secret is None


# The attack of repeated releases: residuals that avoid the original give it away as the direction that they have least.


def least_direction(published, size):
    """Return the direction that the residuals of one group have least in, over several releases."""
    residuals = [each - each.mean() for each in published]
    basis = np.linalg.svd(np.ones((1, size)))[2][1:]
    products = sum(np.outer(basis @ each, basis @ each) for each in residuals)
    return np.linalg.eigh(products)[1][:, 0] @ basis


def recovered(original, releases, groups):
    """Share of values that an intruder who knows the groups finds to within 1 %, with the better of two signs."""
    found = 0
    for g in np.unique(groups):
        members = groups == g
        published = [each[members] for each in releases]
        direction = least_direction(published, members.sum()) * np.linalg.norm(published[0] - published[0].mean())
        guesses = [published[0].mean() + sign * direction for sign in (1, -1)]
        found += max((np.abs(guess / original[members] - 1) <= 0.01).sum() for guess in guesses)
    return found / len(original)


def repeated(tmp_path, x, k, releases):
    """Share of values recovered from so many releases of the same data, and from one; each release is the same."""
    table = pa.table({"x": x})
    pa.csv.write_csv(table, tmp_path / "in.csv")
    pq.write_table(table, tmp_path / "in.parquet")
    sources = [table, tmp_path / "in.csv", tmp_path / "in.parquet", table.to_pandas()]
    made = [shoal.protect(sources[r % 4], k=k, method="hybrid", confidential=["x"]) for r in range(releases)]
    values = [np.asarray(release.table["x"], dtype=float) for release in made]
    assert len(np.unique(values, axis=0)) == 1
    return recovered(x, values, made[0].groups), recovered(x, values[:1], made[0].groups)


# Of one release, most directions have nothing: which of them the attack takes is chance. Its share of 200 values has a
# standard deviation of 0.04, so that the mean difference of ten tables has one of 0.02: three of them are allowed.
@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("count", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_repeated_releases_recover_no_more_than_one(k, count, tmp_path):
    tables = [np.random.default_rng([k, at]).lognormal(8, 1, 200).round(2) for at in range(10)]
    repeatedly, once = np.mean([repeated(tmp_path, x, k, count) for x in tables], axis=0)
    assert repeatedly <= once + 0.06


def unmixed(published, table, alpha):
    """Solve for the original: the regression is preserved, and what is left is alpha of the residual, and noise."""
    Y = np.column_stack([np.ones(len(table)), table["age"].to_numpy(), table["height"].to_numpy()])
    fitted = Y @ np.linalg.lstsq(Y, published, rcond=None)[0]
    return fitted + (published - fitted) / alpha


def test_averages_of_repeated_noise_are_no_better_than_one_release_of_the_keeper():
    table, R = people(300), 20
    truth = table["debt"].to_numpy()
    keeper, fresh = (
        [shoal.protect(table, **NOISY, **({"seed": r} if seeded else {})).table["debt"].to_numpy() for r in range(R)]
        for seeded in (False, True)
    )
    alone, kept, averaged = (
        np.corrcoef(unmixed(np.mean(each, axis=0), table, 0.4), truth)[0, 1] for each in (keeper[:1], keeper, fresh)
    )
    assert kept == pytest.approx(alone)
    assert averaged > 0.85 > 0.6 > alone  # so fresh noise would give originals away


def test_columns_released_unchanged_that_give_an_original_away_are_refused():
    table = people(200)
    table = table.append_column("half", [table["income"].to_numpy() / 2])
    table = table.append_column("rest", [table["income"].to_numpy() - table["children"].to_numpy()])
    for asked in (MIXED, NOISY):
        for leak in (["half"], ["rest", "children"]):
            dropped = [name for name in ("name", "half", "rest") if name not in leak]
            with refused(shoal.DataError, "original-computable", column="income", records=200):
                shoal.protect(table, **{**asked, "identifiers": dropped})
        shoal.protect(table, **{**asked, "identifiers": ["name", "half", "rest"]})


def test_negative_values_of_what_never_was_are_told_with_the_way_out():
    asked = {**HYBRID, "publish": "rest", "identifiers": ["name"]}
    assert reports(shoal.protect(people(), **asked).notes, "newly-negative", column="debt")
    notes = shoal.protect(people(), **asked, constraints={"debt": "non-negative"}).notes
    assert not reports(notes, "newly-negative", column="debt")
