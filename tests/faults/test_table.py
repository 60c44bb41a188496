"""The table in the docs names the faults that are tried, and no others; and the steps in their order."""

import re
from pathlib import Path

from tests.faults.nursery import FAULTS
from tests.faults.test_steps import IN_MEMORY, LARGE

PAGE = (Path(__file__).parents[2] / "docs" / "faults.md").read_text()
# What `test_disks` makes without the nursery's help.
REAL = {"input may not be read", "memory limit from the start", "input from the future", "result cannot be shown"}


def test_the_table_names_the_faults_that_are_tried():
    rows = [line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")]
    assert sorted(rows) == sorted({"fault", *FAULTS, *REAL} - {"none"})


def test_the_page_names_the_steps():
    lists = re.findall(r"Steps [^:.]*: ([^.]*)\.", " ".join(PAGE.split()))
    assert lists == [", ".join(IN_MEMORY), ", ".join(LARGE)]
