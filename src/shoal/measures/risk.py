"""What a release gives an intruder: how well records hide, the measures of risk gathered, and the score."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.measures.assignment import assignment
from shoal.measures.distance_linkage import linkage, linkage_average
from shoal.measures.diversity import l_diversity, t_closeness
from shoal.measures.equivalence_classes import MOST_SUBSETS, published_classes, real_k, real_k_by_subset
from shoal.measures.fellegi_sunter import agreement_values, probabilistic_linkage_by_types
from shoal.measures.interval_disclosure import interval_disclosure_rank, interval_disclosure_sd
from shoal.measures.linkage_spaces import LinkageSpaces

# What `risk_book` spends: records x subsets whose classes are counted, records x attributes x subsets that are linked.
MOST_LABELS = 100_000_000
MOST_LINKS = 128_000_000
MOST_RECORDS = 1_000_000
# With more than so many attributes a search looks at nearly all records: distances that may then be measured.
FEW_ATTRIBUTES = 8
MOST_DISTANCES = 4_000_000_000

Sizes = NDArray[np.int64]


def exposure(sizes: Sizes) -> dict[str, float]:
    """Describe a table by the number of records that share each combination of quasi-identifiers.

    Returns ``groups``, how many combinations there are; ``smallest`` and ``largest``, their sizes; ``uniques``, records
    that nobody else resembles; ``real_k``, the average size k' = n / groups of Nin, Herranz & Torra (2008); and
    ``reidentification``, the percentage of records that an intruder who knows all the quasi-identifiers links to the
    right person on average, 100 / k'.
    """
    n = int(sizes.sum())
    return {
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "uniques": int((sizes == 1).sum()),
        "real_k": n / len(sizes),
        "reidentification": 100 * len(sizes) / n,
    }


def disclosure_risk(dld: float, id_: float) -> float:
    """Mean of linkage and interval disclosure, in percent: ``DR = 0.5 DLD + 0.5 ID`` of Domingo-Ferrer & Torra."""
    return 0.5 * (dld + id_)


def score(il: float, dld: float, id_: float, pld: float | None = None) -> float:
    """Score of a masking method, in percent: the lower, the better the balance of loss and risk.

    ``0.5 IL + 0.5 DR`` with ``DR = 0.5 DLD + 0.5 ID``; with probabilistic linkage it shares the place of DLD:
    ``0.5 IL + 0.125 DLD + 0.125 PLD + 0.25 ID``. With PIL for IL and the linkage on all attributes for DLD, it is the
    score (PIL + DR) / 2 of Torra, Cano & Navarro-Arribas (2009).

    References
    ----------
    Domingo-Ferrer & Torra (2001), see `distance_linkage`.
    """
    linkage = dld if pld is None else 0.5 * (dld + pld)
    return 0.5 * il + 0.5 * disclosure_risk(linkage, id_)


def _affordable(d: int, plain: bool, distinct: int, subsets: int) -> int:
    """How many records to link to so many distinct ones, for each of so many subsets of d attributes."""
    if plain and d <= FEW_ATTRIBUTES:
        return min(MOST_RECORDS, MOST_LINKS // d**2)
    return _by_scans(distinct, subsets)


def _by_scans(distinct: int, subsets: int) -> int:
    """How many records to link if a search looks at nearly all of the distinct ones."""
    return min(MOST_RECORDS, max(500, MOST_DISTANCES // (distinct * subsets)))


def diversity_book(
    classes: NDArray[np.int64], confidential: Mapping[str, tuple[NDArray[np.int64], NDArray[np.bool_], bool]]
) -> dict[str, dict[str, Any]]:
    """Measure what each confidential attribute gives away among records that are published alike.

    Each has codes, which of them are missing values, and whether they have an order. For each attribute ``distinct``,
    ``entropy`` and ``recursive`` l with the number of ``dominated`` classes (`l_diversity`), ``t`` (`t_closeness`) and
    whether it was taken as ``ordered``.
    """
    return {
        name: {
            **l_diversity(classes, codes, missing),
            "t": t_closeness(classes, codes, ordered=ordered),
            "ordered": ordered,
        }
        for name, (codes, missing, ordered) in confidential.items()
    }


def risk_book(spaces: LinkageSpaces, seed: int = 0) -> dict[str, Any]:
    """All measures of risk of a masked file, on attributes of every type, at a cost that stays within about a minute.

    Returns ``real_k`` (`real_k` for all attributes), ``real_k_by_subset``; ``DLD`` (`distance_linkage` for all
    attributes), ``DLD_average`` (`distance_linkage_average`), ``DLD_masking`` and ``DLD_neutral`` (`linkage` by the
    distance that masked, and by ranks and indicators: see `LinkageSpaces`), ``assignment`` (`assignment`,
    by the distance that masked), ``PLD`` (`probabilistic_linkage`), ``ID_rank`` and ``ID_sd``
    (`interval_disclosure_rank`, `interval_disclosure_sd`).

    Notes
    -----
    Averages are over all subsets of attributes while these are at most 1,023 and, times n, at most 100 million (k') or,
    times n and d, at most 128 million (linkage); else over a sample with at least one subset of each size. Linkage by
    distance on all attributes takes at most ten million records, and averaged over subsets a million (128 million /
    d^2); with more than 8 attributes, or other types than numbers, as many as come to four thousand million distances.
    Probabilistic linkage takes a hundred million pairs for each limit of agreement.
    """
    original, masked = spaces.original, spaces.masked
    n, d = original.shape
    labels = published_classes(masked).labels
    distinct = int(labels.max()) + 1
    subsets = max(d, min(MOST_SUBSETS, MOST_LINKS // (n * d)))
    plain = all(each.plain for each in spaces.own)
    at_once = 10 * MOST_RECORDS if plain and d <= FEW_ATTRIBUTES else _by_scans(distinct, 1)
    each = _affordable(d, plain, distinct, min(subsets, 2**d - 1))
    before, after = (agreement_values(space) for space in spaces.own)
    return {
        "real_k": real_k(masked),
        "real_k_by_subset": real_k_by_subset(masked, min(MOST_SUBSETS, MOST_LABELS // n), seed),
        "DLD": linkage(*spaces.own, records=at_once, seed=seed),
        "DLD_average": linkage_average(*spaces.own, subsets, each, seed),
        "DLD_masking": linkage(*spaces.masking, records=at_once, seed=seed),
        "DLD_neutral": linkage(*spaces.neutral, records=at_once, seed=seed),
        "assignment": assignment(*spaces.masking, seed=seed),
        "PLD": probabilistic_linkage_by_types(before, after, seed=seed),
        "ID_rank": interval_disclosure_rank(original, masked, spaces.nominal),
        "ID_sd": interval_disclosure_sd(original, masked, spaces.nominal),
    }
