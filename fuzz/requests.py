"""What people write: rules, tests of rules and plans. A rule, a plan or a sentence comes out."""

import numpy as np
import pyarrow as pa

from fuzz.oracle import Finding, file_of, refuse_leftovers, sentence_or
from shoal import Plan, rules
from shoal.edits.load import read_rules
from shoal.edits.messages import Location
from shoal.edits.plain_text import parse_rule
from shoal.edits.xpath import RECORD, condition_of, parse

# The attributes that the seeds speak of.
_RECORDS = pa.table({f"V{j}": np.arange(4.0) * j for j in range(1, 16)} | {"town": ["a", "b", "a", "b"]})


def read_schematron(data: bytes) -> None:
    """Read a file of rules in Schematron, and look what they are to a table."""
    _rules(data, "in.sch")


def read_plain(data: bytes) -> None:
    """Read a file of rules in plain text, each line by itself too."""
    _rules(data, "in.rules")
    for line in data.decode(errors="replace").splitlines()[:3]:
        sentence_or(lambda line=line: parse_rule(line, Location(1), shown=True), named=True)  # type: ignore[misc]


def _rules(data: bytes, name: str) -> None:
    path = file_of(data, name)
    if sentence_or(lambda: read_rules(path), named=True) is not None:
        sentence_or(lambda: rules(_RECORDS, path), named=True)
    refuse_leftovers(path)


def read_xpath(data: bytes) -> None:
    """Read the test of an assertion."""
    sentence_or(lambda: condition_of(parse(data.decode(errors="replace"), Location(1)), RECORD, {}), named=True)


def read_plan(data: bytes) -> None:
    """Read a plan file; what is written of a plan is the same plan."""
    path = file_of(data, "in.toml")
    plan = sentence_or(lambda: Plan.load(path), named=True)
    if plan is not None:
        path.write_text(plan.to_toml(path.parent), encoding="utf-8")
        if Plan.load(path) != plan:
            raise Finding("a plan that is written and read again is another")
    refuse_leftovers(path)
