"""Codes for missing values: numbers such as 99 or -9 beyond the range of the answers, or labelled as no answer.

Surveys write 'no answer', 'refused' or 'does not apply' as numbers of nines, eights and sevens, or as negative ones.
Such a number is taken for a code if it lies beyond all other values, apart from them, and more records have it than its
neighbours lead to expect. These numbers are conventions and no person's values, so they may be named.
"""

from shoal.pipeline.role_words import is_no_answer
from shoal.tables.profile import ColumnProfile

_APART = 2  # from the nearest value
_SPIKE = 5  # times as many records as a value has on average


def missing_codes(profile: ColumnProfile) -> tuple[int | float, ...]:
    """Return the numbers of a column that probably stand for a missing value, in ascending order."""
    if not profile.is_numeric:
        return ()
    found = {code for code in _labelled(profile) if code in (profile.counts or {code: 0})}
    if profile.core_low is not None and profile.core_high is not None:
        found |= _above(profile, profile.core_high) | _below(profile, profile.core_low)
    return tuple(int(code) if code == int(code) else code for code in sorted(found))


def missing_words(profile: ColumnProfile) -> tuple[str, ...]:
    """Return the words for a missing value, such as NA, in a column of texts that are numbers but for them."""
    is_numeric = profile.numbers and profile.numbers + profile.stand_ins.total() == profile.present
    return tuple(sorted(profile.stand_ins)) if is_numeric else ()


def labelled_codes(profile: ColumnProfile) -> str:
    """Return a warning if some values of a column have a label and others, more than the labelled, have none."""
    codes = {code for code in profile.labels.values if isinstance(code, float)}
    if not codes or profile.counts is None or not profile.is_numeric:
        return ""
    bare = [value for value in profile.counts if float(value) not in codes]
    labelled = len(profile.counts) - len(bare)
    return f"{len(bare)} values have no label, {labelled} have one." if bare and labelled else ""


def _labelled(profile: ColumnProfile) -> set[float]:
    return {code for code, label in profile.labels.values.items() if isinstance(code, float) and is_no_answer(label)}


def _above(profile: ColumnProfile, edge: float) -> set[float]:
    """Return the codes above all other values: one of nines, and those of eights and sevens beside it."""
    codes = sorted(code for code in profile.codes if code > max(edge, 0.0))
    for code in codes:  # 7, 8 and 9 after 6 are no codes
        edge = code if code - edge < _APART else edge
    nines = f"{max(codes, default=0):.0f}"
    family = [code for code in codes if code > edge and len(f"{code:.0f}") == len(nines)]
    if set(nines) != {"9"} or not family or max(family) != profile.high or (not profile.is_whole and max(family) < 100):
        return set()
    times = sum(profile.codes[code] for code in family)
    wide = min(family) - edge >= max(3.0, 0.5 * (edge - (profile.core_low or 0.0))) and times > 1
    usual = profile.present / max(1, profile.distinct.count)
    common = times > max(2.0, (1 if profile.counts else _SPIKE) * usual)
    return {*family} if wide or common else set()


def _below(profile: ColumnProfile, edge: float) -> set[float]:
    """Return the codes below zero, if no other value is."""
    negative = {code for code in profile.codes if code < 0}
    if edge < 0 or not negative or not profile.is_whole:
        return set()
    return negative
