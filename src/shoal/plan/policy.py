"""Policy: the limits of an office, which a release must meet before it goes out.

A policy is the office's, a plan the file's: what is published does not depend on it. Which figure is held against which
limit is in `shoal.evidence.verdict`.
"""

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from shoal.errors import PlanError
from shoal.plan.toml_file import read_toml

_RULES = ("p_percent", "dominance_rule")  # by which `dominance` is counted
_SETTINGS = ("name", "formulas", "not_measured", *_RULES)  # fields that are no limits

AtLeastTwo = Annotated[int, Field(ge=2)]
Count = Annotated[int, Field(ge=0)]
Percentage = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Values = Annotated[float, Field(gt=1, allow_inf_nan=False)]

_KINDS: dict[Any, str] = {
    AtLeastTwo: "a whole number of at least 2",
    Count: "a whole number of at least 0",
    Percentage: "a percentage from 0 to 100",
    Share: "a number from 0 to 1",
    Values: "a number above 1",
}


class Policy(BaseModel):
    """The limits of an office. A limit that is left out is none."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str | None = Field(None, description="the name of the policy, for the verdict")
    k: AtLeastTwo | None = Field(None, description="records that share every combination of what strangers may know")
    units: AtLeastTwo | None = Field(None, description="people, households or firms in every group")
    l: Values | None = Field(None, description="distinct values of every sensitive attribute in a group")  # noqa: E741 - the literature's own name
    t: Share | None = Field(None, description="distance of a sensitive attribute in a group from that in the file")
    dominance: Count | None = Field(None, description="groups whose total one contributor dominates")
    p_percent: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] | None = Field(
        None, description="p of the p % rule by which `dominance` is counted, or a larger one"
    )
    dominance_rule: tuple[int, float] | None = Field(
        None, description="n and k of (n, k)-dominance by which `dominance` is counted, or a smaller k", strict=False
    )
    unique_columns: Count | None = Field(None, description="columns released unchanged in which a record is unique")
    unique_records: Percentage | None = Field(None, description="unique records by what strangers may know")
    linkage: Percentage | None = Field(None, description="records linked by distance (DLD)")
    assignment: Percentage | None = Field(None, description="records found by optimal assignment")
    inference: Percentage | None = Field(
        None, description="gain of an attack on a sensitive value: what it guesses of what a blind guess misses"
    )
    loss: Percentage | None = Field(None, description="information loss IL")
    analyses: Share | None = Field(None, description="mean overlap of the confidence intervals of each regression")
    published: Percentage | None = Field(None, description="published figures that still come out")
    formulas: list[str] = Field([], description="the regressions that are run for `analyses`")
    not_measured: Literal["refuse", "allow"] = Field(
        "refuse", description="whether a limit whose figure was not measured stands in the way of 'passed'"
    )

    @model_validator(mode="wrap")
    @classmethod
    def _gather(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Report every mistake at once, in the words of the person who made it."""
        try:
            policy: Self = handler(data)
        except ValidationError as error:
            problems = [_sentence(str(detail["loc"][0]), detail["type"]) for detail in error.errors()]
            raise PlanError(list(dict.fromkeys(problems))) from None
        if policy.formulas and policy.analyses is None:
            how = "Add analyses, for example analyses = 0.8."
            raise PlanError([("policy.formulas", f"does not apply without a limit. {how}")])
        for name in _RULES:
            if getattr(policy, name) is not None and policy.dominance is None:
                raise PlanError([(f"policy.{name}", "does not apply without a limit. Add dominance = 0.")])
        if policy.dominance_rule is not None and not (
            policy.dominance_rule[0] >= 1 and 0 < policy.dominance_rule[1] <= 100
        ):
            raise PlanError([_sentence("dominance_rule", "range")])
        if not policy.limits:
            raise PlanError([("policy", "The policy has no limit. Add one, for example k = 5.")])
        return policy

    @property
    def limits(self) -> dict[str, float]:
        """The limits that are set."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name not in _SETTINGS}
        return {name: limit for name, limit in given.items() if limit is not None}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a policy file; without a name of its own, a policy has that of its file."""
        path = Path(path)
        found = read_toml(path, "policy file")
        try:
            return cls(**{"name": path.name, **found})
        except PlanError as error:
            raise PlanError(
                [(field.removeprefix("policy."), what) for field, what in error.problems], path.name
            ) from None


def as_policy(given: "Policy | str | os.PathLike[str] | None") -> Policy | None:
    """Return a policy, which may be given by the path of its file."""
    if not isinstance(given, Policy | str | os.PathLike | None):
        raise PlanError([("policy", "must be a Policy or the path of a policy file.")])
    return Policy.load(given) if isinstance(given, str | os.PathLike) else given


def _sentence(name: str, kind: str) -> tuple[str, str]:
    field = f"policy.{name}"
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(name, Policy.model_fields, n=1, cutoff=0.5)
        known = f"Did you mean '{close[0]}'?" if close else f"Limits are {', '.join(_limits())}."
        return field, f"is not a limit. {known}"
    if name == "formulas":
        return field, "must be a list of formulas, for example ['income ~ age']."
    if name == "p_percent":
        return field, "must be a percentage above 0, for example 10."
    if name == "dominance_rule":
        return field, "must be n, the contributors, and k, their share of the total in percent, for example [1, 60]."
    if name in _SETTINGS:
        return field, "must be 'refuse' or 'allow'." if name == "not_measured" else "must be a text."
    return field, f"must be {_must_be(name)}."


def _limits() -> list[str]:
    return [name for name in Policy.model_fields if name not in _SETTINGS]


def _must_be(name: str) -> str:
    kind = Policy.__annotations__[name]
    return next(text for of, text in _KINDS.items() if kind == of | None)
