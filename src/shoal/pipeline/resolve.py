"""Settling a plan: what it leaves to the table is filled in, and what the table cannot give is refused."""

from collections.abc import Sequence

import pyarrow as pa

from shoal.aggregation import first_not_positive
from shoal.edits.apply import no_product, with_rules, with_tied_blocks
from shoal.edits.expressions import Rule
from shoal.edits.strategy import Keeping
from shoal.errors import DataError, PlanError
from shoal.partitioning.methods import ACCEPTS, Choice, choose
from shoal.pipeline.encode import encode_all, numbers
from shoal.pipeline.roles import numeric_attributes, refuse_unknown
from shoal.plan import AttributeType, Plan
from shoal.plan.aggregates import AGGREGATES, aggregate_of
from shoal.plan.conflicts import ONE_ATTRIBUTE, without_bounds
from shoal.tables import Table
from shoal.tables.attributes import NUMBERS, Attribute, infer_type, without_declared
from shoal.tables.dtypes import inner, is_text
from shoal.text import counted

_BLOCK_SIZE = 3  # attributes in a chosen block, as in the experiments of Nin, Herranz & Torra


def settled(plan: Plan, table: Table, rules: Sequence[Rule] = ()) -> tuple[Plan, list[Attribute], Keeping | None]:
    """Fill in which attributes are masked, their types, how rules are kept and by which method; encode attributes."""
    plan = with_attributes(plan, table)
    if plan.epsilon is not None:
        _refuse_unprotected(plan, table)
    attributes = encode_all(table, plan)
    _refuse_large_k(plan, table)
    if isinstance(plan.blocks, str):
        plan = with_tied_blocks(_with_blocks(plan, attributes), rules)
    kept = None
    if rules:
        plan, kept = with_rules(plan, table.names, rules)
        _refuse_products(attributes, plan, kept)
    return with_method(plan, attributes, len(table)), attributes, kept


def _refuse_unprotected(plan: Plan, table: Table) -> None:
    """Report everything that would be published without noise, and attributes whose bounds nobody gave."""
    problems = [
        (
            "epsilon",
            f"'{name}' would be published as it is, which breaks differential privacy; mask it with quasi, or drop it "
            "with identifiers",
        )
        for name in table.names
        if name not in (*plan.masked, *plan.identifiers)
    ]
    problems += [
        ("epsilon", f"cannot protect '{name}', which is {plan.types[name]}: only continuous attributes can be masked")
        for name in plan.masked
        if plan.types[name] != "continuous"
    ]
    problems += [("bounds", without_bounds(name)) for name in plan.masked if name not in plan.bounds]
    if table.has_index:
        problems.append(("epsilon", "cannot protect the table's index; drop it with reset_index(drop=True)"))
    if problems:
        raise PlanError(problems)


def _refuse_products(attributes: list[Attribute], plan: Plan, kept: Keeping) -> None:
    """Report what has no geometric mean, where a rule needs one."""
    for attribute in attributes:
        if kept.aggregates.get(attribute.name) != "geometric_mean":
            continue
        if (at := first_not_positive(attribute.codes)) is not None:
            why = no_product(attribute.name, kept)
            raise DataError(f"column '{attribute.name}' is zero or negative in record {at + 1}, {why}")


def with_method(plan: Plan, attributes: list[Attribute], records: int = 0) -> Plan:
    """Choose a method where it is left open, and refuse what does not suit the attributes.

    `records` is how many there are, or 0 if they are elsewhere.
    """
    if plan.standardize != "zscore" and not any(attribute.type in NUMBERS for attribute in attributes):
        raise PlanError([("standardize", "does not apply: no attribute in distances is a number or a date")])
    if plan.draws:
        attributes = [attribute for attribute in attributes if attribute.name in plan.masked]
    _refuse_aggregates(plan, attributes)
    if plan.round and not any(_is_whole(attribute) for attribute in attributes):
        raise PlanError([("round", "does not apply: no quasi-identifier is continuous and of an integer type")])
    if plan.restore_variance and not any(attribute.type in NUMBERS for attribute in attributes):
        raise PlanError([("restore_variance", "does not apply: no quasi-identifier is a number or a date")])
    return plan if plan.draws else _with_method(plan, attributes, records)


def with_attributes(plan: Plan, table: Table) -> Plan:
    """Fill in which attributes are masked, and their types; what the table does not have is refused."""
    others = {role: getattr(plan, role) or [] for role in ("confidential", "identifiers", "strata")}
    others["weights"] = [] if plan.weights is None else [plan.weights]
    named = {field: list(getattr(plan, field)) for field in ("types", "levels", "attribute_weights", "constraints")}
    named |= {"recompute": plan.recompute, "adjust": plan.adjust, "bounds": list(plan.bounds)}
    named["aggregate"] = list(plan.aggregate) if isinstance(plan.aggregate, dict) else []
    refuse_unknown(table, {"quasi": plan.masked, **others, **named})
    if not plan.draws:  # else the confidential attributes are masked, and there may be no others
        taken = {name for names in others.values() for name in names}
        plan = plan.updated(quasi=plan.masked or numeric_attributes(table, taken))
    types, problems = {**plan.types, **dict.fromkeys(plan.levels, "ordinal")}, []
    for name in plan.used:
        if name in types:
            continue
        try:
            types[name] = _inferred(table, name)
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("\n".join(problems))
    return plan.updated(types=types)


