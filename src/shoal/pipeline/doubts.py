"""What is masked and looks like something else: numbers like codes, categories like identifiers.

Missing-value codes are conventions and no person's values, so a warning may name them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import DataError
from shoal.messages import Message
from shoal.pipeline.missing_codes import missing_codes
from shoal.pipeline.role_rules import Column, meanings_of, type_of
from shoal.pipeline.role_words import meanings
from shoal.pipeline.roles import propose
from shoal.pipeline.summary import Column as SummaryColumn
from shoal.tables import Table
from shoal.tables.attributes import without_declared
from shoal.tables.dtypes import inner, is_number, is_text
from shoal.tables.profile import ColumnProfile, profile_column

_WEIGHTS = {"survey weight", "weight"}
_COMMON = {"place", "nationality", "education", "occupation", "design"}  # whose names many share
_LOOKS = {  # a role, with its option
    "identifier": ("an identifier", "--identifiers"),
    "weights": ("survey weights", "--weights"),
    "strata": ("strata", "--strata"),
    "publish": ("a constant", "--publish"),
}
_UNIQUE, _MANY = 0.5, 20  # of the records, and categories: more than these single records out


def doubtful_profile(table: Table, name: str) -> ColumnProfile | None:
    """Profile whole numbers, and what is named like a weight; others are measurements, and would take long."""
    values = without_declared(table, name)
    if not pa.types.is_integer(values.type) and not _WEIGHTS & {*meanings(name)}:
        floats = values.drop_null().cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        if not np.array_equal(floats, np.rint(floats)):
            return None
    return replace(profile_column(table, name), inferred="continuous")


def may_identify(table: Table, name: str) -> bool:
    """Whether a sensitive column is text or a number, which may be that of a record."""
    try:
        kind = inner(table.column(name).type)
    except DataError:  # objects of Python that Arrow has no type for
        return False
    return is_text(kind) or is_number(kind)


def identifying_profile(table: Table, name: str) -> ColumnProfile | None:
    """Profile a sensitive column that may identify; not numbers with decimals, which are what a release is for."""
    if not is_number(inner(table.column(name).type)) or "direct identifier" in meanings(name):
        return profile_column(table, name)
    return doubtful_profile(table, name)


def on_identifying(columns: Mapping[str, SummaryColumn]) -> list[Message]:
    """Warn of categories that look like names or numbers of people: a group publishes that of one of its members."""
    found = []
    for name, column in columns.items():
        said, share = meanings(name), len(column.categories) / max(1, column.present)
        is_named = "direct identifier" in said and len(column.categories) > 2 and not _COMMON & {*said}
        if not is_named and (share <= _UNIQUE or len(column.categories) < _MANY):
            continue
        why = Message("name-contains", word=said["direct identifier"]) if is_named else Message("most-records-differ")
        found.append(Message("category-like-identifier", column=name, reason=why))
    return found


def _number_like(column: str, role: str, option: str, **data: Any) -> Message:
    return Message("number-like-other-role", column=column, role=role, option=option, **data)


def on_default(profiles: Iterable[ColumnProfile]) -> Iterator[Message]:
    """Warn of numbers that are masked because nothing else was asked for, and do not look like measurements."""
    for each in propose([*profiles]):
        if each.role in _LOOKS:
            role, option = _LOOKS[each.role]
            yield _number_like(each.column, role, f"{option}={{column}}", reason=each.reason, default=True)
        elif each.type in ("nominal", "ordinal"):
            yield _number_like(each.column, "a code", f"--type={{column}}={each.type}", default=True)


def on_codes(profiles: Iterable[ColumnProfile], default: Collection[str]) -> Iterator[Message]:
    """Warn of probable codes, with the option that declares them; columns masked by `default` were named already."""
    for profile in profiles:
        if codes := missing_codes(profile):
            yield Message(
                "probable-missing-codes",
                column=profile.name,
                records=sum(profile.codes[code] or (profile.counts or {}).get(code, 0) for code in codes),
                codes=[*map(str, codes)],
                values=",".join(map(str, codes)),
            )
        kind = type_of(Column(profile, meanings_of(profile)))[0]
        is_code = kind == "nominal" or (kind == "ordinal" and profile.labels.values)
        if is_code and profile.name not in default:
            yield _number_like(profile.name, "a code", f"--type={{column}}={kind}")
