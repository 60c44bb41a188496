"""What the screen shows: nothing of a sweep is cut off, and a certificate says what it proves."""

from io import StringIO

import pytest
from rich.console import Console

from shoal.cli.display import certified
from shoal.cli.sweep_display import sweep_table


def shown(width, losses=(1.5, 14.156, 38.048)):
    rows = [
        {
            "method": "univariate",
            "k": k,
            "groups": 100_000,
            "largest": 1_000,
            "IL": loss,
            "linked": 5.0,
            "unique": 0.0,
            "risk": 5.0,
        }
        for k, loss in enumerate(losses, start=8)
    ]
    written = StringIO()
    Console(file=written, width=width).print(sweep_table(rows, rows[1], "k = 9 meets the limits.", {}, []))
    return written.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_the_row_that_is_named_has_its_loss_a_bar_and_the_mark_on_one_line(width):
    [marked] = [line for line in shown(width) if "◀" in line]
    assert "14.156 %" in marked
    assert "█" in marked


@pytest.mark.parametrize("width", [80, 100, 140])
def test_bars_are_as_long_as_losses_and_none_is_cut_off(width):
    lines = [line for line in shown(width) if "univariate" in line]
    lengths = [line.count("█") for line in lines]
    assert lengths == sorted(lengths)
    assert lengths[-1] > 2 * lengths[-2]
    assert "…" not in "".join(lines)


def test_a_sweep_without_any_loss_has_no_bars():
    assert not any("█" in line for line in shown(80, losses=(0.0, 0.0)))


def test_a_bound_is_of_groups_within_the_strata_and_a_gap_of_nothing_is_the_lowest_possible():
    certificate = {"SSE": 2.0, "lower_bound": 1.6, "at_most_above_optimum": 25.0, "how": "nearest neighbours"}
    said = "SSE 2. Any groups of at least 3{} lose 1.6 or more (nearest neighbours), so this is {}the lowest possible."
    above = "at most 25 % above "
    assert certified(certificate, {"k": 3}) == said.format("", above)
    assert certified(certificate, {"k": 3, "strata": ["region"]}) == said.format(" within the strata", above)
    assert certified({**certificate, "at_most_above_optimum": 1e-7}, {"k": 3}) == said.format("", "")
    limits = {"k": 3, "l": 2, "t": 0.2, "unit": "firm"}
    assert certified(certificate, limits) == said.format(", with or without l, t and units,", above)
