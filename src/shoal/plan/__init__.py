"""What is asked for: the plan, its fields, and what contradicts what; the same request as a command or as Python."""

from shoal.plan.model import Aggregate, AttributeType, Constraint, Method, Plan, Standardize, Tour
from shoal.plan.parts import Csv, Effort, Scale
from shoal.plan.signature import plan_doc, plan_signature
from shoal.plan.spelling import in_python

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
    "in_python",
]

# `help(shoal.Plan)` and a notebook's tooltip show every field with its type, default and description.
Plan.__signature__ = plan_signature()
Plan.__doc__ = plan_doc()
