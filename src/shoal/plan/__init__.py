"""What is asked for: the plan, its fields, and what contradicts what; the same request as a command or as Python."""

from shoal.plan.model import Aggregate, AttributeType, Constraint, Csv, Effort, Method, Plan, Scale, Standardize, Tour

__all__ = [
    "Aggregate",
    "AttributeType",
    "Constraint",
    "Csv",
    "Effort",
    "Method",
    "Plan",
    "Scale",
    "Standardize",
    "Tour",
]
