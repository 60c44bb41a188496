"""Releases in files: written whole or not at all, and the same again from their plan."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.expect import refused, reports

import shoal
from shoal.messages import Message
from shoal.tables.atomic import written_whole
from shoal.tables.private_folder import private_folder


@pytest.fixture
def survey(tmp_path):
    rng = np.random.default_rng(2)
    table = pa.table(
        {
            "name": [f"person {i}" for i in range(40)],
            "age": rng.integers(18, 90, 40),
            "income": rng.lognormal(10, 1, 40).round(2),
            "zip": [f"{i % 7:05}" for i in range(40)],
            "ill": rng.integers(0, 2, 40),
        }
    )
    pa.csv.write_csv(table, tmp_path / "survey.csv")
    pa.parquet.write_table(table, tmp_path / "survey.parquet")
    return tmp_path


ROLES = {"k": 4, "quasi": ["age", "income"], "confidential": ["ill"], "identifiers": ["name"]}


@pytest.mark.parametrize("source", ["survey.csv", "survey.parquet"])
@pytest.mark.parametrize("target", ["masked.csv", "masked.parquet", "masked.arrow"])
def test_the_saved_plan_gives_the_same_bytes_again(survey, source, target):
    shoal.protect(survey / source, publish="rest", **ROLES).save(survey / target)
    again = shoal.protect(plan=survey / f"{target}.plan.toml", publish="rest")
    again.save(survey / f"again-{target}")
    assert (survey / f"again-{target}").read_bytes() == (survey / target).read_bytes()
    assert shoal.check(survey / target, k=4, quasi=["age", "income"])["records"] == 40


def test_untouched_columns_of_a_csv_file_keep_their_spelling(tmp_path):
    (tmp_path / "in.csv").write_text("x;code;price;when\n1;007;1,50;2020-01-02\n2;01;2,00;\n3;1;,5;03/04/2020\n")
    shoal.protect(tmp_path / "in.csv", k=3, quasi=["x"], publish="rest").save(tmp_path / "out.csv")
    expected = "x;code;price;when\n2;007;1,50;2020-01-02\n2;01;2,00;\n2;1;,5;03/04/2020\n"
    assert (tmp_path / "out.csv").read_text() == expected


def test_a_tsv_file_has_tabs(survey):
    shoal.protect(survey / "survey.parquet", publish=["zip"], **ROLES).save(survey / "masked.tsv")
    assert (survey / "masked.tsv").read_text().startswith("age\tincome\tzip\till\n")


def test_a_file_that_fails_verification_is_never_published(survey, monkeypatch):
    release = shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES)

    def shuffled(table, path, kind):
        rows = [f"{row % 3},{row},{row:05},0" for row in range(40)]
        path.write_text("\n".join(["age,income,zip,ill", *rows]) + "\n")

    monkeypatch.setattr("shoal.pipeline.save.write_table", shuffled)
    before = set(os.listdir(survey))
    with pytest.raises(shoal.CheckFailed) as caught:
        release.save(survey / "masked.csv")
    assert reports(caught.value.failures, "group-below-k", k=4)
    assert reports(caught.value.failures, "not-as-released", column="zip")
    assert set(os.listdir(survey)) == before


def test_rows_out_of_order_fail_verification(survey):
    release = shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES)
    published = release.published
    upside_down = {name: release.table[name].combine_chunks()[::-1] for name in ("age", "income")}
    spoilt = published.original.publish(upside_down, drop=["name"])
    with pytest.raises(shoal.CheckFailed, match="outside the range"):
        dataclasses.replace(published, released=spoilt).verify()


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("taken.csv", "file-exists"),
        ("nowhere/masked.csv", "no-folder"),
        ("masked.doc", "unknown-extension"),
        ("folder.csv", "folder-named"),
        ("x" * 300 + ".csv", "bad-file-name"),
        ("nul\0.csv", "bad-file-name"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused_and_nothing_is_left(survey, target, code):
    (survey / "taken.csv").write_text("mine")
    (survey / "folder.csv").mkdir()
    before = {name: (survey / name).stat().st_mtime_ns for name in os.listdir(survey)}
    path = survey / target
    named = {} if code == "bad-file-name" else {"path": str(path.parent if code == "no-folder" else path)}
    with refused(shoal.FileError, code, **named):
        shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES).save(path)
    assert {name: (survey / name).stat().st_mtime_ns for name in os.listdir(survey)} == before


def test_the_input_is_not_overwritten_when_asked_to(survey):
    before = (survey / "survey.csv").stat().st_mtime_ns
    with refused(shoal.FileError, "output-is-input", path=str(survey / "survey.csv")):
        shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES).save(survey / "survey.csv", overwrite=True)
    assert (survey / "survey.csv").stat().st_mtime_ns == before


def test_a_file_of_a_release_that_exists_is_named_beside_it(survey):
    (survey / "masked.csv.plan.toml").touch()
    found = {"path": str(survey / "masked.csv.plan.toml"), "beside": str(survey / "masked.csv")}
    with refused(shoal.FileError, "file-exists", **found) as caught:
        shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES).save(survey / "masked.csv")
    assert ("--overwrite", None) in caught.value.messages[0].options


def test_an_error_on_a_private_file_names_the_file_that_was_asked_for(tmp_path):
    path, full = tmp_path / "out.csv", Message("disk-error", full=True)
    with (
        refused(shoal.FileError, "file-not-writable", path=str(path), reason=full),
        written_whole(path, False) as partial,
    ):
        raise shoal.FileError("file-not-writable", path=str(partial), reason=full)
    assert not any(tmp_path.iterdir())


def test_a_private_folder_that_cannot_be_erased_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    with pytest.raises(shoal.FileError) as caught, private_folder("work-", tmp_path) as folder:
        pass
    assert reports(caught.value.messages, "folder-not-erased", path=str(folder))


def test_the_input_is_safe_wherever_the_user_has_gone(survey, monkeypatch):
    monkeypatch.chdir(survey)
    release = shoal.protect("survey.csv", publish=["zip"], **ROLES)
    monkeypatch.chdir("/")
    with refused(shoal.FileError, "output-is-input", path=str(survey / "survey.csv")):
        release.save(survey / "survey.csv", overwrite=True)


def test_save_writes_to_the_plans_output(survey):
    shoal.protect(survey / "survey.csv", publish="rest", **ROLES, output=survey / "masked.csv").save()
    assert (survey / "masked.csv").exists()
    with refused(shoal.PlanError, "no-output", "output"):
        shoal.protect(survey / "survey.csv", publish="rest", **ROLES).save()


def test_overwriting_is_done_when_asked_for(survey):
    release = shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES)
    release.save(survey / "masked.csv")
    with refused(shoal.FileError, "file-exists", path=str(survey / "masked.csv"), beside=None):
        release.save(survey / "masked.csv")
    release.save(survey / "masked.csv", overwrite=True)


def test_the_published_file_has_the_users_usual_permissions(survey):
    shoal.protect(survey / "survey.csv", publish=["zip"], **ROLES).save(survey / "masked.csv")
    mask = os.umask(0)
    os.umask(mask)
    assert (survey / "masked.csv").stat().st_mode & 0o777 == 0o666 & ~mask


WRITER = """
import signal, sys, pyarrow as pa, shoal, shoal.pipeline.save as saving
write = saving.write_table
def slowly(table, path, kind):
    write(table, path, kind)
    print("written", flush=True)
    signal.pause()
