"""Tables and plans that hold together: most of them are carried out, over all options of a plan."""

import datetime as dt
from typing import Any, NamedTuple

import pyarrow as pa

from fuzz.draws import Draws
from fuzz.releases import AGGREGATES

METHODS = ["mdav", "mdav", "vmdav", "pca", "zscores", "tour", "npn-mhm", "mdav-mhm", "cbfs-mhm", "univariate", "best"]
METHODS += ["auto"]
_LEVELS = ["low", "middle", "high", "top"]
# Attributes that may be masked, by type.
NUMBERS = ["x", "y", "z", "n"]
OTHERS = ["town", "size", "day", "flag"]
RULES = {"x <= s": ("x", "s"), "x >= 0": ("x",), "x + y == s": ("x", "y", "s"), "n >= 0": ("n",)}


class Case(NamedTuple):
    """A table and what is asked for."""

    table: pa.Table
    plan: dict[str, Any]


def case_of(draws: Draws) -> Case:
    """Draw a table and a plan for it."""
    k = draws.pick([2, 3, 2, 4, 5])
    table = _table(draws, k)
    return Case(table, _plan(draws, k))


def _table(draws: Draws, k: int) -> pa.Table:
    """Make a table of one to ten groups of k; x + y = s always, and units have one to three records."""
    n = draws.integer(k, 10 * k)
    spread = draws.pick([5, 30, 200, 2])
    x, y = ([draws.integer(0, spread) / draws.pick([1, 2, 4]) for _ in range(n)] for _ in range(2))
    columns: dict[str, Any] = {
        "row": pa.array(_shuffled(draws, n)),
        "id": pa.array([f"person {i}" for i in range(n)]),
        "x": pa.array(_gaps(draws, x), pa.float64()),
        "y": pa.array(y, draws.pick([pa.float64(), pa.float64(), pa.float32()])),
        "s": pa.array([a + b for a, b in zip(x, y, strict=True)], pa.float64()),
        "z": pa.array(_gaps(draws, [(draws.integer(0, 400) - 200) ** 3 / 8 for _ in range(n)]), pa.float64()),
        "n": pa.array([draws.integer(0, 12) for _ in range(n)], draws.pick([pa.int64(), pa.int8(), pa.uint16()])),
        "town": _texts(draws, [draws.pick(["a", "b", "c", "d", "e"]) for _ in range(n)]),
        "size": _texts(draws, [draws.pick(_LEVELS) for _ in range(n)]),
        "day": pa.array([dt.date(2020, 1, 1) + dt.timedelta(draws.integer(0, 90)) for _ in range(n)]),
        "flag": pa.array([draws.chance(2) for _ in range(n)]),
        "ill": pa.array([draws.pick(["flu", "none", "cold", "flu", "pox"]) for _ in range(n)]),
        "wage": pa.array([float(draws.integer(0, 50)) for _ in range(n)]),
        "w": pa.array([draws.integer(1, 40) / 4 for _ in range(n)]),
        "region": pa.array([draws.pick(["N", "N", "S"]) for _ in range(n)]),
        "firm": pa.array(_units(draws, n)),
        "home": pa.array(_units(draws, n)),
    }
    return pa.table(columns)


def _shuffled(draws: Draws, n: int) -> list[int]:
    rows = [*range(n)]
    for i in range(n - 1, 0, -1):
        j = draws.integer(0, i)
        rows[i], rows[j] = rows[j], rows[i]
    return rows


def _gaps(draws: Draws, values: list[Any]) -> list[Any]:
    return [None if draws.chance(6) else value for value in values] if draws.chance(4) else values


def _texts(draws: Draws, values: list[Any]) -> Any:
    column = pa.array(_gaps(draws, values), pa.string())
    return column.dictionary_encode() if draws.chance(4) else column


def _units(draws: Draws, n: int) -> list[str]:
    names: list[str] = []
    while len(names) < n:
        names += [f"u{len(names)}"] * (1 + draws.integer(0, 2))
    return names[:n]


