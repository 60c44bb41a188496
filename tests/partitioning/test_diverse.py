"""l-diversity and t-closeness: the groups are those of the naive version, and satisfy what was asked."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused

import naive
from shoal.errors import DataError
from shoal.kernels.encoded import CONVEX_MEDIAN, MEAN, MEDIAN, MODE, EncodedMatrix
from shoal.kernels.l_diversity import FORMS, LDiversity
from shoal.measures import l_diversity, t_closeness
from shoal.messages import Message
from shoal.partitioning.diversity import Secret, diverse, merge_until, satisfied, t_first
from shoal.partitioning.mdav import mdav_mixed

# No earth mover's distance of a few records is as near to these as rounding, so that it cannot decide.
CLOSE = [1e-7, 0.05 + 1e-7, 0.1 + 1e-7, 0.25 + 1e-7, 0.5 + 1e-7]


def plain(X: np.ndarray) -> EncodedMatrix:
    d = X.shape[1]
    return EncodedMatrix(
        np.ascontiguousarray(X, float), np.full(d, MEAN), np.ones(d), np.ones(d), np.zeros(d, np.int64)
    )


@st.composite
def spaces(draw: st.DrawFn, most: int = 40) -> EncodedMatrix:
    """Attributes of all types, with ties, duplicates and missing values; or numbers only."""
    n, d = draw(st.integers(2, most)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = rng.choice([MEAN, MEDIAN, CONVEX_MEDIAN, MODE], d) if draw(st.booleans()) else np.full(d, MEAN)
    levels = np.where(kinds == MEAN, 0, rng.integers(1, 6, d))
    weights = rng.choice([0.5, 1.0, 2.0], d)
    steps = np.where((kinds == MEAN) | (kinds == MODE), 1.0, np.sqrt(weights) / np.maximum(levels, 1))
    columns = [
        steps[j] * rng.integers(0, levels[j], n) if levels[j] else rng.normal(size=n).round(draw(st.integers(0, 9)))
        for j in range(d)
    ]
    values = np.stack(columns, axis=1)
    values[rng.random((n, d)) < draw(st.sampled_from([0.0, 0.2, 0.7]))] = np.nan
    return EncodedMatrix(
        values[rng.integers(0, n, n)] if draw(st.booleans()) else values, kinds, weights, steps, levels
    )


@st.composite
def secrets_of(draw: st.DrawFn, n: int, most: int = 3) -> list[Secret]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = []
    for a in range(draw(st.integers(1, most))):
        codes = rng.integers(0, draw(st.sampled_from([1, 2, 3, 8, 1000])), n)
        codes = np.unique(codes, return_inverse=True)[1]
        known = int(codes.max()) if draw(st.booleans()) else None  # then the last value is a missing one
        found.append(Secret(f"secret {a}", codes, draw(st.booleans()), known))
    return found


@st.composite
def partitions(draw: st.DrawFn, n: int) -> np.ndarray:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return np.unique(rng.integers(0, draw(st.integers(1, n)), n), return_inverse=True)[1]


def naive_distance(space: EncodedMatrix, a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for j in range(len(a)):
        if math.isnan(a[j]) or math.isnan(b[j]):
            total += space.apart[j] if math.isnan(a[j]) != math.isnan(b[j]) else 0.0
        elif space.kinds[j] == MODE:
            total += space.apart[j] if a[j] != b[j] else 0.0
        else:
            total += (a[j] - b[j]) * (a[j] - b[j])
    return total


def naive_average(space: EncodedMatrix, members: list[int]) -> np.ndarray:
    average = []
    for j, kind in enumerate(space.kinds):
        column = sorted(float(space.values[i, j]) for i in members if not math.isnan(space.values[i, j]))
        if len(members) - len(column) > len(column):
            average.append(math.nan)
        elif kind == MEAN:
            average.append(math.fsum(column) / len(column))
        elif kind == MODE:
            average.append(min(column, key=lambda x: (-column.count(x), x)))
        else:
            if kind == CONVEX_MEDIAN:
                counts = [sum(round(x / space.steps[j]) == level for x in column) for level in range(space.levels[j])]
                hull = [min(max(counts[: i + 1]), max(counts[i:])) for i in range(len(counts))]
                column = [level * space.steps[j] for level, times in enumerate(hull) for _ in range(times)]
            average.append(column[(len(column) - 1) // 2])
    return np.array(average)


def naive_distance_from_file(codes: list[int], file: list[int], ordered: bool) -> Fraction:
    different = sorted(set(file))
    r = [Fraction(codes.count(v), len(codes)) - Fraction(file.count(v), len(file)) for v in different]
    if not ordered:
        return sum(map(abs, r), Fraction(0)) / 2
    return sum((abs(sum(r[: i + 1])) for i in range(len(r))), Fraction(0)) / max(len(different) - 1, 1)


def known_values(secret: Secret, members: list[int]) -> list[int | None]:
    codes = [int(secret.codes[i]) for i in members]
    return [None if secret.known is not None and code >= secret.known else code for code in codes]


def naive_fault(members: list[int], secrets: list[Secret], l: LDiversity | None, t: float | None) -> int:  # noqa: E741
    """Twice the values that a group lacks plus its distance from the file, in units; 0 if it is as asked."""
    lacking, distance = 0.0, Fraction(0)
    for secret in secrets:
        if l is not None:
            found = naive.diversity_of(known_values(secret, members), FORMS[l.form], l.c)
            lacking = max(lacking, l.l - found)
        if t is not None:
            codes = [int(secret.codes[i]) for i in members]
            distance = max(distance, naive_distance_from_file(codes, secret.codes.tolist(), secret.ordered))
    if lacking <= 1e-9 and (t is None or distance <= t):
        return 0
    return round(2 * lacking * 10**12) + round(distance * 10**12)


def naive_labels(groups: list[list[int]]) -> list[int]:
    ordered = sorted(groups, key=min)
    return [next(g for g, members in enumerate(ordered) if i in members) for i in range(sum(map(len, groups)))]


def naive_merge(space, groups, secrets, l, t) -> tuple[list[list[int]], bool]:  # noqa: E741
    """Algorithm 1 of Soria-Comas et al. (2015); also whether a tie between groups had to be decided."""
    groups, tied = sorted(map(sorted, groups), key=min), False
    while len(groups) > 1:
        faults = [naive_fault(members, secrets, l, t) for members in groups]
        if max(faults) == 0:
            break
        worst = faults.index(max(faults))
        centres = [naive_average(space, members) for members in groups]
        far = {g: naive_distance(space, centres[worst], centres[g]) for g in range(len(groups)) if g != worst}
        nearest = min(far, key=lambda g: (far[g], g))
        tied |= faults.count(max(faults)) > 1 or list(far.values()).count(far[nearest]) > 1
        merged = sorted(groups[worst] + groups[nearest])
        groups = sorted([g for i, g in enumerate(groups) if i not in (worst, nearest)] + [merged], key=min)
    return groups, tied


def naive_t_first(space: EncodedMatrix, k: int, secret: Secret, t: float) -> list[list[int]]:
    """Algorithm 3 of Soria-Comas et al. (2015), before groups that fail are merged."""
    n = len(secret.codes)
    k = max(k, math.ceil(n / (2 * (n - 1) * t + 1)))
    count = n // k
    while n - k * count >= count:
        k += 1
    extra = [0] * k
    for number in range(n - k * count):
        extra[(k - 1) // 2 if number % 2 == 0 else k // 2] += 1
    line = sorted(secret.codes.tolist())
    parts = []
    for p in range(k):
        parts.append(Counter(line[: count + extra[p]]))
        line = line[count + extra[p] :]
    alive, groups = list(range(n)), []

    def close(x: int) -> None:
        group: list[int] = []

        def give(part: Counter) -> None:
            able = [i for i in alive if i not in group and part[int(secret.codes[i])] > 0]
            group.append(min(able, key=lambda i: (naive_distance(space, space.values[x], space.values[i]), i)))
            part[int(secret.codes[group[-1]])] -= 1

        for p in range(k):
            give(parts[p])
            if extra[p] > 0 and len(group) == p + 1:
                extra[p] -= 1
                give(parts[p])
        groups.append(group)
        alive[:] = [i for i in alive if i not in group]

    def farthest(point: np.ndarray) -> int:
        return min(alive, key=lambda i: (-naive_distance(space, space.values[i], point), i))

    while alive:
        x_r = farthest(naive_average(space, alive))
        close(x_r)
        if alive:
            close(farthest(space.values[x_r]))
    return groups


def naive_error(space: EncodedMatrix, labels: np.ndarray) -> float:
    total = 0.0
    for g in set(labels.tolist()):
        members = np.flatnonzero(labels == g).tolist()
        average = naive_average(space, members)
        total += sum(naive_distance(space, space.values[i], average) for i in members)
    return total


def groups_of(labels: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(labels == g).tolist() for g in np.unique(labels)]


@st.composite
def forms(draw: st.DrawFn, secrets: list[Secret] | None = None) -> LDiversity | None:
    """An l in one of the three forms; one that a group of all records reaches, if these are known."""
    form, c = draw(st.integers(0, 2)), draw(st.sampled_from([0.5, 1.0, 2.0, 3.0]))
    everyone = [known_values(secret, range(len(secret.codes))) for secret in secrets or []]
    most = min((naive.diversity_of(values, FORMS[form], c) for values in everyone), default=5)
    if most < 1 or draw(st.booleans()):
        return None
    l = draw(st.floats(1, most) if FORMS[form] == "entropy" else st.integers(1, int(most)))  # noqa: E741
    return LDiversity(float(l), form, c)


def asked(draw: st.DrawFn, secrets: list[Secret]) -> tuple[LDiversity | None, float | None]:
    return draw(forms(secrets)), draw(st.none() | st.sampled_from(CLOSE))


@settings(max_examples=80)
@given(data=st.data())
def test_a_group_is_satisfied_if_it_is_by_definition(data):
    n = data.draw(st.integers(1, 40))
    secrets, labels = data.draw(secrets_of(n)), data.draw(partitions(n))
    l, t = data.draw(forms()), data.draw(st.none() | st.sampled_from(CLOSE))  # noqa: E741
    expected = [naive_fault(members, secrets, l, t) == 0 for members in groups_of(labels)]
    assert satisfied(labels, secrets, l, t).tolist() == expected


@given(data=st.data())
def test_what_is_satisfied_is_what_the_measures_report_to_the_bit(data):
    n = data.draw(st.integers(2, 200))
    (secret,), labels = data.draw(secrets_of(n, most=1)), data.draw(partitions(n))
    t = t_closeness(labels, secret.codes, ordered=secret.ordered)
    missing = secret.codes >= (n if secret.known is None else secret.known)
    for form, found in enumerate(l_diversity(labels, secret.codes, missing)[name] for name in FORMS):
        assert satisfied(labels, [secret], LDiversity(found, form), t).all()
        assert not satisfied(labels, [secret], LDiversity(found + 1e-6, form), t).all()
    assert not satisfied(labels, [secret], None, np.nextafter(t, -1.0)).all()


def test_values_that_do_not_occur_in_the_file_do_not_count():
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 5, 5, 9])
    t = t_closeness(labels, codes)
    assert satisfied(labels, [Secret("a", codes, True)], LDiversity(2.0), t).tolist() == [True, True]
    assert not satisfied(labels, [Secret("a", codes, True)], LDiversity(2.0), t - 1e-9).all()


@settings(max_examples=80)
@given(space=spaces(), data=st.data())
def test_merging_gives_the_groups_of_the_naive_version(space, data):
    n = len(space.values)
    secrets, labels = data.draw(secrets_of(n)), data.draw(partitions(n))
    l, t = asked(data.draw, secrets)  # noqa: E741
    groups, _ = naive_merge(space, groups_of(labels), secrets, l, t)
    found = merge_until(space, labels, secrets, l, t)
    assert found.tolist() == naive_labels(groups)
    assert satisfied(found, secrets, l, t).all()


@settings(max_examples=80)
@given(space=spaces(), data=st.data())
def test_t_first_gives_the_groups_of_the_naive_version(space, data):
    n = len(space.values)
    secret = data.draw(secrets_of(n, most=1))[0]._replace(ordered=True)
    l, t = asked(data.draw, [secret])  # noqa: E741
    t = data.draw(st.sampled_from(CLOSE)) if t is None else t
    k = data.draw(st.integers(1, n))
    formed = naive_t_first(space, k, secret, t)
    groups, _ = naive_merge(space, formed, [secret], l, t)
    found = t_first(space, k, secret, t, l)
    assert found.tolist() == naive_labels(groups)
    assert np.bincount(found).min() >= k
    assert satisfied(found, [secret], l, t).all()


@settings(max_examples=50)
@given(space=spaces(), data=st.data())
def test_the_partition_of_least_error_is_chosen_and_has_groups_of_at_least_k(space, data):
    n = len(space.values)
    k = data.draw(st.integers(1, n))
    secrets = data.draw(secrets_of(n, most=2))
    l, t = asked(data.draw, secrets)  # noqa: E741
    labels = mdav_mixed(space, k)
    found = diverse(space, k, labels, secrets, l, t)
    assert np.bincount(found).min() >= k
    assert satisfied(found, secrets, l, t).all()
    assert list(dict.fromkeys(found.tolist())) == list(range(found.max() + 1))
    others = [merge_until(space, labels, secrets, l, t)]
    if t is not None:
        formed = [t_first(space, k, secret, t, l) for secret in secrets if secret.ordered]
        others += [merge_until(space, one, secrets, l, t) for one in formed]
    errors = [naive_error(space, other) for other in others]
    assert naive_error(space, found) == pytest.approx(min(errors))
    assert any(np.array_equal(found, other) for other in others)


def test_t_first_keeps_distinct_values_t_close_without_merging():
    rng = np.random.default_rng(0)
    n, t = 1000, 0.05
    found = t_first(plain(rng.normal(size=(n, 3))), 3, Secret("a", rng.permutation(n), True), t)
    assert np.bincount(found).tolist() == [10] * 100  # n / (2 (n - 1) t + 1) = 9.9


def test_where_values_repeat_groups_are_closer_than_by_an_arbitrary_order_of_the_records():
    rng = np.random.default_rng(0)
    space, codes = plain(rng.normal(size=(2000, 3))), np.tile([0, 1], 1000)  # four parts, two of each value
    distinct = np.empty(2000, np.int64)
    distinct[np.argsort(codes, kind="stable")] = np.arange(2000)
    found = t_first(space, 3, Secret("a", codes, True), 0.125)
    arbitrary = t_first(space, 3, Secret("a", distinct, True), 0.125)
    assert len(set(found)) == len(set(arbitrary)) == 500
    assert naive_error(space, found) < 0.8 * naive_error(space, arbitrary)


@pytest.mark.parametrize("values", [2, 3, 4, 300])
def test_t_first_does_not_depend_on_the_order_of_the_records(values):
    rng = np.random.default_rng(values)
    space, codes = plain(rng.normal(size=(300, 3))), rng.permutation(np.arange(300) * values // 300)
    shuffled = rng.permutation(300)
    found = t_first(space, 4, Secret("a", codes, True), 0.3)
    again = t_first(space.rows(shuffled), 4, Secret("a", codes[shuffled], True), 0.3)
    assert found.max() == 74  # no group was merged, which ties might decide
    assert groups_alike(found[shuffled], again)


def groups_alike(a: np.ndarray, b: np.ndarray) -> bool:
    return {tuple(g) for g in groups_of(a)} == {tuple(g) for g in groups_of(b)}


def test_merging_does_not_depend_on_the_order_of_the_records_where_there_are_no_ties():
    untied = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        space, secret = plain(rng.normal(size=(30, 2))), Secret("a", rng.permutation(30), True)
        labels = mdav_mixed(space, 3)
        _, tied = naive_merge(space, groups_of(labels), [secret], None, 0.15)
        if not tied:
            untied += 1
            shuffled = rng.permutation(30)
            found = merge_until(space, labels, [secret], None, 0.15)
            again = merge_until(
                space.rows(shuffled), labels[shuffled], [secret._replace(codes=secret.codes[shuffled])], None, 0.15
            )
            assert groups_alike(found[shuffled], again)
    assert untied >= 5


def test_merging_does_not_depend_on_the_numbers_of_the_groups():
    rng = np.random.default_rng(0)
    space, secret = plain(rng.integers(0, 4, (60, 2))), Secret("a", rng.integers(0, 3, 60), False)
    labels = mdav_mixed(space, 3)
    renumbered = rng.permutation(100)[labels]
    assert np.array_equal(
        merge_until(space, labels, [secret], LDiversity(2.0), 0.2),
        merge_until(space, renumbered, [secret], LDiversity(2.0), 0.2),
    )


def test_at_t_0_groups_distributed_as_the_file_stay_and_others_become_one():
    rng = np.random.default_rng(0)
    space, labels = plain(rng.normal(size=(60, 2))), np.repeat(np.arange(20), 3)
    for ordered in (True, False):
        assert merge_until(space, labels, [Secret("a", np.tile([0, 1, 2], 20), ordered)], None, 0.0).tolist() == (
            labels.tolist()
        )
        assert not merge_until(space, labels, [Secret("a", np.arange(60), ordered)], None, 0.0).any()
    assert not t_first(space, 3, Secret("a", np.arange(60), True), 0.0).any()


def test_a_constant_attribute_leaves_the_groups_as_they_are():
    rng = np.random.default_rng(0)
    space, secret = plain(rng.normal(size=(50, 2))), Secret("a", np.zeros(50, np.int64), True)
    labels = mdav_mixed(space, 4)
    assert groups_alike(merge_until(space, labels, [secret], LDiversity(1.0), 0.0), labels)


def test_one_group_and_one_record_stay():
    one = np.zeros(3, np.int64)
    secret = Secret("a", np.array([0, 1, 1]), True)
    assert diverse(plain(np.ones((3, 1))), 3, one, [secret], LDiversity(2.0), 0.0).tolist() == [0, 0, 0]
    alone = Secret("a", one[:1], True)
    assert diverse(plain(np.ones((1, 1))), 1, one[:1], [alone], LDiversity(1.0), 0.0).tolist() == [0]


def test_strata_are_compared_with_the_whole_file():
    rng = np.random.default_rng(0)
    codes, stratum = rng.integers(0, 10, 400), np.arange(400) < 200
    space, labels = plain(rng.normal(size=(200, 2))), np.repeat(np.arange(50), 4)
    secret, whole = Secret("a", codes[stratum], True), np.bincount(codes)
    found = diverse(space, 4, labels, [secret], LDiversity(3.0), 0.15, [whole])
    assert found.max() > 0
    in_file = np.concatenate([found, np.full(200, -1)])
    for g in range(found.max() + 1):
        members = codes[in_file == g].tolist()
        assert len(set(members)) >= 3
        assert naive_distance_from_file(members, codes.tolist(), True) <= 0.15


@pytest.mark.parametrize(
    ("l", "reached", "largest"),
    [
        (LDiversity(3.0), Message("has-values", number=2), 2),
        (LDiversity(1.9, 1), Message("has-entropy-l", l=3 / 4 ** (1 / 3)), 1.88),
        (LDiversity(3.0, 2, 3.0), Message("has-recursive-l", l=2, c=3), 2),
        (LDiversity(2.0, 2, 2.0), Message("has-recursive-l", l=1, c=2), None),
    ],
)
def test_an_l_that_the_file_does_not_reach_is_refused_with_the_largest_that_it_does(l, reached, largest):  # noqa: E741
    secrets = [Secret("fine", np.arange(6), True), Secret("illness", np.array([0, 1, 0, 1, 0, 0]), False)]
    data = {"column": "illness", "reached": reached, "l": l.l, "largest": largest, "stratum": False}
    with refused(DataError, "l-impossible", **data):
        diverse(plain(np.ones((6, 1))), 2, np.array([0, 0, 0, 1, 1, 1]), secrets, l, None)


def test_an_l_that_a_stratum_does_not_reach_is_refused():
    secret = Secret("illness", np.array([0, 1, 0, 1, 0, 1]), False)
    reached = Message("has-values", number=2)
    with refused(DataError, "l-impossible", column="illness", reached=reached, l=3, stratum=True):
        diverse(
            plain(np.ones((6, 1))), 6, np.zeros(6, np.int64), [secret], LDiversity(3.0), None, [np.array([5, 4, 3])]
        )


def test_a_missing_value_is_no_value():
    labels, codes = np.array([0, 0, 1, 1]), np.array([0, 2, 0, 1])
    assert satisfied(labels, [Secret("a", codes, False)], LDiversity(2.0), None).tolist() == [True, True]
    assert satisfied(labels, [Secret("a", codes, False, 2)], LDiversity(2.0), None).tolist() == [False, True]


def test_a_stratum_unlike_the_file_is_refused():
    secret = Secret("cost", np.array([0, 0, 1, 1]), True)
    with refused(DataError, "t-impossible", column="cost", t=0.1):
        diverse(plain(np.ones((4, 1))), 2, np.array([0, 0, 1, 1]), [secret], None, 0.1, [np.array([2, 2, 50])])


def test_another_thread_can_stop_the_work():
    rng = np.random.default_rng(0)
    space, secret = plain(rng.normal(size=(300, 2))), Secret("a", rng.permutation(300), True)
    labels, stop = np.repeat(np.arange(100), 3), np.array([0, 1])
    assert np.array_equal(merge_until(space, labels, [secret], None, 0.01, watch=stop), labels)
    assert set(t_first(space, 3, secret, 0.01, watch=stop)) == {-1}
    assert np.array_equal(diverse(space, 3, labels, [secret], None, 0.01, watch=stop), labels)
