"""The sets of attributes that an intruder may know, and which records are published alike on each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.equivalence_classes import combine, first_and_size
from shoal.kernels.standardize import Matrix

Integers = NDArray[np.int64]
Subset = tuple[int, ...]

# All subsets of ten attributes.
MOST_SUBSETS = 1023


@dataclass(frozen=True)
class Classes:
    """Records published alike, classes numbered in the order of their first record."""

    labels: Integers  # (n,) the class of each record
    first: Integers  # (classes,) its first record
    size: Integers  # (classes,) how many it has


def published_classes(masked: Matrix, columns: Sequence[int] | None = None) -> Classes:
    """Find the records that are published alike on some attributes (all, if not said)."""
    subset = tuple(range(masked.shape[1])) if columns is None else tuple(columns)
    return next(classes_by_subset(masked, [subset]))[1]


def classes_by_subset(masked: Matrix, subsets: Sequence[Subset]) -> Iterator[tuple[Subset, Classes]]:
    """Yield the classes of each subset; those that begin alike, one after the other, share the work on what they share.

    An attribute is sorted once; after that, classes are combined by a hash table in time proportional to n.
    """
    codes: dict[int, tuple[Integers, int]] = {}
    path: list[tuple[Integers, int]] = [(np.zeros(len(masked), dtype=np.int64), 1)]  # the classes of each beginning
    before: Subset = ()
    for subset in subsets:
        common = 0
        while common < min(len(before), len(subset)) and before[common] == subset[common]:
            common += 1
        del path[common + 1 :]
        for j in subset[common:]:
            if j not in codes:
                values, code = np.unique(masked[:, j], return_inverse=True)
                codes[j] = code.astype(np.int64, copy=False), len(values)
            # Where all records differ, or the attribute is constant, another attribute changes nothing.
            settled = path[-1][1] == len(masked) or codes[j][1] == 1
            path.append(path[-1] if settled else combine(path[-1][0], codes[j][0]))
        before = subset
        labels, count = path[-1]
        yield subset, Classes(labels, *first_and_size(labels, count))


def intruder_subsets(d: int, limit: int = MOST_SUBSETS, seed: int = 0) -> tuple[list[Subset], bool]:
    """List the non-empty subsets of d attributes, in lexicographic order, and return whether it is a sample.

    All 2^d - 1 are listed if they are no more than the limit. Otherwise every size gets its share of the limit (at
    least one): all subsets of that size where they fit, a sample without replacement where they do not.
    """
    if 2**d - 1 <= limit:
        return sorted(s for size in range(1, d + 1) for s in combinations(range(d), size)), False
    rng = np.random.default_rng(seed)
    chosen: list[Subset] = []
    sizes = sorted(range(1, d + 1), key=lambda size: (comb(d, size), size))
    for at, size in enumerate(sizes):
        share = max(1, (limit - len(chosen)) // (d - at))
        if comb(d, size) <= 4 * share:
            every = list(combinations(range(d), size))
            drawn = rng.permutation(len(every))[:share]
            chosen += [every[i] for i in drawn]
        else:
            some: set[Subset] = set()
            while len(some) < share:
                some.add(tuple(sorted(rng.choice(d, size, replace=False).tolist())))
            chosen += some
    return sorted(chosen), len(chosen) < 2**d - 1


def scenarios_of_blocks(
    blocks: Sequence[Sequence[str]], known: int, limit: int = MOST_SUBSETS, seed: int = 0
) -> dict[str, list[list[str]]]:
    """List the sets of so many attributes that an intruder may know, by the number of blocks that they come from.

    ``1G`` are sets from one attribute block, in which multivariate microaggregation keeps its k; ``2G`` sets from two,
    and so on (J. Nin, "Beyond multivariate microaggregation for large record anonymization", section 4.3, who draws
    nine sets of each kind; here are all, or a sample of `limit` sets of all kinds).
    """
    block_of = {name: number for number, block in enumerate(blocks) for name in block}
    names = list(block_of)
    if comb(len(names), known) <= 10 * limit:
        sets = [list(each) for each in combinations(names, known)]
        if len(sets) > limit:
            sets = [sets[at] for at in np.sort(np.random.default_rng(seed).permutation(len(sets))[:limit])]
    else:
        rng = np.random.default_rng(seed)
        drawn = {tuple(sorted(rng.choice(len(names), known, replace=False).tolist())) for _ in range(limit)}
        sets = [[names[at] for at in each] for each in sorted(drawn)]
    found: dict[str, list[list[str]]] = {}
    for each in sorted(sets, key=lambda each: len({block_of[name] for name in each})):
        found.setdefault(f"{len({block_of[name] for name in each})}G", []).append(each)
    return found


def real_k(masked: Matrix, columns: Sequence[int] | None = None) -> dict[str, Any]:
    """Real anonymity of a masked file for an intruder who knows some attributes.

    ``k' = n / |{x' : x' in X'}|``: the records over the number of different ones among them, that is the average size
    of a class of records that are published alike.

    Returns ``real_k``, k'; ``smallest``, the size of the smallest class; ``groups``, how many classes there are.

    References
    ----------
    Nin, Herranz & Torra (2008), On the disclosure risk of multivariate microaggregation, Data & Knowledge Engineering
    67.
    """
    return _anonymity(published_classes(masked, columns))


def real_k_by_subset(masked: Matrix, limit: int = MOST_SUBSETS, seed: int = 0) -> dict[str, Any]:
    """Real anonymity k' for every set of attributes that an intruder may know, by the size of the set.

    Returns ``sizes``: for each number of attributes known, ``mean`` and ``least`` k' over its subsets, the ``smallest``
    class in any of them, and how many ``subsets`` were looked at; ``worst``, the subset (column numbers) with the least
    k'; ``mean``, the mean over sizes; ``subsets``, how many in all; ``sampled``, whether some were left out.
    """
    subsets, sampled = intruder_subsets(masked.shape[1], limit, seed)
    found = {subset: _anonymity(classes) for subset, classes in classes_by_subset(masked, subsets)}
    sizes = {}
    for size in range(1, masked.shape[1] + 1):
        ours = [measured for subset, measured in found.items() if len(subset) == size]
        sizes[size] = {
            "mean": float(np.mean([measured["real_k"] for measured in ours])),
            "least": min(measured["real_k"] for measured in ours),
            "smallest": min(measured["smallest"] for measured in ours),
            "subsets": len(ours),
        }
    worst = min(found, key=lambda subset: (cast(float, found[subset]["real_k"]), len(subset), subset))
    return {
        "sizes": sizes,
        "worst": list(worst),
        "mean": float(np.mean([sizes[size]["mean"] for size in sizes])),
        "subsets": len(subsets),
        "sampled": sampled,
    }


def _anonymity(classes: Classes) -> dict[str, Any]:
    groups = len(classes.size)
    return {"real_k": len(classes.labels) / groups, "smallest": int(classes.size.min()), "groups": groups}
