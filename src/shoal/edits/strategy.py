"""How all rules of a file are kept together: one aggregate for each attribute, and every conflict explained."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shoal.edits.classify import classify
from shoal.edits.expressions import Condition, Rule, attributes_of
from shoal.edits.normal_forms import dependent
from shoal.edits.requirements import Order, Recomputed, Requirement, Sum, Tie, requirement_of
from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan import Aggregate, AttributeType

_INCREASING = ("mean", "geometric_mean", "median", "lower_median", "order_statistic", "trimmed_mean")
_MEMBERS: dict[AttributeType, tuple[Aggregate, ...]] = {
    "continuous": ("lower_median", "order_statistic", "mode", "medoid"),
    "date": ("lower_median", "order_statistic", "mode", "medoid"),
    "datetime": ("lower_median", "order_statistic", "mode", "medoid"),
    "ordinal": ("median", "order_statistic", "mode", "medoid"),
    "nominal": ("mode", "medoid"),
    "boolean": ("mode", "medoid"),
}


@dataclass(frozen=True)
class Table:
    """The attributes that rules are about, and what happens to them."""

    names: Sequence[str]  # all attributes
    identifiers: Collection[str]  # those that are dropped
    masked: Mapping[str, AttributeType]  # the types of the masked attributes
    defaults: Mapping[str, Aggregate]  # the aggregate of each masked attribute by its type
    asked: Mapping[str, Aggregate]  # the aggregates requested
    blocks: Sequence[Sequence[str]]  # the masked attributes as they are partitioned together
    recompute: Collection[str] = ()  # attributes that may be recomputed from others
    adjust: Collection[str] = ()  # attributes that may give way so that a sum holds
    imputed: bool = False  # whether no masked attribute is missing in what is published


@dataclass(frozen=True)
class Split:
    """Records in which this comes out differently never share a group of the block."""

    rule: str
    condition: Condition
    block: int


@dataclass(frozen=True)
class Strategy:
    """How the rules are kept."""

    requirements: list[Requirement]  # rule by rule, in the order of the rules
    aggregates: dict[str, Aggregate]  # for the attributes whose aggregate the rules decide
    splits: list[Split]  # what parts records before they are partitioned
    sums: list[Sum]  # what is repaired in every group
    fixed: set[str]  # attributes that do not move in the repair
    recomputed: list[Recomputed]  # what is recomputed afterwards, in this order
    whole: set[str]  # attributes that must be whole numbers
    members: set[str]  # attributes of which groups publish a value that occurs
    earlier: set[str]  # dates that are rounded down: to the nearest day, two of them may change places
    ties: list[Tie]  # what is checked in every group after the repair

    @property
    def rules(self) -> list[Rule]:
        """The rules."""
        return [requirement.of.rule for requirement in self.requirements]


def strategy_for(rules: Sequence[Rule], table: Table) -> Strategy:
    """Plan how to keep rules; what cannot be kept together is refused with the ways out."""
    _refuse(_unknown(rules, table))
    whole_records = {name for name, how in table.asked.items() if how == "medoid"}
    requirements = [
        requirement_of(classify(rule), table.masked, whole_records, table.recompute, table.imputed) for rule in rules
    ]
    recomputed = _in_order(requirements)
    computed = {each.name for each in recomputed}
    problems = [*_apart(requirements, table), *_unused(requirements, table, computed)]
    aggregates, conflicts = _aggregates(requirements, table, computed)
    _refuse([*problems, *conflicts])
    for requirement in requirements:
        added = {name for each in requirement.sums for name in each.form.coefficients if each.form.sign == "=="}
        if computed & {*requirement.members, *added}:
            requirement.give_up()  # what is recomputed need not occur anywhere, nor add up with others
    orders = _orders(requirements, table, aggregates)
    sums = [
        each
        for requirement in requirements
        for each in requirement.sums
        if not computed & each.form.coefficients.keys()
    ]
    tied = {name for each in sums for name in each.form.coefficients}
    sums += [
        each.sum
        for each in orders
        if {*each.sum.form.coefficients} & tied and not {*each.sum.form.coefficients} & computed
    ]
    members = {name for requirement in requirements for name in requirement.members}
    fixed = {*members, *(name for requirement in requirements for name in requirement.geometric)} & tied
    return Strategy(
        requirements,
        aggregates,
        _splits(requirements, table),
        sums,
        fixed | _unmoved(sums, table.adjust),
        recomputed,
        whole={name for requirement in requirements for name in requirement.whole},
        members=members,
        earlier={name for each in orders for name in each.sum.form.coefficients if table.masked[name] == "date"},
        ties=_ties(requirements),
    )


def _unmoved(sums: Sequence[Sum], adjust: Collection[str]) -> set[str]:
    """Find the attributes of equalities in all of which another one gives way."""
    movable = {*adjust}
    tied: set[str] = set()
    for each in sums:
        if each.comparison.sign == "==":
            names = each.form.coefficients.keys()
            tied |= names
            movable |= set() if names & {*adjust} else names
    return tied - movable


def _ties(requirements: Sequence[Requirement]) -> list[Tie]:
    """Gather what is checked in every group, each once."""
    found: dict[Condition, Tie] = {}
    for each in (tie for requirement in requirements for tie in requirement.ties):
        before = found.setdefault(each.condition, each)
        if before.wanted is not each.wanted:
            found[each.condition] = replace(before, wanted=None)
    return list(found.values())


def _refuse(problems: Sequence[Message]) -> None:
    if problems:
        raise PlanError(*dict.fromkeys(problems))


def _unknown(rules: Sequence[Rule], table: Table) -> list[Message]:
    problems = []
    known, dropped = set(table.names), set(table.identifiers)
    for rule in rules:
        for name in attributes_of(rule.condition):
            if name in dropped:
                problems.append(Message("rule-on-dropped-column", field="edits", rule=rule.name, column=name))
            elif name not in known:
                named: dict[str, Any] = {"rule": rule.name, "column": name, "original": False}
                problems.append(Message("rule-on-unknown-column", field="edits", **named))
    return problems


def _apart(requirements: Sequence[Requirement], table: Table) -> list[Message]:
    """Name rules that tie attributes of several blocks, or masked ones with some that are not."""
    problems = []
    block_of = {name: number for number, block in enumerate(table.blocks) for name in block}
    for requirement in requirements:
        masked = [name for name in requirement.of.attributes if name in block_of]
        tied: dict[str, Any] = {"field": "edits", "rule": requirement.name, "columns": masked}
        if requirement.mixed:
            problems.append(Message("rule-ties-unmasked", **tied, others=requirement.mixed))
        if len({block_of[name] for name in masked}) > 1:
            problems.append(Message("rule-across-blocks", **tied))
    return problems


def _unused(requirements: Sequence[Requirement], table: Table, computed: set[str]) -> list[Message]:
    """Name attributes of --recompute and --adjust that no rule needs."""
    problems = [
        Message("not-recomputable", field="recompute", column=name)
        for name in table.recompute
        if name not in computed or name not in table.masked
    ]
    tied = {name for requirement in requirements for each in requirement.sums for name in each.form.coefficients}
    idle = [name for name in table.adjust if name not in tied]
    return [*problems, *(Message("not-adjustable", field="adjust", column=name) for name in idle)]


def _in_order(requirements: Sequence[Requirement]) -> list[Recomputed]:
    """Sort what is recomputed after what it is computed from.

    Parts of one rule may determine an attribute under different conditions: the records are split by these.
    """
    left: dict[str, list[Recomputed]] = {}
    for requirement in requirements:
        for each in requirement.recomputed:
            if each.name in left and left[each.name][0] not in requirement.recomputed:
                one, other = (attributes_of(way.value) for way in (left[each.name][0], each))
                raise PlanError("computed-by-two-rules", field="edits", column=each.name, one=one, other=other)
            left.setdefault(each.name, []).append(each)
    order: list[Recomputed] = []
    while left:
        ready = {
            name: ways
            for name, ways in left.items()
            if not any(left.keys() & {*attributes_of(each.value)} for each in ways)
        }
        if not ready:
            raise PlanError("computed-in-a-circle", field="edits", columns=list(left))
        order += [each for ways in ready.values() for each in ways]
        left = {name: ways for name, ways in left.items() if name not in ready}
    return order


def _aggregates(
    requirements: Sequence[Requirement], table: Table, computed: set[str]
) -> tuple[dict[str, Aggregate], list[Message]]:
    """Find an aggregate for each attribute that all rules can live with."""
    wanted: dict[str, dict[str, list[str]]] = {}
    for requirement in requirements:
        for what, names in (
            ("mean", requirement.means),
            ("geometric_mean", requirement.geometric),
            ("member", requirement.members),
        ):
            for name in names:
                wanted.setdefault(name, {}).setdefault(what, []).append(requirement.name)
    found: dict[str, Aggregate] = {}
    problems: list[Message] = []
    for name, wants in wanted.items():
        if name in table.recompute:
            continue  # whatever its group would have published is replaced
        if "mean" in wants and len(wants) > 1 and _gives_way(name, requirements, table):
            wants = {what: rules for what, rules in wants.items() if what != "mean"}
        if len(wants) > 1:
            problems.append(_conflict(name, wants, requirements, table))
            continue
        if name in computed:
            continue
        what = next(iter(wants))
        allowed = _MEMBERS[table.masked[name]] if what == "member" else (what,)
        asked = table.asked.get(name)
        if asked is not None and asked not in allowed:
            rules: dict[str, Any] = {"rules": wants[what], "number": len(wants[what])}
            problems.append(
                Message("aggregate-breaks-rule", field="edits", **rules, allowed=allowed, column=name, aggregate=asked)
            )
            continue
        found[name] = asked or allowed[0]  # type: ignore[assignment] # one of the words
    return found, problems


def _gives_way(name: str, requirements: Sequence[Requirement], table: Table) -> bool:
    """Return whether in every sum of an attribute another one may be adjusted to it."""
    sums = [each.form.coefficients.keys() for requirement in requirements for each in requirement.sums]
    return all((names - {name}) & {*table.adjust} for names in sums if name in names)


def _conflict(
    name: str, wants: Mapping[str, Sequence[str]], requirements: Sequence[Requirement], table: Table
) -> Message:
    codes = {"mean": "wants-mean", "geometric_mean": "wants-geometric-mean", "member": "wants-member"}
    wanted = [Message(codes[what], rule=rules[0]) for what, rules in wants.items()]
    sums = [each for requirement in requirements for each in requirement.sums if name in each.form.coefficients]
    equalities = [each.comparison for each in sums]
    equalities += [each.comparison for requirement in requirements for each in requirement.recomputed]
    spoken = [each for each in equalities if name in attributes_of(each)]
    computable = [other for each in spoken for other, _ in dependent(each) if other != name]
    movable = [other for each in sums for other in each.form.coefficients if other != name]
    return Message(
        "rules-need-different-aggregates",
        field="edits",
        column=name,
        wanted=wanted,
        computed=next(iter(computable), None),
        adjusted=next(iter(movable), None) if "mean" in wants else None,
    )


def _orders(requirements: Sequence[Requirement], table: Table, aggregates: dict[str, Aggregate]) -> list[Order]:
    """Assign the same increasing aggregate to both sides of an order; what they already have is kept."""
    problems, kept = [], []
    for requirement in requirements:
        for order in requirement.orders:
            pair = (order.lesser, order.greater)
            decided = {name: aggregates.get(name) or table.asked.get(name) for name in pair}
            named = [how for how in decided.values() if how is not None]
            # a mean of moments is rounded to the unit of its column, and two columns need not have the same
            usual = "lower_median" if table.masked[order.lesser] == "datetime" else table.defaults[order.lesser]
            common = named[0] if named else usual
            if problem := _no_order(requirement.name, {name: decided[name] or common for name in pair}, order):
                problems.append(problem)
                continue
            if table.masked[order.lesser] == "datetime" and common not in ("lower_median", "order_statistic"):
                requirement.give_up()
            for name in pair:
                if decided[name] is None and common != table.defaults[name]:
                    aggregates[name] = common
            if common == "mean" or table.masked[order.lesser] == "date":
                kept.append(order)
    _refuse(problems)
    return kept


def _no_order(rule: str, how: Mapping[str, Aggregate], order: Order) -> Message | None:
    """Explain why the aggregates of two attributes do not keep their order."""
    named: dict[str, Any] = {"field": "edits", "rule": rule, "column": order.lesser, "other": order.greater}
    if odd := sorted({*how.values()} - {*_INCREASING}):
        return Message("order-needs-one-aggregate", **named, odd=odd, number=len(odd))
    below = how == {order.lesser: "geometric_mean", order.greater: "mean"}  # no geometric mean is above the mean
    if len({*how.values()}) > 1 and (order.either or not below):
        return Message("order-needs-one-aggregate", **named, found=sorted({*how.values()}))
    return None


def _splits(requirements: Sequence[Requirement], table: Table) -> list[Split]:
    """Gather what parts records, once each, for the block that the rule's attributes are in."""
    found: dict[tuple[Condition, int], Split] = {}
    for requirement in requirements:
        blocks = [number for number, block in enumerate(table.blocks) if {*block} & {*requirement.of.attributes}]
        for condition in requirement.splits:
            for block in blocks:
                found.setdefault((condition, block), Split(requirement.name, condition, block))
    return list(found.values())


def blocks_of_rules(rules: Sequence[Rule], names: Sequence[str], size: int) -> list[list[str]]:
    """Form a block of the attributes of each rule, merge blocks that share one, and form blocks of `size` of the rest.

    These are the blocks of scenario S1 in Torra, Cano and Navarro-Arribas, section 5; the others come in their order.
    """
    ruled = {name for rule in rules for name in attributes_of(rule.condition)}
    place = {name: number for number, name in enumerate(names)}
    tied = tied_blocks(rules, [[name] for name in names if name in ruled])
    rest = [name for name in names if name not in ruled]
    blocks = [sorted(block, key=place.__getitem__) for block in tied]
    return [
        *sorted(blocks, key=lambda block: place[block[0]]),
        *(rest[at : at + size] for at in range(0, len(rest), size)),
    ]


def tied_blocks(rules: Sequence[Rule], blocks: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Join attribute blocks that a rule ties together."""
    left = [list(block) for block in blocks]
    for rule in rules:
        names = set(attributes_of(rule.condition))
        joined = [block for block in left if names & set(block)]
        if len(joined) > 1:
            left = [block for block in left if block not in joined]
            left.append([name for block in joined for name in block])
    yield from left