def _plan(draws: Draws, k: int) -> dict[str, Any]:
    quasi = _some(draws, NUMBERS, 3) + _some(draws, OTHERS, 2)
    quasi = quasi or ["x", "y"]
    plan: dict[str, Any] = {"k": k, "quasi": quasi, "method": draws.pick(METHODS), "publish": "rest"}
    plan["identifiers"] = ["id"]
    plan["types"] = {"size": "ordinal"} if "size" in quasi else {}
    plan["levels"] = {"size": _LEVELS} if "size" in quasi and draws.chance(2) else {}
    if "size" in quasi and not plan["levels"]:
        plan["types"] = {}
    if any(name in quasi for name in ("x", "z", "town", "size")):
        plan["missing"] = draws.pick(["group", "suppress", "impute", "group", "error"])
    confidential = _some(draws, ["ill", "wage"], 1)
    if confidential:
        plan["confidential"] = confidential
        _protect_secrets(draws, plan)
    _method_options(draws, plan, quasi)
    _roles(draws, plan, quasi)
    _rules(draws, plan)
    _masking(draws, plan, quasi)
    if draws.chance(5):
        plan["scale"] = {"block_size": draws.pick([2 * k, 4 * k, 8]), "seams": draws.chance(2)}
        plan["scale"]["blocking"] = draws.pick(["kd", "kd", "2^d", "sorted", "interval"])
        if plan["scale"]["blocking"] in ("sorted", "interval"):
            plan["scale"]["dimensions"] = [quasi[0]]
    if draws.chance(12):
        _without_groups(draws, plan, quasi)
    return plan


def _some(draws: Draws, names: list[str], most: int) -> list[str]:
    return [name for name in names if draws.chance(2)][:most]


def _protect_secrets(draws: Draws, plan: dict[str, Any]) -> None:
    if draws.chance(3):
        plan["l"] = draws.pick([2, 2, 3, 1.5])
        plan["l_form"] = draws.pick(["distinct", "distinct", "entropy", "recursive"])
        plan["l"] = plan["l"] if plan["l_form"] == "entropy" else max(2, int(plan["l"]))
        if plan["l_form"] == "recursive":
            plan["c"] = draws.pick([2.0, 3.0, 1.5])
    if draws.chance(4):
        plan["t"] = draws.pick([0.5, 0.3, 0.8, 1.0])


def _method_options(draws: Draws, plan: dict[str, Any], quasi: list[str]) -> None:
    method = plan["method"]
    if method == "best":
        plan["budget"] = draws.pick([200, 20])
    elif draws.chance(8):
        plan["refine"], plan["budget"] = True, 50
    if method == "vmdav" and draws.chance(2):
        plan["gain"] = draws.pick([0.0, 0.2, 1.1])
    if method == "tour" and draws.chance(2):
        plan["tour"] = draws.pick(["refined", "savings"])
    if draws.chance(4):
        plan["standardize"] = draws.pick(["minmax", "none", "zscore"])
    if draws.chance(8):
        plan["distance"] = draws.pick(["balanced", "mdav-generic"])
    if draws.chance(6):
        plan["attribute_weights"] = {quasi[0]: draws.pick([2.0, 0.5])}
    if draws.chance(6) and len(quasi) > 1:
        plan["blocks"] = [quasi[:1], quasi[1:]]
    elif draws.chance(10):
        plan["blocks"], plan["block_size"] = draws.pick(["correlated", "uncorrelated"]), draws.pick([1, 2, 3])
    if draws.chance(20):
        plan["bound"] = True


