"""Inputs that once found something: they find nothing any more."""

from pathlib import Path

import pytest
from fuzz.targets import TARGETS

FINDS = sorted(Path(__file__).parent.joinpath("finds").iterdir())


@pytest.mark.parametrize("path", FINDS, ids=lambda path: path.name)
def test_what_was_found_once_is_right_now(path):
    TARGETS[path.name.split("-")[0]].run(path.read_bytes())


def test_the_seeds_of_every_target_are_fine():
    for target in TARGETS.values():
        for content in target.start():
            target.run(content)


def test_an_oracle_finds_a_group_that_is_too_small():
    import pyarrow as pa
    from fuzz.oracle import Finding
    from fuzz.releases import _count

    with pytest.raises(Finding, match="a group of 1 record"):
        _count(pa.table({"a": [1, 1, 2]}), ["a"], 2)
