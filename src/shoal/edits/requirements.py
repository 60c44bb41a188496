"""What a rule requires of the masking: which aggregates, which records are never mixed, what is repaired.

The classes of Torra, Cano and Navarro-Arribas decide which aggregate keeps which rule: sums need the arithmetic mean,
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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from shoal.edits.classify import Classified
from shoal.edits.expressions import (
    Comparison,
    Condition,
    InOriginal,
    Integral,
    Missing,
    Not,
    Text,
    Truth,
    Value,
    Variable,
    attributes_of,
)
from shoal.edits.normal_forms import Linear, clauses, dependent, linear, product
from shoal.messages import Message
from shoal.plan import AttributeType
from shoal.tables.attributes import NUMBERS


@dataclass(frozen=True)
class Sum:
    """A linear combination of attributes that groups must keep, in the records that have it at one value."""

    form: Linear
    comparison: Comparison


@dataclass(frozen=True)
class Recomputed:
    """An attribute that is recomputed from others, where the equality holds in all records of a group."""

    name: str
    value: Value
    comparison: Comparison


@dataclass(frozen=True)
class Order:
    """Two attributes of which one is never above the other; `either` where it must be known for either outcome."""

    lesser: str
    greater: str
    sum: Sum
    either: bool


@dataclass(frozen=True)
class Tie:
    """What comes out alike in all records of a group, and must come out so in what the group publishes."""

    rule: str  # its name
    condition: Comparison | Integral  # a comparison of masked numbers, or whether one is whole
    wanted: bool | None  # whether the rule needs it to be true, to be false, or (None) as it is in the records


@dataclass
class Requirement:
    """What one rule asks for."""

    of: Classified
    # Ordered sets of the attributes that need the arithmetic mean, the geometric mean, or a value of the group
    means: dict[str, None] = field(default_factory=dict)
    geometric: dict[str, None] = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)
    whole: dict[str, None] = field(default_factory=dict)  # attributes that must be whole numbers
    orders: list[Order] = field(default_factory=list)  # pairs that need the same increasing aggregate
    ties: list[Tie] = field(default_factory=list)  # what is checked in every group after the repair
    # Conditions and comparisons whose outcome must be the same for all records of a group
    splits: list[Condition] = field(default_factory=list)
    sums: list[Sum] = field(default_factory=list)  # repaired after aggregation
    recomputed: list[Recomputed] = field(default_factory=list)  # likewise
    # Attributes of an equality that are published as they are, while others of it are masked
    mixed: list[str] = field(default_factory=list)
    promised: bool = True  # whether all this keeps the rule by construction; otherwise it is only verified
    how: list[Message] = field(default_factory=list)  # in words

    @property
    def name(self) -> str:
        """The rule's name."""
        return self.of.rule.name

    def explain(self, how: Message) -> None:
        """Add a reason why the rule is kept."""
        if how not in self.how and self.promised:
            self.how.append(how)

    def give_up(self) -> None:
        """Promise nothing: the rule will be verified."""
        self.promised = False
        self.how = [Message("kept-unpromised")]


def requirement_of(
    classified: Classified,
    masked: Mapping[str, AttributeType],
    whole_records: Collection[str],
    recompute: Collection[str],
    imputed: bool = False,
) -> Requirement:
    """Find what keeps a rule.

    `masked` has the types of the attributes that are masked; all others are released unchanged. Of `whole_records`
    groups publish the attributes of one of their own records, all together. `imputed`: nothing published is missing.
    """
    requirement = Requirement(classified)
    touched = [name for name in classified.attributes if name in masked]
    if not touched:
        requirement.explain(Message("kept-unchanged"))
        return requirement
    if all(name in whole_records for name in classified.attributes):
        requirement.explain(Message("kept-by-own-records"))
        return requirement
    for clause in clauses(classified.rule.condition) or [(classified.rule.condition,)]:
        _Reader(requirement, masked, recompute, imputed).clause([part for part in clause if attributes_of(part)])
    if not requirement.how:
        requirement.explain(Message("kept-by-any-value"))
    return requirement


