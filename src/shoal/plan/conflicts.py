"""What contradicts what in a plan, although each of its fields is right by itself.

Each contradiction is a message about a field of the plan.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shoal.messages import Message
from shoal.plan import recoding

if TYPE_CHECKING:
    from shoal.plan import Plan, Scale

_LEAST_MEMORY = 1_000_000
ONE_ATTRIBUTE = "one-attribute-only"
_NO_GROUPS = Message("forms-no-groups", what="records")
_SOME_RECORDS = "--block-records with a number"


def contradictions(plan: "Plan") -> Iterator[Message]:
    """Every contradiction between fields that are right by themselves."""
    if plan.k is None and plan.method != "ms":
        yield Message("not-set", field="k", name="k", what=Message("minimum-group-size"), example="-k=5")
    yield from _roles(plan)
    yield from _blocks(plan)
    yield from _units(plan)
    if plan.distance == "balanced" and plan.standardize != "zscore":
        yield _with(f"--standardize={plan.standardize}", "distance", value="balanced")
    yield from _typed(plan)
    yield from recoding.contradictions(plan)
    yield from _weighted(plan)
    yield from _diverse(plan)
    yield from _dominated(plan)
    yield from _totals(plan)
    yield from _edited(plan)
    if plan.trim is not None and not plan.trimmed:
        yield Message("applies-only-with", field="trim", needed="--aggregate=trimmed_mean")
    if plan.k and 2 * plan.trimmed >= plan.k:
        yield Message("trim-too-large", field="trim", k=plan.k)
    if plan.rank is not None and "order_statistic" not in plan.aggregates:
        yield Message("applies-only-with", field="rank", needed="--aggregate=order_statistic")
    if plan.k and plan.ranked > plan.k:
        yield Message("rank-above-k", field="rank", k=plan.k)
    if plan.block_size is not None and not isinstance(plan.blocks, str):
        yield Message("applies-only-with", field="block_size", needed="--blocks=correlated, uncorrelated or edits")
    if plan.blocks == "edits" and plan.edits is None:
        yield _without("rules", "--edits or --edit", "blocks", value="edits")
    if plan.method == "mic1d":
        yield from _mic1d(plan)
    else:
        yield from _unused(plan, ("allow_unchanged",), instead="--method=mic1d")
    yield from _households(plan)
    yield from _only(plan)
    yield from _partition(plan)
    yield from _hybrid(plan)
    yield from _private(plan)
    yield from _scaled(plan)
    yield from _searched(plan)
    if plan.gain is not None and plan.grouping != "vmdav":
        yield _not_for_grouping(plan, "gain", instead=f"--{_grouping_option(plan)}=vmdav")
    if plan.method != "tour":
        yield from _unused(plan, ("tour",), instead="--method=tour")
    if plan.strata is None and plan.edits is None and plan.small_strata != "error":
        yield _without("strata", "--strata", "small_strata")


def _is_given(plan: "Plan", field: str) -> bool:
    """Whether a field differs from its default."""
    return bool(getattr(plan, field) != type(plan).model_fields[field].default)


def _with(other: str, field: str, why: str = "", **data: str) -> Message:
    """Return the message that a field does not apply with another option; `why` is the code of a phrase."""
    reason = {"why": Message(why)} if why else {}
    return Message("does-not-apply-with", field=field, other=other, **reason, **data)


def _without(needed: str, option: str, field: str, **data: str) -> Message:
    """Return the message that a field needs another option."""
    return Message("does-not-apply-without", field=field, needed=needed, option=option, **data)


def _not_for(plan: "Plan", field: str, why: Message | None = None, **data: Any) -> Message:
    """Return the message that a field does not apply to the plan's method."""
    reason = {"why": why} if why else {}
    return Message("not-for-method", field=field, kind="method", method=plan.method, **reason, **data)


def _not_for_grouping(plan: "Plan", field: str, **data: Any) -> Message:
    """Return the message that a field does not apply to the method that forms groups."""
    return Message("not-for-method", field=field, kind=_grouping_option(plan), method=plan.grouping, **data)


