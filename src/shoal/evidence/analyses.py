"""Regressions that users of the data run: coefficients and their intervals from the original and the masked file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PlanError
from shoal.evidence.formula import Formula, Term, parse_formula, spelled
from shoal.evidence.sides import Categories, Label, Side, all_of, in_order, records_in, written
from shoal.measures.regression import (
    Fit,
    NotEstimable,
    independent,
    interval_overlap,
    least_squares,
    logistic,
    records_behind,
)
from shoal.messages import Message
from shoal.pipeline.treatment import refuse_unknown

CONFIDENCE = 0.95
MOST_CATEGORIES = 100  # of a term: more are numbers that were taken for categories

Vector = NDArray[np.float64]


def parse_formulas(texts: Sequence[str]) -> list[Formula]:
    """Read formulas; all mistakes are reported together."""
    found: list[Formula] = []
    problems: list[Message] = []
    for text in texts:
        try:
            found.append(parse_formula(text))
        except PlanError as error:
            problems += error.messages
    if problems:
        raise PlanError(*problems)
    return found


def analyses(formulas: Sequence[Formula], before: Side, after: Side, least: int = 1) -> list[dict[str, Any]]:
    """Estimate regressions from both files.

    Returns for each the ``formula``, its ``kind`` (linear, or logistic if the response is 0 and 1 in the original), the
    complete ``records`` in each file, and ``coefficients``: for each ``term`` the ``estimate``, the ends of the 95 %
    interval (``low``, ``high``) and whether it is ``significant``, ``before`` and ``after``; the ``overlap`` of the
    intervals (`shoal.measures.regression.interval_overlap`), how many standard errors of the original it ``moved``, and
    whether its ``sign`` and its ``significance`` were kept. What the masked file has no coefficient for has None
    ``after``, an overlap of 0, and keeps nothing; ``not_estimated`` says why. ``overlap`` is the mean over the
    coefficients and ``least`` the smallest; ``signs`` and ``significances`` are the percentages kept.

    What rests on fewer than `least` records of the original (`shoal.measures.regression.records_behind`) might show
    their values: it has None for ``before`` and for all that follows from it, and ``hidden`` counts such coefficients.
    The intercept is hidden with them: a coefficient follows from the mean of the response and all others. So is a whole
    regression whose complete records are those of the mean, or of an earlier regression of the same response, but for
    fewer than `least`. The mean and the percentages are those of all coefficients.

    Complete records only, in each file by itself, with the weights of that file. Categories are coded against the first
    one, in order, that both files have and that `least` records of the original have; if there is none, against the
    first that both files have.
    """
    for formula in formulas:
        refuse_unknown(before.table, {"analysis": formula.names}, Message("the-original"))
    found: list[dict[str, Any]] = []
    shown: dict[str, list[NDArray[np.bool_]]] = {}  # the records behind what is shown of each response
    for formula in formulas:
        sets = shown.setdefault(formula.response, [~np.isnan(_response(formula, before))])
        found.append(_analysis(formula, before, after, least, sets))
    return found


@dataclass(frozen=True)
class _Design:
    """The matrix of a regression, with the term and the label of every column, and the response."""

    X: NDArray[np.float64]
    y: Vector
    weights: Vector | None
    terms: list[str]
    labels: list[tuple[Label, ...]]
    complete: NDArray[np.bool_]  # the records of the file that it is made from


@dataclass(frozen=True)
class _Answer:
    """What the masked file answers: its matrix, the columns of it that have a coefficient, or why there is none."""

    design: _Design | None
    used: list[int]
    fit: Fit | None
    why: Message | None = None

    @property
    def coefficients(self) -> dict[tuple[Label, ...], dict[str, Any]]:
        if self.design is None or self.fit is None:
            return {}
        return {self.design.labels[j]: row for j, row in zip(self.used, _rows(self.fit), strict=True)}


def _analysis(
    formula: Formula, before: Side, after: Side, least: int, shown: list[NDArray[np.bool_]]
) -> dict[str, Any]:
    """Estimate a regression; `shown` are the sets of records behind what is shown of its response, to which it adds."""
    y = _response(formula, before)
    kind = "logistic" if np.isin(y[~np.isnan(y)], (0, 1)).all() else "linear"
    gone = [name for name in formula.names if name not in after.table.names]
    own = {name: before.categories(name) for name in formula.categorical}
    masked = {} if gone else {name: after.categories(name) for name in formula.categorical}
    first = {name: _reference(own[name], masked[name], least) for name in masked}
    one = _design(formula, before, own, first)
    fit = _fit_original(formula, one, kind)
    few = records_behind(one.X, one.weights) < least - 1e-6
    few[0] |= few.any()
    if any(0 < records_in(one.complete ^ other, before.weights) < least for other in shown):
        few[:] = True
    else:
        shown.append(one.complete)
    return _compared(formula, kind, one, fit, _masked(formula, kind, after, masked, first, gone), few)


def _masked(
    formula: Formula,
    kind: str,
    after: Side,
    codes: dict[str, Categories],
    first: dict[str, Label | None],
    gone: list[str],
) -> _Answer:
    """Estimate from the masked file; terms that depend on others there are left out."""
    design, used = None, []
    try:
        if gone:
            raise _Unanswered("masked-lacks-columns", columns=gone)
        if nothing := [name for name, label in first.items() if label is None]:
            raise _Unanswered("masked-lacks-categories", columns=nothing)
        design = _design(formula, after, codes, first, masked=True)
        if not len(design.y):
            raise _Unanswered("masked-lacks-records")
        used = [int(j) for j in np.flatnonzero(independent(design.X))]
        return _Answer(design, used, _fit(design, used, kind))
    except _Unanswered as error:
        return _Answer(design, used, None, error.why)
    except NotEstimable as error:
        term, why = _reason(error, design, used)
        return _Answer(design, used, None, why if term is None else Message("term-and-reason", term=term, reason=why))


class _Unanswered(Exception):
    """The masked file cannot answer a formula."""

    def __init__(self, code: str, /, **data: Any) -> None:
        self.why = Message(code, **data)
        super().__init__(self.why)


def _response(formula: Formula, side: Side) -> Vector:
    y = side.numbers(formula.response)
    if y is None:
        raise _wrong(formula, "response-not-a-number", column=formula.response)
    return y


def _wrong(formula: Formula, code: str, **data: Any) -> PlanError:
    return PlanError(code, field="analysis", formula=formula.text, **data)


def _reference(before: Categories, after: Categories, least: int) -> Label | None:
    """Return the category to which others are compared: the first that both files have, if possible a frequent one."""
    shared = in_order({*before.labels} & {*after.labels})
    counts = np.bincount(before.codes[before.codes >= 0], minlength=len(before.labels))
    frequent = {label for label, count in zip(before.labels, counts, strict=True) if count >= least}
    return next((label for label in shared if label in frequent), next(iter(shared), None))


def _design(
    formula: Formula,
    side: Side,
    codes: dict[str, Categories],
    first: dict[str, Label | None],
    masked: bool = False,
) -> _Design:
    """Build the matrix of a regression from the complete records of a file."""
    y = _number(formula, formula.response, side, masked)
    complete = ~np.isnan(y)
    for factor in {factor for term in formula.terms for factor in term}:
        if factor.categories:
            complete &= codes[factor.name].codes >= 0
        else:
            complete &= ~np.isnan(_number(formula, factor.name, side, masked))
    columns, terms = [np.ones(len(y))], ["Intercept"]
    labels: list[tuple[Label, ...]] = [("Intercept",)]
    for term in formula.terms:
        for label, column in _columns(formula, term, side, codes, first, complete, masked):
            columns.append(column)
            terms.append(spelled(term))
            labels.append((spelled(term), *label))
    X = np.column_stack([column[complete] for column in columns])
    kept = (X != 0).any(axis=0) | np.array([term == "Intercept" for term in terms])  # combinations that nobody has
    weights = None if side.weights is None else side.weights[complete]
    return _Design(
        np.ascontiguousarray(X[:, kept]),
        y[complete],
        weights,
        [term for term, keep in zip(terms, kept, strict=True) if keep],
        [label for label, keep in zip(labels, kept, strict=True) if keep],
        complete,
    )


def _number(formula: Formula, name: str, side: Side, masked: bool) -> Vector:
    found = side.numbers(name)
    if found is None and masked:
        raise _Unanswered("masked-not-a-number", column=name)
    if found is None:
        raise _wrong(formula, "term-not-a-number", column=name)
    return found


def _columns(
    formula: Formula,
    term: Term,
    side: Side,
    codes: dict[str, Categories],
    first: dict[str, Label | None],
    complete: NDArray[np.bool_],
    masked: bool,
) -> list[tuple[tuple[Label, ...], Vector]]:
    """Return the columns of a term with the categories that they stand for; those of a product are products."""
    found: list[tuple[tuple[Label, ...], Vector]] = [((), np.ones(len(complete)))]
    for factor in term:
        if not factor.categories:
            part: list[tuple[tuple[Label, ...], Vector]] = [((), _number(formula, factor.name, side, masked))]
        else:
            part = _indicators(formula, factor.name, codes[factor.name], first.get(factor.name), complete, masked)
        found = [((*a, *b), x * z) for a, x in found for b, z in part]
    return found


def _indicators(
    formula: Formula,
    name: str,
    categories: Categories,
    first: Label | None,
    complete: NDArray[np.bool_],
    masked: bool,
) -> list[tuple[tuple[Label, ...], Vector]]:
    """Return a column of 0 and 1 for each category in use but the first."""
    used = {categories.labels[code] for code in np.unique(categories.codes[complete])}
    if len(used) > MOST_CATEGORIES:
        many = {"categories": len(used), "column": name, "most": MOST_CATEGORIES}
        if masked:
            raise _Unanswered("masked-too-many-categories", **many)
        raise _wrong(formula, "too-many-categories", **many)
    order = in_order(used)
    reference = first if first in used else order[0] if order else None
    place = {label: code for code, label in enumerate(categories.labels)}
    return [((label,), (categories.codes == place[label]).astype(float)) for label in order if label != reference]


def _fit(design: _Design, used: Sequence[int], kind: str) -> Fit:
    estimate = logistic if kind == "logistic" else least_squares
    return estimate(np.ascontiguousarray(design.X[:, used]), design.y, design.weights)


def _fit_original(formula: Formula, design: _Design, kind: str) -> Fit:
    """Estimate from the original; what cannot be estimated there is a mistake in the formula."""
    if not len(design.y):
        raise _wrong(formula, "no-complete-record")
    if len(design.y) <= design.X.shape[1]:
        raise _wrong(formula, "too-few-complete-records", records=len(design.y), coefficients=design.X.shape[1])
    kept = independent(design.X)
    if not kept.all():
        terms = list(dict.fromkeys(design.terms[j] for j in np.flatnonzero(~kept)))
        raise _wrong(formula, "collinear-terms", terms=terms, number=len(terms))
    try:
        return _fit(design, range(design.X.shape[1]), kind)
    except NotEstimable as error:
        term, why = _reason(error, design, None)
        raise _wrong(formula, "not-estimable", term=term, why=why) from None


def _reason(error: NotEstimable, design: _Design | None, used: Sequence[int] | None) -> tuple[str | None, Any]:
    """Return why there are no coefficients, and the term that is at fault, if one is."""
    [why] = getattr(error, "messages", error.args)
    if error.column is None or design is None:
        return None, why
    return design.terms[error.column if used is None else used[error.column]], why


def _compared(
    formula: Formula, kind: str, one: _Design, fit: Fit, masked: _Answer, few: NDArray[np.bool_]
) -> dict[str, Any]:
    """Compare the coefficients of both files; those of the original that rest on few records are hidden."""
    other, after = masked.design, masked.coefficients
    published = set() if other is None else {*other.labels}
    coefficients: list[dict[str, Any]] = []
    for label, row, error in zip(one.labels, _rows(fit), fit.errors, strict=True):
        shown = _shown(label) if label in published else _hidden(label, len(coefficients))
        coefficients.append({"term": shown, "before": row, **_kept(row, after.get(label), float(error))})
    vanished = 0 if other is None else len({*one.labels} - published)
    overlaps = [each["overlap"] for each in coefficients]
    return {
        "formula": formula.text,
        "kind": kind,
        "confidence": CONFIDENCE,
        "records": {"before": len(one.y), "after": 0 if other is None else len(other.y)},
        "coefficients": [_without_before(row) if hide else row for row, hide in zip(coefficients, few, strict=True)],
        "hidden": int(few.sum()),
        "overlap": float(np.mean(overlaps)),
        "least": min(overlaps),
        "signs": 100 * float(np.mean([each["sign"] for each in coefficients])),
        "significances": 100 * float(np.mean([each["significance"] for each in coefficients])),
        "not_estimated": masked.why or _left_out(masked, vanished),
    }


def _left_out(masked: _Answer, vanished: int) -> Message | None:
    """Explain which terms the masked file has no coefficient for, though it has others."""
    reasons = [Message("terms-of-lost-categories", terms=vanished)] if vanished else []
    terms = [] if masked.design is None else masked.design.terms
    if dropped := dict.fromkeys(term for j, term in enumerate(terms) if j not in {*masked.used}):
        reasons.append(Message("terms-that-follow", terms=[*dropped], number=len(dropped)))
    return all_of(reasons)


def _rows(fit: Fit) -> list[dict[str, Any]]:
    low, high = fit.intervals(CONFIDENCE)
    return [
        {"estimate": float(b), "low": float(lo), "high": float(hi), "significant": not lo <= 0 <= hi}
        for b, lo, hi in zip(fit.estimates, low, high, strict=True)
    ]


def _kept(before: dict[str, Any], after: dict[str, Any] | None, error: float) -> dict[str, Any]:
    if after is None:
        return {"after": None, "overlap": 0.0, "moved": None, "sign": False, "significance": False}
    return {
        "after": after,
        "overlap": interval_overlap(before["low"], before["high"], after["low"], after["high"]),
        "moved": abs(after["estimate"] - before["estimate"]) / error if error > 0 else None,
        "sign": bool(np.sign(before["estimate"]) == np.sign(after["estimate"])),
        "significance": before["significant"] == after["significant"],
    }


def _without_before(row: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient without what the original says of it."""
    return {**row, **dict.fromkeys(("before", "overlap", "moved", "sign", "significance"))}


def _shown(label: tuple[Label, ...]) -> str:
    """Write a coefficient by its term and its categories, which the masked file has too."""
    term, *categories = label
    return f"{term}[{', '.join(written(each) for each in categories)}]" if categories else str(term)


def _hidden(label: tuple[Label, ...], number: int) -> str:
    """Write a coefficient of categories that only the original has: by its number, not by their names."""
    term, *categories = label
    return f"{term}[not in the masked file, {number}]" if categories else str(term)
