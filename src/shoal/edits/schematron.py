"""Rules as Schematron: assertions about the element of a record, in XML.

Both namespaces that Schematron has had are read, and none, as Torra, Cano and Navarro-Arribas print their rules: there
several patterns may also come one after another without a schema around them.

References
----------
V. Torra, I. Cano and G. Navarro-Arribas, "Dealing with edit constraints in microdata protection: microaggregation",
Joint UNECE/Eurostat work session on statistical data confidentiality, Bilbao 2009, figures 1 to 5.

ISO/IEC 19757-3, "Information technology: Document Schema Definition Languages (DSDL), part 3: rule-based validation
using Schematron".
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

from elementpath import XPathToken
from lxml import etree

from shoal.edits.expressions import And, Condition, Or, Rule
from shoal.edits.messages import (
    MOST_PARTS,
    Location,
    gathered,
    refuse,
    refuse_large,
    refuse_parts,
    with_unique_names,
)
from shoal.edits.safe_xml import read_markup
from shoal.edits.xpath import OUTSIDE, RECORD, Let, Parsed, Place, condition_of, negated, parse, speaks_of_itself
from shoal.errors import FileError, PlanError

_NAMESPACES = ("http://purl.oclc.org/dsdl/schematron", "http://www.ascc.net/xml/schematron", None)
_PROSE = frozenset({"title", "p", "ns", "phase", "diagnostics", "properties"})
_CHILDREN = {
    "schema": _PROSE | {"let", "pattern"},
    "pattern": _PROSE | {"let", "rule"},
    "rule": _PROSE | {"let", "assert", "report"},
}
_XPATH = {"let": "value", "assert": "test", "report": "test"}  # the attributes that hold it, within a rule
_REFUSED = ("include", "extends", "param")


def read_schematron(data: bytes, name: str) -> list[Rule]:
    """Read the rules of a schema, one for each assertion, named after its pattern.

    A ``report`` is the opposite of an assertion. A condition on the context, as in ``Record[number(V8) < 1115]``,
    governs the test; within a pattern, a record is tested by the first rule alone whose context it matches. A context
    whose tests speak of ``.`` is an attribute of the record, and the rule asks for its value in every record, as it
    does of the element without text that stands for a missing value in a file. Phases choose nothing: all patterns
    count. Messages of assertions are not read. The encoding is that of the declaration, the byte order mark, or UTF-8.
    """
    root = read_markup(data, name)
    if _tag(root) not in ("schema", "pattern"):
        raise FileError("not-schematron", file=name)
    rules = [rule for some in gathered(_Schema(name).readings(root)) for rule in some]
    if not rules:
        raise PlanError("no-rules", field="edits", file=name)
    return with_unique_names(rules)


def _tag(element: etree._Element) -> str | None:
    """Return the name of an element of Schematron, nothing of any other."""
    if not isinstance(element.tag, str):
        return None  # a comment or a processing instruction
    namespace, local = _parts(element.tag)
    return local if namespace in _NAMESPACES else None


def _parts(tag: str) -> tuple[str | None, str]:
    """Take the namespace off a name; `etree.QName` refuses some of the names that the parser lets pass."""
    namespace, brace, local = tag.removeprefix("{").rpartition("}")
    return (namespace if brace else None), local


@dataclass(frozen=True)
class Context:
    """The element that a rule is about, and the records that it is limited to."""

    here: Place  # the record, or one of its attributes
    name: str  # the name of that element
    record: str | None  # the name of the element of the record, if the context has it
    limit: Condition | None  # the condition on the records, if there is one


class _Schema:
    """A schema, and the name of the record once a rule has told it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._record: str | None = None

    def where(self, element: etree._Element) -> Location:
        return Location(line=cast("int | None", element.sourceline), file=Path(self._name).name)

    def refuse(self, element: etree._Element, code: str, /, **data: Any) -> NoReturn:
        refuse(self.where(element), code, **data)

    def readings(self, root: etree._Element) -> Iterator[Callable[[], list[Rule]]]:
        """Go through the patterns; the assertions of a rule are read, or refused, when they are called for."""
        if _tag(root) == "pattern":
            yield from _Pattern(self, root, {}).readings()
            return
        variables: dict[str, Let] = {}
        for child in self.children(root, OUTSIDE, variables):
            if _tag(child) == "pattern":
                yield from _Pattern(self, child, variables).readings()

    def children(self, element: etree._Element, here: Place, variables: dict[str, Let]) -> Iterator[etree._Element]:
        """Go through what is within an element; variables are defined on the way, anything unknown is refused."""
        parent = str(_tag(element))
        for child in element:
            tag = _tag(child)
            # whatever its namespace: a schema that includes another is not read as if it did not
            local = _parts(child.tag)[1] if isinstance(child.tag, str) else ""
            if local in _REFUSED:
                self.refuse(child, "schematron-not-supported", element=local, attribute=None)
            if tag is not None and tag not in _CHILDREN[parent]:
                self.refuse(child, "element-misplaced", element=tag, parent=parent)
            if tag == "let":
                let = Let(self.parsed(child, "value"), here, dict(variables))
                variables[self.attribute(child, "name")] = let
            elif tag is not None:
                yield child

    def parsed(self, element: etree._Element, attribute: str) -> Parsed:
        return parse(self.attribute(element, attribute), self.where(element))

    def attribute(self, element: etree._Element, name: str) -> str:
        value = element.get(name)
        if value is None or not value.strip():
            self.refuse(element, "element-without-attribute", element=_tag(element), attribute=name)
        return value

    def refuse_abstract(self, element: etree._Element) -> None:
        for attribute in ("is-a", "documents"):
            if element.get(attribute) is not None:
                self.refuse(element, "schematron-not-supported", element=_tag(element), attribute=attribute)
        if element.get("abstract", "false") != "false":
            self.refuse(element, "schematron-not-supported", element=_tag(element), attribute="abstract")

    def refuse_second_record(self, element: etree._Element, context: Context) -> None:
        """Refuse rules on two kinds of records: a microdata file has one."""
        if context.record is None:
            return
        self._record = self._record or context.record
        if context.record != self._record:
            self.refuse(element, "second-record", name=context.record, record=self._record)


