"""The fields of a plan as the page shows them: label, help, and what kind of input each needs.

Everything is made from the plan's own fields (`shoal.plan.fields.option`), so a new field appears on the page by
itself. The inputs are drawn by `shoal.app.inputs`.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shoal.errors import PlanError
from shoal.messages import Message, spell_options
from shoal.plan import Plan
from shoal.plan.fields import Group
from shoal.plan.options import Form, choices_of, in_words, mark, options_of, tables_of

# What is typed or chosen: a switch that may be left open, one of several words, a text or number, the name of one
# column or several, a list of words, a value for each of some columns, one for all columns or for each, attribute
# blocks, and rules.
Kind = Literal[
    "switch", "open switch", "choice", "text", "column", "columns", "words", "pairs", "text or pairs", "blocks", "rules"
]
_NOT_HERE = re.compile("; in Python and plan files also .*$")  # what a description says of other places
_ONE_COLUMN = "A"  # what stands for it in the help of the command line


@dataclass(frozen=True)
class Field:
    """A field of a plan on the page.

    Attributes
    ----------
    name
        Of the field, after that of its table if it is in one: ``scale.memory``.
    group
        The heading under which ``--help`` and the page list it.
    label, help
        Its title, and its description as a sentence in which other fields go by their titles.
    kind
        What kind of input it needs.
    choices
        The words that may be chosen from, for the field itself or for each of its columns.
    lists
        Whether each column has a list of values, not one.
    default
        The value of a field that is left out.
    """

    name: str
    group: Group
    label: str
    help: str
    kind: Kind
    choices: tuple[str, ...] = ()
    lists: bool = False
    default: Any = None
    example: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it may be left open."""
        return self.default is None


@cache
def fields_of(model: type[BaseModel] = Plan) -> dict[str, Field]:
    """Every field of a plan by its name, in the order of the groups of ``--help``."""
    labels = labels_of(model)
    forms: dict[str, list[Form]] = {}
    groups: dict[str, Group] = {}
    for option in options_of(model):
        name = ".".join(option.path)
        forms.setdefault(name, []).append(option.form)
        groups.setdefault(name, option.group)
    titles = {name.rpartition(".")[2]: label for name, label in reversed(labels.items())}
    return {name: _field(name, groups[name], forms[name], _info(model, name), labels[name], titles) for name in groups}


@cache
def labels_of(model: type[BaseModel] = Plan) -> dict[str, str]:
    """Return the title of every field, also of those that are tables: the one it was given, or else its name."""
    tables = tables_of(model)
    paths = [*model.model_fields, *(f"{table}.{name}" for table, part in tables.items() for name in part.model_fields)]
    return {path: _info(model, path).title or path.rpartition(".")[2].replace("_", " ").capitalize() for path in paths}


def _info(model: type[BaseModel], name: str) -> FieldInfo:
    first, _, second = name.partition(".")
    return tables_of(model)[first].model_fields[second] if second else model.model_fields[first]


def _field(name: str, group: Group, forms: list[Form], info: FieldInfo, label: str, titles: Mapping[str, str]) -> Field:
    choices = choices_of(info.annotation) or _only_word(info.annotation)
    spelled = {field: f"“{title}”" for field, title in titles.items() if field not in choices}
    text = in_words(_NOT_HERE.sub("", info.description or "not described"), spelled)
    kind = _kind(forms, choices, mark(info, "metavar"))
    return Field(name, group, label, text, kind, choices, "lists" in forms, info.default, mark(info, "example") or "")


def _only_word(annotation: Any) -> tuple[str, ...]:
    """Return the word of a field that has one or is left out."""
    given = [part for part in get_args(annotation) if part is not NoneType]
    return get_args(given[0]) if len(given) == 1 and get_origin(given[0]) is Literal else ()


def _kind(forms: list[Form], choices: tuple[str, ...], metavar: str | None) -> Kind:
    match forms:
        case ["switch", "off"]:
            return "open switch"
        case ["switch"]:
            return "switch"
        case ["text or pairs"]:
            return "text or pairs"
        case ["pairs"] | ["lists"]:
            return "pairs"
        case ["names", *_]:
            return "columns" if metavar is None else "text"  # dominance is a list of numbers
        case ["text", "items of names"]:
            return "blocks"
        case ["text", "items"]:
            return "rules"
        case ["items"]:
            return "words"
    return "choice" if choices else "column" if metavar == _ONE_COLUMN else "text"


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the names of fields as the options of a plan, tables as dicts."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        first, _, second = name.partition(".")
        if second:
            found.setdefault(first, {})[second] = value
        else:
            found[first] = value
    return found


