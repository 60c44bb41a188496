"""IPSO on one set of records."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import qr
from tests.expect import refused

import naive
from shoal.errors import DataError
from shoal.masking.ipso import least_k, safe_k_orthogonal
from shoal.masking.microhybrid import microhybrid

SPLITS = [(1, 0), (1, 1), (3, 0), (3, 2), (2, 5)]


def ipso(X, Y, rng=None, **options):
    """Synthetic values with all records in one group."""
    return microhybrid(X, Y, np.zeros(len(X), dtype=np.int64), rng, **options).values


def moments(X, Y):
    V = np.hstack([X, Y])
    return V.mean(0), np.cov(V.T, ddof=0).reshape(V.shape[1], -1)


def assert_kept(X, synthetic, Y, tolerance=1e-11):
    (means, covariances), (new_means, new_covariances) = moments(X, Y), moments(synthetic, Y)
    deviation = np.sqrt(np.diag(covariances))
    deviation = np.where(deviation > 0, deviation, 1.0)
    assert (np.abs(new_means - means) <= tolerance * np.maximum(deviation, np.abs(means))).all()
    assert (np.abs(new_covariances - covariances) <= tolerance * np.outer(deviation, deviation)).all()


def records(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    V = np.exp(rng.normal(size=(n, p + q)) @ (np.eye(p + q) + 0.4))
    return V[:, :p], V[:, p:]


def residuals(X, *others):
    A = np.column_stack([np.ones(len(X)), *others])
    return X - A @ np.linalg.lstsq(A, X)[0]


def basis(A):
    """A basis by Gram-Schmidt with pivoting: that of QR, with the diagonal of R made positive."""
    Q, R, _ = qr(A, mode="economic", pivoting=True)
    return Q * np.sign(np.diag(R))


def naive_ipso(X, Y, noise, *also):
    """As the literature has it: regress X and noise on Y, and give the noise the residuals' covariances."""
    length = np.linalg.norm(X - X.mean(0), axis=0)
    E = residuals(X, Y) / length
    U = basis(E)
    V = basis(residuals(noise, Y, *also))
    return X + (V @ (U.T @ E) - E) * length


@pytest.mark.parametrize(("p", "q"), SPLITS)
def test_it_is_the_ipso_of_the_literature(p, q):
    X, Y = records(40, p, q)
    expected = naive_ipso(X, Y, np.random.default_rng(5).spawn(1)[0].standard_normal((40, p)))
    np.testing.assert_allclose(ipso(X, Y, 5), expected, rtol=1e-9)


