"""Messages on partitioning, aggregation, masking, blocking and measures."""

ERRORS = {
    # Requests
    "blocking-needs-order": "'2^d' cannot divide records by nominal attributes alone. Use --blocking=kd.",
    "epsilon-too-small": (
        "is too small for the number of groups and attributes: the noise would exceed every value. Use a larger "
        "--epsilon or -k."
    ),
    # Groups
    "k-above-block": (
        "k = {k} is more than the {number:{counts}} of the smallest record block. Use a smaller -k or larger "
        "--block-records."
    ),
    "l-impossible": (
        "'{column}' {reached} in [{stratum:?}a stratum or record block][{stratum:!}the file], below l = {l:g}. [Use "
        "-l={largest:g} or less][{largest:!}Leave out -l][{stratum:?}, merge strata], or remove it from --confidential."
    ),
    "t-impossible": (
        "Sensitive attribute '{column}' has such a different distribution in a stratum that even one group of all its "
        "records is farther than t = {t:g} from the file. Use a larger -t, or merge strata."
    ),
    # Noise
    "alpha-inadmissible": (
        "--alpha takes more variance from the records than they have: S - alpha S alpha' must be positive "
        "semidefinite, as it always is for one alpha for all attributes. One that can be used is {offered}."
    ),
    "random-numbers-dependent": "The random numbers are a linear combination of the data. Use another --seed.",
    "too-few-for-ms": (
        "{records:record} are too few for method 'ms': what it preserves are equations that fewer than {least} records "
        "({base}, and {each} for each attribute) may not hide. Use --method=hybrid."
    ),
    # Matrices
    "column-too-extreme": (
        "Column [{number} of {matrix}]['{column}'] is too large or too small to be computed with. Store it in another "
        "unit."
    ),
    "linkage-needs-numbers": (
        "Record linkage needs numbers without missing values. Fill them, or leave the records out."
    ),
    "matrices-of-other-length": "X and Y must be matrices with the same number of rows.",
    "matrix-not-finite": "{matrix}[[{row}, {column}]] is missing or infinite.",
    "matrix-not-numbers": "{matrix} must hold numbers only.",
    "matrix-of-other-dimension": "X must have two dimensions, not {dimensions}. X.reshape(-1, 1) makes one column.",
}

PHRASES = {
    # Why a method was chosen
    "budget-given": "a budget is given",
    "groups-searched": "MDAV's groups, improved by a search; --budget=60s may save some {gain} % of the loss",
    "method-of-blocks": "the method for record blocks",
    "method-refined": "a start that is refined",
    "optimal-for-one": "optimal for one attribute",
    "search-takes-long": "a search in {records:record} of {attributes:attribute} takes long; --budget allows it",
    # Diversity that a sensitive attribute reaches
    "has-entropy-l": "has an entropy l of {l:.4g}",
    "has-recursive-l": "is recursive (c, l)-diverse up to l = {l:g} for c = {c:g}",
    "has-values": "has {number:different value}",
    # Why a regression cannot be estimated
    "response-constant": "the response is constant",
    "response-outside-range": "the response is not between 0 and 1",
    "separated-response": "separates records in which the response is 0 from those in which it is 1",
    "too-few-for-coefficients": "{records:complete record} are too few for {coefficients:coefficient}",
}
