"""Microaggregation behaves as a scikit-learn estimator."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from tests.expect import reports

import shoal


def test_scikit_learns_own_checks_pass():
    results = check_estimator(
        shoal.Microaggregation(),
        expected_failed_checks={"check_clustering": "wants few large blobs; groups have k to 2k - 1 members"},
        on_skip=None,
    )
    assert {result["check_name"] for result in results if result["status"] == "xfail"} == {"check_clustering"}


def test_labels_are_those_of_partition(reference):
    X = reference("tarragona")
    estimator = shoal.Microaggregation(k=4, method="mdav").fit(X)
    np.testing.assert_array_equal(estimator.labels_, shoal.partition(X, k=4, method="mdav"))
    np.testing.assert_array_equal(clone(estimator).fit_predict(X), estimator.labels_)


def test_fit_transform_publishes_group_means():
    X = np.random.default_rng(0).normal(size=(30, 2))
    estimator = shoal.Microaggregation(k=5)
    masked = estimator.fit_transform(X)
    for label in np.unique(estimator.labels_):
        members = estimator.labels_ == label
        np.testing.assert_allclose(masked[members], np.broadcast_to(X[members].mean(axis=0), masked[members].shape))


def test_set_output_gives_pandas_with_names_and_index():
    X = pd.DataFrame({"a": [1.0, 9, 2, 8], "b": [1.0, 9, 1, 9]}, index=list("wxyz"))
    masked = shoal.Microaggregation(k=2).set_output(transform="pandas").fit_transform(X)
    assert list(masked.columns) == ["a", "b"]
    assert list(masked.index) == list("wxyz")


def test_there_is_no_transform_for_rows_that_were_not_fitted():
    assert not hasattr(shoal.Microaggregation(), "transform")


@pytest.mark.parametrize("parameters", [{"k": 1}, {"k": 2.5}, {"method": "magic"}, {"k": 9}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises((ValueError, shoal.ShoalError)):
        shoal.Microaggregation(**parameters).fit(np.arange(12.0).reshape(6, 2))


def test_an_aggregate_that_it_does_not_have_is_refused():
    with pytest.raises(ValueError, match="aggregate") as caught:
        shoal.Microaggregation(aggregate="mode").fit(np.arange(12.0).reshape(6, 2))
    assert reports(caught.value.args, "not-a-choice", "aggregate", choices=["mean", "median"])
