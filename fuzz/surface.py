"""The public functions and the command line with options of any value: nothing but Shoal's own errors comes out."""

import contextlib
import io
import math
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

import shoal
from fuzz.draws import Draws
from fuzz.oracle import FOLDER, Finding
from fuzz.releases import _table
from fuzz.valid import case_of
from shoal.cli import main
from shoal.errors import CheckFailed, ShoalError
from shoal.plan import Csv, Plan, Scale

_TEXTS = [
    "a",
    "b",
    "zz",
    "",
    " ",
    "x",
    "y",
    "town",
    "a,b",
    "mean",
    "best",
    "mdav",
    "group",
    "é\0",
    "k",
    "1e999",
    "=1",
    "-1",
]
_NUMBERS: list[Any] = [0, 1, 2, 3, -1, 2**63, 10**30, 0.5, 2.7, -0.0, math.nan, math.inf, 1e-320, True, False]
_OTHERS: list[Any] = [
    None,
    b"a",
    [],
    {},
    (),
    {1},
    3j,
    object(),
    np.float64(2),
    np.int64(3),
    np.array([2, 3]),
    Path("a"),
]
_NAMES = [*Plan.model_fields]
_CHOICES: dict[str, list[Any]] = {
    "method": ["mdav", "best", "auto", "hybrid", "ms", "mic1d", "insensitive", "univariate"],
    "missing": ["group", "impute", "suppress", "error"],
    "edits": [["a <= b"], ["a + b == c"], ["x >= 0"], ["nonsense ("], ["a == 'b'"], ["if a > 1 then b > 1"]],
    "k": [2, 3, 2, 3, "2"],
    "budget": [10, "0s", "-1s", "x"],  # not a time that is waited for
    "refine": [0.01, False],
    "engine": ["memory", "memory", "file"],
    "input": [None],
    "output": [None],
}
_FOUR = ["a", "b", "c", "d"]


def functions(data: bytes) -> None:
    """Call a public function with a random table and random options, most of which do not hold together."""
    draws = Draws(data)
    name = draws.pick([*_CALLS])
    table = case_of(draws).table if draws.chance(2) else _table(draws)
    _only_own_errors(name, lambda: _CALLS[name](draws, table))


def command(data: bytes) -> None:
    """Run a command on a random file with random options."""
    draws = Draws(data)
    table = case_of(draws).table if draws.chance(2) else _table(draws)
    path, other = FOLDER / "table.csv", FOLDER / "other.csv"
    with contextlib.suppress(pa.ArrowException):
        pa.csv.write_csv(table, path)
        pa.csv.write_csv(table, other)
    words = _words(draws, str(path), str(other))
    code, said = _run(words)
    for left in FOLDER.iterdir():
        left.unlink()
    if code not in (0, 1, 2):
        raise Finding(f"exit code {code} of {words}")
    if "Traceback" in said or "Unexpected" in said:
        raise Finding(f"{words}: {said[-400:]}")
    for line in said.splitlines():
        told = line.removeprefix("error: ")
        if line.startswith("error: ") and len(re.findall(r"[.?!:](?= [A-Z][a-z])", told)) > 1:
            raise Finding(f"more than two sentences: {told}")


def _run(words: list[str]) -> tuple[Any, str]:
    """Run the command in this process."""
    before, shown, said = sys.argv, io.StringIO(), io.StringIO()
    sys.argv = ["shoal", *words]
    try:
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
            main()
    except SystemExit as ended:
        return ended.code or 0, said.getvalue()
    finally:
        sys.argv = before
    return 0, said.getvalue()


def _words(draws: Draws, path: str, other: str) -> list[str]:
    command = draws.pick(["protect", "check", "assess", "sweep", "risk", "roles", "edits", "protect", "nothing"])
    words = [command, *([path] if not draws.chance(20) else []), *([other] if command == "assess" else [])]
    if command == "protect" and not draws.chance(8):
        words += ["-o", str(FOLDER / draws.pick(["out.csv", "out.parquet", "out.xlsx", "out.zip", "no/out.csv"]))]
    if command != "roles" and not draws.chance(6):
        words += ["-k", draws.pick(["2", "3", "1", "x", "2-4"])] if command != "risk" else ["--keys", "a,b"]
    for _ in range(draws.integer(0, 5)):
        field = draws.pick([name for name in _NAMES if name not in ("input", "output", "engine", "budget", "refine")])
        spelled = f"--{field.replace('_', '-')}"
        words.append(spelled)
        if not draws.chance(4):
            words.append(_word(draws, field))
    if draws.chance(4):
        words.append("--publish-rest")
    return words


def _word(draws: Draws, field: str) -> str:
    if field in _CHOICES and draws.chance(2):
        return str(draws.pick(_CHOICES[field]))
    return draws.pick([*_TEXTS, "a=b", "a=1,2", "a,b", "x,y", "0.5", "3", "a=nominal", "1,60"]).replace("\0", "")


