"""Checking a masked file, made by any program: groups of k, rules, its manifest, and what earlier releases reveal."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shoal.edits.apply import rules_of
from shoal.edits.expressions import Rule, attributes_of
from shoal.edits.levels import Levels, compared_by_order, levels_of, refuse_incomparable, with_unused
from shoal.edits.passes import domains_of, records_of
from shoal.edits.verification_sql import broken_in_sql
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.evidence.composition import Earlier, differing, intersected
from shoal.evidence.recheck import recheck
from shoal.evidence.units import sizes_in_units, too_few
from shoal.evidence.whole_file import whole_file
from shoal.messages import Message
from shoal.pipeline.classes import class_sizes
from shoal.pipeline.counting import added_sizes, exposure_of
from shoal.pipeline.manifest import Manifest, load_manifest
from shoal.pipeline.treatment import numeric_attributes, refuse_unknown
from shoal.pipeline.unit_codes import UnitSummary
from shoal.pipeline.verify import too_small
from shoal.plan import Csv, Plan
from shoal.plan.commands import file_name
from shoal.tables import Table, kind_of, open_table
from shoal.tables.attributes import Level
from shoal.tables.csv.formulas import unquoted
from shoal.tables.files import is_workbook, sheets_of

if TYPE_CHECKING:
    from shoal.release import Release

CsvOptions = Csv | dict[str, str] | None


def check(
    masked: Any,
    k: int | None = None,
    quasi: Sequence[str] | None = None,
    edits: str | Sequence[str] | None = None,
    csv: CsvOptions = None,
    original: Any = None,
    manifest: str | os.PathLike[str] | None = None,
    against: Any = None,
    key: str | None = None,
    confidential: Sequence[str] = (),
    levels: Mapping[str, Sequence[Level]] | None = None,
    unit: str | None = None,
    sheet: str | None = None,
) -> dict[str, Any]:
    """Check that every combination of quasi-identifiers occurs at least k times, and that rules hold.

    All other columns of the file are looked at too. One that singles out records does not fail the check, which is on k
    and rules; it is the headline of what is returned.

    Parameters
    ----------
    masked : dataframe or path
        The table to check, made by any program.
    k : int, optional
        The least number of records in a group; it comes from the manifest if there is one.
    quasi : list of str, optional
        The quasi-identifiers; every numeric attribute if left out. They come from the manifest if there is one.
    edits : path or list of str, optional
        Rules that every record must obey: a file of them, or rules line by line.
    csv : Csv or dict, optional
        How a CSV file is written, where looking at it is not enough.
    original : dataframe or path, optional
        The original data, for rules that ask whether a value occurs there.
    manifest : path, optional
        The manifest of the release: whether the file is still the one that was published, and all that can be verified
        again of what it promised then.
    against : dataframe, path or list of these, optional
        Earlier releases of the same data: whether records hide among k in all of them together.
    key : str, optional
        With `against`, a column of all releases that tells records apart; rows are paired by position without.
    confidential : list of str, optional
        Sensitive attributes, which strangers are presumed not to know. They come from the manifest if there is one.
        Every column that is neither named here nor a quasi-identifier counts as one that a stranger may know.
    levels : mapping, optional
        Levels, in order, of attributes that rules compare by order. Those of ordered categorical columns are known: of
        the original if it is given, and of the masked table.
    unit : str, optional
        A column of the masked table that tells which person or firm a record is of, perhaps by pseudonyms: every
        combination must have records of k of these. It comes from the manifest if there is one.
    sheet : str, optional
        The sheet of an Excel workbook, if several have data. With several files, one of them at least must have it.

    Returns
    -------
    dict
        ``records``, ``k``, ``quasi``, how many rules hold (``edits``) and the measures of `shoal.measures.exposure`;
        ``file``, the risk of all columns, as in `shoal.pipeline.whole_file.file_risk`.
        With a manifest, ``blocks`` instead of these, and what could not be verified again (``unverified``). With
        earlier releases, ``against`` as in `shoal.evidence.composition.intersected`, and other columns that are not the
        same there (``differing``), so that rows may be in another order.

    Raises
    ------
    CheckFailed
        Saying how many combinations are too small, which rules are broken by how many records, every difference to the
        manifest, and what earlier releases reveal; what was counted is in its ``found``.
    """
    _refuse_contradictions(masked, k, quasi, confidential, edits, original, manifest, against, key, levels, unit)
    given = {"k": 2} if manifest is not None else {} if k is None else {"k": k}
    roles: dict[str, Any] = {"quasi": quasi, "confidential": confidential, "unit": unit}
    plan = Plan(**given, **roles, edits=edits, csv=csv, levels=levels if _is_given(levels) else {}, sheet=sheet)
    refuse_unknown_sheet(plan, masked, original, *_several(against))
    seen = _counted(masked, plan) if manifest is None else _again(masked, plan, load_manifest(manifest))
    rules = rules_of(plan)
    if unused := [name for name in plan.levels if name not in compared_by_order(rules)]:
        raise PlanError(*(Message("levels-unused", field="levels", column=name, checked=True) for name in unused))
    failures = [*seen.failures, *_disobeyed(seen, rules, None if original is None else opened(original, plan), plan)]
    found = {**seen.found, "edits": len(rules), "file": _whole_file(seen, plan)}
    if against is not None:
        if seen.found["k"] is None:
            raise PlanError("needs-a-k", field="against")
        earlier = _earlier(against, plan)
        its_unit = _unit(seen, plan)
        revealed = intersected(seen.table, seen.blocks, seen.found["k"], earlier, key, its_unit)
        names = [*(name for block in seen.blocks for name in block), *([] if its_unit is None else [its_unit])]
        found["against"] = revealed.found
        found["differing"] = [] if key else differing(seen.table, earlier, names)
        failures += revealed.failures
    if failures:
        raise CheckFailed(failures, found)
    return found


def compared(release: "Release", against: Any, key: str | None = None) -> list[dict[str, Any]]:
    """Count what earlier releases of the same data reveal together with one that is to be published.

    Parameters
    ----------
    release : Release
    against : dataframe, path or list of these
        The earlier releases.
    key : str, optional
        A column of all releases that tells records apart; rows are paired by position without.

    Returns
    -------
    list of dict
        As `shoal.evidence.composition.intersected`; releases go by the names of their files.
    """
    plan = release.plan
    if release.published.engine == "spark":
        raise PlanError("no-order-on-spark", field="against")
    if plan.k is None or not plan.masked or plan.epsilon is not None or plan.method == "mic1d":
        raise PlanError("needs-groups", field="against", method=plan.method)
    table = open_table(release.table)
    if plan.unit is not None and plan.unit not in table.names:
        raise PlanError("needs-units", field="against", manifest=False)
    earlier = [each._replace(name=file_name(each.name.strip("'"))) for each in _earlier(against, plan)]
    return intersected(table, plan.in_blocks, plan.k, earlier, key, plan.unit).found


class _Seen(NamedTuple):
    """What is in a file that is checked: its quasi-identifiers by block, what was counted, and what does not hold."""

    table: Table
    blocks: list[list[str]]
    found: dict[str, Any]
    failures: list[Message]
    manifest: Manifest | None = None
    units: Sequence[dict[str, Any]] = ()


def _unit(seen: _Seen, plan: Plan) -> str | None:
    """Return the column of the units that k counts; None if it counts records."""
    unit = plan.unit if seen.manifest is None else seen.manifest.plan.get("unit")
    if unit is not None and unit not in seen.table.names:
        raise PlanError("needs-units", field="against", manifest=seen.manifest is not None)
    return unit


def _refuse_contradictions(
    masked: Any,
    k: Any,
    quasi: Any,
    confidential: Any,
    edits: Any,
    original: Any,
    manifest: Any,
    against: Any,
    key: str | None,
    levels: Any,
    unit: str | None,
) -> None:
    problems: list[Message] = []
    if manifest is not None:
        twice = {
            "k": k,
            "quasi": quasi,
            "confidential": confidential if _is_given(confidential) else None,
            "unit": unit,
        }
        problems = [Message("in-manifest", field=name) for name in twice if twice[name] is not None]
        if not isinstance(masked, str | os.PathLike):
            problems.append(Message("manifest-needs-file", field="manifest"))
    needs_rules = partial(Message, "does-not-apply-without", needed="rules", option="--edits")
    if original is not None and edits is None:
        problems.append(needs_rules(field="original"))
    if _is_given(levels) and edits is None:
        problems.append(needs_rules(field="levels"))
    if key is not None and against is None:
        needed = {"needed": "earlier releases", "option": "--against"}
        problems.append(Message("does-not-apply-without", field="key", **needed))
    if isinstance(against, list | tuple) and not against:
        problems.append(Message("names-none", field="against", what="earlier release"))
    if problems:
        raise PlanError(*problems)


def _is_given(value: object) -> bool:
    """Whether an option is neither left out nor empty; what it is worth is told by the plan."""
    return value is not None and not (isinstance(value, list | tuple | Mapping) and not value)


def _counted(masked: Any, plan: Plan) -> _Seen:
    """Count how often the combinations of quasi-identifiers occur."""
    table = unquoted(open_table(masked, plan.csv, _sheet(masked, plan)))
    roles = {"quasi": plan.masked, "confidential": plan.confidential, "unit": plan.roles["unit"]}
    refuse_unknown(table, roles)
    names = plan.masked or numeric_attributes(table, [*plan.confidential, *plan.roles["unit"]])
    if plan.unit is not None:
        if problem := UnitSummary.of(table, plan.unit, plan.k, 0).problem(plan.unit, plan.k):
            raise DataError(problem)
        sizes = sizes_in_units(table, names, plan.unit)
        found = {"records": len(table), "k": plan.k, "counts": "units", "quasi": names, **exposure_of(sizes)}
        return _Seen(table, [names], found, [*too_few(table, names, plan.unit, plan.k)])
    sizes = added_sizes(class_sizes(table, names))
    found = {"records": len(table), "k": plan.k, "quasi": names, **exposure_of(sizes)}
    return _Seen(table, [names], found, [*too_small(sizes, names, plan.k)])


def _again(masked: Any, plan: Plan, manifest: Manifest) -> _Seen:
    """Verify a file once more that has a manifest."""
    seen = recheck(Path(masked), manifest, plan.csv, _sheet(masked, plan))
    if seen.table is None:
        raise CheckFailed(seen.failures)
    blocks = [block["attributes"] for block in seen.blocks]
    found = {
        "records": len(seen.table),
        "k": manifest.verified.k,
        "quasi": list(dict.fromkeys(name for block in blocks for name in block)),
        "blocks": seen.blocks,
        "unverified": seen.unverified,
    }
    return _Seen(seen.table, blocks, found, seen.failures, manifest, seen.units)


def _whole_file(seen: _Seen, plan: Plan) -> dict[str, Any]:
    """Measure the risk of all columns, by the roles that the manifest or the caller gives them."""
    own: dict[str, Any] = {"confidential": plan.confidential, "unit": plan.unit}
    said: dict[str, Any] = own if seen.manifest is None else seen.manifest.plan
    unit = said.get("unit")
    roles: dict[str, str] = {}
    for role in ("quasi", "confidential", "strata", "weights"):
        names = said.get(role) or []
        roles |= dict.fromkeys([names] if isinstance(names, str) else names, role)
    draws = said.get("method") in ("hybrid", "ms")
    synthetic = [name for name in roles if draws and roles[name] == "confidential" and name in seen.table.names]
    masked = [name for name in seen.found["quasi"] if name not in synthetic]
    there = unit if unit in seen.table.names else None
    households = said.get("household") is not None
    k = seen.found["k"] or 2
    return whole_file(seen.table, k, masked, roles, synthetic, units=seen.units, unit=there, households=households)


def _disobeyed(seen: _Seen, rules: Sequence[Rule], original: Table | None, plan: Plan) -> Iterator[Message]:
    """Yield the rules that are broken, and what a manifest says of rules that cannot be."""
    said = None if seen.manifest is None else seen.manifest.verified.rules
    if not rules:
        if said is not None:
            seen.found["unverified"].append(Message("again-rules", rules=said.number))
        return
    if seen.manifest is not None and len(rules) != (number := 0 if said is None else said.number):
        yield Message("number-of-rules-differs", rules=len(rules), manifest=number)
    for rule in rules:
        refuse_unknown(seen.table, {f"rule '{rule.name}'": attributes_of(rule.condition)}, Message("the-masked-table"))
    broken = _broken(seen.table, rules, original, rule_levels(seen.table, rules, original, plan))
    if said is not None and said.excused:
        seen.found["unverified"] += (Message("again-excused", **each.data) for each in broken)
    else:
        yield from broken


def rule_levels(table: Table, rules: Sequence[Rule], original: Table | None, plan: Plan) -> dict[str, Levels]:
    """Return the levels that rules need: those given, or of ordered categorical columns, the original's first."""
    known: dict[str, Sequence[Any]] = dict(plan.levels)
    if original is not None:
        ordered = [name for name in original.names if getattr(original.column(name).type, "ordered", False)]
        of_original = levels_of(original, rules, known) if ordered else {}
        known = {**{name: of_original[name].values.to_pylist() for name in ordered if name in of_original}, **known}
    found = with_unused(rules, levels_of(table, rules, known), known)
    refuse_incomparable(rules, table, found)
    return found


