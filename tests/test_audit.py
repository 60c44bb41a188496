"""`make audit` with a database on this disk: what is affected is told, by ranges and by lists of versions."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import audit  # noqa: E402 - a script, not a package

NUMPY = re.search(r"^numpy==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]


def entry(name="NumPy", **affected):
    package = {"ecosystem": "PyPI", "name": name}
    return {"id": "PYSEC-1", "affected": [{"package": package, **affected}]}


def between(*events):
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (entry(**between({"introduced": "0"})), 1),
        (entry(**between({"introduced": "0"}, {"last_affected": NUMPY})), 1),
        (entry(**between({"introduced": "0"}, {"fixed": NUMPY})), 0),
        (entry(**between({"introduced": "999"})), 0),
        (entry(versions=[NUMPY]), 1),
        (entry(versions=[f"v{NUMPY}.0"]), 1),
        (entry("absent", versions=[NUMPY]), 0),
        ({**entry(versions=[NUMPY]), "withdrawn": "2020-01-01T00:00:00Z"}, 0),
    ],
)
def test_a_database_on_this_disk_is_looked_into(given, code, tmp_path, capsys):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("PYSEC-1.json", json.dumps(given))
    assert audit.main(tmp_path / "all.zip") == code
    assert (f"numpy {NUMPY}: PYSEC-1" in capsys.readouterr().out) == (code == 1)


def test_an_empty_database_is_no_good_news(tmp_path):
    assert audit.main(tmp_path) == 2


@pytest.mark.parametrize("content", [None, b"no archive", {"id": "PYSEC-1", "affected": [1]}, [1]])
def test_what_is_no_database_is_told_apart_from_a_finding(content, tmp_path, capsys):
    database = tmp_path / "all.zip"
    if isinstance(content, bytes):
        database.write_bytes(content)
    elif content is not None:
        with zipfile.ZipFile(database, "w") as archive:
            archive.writestr("PYSEC-1.json", json.dumps(content))
    assert audit.main(database) == 2
    assert f"'{database}' is no" in capsys.readouterr().err


def test_the_exit_code_of_the_command_is_that_of_the_audit(tmp_path):
    for given, code in ((entry(versions=[NUMPY]), 1), (entry(versions=["0.0.1"]), 0)):
        (tmp_path / "PYSEC-1.json").write_text(json.dumps(given))
        command = [sys.executable, ROOT / "tools" / "audit.py", tmp_path]
        assert subprocess.run(command, capture_output=True, check=False).returncode == code