@dataclass
class _Reader:
    """Reads the clauses of one rule into its requirement."""

    requirement: Requirement
    masked: Mapping[str, AttributeType]
    recompute: Collection[str]
    imputed: bool

    def clause(self, parts: list[Condition]) -> None:
        """Take ``A or B or C``: the records are split by A and B, and C is what is governed."""
        said = [part for part in parts if not _is_missing(part)]
        governed = next((part for part in reversed(said) if self._touched(part)), None)
        governing = [part for part in said if part is not governed]
        if len({name for part in parts for name in attributes_of(part)}) > 1:
            for part in parts:
                if _is_missing(part):
                    self._split_by_missing(part, said, governing)
        for part in governing:
            self._split(part)
        if governed is not None:
            self._governed(governed, alone=not governing)

    def _touched(self, part: Condition) -> list[str]:
        return [name for name in attributes_of(part) if name in self.masked]

    def _split_by_missing(self, part: Condition, said: Sequence[Condition], governing: Sequence[Condition]) -> None:
        """Keep records with and without missing values in separate groups; filled values count as known."""
        (name,) = attributes_of(part)
        if not (self.imputed and name in self.masked):
            self.requirement.splits.append(Missing(name))
        elif not isinstance(part, Not):
            spoken = any(name in attributes_of(each) for each in said)
            asked = any(name in attributes_of(each) for each in governing if not isinstance(each, Not))
            if asked or not spoken:
                self.requirement.give_up()  # a record that the rule lets pass for its gap has none any more

    def _split(self, part: Condition) -> None:
        """Keep records in which `part` differs in separate groups."""
        atom = part.of if isinstance(part, Not) else part
        self.requirement.splits.append(atom)
        self.requirement.explain(Message("kept-by-splitting", columns=attributes_of(atom)))
        if self._touched(part):
            self._uniform(atom, wanted=None, alone=False)

    def _governed(self, part: Condition, *, alone: bool) -> None:
        wanted, atom = (False, part.of) if isinstance(part, Not) else (True, part)
        if isinstance(atom, Comparison) and atom.sign == "!=":
            wanted, atom = not wanted, replace(atom, sign="==")  # what differs is what is not equal, missing or not
        if isinstance(atom, Comparison) and atom.sign == "==":
            if wanted and self._equality(atom):
                return
            if not wanted:
                self.requirement.splits.append(atom)  # a mean of those below and those above may be what none is
        self._uniform(atom, wanted=wanted, alone=alone)

    def _equality(self, part: Comparison) -> bool:
        """Keep an equality of several attributes: by recomputing one, by sums or by products."""
        form, ways = linear(part), dependent(part)
        found = next(((name, value) for name, value in ways if name in self.recompute), None)
        if found is None and form is not None and len(form.coefficients) < 2:
            return False
        if found is None and form is None and (product(part) is None or not ways):
            return False
        if not self._all_masked(part, equal=True):
            return True
        self._tie(part, wanted=True)
        if found is None and form is not None:
            self.requirement.means |= dict.fromkeys(form.coefficients)
            self.requirement.sums.append(Sum(form, part))
            self.requirement.explain(Message("kept-by-means", exact=True))
            return True
        name, value = found or ways[0]
        self.requirement.recomputed.append(Recomputed(name, value, part))
        if found is None:
            self.requirement.geometric |= dict.fromkeys(attributes_of(part))
        columns = attributes_of(value)
        self.requirement.explain(Message("kept-by-computing", column=name, columns=columns, geometric=found is None))
        return True

    def _all_masked(self, part: Condition, *, equal: bool = False) -> bool:
        """Return whether a part ties masked attributes only, being numbers; otherwise nothing can be promised."""
        names = attributes_of(part)
        if all(self.masked.get(name) == "continuous" for name in names):
            return True
        if equal:
            self.requirement.mixed += [name for name in names if name not in self.masked]
        self.requirement.give_up()
        return False

    def _uniform(self, atom: Condition, wanted: bool | None, alone: bool) -> None:
        """Keep what all records of a group have in common."""
        names = attributes_of(atom)
        if isinstance(atom, Truth | Missing):
            return
        if len(names) == 1:
            self._single(atom, names[0], wanted, alone)
        elif isinstance(atom, Comparison) and (form := linear(atom)) is not None:
            self._between_attributes(atom, form, wanted)
        else:
            self.requirement.give_up()

    def _tie(self, atom: Comparison | Integral, wanted: bool | None) -> None:
        """Check it in every group afterwards. It is false too where a value is missing: such records stay apart."""
        self.requirement.ties.append(Tie(self.requirement.name, atom, wanted))
        names = attributes_of(atom)
        if len(names) > 1 and wanted is not True and not self.imputed:
            self.requirement.splits += map(Missing, names)
        if len(names) > 1 and self.imputed and not (wanted and isinstance(atom, Comparison) and atom.sign == "=="):
            self.requirement.give_up()  # a group in which no record has all values shows nothing of it

    def _single(self, atom: Condition, name: str, wanted: bool | None, alone: bool) -> None:
        if name not in self.masked:
            return
        kind = self.masked[name]
        if isinstance(atom, Comparison) and _is_bound(atom, kind):
            self.requirement.explain(Message("kept-by-range"))
            if kind == "continuous":
                self._tie(atom, wanted)
        elif isinstance(atom, Integral) and isinstance(atom.of, Variable) and alone and wanted and kind == "continuous":
            self.requirement.whole[name] = None
            self.requirement.explain(Message("kept-by-rounding"))
            self._tie(atom, wanted)
        else:
            self.requirement.members[name] = None
            original = isinstance(atom, InOriginal)
            self.requirement.explain(Message("kept-by-members", column=name, original=original))

    def _between_attributes(self, atom: Comparison, form: Linear, wanted: bool | None) -> None:
        """Keep an order of attributes: of two by the same aggregate, of more by their means."""
        names = attributes_of(atom)
        types = {self.masked.get(name) for name in names}
        whole = Sum(form, atom)
        in_order = types <= NUMBERS or types == {"ordinal"}
        if len(names) == 2 and len(types) == 1 and in_order and form.is_order:
            positive, negative = sorted(form.coefficients, key=lambda name: -form.coefficients[name])
            order = (positive, negative) if form.sign in ("<", "<=") else (negative, positive)
            lesser, greater = order if wanted is not False else order[::-1]
            self.requirement.orders.append(Order(lesser, greater, whole, either=wanted is None))
            self.requirement.explain(Message("kept-by-order"))
            if self.imputed and types == {"ordinal"}:
                self.requirement.give_up()  # values that are filled in need not come from the same records
        elif self._all_masked(atom):
            self.requirement.means |= dict.fromkeys(form.coefficients)
            self.requirement.sums.append(whole)
            self.requirement.explain(Message("kept-by-means"))
        if types == {"continuous"}:
            self._tie(atom, wanted)


def _is_missing(part: Condition) -> bool:
    return isinstance(part.of if isinstance(part, Not) else part, Missing)


def _is_bound(atom: Comparison, kind: AttributeType) -> bool:
    """Return whether a comparison of one attribute holds on one side of a constant, or at it.

    Levels at a constant are those that occur in the group: what lies between two others need not be in it.
    """
    if kind not in NUMBERS and not (kind == "ordinal" and atom.sign in ("<", "<=", ">", ">=")):
        return False
    sides = {type(atom.left), type(atom.right)}
    return linear(atom) is not None or (kind != "continuous" and sides == {Variable, Text})