@pytest.mark.parametrize(("p", "q"), SPLITS)
def test_orthogonal_residuals_come_from_noise_that_is_regressed_on_x_as_well(p, q):
    X, Y = records(40, p, q)
    expected = naive_ipso(X, Y, np.random.default_rng(5).spawn(1)[0].standard_normal((40, p)), X)
    found = ipso(X, Y, 5, orthogonal=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(correlations_of_residuals(X, Y, found)).max() < 1e-9


def test_orthogonal_ipso_is_the_printed_one():
    X, Y = records(25, 1, 1)
    noise = np.random.default_rng(8).standard_normal((25, 1))
    expected = naive.ipso_as_printed(X[:, 0], Y[:, 0], noise[:, 0])
    np.testing.assert_allclose(ipso(X, Y, noise, orthogonal=True)[:, 0], expected, rtol=1e-10)


@pytest.mark.parametrize(("p", "q"), SPLITS)
def test_orthogonal_ipso_works_from_its_least_number_of_records_on_and_is_refused_below(p, q):
    least = 2 * p + q + 1
    X, Y = records(least, p, q)
    assert_kept(X, ipso(X, Y, 1, orthogonal=True), Y, 1e-9)
    with refused(DataError, "k-too-small-for-synthesis", records=least - 1, least=least):
        ipso(X[1:], Y[1:], 1, orthogonal=True)


def test_orthogonal_residuals_of_the_smallest_groups_leave_the_original_but_for_its_sign():
    X, Y = records(3, 1, 0)
    found = ipso(X, Y, 1, orthogonal=True)[:, 0]
    across = np.linalg.svd(np.stack([np.ones(3), found]))[2][2] * np.linalg.norm(X - X.mean())
    assert min(np.abs(X[:, 0] - X.mean() - sign * across).max() for sign in (1, -1)) < 1e-9
    assert [safe_k_orthogonal(p, 0) for p in (1, 2, 3, 4, 5)] == [6, 7, 8, 9, 11]


def test_a_record_that_x_singles_out_has_no_orthogonal_noise_and_its_group_grows():
    X, Y = records(24, 1, 0)
    X[:12] = 1.0
    X[3] = 5.0  # the only one of its group that differs: the sum of squares is its own
    groups = np.repeat([0, 1], 12)
    result = microhybrid(X, Y, groups, 0, orthogonal=True)
    assert result.fused == 1
    assert result.room.min() > 1e-6
    X[:] = 1.0
    X[3] = 5.0
    reported = microhybrid(X, Y, groups, 0, orthogonal=True).unchanged[:12, 0]  # the other group is constant
    np.testing.assert_array_equal(np.flatnonzero(reported), [3])


@pytest.mark.parametrize("n", [0, 7, 500])
@pytest.mark.parametrize(("p", "q"), SPLITS)
def test_synthetic_values_keep_means_and_covariances_exactly(p, q, n):
    X, Y = records(least_k(p, q) + n, p, q)
    synthetic = ipso(X, Y, 1)
    assert_kept(X, synthetic, Y)
    assert (np.abs(synthetic - X) > 1e-9 * np.abs(X)).all()


def correlations_of_residuals(X, Y, synthetic):
    E, new = residuals(X, Y), residuals(synthetic, Y)
    return E.T @ new / np.outer(np.linalg.norm(E, axis=0), np.linalg.norm(new, axis=0))


@pytest.mark.parametrize(("p", "q"), SPLITS)
def test_synthetic_residuals_give_no_equation_for_the_original_ones(p, q):
    """If they were uncorrelated, whole numbers could be solved for."""
    X, Y = records(60, p, q)
    found = [np.abs(correlations_of_residuals(X, Y, ipso(X, Y, seed))).max() for seed in range(20)]
    assert np.median(found) > 1e-3


def test_synthetic_residuals_are_drawn_once_and_avoid_no_direction():
    """Noise that avoids the original would give it away in repeated releases: their least common direction is it."""
    X, Y = records(12, 1, 1)
    found = [correlations_of_residuals(X, Y, ipso(X, Y, seed)).item() for seed in range(400)]
    # A random direction in 10 dimensions has a mean square of 1 / 10, with a standard error of 0.007 here.
    assert 0.07 < np.mean(np.square(found)) < 0.13
    E = residuals(X, Y)
    repeated = [residuals(ipso(X, Y, seed), Y)[:, 0] for seed in range(400)]
    A = np.column_stack([np.ones(12), Y])
    inside = np.linalg.svd(np.eye(12) - A @ np.linalg.pinv(A))[0][:, :10]
    least = inside @ np.linalg.eigh(np.cov(np.array(repeated) @ inside, rowvar=False))[1][:, 0]
    assert abs(least @ E[:, 0]) / np.linalg.norm(E) < 0.9


@pytest.mark.parametrize(("k", "attributes"), [(5, 1), (6, 2), pytest.param(7, 3, marks=pytest.mark.slow)])
def test_whole_numbers_are_not_found_by_reducing_a_lattice(k, attributes):
    rng = np.random.default_rng(k)
    for _ in range(3):
        X = rng.integers(18, 90, (k, attributes))
        synthetic = ipso(X.astype(float), np.empty((k, 0)), rng)
        assert not in_the_lattice(X, synthetic)
    # The attack itself works: on residuals that are uncorrelated with the original ones it finds them.
    E = residuals(rng.normal(size=(k, attributes)), X)
    assert in_the_lattice(X, E)


def in_the_lattice(X, synthetic):
    """Whether the shortest whole vectors orthogonal to the synthetic residuals span the original values."""
    k, p = X.shape
    E = residuals(synthetic)
    scaled = np.rint(2.0**46 * E / np.abs(E).max(0)).astype(int).tolist()
    short = lll([[int(i == j) for j in range(k)] + scaled[i] for i in range(k)])[: p + 1]
    B = np.array([row[:k] for row in short], dtype=float).T
    return np.abs(X - B @ np.linalg.lstsq(B, X.astype(float))[0]).max() < 1e-6


def lll(B):
    """Lenstra, Lenstra & Lovász: a basis of the same lattice, of short vectors; exact, slow and plain."""
    k = 1
    while k < len(B):
        mu, lengths = gram_schmidt(B)
        for j in range(k - 1, -1, -1):
            if round(mu[k][j]):
                B[k] = [a - round(mu[k][j]) * b for a, b in zip(B[k], B[j], strict=True)]
                mu, lengths = gram_schmidt(B)
        if lengths[k] >= (Fraction(3, 4) - mu[k][k - 1] ** 2) * lengths[k - 1]:
            k += 1
        else:
            B[k], B[k - 1] = B[k - 1], B[k]
            k = max(k - 1, 1)
    return B


def gram_schmidt(B):
    Q, mu = [], [[Fraction(0)] * len(B) for _ in B]
    for i, row in enumerate(B):
        left = [Fraction(x) for x in row]
        for j, q in enumerate(Q):
            mu[i][j] = sum(a * b for a, b in zip(row, q, strict=True)) / sum(b * b for b in q)
            left = [a - mu[i][j] * b for a, b in zip(left, q, strict=True)]
        Q.append(left)
    return mu, [sum(x * x for x in q) for q in Q]


def test_the_model_is_kept_on_average():
    X, Y = records(30, 2, 1)
    rng = np.random.default_rng(7)
    drawn = np.array([ipso(X, Y, rng) for _ in range(4000)])
    E = residuals(X, Y)
    deviation = E.std(0)
    assert (np.abs(drawn.mean(0) - (X - E)) < 6 * deviation / np.sqrt(4000)).all()
    scatter = np.array([e.T @ e for e in drawn - (X - E)]).mean(0)
    np.testing.assert_allclose(
        scatter / np.outer(deviation, deviation), E.T @ E / np.outer(deviation, deviation), atol=0.6
    )


@st.composite
def awkward(draw):
    """Constant columns, collinear ones within and across X and Y, few values, large offsets."""
    p, q = draw(st.integers(1, 4)), draw(st.integers(0, 3))
    n = least_k(p, q) + draw(st.integers(0, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    V = rng.integers(0, draw(st.integers(1, 50)) + 1, size=(n, p + q)).astype(float)
    for j in range(p + q):
        kind = draw(st.sampled_from(["free", "constant", "copy", "sum"]))
        if kind == "constant":
            V[:, j] = 0.1
        elif kind == "copy":
            V[:, j] = 3 - 0.7 * V[:, draw(st.integers(0, p + q - 1))]
        elif kind == "sum":
            V[:, j] = V.sum(1)
    V = V * 10.0 ** draw(st.integers(-6, 6)) + draw(st.sampled_from([0.0, -5.0, 1000.0]))
    return V[:, :p], V[:, p:]


@pytest.mark.parametrize("orthogonal", [False, True])
@given(sample=awkward(), seed=st.integers(0, 100))
def test_constant_and_collinear_attributes_do_no_harm(sample, seed, orthogonal):
    X, Y = sample
    # Values can be kept no better than their last digit is to their spread.
    spread = np.ptp(X, axis=0)
    worst = np.max(np.abs(X).max(0)[spread > 0] / spread[spread > 0], initial=1.0)
    synthetic = ipso(X, Y, seed, orthogonal=orthogonal)
    assert_kept(X, synthetic, Y, max(1e-9, 1e-14 * worst))
    constant = np.ptp(X, axis=0) == 0
    np.testing.assert_array_equal(synthetic[:, constant], X[:, constant])


@pytest.mark.parametrize("unit", [1e-290, 1e-100, 1e150, 1e290])
def test_units_do_not_matter(unit):
    X, Y = records(30, 2, 2)
    np.testing.assert_allclose(ipso(X * unit, Y / unit, 4) / unit, ipso(X, Y, 4), rtol=1e-9)


def test_a_seed_gives_the_same_values_again_and_none_fresh_ones():
    X, Y = records(30, 2, 2)
    np.testing.assert_array_equal(ipso(X, Y, 4), ipso(X, Y, 4))
    np.testing.assert_array_equal(ipso(X, Y, 4), ipso(X, Y, np.random.default_rng(4)))
    assert not np.array_equal(ipso(X, Y), ipso(X, Y))


def test_data_simulated_from_the_same_seed_do_no_harm():
    X = np.random.default_rng(4).standard_normal((30, 3))
    assert_kept(X, ipso(X, X[:, :0], 4), X[:, :0])


def test_random_numbers_that_are_a_combination_of_the_data_are_refused():
    Y = np.random.default_rng(4).spawn(1)[0].standard_normal((30, 1))
    with pytest.raises(ValueError, match="Use another --seed"):
        ipso(records(30, 1, 0)[0], Y, 4)


def test_the_least_number_of_records_leaves_room_for_noise_beside_x_and_y():
    assert [least_k(p, 2) for p in (1, 2, 3, 4, 5)] == [7, 7, 9, 11, 13]


def test_too_few_records_are_refused_with_the_number_needed():
    X, Y = records(10, 3, 4)
    with refused(DataError, "k-too-small-for-synthesis", "k", records=10, sensitive=3, quasi=4, least=11):
        ipso(X, Y, 0)
    with refused(DataError, "k-too-small-for-synthesis", records=0):
        ipso(X[:0], Y[:0], 0)


@pytest.mark.parametrize("unit", [1e-305, 1e305])
def test_values_beyond_what_can_be_held_in_full_are_refused(unit):
    X, Y = records(30, 2, 2)
    with refused(DataError, "column-too-extreme", number=2, matrix="Y"):
        ipso(X, Y / Y.max(0) * [1, unit], 0)


def test_what_is_no_matrix_of_numbers_is_refused():
    X, Y = records(30, 2, 2)
    np.testing.assert_array_equal(ipso(X.tolist(), Y.tolist(), 0), ipso(X, Y, 0))
    with refused(DataError, "matrices-of-other-length"):
        ipso(X[:, 0], Y, 0)
    with refused(DataError, "matrices-of-other-length"):
        ipso(X, Y[1:], 0)
    with refused(DataError, "matrix-not-numbers", matrix="X and Y"):
        ipso([["a"]] * 30, Y, 0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_missing_value_is_refused_with_its_place(bad):
    X, Y = records(20, 2, 2)
    Y[4, 1] = bad
    with refused(DataError, "matrix-not-finite", matrix="Y", row=4, column=1):
        ipso(X, Y, 0)
