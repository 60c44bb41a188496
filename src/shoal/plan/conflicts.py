"""What cannot hold together in a plan, although each of its fields is right by itself."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.plan import Plan

Problem = tuple[str, str]

_LEAST_MEMORY = 1_000_000
ONE_ATTRIBUTE = "'univariate' takes one attribute; give each a block of its own with blocks"


def contradictions(plan: "Plan") -> Iterator[Problem]:
    """Yield what cannot hold together, although each field is right by itself."""
    if plan.k == 0 and plan.method != "ms":
        yield "k", f"is missing; it is {type(plan).model_fields['k'].description}"
    yield from _roles(plan)
    yield from _blocks(plan)
    yield from _typed(plan)
    yield from _weighted(plan)
    yield from _diverse(plan)
    yield from _edited(plan)
    if plan.trim is not None and not plan.trimmed:
        yield "trim", "does not apply without aggregate 'trimmed_mean'"
    if plan.k and 2 * plan.trimmed >= plan.k:
        yield "trim", f"leaves no record of a group of k = {plan.k}; it takes {plan.trimmed} from each end"
    if plan.block_size is not None and not isinstance(plan.blocks, str):
        yield "block_size", "applies only to blocks = 'correlated' or 'uncorrelated'"
    if plan.method == "mic1d":
        yield from _mic1d(plan)
    yield from _hybrid(plan)
    yield from _private(plan)
    yield from _scaled(plan)
    yield from _searched(plan)
    if plan.gain is not None and plan.method != "vmdav":
        yield "gain", f"does not apply to method '{plan.method}'; it goes with 'vmdav'"
    if plan.strata is None and plan.edits is None and plan.small_strata != "error":
        yield "small_strata", "does not apply without strata; name them with strata"


def _searched(plan: "Plan") -> Iterator[Problem]:
    """How long to search for a better partition, and whether to prove how good it is."""
    if plan.method in ("mic1d", "hybrid", "ms"):
        yield from _unused(plan, ("budget", "refine", "bound"))
        return
    if plan.refine is not False and plan.method in ("best", "univariate"):
        why = "refines already; give it a budget" if plan.method == "best" else "is optimal already"
        yield "refine", f"does not apply to method '{plan.method}', which {why}"
    if isinstance(plan.refine, float) and plan.budget is not None:
        yield "budget", "is given twice: by refine in seconds, too"
    if plan.budget is not None and plan.refine is False and not plan.bound and plan.method not in ("auto", "best"):
        yield "budget", f"does not apply to method '{plan.method}'; it goes with 'best', refine or bound"
    divided = plan.scale is not None and plan.scale.block_size is not None
    if plan.bound and divided:
        yield "bound", "does not apply to record blocks, whose partitions are not those of the whole"
    if plan.scale is not None and plan.scale.seams and plan.refine is not False:
        yield "refine", "does not go with scale.seams, which refines what it can reach"


def _scaled(plan: "Plan") -> Iterator[Problem]:
    scale = plan.scale
    if scale is None:
        return
    if scale.block_size is not None and scale.block_size < 2 * plan.k:
        yield "scale.block_size", f"must be at least 2k = {2 * plan.k}, or a block could not be divided into groups"
    if scale.dimensions is not None and scale.blocking != "2^d":
        yield "scale.dimensions", "applies only to blocking = '2^d'"
    for name in scale.dimensions or []:
        if plan.masked and name not in plan.masked:
            yield "scale.dimensions", f"names '{name}', which is not masked"
    if scale.master is not None and plan.engine != "spark":
        yield "scale.master", "applies only to engine = 'spark'"
    if scale.seams and plan.method not in ("auto", "mdav"):
        yield "scale.seams", f"does not apply to method '{plan.method}'; it goes with 'mdav'"
    if scale.seams and plan.missing in ("group", "impute"):
        yield "scale.seams", f"does not apply with missing = '{plan.missing}', whose groups cannot be changed"
    if scale.memory_bytes is not None and scale.memory_bytes < _LEAST_MEMORY:
        yield "scale.memory", "is too little to work with; give at least 1MB"
    if scale.seams and (plan.l is not None or plan.t is not None):
        yield "scale.seams", "would change the groups that were made for l and t"


def _typed(plan: "Plan") -> Iterator[Problem]:
    """Types, levels, weights and aggregates that are given attribute by attribute."""
    tables: dict[str, Iterable[str]] = {"levels": plan.levels, "attribute_weights": plan.attribute_weights}
    if isinstance(plan.aggregate, dict):
        tables["aggregate"] = plan.aggregate
    known = {"levels": [*plan.masked, *plan.confidential], "attribute_weights": plan.used, "aggregate": plan.masked}
    for field, names in tables.items():
        for name in names:
            if (plan.masked or plan.draws) and name not in known[field]:
                yield field, f"names '{name}', which is not masked"
    for name in plan.types:
        if (plan.masked or plan.draws) and name not in {*plan.masked, *plan.confidential}:
            yield "types", f"names '{name}', which is neither masked nor confidential: its type plays no part"
    if plan.l is None and plan.t is None and plan.method not in ("hybrid", "ms"):
        for field in ("types", "levels"):
            for name in getattr(plan, field):
                if name in plan.confidential:
                    yield field, f"names '{name}', which is confidential: its type plays no part without l or t"
    for name, levels in plan.levels.items():
        if plan.types.get(name, "ordinal") != "ordinal":
            yield "levels", f"names '{name}', which types makes {plan.types[name]}; only ordinal attributes have levels"
        if len(set(levels)) < len(levels):
            yield "levels", f"of '{name}' hold a level twice"
        if "" in levels:
            yield "levels", f"of '{name}' hold an empty level"


def _weighted(plan: "Plan") -> Iterator[Problem]:
    if plan.weights is None:
        if plan.preserve is not None:
            yield "preserve", "does not apply without weights; name the attribute that holds them"
        return
    if plan.trimmed:
        yield "aggregate", "'trimmed_mean' has no weighted version; take 'mean' or 'median' with weights"
    if plan.preserve is not None:
        if plan.missing in ("group", "impute"):
            yield "preserve", f"cannot be kept with missing = '{plan.missing}', which fills values or drops them"
        for field in ("round", "restore_variance"):
            if getattr(plan, field):
                yield field, "would change the weighted totals that preserve promises to keep"


def _diverse(plan: "Plan") -> Iterator[Problem]:
    for field in ("l", "t"):
        if getattr(plan, field) is None:
            continue
        if not plan.confidential:
            yield field, "does not apply without confidential attributes; name them with confidential"
        if plan.blocks is not None:
            yield field, "does not apply to several attribute blocks, whose combinations may be anybody's own"


def _edited(plan: "Plan") -> Iterator[Problem]:
    """Rules, and what goes with them."""
    if plan.edits is None:
        for field in ("edits_original", "recompute", "adjust"):
            if getattr(plan, field) != type(plan).model_fields[field].default:
                yield field, "does not apply without rules; give them with edits"
        return
    if plan.restore_variance:
        yield "restore_variance", "would move values off what the rules say; leave it out, or the edits"
    if plan.method == "mic1d":
        yield "edits", "cannot be kept by method 'mic1d', which forms no groups of records; use another method"
    for field in ("recompute", "adjust"):
        for name in getattr(plan, field):
            if plan.masked and not plan.draws and name not in plan.masked:
                yield field, f"names '{name}', which is not masked"
    if plan.draws:
        yield from _unused(plan, ("recompute", "adjust"), ", which keeps sums by means and covariances; leave it out")
    if plan.edits_original == "keep" and plan.draws:
        yield "edits_original", f"'keep' does not apply to method '{plan.method}'; use 'exclude'"


def _mic1d(plan: "Plan") -> Iterator[Problem]:
    """Mic1D forms no groups of records, so that what groups have or publish does not apply."""
    for field in (
        *("blocks", "strata", "aggregate", "standardize", "restore_variance", "l", "t"),
        *("attribute_weights", "weights", "preserve", "scale"),
    ):
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, "does not apply to method 'mic1d', which forms no groups of records"
    if plan.missing in ("group", "impute"):
        yield "missing", f"'{plan.missing}' does not apply to method 'mic1d', which forms no groups of records"


def _hybrid(plan: "Plan") -> Iterator[Problem]:
    """Hybrid data: the confidential attributes are what is made anew."""
    if not plan.draws:
        yield from _unused(plan, ("mask_quasi", "alpha", "constraints"), "; it goes with hybrid data")
        return
    if not plan.confidential:
        yield "confidential", f"is missing; it names the attributes that method '{plan.method}' makes anew"
    for name in plan.constraints:
        if name not in plan.confidential:
            yield "constraints", f"names '{name}', which is not confidential"
    yield from _unused(plan, ("blocks", "weights", "preserve", "l", "t", "restore_variance", "scale"))
    if plan.method == "ms":
        yield from _unused(
            plan, ("strata", "mask_quasi", "standardize", "attribute_weights"), ", which forms no groups"
        )
    if not plan.mask_quasi:
        yield from _unused(plan, ("aggregate", "round"), ", which publishes averages only with mask_quasi = true")
    if plan.missing in ("group", "impute"):
        yield "missing", f"'{plan.missing}' does not apply to method '{plan.method}', which makes no missing values"
    if plan.mask_quasi and plan.quasi is None:
        yield "mask_quasi", "does not apply without quasi-identifiers; name them with quasi"
    yield from _alpha(plan)


# What a plan with epsilon leaves as it is, and why.
_NOT_PRIVATE = {
    **dict.fromkeys(("strata", "weights", "confidential"), "would be published as they are, which no noise protects"),
    **dict.fromkeys(("blocks", "edits", "l", "t"), "cannot be kept by groups that no data have a say in"),
    **dict.fromkeys(("standardize", "attribute_weights"), "do not apply with epsilon: bounds are the scale"),
    **dict.fromkeys(("budget", "refine", "bound"), "does not apply with epsilon: better groups depend on the data"),
    "restore_variance": "would publish the variance without noise; leave it out with epsilon",
    "missing": "must be error with epsilon: how many values are missing is a secret too; fill them beforehand",
    "scale": "does not apply with epsilon: record blocks depend on the data",
    "seed": "is refused with epsilon: whoever knows it takes the noise off again; it comes from the operating system",
}


def _private(plan: "Plan") -> Iterator[Problem]:
    """Differential privacy: everything that is published has noise, and nothing else was taken from the data."""
    if plan.epsilon is None:
        if plan.bounds:
            yield "epsilon", "is missing; bounds do not apply without it"
        if plan.method == "insensitive":
            yield "epsilon", "is missing; method 'insensitive' needs it, and bounds"
        return
    if plan.method not in ("auto", "insensitive"):
        yield "method", "must be insensitive with epsilon, or left out: groups of others depend on every record"
    for field, reason in _NOT_PRIVATE.items():
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, reason
    if plan.aggregates - {"mean"}:
        yield "aggregate", "must be mean with epsilon: of others it is not known how far one record can move them"
    for name, (low, high) in plan.bounds.items():
        if not low < high or high - low == float("inf"):
            yield f"bounds.{name}", "must be the least value and then a larger one, not farther apart than 1e308"
        if plan.masked and name not in plan.masked:
            yield "bounds", f"names '{name}', which is not masked"
    for name in plan.masked:
        if name not in plan.bounds:
            yield "bounds", without_bounds(name)


def without_bounds(name: str) -> str:
    """Say that an attribute has no bounds."""
    return (
        f"leaves out '{name}': say between which values it can lie, from what it is and not from the data, whose own "
        "least and largest values are somebody's"
    )


def _unused(plan: "Plan", fields: Iterable[str], reason: str = "") -> Iterator[Problem]:
    for field in fields:
        if getattr(plan, field) != type(plan).model_fields[field].default:
            yield field, f"does not apply to method '{plan.method}'{reason}"


def _alpha(plan: "Plan") -> Iterator[Problem]:
    if plan.method == "hybrid":
        if plan.alpha is not None:
            yield "alpha", "does not apply to method 'hybrid'; it goes with 'ms'"
        return
    if plan.k:
        yield "k", "does not apply to method 'ms', which forms no groups; leave it out"
    alpha, p = plan.alpha, len(plan.confidential)
    own: list[Any] = []  # how much of each attribute stays a record's own: the diagonal of a matrix
    if alpha is None:
        yield "alpha", f"is missing; it is {type(plan).model_fields['alpha'].description}"
    elif isinstance(alpha, float):
        own = [alpha]
    elif isinstance(alpha, dict):
        own = list(alpha.values())
        for name in sorted({*alpha} - {*plan.confidential}):
            yield "alpha", f"names '{name}', which is not confidential"
        for name in sorted({*plan.confidential} - {*alpha}):
            yield "alpha", f"leaves out '{name}', which is confidential"
    elif len(alpha) != p or any(len(row) != p for row in alpha if isinstance(row, list)):
        yield "alpha", f"must have a number, or a row of {p}, for each of the {p} confidential attributes"
    else:
        own = [row[j] if isinstance(row, list) else row for j, row in enumerate(alpha)]
    if any(not 0 <= level < 1 for level in own):
        yield (
            "alpha",
            "must be at least 0 and less than 1 for every attribute, as 1 would publish the original; take "
            "0.99 or less",
        )


def _roles(plan: "Plan") -> Iterator[Problem]:
    roles = {role: getattr(plan, role) or [] for role in ("quasi", "confidential", "identifiers", "strata")}
    roles["weights"] = [] if plan.weights is None else [plan.weights]
    for role, names in roles.items():
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield role, f"names '{name}' more than once"
    if plan.quasi is None:
        roles["blocks"] = plan.masked
    for one, other in combinations(roles, 2):
        for name in sorted(set(roles[one]) & set(roles[other])):
            yield other, f"names '{name}', which is in {one} too; an attribute has one role"


def _blocks(plan: "Plan") -> Iterator[Problem]:
    if not plan.given_blocks:
        if plan.method == "univariate" and plan.quasi is not None and len(plan.quasi) > 1 and plan.blocks is None:
            yield "method", ONE_ATTRIBUTE
        return
    named = [name for block in plan.given_blocks for name in block]
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield "blocks", f"names '{name}' more than once; an attribute belongs to one block"
    if plan.quasi is not None:
        for name in named:
            if name not in plan.quasi:
                yield "blocks", f"names '{name}', which is not in quasi"
        for name in plan.quasi:
            if name not in named:
                yield "blocks", f"leaves out '{name}', which is in quasi and would stay unmasked"
    if plan.method == "univariate" and any(len(block) > 1 for block in plan.given_blocks):
        yield "method", ONE_ATTRIBUTE
