"""The options of the command line, made from the fields of a plan: read from words, and written as words.

Each field of `shoal.plan.Plan` says by `shoal.plan.fields.option` how it is spelled. Commands, their help, the
equivalent command line of a release and the documents are made from the table here.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan.fields import GROUPS, Each, Group

# What stands after an option: nothing, one text, names, NAME=VALUE, NAME=VALUE,..., one of these two; or, once for each
# item of a list, a text or names. "rest" and "off" are switches that stand for this word,
# and for false.
Form = Literal["switch", "rest", "off", "text", "names", "pairs", "lists", "text or pairs", "items", "items of names"]
_METAVARS = {"switch": "", "names": "A,B,...", "pairs": "A=X", "lists": "A=X,Y,...", "text or pairs": "[A=]X"}


@dataclass(frozen=True)
class Option:
    """One option of the command line.

    Attributes
    ----------
    path
        The field: its name, after that of its table if it is in one.
    spellings
        As they are typed, the longest last; the name of an argument in capitals.
    help
        A sentence, with other options spelled as they are typed.
    """

    path: tuple[str, ...]
    group: Group
    spellings: tuple[str, ...]
    form: Form
    metavar: str
    help: str

    @property
    def spelling(self) -> str:
        """As it is typed, at full length."""
        return self.spellings[-1]

    @property
    def name(self) -> str:
        """A Python name."""
        return self.spelling.lstrip("-").replace("-", "_").lower()

    @property
    def repeated(self) -> bool:
        """Whether it may be given several times."""
        return self.form not in ("switch", "rest", "off", "text")

    @property
    def alone(self) -> bool:
        """Whether nothing stands after it."""
        return self.form in ("switch", "rest", "off")


def public_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields that the manifest of a release shows."""
    return tuple(name for name, field in model.model_fields.items() if mark(field, "public"))


def mark(field: FieldInfo, what: str) -> Any:
    """Return what `shoal.plan.fields.option` noted of a field; None if nothing."""
    extra = field.json_schema_extra
    return extra.get(f"x-{what}") if isinstance(extra, dict) else None


