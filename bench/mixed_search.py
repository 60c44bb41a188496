"""What the search gains over MDAV where attributes are of every type, values are missing, or l and t limit groups.

    python -m bench.mixed_search --tables FOLDER            # k = 3, 5, 10; 5 % of the cells missing; l = 3, t = 0.15
    python -m bench.mixed_search --tables FOLDER --k 5 --only Males --steps 300
    python -m bench.mixed_search --tables FOLDER --seconds 10      # on an idle machine

FOLDER has testdata.csv of sdcMicro and, as CSV files, the tables of `TABLES` that the package pydataset holds
(``pydataset.data("Males").to_csv("Males.csv")``); what is absent is left out. The survey is that of the demonstration.
Every row gives the SSE of a release, as it reports it, as a share of that of MDAV with the same settings, and the
processor time of both.
"""

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal
from shoal import datasets


class Mixed(NamedTuple):
    """The attributes of a table that are masked, by their types, and one that is confidential."""

    numbers: list[str]
    nominal: list[str]
    ordinal: dict[str, list[str]]
    confidential: str | None = None


TABLES = {
    "testdata": Mixed(["age", "income", "expend", "savings"], ["sex", "roof", "water", "relat"], {}),
    "Males": Mixed(
        ["school", "exper", "wage"],
        ["union", "ethn", "married", "health", "industry", "occupation", "residence"],
        {},
    ),
    "MedExp": Mixed(
        ["med", "linc", "ndisease", "age", "educdec"], ["idp", "physlim", "sex", "child", "black"], {}, "health"
    ),
    "OFP": Mixed(
        ["ofp", "ofnp", "numchron", "age", "school", "faminc"],
        ["black", "sex", "maried", "employed", "privins", "medicaid", "region"],
        {"hlth": ["poor", "other", "excellent"]},
    ),
    "Star": Mixed(["tmathssk", "treadssk", "totexpk"], ["classk", "sex", "freelunk", "race"], {}),
    "Workinghours": Mixed(["hours", "income", "age", "education", "unemp"], ["occupation", "owned", "nonwhite"], {}),
}


def load(folder: Path, name: str) -> tuple[pa.Table, dict[str, Any]]:
    """Load a table, and the options that name the roles and types of its attributes."""
    if name == "survey":
        table = datasets.survey().select([*datasets.QUASI, "rate_marriage"])
        return table, {"quasi": datasets.QUASI, "types": datasets.TYPES, "confidential": ["rate_marriage"]}
    mixed = TABLES[name]
    quasi = [*mixed.numbers, *mixed.nominal, *mixed.ordinal]
    nulls = pa.csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    table = pa.csv.read_csv(folder / f"{name}.csv", convert_options=nulls)
    table = table.select([*quasi, *([mixed.confidential] if mixed.confidential else [])])
    types = dict.fromkeys(mixed.numbers, "continuous") | dict.fromkeys(mixed.nominal, "nominal")
    options = {"quasi": quasi, "types": types | dict.fromkeys(mixed.ordinal, "ordinal"), "levels": mixed.ordinal}
    return table, options | ({"confidential": [mixed.confidential]} if mixed.confidential else {})


def with_gaps(table: pa.Table, quasi: list[str], share: float) -> pa.Table:
    """Take out a share of the cells."""
    rng = np.random.default_rng(0)
    for name in quasi:
        gone = pa.array(rng.random(len(table)) < share)
        column = pa.compute.if_else(gone, None, table.column(name))
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def released(table: pa.Table, k: int, options: dict[str, Any]) -> tuple[float, float]:
    """Return the SSE that a release reports, and its processor time."""
    start = time.process_time()
    release = shoal.protect(table, k=k, missing="group", seed=0, **options)
    return release.loss()["SSE"], time.process_time() - start


def row(name: str, what: str, table: pa.Table, k: int, options: dict[str, Any], budget: int | str) -> None:
    """Print one row of the table in docs/quality.md; a budget in steps is that of a record."""
    whole = budget if isinstance(budget, str) else budget * len(table)
    before, took = released(table, k, {**options, "method": "mdav"})
    after, search = released(table, k, {**options, "method": "best", "budget": whole})
    print(f"| {name} | {len(table):,} | {what} | {k} | {before:.1f} | {after:.1f} | {after / before:.3f} | ", end="")
    print(f"{took:.1f} / {search:.1f} |", flush=True)


def main() -> None:
    """Print a row a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=Path(), help="the folder with the tables")
    parser.add_argument("--only", nargs="+", default=["survey", *TABLES], help="names of tables")
    parser.add_argument("--k", type=int, nargs="+", default=[3, 5, 10], help="group sizes")
    parser.add_argument("--steps", type=int, default=600, help="of the search, a record")
    parser.add_argument("--seconds", type=float, help="of the search, in place of steps")
    parser.add_argument("--what", nargs="+", default=["plain", "gaps", "limits"], help="plain, gaps, limits")
    options = parser.parse_args()
    budget = options.steps if options.seconds is None else f"{options.seconds:g}s"
    print("| table | records | | k | SSE of MDAV | SSE of best | ratio | processor s |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.only:
        if name != "survey" and not (options.tables / f"{name}.csv").exists():
            continue
        table, roles = load(options.tables, name)
        gaps = with_gaps(table, roles["quasi"], 0.05)
        for k in options.k:
            if "plain" in options.what:
                row(name, "as it is", table, k, roles, budget)
            if "gaps" in options.what:
                row(name, "5 % missing", gaps, k, roles, budget)
        if "limits" in options.what and "confidential" in roles:
            for limits in ({"l": 3}, {"t": 0.15}, {"l": 3, "t": 0.15}):
                asked = ", ".join(f"{letter} = {value}" for letter, value in limits.items())
                row(name, asked, table, 5, roles | limits, budget)


if __name__ == "__main__":
    main()
