"""The hybrid data of Muralidhar and Sarathy."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expect import refused

from shoal.errors import DataError
from shoal.kernels.exact_sum import UNIT
from shoal.kernels.standardize import columns_near_one, standardize
from shoal.masking.muralidhar_sarathy import admissible_near, beside_one, gram, mix, regress

ALPHAS = [0, 0.4, 0.95, [0.5, 0.55, 0.6], [[0.4, 0.001, 0], [0, 0.5, 0], [0.0005, 0, 0.3]]]


def muralidhar_sarathy(X, Y, alpha, rng=None):
    """Mask a whole file at once."""
    near, exponents = columns_near_one(X, "X")
    deviation = np.where(np.ptp(X, axis=0) > 0, near.std(axis=0), 0.0)
    Zx, Zy = standardize(X), standardize(Y)
    regression = regress(gram(beside_one(Zy, Zx)), Y.shape[1], alpha, deviation, exponents)
    # A stream of our own: data simulated from the same seed must not meet the same numbers as noise.
    drawn = np.random.default_rng(rng).spawn(1)[0].standard_normal(X.shape)
    mixture = mix(regression, gram(regression.columns(Zy, Zx, drawn)))
    return np.ldexp(near - mixture.change(Zy, Zx, drawn) * deviation, exponents)


def records(n=100, q=2, seed=0):
    rng = np.random.default_rng(seed)
    V = np.exp(rng.normal(size=(n, 3 + q)) @ (np.eye(3 + q) + 0.2)) * np.array([1, 30, 0.01] + [1] * q)
    return V[:, :3], V[:, 3:]


def residuals(X, Y):
    A = np.column_stack([np.ones(len(X)), Y])
    return X - A @ np.linalg.lstsq(A, X)[0]


def of_residuals(X, Y):
    E = residuals(X, Y)
    return E.T @ E / len(E)


def as_matrix(alpha, p):
    alpha = np.asarray(alpha, dtype=float)
    return alpha if alpha.ndim == 2 else alpha * np.eye(p)


def assert_kept(X, masked, Y, tolerance=1e-11):
    V, W = np.hstack([X, Y]), np.hstack([masked, Y])
    deviation = np.where(np.ptp(V, axis=0) > 0, V.std(0), 1.0)
    np.testing.assert_allclose((W.mean(0) - V.mean(0)) / deviation, 0, atol=tolerance)
    moved = np.cov(W.T, ddof=0) - np.cov(V.T, ddof=0)
    np.testing.assert_allclose(moved / np.outer(deviation, deviation), 0, atol=tolerance)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("q", [0, 2])
def test_means_and_covariances_are_kept_exactly(q, alpha):
    X, Y = records(q=q)
    masked = muralidhar_sarathy(X, Y, alpha, 1)
    assert_kept(X, masked, Y)
    assert (np.abs(masked - X) > 1e-9 * np.abs(X)).all()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_alpha_is_how_much_of_a_residual_is_the_records_own(alpha):
    X, Y = records()
    E, new = residuals(X, Y), residuals(muralidhar_sarathy(X, Y, alpha, 1), Y)
    own = as_matrix(alpha, 3)
    np.testing.assert_allclose(np.linalg.lstsq(E, new)[0], own.T, atol=1e-8)
    e = new - E @ own.T
    expected = of_residuals(X, Y) - own @ of_residuals(X, Y) @ own.T
    np.testing.assert_allclose(e.T @ e / len(e), expected, rtol=1e-7, atol=1e-10 * np.abs(expected).min())


@pytest.mark.parametrize("name", ["census", "tarragona", "eia"])
def test_means_and_covariances_are_kept_on_the_reference_sets(reference, name):
    V = reference(name)
    for alpha in (0, 0.5, 0.9):
        assert_kept(V[:, ::2], muralidhar_sarathy(V[:, ::2], V[:, 1::2], alpha, 2), V[:, 1::2], 1e-10)


def test_constant_and_collinear_attributes_do_no_harm():
    X, Y = records()
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(100, 0.1), 2 * Y[:, 0]])
    Y = np.column_stack([Y, Y.sum(1), np.full(100, 7.0)])
    masked = muralidhar_sarathy(X, Y, 0.3, 3)
    assert_kept(X, masked, Y)
    np.testing.assert_array_equal(masked[:, 4], X[:, 4])
    np.testing.assert_allclose(masked[:, 3], masked[:, 0] + masked[:, 1])


def strongly_related():
    X, Y = records()
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    return X, Y


@pytest.mark.parametrize("alpha", [[0.1, 0.9, 0.5], [[0.1, 0, 0], [0.8, 0.9, 0], [0, 0, 0.5]]])
def test_an_impossible_alpha_is_refused_and_the_one_offered_works(alpha):
    X, Y = strongly_related()
    with refused(DataError, "alpha-inadmissible") as caught:
        muralidhar_sarathy(X, Y, alpha, 0)
    offered = admissible_near(alpha, of_residuals(X, Y))
    np.testing.assert_allclose(caught.value.messages[0].data["offered"], offered, rtol=1e-5, atol=1e-6)
    assert offered.shape == np.shape(alpha)
    assert_kept(X, muralidhar_sarathy(X, Y, offered, 0), Y)
    # a thousandth of the way back it is impossible again
    asked = np.asarray(alpha)
    level = np.mean([0.1, 0.9, 0.5]) * (np.ones(3) if asked.ndim == 1 else np.eye(3))
    gone = np.linalg.norm(offered - asked) / np.linalg.norm(level - asked)
    with refused(DataError, "alpha-inadmissible"):
        muralidhar_sarathy(X, Y, asked + (gone - 0.001) * (level - asked), 0)


@given(st.integers(0, 2**32), st.integers(1, 4), st.sampled_from(["number", "diagonal", "matrix"]), st.booleans())
def test_the_alpha_offered_is_always_admissible(seed, p, form, collinear):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(p, p)) * 10.0 ** rng.integers(-3, 4, p)
    if collinear:
        A[:, -1] = A[:, 0]
    S = A.T @ A
    alpha = rng.uniform(-0.5, 1.5, {"number": (), "diagonal": (p,), "matrix": (p, p)}[form])
    own = as_matrix(admissible_near(alpha, S), p)
    deviation = np.sqrt(np.diag(S))
    left = (S - own @ S @ own.T) / np.outer(deviation, deviation)
    assert np.linalg.eigvalsh(left).min() > -1e-9
    assert (np.diag(own) >= 0).all()
    assert (np.diag(own) < 1).all()
    np.testing.assert_allclose(as_matrix(admissible_near(own, S), p), own, atol=1e-12)


@pytest.mark.parametrize(("alpha", "offered"), [(1, "0.99"), (1.5, "0.99"), (-0.1, "0"), ([0.5, 1, 0.5], "0.")])
def test_an_alpha_outside_of_its_range_is_refused(alpha, offered):
    X, Y = records()
    with refused(DataError, "alpha-out-of-range") as caught:
        muralidhar_sarathy(X, Y, alpha, 0)
    assert offered in str(caught.value.messages[0].data["offered"])


def test_random_numbers_that_follow_from_the_data_are_refused():
    X, Y = records()
    Zx, Zy = standardize(X), standardize(Y)
    regression = regress(gram(beside_one(Zy, Zx)), Y.shape[1], 0.5, np.ones(3), np.zeros(3, np.int32))
    with refused(DataError, "random-numbers-dependent"):
        mix(regression, gram(regression.columns(Zy, Zx, Zx)))


def test_small_files_are_refused_with_the_reason():
    X, Y = records(99)
    with refused(DataError, "too-few-for-ms", records=99, least=100):
        muralidhar_sarathy(X, Y, 0.5, 0)
    X, Y = records(139, q=11)
    with refused(DataError, "too-few-for-ms", records=139, least=140):
        muralidhar_sarathy(X, Y, 0.5, 0)


@pytest.mark.parametrize("unit", [1e-250, 1e-100, 1e150, 1e290])
def test_units_do_not_matter(unit):
    X, Y = records()
    scaled = muralidhar_sarathy(X * unit, Y / unit, [0.5, 0.55, 0.6], 4)
    np.testing.assert_allclose(scaled / unit, muralidhar_sarathy(X, Y, [0.5, 0.55, 0.6], 4), rtol=1e-9)


def regressed(X, Y, alpha=0.5):
    Zx, Zy = standardize(X), standardize(Y)
    found = regress(gram(beside_one(Zy, Zx)), Y.shape[1], alpha, X.std(0), np.zeros(X.shape[1], np.int32))
    return found, Zx, Zy


@given(st.lists(st.integers(1, 99), max_size=4), st.integers(0, 9))
def test_pieces_and_the_order_of_records_do_not_matter(cuts, seed):
    X, Y = records()
    rng = np.random.default_rng(seed)
    order, drawn = rng.permutation(100), rng.standard_normal(X.shape)
    found, Zx, Zy = regressed(X, Y)
    pieces = np.split(order, sorted(cuts))
    whole = mix(found, gram(found.columns(Zy, Zx, drawn)))
    assert sum(
        (gram(beside_one(Zy[rows], Zx[rows])) for rows in pieces[1:]), gram(beside_one(Zy[pieces[0]], Zx[pieces[0]]))
    ) == gram(beside_one(Zy, Zx))
    masked = np.empty_like(X)
    for rows in pieces:
        masked[rows] = whole.change(Zy[rows], Zx[rows], drawn[rows])
    np.testing.assert_array_equal(masked, whole.change(Zy, Zx, drawn))


def test_sums_of_products_are_exact():
    Z = np.random.default_rng(3).standard_normal((50, 3)) * [1, 1e-7, 1e5]
    exact = [
        sum(Fraction(a) * Fraction(b) for a, b in zip(Z[:, i], Z[:, j], strict=True))
        for i in range(3)
        for j in range(i + 1)
    ]
    assert [Fraction(each, UNIT) for each in gram(Z).products] == exact


@pytest.mark.parametrize("apart", [1e-5, 1e-8, 1e-9, 3e-10])
def test_attributes_that_are_collinear_but_for_their_last_digits_do_no_harm(apart):
    X, Y = records()
    noise = np.random.default_rng(8).standard_normal((100, 2))
    X[:, 1] = X[:, 0] * (1 + apart * noise[:, 0])
    Y[:, 1] = Y[:, 0] * (1 + apart * noise[:, 1])
    assert_kept(X, muralidhar_sarathy(X, Y, 0.3, 3), Y, 2e-10)


def test_records_and_attributes_that_leave_little_to_the_noise_are_found():
    X, Y = records()
    Y[7, 1] = 1e4 * Y[:, 1].max()
    X[:, 2] = Y[:, 0] + 1e-3 * X[:, 2]
    found, Zx, Zy = regressed(X, Y)
    V = np.column_stack([np.ones(100), X, Y])
    V = V / np.abs(V).max(0)
    np.testing.assert_allclose(found.room(Zy, Zx, 100), 1 - np.diag(V @ np.linalg.pinv(V)), atol=1e-8)
    np.testing.assert_array_equal(np.flatnonzero(found.room(Zy, Zx, 100) < 0.01), [7])
    np.testing.assert_allclose(found.left, residuals(X, Y).var(0) / X.var(0), rtol=1e-6)
    assert found.left[2] < 1e-3


def test_a_seed_gives_the_same_values_again_and_none_fresh_ones():
    X, Y = records()
    np.testing.assert_array_equal(muralidhar_sarathy(X, Y, 0.5, 4), muralidhar_sarathy(X, Y, 0.5, 4))
    assert not np.array_equal(muralidhar_sarathy(X, Y, 0.5), muralidhar_sarathy(X, Y, 0.5))


def test_data_simulated_from_the_same_seed_do_no_harm():
    X = np.random.default_rng(4).standard_normal((100, 3))
    assert_kept(X, muralidhar_sarathy(X, X[:, :0], 0.2, 4), X[:, :0])
    X = np.random.default_rng(4).spawn(1)[0].standard_normal((100, 3))
    with refused(DataError, "random-numbers-dependent"):
        muralidhar_sarathy(X, X[:, :0], 0.2, 4)


@pytest.mark.slow
def test_the_noise_has_no_preferred_direction():
    X, Y = records(100, 1)
    rng = np.random.default_rng(5)
    drawn = np.array([muralidhar_sarathy(X, Y, 0, rng) for _ in range(2000)])
    E = residuals(X, Y)
    assert (np.abs(drawn.mean(0) - (X - E)) < 6 * E.std(0) * np.sqrt(12 / 2000)).all()
