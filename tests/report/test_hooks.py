"""Reports as users ask for them: from a release, a sweep, a notebook and the command line."""

import sys

import altair
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal import cli


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    return pa.table({"age": rng.integers(18, 90, 60), "income": rng.normal(2000, 500, 60)})


def test_a_release_writes_its_report_whole_and_only_once(people, tmp_path):
    release = shoal.protect(people, k=5, method="mdav")
    release.report(tmp_path / "report.html")
    assert "k = 5 holds" in (tmp_path / "report.html").read_text()
    with pytest.raises(shoal.FileError):
        release.report(tmp_path / "report.html")
    release.report(tmp_path / "report.html", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]


def test_a_saved_release_names_the_hash_of_what_it_published(people, tmp_path):
    import hashlib

    release = shoal.protect(people, k=5, method="mdav")
    release.save(tmp_path / "masked.csv")
    release.report(tmp_path / "report.html")
    digest = hashlib.sha256((tmp_path / "masked.csv").read_bytes()).hexdigest()
    assert digest in (tmp_path / "report.html").read_text()


def test_notebooks_show_tables_and_charts(people):
    release, sweep = shoal.protect(people, k=5, method="mdav"), shoal.sweep(people, k=[3, 4, 5])
    assert "<table" in release._repr_html_()
    assert "<table" in sweep._repr_html_()
    for chart in (release.plot_sizes(), release.plot_distribution("age"), sweep.plot_map()):
        assert isinstance(chart, altair.LayerChart)


def test_the_commands_write_reports(people, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pa.csv.write_csv(people, "people.csv")
    for code, arguments in (
        (0, ["protect", "people.csv", "-k", "5", "--method", "mdav", "-o", "masked.csv", "--report", "report.html"]),
        (1, ["sweep", "people.csv", "-k", "3-5", "--max-risk", "1", "--report", "sweep.html"]),
    ):
        monkeypatch.setattr(sys, "argv", ["shoal", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert (end.value.code or 0) == code, capsys.readouterr().err
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert "No k meets" in (tmp_path / "sweep.html").read_text()
