"""Messages on groups: units, households, strata, dominance, totals, hybrid data, verification and the whole file."""

ERRORS = {
    # Requests
    "constraint-not-for-type": "do not apply to '{column}', which is {type}.",
    "domain-dropped": "names '{column}', which is dropped. Add it to --strata or --publish.",
    "domain-masked": "names '{column}', which is masked. Add it to --strata or --publish.",
    "k-too-small-for-synthesis": (
        "groups of {records:record} are too small for {sensitive:sensitive attribute} and {quasi:quasi-identifier}. "
        "Use -k={least} or more, or fewer attributes."
    ),
    "k-too-small-unless-masked": (
        "groups of {records:record} are too small for {sensitive:sensitive attribute} and {quasi:quasi-identifier}. "
        "Use -k={least} or more, or fewer attributes, or add --mask-quasi: masked quasi-identifiers do not count."
    ),
    "magnitude-not-continuous": "names '{column}', which is {type}. Name continuous attributes.",
    "magnitude-not-masked": "names '{column}', which is not masked. Add it to --quasi.",
    "needs-the-mean": "needs the mean of '{column}': no other aggregate gives a total.",
    "no-continuous-attribute": "does not apply: no quasi-identifier is continuous and has totals.",
    "no-household-attribute": (
        "does not apply: no quasi-identifier is constant within every household ('{column}' varies in {varying:,} of "
        "{households:,}). Drop the column with --identifiers={household}."
    ),
    "one-attribute-only": "'univariate' takes one attribute. Use --partition=mdav or best.",
    "refine-needs-numbers": "applies to numbers and dates, but '{column}' is {type}. Leave it out.",
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
    "sum-of-categories": "rule '{rule}' adds up {columns:names}, which is not a number. Leave the rule out.",
    "too-many-combinations": (
        "has more than {most:,} combinations of {columns:names}. Name fewer attributes, or attributes with fewer "
        "values."
    ),
    "type-not-for-method": "'{method}' cannot take '{column}', which is {type}. Use --method={instead}.",
    "type-not-for-partition": "'{partition}' cannot take '{column}', which is {type}. Use --partition=mdav.",
    "varies-within-household": (
        "'{column}' varies within {varying:,} of {households:household}. Correct it, or leave it out."
    ),
    # Units, households and strata of a table
    "all-parts-small": (
        "Every part that the rules {rules:names} make has fewer than k = {k} {counted}. Use a smaller -k, or leave the "
        "rule out."
    ),
    "all-parts-small-or-medoid": (
        "Every part that the rules {rules:names} make has fewer than k = {k} {counted}. Use a smaller -k, publish "
        "whole records with --aggregate=medoid, or leave the rule out."
    ),
    "all-strata-small": (
        "Every stratum has fewer than k = {k} {counted}, so nothing would be left to publish. Use a smaller -k or "
        "larger strata."
    ),
    "households-below-k": (
        "There are fewer than k = {k} households {where}. Use a smaller -k, larger strata, or leave out --household."
    ),
    "missing-household": (
        "'{column}' has no household number in {where}. Fill it in: a person who lives alone has a number of their own."
    ),
    "missing-unit": "The unit in column '{column}' is missing in {where}. Fill it, or leave these records out.",
    "nested-household": "Column '{column}' is nested, so it cannot number households. Use text or whole numbers.",
    "nested-stratum": "Column '{column}' is nested, so it cannot be a stratum. Use text, numbers or dates.",
    "small-parts": (
        "{several:~Rule/Rules} {rules:names} {several:~separates/separate} {amount} in {parts:part} of fewer than "
        "k = {k}. Use --small-strata=suppress to leave these records out, --small-strata=merge to join them with "
        "others, or use a smaller -k, or leave the rule out."
    ),
    "small-parts-or-medoid": (
        "{several:~Rule/Rules} {rules:names} {several:~separates/separate} {amount} in {parts:part} of fewer than "
        "k = {k}. Use --small-strata=suppress to leave these records out, --small-strata=merge to join them with "
        "others, or use a smaller -k, publish whole records with --aggregate=medoid, or leave the rule out."
    ),
    "small-strata": "Strata: fewer than k = {k} {counted} {where}. Use --small-strata=merge or suppress.",
    "strata-within-household": (
        "Strata: members of one household are in different strata. Use strata that households share."
    ),
    "too-few-households": (
        "'{column}' has {households:household}, and k = {k} asks for groups of as many. Use a smaller -k, or leave out "
        "--household."
    ),
    "too-few-units": (
        "Column '{column}' has {units:different unit}, fewer than k = {k}. Use a smaller -k, or name another --unit."
    ),
    "unit-type": "Column '{column}' is of type {type}. A unit must be text, a number or a date.",
    "weights-within-household": (
        "The weights in '{column}' differ within a household, so that a household has none. Use a weight that its "
        "members share, or leave out --weights."
    ),
    # Dominance and totals
    "dominance-impossible": (
        "{largest} more than {share:g} % of '{column}' in the file, so no groups can satisfy --dominance. Leave "
        "'{column}' out of --magnitudes, or leave the largest records out."
    ),
    "dominance-impossible-in-part": (
        "{largest} more than {share:g} % of '{column}' in a stratum or part that rules make, so no groups can satisfy "
        "--dominance. Leave '{column}' out of --magnitudes, merge strata, or leave the largest records out."
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
        "in {number:domain} of {domains:names} fewer than k = {k} {counted} are in groups that cross "
        "{number:~its/their} border, so that their values follow from the totals. Use --strata={strata}, a larger -k, "
        "or leave out --keep-totals."
    ),
    "negative-magnitude": (
        "Column '{column}' is negative in {where}: dominance needs amounts from zero up. Name others by --magnitudes."
    ),
    "p-percent-impossible": (
        "The second largest contributor to '{column}' in the file knows the largest to within {p:g} %, so no groups "
        "can satisfy --p-percent. Leave '{column}' out of --magnitudes, or leave the largest records out."
    ),
    "p-percent-impossible-in-part": (
        "The second largest contributor to '{column}' in a stratum or part that rules make knows the largest to within "
        "{p:g} %, so no groups can satisfy --p-percent. Leave '{column}' out of --magnitudes, merge strata, or leave "
        "the largest records out."
    ),
    "small-domains": (
        "{few:,} of {combinations:combination} of {domains:names} {few:~has/have} fewer than k = {k} {counted}, whose "
        "exact totals would disclose them. Name fewer or coarser attributes in --keep-totals."
    ),
    "totals-infeasible": (
        "The totals of {columns:names} in {combinations:combination} of {domains:names} cannot be kept by the values "
        "of {groups:group}. Use a smaller -k, name fewer or coarser attributes in --keep-totals, or make them --strata."
    ),
    "totals-infeasible-above-zero": (
        "The totals of {columns:names} in {combinations:combination} of {domains:names} cannot be kept by the values "
        "of {groups:group} without values below zero. Use a smaller -k, name fewer or coarser attributes in "
        "--keep-totals, or make them --strata."
    ),
    # Hybrid data
    "constraint-broken-before": (
        "Column '{column}' is not {rule} in {records:record} of the original. Leave out --constraint."
    ),
    "original-computable": (
        "The original '{column}' follows from {by}, released unchanged, in {records:record}. Drop one with "
        "--identifiers, or add it to --confidential."
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
        "determine it or single out the record. Drop one of {quasi:names} with --identifiers."
    ),
    "unchanged-in-groups": (
        "'{column}' would be published unchanged in {records:record}: the quasi-identifiers released unchanged "
        "determine it or single out the record. Use a larger -k, --mask-quasi, or drop one of {quasi:names} with "
        "--identifiers."
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
    "covariance-not-kept": "Column '{column}' does not keep its covariance with '{other}' {where}.",
    "dominated-groups": "'{column}' is dominated by its largest contributors in {groups:group}.",
    "few-known-values": "Column '{column}' publishes {values:value} computed from fewer than {k} {counted}.",
    "group-below-k": (
        "{below:,} of the {combinations:,} combinations of {columns:names} occur fewer than {k:,} times; the smallest "
        "has {smallest}."
    ),
    "l-form-not-kept": "'{column}' has {form} l = {least:.6g} in some group, where l = {l:g} was promised.",
    "l-not-kept": "'{column}' has l = {least:.6g} in some group, where l = {l:g} was promised.",
    "marginals-not-kept": "Column '{column}' does not keep its marginals in some group.",
    "mean-not-kept": "Column '{column}' does not keep its mean {where}.",
    "not-constant-in-household": "Column '{column}' is not constant within {households:household}.",
    "outside-the-range": "Column '{column}' publishes {values:value} outside the range of the records that share it.",
    "own-values-published": "Column '{column}' publishes {values:value} unchanged.",
    "pseudonyms-not-one-to-one": (
        "The pseudonyms in column '{column}' are not one for each original number. Run it again."
    ),
    "safe-records-changed": "{records:record} not at risk must be unchanged, and have changed.",
    "sum-not-kept": "Column '{column}' does not keep the sum in {groups:group}.",
    "t-not-kept": "'{column}' is {distance:.4f} from its distribution in some group, where t = {t} was promised.",
    "total-not-kept": "Column '{column}' does not keep its total in {number:domain} of {domains:names}.",
    "units-below-k": (
        "{below:,} of the {combinations:,} combinations of {columns:names} have records of fewer than {k} units; the "
        "smallest has {smallest:unit}."
    ),
    "weighted-total-not-kept": "Column '{column}' does not keep the weighted total in {groups:group}.",
}

WARNINGS = {
    # What looks like something else
    "category-like-identifier": (
        "'{column}' was masked as a category, but looks like an identifier ({reason}), and groups publish values of "
        "it. Drop it with --identifiers={column}."
    ),
    "averaged-code": (
        "'{column}' was averaged as a number, but looks like a code. If it is one, add --type={column}={type}."
    ),
    "number-like-code": (
        "'{column}' was masked as a number, but looks like a code. Add --type={column}={type} if it is, or name it in "
        "--quasi."
    ),
    "number-like-constant": (
        "'{column}' was masked as a number, but looks like a constant ({reason}). Add --publish={column} if it is, or "
        "name it in --quasi."
    ),
    "number-like-identifier": (
        "'{column}' was masked as a number, but looks like an identifier ({reason}). Add --identifiers={column} if it "
        "is, or name it in --quasi."
    ),
    "number-like-strata": (
        "'{column}' was masked as a number, but looks like strata ({reason}). Add --strata={column} if it is, or name "
        "it in --quasi."
    ),
    "number-like-weights": (
        "'{column}' was masked as a number, but looks like survey weights ({reason}). Add --weights={column} if it is, "
        "or name it in --quasi."
    ),
    "probable-missing-codes": (
        "'{column}' has {records:record} at {codes}, apart from all other values. If this means missing, add "
        "--missing-code={column}={values}."
    ),
    # Units, households and strata of a table
    "blanks-in-households": (
        "'{column}' has {numbers:household number} equal to another one but for blanks around it, so that one "
        "household counts as two. Remove the blanks."
    ),
    "blanks-in-units": (
        "The unit in '{column}' begins or ends with blanks in {where}, and counts as another unit than the same value "
        "without blanks. Remove the blanks, or k may count a unit twice."
    ),
    "small-strata-joined": (
        "{strata:stratum/strata} of fewer than k = {k} {counted} joined the nearest. Groups there mix strata, so k "
        "does not hold within a stratum."
    ),
    # Hybrid data
    "hardly-any-noise": (
        "Records with hardly any noise, so that their values can be computed, far from all others: {records:record}."
    ),
    "hardly-any-noise-by-alpha": (
        "Records with hardly any noise, so anyone who knows alpha can compute their values, far from all others: "
        "{records:record}."
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
    "quasi-unchanged": "Quasi-identifiers are released unchanged, so no k-anonymity is promised.",
    "quasi-unchanged-in-groups": (
        "Quasi-identifiers are released unchanged, so no k-anonymity is promised. --mask-quasi masks them too."
    ),
    "release-once": (
        "Synthetic residuals avoid the direction of the original ones (--ipso=orthogonal), so several releases with "
        "other noise, groups or attributes disclose it together. Release these data once, or leave out --ipso."
    ),
    "same-in-groups": (
        "'{column}' is the same for all members in {groups:group}, and released unchanged there: {records:record}."
    ),
    "solvable-groups": (
        "Groups of k = {k} are so small that members can solve for the values of others. Use -k={safe}."
    ),
    # The whole file
    "classes-below-k": (
        "{number:,} of {records:,} records are in equivalence classes of fewer than k = {k} {counted} by {where}."
    ),
    "classes-below-k-household": (
        "{number:,} of {records:,} records are in equivalence classes of fewer than k = {k} {counted} by {where}. "
        "Leave out --household to have k over all of them."
    ),
    "common-sensitive-value": "One value of '{column}' has more than 80 % in {most:,} of {groups:,} groups. {remedy}",
    "common-value-of-units": (
        "One value of '{column}' has more than 80 % of the units in {most:,} of {groups:,} groups. {remedy}"
    ),
    "few-households-in-groups": (
        "{below:,} of {groups} hold fewer than {k} different values of '{column}'. k counts records there, and one "
        "household may have several: use a larger -k, or drop an attribute of persons."
    ),
    "few-units-in-groups": (
        "{below:,} of {groups} hold fewer than {k} different values of '{column}', which was dropped. k counts "
        "records, and one person or firm may have several: use --unit={column}."
    ),
    "household-links-shared": (
        "Pseudonyms show who lives with whom. All households share their groups, and the number of records in each, "
        "with at least {others:other}."
    ),
    "household-links-single-out": (
        "Pseudonyms show who lives with whom: {below:,} of {number:household} have records in groups, and as many in "
        "each, as fewer than {k} households have. Use --household-as=drop unless users need the links."
    ),
    "identifying-sensitive": (
        "Sensitive, but of a kind that identifies people, and released unchanged: {described:words}. Drop "
        "{number:~it/them} with --identifiers={columns}."
    ),
    "same-sensitive-value": "All known values of '{column}' are the same in {where}. {remedy}",
    "same-sensitive-value-divided": (
        "All known values of '{column}' are the same in {where}: {columns:names}, released unchanged, "
        "{number:~divides/divide} the groups. Mask or drop {number:~it/them}."
    ),
    "same-value-of-units": "One value of '{column}' is that of every unit, beside others or not, in {where}. {remedy}",
    "same-value-of-units-divided": (
        "One value of '{column}' is that of every unit, beside others or not, in {where}: {columns:names}, released "
        "unchanged, {number:~divides/divide} the groups. Mask or drop {number:~it/them}."
    ),
    "singled-out": "{number:,} of {records:,} records are unique in {where}.",
    "singled-out-by-sensitive": ("An intruder who {who} of a person may single out {records:record}. {promised}"),
    "singled-out-household": (
        "{number:,} of {records:,} records are unique in {where}. Leave out --household to have k over all of them."
    ),
    "singled-out-unit": "{number:,} of {records:,} records are those of one unit alone by {where}.",
    "unit-links-shared": (
        "Pseudonyms link the records of a unit. All units share their groups, and the number of records in each, with "
        "at least {others:other}."
    ),
    "unit-links-single-out": (
        "Pseudonyms link the records of a unit: {below:,} of {number:unit} have records in groups, and as many in "
        "each, as fewer than {k} units have. Use --unit-as=drop unless users need the links."
    ),
}

NOTES = {
    "dominated-groups-re-formed": (
        "{groups:group} that a contributor dominated re-formed; no group is dominated any more."
    ),
    "few-singled-out-by-sensitive": (
        "{promised} An intruder who {who} of a person may still single out {records:record}."
    ),
    "groups-merged": ("{groups:group} merged with others, because the quasi-identifiers singled out a record there."),
    "masked-per-household": (
        "Masked once per household ({households:,} by '{column}'), being constant in each: {attributes:words}."
    ),
    "masked-per-household-and-person": (
        "Masked once per household ({households:,} by '{column}'), being constant in each: {attributes:words}; once "
        "per person: {persons:words}."
    ),
    "moments-preserved": "Preserved: means and covariances of {columns:words}, {where}.",
    "moments-preserved-with-quasi": (
        "Preserved: means and covariances of {columns:words}, and their covariances with {quasi:words}, {where}."
    ),
    "nearly-constant-in-households": (
        "Masked per person because members differ in a few of {households:,} households, or one misses a value: "
        "{columns:words}."
    ),
    "no-covariances": "No covariances are kept with what is not a number: {columns:words}.",
    "no-dominated-group": "No group of the method was dominated by a contributor, and none was re-formed.",
    "no-unique-record": (
        "No record is unique over all published columns: every record shares its values with at least {others}."
    ),
    "others-synthetic": "{promised} All other published values are synthetic.",
    "permuted-in-groups": ("Permuted within each group, each by itself, so that marginals are kept: {columns:words}."),
    "preserved-up-to-rounding": (
        "Preserved up to the rounding of their types: means and covariances of {columns:words}."
    ),
    "small-parts-joined": (
        "{amount} in parts of fewer than k = {k} that rules make joined another part. There the rules are verified, "
        "not kept by construction."
    ),
    "small-parts-left-out": "{records:record} in parts of fewer than k = {k} that rules make left out.",
    "small-strata-left-out": "{records:record} in {strata:stratum/strata} of fewer than k = {k} {counted} left out.",
    "totals-kept": "Totals kept in {combinations:combination} of {domains:names}, by groups that publish their means.",
    "totals-kept-in-deviations": (
        "Totals kept in {combinations:combination} of {domains:names}, so that groups do not publish their means: "
        "values changed by up to {deviations:.2g} standard deviations ({column})."
    ),
    "totals-kept-in-values": (
        "Totals kept in {combinations:combination} of {domains:names}, so that groups do not publish their means: "
        "values changed by up to {change:.2g} ({column})."
    ),
}

PHRASES = {
    # What k counts, and how many of them
    "counted-households": "households",
    "number-of-households": "{number:household}",
    "number-of-others": "{number:other}",
    "number-of-other-units": "{number:other unit}",
    "number-of-records": "{number:record}",
    "number-of-units": "{number:unit}",
    "counted-records": "records",
    "counted-units": "units",
    # Where
    "groups-by": "{groups:,} groups by {columns:names}",
    "groups-in-all": "{groups:,} groups",
    "in-all": "in all",
    "in-file-and-groups": "in the file and in each group",
    "in-groups": "{same:,} of {groups:,} groups",
    "in-groups-and-nearly": "{same:,} of {groups:,} groups, and more than 80 % in {more:,} more",
    "in-some-group": "in some group",
    "in-strata": "in {strata:stratum/strata}",
    "in-strata-of-records": "in the strata of records {records:words}",
    "in-strata-of-records-and-more": "in the strata of records {records:words}, and in {more:stratum/strata} more",
    "in-stratum-of-record": "in the stratum of record {record}",
    "in-the-file": "in the file",
    "at-record": "record {first}",
    "at-record-and-others": "record {first} ({number:,} records in all)",
    "records-from": "{number:record} (first: record {first})",
    # Columns
    "all-columns-known": "{columns}, together with the masked ones",
    "below-k-by-itself": "'{column}' ({number:,} below k = {k} by itself)",
    "one-column": "'{column}'",
    "column-and-count": "'{column}' ({number:,})",
    "column-and-reason": "'{column}' ({reason})",
    "named-columns": "{columns:names}",
    "columns-and-others": "{which}: {columns:words} and {others:other}",
    "columns-by-themselves": "{which}: {columns:words}",
    "columns-combined": "the combination of {which}: {columns:names}",
    "columns-masked": "the masked columns {columns:names}",
    "columns-masked-and-recovered": (
        "the masked columns {columns:names}, with the original {recovered:names} in place of the masked"
    ),
    "columns-released": "columns released unchanged",
    "other-columns": "columns other than the quasi-identifiers",
    "unique-by-itself": "'{column}' ({number:,} unique by itself)",
    # What an intruder knows
    "also-knows": "also knows '{column}'",
    "also-knows-both": "also knows '{column}' and '{other}'",
    "also-knows-several": "also knows several sensitive columns",
    "knows-columns": "knows {columns:names}",
    "no-known-column": "No column that a stranger may know is released.",
    "others-alike": "Every record has at least {others} like it in the columns that a stranger may know.",
    # Reasons and remedies
    "either-code": "{value} or {other}",
    "largest-holds": "The largest contributor holds",
    "largest-hold": "The {number} largest contributors hold",
    "most-records-differ": "most records differ in it",
    "name-contains": 'its name contains "{word}"',
    "use-l": "Use -l=2 or more.",
    "use-l-form": "Use -l with --l-form=entropy or recursive.",
    "use-larger-k-or-l": "Use a larger -l or -k.",
    "use-larger-k-or-leave-out": "Use a larger -k, or leave out {option} and use -l=2.",
}
