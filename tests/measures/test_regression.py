"""Regressions, estimates and distances against statsmodels and scipy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from tests.expect import refused

from shoal.measures.estimates import effective_records, hellinger, mean, share, total, wasserstein
from shoal.measures.pmse import pmse
from shoal.measures.regression import NotEstimable, independent, interval_overlap, least_squares, logistic

sm = pytest.importorskip("statsmodels.api")


def sample(seed, n=200, p=3, binary=False):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.normal(size=(n, p)) * rng.lognormal(0, 2, p) + rng.normal(size=p)])
    linear = (X / X.std(axis=0).clip(1)) @ rng.normal(size=p + 1) * 0.5
    y = (rng.random(n) < 1 / (1 + np.exp(-linear))).astype(float) if binary else linear + rng.normal(size=n)
    return X, y, rng.lognormal(0, 1, n)


@pytest.mark.parametrize("seed", range(5))
def test_least_squares_is_that_of_statsmodels(seed):
    X, y, _ = sample(seed)
    ours, theirs = least_squares(X, y), sm.OLS(y, X).fit()
    np.testing.assert_allclose(ours.estimates, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.errors, theirs.bse, rtol=1e-8)
    np.testing.assert_allclose(np.column_stack(ours.intervals()), theirs.conf_int(), rtol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_logistic_regression_is_that_of_statsmodels(seed):
    X, y, _ = sample(seed, binary=True)
    ours, theirs = logistic(X, y), sm.Logit(y, X).fit(disp=0, tol=1e-12)
    np.testing.assert_allclose(ours.estimates, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(np.column_stack(ours.intervals()), theirs.conf_int(), rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_survey_weights_give_linearized_standard_errors(seed):
    X, y, w = sample(seed)
    ours, theirs = least_squares(X, y, w), sm.WLS(y, X, weights=w).fit(cov_type="HC0")
    np.testing.assert_allclose(ours.estimates, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.errors, theirs.bse * np.sqrt(200 / 199), rtol=1e-8)
    X, y, w = sample(seed, binary=True)
    score = logistic(X, y, w)
    model = sm.GLM(y, X, family=sm.families.Binomial(), freq_weights=w / w.mean()).fit(tol=1e-12)
    np.testing.assert_allclose(score.estimates, model.params, rtol=1e-6)
    residuals = X * (w / w.mean() * (y - model.fittedvalues))[:, None]
    bread = np.linalg.inv((X * (w / w.mean() * model.fittedvalues * (1 - model.fittedvalues))[:, None]).T @ X)
    sandwich = bread @ residuals.T @ residuals @ bread * 200 / 199
    np.testing.assert_allclose(score.errors, np.sqrt(np.diag(sandwich)), rtol=1e-6)


def test_equal_weights_change_no_coefficient_and_their_unit_does_not_matter():
    X, y, w = sample(1)
    np.testing.assert_allclose(least_squares(X, y, np.full(200, 7.0)).estimates, least_squares(X, y).estimates)
    np.testing.assert_allclose(least_squares(X, y, w).errors, least_squares(X, y, 1000 * w).errors)


def test_columns_that_follow_from_those_before_them_are_found():
    X, _, _ = sample(2)
    given_ = np.column_stack([X, X[:, 1] - 2 * X[:, 2], np.zeros(200), X[:, 3] ** 2])
    assert independent(given_).tolist() == [True, True, True, True, False, False, True]
    year = np.column_stack([np.ones(200), 1e6 + np.arange(200)])
    assert independent(year).all()


@pytest.mark.parametrize("quasi", [False, True])
def test_separation_is_found_with_the_column_that_separates(quasi):
    X, _, _ = sample(3)
    y = (X[:, 2] > np.median(X[:, 2])).astype(float)
    if quasi:  # one category of a term has no 1
        X[:, 2] = np.arange(200) < 20
        y = np.where(np.arange(200) < 20, 0.0, np.arange(200) % 2)
    with refused(NotEstimable, "separated-response") as error:
        logistic(X, y)
    assert error.value.column == 2


@pytest.mark.parametrize("estimate", [least_squares, logistic])
def test_what_has_no_coefficients_is_refused(estimate):
    X, _, _ = sample(4)
    with refused(NotEstimable, "response-constant"):
        estimate(X, np.zeros(200))
    with refused(NotEstimable, "too-few-for-coefficients", records=4, coefficients=4):
        estimate(X[:4], np.array([0.0, 1, 0, 1]))


def test_a_logistic_regression_needs_a_response_between_0_and_1():
    X, _, y = sample(4)
    with refused(NotEstimable, "response-outside-range"):
        logistic(X, np.where(np.arange(len(X)) == 3, 2.0, y > y.mean()))


@given(st.tuples(*[st.floats(-10, 10)] * 4))
def test_overlap_is_symmetric_and_one_only_for_equal_intervals(ends):
    one, two = sorted(ends[:2]), sorted(ends[2:])
    overlap = interval_overlap(*one, *two)
    assert 0 <= overlap <= 1 + 1e-12
    assert overlap == pytest.approx(interval_overlap(*two, *one))
    assert interval_overlap(*one, *one) == 1
    if one[1] < two[0] or two[1] < one[0]:
        assert overlap == 0


def test_overlap_is_the_mean_of_both_shares():
    assert interval_overlap(0, 2, 1, 5) == pytest.approx((1 / 2 + 1 / 4) / 2)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(2, 40), m=st.integers(1, 40))
def test_wasserstein_is_that_of_scipy_in_standard_deviations(seed, n, m):
    rng = np.random.default_rng(seed)
    x, y, w, v = rng.integers(0, 9, n) * 1.0, rng.integers(0, 9, m) * 1.0, rng.random(n) + 0.1, rng.random(m) + 0.1
    sd = np.sqrt(np.average((x - np.average(x, weights=w)) ** 2, weights=w))
    found = wasserstein(x, y, (w, v))
    if sd == 0:
        assert found in (0, None)
    else:
        assert found * sd == pytest.approx(wasserstein_distance(x, y, w, v), abs=1e-12)


def test_hellinger_is_zero_for_equal_and_one_for_disjoint_frequencies():
    assert hellinger(np.array([3.0, 1]), np.array([6.0, 2])) == 0
    assert hellinger(np.array([3.0, 0]), np.array([0.0, 2])) == 1
    assert hellinger(np.array([1.0, 1]), np.array([1.0, 0])) == pytest.approx(np.sqrt(1 - np.sqrt(0.5)))


def test_means_and_totals_have_the_intervals_of_statsmodels():
    _, y, w = sample(5)
    low, high = sm.stats.DescrStatsW(y).tconfint_mean()
    assert mean(y) == pytest.approx((y.mean(), low, high))
    assert total(y) == pytest.approx((200 * y.mean(), 200 * low, 200 * high))
    ones = sm.WLS(y, np.ones(200), weights=w).fit(cov_type="HC0")
    weighted = mean(y, w)
    assert weighted.value == pytest.approx(ones.params[0])
    from scipy.stats import t

    assert weighted.high - weighted.value == pytest.approx(t.ppf(0.975, 199) * ones.bse[0] * np.sqrt(200 / 199))


def test_shares_have_wilsons_interval():
    from statsmodels.stats.proportion import proportion_confint

    for count in (0, 3, 50):
        assert share(count, 50, 50)[1:] == pytest.approx(proportion_confint(count, 50, method="wilson"), abs=1e-12)
    assert effective_records(np.ones(7)) == 7


def test_pmse_of_a_correct_synthesis_follows_its_null_distribution():
    rng = np.random.default_rng(0)
    found = [pmse(rng.normal(size=(1000, 3)), rng.normal(size=(1000, 3))) for _ in range(100)]
    null = found[0]
    values = np.array([each["pMSE"] for each in found]) / 2  # two samples of one population vary twice as much
    assert values.mean() == pytest.approx(null["expected"], rel=0.15)
    assert values.std() == pytest.approx(null["sd"], rel=0.25)
    assert (values > null["upper"]).mean() == pytest.approx(0.05, abs=0.06)
    X = rng.normal(size=(50, 1))
    assert pmse(X, X)["standardized"] < 0
    assert pmse(np.ones((9, 1)), np.ones((9, 1)))["expected"] is None
