"""Messages on groups: units, households, strata, dominance, totals, hybrid data, verification and the whole file."""

ERRORS = {
    # Requests
    "constraint-not-for-type": "do not apply to '{column}', which is {type}.",
    "not-a-domain": "names '{column}', which is {treatment}. Add it to --strata or --publish.",
    "k-too-small-for-synthesis": (
        "groups of {records:record} are too small for {sensitive:sensitive attribute} and {quasi:quasi-identifier}. "
        "Use -k={least} or more, or fewer attributes[{maskable:?}, or add --mask-quasi: masked quasi-identifiers do "
        "not count]."
    ),
    "magnitude-not-continuous": "names '{column}', which is {type}. Name continuous attributes.",
    "needs-the-mean": "needs the mean of '{column}': no other aggregate gives a total.",
    "no-household-attribute": (
        "does not apply: no quasi-identifier is constant within every household ('{column}' varies in {varying:,} of "
        "{households:,}). Drop the column with --identifiers={household}."
    ),
    "one-attribute-only": (
        "'univariate' takes one attribute. Use [{instead:option}][{instead:!}--block to give each attribute its block]."
    ),
    "needs-numbers": (
        "applies to numbers and dates[{type:!} without missing values], but '{column}' [is {type}][{type:!}has missing "
        "values]. Leave it out."
    ),
    "rule-not-a-sum": (
        "rule '{rule}' ({shape}) cannot be kept by method '{method}', which keeps only sums. Leave it out, or use "
        "--constraint."
    ),
    "rule-on-constrained": "rule '{rule}' uses {columns:names}, which --constraint changes. Leave out one of them.",
    "rule-on-masked": (
        "rule '{rule}' uses quasi-identifiers, which --mask-quasi changes separately. Leave out one of them."
    ),
    "rule-on-other-columns": (
        "rule '{rule}' names {columns:names}, whose covariances with the new values are not kept. Add such attributes "
        "to --quasi or --confidential, or leave the rule out."
    ),
    "too-many-combinations": (
        "has more than {most:,} combinations of {columns:names}. Name fewer attributes, or attributes with fewer "
        "values."
    ),
    "type-not-for-method": "'{method}' cannot take '{column}', which is {type}. Use {instead:option}.",
    "varies-within-household": (
        "'{column}' varies within {varying:,} of {households:household}. Correct it, or leave it out."
    ),
    # Units, households and strata of a table
    "all-parts-small": (
        "Every part that the rules {rules:names} make has fewer than k = {k:{counts}}. Use a smaller -k, "
        "[{medoid:?}publish whole records with --aggregate=medoid, ]or leave the rule out."
    ),
    "all-strata-small": (
        "Every stratum has fewer than k = {k:{counts}}, so nothing would be left to publish. Use a smaller -k or "
        "larger strata."
    ),
    "households-below-k": (
        "There are fewer than k = {k} households [in {strata:stratum/strata}][{strata:!}in all]. Use a smaller -k, "
        "larger strata, or leave out --household."
    ),
    "missing-unit": (
        "The {counts} in column '{column}' is missing in {records:record}[ (first: record {first})]. "
        "[{household:?}Fill it in: a person who lives alone needs a separate number][{household:!}Fill it in, or "
        "leave these records out]."
    ),
    "small-parts": (
        "{several:~Rule/Rules} {rules:names} {several:~separates/separate} {number:{counts}} in {parts:part} of fewer "
        "than k = {k}. Use --small-strata=suppress to leave these records out, --small-strata=merge to join them with "
        "others, or use a smaller -k, [{medoid:?}publish whole records with --aggregate=medoid, ]or leave the rule out."
    ),
    "small-strata": (
        "Strata: fewer than k = {k:{counts}} [in {strata:stratum/strata}][in the {number:~stratum of record/strata of "
        "records} {records:words}][, and in {more:stratum/strata} more]. Use --small-strata=merge or suppress."
    ),
    "strata-within-household": (
        "Strata: members of one household are in different strata. Use strata that households share."
    ),
    "too-few-units": (
        "Column '{column}' has {number:different {counts}}, fewer than k = {k}. Use a smaller -k, or "
        "[{household:?}leave out --household][{household:!}name another --unit]."
    ),
    "weights-within-household": (
        "The weights in '{column}' differ within a household, so that a household has none. Use a weight that its "
        "members share, or leave out --weights."
    ),
    # Dominance and totals
    "dominance-impossible": (
        "{n:~The largest contributor holds/The {n} largest contributors hold} more than {share:g} % of '{column}' in "
        "[{part:!}the file][{part:?}a stratum or part that rules make], so no groups can satisfy --dominance. Leave "
        "'{column}' out of --magnitudes, [{part:?}merge strata, ]or leave the largest records out."
    ),
    "dominated-block": (
        "The largest contributors to '{column}' dominate a whole record block or stratum. Use larger --block-records, "
        "or leave '{column}' out of --magnitudes."
    ),
    "dominated-total": (
        "A contributor dominates the total of '{column}' in {failing:,} of {combinations:combination} of "
        "{domains:names}, which --keep-totals would publish exactly. Name fewer or coarser attributes."
    ),
    "few-across-border": (
        "in {number:domain} of {domains:names} fewer than k = {k:{counts}} are in groups that cross "
        "{number:~its/their} border, so that their values follow from the totals. Use --strata={strata}, a larger -k, "
        "or leave out --keep-totals."
    ),
    "negative-magnitude": (
        "Column '{column}' is negative in {records:record}[ (first: record {first})]: dominance needs amounts from "
        "zero up. Name others by --magnitudes."
    ),
    "p-percent-impossible": (
        "The second largest contributor to '{column}' in [{part:!}the file][{part:?}a stratum or part that rules make] "
        "knows the largest to within {p:g} %, so no groups can satisfy --p-percent. Leave '{column}' out of "
        "--magnitudes, [{part:?}merge strata, ]or leave the largest records out."
    ),
    "small-domains": (
        "{few:,} of {combinations:combination} of {domains:names} {few:~has/have} fewer than k = {k:{counts}}, whose "
        "exact totals would disclose them. Name fewer or coarser attributes in --keep-totals."
    ),
    "totals-infeasible": (
        "The totals of {columns:names} in {combinations:combination} of {domains:names} cannot be kept by the values "
        "of {groups:group}[{positive:?} without values below zero]. Use a smaller -k, name fewer or coarser attributes "
        "in --keep-totals, or make them --strata."
    ),
    # Hybrid data
    "constraint-broken-before": (
        "Column '{column}' is not {rule} in {records:record} of the original. Leave out --constraint."
    ),
    "original-computable": (
        "The original '{column}' follows from [{formula}][{formula:!}{by:names}], released unchanged, in "
        "{records:record}. Drop one with --identifiers, or add it to --confidential."
    ),
    "unchanged-after-rounding": (
        "'{column}' would be published unchanged in {records:record} after rounding, more than half. Leave out "
        "--constraint, use a larger -k or a smaller --alpha, or --type={column}=nominal."
    ),
    "unchanged-by-alpha": (
        "'{column}' would be published unchanged in {records:record}: alpha leaves no visible noise. Use a smaller "
        "--alpha."
    ),
    "unchanged-by-quasi": (
        "'{column}' would be published unchanged in {records:record}: the quasi-identifiers released unchanged "
        "determine it or single out the record. [{k:?}Use a larger -k, --mask-quasi, or drop][{k:!}Drop] one of "
        "{quasi:names} with --identifiers."
    ),
    "unchanged-last-digits": (
        "'{column}' would be published unchanged in {records:record}, because within groups it differs only in its "
        "last digits. Subtract a constant from the column."
    ),
    "unchanged-orthogonal": (
        "'{column}' would be published unchanged in {records:record}, or could be computed, because no other record "
        "varies in it. Leave out --ipso."
    ),
    # Verification
    "category-of-none": "Column '{column}' publishes {values:value} that no record which shares it has.",
    "constraint-broken": "Column '{column}' is not {rule} in {records:record}.",
    "covariance-not-kept": (
        "Column '{column}' does not keep its covariance with '{other}' [{group:?}in some group][{group:!}in the file]."
    ),
    "dominated-groups": "'{column}' is dominated by its largest contributors in {groups:group}.",
    "few-known-values": "Column '{column}' publishes {values:value} computed from fewer than {k:{counts}}.",
    "group-below-k": (
        "{below:,} of the {combinations:,} combinations of {columns:names} have fewer than {k:{counts}}; the smallest "
        "has {smallest:{counts}}."
    ),
    "l-not-kept": "'{column}' has [{form} ]l = {least:.6g} in some group, where l = {l:g} was promised.",
    "marginals-not-kept": "Column '{column}' does not keep its marginals in some group.",
    "mean-not-kept": "Column '{column}' does not keep its mean [{group:?}in some group][{group:!}in the file].",
    "not-constant-in-household": "Column '{column}' is not constant within {households:household}.",
    "outside-the-range": "Column '{column}' publishes {values:value} outside the range of the records that share it.",
    "own-values-published": "Column '{column}' publishes {values:value} unchanged.",
    "pseudonyms-not-one-to-one": (
        "The pseudonyms in column '{column}' are not one for each original number. Run it again."
    ),
    "safe-records-changed": "{records:record} not at risk must be unchanged, and have changed.",
    "sum-not-kept": "Column '{column}' does not keep the [{weighted:?}weighted ]sum in {groups:group}.",
    "t-not-kept": "'{column}' is {distance:.4f} from its distribution in some group, where t = {t} was promised.",
    "total-not-kept": "Column '{column}' does not keep its total in {number:domain} of {domains:names}.",
}