def _grouping_option(plan: "Plan") -> str:
    return "partition" if plan.method == "hybrid" else "method"


def _unused(plan: "Plan", fields: Iterable[str], why: Message | None = None, **data: Any) -> Iterator[Message]:
    """Fields that are given, although the plan's method does not use them."""
    for field in fields:
        if _is_given(plan, field):
            yield _not_for(plan, field, why, **data)


def _not_here(plan: "Plan", field: str, why: Message, **data: Any) -> Message:
    """Return the message that a field does not apply with epsilon, or without it to the method."""
    if plan.epsilon is None:
        return _not_for(plan, field, why, **data)
    return Message("does-not-apply-with", field=field, other="--epsilon", why=why)


# What forms no groups in which units could be counted, or would have to protect all records of a unit at once.
_WITHOUT_UNITS = {
    "mic1d": "",
    "ms": "",
    "hybrid": "noise-per-record",
    "insensitive": "privacy-per-record",
}


def _units(plan: "Plan") -> Iterator[Message]:
    """Units, of which every group has at least k."""
    if plan.unit is None:
        if plan.unit_as is not None:
            yield _without("units", "--unit", "unit_as")
        return
    method = "insensitive" if plan.epsilon is not None else plan.method
    if method in _WITHOUT_UNITS:
        why = Message(_WITHOUT_UNITS[method]) if _WITHOUT_UNITS[method] else _NO_GROUPS
        yield _not_here(plan, "unit", why, remedy=Message("drop-unit"))
    if plan.scale is not None and plan.scale.seams:
        yield _with("--unit", "scale.seams", "groups-fixed")


def _searched(plan: "Plan") -> Iterator[Message]:
    """How long to search for a better partition, and whether to prove how good it is."""
    if plan.method in ("mic1d", "ms"):
        yield from _unused(plan, ("budget", "refine", "bound"))
        return
    ways = ", --refine or --bound"
    if plan.method == "hybrid":
        ways = " or --refine"
        yield from _unused(plan, ("bound",))
    if plan.refine is not False and plan.grouping == "best":
        yield _not_for_grouping(plan, "refine", why=Message("always-refines"), instead="--budget")
    if plan.refine is not False and plan.grouping == "univariate":
        yield _not_for_grouping(plan, "refine", why=Message("already-optimal"))
    if isinstance(plan.refine, float) and plan.budget is not None:
        yield _with("--refine", "budget", "has-seconds")
    if plan.budget is not None and plan.refine is False and not plan.bound and plan.grouping not in ("auto", "best"):
        yield _not_for_grouping(plan, "budget", instead=f"--{_grouping_option(plan)}=best{ways}")
    if plan.bound and plan.weights is not None:
        yield _with("--weights", "bound", "bound-is-printed")
    if plan.scale is not None and plan.scale.seams and plan.refine is not False:
        yield _with("--seams", "refine", "refines-borders")


def _scaled(plan: "Plan") -> Iterator[Message]:
    scale = plan.scale
    if scale is None:
        return
    if scale.most is not None and plan.k and scale.most < plan.k:
        yield Message("block-below-k", field="scale.block_size", k=plan.k)
    if scale.block_size == "auto" and plan.draws:
        yield _not_for(plan, "scale.block_size", value="auto", instead=_SOME_RECORDS)
    if plan.method == "ms" and scale.blocking != "kd":
        yield _not_for(plan, "scale.blocking", _NO_GROUPS)
    yield from _dimensions(plan, scale)
    if scale.master is not None and plan.engine != "spark":
        yield Message("applies-only-with", field="scale.master", needed="--engine=spark")
    if scale.seams and plan.method not in ("auto", "mdav"):
        yield _not_for(plan, "scale.seams", instead="--method=mdav")
    if scale.seams and plan.missing in ("group", "impute"):
        yield _with(f"--missing={plan.missing}", "scale.seams", "groups-fixed")
    if scale.memory_bytes is not None and scale.memory_bytes < _LEAST_MEMORY:
        yield Message("memory-too-small", field="scale.memory")
    if scale.seams and plan.blocks is not None and (isinstance(plan.blocks, str) or len(plan.blocks) > 1):
        yield _with("--blocks", "scale.seams", "groups-overlap")
    for field in ("l", "t"):
        if scale.seams and getattr(plan, field) is not None:
            yield _with(f"-{field}", "scale.seams", "groups-fixed")


