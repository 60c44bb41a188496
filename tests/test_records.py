"""Records: what is listed is what the labels give, and what is wrong is found."""

import hashlib
import json

import numpy as np
import pytest
from bench.records import score as records
from bench.samples import DATA

SIZES = {"census": 1080, "tarragona": 834, "eia": 4092}
has_data = pytest.mark.skipif(not (DATA / "census.csv").exists(), reason="the reference sets are not here")


@pytest.mark.parametrize("which", records.listed())
def test_the_labels_of_a_record_are_complete_and_unchanged_and_their_groups_have_k(which):
    name, k = which.split("-")
    entry = records.listed()[which]
    path = records.FOLDER / entry["labels"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    labels = records.read_labels(path, SIZES[name])
    assert np.bincount(labels).min() >= int(k)
    assert records.written(labels) == path.read_text(encoding="utf-8")  # groups are numbered by their first record
    assert entry["bound"] is None or 0 < entry["bound"] <= entry["SSE"]


@has_data
def test_all_records_hold_when_they_are_counted_again(capsys):
    records.recount(records.SETS, list(range(3, 11)))
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(records.listed())


@has_data
def test_the_count_is_that_of_the_method():
    import shoal

    Z = records.z_scores("tarragona")
    labels = shoal.partition(Z, 3, method="mdav", standardize=False)
    assert 100 * records.squared_error(Z, labels) / Z.size == pytest.approx(16.933, abs=5e-4)  # as published


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.setattr(records, "LIST", tmp_path / "records.json")
    return tmp_path


def labels_file(folder, labels):
    path = folder / "mine.csv"
    path.write_text("group\n" + "".join(f"{label}\n" for label in labels))
    return path


@has_data
def test_labels_are_kept_if_they_are_lower_and_only_then(folder):
    better = np.arange(834) // 3  # the file is in the order of its first attribute
    worse = np.random.default_rng(0).permutation(better)
    for labels in (worse, better):
        records.keep(labels_file(folder, labels), "tarragona", 3, "test")
    kept = json.loads(records.LIST.read_text())["tarragona-3"]
    records.recount(["tarragona"], [3])
    with pytest.raises(SystemExit, match="not lower"):
        records.keep(labels_file(folder, worse), "tarragona", 3, "test")
    assert json.loads(records.LIST.read_text())["tarragona-3"] == kept


@has_data
def test_what_is_wrong_with_labels_is_said(folder):
    with pytest.raises(SystemExit, match="has a group of 2 records, fewer than k = 3"):
        records.score(labels_file(folder, np.arange(834) // 2), "tarragona", 3)
    with pytest.raises(SystemExit, match="has 10 labels for 834 records"):
        records.score(labels_file(folder, np.zeros(9, int)), "tarragona", 3)


@has_data
@pytest.mark.parametrize(("field", "value"), [("SSE", 1.0), ("sha256", "0" * 64), ("bound", 1e9), ("IL", 1.0)])
def test_a_claim_that_does_not_hold_is_found(folder, field, value):
    records.keep(labels_file(folder, np.arange(834) // 3), "tarragona", 3, "test")
    listed = records.listed()
    listed["tarragona-3"][field] = value
    records.save(listed)
    with pytest.raises(SystemExit, match="tarragona, k = 3"):
        records.recount(["tarragona"], [3])
