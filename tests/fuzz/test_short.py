"""A moment of fuzzing for every target, the same inputs each time; `make fuzz` goes on for longer.

Loading what is fuzzed takes ten seconds a target: one of them is in the fast run.
"""

import pytest
from fuzz.__main__ import fuzz
from fuzz.targets import TARGETS

RUNS = {"csv": 60, "parquet": 200, "arrow": 200, "xml": 200, "excel": 40, "types": 50, "protect": 100}


@pytest.mark.parametrize(
    "name", [name if name == "rules" else pytest.param(name, marks=pytest.mark.slow) for name in TARGETS]
)
def test_a_short_run_finds_nothing(name, tmp_path, capsys):
    pytest.importorskip("atheris", reason="atheris is not installed; it has no build for this system or Python")
    # The first input loads libraries, and on a busy machine that is longer than an input may take.
    options = [f"-runs={RUNS.get(name, 300)}", "-seed=1", "-timeout=600"]
    assert fuzz(name, TARGETS[name], tmp_path, options), capsys.readouterr().out
