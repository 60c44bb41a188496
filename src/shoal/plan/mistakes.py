"""Mistakes in single fields of a plan, in the words of the person who made them."""

import difflib
import re
from collections.abc import Iterable, Sequence

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from shoal.messages import Message
from shoal.plan.options import fields_of_form, tables_of

_TAGS = ("word", "lists", "table", "a number", "a list", "a matrix")
_EXAMPLES = {
    "levels": "--levels=size=S,M,L",
    "missing_codes": "--missing-code=income=999999,-9",
    "constraints": "--constraint=income=non-negative",
}


def message_of(cls: type[BaseModel], detail: ErrorDetails) -> Message:
    """Return the message of one of pydantic's errors."""
    tables = tables_of(cls)
    path = [str(part) for part in detail["loc"] if part not in _TAGS]
    field = path[0] if path else ""
    path = path[: 2 if field in (*tables, *fields_of_form(cls, "pairs", "lists", "text or pairs")) else 1]
    at = ".".join(path) or "plan"
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden" if len(path) > 1 and path[-1] in cls.model_fields:
            return Message("field-in-wrong-table", field=at, table=field, name=path[-1])
        case "extra_forbidden":
            known = tables[field].model_fields if field in tables else cls.model_fields
            return Message("unknown-field", field=at, near=_nearest(path[-1], known))
        case "literal_error":
            choices = re.findall(r"'([^']+)'", str(context["expected"]))
            return not_a_choice(at, detail["input"], choices)
        case "too_short" | "too_long" | "list_type" if field == "bounds":
            return Message("not-bounds", field=at)
        case "list_type" | "string_type" if field == "edits":
            return Message("not-rules", field=at)
        case "dict_type" | "model_type" | "model_attributes_type":
            return Message("not-a-table", field=at, item="" if field in tables else "attribute")
        case "too_short":
            return Message("empty", field=at, example=_EXAMPLES.get(field, ""))
        case "value_error":
            said: Message = context["error"].args[0]
            return said.about(at)
        case "list_type" | "string_type" if field in fields_of_form(cls, "names", "items of names"):
            return Message("not-names", field=at)
        case "string_pattern_mismatch":
            return Message("not-a-memory-size", field=at)
        case "string_too_long" | "string_too_short":
            return Message("not-one-character", field=at)
    return simple_mistake(at, detail)


def simple_mistake(field: str, detail: ErrorDetails) -> Message:
    """Return the message of a value that is out of range or of another type."""
    context = detail.get("ctx", {})
    match detail["type"]:
        case "greater_than":
            return Message("too-small", field=field, limit=context["gt"], open=True)
        case "greater_than_equal":
            return Message("too-small", field=field, limit=context["ge"])
        case "less_than_equal":
            return Message("too-large", field=field, limit=context["le"])
        case "float_type" | "float_parsing" | "finite_number":
            return Message("not-a-number", field=field)
        case "int_type" | "int_from_float" | "int_parsing" | "int_parsing_size":
            return Message("not-whole", field=field)
        case "bool_type" | "bool_parsing":
            return Message("not-true-or-false", field=field)
    return Message("not-text", field=field)


def not_a_choice(field: str, value: object, choices: Sequence[str]) -> Message:
    """Return the message of a word that is none of those to choose from."""
    near = _nearest(str(value), choices, 0.7)
    if near:
        return Message("not-a-choice", field=field, value=value, near=near)
    if len(choices) == 1:
        return Message("not-a-choice", field=field, only=choices[0])
    return Message("not-a-choice", field=field, choices=[*choices])


def _nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the word that a misspelled one is close to; nothing if there is none."""
    return next(iter(difflib.get_close_matches(word, [*known], n=1, cutoff=cutoff)), "")
