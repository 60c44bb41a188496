"""What a file looks like to a person who must choose the roles of its attributes: formats and counts, never a value."""

import re
from collections import Counter
from typing import TypedDict

import pyarrow as pa

from shoal.errors import DataError
from shoal.plan import AttributeType
from shoal.tables import Table
from shoal.tables.arrow import Array, pc
from shoal.tables.attributes import infer_type, without_declared
from shoal.tables.dtypes import has_text, inner, is_number, is_text
from shoal.tables.text_values import decoded

Role = str  # quasi, confidential, identifier or other

_LOOKED_AT = 10_000  # records whose formats are compared
_LONGEST = 18  # characters of a format
_DISTINCT = 0.5  # of the records: texts more different than this identify a person
_FEW = 20  # records too few to tell
_NAMING = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|name|names|surname|forename|firstname|lastname|ssn|nin|passport|e?mail|phone|tel"
    r"|telephone|mobile|address|street|iban|account|patient_?no|person_?no|record_?no)($|[_\W\d])",
    re.IGNORECASE,
)
# Signs of their own, such as a fish, would be a value; what an A stands for must not become an a.
_KINDS = [(r"\p{N}", "9"), (r"[\p{Ll}\p{Lm}\p{Lo}]", "a"), (r"[\p{Lu}\p{Lt}]", "A"), (r"[^\x20-\x7e]", "*")]


class Profile(TypedDict):
    """One attribute: its name, what it probably is, its most common format, and how many records miss it.

    Where the file leaves doubt about its type, `doubt` says why, and the type is the one that takes every value.
    """

    name: str
    role: Role
    type: AttributeType
    format: str
    missing: int
    numeric: bool
    doubt: str


def profiles(table: Table) -> list[Profile]:
    """Describe every attribute of a table."""
    return [_profile(table, name) for name in table.names]


def _profile(table: Table, name: str) -> Profile:
    column = without_declared(table, name) if has_text(table.column(name).type) else table.column(name)
    simple = has_text(column.type) and not pa.types.is_nested(inner(column.type))
    type_: AttributeType = "nominal"
    doubt, role = "", "identifier"  # unless there is something that could be masked
    if simple:
        type_, doubt = _type(table, name)
        role = "quasi" if doubt else _role(name, column)
    return {
        "name": name,
        "role": role,
        "type": type_,
        "format": _format(column) if simple else "",
        "missing": column.null_count,
        "numeric": is_number(inner(column.type)),
        "doubt": doubt,
    }


def _type(table: Table, name: str) -> tuple[AttributeType, str]:
    try:
        return infer_type(table, name), ""
    except DataError as error:
        return "nominal", str(error)


def _role(name: str, column: Array) -> Role:
    """Guess the role: the safer one in doubt, which is to mask."""
    if _NAMING.search(name):
        return "identifier"
    texts = is_text(inner(column.type)) and len(column) >= _FEW
    return "identifier" if texts and pc.count_distinct(column).as_py() > _DISTINCT * len(column) else "quasi"


def _format(column: Array) -> str:
    """Return the most common format of a column: 9 for a digit, A and a for letters, * for characters beyond ASCII."""
    texts = decoded(column).slice(0, _LOOKED_AT).drop_null().cast(pa.large_string())
    if not len(texts):
        return ""
    for kind, sign in _KINDS:
        texts = pc.replace_substring_regex(texts, pattern=kind, replacement=sign)
    form = str(Counter(texts.to_pylist()).most_common(1)[0][0])
    return form if len(form) <= _LONGEST else form[: _LONGEST - 1] + "…"