def _dimensions(plan: "Plan", scale: "Scale") -> Iterator[Message]:
    """Yield what is wrong with the attributes by which records are divided."""
    names, field = scale.dimensions or [], "scale.dimensions"
    if scale.blocking in ("interval", "sorted") and len(names) != 1:
        yield Message("one-dimension-only", field=field, number=len(names), blocking=scale.blocking)
    elif names and scale.blocking == "kd":
        yield Message("applies-only-with", field=field, needed="--blocking=2^d, interval or sorted")
    yield from _twice(names, field)
    if plan.used:
        yield from misplaced_dimensions(plan)


def _twice(names: Sequence[str], field: str) -> Iterator[Message]:
    """Names that are listed more than once."""
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Message("names-twice", field=field, column=name)


def misplaced_dimensions(plan: "Plan") -> Iterator[Message]:
    """Attributes to divide by that the method does not look at."""
    for name in (plan.scale and plan.scale.dimensions) or []:
        if name not in plan.used:
            yield Message("not-masked", field="scale.dimensions", column=name)


def _typed(plan: "Plan") -> Iterator[Message]:
    """Types, levels, weights and aggregates of single attributes."""
    tables: dict[str, Iterable[str]] = {"levels": plan.levels, "attribute_weights": plan.attribute_weights}
    if isinstance(plan.aggregate, dict):
        tables["aggregate"] = plan.aggregate
    known = {"levels": [*plan.masked, *plan.confidential], "attribute_weights": plan.used, "aggregate": plan.masked}
    if plan.edits is not None:
        known["levels"] = [*plan.levels]  # rules may compare attributes that are not masked
    for field, names in tables.items():
        for name in names:
            if (plan.masked or plan.draws) and name not in known[field]:
                yield Message("not-masked", field=field, column=name)
    for name in plan.types:
        if (plan.masked or plan.draws) and name not in {*plan.masked, *plan.confidential}:
            yield Message("neither-masked-nor-sensitive", field="types", column=name)
    if plan.masked or plan.draws:
        yield from misplaced_codes(plan)
    if plan.l is None and plan.t is None and plan.method not in ("hybrid", "ms"):
        for field in ("types", "levels") if plan.edits is None else ("types",):
            for name in getattr(plan, field):
                if name in plan.confidential:
                    yield Message("type-of-sensitive", field=field, column=name)
    for name, levels in plan.levels.items():
        if plan.types.get(name, "ordinal") != "ordinal":
            yield Message("levels-not-ordinal", field="levels", column=name, type=plan.types[name])
        if len(set(levels)) < len(levels):
            yield Message("level-twice", field="levels", column=name)
        if "" in levels:
            yield Message("empty-level", field="levels", column=name)


def misplaced_codes(plan: "Plan") -> Iterator[Message]:
    """Missing-value codes of attributes whose values stay as they are."""
    for name in plan.missing_codes:
        if name not in {*plan.masked, *plan.confidential}:
            yield Message("neither-masked-nor-sensitive", field="missing_codes", column=name)