def _inferred(table: Table, name: str) -> AttributeType:
    """Infer the type of an attribute; what tells every record from all others is no category."""
    found = infer_type(table, name)
    values = without_declared(table, name).drop_null()
    named = found == "nominal" or (found == "ordinal" and is_text(inner(values.type)))
    if named and len(values) > 1 and len(values.unique()) == len(values):
        raise DataError(identifying(name))
    return found


def identifying(name: str) -> str:
    """Say that an attribute which was taken for categories may name the records."""
    return (
        f"column '{name}' has as many categories as records that have a value; if it identifies records, drop it "
        "with identifiers, and if it does not, say its type with types"
    )


def _refuse_large_k(plan: Plan, table: Table) -> None:
    if plan.method != "mic1d":
        if plan.k > len(table):
            records = counted(len(table), "record")
            raise DataError(f"k = {plan.k} asks for groups larger than the table, which has {records}")
    elif plan.k > (values := len(table) * len(plan.masked)):
        raise DataError(f"k = {plan.k} asks for parts larger than the table, which has {values} values")


def _refuse_aggregates(plan: Plan, attributes: list[Attribute]) -> None:
    """Report every attribute whose type does not know the aggregate that was asked for."""
    problems = []
    for attribute in attributes:
        how, allowed = aggregate_of(attribute.name, plan), AGGREGATES[attribute.type]
        if how not in allowed:
            problems.append(
                (
                    "aggregate",
                    f"'{how}' does not apply to '{attribute.name}', which is {attribute.type}; choose for each "
                    f"attribute, here from {', '.join(allowed)}",
                )
            )
        if how == "geometric_mean" and (at := first_not_positive(attribute.codes)) is not None:
            raise DataError(
                f"column '{attribute.name}' is zero or negative in record {at + 1}, where no geometric mean exists; "
                "take another aggregate"
            )
        if plan.preserve is not None and attribute.type == "continuous" and how != "mean":
            problems.append(("preserve", f"needs the mean of '{attribute.name}': no other aggregate keeps totals"))
    if plan.preserve is not None and not any(attribute.type == "continuous" for attribute in attributes):
        problems.append(("preserve", "does not apply: no quasi-identifier is continuous and has totals"))
    if problems:
        raise PlanError(problems)


def _is_whole(attribute: Attribute) -> bool:
    return attribute.type == "continuous" and pa.types.is_integer(attribute.stored)


def _with_method(plan: Plan, attributes: list[Attribute], records: int) -> Plan:
    """Choose the method, and refuse what the method cannot take."""
    gaps = [attribute.name for attribute in attributes if attribute.missing.any() and plan.missing == "group"]
    widest = max(len(block) for block in plan.in_blocks)
    if plan.method == "univariate" and widest > 1:
        raise PlanError([("method", ONE_ATTRIBUTE)])
    alone = [name for block in plan.in_blocks if len(block) == 1 for name in block if name in plan.attribute_weights]
    if alone:
        raise PlanError([("attribute_weights", f"do not apply to '{alone[0]}', which is alone in its block")])
    method = chosen(plan, attributes, records).method
    problems = [
        ("method", f"'{method}' cannot take '{attribute.name}', which is {attribute.type}; use 'mdav'")
        for attribute in attributes
        if attribute.type not in ACCEPTS[method]
    ]
    if gaps and method != "mdav":
        problems.append(
            ("method", f"'{method}' cannot take the missing values of '{gaps[0]}'; use 'mdav', or another missing")
        )
    if problems:
        raise PlanError(problems)
    return plan.updated(method=method)


def chosen(plan: Plan, attributes: list[Attribute], records: int) -> Choice:
    """Choose a method where the plan leaves it open, and say why."""
    if plan.epsilon is not None:
        return Choice("insensitive", "epsilon is given, and one record changes little in its groups")
    missing = any(attribute.missing.any() for attribute in attributes) and plan.missing == "group"
    plain = not missing and all(attribute.type in NUMBERS for attribute in attributes)
    widest = max(len(block) for block in plan.in_blocks)
    n = 0 if plan.scale is not None else records
    searched = {"budget": plan.budget is not None and not plan.bound, "refine": plan.refine is not False}
    return choose(plan.method, widest, n, plan.k, plain=plain, **searched)


def _with_blocks(plan: Plan, attributes: list[Attribute]) -> Plan:
    """Choose attribute blocks by correlation."""
    if any(attribute.type not in NUMBERS or attribute.missing.any() for attribute in attributes):
        raise PlanError([("blocks", "are chosen by correlation, for numbers without gaps only; give them by hand")])
    return plan.updated(blocks=_chosen_blocks(attributes, plan), block_size=None)


def _chosen_blocks(attributes: list[Attribute], plan: Plan) -> list[list[str]] | None:
    from shoal.partitioning.attribute_blocks import choose_blocks

    size = plan.block_size or min(_BLOCK_SIZE, len(attributes))
    if size > len(attributes):
        raise PlanError([("block_size", f"is more than the {counted(len(attributes), 'attribute')} to mask")])
    chosen = choose_blocks(numbers(attributes), size, str(plan.blocks))
    blocks = [[plan.masked[j] for j in block] for block in chosen]
    return blocks if len(blocks) > 1 else None  # one block of all is no blocks
