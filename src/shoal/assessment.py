"""assess(): what any masked table costs and risks, whoever made it. check(): is it k-anonymous?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import measures
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.plan import Csv, Plan
from shoal.roles import numeric_attributes, refuse_unknown
from shoal.tables import Table, open_table
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
        The attributes that were masked; every numeric one that both tables have if left out.
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
        ``records``, ``quasi``; ``loss`` as in `shoal.measures.loss_book`; ``risk`` as in `shoal.measures.risk_book`,
        with ``before`` and ``after`` as in `shoal.measures.exposure`, and ``intruder`` where one was described; and the
        ``score`` of both together (`shoal.measures.score`; None for a single attribute that is constant).
    """
    plan = Plan(k=2, quasi=quasi, confidential=confidential, seed=seed, csv=csv)  # any k will do
    progress("read", 0, 1)
    before, after = open_table(original, plan.csv), open_table(masked, plan.csv)
    rows = _rows(before, after, key)
    names = _attributes(before, after, plan, key)
    X, Y = before.matrix(names), after.matrix(names)[rows]
    progress("risk", 0, 1)
    risk = {
        "before": exposure(before, names),
        "after": exposure(after, names),
        **measures.risk_book(X, Y, {name: _values(after, name)[rows] for name in plan.confidential}, plan.seed),
    }
    if intruder is not None:
        risk["intruder"] = _scenario(before, after, X, Y, names, list(intruder))
    progress("loss", 0, 1)
    loss = measures.loss_book(X, Y, names, measures.published_classes(Y).labels)
    il = loss["IL_variations"]["IL"]
    score = None if il is None else measures.score(il, risk["DLD_average"]["linked"], risk["ID_rank"]["percent"])
    return {"records": len(before), "quasi": names, "loss": loss, "risk": risk, "score": score}


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
    wanted, given = (table.column(key).cast(pa.large_string()) for table in (before, after))
    for what, column in (("the original", wanted), ("the masked table", given)):
        if column.null_count or len(column.unique()) < len(column):
            raise DataError(
                f"the key '{key}' does not tell the records of {what} apart: some are missing or occur twice"
            )
    found = pc.index_in(wanted, value_set=given)
    if found.null_count:
        raise DataError(
            f"{counted(found.null_count, 'record')} of the original have no key '{key}' in the masked table"
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _attributes(before: Table, after: Table, plan: Plan, key: str | None) -> list[str]:
    refuse_unknown(before, {"quasi": plan.masked, "confidential": plan.confidential}, "the original")
    refuse_unknown(after, {"quasi": plan.masked, "confidential": plan.confidential}, "the masked table")
    gone = {name for name in before.names if name not in after.names}
    return plan.masked or numeric_attributes(before, {*gone, *plan.confidential, key or ""})


def _values(table: Table, name: str) -> NDArray[Any]:
    """Give a confidential attribute as numbers where it has nothing else, and as codes of its values otherwise."""
    column = table.column(name)
    if name in table.numeric and not pc.any(pc.is_null(column, nan_is_null=True)).as_py():
        return table.matrix([name])[:, 0]
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    codes = column.dictionary_encode(null_encoding="encode").indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), dtype=np.int64)


def _scenario(
    before: Table, after: Table, X: NDArray[np.float64], Y: NDArray[np.float64], names: list[str], known: list[str]
) -> dict[str, Any]:
    if unknown := [name for name in known if name not in names]:
        raise PlanError([("intruder", f"'{name}' is not among the attributes that were masked") for name in unknown])
    if not known:
        raise PlanError([("intruder", "names no attribute; leave it out or name at least one")])
    columns = [names.index(name) for name in known]
    return {
        "attributes": known,
        "before": exposure(before, known),
        "after": exposure(after, known),
        "DLD": measures.distance_linkage(X, Y, columns),
    }


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