def _weighted(plan: "Plan") -> Iterator[Message]:
    if plan.weights is None:
        if plan.preserve is not None:
            yield _without("survey weights", "--weights", "preserve")
        return
    for aggregate, instead in (("trimmed_mean", "mean or median"), ("order_statistic", "median")):
        if aggregate in plan.aggregates:
            yield _with("--weights", "aggregate", "takes-no-weights", value=aggregate, instead=f"--aggregate={instead}")
    if plan.preserve is not None:
        if plan.missing in ("group", "impute"):
            yield _with(f"--missing={plan.missing}", "preserve", "changes-totals")
        if plan.round:
            yield _with("--preserve", "round", "needs-decimals")
        if plan.restore_variance:
            yield _with("--preserve", "restore_variance", "decides-what-groups-publish")


# What does not go with households, and why.
_NOT_IN_HOUSEHOLDS = {
    "edits": "members-share-values",
    "restore_variance": "varies-between-households",
    "bound": "two-partitions",
    **dict.fromkeys(("l", "t"), "combinations-unique"),
    "unit": "counts-households",
    **dict.fromkeys(("p_percent", "dominance"), "two-partitions"),
    "keep_totals": "members-share-values",
}


def _households(plan: "Plan") -> Iterator[Message]:
    """Households: two attribute blocks, one of which has a record per household."""
    if plan.household is None:
        for field in ("household_attributes", "household_as"):
            if _is_given(plan, field):
                yield _without("households", "--household", field)
        return
    for name in plan.household_attributes:
        if name not in (plan.quasi or []):
            yield Message("not-masked", field="household_attributes", column=name)
    yield from _twice(plan.household_attributes, "household_attributes")
    if _is_given(plan, "blocks"):
        yield _with("--household", "blocks", "makes-two-blocks", instead="--household-attributes")
    for field, why in _NOT_IN_HOUSEHOLDS.items():
        if _is_given(plan, field):
            yield _with("--household", field, why)
    if plan.method in ("mic1d", "hybrid", "ms", "insensitive") or plan.epsilon is not None:
        no_households = Message("forms-no-groups", what="households")
        yield _not_here(plan, "household", no_households, instead="--method=auto")
    if plan.scale is not None:
        if plan.scale.blocking != "kd":
            yield _with("--household", "scale.blocking", "divided-separately")
        if plan.scale.block_size == "auto":
            yield _with("--household", "scale.block_size", value="auto", instead=_SOME_RECORDS)
        if plan.scale.seams:
            yield _with("--household", "scale.seams", "groups-overlap")


# What does not go with masking only records at risk, and why.
_NOT_ONLY = {
    **dict.fromkeys(("blocks", "household"), "counts-together"),
    **dict.fromkeys(("l", "t", "edits", "restore_variance"), "leaves-safe-records"),
    "preserve": "joins-others",
    **dict.fromkeys(("p_percent", "dominance", "keep_totals", "bound"), "leaves-safe-records"),
}


def _only(plan: "Plan") -> Iterator[Message]:
    """Masking only records at risk."""
    if plan.only is None:
        return
    for field, why in _NOT_ONLY.items():
        if _is_given(plan, field):
            yield _with("--only", field, why)
    if plan.method in ("mic1d", "hybrid", "ms", "insensitive") or plan.epsilon is not None:
        yield _not_here(plan, "only", Message("changes-every-record"), instead="--method=auto")
    if plan.small_strata == "merge":
        suppress = "--small-strata=suppress"
        yield _with("--only", "small_strata", "counts-within-strata", value="merge", instead=suppress)
    if plan.scale is not None and plan.scale.seams:
        yield _with("--only", "scale.seams", "leaves-safe-records")
    if plan.scale is not None and plan.scale.block_size == "auto":
        yield _with("--only", "scale.block_size", value="auto", instead=_SOME_RECORDS)


def refuses_l(plan: "Plan") -> str:
    """Return the option of a plan, as it is typed, that l-diversity does not go with; nothing if it may be added."""
    found = {
        "--household": plan.household is not None,
        "--blocks": plan.blocks is not None,
        "--only": plan.only is not None,
        "--seams": plan.scale is not None and plan.scale.seams,
        "--epsilon": plan.epsilon is not None,
        "--method mic1d": plan.method == "mic1d",
    }
    return next((option for option, given in found.items() if given), "")


