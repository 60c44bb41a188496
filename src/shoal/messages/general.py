"""Messages that several rooms use."""

ERRORS = {
    "applies-only-with": "applies only with {needed:option}. Add it, or leave this out.",
    "column-without-role": "'{column}' has no role. Proposed: {treatment} ({reason}).",
    "does-not-apply-with": (
        "['{value}' ]does not apply with {other:option}[, {why}].[ Use {instead:option}.]"
        "[{instead:!} Leave out one of them.]"
    ),
    "does-not-apply-without": "['{value}' ]does not apply without {needed}. Add {option:option}.",
    "empty": "is empty. Leave it out[, or list values, for example {example:option}].",
    "missing-extra": "{feature} needs an extra that is not installed. Run pip install 'shoal-sdc[[{extra}]]'.",
    "names-twice": "names '{column}' more than once.",
    "not-a-choice": (
        "[{near:?}'{value}' is not a choice. Did you mean '{near}'?]"
        "[{near:!}must be one of {choices:names}.][{near:!}must be '{only}'.]"
    ),
    "not-a-number": "must be a number.",
    "not-for-method": (
        "['{value}' ]does not apply to {kind} '{method}'[, {why}].[ Use {instead:option}.][ {remedy}]"
        "[{instead:!}{remedy:!} Leave it out.]"
    ),
    "not-text": "must be text.",
    "not-whole": "must be a whole number.",
    "too-large": "must be at most {limit:g}.",
    "too-small": "must be [{open:?}more than][{open:!}at least] {limit:g}.",
    "unknown-column": "'{column}' is not a column[ of {table}].[ Did you mean '{near}'?]",
}
