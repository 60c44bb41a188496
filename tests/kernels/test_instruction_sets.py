"""The kernels of every instruction set give the same answer; arrays that do not fit are refused, never copied."""

import os
import subprocess
import sys

import numpy as np
import pytest
from bench.samples import distributed

from shoal.kernels import _native
from shoal.kernels.mdav import mdav_tree

WATCH = np.zeros(2, np.int64)


def labels_with(instruction_set: str, X: np.ndarray, k: int) -> list[int]:
    _native.use_instruction_set(instruction_set)
    try:
        return mdav_tree(X, k, WATCH.copy()).tolist()
    finally:
        _native.use_instruction_set(_native.instruction_sets()[-1])


@pytest.mark.parametrize("d", [1, 4, 10])
def test_every_instruction_set_forms_the_same_groups_on_a_lattice_of_tenths(d):
    # Contracted to a fused multiply-add, distances of tenths would round differently, and ties go another way.
    X = np.random.default_rng(d).integers(0, 12, (3000, d)) / 10
    base, *others = (labels_with(each, X, 3) for each in _native.instruction_sets())
    assert all(labels == base for labels in others)


@pytest.mark.parametrize("asked", _native.instruction_sets())
def test_the_environment_chooses_an_instruction_set(asked):
    code = "from shoal.kernels import _native; print(_native.instruction_set())"
    environment = {**os.environ, "SHOAL_INSTRUCTION_SET": asked}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == asked


def test_the_best_instruction_set_is_the_default():
    assert _native.instruction_set() == _native.instruction_sets()[-1]


def test_an_instruction_set_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="z80"):
        _native.use_instruction_set("z80")


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((9, 2), np.float32),
        np.zeros((9, 2), np.int64),
        np.zeros(9),
        np.zeros((2, 9)).T,
        np.zeros((9, 4))[:, ::2],
    ],
    ids=["float32", "int64", "one dimension", "transposed", "strided"],
)
def test_an_array_of_another_type_or_shape_is_a_type_error(X):
    with pytest.raises(TypeError):
        _native.mdav_tree(X, 3, WATCH.copy(), np.empty(9, np.int64))


def test_an_array_that_the_kernel_writes_must_be_writable_and_of_its_type():
    X, read_only = distributed("uniform", 9, 2), np.empty(9, np.int64)
    read_only.flags.writeable = False
    for labels in (read_only, np.empty(9, np.int32), np.empty(18, np.int64)[::2]):
        with pytest.raises(TypeError):
            _native.mdav_tree(X, 3, WATCH.copy(), labels)


def test_sizes_that_do_not_fit_are_a_value_error():
    X = distributed("uniform", 9, 2)
    with pytest.raises(ValueError, match="labels"):
        _native.mdav_tree(X, 3, WATCH.copy(), np.empty(8, np.int64))
    with pytest.raises(TypeError):
        _native.mdav_tree(X, 3, np.zeros(1, np.int64), np.empty(9, np.int64))


def test_an_empty_name_of_an_instruction_set_is_none():
    code = "import shoal.kernels._native as native; print(native.instruction_set())"
    environment = {**os.environ, "SHOAL_INSTRUCTION_SET": ""}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == _native.instruction_sets()[-1]
