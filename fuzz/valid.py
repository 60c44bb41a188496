"""Tables and plans that hold together: most of them are carried out, over all options of a plan."""

from typing import Any, NamedTuple

import pyarrow as pa

from fuzz.columns import LEVELS, RULES, table_of
from fuzz.draws import Draws

_OF_ALL = ["mdav", "best", "auto"]
# Each of them for numbers and moments alone; some have options of their own.
_OF_NUMBERS = ["vmdav", "tour", "vmdav", "tour", "pca", "zscores", "npn-mhm", "mdav-mhm", "cbfs-mhm"]
NUMBERS = ["x", "y", "z", "n"]
MOMENTS = ["day", "hour"]
OTHERS = ["town", "size", "flag"]
_TYPES = {
    "town": "nominal",
    "size": "ordinal",
    "flag": "boolean",
    "day": "date",
    "hour": "datetime",
    "quarter": "nominal",
}
_AGGREGATES = {
    "continuous": ["median", "mean", "lower_median", "order_statistic", "trimmed_mean", "mode", "medoid"],
    "ordinal": ["median", "order_statistic", "convex_median", "mode", "medoid"],
    "nominal": ["mode", "medoid"],
}


class Case(NamedTuple):
    """A table, what is asked for, and where: `engine`, the kinds of the files, and options that are about these."""

    table: pa.Table
    plan: dict[str, Any]
    engine: str = "memory"
    source: str = ""
    ending: str = ""


def case_of(draws: Draws, engine: str | None = None) -> Case:
    """Draw a plan, and a table for it."""
    source = ending = ""
    if engine is None and draws.chance(4):
        source, ending = draws.pick(["parquet", "csv", "csv", "xlsx"]), draws.pick(["parquet", "csv", "arrow", "csv"])
        engine = "memory" if source == "xlsx" else draws.pick(["file", "file", "memory"])
    elif engine is None and draws.chance(8):
        source = draws.pick(["pandas", "polars"])
    elif engine is not None:
        source, ending = "parquet", "parquet"
    plan = _Plan(draws).drawn()
    least = {"ms": 100, "hybrid": 30}.get(plan["method"], plan.get("k", 0) * (4 if "keep_totals" in plan else 1))
    n = least + draws.integer(0, 9 * plan.get("k", 3))
    table = table_of(draws, plan, n, engine if engine == "spark" else source)
    if "epsilon" in plan:
        plan["identifiers"] = [name for name in table.column_names if name not in plan["quasi"]]
    if ending:
        plan |= _of_files(draws, source, ending)
    return Case(table, plan, engine or "memory", source, ending)


def _of_files(draws: Draws, source: str, ending: str) -> dict[str, Any]:
    """Draw options about files."""
    found: dict[str, Any] = {}
    if ending == "csv" and draws.chance(2):
        found["quote_formulas"] = True
    if source == "xlsx":
        found["sheet"] = "data"
    if source == "csv" and not draws.chance(4):
        found["csv"] = {"delimiter": draws.pick([";", "\t", ";"]), "quote": '"', "decimal": draws.pick([".", ","])}
        found["csv"] |= {"encoding": draws.pick(["utf-8", "latin-1"]), "missing": draws.pick([["NA"], ["?", "-"]])}
    return found