def _earlier(against: Any, plan: Plan) -> list[Earlier]:
    found = []
    for number, source in enumerate(_several(against), start=1):
        is_path = isinstance(source, str | os.PathLike)
        name = Message("file-of-name", file=os.fspath(source)) if is_path else Message("earlier-release", number=number)
        found.append(Earlier(name, opened(source, plan)))
    return found


def _several(against: Any) -> Sequence[Any]:
    return against if isinstance(against, list | tuple) else [against]


def _broken(
    table: Table, rules: Sequence[Rule], original: Table | None, levels: Mapping[str, Levels]
) -> Iterator[Message]:
    domains = None if original is None else domains_of(original, rules)
    for rule, broken in broken_in_sql(rules, records_of(table, rules, domains, levels)):
        if broken.any():
            found: dict[str, Any] = {"records": int(broken.sum()), "first": int(np.argmax(broken)) + 1}
            yield Message("release-breaks-rule", rule=rule.name, **found)


def opened(source: Any, plan: Plan) -> Table:
    """Open a table; what was said of CSV files and of sheets holds for those of several that are or have them.

    Apostrophes that `quote_formulas` put before texts are no part of them.
    """
    is_other = isinstance(source, str | os.PathLike) and Path(source).suffix and kind_of(source) != "csv"
    return unquoted(open_table(source, None if is_other else plan.csv, _sheet(source, plan)))


def refuse_unknown_sheet(plan: Plan, *sources: Any) -> None:
    """Refuse the name of a sheet that none of several tables has."""
    if plan.sheet is not None and not any(_sheet(source, plan) for source in sources):
        open_table(next(filter(is_workbook, sources), None), sheet=plan.sheet)  # raises: unknown, or no workbook


def _sheet(source: Any, plan: Plan) -> str | None:
    """Return the sheet to read of a table: the plan's if the table has it; None leaves it to the workbook."""
    return plan.sheet if plan.sheet is not None and plan.sheet in sheets_of(source) else None
