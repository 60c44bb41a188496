"""assess(): loss and risk of a masked table, made by any program."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import measures
from shoal.edits.apply import rules_of
from shoal.edits.expressions import Rule, attributes_of
from shoal.edits.passes import domains_of, records_of
from shoal.edits.verification_sql import broken_in_sql
from shoal.errors import DataError, PlanError
from shoal.evidence.analyses import analyses as run_analyses
from shoal.evidence.analyses import parse_formulas
from shoal.evidence.attacks import Victims, attacks, control_of, overlap, refuse_same
from shoal.evidence.check import CsvOptions, opened, refuse_unknown_sheet, rule_levels
from shoal.evidence.composition import record_keys, unpaired
from shoal.evidence.estimates import estimates
from shoal.evidence.key_columns import positive_weights
from shoal.evidence.notebook import Figures
from shoal.evidence.published import published_figures, read_published
from shoal.evidence.sides import Side
from shoal.evidence.units import counted_units, units_in_classes
from shoal.evidence.verdict import judged, refuse_formulas
from shoal.evidence.whole_file import whole_file
from shoal.messages import Message
from shoal.parallel import Progress, quiet
from shoal.pipeline.classes import classes, equal_values, exposure
from shoal.pipeline.counting import added_sizes, exposure_of
from shoal.pipeline.dominance import negative_magnitude
from shoal.pipeline.linkage_spaces import linkage_spaces
from shoal.pipeline.loss import costs
from shoal.pipeline.sensitive import confidential_codes
from shoal.pipeline.treatment import numbers_to_mask, refuse_unknown
from shoal.pipeline.unit_codes import UnitSummary, unit_codes
from shoal.plan import AttributeType, Plan
from shoal.plan.policy import Policy, as_policy
from shoal.report.figures import least
from shoal.tables import Table
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, Codes, Level, encode, infer_type, without_declared
from shoal.tables.recoding import recoded_table

# Measures of loss that other types than numbers, and missing values, have no meaning for.
_OF_NUMBERS = ("own_range_SSE", "IL_variations", "IL1s", "eigenvalue", "pMSE", "subdomains", "GCP")


def assess(
    original: Any,
    masked: Any,
    quasi: Sequence[str] | None = None,
    confidential: Sequence[str] = (),
    intruder: Sequence[str] | None = None,
    key: str | None = None,
    seed: int = 0,
    csv: CsvOptions = None,
    progress: Progress = quiet,
    types: Mapping[str, AttributeType] | None = None,
    levels: Mapping[str, Sequence[Level]] | None = None,
    k: int = 2,
    weights: str | None = None,
    blocks: Sequence[Sequence[str]] | None = None,
    known: int | None = None,
    scenarios: Mapping[str, Sequence[Sequence[str]]] | None = None,
    edits: str | Sequence[str] | None = None,
    analyses: Sequence[str] = (),
    published: str | os.PathLike[str] | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    p_percent: float | None = None,
    dominance: Sequence[float] | None = None,
    magnitudes: Sequence[str] | None = None,
    unit: str | None = None,
    control: Any = None,
    tolerance: float = 0.05,
    sheet: str | None = None,
    recode: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Measure a masked table against its original, by every measure of loss and risk there is.

    Parameters
    ----------
    original, masked : dataframe or path
        The two tables: the same records in the same order, or told by a `key`. With a key, the masked table may leave
        records out: loss and risk are those of the records published.
    quasi : list of str, optional
        The attributes that were masked; every one that differs between the tables if left out.
    confidential : list of str, optional
        Attributes that were published as they are: how diverse they are among records that are published alike.
    intruder : list of str, optional
        The attributes, of those masked, that an intruder knows: one scenario beside the general measures.
    key : str, optional
        A column of both tables by which records are told, if the rows are not in the same order.
    seed : int
        Start of the random numbers for what is measured on a sample; each measure says whether it was.
    csv : Csv or dict, optional
        How CSV files are written, where looking at them is not enough.
    progress : callable, optional
        Called at the beginning of each step with its name.
    types, levels : mapping, optional
        Types of attributes, and levels of ordinal ones in order, where the original does not tell.
    k : int
        Values that fewer than so many records have are counted in columns released unchanged.
    weights : str, optional
        The attribute with the survey weights, by which records count in ``loss["IL"]`` and the loss of each attribute,
        as `shoal.protect` counts them. All other measures count records alike.
    blocks : list of lists of str, optional
        Attribute blocks: how well records hide from an intruder who knows some attributes of one block (1G), of two
        (2G), and so on.
    known : int, optional
        With `blocks`: how many attributes an intruder knows (3 if left out, or all if there are fewer).
    scenarios : mapping of str to lists of lists of str, optional
        Scenarios by name: for each, the sets of attributes that an intruder may know.
    edits : path or list of str, optional
        Rules whose violations are counted in both tables: a file of them, or rules line by line.
    analyses : list of str, optional
        Regressions that users of the data run, as ``income ~ age + C(educ)`` (`shoal.evidence.formula`).
    published : path, optional
        A file of figures that were published from the original (`shoal.evidence.published`).
    policy : Policy or path of a policy file, optional
        The limits of an office, held against what is measured; its ``formulas`` are run beside `analyses`, and its
        rules of dominance are those that are counted where none is given.
    p_percent, dominance, magnitudes : optional
        As in a plan: ``risk["dominance"]`` counts the groups of records published alike that break the p % rule or
        (n, k)-dominance, by `shoal.measures.dominance`.
    unit : str, optional
        The column of the original that tells which person or firm a record is of; the masked table need not have it.
        Groups are counted by units then, and units are the contributors of `p_percent` and `dominance`.
    control : dataframe or path, optional
        People of the same population who are not in the original, with its columns: what attacks achieve on them is no
        risk for the people in the file (see `shoal.evidence.attacks`).
    tolerance : float
        Guessed sensitive numbers are right within this share of the true value.
    sheet : str, optional
        The sheet of an Excel workbook, if several have data. With several files, one of them at least must have it.
    recode : mapping, optional
        How the original (and the control set) was recoded before it was masked, as in a plan. Losses do not count what
        recoding took away.

    Returns
    -------
    dict
        ``records`` that were compared, and how many of the original were ``suppressed``; ``quasi``, what was compared,
        and what was ``left_out`` for which reason; ``not_compared``, other columns that differ between the tables;
        ``loss`` as in `shoal.measures.loss_book`; ``risk`` as in
        `shoal.measures.risk_book`, with ``before`` and ``after`` as in `shoal.measures.exposure`, ``file`` as in
        `shoal.pipeline.whole_file.file_risk`, ``intruder`` where one was described, and ``scenarios`` where there
        are any (`_scenarios`), ``singling_out``, ``linkability`` and ``inference`` as in
        `shoal.evidence.attacks.attacks`, ``control`` as in `shoal.evidence.attacks.overlap` with the ``identifiers``
        that both files have (None without a control set); and the ``score`` of both together (`shoal.measures.score`;
        None where the original is all zeros). ``risk["DR"]`` is the mean of ``DLD`` on all attributes and ``ID_rank``,
        ``score_PIL`` the mean of PIL and DR (Torra, Cano & Navarro-Arribas 2009). All of these use every attribute that
        is compared. Measures of loss that are about numbers alone are in ``loss["of_numbers"]``, with the attributes
        that they cover, where not all attributes are numbers without missing values; the score then takes
        ``loss["IL"]``. With `edits`, for every rule how many records of the original and of the masked table break it.
        With a `unit`, ``before`` and ``after`` count units, and ``risk["units"]`` has the groups of fewer than k
        (`shoal.evidence.units.counted_units`). What users of the data see is of all records of both tables:
        ``estimates`` as in `shoal.evidence.estimates.estimates`; ``analyses`` as in
        `shoal.evidence.analyses.analyses`; and ``published`` as in `shoal.evidence.published.published_figures`, None
        without such figures. ``verdict`` as in `shoal.evidence.verdict.Verdict.as_json`, None without a policy.
    """
    limits = as_policy(policy)
    if limits is not None:
        p_percent = limits.p_percent if p_percent is None else p_percent
        dominance = limits.dominance_rule if dominance is None else dominance
    known_types: dict[str, Any] = {"types": types or {}, "levels": levels or {}, "recode": recode or {}}
    known_types |= {"edits": edits, "p_percent": p_percent, "dominance": dominance, "magnitudes": magnitudes}
    roles = {"quasi": quasi, "confidential": confidential, "weights": weights, "unit": unit}
    plan = Plan(k=k, seed=seed, csv=csv, sheet=sheet, **roles, **known_types)
    refuse_unknown_sheet(plan, original, masked, control)
    rules = rules_of(plan)
    wanted = [*([analyses] if isinstance(analyses, str) else analyses), *(limits.formulas if limits else [])]
    formulas = parse_formulas(list(dict.fromkeys(wanted)))
    figures = [] if published is None else read_published(published)
    progress("read", 0, 1)
    before, after = opened(original, plan), opened(masked, plan)
    refuse_unknown(before, {"recode": list(plan.recode)}, Message("the-original"))
    before = recoded_table(before, plan)
    refuse_formulas(limits, before)
    everyone, everybody = before, len(before)
    broken = _broken(rules, before, after, plan)
    before, rows = _matched(before, after, key)
    pairs, left_out = _attributes(before, after, rows, plan, key)
    names = [pair.attribute.name for pair in pairs]
    one = None if intruder is None else _known(intruder, names)
    several = _sets(blocks, known, scenarios, names, plan.seed or 0)
    spaces = linkage_spaces([pair.attribute for pair in pairs], [pair.masked for pair in pairs], plan)
    sides = _sides(everyone, before, after, rows, plan)
    with np.errstate(over="ignore", invalid="ignore"):
        regressions = measures.in_bounds(run_analyses(formulas, *sides, least(plan)))
        still = measures.in_bounds(published_figures(figures, *sides, plan, least(plan))) if figures else None
    progress("risk", 0, 1)
    labels = classes(after, names)[rows]
    risk = {
        "file": _whole_file(before, after, rows, pairs, plan),
        "before": exposure(before, names),
        "after": exposure(after, names),
        **measures.risk_book(spaces, plan.seed or 0),
        "diversity": measures.diversity_book(labels, _confidential(after, rows, plan)),
    }
    if plan.p_percent is not None or plan.dominance is not None:
        risk["dominance"], negative = _dominance(before, pairs, labels, plan)
        left_out["negative, in what is measured of dominance"] = negative
    if plan.unit is not None:
        units, original_classes = equal_values(before, plan.unit), classes(before, names)
        risk["before"] = exposure_of(added_sizes(units_in_classes(original_classes, units)))
        risk["after"] = exposure_of(added_sizes(units_in_classes(labels, units)))
        risk["units"] = {"column": plan.unit, **counted_units(labels, units, plan.k)}
    if one is not None:
        risk["intruder"] = {"attributes": one, "before": exposure(before, one), "after": exposure(after, one)}
        columns = [names.index(name) for name in one]
        risk["intruder"]["DLD"] = measures.linkage(*spaces.own, columns, measures.MOST_RECORDS, plan.seed or 0)
    if several:
        risk["scenarios"] = _scenarios(after, several)
    secrets = {name: _secret(before, after, rows, name, plan) for name in plan.confidential}
    sensitive = [pair for pair in secrets.values() if pair is not None]
    compared = [pair.attribute for pair in (*pairs, *sensitive)]
    people, risk["control"] = _strangers(control, everyone, compared, (key, unit), plan)
    risk |= attacks(_victims(pairs, sensitive, people, plan, tolerance))
    risk["inference"] = {name: risk["inference"].get(name) for name in secrets}
    progress("loss", 0, 1)
    loss = {**_loss_of_numbers(pairs), **_costs(pairs, _weights(before, plan))}
    if "PIL" not in loss:
        loss["PIL"] = measures.pil(spaces.original, spaces.masked, spaces.nominal)
    by_variations = loss["IL_variations"]["IL"] if "IL_variations" in loss else loss["IL"]
    id_ = risk["ID_rank"]["percent"]
    risk["DR"] = measures.disclosure_risk(risk["DLD"]["linked"], id_)
    equal = [pair.attribute.name for pair in pairs if pair.equal]
    with np.errstate(over="ignore", invalid="ignore"):
        seen = measures.in_bounds(estimates(_types(pairs, before, plan), equal, *sides, least(plan)))
    found = {
        "records": len(before),
        "suppressed": everybody - len(before),
        "quasi": names,
        "weights": plan.weights,
        "left_out": left_out,
        "not_compared": _not_compared(before, after, rows, {*names, *chain(*left_out.values()), key, unit}),
        "loss": loss,
        "risk": risk,
        "score": _score(by_variations, risk["DLD_average"]["linked"], id_),
        "score_PIL": _score(loss["PIL"]["PIL"], risk["DLD"]["linked"], id_),
        "edits": broken,
        "estimates": seen,
        "analyses": regressions,
        "published": still,
        "dominance_rules": {"p_percent": plan.p_percent, "dominance": plan.dominance},
    }
    return Figures(found, verdict=None if limits is None else judged(limits, found).as_json())