def _only_own_errors(name: str, call: Callable[[], Any]) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except (ShoalError, CheckFailed) as error:
        if not str(error).strip() or " at 0x" in str(error) or "pydantic" in str(error):
            raise Finding(f"{name}: an error without a sentence: {error}") from error
    except (Exception, pa.ArrowException) as error:
        raise Finding(f"{name}: {type(error).__name__}: {error}") from error


def _value(draws: Draws, field: str = "") -> Any:
    if field in _CHOICES and not (draws.chance(3) and field not in ("budget", "refine", "input", "output", "engine")):
        return draws.pick(_CHOICES[field])
    kind = draws.integer(0, 7)
    if kind == 0:
        return draws.pick(_OTHERS)
    if kind == 1:
        return [_value(draws) for _ in range(draws.integer(0, 2))]
    if kind == 2:
        return {draws.pick(_FOUR): _value(draws)}
    if kind < 5:
        return draws.pick(_NUMBERS)
    return draws.pick([*_TEXTS, *_FOUR, ["a"], ["a", "b"], ["x", "y"], ["c"]])


def _options(draws: Draws, names: list[str], most: int = 4) -> dict[str, Any]:
    chosen = {draws.pick(names) for _ in range(draws.integer(0, most))}
    return {name: _value(draws, name) for name in sorted(chosen)}


def _asked(draws: Draws) -> dict[str, Any]:
    """Ask for something that might hold, with a few odd options beside it."""
    plan: dict[str, Any] = {"k": 2, "publish": "rest"} if not draws.chance(5) else {}
    if not draws.chance(3):
        plan["quasi"] = draws.pick([["a"], ["a", "b"], ["x", "y"], ["x", "town"], ["c", "d"]])
    plan |= _options(draws, _NAMES)
    if draws.chance(6):
        plan[draws.pick(["csv", "scale"])] = _options(draws, [*Csv.model_fields, *Scale.model_fields], 3)
    if plan.get("method") in ("best", "auto") or plan.get("bound") or plan.get("refine"):
        plan["budget"] = 10
    return plan


def _protect(draws: Draws, table: pa.Table) -> None:
    release = shoal.protect(table, **_asked(draws))
    release.summary()
    if draws.chance(3):
        release.save(
            FOLDER / draws.pick(["out.csv", "out.parquet", "out.xlsx", "out.xml", "out.sav", "out.dta", "out"])
        )
        for path in FOLDER.iterdir():
            path.unlink()


def _frame(draws: Draws, table: pa.Table) -> Any:
    return table.to_pandas() if draws.chance(2) else table


_CHECK = ["k", "quasi", "edits", "csv", "against", "key", "confidential", "levels", "unit", "sheet", "original"]
_ASSESS = [
    "quasi",
    "confidential",
    "key",
    "weights",
    "edits",
    "levels",
    "types",
    "seed",
    "unit",
    "p_percent",
    "dominance",
]
_RISK = ["keys", "weights", "household", "fraction", "suda2", "population", "levels", "missing_codes"]


def _known(function: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the function has no parameter for, which Python itself refuses."""
    import inspect

    return {name: value for name, value in options.items() if name in inspect.signature(function).parameters}


def _partition(draws: Draws, table: pa.Table) -> None:
    numbers = [name for name in table.column_names if pa.types.is_floating(table.schema.field(name).type)]
    X = np.column_stack([table[name].to_numpy() for name in numbers]) if numbers else _value(draws)
    method = _value(draws, "method")
    slow = isinstance(method, str) and method == "best"
    shoal.partition(X, k=draws.pick([2, 3, _value(draws)]), method="mdav" if slow else method)


_CALLS: dict[str, Callable[[Draws, pa.Table], Any]] = {
    "protect": _protect,
    "plan": lambda draws, table: shoal.Plan(**_asked(draws)),
    "protect a dataframe": lambda draws, table: _protect(draws, _frame(draws, table)),
    "protect anything": lambda draws, table: shoal.protect(_value(draws), **_asked(draws)),
    "check": lambda draws, table: shoal.check(
        _frame(draws, table), **_known(shoal.check, {"k": 2, **_options(draws, _CHECK)})
    ),
    "assess": lambda draws, table: shoal.assess(
        table, _frame(draws, table), **_known(shoal.assess, _options(draws, _ASSESS))
    ),
    "sweep": lambda draws, table: shoal.sweep(
        table, **{"k": draws.pick([[2, 3], 2, _value(draws)]), **{n: v for n, v in _asked(draws).items() if n != "k"}}
    ),
    "risk": lambda draws, table: shoal.risk(
        _frame(draws, table), **_known(shoal.risk, {"keys": ["a", "b"], **_options(draws, _RISK)})
    ),
    "roles": lambda draws, table: shoal.roles(_frame(draws, table)),
    "rules": lambda draws, table: shoal.rules(table, _value(draws, "edits"), **_options(draws, ["quasi", "types"])),
    "partition": _partition,
}
