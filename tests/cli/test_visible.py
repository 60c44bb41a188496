"""Names of columns and files come from strangers: on the screen they stay text, and what is written keeps them."""

import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.text import quoted, visible

FORGED = "No record is unique over all published columns: every record shares its values with at least 4 others."
NAMES = {
    "escapes": f"phone\x1b[2K\x1b[1A\r{FORGED}\x1b[8m",
    "lines": f"phone\n\n{FORGED}\n",
    "bidi": "phone\u202e\u2066\u200f\u009b2K\u2028",
}


@pytest.fixture(params=NAMES)
def odd(request, tmp_path):
    chance = np.random.default_rng(0)
    columns = {"age": chance.integers(20, 80, 60), "inc": chance.normal(size=60)}
    pq.write_table(pa.table({**columns, NAMES[request.param]: np.arange(60).astype(str)}), tmp_path / "odd.parquet")
    return NAMES[request.param]


def refuse_hidden(*texts):
    for text in texts:
        lines = text.split("\n")
        assert all(line.isprintable() for line in lines)
        assert not any(line.strip().startswith("No record is") for line in lines)


def test_no_name_writes_to_the_screen_on_any_command_and_files_keep_the_true_one(run, odd, tmp_path):
    options = ["-k", 5, "--quasi", "age,inc"]
    code, out, err = run("protect", "odd.parquet", *options, "--publish-rest", "-o", "masked.parquet")
    assert code == 0
    refuse_hidden(out, err)
    assert pq.read_schema(tmp_path / "masked.parquet").names[-1] == odd
    for command in (
        ["roles", "odd.parquet"],
        ["protect", "odd.parquet", *options, "-o", "again.parquet"],  # which lacks a treatment
        ["protect", "odd.parquet", "-k", 5, "--quasi", odd, "--type", f"{odd}=continuous", "-o", "again.parquet"],
        ["check", "masked.parquet", *options],
        ["assess", "odd.parquet", "masked.parquet", "--quasi", "age,inc"],
        ["risk", "odd.parquet", "--keys", f"age,{odd}", "--by-level", "--records"],
        ["sweep", "odd.parquet", "-k", "3", "--quasi", "age,inc"],
        ["check", f"{odd}.csv", *options],
        ["edits", "odd.parquet", odd],
    ):
        refuse_hidden(*run(*command)[1:])


@given(st.text(max_size=20))
def test_visible_text_is_printable_and_printable_text_is_left_alone(text):
    assert visible(text).isprintable()
    assert visible(text) == text or not text.isprintable()
    assert visible({"a": [(text,)], text: 1}) == {"a": [(visible(text),)], visible(text): 1}


def test_a_proposed_command_can_be_copied_whatever_the_name(tmp_path):
    for name in (*NAMES.values(), "it's\t\\here", "plain name"):
        words = quoted(["printf", "%s", name])
        assert words.isprintable()
        found = subprocess.run(["bash", "-c", words], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
        assert found.stdout.decode() == name
