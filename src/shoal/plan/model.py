"""Plan: everything that was asked for, validated once, here. The same plan gives the same release.

Every front end builds one of these: keyword arguments of `protect`, options of the command line and plan files use
the same words. All mistakes are gathered and reported together; which columns a table really has is checked later,
when there is a table.
"""

import difflib
import os
import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

import tomli_w
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    ModelWrapValidatorHandler,
    Tag,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails

from shoal.errors import FileError, PlanError
from shoal.plan.conflicts import Problem, contradictions
from shoal.plan.fields import (
    Alpha,
    Blocks,
    Budget,
    Edits,
    Finite,
    Names,
    PathText,
    Positive,
    Refine,
    Whole,
    listed,
)

Method = Literal[
    "auto", "mdav", "vmdav", "univariate", "pca", "zscores", "tour", "best", "mic1d", "hybrid", "ms", "insensitive"
]
Aggregate = Literal[
    "mean", "geometric_mean", "median", "lower_median", "trimmed_mean", "convex_median", "mode", "medoid"
]
AttributeType = Literal["continuous", "ordinal", "nominal", "date", "datetime", "boolean"]
Standardize = Literal["zscore", "minmax", "none"]
Constraint = Literal["non-negative", "integer"]
# A word for all attributes, or a word for each of some.
Aggregates = Annotated[
    Annotated[Aggregate, Tag("word")] | Annotated[dict[str, Aggregate], Tag("table")],
    Discriminator(lambda given: "table" if isinstance(given, Mapping) else "word"),
]


class Effort(NamedTuple):
    """How long a search may take: so many steps, so many seconds, or as long as suits the table."""

    steps: int | None = None
    seconds: float | None = None

    def of(self, share: float) -> "Effort":
        """Give a share of it."""
        steps = None if self.steps is None else max(1, round(self.steps * share))
        return Effort(steps, None if self.seconds is None else self.seconds * share)


class Csv(BaseModel):
    """How a CSV file is written; whatever is left out is found by looking at the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="the sign between cells"
    )
    quote: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(None, description="the sign around texts")
    decimal: Literal[".", ","] | None = Field(None, description="the decimal sign")
    encoding: str | None = Field(None, description="such as utf-8, cp1252, latin-1")
    missing: Names = Field([], description="words that mean a missing value, such as NA or ?")


class Scale(BaseModel):
    """How a table is divided into record blocks, and where the work is done."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    block_size: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="the most records in a block; as many as memory allows if not given"
    )
    blocking: Literal["kd", "2^d"] = Field("kd", description="blocks of equal size, or the cells of a 2^d-tree")
    dimensions: Names | None = Field(
        None, min_length=1, description="with 2^d: the attributes that cells are halved across; all if not given"
    )
    seams: bool = Field(False, description="let records cross the borders of blocks afterwards, in memory only")
    memory: Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*[KMGTkmgt][iI]?[bB]?\s*$")] | None = Field(
        None, description="how much memory may be used, such as 4GB; what the machine has if not given"
    )
    master: str | None = Field(None, description="with spark: the address of the cluster, such as local[2]")

    @property
    def memory_bytes(self) -> int | None:
        """The memory in bytes: GB are thousands of thousands of thousands, GiB powers of two."""
        if self.memory is None:
            return None
        text = self.memory.strip().upper().rstrip("B")
        base = 1024 if text.endswith("I") else 1000
        number, unit = text.rstrip("I")[:-1], text.rstrip("I")[-1]
        return int(float(number) * base ** ("KMGT".index(unit) + 1))