def _sides(everyone: Table, before: Table, after: Table, rows: NDArray[np.int64], plan: Plan) -> tuple[Side, Side]:
    """Return both tables as their users see them; a masked one without weights has those of the original's records."""
    masked = _in_order(after, rows)
    weights = _weights(masked if plan.weights in masked.names else before, plan)
    return Side(everyone, _weights(everyone, plan)), Side(masked, weights)


def _in_order(after: Table, rows: NDArray[np.int64]) -> Table:
    """Return the masked records in the order of the original ones."""
    in_place = np.array_equal(rows, np.arange(len(after)))
    return after if in_place else Table(after.to_arrow().take(rows), after.dialect)


def _types(pairs: list["_Pair"], before: Table, plan: Plan) -> dict[str, str]:
    """Return the types of the attributes that are compared, and of the confidential ones."""
    found: dict[str, str] = {pair.attribute.name: pair.attribute.type for pair in pairs}
    for name in plan.confidential:
        with suppress(DataError):  # of no type that has means or categories
            found.setdefault(name, plan.types.get(name) or infer_type(before, name))
    return found


def _score(il: float | None, dld: float, id_: float) -> float | None:
    return None if il is None else measures.score(il, dld, id_)


def _loss_of_numbers(pairs: list["_Pair"]) -> dict[str, Any]:
    """Measure what only numbers without gaps have a loss by: as that of the file if all attributes are such numbers.

    Otherwise the figures are in ``of_numbers``, with the ``attributes`` that they cover.
    """
    plain = [pair for pair in pairs if pair.plain]
    if not plain:
        return {}
    X, Y = _matrix([pair.attribute.codes for pair in plain]), _matrix([pair.masked for pair in plain])
    classes = measures.published_classes(Y)
    names = [pair.attribute.name for pair in plain]
    found = measures.loss_book(X, Y, names, classes.labels)
    if len(classes.size) == len(X):
        found["GCP"] = None  # nobody is published like another: there are no groups to have ranges
    if len(plain) == len(pairs):
        return found
    return {"of_numbers": {"attributes": names, **{name: found[name] for name in _OF_NUMBERS}}}


