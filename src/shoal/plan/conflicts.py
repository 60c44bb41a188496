"""What contradicts what in a plan, although each of its fields is right by itself.

Each problem is a field and at most two sentences: what is wrong with it, and what to type instead.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from shoal.plan import recoding

if TYPE_CHECKING:
    from shoal.plan import Plan, Scale

Problem = tuple[str, str]

_LEAST_MEMORY = 1_000_000
ONE_ATTRIBUTE = "'univariate' takes one attribute. Use --block (in a plan file blocks) once for each attribute."


def contradictions(plan: "Plan") -> Iterator[Problem]:
    """Every contradiction between fields that are right by themselves."""
    if plan.k is None and plan.method != "ms":
        yield "k", "Set k, the minimum group size, for example -k 5."
    yield from _roles(plan)
    yield from _blocks(plan)
    yield from _units(plan)
    if plan.distance == "balanced" and plan.standardize != "zscore":
        yield "distance", f"'balanced' does not go with --standardize {plan.standardize}. Leave out one of them."
    yield from _typed(plan)
    yield from recoding.contradictions(plan)
    yield from _weighted(plan)
    yield from _diverse(plan)
    yield from _dominated(plan)
    yield from _totals(plan)
    yield from _edited(plan)
    if plan.trim is not None and not plan.trimmed:
        yield "trim", "does not apply without --aggregate trimmed_mean."
    if plan.k and 2 * plan.trimmed >= plan.k:
        yield "trim", f"leaves no record in a group of k = {plan.k}. Use a --trim below k / 2, or a larger -k."
    if plan.rank is not None and "order_statistic" not in plan.aggregates:
        yield "rank", "does not apply without --aggregate order_statistic."
    if plan.k and plan.ranked > plan.k:
        yield "rank", f"is more than k = {plan.k}, which groups may be as small as. Use a smaller --rank, or a share."
    if plan.block_size is not None and not isinstance(plan.blocks, str):
        yield "block_size", "applies only to chosen blocks. Add --blocks correlated, uncorrelated or edits."
    if plan.blocks == "edits" and plan.edits is None:
        yield "blocks", "'edits' needs rules. Add them with --edits or --edit."
    if plan.method == "mic1d":
        yield from _mic1d(plan)
    else:
        yield from _unused(plan, ("allow_unchanged",), ". Use --method mic1d.")
    yield from _households(plan)
    yield from _only(plan)
    yield from _partition(plan)
    yield from _hybrid(plan)
    yield from _private(plan)
    yield from _scaled(plan)
    yield from _searched(plan)
    if plan.gain is not None and plan.grouping != "vmdav":
        option = "partition" if plan.method == "hybrid" else "method"
        yield "gain", f"does not apply to {option} '{plan.grouping}'. Use --{option} vmdav."
    if plan.tour is not None and plan.method != "tour":
        yield "tour", f"does not apply to method '{plan.method}'. Use --method tour."
    if plan.strata is None and plan.edits is None and plan.small_strata != "error":
        yield "small_strata", "does not apply without strata. Name them with --strata."


# What forms no groups in which units could be counted, or would have to protect all records of a unit at once.
_WITHOUT_UNITS = {
    "mic1d": "which forms no groups of records",
    "ms": "which forms no groups",
    "hybrid": "whose noise is drawn for records and not for units",
    "insensitive": "whose epsilon is the privacy of one record",
}


def _units(plan: "Plan") -> Iterator[Problem]:
    """Units, of which every group has at least k."""
    if plan.unit is None:
        if plan.unit_as is not None:
            yield "unit_as", "does not apply without units. Name their attribute with --unit."
        return
    method = "insensitive" if plan.epsilon is not None else plan.method
    if method in _WITHOUT_UNITS:
        what = "drop the attribute with --identifiers, or use another --method"
        if plan.epsilon is not None:
            what = "drop the attribute with --identifiers, or leave out --epsilon"
        yield "unit", f"does not apply to method '{method}', {_WITHOUT_UNITS[method]}; {what}."
    if plan.scale is not None and plan.scale.seams:
        yield "scale.seams", "would move records out of groups that need all their units. Leave it out with --unit."


def _searched(plan: "Plan") -> Iterator[Problem]:
    """How long to search for a better partition, and whether to prove how good it is."""
    if plan.method in ("mic1d", "ms"):
        yield from _unused(plan, ("budget", "refine", "bound"))
        return
    option, ways = "method", ", --refine or --bound"
    if plan.method == "hybrid":
        option, ways = "partition", " or --refine"
        yield from _unused(plan, ("bound",))
    if plan.refine is not False and plan.grouping in ("best", "univariate"):
        why = "always refines. Use --budget." if plan.grouping == "best" else "is already optimal."
        yield "refine", f"does not apply to {option} '{plan.grouping}', which {why}"
    if isinstance(plan.refine, float) and plan.budget is not None:
        yield "budget", "is given twice: --refine has a number of seconds too."
    if plan.budget is not None and plan.refine is False and not plan.bound and plan.grouping not in ("auto", "best"):
        yield "budget", f"does not apply to {option} '{plan.grouping}'. Use --{option} best{ways}."
    if plan.bound and plan.weights is not None:
        yield "bound", "does not apply with --weights, for which the bound that is always printed is the only one."
    if plan.scale is not None and plan.scale.seams and plan.refine is not False:
        yield "refine", "does not go with --seams, which refines the borders of record blocks."


def _scaled(plan: "Plan") -> Iterator[Problem]:
    scale = plan.scale
    if scale is None:
        return
    if scale.most is not None and plan.k and scale.most < plan.k:
        yield "scale.block_size", f"must be at least k = {plan.k}: a block holds at least one group."
    if scale.block_size == "auto" and plan.draws:
        yield "scale.block_size", f"'auto' does not apply to method '{plan.method}'. Use --block-records with a number."
    if plan.method == "ms" and scale.blocking != "kd":
        yield "scale.blocking", "does not apply to method 'ms', which forms no groups. Leave it out."
    yield from _dimensions(plan, scale)
    if scale.master is not None and plan.engine != "spark":
        yield "scale.master", "applies only to Spark. Add --engine spark."
    if scale.seams and plan.method not in ("auto", "mdav"):
        yield "scale.seams", f"does not apply to method '{plan.method}'. Use --method mdav."
    if scale.seams and plan.missing in ("group", "impute"):
        yield "scale.seams", f"does not apply with --missing {plan.missing}, whose groups cannot be changed."
    if scale.memory_bytes is not None and scale.memory_bytes < _LEAST_MEMORY:
        yield "scale.memory", "is too little to work with. Use --memory 1MB or more."
    if scale.seams and plan.blocks is not None and (isinstance(plan.blocks, str) or len(plan.blocks) > 1):
        yield "scale.seams", "does not apply to several attribute blocks, whose groups overlap."
    if scale.seams and (plan.l is not None or plan.t is not None):
        yield "scale.seams", "would change the groups that were made for -l and -t."


def _dimensions(plan: "Plan", scale: "Scale") -> Iterator[Problem]:
    """Yield what is wrong with the attributes by which records are divided."""
    names = scale.dimensions or []
    if scale.blocking in ("interval", "sorted") and len(names) != 1:
        what = f"names {len(names)} attributes" if names else "names no attribute"
        yield "scale.dimensions", f"{what}: --blocking {scale.blocking} divides by one, for example --dimensions age."
    elif names and scale.blocking == "kd":
        yield "scale.dimensions", "applies only to --blocking 2^d, interval and sorted. Add one of them."
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield "scale.dimensions", f"names '{name}' more than once."
    if plan.used:
        yield from misplaced_dimensions(plan)


def misplaced_dimensions(plan: "Plan") -> Iterator[Problem]:
    """Attributes to divide by that the method does not look at."""
    for name in (plan.scale and plan.scale.dimensions) or []:
        if name not in plan.used:
            yield "scale.dimensions", f"names '{name}', which is not masked. Use one of the attributes in --quasi."


def _typed(plan: "Plan") -> Iterator[Problem]:
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
                yield field, f"names '{name}', which is not masked."
    for name in plan.types:
        if (plan.masked or plan.draws) and name not in {*plan.masked, *plan.confidential}:
            yield "types", f"names '{name}', which is neither masked nor sensitive."
    if plan.masked or plan.draws:
        yield from misplaced_codes(plan)
    if plan.l is None and plan.t is None and plan.method not in ("hybrid", "ms"):
        for field in ("types", "levels") if plan.edits is None else ("types",):
            for name in getattr(plan, field):
                if name in plan.confidential:
                    yield field, f"names '{name}', which is sensitive. Its type matters only with -l or -t."
    for name, levels in plan.levels.items():
        if plan.types.get(name, "ordinal") != "ordinal":
            yield "levels", f"names '{name}', which is {plan.types[name]}. Use --type {name}=ordinal."
        if len(set(levels)) < len(levels):
            yield "levels", f"of '{name}' contain a level twice."
        if "" in levels:
            yield "levels", f"of '{name}' contain an empty level."


def misplaced_codes(plan: "Plan") -> Iterator[Problem]:
    """Missing-value codes of attributes whose values stay as they are."""
    for name in plan.missing_codes:
        if name not in {*plan.masked, *plan.confidential}:
            yield "missing_codes", f"names '{name}', which is neither masked nor sensitive."


def _weighted(plan: "Plan") -> Iterator[Problem]:
    if plan.weights is None:
        if plan.preserve is not None:
            yield "preserve", "does not apply without survey weights. Name their attribute with --weights."
        return
    if plan.trimmed:
        yield "aggregate", "'trimmed_mean' has no weighted version. Use --aggregate mean or median with --weights."
    if "order_statistic" in plan.aggregates:
        yield "aggregate", "'order_statistic' has no weighted version. Use --aggregate median with --weights."
    if plan.preserve is not None:
        if plan.missing in ("group", "impute"):
            yield "preserve", f"does not go with --missing {plan.missing}, which changes the weighted totals."
        for field in ("round", "restore_variance"):
            if getattr(plan, field):
                yield field, "would change the weighted totals that --preserve keeps."


# What does not go with households, and why.
_NOT_IN_HOUSEHOLDS = {
    "blocks": "does not go with --household, which makes two attribute blocks. Use --household-attributes.",
    "edits": "do not go with --household: a repair would change what the members of a household share.",
    "restore_variance": "does not go with --household, whose attributes vary between households and not persons.",
    "bound": "does not go with --household: the groups of households and of persons are two partitions.",
    **dict.fromkeys(("l", "t"), "does not apply to --household: combinations of its attribute blocks may be unique."),
    "unit": "does not go with --household, whose groups have k households and k records. Leave out one of them.",
    **dict.fromkeys(("p_percent", "dominance"), "does not go with --household, whose totals are of two partitions."),
    "keep_totals": "does not go with --household: its change of values would differ within a household.",
}


def _households(plan: "Plan") -> Iterator[Problem]:
    """Households: two attribute blocks, one of which has a record per household."""
    if plan.household is None:
        for field in ("household_attributes", "household_as"):
            if getattr(plan, field) != type(plan).model_fields[field].default:
                yield field, "does not apply without households. Name their numbers with --household."
        return
    for name in plan.household_attributes:
        if name not in (plan.quasi or []):
            yield "household_attributes", f"names '{name}', which is not a quasi-identifier. Add it to --quasi."
    for name in sorted({name for name in plan.household_attributes if plan.household_attributes.count(name) > 1}):
        yield "household_attributes", f"names '{name}' more than once."
    for field, reason in _NOT_IN_HOUSEHOLDS.items():
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, reason
    if plan.method in ("mic1d", "hybrid", "ms", "insensitive") or plan.epsilon is not None:
        what = "--epsilon" if plan.epsilon is not None else f"method '{plan.method}'"
        yield "household", f"does not apply to {what}, which forms no groups of households. Use --method auto."
    if plan.scale is not None:
        if plan.scale.blocking != "kd":
            yield "scale.blocking", "does not go with --household, whose two tables are divided on their own."
        if plan.scale.block_size == "auto":
            yield "scale.block_size", "'auto' does not go with --household. Use --block-records with a number."
        if plan.scale.seams:
            yield "scale.seams", "does not apply to several attribute blocks, whose groups overlap."


# What does not go with masking only records at risk, and why.
_NOT_ONLY = {
    **dict.fromkeys(("blocks", "household"), "counts combinations of its own. Leave it out with --only."),
    **dict.fromkeys(("l", "t"), "would need to change groups that --only at_risk leaves as they are."),
    "edits": "do not go with --only: a repair could change records that are not at risk.",
    "restore_variance": "would change the records that --only at_risk leaves as they are.",
    "preserve": "does not go with --only: a few records at risk may take on the values of others.",
    **dict.fromkeys(("p_percent", "dominance"), "would need to change groups that --only at_risk leaves as they are."),
    "keep_totals": "would change the records that --only at_risk leaves as they are.",
    "bound": "does not go with --only: records that are not at risk are in no group that is searched for.",
}


def _only(plan: "Plan") -> Iterator[Problem]:
    """Masking only records at risk."""
    if plan.only is None:
        return
    for field, reason in _NOT_ONLY.items():
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, reason
    if plan.method in ("mic1d", "hybrid", "ms", "insensitive") or plan.epsilon is not None:
        what = "--epsilon" if plan.epsilon is not None else f"method '{plan.method}'"
        yield "only", f"does not apply to {what}, which changes every record. Use --method auto."
    if plan.small_strata == "merge":
        yield "small_strata", "'merge' does not go with --only, which counts within strata. Use suppress."
    if plan.scale is not None and plan.scale.seams:
        yield "scale.seams", "would move records that --only at_risk leaves as they are."
    if plan.scale is not None and plan.scale.block_size == "auto":
        yield "scale.block_size", "'auto' does not go with --only. Use --block-records with a number."


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


def _diverse(plan: "Plan") -> Iterator[Problem]:
    if plan.l is None and plan.l_form != "distinct":
        yield "l_form", "does not apply without l-diversity. Add -l."
    if isinstance(plan.l, float) and plan.l_form != "entropy":
        yield "l", "must be a whole number, at least 2. Fractions apply only with --l-form entropy."
    if plan.c is None and plan.l_form == "recursive":
        yield "c", "Set c, for example --c 3: recursive l-diversity needs it."
    if plan.c is not None and plan.l_form != "recursive":
        yield "c", "does not apply without recursive l-diversity. Add --l-form recursive."
    for field in ("l", "t"):
        if getattr(plan, field) is None:
            continue
        if not plan.confidential:
            yield field, "does not apply without sensitive attributes. Name them with --confidential."
        if plan.blocks is not None:
            yield field, "does not apply to attribute blocks, whose combinations may be unique."


def _dominated(plan: "Plan") -> Iterator[Problem]:
    """Dominance, which is about the totals of groups of records."""
    asked = [field for field in ("p_percent", "dominance") if getattr(plan, field) is not None]
    if plan.magnitudes is not None and not asked:
        yield "magnitudes", "does not apply without dominance. Add --p-percent or --dominance."
    named = plan.magnitudes or []
    for name in dict.fromkeys(name for name in named if named.count(name) > 1):
        yield "magnitudes", f"names '{name}' more than once."
    for field in asked:
        if plan.method == "mic1d" or plan.draws or plan.epsilon is not None:
            how = "with --epsilon" if plan.epsilon is not None else f"to method '{plan.method}'"
            yield field, f"does not apply {how}, whose groups publish no totals."
        if plan.restore_variance:
            yield field, "does not go with --restore-variance, which changes the totals of groups."
        if plan.scale is not None and plan.scale.seams:
            yield "scale.seams", f"would change the groups that were made for --{field.replace('_', '-')}."


def _totals(plan: "Plan") -> Iterator[Problem]:
    """Totals of domains, for which what groups publish is changed."""
    if plan.keep_totals is None:
        return
    if plan.method == "mic1d" or plan.draws or plan.epsilon is not None:
        how = "with --epsilon" if plan.epsilon is not None else f"to method '{plan.method}'"
        yield "keep_totals", f"does not apply {how}, whose values are not means of groups."
    if plan.edits is not None:
        yield (
            "keep_totals",
            "would change values after rules are repaired, which may break the rules. Leave out --keep-totals, or the "
            "rules.",
        )
    if plan.round:
        yield "round", "would change the totals that --keep-totals keeps. Leave it out: whole numbers get decimals."
    for field in ("restore_variance", "preserve"):
        if getattr(plan, field):
            yield field, "does not go with --keep-totals, which changes what groups publish. Leave out one of them."
    if plan.missing in ("group", "impute"):
        yield "keep_totals", f"does not go with --missing {plan.missing}, which changes totals. Use --missing suppress."
    if plan.scale is not None and plan.scale.seams:
        yield "scale.seams", "does not go with --keep-totals."


def _edited(plan: "Plan") -> Iterator[Problem]:
    """Rules, and what goes with them."""
    if plan.edits is None:
        for field in ("edits_original", "recompute", "adjust"):
            if getattr(plan, field) != type(plan).model_fields[field].default:
                yield field, "does not apply without rules. Add them with --edits or --edit."
        return
    if plan.restore_variance:
        yield (
            "restore_variance",
            "would change values that rules depend on. Leave out --restore-variance or the rules.",
        )
    if plan.method == "mic1d":
        yield "edits", "do not apply to method 'mic1d', which forms no groups of records. Use another --method."
    for field in ("recompute", "adjust"):
        for name in getattr(plan, field):
            if plan.masked and not plan.draws and name not in plan.masked:
                yield field, f"names '{name}', which is not masked."
    if plan.draws:
        yield from _unused(plan, ("recompute", "adjust"), ", which keeps sums by means and covariances.")
    if plan.edits_original == "keep" and plan.draws:
        yield "edits_original", f"'keep' does not apply to method '{plan.method}'. Use --edits-original exclude."


def _mic1d(plan: "Plan") -> Iterator[Problem]:
    """Mic1D forms no groups of records: fields about groups do not apply."""
    for field in (
        *("blocks", "strata", "aggregate", "standardize", "distance", "restore_variance", "l", "t"),
        *("attribute_weights", "weights", "preserve"),
    ):
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, "does not apply to method 'mic1d', which forms no groups of records."
    for field in _given(plan.scale):
        yield f"scale.{field}", "does not apply to method 'mic1d', which forms no groups of records."
    if plan.missing in ("group", "impute"):
        yield "missing", f"'{plan.missing}' does not apply to method 'mic1d', which forms no groups of records."


def _partition(plan: "Plan") -> Iterator[Problem]:
    """How a method that is more than a partition forms its groups or parts."""
    if plan.partition is None:
        return
    if plan.method not in ("hybrid", "mic1d"):
        use = "--method mic1d" if plan.partition == "optimal" else f"--method {plan.partition}, or --method hybrid"
        yield "partition", f"does not apply to method '{plan.method}'. Use {use}."
    elif plan.method == "mic1d" and plan.partition != "optimal":
        yield "partition", "must be 'optimal' with method 'mic1d', which forms no groups of records."
    elif plan.method == "hybrid" and plan.partition == "optimal":
        yield "partition", "'optimal' does not apply to method 'hybrid'. Use --partition best."


def _hybrid(plan: "Plan") -> Iterator[Problem]:
    """Hybrid data: the sensitive attributes get new values."""
    if plan.method != "hybrid":
        yield from _unused(plan, ("ipso",), ". Use --method hybrid.")
    if not plan.draws:
        yield from _unused(plan, ("mask_quasi",), ". Use --method hybrid.")
        yield from _unused(plan, ("alpha",), ". Use --method ms.")
        yield from _unused(plan, ("constraints",), ". Use --method hybrid or ms.")
        return
    if not plan.confidential:
        yield "confidential", f"Set confidential, the attributes that method '{plan.method}' gives new values."
    for name in plan.constraints:
        if name not in plan.confidential:
            yield "constraints", f"names '{name}', which is not sensitive. Add it to --confidential."
    yield from _unused(plan, ("blocks", "weights", "preserve", "l", "t", "restore_variance"))
    if plan.method == "ms":
        yield from _unused(
            plan,
            ("strata", "mask_quasi", "standardize", "distance", "attribute_weights", "aggregate", "round"),
            ", which forms no groups.",
        )
    elif not plan.mask_quasi:
        yield from _unused(plan, ("aggregate", "round"), " unless quasi-identifiers are masked. Add --mask-quasi.")
    if plan.missing in ("group", "impute"):
        yield "missing", f"'{plan.missing}' does not apply to method '{plan.method}'. Use --missing suppress."
    if plan.mask_quasi and plan.quasi is None:
        yield "mask_quasi", "does not apply without quasi-identifiers. Name them with --quasi."
    yield from _alpha(plan)


# What does not go with epsilon, and why.
_NOT_PRIVATE = {
    **dict.fromkeys(("strata", "weights", "confidential", "publish"), "would be released without noise. Leave it out."),
    **dict.fromkeys(("blocks", "edits", "l", "t"), "does not apply with --epsilon: groups cannot depend on the data."),
    **dict.fromkeys(
        ("standardize", "distance", "attribute_weights"), "does not apply with --epsilon: --bounds set the scale."
    ),
    **dict.fromkeys(
        ("budget", "refine", "bound"), "does not apply with --epsilon: better groups would depend on the data."
    ),
    "restore_variance": "would publish the variance without noise. Leave it out with --epsilon.",
    "missing": "does not apply with --epsilon: a missing value counts as the middle of its --bounds. Leave it out.",
    "missing_codes": "does not apply with --epsilon. Empty these cells: they count as the middle of --bounds.",
    "recode": "does not apply with --epsilon, which takes numbers. Leave it out.",
    "seed": "is refused with --epsilon: anyone who knows it can remove the noise.",
}


def _private(plan: "Plan") -> Iterator[Problem]:
    """Differential privacy: everything that is published has noise, and nothing else depends on the data."""
    if plan.epsilon is None:
        if plan.bounds:
            yield "epsilon", "Set epsilon, for example --epsilon 1: --bounds does not apply without it."
        if plan.method == "insensitive":
            yield "epsilon", "Set epsilon, for example --epsilon 1: method 'insensitive' needs it, and --bounds."
        return
    if plan.method not in ("auto", "insensitive"):
        yield "method", "must be 'insensitive' with --epsilon: the groups of other methods depend on every record."
    for field, reason in _NOT_PRIVATE.items():
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, reason
    for field in _given(plan.scale):
        yield f"scale.{field}", "does not apply with --epsilon: record blocks would depend on the data."
    if plan.aggregates - {"mean"}:
        yield "aggregate", "must be 'mean' with --epsilon: other aggregates have no known sensitivity."
    for name, (low, high) in plan.bounds.items():
        if not low < high or high - low == float("inf"):
            yield f"bounds.{name}", "must be the lowest value and then a higher one, at most 1e308 apart."
        elif plan.round and (math.ceil(low) > math.floor(high) or max(abs(low), abs(high)) > 2**53):
            yield f"bounds.{name}", "must hold a whole number with --round, and none beyond 2^53."
        if plan.masked and name not in plan.masked:
            yield "bounds", f"names '{name}', which is not masked."
    if not plan.bounds and not plan.masked:
        yield "bounds", "Set bounds of each attribute to mask, for example --bounds age=0,120."
    for name in plan.masked:
        if name not in plan.bounds:
            yield (
                "bounds",
                f"leaves out '{name}'. Set its lowest and highest possible value with --bounds, from its definition "
                "and not from the data.",
            )


def _given(scale: "Scale | None") -> list[str]:
    """Return the fields of the plan's scale that differ from their defaults."""
    return [] if scale is None else [*scale.model_dump(exclude_defaults=True)]


