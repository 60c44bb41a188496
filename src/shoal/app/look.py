"""Counts of the values of one column, for the person who chooses its role.

As in the report, no count of fewer than ten records is shown, and ranges of numbers begin and end at round figures.
Single values and extremes are counted only if the keeper of the data allows it for the session.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.backends.choose import engine_for
from shoal.errors import DataError
from shoal.plan import Plan
from shoal.report.distributions import LEAST, distribution, level_text
from shoal.tables import Table, open_table
from shoal.tables.arrow import pc
from shoal.tables.attributes import NUMBERS, Attribute, encode, infer_type, plain_values, without_declared
from shoal.tables.declared_codes import table_without_codes
from shoal.text import counted

_MOST = 50  # values that are listed


def look_at(plan: Plan, column: str, type_: str, codes: Sequence[str], values: bool) -> dict[str, Any]:
    """Count the values of a column of the plan's input.

    Parameters
    ----------
    plan
        Names the file, and how it is read.
    column, type_, codes
        The column, its type ("" leaves it to the file), and the values in it that stand for a missing value.
    values
        Whether rare values may be shown.

    Returns
    -------
    dict
        ``rows`` of a label, a share in percent and a number of records (None if it is not shown), and ``notes``.
    """
    if engine_for(plan)[0] != "memory":
        raise DataError("too-large-to-count")
    coded = plan.updated(quasi=[column], missing_codes={column: list(codes)} if codes else {}).missing_codes
    table = table_without_codes(open_table(plan.input, plan.csv, plan.sheet), coded)
    return _single(table, column) if values else _pooled(_attribute(table, column, type_))


def _attribute(table: Table, column: str, type_: str) -> Attribute:
    """Encode a column; as categories if it cannot be of the type that was chosen."""
    try:
        return encode(table, column, type_ or infer_type(table, column))  # type: ignore[arg-type] # one of the types
    except DataError:
        return encode(table, column, "nominal")


def _pooled(attribute: Attribute) -> dict[str, Any]:
    found = distribution(attribute, attribute.codes, LEAST)
    if found is None:
        return {"rows": [], "notes": [f"No two values or ranges are shared by {LEAST} records each: nothing is shown."]}
    rows = [[label, share, None] for label, share in zip(found.labels, found.before, strict=True)]
    what = "Ranges" if attribute.type in NUMBERS else "Values"
    return {"rows": rows, "notes": [f"{what} with fewer than {LEAST} records are pooled."]}


def _single(table: Table, column: str) -> dict[str, Any]:
    """Count every value, and the extremes of numbers."""
    present = plain_values(without_declared(table, column).drop_null())
    found = pc.value_counts(present)
    counts = found.field(1).to_numpy(zero_copy_only=False)
    order = np.argsort(-counts, kind="stable")[:_MOST]
    labels = found.field(0).take(order).to_pylist()
    records = len(table.column(column))
    rows = [
        [level_text(label), round(100 * int(count) / max(records, 1), 1), int(count)]
        for label, count in zip(labels, counts[order], strict=True)
    ]
    if records > len(present):
        missing = records - len(present)
        rows.append(["(missing)", round(100 * missing / records, 1), missing])
    notes = []
    if len(counts) > _MOST:
        notes.append(f"The {_MOST} most frequent of {counted(len(counts), 'value')}.")
    if len(counts) and not isinstance(labels[0], str | bool):
        ends = pc.min_max(present)
        notes.append(f"From {ends['min'].as_py()} to {ends['max'].as_py()}.")
    return {"rows": rows, "notes": notes}
