"""Edits: what the rules of Torra, Cano and Navarro-Arribas cost and save on Census, and rules on a million records.

    python -m bench.edits                                   # everything below
    python -m bench.edits --only scale --n 100000           # or some of it: score violations loss scale
    python -m bench.edits --only score --csv all.csv --plot scatter.svg       # every k from 1 to 99
    python -m bench.edits --example folder                  # writes census.csv and its rules in both languages

score: section 5 of the paper. S1 keeps the edits, the attributes of each in a block of their own and the others in
threes; S2 keeps none, all attributes in threes. `one block` is what shoal does if no blocks are asked for. PIL is the
probabilistic information loss, DR the mean of DBRL (records that an intruder links by distance) and ID (values within
an interval of ranks), the score the mean of PIL and DR; k = 1 is the file as it is. Where the paper is silent:

- The blocks of three are those in the order of the file. The attributes that no edit ties are V2, V4, V6 and V7, V11.
- What the intruder knows: DBRL is printed for all 16 attributes, and as the mean over the attribute blocks, of which
  the intruder knows one.
- How intervals are made: of ranks, or of standard deviations (see `shoal.measures`).

violations: records that break a rule, counted by shoal and by lxml.isoschematron in the XML file that is written.
loss: IL with edits as a multiple of that without.
scale: 20 rules on synthetic firms. Processor time of the whole run, reading and writing Parquet included, and the part
that rules take in it; memory is the peak of a process of its own (about 250 MiB of it are Python and its libraries).
"""

import argparse
import csv
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from bench.samples import DATA, census_with_edits
from bench.scatter import Series, scatter
from lxml import etree, isoschematron

import shoal
from shoal import measures
from shoal.edits.evaluate import Records, each_broken, near
from shoal.edits.load import read_rules
from shoal.edits.passes import Edits

WHAT = ["score", "violations", "loss", "scale"]
FEW = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 99]

# The rules of figures 1 to 5. The last needs XPath 2.0, which lxml has not.
TESTS = {
    "EC-LC": "number(V9) + number(V10) = number(V14)",
    "EC-NLC": "number(V5) * number(V15) = number(V16)",
    "EC-PV": "0 &lt;= number(V3) and number(V3) &lt;= 7500",
    "EC-GV": "not(number(V8) &lt; 1115) or number(V13) &lt;= number(V12)",
    "domain": "exists(index-of(document('census.xml')//Record/V1, V1))",
}
PLAIN = {
    "EC-LC": "V9 + V10 == V14",
    "EC-NLC": "V5 * V15 == V16",
    "EC-PV": "0 <= V3 <= 7500",
    "EC-GV": "if V8 < 1115 then V13 <= V12",
    "domain": "V1 in original",
}

TIED = [["V9", "V10", "V14"], ["V5", "V15", "V16"], ["V3"], ["V8", "V12", "V13"], ["V1"]]
THREES = [[f"V{j}" for j in range(i, min(i + 3, 17))] for i in range(1, 17, 3)]
PUBLISHED = {"S1": (37.223, 10), "S2": (34.531, 6)}


@dataclass(frozen=True)
class Scenario:
    """How Census is masked: with edits or not, in which attribute blocks."""

    edits: bool
    blocks: list[list[str]] | None = None


SCENARIOS = {
    "S1": Scenario(True, [*TIED, ["V2", "V4", "V6"], ["V7", "V11"]]),
    "S2": Scenario(False, THREES),
    "one block, edits": Scenario(True),
    "one block": Scenario(False),
}


def schematron(names: Sequence[str]) -> str:
    """Write some of the paper's rules as ISO Schematron."""
    patterns = (
        f'  <pattern id="{name}"><rule context="Record"><assert test="{TESTS[name]}"/></rule></pattern>\n'
        for name in names
    )
    return f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">\n{"".join(patterns)}</schema>\n'


def write_example(folder: Path) -> None:
    """Write Census with V14, V15 and V16, and the paper's rules in both languages."""
    folder.mkdir(parents=True, exist_ok=True)
    pyarrow.csv.write_csv(census_with_edits(DATA / "census.csv"), folder / "census.csv")
    (folder / "rules.sch").write_text(schematron(list(TESTS)))
    (folder / "rules.txt").write_text("".join(f"{name}: {text}\n" for name, text in PLAIN.items()))


