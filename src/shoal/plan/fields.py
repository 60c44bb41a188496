"""What a field of a plan is made of: the marker that describes it everywhere, and the types with several forms."""

import math
import operator
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag

from shoal.messages import Message

Group = Literal["roles", "protection", "method", "types and missing values", "rules", "files", "scale"]
GROUPS: tuple[Group, ...] = get_args(Group)
FILES = ".csv, .tsv, .txt, .parquet, .arrow, .feather, .ipc, .xlsx, .xml, .sav, .zsav, .por, .dta, .xpt, .sas7bdat"


class Each(NamedTuple):
    """An option that is repeated, once for each item of a list."""

    spelling: str
    metavar: str
    description: str


def option(
    default: Any,
    group: Group,
    description: str,
    *spellings: str,
    metavar: str = "",
    each: Each | None = None,
    rest: str = "",
    off: str = "",
    example: str = "",
    public: bool = False,
    title: str | None = None,
) -> Any:
    """Return a field of a plan, with all that the command line, the page, the manifest and the documents need of it.

    Parameters
    ----------
    default
        The value of a field that is left out.
    group
        The heading under which the field is listed.
    description
        One phrase without a final period. Names of fields and values stand in backticks; on the command line a
        field's name is shown as its option.
    *spellings
        The option's spellings, or the name of an argument in capitals; ``--field-name`` if left out.
    metavar, example
        What follows the option in the help, and an example of it, such as ``age=median``.
    each
        A second option for fields that may be lists. A field that is always a list has no other one.
    rest
        What the option ``--field-name-rest`` does, for a field that is a list of names or the word "rest".
    off
        What the option ``--no-field-name`` does, for a switch that may be left open.
    public
        Whether the manifest of a release shows the field; see `shoal.pipeline.manifest`.
    title
        The name of the field on the page, if it differs from the field's own.
    """
    marks: dict[str, Any] = {
        "x-group": group,
        "x-option": list(spellings),
        "x-metavar": metavar,
        "x-each": each and list(each),
        "x-rest": rest,
        "x-off": off,
        "x-example": example,
        "x-public": public,
    }
    return Field(
        default,
        description=description,
        title=title,
        json_schema_extra={name: mark for name, mark in marks.items() if mark},
    )


def listed(value: object) -> object:
    """One name may stand for a list of one; any iterable of names will do."""
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Iterable) and not isinstance(value, dict) else value


def _whole(value: object) -> object:
    """Accept numpy's integers; refuse True and False, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(Message("not-whole"))
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return value


def _no_switch(value: object) -> object:
    """Refuse True and False, which Python takes for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError(Message("not-a-number"))
    return value


def _values(value: object) -> object:
    """Accept a number of values, which may be a fraction if it is that of an entropy."""
    try:
        number = float(str(_whole(value)))
    except ValueError:
        number = 0.0
    if not 1 < number < float("inf"):
        raise ValueError(Message("not-a-number-of-values"))
    return int(number) if number.is_integer() else number


def _rank(value: object) -> object:
    """Accept a place from below, 1 for the least, or a share of the group between 0 and 1."""
    try:
        number = float(str(_whole(value)))
    except ValueError:
        number = 0.0
    if not (0 < number < 1 or (1 <= number < float("inf") and number.is_integer())):
        raise ValueError(Message("not-a-rank"))
    return int(number) if number >= 1 else number


def _budget(value: object) -> object:
    """Accept a number of steps, or a time with its unit; both more than nothing."""
    steps = _whole(value)
    if isinstance(steps, int):
        if steps < 1:
            raise ValueError(Message("not-a-budget"))
        return steps
    text = str(value).strip()
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|sec|min|h)", text)
    if re.fullmatch(r"\d+", text):
        return _budget(int(text))
    if found is None or not 0 < float(found[1]) <= 1e9:
        raise ValueError(Message("not-a-budget"))
    return f"{found[1]}{found[2]}"


