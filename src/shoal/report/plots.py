"""The pictures of a report one by one, as Altair charts, for a notebook."""

from typing import TYPE_CHECKING

from shoal.errors import DataError, PlanError
from shoal.report.charts import RISKS, correlations_chart, distribution_chart, map_chart, sizes_chart
from shoal.report.distributions import distribution
from shoal.report.figures import Masked, correlation_change, group_sizes, least

if TYPE_CHECKING:
    from altair import LayerChart

    from shoal.evidence.sweep import Sweep
    from shoal.release import Release


def plot_sizes(release: "Release", block: int = 1) -> "LayerChart":
    """Draw how many groups of each size there are, of one of the attribute blocks, counted from 1."""
    found = group_sizes(release)
    if not found:
        raise DataError(f"there are no group sizes to show: {release.plan.method} forms no groups without a k")
    if not 1 <= block <= len(found):
        raise DataError(f"there is no attribute block {block}; the release has {len(found)}")
    title, sizes = found[block - 1]
    return sizes_chart(sizes, title)


def plot_distribution(release: "Release", name: str) -> "LayerChart":
    """Draw a masked attribute before and after, in bars of at least max(k, 10) original records."""
    plan = release.plan
    if name not in plan.changed or name in plan.confidential:
        raise DataError(f"'{name}' is no quasi-identifier that was masked, so there is no before and after to show")
    [(attribute, published)] = Masked.of(release).pairs([name])
    found = distribution(attribute, published, least(plan))
    if found is None:
        raise DataError(
            f"'{name}' cannot be shown in bars of at least {least(plan):,} records, and not in smaller ones"
        )
    return distribution_chart(found)


def plot_correlations(release: "Release") -> "LayerChart":
    """Draw by how much the correlation of every pair of changed numbers moved."""
    found = correlation_change(release)
    if found is None:
        raise DataError("there are no correlations to show: fewer than two numbers or dates were changed")
    return correlations_chart(*found)


def plot_map(sweep: "Sweep", risk: str = "reidentification") -> "LayerChart":
    """Draw the risk-utility map: loss against ``reidentification``, or the share ``linked`` by distance."""
    if risk not in RISKS:
        raise PlanError([("risk", f"must be {' or '.join(repr(each) for each in RISKS)}")])
    if all(row["IL"] is None or row[risk] is None for row in sweep.rows):
        raise DataError(f"there is nothing to draw: no row has both a loss and '{risk}'")
    return map_chart(sweep.rows, sweep.knee, risk)
