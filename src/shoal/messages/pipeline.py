"""Messages on columns, roles, types, missing values, record blocks and saved releases."""

ERRORS = {
    # Requests that do not suit the columns
    "aggregate-not-for-type": (
        "'{aggregate}' does not apply to '{column}', which is {type}. Use --aggregate={column}=X, where X is one of "
        "{aggregates:words}."
    ),
    "all-identifiers": (
        "Every column is an identifier, so nothing would be left. Name the columns to mask with --quasi."
    ),
    "one-attribute-optimal": "does not apply to one attribute, whose groups are already optimal. Leave it out.",
    "attribute-alone-in-block": "do not apply to '{column}', which is alone in its block.",
    "block-size-too-large": "is more than the {attributes:attribute} to mask.",
    "columns-without-role": (
        "Roles are missing for {columns:names}[ and {others:other}].[{page:?} Choose one for each in step 2.]"
    ),
    "constant-dimensions": "cannot divide by {columns:names}: all records have the same value. Name another attribute.",
    "correlation-needs-numbers": "are chosen by correlation, which needs numbers without missing values. Use --block.",
    "dimension-without-range": (
        "names '{column}', which is {type} and has no range to divide. Name a number, a date or an ordinal attribute, "
        "or use --blocking=kd."
    ),
    "distance-of-numbers": "does not apply: all attributes in distances are numbers or dates.",
    "epsilon-for-numbers": (
        "'{column}' is of type {type} and cannot be protected: with --epsilon only numbers can be masked."
    ),
    "epsilon-unmasked": (
        "'{column}' would be released unchanged, which breaks differential privacy. Mask it with "
        "--bounds={column}=LOW,HIGH, or drop it with --identifiers."
    ),
    "k-too-large": (
        "k = {k:,} is more than the table has: {number:{counts}}. Use [k from {first:,} to {number:,}][{first:!}a "
        "smaller -k]."
    ),
    "levels-unused": (
        "names '{column}', which is [{checked:!}neither masked nor][{checked:?}not] compared by order in a rule. Leave "
        "it out."
    ),
    "memory-below-2k": "is too little for record blocks of 2k = {least} records. Use more --memory.",
    "missing-not-for-method": (
        "'{method}' cannot take the missing values of '{column}'. Use --method=best, or --missing=impute or suppress."
    ),
    "no-number-masked": (
        "does not apply: no [{distances:?}attribute in distances][{distances:!}quasi-identifier] is "
        "[{totals:?}continuous and has totals][{whole:?}continuous and of an integer type][{totals:!}{whole:!}a number "
        "or a date]. Leave it out."
    ),
    "nothing-to-mask": "The table has no [{numbers:?}numeric ]column to mask. Name the quasi-identifiers with --quasi.",
    "quoted-column-names": (
        "cannot quote column names, and a spreadsheet may run these as formulas: {columns:names}. Rename them."
    ),
    "recoded-in-rule": "names '{column}', which a rule uses. Leave it out, or leave out the rule.",
    "untreated-columns": (
        "{untreated:,} of {columns:column} {untreated:~has/have} no role and would be released unchanged[, and "
        "{default:numeric column} would be masked by default]."
    ),
    # Values of columns
    "levels-in-different-orders": (
        "Column '{column}' has its levels in different orders in the file. List them with --levels."
    ),
    "not-positive": (
        "Column '{column}' is zero or negative in {records:record}[ (first: record {first})], [{rule}][{rule:!}where "
        "no geometric mean exists. Use another --aggregate]."
    ),
    "many-categories": (
        "Column '{column}' has [more than {most:,} categories][{most:!}as many categories as records with a value]. If "
        "it identifies records, drop it with --identifiers[{most:!}; otherwise set --type]."
    ),
    "wrong-weight": (
        "The weight in column '{column}' is {wrong} in {records:record}[ (first: record {first})]. Correct it, or "
        "leave these records out: weights must be positive numbers."
    ),
    # Records that are left
    "parts-of-blocks-below-k": (
        "{parts:part} of the records that rules make in several attribute blocks together {parts:~has/have} fewer "
        "than k = {k} records. Use fewer attribute blocks, or blocks that hold all records."
    ),
    "too-few-complete": (
        "Only {number:{counts}} {number:~has/have} no missing value, fewer than k = {k}[{part:?}, in the file or in a "
        "stratum or record block]. Leave out the attribute with most missing values[{part:?}, or use larger "
        "--block-records or --missing=group][{grouping:?}, or use --missing=group]."
    ),
    "too-few-obeying": (
        "Only {records:record} would be left without those that break rules, fewer than k = {k}. Correct "
        "records[{keeping:?} or use --edits-original=keep]."
    ),
    "too-few-units-left": (
        "Only {number:{counts}} would be left with records that can be published, fewer than k = {k}. Use a smaller -k."
    ),
    # Methods
    "mic1d-leaves-unchanged": (
        "mic1d with k = {k} leaves {percent:.0f} % of the values unchanged. Use a larger -k, or add --allow-unchanged "
        "to release them."
    ),
    "variance-beyond-calendar": (
        "The variance of '{column}' cannot be restored: dates would leave the years 1 to 9999. Leave out "
        "--restore-variance."
    ),
    "variance-of-one-value": (
        "The variance of '{column}' cannot be restored: all records publish the same value. Use a smaller -k, or "
        "leave out --restore-variance."
    ),
    "variance-too-large": "The variance of '{column}' cannot be restored: it is too large. Store it in another unit.",
    # The keeper's secret
    "no-home-for-secret": (
        "There is no home directory to keep the secret of hybrid data in. Name a file with SHOAL_SECRET."
    ),
    "secret-not-path": "SHOAL_SECRET must be the path of a file, with its folder, for example ./secret.",
    "secret-readable-by-others": (
        "[{path:!}The file of the keeper's secret]['{path}'] can be read by other users. Restrict it with chmod 600."
    ),
    "secret-unusable": (
        "The file of the keeper's secret [{folder:?}is a folder][{wrong:?}holds something else][{folder:!}{wrong:!}can "
        "be neither read nor created]. Name another with the environment variable SHOAL_SECRET."
    ),
    # Files of a release
    "not-a-manifest": (
        "'{path}' is not the manifest of a release: [entry '{entry}' is missing or wrong][{entry:!}it is not JSON]."
    ),
    "manifest-of-other-version": "'{path}' is a manifest of another version. Check it with a newer version of Shoal.",
    "output-is-input": (
        "'{path}' is [{folder:?}in the folder that is being protected][{folder:!}the input]. Write the release to "
        "another {kind}."
    ),
    # Verification
    "not-as-released": "[Column '{column}'][{column:!}The file] was not written as released.",
    "outside-bounds": "Column '{column}' publishes {values:value} outside of its bounds.",
    "runs-below-k": "{runs:run} of rows that are alike, and stand together, {runs:~is/are} below {k}.",
    "wrong-type": "Column '{column}' is of type {type}, not {promised} as promised.",
}

