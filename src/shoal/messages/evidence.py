"""Messages on assess, check, risk, sweep and verdicts."""

ERRORS = {
    # Requests
    "column-not-compared": (
        "'{column}' is not among the [{numbers:?}numbers][{numbers:!}attributes] that are compared. Name one that is."
    ),
    "external-of-categories": (
        "does not apply to a sweep of levels or categories, whose loss shows how few records changed. Leave it out."
    ),
    "fraction-out-of-range": "must be above 0 and at most 1, for example 0.01.",
    "household-not-a-name": "must be the name of a column.",
    "in-manifest": "comes from the manifest. Leave it out.",
    "known-out-of-range": "must be from 1 to {most}, the number of attributes in --block.",
    "lone-brace": "has a brace without its other half. Use {known:and}.",
    "manifest-needs-file": "is that of a file. Pass the path of the masked file.",
    "methods-not-names": "must be the name of a method, or several.",
    "min-k-above-all": "is above every k that is compared. Compare k from {first} to {least:,} or more.",
    "names-none": "names no {what}. Name at least one.",
    "needs-a-k": "needs a k, which this manifest does not have. Use -k and --quasi instead.",
    "needs-groups": "needs groups of k records, which '{method}' does not promise. Leave it out.",
    "needs-units": (
        "needs the units that k counts, which were dropped from the release. [{manifest:?}Use -k and --quasi instead]"
        "[{manifest:!}Add --unit-as=pseudonym]."
    ),
    "no-order-on-spark": (
        "does not apply to engine 'spark', whose records have no order. Run shoal check on the written files instead."
    ),
    "no-release-of-1": "1 protects nothing, and is never written. Use a larger k.",
    "not-compared": "{value} was not compared. Name one of {known:words}.",
    "not-for-any-method": "does not apply to {methods:names}. Compare {method} too.",
    "not-in-a-sweep": "['{value}' ]does not apply to a sweep[: {why}]. Use it with shoal protect.",
    "output-without-placeholder": "must contain {name}, so that each {what} has other files, for example -o={example}.",
    "recode-not-a-key": "names '{column}', which is not a key. Add it to --keys, or leave it out.",
    "scenario-named-twice": "'{scenario}' is the name of a scenario of --block too. Use another name.",
    "scenario-without-sets": "'{scenario}' has no set of attributes. Name at least one.",
    "tolerance-not-a-share": "must be at least 0 and below 1, a share of the true value.",
    "too-many-keys": "names more than {most} attributes, too many for SUDA2. Name fewer, or add --no-suda.",
    "unknown-placeholder": "has {name}, which has no meaning. Use {known:and}.",
    # Regressions
    "collinear-terms": (
        "'{formula}' has collinear terms: {terms:names} {number:~follows/follow} from those before. Leave "
        "{number:~it/them} out."
    ),
    "formula-not-supported": (
        "'{formula}' {why}. Terms are numbers, C(name), a:b and a*b, joined by +, for example 'income ~ age + C(educ)'."
    ),
    "no-complete-record": "'{formula}' has no complete record: every record misses a value of one of its columns.",
    "not-estimable": (
        "'{formula}' cannot be estimated from the original: ['{term}' ]{why}. [{term:?}Leave that term out]"
        "[{term:!}Use another response]."
    ),
    "response-not-a-number": (
        "'{formula}' has a response, '{column}', that is neither a number nor boolean. Code it as 0 and 1."
    ),
    "term-not-a-number": "'{formula}' takes '{column}' as a number, which it is not. Write C({column}).",
    "too-few-complete-records": (
        "'{formula}' has only {records:complete record} for {coefficients:,} coefficients. Leave terms out."
    ),
    "too-many-categories": (
        "'{formula}' has {categories:,} categories of '{column}', more than {most}. Use it as a number, or combine its "
        "categories."
    ),
    # Published figures
    "figure-condition": "'{file}' has a condition that cannot be read: {problem}",
    "figure-not-a-number": "asks for a {statistic} of '{column}', which is not a number. Leave the figure out.",
    "figure-of-no-attribute": "line {line} of '{file}' needs an attribute for a {statistic}.",
    "figure-of-no-condition": "line {line} of '{file}' needs a condition in where for a share.",
    "figure-of-records": "line {line} of '{file}' names an attribute, but a {statistic} is of records. Leave it empty.",
    "figure-without-tolerance": (
        "line {line} of '{file}' needs a tolerance, because its value is not written as 41.3. Add one."
    ),
    "figures-unknown-column": "'{file}' has a column '{column}', which is not one of {known:words}.",
    "figures-with-semicolons": "'{file}' has semicolons between its columns. Use commas.",
    "figures-without-column": "'{file}' has no column '{column}'. Add it.",
    "no-figures": "'{file}' has no figures. Add a line for each.",
    "tolerance-not-a-number": (
        "line {line} of '{file}' has a tolerance that is neither a number, such as 0.5, nor a percentage, such as 2%."
    ),
    "unknown-statistic": "line {line} of '{file}' has a statistic that is not one of {known:words}.",
    "value-not-a-number": "line {line} of '{file}' has a value that is not a number, such as 41.3.",
    # Two tables
    "control-lacks-columns": "has no column {columns:names}. It needs the columns of the original.",
    "control-of-same-identifiers": (
        "The control set has {values:value} of '{column}' that the original has too. Use people who are not in the "
        "file."
    ),
    "control-of-same-people": (
        "The control set has {alike:record} of {records:,} that equal a record of the original in all columns compared "
        "({columns:names}), and chance explains {chance:,}. Use people who are not in the file."
    ),
    "key-not-unique": (
        "The key '{column}' does not identify the records of {table}: some values are missing or occur twice."
    ),
    "not-an-earlier-release": (
        "None of the quasi-identifiers {columns:names} is in {table}, so it is not a release of the same data."
    ),
    "nothing-to-compare": (
        "The masked table has no numeric column, and none that differs. Name attributes with --quasi."
    ),
    "numbers-of-records-differ": (
        "Rows cannot be paired by position: {table} has {records:record}, and {other} has {others:,}. Name the column "
        "that identifies records with --key."
    ),
    "records-not-found": (
        "{records:record} of the masked table cannot be found in the original by key '{column}' (of type {type} and "
        "{original}). Use a --key that masking left unchanged."
    ),
    "types-differ": (
        "Column '{column}' holds {own} in the data and {other} in {table}. Store it as the same type in both."
    ),
    "units-not-known": (
        "The masked table lacks {records:record} of earlier releases, whose units are not known. Leave them out of the "
        "earlier releases, or leave out --unit to count records."
    ),
    "value-not-comparable": (
        "Column '{column}' has a value in record {record} that cannot be compared with the original. Use --levels, "
        "or another value of --type."
    ),
    # One table
    "file-is-masked": (
        "'{file}' is masked: its manifest is beside it. Risk from frequencies is not valid after masking; compare it "
        "with the original by shoal assess."
    ),
    "type-not-counted": (
        "Column '{column}'[ of {table}] is of type {type}, whose values cannot be counted. Use text, numbers or dates."
    ),
    "population-too-small": (
        "The population table has {records:record}, fewer than the sample with {sample:,}. Give the whole population "
        "with --population."
    ),
    "smaller-k-possible": "Smaller k are possible: use k = {first}[ to {last}].",
    # A file that is not what its manifest or the request says
    "block-not-countable": "k cannot be counted without {columns:names}.",
    "column-order-differs": "The columns are in another order than in the manifest.",
    "columns-missing": "Columns of the manifest are missing: {columns:names}.",
    "columns-not-in-manifest": "Columns are not in the manifest: {columns:names}.",
    "diversity-not-measurable": "Diversity cannot be measured without '{column}'.",
    "kind-of-file-differs": (
        "'{file}' is [one file, and the manifest is of a folder of {files:file}][{files:!}a folder, and the manifest "
        "is of one file]."
    ),
    "group-size-differs": (
        "The size of the {which} group by {columns:names} is {found:,} instead of {manifest:,} in the manifest."
    ),
    "hash-differs": (
        "The file [{part:?}'{part}' ]is not the one that was published: its SHA-256 differs from the manifest."
    ),
    "intersections-below-k": (
        "Together with {releases:and}, groups of {columns:names} leave {below:record} in intersections of fewer than "
        "{k:{counts}}; the smallest has {smallest:{counts}}[, and {alone:record} can be singled out]."
    ),
    "l-differs": "'{column}' has {form} l = {least:.6g} in some group, where the manifest says {manifest:.6g}.",
    "number-of-bytes-differs": (
        "The file [{part:?}'{part}' ]has {found:,} bytes instead of {manifest:,} in the manifest."
    ),
    "number-of-groups-differs": (
        "The number of groups by {columns:names} is {found:,} instead of {manifest:,} in the manifest."
    ),
    "number-of-records-differs": (
        "There {records:~is/are} {records:record} instead of {expected:,}[{manifest:?} in the manifest]."
    ),
    "number-of-rules-differs": "{rules:rule} given instead of the {manifest:,} in the manifest.",
    "part-missing": "The file '{part}' of the folder is missing.",
    "part-not-in-manifest": "The file '{part}' of the folder is not in the manifest.",
    "parts-not-readable": (
        "The [files in '{file}'][{file:!}input] cannot be read completely: a file is damaged, in another format, or "
        "has other columns."
    ),
    "t-differs": (
        "'{column}' is {distance:.4f} from its distribution in some group, and {manifest:.4f} in the manifest."
    ),
    # Verdicts
    "limit-not-met": "{limit} ({meaning}) is {figure:,.10g}{unit}, where the limit is {least} {bound:,.10g}{unit}.",
}

