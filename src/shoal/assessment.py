"""assess(): what any masked table costs and risks, whoever made it. check(): is it k-anonymous?"""

from collections.abc import Sequence
from typing import Any

from shoal import measures
from shoal.errors import CheckFailed, DataError
from shoal.plan import Csv, Plan
from shoal.roles import numeric_attributes, refuse_unknown
from shoal.tables import Table, open_table
from shoal.verify import exposure, too_small
from shoal.words import counted


def assess(
    original: Any, masked: Any, quasi: Sequence[str] | None = None, csv: Csv | dict[str, str] | None = None
) -> dict[str, Any]:
    """Measure a masked table against its original, record by record in the order of their rows.

    Parameters
    ----------
    original, masked : dataframe or path
        The two tables, with the same number of records in the same order.
    quasi : list of str, optional
        The attributes that were masked; every numeric one that both tables have if left out.
    csv : Csv or dict, optional
        How CSV files are written, where looking at them is not enough.

    Returns
    -------
    dict
        ``loss`` as in `shoal.measures.loss` and ``risk`` with ``before`` and ``after`` as in
        `shoal.measures.exposure`.
    """
    plan = Plan(k=2, quasi=quasi, csv=csv)  # any k will do
    before, after = open_table(original, plan.csv), open_table(masked, plan.csv)
    if len(before) != len(after):
        raise DataError(
            f"the original has {counted(len(before), 'record')} and the masked table {len(after):,}; they are compared "
            "row by row"
        )
    names = _attributes(before, plan)
    refuse_unknown(after, {"quasi": names}, "the masked table")
    return {
        "records": len(before),
        "loss": measures.loss(before.matrix(names), after.matrix(names), names),
        "risk": {"before": exposure(before, names), "after": exposure(after, names)},
    }


def check(
    masked: Any, k: int, quasi: Sequence[str] | None = None, edits: None = None, csv: Csv | dict[str, str] | None = None
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
    names = _attributes(table, plan)
    if failures := list(too_small(table, names, plan.k)):
        raise CheckFailed(failures)
    return {"records": len(table), "k": plan.k, "quasi": names, **exposure(table, names)}


def _attributes(table: Table, plan: Plan) -> list[str]:
    refuse_unknown(table, {"quasi": plan.masked})
    return plan.masked or numeric_attributes(table)
