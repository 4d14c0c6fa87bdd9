"""Estimators of axes: scikit-learn's own checks, and what they promise beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import nmi
from vmfstream import DiametricalKMeans, WatsonMixture
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.watson import sample


@parametrize_with_checks(
    [
        WatsonMixture(3, max_iter=300, random_state=0),
        WatsonMixture(3, assignment="hard", random_state=0),
        DiametricalKMeans(3, random_state=0),
    ],
    expected_failed_checks=lambda estimator: {} if isinstance(estimator, DiametricalKMeans) else EXPECTS_CLASSIFIER,
)
@pytest.mark.filterwarnings("ignore:.* puts all rows into")  # some checks have no clusters
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def axes() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = np.vstack([sample(np.eye(12)[j], kappa, 150, rng) for j, kappa in ((0, 60.0), (1, 40.0), (2, -150.0))])
    return x, np.repeat(np.arange(3), 150)


def test_finds_axes_and_a_girdle(axes: Any) -> None:
    x, labels = axes
    model = WatsonMixture(3, n_init=4, random_state=0).fit(x)
    assert nmi(model.labels_, labels) > 0.95
    order = np.argsort(model.concentrations_)
    np.testing.assert_allclose(model.concentrations_[order], [-150, 40, 60], rtol=0.25)
    assert np.all(np.diag(model.means_[order][:, [2, 1, 0]]) > 0.97)
    np.testing.assert_array_equal(model.predict(-x), model.labels_)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1, rtol=1e-12)
    difference = model.score_samples(x, relative_to_uniform=False) - model.score_samples(x)
    np.testing.assert_allclose(difference, float(log_c_uniform(12)), rtol=1e-9)
    assert model.score(x) == pytest.approx(model.lower_bound_, rel=1e-9)
    only_axes = WatsonMixture(3, negative=False, n_init=4, random_state=0).fit(x)
    assert np.all(only_axes.concentrations_ > 0)
    assert only_axes.lower_bound_ < model.lower_bound_


def test_zero_rows_scale_and_storage_do_not_matter(axes: Any) -> None:
    x, _ = axes
    base = WatsonMixture(3, random_state=0).fit(x)
    again = WatsonMixture(3, random_state=0).fit(np.vstack([7 * x, np.zeros((4, 12))]))
    assert again.n_empty_rows_ == 4
    assert np.all(again.labels_[-4:] == -1)
    np.testing.assert_allclose(again.concentrations_, base.concentrations_, rtol=1e-6)
    np.testing.assert_allclose(again.predict_proba(np.zeros((1, 12)))[0], again.weights_)
    assert again.score_samples(np.zeros((1, 12)))[0] == 0
    sparse = WatsonMixture(3, random_state=0).fit(csr_array(x))
    np.testing.assert_allclose(sparse.concentrations_, base.concentrations_, rtol=1e-6)
    single = WatsonMixture(3, random_state=0).fit(x.astype(np.float32))
    assert single.means_.dtype == np.float64  # of so few columns
    np.testing.assert_allclose(single.concentrations_, base.concentrations_, rtol=1e-5)


def test_weights_count_rows(axes: Any) -> None:
    x, labels = axes
    times = np.random.default_rng(1).integers(0, 3, len(x))
    weighted = WatsonMixture(3, init=labels).fit(x, sample_weight=times)
    repeated = WatsonMixture(3, init=np.repeat(labels, times)).fit(np.repeat(x, times, axis=0))
    np.testing.assert_allclose(weighted.concentrations_, repeated.concentrations_, rtol=1e-5)
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-6)


def test_starts_from_axes_of_either_sign(axes: Any) -> None:
    x, labels = axes
    given = np.eye(12)[:3] * [[1], [-5], [1]]
    model = WatsonMixture(3, init=given, negative=False).fit(x)
    assert np.all(np.abs(np.diag(model.means_)[:2]) > 0.97)
    assert nmi(model.labels_[labels < 2], labels[labels < 2]) > 0.8
    turned = WatsonMixture(3, init=np.abs(given), negative=False).fit(x)
    np.testing.assert_allclose(turned.lower_bounds_, model.lower_bounds_, rtol=1e-9)


def test_warm_start_goes_on(axes: Any) -> None:
    x, _ = axes
    model = WatsonMixture(3, random_state=0, warm_start=True).fit(x)
    first = model.lower_bound_
    model.fit(x)
    assert model.n_iter_ <= 2
    assert model.lower_bound_ >= first - 1e-9
    assert not hasattr(clone(model), "means_")
    with pytest.raises(ValueError, match="the last fit had 3 clusters in 12 dimensions, expected 3 in 4"):
        model.fit(x[:, :4])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "V"}, "estimator: expected one of 'mle', 'L'.* got 'V'"),
        ({"assignment": "fuzzy"}, "assignment: expected"),
        ({"negative": 1}, "negative: expected True or False"),
        ({"n_components": 0}, "n_components: expected an integer of at least 1"),
        ({"n_components": 700}, "n_components: expected at most the 450 rows"),
        ({"init": "farthest"}, "init: expected"),
        ({"init": np.ones((2, 2))}, r"init: expected means of the shape \(8, 12\)"),
        ({"init": np.full(450, 9)}, "init: expected 450 labels from 0 to 7"),
        ({"tol": -1.0}, "tol: expected"),
    ],
)
def test_says_what_is_wrong(axes: Any, settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WatsonMixture(**settings).fit(axes[0])


def test_bad_rows_and_weights(axes: Any) -> None:
    x = axes[0].copy()
    with pytest.raises(ValueError, match="sample_weight: expected finite weights of at least 0, got -1"):
        WatsonMixture(2).fit(x, sample_weight=-np.ones(len(x)))
    x[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        WatsonMixture(2).fit(x)


def test_diametrical_k_means_finds_axes(axes: Any) -> None:
    x, labels = axes
    x, labels = x[labels < 2], labels[labels < 2]
    model = DiametricalKMeans(2, n_init=3, random_state=0).fit(x)
    assert nmi(model.labels_, labels) > 0.95
    assert model.converged_
    assert np.diff(model.lower_bounds_).min(initial=0) > -1e-12
    np.testing.assert_array_equal(model.predict(-x), model.labels_)
    assert model.score(x) == pytest.approx(model.lower_bound_, rel=1e-12)
    np.testing.assert_allclose(model.transform(x), x @ model.means_.T, atol=1e-12)
    np.testing.assert_allclose(model.weights_, np.bincount(model.labels_) / len(x))
    given = DiametricalKMeans(2, init=-model.means_).fit(x)
    assert given.n_iter_ <= 3
    np.testing.assert_array_equal(given.labels_, model.labels_)
    random = DiametricalKMeans(2, init="random", n_init=5, random_state=0).fit(csr_array(x))
    assert random.lower_bound_ == pytest.approx(model.lower_bound_, rel=1e-6)
    with pytest.raises(ValueError, match="init: expected one of 'k-means"):
        DiametricalKMeans(2, init="perturbed-mean").fit(x)
    zeros = DiametricalKMeans(2, init=model.means_).fit(np.vstack([x, np.zeros((1, 12))]))
    assert (zeros.labels_[-1], zeros.n_empty_rows_) == (-1, 1)
