"""No planted value leaves: not by reports, plans, manifests, screens, errors, logs, or files that are left behind."""

import signal
import sys
import tempfile

import pyarrow.parquet as pq
import pytest
from tests.planted import CONFIDENTIAL, IDENTIFIER, OUTLIER, QUASI, SECRET_NUMBER, found_in, found_under, planted_table

from shoal.cli import main
from shoal.tables import open_table, write_table

ROLES = ["--quasi", ",".join(QUASI), "--confidential", ",".join(CONFIDENTIAL), "--identifiers", "name"]
REST = ["--publish-rest"]
COMMANDS = {
    "untreated": ["protect", "data.csv", "-k", "5", "-o", "o.csv"],
    "untreated, json": ["protect", "data.csv", "-k", "5", "--quasi", "age", "-o", "o.csv", "--json"],
    "protect": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--report", "report.html"],
    "json": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--json"],
    "blocks": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--block-records", "60"],
    "large": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--memory", "1MB", "--block-records", "90"],
    "rules": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--edit", "income >= 0"],
    "broken rule": ["protect", "data.csv", "-k", "5", *ROLES, "-o", "masked.csv", "--edit", "debt <= 1000"],
    "rulebook": ["edits", "data.csv", "rules.txt", "--quasi", "age,income"],
    "sweep": ["sweep", "data.csv", "-k", "3-6", *ROLES, "--report", "sweep.html"],
    "sweep, files": ["sweep", "data.csv", "-k", "5-6", "--methods", "tour", *ROLES, "-o", "masked-{k}.csv"],
    "assess": ["assess", "data.csv", "other.csv", "--quasi", "age,income", "--confidential", "illness,debt"],
    "risk": ["risk", "data.csv", "--keys", "name,age,income,illness,debt", "--records", "--by-level", "--json"],
    "risk, refused": ["risk", "data.csv", "--keys", "age", "--weights", "name"],
    "check": ["check", "data.csv", "-k", "5", "--quasi", "age,income"],
    "check rules": ["check", "data.csv", "-k", "2", "--quasi", "name", "--edit", "debt <= 1000"],
    "no numbers": [
        "protect", "data.csv", "-k", "5", "--quasi", "name", "--type", "name=continuous", *REST, "-o", "o.csv",
    ],
    "no dates": [
        "protect", "data.csv", "-k", "5", "--quasi", "illness", "--type", "illness=date", *REST, "-o", "o.csv",
    ],
    "no levels": [
        "protect", "data.csv", "-k", "5", "--quasi", "illness", "--type", "illness=ordinal", "--levels",
        "illness=flu,gout,none", *REST, "-o", "o.csv",
    ],
    "strata": ["protect", "data.csv", "-k", "5", "--quasi", "age", "--strata", "illness", *REST, "-o", "o.csv"],
    "diversity": ["protect", "data.csv", "-k", "5", *ROLES, "-l", "150", "-o", "o.csv"],
    "hybrid": [
        "protect", "data.csv", "-k", "30", "--method", "hybrid", "--confidential", "debt,income", "--identifiers",
        "name,illness", *REST, "-o", "o.csv", "--report", "report.html",
    ],
}  # fmt: skip
MASKED = (
    "protect",
    "json",
    "blocks",
    "large",
    "rules",
    "sweep, files",
    "hybrid",
)  # the others are refused, or have nothing to write


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A working folder, beside one for temporary files."""
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    terminate = signal.getsignal(signal.SIGTERM)
    yield tmp_path / "work"
    signal.signal(signal.SIGTERM, terminate)  # which the command line takes for itself


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_planted_is_said_or_left_behind(name, work, capfd, monkeypatch):
    table = planted_table(6000 if name == "large" else 200)  # more than the memory that it may take
    write_table(open_table(table), work / "data.csv", "csv")
    write_table(open_table(table.set_column(1, "age", [[50] * len(table)])), work / "other.csv", "csv")
    (work / "rules.txt").write_text("income >= 0\ndebt <= 1000\n")
    monkeypatch.setattr(sys, "argv", ["shoal", *COMMANDS[name]])
    with pytest.raises(SystemExit) as ended:
        main()
    said = "".join(capfd.readouterr())
    assert (ended.value.code or 0) in ((0,) if name in MASKED else (0, 1, 2)), said
    assert found_in(said) == []
    assert "Traceback" not in said
    # The masked file publishes what is confidential as it is; the originals were there before.
    written = ("masked.csv", "masked-5.csv", "masked-6.csv", "o.csv")
    assert found_under(work, but=("data.csv", "other.csv", *written)) == {}
    assert list(work.with_name("temporary").iterdir()) == []
    for masked in written:
        if (work / masked).exists():
            assert IDENTIFIER not in (work / masked).read_text()
            assert str(OUTLIER) not in (work / masked).read_text()


def test_the_search_can_fail(tmp_path):
    pq.write_table(planted_table(), tmp_path / "data.parquet", compression="none")
    (tmp_path / "notes.txt").write_text(f"a debt of {SECRET_NUMBER:,}")
    assert len(found_under(tmp_path)) == 2
    assert found_under(tmp_path, but=("data.parquet",)) == {str(tmp_path / "notes.txt"): [str(SECRET_NUMBER)]}
