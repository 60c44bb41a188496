"""What is left when memory runs out: one sentence, exit code 2, and no file under the name of the output."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from shoal.messages import Message

SENTENCE = f"Error: {Message('no-memory', page=None)}\n"


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.csv"
    columns = np.random.default_rng(0).normal(size=(5, 200_000))
    pyarrow.csv.write_csv(pa.table({f"x{i}": column for i, column in enumerate(columns)}), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["memory", "file"])
@pytest.mark.parametrize("kilobytes", [700_000, 850_000, 1_000_000, 1_150_000])
def test_a_limit_on_addresses_ends_in_one_sentence(large, tmp_path, kilobytes, engine):
    output = tmp_path / "masked.csv"
    options = f"-k 5 --method mdav --engine {engine} -o {output}"
    program = "import shoal.cli; shoal.cli.run()"
    command = f"ulimit -v {kilobytes}; exec {sys.executable} -c '{program}' protect {large} {options}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr[-len(SENTENCE) :]) == (2, SENTENCE)
    assert not output.exists()


def test_a_process_that_libraries_abort_ends_in_one_sentence():
    program = "import os, shoal.cli.process as process; process.survive_lack_of_memory(os.abort)"
    command = f"ulimit -v 8000000; exec {sys.executable} -c '{program}'"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (2, SENTENCE)


def test_a_process_that_waits_for_ever_ends_in_one_sentence():
    program = "import signal, shoal.cli.process as p; p._PATIENCE = 0.5; p.survive_lack_of_memory(signal.pause)"
    command = f"ulimit -v 8000000; exec {sys.executable} -c '{program}'"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (2, SENTENCE)


def test_a_command_within_its_limit_keeps_its_exit_code_and_its_words():
    program = "import sys, shoal.cli; sys.argv = ['shoal', 'protect', 'absent.csv', '-k', '5']; shoal.cli.run()"
    command = f'ulimit -v 8000000; exec {sys.executable} -c "{program}"'
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == f"Error: {Message('no-output', field='output')}\n"


def test_what_libraries_print_does_not_get_among_the_results():
    program = "import os, shoal.cli.process as process; process.declare_own(); os.write(1, b'library'); print('ours')"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ours\n", "library")
