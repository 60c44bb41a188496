"""Mistakes in single fields of a plan, in the words of the person who made them."""

import difflib
import re

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from shoal.plan.conflicts import Problem
from shoal.plan.options import fields_of_form, tables_of

_TAGS = ("word", "lists", "table", "a number", "a list", "a matrix")


def sentence_of(cls: type[BaseModel], detail: ErrorDetails) -> Problem:
    """Return one of pydantic's errors as a field and a sentence."""
    tables = tables_of(cls)
    path = [str(part) for part in detail["loc"] if part not in _TAGS]
    field = path[0] if path else ""
    path = path[: 2 if field in (*tables, *fields_of_form(cls, "pairs", "lists", "text or pairs")) else 1]
    context = detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden" if len(path) > 1 and path[-1] in cls.model_fields:
            what = f"is not in the table {field}. Use {path[-1]}, above all tables of the plan file."
        case "extra_forbidden":
            known = tables[field].model_fields if field in tables else cls.model_fields
            close = difflib.get_close_matches(path[-1], known, n=1)
            what = "is not a field of a plan." + (f" Did you mean '{close[0]}'?" if close else "")
        case "literal_error":
            what = _meant(detail) or f"must be {context['expected']}."
        case "greater_than":
            what = f"must be more than {context['gt']:g}."
        case "less_than_equal":
            what = f"must be at most {context['le']:g}."
        case "greater_than_equal":
            what = f"must be at least {context['ge']}."
        case "too_short" | "too_long" | "list_type" if field == "bounds":
            what = "must be two numbers, the lowest and the highest value, for example --bounds age=0,120."
        case "too_short" if field == "levels":
            what = "has no levels. List them in order, for example --levels size=S,M,L."
        case "too_short" if field == "missing_codes":
            what = "has no codes. List them, for example --missing-code income=999999,-9."
        case "too_short" if field == "edits":
            what = "has no rules. Leave it out, or add a rule with --edit."
        case "list_type" | "string_type" if field == "edits":
            what = "must be a file of rules (--edits), or a list of rules (--edit)."
        case "too_short" if field == "constraints":
            what = "is empty. Leave it out, or use --constraint, for example --constraint income=non-negative."
        case "dict_type":
            what = "must be a table with one line per attribute."
        case "too_short":
            what = "names no attribute. Leave it out or name at least one."
        case "value_error":
            what = str(context["error"])
        case "float_type" | "float_parsing" | "finite_number":
            what = "must be a number."
        case "int_type" | "int_from_float" | "int_parsing" | "int_parsing_size":
            what = "must be a whole number."
        case "list_type" | "string_type" if field in fields_of_form(cls, "names", "items of names"):
            what = "must be a list of attribute names."
        case "string_pattern_mismatch":
            what = "must be a number with a unit, such as 500MB or 4GB."
        case "string_too_long" | "string_too_short":
            what = "must be one character."
        case _:
            what = f"{detail['msg'][0].lower()}{detail['msg'][1:].rstrip('.')}."
    return ".".join(path) or "plan", what


def _meant(detail: ErrorDetails) -> str:
    """Return the choice that a misspelled word is close to, in a sentence; nothing if there is none."""
    known = re.findall(r"'([^']+)'", str(detail["ctx"]["expected"]))
    close = difflib.get_close_matches(str(detail["input"]), known, n=1, cutoff=0.7)
    return f"'{detail['input']}' is not a choice. Did you mean '{close[0]}'?" if close else ""