WARNINGS = {
    # Columns that look like another role
    "category-like-identifier": (
        "'{column}' was masked as a category, but looks like an identifier ({reason}), and groups publish values of "
        "it. Drop it with --identifiers={column}."
    ),
    "number-like-other-role": (
        "'{column}' was masked as a number, but looks like {role}[ ({reason})]. Add {option:option} if it "
        "is[{default:?}, or name it in --quasi]."
    ),
    "probable-missing-codes": (
        "'{column}' has {records:record} at {codes:or}, apart from all other values. If this means missing, add "
        "--missing-code={column}={values}."
    ),
    # Units, households and strata of a table
    "blanks-in-households": (
        "'{column}' has {numbers:household number} equal to another one but for blanks around it, so that one "
        "household counts as two. Remove the blanks."
    ),
    "blanks-in-units": (
        "The unit in '{column}' begins or ends with blanks in {records:record}[ (first: record {first})], and counts "
        "as another unit than the same value without blanks. Remove the blanks, or k may count a unit twice."
    ),
    "small-strata-joined": (
        "{strata:stratum/strata} of fewer than k = {k:{counts}} joined the nearest. Groups there mix strata, so k "
        "does not hold within a stratum."
    ),
    # Hybrid data
    "hardly-any-noise": (
        "Records with hardly any noise, so that [{alpha:?}anyone who knows alpha can compute their "
        "values][{alpha:!}their values can be computed], far from all others: {records:record}."
    ),
    "hardly-moved": (
        "Records whose values have hardly moved, with quasi-identifiers far from all others: {records:record}."
    ),
    "nearly-follows": (
        "'{column}' nearly follows from the quasi-identifiers, which leave {left:.1g} of its variance, so its values "
        "have hardly moved: {records:record}."
    ),
    "newly-negative": (
        "'{column}' is negative in {records:record}, and never was in the original. Add "
        "--constraint={column}=non-negative."
    ),
    "own-values-released": "'{column}' is released unchanged in {records:record}.",
    "quasi-unchanged": (
        "Quasi-identifiers are released unchanged, so no k-anonymity is promised.[{maskable:?} --mask-quasi masks them "
        "too.]"
    ),
    "release-once": (
        "Synthetic residuals avoid the direction of the original ones (--ipso=orthogonal), so several releases with "
        "other noise, groups or attributes disclose it together. Release these data once, or leave out --ipso."
    ),
    "same-in-groups": (
        "'{column}' is the same for all members in {groups:group}, and released unchanged there: {records:record}."
    ),
    "solvable-groups": "Groups of k = {k} are so small that members can solve for the values of others. Use -k={safe}.",
    # The whole file
    "classes-below-k": (
        "{number:,} of {records:,} records are in equivalence classes of fewer than k = {k:{counts}} by {where}.[ "
        "Leave out --household to have k over all of them.{household:?}]"
    ),
    "links-shared": (
        "Pseudonyms show which records belong to one {links}. All {links}s share their groups, and the number of "
        "records in each, with at least {others:other}."
    ),
    "common-sensitive-value": (
        "One value of '{column}' has more than 80 %[{unit:?} of the units] in {most:,} of {groups:,} groups. {remedy}"
    ),
    "few-units-in-groups": (
        "{below:,} of {groups:,} groups[ by {columns:names}] hold fewer than {k} different values of "
        "'{column}'[{household:!}, which was dropped]. [{household:!}k counts records, and one person or firm may have "
        "several: use --unit={column}][{household:?}k counts records there, and one household may have several: use a "
        "larger -k, or drop an attribute of persons]."
    ),
    "identifying-sensitive": (
        "Sensitive, but of a kind that identifies people, and released unchanged: {described:words}. Drop "
        "{number:~it/them} with --identifiers={columns}."
    ),
    "same-sensitive-value": (
        "[{unit:!}All known values of '{column}' are the same][{unit:?}One value of '{column}' is that of every unit, "
        "beside others or not,] in {same:,} of {groups:,} groups[, and more than 80 % in {more:,} more][: "
        "{columns:names}, released unchanged, {number:~divides/divide} the groups. Mask or drop "
        "{number:~it/them}.][{columns:!}. {remedy}]"
    ),
    "singled-out": (
        "{number:,} of {records:,} records are unique[ to one unit{unit:?}] in {where}.[ Leave out --household to have "
        "k over all of them.{household:?}]"
    ),
    "singled-out-by-sensitive": "An intruder who {who} of a person may single out {records:record}. {promised}",
    "links-single-out": (
        "Pseudonyms show which records belong to one {links}: {below:,} of {number:{links}} have records in groups, "
        "and as many in each, as fewer than {k} {links}s have. Use {option:option} unless users need the links."
    ),
}

