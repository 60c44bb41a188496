"""Which class of edit constraints a rule belongs to: how a group must be aggregated follows from that.

References
----------
V. Torra, I. Cano and G. Navarro-Arribas, "Dealing with edit constraints in microdata protection: microaggregation",
Joint UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009, section 3.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Literal, TypeAlias

from shoal.edits.expressions import (
    Comparison,
    Condition,
    InOriginal,
    Missing,
    Not,
    Or,
    Rule,
    attributes_of,
    within,
)
from shoal.edits.normal_forms import Clause, clauses, linear, product

Kind: TypeAlias = Literal["linear", "product", "values", "governs", "domain", "several", "other"]

_LABELS: dict[Kind, str] = {
    "linear": "EC-LC",
    "product": "EC-NLC",
    "values": "EC-PV",
    "governs": "EC-GV",
    "domain": "domain",
    "other": "no known class",
}


@dataclass(frozen=True)
class Classified:
    """A rule and its class."""

    rule: Rule
    # Linear: an equality or inequality of several attributes, each times a number (section 3.1 of the paper);
    # product: the same of products (3.2); values: any condition on one attribute, whatever set of values it allows
    # (3.3); governs: an order of two attributes, or a condition on some attributes under conditions on others (3.4);
    # domain: a value must occur in the original data (3.5); several: the rule is a conjunction of parts of different
    # classes; other: some part has no known form
    kind: Kind
    label: str  # the class as the paper writes it; several with commas
    attributes: list[str]  # the attributes that the rule ties together, in their order


def classify(rule: Rule) -> Classified:
    """Find the class of a rule from its conjunctive normal form.

    How a rule lets records pass that miss a value, ``Missing(...)`` in front of the rest, does not matter.
    """
    condition = rule.condition
    parts = condition.parts if isinstance(condition, Or) else (condition,)
    found = clauses(Or(_of_complete(parts)))
    kinds = list(dict.fromkeys(_kind(_of_complete(clause)) for clause in found)) if found else []
    if not kinds or "other" in kinds:
        kinds = ["other"]
    kind: Kind = kinds[0] if len(kinds) == 1 else "several"
    return Classified(rule, kind, ", ".join(_LABELS[each] for each in kinds), attributes_of(condition))


def _of_complete(parts: Clause) -> Clause:
    """Take the parts in front away that let records pass in which an attribute of the other parts is missing."""
    front = list(takewhile(lambda part: isinstance(part, Missing), parts))
    rest = parts[len(front) :]
    spoken = attributes_of(Or(rest))
    return (*(part for part in front if attributes_of(part)[0] not in spoken), *rest)


def _kind(clause: Clause) -> Kind:
    """Find the class of a clause: of one attribute, of its only part, or of parts that govern one another."""
    whole = Or(clause)
    if len(attributes_of(whole)) == 1:
        return "domain" if any(isinstance(each, InOriginal) for each in within(whole)) else "values"
    if len(clause) == 1:
        return _kind_of_tie(clause[0])
    return "governs" if clause and all(map(_has_form, clause)) else "other"


def _kind_of_tie(part: Condition) -> Kind:
    """Find the class of a part that ties several attributes together; that they differ is of no known class."""
    atom, differs = (part.of, "==") if isinstance(part, Not) else (part, "!=")
    if not isinstance(atom, Comparison) or atom.sign == differs:
        return "other"
    form = linear(atom)
    if form is not None:
        return "governs" if form.is_order else "linear"
    return "other" if product(atom) is None else "product"


def _has_form(part: Condition) -> bool:
    """Return whether a part of a conditional rule has a known form, whichever way round it is asked for."""
    atom = part.of if isinstance(part, Not) else part
    if len(attributes_of(atom)) == 1:
        return True
    return isinstance(atom, Comparison) and (linear(atom) is not None or product(atom) is not None)
