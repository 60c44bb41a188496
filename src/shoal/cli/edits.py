"""The command that shows rules before anything is masked."""

from typing import Annotated, Any

import typer

from shoal.cli.options import Json, takes_plan
from shoal.cli.output import print_json, show
from shoal.cli.process import leave_pandas_out
from shoal.plan.fields import FILES


@takes_plan(
    *("quasi", "confidential", "identifiers", "aggregate", "types", "levels", "recompute", "adjust", "sheet", "csv")
)
def edits_command(
    options: dict[str, Any],
    data: Annotated[str, typer.Argument(help=f"The original file ({FILES}).")],
    rules: Annotated[str, typer.Argument(help="The rules: Schematron, or plain text with one rule per line.")],
    as_json: Json = False,
) -> None:
    """Run `shoal edits`."""
    leave_pandas_out()
    from shoal.cli.display import rules_table
    from shoal.evidence.edits import rules as looked_at

    found = looked_at(data, rules, **options)
    if as_json:
        print_json({"rules": found})
    else:
        show(rules_table, found)
