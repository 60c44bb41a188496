"""Plan: everything that was asked for, validated once, here. The same plan gives the same release.

Every front end builds one of these: keyword arguments of `protect`, options of the command line and plan files use
the same words. Name, type, default, group, description and option of a field stand here and nowhere else; see
`shoal.plan.options`. All mistakes are reported together. Which columns a table really has is checked later, when there
is a table.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

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

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan.conflicts import contradictions
from shoal.plan.fields import (
    FILES,
    Alpha,
    Blocks,
    Budget,
    Dominance,
    Each,
    Edits,
    Finite,
    GroupSize,
    MissingCodes,
    Names,
    NamesOrRest,
    Natural,
    NumberOfValues,
    PathText,
    Percent,
    Positive,
    PositiveFloat,
    Rank,
    Refine,
    SomeNames,
    listed,
    option,
)
from shoal.plan.mistakes import message_of
from shoal.plan.options import tables_of
from shoal.plan.parts import Csv, Effort, Scale
from shoal.plan.recoding import Recoding, classes_of
from shoal.plan.toml_file import read_toml

Method = Literal[
    "auto",
    "mdav",
    "vmdav",
    "univariate",
    "pca",
    "zscores",
    "tour",
    "npn-mhm",
    "mdav-mhm",
    "cbfs-mhm",
    "best",
    "mic1d",
    "hybrid",
    "ms",
    "insensitive",
]
Tour = Literal["refined", "savings"]
Aggregate = Literal[
    "mean",
    "geometric_mean",
    "median",
    "lower_median",
    "order_statistic",
    "trimmed_mean",
    "convex_median",
    "mode",
    "medoid",
]
AttributeType = Literal["continuous", "ordinal", "nominal", "date", "datetime", "boolean"]
Standardize = Literal["zscore", "minmax", "none"]
Distance = Literal["balanced", "mdav-generic"]
Constraint = Literal["non-negative", "integer"]
Partition = Literal["mdav", "vmdav", "univariate", "pca", "zscores", "tour", "best", "optimal"]
# A word for all attributes, or a word for each of some.
Aggregates = Annotated[
    Annotated[Aggregate, Tag("word")] | Annotated[dict[str, Aggregate], Tag("table")],
    Discriminator(lambda given: "table" if isinstance(given, Mapping) else "word"),
]


class Plan(BaseModel):
    """A request for a release: the same words in Python, on the command line and in a plan file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: GroupSize = option(
        None,
        "protection",
        "minimum group size: records in every group, or different units if there is a `unit` (with `mic1d`: values in "
        "every part)",
        "-k",
        public=True,
        title="k",
    )
    quasi: SomeNames | None = option(
        None,
        "roles",
        "quasi-identifiers (key variables), the attributes to mask; every numeric attribute if left out",
        public=True,
        title="Quasi-identifiers",
    )
    confidential: Names = option(
        [],
        "roles",
        "sensitive attributes: released unchanged, except by methods `hybrid` and `ms`",
        public=True,
        title="Sensitive attributes",
    )
    identifiers: Names = option(
        [], "roles", "direct identifiers, such as names: dropped", public=True, title="Identifiers"
    )
    unit: str | None = option(
        None,
        "roles",
        "the attribute with the person, firm or other unit of each record: `k` counts units, not records",
        metavar="A",
        public=True,
        title="Unit",
    )
    unit_as: Literal["drop", "pseudonym"] | None = option(
        None,
        "roles",
        "with `unit`: drop the attribute (`drop`, the default), or replace each unit by a new random number "
        "(`pseudonym`)",
        public=True,
        title="Unit numbers",
    )
    publish: NamesOrRest = option(
        [],
        "roles",
        "attributes to release unchanged and unprotected",
        rest="release all attributes that have no other role, unchanged and unprotected",
        public=True,
        title="Attributes released unchanged",
    )
    method: Method = option("auto", "method", "how records are put into groups", public=True, title="Method")
    partition: Partition | None = option(
        None,
        "method",
        "with `hybrid`: the method that forms groups (`mdav` if left out); with `mic1d`: `optimal` cuts values where "
        "squared errors are least, not after every k",
        public=True,
        title="Partition of hybrid or mic1d",
    )
    gain: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = option(
        None,
        "method",
        "with `vmdav`: gain factor, how readily groups grow beyond k (default 0.2)",
        public=True,
        title="Gain of vmdav",
    )
    tour: Tour | None = option(
        None,
        "method",
        "with method tour: the tour of the savings heuristic, improved by 2-opt moves (`refined`, the default) "
        "or unchanged (`savings`)",
        public=True,
        title="Kind of tour",
    )
    budget: Budget | None = option(
        None,
        "method",
        "how long `best` may search: a time such as 60s, or a number of steps for a repeatable result",
        metavar="TIME",
        public=True,
        title="Budget",
    )
    refine: Refine = option(
        False,
        "method",
        "improve the groups of the method by a search of this many seconds; `true` chooses the time by the file size",
        metavar="SECONDS",
        public=True,
        title="Refine the groups",
    )
    bound: bool = option(
        False,
        "method",
        "raise the lower bound of the loss that every release has; takes as long as the `budget`",
        public=True,
        title="Raise the lower bound",
    )
    mask_quasi: bool = option(
        False,
        "method",
        "with `hybrid`: microaggregate the quasi-identifiers as well",
        public=True,
        title="Mask quasi-identifiers too",
    )
    ipso: Literal["independent", "orthogonal"] | None = option(
        None,
        "method",
        "with `hybrid`: synthetic residuals that ignore the original ones (`independent`, if left out), or have no "
        "correlation with them, as printed by Domingo-Ferrer (`orthogonal`)",
        public=True,
        title="Residuals of hybrid",
    )
    allow_unchanged: bool = option(
        False,
        "method",
        "with `mic1d`: release even if more than half of the values are unchanged",
        public=True,
        title="Allow unchanged values",
    )
    alpha: Alpha | None = option(
        None,
        "method",
        "with `ms`: share of a sensitive value that is kept, from 0 to less than 1; for all attributes or for each",
        metavar="[A=]X",
        example="income=0.3",
        public=True,
        title="Alpha of ms",
    )
    constraints: dict[str, Annotated[list[Constraint], Field(min_length=1), BeforeValidator(listed)]] = option(
        {},
        "method",
        "with `hybrid` and `ms`: what sensitive values must be, `non-negative` or `integer`",
        "--constraint",
        metavar="A=RULE",
        example="children=non-negative,integer",
        public=True,
        title="Constraints on sensitive values",
    )
    types: dict[str, AttributeType] = option(
        {},
        "types and missing values",
        "types of attributes, where the file leaves them open",
        "--type",
        metavar="A=TYPE",
        example="educ=ordinal",
        public=True,
        title="Types",
    )
    levels: dict[str, Annotated[list[str | int | float], Field(min_length=1)]] = option(
        {},
        "types and missing values",
        "levels of ordinal attributes, in order",
        metavar="A=X,Y,...",
        example="size=S,M,L",
        title="Levels",
    )
    missing_codes: dict[str, MissingCodes] = option(
        {},
        "types and missing values",
        "values of masked and sensitive attributes that stand for a missing value: read and published as missing",
        "--missing-code",
        metavar="A=X,Y,...",
        example="income=999999,-9",
        title="Missing-value codes",
    )
    recode: dict[str, Recoding] = option(
        {},
        "types and missing values",
        "global recoding before all else: cut points that divide numbers or dates into classes; for categories a table "
        "of the old levels of each new one",
        metavar="A=X,Y,...",
        example="age=18,30,45,65",
        title="Recode",
    )
    attribute_weights: dict[str, PositiveFloat] = option(
        {},
        "method",
        "weights of attributes in distances (1 if left out)",
        "--attribute-weight",
        metavar="A=W",
        example="age=2",
        public=True,
        title="Attribute weights",
    )
    missing: Literal["error", "group", "impute", "suppress"] = option(
        "error",
        "types and missing values",
        "missing values: refuse them (`error`), treat them as a value (`group`), fill them from the nearest group "
        "(`impute`) or drop such records (`suppress`)",
        public=True,
        title="Missing values",
    )
    aggregate: Aggregates | None = option(
        None,
        "method",
        "what a group publishes; if left out, the mean of numbers and dates, the median of ordinal attributes, the "
        "mode of others",
        metavar="[A=]HOW",
        example="age=median",
        public=True,
        title="Aggregate",
    )
    trim: Positive | None = option(
        None,
        "method",
        "with `trimmed_mean`: records to leave out at each end of a group (1 if left out)",
        public=True,
        title="Records to trim",
    )
    rank: Rank | None = option(
        None,
        "method",
        "with `order_statistic`: which value of a group is published, in order: a whole number (1 is the least), or a "
        "share of the group (0.5, the lower median, if left out)",
        public=True,
        title="Rank of the order statistic",
    )
    restore_variance: bool = option(
        False,
        "method",
        "rescale each attribute so that its variance is kept exactly",
        public=True,
        title="Restore the variance",
    )
    distance: Distance | None = option(
        None,
        "method",
        "how types count in distances: each attribute alike (`balanced`, if left out), or as printed by Domingo-Ferrer "
        "and Torra (`mdav-generic`)",
        public=True,
        title="Distance",
    )
    standardize: Standardize = option(
        "zscore",
        "method",
        "how attributes are scaled for distances",
        public=True,
        title="Standardize",
    )
    round: bool | None = option(
        None,
        "types and missing values",
        "publish whole numbers in integer attributes, and whole days; if left out, wherever no exact mean is promised",
        off="publish decimals in integer attributes, which keeps their means exactly",
        public=True,
        title="Whole numbers stay whole",
    )
    blocks: Blocks | None = option(
        None,
        "method",
        "attribute blocks, each partitioned separately: chosen by correlation (`correlated`, `uncorrelated`), or "
        "the attributes of each rule and the others in blocks of three (`edits`); in Python and plan files also "
        "a list",
        each=Each("--block", "A,B,...", "one attribute block, partitioned separately; once for each block"),
        public=True,
        title="Attribute blocks",
    )
    block_size: Positive | None = option(
        None,
        "method",
        "with chosen `blocks`: minimum number of attributes, not records, in each (3 if left out)",
        public=True,
        title="Attributes per block",
    )
    strata: SomeNames | None = option(
        None, "roles", "strata: attributes whose combinations are never mixed in a group", public=True, title="Strata"
    )
    small_strata: Literal["error", "merge", "suppress"] = option(
        "error",
        "roles",
        "strata with fewer than k records: refuse them (`error`), join the nearest (`merge`) or drop them (`suppress`)",
        public=True,
        title="Strata below k",
    )
    weights: str | None = option(
        None, "roles", "the attribute with the survey weights", metavar="A", public=True, title="Survey weight"
    )
    household: str | None = option(
        None,
        "roles",
        "the attribute with the household numbers: quasi-identifiers that are constant within every household are "
        "masked once per household, in groups of at least k households, and stay constant",
        metavar="A",
        public=True,
        title="Household",
    )
    household_attributes: Names = option(
        [],
        "roles",
        "with `household`: quasi-identifiers to mask once per household; all that are constant within every household "
        "if left out",
        public=True,
        title="Household attributes",
    )
    household_as: Literal["drop", "pseudonym"] = option(
        "drop",
        "roles",
        "with `household`: `drop` the household numbers, or replace each by a random number (`pseudonym`)",
        public=True,
        title="Household numbers",
    )
    l: NumberOfValues | None = option(  # noqa: E741 - the literature's own name
        None,
        "protection",
        "l-diversity: minimum number of different sensitive values in a group",
        "-l",
        public=True,
        title="l-diversity",
    )
    l_form: Literal["distinct", "entropy", "recursive"] = option(
        "distinct",
        "protection",
        "how `l` counts: different values (`distinct`), effective number of values by entropy (`entropy`), or "
        "(c, l)-diversity (`recursive`)",
        public=True,
        title="Form of l-diversity",
    )
    c: PositiveFloat | None = option(
        None,
        "protection",
        "with `l_form` recursive: the most frequent value must be rarer than `c` times the l-th and all rarer ones",
        public=True,
        title="c of recursive l-diversity",
    )
    t: Annotated[float, Field(gt=0, le=1)] | None = option(
        None,
        "protection",
        "t-closeness: maximum distance between the sensitive values of a group and those of the file, at most 1",
        "-t",
        public=True,
        title="t-closeness",
    )
    p_percent: Percent | None = option(
        None,
        "protection",
        "p % rule: in every group, the largest contributor to a total must not be known to within so many percent",
        metavar="P",
        public=True,
        title="p % rule",
    )
    dominance: Dominance | None = option(
        None,
        "protection",
        "(n, k)-dominance: the n largest contributors to a total hold at most k percent of it in every group",
        metavar="N,K",
        example="1,60",
        public=True,
        title="Dominance",
    )
    magnitudes: SomeNames | None = option(
        None,
        "protection",
        "with `p_percent` and `dominance`: attributes whose totals are protected; every masked number if left out",
        public=True,
        title="Attributes with protected totals",
    )
    only: Literal["at_risk"] | None = option(
        None,
        "protection",
        "`at_risk`: mask only records whose combination of quasi-identifiers fewer than k records share, or units with "
        "`unit`, and release the others unchanged",
        public=True,
        title="Mask only",
    )
    preserve: Literal["weighted_mean"] | None = option(
        None,
        "protection",
        "with `weights`: `weighted_mean` keeps and verifies the weighted total of every group",
        public=True,
        title="Preserve",
    )
    keep_totals: SomeNames | None = option(
        None,
        "protection",
        "keep the totals of every masked number in each domain: each value, and each combination of values, of "
        "these unmasked attributes",
        public=True,
        title="Totals to keep",
    )
    epsilon: PositiveFloat | None = option(
        None,
        "protection",
        "differential privacy: the privacy budget of one record, such as 1; smaller protects more; needs `bounds`",
        public=True,
        title="Epsilon",
    )
    bounds: dict[str, Annotated[list[Finite], Field(min_length=2, max_length=2)]] = option(
        {},
        "protection",
        "with `epsilon`: lowest and highest possible value of each attribute, known without looking at the data",
        metavar="A=LOW,HIGH",
        example="age=0,120",
        public=True,
        title="Bounds",
    )
    edits: Edits | None = option(
        None,
        "rules",
        "rules that the data obeys and the release must obey, in a file (Schematron or plain text); in Python and plan "
        "files also a list",
        metavar="FILE",
        each=Each("--edit", "RULE", "one rule, such as 'wages + other == costs'; once for each rule"),
        title="Rules",
    )
    edits_original: Literal["fail", "keep", "exclude"] = option(
        "fail",
        "rules",
        "original records that break a rule: refuse them (`fail`), `keep` or `exclude` them",
        public=True,
        title="Original records that break a rule",
    )
    recompute: Names = option(
        [],
        "rules",
        "attributes recomputed from the others in a rule",
        public=True,
        title="Attributes to recompute",
    )
    adjust: Names = option(
        [],
        "rules",
        "attributes that may be changed so that a sum holds",
        public=True,
        title="Attributes to adjust",
    )
    seed: Natural | None = option(
        None,
        "method",
        "seed of the random numbers; if left out, 0 for `best`, and the keeper's secret for `hybrid` and `ms`",
        title="Seed",
    )
    engine: Literal["memory", "file", "spark"] | None = option(
        None,
        "scale",
        "where the work is done; chosen by size and memory if left out",
        public=True,
        title="Engine",
    )
    input: PathText | None = option(
        None,
        "files",
        f"the file to protect ({FILES}), or a folder of Parquet files",
        "DATA",
        metavar="DATA",
        title="File to protect",
    )
    output: PathText | None = option(
        None,
        "files",
        "the file to write; its extension sets the format",
        "-o",
        "--output",
        metavar="FILE",
        title="File to write",
    )
    sheet: str | None = option(
        None,
        "files",
        "sheet of an Excel workbook to read, by its name, if several have data",
        metavar="NAME",
        title="Sheet",
    )
    quote_formulas: bool = option(
        False,
        "files",
        "write an apostrophe before text in a CSV file that a spreadsheet may run as a formula",
        public=True,
        title="Quote formulas",
    )
    scale: Scale | None = option(None, "scale", "record blocks, for files of any size")
    csv: Csv | None = option(None, "files", "format of a CSV input, where detection is not enough")

    @model_validator(mode="wrap")
    @classmethod
    def _gather(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report every mistake at once: those of single fields and those between fields."""
        if isinstance(data, cls):
            return data
        problems: list[Message] = []
        wrong: set[str] = set()
        try:
            plan = handler(data)
        except ValidationError as error:
            problems = [message_of(cls, detail) for detail in error.errors()]
            wrong = {str(detail["loc"][0]) for detail in error.errors() if detail["loc"]}
            rest = {name: value for name, value in dict(data).items() if name not in wrong}
            # Continue with the fields that are right by themselves; a k that large contradicts none of them.
            plan = handler({"k": sys.maxsize, **rest} if "k" in wrong else rest)
        # A field that is wrong by itself is not missing too, nor missed by another.
        wrong |= {"magnitudes"} if wrong & {"p_percent", "dominance"} else set()
        problems += [each for each in contradictions(plan) if each.field not in wrong]
        if problems:
            raise PlanError(*dict.fromkeys(problems))
        return plan

    def updated(self, **options: Any) -> Self:
        """Return the plan with other options in place of its own, validated again; `csv` and `scale` field by field."""
        return type(self)(**_merged(self.model_dump(exclude_unset=True), options))

    def options(self) -> dict[str, Any]:
        """Return what is asked for as plain values, without what is left open or follows from the rest."""
        return {**self.model_dump(exclude_none=True), "levels": self.given_levels}

    @property
    def classes(self) -> dict[str, list[str]]:
        """The classes of attributes that are recoded by cut points, in order."""
        return {name: classes_of(cuts) for name, cuts in self.recode.items() if isinstance(cuts, list)}

    @property
    def given_levels(self) -> dict[str, list[str | int | float]]:
        """The levels that do not follow from recoding."""
        return {name: levels for name, levels in self.levels.items() if name not in self.classes}

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
    def balanced(self) -> bool:
        """Whether every attribute counts alike in distances; numbers do so by their z-scores."""
        return self.standardize == "zscore" and self.distance != "mdav-generic"

    @property
    def draws(self) -> bool:
        """Whether the method draws random numbers: what it makes of the confidential attributes is hybrid data."""
        return self.method in ("hybrid", "ms")

    @property
    def grouping(self) -> str:
        """The method that forms groups of records."""
        return self.partition or "mdav" if self.method == "hybrid" else self.method

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
        """The attribute blocks that were given by hand; with households, their attributes and those of persons."""
        if self.household_attributes and self.quasi is not None:
            persons = [name for name in self.quasi if name not in self.household_attributes]
            return [block for block in (self.household_attributes, persons) if block]
        return self.blocks if isinstance(self.blocks, list) else []

    @property
    def masked(self) -> list[str]:
        """The attributes to mask; none yet if the plan leaves them to the table."""
        return self.quasi or [name for block in self.given_blocks for name in block]

    @property
    def roles(self) -> dict[str, list[str]]:
        """The attributes that are named in each role: every column of a release has exactly one."""
        return {
            "quasi": self.masked,
            "confidential": self.confidential,
            "identifiers": self.identifiers,
            "strata": self.strata or [],
            "weights": [] if self.weights is None else [self.weights],
            "unit": [] if self.unit is None else [self.unit],
            "household": [] if self.household is None else [self.household],
            "publish": [] if isinstance(self.publish, str) else self.publish,
        }

    @property
    def dropped(self) -> list[str]:
        """The columns that are not published: direct identifiers; numbers of units and households unless replaced."""
        numbers = [*self.roles["unit"], *self.roles["household"]]
        return [*self.identifiers, *(name for name in numbers if name != self.pseudonym)]

    @property
    def pseudonym(self) -> str | None:
        """The column that has a random number for every unit or household; None if there is none."""
        if self.household_as == "pseudonym":
            return self.household
        return self.unit if self.unit_as == "pseudonym" else None

    @property
    def counts(self) -> str:
        """What k counts."""
        return "record" if self.unit is None else "unit"

    @property
    def named(self) -> set[str]:
        """The attributes that have a role."""
        return {name for names in self.roles.values() for name in names}

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

    @property
    def ranked(self) -> int | float:
        """Which value of a group is its order statistic, in order: a whole number, or a share of the group."""
        return 0.5 if self.rank is None else self.rank

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read a plan file; `options` take precedence. Paths in the file are relative to its folder."""
        path = Path(path)
        found = read_toml(path, "plan file")
        for field in PATHS:
            if isinstance(found.get(field), str) and "://" not in found[field]:  # an address is not in a folder
                found[field] = os.path.normpath(path.parent / found[field])
        try:
            return cls(**_merged(found, options))
        except PlanError as error:
            of_file = {str(each.field).partition(".")[0] for each in error.messages} <= {*found} - {*options}
            source = path.name if of_file else ""
            raise PlanError(*(each.about(each.field, source) for each in error.messages)) from None

    def to_toml(self, folder: str | os.PathLike[str] = ".") -> str:
        """Return the text of a plan file in `folder`."""
        options = {field: value for field, value in self.options().items() if value not in ([], {})}
        for field in PATHS:
            if isinstance(options.get(field), str) and "://" not in options[field]:
                options[field] = Path(os.path.relpath(options[field], folder)).as_posix()
        return tomli_w.dumps(options)


def _merged(mine: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in place of a plan's own; those of its tables, `csv` and `scale`, field by field."""
    parts = {
        part: {**mine[part], **options[part]}
        for part in tables_of(Plan)
        if isinstance(options.get(part), dict) and isinstance(mine.get(part), dict)
    }
    return {**mine, **options, **parts}


PATHS = ("input", "output", "edits")
