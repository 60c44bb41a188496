"""l-diversity and t-closeness: groups in which the confidential attributes give little away."""

from collections.abc import Sequence
from math import ceil, floor, inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import DataError
from shoal.kernels.diversity import Attributes, Parts, groups_across, merge_groups, squared_error
from shoal.kernels.encoded import EncodedMatrix
from shoal.kernels.l_diversity import FORMS, SLACK, LDiversity, diversities, diversity_of
from shoal.kernels.t_closeness import distances_from_file
from shoal.messages import Message
from shoal.partitioning.mdav import space_within_range
from shoal.partitioning.methods import Labels, Watch, by_first_record

# How many records of the whole file have each value of a confidential attribute.
Frequencies = NDArray[np.int64]


class Secret(NamedTuple):
    """A confidential attribute."""

    name: str
    codes: NDArray[np.int64]  # (n,): the number of each record's value, 0, 1, ... in their order
    ordered: bool  # distances between values are differences in rank (numbers, ordinal); otherwise all are the same
    known: int | None = None  # how many values there are, if a higher code is a missing value: one for t, none for l


class Units(NamedTuple):
    """The people, firms or other units that records are of."""

    codes: NDArray[np.int64]  # (n,): the number of each record's unit, 0, 1, ... without a gap
    least: int  # how many different ones every group has

    def rows(self, records: NDArray[np.int64]) -> "Units":
        """Return the units of some records."""
        return Units(np.unique(self.codes[records], return_inverse=True)[1].astype(np.int64), self.least)

    @property
    def number(self) -> int:
        """How many different ones there are."""
        return int(self.codes.max(initial=-1)) + 1


class Limits(NamedTuple):
    """What groups must not give away: the confidential attributes, and how far they are protected.

    With units, every group has so many of them, and l and t count a unit once for each value that it has in the group.
    """

    secrets: list[Secret]
    l: LDiversity | None  # noqa: E741 - the literature's own name
    t: float | None
    whole: list[Frequencies] | None = None  # how often each value of a secret occurs in the whole file
    units: Units | None = None

    def rows(self, records: NDArray[np.int64]) -> "Limits":
        """Return the limits on some records."""
        secrets = [each._replace(codes=each.codes[records]) for each in self.secrets]
        return self._replace(secrets=secrets, units=None if self.units is None else self.units.rows(records))

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return self.l is not None or self.t is not None or self.units is not None


NO_LIMITS = Limits([], None, None)


def satisfied(
    labels: Labels,
    secrets: Sequence[Secret],
    l: LDiversity | None,  # noqa: E741
    t: float | None,
    whole: Sequence[Frequencies] | None = None,
    units: Units | None = None,
) -> NDArray[np.bool_]:
    """Return which groups are l-diverse [1]_ and t-close [2]_ in every confidential attribute.

    A group needs l values, counted as its form has it (`shoal.measures.l_diversity`), and a distribution at most t from
    that in the whole file: the earth mover's distance, computed as `shoal.measures.t_closeness` does, to the bit.
    `whole` counts for each attribute the records of the whole file with value 0, 1, ...; without it, the records are
    the whole file. Labels have no gaps. With units, a group needs so many of them, and each counts once for every value
    that it has in the group, and in the file.

    References
    ----------
    .. [1] A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, "l-diversity: privacy beyond k-anonymity",
       ACM Transactions on Knowledge Discovery from Data 1 (2007).
    .. [2] N. Li, T. Li and S. Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity", ICDE 2007.
    """
    attributes = attributes_of(secrets, whole, units)
    start = _starts(labels)
    fine = np.ones(len(start) - 1, dtype=np.bool_)
    if units is not None:
        fine &= np.bincount(labels[_once(labels, units.codes)]) >= units.least
    for a in range(len(secrets)):
        code, group = attributes.codes[a], labels
        if units is not None:
            once = _once(labels, code, units.codes)
            code, group = code[once], labels[once]
            start = _starts(group)
        in_groups = code[np.lexsort((code, group))]
        if l is not None:
            fine &= diversities(start, in_groups, attributes.known[a], l.form, l.c) >= l.l - SLACK
        if t is not None:
            below = attributes.below[attributes.first[a] : attributes.first[a + 1]]
            fine &= distances_from_file(start, in_groups, below, attributes.ordered[a]) <= t
    return fine


