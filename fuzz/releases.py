"""`protect` on random tables and plans: a sentence, or a release that an independent count finds right."""

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pyarrow as pa

from fuzz.draws import Draws
from fuzz.oracle import SECRET, SECRET_NUMBER, Finding, refuse_leftovers, sentence_or
from shoal import Release, protect

_TINY, _MOST = 5e-324, 1.7976931348623157e308
FLOATS = [0.0, 1.0, -1.0, 0.5, -0.0, _TINY, -_TINY, 1e-308, 1e-300, 2e-300, 1e-160, 1e160, 1e300, 1e308, -1e308]
FLOATS += [_MOST, -_MOST, 2.0**53, 2.0**53 + 2, float(SECRET_NUMBER), math.nan, math.inf, -math.inf]
INTEGERS = [0, 1, -1, 2, 7, 2**31 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**62, 2**63 - 1, -(2**63), SECRET_NUMBER]
TEXTS = ["a", "b", "c", "", " ", SECRET, "1", "1.5", "NA", "é", "a\n", "\0"]
_DAYS = [0, 1, 2, 365, 20_000, -719_162, 2_932_896]
METHODS = ["mdav", "vmdav", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "univariate", "best", "auto"]
METHODS += ["mic1d", "hybrid", "ms"]
AGGREGATES = ["mean", "median", "lower_median", "trimmed_mean", "convex_median", "geometric_mean", "mode", "medoid"]
_NAMES = ["a", "b", "c", "d", "e"]


def release(data: bytes) -> None:
    """Protect a random table."""
    draws = Draws(data)
    table, plan = _table(draws), _plan(draws)
    # strata that are too small are named by their values, so that they can be found
    found = sentence_or(lambda: protect(table, publish="rest", **plan), named="strata" in plan)
    if found is not None:
        _check(table, found)
        sentence_or(found.summary)
    refuse_leftovers()


def _table(draws: Draws) -> pa.Table:
    records = draws.integer(0, 30)
    return pa.table({name: _column(draws, records) for name in _NAMES[: draws.integer(1, 5)]})


def _column(draws: Draws, records: int) -> pa.Array:
    kind = draws.integer(0, 9)
    holes = 8 if draws.chance(4) else 0
    values: list[Any] = [None if holes and draws.chance(holes) else _value(draws, kind) for _ in range(records)]
    types = [pa.float64(), pa.float64(), pa.int64(), pa.uint64(), pa.int8(), pa.float32(), pa.string(), pa.bool_()]
    type_ = [*types, pa.date32(), pa.timestamp("us")][kind]
    if kind == 6 and draws.chance(3):
        return pa.array(values, type_).dictionary_encode()
    return pa.array(values, type_)


def _value(draws: Draws, kind: int) -> Any:
    """Make a value of one of the kinds of column: often one that others have too."""
    if kind == 0:
        return draws.integer(-999, 999) / 4
    if kind == 1:
        return draws.pick(FLOATS)
    if kind == 2:
        return draws.pick(INTEGERS)
    if kind == 3:
        return draws.pick([0, 1, 2**53 + 1, 2**63, 2**64 - 1, SECRET_NUMBER])
    if kind == 4:
        return draws.integer(-128, 127)
    if kind == 5:
        return draws.pick([0.0, 0.1, 1.5, -2.25, 3e38, 1e-45, float(SECRET_NUMBER)])
    if kind == 6:
        return draws.pick(TEXTS)
    if kind == 7:
        return draws.chance(2)
    if kind == 8:
        return draws.pick(_DAYS)
    return dt.datetime(1970, 1, 1) + dt.timedelta(days=draws.pick(_DAYS), microseconds=draws.byte())


