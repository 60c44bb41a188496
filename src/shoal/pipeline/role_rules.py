"""The rules by which a role and a type are guessed from the profile of a column, its name and its label.

`RULES` has them in order: the first that applies decides. They are on the safe side: what looks personal, is nearly
unique, or is text of unknown meaning is never proposed for publication.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pyarrow as pa

from shoal.pipeline.role_words import in_order, is_no_answer, meanings
from shoal.plan import AttributeType
from shoal.tables.dataframes import ROW_NAMES
from shoal.tables.dtypes import is_number
from shoal.tables.profile import ColumnProfile
from shoal.text import counted

Role = Literal["identifier", "unit", "quasi", "confidential", "weights", "strata", "household", "publish"]

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
_SHARED = 1.2  # records of a unit on average, at least
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


class Verdict(NamedTuple):
    """What a rule proposes, why, and what to look at."""

    role: Role
    reason: str
    warning: str = ""


@dataclass(frozen=True)
class Column:
    """A profile with what its name and label say, and what the other columns tell of it."""

    profile: ColumnProfile
    meanings: Mapping[str, str]
    people: bool = False
    bodies: bool = False
    designed: bool = False
    weights: Sequence[str] = ()
    constant: Mapping[str, int] = field(default_factory=dict)
    unit: str | None = None

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

    @property
    def may_be_unit(self) -> bool:
        """Whether a few records share each value, and the name says nothing else than that of a unit."""
        is_number = self.profile.is_whole or self.profile.is_textual
        is_shared = self.different >= _UNITS and 1.2 <= self.profile.present / self.different <= 50
        return is_number and is_shared and not {*self.meanings} - {"household", "unit", "number"}

    def says(self, *wanted: str) -> str | None:
        """Return the first of some meanings that the name or the label has, as a clause."""
        return next((self.meanings[meaning] for meaning in wanted if meaning in self.meanings), None)

    def counted(self) -> str:
        """Return how many values are different, as a clause."""
        about = "" if self.profile.distinct.is_exact else "about "
        different = min(self.different, self.profile.present)
        return f"{about}{different:,} different values in {self.profile.present:,} records"


def meanings_of(profile: ColumnProfile) -> dict[str, str]:
    """Return what the name and the label of a column mean, each with a clause that says where that shows."""
    texts = {"label": profile.labels.label or "", "name": profile.name}
    return {
        meaning: f'{what} contains "{word}"' for what, text in texts.items() for meaning, word in meanings(text).items()
    }


def _cannot_be_masked(column: Column) -> Verdict | None:
    if not column.profile.is_simple:
        return Verdict("identifier", "lists, bytes or other values that cannot be masked")
    return None if column.profile.present else Verdict("identifier", "no record has a value")


def _row_names(column: Column) -> Verdict | None:
    return (
        Verdict("identifier", "row names: a first column without a name") if column.profile.name == ROW_NAMES else None
    )


def _looks_identifying(column: Column) -> Verdict | None:
    profile = column.profile
    for name in _IDENTIFYING:
        if profile.looks_like(name):
            return Verdict("identifier", f"looks like {name}")
    return None


def is_weight(column: Column) -> bool:
    """Whether a column holds survey weights."""
    profile = column.profile
    if not profile.is_numeric or profile.low is None or profile.low < 0 or column.is_flag:
        return False
    if column.says("birth", "body", "age", "time", "money"):
        return False
    if profile.name.lower() == "w":  # the usual letter, but of widths as well
        return profile.low > 0 and profile.mean >= 0.8 and not profile.is_whole and profile.present >= 100
    if column.says("survey weight"):
        return "weight" in column.meanings or column.people or profile.present >= 100
    # The word alone may be that of a body or an organ: other columns must speak of a survey's design.
    around_one = 0.8 <= profile.mean <= 1.25 and not profile.is_whole
    return (
        column.says("weight") is not None
        and column.designed
        and not column.bodies
        and (around_one or (profile.mean > 1 and profile.variation > 0.3))
    )


def _weights(column: Column) -> Verdict | None:
    profile = column.profile
    if profile.name not in column.weights:
        return None
    words = column.says("survey weight", "weight") or f'name is "{profile.name}"'
    if profile.name != column.weights[0]:
        return Verdict("identifier", f"another survey weight ({words}); a plan has one")
    mean = "around 1" if profile.mean <= 1.25 else "above 1"
    warning = ""
    if column.share > 0.1:
        warning = f"Published unchanged, it singles records out: {column.counted()}. Round or group it first."
    if profile.low is not None and profile.low <= 0:
        warning = "Some weights are 0, which a plan does not accept. " + warning
    return Verdict("weights", f"{words} and values are positive with a mean {mean}", warning.strip())


def _direct_identifier(column: Column) -> Verdict | None:
    words = column.says("direct identifier")
    if words is None or column.is_flag or _is_coded_place(column):
        return None
    return Verdict("identifier", words)


def _is_coded_place(column: Column) -> bool:
    """Whether a name or number is that of a place, an occupation or the like, which many records share."""
    return bool(column.says("place", "nationality", "education", "occupation", "design")) and column.share <= _UNIQUE


def _unit(column: Column) -> Verdict | None:
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
    if profile.name == column.unit:
        return Verdict("unit", f"number of a unit: {words}, {_shared(column)}; k counts units")
    kind = "household" if "household" in column.meanings else "unit"
    return Verdict("identifier", f"number of a {kind}: {words}, {_shared(column)}")


def is_repeated_unit(column: Column) -> bool:
    """Whether several records share each number of a person, firm or the like, and none misses it."""
    found = _unit(column)
    repeats = column.profile.present >= _SHARED * column.different and column.different >= _UNITS
    return found is not None and repeats and not column.profile.missing and "household" not in column.meanings


def may_be_household(column: Column) -> bool:
    """Whether every record has the number of a household, and some records share one."""
    profile = column.profile
    named = column.says("household") and _unit(column) is not None
    return bool(named) and not profile.missing and profile.present >= 1.05 * column.different


def _shared(column: Column) -> str:
    each = column.profile.present / max(1, column.different)
    if each < 1.05:
        return column.counted()
    constant = column.constant.get(column.profile.name, 0)
    also = f"; {constant} other column{'s are' if constant > 1 else ' is'} constant within" if constant else ""
    return f"shared by {each:.1f} records on average{also}"


def _constant_within(column: Column) -> Verdict | None:
    if column.constant.get(column.profile.name, 0) < 2:
        return None
    return Verdict("identifier", f"probably a household or another unit: {_shared(column)}")


def _numbered(column: Column) -> Verdict | None:
    words = column.says("number")
    if words is None or column.is_flag or not (column.profile.is_whole or column.profile.is_textual):
        return None
    unique = column.share > _UNIQUE or (column.different > _UNKNOWN_TEXTS and not column.says(*_DEMOGRAPHIC))
    return Verdict("identifier", f"{words}, {column.counted()}") if unique else None


def _unique_numbers(column: Column) -> Verdict | None:
    profile = column.profile
    if not profile.is_whole or profile.present < _ENOUGH or column.share < 0.95 or column.says("time", "birth", "age"):
        return None
    low, high = profile.low or 0.0, profile.high or 0.0
    if high - low < 1.02 * column.different:
        return Verdict("identifier", f"consecutive numbers, {column.counted()}")
    digits = len(f"{low:.0f}")
    if low > 0 and digits >= _LONG and digits == len(f"{high:.0f}") and not column.says("money"):
        return Verdict("identifier", f"numbers of {digits} digits, {column.counted()}")
    return None


def _unique_texts(column: Column) -> Verdict | None:
    profile = column.profile
    if not profile.is_textual or profile.present < _ENOUGH:
        return None
    if profile.looks_like("dates"):
        warning = "Dates are stored as text. Convert them to dates to mask them."
        return Verdict("identifier" if column.share > 0.1 else "quasi", "looks like dates", warning)
    if profile.words > 5 * profile.compared and column.share > 0.1:
        return Verdict("identifier", "looks like free text")
    if column.share <= _UNIQUE:
        return None
    names = profile.looks_like("names of people")
    return Verdict("identifier", f"{'looks like names, ' if names else 'texts, '}{column.counted()}")


def _spoiled(column: Column) -> Verdict | None:
    if not column.profile.doubt or column.is_few:
        return None
    return Verdict("identifier", f"no clear type, {column.counted()}")


def _dates(column: Column) -> Verdict | None:
    profile = column.profile
    for meaning in ("birth", "death"):
        if words := column.says(meaning):
            return Verdict("quasi", f"{'dates of ' if profile.is_temporal else ''}{meaning}: {words}")
    if not profile.is_temporal:
        return None
    years = ((profile.high or 0.0) - (profile.low or 0.0)) / 365.25
    return Verdict("quasi", "dates over decades, perhaps of birth" if years > 30 else "dates that others may know")


def _constant(column: Column) -> Verdict | None:
    if column.different > 1 or column.profile.missing:
        return None
    return Verdict("publish", "the same in all records")


def _opinion(column: Column) -> Verdict | None:
    """Find answers on a scale, whatever they are about: a marriage, a job."""
    words = column.says("opinion")
    if words is None or not column.is_few or column.says("age", "sex", "place"):
        return None
    return Verdict("confidential", f"opinion: {words}, {_values(column)}")


def _values(column: Column) -> str:
    return counted(column.different, "different value")


def _demographic(column: Column) -> Verdict | None:
    if "size" in column.meanings and column.says("household"):
        return Verdict("quasi", f"household size: {column.says('household')}")
    if column.profile.looks_like("post codes"):
        return Verdict("quasi", "looks like post codes")
    for meaning in _DEMOGRAPHIC:
        if words := column.says(meaning):
            return Verdict("quasi", f"{meaning}: {words}")
    return None


def _sensitive(column: Column) -> Verdict | None:
    for meaning in _SENSITIVE:
        if words := column.says(meaning):
            if _is_common(column):
                return Verdict("confidential", f"{meaning}: {words}, {_values(column)}")
            return Verdict("quasi", f"{meaning}: {words}, but {column.counted()}")
    return None


def _money(column: Column) -> Verdict | None:
    words = column.says("money")
    if words is None:
        return None
    if column.is_few:
        return Verdict("confidential", f"money: {words}, {_values(column)}")
    return Verdict("quasi", f"amounts of money: {words}")


def _amounts(column: Column) -> Verdict | None:
    return _money(column) if not column.is_few and column.profile.is_numeric and not column.says("age") else None


def _is_common(column: Column) -> bool:
    """Whether there are so few values that none singles a record out by itself."""
    return column.different <= _UNKNOWN_TEXTS and (column.share <= 0.1 or column.is_few)


def _stratum(column: Column) -> Verdict | None:
    counts = column.profile.counts
    words = column.says("stratum")
    if words is None or not counts or min(counts.values()) < _STRATUM or column.profile.missing:
        return None
    return Verdict("strata", f"{words}, at least {_STRATUM} records each")


def _harmless(column: Column) -> Verdict | None:
    counts = column.profile.counts
    words = column.says("design")
    if words is None or not column.is_few or not counts or min(counts.values()) < _RARE:
        return None
    return Verdict("publish", f"design of the data: {words}, {_values(column)}")


def _unknown(column: Column) -> Verdict:
    profile = column.profile
    if words := column.says("time"):
        return Verdict("quasi", f"a time that others may know: {words}")
    if profile.is_textual and (column.different > _UNKNOWN_TEXTS or (not column.is_few and column.share > 0.2)):
        return Verdict("identifier", f"texts of unknown meaning, {column.counted()}")
    if words := column.says("weight"):
        return Verdict("quasi", words, "If these are survey weights, name the column with --weights.")
    if profile.is_numeric and not column.is_few:
        return Verdict("quasi", f"numbers of unknown meaning, {column.counted()}")
    return Verdict("quasi", f"unknown meaning, {_values(column)}")


_NAMING = (_looks_identifying, _direct_identifier, _unit, _numbered, _unique_numbers, _unique_texts)


def identifying(profile: ColumnProfile) -> str:
    """Return why values identify people by themselves, as names, addresses and row numbers do; empty if they do not."""
    column = Column(profile, meanings_of(profile))
    verdicts = (rule(column) for rule in _NAMING)
    found = (each.reason for each in verdicts if each is not None and each.role == "identifier")
    return "" if _is_common(column) else next(found, "")


Rule = Callable[[Column], Verdict | None]
RULES: tuple[Rule, ...] = (
    *(_cannot_be_masked, _row_names, _looks_identifying, _weights, _direct_identifier, _unit, _numbered),
    *(_unique_numbers, _unique_texts, _spoiled, _constant_within, _stratum, _dates, _opinion, _amounts),
    *(_demographic, _sensitive, _money, _constant, _harmless, _unknown),
)


def type_of(column: Column) -> tuple[AttributeType, tuple[str, ...]]:
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


def _is_classified(column: Column) -> bool:
    """Whether numbers are those of a classification, such as post codes."""
    coded = column.says("number") and column.says("place", "nationality", "occupation", "education", "health")
    return bool(column.says("classification") or coded) and column.share <= _UNIQUE


def _labels_in_order(profile: ColumnProfile) -> bool:
    """Whether the labels of codes are the words of a scale, in the order of the codes."""
    said, found = profile.labels.values, profile.counts or {}
    codes = sorted(code for code in said if isinstance(code, float) and code in found and not is_no_answer(said[code]))
    labels = [said[code] for code in codes]
    order = in_order(labels)
    return order is not None and order in (labels, labels[::-1])