def merge_until(
    space: EncodedMatrix,
    labels: Labels,
    secrets: Sequence[Secret],
    l: LDiversity | None,  # noqa: E741
    t: float | None,
    whole: Sequence[Frequencies] | None = None,
    units: Units | None = None,
    watch: Watch | None = None,
) -> Labels:
    """Merge groups until all are l-diverse and t-close, and have enough units: algorithm 1 of [1]_.

    While some group is not, the worst is merged with the group whose average record is nearest. The worst is the one
    that lacks most values or units; of several, the one farthest from the file in distribution. An average record has
    the mean, the median or the mode of the values present, as in `shoal.partitioning.mdav.mdav_mixed`. Groups count as
    numbered by their lowest record index; ties go to the lowest. A DataError if not even one group of all records
    satisfies what is asked.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez and S. Martínez, "t-closeness through microaggregation: strict
       privacy with enhanced utility preservation", IEEE Transactions on Knowledge and Data Engineering 27 (2015)
       3098-3110.
    """
    _check(secrets, l, t, whole, units)
    labels = by_first_record(labels)
    home = merge_groups(
        space_within_range(space),
        attributes_of(secrets, whole, units),
        np.argsort(labels, kind="stable"),
        _starts(labels),
        LDiversity(0.0) if l is None else l,
        inf if t is None else t,
        np.zeros(2, np.int64) if watch is None else watch,
    )
    return by_first_record(home[labels])


def t_first(
    space: EncodedMatrix,
    k: int,
    secret: Secret,
    t: float,
    l: LDiversity | None = None,  # noqa: E741
    whole: Frequencies | None = None,
    units: Units | None = None,
    watch: Watch | None = None,
) -> Labels:
    """Form groups across the distribution of an ordered confidential attribute: t-closeness first, algorithm 3 of [1]_.

    The records are sorted by the attribute and cut into k' = max(k, ceil(n / (2 (n - 1) t + 1))) parts, of which each
    group takes one record: then it is t-close if no two records have the same value. If n is not a multiple of k', k'
    grows until fewer records are left over than there are groups; they are in the central part, or halved between the
    two that are central, and a group takes at most one of them. Groups are formed, as by MDAV, around x_r, the record
    farthest from the average of those left, and around x_s, the record then farthest from x_r: the nearest record of
    every part, in their order. Ties go to the lowest record index.

    In the paper a sorting decides which of the records with the same value are in which part. Here it is left open
    where a cut goes through them: a part that has still to give one of them gives the nearest. So the groups do not
    depend on the order of the records, and are closer where the attribute has few values.

    Groups that fail are merged by `merge_until`: where values repeat, n is not a multiple of k' or units are too few.

    References
    ----------
    .. [1] J. Soria-Comas, J. Domingo-Ferrer, D. Sánchez and S. Martínez, "t-closeness through microaggregation: strict
       privacy with enhanced utility preservation", IEEE Transactions on Knowledge and Data Engineering 27 (2015)
       3098-3110.
    """
    reference = None if whole is None else [whole]
    _check([secret], l, t, reference, units)
    if watch is None:
        watch = np.zeros(2, np.int64)
    labels = groups_across(space_within_range(space), _parts(secret.codes, k, t), watch)
    if watch[1] != 0:
        return labels
    return merge_until(space, labels, [secret], l, t, reference, units, watch)


def diverse(
    space: EncodedMatrix,
    k: int,
    labels: Labels,
    secrets: Sequence[Secret],
    l: LDiversity | None,  # noqa: E741
    t: float | None,
    whole: Sequence[Frequencies] | None = None,
    units: Units | None = None,
    watch: Watch | None = None,
) -> Labels:
    """Turn a partition into groups of at least k that are l-diverse and t-close in every confidential attribute.

    Its groups are merged (`merge_until`). If t is asked, groups are also formed again across each attribute that is
    ordered (`t_first`), and merged until they satisfy the others as well. Of these partitions, the one with the lowest
    sum of squared distances between the records and the average record of their group is returned; of equals the first.
    Where strata never share a group, this is called for each, and `whole` describes the file.
    """
    found = [merge_until(space, labels, secrets, l, t, whole, units, watch)]
    for a, secret in enumerate(secrets):
        if secret.ordered and t is not None and (watch is None or watch[1] == 0):
            formed = t_first(space, k, secret, t, l, None if whole is None else whole[a], units, watch)
            found.append(merge_until(space, formed, secrets, l, t, whole, units, watch))
    return min(found, key=lambda partition: _error(space, partition)) if len(found) > 1 else found[0]


