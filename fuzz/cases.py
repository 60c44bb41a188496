"""Cases as files that last: a table and a plan, which mean the same whatever is drawn from bytes later."""

import datetime as dt
import json
from typing import Any

import pyarrow as pa

from fuzz.valid import Case

START = b'{"engine"'  # no other input begins so
_TYPES = [pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.uint16(), pa.string(), pa.bool_(), pa.date32()]
_TYPES += [pa.timestamp(unit) for unit in ("s", "us", "ns")]
_BY_NAME = {str(kind): kind for kind in _TYPES}


def as_json(case: Case) -> bytes:
    """Write a case."""
    columns = {name: _column(case.table[name]) for name in case.table.column_names}
    found = {"engine": case.engine, "source": case.source, "ending": case.ending, "plan": case.plan, "columns": columns}
    return json.dumps(found, indent=None).encode()


def from_json(data: bytes) -> Case:
    """Read a case."""
    found = json.loads(data)
    table = pa.table({name: _array(**column) for name, column in found["columns"].items()})
    return Case(table, found["plan"], found["engine"], found["source"], found["ending"])


def _column(column: Any) -> dict[str, Any]:
    coded = pa.types.is_dictionary(column.type)
    plain = column.cast(column.type.value_type) if coded else column
    kind = plain.type
    if pa.types.is_timestamp(kind):
        plain = plain.cast(pa.int64())
    values = [value.isoformat() if isinstance(value, dt.date) else value for value in plain.to_pylist()]
    return {"type": str(kind), "coded": coded, "values": values}


def _array(type: str, coded: bool, values: list[Any]) -> Any:  # noqa: A002 - as in the file
    kind = _BY_NAME[type]
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date(kind):
        values = [None if value is None else dt.date.fromisoformat(value) for value in values]
    column = pa.array(values, kind)
    return column.dictionary_encode() if coded else column
