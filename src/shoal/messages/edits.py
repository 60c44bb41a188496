"""Messages on edit rules: reading them, planning how they are kept, records that break them, and their verification."""

# Position at which a rule cannot be read. A rule of a file is never quoted, because the file might hold data.
_AT = "[rule {number}][line {line}][ of '{file}'][, position {position}][, at '{excerpt}'][{end:?}, at its end]: "
_CONTRADICTS = "The manifest contradicts itself: "

ERRORS = {
    # Files and lists of rules
    "more-unread-rules": "{number:more rule} cannot be read.",
    "no-rules": "There is no rule in [{file:!}the list]['{file}']. Write one, or leave out --edits.",
    "not-rules": "must be the path of a file of rules, or a list of rules as texts.",
    "not-schematron": "'{file}' is not Schematron: its root is neither a <schema> nor a <pattern>.",
    "rule-too-complex": _AT + "the rule has more than {most} values and conditions, or is nested too deeply. Split it.",
    "rule-too-long": _AT + "this has {characters:,} characters, more than the {most:,} of a rule. Split it.",
    "not-utf8": (_AT + "this is not text in UTF-8. Save it in that encoding, or type it again."),
    "several-roots-not-utf8": "'{file}' has several roots and is not in UTF-8. Put one <schema> around its patterns.",
    # Rules in either language
    "condition-as-value": _AT + "this is a condition where a value is expected; join conditions with 'and' or 'or'.",
    "constant-too-large": _AT + "the number is too large.",
    "division-by-zero-in-rule": _AT + "this divides by zero. Leave it out.",
    "only-constants-in-sets": _AT + "a set holds only numbers, and texts in quotes.",
    "only-for-attributes": _AT + "{what} applies only to an attribute.",
    "text-as-number": _AT + "a text cannot be calculated with; numbers stand without quotes.",
    "value-as-condition": _AT + "this is a value where a condition is expected; compare it, as in {example}.",
    # Rules in plain text
    "attribute-not-named": _AT + "the rule names no attribute.",
    "bracket-not-closed": _AT + "')' is expected to close the bracket.",
    "function-unknown": _AT + "unknown function; the functions are {functions:names}.",
    "in-missing": _AT + "'in' is expected after 'not' that follows a value.",
    "name-before-colon": _AT + "a name is expected before the colon.",
    "number-not-readable": (
        _AT
        + "this is not a number; write numbers as 1000, .5 or 1e3, and names that begin with a digit in `backticks`."
    ),
    "operator-expected": _AT + "the rule should end here, or go on with an operator, 'and', 'or', 'in' or 'is'.",
    "other-spelling": _AT + "write '{instead}'[, or '{between}' between two values].",
    "powers-not-supported": _AT + "powers are not supported; write x * x.",
    "property-expected": _AT + "'missing' or 'integer' is expected after 'is'.",
    "quote-not-closed": _AT + "the {backtick:~backtick/quote} is never closed[{backtick:?}, or nothing is in it].",
    "second-colon": _AT + "one colon may stand in a rule, after its name.",
    "set-expected": _AT + "a set such as {numbers} or {texts}, or the word 'original', is expected after 'in'.",
    "set-not-closed": _AT + "'{bracket}' is expected to close the set, or a comma and another constant.",
    "square-bracket": _AT + "an interval is written {interval}, a set {set}.",
    "then-missing": _AT + "'then' is expected after the condition of 'if'.",
    "unexpected-character": _AT + "unexpected character; write names that contain it in `backticks`.",
    "value-expected": _AT + "a number, a text in quotes, an attribute or a bracket is expected here.",
    # XPath
    "attribute-expected": _AT + "this is the whole {what}; name an attribute of a record.",
    "descendants-not-supported": _AT + "'//' is read only behind document('...'); name an attribute of the record.",
    "element-in-every-record": (
        _AT + "the element '{name}' is in every record, without text where the value is missing; write {name} != '' to "
        "ask whether there is a value, or {name} = ''."
    ),
    "empty-sequence": _AT + "an empty sequence equals nothing; write V1 = '' for a missing value.",
    "integer-division": _AT + "idiv is not supported; write floor(a div b) where both are positive.",
    "not-xpath": _AT + "this is not XPath[: {reason}].",
    "original-attribute-expected": _AT + "an attribute of the original data is expected here, as $original//Record/V1.",
    "original-out-of-place": (
        _AT + "the original data may stand only on one side of '=' or in exists(index-of(..., V1))."
    ),
    "outside-of-records": _AT + "this is outside of the records; define the variable within the rule.",
    "path-start": _AT + "a path may start at an attribute, at '.', or at the original data.",
    "path-too-long": _AT + "a path may lead to an attribute of the record, by its name, and no further.",
    "prefixed-name": _AT + "names with a prefix are not names of attributes.",
    "sequence-as-value": _AT + "a sequence goes on one side of '=', as in V1 = ('a', 'b').",
    "sequence-compared": _AT + "several values are compared only by '='; their opposite is not(V1 = ...).",
    "several-records": (
        _AT + "[{what}() looks][{what:!}a path from the root of the file looks] at several records; a rule may look at "
        "one."
    ),
    "variable-undefined": _AT + "no <let> before this defines '{name}'.",
    "xpath-not-supported": (
        _AT + "'{symbol}' is not supported[; write {instead}][{instead:!}; a test may have names of attributes, "
        "constants, number(), string(), + - * div mod, abs(), round(), floor(), ceiling(), comparisons, and, or, "
        "not(), if, exists(), empty() and document()]."
    ),
    # Schematron
    "condition-not-on-record": _AT + "a condition may stand only behind the record.",
    "context-not-a-path": (
        _AT + "a context is a path of names, such as Record, //Record or Record[[number(V8) < 1115]]."
    ),
    "element-misplaced": _AT + "<{element}> has no place within <{parent}>.",
    "element-without-attribute": _AT + "<{element}> needs the attribute '{attribute}'.",
    "schematron-not-supported": (
        _AT + "[{attribute:!}<{element}>][the attribute '{attribute}' of <{element}>] is not supported. Write the "
        "rules out in this file."
    ),
    "second-record": (
        _AT + "the context makes '{name}' the record, which is '{record}' elsewhere; a rule on an attribute has the "
        "context Record/V1 and calls its value '.'."
    ),
    "unreachable-rule": (
        _AT + "a rule above takes all records, and a pattern tests each by one rule; give this its own pattern."
    ),
    # Rules and the columns of a table
    "column-not-for-rules": (
        "Column '{column}' has neither numbers, text nor dates, so no rule can use its values. Leave the rule out."
    ),
    "constant-not-a-level": (
        "rule '{rule}' compares '{column}' with a constant that is none of its levels. Use one of the levels, or add "
        "it with --levels."
    ),
    "different-levels": (
        "rule '{rule}' compares '{column}' and '{other}', which have different levels. Give both the same list with "
        "--levels, or leave the rule out."
    ),
    "label-of-a-code": "rule '{rule}' compares '{column}', which holds codes, with the label of one. Use the code.",
    "number-compared-with-text": (
        "rule '{rule}' compares '{column}', a number,[{order:?} by order] with a text. Use a number."
    ),
    "rule-needs-original": "a rule needs the original data. Add the original, or leave the rule out.",
    "rule-on-dropped-column": "rule '{rule}' names '{column}', an identifier, which is dropped. Leave the rule out.",
    "rule-on-unknown-column": (
        "[{rule:!}a rule][rule '{rule}'] names '{column}', which is not a column of [{original:!}the table]"
        "[{original:?}the original data]. Correct the name, or leave the rule out."
    ),
    "text-without-order": (
        "rule '{rule}' compares '{column}' by order, which is text without ordered levels. List them with "
        "--levels={column}=X,Y,Z, or leave the rule out."
    ),
    "too-many-values-for-rule": (
        "Column '{column}' has more than {most:,} different values, and a rule needs all of them. Leave the rule out."
    ),
    "words-as-numbers": (
        "rule '{rule}' calculates with '{column}', [{ordered:?}whose levels have an order but no "
        "distances][{ordered:!}which has no numbers]. Compare it without arithmetic and number(), or leave the rule "
        "out."
    ),
    # How rules are kept
    "aggregate-breaks-rule": (
        "{number:~rule/rules} {rules:names} {number:~needs/need} the aggregate {allowed:or} of '{column}', not "
        "{aggregate}. Leave out --aggregate, or the {number:~rule/rules}."
    ),
    "computed-by-two-rules": (
        "'{column}' would be computed from {one:names} and from {other:names}, by two rules. Leave one out, or use "
        "--recompute with another attribute of one of them."
    ),
    "computed-in-a-circle": "{columns:names} would be computed from one another, in a circle. Recompute fewer of them.",
    "not-adjustable": "'{column}' cannot be adjusted: it is in no sum of a rule.",
    "not-recomputable": "'{column}' cannot be recomputed: no rule determines it, or it is not masked, or not a number.",
    "order-needs-one-aggregate": (
        "rule '{rule}' needs the same increasing aggregate of '{column}' and '{other}'[, and {odd:and} "
        "{number:~is/are} not increasing][, which have {found:and}]. Use one for both, or leave a rule out."
    ),
    "rule-across-blocks": (
        "rule '{rule}' ties {columns:names}, which must share an attribute block. Put them into one block, or leave "
        "the rule out."
    ),
    "rule-separates-by-sensitive": (
        "rule '{rule}' would separate records by {columns:names}, sensitive, so all members of a group would share its "
        "value. Add it to --quasi, or leave the rule out."
    ),
    "rule-ties-unmasked": (
        "rule '{rule}' ties {columns:names} (masked) to {others:names} (released unchanged). Mask all of them, or "
        "leave the rule out."
    ),
    "rules-need-different-aggregates": (
        "'{column}' needs {wanted:and}, which do not go together. Leave one of the rules out[, or compute another "
        "attribute from the rest, such as --recompute={computed}][, or let others give way so that the sum holds, such "
        "as --adjust={adjusted}], or publish whole records with --aggregate=medoid."
    ),
    "totals-not-with-rules": (
        "cannot be kept with {number:~rule/rules} {rules:names}, which {number:~changes/change} what groups publish. "
        "Leave one of them out."
    ),
    # Masking
    "no-record-obeys": (
        "Rule '{rule}' cannot be kept in {groups:group}, in which no complete record obeys it to the last digit. "
        "Correct the original, write the rule in plain text, where rounding does not count, or leave it out."
    ),
    "not-computable": (
        "'{column}' cannot be computed from {columns:names} in every group: something is divided by zero, or too "
        "large. Use --recompute with another attribute, or leave the rule out."
    ),
    "sizes-too-different": (
        "{small:names} and {large:names} are too different in size for a sum of them to hold exactly. Leave out the "
        "rule that ties them together, or use another unit."
    ),
    "sums-too-large": (
        "The sums of {columns:names} are too large to be exact[ in multiples of {step}]. Use a larger unit."
    ),
    "whole-tied-to-fractions": (
        "{columns:names} must hold whole numbers, and a rule ties them to {others:names}, which hold fractions in the "
        "original. Leave out what makes them whole (--round, or a rule), or the rule that ties them."
    ),
    # Records that break rules
    "original-breaks-rules": (
        "The original data break rules: {broken:;}[ and {more:more rule}]. Correct them, or leave them out with "
        "--edits-original=exclude[{keep:?}, or keep them with --edits-original=keep]."
    ),
    "release-breaks-rule": (
        "Rule '{rule}' is broken by {records:record}[ (first: record {first})].[{medoid:?} Publish whole records with "
        "--aggregate=medoid, or leave the rule out.][{alone:?} Leave the rule out.]"
    ),
    # Manifests that contradict themselves
    "block-not-verified": _CONTRADICTS + "groups by {columns:names} of the plan were not verified.",
    "contradicts-blocks": _CONTRADICTS + "its blocks have other columns than its quasi-identifiers.",
    "contradicts-diversity": (
        _CONTRADICTS + "diversity was verified for {columns:column}, where the plan promises it for {promised:,}."
    ),
    "contradicts-groups": (_CONTRADICTS + "the groups that were verified are by other columns than those of the plan."),
    "contradicts-plan": (_CONTRADICTS + "its plan and what was verified differ in {fields:and}."),
    "identifier-published": _CONTRADICTS + "identifiers of the plan are among the columns.",
    "column-not-published": (
        _CONTRADICTS + "{columns:names}[{determine:!} of the plan][{determine:?}, said to determine originals,] "
        "{number:~is/are} not among the columns."
    ),
    "two-roles-in-plan": _CONTRADICTS + "{columns:names} {number:~has/have} two roles in the plan.",
}