NOTES = {
    "dominated-groups-re-formed": (
        "[{groups:group} that a contributor dominated re-formed; no group is dominated any more][{groups:!}No group of "
        "the method was dominated by a contributor, and none was re-formed]."
    ),
    "few-singled-out-by-sensitive": (
        "{promised} An intruder who {who} of a person may still single out {records:record}."
    ),
    "groups-merged": "{groups:group} merged with others, because the quasi-identifiers singled out a record there.",
    "masked-per-household": (
        "Masked once per household ({households:,} by '{column}'), being constant in each: {attributes:words}[; once "
        "per person: {persons:words}]."
    ),
    "moments-preserved": (
        "Preserved: means and covariances of {columns:words}[, and their covariances with {quasi:words}], in the file"
        "[{groups:?} and in each group]."
    ),
    "nearly-constant-in-households": (
        "Masked per person because members differ in a few of {households:,} households, or one misses a value: "
        "{columns:words}."
    ),
    "no-covariances": "No covariances are kept with what is not a number: {columns:words}.",
    "no-unique-record": (
        "No record is unique over all published columns: every record shares its values with at least {others:{noun}}."
    ),
    "others-synthetic": "{promised} All other published values are synthetic.",
    "permuted-in-groups": "Permuted within each group, each by itself, so that marginals are kept: {columns:words}.",
    "preserved-up-to-rounding": (
        "Preserved up to the rounding of their types: means and covariances of {columns:words}."
    ),
    "small-parts-joined": (
        "{number:{counts}} in parts of fewer than k = {k} that rules make joined another part. There the rules are "
        "verified, not kept by construction."
    ),
    "small-strata-left-out": (
        "{records:record} in [{strata:stratum/strata}][{strata:!}parts that rules make] of fewer than k = {k:{counts}} "
        "left out."
    ),
    "totals-kept": (
        "Totals kept in {combinations:combination} of {domains:names}, [{change:!}by groups that publish their "
        "means][so that groups do not publish their means: values changed by up to {change:.2g}][{scaled:?} standard "
        "deviations][ ({column})]."
    ),
}

