"""What hybrid data preserve, measured."""

import numpy as np
import pytest

from shoal.measures.hybrid import preservation, subdomains
from shoal.measures.subdomains import subdomain_loss


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    V = np.exp(rng.normal(size=(90, 5)))
    hybrid = V[:, :3] * rng.uniform(0.8, 1.2, (90, 3))
    return V[:, :3], hybrid, V[:, 3:], rng.integers(0, 5, 90)


def naive_deviations(X, hybrid, Y):
    V, W = np.hstack([X, Y]), np.hstack([hybrid, Y])
    deviation = V.std(0)
    means = np.abs(W.mean(0) - V.mean(0)) / np.maximum(np.abs(V.mean(0)), deviation)
    moved = np.abs(np.cov(W.T, ddof=0) - np.cov(V.T, ddof=0)) / np.outer(deviation, deviation)
    return means.max(), moved.max()


def test_the_largest_deviations_are_those_of_the_file_and_of_the_worst_group(sample):
    X, hybrid, Y, labels = sample
    found = preservation(X, hybrid, Y, labels, ["a", "b", "c"])
    np.testing.assert_allclose(list(found["file"].values()), naive_deviations(X, hybrid, Y))
    groups = [naive_deviations(X[labels == g], hybrid[labels == g], Y[labels == g]) for g in range(5)]
    np.testing.assert_allclose(list(found["groups"].values()), np.max(groups, axis=0))


def test_moments_and_the_bound_of_lemma_2_are_those_of_the_paper(sample):
    X, hybrid, Y, labels = sample
    found = preservation(X, hybrid, Y, labels, ["a", "b", "c"])["attributes"]["b"]
    x, y = X[:, 1], hybrid[:, 1]
    for order, name in ((3, "third"), (4, "fourth")):
        expected = [((v - v.mean()) ** order).mean() for v in (x, y)]
        np.testing.assert_allclose(found["moments"][name], expected)
    centre = np.array([x[labels == g].mean() for g in labels])
    B = max(((x - centre) ** 2).max(), ((y - centre) ** 2).max())
    np.testing.assert_allclose(found["lemma_2"]["bound"], 2 * 90 * max(1, B**1.5))
    measured = abs(((y - x.mean()) ** 3).sum() - ((x - x.mean()) ** 3).sum())
    np.testing.assert_allclose(found["lemma_2"]["measured"], measured)


def test_the_bound_of_lemma_2_is_never_less_than_that_of_deviations_of_one(sample):
    X, hybrid, Y, labels = sample
    found = preservation(X * 1e-6, hybrid * 1e-6, Y, labels, ["a", "b", "c"])
    assert [attribute["lemma_2"]["bound"] for attribute in found["attributes"].values()] == [180.0] * 3


def test_unchanged_values_are_counted(sample):
    X, hybrid, Y, labels = sample
    hybrid[:7, 0] = X[:7, 0]
    hybrid[7, 0] = X[7, 0] * (1 + 1e-13)
    hybrid[8, 0] = X[8, 0] * (1 + 1e-11)
    found = preservation(X, hybrid, Y, labels, ["a", "b", "c"])["attributes"]
    assert [attribute["unchanged"] for attribute in found.values()] == [8, 0, 0]


def test_an_unchanged_file_deviates_by_nothing_and_a_changed_constant_by_infinity(sample):
    X, _, Y, labels = sample
    X[:, 0] = 0.1
    Y = Y[:, :0]
    found = preservation(X, X.copy(), Y, labels, ["a", "b", "c"])
    assert [*found["file"].values(), *found["groups"].values()] == [0.0] * 4
    moved = X.copy()
    moved[3, 0] = 0.2
    assert preservation(X, moved, Y, labels, ["a", "b", "c"])["groups"]["covariances"] == np.inf


