"""What the columns of a table probably are, before anything is masked: `shoal.roles`."""

import html
import tempfile
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, overload

import tomli_w

from shoal.backends.choose import open_records
from shoal.parallel import Progress, quiet
from shoal.pipeline.roles import Proposal, profiles_of, propose_for, proposed_plan
from shoal.plan import Csv, Plan
from shoal.plan.asking import AnyPath, asked
from shoal.tables import kind_of

COLUMNS = ("column", "type", "role", "reason")


@dataclass(frozen=True)
class Roles(Sequence[Proposal]):
    """A proposal for every column of a table, in the order of the table.

    Attributes
    ----------
    proposals : list of Proposal
        Each with ``column``, ``role`` (identifier, unit, quasi, confidential, weights, strata, household or
        publish), ``type``, ``levels``, ``missing_codes``, ``reason`` and ``warning``.
    records : int
        How many the table has.
    input : str, optional
        The file.
    csv : Csv, optional
        How a CSV file is read: words for missing values that were found are among it.
    sheet : str, optional
        The sheet of a workbook that was asked for.
    """

    proposals: list[Proposal]
    records: int
    input: str | None = None
    csv: Csv | None = None
    sheet: str | None = None

    def __len__(self) -> int:
        return len(self.proposals)

    def __iter__(self) -> Iterator[Proposal]:
        return iter(self.proposals)

    @overload
    def __getitem__(self, place: int) -> Proposal: ...
    @overload
    def __getitem__(self, place: slice) -> list[Proposal]: ...
    def __getitem__(self, place: int | slice) -> Proposal | list[Proposal]:
        return self.proposals[place]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The proposals for machines; of levels, which are values of the data, only how many there are."""
        shown = ("column", "role", "type", "missing_codes", "reason", "warning", "missing")
        rows = [each._asdict() for each in self.proposals]
        return [
            {name: row[name] for name in shown}
            | {"missing_codes": list(row["missing_codes"]), "levels": len(row["levels"])}
            for row in rows
        ]

    def plan(self, **options: Any) -> Plan:
        """Return a plan with the proposed roles and types; k is 5 unless another is given.

        Raises
        ------
        PlanError
            No column is proposed to be masked, or an option is wrong.
        """
        return proposed_plan(self.proposals, **{"input": self.input, "sheet": self.sheet, "csv": self.csv, **options})

    def to_toml(self, folder: AnyPath = ".", **options: Any) -> str:
        """Return the plan as the text of a file in `folder` to edit, with the reason for every role as a comment."""
        usual = {name: field.default for name, field in Plan.model_fields.items()}
        said = tomllib.loads(self.plan(**options).to_toml(folder))
        short = {name: value for name, value in said.items() if value != usual[name]}
        return "\n".join([*map(_comment, self.proposals), "", tomli_w.dumps(short)])

    def _repr_html_(self) -> str:
        """Show the proposals in a notebook."""
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row_of(each)) + "</tr>" for each in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def row_of(proposal: Proposal) -> tuple[str, str, str, str]:
    """Return column, type, role and reason as text; what to look at comes with the reason."""
    codes = ", ".join(map(str, proposal.missing_codes))
    notes = [
        proposal.reason,
        f"Missing-value codes: {codes}." if codes else "",
        f"Warning: {proposal.warning}" if proposal.warning else "",
    ]
    return proposal.column, proposal.type, proposal.role, " ".join(filter(None, _ended(notes)))


def _ended(notes: list[str]) -> list[str]:
    """End every sentence but a last one."""
    return [f"{note}." if i == 0 and any(notes[1:]) and note else note for i, note in enumerate(notes)]


def _comment(proposal: Proposal) -> str:
    """Return a proposal as comment lines of a plan file."""
    column, type_, role, reason = row_of(proposal)
    text = "".join(each if each.isprintable() else " " for each in f"{column}: {role}, {type_}; {reason}")
    return textwrap.fill(text, 100, initial_indent="# ", subsequent_indent="#   ")


def roles(
    table: Any, *, progress: Progress = quiet, csv: Csv | dict[str, Any] | None = None, sheet: str | None = None
) -> Roles:
    """Propose for every column of a table a role, a type and missing-value codes, each with a reason in words.

    The guess is made from names in seven languages, formats, how many values are different, what is constant within
    households, and the labels of SPSS and Stata files. No value of the data is shown. What looks personal, is nearly
    unique or is text of unknown meaning is never proposed for publication.

    Parameters
    ----------
    table : dataframe or path
        As for `shoal.protect`; a file may be larger than memory.
    progress : callable, optional
        Called with the name of the step, what is done and what there is.
    csv : Csv or dict, optional
        How a CSV file is written, as in a plan.
    sheet : str, optional
        The sheet of an Excel workbook, if several have data.

    Returns
    -------
    Roles
        A list of proposals; ``plan(k=5)`` makes a plan of them.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> people = pa.table({"email": [f"p{i}@example.org" for i in range(40)], "age": [20 + i % 30 for i in range(40)]})
    >>> found = shoal.roles(people)
    >>> [(each.column, each.role, each.reason) for each in found]
    [('email', 'identifier', 'looks like e-mail addresses'), ('age', 'quasi', 'age: name contains "age"')]
    >>> found.plan(k=3).quasi
    ['age']
    """
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        # No output is written. A file larger than memory needs a place to name, of a kind that all its columns suit.
        unused = str(Path(folder) / "unused.parquet")
        wanted = asked(table, None, {"k": 2, "csv": csv, "sheet": sheet, "output": unused})
        found, records = _proposals(table, wanted, progress)
        words = {each.column: [code for code in each.missing_codes if isinstance(code, str)] for each in found}
        if any(words.values()) and wanted.input is not None and kind_of(wanted.input) == "csv":
            read = wanted.csv or Csv()
            new = sorted({*read.missing, *chain(*words.values())})
            wanted = wanted.updated(csv=read.model_copy(update={"missing": new}))
            again, records = _proposals(table, wanted, progress)
            found = [each._replace(missing_codes=(*words[each.column], *each.missing_codes)) for each in again]
    return Roles(found, records, wanted.input, wanted.csv, sheet)


def _proposals(table: Any, plan: Plan, progress: Progress) -> tuple[list[Proposal], int]:
    """Return the proposals and the number of records."""
    with open_records(None if plan.input is not None else table, plan, progress) as records:
        profiles = profiles_of(records)
        return propose_for(records, profiles), profiles[0].records