class Bench:
    """Census, its rules, and a validator that has nothing to do with shoal."""

    def __init__(self, folder: Path) -> None:
        write_example(folder)
        self.rules = folder / "rules.sch"
        self.census = pyarrow.csv.read_csv(folder / "census.csv")
        self._written = folder / "masked.xml"
        self._validator = isoschematron.Schematron(
            etree.fromstring(schematron(list(TESTS)[:4]).encode()), store_report=True
        )

    def masked(self, scenario: Scenario, k: int, rules: Any = None) -> shoal.Release:
        """Mask Census."""
        edits = rules or (self.rules if scenario.edits else None)
        return shoal.protect(self.census, k=k, method="mdav", blocks=scenario.blocks, edits=edits, round=False)

    def risks(self, scenario: Scenario, k: int) -> dict[str, float]:
        """Measure the loss and the risk of Census as it is (k = 1) or as it is masked."""
        X = _matrix(self.census)
        Y = X if k == 1 else _matrix(self.masked(scenario, k).table)
        blocks = [[int(name[1:]) - 1 for name in block] for block in scenario.blocks or [self.census.column_names]]
        found = {
            "PIL": measures.pil(X, Y)["PIL"] or 0.0,
            "DBRL": measures.distance_linkage(X, Y)["linked"],
            "DBRL, one block": float(np.mean([measures.distance_linkage(X, Y, each)["linked"] for each in blocks])),
            "ID": measures.interval_disclosure_rank(X, Y)["percent"],
            "ID, sd": measures.interval_disclosure_sd(X, Y)["percent"],
        }
        for name, linkage, interval in READINGS:
            found[f"DR{name}"] = (found[linkage] + found[interval]) / 2
            found[f"score{name}"] = (found["PIL"] + found[f"DR{name}"]) / 2
        return found

    def broken(self, release: shoal.Release) -> dict[str, int]:
        """Count the records that break each rule to the last bit, and by more than rounding, as shoal sees them."""
        masked, original = ({name: t[name] for name in t.column_names} for t in (release.table, self.census))
        records = Records(masked, original)
        found = {}
        for rule, wrong in each_broken(read_rules(self.rules), records):
            found[rule.name] = int(wrong.sum())
            found[f"{rule.name}, not by rounding"] = int((wrong & ~near(rule, records)).sum())
        return found

    def refused(self, release: shoal.Release) -> dict[str, int]:
        """Count the records that lxml refuses for each of the first four rules, in the file that is written."""
        release.save(self._written, overwrite=True)
        self._validator.validate(etree.parse(self._written))
        failed = [each.get("test") for each in self._validator.validation_report.iterfind(".//{*}failed-assert")]
        return {name: failed.count(test.replace("&lt;", "<")) for name, test in list(TESTS.items())[:4]}


Scores = dict[str, dict[int, dict[str, float]]]  # scenario, k, measure
READINGS = [
    ("", "DBRL", "ID"),
    (", sd", "DBRL", "ID, sd"),
    (", one block", "DBRL, one block", "ID"),
    (", one block, sd", "DBRL, one block", "ID, sd"),
]


def _matrix(table: pa.Table) -> np.ndarray:
    return np.column_stack([column.to_numpy().astype(np.float64) for column in table.columns])


def print_scores(bench: Bench, file: Path | None, plot: Path | None) -> None:
    """Print PIL, DR and score of every scenario, and the minima beside those of the paper."""
    found = {name: {k: bench.risks(scenario, k) for k in range(1, 100)} for name, scenario in SCENARIOS.items()}
    for name, rows in found.items():
        blocks = SCENARIOS[name].blocks
        print(f"\n{name}: intruder knows all attributes{', or one block of them (1)' if blocks else ''}")
        columns = ["PIL", "DBRL", "ID", "DR", "score"]
        columns += ["DBRL, one block", "DR, one block", "score, one block"] if blocks else []
        print(f"{'k':>4}" + "".join(f"{column.replace(', one block', ' (1)'):>10}" for column in columns))
        for k in FEW:
            print(f"{k:4}" + "".join(f"{rows[k][column]:10.2f}" for column in columns))
    print("\nLeast score over k = 1..99, at k; in brackets its range over k = 4..10")
    for name, rows in found.items():
        paper = "   paper {:.3f} at {}".format(*PUBLISHED[name]) if name in PUBLISHED else ""
        print(f"{name}{paper}")
        for reading, linkage, interval in READINGS if SCENARIOS[name].blocks else READINGS[:2]:
            scores = {k: row[f"score{reading}"] for k, row in rows.items()}
            usual = [scores[k] for k in range(4, 11)]
            best = min(scores, key=lambda k: scores[k])
            print(
                f"    {linkage + ' and ' + interval:30}{scores[best]:8.3f} at {best:2}   ({min(usual):.2f} to "
                f"{max(usual):.2f})"
            )
    if file:
        _write_csv(found, file)
    if plot:
        plot.write_text("".join(scatter(_panels(found), ("PIL", "DR"), "dashed: score 50, that of the file as it is")))