class Plan(BaseModel):
    """What is asked for: the same words in Python, on the command line and in a plan file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: Annotated[Whole, Field(ge=2)] = Field(
        0,  # nobody can ask for it: it says that no groups are formed
        description="the least number of records in a group (with mic1d: of values in a part of the whole table)",
    )
    quasi: Names | None = Field(
        None, min_length=1, description="quasi-identifiers, the attributes to mask; every numeric one if left out"
    )
    confidential: Names = Field(
        [],
        description="attributes that an intruder wants to learn: published as they are, but for methods hybrid and ms",
    )
    identifiers: Names = Field([], description="attributes that name a person or a business: dropped")
    method: Method = Field("auto", description="how records are put into groups")
    gain: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="with vmdav: how readily groups grow (0.2 if not given)"
    )
    budget: Budget | None = Field(
        None, description="how long best may search, such as 60s, or how many steps, which gives the same result again"
    )
    refine: Refine = Field(
        False, description="whether the groups of a method are refined, or for how many seconds (best always does)"
    )
    bound: bool = Field(
        False, description="prove how far from the optimum the partition is at most; takes as long as the budget"
    )
    mask_quasi: bool = Field(False, description="with hybrid: microaggregate the quasi-identifiers as well")
    alpha: Alpha | None = Field(
        None, description="with ms: how much of a record is its own, from 0 to less than 1; for all or each attribute"
    )
    constraints: dict[str, Annotated[list[Constraint], BeforeValidator(listed), Field(min_length=1)]] = Field(
        {}, description="with hybrid and ms: what confidential values must be, such as non-negative or integer"
    )
    types: dict[str, AttributeType] = Field({}, description="types of attributes, where the file does not tell")
    levels: dict[str, Annotated[list[str | int | float], Field(min_length=1)]] = Field(
        {}, description="the levels of ordinal attributes in order"
    )
    attribute_weights: dict[str, Positive] = Field(
        {}, description="how much attributes count in distances; 1 if not given"
    )
    missing: Literal["error", "group", "impute", "suppress"] = Field(
        "error",
        description="missing values: refused, a value of their own, filled from the nearest group, or records left out",
    )
    aggregate: Aggregates | None = Field(
        None, description="what a group publishes; by type if not given: mean, ordinal median, nominal mode"
    )
    trim: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="with trimmed_mean: how many records are left out at each end (1 if not given)"
    )
    restore_variance: bool = Field(False, description="rescale so that each attribute keeps its variance exactly")
    standardize: Standardize = Field("zscore", description="how attributes are brought to one scale for distances")
    round: bool = Field(False, description="publish whole numbers in integer attributes")
    blocks: Blocks | None = Field(
        None,
        description="attribute blocks, each partitioned on its own; or 'correlated', 'uncorrelated': chosen for you",
    )
    block_size: Annotated[Whole, Field(ge=1)] | None = Field(
        None, description="with chosen blocks: how many attributes a block has at least (3 if not given)"
    )
    strata: Names | None = Field(
        None, min_length=1, description="attributes whose combinations are never mixed in a group"
    )
    small_strata: Literal["error", "merge", "suppress"] = Field(
        "error", description="what happens to a stratum with fewer than k records"
    )
    weights: str | None = Field(None, description="the attribute that holds the survey weights")
    preserve: Literal["weighted_mean"] | None = Field(
        None, description="with weights: promise and verify that the weighted total of every group is kept"
    )
    epsilon: Positive | None = Field(
        None, description="differential privacy: how much may be learned of one record; needs bounds, takes no seed"
    )
    bounds: dict[str, Annotated[list[Finite], Field(min_length=2, max_length=2)]] = Field(
        {}, description="with epsilon: the least and largest value of each attribute, known without looking at the data"
    )
    l: Annotated[Whole, Field(ge=2)] | None = Field(  # noqa: E741 - the literature's own name
        None, description="l-diversity: the least number of different confidential values in a group"
    )
    t: Annotated[float, Field(gt=0, le=1)] | None = Field(
        None, description="t-closeness: how far confidential values in a group may be from those in the file"
    )
    edits: Edits | None = Field(
        None, description="rules that the data obeys and must go on obeying: a file of rules, or rules line by line"
    )
    edits_original: Literal["fail", "keep", "exclude"] = Field(
        "fail", description="original records that break a rule: refused, kept as they are, or left out"
    )
    recompute: Names = Field([], description="attributes that are computed anew from the others of a rule")
    adjust: Names = Field([], description="attributes that may give way so that the sum of a rule holds")
    seed: Annotated[Whole, Field(ge=0)] | None = Field(
        None, description="start of the random numbers: of best 0, of hybrid and ms fresh and secret ones if not given"
    )
    engine: Literal["memory", "file", "spark"] | None = Field(
        None, description="where the work is done; chosen by size and memory if left out"
    )
    input: PathText | None = Field(None, description="the file to protect")
    output: PathText | None = Field(None, description="the file to write")
    scale: Scale | None = Field(None, description="record blocks, for files of any size")
    csv: Csv | None = Field(None, description="how a CSV input is written, where looking at it is not enough")

    @model_validator(mode="wrap")
    @classmethod
    def _gather(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report every mistake at once: those of single fields and those between fields."""
        if isinstance(data, cls):
            return data
        problems: list[Problem] = []
        wrong: set[str] = set()
        try:
            plan = handler(data)
        except ValidationError as error:
            problems = [_sentence(cls, detail) for detail in error.errors()]
            wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
            rest = {name: value for name, value in dict(data).items() if name not in wrong}
            # Go on with the fields that are right by themselves; a k that large contradicts none of them.
            plan = handler({"k": sys.maxsize, **rest} if "k" in wrong else rest)
        # A field that is wrong by itself is not missing too.
        problems += [(field, problem) for field, problem in contradictions(plan) if field not in wrong]
        if problems:
            raise PlanError(list(dict.fromkeys(problems)))
        return plan

    def updated(self, **options: Any) -> Self:
        """Return the plan with other options in place of its own, validated anew; `csv`, `scale` part by part."""
        mine = self.model_dump(exclude_unset=True)
        for part in _PARTS:
            if isinstance(options.get(part), dict) and isinstance(mine.get(part), dict):
                options[part] = {**mine[part], **options[part]}
        return type(self)(**{**mine, **options})

    def options(self) -> dict[str, Any]:
        """Give what is asked for as plain values, without what is left open and a k that there is not."""
        return self.model_dump(exclude_none=True, exclude={"k"} if self.k == 0 else None)

    @property
    def effort(self) -> Effort:
        """How long a search may take."""
        if isinstance(self.refine, float):
            return Effort(None, self.refine)
        if isinstance(self.budget, str):
            number, unit = re.fullmatch(r"([\d.]+)(\D+)", self.budget).groups()  # type: ignore[union-attr] # as `Budget` makes it
            return Effort(None, float(number) * {"s": 1, "sec": 1, "min": 60, "h": 3600}[unit])
        return Effort(self.budget, None)

    @property
    def draws(self) -> bool:
        """Whether the method draws random numbers: what it makes of the confidential attributes is hybrid data."""
        return self.method in ("hybrid", "ms")

    @property
    def used(self) -> list[str]:
        """The attributes that the method looks at."""
        return [*self.masked, *self.confidential] if self.draws else self.masked

    @property
    def changed(self) -> list[str]:
        """The attributes whose values the method changes."""
        if not self.draws:
            return self.masked
        return self.used if self.mask_quasi else self.confidential

    @property
    def given_blocks(self) -> list[list[str]]:
        """The attribute blocks that were given by hand."""
        return self.blocks if isinstance(self.blocks, list) else []

    @property
    def masked(self) -> list[str]:
        """The attributes to mask; none yet if the plan leaves them to the table."""
        return self.quasi or [name for block in self.given_blocks for name in block]

    @property
    def in_blocks(self) -> list[list[str]]:
        """The attributes to mask, as they are partitioned together."""
        return self.given_blocks or [self.masked]

    @property
    def aggregates(self) -> set[str]:
        """The aggregates that were asked for by name."""
        named = self.aggregate.values() if isinstance(self.aggregate, dict) else [self.aggregate]
        return {how for how in named if how is not None}

    @property
    def trimmed(self) -> int:
        """How many records the aggregate leaves out at each end of a group."""
        return (self.trim or 1) if "trimmed_mean" in self.aggregates else 0

    def publishes_whole(self, name: str) -> bool:
        """Whether an attribute of an integer type is published as whole numbers."""
        return "integer" in self.constraints.get(name, []) or (self.round and name not in self.constraints)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a plan file. Paths in it are relative to the folder that it lies in."""
        path = Path(path)
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(_LARGEST + 1)
            if len(text) > _LARGEST:
                raise FileError(f"'{path}' is not a plan file: it has more than {_LARGEST:,} characters")
            options = tomllib.loads(text)
        except FileNotFoundError:
            raise FileError(f"there is no plan file '{path}'") from None
        except FileError:
            raise
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"the plan file '{path}' cannot be read: {type(error).__name__}") from None
        except RecursionError:
            raise FileError(f"'{path}' is not a plan file: its lists are nested too deeply") from None
        except tomllib.TOMLDecodeError as error:
            raise FileError(f"the plan file '{path}' is not valid TOML: {error}") from None
        for field in _PATHS:
            if isinstance(options.get(field), str) and "://" not in options[field]:  # an address is not in a folder
                options[field] = os.path.normpath(path.parent / options[field])
        return cls(**options)

    def to_toml(self, folder: str | os.PathLike[str] = ".") -> str:
        """Write the plan as the text of a plan file that is going to lie in `folder`."""
        options = {field: value for field, value in self.options().items() if value not in ([], {})}
        for field in _PATHS:
            if isinstance(options.get(field), str) and "://" not in options[field]:
                options[field] = Path(os.path.relpath(options[field], folder)).as_posix()
        return tomli_w.dumps(options)


def _sentence(cls: type[BaseModel], detail: ErrorDetails) -> Problem:
    """Say one of pydantic's errors in the words of the person who made it."""
    path = [str(part) for part in detail["loc"] if part not in _TAGS]
    path = path[: 2 if path and path[0] in (*_PARTS, *_TABLES) else 1]
    fields = _PARTS[path[0]].model_fields if path and path[0] in _PARTS else cls.model_fields
    context = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            what = f"is missing; it is {fields[path[-1]].description}"
        case "extra_forbidden":
            close = difflib.get_close_matches(path[-1], fields, n=1)
            what = "is not an option" + (f"; did you mean '{close[0]}'?" if close else "")
        case "literal_error":
            what = f"must be {context['expected']}"
        case "greater_than":
            what = f"must be more than {context['gt']:g}"
        case "less_than_equal":
            what = f"must be at most {context['le']:g}"
        case "greater_than_equal":
            what = f"must be at least {context['ge']}"
        case "too_short" | "too_long" | "list_type" if path[0] == "bounds":
            what = "must be two numbers, the least and the largest value, such as 0,120"
        case "too_short" if path[0] == "levels":
            what = "names no level"
        case "too_short" if path[0] == "edits":
            what = "hold no rule; leave them out or give at least one"
        case "list_type" | "string_type" if path[0] == "edits":
            what = "must be a file of rules, or a list of rules"
        case "too_short" if path[0] == "constraints":
            what = "says nothing; leave it out"
        case "dict_type":
            what = "must be a table with a line for each attribute"
        case "too_short":
            what = "names no attribute; leave it out or name at least one"
        case "value_error":
            what = str(context["error"])
        case "float_type" | "float_parsing" | "finite_number":
            what = "must be a number"
        case "int_type" | "int_from_float" | "int_parsing":
            what = "must be a whole number"
        case "list_type" | "string_type" if path[0] in _NAMES:
            what = "must be a list of attribute names"
        case "string_pattern_mismatch":
            what = "must be a number with a unit, such as 500MB or 4GB"
        case "string_too_long" | "string_too_short":
            what = "must be one character"
        case _:
            what = detail["msg"][0].lower() + detail["msg"][1:]
    return ".".join(path) or "plan", what


_LARGEST = 10_000_000  # characters of a plan file, with levels and all
_PATHS = ("input", "output", "edits")
_PARTS: dict[str, type[BaseModel]] = {"csv": Csv, "scale": Scale}
_TAGS = ("word", "lists", "table", "a number", "a list", "a matrix")
_TABLES = ("types", "levels", "attribute_weights", "aggregate", "constraints", "bounds")
_NAMES = ("quasi", "confidential", "identifiers", "strata", "blocks", "recompute", "adjust")
