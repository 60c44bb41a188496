"""What rules are to a table: their class, what they tie together, who breaks them, and how masking keeps them."""

from typing import Any

import numpy as np

from shoal.edits.apply import explained, rules_of, with_blocks_of_rules, with_rules
from shoal.edits.evaluate import each_broken, near
from shoal.edits.levels import levels_of, refuse_incomparable
from shoal.edits.passes import domains_of, records_of
from shoal.pipeline.hybrid_edits import sums_of
from shoal.pipeline.resolve import with_attributes
from shoal.pipeline.treatment import refuse_other_columns
from shoal.plan import Plan
from shoal.tables import open_table
from shoal.tables.declared_codes import table_without_codes


def rules(table: Any, edits: Any, **options: Any) -> list[dict[str, Any]]:
    """Look at the rules of a table before it is masked.

    Parameters
    ----------
    table : dataframe or path
        The original data.
    edits : path or list of str
        A file of rules (Schematron, or plain text with a rule a line), or rules line by line.
    **options
        The fields of `Plan` that decide what is masked, and how: ``quasi``, ``identifiers``, ``types``,
        ``aggregate``, ``blocks``, ``recompute``, ``adjust``, ...

    Returns
    -------
    list of dict
        For every rule its name (``rule``), its ``text``, its ``class``, the ``attributes`` it ties together, how many
        records break it now (``broken``), the ``first`` of them, how many of these by rounding only (``rounding``),
        how it will be ``kept``, and whether that is ``promised`` by construction.

    Raises
    ------
    PlanError
        A rule cannot be read, speaks of what there is not, or does not go together with another.

    Examples
    --------
    >>> import pyarrow as pa, shoal
    >>> firms = pa.table({"wages": [1, 5, 2, 6], "other": [2, 1, 3, 3], "costs": [3, 6, 5, 9]})
    >>> [found] = shoal.rules(firms, ["wages + other == costs"])
    >>> found["class"], found["broken"], found["kept"]
    ('EC-LC', 0, 'arithmetic means, rounded so that the sum is exact as written')
    """
    rank = options.get("rank")
    least = rank if isinstance(rank, int) and rank > 2 else 2
    k = {} if options.get("method") == "ms" else {"k": least}  # which forms no groups
    plan = Plan(**{**k, **options, "edits": edits})
    source = table_without_codes(open_table(table, plan.csv, plan.sheet), plan.missing_codes)
    read = rules_of(plan)
    refuse_other_columns(plan, source)
    plan = with_attributes(plan, source)
    if plan.blocks == "edits":
        plan = with_blocks_of_rules(plan, read, plan.block_size or 3)
    levels = levels_of(source, read, plan.levels)
    refuse_incomparable(read, source, levels)
    _, kept = with_rules(plan, source.names, read)
    if plan.draws:
        sums_of(read, plan)  # refuses all others
    records = records_of(source, read, domains_of(source, read), levels)
    found = list(explained(kept))
    for row, (rule, broken) in zip(found, each_broken(read, records), strict=True):
        row["broken"] = int(broken.sum())
        row["first"] = int(np.argmax(broken)) + 1 if broken.any() else None
        row["rounding"] = int(near(rule, records).sum()) if broken.any() else 0
    return found
