"""Benchmarks: each can be started without arguments that only its author knows."""

import runpy
from pathlib import Path

import bench
import pytest

FOLDER = Path(bench.__path__[0])
SCRIPTS = sorted(path.stem for path in FOLDER.glob("[!_]*.py") if "__main__" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_benchmark_explains_itself_and_requires_no_argument(name, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert end.value.code == 0
    usage = capsys.readouterr().out.split("\n\n")[0].removeprefix(f"usage: {name}.py ")
    while (inner := usage.rfind("[")) >= 0:  # what is in brackets may be left out
        usage = usage[:inner] + usage[usage.index("]", inner) + 1 :]
    assert not usage.strip()
