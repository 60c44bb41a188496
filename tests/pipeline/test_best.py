"""method = "best", refinement and certificates, as users ask for them."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expect import refused, reports
from tests.samples import loss, matrices

import shoal
from shoal.kernels import stop
from shoal.kernels.standardize import standardize
from shoal.partitioning import best as best_module
from shoal.partitioning import clock, neighbourhoods, recombination, refinement, set_partitioning
from shoal.partitioning.best import best
from shoal.partitioning.mdav import mdav
from shoal.pipeline import partition
from shoal.plan import Effort


def sizes(labels):
    return np.bincount(labels)


@settings(max_examples=60, deadline=None)
@given(matrices(most=60), st.integers(2, 7), st.sampled_from(["best", "tour", "mdav refined"]))
def test_every_group_has_k_to_2k_minus_1_records(X, k, method):
    k = min(k, len(X))
    if k < 2:
        return
    options = {"method": "mdav", "refine": True} if method == "mdav refined" else {"method": method}
    found = sizes(shoal.partition(X, k, standardize=False, budget=None if method != "best" else 2000, **options))
    assert found.min() >= k
    assert found.max() < 2 * k or len(found) == 1


@settings(max_examples=40, deadline=None)
@given(matrices(most=60), st.integers(2, 5))
def test_best_is_never_worse_than_mdav(X, k):
    Z = standardize(X)
    if len(X) < k or k < 2:
        return
    assert loss(Z, best(Z, k, effort=Effort(3000))) <= loss(Z, mdav(Z, k)) * (1 + 1e-9) + 1e-12


def test_steps_and_seed_give_the_same_labels_and_order_does_not_matter():
    X = np.random.default_rng(0).normal(size=(300, 4))
    one = shoal.partition(X, 4, method="best", budget=20_000, seed=5)
    assert (one == shoal.partition(X, 4, method="best", budget=20_000, seed=5)).all()
    order = np.random.default_rng(1).permutation(300)
    other = shoal.partition(X[order], 4, method="best", budget=20_000, seed=5)
    pairs = {(a, b) for a, b in zip(one[order], other, strict=True)}
    assert len(pairs) == len(set(one)) == len(set(other))


@pytest.mark.parametrize(
    ("name", "k", "most"),
    [("census", 3, 4.90), ("census", 10, 11.75), ("tarragona", 5, 20.5), ("eia", 3, 0.365), ("eia", 10, 2.00)],
)
def test_without_a_budget_best_is_near_the_best_that_is_known(reference, name, k, most):
    X = reference(name)
    labels = shoal.partition(X, k, method="best")
    Z = standardize(X)
    assert 100 * loss(Z, labels) / Z.size <= most


def test_one_attribute_is_cut_optimally_and_certified():
    table = pa.table({"x": np.random.default_rng(2).normal(size=200), "constant": [1.0] * 200})
    release = shoal.protect(table, k=4, method="best", bound=True, budget=1000)
    assert release.certificate.gap == pytest.approx(0, abs=1e-6)
    alone = shoal.protect(table.select(["x"]), k=4)
    assert alone.plan.method == "univariate"
    assert release.loss()["SSE"] == pytest.approx(alone.loss()["SSE"])


def test_equal_records_beyond_2k_cost_nothing_and_end():
    X = np.repeat(np.random.default_rng(3).normal(size=(6, 3)), 20, axis=0)
    assert loss(X, shoal.partition(X, 4, method="best", standardize=False)) < 1e-20
    assert sizes(shoal.partition(np.ones((50, 3)), 5, method="best")).min() >= 5


def test_more_attributes_than_records_and_one_group_only():
    X = np.random.default_rng(4).normal(size=(12, 40))
    assert sizes(shoal.partition(X, 3, method="best")).min() >= 3
    assert set(shoal.partition(X, 7, method="best")) == {0}


@pytest.fixture
def processor_time(monkeypatch):
    """Budgets in seconds of the processor, on all cores: what they buy does not depend on who else uses the machine."""
    for module in (best_module, neighbourhoods, refinement, stop, clock, partition):
        monkeypatch.setattr(module, "monotonic", time.process_time)
    monkeypatch.setattr(set_partitioning, "time", SimpleNamespace(monotonic=time.process_time))


@pytest.mark.slow
def test_the_certificate_of_census_is_below_one_percent(reference, processor_time):
    X = reference("census")
    table = pa.table({f"x{j}": column for j, column in enumerate(X.T)})
    release = shoal.protect(table, k=3, method="best", budget="40s", bound=True)
    assert 0 <= release.certificate.gap < 1
    assert any("above the optimum" in note for note in release.notes)


def test_the_optimum_of_a_small_table_is_proved_and_ends_the_search(monkeypatch):
    X = standardize(np.random.default_rng(14).normal(size=(40, 2)))
    solved = []
    solve = recombination.solve_over_columns
    monkeypatch.setattr(best_module, "PARTS_FROM", {3: 0.0})
    monkeypatch.setattr(recombination, "solve_over_columns", lambda *given: solved.append(solve(*given)) or solved[-1])
    labels = best(X, 3, effort=Effort(None, 600.0))
    assert [each.optimal for each in solved] == [True]
    assert loss(X, labels) == pytest.approx(solved[0].bound, rel=1e-5)
    assert loss(X, labels) <= loss(X, mdav(X, 3)) * (1 + 1e-9)


def test_with_enough_time_parts_are_solved_again(monkeypatch):
    X = standardize(np.random.default_rng(14).normal(size=(60, 2)))
    solved = []
    solve = neighbourhoods.solve_parts
    monkeypatch.setattr(best_module, "PARTS_FROM", {3: 0.0})
    monkeypatch.setattr(best_module, "PROVABLE", {})
    monkeypatch.setattr(neighbourhoods, "solve_parts", lambda *given: solved.append(solve(*given)) or solved[-1])
    labels = best(X, 3, effort=Effort(None, 0.5))
    assert solved
    assert sizes(labels).min() >= 3
    assert loss(X, labels) <= loss(X, mdav(X, 3)) * (1 + 1e-9)


def test_seams_are_refused_on_categories():
    rng = np.random.default_rng(5)
    table = pa.table({"a": rng.normal(size=60), "town": rng.choice(["n", "s"], 60)})
    with refused(shoal.PlanError, "needs-numbers", "scale.seams", column="town", type="nominal"):
        shoal.protect(table, k=5, quasi=["a", "town"], scale={"block_size": 20, "seams": True})


@pytest.mark.parametrize("gaps", [{}, {"missing": "group"}])
@pytest.mark.parametrize("limits", [{}, {"l": 2}, {"t": 0.3}, {"l": 2, "t": 0.3}])
def test_a_search_over_every_type_releases_no_more_loss_than_mdav(gaps, limits):
    rng = np.random.default_rng(5)
    n = 150
    table = pa.table(
        {
            "a": pa.array(rng.lognormal(size=n), mask=(rng.random(n) < 0.1) & bool(gaps)),
            "town": pa.array(rng.choice(["n", "s", "w"], n), mask=(rng.random(n) < 0.1) & bool(gaps)),
            "grade": rng.choice(["low", "middle", "high"], n),
            "since": np.datetime64("2001-03-01") + rng.integers(0, 4000, n),
            "owner": rng.random(n) < 0.3,
            "ill": rng.choice(["flu", "cold", "none"], n),
        }
    )
    quasi = ["a", "town", "grade", "since", "owner"]
    options = {
        "k": 4,
        "quasi": quasi,
        "levels": {"grade": ["low", "middle", "high"]},
        "confidential": ["ill"],
        **gaps,
        **limits,
    }
    searches = ({"method": "best", "budget": 40_000}, {"method": "mdav", "refine": True, "budget": 40_000}, {})
    before = shoal.protect(table, method="mdav", **options).loss()["SSE"]
    found = [shoal.protect(table, **options, **search) for search in searches]
    assert found[2].plan.method == "best"
    for release in found:
        assert release.loss()["SSE"] < 0.99 * before
        assert np.bincount(release.groups).min() >= 4


def test_a_search_within_limits_ends_no_worse_with_more_steps():
    rng = np.random.default_rng(9)
    table = pa.table({"a": rng.normal(size=120), "b": rng.normal(size=120), "ill": rng.integers(0, 4, 120)})
    options = {"k": 3, "quasi": ["a", "b"], "confidential": ["ill"], "l": 3, "method": "best"}
    losses = [shoal.protect(table, budget=steps, **options).loss()["SSE"] for steps in (600, 6_000, 60_000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[2] < losses[0]


def test_imputed_values_allow_a_search_and_a_bound():
    numbers = np.random.default_rng(5).normal(size=60)
    table = pa.table({"a": numbers, "gap": [None, *numbers[1:] ** 2]})
    assert shoal.protect(table, k=5, missing="impute", method="mdav", refine=True, budget=1000).plan.refine is True
    proof = shoal.protect(table, k=5, missing="impute", bound=True, budget=1000).certificate
    assert 0 < proof.bound <= proof.sse


@pytest.mark.parametrize("option", [{"refine": True}, {"budget": 1000}])
def test_one_attribute_is_optimal_and_takes_no_search(option):
    table = pa.table({"a": np.random.default_rng(5).normal(size=60)})
    with refused(shoal.PlanError, "one-attribute-optimal", next(iter(option))):
        shoal.protect(table, k=5, **option)
    assert shoal.protect(table, k=5, bound=True, budget=1000).certificate.gap == pytest.approx(0, abs=1e-6)


@st.composite
def awkward(draw):
    """Tables with duplicates and constant attributes, of n = k, 2k - 1, 2k or more records."""
    X = draw(matrices(most=40))
    n = len(X)
    k = draw(st.sampled_from(sorted({2, 3, n // 3, n // 2, (n + 1) // 2, n // 2 + 1, n} & set(range(2, n + 1))) or [0]))
    X[:, draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=1))] = draw(st.sampled_from([0.0, 0.1]))
    repeated = draw(st.integers(0, n))
    X[:repeated] = X[0]
    return X, k


@settings(max_examples=150, deadline=None)
@given(awkward())
def test_auto_is_never_worse_than_mdav(case):
    X, k = case
    if k < 2:
        return
    Z = standardize(X)
    found, mdav_found = (shoal.partition(X, k, method=method) for method in ("auto", "mdav"))
    assert sizes(found).min() >= k
    assert loss(Z, found) <= loss(Z, mdav_found) * (1 + 1e-9) + 1e-20 * np.square(Z).max(initial=0)


@pytest.mark.parametrize("k", [3, 31, 100, 101, 200])
def test_auto_is_better_than_mdav_at_every_k(k):
    X = np.exp(np.random.default_rng(8).normal(size=(1000, 3)))
    Z = standardize(X)
    assert loss(Z, shoal.partition(X, k)) < loss(Z, shoal.partition(X, k, method="mdav"))


@pytest.mark.parametrize(
    "where", [{"strata": ["town"]}, {"blocks": [["a", "b"], ["c", "d"]]}, {"quasi": ["a", "b", "c"]}]
)
def test_a_release_by_auto_never_loses_more_than_by_mdav(where):
    rng = np.random.default_rng(9)
    table = pa.table(
        {name: np.round(np.exp(rng.normal(size=400)), 1) for name in "abcd"} | {"town": rng.choice(["n", "s"], 400)}
    )
    where = {"quasi": list("abcd"), **where} if "blocks" not in where else where
    for k in (3, 40, 110):
        found, mdav_found = (
            shoal.protect(table, k=k, method=method, publish="rest", **where) for method in ("auto", "mdav")
        )
        assert found.loss()["SSE"] <= mdav_found.loss()["SSE"] * (1 + 1e-9)


def test_auto_says_what_it_chose_and_why():
    rng = np.random.default_rng(6)
    table = pa.table({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    release = shoal.protect(table, k=3)
    assert release.plan.method == "best"
    assert reports(release.notes, "method-chosen", method="best")
    assert shoal.protect(table, k=3, quasi=["a"], publish="rest").plan.method == "univariate"


def test_an_interrupt_keeps_the_best_so_far_if_asked():
    table = pa.table({f"x{j}": column for j, column in enumerate(np.random.default_rng(7).normal(size=(4, 2000)))})
    calls = threading.Event()

    def interrupt(step, done, total):
        if step == "partition" and done == total and not calls.is_set():  # there is a partition to keep
            calls.set()
            raise KeyboardInterrupt

    release = shoal.protect(table, k=3, method="best", budget=10**7, progress=interrupt, on_interrupt="keep")
    assert calls.is_set()
    assert sizes(release.groups).min() >= 3
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        shoal.protect(table, k=3, method="best", budget=10**7, progress=interrupt)
    with refused(shoal.PlanError, "not-for-method", "on_interrupt", method="mdav"):
        shoal.protect(table, k=3, method="mdav", on_interrupt="keep")


def test_that_a_budget_of_time_cannot_be_repeated_is_said():
    table = pa.table({f"x{j}": column for j, column in enumerate(np.random.default_rng(8).normal(size=(3, 400)))})
    release = shoal.protect(table, k=3, method="best", budget="0.1s")
    assert any("budget" in note for note in release.notes)


def test_stopped_before_there_is_anything_all_labels_are_minus_one():
    X = np.random.default_rng(9).normal(size=(50, 2))
    assert set(best(X, 3, watch=np.array([0, 1, 0]))) == {-1}


def test_refine_goes_with_auto_and_does_not_depend_on_the_order_or_layout_of_records():
    X = np.random.default_rng(10).normal(size=(200, 3)) + 1e6
    order = np.random.default_rng(11).permutation(200)
    one, other = (shoal.partition(rows, 3, refine=True) for rows in (X, X[order]))
    assert len(set(zip(one[order], other, strict=True))) == len(set(one))
    assert (one == shoal.partition(np.asfortranarray(X), 3, refine=True)).all()


@pytest.mark.parametrize("scale", [1e200, 1.0, 1e-200])
def test_a_certificate_holds_on_every_scale(scale):
    rng = np.random.default_rng(12)
    table = pa.table({"a": rng.normal(size=40) * scale, "b": rng.normal(size=40) * scale})
    release = shoal.protect(table, k=3, method="mdav", standardize="none", bound=True, budget=1_000_000)
    assert 1 < release.certificate.gap < 100  # mdav is not optimal here


def test_large_groups_end_in_time():
    X = np.random.default_rng(13).normal(size=(900, 4))
    for k in (20, 120, 450):
        assert sizes(shoal.partition(X, k, method="best", budget="0.1s")).min() >= k