WARNINGS = {
    "households-of-one": (
        "Every household in '{column}' has one member. Check that the column is the number of the household."
    ),
    "keys-coded-otherwise": (
        "The keys of {fewer:record} are rarer in the population table than in the sample; {absent:,} of them do not "
        "occur there. Check that both are coded alike."
    ),
    "keys-of-many-numbers": (
        "{columns:names} {number:~has/have} more than {most} different numbers, so that most keys are rare. Recode "
        "{number:~it/them} into classes that an intruder may know, with --recode."
    ),
    "keys-unique": (
        "{columns:names} {number:~has/have} a different value in every record, so that every record is unique. Leave "
        "out identifiers, and recode numbers into classes with --recode."
    ),
    "limit-not-measured": "{limit} ({meaning}) was not measured; the limit is {least} {bound:,.10g}{unit}[: {needs}].",
    "limits-missed": (
        "No k meets the limits ({limits:words}); nearest is k = {k:,} with {method} (loss {loss:.2f} %, risk "
        "{risk:.1f} %), but {missed:and}[; columns that are released unchanged make {unique:.1f} % of the records "
        "unique. Drop, mask or coarsen them]."
    ),
    "publish-one-only": (
        "Publish one of these files, not several: records that share a group in all of them may be fewer than k. "
        "shoal check counts them if the others are named by --against."
    ),
    "two-presumptions": (
        "Without weights, DIS takes the file for 1 % of the population and individual risk takes it for all of it, so "
        "the two cannot be compared. Name the --weights, or set the sampling fraction of DIS with --fraction."
    ),
    "weights-below-one": (
        "The weight in '{column}' is below one in {records:record}. The risk of a key with fewer people than records "
        "is 1 / frequency."
    ),
}