def _diverse(plan: "Plan") -> Iterator[Message]:
    if plan.l is None and plan.l_form != "distinct":
        yield _without("l-diversity", "-l", "l_form")
    if isinstance(plan.l, float) and plan.l_form != "entropy":
        yield Message("fraction-without-entropy", field="l")
    if plan.c is None and plan.l_form == "recursive":
        yield Message("not-set", field="c", name="c", example="--c=3", reason="--l-form=recursive")
    if plan.c is not None and plan.l_form != "recursive":
        yield Message("applies-only-with", field="c", needed="--l-form=recursive")
    for field in ("l", "t"):
        if getattr(plan, field) is None:
            continue
        if not plan.confidential:
            yield _without("sensitive attributes", "--confidential", field)
        if plan.blocks is not None:
            yield _with("--blocks", field, "combinations-unique")


def _dominated(plan: "Plan") -> Iterator[Message]:
    """Dominance, which is about the totals of groups of records."""
    asked = [field for field in ("p_percent", "dominance") if getattr(plan, field) is not None]
    if plan.magnitudes is not None and not asked:
        yield _without("dominance", "--p-percent or --dominance", "magnitudes")
    yield from _twice(plan.magnitudes or [], "magnitudes")
    for field in asked:
        if plan.method == "mic1d" or plan.draws or plan.epsilon is not None:
            yield _not_here(plan, field, Message("publishes-no-totals"))
        if plan.restore_variance:
            yield _with("--restore-variance", field, "changes-totals")
        if plan.scale is not None and plan.scale.seams:
            yield _with(f"--{field.replace('_', '-')}", "scale.seams", "groups-fixed")


def _totals(plan: "Plan") -> Iterator[Message]:
    """Totals of domains, for which what groups publish is changed."""
    if plan.keep_totals is None:
        return
    if plan.method == "mic1d" or plan.draws or plan.epsilon is not None:
        yield _not_here(plan, "keep_totals", Message("publishes-no-means"))
    if plan.edits is not None:
        yield _with("--edits", "keep_totals", "breaks-rules")
    if plan.round:
        yield _with("--keep-totals", "round", "needs-decimals")
    for field in ("restore_variance", "preserve"):
        if getattr(plan, field):
            yield _with("--keep-totals", field, "decides-what-groups-publish")
    if plan.missing in ("group", "impute"):
        yield _with(f"--missing={plan.missing}", "keep_totals", "changes-totals", instead="--missing=suppress")
    if plan.scale is not None and plan.scale.seams:
        yield _with("--keep-totals", "scale.seams")


def _edited(plan: "Plan") -> Iterator[Message]:
    """Rules, and what goes with them."""
    if plan.edits is None:
        for field in ("edits_original", "recompute", "adjust"):
            if _is_given(plan, field):
                yield _without("rules", "--edits or --edit", field)
        return
    if plan.restore_variance:
        yield _with("--edits", "restore_variance", "breaks-rules")
    if plan.method == "mic1d":
        yield _not_for(plan, "edits", _NO_GROUPS)
    for field in ("recompute", "adjust"):
        for name in getattr(plan, field):
            if plan.masked and not plan.draws and name not in plan.masked:
                yield Message("not-masked", field=field, column=name)
    if plan.draws:
        yield from _unused(plan, ("recompute", "adjust"), Message("keeps-sums"))
    if plan.edits_original == "keep" and plan.draws:
        yield _not_for(plan, "edits_original", value="keep", instead="--edits-original=exclude")


def _mic1d(plan: "Plan") -> Iterator[Message]:
    """Mic1D forms no groups of records: fields about groups do not apply."""
    fields = (
        *("blocks", "strata", "aggregate", "standardize", "distance", "restore_variance", "l", "t"),
        *("attribute_weights", "weights", "preserve"),
    )
    yield from _unused(plan, fields, _NO_GROUPS)
    for field in _given(plan.scale):
        yield _not_for(plan, f"scale.{field}", _NO_GROUPS)
    if plan.missing in ("group", "impute"):
        yield _not_for(plan, "missing", _NO_GROUPS, value=plan.missing)


