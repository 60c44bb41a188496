"""Protect a Spark DataFrame: the same plan, the same groups, on a cluster.

Needs the extra ``spark`` and Java 17 or later; every worker's Python needs Shoal too.
"""

import os
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtra, PlanError
from shoal.parallel import Progress, quiet
from shoal.plan import Plan

try:
    import pandas  # noqa: F401 - Spark's Arrow functions ask for it
    import pyspark  # noqa: F401
except ImportError:
    raise MissingExtra("shoal.spark", "spark") from None

from shoal.backends.spark import dataframe as _engine
from shoal.backends.spark.dataframe import SparkRelease
from shoal.backends.spark.files import protect_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkRelease", "protect", "protect_files"]


def protect(
    df: "DataFrame",
    plan: Plan | str | os.PathLike[str] | None = None,
    *,
    progress: Progress = quiet,
    **options: Any,
) -> SparkRelease:
    """Protect a DataFrame: put its records into groups of at least k, publish one representative per group.

    Records are divided into blocks (``scale.block_size``, 250,000 if not given) as they are on one machine, and every
    block is masked where it lies. The release is that of the local engine for the same blocks, record by record; a
    DataFrame has no order, and nor has the release.

    The DataFrame is read about eight times, mostly its masked columns only: cache it if it is expensive to make. It
    must be the same each time.

    Parameters
    ----------
    df : DataFrame
        Of a Spark session that is not a Spark Connect one.
    plan : Plan or path of a plan file, optional
        What is asked for; single `options` take precedence. Its input and output are not used.
    progress : callable, optional
        Called with the name of each step.
    **options
        The fields of `shoal.Plan`.

    Returns
    -------
    SparkRelease
        The protected DataFrame, verified by Spark.

    Raises
    ------
    PlanError, DataError
        What is asked for is wrong, or the table cannot be used as asked.
    CheckFailed
        The release is not what it claims to be.
    """
    if isinstance(plan, str | os.PathLike):
        plan = Plan.load(plan)
    if not isinstance(plan, Plan | None):
        raise PlanError([("plan", "must be a Plan or the path of a plan file; options are given by name, as k=3")])
    return _engine.protect(df, Plan(**options) if plan is None else plan.updated(**options), progress)