saving.write_table = slowly
shoal.protect(pa.table({"a": [1.0, 2, 3, 4]}), k=2).save(sys.argv[1])
"""


def test_kill_9_in_the_middle_of_a_write_leaves_no_file_under_the_final_name(tmp_path):
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "masked.csv")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "written\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    left = sorted(path.name.partition("-")[0] for path in tmp_path.iterdir())
    assert left == [".masked", ".masked.csv.manifest", ".masked.csv.plan"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("moment", [1, *(pytest.param(later, marks=pytest.mark.slow) for later in (0, 3))])
def test_kill_9_at_any_moment_leaves_a_whole_file_or_none(tmp_path, moment):
    table = pa.table({"a": np.random.default_rng(0).normal(size=200_000)})
    pa.parquet.write_table(table, tmp_path / "in.parquet")
    code = f"import shoal; shoal.protect({str(tmp_path / 'in.parquet')!r}, k=3).save({str(tmp_path / 'out.csv')!r})"
    writer = subprocess.Popen([sys.executable, "-c", code])
    while writer.poll() is None and not list(tmp_path.glob(".out-*")):
        time.sleep(0.001)
    time.sleep(0.02 * moment)
    writer.kill()
    writer.wait()
    if (tmp_path / "out.csv").exists():
        assert shoal.check(tmp_path / "out.csv", k=3)["records"] == 200_000