def refuse_impossible(
    name: str,
    counts: Frequencies,
    l: LDiversity,  # noqa: E741
    stratum: bool = False,
) -> None:
    """Refuse an l that not even one group of all records reaches, whose known values occur so often."""
    most = diversity_of(np.sort(counts[counts > 0]), l.form, l.c)
    if most >= l.l - SLACK:
        return
    form = FORMS[l.form]
    reached = Message("has-values", number=int(most))
    if form == "entropy":
        reached = Message("has-entropy-l", l=most)
    elif form == "recursive":
        reached = Message("has-recursive-l", l=most, c=l.c)
    largest = floor(100 * most) / 100 if form == "entropy" else int(most)
    usable = largest if largest > 1 else None
    raise DataError("l-impossible", column=name, reached=reached, l=l.l, largest=usable, stratum=stratum)


def refuse_few(units: Units) -> None:
    """Refuse records of fewer than k units, of which no group can be formed."""
    if units.number < units.least:
        raise DataError("k-above-block", k=units.least, number=units.number, counts="unit")


def _check(
    secrets: Sequence[Secret],
    l: LDiversity | None,  # noqa: E741
    t: float | None,
    whole: Sequence[Frequencies] | None,
    units: Units | None,
) -> None:
    """Refuse what not even one group of all records satisfies."""
    if units is not None:
        refuse_few(units)
    for a, secret in enumerate(secrets):
        everything = np.zeros(len(secret.codes), np.int64)
        if l is not None:
            stratum = whole is not None and len(secret.codes) < whole[a].sum()
            refuse_impossible(secret.name, _frequency(secret, units)[: secret.known], l, stratum)
        reference = None if whole is None else [whole[a]]
        if t is not None and not satisfied(everything, [secret], None, t, reference, units)[0]:
            raise DataError("t-impossible", column=secret.name, t=t)


def _once(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one record of each combination of values."""
    order = np.lexsort(columns)
    apart = np.logical_or.reduce([each[order[1:]] != each[order[:-1]] for each in columns])
    return order[np.append(True, apart)] if len(order) else order


def _frequency(secret: Secret, units: Units | None) -> Frequencies:
    """Count the records with each value, or the units."""
    return np.bincount(secret.codes if units is None else secret.codes[_once(secret.codes, units.codes)])


def attributes_of(
    secrets: Sequence[Secret], whole: Sequence[Frequencies] | None, units: Units | None = None
) -> Attributes:
    """Return the attributes as arrays, with values numbered by rank among those that occur in the file."""
    codes: list[NDArray[np.int64]] = []
    below: list[NDArray[np.int64]] = []
    known: list[int] = []
    for a, secret in enumerate(secrets):
        frequency = _frequency(secret, units) if whole is None else np.asarray(whole[a])
        rank = np.cumsum(frequency > 0) - 1
        codes.append(rank[secret.codes])
        below.append(np.cumsum(frequency[frequency > 0]))
        known.append(int(np.count_nonzero(frequency[: secret.known])))
    first = np.cumsum([0, *map(len, below)])
    ordered = np.array([secret.ordered for secret in secrets], np.bool_)
    values = np.concatenate([*below, np.empty(0, np.int64)])
    ranks = np.array(codes) if codes else np.empty((0, 0), np.int64)
    found = Attributes(ranks, values, first, np.array(known, np.int64), ordered)
    return found if units is None else found._replace(unit=np.ascontiguousarray(units.codes), units=units.least)


def _parts(codes: NDArray[np.int64], k: int, t: float) -> Parts:
    """Cut the records, in the order of the attribute, into k' parts."""
    n = len(codes)
    k = max(k, ceil(n / (2 * (n - 1) * t + 1)))
    groups = n // k
    k += (n % k) // groups
    extra = np.zeros(k, np.int64)
    left_over = n % k
    extra[k // 2] += left_over // 2
    extra[(k - 1) // 2] += left_over - left_over // 2
    part = np.repeat(np.arange(k), groups + extra)
    order = np.argsort(codes, kind="stable")
    _, first, run = np.unique(codes[order], return_index=True, return_inverse=True)
    end = np.append(first[1:], n) - 1
    is_cut = part[first] != part[end]
    pool_in_order = np.unique(np.where(is_cut[run], k + run, part), return_inverse=True)[1]
    pool = np.empty(n, np.int64)
    pool[order] = pool_in_order
    pools = int(pool.max()) + 1
    share, left = np.unique(part * pools + pool_in_order, return_counts=True)
    return Parts(pool, np.searchsorted(share // pools, np.arange(k + 1)), share % pools, left, extra)


def _starts(labels: Labels) -> NDArray[np.int64]:
    """Return where the records of each group begin when they are sorted by group, and where the last ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(labels))])


def _error(space: EncodedMatrix, labels: Labels) -> float:
    return squared_error(space_within_range(space), np.argsort(labels, kind="stable"), _starts(labels))
