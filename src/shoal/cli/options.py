"""The options that commands share, and how what is given for them is taken apart."""

from typing import Annotated, Any

import typer

from shoal.errors import PlanError

# Numbers are left to the plan, which reports all mistakes together and in its own words.
K = Annotated[str | None, typer.Option("-k", help="The least number of records in a group.", metavar="N")]
Quasi = Annotated[
    list[str] | None,
    typer.Option(
        help="Quasi-identifiers, separated by commas: the attributes to mask. Every numeric one if left out.",
        show_default=False,
        metavar="A,B,...",
    ),
]
Confidential = Annotated[
    list[str] | None, typer.Option(help="Attributes published as they are, or made hybrid.", metavar="A,B,...")
]
Identifiers = Annotated[list[str] | None, typer.Option(help="Attributes that name people: dropped.", metavar="A,B,...")]
Missing = Annotated[str | None, typer.Option(help="What to do with missing values: error, group, impute, suppress.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for machines.")]
Delimiter = Annotated[str | None, typer.Option(help="The sign between the cells of a CSV file, if not found right.")]
Quote = Annotated[str | None, typer.Option(help="The sign around texts in a CSV file, if not found right.")]
Decimal = Annotated[str | None, typer.Option(help="The decimal sign of a CSV file, if not found right.")]
Encoding = Annotated[str | None, typer.Option(help="The encoding of a CSV file, if not found right.")]
MissingWord = Annotated[
    list[str] | None,
    typer.Option(help="A word that means a missing value in a CSV file, such as NA; once for each.", metavar="WORD"),
]
Type = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help="The type of an attribute, as in educ=ordinal: continuous, ordinal, nominal, date, datetime, boolean.",
        metavar="A=TYPE",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(help="The levels of an ordinal attribute in order, as in size=S,M,L.", metavar="A=X,Y,..."),
]
AttributeWeight = Annotated[
    list[str] | None, typer.Option(help="How much an attribute counts in distances, as in age=2.", metavar="A=W")
]
Aggregate = Annotated[
    list[str] | None,
    typer.Option(
        help="What a group publishes: mean, geometric_mean, median, lower_median, trimmed_mean, convex_median, "
        "mode or medoid; "
        "for one attribute, age=median.",
        metavar="[A=]HOW",
    ),
]
Trim = Annotated[
    str | None,
    typer.Option(help="With trimmed_mean: how many records to leave out at each end of a group.", metavar="N"),
]
RestoreVariance = Annotated[
    bool | None,
    typer.Option("--restore-variance", help="Rescale so that each attribute keeps its variance.", show_default=False),
]
Preserve = Annotated[
    str | None, typer.Option(help="With weights: weighted_mean keeps the weighted total of every group.")
]
MaskQuasi = Annotated[
    bool | None,
    typer.Option("--mask-quasi", help="With hybrid: microaggregate the quasi-identifiers too.", show_default=False),
]
Alpha = Annotated[
    list[str] | None,
    typer.Option(
        help="With ms: how much of a record stays its own, from 0 to less than 1; for one attribute, income=0.3.",
        metavar="[A=]X",
    ),
]
Constraint = Annotated[
    list[str] | None,
    typer.Option(
        help="With hybrid and ms: what values must be, as in income=non-negative or children=non-negative,integer.",
        metavar="A=RULE",
    ),
]
Epsilon = Annotated[
    str | None,
    typer.Option(
        help="Differential privacy: how much may be learned of one record, such as 1. Every attribute gets noise and "
        "needs --bounds; rows are not in their order.",
        metavar="X",
    ),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        help="With --epsilon: the least and largest value of an attribute, as in age=0,120; not from the data.",
        metavar="A=LOW,HIGH",
    ),
]
Seed = Annotated[
    str | None,
    typer.Option(
        help="Start of the random numbers of hybrid and ms, to be kept secret; fresh if left out.", metavar="N"
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(help="How long best may search, such as 60s; or a number of steps, to repeat it.", metavar="TIME"),
]
Refine = Annotated[
    str | None,
    typer.Option(help="Refine the groups of the method: true, or for so many seconds.", metavar="true|SECONDS"),
]
Bound = Annotated[
    bool | None,
    typer.Option("--bound", help="Prove how far from the optimum the groups are at most.", show_default=False),
]
OnInterrupt = Annotated[
    str, typer.Option(help="On Ctrl-C, stop, or keep the best groups so far and go on: stop or keep.")
]
Edits = Annotated[
    str | None,
    typer.Option(help="A file of rules that the data obeys: Schematron, or plain text, a rule a line.", metavar="FILE"),
]
Edit = Annotated[
    list[str] | None,
    typer.Option(
        help="A rule, such as 'wages + other == costs' or 'if age < 16 then income == 0'; once for each.",
        metavar="RULE",
    ),
]
EditsOriginal = Annotated[
    str | None, typer.Option(help="Original records that break a rule: fail, keep or exclude them.")
]
Recompute = Annotated[
    list[str] | None, typer.Option(help="Attributes computed anew from the others of a rule.", metavar="A,B,...")
]
Adjust = Annotated[
    list[str] | None, typer.Option(help="Attributes that may give way so that a sum holds.", metavar="A,B,...")
]
Report = Annotated[
    str | None, typer.Option(help="Write a report too: an HTML file, to be read offline or printed.", metavar="FILE")
]
FILES = ".csv, .parquet, .arrow, .sav, .zsav, .por, .dta, .xpt, .sas7bdat, .xlsx, .xml"


def names(given: list[str] | None) -> list[str] | None:
    """Split at commas: `--quasi a,b --quasi c` names three attributes; a name by itself is taken to the letter."""
    if given is None:
        return None
    split = [[part] if "," not in part else [name.strip() for name in part.split(",")] for part in given]
    return [name for parts in split for name in parts if name]


def edits_of(file: str | None, rules: list[str] | None) -> str | list[str] | None:
    """Take rules from a file, or one by one."""
    if file is not None and rules is not None:
        raise PlanError([("edits", "are given by --edits or --edit, not both")])
    return rules if file is None else file


def blocks_of(given: list[str] | None, word: str | None) -> list[list[str] | None] | str | None:
    """Put blocks given by hand, or the word that has them chosen, into the plan's form."""
    if given is not None and word is not None:
        raise PlanError([("blocks", "are given by --block or chosen by --blocks, not both")])
    return word if given is None else [names([block]) for block in given]


def given(**options: Any) -> dict[str, Any]:
    """Keep the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def pairs(option: str, given: list[str] | None) -> dict[str, str] | None:
    """Take `--type a=ordinal --type b=nominal` apart; a name may hold an equals sign, what it is given may not."""
    if given is None:
        return None
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.rpartition("=")
        if not equals or not name or not value:
            raise PlanError([(option, "must be given as NAME=VALUE, once for each attribute")])
        if name in found:
            raise PlanError([(option, f"is given twice for '{name}'")])
        found[name] = value
    return found


def lists(option: str, given: list[str] | None) -> dict[str, list[str]] | None:
    """Take `--levels size=S,M,L` apart."""
    texts = pairs(option, given)
    if texts is None:
        return None
    return {name: [part.strip() for part in text.split(",")] for name, text in texts.items()}


def one_or_pairs(option: str, given: list[str] | None) -> str | dict[str, str] | None:
    """Take a word for all attributes, or one for each of some."""
    if given is None or (len(given) == 1 and "=" not in given[0]):
        return None if given is None else given[0]
    return pairs(option, given)


def csv_of(
    delimiter: str | None, quote: str | None, decimal: str | None, encoding: str | None, missing: list[str] | None
) -> dict[str, Any] | None:
    """Put together what was said of a CSV file."""
    return given(delimiter=delimiter, quote=quote, decimal=decimal, encoding=encoding, missing=missing) or None