NOTES = {
    "before-masking-only": (
        "These figures hold for a file that is not masked. Measure the risk of a masked one by linkage, with shoal "
        "assess."
    ),
    "limits-met": (
        "k = {k:,} with {method} meets the limits ({limits:words}) with the least loss: loss {loss:.2f} %, risk "
        "{risk:.1f} %."
    ),
    "mdav-loses-less": "MDAV loses less than the tour at k = {sizes:and}. Compare both methods.",
    "mdav-loses-no-less": "MDAV loses no less than the tour at any k that was compared.",
    "missing-keys-match": (
        "{records:record} {records:~misses/miss} a value in {columns:names}. A missing value matches every value."
    ),
    "no-limits-set": "Set --max-risk or --max-loss to have the k named that meets it.",
    "sample-as-population": (
        "Without weights the sample is taken for the whole population: the risk is 1 / frequency, the highest."
    ),
}

PHRASES = {
    # Tables
    "earlier-release": "earlier release {number}",
    "file-of-name": "'{file}'",
    "the-masked-table": "the masked table",
    "the-original": "the original",
    "the-population-table": "the population table",
    "the-table": "the table",
    # Limits of a sweep
    "k-at-least": "k at least {limit:,}",
    "figure-at-most": "{figure} at most {limit:g} %",
    "figure-too-high": "its {figure} is {points:.1f} points too high",
    "size-and-losses": "{k:,} ({loss:.3f} against {tour:.3f} %)",
    # Why a method does not apply to a sweep
    "draws-new-values": "it publishes new sensitive values, whose loss and risk a sweep does not measure",
    "it-forms-no-groups": "it forms no groups",
    "uses-an-epsilon-each": "every release that is compared would use an epsilon",
    "works-in-memory": "a sweep works in memory",
    # Mistakes in a formula
    "another-function": "uses a function other than C()",
    "categorical-response": "has categories as its response",
    "ends-too-early": "ends too early",
    "no-column-here": "has '{sign}' where a column is expected",
    "no-tilde": "has no ~ after its response",
    "product-of-itself": "has a product of a column with itself",
    "product-of-many": "has a product of more than two factors",
    "product-without-factors": "has '{term}' without both of its factors: write {both}",
    "response-among-terms": "has its response among its terms",
    "several-in-c": "needs one column in C()",
    "unknown-sign": "has '{sign}', which is not supported here",
    # Reasons why something is not estimated, or left out
    "further-pairs": "{number:pair} of attributes",
    "masked-lacks-categories": "no category of {columns:names} is left in the masked file",
    "masked-lacks-columns": "the masked file has no column {columns:names}",
    "masked-lacks-records": "the masked file has no complete record",
    "masked-not-a-number": "'{column}' is not a number in the masked file",
    "masked-too-many-categories": "the masked file has {categories:,} categories of '{column}', more than {most}",
    "of-many-categories": "{columns:names} with more than {most} categories",
    "several-reasons": "{reasons:;}",
    "term-and-reason": "'{term}' {reason}",
    "terms-of-lost-categories": "{terms:term} with categories that the masked file does not have",
    "terms-that-follow": "{terms:names} {number:~follows/follow} from other terms in the masked file",
    # Promises that cannot be verified again
    "again-determined": "whether columns released unchanged tell original values: the original is not in the file",
    "again-distances": "t-closeness in '{column}': a manifest does not hold its levels",
    "again-totals": "that [{domains:!}groups keep their weighted][{domains:?}domains keep their] totals",
    "again-dominance": "that no contributor dominates a group",
    "again-dropped": (
        "how many different values of {columns:names} each group holds: the {number:~column is/columns are} not in the "
        "file"
    ),
    "again-epsilon": "differential privacy: it is a promise on how the file was made and does not show in it",
    "again-excused": (
        "rule '{rule}', which original records broke too: {records:record} {records:~breaks/break} it (first: record "
        "{first})"
    ),
    "again-households": "that household attributes hide k households: the household is not in the file",
    "again-no-groups": "what the method promises: it forms no groups that the file would show",
    "again-original": "that the masked values were computed from the original, and the other columns are unchanged",
    "again-rules": "that {rules:rule} {rules:~holds/hold}: add {rules:~it/them} with --edits",
    "again-units": (
        "that every group has records of k units, and l and t if they were promised: the unit is not in the file"
    ),
    # Why a limit was not measured
    "add-formulas": "add formulas to the policy",
    "add-published": "add --published to shoal assess",
    "differ-uncompared": "{columns:names} {number:~differs/differ} between the files and {number:~is/are} not compared",
    "gone-from-masked": (
        "{columns:names} {number:~is/are} not in the masked file; name the columns that were masked with --quasi"
    ),
    "groups-divided": (
        "{columns:names}, released unchanged, {number:~divides/divide} groups, and this figure is that of whole "
        "groups; mask or drop {number:~it/them}"
    ),
    "identifies-people": (
        "{columns:names} {number:~is/are} named as sensitive, but {number:~identifies/identify} people; drop "
        "{number:~it/them} with --identifiers"
    ),
    "loss-of-published": "the loss is that of the published records: {records:record} left out",
    "measured-by-assess": "shoal assess measures it on the written file",
    "name-dominance-rule": "name a rule with --p-percent or --dominance",
    "name-sensitive": "name sensitive attributes with --confidential",
    "name-unit": "name the unit, or an identifier that repeats",
    "negative-in-records": "{columns:names} {number:~is/are} negative in some records",
    "no-such-figure": "there is no such figure for these attributes",
    "original-follows": "the original '{column}' follows from {by:names}; mask or drop one of them",
    "policy-asks": "the policy asks for {option:option}",
    "private-figure": "with epsilon, nobody may know it",
    "rows-in-another-order": "the loss is above 100 %, so the rows seem to be in another order; name a --key",
    "singled-out-uncounted": (
        "{columns:names}, released unchanged, {number:~singles/single} out {records:record}, which no distance counts"
    ),
}
