"""Messages to users: every error, warning and note has a stable code, its data and one sentence.

The sentences are templates in the modules of this package, one module per room, in the tables `ERRORS`, `WARNINGS`,
`NOTES` and `PHRASES`. The table gives the severity; a phrase is part of another sentence. A template has at most two
sentences: the problem, then the remedy.

- ``{column}`` is a value of the data, ``{share:.1f}`` the same with a format.
- ``{records:record}`` is a count with its noun: 1 record, 2,000 records; ``{n:category/categories}`` names the plural.
  The noun may be data too: ``{n:{unit}}``.
- ``{n:~is/are}`` is a verb that agrees with a count.
- ``{columns:names}`` lists names in quotation marks, ``{columns:words}`` without them; ``and``, ``or`` and ``;`` join
  words too.
- ``[ (first: record {first})]`` is left out if one of its data is missing, empty or zero. ``{first:?}`` only asks for
  a value and ``{first:!}`` for none; both show nothing. ``[[`` and ``]]`` are brackets.
- ``{reason}`` may itself be a message, as a rule a phrase.
- ``--missing=group`` is an option with a value. Each reader sees it in familiar words: ``--missing group`` on the
  terminal, ``missing='group'`` in Python, the label of the field on the page. ``{other:option}`` is an option as data,
  which may name other data as its value.
- A template that starts with a lower-case letter, a quotation mark or a placeholder follows the field of the plan that
  it is about: ``-k: must be at least 2.``
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Self, get_args

from shoal.messages.table import SENTENCES, Severity
from shoal.text import counted, listed, visible

Reader = Literal["terminal", "python", "page"]

_OPTION = re.compile(r"(?<![\w)-])(?P<option>--?[a-z][a-z0-9-]*)(?:=(?P<value>[^\s;)]*[^\s,;.:?)]))?")
_SPELLINGS: dict[Reader, Callable[[str, str | None], str]] = {}


def spell_options(reader: Reader, spelling: Callable[[str, str | None], str]) -> None:
    """Register how a reader sees an option of the command line and its value."""
    _SPELLINGS[reader] = spelling


class Message(str):
    """A sentence for users with its code, data and severity; as text it is in the words of the terminal.

    Attributes
    ----------
    code
        Stable name of the problem, such as ``k-too-large``.
    severity
        ``error``, ``warning`` or ``note``.
    data
        Values in the sentence, by name. None of them is a value of a record.
    field
        Field of the plan that the sentence is about, or None.
    source
        Name of the file that holds the field, or an empty text.
    """

    code: str
    severity: Severity
    data: dict[str, Any]
    field: str | None
    source: str

    def __new__(cls, code: str, /, *, field: str | None = None, source: str = "", **data: Any) -> Self:
        """Build the message of a code; an unknown code is a KeyError."""
        severity, template = SENTENCES[code]
        body = _rendered(template, data, "terminal")
        message = super().__new__(cls, _labelled(body, template, field, field or "", source))
        message.code, message.severity, message.data = code, severity, data
        message.field, message.source = field, source
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        """Return the arguments from which a copy is unpickled."""
        return (self.code,), {"field": self.field, "source": self.source, **self.data}

    def about(self, field: str | None, source: str = "") -> Message:
        """Return the message about another field, or about a field of a file."""
        return Message(self.code, field=field, source=source, **self.data)

    def text(self, reader: Reader = "terminal", label: str = "") -> str:
        """Return the sentence in the words of a reader; `label` replaces the name of the field."""
        template = SENTENCES[self.code][1]
        return _labelled(_rendered(template, self.data, reader), template, self.field, label, self.source)

    @property
    def options(self) -> list[tuple[str, str | None]]:
        """Options that the sentence advises, each with its value or None."""
        shown = "".join(each.text for each in _segments(SENTENCES[self.code][1]) if each.applies(self.data))
        as_data = re.compile(r"\{(\w+):option\}")
        found = _OPTION.finditer(as_data.sub(lambda name: self.data[name[1]], shown))
        return [(each["option"], each["value"] and _filled(each["value"], self.data, "terminal")) for each in found]

    def as_json(self) -> dict[str, Any]:
        """Return the message for machines."""
        named = {} if self.field is None else {"field": self.field}
        named |= {"source": self.source} if self.source else {}
        return {"severity": self.severity, "code": self.code, **named, "text": str(self), "data": _plain(self.data)}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Message:
        """Return the message that `as_json` has written, perhaps in another process."""
        data = {name: _revived(value) for name, value in found["data"].items()}
        return Message(found["code"], field=found.get("field"), source=found.get("source", ""), **data)


def by_severity(messages: Iterable[Message]) -> list[Message]:
    """Return messages with errors first, then warnings, then notes."""
    return sorted(messages, key=lambda each: get_args(Severity).index(each.severity))


class _Segment(NamedTuple):
    """A piece of a template. An optional piece depends on the data that it names."""

    text: str
    needs: frozenset[str] = frozenset()
    excludes: frozenset[str] = frozenset()

    def applies(self, data: Mapping[str, Any]) -> bool:
        """Whether the data have all values that the piece needs and none that it excludes."""
        given = {name for name, value in data.items() if _is_given(value)}
        return self.needs <= given and self.excludes.isdisjoint(given)


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != 0 and (not hasattr(value, "__len__") or len(value) > 0)


@cache
def _segments(template: str) -> tuple[_Segment, ...]:
    """Divide a template at its brackets."""
    plain = template.replace("[[", "\0").replace("]]", "\1")
    found = []
    for number, piece in enumerate(re.split(r"[\[\]]", plain)):
        text = piece.replace("\0", "[").replace("\1", "]")
        named = {name: spec for _, name, spec, _ in string.Formatter().parse(text) if name}
        excluded = frozenset(name for name, spec in named.items() if spec == "!")
        optional = number % 2 == 1
        text = re.sub(r"\{\w+:!\}", "", text)  # which may have no value
        found.append(_Segment(text, frozenset(named) - excluded, excluded) if optional else _Segment(text))
    return tuple(found)


def _rendered(template: str, data: Mapping[str, Any], reader: Reader) -> str:
    """Return a template with its options and data in the words of a reader."""
    text = "".join(each.text for each in _segments(template) if each.applies(data))
    pieces, end = [], 0
    for each in _OPTION.finditer(text):
        pieces += [_filled(text[end : each.start()], data, reader), _spelled(each, data, reader)]
        end = each.end()
    return "".join([*pieces, _filled(text[end:], data, reader)])


def _spelled(option: re.Match[str], data: Mapping[str, Any], reader: Reader) -> str:
    value = option["value"] and _filled(option["value"], data, reader)
    if reader in _SPELLINGS:
        return _SPELLINGS[reader](option["option"], value)
    return f"{option['option']} {value}" if value else option["option"]


class _Formatter(string.Formatter):
    """Formats data by the rules of the templates."""

    def __init__(self, reader: Reader, data: Mapping[str, Any]) -> None:
        self.reader, self.data = reader, data

    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec:
            case "":
                return value.text(self.reader) if isinstance(value, Message) else str(visible(str(value)))
            case "?" | "!":
                return ""
            case "option":
                return _OPTION.sub(lambda option: _spelled(option, self.data, self.reader), value)
            case "names":
                return str(visible(listed(value)))
            case "words" | "and" | "or" | ";":
                joint = {"words": ", ", ";": "; "}.get(format_spec, f" {format_spec} ")
                return joint.join(self.format_field(each, "") for each in value)
            case _ if format_spec.startswith("~"):
                singular, _, plural = format_spec[1:].partition("/")
                return singular if value == 1 else plural
            case _ if re.fullmatch("[a-z][a-z '/-]+", format_spec):
                noun, _, plural = format_spec.partition("/")
                return counted(value, noun, plural or None)
        return format(value, format_spec)


def _filled(text: str, data: Mapping[str, Any], reader: Reader) -> str:
    return _Formatter(reader, data).vformat(text, (), data)


def _labelled(body: str, template: str, field: str | None, label: str, source: str) -> str:
    """Return a sentence after the name of its field and of the file that holds it."""
    start = re.sub(r"^\[(\{\w+:[?!]\})?", "", template)
    whole = field is None or start[0].isupper() or start.startswith("-")
    if whole:
        return f"{source}: {body}" if source else body
    if source:
        return f"{source}: {field}: {body}" if body.startswith("'") else f"{source}: '{field}' {body}"
    return f"{label or field}: {body}"


def _revived(value: Any) -> Any:
    """Return data that JSON held, with messages among them."""
    match value:
        case {"code": str(), "severity": str(), "data": dict()}:
            return Message.from_json(value)
        case dict():
            return {name: _revived(each) for name, each in value.items()}
        case list():
            return [_revived(each) for each in value]
    return value


def _plain(value: Any) -> Any:
    """Return data as JSON holds it."""
    match value:
        case Message():
            return value.as_json()
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case str():
            return visible(str(value))
        case bool() | int() | float() | None:
            return value
        case Sequence() | set() | frozenset():
            return [_plain(each) for each in value]
    return value.item() if hasattr(value, "item") else visible(str(value))