def _write_csv(found: Scores, file: Path) -> None:
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["scenario", "k", *found["S1"][1]])
        for name, rows in found.items():
            for k, row in rows.items():
                writer.writerow([name, k, *(f"{value:.4f}" for value in row.values())])


def _panels(found: Scores) -> dict[str, list[Series]]:
    """Gather figures 6 and 7 of the paper: its blocks, and beside them one block of all attributes."""
    panels = {"with edits": ("S1", "one block, edits"), "without edits": ("S2", "one block")}
    styles = [("the paper's blocks", "#1f6fb4"), ("one block of all attributes", "#d9730d")]
    return {
        title: [
            Series(*style, {k: (row["PIL"], row["DR"]) for k, row in found[name].items()})
            for name, style in zip(names, styles, strict=True)
        ]
        for title, names in panels.items()
    }


def print_violations(bench: Bench) -> None:
    """Print the records that break each rule, without edits; with them there must be none, at any k."""
    for name in ("one block", "S2"):
        print(f"\n{name}, no edits: records that break each rule (in brackets: by more than rounding), and for lxml")
        print(f"{'k':>4}" + "".join(f"{rule:>14}{'' if rule == 'domain' else '   lxml'}" for rule in TESTS))
        for k in FEW[1:]:
            release = bench.masked(SCENARIOS[name], k)
            ours, lxml = bench.broken(release), bench.refused(release)
            cells = (
                f"{ours[rule]:6} ({ours[f'{rule}, not by rounding']:4}) " + (f"{lxml[rule]:7}" if rule in lxml else "")
                for rule in TESTS
            )
            print(f"{k:4}" + "".join(cells))
    for name in ("one block, edits", "S1"):
        found = {k: bench.masked(SCENARIOS[name], k) for k in range(2, 100)}
        ours = {k: sum(bench.broken(each).values()) for k, each in found.items()}
        refused = {k: sum(bench.refused(each).values()) for k, each in found.items()}
        print(f"\n{name}, k = 2..99: records that break a rule {sum(ours.values())}, that lxml refuses by k:")
        print(" ".join(f"{k}:{count}" for k, count in refused.items()))


def print_losses(bench: Bench) -> None:
    """Print what edits cost: IL with and without, and of each rule alone."""
    print("\nIL in percent without edits and with them, and the ratio")
    print(f"{'k':>4}{'one block':>27}{'blocks of S1':>27}")
    for k in range(3, 11):
        cells = []
        for blocks in (None, SCENARIOS["S1"].blocks):
            without, kept = (bench.masked(Scenario(edits, blocks), k).loss()["IL"] for edits in (False, True))
            cells.append(f"{without:10.3f}{kept:9.3f}{kept / without:8.3f}")
        print(f"{k:4}" + "".join(cells))
    print("\nRatio of IL with one rule alone, one block")
    print(f"{'k':>4}" + "".join(f"{rule:>10}" for rule in PLAIN))
    for k in (3, 5, 10):
        without = bench.masked(Scenario(False), k).loss()["IL"]
        alone = [bench.masked(Scenario(True), k, [text]).loss()["IL"] / without for text in PLAIN.values()]
        print(f"{k:4}" + "".join(f"{ratio:10.3f}" for ratio in alone))