@cache
def tables_of(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the fields of a plan that are tables, with their models."""
    found = {}
    for name, field in model.model_fields.items():
        for part in _parts(field.annotation):
            if isinstance(part, type) and issubclass(part, BaseModel):
                found[name] = part
    return found


@cache
def options_of(model: type[BaseModel]) -> tuple[Option, ...]:
    """Every option of a plan, by group; fields of the plan itself before those of its tables."""
    tables = tables_of(model)
    fields: list[tuple[tuple[str, ...], FieldInfo]] = [
        ((name,), field) for name, field in model.model_fields.items() if name not in tables
    ]
    for table, part in tables.items():
        fields += [((table, name), field) for name, field in part.model_fields.items()]
    spelled = {path[-1]: spellings[-1] for path, field in reversed(fields) if (spellings := _spellings(path, field))}
    found = [option for path, field in fields for option in _options(path, field, spelled)]
    return tuple(sorted(found, key=lambda option: GROUPS.index(option.group)))


def fields_of_form(model: type[BaseModel], *forms: Form) -> tuple[str, ...]:
    """Return the fields of a plan whose options have one of these forms."""
    return tuple(dict.fromkeys(option.path[0] for option in options_of(model) if option.form in forms))


def in_words(description: str, spelled: Mapping[str, str]) -> str:
    """Return a description without backticks, with fields spelled as given, as a sentence."""
    text = re.sub(r"`([^`]+)`", lambda found: spelled.get(found[1], found[1]), description)
    is_fixed = description.startswith("`") or re.match(r"(?!a )\w\b", description)  # l-diversity, p % rule
    return f"{text[0] if is_fixed else text[0].upper()}{text[1:]}."


def choices_of(annotation: Any) -> tuple[str, ...]:
    """Return the words that may be chosen from, if there are several."""
    for part in _parts(annotation):
        if get_origin(part) is Literal and len(get_args(part)) > 1:
            return get_args(part)
        if get_origin(part) in (dict, list) and (found := choices_of(get_args(part)[-1])):
            return found
    return ()


def read(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a plan from what was given on the command line, by the names of the options.

    Numbers stay texts: the plan reports all mistakes together.

    Raises
    ------
    PlanError
        Naming every option whose text cannot be taken apart.
    """
    found: dict[str, Any] = {}
    problems: list[Message] = []
    first: dict[tuple[str, ...], Option] = {}
    for option in options:
        text = given.get(option.name)
        if text is None:
            continue
        field = ".".join(option.path)
        if option.path in first:
            both = [first[option.path].spelling, option.spelling]
            problems.append(Message("given-by-two-options", field=field, options=both))
            continue
        first[option.path] = option
        table = found.setdefault(option.path[0], {}) if option.path[1:] else found
        try:
            table[option.path[-1]] = value_of(option, text)
        except ValueError as error:
            problems.append(error.args[0].about(field))
    if problems:
        raise PlanError(*problems)
    return found


def write(options: Iterable[Option], values: Mapping[str, Any]) -> dict[Option, list[str]]:
    """Return the texts of options that stand for the fields of a plan, as `read` takes them.

    What the command line cannot express is written as well as can be; reading it again shows the difference.
    """
    found: dict[Option, list[str]] = {}
    for option in options:
        table = values.get(option.path[0], {}) if option.path[1:] else values
        value = table.get(option.path[-1])
        if isinstance(value, bool) and value != (option.form != "off"):
            continue  # one of two switches for a field
        # Of two options for a field, lists are for the one that is repeated.
        if value is not None and isinstance(value, list) == (option.form in ("names", "items", "items of names")):
            found[option] = _texts(option, value)
    return found


def names(texts: Iterable[str]) -> list[str]:
    """Split at commas: `--quasi a,b --quasi c` names three attributes; a name by itself is taken to the letter."""
    split = [[text] if "," not in text else [name.strip() for name in text.split(",")] for text in texts]
    return [name for parts in split for name in parts if name]


def _parts(annotation: Any) -> list[Any]:
    """Return the alternatives of an annotation, without what is only noted about them."""
    if get_origin(annotation) is Annotated:
        return _parts(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return [part for each in get_args(annotation) for part in _parts(each)]
    return [] if annotation is NoneType else [annotation]


def _forms(annotation: Any) -> set[Form]:
    """Return the forms that the values of an annotation have on the command line."""
    found: set[Form] = set()
    for part in _parts(annotation):
        inner = get_args(part)
        if get_origin(part) is dict:
            found.add("lists" if "items" in _forms(inner[1]) else "pairs")
        elif get_origin(part) is list:
            found.add("items of names" if get_origin(_parts(inner[0])[0]) is list else "items")
        else:
            found.add("switch" if part is bool else "text")
    return found


def _group(field: FieldInfo) -> Group:
    found: Group = mark(field, "group") or "method"
    return found


def _spellings(path: tuple[str, ...], field: FieldInfo) -> tuple[str, ...]:
    """How the option of a field is typed; nothing if there is only one for each item."""
    if mark(field, "each") and "text" not in _forms(field.annotation):
        return ()
    return tuple(mark(field, "option") or [f"--{path[-1].replace('_', '-')}"])


def _options(path: tuple[str, ...], field: FieldInfo, spelled: Mapping[str, str]) -> Iterable[Option]:
    forms, group = _forms(field.annotation), _group(field)
    if rest := mark(field, "rest"):
        forms = {"items"}
    if spellings := _spellings(path, field):
        form: Form = "switch" if forms == {"switch"} else "text"
        if "pairs" in forms:
            form = "text or pairs" if "text" in forms else "pairs"
        elif "lists" in forms:
            form = "lists"
        elif "text" not in forms and "items" in forms:
            form = "names"
        metavar = mark(field, "metavar") or _METAVARS.get(form) or _kind(field.annotation)
        yield Option(path, group, spellings, form, metavar if form != "switch" else "", _help(field, spelled))
    if each := mark(field, "each"):
        spelling, metavar, description = Each(*each)
        form = "items of names" if "items of names" in forms else "items"
        yield Option(path, group, (spelling,), form, metavar, in_words(description, spelled))
    if rest:
        yield Option(path, group, (f"{_spellings(path, field)[-1]}-rest",), "rest", "", in_words(rest, spelled))
    if off := mark(field, "off"):
        yield Option(path, group, (f"--no-{path[-1].replace('_', '-')}",), "off", "", in_words(off, spelled))


def _kind(annotation: Any) -> str:
    """Return what stands for a value in the help."""
    parts = _parts(annotation)
    if any(get_origin(part) is Literal for part in parts):
        return "WORD"
    return "N" if int in parts else "X" if float in parts else "TEXT"


def _help(field: FieldInfo, spelled: Mapping[str, str]) -> str:
    """Return the description as a sentence, with the choices, the default and an example where there are any."""
    description, choices = field.description or "not described", choices_of(field.annotation)
    text = in_words(description, {name: spelling for name, spelling in spelled.items() if name not in choices})
    if not all(f"`{each}`" in description for each in choices):
        text += f" One of: {', '.join(choices)}."
    if choices and isinstance(field.default, str):
        text += f" Default: {field.default}."
    return f"{text} Example: {mark(field, 'example')}." if mark(field, "example") else text


def value_of(option: Option, given: Any) -> Any:
    """Return the value of a field from the words of its option."""
    match option.form:
        case "names":
            return names(given)
        case "items of names":
            return [names([text]) for text in given]
        case "pairs":
            return _pairs(option, given)
        case "lists":
            return {name: listed_or_table(text) for name, text in _pairs(option, given).items()}
        case "text or pairs" if len(given) == 1 and "=" not in given[0]:
            return given[0]
        case "text or pairs":
            return _pairs(option, given)
        case "rest":
            return "rest"
        case "off":
            return False
        case _:
            return given


def _pairs(option: Option, given: Iterable[str]) -> dict[str, str]:
    """Take `a=ordinal` apart; a name may hold an equals sign, its value may not."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.rpartition("=")
        if (table := pair.find("={")) > 0:  # of levels, as JSON, which may hold more of them
            name, value = pair[:table], pair[table + 1 :]
        if not equals or not name or not value:
            raise ValueError(Message("not-pairs", option=option.spelling))
        if name in found:
            raise ValueError(Message("names-twice", column=name))
        found[name] = value
    return found


def _texts(option: Option, value: Any) -> list[str]:
    match option.form:
        case "names":
            return [",".join(map(_text, value))]
        case "items of names":
            return [",".join(each) for each in value]
        case "items":
            return list(value)
        case "lists":
            return [f"{name}={_listed(each)}" for name, each in value.items()]
        case "pairs" | "text or pairs" if isinstance(value, dict):
            return [f"{name}={_text(each)}" for name, each in value.items()]
        case _:
            return [_text(value)]


def listed_or_table(text: str, split: Callable[[str], list[str]] = lambda text: text.split(",")) -> Any:
    """Read values with commas between them, or a table as JSON writes it."""
    try:
        found = json.loads(text, object_pairs_hook=_merged) if text.strip().startswith("{") else None
    except ValueError:
        found = None
    return found if isinstance(found, dict) else [part.strip() for part in split(text)]


def _merged(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a table in which the lists of a name that is given twice are one."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        both = isinstance(value, list) and isinstance(found.get(name), list)
        found[name] = found[name] + value if both else value
    return found


def _listed(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else ",".join(map(_text, value))


def _text(value: object) -> str:
    """Return a word, or a number as short as can be without changing it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