PHRASES = {
    # Units of k
    # Where
    # Columns
    "all-columns-known": "{columns}, together with the masked ones",
    "column-by-itself": "'{column}'[{k:!} ({number:,} unique by itself)][ ({number:,} below k = {k} by itself)]",
    "column-and-count": "'{column}' ({number:,})",
    "column-and-reason": "'{column}' ({reason})",
    "columns-by-themselves": "{which}: {columns:words}[ and {others:other}]",
    "columns-combined": "the combination of {which}: {columns:names}",
    "columns-masked": (
        "the masked columns {columns:names}[, with the original {recovered:names} in place of the masked]"
    ),
    "columns-released": "columns released unchanged",
    "other-columns": "columns other than the quasi-identifiers",
    # Knowledge of an intruder
    "knows-columns": "knows {columns:names}",
    "also-knows": "also knows ['{column}'][{column:!}several sensitive columns][ and '{other}']",
    "no-known-column": "No column that a stranger may know is released.",
    "others-alike": "Every record has at least {others:{noun}} like it in the columns that a stranger may know.",
    # Reasons and remedies
    "most-records-differ": "most records differ in it",
    "name-contains": 'its name contains "{word}"',
    "use-l": "Use -l=2 or more.",
    "use-l-form": "Use -l with --l-form=entropy or recursive.",
    "use-larger-k-or-l": "Use a larger -l or -k.",
    "use-larger-k-or-leave-out": "Use a larger -k, or leave out {option} and use -l=2.",
}