def firms(n: int) -> pa.Table:
    """Draw firms whose figures obey twenty rules."""
    rng = np.random.default_rng(0)
    size = rng.lognormal(2, 1.2, n)
    employees = np.ceil(size)
    women = rng.binomial(employees.astype(np.int64), rng.beta(2, 2, n))
    wages = np.rint(employees * rng.lognormal(3, 0.3, n))
    social = np.rint(wages * rng.uniform(0.1, 0.4, n))
    materials = np.rint(size * rng.lognormal(3.5, 0.8, n))
    costs = wages + social + materials
    turnover = np.rint(costs * rng.lognormal(0.05, 0.15, n))
    profit = turnover - costs
    columns = {
        **{"employees": employees, "women": women, "men": employees - women, "wages": wages, "social": social},
        **{"staff": wages + social, "materials": materials, "costs": costs, "turnover": turnover, "profit": profit},
        **{"tax": np.maximum(profit, 0) // 4, "year": rng.integers(1950, 2024, n)},
    }
    return pa.table({name: column.astype(np.int64) for name, column in columns.items()})


FIRM_RULES = [
    *("women + men == employees", "wages + social == staff", "staff + materials == costs"),
    *("turnover - costs == profit", "costs <= 20 * turnover", "social <= wages", "staff <= costs", "tax <= turnover"),
    *("employees >= 1", "women >= 0", "men >= 0", "0 <= wages <= 10000000", "social >= 0", "materials >= 0"),
    *("turnover >= 0", "1900 <= year <= 2030", "year in original"),
    *("if profit < 0 then tax == 0", "if employees < 10 then turnover <= 1000000"),
    "if year < 1990 then women <= 100000",
]
# Where rules take time in a run: methods of `Edits`.
STEPS = {"evaluating": "broken", "splitting": "outcomes", "repairing": "repaired", "verifying": "disobeyed"}


def _timed(name: str, spent: list[float]) -> None:
    """Let a method note the processor time of each call."""
    method = getattr(Edits, name)

    def timed(*args: Any, **options: Any) -> Any:
        begin = time.process_time()
        found = method(*args, **options)
        spent.append(time.process_time() - begin)
        return found

    setattr(Edits, name, timed)


def run(case: tuple[int, int, bool]) -> dict[str, float]:
    """Mask firms in this process; return the processor time of the run and of each step, and the peak of memory."""
    n, k, edits = case
    spent: dict[str, list[float]] = {step: [] for step in STEPS}
    options: dict[str, Any] = {"method": "mdav", **({"edits": FIRM_RULES} if edits else {})}
    with tempfile.TemporaryDirectory() as folder:
        shoal.protect(firms(2_000), k=k, **options)  # load everything
        for step, name in STEPS.items():
            _timed(name, spent[step])
        source, target = Path(folder, "firms.parquet"), Path(folder, "masked.parquet")
        pa.parquet.write_table(firms(n), source)
        begin = time.process_time()
        shoal.protect(source, k=k, **options).save(target)
        run = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"run": run, "peak": peak, **{step: sum(times) for step, times in spent.items()}}


def print_scale(n: int, k: int) -> None:
    """Print which part of a run rules take."""
    print(f"\n{n:,} records of {firms(1).num_columns} attributes, k = {k}: seconds of processor time")
    print(
        f"{'':10}{'run':>8}"
        + "".join(f"{step:>12}" for step in STEPS)
        + f"{'evaluating, verifying':>24}{'all':>8}{'MiB':>8}"
    )
    for edits in (False, True):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            got = pool.map(run, [(n, k, edits)])[0]
        looking = (got["evaluating"] + got["verifying"]) / got["run"]
        share = sum(got[step] for step in STEPS) / got["run"]
        print(
            f"{f'{len(FIRM_RULES)} rules' if edits else 'no rules':10}{got['run']:8.2f}"
            + "".join(f"{got[step]:12.2f}" for step in STEPS)
            + f"{looking:24.1%}{share:8.1%}{got['peak']:8.0f}",
            flush=True,
        )


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=WHAT, choices=WHAT, help="what to print")
    parser.add_argument("--n", type=int, default=1_000_000, help="number of records for scale")
    parser.add_argument("--k", type=int, default=3, help="k for scale")
    parser.add_argument("--csv", type=Path, help="write every score to this file")
    parser.add_argument("--plot", type=Path, help="write a plot of PIL and DR to this file, as SVG")
    parser.add_argument("--example", type=Path, help="write the data and the rules to this folder, and print nothing")
    options = parser.parse_args()
    if (options.example or options.only != ["scale"]) and not (DATA / "census.csv").exists():
        parser.error("census.csv not found; SHOAL_DATA names its folder")
    if options.example:
        return write_example(options.example)
    if options.only != ["scale"]:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder))
            if "score" in options.only:
                print_scores(bench, options.csv, options.plot)
            if "violations" in options.only:
                print_violations(bench)
            if "loss" in options.only:
                print_losses(bench)
    if "scale" in options.only:
        print_scale(options.n, options.k)
    return None


if __name__ == "__main__":
    main()