def values_of(plan: BaseModel) -> dict[str, Any]:
    """Return the values of a plan that differ from the defaults, by the names of fields."""
    found = {}
    given = plan.model_dump(exclude_none=True)
    for name, field in fields_of(type(plan)).items():
        first, _, second = name.partition(".")
        value = given.get(first, {}).get(second) if second else given.get(first)
        if value is not None and value != field.default:
            found[name] = value
    return found


def as_text(value: Any) -> str:
    """Write a value as it is typed: lists with commas between their items, quotes where an item has one itself."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list) and any(isinstance(each, list) for each in value):
        return json.dumps(value)
    if isinstance(value, list):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(map(as_text, value))
        return line.getvalue().replace(",", ", ") if '"' not in line.getvalue() else line.getvalue()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def as_list(text: str) -> list[str]:
    """Read a list as a line of CSV: items with commas between them, in quotes where they have one themselves."""
    line = " ".join(text.splitlines())
    return [item.strip() for item in next(csv.reader([line], skipinitialspace=True), []) if item.strip()]


def beside(error: PlanError, names: Iterable[str], model: type[BaseModel] = Plan) -> dict[str, str]:
    """Return what is wrong with each field of the page; what belongs to none of `names` is under ""."""
    known = {*names}
    found: dict[str, list[str]] = {}
    for each in error.messages:
        field = each.field or ""
        name, _, rest = field.partition(".")
        place = next((name for name in (field, name) if name in known), "")
        if place and (place == field or not rest):
            text = each.about(None).text("page")
            text = f"{text[0].upper()}{text[1:]}"
        else:
            text = on_page(each, model)
        found.setdefault(place, []).append(text)
    return {place: " ".join(sentences) for place, sentences in found.items()}


def on_page(message: Message, model: type[BaseModel] = Plan) -> str:
    """Return a message with fields and options named as on the page."""
    return message.text("page", label_of(message.field or "", model))


def label_of(field: str, model: type[BaseModel] = Plan) -> str:
    """Return the title of a field, perhaps of one attribute."""
    labels = labels_of(model)
    name, _, attribute = field.partition(".")
    return labels.get(field) or f"{labels.get(name, name)}{' of ' if attribute else ''}{attribute}"


@cache
def _labels_of_options(model: type[BaseModel]) -> dict[str, str]:
    labels = labels_of(model)
    found: dict[str, str] = {}
    for option in options_of(model):
        label = f"“{labels['.'.join(option.path)]}”"
        found |= dict.fromkeys(option.spellings, f"no {label}" if option.form == "off" else label)
    return found


def page_words(text: str, model: type[BaseModel] = Plan) -> str:
    """Return a message of the plan with the titles of fields in place of options of the command line."""
    labels = _labels_of_options(model)
    return re.sub(r"(?<![\w-])--?[a-z][a-z-]*", lambda found: labels.get(found[0], found[0]), text)


def in_page_words(option: str, value: str | None) -> str:
    """Return an option as the page shows it: “Missing values” = group, “Types” of 'x' = nominal.

    Options without a field are spelled as on the command line.
    """
    label = _labels_of_options(Plan).get(option) or _OTHER_LABELS.get(option)
    if label is None:
        return option if value is None else f"{option} {value}"
    if value is None:
        return label
    column, _, given = value.rpartition("=") if option in _OF_COLUMNS else ("", "", value)
    return f"{label} of '{column}' = {given}" if column else f"{label} = {given}"


def label_options(titles: Mapping[str, str]) -> None:
    """Register the titles of options that are no fields of a plan, by their spelling."""
    _OTHER_LABELS.update({spelling: f"“{title}”" for spelling, title in titles.items()})


_OTHER_LABELS: dict[str, str] = {}
_OF_COLUMNS = {
    spelling
    for each in options_of(Plan)
    if each.form in ("pairs", "lists", "text or pairs")
    for spelling in each.spellings
}
spell_options("page", in_page_words)