def _partition(plan: "Plan") -> Iterator[Message]:
    """How a method that is more than a partition forms its groups or parts."""
    if plan.partition is None:
        return
    if plan.method not in ("hybrid", "mic1d"):
        other = "--method=mic1d" if plan.partition == "optimal" else f"--method={plan.partition}, or --method=hybrid"
        yield _not_for(plan, "partition", instead=other)
    elif plan.method == "mic1d" and plan.partition != "optimal":
        yield _not_for(plan, "partition", _NO_GROUPS, value=plan.partition, instead="--partition=optimal")
    elif plan.method == "hybrid" and plan.partition == "optimal":
        yield _not_for(plan, "partition", value="optimal", instead="--partition=best")


def _hybrid(plan: "Plan") -> Iterator[Message]:
    """Hybrid data: the sensitive attributes get new values."""
    if plan.method != "hybrid":
        yield from _unused(plan, ("ipso",), instead="--method=hybrid")
    if not plan.draws:
        yield from _unused(plan, ("mask_quasi",), instead="--method=hybrid")
        yield from _unused(plan, ("alpha",), instead="--method=ms")
        yield from _unused(plan, ("constraints",), instead="--method=hybrid or ms")
        return
    if not plan.confidential:
        of_method = {"example": "--confidential=income", "reason": f"--method={plan.method}"}
        yield Message("not-set", field="confidential", name="confidential", **of_method)
    for name in plan.constraints:
        if name not in plan.confidential:
            yield Message("not-sensitive", field="constraints", column=name)
    yield from _unused(plan, ("blocks", "weights", "preserve", "l", "t", "restore_variance"))
    if plan.method == "ms":
        fields = ("strata", "mask_quasi", "standardize", "distance", "attribute_weights", "aggregate", "round")
        yield from _unused(plan, fields, _NO_GROUPS)
    elif not plan.mask_quasi:
        for field in ("aggregate", "round"):
            if _is_given(plan, field):
                yield _without("masked quasi-identifiers", "--mask-quasi", field)
    if plan.missing in ("group", "impute"):
        yield _not_for(plan, "missing", value=plan.missing, instead="--missing=suppress")
    if plan.mask_quasi and plan.quasi is None:
        yield _without("quasi-identifiers", "--quasi", "mask_quasi")
    yield from _alpha(plan)


# What does not go with epsilon, and why.
_NOT_PRIVATE = {
    **dict.fromkeys(("strata", "weights", "confidential", "publish"), "needs-noise"),
    **dict.fromkeys(("blocks", "edits", "l", "t"), "needs-fixed-groups"),
    **dict.fromkeys(("standardize", "distance", "attribute_weights"), "scaled-by-bounds"),
    **dict.fromkeys(("budget", "refine", "bound"), "needs-fixed-groups"),
    "restore_variance": "needs-noise",
    "missing": "middle-of-bounds",
    "missing_codes": "empty-these-cells",
    "recode": "takes-numbers",
    "seed": "seed-removes-noise",
}


