"""What a rule demands of the masking: which aggregates, which records are never mixed, what is put right.

The classes of Torra, Cano and Navarro-Arribas say which aggregate keeps which rule: sums need the arithmetic mean,
products the geometric mean, sets and domains a value that occurs in the group, intervals any aggregate within the
range of its group (internality), and orders the same increasing one on both sides (monotonicity). A rule that governs
another splits the records beforehand, so that within a group what governs is the same for all.

References
----------
V. Torra, I. Cano and G. Navarro-Arribas, "Dealing with edit constraints in microdata protection: microaggregation",
Joint UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009.

V. Torra, "Constrained microaggregation: adding constraints for data editing", Transactions on Data Privacy 1 (2008)
86-104.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shoal.edits.classes import Classified
from shoal.edits.expressions import (
    Comparison,
    Condition,
    InOriginal,
    Integral,
    Missing,
    Not,
    Truth,
    Value,
    attributes_of,
)
from shoal.edits.forms import Linear, clauses, dependent, linear, product
from shoal.plan import AttributeType
from shoal.tables.attributes import NUMBERS
from shoal.words import listed


@dataclass(frozen=True)
class Sum:
    """A linear combination of attributes that groups must keep, in the records that have it at one value."""

    form: Linear
    comparison: Comparison


@dataclass(frozen=True)
class Recomputed:
    """An attribute that is computed anew from others, where the equality holds in all records of a group."""

    name: str
    value: Value
    comparison: Comparison


@dataclass
class Demand:
    """What one rule asks for.

    Attributes
    ----------
    means, geometric, members
        Attributes that need the arithmetic mean, the geometric mean, or a value that occurs in the group.
    whole
        Attributes that must be whole numbers.
    orders
        Pairs that need the same increasing aggregate: the lesser and the greater.
    splits
        Conditions and comparisons whose outcome must be the same for all records of a group.
    sums, recomputed
        What is put right afterwards.
    mixed
        Attributes of an equality that are published as they are, while others of it are masked.
    promised
        Whether all this keeps the rule by construction; otherwise it is only verified.
    how
        In words.
    """

    of: Classified
    means: set[str] = field(default_factory=set)
    geometric: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    orders: list[tuple[str, str, Sum]] = field(default_factory=list)
    splits: list[Condition] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)
    recomputed: list[Recomputed] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    promised: bool = True
    how: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.of.rule.name

    def say(self, how: str) -> None:
        """Add a reason why the rule is kept."""
        if how not in self.how and self.promised:
            self.how.append(how)

    def give_up(self) -> None:
        """Promise nothing: the rule will be verified."""
        self.promised = False
        self.how = ["verified after masking; nothing keeps it by construction"]


def demand_of(
    classified: Classified, masked: Mapping[str, AttributeType], whole_records: Collection[str], recompute: set[str]
) -> Demand:
    """Find what keeps a rule.

    Parameters
    ----------
    classified
        The rule.
    masked
        The types of the attributes that are masked; the others are published as they are.
    whole_records
        Attributes of which groups publish those of one of their own records, all together.
    recompute
        Attributes that are to be computed anew from the others.
    """
    demand = Demand(classified)
    touched = [name for name in classified.attributes if name in masked]
    if not touched:
        demand.say("its attributes are published as they are")
        return demand
    if all(name in whole_records for name in classified.attributes):
        demand.say("each group publishes one of its own records")
        return demand
    for clause in clauses(classified.rule.condition) or [(classified.rule.condition,)]:
        _Reader(demand, masked, recompute).clause([part for part in clause if attributes_of(part)])
    return demand


@dataclass
class _Reader:
    """Reads the clauses of one rule into its demand."""

    demand: Demand
    masked: Mapping[str, AttributeType]
    recompute: set[str]

    def clause(self, parts: list[Condition]) -> None:
        """Take ``A or B or C``: the records are split by A and B, and C is what is governed."""
        governed = next((part for part in reversed(parts) if self._touched(part) and not _is_missing(part)), None)
        for part in parts:
            if part is not governed:
                self._split(part)
        if governed is not None:
            self._governed(governed)

    def _touched(self, part: Condition) -> list[str]:
        return [name for name in attributes_of(part) if name in self.masked]

    def _split(self, part: Condition) -> None:
        """Let no group mix records in which `part` comes out differently."""
        atom = part.of if isinstance(part, Not) else part
        self.demand.splits.append(atom)
        if not _is_missing(part):
            self.demand.say(f"records are split by {listed(attributes_of(atom))} first")
            if self._touched(part):
                self._uniform(atom)

    def _governed(self, part: Condition) -> None:
        if isinstance(part, Comparison) and part.sign == "==" and self._equality(part):
            return
        atom = part.of if isinstance(part, Not) else part
        if isinstance(atom, Comparison) and (atom.sign, isinstance(part, Not)) in (("!=", False), ("==", True)):
            self.demand.splits.append(atom)  # a mean of those below and those above may be what none is
        self._uniform(atom)

    def _equality(self, part: Comparison) -> bool:
        """Keep an equality of several attributes: by recomputing one, by sums or by products."""
        for name, value in dependent(part):
            if name in self.recompute:
                self.demand.recomputed.append(Recomputed(name, value, part))
                self.demand.say(f"{name} is computed from {listed(attributes_of(value))}")
                return self._all_masked(part, equal=True)
        if (form := linear(part)) is not None:
            if len(form.coefficients) < 2:
                return False
            if self._all_masked(part, equal=True):
                self.demand.means |= form.coefficients.keys()
                self.demand.sums.append(Sum(form, part))
                self.demand.say("arithmetic means, put right so that the sum is exact as written")
            return True
        if (factors := product(part)) is not None and (ways := dependent(part)):
            if self._all_masked(part, equal=True):
                self.demand.geometric |= factors.exponents.keys()
                name, value = ways[0]
                self.demand.recomputed.append(Recomputed(name, value, part))
                self.demand.say(f"geometric means; {name} is computed from {listed(attributes_of(value))}")
            return True
        return False

    def _all_masked(self, part: Condition, *, equal: bool = False) -> bool:
        """Tell whether a part ties masked attributes only, being numbers; otherwise nothing can be promised."""
        names = attributes_of(part)
        if all(self.masked.get(name) == "continuous" for name in names):
            return True
        if equal:
            self.demand.mixed += [name for name in names if name not in self.masked]
        self.demand.give_up()
        return False

    def _uniform(self, atom: Condition) -> None:
        """Keep what all records of a group have in common."""
        names = attributes_of(atom)
        if isinstance(atom, Truth | Missing):
            return
        if len(names) == 1:
            self._single(atom, names[0])
        elif isinstance(atom, Comparison) and (form := linear(atom)) is not None:
            self._between_attributes(atom, form)
        else:
            self.demand.give_up()

    def _single(self, atom: Condition, name: str) -> None:
        if name not in self.masked:
            return
        number = self.masked[name] in NUMBERS
        if isinstance(atom, Comparison) and number and (linear(atom) is not None or self.masked[name] != "continuous"):
            self.demand.say("aggregates lie within the range of their group")
        elif isinstance(atom, Integral) and number:
            self.demand.whole.add(name)
            self.demand.say("whole numbers")
        else:
            self.demand.members.add(name)
            where = "in the original" if isinstance(atom, InOriginal) else "in the group"
            self.demand.say(f"what is published of {name} occurs {where}")

    def _between_attributes(self, atom: Comparison, form: Linear) -> None:
        """Keep an order of attributes: of two by the same aggregate, of more by their means."""
        types = {self.masked.get(name) for name in form.coefficients}
        whole = Sum(form, atom)
        if len(form.coefficients) == 2 and set(form.coefficients.values()) == {1.0, -1.0} and form.constant == 0:
            one, other = form.coefficients
            positive, negative = (one, other) if form.coefficients[one] > 0 else (other, one)
            lesser, greater = (positive, negative) if form.sign in ("<", "<=") else (negative, positive)
            if len(types) == 1 and None not in types and form.sign not in ("==", "!="):
                self.demand.orders.append((lesser, greater, whole))
                self.demand.say("the same increasing aggregate on both sides")
                return
        if self._all_masked(atom):
            self.demand.means |= form.coefficients.keys()
            self.demand.sums.append(whole)
            self.demand.say("arithmetic means")


def _is_missing(part: Condition) -> bool:
    return isinstance(part.of if isinstance(part, Not) else part, Missing)
