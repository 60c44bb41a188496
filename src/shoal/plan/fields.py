"""The fields of a plan that take more than one form: what is accepted, and what it becomes."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag


def listed(value: object) -> object:
    """One name may stand for a list of one; any iterable of names will do."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Iterable) and not isinstance(value, dict) else value


def _whole(value: object) -> object:
    """Accept numpy's integers; refuse True and False, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value.__index__() if hasattr(value, "__index__") else value


def _budget(value: object) -> object:
    """Accept a number of steps, or a time with its unit; both more than nothing."""
    steps = _whole(value)
    if isinstance(steps, int):
        if steps < 1:
            raise ValueError("must be more than 0: a time such as 60s, or a number of steps")
        return steps
    text = str(value).strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|sec|min|h)", text)
    if re.fullmatch(r"\d+", text):
        return _budget(int(text))
    if found is None or not 0 < float(found[1]) <= 1e9:
        raise ValueError("must be a time of more than 0 with its unit, such as 60s or 5min, or a number of steps")
    return f"{found[1]}{found[2]}"


def _refine(value: object) -> object:
    """Accept true, false or a number of seconds."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, bool):
        return value
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError("must be true, false or a number of seconds of more than 0")
    return seconds


def _path(value: object) -> object:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(path, str) and ("\0" in path or "\n" in path or path != path.encode(errors="ignore").decode()):
        raise ValueError("has characters that a plan cannot hold; rename the file")
    return path


def _form(alpha: object) -> str:
    """Say in which form alpha is given, so that a mistake is reported for the one that was meant."""
    if isinstance(alpha, Mapping):
        return "table"
    if not isinstance(alpha, list | tuple):
        return "a number"
    return "a matrix" if any(isinstance(row, list | tuple) for row in alpha) else "a list"


Names = Annotated[list[str], BeforeValidator(listed)]
Whole = Annotated[int, BeforeValidator(_whole)]
PathText = Annotated[str, BeforeValidator(_path)]
Budget = Annotated[str | int, BeforeValidator(_budget)]
Refine = Annotated[bool | float, BeforeValidator(_refine)]
# A word or lists of names; told apart beforehand, so that a mistake is reported for the one that was meant.
Blocks = Annotated[
    Annotated[Literal["correlated", "uncorrelated"], Tag("word")]
    | Annotated[list[Annotated[Names, Field(min_length=1)]], Field(min_length=1), Tag("lists")],
    Discriminator(lambda given: "word" if isinstance(given, str) else "lists"),
]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# The same for all attributes, one for each of them, or a matrix.
Alpha = Annotated[
    Annotated[Finite, Tag("a number")]
    | Annotated[dict[str, Finite], Tag("table")]
    | Annotated[list[Finite], Tag("a list")]
    | Annotated[list[list[Finite]], Tag("a matrix")],
    Discriminator(_form),
    BeforeValidator(lambda given: given.tolist() if hasattr(given, "tolist") else given),  # an array of numpy
]
# A file of rules, or rules line by line.
Edits = Annotated[
    Annotated[PathText, Tag("word")] | Annotated[list[str], Field(min_length=1), Tag("lists")],
    Discriminator(lambda given: "lists" if isinstance(given, list | tuple) else "word"),
]