def _unused(plan: "Plan", fields: Iterable[str], reason: str = ".") -> Iterator[Problem]:
    for field in fields:
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, f"does not apply to method '{plan.method}'{reason}"


def _alpha(plan: "Plan") -> Iterator[Problem]:
    if plan.method == "hybrid":
        if plan.alpha is not None:
            yield "alpha", "does not apply to method 'hybrid'. Use --method ms."
        return
    if plan.k:
        yield "k", "does not apply to method 'ms', which forms no groups. Leave out -k."
    alpha, p = plan.alpha, len(plan.confidential)
    own: list[Any] = []  # how much of each attribute stays a record's own: the diagonal of a matrix
    if alpha is None:
        yield "alpha", "Set alpha, the share of a sensitive value that is kept, for example --alpha 0.3."
    elif isinstance(alpha, float):
        own = [alpha]
    elif isinstance(alpha, dict):
        own = list(alpha.values())
        for name in sorted({*alpha} - {*plan.confidential}):
            yield "alpha", f"names '{name}', which is not sensitive. Add it to --confidential."
        for name in sorted({*plan.confidential} - {*alpha}):
            yield "alpha", f"leaves out '{name}', which is sensitive. Add --alpha {name}=X."
    elif len(alpha) != p or any(len(row) != p for row in alpha if isinstance(row, list)):
        yield "alpha", f"must have a number, or a row of {p}, for each of the {p} sensitive attributes."
    else:
        own = [row[j] if isinstance(row, list) else row for j, row in enumerate(alpha)]
    if any(not 0 <= level < 1 for level in own):
        yield "alpha", "must be at least 0 and less than 1: with 1 the original would be published."