def _block_records(value: object) -> object:
    """Accept a number of records, or the word for as many as suit the data."""
    if value == "auto":
        return value
    try:
        records = int(str(_whole(value)))
    except ValueError:
        records = 0
    if records < 1:
        raise ValueError(Message("not-a-block-size"))
    return records


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
        raise ValueError(Message("not-a-refinement"))
    return seconds


def _code(value: object) -> object:
    """Take a text for the number that it spells; other spellings of a number, such as 09, stay texts."""
    for kind in (int, float):
        try:
            if isinstance(value, str) and str(kind(value)) == value and math.isfinite(kind(value)):
                return kind(value)
        except ValueError:
            continue
    return value


def _dominance(value: object) -> object:
    """Accept a number of contributors and the share in percent that they may hold at most."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        n, share = (float(str(_whole(part) if i == 0 else part)) for i, part in enumerate(parts))  # type: ignore[arg-type, var-annotated]
    except (TypeError, ValueError):
        n = share = 0.0
    if not (1 <= n <= 1000 and n.is_integer() and 0 < share < 100):
        raise ValueError(Message("not-a-dominance-rule", example="--dominance=1,60"))
    return [int(n), int(share) if share.is_integer() else share]


def _path(value: object) -> object:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if isinstance(path, str) and ("\0" in path or "\n" in path or path != path.encode(errors="ignore").decode()):
        raise ValueError(Message("not-a-path"))
    return path


def _form(alpha: object) -> str:
    """Return the form in which alpha is given, so that a mistake is reported for the one that was meant."""
    if isinstance(alpha, Mapping):
        return "table"
    if not isinstance(alpha, list | tuple):
        return "a number"
    return "a matrix" if any(isinstance(row, list | tuple) for row in alpha) else "a list"


# Limits come before the validators: only there they belong to the number or the list in the JSON Schema.
Names = Annotated[list[str], BeforeValidator(listed)]
SomeNames = Annotated[list[str], Field(min_length=1), BeforeValidator(listed)]
# Names, or the word for all columns without another role; a column of that name is given as a list.
NamesOrRest = Annotated[
    Annotated[Literal["rest"], Tag("word")] | Annotated[list[str], Tag("lists")],
    Discriminator(lambda given: "word" if isinstance(given, str) else "lists"),
    BeforeValidator(lambda given: given if isinstance(given, str) and given == "rest" else listed(given)),
]
Natural = Annotated[int, Field(ge=0), BeforeValidator(_whole)]
Positive = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
AtLeastTwo = Annotated[int, Field(ge=2), BeforeValidator(_whole)]
Rank = Annotated[int | float, BeforeValidator(_rank)]
NumberOfValues = Annotated[int | float, BeforeValidator(_values)]
if TYPE_CHECKING:
    # Method 'ms' alone has no k, and forms no groups: whatever reads k as a number has a plan with one.
    GroupSize = int
else:
    GroupSize = AtLeastTwo | None
Character = Annotated[str, Field(min_length=1, max_length=1)]
PathText = Annotated[str, BeforeValidator(_path)]
Budget = Annotated[str | int, BeforeValidator(_budget)]
Dominance = Annotated[list[int | float], Field(min_length=2, max_length=2), BeforeValidator(_dominance)]
BlockRecords = Annotated[Annotated[int, Field(ge=1)] | Literal["auto"], BeforeValidator(_block_records)]
Refine = Annotated[bool | float, BeforeValidator(_refine)]
# A word or lists of names; told apart beforehand, so that a mistake is reported for the one that was meant.
Blocks = Annotated[
    Annotated[Literal["correlated", "uncorrelated", "edits"], Tag("word")]
    | Annotated[list[SomeNames], Field(min_length=1), Tag("lists")],
    Discriminator(lambda given: "word" if isinstance(given, str) else "lists"),
]
Percent = Annotated[float, Field(gt=0, le=100), BeforeValidator(_no_switch)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
MissingCodes = Annotated[
    list[Annotated[int | float | str, BeforeValidator(_code)]],
    Field(min_length=1),
    BeforeValidator(lambda given: given if isinstance(given, list | tuple) else [given]),
]
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
