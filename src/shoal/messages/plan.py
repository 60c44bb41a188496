"""Messages on the request: fields of a plan, their conflicts, plan files and policies."""

ERRORS = {
    # Fields
    "field-in-wrong-table": "is not in the table {table}. Use {name}, above all tables of the plan file.",
    "given-by-two-options": "can be given by {options:or}, not both.",
    "not-a-block-size": "must be a whole number of records, or auto.",
    "not-a-budget": "must be a time such as 60s or 5min, or a number of steps, and more than 0.",
    "not-a-dominance-rule": (
        "must be a number of contributors and their share in percent, for example {example:option}."
    ),
    "not-a-kind": "must be a {kind} or the path of a {file}.[ Pass options by name, for example {example:option}.]",
    "not-a-memory-size": "must be a number with a unit, such as 500MB or 4GB.",
    "not-a-number-of-values": "must be a number of values, at least 2 (with --l-form=entropy any number above 1).",
    "not-a-path": "has characters that a plan cannot hold. Rename the file.",
    "not-a-rank": "must be a whole number, 1 for the least value of a group, or a share such as 0.5 of it.",
    "not-a-refinement": "must be true, false or a number of seconds above 0.",
    "not-a-table": "must be a table[ with one line per {item}].",
    "not-bounds": "must be two numbers, the lowest and the highest value, for example --bounds=age=0,120.",
    "not-names": "must be a list of attribute names.",
    "not-one-character": "must be one ASCII character other than a line break.",
    "not-pairs": "must be NAME=VALUE. Use {option:option} once for each attribute.",
    "not-true-or-false": "must be true or false.",
    "not-set": "Set {name}[, {what}], for example {example:option}[: {reason:option} needs it].",
    "unknown-field": (
        "is not a [{limits:?}limit][{limits:!}field of a plan].[ Did you mean '{near}'?][{near:!} Limits are "
        "{limits:words}.]"
    ),
    # Recoding
    "cut-point-not-finite": "has a cut point that is not a finite number. Leave it out.",
    "cut-points-of-two-kinds": "has numbers and dates. Use cut points of one kind.",
    "cut-points-unordered": (
        "has cut points that do not increase. List each once, from the lowest, for example --recode=age=18,30,45,65."
    ),
    "empty-new-level": "must have text that is not empty as the name of each new level.",
    "levels-of-classes": "names '{column}', whose levels are the classes of --recode. Leave it out.",
    "new-level-of-none": "has a new level without old ones. List the levels that it replaces.",
    "not-a-cut-point": (
        "must have cut points that are numbers, for example --recode=age=18,30,45,65, or dates such as 2000-01-31."
    ),
    "not-a-recoding": (
        "must be cut points in increasing order, for example --recode=age=18,30,45,65, or a table of the old levels "
        "of each new one."
    ),
    "not-an-old-level": "has an old level that is neither text nor a number. An empty text is a missing value.",
    "old-level-twice": "names an old level twice. Put each into one new level.",
    "role-not-recoded": "names '{column}', which has the role {role} and cannot be recoded. Leave it out.",
    "type-not-of-recoding": "names '{column}' as {type}, but --recode makes it {made:or}. Leave out one of them.",
    # Attributes and their roles
    "leaves-out": "leaves out '{column}'. Add it to {option:option}[, {how}].",
    "neither-masked-nor-sensitive": (
        "names '{column}', which is neither masked nor sensitive. Add it to --quasi or --confidential, or leave it out."
    ),
    "not-masked": "names '{column}', which is not masked. Add it to --quasi, or leave it out.",
    "not-sensitive": "names '{column}', which is not sensitive. Add it to --confidential.",
    "one-dimension-only": (
        "names {number:attribute}, but --blocking={blocking} divides by one. Use one, for example --dimensions=age."
    ),
    "two-roles": "names '{column}', which is in {other} too. An attribute has one role.",
    "type-of-sensitive": "names '{column}', which is sensitive. Its type matters only with -l or -t.",
    # Types and levels
    "empty-level": "has an empty level for '{column}'.",
    "level-twice": "has a level of '{column}' twice.",
    "levels-not-ordinal": "names '{column}', which is {type}. Use --type={column}=ordinal.",
    # Numbers that do not go together
    "alpha-out-of-range": (
        "must be at least 0 and less than 1: with 1 the original would be published.[ One that can be used is "
        "{offered}.]"
    ),
    "alpha-shape": "must have a number, or a row of {number}, for each of the {number:sensitive attribute}.",
    "block-below-k": "must be at least k = {k}: a block holds at least one group.",
    "bounds-not-apart": "must be the lowest value and then a higher one, at most 1e308 apart.",
    "bounds-without-whole": "must hold a whole number with --round, and none beyond 2^53.",
    "fraction-without-entropy": "must be a whole number, at least 2. Fractions apply only with --l-form=entropy.",
    "memory-too-small": "is too little to work with. Use --memory=1MB or more.",
    "rank-above-k": "is more than k = {k}, which groups may be as small as. Use a smaller --rank, or a share.",
    "trim-too-large": "leaves no record in a group of k = {k}. Use a --trim below k / 2, or a larger -k.",
    # Plan files, policies and reports
    "no-limits": "The policy has no limit. Add one, for example k = 5.",
    "not-formulas": "must be a list of formulas, for example [['income ~ age']].",
    "only-report-failed": "{reason} The masked file '{path}' is complete.",
    "toml-nested": "'{path}' is not a {what}: its lists are nested too deeply.",
    "toml-number-too-long": "The {what} '{path}' has a number of more than 4,300 digits. Shorten it.",
    "toml-syntax": "The {what} '{path}' is not valid TOML: {problem}.",
}

