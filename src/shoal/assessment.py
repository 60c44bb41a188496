"""assess(): what any masked table costs and risks, whoever made it. check(): is it k-anonymous?"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import measures
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.plan import Csv, Plan
from shoal.roles import confidential_codes, numeric_attributes, refuse_unknown
from shoal.tables import Table, kind_of, open_table
from shoal.verify import exposure, too_small
from shoal.words import counted
from shoal.work import Progress, quiet

CsvOptions = Csv | dict[str, str] | None


def assess(
    original: Any,
    masked: Any,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] = (),
    intruder: Sequence[str] | None = None,
    key: str | None = None,
    seed: int = 0,
    csv: CsvOptions = None,
    progress: Progress = quiet,
) -> dict[str, Any]:
    """Measure a masked table against its original, by every measure of loss and risk there is.

    Parameters
    ----------
    original, masked : dataframe or path
        The two tables: the same records in the same order, or told by a `key`.
    quasi : list of str, optional
        The attributes that were masked; every numeric one that differs between the tables if left out.
    confidential : list of str, optional
        Attributes that were published as they are: how diverse they are among records that are published alike.
    intruder : list of str, optional
        The attributes, of those masked, that an intruder knows: one scenario beside the general measures.
    key : str, optional
        A column of both tables by which records are told, if the rows are not in the same order.
    seed : int
        Start of the random numbers for what is measured on a sample; each measure says whether it was.
    csv : Csv or dict, optional
        How CSV files are written, where looking at them is not enough.
    progress : callable, optional
        Called at the beginning of each step with its name.

    Returns
    -------
    dict
        ``records``; ``quasi``, what was compared, and what was ``left_out`` for which reason; ``loss`` as in
        `shoal.measures.loss_book`; ``risk`` as in `shoal.measures.risk_book`, with ``before`` and ``after`` as in
        `shoal.measures.exposure`, and ``intruder`` where one was described; and the ``score`` of both together
        (`shoal.measures.score`; None where the original is all zeros).
    """
    plan = Plan(k=2, quasi=quasi, confidential=confidential, seed=seed, csv=csv)  # any k will do
    progress("read", 0, 1)
    before, after = _opened(original, plan), _opened(masked, plan)
    rows = _rows(before, after, key)
    names, left_out = _attributes(before, after, rows, plan, key)
    known = None if intruder is None else _known(intruder, names)
    X, Y = _matrix(before, names, "original"), _matrix(after, names, "masked table")[rows]
    progress("risk", 0, 1)
    risk = {
        "before": exposure(before, names),
        "after": exposure(after, names),
        **measures.risk_book(X, Y, {name: _values(after, name)[rows] for name in plan.confidential}, plan.seed),
    }
    if known is not None:
        columns = [names.index(name) for name in known]
        risk["intruder"] = {
            "attributes": known,
            "before": exposure(before, known),
            "after": exposure(after, known),
            "DLD": measures.distance_linkage(X, Y, columns, measures.MOST_RECORDS, plan.seed),
        }
    progress("loss", 0, 1)
    loss = measures.loss_book(X, Y, names, measures.published_classes(Y).labels)
    if risk["real_k"]["real_k"] == 1:
        loss["GCP"] = None  # nobody is published like another: there are no groups to have ranges
    il = loss["IL_variations"]["IL"]
    score = None if il is None else measures.score(il, risk["DLD_average"]["linked"], risk["ID_rank"]["percent"])
    return {"records": len(before), "quasi": names, "left_out": left_out, "loss": loss, "risk": risk, "score": score}


def _opened(source: Any, plan: Plan) -> Table:
    """Open a table; what was said of CSV files holds for those of the two that are."""
    is_other = isinstance(source, str | os.PathLike) and Path(source).suffix and kind_of(source) != "csv"
    return open_table(source, None if is_other else plan.csv)


def _matrix(table: Table, names: list[str], what: str) -> NDArray[np.float64]:
    try:
        return table.matrix(names)
    except DataError as error:
        raise DataError("\n".join(f"in the {what}, {line}" for line in str(error).splitlines())) from None


def _rows(before: Table, after: Table, key: str | None) -> NDArray[np.int64]:
    """Find the row of the masked table for each record of the original."""
    if len(before) != len(after):
        raise DataError(
            f"the original has {counted(len(before), 'record')} and the masked table {len(after):,}; they are "
            "compared one by one"
        )
    if key is None:
        return np.arange(len(before))
    refuse_unknown(before, {"key": [key]}, "the original")
    refuse_unknown(after, {"key": [key]}, "the masked table")
    try:
        wanted, given = (table.column(key).cast(pa.large_string()) for table in (before, after))
    except pa.ArrowException:
        raise DataError(f"the key '{key}' must be texts, numbers or dates") from None
    for what, column in (("the original", wanted), ("the masked table", given)):
        if column.null_count or len(column.unique()) < len(column):
            raise DataError(
                f"the key '{key}' does not tell the records of {what} apart: some are missing or occur twice"
            )
    found = pc.index_in(wanted, value_set=given)
    if found.null_count:
        raise DataError(
            f"{counted(found.null_count, 'record')} of the original cannot be found in the masked table by key '{key}' "
            f"(of type {before.column(key).type} and {after.column(key).type})"
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _attributes(
    before: Table, after: Table, rows: NDArray[np.int64], plan: Plan, key: str | None
) -> tuple[list[str], dict[str, list[str]]]:
    """Name the attributes to compare, and those that are left out with the reason.

    Constant ones tell nothing. Of attributes that nobody named, neither do those that were not masked.
    """
    refuse_unknown(before, {"quasi": plan.masked, "confidential": plan.confidential}, "the original")
    refuse_unknown(after, {"quasi": plan.masked, "confidential": plan.confidential}, "the masked table")
    gone = [name for name in before.names if name not in after.names]
    asked = plan.masked or numeric_attributes(before, {*gone, *plan.confidential, key or ""})
    X, Y = _matrix(before, asked, "original"), _matrix(after, asked, "masked table")[rows]
    constant = [
        name for j, name in enumerate(asked) if X[:, j].min() == X[:, j].max() == Y[:, j].min() == Y[:, j].max()
    ]
    equal = [name for j, name in enumerate(asked) if name not in constant and np.array_equal(X[:, j], Y[:, j])]
    unmasked = equal if plan.quasi is None else []
    names = [name for name in asked if name not in constant and name not in unmasked] or asked
    left_out = {
        "constant": [name for name in constant if name not in names],
        "equal in both tables": [name for name in unmasked if name not in names],
        "not in the masked table": [] if plan.quasi else [name for name in gone if name in before.numeric],
    }
    return names, left_out


def _known(intruder: Sequence[str], names: list[str]) -> list[str]:
    try:
        known = Plan(k=2, quasi=intruder).masked  # a list of names like any other
    except PlanError as error:
        raise PlanError([("intruder", what) for _, what in error.problems]) from None
    if unknown := [name for name in known if name not in names]:
        raise PlanError([("intruder", f"'{name}' is not among the attributes that are compared") for name in unknown])
    return known


def _values(table: Table, name: str) -> NDArray[Any]:
    """Give a confidential attribute as ranks where it has an order, and as codes otherwise."""
    codes, ordered = confidential_codes(table, name)
    return codes.astype(np.float64) if ordered else codes


def check(
    masked: Any, k: int, quasi: Sequence[str] | None = None, edits: None = None, csv: CsvOptions = None
) -> dict[str, Any]:
    """Check that every combination of quasi-identifiers occurs at least k times.

    Parameters
    ----------
    masked : dataframe or path
        The table to check, whoever made it.
    k : int
        The least number of records in a group.
    quasi : list of str, optional
        The quasi-identifiers; every numeric attribute if left out.
    edits : None
        Rules are not supported in this version.
    csv : Csv or dict, optional
        How a CSV file is written, where looking at it is not enough.

    Returns
    -------
    dict
        ``records``, ``k``, ``quasi`` and the measures of `shoal.measures.exposure`.

    Raises
    ------
    CheckFailed
        Saying how many combinations are too small.
    """
    plan = Plan(k=k, quasi=quasi, edits=edits, csv=csv)
    table = open_table(masked, plan.csv)
    refuse_unknown(table, {"quasi": plan.masked})
    names = plan.masked or numeric_attributes(table)
    if failures := list(too_small(table, names, plan.k)):
        raise CheckFailed(failures)
    return {"records": len(table), "k": plan.k, "quasi": names, **exposure(table, names)}