def _plan(draws: Draws) -> dict[str, Any]:
    """Ask for something; much of it does not hold together, which is refused, and some of it does."""
    method = draws.pick(METHODS)
    plan: dict[str, Any] = {"method": method, "k": draws.pick([2, 3, 2, 4, 3, 7, 1, 0])}
    if method == "ms":
        plan = {"method": "ms", "alpha": draws.pick([0.5, 0.0, 0.99])}
    if method == "best":
        plan["budget"] = 200
    roles = [draws.pick(["quasi", "quasi", "confidential", "other", "identifiers", "strata"]) for _ in _NAMES]
    for role in ("quasi", "confidential", "identifiers", "strata"):
        names = [name for name, its in zip(_NAMES, roles, strict=True) if its == role]
        if names and not draws.chance(3 if role == "quasi" else 2):
            plan[role] = names
    options: dict[str, list[Any]] = {
        "aggregate": AGGREGATES,
        "standardize": ["zscore", "minmax", "none"],
        "missing": ["group", "impute", "suppress", "error"],
        "round": [True],
        "restore_variance": [True],
        "small_strata": ["merge", "suppress"],
        "weights": _NAMES,
        "l": [2, 3],
        "t": [0.3, 1.0],
        "refine": [True],
        "blocks": ["correlated", "uncorrelated", [["a"], ["b"]], [["a", "b"], ["c"]]],
        "mask_quasi": [True],
        "edits": [["a <= b"], ["a + b == c"], ["a >= 0"]],
        "types": [{"a": "ordinal"}, {"a": "nominal"}, {"b": "date"}, {"a": "continuous"}],
        "seed": [0],
    }
    for name, choices in options.items():
        if draws.chance(2 if name == "missing" else 6):
            plan[name] = draws.pick(choices)
    if plan.get("refine"):
        plan["budget"] = 100
    return plan


def _check(original: pa.Table, found: Release) -> None:
    """Look at what is published, without the help of the code that made it."""
    plan, published = found.plan, found.table
    if published.column_names != [name for name in original.column_names if name not in plan.identifiers]:
        raise Finding("the columns are not those of the original without the identifiers")
    if len(published) != len(original) - found.suppressed:
        raise Finding("records are missing or too many")
    if found.partitions and (not plan.draws or plan.mask_quasi):
        for block in plan.in_blocks:
            _count(published, [*block, *_promised_strata(found)], plan.k)
    for name in published.column_names:
        before, after = original[name].to_pylist(), published[name].to_pylist()
        if name not in plan.changed:
            if not found.suppressed and list(map(repr, before)) != list(map(repr, after)):
                raise Finding(f"column {name} was to stay as it is")
            continue
        _check_values(before, after, name)
        if plan.aggregate == "mean" and _is_kept(original, found, name):
            _check_mean(before, after, name)


def _promised_strata(found: Release) -> list[str]:
    """Give the strata within which groups have k records: not those that were merged."""
    return [] if found.plan.small_strata == "merge" else found.plan.strata or []


def _count(published: pa.Table, names: list[str], k: int) -> None:
    rows = Counter(zip(*(map(repr, published[name].to_pylist()) for name in names), strict=True))
    if min(rows.values()) < k:
        raise Finding(f"a group of {min(rows.values())} records where k = {k}")


def _check_values(before: list[Any], after: list[Any], name: str) -> None:
    had = {_oddness(value) for value in before}
    if not {_oddness(value) for value in after} <= had | {"fine"} | ({"missing"} if "nan" in had else set()):
        raise Finding(f"column {name} has values that are missing, NaN or infinite, which it did not have")


def _oddness(value: Any) -> str:
    if value is None:
        return "missing"
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf"
    return "fine"


def _is_kept(original: pa.Table, found: Release, name: str) -> bool:
    """Tell whether the mean of an attribute is promised to be that of the original."""
    plan = found.plan
    plain = not (plan.round or plan.weights or plan.edits or found.suppressed or plan.draws)
    return plain and original.schema.field(name).type == pa.float64() and plan.types.get(name) == "continuous"


def _check_mean(before: list[Any], after: list[Any], name: str) -> None:
    if any(_oddness(value) != "fine" for value in before):
        return
    kept, had = (sum(map(Fraction, values)) for values in (after, before))
    size = sum(abs(Fraction(value)) for value in before)
    if abs(kept - had) > size / 10**9 + Fraction(_TINY) * len(before):
        raise Finding(f"column {name} does not keep its mean")
