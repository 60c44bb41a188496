"""Protect a Spark DataFrame: the same plan, the same groups, on a cluster.

Needs the extra ``spark`` and Java 17 or later; every worker's Python needs Shoal too.
"""

import os
from typing import TYPE_CHECKING, Any

from shoal.errors import MissingExtra
from shoal.parallel import Progress, quiet
from shoal.plan import Plan
from shoal.release import Release
from shoal.release import protect as _protect

try:
    import pandas  # noqa: F401 - Spark's Arrow functions ask for it
    import pyspark  # noqa: F401
except ImportError:
    raise MissingExtra("shoal.spark", "spark") from None

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["protect"]


def protect(
    df: "DataFrame",
    plan: Plan | str | os.PathLike[str] | None = None,
    *,
    progress: Progress = quiet,
    **options: Any,
) -> Release:
    """Protect a DataFrame: `shoal.protect` for a table that Spark holds.

    Records are divided into blocks (``scale.block_size``, 250,000 if not given) as they are on one machine, and every
    block is masked where it lies. The release is that of the other engines for the same blocks, record by record; a
    DataFrame has no order, and nor has the release.

    The DataFrame is read several times, mostly its masked columns only: cache it if it is expensive to make. It must be
    the same each time.

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
    Release
        The protected DataFrame, verified by Spark; ``release.save`` writes it.

    Raises
    ------
    PlanError, DataError
        What is asked for is wrong, or the table cannot be used as asked.
    CheckFailed
        The release is not what it claims to be.
    """
    return _protect(df, plan, progress=progress, **options)
