"""The resolved plan: every choice that a plan leaves to the table is filled in; nothing validates it again."""

from typing import Any, Self

from pydantic import Field

from shoal.plan.model import Plan


class ResolvedPlan(Plan):
    """A plan once the table is known: roles, types, levels, method and aggregates are decided.

    It is made by `shoal.pipeline.resolve.resolve` from a plan that was validated when it was made.
    """

    # The changed attributes that do not publish whole numbers or whole days, even if they were in the original, and why
    decimals: dict[str, str] = Field(default_factory=dict, exclude=True)

    @classmethod
    def of(cls, plan: Plan) -> "ResolvedPlan":
        """Start from what was asked for."""
        return ResolvedPlan.model_construct(
            plan.model_fields_set, **{name: getattr(plan, name) for name in Plan.model_fields}
        )

    @property
    def partitioned(self) -> list[list[str]]:
        """The attributes by which records are partitioned, one list for each partition."""
        return [self.used] if self.method == "hybrid" else self.in_blocks

    def publishes_whole(self, name: str) -> bool:
        """Whether an attribute of whole numbers or whole days is published as such."""
        return name not in self.decimals

    def decided(self, **choices: Any) -> Self:
        """Return the plan with choices filled in; they are right by construction."""
        return self.model_copy(update=choices)

    def updated(self, **options: Any) -> Plan:  # type: ignore[override]
        """Return a plan with other options in place of these, to be validated and resolved again."""
        return self.asked().updated(**options)

    def asked(self) -> Plan:
        """Return the same as a plan to run again, or to write to a file."""
        fields = {name: getattr(self, name) for name in Plan.model_fields}
        return Plan.model_construct(self.model_fields_set, **{**fields, "levels": self.given_levels})
