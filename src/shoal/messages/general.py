"""Messages that several rooms use."""

ERRORS = {
    "applies-only-with": "applies only with {needed:option}. Add it, or leave this out.",
    "column-without-role": "'{column}' has no role. Proposed: {treatment} ({reason}).",
    "does-not-apply-with": "does not apply with {other:option}[, {why}]. Leave out one of them.",
    "does-not-apply-without": "does not apply without {needed}. Add {option:option}.",
    "missing-extra": "{feature} needs an extra that is not installed. Run pip install 'shoal-sdc[{extra}]'.",
    "names-twice": "names '{column}' more than once.",
    "not-for-method": "does not apply to {kind} '{method}'[, {why}]. {remedy}",
    "text-error": "{text}",
    "unknown-column": "There is no column '{column}'[ in {table}].[ Did you mean '{near}'?]",
}

WARNINGS = {
    "text-warning": "{text}",
}

NOTES = {
    "text": "{text}",
}
