"""The command that looks at rules before anything is masked."""

from typing import Annotated

import typer

from shoal.cli.options import (
    FILES,
    Adjust,
    Aggregate,
    Confidential,
    Decimal,
    Delimiter,
    Encoding,
    Identifiers,
    Json,
    Levels,
    MissingWord,
    Quasi,
    Quote,
    Recompute,
    Type,
    csv_of,
    given,
    lists,
    names,
    one_or_pairs,
    pairs,
)
from shoal.cli.output import print_json, stdout


def edits_command(
    data: Annotated[str, typer.Argument(help=f"The original file: {FILES}.")],
    rules: Annotated[str, typer.Argument(help="The rules: Schematron, or plain text with a rule a line.")],
    quasi: Quasi = None,
    identifiers: Identifiers = None,
    confidential: Confidential = None,
    type_: Type = None,
    levels: Levels = None,
    aggregate: Aggregate = None,
    recompute: Recompute = None,
    adjust: Adjust = None,
    delimiter: Delimiter = None,
    quote: Quote = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    missing_word: MissingWord = None,
    as_json: Json = False,
) -> None:
    """Show what rules there are: their class, what they tie together, who breaks them, how masking keeps them."""
    from shoal.cli.display import rules_table
    from shoal.evidence.edits import rules as looked_at

    found = looked_at(
        data,
        rules,
        **given(
            quasi=names(quasi),
            identifiers=names(identifiers),
            confidential=names(confidential),
            types=pairs("type", type_),
            levels=lists("levels", levels),
            aggregate=one_or_pairs("aggregate", aggregate),
            recompute=names(recompute),
            adjust=names(adjust),
            csv=csv_of(delimiter, quote, decimal, encoding, missing_word),
        ),
    )
    if as_json:
        print_json({"rules": found})
    else:
        stdout().print(rules_table(found))
