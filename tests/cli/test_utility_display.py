"""What the screen says of the coefficients of a regression."""

import pytest
from rich.console import Console

from shoal.cli.utility import utility


@pytest.mark.parametrize(
    ("sign", "before", "after", "said"),
    [
        (True, True, True, ""),
        (True, True, False, "significance lost"),
        (True, False, True, "now significant"),
        (False, True, True, "sign lost"),
        (False, True, False, "sign and significance lost"),
        (False, False, True, "sign lost, now significant"),
    ],
)
def test_a_significance_that_was_gained_is_not_called_lost(sign, before, after, said):
    side = {"estimate": 1.0, "low": 0.5, "high": 1.5}
    row = {"term": "age", "overlap": 0.7, "sign": sign, "significance": before == after}
    row |= {"before": {**side, "significant": before}, "after": {**side, "significant": after}}
    analysis = {"formula": "income ~ age", "kind": "linear", "records": {"before": 9, "after": 9}}
    analysis |= {"coefficients": [row], "not_estimated": None, "overlap": 0.7, "least": 0.7}
    analysis |= {"signs": 100, "significances": 0}
    nothing = {"distances": {}, "means": {}, "tables": [], "left_out": None}
    console = Console(width=200)
    with console.capture() as capture:
        console.print(utility({"estimates": nothing, "analyses": [analysis], "published": None}))
    [line] = [line for line in capture.get().splitlines() if line.startswith("age")]
    assert line.split("0.70")[1].strip() == said
