"""Balanced distances: two random records are as far apart in one attribute as in any other, whatever its type."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.expect import refused, reports
from tests.naive import mixed_distance

import shoal
from shoal.backends.choose import open_records
from shoal.messages import Message
from shoal.parallel import quiet
from shoal.pipeline.prepare import prepare
from shoal.pipeline.resolve import resolve

TYPES = {"age": "continuous", "size": "ordinal", "town": "nominal"}
LEVELS = {"size": ["S", "M", "L"]}


def space_of(table, **options):
    """The space in which the records of a table are near or far."""
    plan = shoal.Plan(k=2, quasi=table.column_names, missing="group", **options)
    with open_records(table, plan, quiet) as records:
        masker = prepare(resolve(plan, records), records).masker
        return masker.space(masker.encode(table))


def mean_squares(space):
    """For each attribute, the mean squared distance of two random records."""
    rows = space.values.tolist()
    n = len(rows)
    found = []
    for j in range(len(rows[0])):
        alone = space.columns([j])
        found.append(sum(mixed_distance(alone, [a[j]], [b[j]]) for a in rows for b in rows) / n**2)
    return found


cell = st.sampled_from(["S", "M", "L", None])
rows = st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), cell, cell), min_size=4, max_size=12)


@given(rows)
def test_two_random_records_are_2_apart_in_every_attribute_that_varies(drawn):
    age, size, town = zip(*drawn, strict=True)
    assume(all(any(value is not None for value in column) for column in (age, size, town)))
    table = pa.table({"age": pa.array(age, pa.int64()), "size": size, "town": town})
    found = mean_squares(space_of(table, types={"town": "nominal"}, levels=LEVELS))
    varies = [len(set(column)) > 1 for column in (age, size, town)]
    assert found == pytest.approx([2.0 if each else 0.0 for each in varies], abs=1e-9)


def test_the_literal_distances_have_a_name():
    table = pa.table({"age": [1, 2, 3, 4], "size": ["S", "M", "L", "S"], "town": ["a", "b", "a", None]})
    space = space_of(table, levels=LEVELS, distance="mdav-generic")
    assert space.steps.tolist() == [1, 1 / 3, 1]
    assert space.apart.tolist() == [1, 1, 1]


def printed_mdav_generic(age, size, town, k):
    """MDAV-generic of the paper on raw columns: z-scores, levels apart / number of levels, 0 or 1; Euclidean."""
    z = (age - age.mean()) / age.std()
    place = np.array([LEVELS["size"].index(each) for each in size])

    def distance(a, b):
        levels = abs(a[1] - b[1]) / len(LEVELS["size"])
        return ((a[0] - b[0]) ** 2 + levels**2 + (a[2] != b[2])) ** 0.5

    def average(rows):
        towns = [town[i] for i in rows]
        median = sorted(place[rows])[(len(rows) - 1) // 2]
        return z[rows].mean(), median, min(set(towns), key=lambda each: (-towns.count(each), each))

    def of(i):
        return z[i], place[i], town[i]

    left, groups = list(range(len(z))), []

    def around(i):
        nearest = sorted(left, key=lambda j: distance(of(i), of(j)))[:k]
        groups.append(frozenset(nearest))
        left[:] = [j for j in left if j not in nearest]

    while len(left) >= 3 * k:
        x_r = max(left, key=lambda i: distance(of(i), average(left)))
        x_s = max(left, key=lambda i: distance(of(i), of(x_r)))
        around(x_r)
        around(x_s if x_s in left else max(left, key=lambda i: distance(of(i), of(x_r))))
    if len(left) >= 2 * k:
        around(max(left, key=lambda i: distance(of(i), average(left))))
    return {*groups, frozenset(left)}


@pytest.mark.parametrize("seed", range(5))
def test_the_literal_distances_give_the_groups_of_the_paper(seed):
    rng = np.random.default_rng(seed)
    age, size, town = rng.normal(40, 9, 47), rng.choice(["S", "M", "L"], 47), rng.choice(["Ayr", "Rye", "Wem"], 47)
    table = pa.table({"age": age, "size": size, "town": town})
    release = shoal.protect(table, k=3, method="mdav", quasi=[*TYPES], levels=LEVELS, distance="mdav-generic")
    found = {frozenset(np.flatnonzero(release.groups == g).tolist()) for g in np.unique(release.groups)}
    assert found == printed_mdav_generic(age, size.tolist(), town.tolist(), 3)


def test_an_attribute_weight_multiplies_squared_distances():
    table = pa.table({"age": [1, 2, 3, 4], "size": ["S", "M", "L", "S"], "town": ["a", "b", "a", None]})
    weights = {"age": 3.0, "size": 5.0, "town": 7.0}
    assert mean_squares(space_of(table, levels=LEVELS, attribute_weights=weights)) == pytest.approx([6, 10, 14])


def test_numbers_without_gaps_are_z_scores():
    x = np.random.default_rng(0).normal(size=50)
    space = space_of(pa.table({"x": x, "town": ["a", "b"] * 25}))
    assert space.values[:, 0] == pytest.approx((x - x.mean()) / x.std())


def test_an_education_counts_as_much_as_an_income():
    """The levels of an ordinal attribute hardly counted beside z-scores: a fifth of them changed."""
    rng = np.random.default_rng(3)
    n = 1_500
    income, age = rng.lognormal(size=n), rng.normal(size=n)
    edu = np.clip(np.rint(rng.normal(2.0, 1.0, n)), 0, 4).astype(int)
    table = pa.table({"income": income, "age": age, "edu": [f"level {level}" for level in edu]})
    levels = {"edu": [f"level {level}" for level in range(5)]}
    changed = {
        distance: shoal.protect(
            table, k=5, method="mdav", quasi=table.column_names, levels=levels, distance=distance
        ).loss()["attributes"]["edu"]["changed"]
        for distance in ("mdav-generic", "balanced")
    }
    assert changed["balanced"] < changed["mdav-generic"] / 2


def test_a_distance_of_categories_does_not_apply_to_numbers_alone():
    table = pa.table({"age": [1, 2, 3, 4], "town": ["a", "b", "a", "b"]})
    with refused(shoal.PlanError, "distance-of-numbers", "distance"):
        shoal.protect(table, k=2, quasi=["age"], publish=["town"], distance="balanced")


def test_levels_that_change_much_or_vanish_are_warned_of():
    rng = np.random.default_rng(5)
    edu = [*["a", "b", "c"] * 33, "rare"]
    gone = Message("vanished-in-column", column="edu", vanished=3, before=4)
    table = pa.table({"x": rng.normal(size=100), "y": rng.normal(size=100), "edu": edu})
    release = shoal.protect(
        table, k=20, quasi=["x", "y", "edu"], attribute_weights={"edu": 0.01}, levels={"edu": ["a", "b", "c", "rare"]}
    )
    assert reports(release.notes, "levels-vanished", columns=[gone])
    [much] = [note for note in release.notes if note.code == "much-changed"]
    assert [(each.data["column"], each.data["percent"] > 20) for each in much.data["columns"]] == [("edu", True)]