PHRASES = {
    # Descriptions of fields
    "limits-of-attributes": "the lowest and highest value of each attribute to mask",
    "lowest-and-highest": "with its lowest and highest possible value, from its definition and not from the data",
    "minimum-group-size": "the minimum group size",
    "share-that-is-kept": "the share of a sensitive value that is kept",
    # Why a field does not apply to a method
    "already-optimal": "which is already optimal",
    "always-refines": "which always refines",
    "changes-every-record": "which changes every record",
    "forms-no-groups": "which forms no groups of {what}",
    "keeps-sums": "which keeps sums by means and covariances",
    "noise-per-record": "whose noise is drawn for records and not for units",
    "privacy-per-record": "whose epsilon is the privacy of one record",
    "publishes-no-means": "whose values are not means of groups",
    "publishes-no-totals": "whose groups publish no totals",
    "drop-unit": "Drop the attribute with --identifiers, or use another --method.",
    # Why a field does not apply with another
    "bound-is-printed": "where the bound that is always printed is the only one",
    "breaks-rules": "whose rules it could break",
    "changes-totals": "which changes totals",
    "combinations-unique": "where combinations of attribute blocks may be unique",
    "counts-households": "whose groups have k households and k records",
    "counts-together": "which counts combinations of all quasi-identifiers",
    "counts-within-strata": "which counts within strata",
    "decides-what-groups-publish": "which decides what groups publish",
    "divided-separately": "whose two tables are divided separately",
    "empty-these-cells": "where such cells must be empty, and count as the middle of their --bounds",
    "groups-fixed": "whose groups cannot be changed",
    "groups-overlap": "whose groups overlap",
    "has-seconds": "which has a number of seconds too",
    "joins-others": "by which a few records at risk take on the values of others",
    "leaves-safe-records": "which leaves records not at risk unchanged",
    "makes-two-blocks": "which makes two attribute blocks",
    "members-share-values": "whose members share values that this would change",
    "middle-of-bounds": "where a missing value counts as the middle of its --bounds",
    "needs-decimals": "which gives whole numbers decimals",
    "needs-fixed-groups": "under which groups cannot depend on the data",
    "needs-noise": "under which everything that is published has noise",
    "no-known-sensitivity": "for which other aggregates have no known sensitivity",
    "takes-no-weights": "which it cannot use",
    "refines-borders": "which refines the borders of record blocks",
    "says-nothing-of-risks": "whose report says nothing about risks",
    "scaled-by-bounds": "where --bounds sets the scale",
    "seed-removes-noise": "whose noise anyone who knows the seed can remove",
    "takes-numbers": "which takes numbers only",
    "two-partitions": "which makes a partition of households and one of persons",
    "varies-between-households": "whose attributes vary between households and not persons",
}