WARNINGS = {
    "records-kept-that-break-rules": (
        "{records:record} broke a rule in the original ({broken:;}[ and {more:more rule}]). Their groups may still "
        "break it."
    ),
}

NOTES = {
    "records-left-out-for-rules": (
        "{records:record} left out for breaking a rule in the original ({broken:;}[ and {more:more rule}])."
    ),
}

PHRASES = {
    "rule-broken": "rule '{rule}' is broken by {records:record}[, first by {first}]",
    "rule-needs-geometric-mean": (
        "and rule '{rule}' is kept by geometric means, which need positive numbers. Use --recompute={column} to "
        "compute one attribute from the others, or leave the rule out"
    ),
    # Aggregates that rules need
    "wants-geometric-mean": "a geometric mean (rule '{rule}')",
    "wants-mean": "an arithmetic mean (rule '{rule}')",
    "wants-member": "a value that occurs (rule '{rule}')",
    # How a rule is kept
    "kept-by-any-value": "a group publishes a value where all its records have one, and none where none has",
    "kept-by-computing": "[{geometric:?}geometric means; ]{column} is computed from {columns:names}",
    "kept-by-means": "arithmetic means[{exact:?}, rounded so that the sum is exact as written]",
    "kept-by-members": "each published value of {column} occurs in the [{original:!}group][{original:?}original]",
    "kept-by-moments": (
        "means and covariances of [{all:!}every group][{all:?}all records], repaired so that the sum is exact as "
        "written"
    ),
    "kept-by-order": "the same increasing aggregate on both sides",
    "kept-by-own-records": "each group publishes one of its own records",
    "kept-by-range": "aggregates lie within the range of their group",
    "kept-by-rounding": "whole numbers",
    "kept-by-splitting": "records are split by {columns:names} first",
    "kept-unchanged": "its attributes are released unchanged",
    "kept-unpromised": "verified after masking; nothing keeps it by construction",
}