def _broken(rules: Sequence[Rule], before: Table, after: Table, plan: Plan) -> list[dict[str, Any]]:
    """Count the records that break each rule in both tables."""
    for table, what in ((before, Message("the-original")), (after, Message("the-masked-table"))):
        refuse_unknown(table, {f"rule '{rule.name}'": attributes_of(rule.condition) for rule in rules}, what)
    if not rules:
        return []
    domains = domains_of(before, rules)
    counts = [
        [int(flags.sum()) for _, flags in broken_in_sql(rules, records_of(table, rules, domains, levels))]
        for table, levels in (
            (before, rule_levels(before, rules, None, plan)),
            (after, rule_levels(after, rules, before, plan)),
        )
    ]
    return [
        {"rule": rule.name, "text": rule.text, "broken_before": one, "broken_after": two}
        for rule, one, two in zip(rules, *counts, strict=True)
    ]


def _dominance(
    before: Table, pairs: list["_Pair"], labels: NDArray[np.int64], plan: Plan
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Count the cells that contributors dominate, among records published alike; name what is negative."""
    numbers = {pair.attribute.name: pair.attribute for pair in pairs if pair.attribute.type == "continuous"}
    if unknown := [name for name in plan.magnitudes or [] if name not in numbers]:
        raise PlanError(*(_not_compared_too(name, "magnitudes", numbers=True) for name in unknown))
    negative = {name: each.codes < 0 for name, each in numbers.items() if (each.codes < 0).any()}
    if wrong := [name for name in plan.magnitudes or [] if name in negative]:
        raise DataError(*(negative_magnitude(name, int(negative[name].argmax()) + 1) for name in wrong))
    weights = _weights(before, plan)
    units = None if plan.unit is None else unit_codes(before, plan.unit)
    largest = None if plan.dominance is None else (int(plan.dominance[0]), float(plan.dominance[1]))
    names = [name for name in plan.magnitudes or numbers if name not in negative]
    found = {
        name: measures.dominance(labels, numbers[name].codes, plan.p_percent, largest, units, weights) for name in names
    }
    return found, [] if plan.magnitudes else list(negative)


def _whole_file(
    before: Table, after: Table, rows: NDArray[np.int64], pairs: list["_Pair"], plan: Plan
) -> dict[str, Any]:
    """Measure the risk of all columns; those that are the same in both tables were released unchanged.

    A sensitive column that changed counts as one of these: two files cannot tell what of it an intruder recognises.
    """
    changed = [pair for pair in pairs if not pair.equal]
    originals = {}
    for pair in changed:
        originals[pair.attribute.name] = np.empty(len(rows))
        originals[pair.attribute.name][rows] = pair.attribute.codes
    masked = list(originals)
    others = [name for name in after.names if name in before.names and name not in masked]
    ordered = _in_order(after, rows)
    roles = {name: role for role in ("quasi", "confidential", "weights") for name in plan.roles[role]}
    new = [name for name in others if not ordered.same_column(before, name)]
    masked += [name for name in new if roles.get(name) != "confidential"]
    nominal = [pair.attribute.name for pair in changed if pair.attribute.type in CATEGORIES]
    units: dict[str, Any] = {}
    if plan.unit is not None:
        units = {"unit": plan.unit, "units_of": np.empty(len(rows), np.int64)}
        units["units_of"][rows] = equal_values(before, plan.unit)
        units["known_unit"] = plan.unit in others and plan.unit not in masked
    found = whole_file(after, plan.k, masked, roles, originals=originals, nominal=nominal, **units)
    for name in new:
        if name in found["unchanged"]:
            found["unchanged"][name]["changed"] = True
    return found


class _Pair(NamedTuple):
    """An attribute of the original, and what the masked table has for it."""

    attribute: Attribute
    masked: Codes

    @property
    def plain(self) -> bool:
        """Whether it is a number that no record misses, for which there are all the measures."""
        complete = not (np.isnan(self.masked).any() or self.attribute.missing.any())
        return complete and self.attribute.type in NUMBERS

    @property
    def constant(self) -> bool:
        both = np.concatenate([self.attribute.codes, self.masked])
        return bool(np.array_equal(both, np.full(len(both), both[0]), equal_nan=True))

    @property
    def equal(self) -> bool:
        return bool(np.array_equal(self.attribute.codes, self.masked, equal_nan=True))


def _weights(before: Table, plan: Plan) -> Codes | None:
    """Return the survey weights of the original records."""
    if plan.weights is None:
        return None
    return positive_weights(before, plan.weights)


def _costs(pairs: list[_Pair], weights: Codes | None) -> dict[str, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        found = costs([pair.attribute for pair in pairs], [pair.masked for pair in pairs], weights)
    bounded: dict[str, Any] = measures.in_bounds(found)
    return bounded


def _matrix(columns: list[Codes]) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((0, 0))


def _confidential(
    after: Table, rows: NDArray[np.int64], plan: Plan
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.bool_], bool]]:
    found = {}
    for name in plan.confidential:
        codes, missing, ordered = confidential_codes(after, name, plan.types.get(name), plan.levels.get(name))
        found[name] = (codes[rows], missing[rows], ordered)
    return found


def _matched(before: Table, after: Table, key: str | None) -> tuple[Table, NDArray[np.int64]]:
    """Return the original records that were published, and the row of the masked table for each."""
    if key is None:
        if len(before) != len(after):
            raise unpaired(Message("the-original"), len(before), Message("the-masked-table"), len(after))
        return before, np.arange(len(before))
    wanted = record_keys(before, key, Message("the-original"))
    given = record_keys(after, key, Message("the-masked-table"))
    if unknown := pc.index_in(given, value_set=wanted).null_count:
        types = {"type": str(after.column(key).type), "original": str(before.column(key).type)}
        raise DataError("records-not-found", records=unknown, column=key, **types)
    places = pc.index_in(wanted, value_set=given)
    kept = places.is_valid().to_numpy(zero_copy_only=False)
    if not kept.all():
        rest = before.publish({}, keep=kept)
        before = replace(rest, spoiled=before.spoiled, disguised=before.disguised)
    return before, np.asarray(places.drop_null().to_numpy(zero_copy_only=False), dtype=np.int64)


def _attributes(
    before: Table, after: Table, rows: NDArray[np.int64], plan: Plan, key: str | None
) -> tuple[list[_Pair], dict[str, list[str]]]:
    """Pair the attributes to compare, and name those that are left out with the reason.

    Constant ones tell nothing. Of attributes that nobody named, neither do those that were not masked.
    """
    named = {"quasi": plan.masked, "confidential": plan.confidential, "types": list(plan.types)}
    own = {"levels": list(plan.levels), "weights": plan.roles["weights"], "unit": plan.roles["unit"]}
    refuse_unknown(before, {**named, **own}, Message("the-original"))
    if plan.unit is not None and (problem := UnitSummary.of(before, plan.unit, 1, 0).problem(plan.unit, 1)):
        raise DataError(problem)
    refuse_unknown(after, named, Message("the-masked-table"))
    gone = [name for name in before.names if name not in after.names]
    taken = {*gone, *plan.confidential, *own["weights"], *own["unit"], key or ""}
    asked = plan.masked or _that_may_differ(before, after, rows, taken)
    pairs = [_paired(before, after, rows, name, plan) for name in asked]
    constant = [pair.attribute.name for pair in pairs if pair.constant]
    equal = [pair.attribute.name for pair in pairs if pair.equal and not pair.constant]
    unmasked = equal if plan.quasi is None else []
    kept = [pair for pair in pairs if pair.attribute.name not in (*constant, *unmasked)] or pairs
    names = [pair.attribute.name for pair in kept]
    known = {key, *own["weights"], *own["unit"]}
    left_out = {
        "constant": [name for name in constant if name not in names],
        "equal in both tables": [name for name in unmasked if name not in names],
        "not in the masked table": [] if plan.quasi else [name for name in gone if name not in known],
    }
    return kept, left_out


def _that_may_differ(before: Table, after: Table, rows: NDArray[np.int64], taken: set[str]) -> list[str]:
    """Return the columns without another role that are numbers, or differ between the tables."""
    numbers, ordered = numbers_to_mask(before, taken), _in_order(after, rows)
    found = [
        name
        for name in before.names
        if name not in taken and (name in numbers or not ordered.same_column(before, name))
    ]
    if not found:
        raise DataError("nothing-to-compare")
    return found


def _not_compared(before: Table, after: Table, rows: NDArray[np.int64], known: set[str | None]) -> list[str]:
    """Return the columns that differ between the tables, of those that are not known."""
    ordered = _in_order(after, rows)
    others = [name for name in before.names if name in after.names and name not in known]
    return [name for name in others if not ordered.same_column(before, name)]


def _paired(before: Table, after: Table, rows: NDArray[np.int64], name: str, plan: Plan) -> _Pair:
    with _said_of("The original"):
        type_ = "ordinal" if name in plan.levels else plan.types.get(name) or infer_type(before, name)
        attribute = encode(before, name, type_, plan.levels.get(name))
    with _said_of("The masked table"):
        column = without_declared(after, name)
        masked = encode(after, name, type_).codes if type_ == "continuous" else attribute.read(column)
        if attribute.levels is not None and type_ in CATEGORIES:
            masked[np.isinf(masked)] = len(attribute.levels)  # a category that the original has not
            attribute = replace(
                attribute, levels=pa.concat_arrays([attribute.levels, pa.nulls(1, attribute.levels.type)])
            )
        if type_ not in CATEGORIES and np.isinf(masked).any():
            record = int(np.argmax(np.isinf(masked))) + 1
            raise DataError("value-not-comparable", column=name, record=record)
    return _Pair(attribute, masked[rows])


@contextmanager
def _said_of(what: str) -> Iterator[None]:
    """Add the name of the table to a mistake."""
    try:
        yield
    except DataError as error:
        raise DataError(*(each.about(each.field, what) for each in error.messages)) from None


def _secret(before: Table, after: Table, rows: NDArray[np.int64], name: str, plan: Plan) -> _Pair | None:
    """Pair a sensitive attribute; what has no other type is taken for categories, and None has no values to guess."""
    nominal = plan.model_copy(update={"types": {**plan.types, name: "nominal"}})
    for typed in (plan, nominal):
        with suppress(DataError):
            return _paired(before, after, rows, name, typed)
    return None


def _victims(
    pairs: list[_Pair], sensitive: list[_Pair], control: dict[str, Codes] | None, plan: Plan, tolerance: float
) -> Victims:
    if not 0 <= tolerance < 1:
        raise PlanError("tolerance-not-a-share", field="tolerance")
    return Victims(pairs, sensitive, control, plan, tolerance)


def _strangers(
    control: Any, everyone: Table, compared: list[Attribute], identifiers: Sequence[str | None], plan: Plan
) -> tuple[dict[str, Codes] | None, dict[str, Any] | None]:
    """Read the control set, and return what was looked for so that nobody of the file is in it."""
    if control is None:
        return None, None
    with _said_of("The control set"):
        table = recoded_table(opened(control, plan), plan)
        people = control_of(table, compared)
    told = [name for name in dict.fromkeys(identifiers) if name is not None and name in table.names]
    for name in told:
        refuse_same(name, *({*each.to_arrow()[name].to_pylist()} for each in (everyone, table)))
    found = overlap(compared, people)
    return people, {**found, "identifiers": told}


def _known(intruder: Sequence[str], names: list[str], field: str = "intruder") -> list[str]:
    try:
        known = Plan(k=2, quasi=intruder).masked  # a list of names like any other
    except PlanError as error:
        raise PlanError(*(each.about(field) for each in error.messages)) from None
    if unknown := [name for name in known if name not in names]:
        raise PlanError(*(_not_compared_too(name, field, numbers=False) for name in unknown))
    return known


def _not_compared_too(name: str, field: str, *, numbers: bool) -> Message:
    return Message("column-not-compared", field=field, column=name, numbers=numbers)


def _sets(
    blocks: Sequence[Sequence[str]] | None,
    known: int | None,
    scenarios: Mapping[str, Sequence[Sequence[str]]] | None,
    names: list[str],
    seed: int,
) -> dict[str, list[list[str]]]:
    """Return the sets of attributes of each scenario: those of attribute blocks first, then those with a name."""
    found: dict[str, list[list[str]]] = {}
    if blocks is None and known is not None:
        raise PlanError("does-not-apply-without", field="known", needed="attribute blocks", option="--block")
    if blocks is not None:
        given = [_known(block, names, "blocks") for block in blocks]
        every = [name for block in given for name in block]
        if twice := sorted({name for name in every if every.count(name) > 1}):
            raise PlanError(*(Message("names-twice", field="blocks", column=name) for name in twice))
        count = min(3, len(every)) if known is None else known
        if not 1 <= count <= len(every):
            raise PlanError("known-out-of-range", field="known", most=len(every))
        found = measures.scenarios_of_blocks(given, count, seed=seed)
    for name, sets in (scenarios or {}).items():
        if name in found:
            raise PlanError("scenario-named-twice", field="scenario", scenario=name)
        if not sets:
            raise PlanError("scenario-without-sets", field="scenario", scenario=name)
        found[name] = [_known(each, names, "scenario") for each in sets]
    return found


def _scenarios(after: Table, scenarios: Mapping[str, Sequence[Sequence[str]]]) -> dict[str, dict[str, Any]]:
    """Measure how well records hide in each scenario.

    Returns for each how many ``sets`` of attributes it has; ``real_k``, the mean over them of the records published
    alike on average, and ``least``, the least of these; the ``smallest`` group of all; and ``uniques``, the most
    records that a set singles out.
    """
    found = {}
    for name, sets in scenarios.items():
        seen = [exposure(after, each) for each in sets]
        found[name] = {
            "sets": len(sets),
            "real_k": float(np.mean([each["real_k"] for each in seen])),
            "least": min(each["real_k"] for each in seen),
            "smallest": min(each["smallest"] for each in seen),
            "uniques": max(each["uniques"] for each in seen),
        }
    return found
