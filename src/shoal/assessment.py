"""assess(): what any masked table costs and risks, whoever made it. check(): is it k-anonymous?"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal import measures
from shoal.costs import costs
from shoal.editing import records_of, rules_of
from shoal.edits.evaluation import each_broken
from shoal.edits.expressions import Rule, attributes_of
from shoal.errors import CheckFailed, DataError, PlanError
from shoal.intersection import Earlier, differing, intersected, record_keys
from shoal.manifest import Manifest, load_manifest
from shoal.manifest_check import recheck
from shoal.plan import AttributeType, Csv, Plan
from shoal.roles import confidential_codes, numeric_attributes, refuse_unknown
from shoal.tables import Table, kind_of, open_table
from shoal.tables.attributes import CATEGORIES, NUMBERS, Attribute, Codes, Level, encode, infer_type, without_declared
from shoal.verify import classes, exposure, too_small
from shoal.words import counted
from shoal.work import Progress, quiet

_NO_NUMBERS = "of another type, or missing values, in what is measured on numbers alone"
CsvOptions = Csv | dict[str, str] | None


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
) -> dict[str, Any]:
    """Measure a masked table against its original, by every measure of loss and risk there is.

    Parameters
    ----------
    original, masked : dataframe or path
        The two tables: the same records in the same order, or told by a `key`.
    quasi : list of str, optional
        The attributes that were masked; every numeric one that differs between the tables if left out.
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
        Types of attributes, and levels of ordinal ones in order, where the original does not tell. Distances, linkage
        and the like are measured on numbers without gaps; for all others the loss by type, and how records hide.

    Returns
    -------
    dict
        ``records``; ``quasi``, what was compared, and what was ``left_out`` for which reason; ``loss`` as in
        `shoal.measures.loss_book`; ``risk`` as in `shoal.measures.risk_book`, with ``before`` and ``after`` as in
        `shoal.measures.exposure`, and ``intruder`` where one was described; and the ``score`` of both together
        (`shoal.measures.score`; None where the original is all zeros).
    """
    plan = Plan(k=2, quasi=quasi, confidential=confidential, seed=seed, csv=csv, types=types or {}, levels=levels or {})
    progress("read", 0, 1)
    before, after = _opened(original, plan), _opened(masked, plan)
    rows = _rows(before, after, key)
    pairs, left_out = _attributes(before, after, rows, plan, key)
    names = [pair.attribute.name for pair in pairs]
    known = None if intruder is None else _known(intruder, names)
    plain = [pair for pair in pairs if pair.plain]
    if len(plain) < len(pairs):
        left_out[_NO_NUMBERS] = [pair.attribute.name for pair in pairs if not pair.plain]
    X, Y = _matrix([pair.attribute.codes for pair in plain]), _matrix([pair.masked for pair in plain])
    progress("risk", 0, 1)
    labels = classes(after, names)[rows]
    risk = {
        "before": exposure(before, names),
        "after": exposure(after, names),
        **(measures.risk_book(X, Y, plan.seed or 0) if plain else {}),
        "diversity": measures.diversity_book(labels, _confidential(after, rows, plan)),
    }
    if known is not None:
        risk["intruder"] = {"attributes": known, "before": exposure(before, known), "after": exposure(after, known)}
        if columns := [j for j, pair in enumerate(plain) if pair.attribute.name in known]:
            linkage = measures.distance_linkage(X, Y, columns, measures.MOST_RECORDS, plan.seed or 0)
            risk["intruder"]["DLD"] = linkage
    progress("loss", 0, 1)
    loss = {
        **(measures.loss_book(X, Y, [pair.attribute.name for pair in plain], _alike(Y)) if plain else {}),
        **_costs(pairs),
    }
    if plain and risk["real_k"]["real_k"] == 1:
        loss["GCP"] = None  # nobody is published like another: there are no groups to have ranges
    il = loss["IL_variations"]["IL"] if plain else None
    score = None if il is None else measures.score(il, risk["DLD_average"]["linked"], risk["ID_rank"]["percent"])
    return {"records": len(before), "quasi": names, "left_out": left_out, "loss": loss, "risk": risk, "score": score}


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


def _costs(pairs: list[_Pair]) -> dict[str, Any]:
    with np.errstate(over="ignore", invalid="ignore"):
        found = costs([pair.attribute for pair in pairs], [pair.masked for pair in pairs])
    bounded: dict[str, Any] = measures.in_bounds(found)
    return bounded


def _alike(Y: NDArray[np.float64]) -> NDArray[np.int64]:
    return measures.published_classes(Y).labels


def _matrix(columns: list[Codes]) -> NDArray[np.float64]:
    return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((0, 0))


def _confidential(after: Table, rows: NDArray[np.int64], plan: Plan) -> dict[str, tuple[NDArray[np.int64], bool]]:
    found = {}
    for name in plan.confidential:
        codes, ordered = confidential_codes(after, name, plan.types.get(name), plan.levels.get(name))
        found[name] = (codes[rows], ordered)
    return found


def _opened(source: Any, plan: Plan) -> Table:
    """Open a table; what was said of CSV files holds for those of the two that are."""
    is_other = isinstance(source, str | os.PathLike) and Path(source).suffix and kind_of(source) != "csv"
    return open_table(source, None if is_other else plan.csv)


def _rows(before: Table, after: Table, key: str | None) -> NDArray[np.int64]:
    """Find the row of the masked table for each record of the original."""
    if len(before) != len(after):
        raise DataError(
            f"the original has {counted(len(before), 'record')} and the masked table {len(after):,}; they are "
            "compared one by one"
        )
    if key is None:
        return np.arange(len(before))
    wanted, given = record_keys(before, key, "the original"), record_keys(after, key, "the masked table")
    found = pc.index_in(wanted, value_set=given)
    if found.null_count:
        raise DataError(
            f"{counted(found.null_count, 'record')} of the original cannot be found in the masked table by key '{key}' "
            f"(of type {before.column(key).type} and {after.column(key).type})"
        )
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


def _attributes(
    before: Table, after: Table, rows: NDArray[np.int64], plan: Plan, key: str | None
) -> tuple[list[_Pair], dict[str, list[str]]]:
    """Pair the attributes to compare, and name those that are left out with the reason.

    Constant ones tell nothing. Of attributes that nobody named, neither do those that were not masked.
    """
    named = {"quasi": plan.masked, "confidential": plan.confidential, "types": list(plan.types)}
    refuse_unknown(before, {**named, "levels": list(plan.levels)}, "the original")
    refuse_unknown(after, named, "the masked table")
    gone = [name for name in before.names if name not in after.names]
    asked = plan.masked or numeric_attributes(before, {*gone, *plan.confidential, key or ""})
    pairs = [_paired(before, after, rows, name, plan) for name in asked]
    constant = [pair.attribute.name for pair in pairs if pair.constant]
    equal = [pair.attribute.name for pair in pairs if pair.equal and not pair.constant]
    unmasked = equal if plan.quasi is None else []
    kept = [pair for pair in pairs if pair.attribute.name not in (*constant, *unmasked)] or pairs
    names = [pair.attribute.name for pair in kept]
    left_out = {
        "constant": [name for name in constant if name not in names],
        "equal in both tables": [name for name in unmasked if name not in names],
        "not in the masked table": [] if plan.quasi else [name for name in gone if name in before.numeric],
    }
    return kept, left_out


def _paired(before: Table, after: Table, rows: NDArray[np.int64], name: str, plan: Plan) -> _Pair:
    with _said_of("original"):
        type_ = "ordinal" if name in plan.levels else plan.types.get(name) or infer_type(before, name)
        attribute = encode(before, name, type_, plan.levels.get(name))
    with _said_of("masked table"):
        column = without_declared(after, name)
        masked = encode(after, name, type_).codes if type_ == "continuous" else attribute.read(column)
        if attribute.levels is not None and type_ in CATEGORIES:
            masked[np.isinf(masked)] = len(attribute.levels)  # a category that the original has not
        if type_ not in CATEGORIES and np.isinf(masked).any():
            record = int(np.argmax(np.isinf(masked))) + 1
            raise DataError(f"column '{name}' holds in record {record} what cannot be compared with the original")
    return _Pair(attribute, masked[rows])


@contextmanager
def _said_of(what: str) -> Iterator[None]:
    """Say of which table a mistake is."""
    try:
        yield
    except DataError as error:
        raise DataError("\n".join(f"in the {what}, {line}" for line in str(error).splitlines())) from None


def _known(intruder: Sequence[str], names: list[str]) -> list[str]:
    try:
        known = Plan(k=2, quasi=intruder).masked  # a list of names like any other
    except PlanError as error:
        raise PlanError([("intruder", what) for _, what in error.problems]) from None
    if unknown := [name for name in known if name not in names]:
        raise PlanError([("intruder", f"'{name}' is not among the attributes that are compared") for name in unknown])
    return known


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
) -> dict[str, Any]:
    """Check that every combination of quasi-identifiers occurs at least k times, and that rules hold.

    Parameters
    ----------
    masked : dataframe or path
        The table to check, whoever made it.
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

    Returns
    -------
    dict
        ``records``, ``k``, ``quasi``, how many rules hold (``edits``) and the measures of `shoal.measures.exposure`.
        With a manifest, ``blocks`` instead of these, and what could not be verified again (``unverified``). With
        earlier releases, ``against`` as in `shoal.intersection.intersected`, and other columns that are not the same
        there (``differing``), so that rows may be in another order.

    Raises
    ------
    CheckFailed
        Saying how many combinations are too small, which rules are broken by how many records, every difference to the
        manifest, and what earlier releases reveal; what was counted is in its ``found``.
    """
    _refuse_contradictions(masked, k, quasi, edits, original, manifest, against, key)
    given = {"k": 2} if manifest is not None else {} if k is None else {"k": k}
    plan = Plan(**given, quasi=quasi, edits=edits, csv=csv)
    seen = _counted(masked, plan) if manifest is None else _again(masked, plan, load_manifest(manifest))
    rules = rules_of(plan)
    failures = [*seen.failures, *_disobeyed(seen, rules, None if original is None else _opened(original, plan))]
    found = {**seen.found, "edits": len(rules)}
    if against is not None:
        if seen.found["k"] is None:
            raise PlanError([("against", "needs a k, which this manifest has not; give k and quasi in its place")])
        earlier = _earlier(against, plan)
        revealed = intersected(seen.table, seen.blocks, seen.found["k"], earlier, key)
        names = [name for block in seen.blocks for name in block]
        found["against"] = revealed.found
        found["differing"] = [] if key else differing(seen.table, earlier, names)
        failures += revealed.failures
    if failures:
        raise CheckFailed(failures, found)
    return found


class _Seen(NamedTuple):
    """What is in a file that is checked: its quasi-identifiers by block, what was counted, and what does not hold."""

    table: Table
    blocks: list[list[str]]
    found: dict[str, Any]
    failures: list[str]
    manifest: Manifest | None = None


def _refuse_contradictions(
    masked: Any, k: Any, quasi: Any, edits: Any, original: Any, manifest: Any, against: Any, key: str | None
) -> None:
    problems = []
    if manifest is not None:
        twice = {"k": k, "quasi": quasi}
        problems = [(name, "comes from the manifest; leave it out") for name in twice if twice[name] is not None]
        if not isinstance(masked, str | os.PathLike):
            problems.append(("manifest", "is that of a file; give the masked file by its path"))
    if original is not None and edits is None:
        problems.append(("original", "does not apply without rules; give them with edits"))
    if key is not None and against is None:
        problems.append(("key", "does not apply without earlier releases; name them with against"))
    if isinstance(against, list | tuple) and not against:
        problems.append(("against", "names no earlier release; leave it out or name at least one"))
    if problems:
        raise PlanError(problems)


def _counted(masked: Any, plan: Plan) -> _Seen:
    """Count how often the combinations of quasi-identifiers occur."""
    table = open_table(masked, plan.csv)
    refuse_unknown(table, {"quasi": plan.masked})
    names = plan.masked or numeric_attributes(table)
    found = {"records": len(table), "k": plan.k, "quasi": names, **exposure(table, names)}
    return _Seen(table, [names], found, [*too_small(table, names, plan.k)])


def _again(masked: Any, plan: Plan, manifest: Manifest) -> _Seen:
    """Verify a file once more that has a manifest."""
    seen = recheck(Path(masked), manifest, plan.csv)
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
    return _Seen(seen.table, blocks, found, seen.failures, manifest)


def _disobeyed(seen: _Seen, rules: Sequence[Rule], original: Table | None) -> Iterator[str]:
    """Yield the rules that are broken, and what a manifest says of rules that cannot be."""
    said = None if seen.manifest is None else seen.manifest.verified.rules
    if not rules:
        if said is not None:
            seen.found["unverified"].append(f"that {counted(said.number, 'rule')} hold, which were not given")
        return
    if seen.manifest is not None and len(rules) != (number := 0 if said is None else said.number):
        yield f"{counted(len(rules), 'rule')} given, where the manifest speaks of {number:,}"
    for rule in rules:
        refuse_unknown(seen.table, {f"rule '{rule.name}'": attributes_of(rule.condition)}, "the masked table")
    broken = _broken(seen.table, rules, original)
    if said is not None and said.excused:
        seen.found["unverified"] += (f"{each}: original records that broke rules were kept" for each in broken)
    else:
        yield from broken


def _earlier(against: Any, plan: Plan) -> list[Earlier]:
    found = []
    for number, source in enumerate(against if isinstance(against, list | tuple) else [against], start=1):
        is_path = isinstance(source, str | os.PathLike)
        name = f"'{os.fspath(source)}'" if is_path else f"earlier release {number}"
        found.append(Earlier(name, _opened(source, plan)))
    return found


def _broken(table: Table, rules: Sequence[Rule], original: Table | None) -> Iterator[str]:
    for rule, broken in each_broken(rules, records_of(table, rules, original)):
        if broken.any():
            many = counted(int(broken.sum()), "record")
            yield f"rule '{rule.name}' is broken by {many}, first by {int(np.argmax(broken)) + 1}"