class _Pattern:
    """A pattern, and what its rules so far have taken."""

    def __init__(self, schema: _Schema, element: etree._Element, variables: Mapping[str, Let]) -> None:
        self._schema = schema
        self._element = element
        self._variables = dict(variables)
        self._name = self._own_name()
        self._taken: dict[str, list[Condition | None]] = {}  # by the name of the element, the limits of rules before

    def _own_name(self) -> str:
        title = next((child for child in self._element if _tag(child) == "title"), None)
        said = "" if title is None else "".join(map(str, title.itertext()))
        names = (" ".join(each.split()) for each in (self._element.get("name", ""), self._element.get("id", ""), said))
        return next((each for each in names if each), "")

    def readings(self) -> Iterator[Callable[[], list[Rule]]]:
        """Go through the rules of the pattern."""
        self._schema.refuse_abstract(self._element)
        for child in self._schema.children(self._element, OUTSIDE, self._variables):
            if _tag(child) == "rule":
                yield partial(self._rule, child, dict(self._variables))

    def _rule(self, element: etree._Element, variables: dict[str, Let]) -> list[Rule]:
        schema = self._schema
        schema.refuse_abstract(element)
        parsed = {child: schema.parsed(child, _XPATH[str(_tag(child))]) for child in element if _tag(child) in _XPATH}
        of_attribute = any(speaks_of_itself(each) for each in parsed.values())
        context = read_context(schema.parsed(element, "context"), of_attribute, variables)
        schema.refuse_second_record(element, context)
        governs = self._governing(element, context)
        return gathered(
            partial(self._assertion, child, parsed[child], context.here, governs, dict(variables))
            for child in schema.children(element, context.here, variables)
            if child in parsed
        )

    def _governing(self, element: etree._Element, context: Context) -> tuple[Condition, ...]:
        """Return the conditions of which one holds in each record that the rule is not about."""
        before = self._taken.setdefault(context.name, [])
        if None in before:
            self._schema.refuse(element, "unreachable-rule")
        if len(before) > MOST_PARTS:
            refuse_parts(self._schema.where(element))
        taken = [limit for limit in before if limit is not None]
        before.append(context.limit)
        return (*taken, negated(context.limit)) if context.limit else tuple(taken)

    def _assertion(
        self,
        element: etree._Element,
        parsed: Parsed,
        here: Place,
        governs: tuple[Condition, ...],
        variables: Mapping[str, Let],
    ) -> Rule:
        condition = condition_of(parsed, here, variables)
        text = " ".join(parsed.text.split())
        if _tag(element) == "report":
            condition, text = negated(condition), f"not({text})"
        if governs:
            condition = Or((*governs, condition))
        refuse_large(parsed.where, condition)
        return Rule(self._name or f"line {element.sourceline}", condition, text)


def read_context(parsed: Parsed, of_attribute: bool, variables: Mapping[str, Let]) -> Context:
    """Read a context: a path of names, with conditions in brackets behind the record or the attribute.

    Its last step is an attribute and not the record if the rule's tests use ``.``.
    """
    steps = _steps(parsed)
    names = [str(name.value) for name, _ in steps]
    here = Place("attribute", names[-1]) if of_attribute else RECORD
    starts = [here, RECORD] if of_attribute else [here]
    limits: list[Condition] = []
    for at, (_, tokens) in enumerate(reversed(steps)):
        if tokens and at >= len(starts):
            refuse(parsed.where, "condition-not-on-record", tokens[0].span[0])
        read = [condition_of(Parsed(parsed.text, parsed.where, token), starts[at], variables) for token in tokens]
        limits = read + limits
    record = names[-len(starts)] if len(names) >= len(starts) else None
    limit = And(tuple(limits)) if len(limits) > 1 else next(iter(limits), None)
    return Context(here, names[-1], record, limit)


def _steps(parsed: Parsed) -> list[tuple[XPathToken, list[XPathToken]]]:
    """Take a path apart: the name of each step, and the conditions in brackets behind it."""
    steps: list[tuple[XPathToken, list[XPathToken]]] = []
    token: XPathToken | None = parsed.token
    while token is not None:
        step, before = token, None
        if token.symbol in ("/", "//") and len(token):
            step, before = token[-1], token[0] if len(token) == 2 else None
        conditions: list[XPathToken] = []
        while step.symbol == "[":
            conditions.insert(0, step[1])
            step = step[0]
        if step.symbol == "child":
            step = step[0]
        if step.symbol != "(name)":
            refuse(parsed.where, "context-not-a-path", step.span[0])
        steps.insert(0, (step, conditions))
        token = before
    return steps
