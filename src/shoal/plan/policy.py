"""Policy: the limits of an office, which a release must meet before it goes out.

A policy is the office's, a plan the file's: what is published does not depend on it. Which figure is held against which
limit is in `shoal.evidence.verdict`.
"""

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic_core import ErrorDetails

from shoal.errors import PlanError
from shoal.messages import Message
from shoal.plan.mistakes import not_a_choice, simple_mistake
from shoal.plan.toml_file import read_toml

_SETTINGS = ("name", "formulas", "not_measured", "p_percent", "dominance_rule")  # fields that are no limits
# Settings with the limits that they need.
_NEEDED = (
    ("formulas", "analyses", "analyses = 0.8"),
    ("p_percent", "dominance", "dominance = 0"),
    ("dominance_rule", "dominance", "dominance = 0"),
)

AtLeastTwo = Annotated[int, Field(ge=2)]
Count = Annotated[int, Field(ge=0)]
Percentage = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Values = Annotated[float, Field(gt=1, allow_inf_nan=False)]


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
            raise PlanError(*dict.fromkeys(map(_message, error.errors()))) from None
        for name, limit, example in _NEEDED:
            if getattr(policy, name) and getattr(policy, limit) is None:
                raise PlanError("does-not-apply-without", field=f"policy.{name}", needed="a limit", option=example)
        if policy.dominance_rule is not None and not (
            policy.dominance_rule[0] >= 1 and 0 < policy.dominance_rule[1] <= 100
        ):
            raise PlanError(_no_rule())
        if not policy.limits:
            raise PlanError("no-limits", field="policy")
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
            wrong = (each.about(str(each.field).removeprefix("policy."), path.name) for each in error.messages)
            raise PlanError(*wrong) from None


def as_policy(given: "Policy | str | os.PathLike[str] | None") -> Policy | None:
    """Return a policy, which may be given by the path of its file."""
    if not isinstance(given, Policy | str | os.PathLike | None):
        raise PlanError("not-a-kind", field="policy", kind="Policy", file="policy file")
    return Policy.load(given) if isinstance(given, str | os.PathLike) else given


def _message(detail: ErrorDetails) -> Message:
    """Return the message of one of pydantic's errors."""
    name = str(detail["loc"][0])
    field = f"policy.{name}"
    if detail["type"] == "extra_forbidden":
        near = next(iter(difflib.get_close_matches(name, Policy.model_fields, n=1, cutoff=0.5)), "")
        limits = [each for each in Policy.model_fields if each not in _SETTINGS]
        return Message("unknown-field", field=field, near=near, limits=limits)
    if name == "formulas":
        return Message("not-formulas", field=field)
    if name == "dominance_rule":
        return _no_rule()
    if name == "not_measured":
        return not_a_choice(field, detail["input"], ("refuse", "allow"))
    return simple_mistake(field, detail)


def _no_rule() -> Message:
    return Message("not-a-dominance-rule", field="policy.dominance_rule", example="[1, 60]")