def _roles(draws: Draws, plan: dict[str, Any], quasi: list[str]) -> None:
    if draws.chance(5):
        plan["strata"] = ["region"]
        plan["small_strata"] = draws.pick(["merge", "suppress", "error"])
    if draws.chance(5):
        plan["weights"] = "w"
        if draws.chance(2):
            plan["preserve"] = "weighted_mean"
    if draws.chance(5):
        plan["unit"] = "firm"
        if draws.chance(3):
            plan["unit_as"] = "pseudonym"
    elif draws.chance(8):
        plan["household"] = "home"
        plan["household_as"] = draws.pick(["drop", "pseudonym"])


def _rules(draws: Draws, plan: dict[str, Any]) -> None:
    if draws.chance(6):
        plan["edits"] = [draws.pick(list(RULES))]
        plan["edits_original"] = draws.pick(["keep", "exclude", "fail"])
        if plan["edits"] == ["x + y == s"] and draws.chance(2):
            plan[draws.pick(["recompute", "adjust"])] = ["s"]


def _masking(draws: Draws, plan: dict[str, Any], quasi: list[str]) -> None:
    if draws.chance(4):
        plan["aggregate"] = draws.pick([*AGGREGATES, "order_statistic"])
        if plan["aggregate"] == "trimmed_mean" and draws.chance(2):
            plan["trim"] = 1
        if plan["aggregate"] == "order_statistic" and draws.chance(2):
            plan["rank"] = draws.pick([1, 2, 0.5, 1.0])
    if draws.chance(4):
        plan["round"] = draws.chance(2)
    if draws.chance(8):
        plan["restore_variance"] = True
    if draws.chance(10):
        plan["only"] = "at_risk"
    if draws.chance(10):
        plan["keep_totals"] = ["region"]
    if draws.chance(8):
        plan[draws.pick(["p_percent", "dominance"])] = draws.pick([10, 20])
        if "dominance" in plan:
            plan["dominance"] = draws.pick([[1, 60], [2, 90], [1, 90]])
        plan["magnitudes"] = [name for name in quasi if name in ("x", "y", "n")] or ["wage"]
    if draws.chance(10):
        plan["missing_codes"] = {"n": [0, 7]}


def _without_groups(draws: Draws, plan: dict[str, Any], quasi: list[str]) -> None:
    """Ask for hybrid data, Mic1D or differential privacy, with what goes with them."""
    method = draws.pick(["hybrid", "ms", "mic1d", "insensitive"])
    kept = {name: plan[name] for name in ("k", "identifiers", "publish", "quasi")}
    plan.clear()
    plan.update(kept, method=method, quasi=["y", "n"])
    if method in ("hybrid", "ms"):
        plan.update(confidential=["wage"], seed=draws.byte(), mask_quasi=draws.chance(2) and method == "hybrid")
    if method == "ms":
        plan.pop("k")
        plan.update(alpha=draws.pick([0.0, 0.5, 0.9]))
    if method == "mic1d":
        plan.update(allow_unchanged=True)
    if method == "insensitive":
        plan.update(epsilon=draws.pick([0.5, 1.0, 10.0]), bounds={"y": [0, 200], "n": [0, 12]})
        plan.update(types={"y": "continuous", "n": "continuous"}, publish=["region"])
        plan["identifiers"] = [name for name in _ALL if name not in ("y", "n", "region")]


_ALL = [
    "row",
    "id",
    "x",
    "y",
    "s",
    "z",
    "n",
    "town",
    "size",
    "day",
    "flag",
    "ill",
    "wage",
    "w",
    "region",
    "firm",
    "home",
]


def without_refused(plan: dict[str, Any], fields: list[str]) -> dict[str, Any] | None:
    """Return a plan without what was refused; None if nothing is left to leave out."""
    left = {name: dict(value) if isinstance(value, dict) else value for name, value in plan.items()}
    for field in fields:
        name, _, part = field.partition(".")
        if part and part in left.get(name, {}):
            del left[name][part]
        elif name == "method" and left.get("method") not in ("best", "mdav"):
            left["method"] = "mdav"
        elif name in left and name not in ("k", "quasi", "method"):
            del left[name]
    return None if left == plan else left
