"""How all rules of a file are kept together: one aggregate for each attribute, and every conflict explained."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from shoal.edits.classes import classify
from shoal.edits.demands import Demand, Recomputed, Sum, demand_of
from shoal.edits.expressions import Condition, Rule, attributes_of
from shoal.errors import PlanError
from shoal.plan import Aggregate, AttributeType
from shoal.tables.attributes import NUMBERS
from shoal.words import listed

_INCREASING = ("mean", "geometric_mean", "median", "lower_median", "trimmed_mean")
_MEMBERS: dict[AttributeType, tuple[Aggregate, ...]] = {
    "continuous": ("lower_median", "mode", "medoid"),
    "date": ("lower_median", "mode", "medoid"),
    "datetime": ("lower_median", "mode", "medoid"),
    "ordinal": ("median", "mode", "medoid"),
    "nominal": ("mode", "medoid"),
    "boolean": ("mode", "medoid"),
}


@dataclass(frozen=True)
class Table:
    """What the rules meet: which attributes there are, and what becomes of them.

    Attributes
    ----------
    names, identifiers
        All attributes, and those that are dropped.
    masked
        The types of the masked attributes.
    defaults, asked
        The aggregate of each masked attribute by its type, and those that were asked for.
    blocks
        The masked attributes as they are partitioned together.
    recompute, adjust
        Attributes that may be computed anew from others, or give way so that a sum holds.
    """

    names: Sequence[str]
    identifiers: Collection[str]
    masked: Mapping[str, AttributeType]
    defaults: Mapping[str, Aggregate]
    asked: Mapping[str, Aggregate]
    blocks: Sequence[Sequence[str]]
    recompute: Collection[str] = ()
    adjust: Collection[str] = ()


@dataclass(frozen=True)
class Split:
    """Records in which this comes out differently never share a group of the block."""

    rule: str
    condition: Condition
    block: int


@dataclass(frozen=True)
class Keeping:
    """How the rules are kept.

    Attributes
    ----------
    demands
        Rule by rule, in the order of the rules.
    aggregates
        For the attributes whose aggregate the rules decide.
    splits
        What parts records before they are partitioned.
    sums, fixed
        What is put right in every group, and the attributes that do not move in it.
    recomputed
        What is computed anew afterwards, in this order.
    whole
        Attributes that must be whole numbers.
    members
        Attributes of which groups publish a value that occurs.
    """

    demands: list[Demand]
    aggregates: dict[str, Aggregate]
    splits: list[Split]
    sums: list[Sum]
    fixed: set[str]
    recomputed: list[Recomputed]
    whole: set[str]
    members: set[str]

    @property
    def rules(self) -> list[Rule]:
        """The rules."""
        return [demand.of.rule for demand in self.demands]


def keeping(rules: Sequence[Rule], table: Table) -> Keeping:
    """Plan how to keep rules; what cannot be kept together is refused with the ways out.

    Raises
    ------
    PlanError
        Naming every rule that speaks of what there is not, and every conflict between rules.
    """
    _refuse(_unknown(rules, table))
    whole_records = {name for name, how in table.asked.items() if how == "medoid"}
    demands = [demand_of(classify(rule), table.masked, whole_records, set(table.recompute)) for rule in rules]
    recomputed = _in_order([each for demand in demands for each in demand.recomputed])
    anew = {each.name for each in recomputed}
    problems = [*_apart(demands, table), *_unused(demands, table, anew)]
    aggregates, conflicts = _aggregates(demands, table, anew)
    _refuse([*problems, *conflicts])
    order_sums = _orders(demands, table, aggregates)
    for demand in demands:
        if anew & set(demand.of.attributes) and not demand.recomputed:
            demand.give_up()  # what is computed anew may come out anywhere
    sums = [each for demand in demands for each in demand.sums if not anew & each.form.coefficients.keys()]
    tied = {name for each in sums for name in each.form.coefficients}
    sums += [each for each in order_sums if tied & each.form.coefficients.keys()]
    fixed = {name for demand in demands for name in (*demand.members, *demand.geometric)} & tied
    whole = {name for demand in demands for name in demand.whole}
    members = {name for demand in demands for name in demand.members}
    return Keeping(demands, aggregates, _splits(demands, table), sums, fixed, recomputed, whole, members)


def _refuse(problems: list[str]) -> None:
    if problems:
        raise PlanError([("edits", problem) for problem in dict.fromkeys(problems)])


def _unknown(rules: Sequence[Rule], table: Table) -> list[str]:
    problems = []
    known, dropped = set(table.names), set(table.identifiers)
    for rule in rules:
        for name in attributes_of(rule.condition):
            if name in dropped:
                problems.append(
                    f"rule '{rule.name}' speaks of '{name}', an identifier, which is dropped; leave the rule out"
                )
            elif name not in known:
                problems.append(f"rule '{rule.name}' speaks of '{name}', which is no attribute of the table")
    return problems


def _apart(demands: Sequence[Demand], table: Table) -> list[str]:
    """Name rules that tie attributes of several blocks, or masked ones with some that are not."""
    problems = []
    block_of = {name: number for number, block in enumerate(table.blocks) for name in block}
    for demand in demands:
        masked = [name for name in demand.of.attributes if name in block_of]
        if demand.mixed:
            problems.append(
                f"rule '{demand.name}' ties {listed(masked)}, which are masked, with {listed(demand.mixed)}, which are "
                "published as they are; mask all of them, or leave the rule out"
            )
        if len({block_of[name] for name in masked}) > 1:
            problems.append(f"rule '{demand.name}' ties {listed(masked)}, which must share an attribute block")
    return problems


def _unused(demands: Sequence[Demand], table: Table, anew: set[str]) -> list[str]:
    """Name attributes that were to be computed anew, or to give way, for no rule."""
    problems = [
        f"'{name}' cannot be recomputed: no rule says what it equals, or it is not masked"
        for name in table.recompute
        if name not in anew or name not in table.masked
    ]
    tied = {name for demand in demands for each in demand.sums for name in each.form.coefficients}
    problems += [f"'{name}' cannot be adjusted: it is in no sum of a rule" for name in table.adjust if name not in tied]
    return problems


def _in_order(recomputed: list[Recomputed]) -> list[Recomputed]:
    """Put what is computed anew after what it is computed from."""
    left: dict[str, Recomputed] = {}
    for each in recomputed:
        if each.name in left:
            both = f"{_from(left[each.name])} and from {_from(each)}"
            _refuse(
                [
                    f"'{each.name}' would be computed from {both}: two rules say what it equals; leave one out, or let "
                    "recompute name another attribute of one of them"
                ]
            )
        left[each.name] = each
    order: list[Recomputed] = []
    while left:
        ready = [each for each in left.values() if not left.keys() & set(attributes_of(each.value))]
        if not ready:
            _refuse([f"{listed(list(left))} would be computed from one another, in a circle; recompute fewer of them"])
        order += ready
        for each in ready:
            del left[each.name]
    return order


def _from(each: Recomputed) -> str:
    return listed(attributes_of(each.value))


def _aggregates(demands: Sequence[Demand], table: Table, anew: set[str]) -> tuple[dict[str, Aggregate], list[str]]:
    """Find an aggregate for each attribute that all rules can live with."""
    wanted: dict[str, dict[str, list[str]]] = {}
    for demand in demands:
        for what, names in (("mean", demand.means), ("geometric_mean", demand.geometric), ("member", demand.members)):
            for name in names:
                wanted.setdefault(name, {}).setdefault(what, []).append(demand.name)
    found: dict[str, Aggregate] = {}
    problems: list[str] = []
    for name, wants in wanted.items():
        if name in anew:
            continue  # whatever its group would have published is replaced
        if "mean" in wants and len(wants) > 1 and _gives_way(name, demands, table):
            wants = {what: rules for what, rules in wants.items() if what != "mean"}
        if len(wants) > 1:
            problems.append(_conflict(name, wants, demands, table))
            continue
        what = next(iter(wants))
        allowed = _MEMBERS[table.masked[name]] if what == "member" else (what,)
        asked = table.asked.get(name)
        if asked is not None and asked not in allowed:
            problems.append(
                f"rule {listed(wants[what])} needs {' or '.join(allowed)} of '{name}', and aggregate asks for {asked}; "
                "leave the aggregate to the rules, or leave the rule out"
            )
            continue
        found[name] = asked or allowed[0]  # type: ignore[assignment] # one of the words
    return found, problems


def _gives_way(name: str, demands: Sequence[Demand], table: Table) -> bool:
    """Tell whether in every sum of an attribute another one may be adjusted to it."""
    sums = [each.form.coefficients.keys() for demand in demands for each in demand.sums]
    return all((names - {name}) & set(table.adjust) for names in sums if name in names)


def _conflict(name: str, wants: Mapping[str, Sequence[str]], demands: Sequence[Demand], table: Table) -> str:
    words = {"mean": "an arithmetic mean", "geometric_mean": "a geometric mean", "member": "a value that occurs"}
    asked = " and ".join(f"{words[what]} (rule '{rules[0]}')" for what, rules in wants.items())
    ways = []
    equalities = [each for demand in demands for each in demand.sums if name in each.form.coefficients]
    computed = [each for demand in demands for each in demand.recomputed if name in attributes_of(each.comparison)]
    others = [other for each in computed for other in attributes_of(each.comparison) if other != name]
    others += [other for each in equalities for other in each.form.coefficients if other != name]
    if others:
        ways.append(f"compute another attribute from the rest (recompute, such as '{others[0]}')")
    if equalities:
        free = [other for other in equalities[0].form.coefficients if other != name]
        ways.append(f"let others give way so that the sum holds (adjust, such as '{free[0]}')")
    ways.append("leave one of the rules out")
    return f"'{name}' is asked for {asked}, which do not go together; {', or '.join(ways)}"


def _orders(demands: Sequence[Demand], table: Table, aggregates: dict[str, Aggregate]) -> list[Sum]:
    """Give both sides of an order the same increasing aggregate; what they already have is kept."""
    problems, sums = [], []
    for demand in demands:
        for lesser, greater, whole in demand.orders:
            decided = {name: aggregates.get(name) or table.asked.get(name) for name in (lesser, greater)}
            pair = [how for how in decided.values() if how is not None]
            common = pair[0] if pair else table.defaults[lesser]
            mixed = {decided[lesser] or common, decided[greater] or common}
            below = decided == {lesser: "geometric_mean", greater: "mean"}  # no geometric mean is above the mean
            if (len(mixed) > 1 and not below) or not mixed <= {*_INCREASING}:
                if table.masked[lesser] in NUMBERS or table.masked[lesser] == "ordinal":
                    problems.append(
                        f"rule '{demand.name}' needs the same increasing aggregate of '{lesser}' and '{greater}', "
                        f"which have {' and '.join(sorted(mixed))}; give them one, or leave a rule out"
                    )
                else:
                    demand.give_up()
                continue
            for name in (lesser, greater):
                if decided[name] is None and common != table.defaults[name]:
                    aggregates[name] = common
            if common == "mean" and table.masked[lesser] == "continuous":
                sums.append(whole)
    _refuse(problems)
    return sums


def _splits(demands: Sequence[Demand], table: Table) -> list[Split]:
    """Gather what parts records, once each, for the block that the rule's attributes are in."""
    found: dict[tuple[Condition, int], Split] = {}
    for demand in demands:
        blocks = [number for number, block in enumerate(table.blocks) if {*block} & {*demand.of.attributes}]
        for condition in demand.splits:
            for block in blocks:
                found.setdefault((condition, block), Split(demand.name, condition, block))
    return list(found.values())


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