def _private(plan: "Plan") -> Iterator[Message]:
    """Differential privacy: everything that is published has noise, and nothing else depends on the data."""
    if plan.epsilon is None:
        needs = {"--bounds": bool(plan.bounds), "--method=insensitive": plan.method == "insensitive"}
        for reason in [option for option, given in needs.items() if given]:
            yield Message("not-set", field="epsilon", name="epsilon", example="--epsilon=1", reason=reason)
        return
    if plan.method not in ("auto", "insensitive"):
        instead = "--method=insensitive"
        yield _with("--epsilon", "method", "needs-fixed-groups", value=plan.method, instead=instead)
    for field, why in _NOT_PRIVATE.items():
        if _is_given(plan, field):
            yield _with("--epsilon", field, why)
    for field in _given(plan.scale):
        yield _with("--epsilon", f"scale.{field}", "needs-fixed-groups")
    if plan.aggregates - {"mean"}:
        yield _with("--epsilon", "aggregate", "no-known-sensitivity", instead="--aggregate=mean")
    for name, (low, high) in plan.bounds.items():
        if not low < high or high - low == float("inf"):
            yield Message("bounds-not-apart", field=f"bounds.{name}")
        elif plan.round and (math.ceil(low) > math.floor(high) or max(abs(low), abs(high)) > 2**53):
            yield Message("bounds-without-whole", field=f"bounds.{name}")
        if plan.masked and name not in plan.masked:
            yield Message("not-masked", field="bounds", column=name)
    if not plan.bounds and not plan.masked:
        limits = Message("limits-of-attributes")
        yield Message("not-set", field="bounds", name="bounds", what=limits, example="--bounds=age=0,120")
    for name in plan.masked:
        if name not in plan.bounds:
            limits = Message("lowest-and-highest")
            yield Message("leaves-out", field="bounds", column=name, option="--bounds", how=limits)


def _given(scale: "Scale | None") -> list[str]:
    """Return the fields of the plan's scale that differ from their defaults."""
    return [] if scale is None else [*scale.model_dump(exclude_defaults=True)]


def _alpha(plan: "Plan") -> Iterator[Message]:
    if plan.method == "hybrid":
        yield from _unused(plan, ("alpha",), instead="--method=ms")
        return
    if plan.k:
        yield _not_for(plan, "k", _NO_GROUPS)
    alpha, p = plan.alpha, len(plan.confidential)
    own: list[Any] = []  # how much of each attribute stays a record's own: the diagonal of a matrix
    if alpha is None:
        yield Message("not-set", field="alpha", name="alpha", what=Message("share-that-is-kept"), example="--alpha=0.3")
    elif isinstance(alpha, float):
        own = [alpha]
    elif isinstance(alpha, dict):
        own = list(alpha.values())
        for name in sorted({*alpha} - {*plan.confidential}):
            yield Message("not-sensitive", field="alpha", column=name)
        for name in sorted({*plan.confidential} - {*alpha}):
            yield Message("leaves-out", field="alpha", column=name, option="--alpha")
    elif len(alpha) != p or any(len(row) != p for row in alpha if isinstance(row, list)):
        yield Message("alpha-shape", field="alpha", number=p)
    else:
        own = [row[j] if isinstance(row, list) else row for j, row in enumerate(alpha)]
    if any(not 0 <= level < 1 for level in own):
        yield Message("alpha-out-of-range", field="alpha")


def _roles(plan: "Plan") -> Iterator[Message]:
    roles = {**plan.roles, "quasi": plan.quasi or []}
    for role, names in roles.items():
        yield from _twice(names, role)
    if plan.quasi is None:
        roles["blocks"] = plan.masked
    for one, other in combinations(roles, 2):
        for name in sorted(set(roles[one]) & set(roles[other])):
            yield Message("two-roles", field=other, column=name, other=one)


def _blocks(plan: "Plan") -> Iterator[Message]:
    if not plan.given_blocks:
        open_ = plan.blocks is None and plan.household is None
        if plan.method == "univariate" and plan.quasi is not None and len(plan.quasi) > 1 and open_:
            yield Message(ONE_ATTRIBUTE, field="method")
        return
    if plan.household_attributes:
        return  # which has mistakes of its own
    named = [name for block in plan.given_blocks for name in block]
    yield from _twice(named, "blocks")
    if plan.quasi is not None:
        for name in named:
            if name not in plan.quasi:
                yield Message("not-masked", field="blocks", column=name)
        for name in plan.quasi:
            if name not in named:
                yield Message("leaves-out", field="blocks", column=name, option="--block")
    if plan.method == "univariate" and any(len(block) > 1 for block in plan.given_blocks):
        yield Message(ONE_ATTRIBUTE, field="method")