def test_subdomains_are_random_subsets_with_one_row_a_statistic(sample):
    X, hybrid, _, _ = sample
    rows = subdomains(X, hybrid, ["a", "b", "c"], count=4, share=0.2, rng=1)
    assert len(rows) == 4 * (4 * 3 + 3)
    assert {row["records"] for row in rows} == {18}
    rng = np.random.default_rng(1)
    for number in range(1, 5):
        subset = rng.choice(90, 18, replace=False)
        for row in rows:
            if row["subdomain"] == number:
                for file, V in (("original", X), ("hybrid", hybrid)):
                    np.testing.assert_allclose(row[file], naive_statistic(V[subset], row))


def naive_statistic(V, row):
    x = V[:, "abc".index(row["attribute"])]
    if row["statistic"] == "mean":
        return x.mean()
    if row["statistic"] == "variance":
        return x.var()
    if row["statistic"] in ("third moment", "fourth moment"):
        return moment(x, 3 if row["statistic"] == "third moment" else 4)
    return np.corrcoef(x, V[:, "abc".index(row["with"])])[0, 1]


def test_subdomains_of_one_attribute_and_of_few_records():
    x = np.arange(5.0)[:, None]
    rows = subdomains(x, x + 1, ["a"], count=1, share=0.01)
    assert [row["statistic"] for row in rows] == ["mean", "variance", "third moment", "fourth moment"]
    assert rows[0]["records"] == 2
    assert rows[0]["hybrid"] == rows[0]["original"] + 1


def test_what_subdomains_lose_is_that_of_plain_loops(sample):
    X, hybrid, _, _ = sample
    X = np.column_stack([X, np.full(len(X), 7.0)])  # a constant has no standard deviation
    hybrid = np.column_stack([hybrid, X[:, -1]])
    found = subdomain_loss(X, hybrid, 3)
    rng = np.random.default_rng(3)
    drawn = [rng.choice(90, 20, replace=False) for _ in range(20)]
    assert (found["subdomains"], found["records"]) == (20, 20)
    for name, (figures, order) in {"mean": (found["statistics"]["mean"], 1), **higher(found)}.items():
        parts = [moved(X[rows], hybrid[rows], j, order) for rows in drawn for j in range(3)]
        assert figures["mean"] == pytest.approx(np.mean(parts)), name
        assert figures["largest"] == pytest.approx(max(parts))
        assert figures["file"] == pytest.approx(np.mean([moved(X, hybrid, j, order) for j in range(3)]))
    pairs = [
        abs(np.cov(hybrid[rows].T, ddof=0)[i, j] - np.cov(X[rows].T, ddof=0)[i, j])
        / X[rows, i].std()
        / X[rows, j].std()
        for rows in drawn
        for i, j in ((0, 1), (0, 2), (1, 2))
    ]
    assert found["statistics"]["covariance"]["mean"] == pytest.approx(np.mean(pairs))


def higher(found):
    words = {"variance": 2, "third moment": 3, "fourth moment": 4}
    return {word: (found["statistics"][word], order) for word, order in words.items()}


def moment(x, order):
    return ((x - x.mean()) ** order).mean()


def moved(V, W, j, order):
    if order == 1:
        return abs(W[:, j].mean() - V[:, j].mean()) / V[:, j].std()
    return abs(moment(W[:, j], order) - moment(V[:, j], order)) / V[:, j].std() ** order


def test_subdomains_of_an_unchanged_file_lose_nothing_and_units_do_not_matter(sample):
    X, hybrid, _, _ = sample
    assert {value for each in subdomain_loss(X, X)["statistics"].values() for value in each.values()} == {0.0}
    units = np.array([1e-150, 1.0, 1e150])
    one, other = subdomain_loss(X, hybrid), subdomain_loss(X * units, hybrid * units)
    for name, figures in one["statistics"].items():
        assert other["statistics"][name] == pytest.approx(figures)
    assert subdomain_loss(X[:39], hybrid[:39]) is None
    assert subdomain_loss(np.ones((50, 2)), np.ones((50, 2))) is None
    assert "covariance" not in subdomain_loss(X[:, :1], hybrid[:, :1])["statistics"]
