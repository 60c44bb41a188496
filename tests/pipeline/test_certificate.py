"""The bound that every release has: below the loss of all groups there are, whatever their attributes and weights."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from bench.samples import distributed

import naive
import shoal
from shoal.kernels.standardize import Scale
from shoal.partitioning.certificate import lower_bound, quick_bound, weighted_bound
from shoal.pipeline.certify import certified
from shoal.pipeline.loss import Losses
from shoal.pipeline.loss_space import points
from shoal.plan import Effort
from shoal.tables.attributes import Attribute

TYPES = ["continuous", "ordinal", "nominal"]


def losses_of(types):
    levels = [None if each == "continuous" else [*"abcdefgh"] for each in types]
    attributes = [
        Attribute(f"a{j}", each, np.zeros(0), pa.float64(), level)
        for j, (each, level) in enumerate(zip(types, levels, strict=True))
    ]
    return Losses(attributes, {each.name: Scale(0.0, 1.0) for each in attributes})


def small(rng, n, types, gaps):
    columns = [rng.normal(size=n) ** 3 if each == "continuous" else rng.integers(0, 4, n) * 1.0 for each in types]
    codes = np.column_stack(columns)
    codes[rng.random(codes.shape) < gaps] = np.nan
    return codes


@pytest.mark.parametrize("gaps", [0.0, 0.25])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_groups_of_records_of_any_type_lose_less_than_the_bound(gaps, weighted):
    rng = np.random.default_rng([int(100 * gaps), weighted])
    reached = []
    for _ in range(300):
        types = [TYPES[each] for each in rng.integers(0, 3, rng.integers(1, 4))]
        n, k = (rng.integers(4, 8), 2) if rng.random() < 0.6 else (rng.integers(6, 9), 3)
        codes = small(rng, n, types, gaps)
        weights = rng.integers(1, 9, n) * 1.0 if weighted else np.ones(n)
        losses = losses_of(types)
        sums = losses.measure(codes, codes, weights)
        X = points(losses, sums, codes, range(len(types)), k, weighted=weighted)
        least = naive.least_loss(codes, types, *losses.units(sums), k, weights)
        found = [weighted_bound(X, k, weights)] if weighted else [quick_bound(X, k), lower_bound(X, k, Effort(5_000))]
        assert all(each.value <= least + 1e-12 for each in found)
        reached.append((found[-1].value, least))
    bounds, least = np.sum(reached, axis=0)
    assert bounds > (0.3 if weighted or gaps else 0.7) * least  # or it would be a bound of no use


def test_the_nominal_bound_is_reached_by_groups_of_which_one_record_differs():
    codes = np.array([[0.0], [0.0], [1.0]])
    losses = losses_of(["nominal"])
    sums = losses.measure(codes, codes)
    X = points(losses, sums, codes, [0], 2, weighted=False)
    assert quick_bound(X, 2).value == pytest.approx(losses.units(sums)[1][0])


def people(n=120):
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(8, 1, n),
            "job": rng.choice([*"abcde"], n),
            "site": rng.choice([*"xy"], n),
            "w": rng.integers(1, 20, n),
            "ill": rng.integers(0, 5, n),
        }
    )


OPTIONS = {
    "numbers": {"quasi": ["age", "income"]},
    "types": {"quasi": ["age", "income", "job"]},
    "strata": {"quasi": ["age", "income", "job"], "strata": ["site"]},
    "attribute blocks": {"quasi": ["age", "income", "job"], "blocks": [["age"], ["income", "job"]]},
    "record blocks": {"quasi": ["age", "income"], "scale": {"block_size": 30}},
    "weights": {"quasi": ["age", "income", "job"], "weights": "w"},
    "l": {"quasi": ["age", "income"], "confidential": ["ill"], "l": 3},
    "median": {"quasi": ["age", "income"], "aggregate": "median"},
    "other scales": {"quasi": ["age", "income"], "standardize": "minmax", "attribute_weights": {"age": 5.0}},
    "rules": {"quasi": ["age", "income"], "edits": ["income >= 0"]},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_release_of_groups_has_a_bound_of_the_loss_that_it_reports(name):
    options = {"publish": "rest", "k": 3, "method": "mdav", **OPTIONS[name]}
    release = shoal.protect(people(), **options)
    proof = release.summary()["certificate"]
    assert proof["SSE"] == release.loss()["SSE"]
    assert 0 < proof["lower_bound"] <= proof["SSE"]
    assert proof["at_most_above_optimum"] == pytest.approx(100 * (proof["SSE"] / proof["lower_bound"] - 1))


def test_strata_raise_the_bound_and_record_blocks_leave_it():
    bound = {
        name: shoal.protect(people(), k=3, publish="rest", method="mdav", **OPTIONS[name]).certificate.bound
        for name in ("numbers", "types", "strata", "record blocks")
    }
    assert bound["strata"] > bound["types"]
    assert bound["record blocks"] == pytest.approx(bound["numbers"], rel=1e-12)


def test_missing_values_are_bounded_whether_they_are_grouped_imputed_or_left_out():
    table = people()
    gaps = pa.array(table["income"].to_numpy(), mask=np.random.default_rng(0).random(len(table)) < 0.1)
    table = table.set_column(1, "income", gaps)
    for missing in ("group", "impute", "suppress"):
        release = shoal.protect(
            table, k=3, quasi=["age", "income", "job"], publish="rest", missing=missing, method="mdav"
        )
        assert 0 < release.certificate.bound <= release.certificate.sse == release.loss()["SSE"]


@pytest.mark.parametrize("options", [{"missing": "group"}, {"scale": {"block_size": 40}}])
def test_a_closer_bound_is_there_for_every_type_and_for_record_blocks(options):
    options = {"k": 3, "quasi": ["age", "income", "job"], "publish": "rest", "method": "mdav", **options}
    quick = shoal.protect(people(60), **options).certificate
    closer = shoal.protect(people(60), **options, bound=True, budget=100_000).certificate
    assert quick.bound < closer.bound <= closer.sse
    assert closer.how == "potentials"


@pytest.mark.parametrize("options", [{}, {"strata": ["region"]}], ids=["all", "strata"])
def test_progress_shows_what_is_proved_so_far_and_the_seconds_that_pass(options):
    steps = []
    options = {"k": 3, "quasi": ["age", "income"], "publish": "rest", "method": "mdav", **options}
    table = people(400).append_column("region", [np.arange(400) % 2])
    release = shoal.protect(table, **options, bound=True, budget="1s", progress=lambda *step: steps.append(step))
    shares = [done / total for step, done, total in steps if step == "bound so far"]
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= release.certificate.bound / release.certificate.sse + 1e-5
    assert {total for step, _, total in steps if step == "bound"} == {10}
    assert all(0 <= done <= 10 for step, done, _ in steps if step == "bound")


@pytest.mark.parametrize(
    "limits", [{"l": 2}, {"t": 0.4}, {"unit": "firm"}, {"scale": {"block_size": 40}}, {"edits": ["age >= 0"]}], ids=str
)
def test_limits_on_groups_leave_the_bound_as_it_is_and_only_raise_the_loss(limits):
    table = people(60).append_column("firm", [np.arange(60) // 2])
    options = {"k": 3, "quasi": ["age", "income"], "confidential": ["job"], "publish": "rest", "method": "mdav"}
    options |= {"bound": True, "budget": 100_000}
    proof = shoal.protect(table, **options, **limits).certificate
    assert proof.bound == pytest.approx(shoal.protect(table, **options).certificate.bound, rel=1e-6)
    assert proof.bound <= proof.sse


def test_methods_without_groups_and_private_releases_have_no_bound():
    table = people().select(["age", "income"])
    assert shoal.protect(table, k=3, method="mic1d", allow_unchanged=True).certificate is None
    private = shoal.protect(
        table, k=3, quasi=["age"], identifiers=["income"], epsilon=1.0, bounds={"age": [0, 120]}, method="insensitive"
    )
    assert private.certificate is None
    assert "certificate" not in private.summary()


def test_the_bound_does_not_depend_on_the_order_of_records():
    table = people()
    order = np.random.default_rng(0).permutation(len(table))
    options = {"k": 3, "quasi": ["age", "income", "job"], "publish": "rest", "method": "mdav"}
    one, other = (shoal.protect(each, **options).certificate for each in (table, table.take(order)))
    assert one.bound == pytest.approx(other.bound, rel=1e-12)


def test_records_that_are_all_equal_lose_nothing_and_are_bounded_by_nothing():
    table = pa.table({"a": [5.0] * 20, "b": ["x"] * 20})
    proof = shoal.protect(table, k=3, quasi=["a", "b"]).certificate
    assert (proof.sse, proof.bound, proof.gap) == (0, 0, 0)


def test_a_bound_that_would_take_long_is_left_to_those_who_ask_for_it(monkeypatch):
    monkeypatch.setattr("shoal.partitioning.certificate.COMPARED", 1000)
    release = shoal.protect(people(), k=3, quasi=["age", "income", "job"], publish="rest", method="mdav")
    assert release.certificate.bound is None
    assert "--bound" in release.summary()["certificate"]["how"]


def test_as_many_categories_as_records_are_bounded():
    table = pa.table({"name": [f"n{i}" for i in range(80)], "age": np.arange(80) % 7})
    proof = shoal.protect(table, k=3, quasi=["name", "age"], types={"name": "nominal"}, method="mdav").certificate
    assert 0 < proof.bound <= proof.sse


@pytest.mark.parametrize("kind", ["uniform", "clustered", "skewed"])
def test_the_quick_bound_lies_between_that_of_neighbours_and_the_closer_one(kind):
    from shoal.partitioning.certificate import nearest_neighbour_bound

    X = distributed(kind, 150, 3)
    quick = quick_bound(X, 4).value
    assert nearest_neighbour_bound(X, 4) < quick <= lower_bound(X, 4, Effort(1_000_000)).value * 1.001


def test_it_costs_nothing_until_it_is_looked_at(monkeypatch):
    monkeypatch.setattr("shoal.backends.memory.certified", None)
    release = shoal.protect(people(), k=3, quasi=["age"], publish="rest")
    assert len(release.table) == 120


def test_a_bound_above_the_loss_is_never_shown():
    release = shoal.protect(people(), k=3, quasi=["age", "income"], publish="rest", method="mdav").published
    cheated = replace(release.losses)
    proof = certified(release.masker, release.rows, cheated, cheated.measure(release.rows[:, :2], release.rows[:, :2]))
    assert proof.bound is None
