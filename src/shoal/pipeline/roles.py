"""Roles, types and missing-value codes of columns, proposed from their profiles; no value of the data is ever named.

The proposal is on the safe side: what looks personal, is nearly unique, or is text of unknown meaning is never proposed
for publication. The rules stand in `_RULES`, in order: the first that applies decides.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

from shoal.errors import DataError, PlanError
from shoal.pipeline.missing_codes import labelled_codes, missing_codes, missing_words
from shoal.pipeline.records import Records
from shoal.pipeline.role_words import in_order, meanings
from shoal.plan import AttributeType, Plan
from shoal.plan.commands import protect_command
from shoal.tables import Table
from shoal.tables.attributes import infer_type
from shoal.tables.dataframes import ROW_NAMES
from shoal.tables.dtypes import inner, is_number
from shoal.tables.profile import ColumnProfile, Pairs, Profiles, pair_piece, profile_piece
from shoal.text import counted

Role = Literal["identifier", "quasi", "confidential", "weights", "strata", "publish"]

_ENOUGH = 10  # records from which on different texts say something
_UNIQUE = 0.5  # of the records: more different values than this single them out
_CATEGORIES = 20  # different whole numbers that are taken for codes
_CODES = 10  # of them, without labels; more are taken for counts
_REPEATED = 5  # records that a category has on average, at least
_UNKNOWN_TEXTS = 100  # different texts of unknown meaning
_LONG = 7  # digits of a number that is none of a quantity
_RARE = 5  # records that every value has of what is published as it is
_STRATUM = 10  # records that every stratum has
_UNITS = 20  # different units, at least
_LOOKED_INTO = 4  # columns that may be numbers of units and are compared with all others
_DEMOGRAPHIC = (
    *("age", "sex", "place", "nationality", "education", "occupation", "family status", "family"),
    *("body", "housing"),
)
_SENSITIVE = ("health", "belief", "opinion")
_ORDERED = frozenset({"size", "age", "education", "family", "opinion", "money", "body", "time", "birth"})
_IDENTIFYING = (
    *("e-mail addresses", "web addresses", "IP addresses", "account numbers (IBAN)", "universal identifiers (UUID)"),
    *("phone numbers", "personal numbers", "street addresses"),
)


class Proposal(NamedTuple):
    """What a column probably is.

    Attributes
    ----------
    column, role, type
        Its name, and what is proposed for it.
    levels
        Of an ordinal column of text, in order, where its words tell it. These are values: show their number only.
    missing_codes
        Numbers, or words in a column of numbers, that probably stand for a missing value.
    reason, warning
        Why, and what to look at, in words without a value of the data; the warning may be empty.
    guessed, numeric
        Whether the type is not the one that the file says, and whether values are stored as numbers.
    missing
        Records without a value.
    shape
        The most common form of a value: 9 for a digit, A and a for letters, * for characters beyond ASCII.
    """

    column: str
    role: Role
    type: AttributeType
    levels: tuple[str, ...] = ()
    missing_codes: tuple[int | float | str, ...] = ()
    reason: str = ""
    warning: str = ""
    guessed: bool = False
    numeric: bool = False
    missing: int = 0
    shape: str = ""


class _Verdict(NamedTuple):
    role: Role
    reason: str
    warning: str = ""


@dataclass(frozen=True)
class _Column:
    """A profile with what its name and label say, and what the other columns tell of it."""

    profile: ColumnProfile
    meanings: Mapping[str, str]
    people: bool = False
    bodies: bool = False
    weights: Sequence[str] = ()
    constant: Mapping[str, int] = field(default_factory=dict)

    @property
    def different(self) -> int:
        """How many different values there are."""
        return self.profile.distinct.count

    @property
    def share(self) -> float:
        """Different values, relative to the records that have one."""
        return self.different / max(1, self.profile.present)

    @property
    def is_few(self) -> bool:
        """Whether there are few different values, each of which several records have."""
        return self.different <= _CATEGORIES and self.profile.present >= _REPEATED * self.different

    @property
    def is_flag(self) -> bool:
        """Whether there are two values that are no text, or the type is boolean."""
        return pa.types.is_boolean(self.profile.stored) or (self.profile.is_numeric and self.different <= 2)

    def says(self, *wanted: str) -> str | None:
        """Return the first of some meanings that the name has, as a clause."""
        for meaning in wanted:
            if meaning in self.meanings:
                return f'name contains "{self.meanings[meaning]}"'
        return None

    def counted(self) -> str:
        """Return how many values are different, as a clause."""
        about = "" if self.profile.distinct.is_exact else "about "
        different = min(self.different, self.profile.present)
        return f"different in {about}{different:,} of {self.profile.present:,} records"


def profiles_of(records: Records, names: Iterable[str] | None = None) -> list[ColumnProfile]:
    """Profile columns by a pass over all records, wherever they are; all columns if none is named."""
    wanted = list(records.outline.names if names is None else names)
    found: Profiles = records.fold(profile_piece, wanted, "scan")
    return [_with_type(found.columns[name], records.outline) for name in wanted]


def _with_type(profile: ColumnProfile, table: Table) -> ColumnProfile:
    if not profile.is_simple:
        return profile
    try:
        return replace(profile, inferred=infer_type(table, profile.name))
    except DataError as error:
        return replace(profile, doubt=str(error))


def propose_for(records: Records, profiles: Sequence[ColumnProfile]) -> list[Proposal]:
    """Propose a role for every column of a table, also by what is constant within households and other units."""
    units = _possible_units(profiles)[:_LOOKED_INTO]
    if not units:
        return propose(profiles)
    others = [each.name for each in profiles if each.is_simple and 1 < each.distinct.count < each.present]
    found: Pairs = records.fold(partial(pair_piece, units=units), list(dict.fromkeys([*units, *others])), "scan")
    return propose(profiles, {unit: found.constant_within(unit) for unit in units})


def _possible_units(profiles: Sequence[ColumnProfile]) -> list[str]:
    """Name columns whose values a few records share and that have no other meaning, those of a hinted unit first."""
    columns = [_Column(each, _meanings(each)) for each in profiles]
    units = [
        each
        for each in columns
        if (each.profile.is_whole or each.profile.is_textual)
        and each.different >= _UNITS
        and 1.2 <= each.profile.present / each.different <= 50
        and not {*each.meanings} - {"household", "unit", "number"}
    ]
    return [each.profile.name for each in sorted(units, key=lambda each: (not each.meanings, each.different))]


def propose(profiles: Sequence[ColumnProfile], constant: Mapping[str, int] | None = None) -> list[Proposal]:
    """Propose a role, a type and missing-value codes for every column.

    Parameters
    ----------
    profiles
        Of the columns of one table: what one is depends on the others.
    constant
        How many other columns are constant within each value of some columns, where that was looked at.
    """
    said = {each.name: _meanings(each) for each in profiles}
    spoken = {meaning for each in said.values() for meaning in each}
    people = bool(spoken & {"age", "sex", "education", "family status", "household", "birth"})
    columns = [_Column(each, said[each.name], people, "body" in spoken, constant=constant or {}) for each in profiles]
    weights = [each.profile.name for each in columns if _is_weight(each)]
    return [_proposal(replace(each, weights=weights)) for each in columns]


def _meanings(profile: ColumnProfile) -> dict[str, str]:
    return {**meanings(profile.name), **(meanings(profile.labels.label) if profile.labels.label else {})}


def _proposal(column: _Column) -> Proposal:
    profile = column.profile
    verdict = next(verdict for rule in _RULES if (verdict := rule(column)) is not None)
    type_, levels = _type(column)
    codes = (*missing_words(profile), *(missing_codes(profile) if verdict.role != "identifier" else ()))
    warnings = [verdict.warning, profile.doubt and f"{profile.doubt}.", labelled_codes(profile)]
    return Proposal(
        profile.name,
        verdict.role,
        type_,
        levels,
        codes,
        verdict.reason,
        " ".join(filter(None, warnings)),
        guessed=type_ != profile.inferred,
        numeric=is_number(inner(profile.stored)),
        missing=profile.missing,
        shape=profile.shape,
    )


def _cannot_be_masked(column: _Column) -> _Verdict | None:
    if not column.profile.is_simple:
        return _Verdict("identifier", "lists, bytes or other values that cannot be masked")
    return None if column.profile.present else _Verdict("identifier", "no record has a value")


def _row_names(column: _Column) -> _Verdict | None:
    return (
        _Verdict("identifier", "row names: a first column without a name") if column.profile.name == ROW_NAMES else None
    )


def _looks_identifying(column: _Column) -> _Verdict | None:
    profile = column.profile
    for name in _IDENTIFYING:
        if 2 * profile.formats[name] >= profile.present:
            return _Verdict("identifier", f"looks like {name}")
    return None


def _is_weight(column: _Column) -> bool:
    profile = column.profile
    if not profile.is_numeric or profile.low is None or profile.low < 0 or column.is_flag:
        return False
    if column.says("birth", "body", "age", "time", "money"):
        return False
    if column.says("survey weight"):
        return "weight" in column.meanings or column.people or profile.present >= 100
    # The word alone may be that of a body: its weight varies less, and height is in the same table.
    around_one = 0.8 <= profile.mean <= 1.25 and not profile.is_whole
    return (
        column.says("weight") is not None
        and column.people
        and not column.bodies
        and (around_one or (profile.mean > 1 and profile.variation > 0.3))
    )


def _weights(column: _Column) -> _Verdict | None:
    profile = column.profile
    if profile.name not in column.weights:
        return None
    words = column.says("survey weight", "weight")
    if profile.name != column.weights[0]:
        return _Verdict("identifier", f"another survey weight ({words}); a plan has one")
    mean = "around 1" if profile.mean <= 1.25 else "above 1"
    warning = ""
    if column.share > 0.1:
        warning = f"Published unchanged, it singles records out: {column.counted()}. Round or group it first."
    if profile.low is not None and profile.low <= 0:
        warning = "Some weights are 0, which a plan does not accept. " + warning
    return _Verdict("weights", f"{words} and values are positive with a mean {mean}", warning.strip())


def _direct_identifier(column: _Column) -> _Verdict | None:
    words = column.says("direct identifier")
    if words is None or column.is_flag or _is_coded_place(column):
        return None
    return _Verdict("identifier", words)


def _is_coded_place(column: _Column) -> bool:
    """Whether a name or number is that of a place, an occupation or the like, which many records share."""
    return bool(column.says("place", "nationality", "education", "occupation", "design")) and column.share <= _UNIQUE


def _unit(column: _Column) -> _Verdict | None:
    """Find numbers of households, firms, patients and the like; a plan drops them."""
    profile = column.profile
    words = column.says("household", "unit")
    if words is None or column.says("size", "age", "sex", "family", "money", *_SENSITIVE) or column.is_flag:
        return None
    if not (profile.is_whole or profile.is_textual):
        return None
    if column.different < _UNITS and column.share < 0.2:
        return None
    alone = column.share > _UNIQUE and "household" not in column.meanings  # rather a quantity of the unit
    if not column.says("number") and (alone or _is_coded_place(column)):
        return None
    kind = "household" if "household" in column.meanings else "unit"
    return _Verdict("identifier", f"number of a {kind}: {words}, {_shared(column)}")


def _shared(column: _Column) -> str:
    each = column.profile.present / max(1, column.different)
    if each < 1.05:
        return column.counted()
    constant = column.constant.get(column.profile.name, 0)
    also = f"; {constant} other column{'s are' if constant > 1 else ' is'} constant within" if constant else ""
    return f"shared by {each:.1f} records on average{also}"


def _constant_within(column: _Column) -> _Verdict | None:
    if column.constant.get(column.profile.name, 0) < 2:
        return None
    return _Verdict("identifier", f"probably a household or another unit: {_shared(column)}")


def _numbered(column: _Column) -> _Verdict | None:
    words = column.says("number")
    if words is None or column.is_flag or not (column.profile.is_whole or column.profile.is_textual):
        return None
    unique = column.share > _UNIQUE or (column.different > _UNKNOWN_TEXTS and not column.says(*_DEMOGRAPHIC))
    return _Verdict("identifier", f"{words}, {column.counted()}") if unique else None


def _unique_numbers(column: _Column) -> _Verdict | None:
    profile = column.profile
    if not profile.is_whole or profile.present < _ENOUGH or column.share < 0.95 or column.says("time", "birth", "age"):
        return None
    low, high = profile.low or 0.0, profile.high or 0.0
    if high - low < 1.02 * column.different:
        return _Verdict("identifier", f"consecutive numbers, {column.counted()}")
    digits = len(f"{low:.0f}")
    if low > 0 and digits >= _LONG and digits == len(f"{high:.0f}") and not column.says("money"):
        return _Verdict("identifier", f"numbers of {digits} digits, {column.counted()}")
    return None


def _unique_texts(column: _Column) -> _Verdict | None:
    profile = column.profile
    if not profile.is_textual or profile.present < _ENOUGH:
        return None
    if 2 * profile.formats["dates"] >= profile.present:
        warning = "Dates are stored as text. Convert them to dates to mask them."
        return _Verdict("identifier" if column.share > 0.1 else "quasi", "looks like dates", warning)
    if profile.words > 5 * profile.present and column.share > 0.1:
        return _Verdict("identifier", "looks like free text")
    if column.share <= _UNIQUE:
        return None
    names = 2 * profile.formats["names of people"] >= profile.present
    return _Verdict("identifier", f"{'looks like names, ' if names else 'texts, '}{column.counted()}")


def _spoiled(column: _Column) -> _Verdict | None:
    if not column.profile.doubt or column.is_few:
        return None
    return _Verdict("identifier", f"no clear type, {column.counted()}")


def _dates(column: _Column) -> _Verdict | None:
    profile = column.profile
    for meaning in ("birth", "death"):
        if words := column.says(meaning):
            return _Verdict("quasi", f"{'dates of ' if profile.is_temporal else ''}{meaning}: {words}")
    if not profile.is_temporal:
        return None
    years = ((profile.high or 0.0) - (profile.low or 0.0)) / 365.25
    return _Verdict("quasi", "dates over decades, perhaps of birth" if years > 30 else "dates that others may know")


def _constant(column: _Column) -> _Verdict | None:
    if column.different > 1 or column.profile.missing:
        return None
    return _Verdict("publish", "the same in all records")


def _opinion(column: _Column) -> _Verdict | None:
    """Find answers on a scale, whatever they are about: a marriage, a job."""
    words = column.says("opinion")
    if words is None or not column.is_few or column.says("age", "sex", "place"):
        return None
    return _Verdict("confidential", f"opinion: {words}, {_values(column)}")


def _values(column: _Column) -> str:
    return counted(column.different, "different value")


def _demographic(column: _Column) -> _Verdict | None:
    if "size" in column.meanings and column.says("household"):
        return _Verdict("quasi", f"household size: {column.says('household')}")
    if 2 * column.profile.formats["post codes"] >= column.profile.present:
        return _Verdict("quasi", "looks like post codes")
    for meaning in _DEMOGRAPHIC:
        if words := column.says(meaning):
            return _Verdict("quasi", f"{meaning}: {words}")
    return None


def _sensitive(column: _Column) -> _Verdict | None:
    for meaning in _SENSITIVE:
        if words := column.says(meaning):
            if _is_common(column):
                return _Verdict("confidential", f"{meaning}: {words}, {_values(column)}")
            return _Verdict("quasi", f"{meaning}: {words}, but {column.counted()}")
    return None


def _money(column: _Column) -> _Verdict | None:
    words = column.says("money")
    if words is None:
        return None
    if column.is_few:
        return _Verdict("confidential", f"money: {words}, {_values(column)}")
    return _Verdict("quasi", f"amounts of money: {words}")


def _amounts(column: _Column) -> _Verdict | None:
    return _money(column) if not column.is_few and column.profile.is_numeric and not column.says("age") else None


def _is_common(column: _Column) -> bool:
    """Whether there are so few values that none singles a record out by itself."""
    return column.different <= _UNKNOWN_TEXTS and (column.share <= 0.1 or column.is_few)


def _stratum(column: _Column) -> _Verdict | None:
    counts = column.profile.counts
    words = column.says("stratum")
    if words is None or not counts or min(counts.values()) < _STRATUM or column.profile.missing:
        return None
    return _Verdict("strata", f"{words}, at least {_STRATUM} records each")


def _harmless(column: _Column) -> _Verdict | None:
    counts = column.profile.counts
    words = column.says("design")
    if words is None or not column.is_few or not counts or min(counts.values()) < _RARE:
        return None
    return _Verdict("publish", f"design of the data: {words}, {_values(column)}")


def _unknown(column: _Column) -> _Verdict:
    profile = column.profile
    if words := column.says("time"):
        return _Verdict("quasi", f"a time that others may know: {words}")
    if profile.is_textual and (column.different > _UNKNOWN_TEXTS or (not column.is_few and column.share > 0.2)):
        return _Verdict("identifier", f"texts of unknown meaning, {column.counted()}")
    if words := column.says("weight"):
        return _Verdict("quasi", words, "If these are survey weights, name the column with --weights.")
    if profile.is_numeric and not column.is_few:
        return _Verdict("quasi", f"numbers of unknown meaning, {column.counted()}")
    return _Verdict("quasi", f"unknown meaning, {_values(column)}")


_Rule = Callable[[_Column], _Verdict | None]
_RULES: tuple[_Rule, ...] = (
    *(_cannot_be_masked, _row_names, _looks_identifying, _weights, _direct_identifier, _unit, _numbered),
    *(_unique_numbers, _unique_texts, _spoiled, _constant_within, _stratum, _dates, _opinion, _amounts),
    *(_demographic, _sensitive, _money, _constant, _harmless, _unknown),
)


def _type(column: _Column) -> tuple[AttributeType, tuple[str, ...]]:
    """Return the type, and the levels where words tell their order; whole numbers with few values are categories."""
    profile = column.profile
    inferred = profile.inferred or "nominal"
    if profile.is_textual and inferred == "nominal" and profile.counts:
        levels = in_order(map(str, profile.counts))
        return ("ordinal", tuple(levels)) if levels else ("nominal", ())
    if inferred not in ("continuous", "nominal") or not is_number(profile.stored) or not profile.is_whole:
        return inferred, ()
    if profile.labels.measure == "scale" or column.different < 2:
        return inferred, ()
    if _is_classified(column):
        return "nominal", ()
    if not column.is_few:
        return inferred, ()
    if column.different > 2 and (_ORDERED & {*column.meanings} or _labels_in_order(profile)):
        return "ordinal", ()
    # Without labels, many different whole numbers are rather counts than codes.
    return ("nominal" if column.different <= _CODES or profile.labels.values else "ordinal"), ()


def _is_classified(column: _Column) -> bool:
    """Whether numbers are those of a classification, such as post codes."""
    coded = column.says("number") and column.says("place", "nationality", "occupation", "education", "health")
    return bool(column.says("classification") or coded) and column.share <= _UNIQUE


def _labels_in_order(profile: ColumnProfile) -> bool:
    """Whether the labels of codes are the words of a scale, in the order of the codes."""
    codes = sorted(code for code in profile.labels.values if isinstance(code, float) and code in (profile.counts or {}))
    labels = [profile.labels.values[code] for code in codes]
    order = in_order(labels)
    return order is not None and order in (labels, labels[::-1])


def proposed_plan(proposals: Sequence[Proposal], **options: Any) -> Plan:
    """Return the plan that gives every column its proposed role; `options` are fields of the plan, such as k.

    Raises
    ------
    PlanError
        No column is left to mask.
    """
    having = {role: [each.column for each in proposals if each.role == role] for role in get_args(Role)}
    masked = [each for each in proposals if each.role == "quasi"]
    if not masked:
        raise PlanError([("quasi", "No column is proposed to be masked. Choose at least one with --quasi.")])
    fields: dict[str, Any] = {
        "quasi": having["quasi"],
        "confidential": having["confidential"],
        "identifiers": having["identifier"],
        "publish": having["publish"],
        "weights": next(iter(having["weights"]), None),
        "strata": having["strata"] or None,
        "types": {each.column: each.type for each in masked if each.guessed and not each.levels},
        "levels": {each.column: list(each.levels) for each in masked if each.levels},
        "missing": "group" if any(each.missing for each in masked) else "error",
    }
    return Plan(**{"k": 5, **fields, **options})


def proposed_command(plan: Plan) -> str:
    """Return the command line that carries a proposed plan out; through a plan file where only that can express it."""
    return protect_command(plan) or "shoal protect --plan plan.toml"