class _Plan:
    """Draws a plan theme by theme; `has` are the themes in it."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws
        self.k = draws.pick([2, 3, 2, 4, 5])
        self.plan: dict[str, Any] = {"k": self.k, "identifiers": ["id"], "publish": "rest"}
        self.has: set[str] = set()
        self.free = draws.chance(12)  # whether what does not go together may be asked for, and is refused

    def drawn(self) -> dict[str, Any]:
        draws, plan = self.draws, self.plan
        if draws.chance(4):
            self._without_groups()
            return plan
        themes = [*_THEMES, *_OFTEN]
        chosen = [themes.pop(draws.integer(0, len(themes) - 1)) for _ in range(draws.integer(2, 5))]
        for theme in chosen:
            if self.free or not any({theme, other} in _APART for other in self.has):
                self.has.add(theme)
        self._attributes()
        for theme in _THEMES:
            if theme in self.has:
                getattr(self, f"_{theme}")()
        self._search()
        self._distances()
        return plan

    def _attributes(self) -> None:
        """Choose quasi-identifiers, and a method that takes them."""
        draws, plan = self.draws, self.plan
        only_numbers = draws.chance(2) or bool(self.has & {"variance", "totals", "dominance", "rules", "seams"})
        quasi = [name for name in NUMBERS if draws.chance(2)][:3]
        if "blocks" in self.has and len(quasi) < 2:
            quasi = ["x", "y", "z"]
        if only_numbers:
            quasi = (quasi or ["x", "y"]) + [
                name for name in MOMENTS if draws.chance(6) and not self.has & {"variance"}
            ]
        else:
            quasi = quasi[:2] + [name for name in [*OTHERS, *MOMENTS, "size"] if draws.chance(3)]
            quasi = [*dict.fromkeys(quasi)]
            quasi = quasi or ["town", "n"]
        plan["quasi"] = quasi
        takes_all = not only_numbers or bool(self.has & {"household", "recode"})
        by_all = draws.chance(9) if not takes_all or self.free else True
        plan["method"] = draws.pick(_OF_ALL if by_all else _OF_NUMBERS)
        if len(quasi) == 1 and draws.chance(2) and not takes_all:
            plan["method"] = "univariate"
        if "size" in quasi and not draws.chance(4):
            plan["types"] = {"size": "ordinal"}
            plan["levels"] = {"size": LEVELS}
        elif "n" in quasi and draws.chance(3):
            plan["types"] = {"n": "continuous"}
        if {"x", "z", "town", "size"} & {*quasi}:
            ways = ["group", "suppress", "impute", "error"] if plan["method"] in _OF_ALL else ["suppress", "error"]
            plan["missing"] = draws.pick([way for way in ways if self._goes(way)])

    def _goes(self, missing: str) -> bool:
        changes = missing in ("group", "impute")
        return not (changes and self.has & {"totals", "variance", "rules"}) or self.free

    def _recode(self) -> None:
        """Put numbers, dates or categories into classes."""
        quasi, draws = self.plan["quasi"], self.draws
        ways = {"x": [1, 10], "z": [-1000, 0.5, 5000], "n": [3, 6], "day": ["2020-01-15", "2020-02-20"]}
        found: dict[str, Any] = {name: cuts for name, cuts in ways.items() if name in quasi and draws.chance(2)}
        if "town" in quasi:
            found["town"] = {"west": ["a", "b"], "east": ["c", "d"]}
        if not found:
            found["region"] = {"all": ["N", "S"]}
        self.plan["recode"] = found
        self.plan["types"] = {name: kind for name, kind in self.plan.get("types", {}).items() if name not in found}
        self.recoded = found

    def _secrets(self) -> None:
        draws, plan = self.draws, self.plan
        plan["confidential"] = draws.pick([["ill"], ["wage"], ["ill", "wage"]])
        if draws.chance(4):
            return
        if not draws.chance(3):
            plan["l_form"] = draws.pick(["recursive", "entropy", "recursive", "distinct", "recursive"])
            plan["l"] = draws.pick([1.5, 2, 2.5]) if plan["l_form"] == "entropy" else draws.pick([2, 2, 3])
            if plan["l_form"] == "recursive":
                plan["c"] = draws.pick([2.0, 3.0, 1.5])
        if draws.chance(2) or "l" not in plan:
            plan["t"] = draws.pick([0.5, 0.3, 0.8, 1.0])

    def _units(self) -> None:
        self.plan["unit"] = "firm"
        if not self.draws.chance(3):
            self.plan["unit_as"] = self.draws.pick(["pseudonym", "drop"])

    def _household(self) -> None:
        draws, plan = self.draws, self.plan
        plan["household"] = "home"
        shared = draws.pick([["rooms"], ["quarter"], ["rooms", "quarter"]])
        plan["quasi"] = [*plan["quasi"], *shared]
        if draws.chance(2):
            plan["household_attributes"] = shared[:1] if draws.chance(3) else shared
        plan["household_as"] = draws.pick(["drop", "pseudonym"])

    def _strata(self) -> None:
        self.plan["strata"] = self.draws.pick([["region"], ["region"], ["quarter", "region"]])
        if "quarter" in self.plan["quasi"]:
            self.plan["strata"] = ["region"]
        self.plan["small_strata"] = self.draws.pick(["merge", "suppress", "error"])
        if "only" in self.has and self.plan["small_strata"] == "merge":
            self.plan["small_strata"] = "suppress"

    def _weights(self) -> None:
        draws, plan = self.draws, self.plan
        plan["weights"] = "w"
        numbers = {"x", "y", "z"} & {*plan["quasi"]}
        if numbers and not draws.chance(4) and not self.has & {"only", "totals", "variance"}:
            plan["preserve"] = "weighted_mean"
            if "missing" in plan:
                plan["missing"] = "suppress"

    def _rules(self) -> None:
        draws, plan = self.draws, self.plan
        rule = draws.pick([*RULES, *["x + y == s"] * 4])
        plan["edits"] = [rule] if draws.chance(2) else [rule, *(each for each in ["x >= 0"] if each != rule)]
        plan["edits_original"] = draws.pick(["keep", "exclude", "fail", "keep"])
        plan["quasi"] = [*dict.fromkeys([*plan["quasi"], *RULES[rule]])]
        if plan["method"] == "univariate":
            plan["method"] = "mdav"
        if rule == "x + y == s" and not draws.chance(4):
            plan[draws.pick(["recompute", "adjust"])] = ["s"]
        if draws.chance(3):
            plan["small_strata"] = draws.pick(["merge", "suppress"])
        if draws.chance(4):
            plan["blocks"] = "edits"

    def _aggregates(self) -> None:
        draws, plan = self.draws, self.plan
        kinds = {name: self._kind(name) for name in plan["quasi"]}
        ways = {name: draws.pick(_AGGREGATES[kind]) for name, kind in kinds.items()}
        first = {"continuous": draws.pick(["trimmed_mean", "order_statistic"]), "ordinal": "order_statistic"}
        ways[plan["quasi"][0]] = first.get(kinds[plan["quasi"][0]], "mode")
        if "weights" in plan:
            ways = {name: "median" if kinds[name] == "continuous" else "mode" for name in ways}
        if plan.get("preserve"):
            return
        if len({*kinds.values()}) == 1 and draws.chance(2):
            positive = {*kinds} <= {"x", "y", "z", "n"} and not self.has & {"weights", "codes"}
            plan["aggregate"] = draws.pick(["geometric_mean", *ways.values()] if positive else [*ways.values()])
        else:
            plan["aggregate"] = {name: how for name, how in ways.items() if not draws.chance(3)} or ways
        used = {plan["aggregate"]} if isinstance(plan["aggregate"], str) else {*plan["aggregate"].values()}
        if "trimmed_mean" in used:
            plan["k"] = max(plan["k"], 3)
            plan |= {} if draws.chance(4) else {"trim": 1}
        if "order_statistic" in used and not draws.chance(3):
            plan["rank"] = draws.pick([1, 2, 0.5, 1.0])

    def _kind(self, name: str) -> str:
        recoding = self.plan.get("recode", {}).get(name)
        if recoding is not None:
            return "nominal" if isinstance(recoding, dict) else "ordinal"
        kind = _TYPES.get(name, "continuous")
        if kind == "ordinal" and name not in self.plan.get("levels", {}):
            return "nominal"
        return {"boolean": "nominal", "date": "continuous", "datetime": "continuous"}.get(kind, kind)

    def _variance(self) -> None:
        self.plan["restore_variance"] = True

    def _only(self) -> None:
        self.plan["only"] = "at_risk"

    def _totals(self) -> None:
        self.plan["keep_totals"] = self.draws.pick([["region"], ["region", "flag"], ["region"]])

    def _dominance(self) -> None:
        draws, plan = self.draws, self.plan
        which = draws.integer(0, 2)
        if which != 1:
            plan["p_percent"] = draws.pick([10, 20, 5])
        if which != 0:
            plan["dominance"] = draws.pick([[1, 60], [2, 90], [1, 90], [3, 95]])
        if not draws.chance(4):
            plan["magnitudes"] = [name for name in plan["quasi"] if name in ("x", "y", "n")] or ["wage"]

    def _blocks(self) -> None:
        draws, plan = self.draws, self.plan
        quasi = plan["quasi"]
        numbers = {*quasi} <= {"x", "y", "z", "n"} and plan.get("missing", "error") in ("error", "suppress")
        if "edits" in plan and draws.chance(2):
            plan["blocks"] = "edits"
        elif numbers and len(quasi) > 1 and not draws.chance(3):
            plan["blocks"] = draws.pick(["correlated", "uncorrelated"])
        elif len(quasi) > 1:
            at = draws.integer(1, len(quasi) - 1)
            plan["blocks"] = [quasi[:at], quasi[at:]]
            if {*quasi} <= {*NUMBERS, *MOMENTS} and draws.chance(4):
                plan["method"], plan["blocks"] = "univariate", [[name] for name in quasi]
        if isinstance(plan.get("blocks"), str) and not draws.chance(4):
            plan["block_size"] = draws.pick([1, 2])

    def _scale(self) -> None:
        draws, plan = self.draws, self.plan
        scale: dict[str, Any] = {"block_size": draws.pick([2 * self.k, 4 * self.k, 8, "auto"])}
        if self.has & {"household", "only"} and scale["block_size"] == "auto":
            scale["block_size"] = 12
        if not self.has & {"household"}:
            scale["blocking"] = draws.pick(["kd", "2^d", "sorted", "interval"])
            usable = [name for name in plan["quasi"] if self._kind(name) == "continuous"]
            if scale["blocking"] in ("sorted", "interval"):
                scale["dimensions"] = usable[:1] or plan["quasi"][:1]
            elif scale["blocking"] == "2^d" and draws.chance(2):
                scale["dimensions"] = usable[:2] or plan["quasi"][:1]
        if draws.chance(2):
            scale["memory"] = draws.pick(["200MB", "1GB"])
        plan["scale"] = scale

    def _seams(self) -> None:
        plan, draws = self.plan, self.draws
        plan["method"] = draws.pick(["mdav", "auto"])
        if plan.get("missing", "error") in ("group", "impute"):
            plan["missing"] = "suppress"
        plan["scale"] = {"block_size": 4 * self.k, **plan.get("scale", {}), "seams": True}

    def _codes(self) -> None:
        """Read some values as missing."""
        plan, draws = self.plan, self.draws
        name = "n" if "n" in plan["quasi"] else next((name for name in plan["quasi"] if name in ("x", "y", "z")), "")
        if name and self._kind(name) == "continuous":
            plan["missing_codes"] = {name: [0, 7]}
            takes = ["group", "impute", "suppress"] if plan["method"] in _OF_ALL else ["suppress"]
            plan["missing"] = draws.pick([way for way in takes if self._goes(way)])

    def _search(self) -> None:
        draws, plan = self.draws, self.plan
        method, seams = plan["method"], plan.get("scale", {}).get("seams")
        if method == "best":
            plan["budget"] = draws.pick([200, 20])
        elif method != "univariate" and not seams and draws.chance(7):
            plan["refine"], plan["budget"] = True, 50
        if method == "vmdav" and not draws.chance(6):
            plan["gain"] = draws.pick([0.0, 0.2, 1.1])
        if method == "tour" and not draws.chance(6):
            plan["tour"] = draws.pick(["refined", "savings"])
        if (method == "best" or "refine" in plan) and draws.chance(2):
            plan["seed"] = draws.byte()
        if draws.chance(8) and not self.has & {"weights", "only", "household"}:
            plan["bound"] = True

    def _distances(self) -> None:
        draws, plan = self.draws, self.plan
        quasi = plan["quasi"]
        if draws.chance(5):
            plan["standardize"] = draws.pick(["minmax", "none", "zscore"])
        categories = any(self._kind(name) != "continuous" for name in quasi)
        if categories and draws.chance(4) and plan.get("standardize", "zscore") == "zscore":
            plan["distance"] = draws.pick(["balanced", "mdav-generic"])
        if draws.chance(6) and len(quasi) > 1 and "blocks" not in plan:
            plan["attribute_weights"] = {quasi[0]: draws.pick([2.0, 0.5])}
        whole = {"n", "rooms", *MOMENTS} & {*quasi} - {*plan.get("recode", {})}
        if whole and draws.chance(3) and not self.has & {"totals"} and not plan.get("preserve"):
            plan["round"] = draws.chance(2)

    def _without_groups(self) -> None:
        """Ask for hybrid data, Mic1D or differential privacy, with what goes with them."""
        draws, plan = self.draws, self.plan
        method = draws.pick(["hybrid", "hybrid", "hybrid", "ms", "ms", "mic1d", "insensitive"])
        plan.update(method=method, quasi=["y", "n"])
        if method in ("hybrid", "ms"):
            plan.update(confidential=draws.pick([["wage"], ["wage", "bonus"]]), seed=draws.byte())
            if draws.chance(2):
                plan["constraints"] = {"wage": draws.pick([["non-negative"], ["non-negative", "integer"], ["integer"]])}
        if method == "hybrid":
            plan["mask_quasi"] = not draws.chance(3)
            plan["k"] = draws.pick([5, 8, 12])
            if not draws.chance(3):
                plan["partition"] = draws.pick(["mdav", "vmdav", "pca", "zscores", "tour"])
            if not draws.chance(3):
                plan["ipso"] = draws.pick(["independent", "orthogonal"])
        if method == "ms":
            plan.pop("k")
            levels = [0.0, 0.5, 0.9]
            plan["alpha"] = draws.pick(levels)
            if draws.chance(2):
                plan["alpha"] = {name: draws.pick(levels) for name in plan["confidential"]}
        if method == "mic1d":
            plan["allow_unchanged"] = True
            if draws.chance(2):
                plan["partition"] = "optimal"
        if method == "insensitive":
            plan.update(epsilon=draws.pick([0.5, 1.0, 10.0]), bounds={"y": [0, 200], "n": [0, 12]})
            plan.update(types={"y": "continuous", "n": "continuous"})
            plan.pop("publish")
            if draws.chance(2):
                plan["round"] = True


# In the order in which they are added to a plan.
_THEMES = ["recode", "household", "rules", "secrets", "units", "strata", "weights", "variance", "only", "totals"]
_THEMES += ["dominance", "codes", "aggregates", "blocks", "scale", "seams"]
_OFTEN = ["secrets", "rules", "rules", "blocks", "blocks", "household", "aggregates", "weights"]
# Themes that a plan does not have together.
_APART = [
    *({"household", other} for other in ("blocks", "rules", "variance", "secrets", "units", "dominance", "totals")),
    *({"only", other} for other in ("blocks", "household", "secrets", "rules", "variance", "dominance", "totals")),
    *({"seams", other} for other in ("household", "only", "units", "secrets", "dominance", "totals", "blocks")),
    *({"seams", other} for other in ("rules", "aggregates", "recode")),
    *({"totals", other} for other in ("rules", "variance")),
    *({"variance", other} for other in ("rules", "dominance", "codes", "recode")),
    *({"secrets", "blocks"}, {"rules", "recode"}, {"rules", "aggregates"}, {"totals", "aggregates"}),
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