WARNINGS = {
    "all-in-one-group": "All records are in one group, so each masked column holds one value. Use {ways:or}.",
    "budget-too-short": (
        "The budget was too short for MDAV, so groups began as cells of a k-d tree. Use a longer --budget."
    ),
    "codes-unused": "No record has a --missing-code of {columns:words}. Check how the file writes them.",
    "formula-cells": (
        "The file has text that a spreadsheet may run as a formula when it opens the file: {columns:words}. Use "
        "--quote-formulas to write an apostrophe before each."
    ),
    "formula-names": (
        "A spreadsheet may run these column names as formulas when it opens the file: {columns:names}. Rename them."
    ),
    "groups-as-own-records": (
        "{groups:group} published as one of their own records, because no adjustment satisfies all rules."
    ),
    "levels-vanished": "Levels or categories that no record publishes any more: {columns:words}.",
    "mic1d-preserves-nothing": "mic1d guarantees no groups of k records, and preserves no moment exactly.",
    "mic1d-unchanged": (
        "mic1d released {percent:.1f} % of the values unchanged, and {records:record} with all values unchanged."
    ),
    "much-changed": (
        "More than {much:.0f} % of the values changed in {columns:words}. Use a smaller -k or a larger "
        "--attribute-weight to keep more of them."
    ),
    "no-l-diversity": (
        "l-diversity [does not go with {other:option}][{other:!}was not requested], so all members of a group may "
        "share a sensitive value."
    ),
    "noise-exceeds-single-records": (
        "k = {k} is so small that the noise exceeds that of single records without groups. Use a larger -k."
    ),
    "order-shows-units": (
        "'{column}' was dropped, but records keep their order: [{household:?}household members][{household:!}records "
        "of a unit] that stand together in the file can still be seen as one. Shuffle the records before they are "
        "protected."
    ),
    "recoded-into-one": (
        "All records are in one class or level {number:~of/each of} {columns:names}, which no longer "
        "{number:~distinguishes/distinguish} records."
    ),
    "original-follows-from-column": (
        "The original '{column}' [{one_to_one:?}is one-to-one with][{one_to_one:!}follows from] '{by}', which is "
        "released unchanged, in {found:,} of {records:,} records."
    ),
    "original-follows-from-columns": (
        "The original '{column}' follows from {by:names}, released unchanged, in {found:,} of {records:,} records."
    ),
    "original-from-columns": (
        "The original '{column}' can be computed from columns released unchanged in {found:,} of {records:,} "
        "records[{near:?}, to within 1 %]: [{formula}][{formula:!}a {kind} of {by:names}]."
    ),
    "original-in-bands": (
        "'{by}', released unchanged, determines the original '{column}' to within {percent:.0f} % of its standard "
        "deviation in {found:,} of {records:,} records."
    ),
    "original-in-order": (
        "'{by}', released unchanged, has {found:,} of {records:,} records [{near:?}nearly ]in the order of the "
        "original '{column}' or its reverse. Anyone who knows some of its values can estimate the others."
    ),
    "records-left-out": (
        "{suppressed:,} of {records:,} records {suppressed:~was/were} left out ({percent:.3g} %), which the loss does "
        "not count."
    ),
    "released-unchanged": "Released unchanged and unprotected: {columns:words}.",
    "second-sample": (
        "Another alpha, other attributes or units, or corrected records draw new noise, which averages out: such a "
        "release is a second sample. Make few."
    ),
    "secret-created": (
        "This run created the keeper's secret (the file that SHOAL_SECRET names, else .config/shoal/secret in the home "
        "directory). Keep it: with another secret, a second release of the same data is a second sample."
    ),
    "seed-is-secret": (
        "Keep the seed secret, and choose one that cannot be guessed: anyone who has it can remove the noise. It is "
        "not in the plan of the release, which gives other values without it."
    ),
}

