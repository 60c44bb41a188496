"""One verdict: the limits of an office beside the figures that were measured.

`LIMITS` maps each limit of `shoal.plan.policy.Policy` to its figure. The figures come by name from what `Release` and
`assess` return, so that a new measure is one row. A figure that is not there is not measured.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from shoal.errors import CheckFailed
from shoal.messages import Message
from shoal.pipeline.treatment import refuse_unknown
from shoal.plan.policy import Policy
from shoal.tables import Table

if TYPE_CHECKING:
    from shoal.release import Release

Evidence = Mapping[str, Any]
Doubt = Callable[[Evidence], Message | None]
Result = Literal["passed", "failed", "not measured"]
SLACK = 1e-9  # of a limit: what rounding adds to a figure


@dataclass(frozen=True)
class Limit:
    """A limit: what is measured, whether the figure must be at least or at most so large, and where it comes from."""

    meaning: str
    least: bool
    unit: str
    figure: Callable[[Evidence], float | None]
    needs: str = ""  # code of the phrase on what to do if it was not measured
    by_assess: bool = False  # whether `assess` measures it, and a release by itself does not
    doubt: "Doubt" = lambda _: None  # why a figure within the limit does not tell of the whole file

    def met(self, figure: float, bound: float) -> bool:
        """Whether a figure keeps to its limit."""
        slack = SLACK * max(1.0, abs(bound))
        return figure >= bound - slack if self.least else figure <= bound + slack


def _at(found: Any, path: str) -> Any:
    """Return what is at a path such as ``risk.after.smallest``; None if it is not there."""
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _least(figures: Sequence[float | None]) -> float | None:
    return min((each for each in figures if each is not None), default=None)


def _most(figures: Sequence[float | None]) -> float | None:
    return max((each for each in figures if each is not None), default=None)


def _smallest_group(found: Evidence) -> float | None:
    """Return the fewest records alike, also with strata and the columns released unchanged that a stranger may know."""
    return _least([_at(found, f"risk.{where}.smallest") for where in ("after", "strata", "file.with_masked")])


def _units(found: Evidence) -> float | None:
    return _least([each["least"] for each in _at(found, "risk.file.units") or []])


def _sensitive(
    what: str, worst: Callable[[Sequence[float | None]], float | None]
) -> Callable[[Evidence], float | None]:
    def figure(found: Evidence) -> float | None:
        return worst([each.get(what) for each in (_at(found, "risk.diversity") or {}).values()])

    return figure


def _dominated(found: Evidence) -> float | None:
    counts = _at(found, "risk.dominance")
    return None if not counts else sum(int(each["failing"]) for each in counts.values())


def _unique_columns(found: Evidence) -> float | None:
    unchanged = _at(found, "risk.file.unchanged")
    if unchanged is None:
        return None
    known = (each for each in unchanged.values() if each["role"] != "confidential" or "identifying" in each)
    return sum(1 for each in known if each["uniques"])


def _unique_records(found: Evidence) -> float | None:
    uniques, records = _at(found, "risk.file.with_masked.uniques"), found.get("records")
    return None if uniques is None or not records else 100 * uniques / records


def _linkage(found: Evidence) -> float | None:
    """Return the most that is linked by a distance if one of the nearest is drawn, whatever the order of the rows."""
    return _most([_at(found, f"risk.{name}.expected") for name in ("DLD", "DLD_masking", "DLD_neutral")])


def _assigned(found: Evidence) -> float | None:
    """Return what an optimal assignment finds; if it is estimated, the upper end of its interval."""
    interval: list[float] | None = _at(found, "risk.assignment.interval")
    hits: float | None = _at(found, "risk.assignment.hits")
    return hits if interval is None else interval[1]


def _inference(found: Evidence) -> float | None:
    attacks = _at(found, "risk.inference")
    return _most([_at(each, "gain.percent") for each in attacks.values()]) if attacks else None


def _overlap(found: Evidence) -> float | None:
    return _least([each["overlap"] for each in found.get("analyses") or []])


def _on(code: str, names: Sequence[str], **data: Any) -> Message | None:
    """Return a phrase about columns; None without any."""
    return Message(code, columns=names, number=len(names), **data) if names else None


def _identifier(found: Evidence) -> Message | None:
    """Name the columns that identify people although they are listed as sensitive."""
    unchanged = _at(found, "risk.file.unchanged") or {}
    return _on("identifies-people", [name for name, each in unchanged.items() if "identifying" in each])


def _gone(found: Evidence) -> Message | None:
    """Name the columns that the masked file lacks, if the masked attributes were not given."""
    return _on("gone-from-masked", _at(found, "left_out.not in the masked table") or [])


def _partial(found: Evidence) -> Message | None:
    """Name the columns that differ between the files and are not compared."""
    return _on("differ-uncompared", found.get("not_compared") or [])


def _negative(found: Evidence) -> Message | None:
    """Name the magnitudes for which no dominance rule was counted."""
    return _on("negative-in-records", _at(found, "left_out.negative, in what is measured of dominance") or [])


def _other_rule(policy: Policy, found: Evidence) -> Message | None:
    """Name the dominance rule of the policy, if groups were counted by a laxer one or by none."""
    rules = found.get("dominance_rules") or {}
    p, pair = rules.get("p_percent"), rules.get("dominance")
    if policy.p_percent is not None and (p is None or p < policy.p_percent):
        return Message("policy-asks", option=f"--p-percent={policy.p_percent:g}")
    if policy.dominance_rule is None:
        return None
    n, share = policy.dominance_rule
    strict = pair is not None and pair[0] >= n and pair[1] <= share
    return None if strict else Message("policy-asks", option=f"--dominance={n:g},{share:g}")


def _singled_out(found: Evidence) -> Message | None:
    """Explain that records are unique by columns released unchanged, which are not among the attributes compared."""
    known, seen = _at(found, "risk.file.together.columns") or [], _at(found, "risk.file.with_masked") or {}
    names = [name for name in known if name not in (found.get("quasi") or [])]
    uniques = seen.get("alone", seen.get("uniques", 0))
    return _on("singled-out-uncounted", names, records=uniques) if uniques else None


def _followed(found: Evidence, *, computed: bool = True) -> Message | None:
    """Name the masked attributes that follow from unchanged columns in most records; computed ones can be left out."""
    rows = [each for each in _at(found, "risk.file.determined") or [] if 2 * each["records"] > found.get("records", 0)]
    rows = [each for each in rows if computed or each["column"] not in (_at(found, "risk.file.recovered") or [])]
    return Message("original-follows", column=rows[0]["column"], by=rows[0]["by"]) if rows else None


def _known_doubt(found: Evidence) -> Message | None:
    return _identifier(found) or _followed(found, computed=False)  # computed originals stand for the masked ones


def _sensitive_doubt(found: Evidence) -> Message | None:
    return _identifier(found) or _divided(found) or _followed(found)


def _divided(found: Evidence) -> Message | None:
    """Note that columns released unchanged, which strangers may know, divide groups that were measured as a whole."""
    names = [name for name in _at(found, "risk.file.together.columns") or [] if name not in (found.get("quasi") or [])]
    whole, parts = _at(found, "risk.after.groups"), _at(found, "risk.file.with_masked.groups")
    return _on("groups-divided", names) if whole != parts else None


def _shuffled(found: Evidence) -> Message | None:
    """Explain that rows of the two files do not seem to be of the same people: publishing the mean would lose less."""
    above = (_at(found, "loss.IL") or 0) > 100
    return Message("rows-in-another-order") if above else None


def _loss_doubt(found: Evidence) -> Message | None:
    gone = found.get("suppressed") or 0
    return _partial(found) or _gone(found) or (Message("loss-of-published", records=gone) if gone else None)


def _linkage_doubt(found: Evidence) -> Message | None:
    doubts = (_partial, _identifier, _singled_out, _divided, _followed, _shuffled)
    return next(filter(None, (doubt(found) for doubt in doubts)), None)


_SENSITIVE = "name-sensitive"
_ASSESS = "measured-by-assess"
LIMITS: dict[str, Limit] = {
    "k": Limit("records alike in what strangers may know", True, "", _smallest_group, doubt=_known_doubt),
    "units": Limit("units in a group", True, "", _units, "name-unit"),
    "l": Limit(
        "distinct sensitive values in a group",
        True,
        "",
        _sensitive("distinct", _least),
        _SENSITIVE,
        True,
        _sensitive_doubt,
    ),
    "t": Limit(
        "distance of sensitive values in a group", False, "", _sensitive("t", _most), _SENSITIVE, True, _sensitive_doubt
    ),
    "dominance": Limit(
        "groups that one contributor dominates",
        False,
        "",
        _dominated,
        "name-dominance-rule",
        doubt=_negative,
    ),
    "unique_columns": Limit("unchanged columns that single out records", False, "", _unique_columns),
    "unique_records": Limit("unique records", False, " %", _unique_records, doubt=_known_doubt),
    "linkage": Limit(
        "records linked by distance",
        False,
        " %",
        _linkage,
        _ASSESS,
        True,
        _linkage_doubt,
    ),
    "assignment": Limit("records found by optimal assignment", False, " %", _assigned, _ASSESS, True, _linkage_doubt),
    "inference": Limit(
        "gain of an attack on a sensitive value", False, " %", _inference, _SENSITIVE, True, _linkage_doubt
    ),
    "loss": Limit("information loss (IL)", False, " %", lambda found: _at(found, "loss.IL"), doubt=_loss_doubt),
    "analyses": Limit("overlap of intervals in each regression", True, "", _overlap, "add-formulas", True),
    "published": Limit(
        "published figures that come out",
        True,
        " %",
        lambda e: _at(e, "published.percent"),
        "add-published",
    ),
}


@dataclass(frozen=True)
class Judged:
    """One limit with its figure."""

    limit: str
    bound: float
    figure: float | None
    needs: Message | None = None  # what to do if it was not measured

    @property
    def result(self) -> Result:
        """Whether the figure keeps to the limit."""
        if self.figure is None:
            return "not measured"
        return "passed" if LIMITS[self.limit].met(self.figure, self.bound) else "failed"

    @property
    def message(self) -> Message:
        """Message that the limit is not met, or was not measured."""
        about = LIMITS[self.limit]
        least, unit = "at least" if about.least else "at most", about.unit
        of: dict[str, Any] = {
            "limit": self.limit,
            "meaning": about.meaning,
            "least": least,
            "bound": _rounded(self.bound),
        }
        if self.figure is None:
            return Message("limit-not-measured", **of, unit=unit, needs=self.needs)
        return Message("limit-not-met", **of, unit=unit, figure=_rounded(self.figure))

    def as_json(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        about = LIMITS[self.limit]
        return {
            "limit": self.limit,
            "meaning": about.meaning,
            "must_be": "at least" if about.least else "at most",
            "bound": self.bound,
            "figure": self.figure,
            "unit": about.unit.strip(),
            "result": self.result,
            "needs": self.needs or "",
        }


def _rounded(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.4g}")


@dataclass(frozen=True)
class Verdict:
    """Whether a release meets a policy: ``passed``, ``failed``, or ``incomplete`` if a limit was not measured."""

    policy: Policy
    limits: list[Judged]

    @property
    def result(self) -> Literal["passed", "failed", "incomplete"]:
        """The verdict: a limit that was not measured is not passed, unless the policy allows that and one was."""
        found = {each.result for each in self.limits}
        if "failed" in found:
            return "failed"
        allowed = self.policy.not_measured == "allow" and "passed" in found
        return "incomplete" if "not measured" in found and not allowed else "passed"

    @property
    def failures(self) -> list[Message]:
        """A message for every limit that failed."""
        return [each.message for each in self.limits if each.result == "failed"]

    @property
    def unmeasured(self) -> list[Message]:
        """A message for every limit that was not measured."""
        return [each.message for each in self.limits if each.result == "not measured"]

    def refuse(self) -> None:
        """Raise an error if a limit failed: such a file must not go out."""
        if self.result == "failed":
            raise CheckFailed(self.failures, {"verdict": self.as_json()})

    def as_json(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return {
            "result": self.result,
            "policy": self.policy.name,
            "limits": [each.as_json() for each in self.limits],
        }


def refuse_formulas(policy: Policy | None, table: Table) -> None:
    """Refuse formulas of a policy that the columns of a table cannot answer, before any work is done."""
    if policy is None or not policy.formulas:
        return
    from shoal.evidence.analyses import parse_formulas

    for formula in parse_formulas(policy.formulas):
        refuse_unknown(table, {"policy.formulas": formula.names})


def release_verdict(release: "Release", policy: Policy) -> Verdict:
    """Judge a release; what it does not measure by itself is measured as `assess` does, on tables in memory."""
    evidence = _evidence(release)
    first = judged(policy, evidence)
    missing = [each.limit for each in first.limits if each.figure is None and LIMITS[each.limit].by_assess]
    more = _assessed(release, policy) if missing else None
    if more is None:
        return first
    more["not_compared"] = []  # it was verified that nothing else differs, but for pseudonyms
    return judged(policy, {**more, **evidence, "risk": {**more["risk"], **evidence["risk"]}})


def _evidence(release: "Release") -> dict[str, Any]:
    """Gather what a release measures by itself, under the names of `assess`."""
    found = release.verified
    diversity = {name: {**each, "t": found.closeness[name]} for name, each in found.diversity.items()}
    private = release.plan.epsilon is not None  # whose loss nobody may know
    return {
        "records": release.records,
        "suppressed": release.suppressed,
        "confidential": release.plan.confidential,
        "private": private,
        "dominance_rules": {"p_percent": release.plan.p_percent, "dominance": release.plan.dominance},
        "risk": {**release.risk(), **({"diversity": diversity} if diversity else {})},
        **({} if private else {"loss": release.loss()}),
    }


def _assessed(release: "Release", policy: Policy) -> dict[str, Any] | None:
    """Measure a release in memory as `assess` does; None if it is elsewhere, or its records have no order."""
    plan, original = release.plan, getattr(release.published, "original", None)
    if original is None or plan.epsilon is not None:
        return None
    from shoal.evidence.assess import assess

    quasi = plan.changed
    return assess(
        original.native,
        release.table,
        quasi=quasi,
        confidential=[name for name in plan.confidential if name not in quasi],
        types={name: plan.types[name] for name in quasi if name in plan.types},
        levels={name: plan.levels[name] for name in quasi if name in plan.levels},
        weights=plan.weights,
        seed=plan.seed or 0,
        analyses=policy.formulas,
    )


def judged(policy: Policy, evidence: Evidence) -> Verdict:
    """Judge evidence, by the names of `assess` and `Release.summary`, by a policy."""
    found = []
    for name, bound in policy.limits.items():
        about = LIMITS[name]
        figure = about.figure(evidence)
        needs = _needed(name, policy, evidence)
        doubt = about.doubt(evidence) or (_other_rule(policy, evidence) if name == "dominance" else None)
        if doubt and figure is not None and about.met(figure, bound):
            figure, needs = None, doubt
        found.append(Judged(name, bound, figure, needs if figure is None else None))
    return Verdict(policy, found)


def _needed(name: str, policy: Policy, evidence: Evidence) -> Message | None:
    """Explain how to measure a figure that was not measured."""
    about, sensitive = LIMITS[name], bool(evidence.get("confidential") or _at(evidence, "risk.inference"))
    asked = {"l": sensitive, "t": sensitive, "inference": sensitive, "analyses": bool(policy.formulas)}
    if evidence.get("private") and (about.by_assess or name == "loss"):
        return Message("private-figure")
    if about.by_assess and asked.get(name, True):
        return Message("no-such-figure") if "left_out" in evidence else Message(_ASSESS)
    return Message(about.needs) if about.needs else None
