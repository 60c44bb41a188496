"""What cannot hold together in a plan, although each of its fields is right by itself."""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.plan import Plan

Problem = tuple[str, str]

ONE_ATTRIBUTE = "'univariate' takes one attribute; give each a block of its own with blocks"


def contradictions(plan: "Plan") -> Iterator[Problem]:
    """Yield what cannot hold together, although each field is right by itself."""
    yield from _roles(plan)
    yield from _blocks(plan)
    yield from _typed(plan)
    yield from _weighted(plan)
    yield from _diverse(plan)
    if plan.trim is not None and not plan.trimmed:
        yield "trim", "does not apply without aggregate 'trimmed_mean'"
    if 2 * plan.trimmed >= plan.k:
        yield "trim", f"leaves no record of a group of k = {plan.k}; it takes {plan.trimmed} from each end"
    if plan.block_size is not None and not isinstance(plan.blocks, str):
        yield "block_size", "applies only to blocks = 'correlated' or 'uncorrelated'"
    if plan.method == "mic1d":
        yield from _mic1d(plan)
    yield from _scaled(plan)
    if plan.gain is not None and plan.method != "vmdav":
        yield "gain", f"does not apply to method '{plan.method}'; it goes with 'vmdav'"
    if plan.strata is None and plan.small_strata != "error":
        yield "small_strata", "does not apply without strata; name them with strata"


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
    if scale.master is not None and scale.engine != "spark":
        yield "scale.master", "applies only to engine = 'spark'"
    if scale.seams and plan.method not in ("auto", "mdav"):
        yield "scale.seams", f"does not apply to method '{plan.method}'; it goes with 'mdav'"
    if scale.seams and (plan.l is not None or plan.t is not None):
        yield "scale.seams", "would change the groups that were made for l and t"


def _typed(plan: "Plan") -> Iterator[Problem]:
    """Types, levels, weights and aggregates that are given attribute by attribute."""
    tables: dict[str, Iterable[str]] = {"levels": plan.levels, "attribute_weights": plan.attribute_weights}
    if isinstance(plan.aggregate, dict):
        tables["aggregate"] = plan.aggregate
    for field, names in tables.items():
        for name in names:
            if plan.masked and name not in plan.masked and (field != "levels" or name not in plan.confidential):
                yield field, f"names '{name}', which is not masked"
    for name in plan.types:
        if plan.masked and name not in {*plan.masked, *plan.confidential}:
            yield "types", f"names '{name}', which is neither masked nor confidential: its type plays no part"
    for name, levels in plan.levels.items():
        if plan.types.get(name, "ordinal") != "ordinal":
            yield "levels", f"names '{name}', which types makes {plan.types[name]}; only ordinal attributes have levels"
        if len(set(levels)) < len(levels):
            yield "levels", f"of '{name}' hold a level twice"


def _weighted(plan: "Plan") -> Iterator[Problem]:
    if plan.weights is None:
        if plan.preserve is not None:
            yield "preserve", "does not apply without weights; name the attribute that holds them"
        return
    if plan.trimmed:
        yield "aggregate", "'trimmed_mean' has no weighted version; take 'mean' or 'median' with weights"
    if plan.preserve is not None:
        if plan.aggregates - {"mean", "mode"}:
            yield "preserve", "needs the mean as aggregate of every number: no other keeps weighted totals"
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