NOTES = {
    # How the release was made
    "block-size-as-memory-allows": (
        "--block-records=auto, on {records:record}: {tried}. So blocks are as large as memory allows."
    ),
    "block-size-chosen": (
        "--block-records=auto, on {records:record}: blocks of {size:,} were chosen. They lose {loss:.3g} %, {why}; "
        "{others:and}."
    ),
    "blocks-crowded": (
        "{crowded:block} of more than --block-records records: [{intervals:?}records lie too unevenly][{intervals:!}"
        "too many lie in one place to be divided]."
    ),
    "blocks-fused": (
        "[{intervals:interval}][{leaves:leaf/leaves} of the 2^d-tree] of fewer than k records merged with the nearest: "
        "{blocks:block} left."
    ),
    "budget-in-seconds": (
        "The budget was a time, so running the plan again may give other groups. A number of steps as --budget gives "
        "the same groups."
    ),
    "method-chosen": "Method '{method}' was chosen: {why}.",
    "one-record-block": (
        "[{seams:?}--seams][{both:?} and ][--blocking={blocking}] had no effect: all records are in one record "
        "block[{small:?}. --block-records makes several]."
    ),
    "only-at-risk": (
        "{at_risk:,} of {records:,} records were at risk, sharing their combination of quasi-identifiers with fewer "
        "than k = {k} {counts}s: {changed:,} have changed, and all others are unchanged[. If fewer than k {counts}s "
        "are at risk, in the file or a stratum, each record takes on the nearest combination that k {counts}s have "
        "({joined:record}); means are not preserved there]."
    ),
    "seed-unused": "--seed had no effect: {method} draws no random numbers.",
    # Columns of the release
    "computed-from-others": "Computed from what is published of others, not from the group: {columns:names}.",
    "cost-of-constraint": (
        "'{column}' is {rules:and}: {moved:value} moved, its mean by {mean:.2g}, that of a group by up to "
        "{group_mean:.2g} and its covariances by up to {covariance:.2g} standard deviations."
    ),
    "equality-not-in-digits": (
        "An equality holds, but not to validators that compare decimal digits, such as lxml: {groups:group}."
    ),
    "formulas-quoted": (
        "An apostrophe was written before text that a spreadsheet may run as a formula: {columns:words}."
    ),
    "incomplete-left-out": "{records:record} left out because of missing values.",
    "missing-before-and-after": "'{column}' is missing in {after:record}, where it was in {before:,}.",
    "missing-codes-read": "Missing-value codes were read and published as missing: {columns:words}.",
    "now-of-type": "Now of type {type}[ (integers have decimals: {why})]: {columns:words}.",
    "recoded": (
        "Recoded before all else: {columns:;}. Losses and risks are those of the recoded columns, and do not count "
        "what recoding took away."
    ),
    "rules-only-verified": "Verified, but not kept by construction, so other data may break them: {rules:names}.",
    "time-of-day": "Whole days have a time of day ({why}): {columns:words}.",
    # Preserved figures
    "mean-in-domains": (
        "Preserved: the [{weighted:?}weighted ]mean of every continuous attribute, in the file and in each value of "
        "{domains:and}."
    ),
    "mean-preserved": (
        "Preserved[{rounded:?} up to rounding][{halves:?} (whole numbers by 0.5 at most)][{gaps:?}, where no value is "
        "missing][{households:?}, of household attributes over households]: the [{weighted:?}weighted ]mean of "
        "[{columns:words}][{columns:!}every masked {kind}], in the [{left_out:?}published records][{left_out:!}file] "
        "and in each group."
    ),
    "no-moment-preserved": "Preserved: no moment exactly; groups publish their {aggregates:or}[{noise:?} with noise].",
    "no-number-preserved": "Preserved: no moment, because no masked attribute is a number.",
    "variance-preserved": (
        "Preserved[{rounded:?} up to rounding][{halves:?} (whole numbers by 0.5 at most)]: the [{weighted:?}weighted "
        "]mean and the [{weighted:?}weighted ]variance of every masked {kind}."
    ),
    # Random numbers and differential privacy
    "clamped-to-bounds": (
        "Values outside the bounds were moved to them, and missing values count as their middle. Do not take bounds "
        "from the data."
    ),
    "epsilon-noise": (
        "One record can change the sums of {groups:group} by {sensitivity:.4g} ranges in all, so the noise in a mean "
        "has a standard deviation of {percent:.3g} % of the range of its bounds. Fewer attributes, narrower bounds, a "
        "larger k and a larger epsilon lower it."
    ),
    "epsilon-promise": (
        "epsilon-differential privacy holds with epsilon = {epsilon:g}: with any other values in one record, what is "
        "published would be at most [{factor:.3g}][{factor:!}any number of] times less likely. The epsilons of several "
        "releases of the same people add up."
    ),
    "known-without-records": (
        "Types, errors, messages, report and manifest depend only on the plan, the names of the columns, the number of "
        "records and the published values. The loss is measured without noise, so only release.loss() returns it, to "
        "the keeper of the data."
    ),
    "noise-of-system": (
        "Noise came from the operating system's random numbers, so the same plan gives other values each time."
    ),
    "rows-in-order-of-groups": (
        "Rows are in the order of groups, because the original order would disclose single records."
    ),
    "secret-used": (
        "The random numbers came from the keeper's secret, which no release holds, because anyone who had it could "
        "remove the noise; the same data and plan give the same values again."
    ),
}