def _roles(plan: "Plan") -> Iterator[Problem]:
    roles = {**plan.roles, "quasi": plan.quasi or []}
    for role, names in roles.items():
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield role, f"names '{name}' more than once."
    if plan.quasi is None:
        roles["blocks"] = plan.masked
    for one, other in combinations(roles, 2):
        for name in sorted(set(roles[one]) & set(roles[other])):
            yield other, f"names '{name}', which is in {one} too. An attribute has one role."


def _blocks(plan: "Plan") -> Iterator[Problem]:
    if not plan.given_blocks:
        open_ = plan.blocks is None and plan.household is None
        if plan.method == "univariate" and plan.quasi is not None and len(plan.quasi) > 1 and open_:
            yield "method", ONE_ATTRIBUTE
        return
    if plan.household_attributes:
        return  # which has mistakes of its own
    named = [name for block in plan.given_blocks for name in block]
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield "blocks", f"names '{name}' more than once. An attribute belongs to one block."
    if plan.quasi is not None:
        for name in named:
            if name not in plan.quasi:
                yield "blocks", f"names '{name}', which is not a quasi-identifier. Add it to --quasi."
        for name in plan.quasi:
            if name not in named:
                yield "blocks", f"leaves out '{name}', which is in quasi. Add it to a --block."
    if plan.method == "univariate" and any(len(block) > 1 for block in plan.given_blocks):
        yield "method", ONE_ATTRIBUTE