PHRASES = {
    # Columns
    "changed-in-column": "{column} ({percent:.0f} %)",
    "recoded-column": (
        "'{column}' into [{classes:class/classes}][{levels:level}][ ({empty:,} without records)][, with "
        "{others:other level} unchanged]"
    ),
    "vanished-in-column": "{vanished:,} of {before:,} in {column}",
    # Sizes of blocks
    "block-size-loses": "blocks of {size:,} lose {loss:.3g} %",
    "largest-block-size-loses-least": (
        "the largest blocks tried lose least, {loss:.3g} % (blocks of {other:,} lose {other_loss:.3g} %)"
    ),
    "loses-least": "the least",
    "loses-nearly-least": "within 5 % of the least ({least:,}), and larger ones take longer",
    "too-few-for-sizes": "there are too few to try several sizes",
    # Reasons
    "chosen-for-epsilon": "epsilon is given, and one record changes little in its groups",
    "rounding-breaks-rule": "rule '{rule}' may break if they are rounded",
    # Ways
    "other-value": "a [{larger:?}larger][{larger:!}smaller] {option:option}",
    # Lower bounds of the loss
    "bound-needs-memory": "not computed for so many records; use --engine=memory",
    "bound-not-asked-for": "not computed for so many records and attributes; add --bound",
    "bound-not-proved": "none could be proved: numbers differ by too much to be added up",
}
