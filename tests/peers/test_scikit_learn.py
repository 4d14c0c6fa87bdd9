"""What scikit-learn's test suites ask of its mixtures and of k-means, asked of the estimators here.

Sources: sklearn/mixture/tests/test_gaussian_mixture.py, test_bayesian_mixture.py and test_mixture.py, and
sklearn/cluster/tests/test_k_means.py, scikit-learn 1.9. The checks are written anew for directions: the scale of rows
takes the place of translation, cosines that of distances. Left out is what directions do not have (forms of
covariances, copies of X, Elkan's and mini-batch algorithms, reassignment by size), and what the unit tests check in
more detail: ``warm_start``, weights, threads, domains of parameters, scikit-learn's `check_estimator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score

from vmfstream import (
    BayesianVMFMixture,
    DiametricalKMeans,
    DirichletProcessVMFMixture,
    FrequencySensitiveKMeans,
    OnlineVMFMixture,
    SphericalKMeans,
    VMFMixture,
    VonMisesFisher,
    Watson,
    WatsonMixture,
)
from vmfstream.directional.bessel import log_c_uniform

K, D = 3, 5
MEANS = np.eye(D)[:K]
TRUTH = np.repeat(np.arange(K), [50, 80, 70])
X = np.vstack([VonMisesFisher(MEANS[k], 60.0).rvs(int(n), rng=int(k)) for k, n in enumerate(np.bincount(TRUTH))])

Make = Callable[..., Any]
MIXTURES: list[Make] = [VMFMixture, WatsonMixture, BayesianVMFMixture, DirichletProcessVMFMixture]
MEANS_FINDERS: list[Make] = [SphericalKMeans, FrequencySensitiveKMeans, DiametricalKMeans]
mixtures = pytest.mark.parametrize("make", MIXTURES)
k_means = pytest.mark.parametrize("make", MEANS_FINDERS)
every = pytest.mark.parametrize("make", [*MIXTURES, *MEANS_FINDERS])


@every
def test_fit_predict_is_fit_and_predict_and_finds_what_is_planted(make: Make) -> None:
    one, two = make(K, random_state=0), make(K, random_state=0)
    labels = one.fit_predict(X)
    np.testing.assert_array_equal(labels, two.fit(X).predict(X))
    np.testing.assert_array_equal(labels, two.labels_)
    assert adjusted_rand_score(TRUTH, labels) > 0.98


@every
@pytest.mark.parametrize("method", ["predict", "score"])
def test_an_estimator_that_is_not_fitted_says_so(make: Make, method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(make(K), method)(X)


@mixtures
@pytest.mark.parametrize("method", ["predict_proba", "score_samples"])
def test_a_mixture_that_is_not_fitted_says_so(make: Make, method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(make(K), method)(X)


@mixtures
def test_probabilities_sum_to_one_and_the_largest_is_the_label(make: Make) -> None:
    mixture = make(K, random_state=0).fit(X)
    probability = mixture.predict_proba(X)
    assert probability.shape == (len(X), K)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(probability.argmax(axis=1), mixture.predict(X))


@mixtures
def test_the_score_is_the_mean_of_the_scores_of_rows(make: Make) -> None:
    mixture = make(K, random_state=0).fit(X)
    assert mixture.score(X) == pytest.approx(mixture.score_samples(X).mean(), rel=1e-12)


@pytest.mark.parametrize(("make", "component"), [(VMFMixture, VonMisesFisher), (WatsonMixture, Watson)])
def test_densities_are_the_sum_over_components(make: Make, component: Make) -> None:
    """They are relative to the uniform density, so that they do not grow with the number of columns."""
    mixture = make(K, random_state=0).fit(X)
    parts = [component(mu, kappa) for mu, kappa in zip(mixture.means_, mixture.concentrations_, strict=True)]
    joint = np.log(mixture.weights_) + np.column_stack([one.logpdf(X, relative_to_uniform=True) for one in parts])
    np.testing.assert_allclose(mixture.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(mixture.predict_proba(X), np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-9)


@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_the_likelihood_never_falls(concentration: str) -> None:
    options: dict[str, Any] = {"estimator": "mle", "anneal": False, "n_init": 1, "init": "random", "tol": 1e-9}
    mixture = VMFMixture(K, concentration=concentration, random_state=3, **options).fit(X)
    assert mixture.n_iter_ > 2
    assert (np.diff(mixture.lower_bounds_) > -1e-12).all()


@mixtures
def test_one_sweep_is_too_few_and_says_so(make: Make) -> None:
    with pytest.warns(ConvergenceWarning):
        make(K, max_iter=1, n_init=1, init="random", random_state=1).fit(X)


@mixtures
def test_more_starts_are_never_worse(make: Make) -> None:
    few, many = (make(K, n_init=n, init="random", random_state=2).fit(X) for n in (1, 4))
    assert many.lower_bound_ >= few.lower_bound_ - 1e-9


@every
def test_more_components_than_rows_are_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="components"):
        make(K).fit(X[:2])


@every
def test_one_component_is_the_mean_of_all(make: Make) -> None:
    model = make(1, random_state=0).fit(X)
    assert set(model.labels_) == {0}
    if make in (WatsonMixture, DiametricalKMeans):  # for a mixture the axis may be the pole of a girdle
        axes = np.linalg.svd(X)[2]
        axis = axes[-1] if make is WatsonMixture and model.concentrations_[0] < 0 else axes[0]
        assert abs(float(model.means_[0] @ axis)) == pytest.approx(1.0, abs=1e-6)
    else:
        np.testing.assert_allclose(model.means_[0], X.sum(axis=0) / np.linalg.norm(X.sum(axis=0)), atol=1e-6)


@every
def test_the_length_of_rows_and_a_turn_of_all_change_nothing(make: Make) -> None:
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((D, D)))[0]
    labels = make(K, random_state=0).fit(X).labels_
    assert adjusted_rand_score(labels, make(K, random_state=0).fit(X * rng.uniform(0.1, 9.0, (len(X), 1))).labels_) == 1
    assert adjusted_rand_score(labels, make(K, random_state=0).fit(X @ turn).labels_) == 1


@every
def test_sparse_fortran_integer_and_single_precision_rows_are_the_same_rows(make: Make) -> None:
    rows = np.round(100 * X)
    labels = make(K, random_state=0).fit(rows).labels_
    for form in (
        csr_array(rows),
        np.asfortranarray(rows),
        rows.astype(np.int64),
        rows.astype(np.float32),
        rows.tolist(),
    ):
        model = make(K, random_state=0).fit(form)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(form), labels)


@every
def test_nothing_that_is_given_is_changed(make: Make) -> None:
    rows, means = X.copy(), MEANS + 0.1
    given = means.copy()
    model = make(K, init=means, random_state=0).fit(rows)
    kept = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    model.predict(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(means, given)
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(model, name), value)


@every
def test_labels_of_parts_are_parts_of_labels(make: Make) -> None:
    model = make(K, random_state=0).fit(X)
    parts = [model.predict(X[low : low + 37]) for low in range(0, len(X), 37)]
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))


@pytest.mark.parametrize("make", [VMFMixture, WatsonMixture])
def test_criteria_are_those_of_the_likelihood(make: Make) -> None:
    mixture = make(K, random_state=0).fit(X)
    free = K * (D - 1) + (K - 1) + len(set(mixture.concentrations_))
    twice = 2 * (mixture.score(X) + log_c_uniform(D)) * len(X)
    assert mixture.aic(X) == pytest.approx(2 * free - twice)
    assert mixture.bic(X) == pytest.approx(free * np.log(len(X)) - twice)


@pytest.mark.parametrize("make", [VMFMixture, WatsonMixture])
def test_draws_follow_weights_and_means(make: Make) -> None:
    mixture = make(K, random_state=0).fit(X)
    drawn, labels = mixture.sample(4000)
    assert drawn.shape == (4000, D)
    np.testing.assert_allclose(np.bincount(labels, minlength=K) / 4000, mixture.weights_, atol=0.03)
    assert (mixture.predict(drawn) == labels).mean() > 0.97
    for number in (0, -1):
        with pytest.raises(ValueError, match="expected"):
            mixture.sample(number)


@every
@pytest.mark.parametrize(
    "init", [np.ones((K - 1, D)), np.ones((K, D + 1)), np.full((K, D), np.nan), np.zeros((K, D)), "unknown"]
)
def test_starts_are_checked(make: Make, init: Any) -> None:
    with pytest.raises(ValueError, match="init"):
        make(K, init=init).fit(X)


@k_means
def test_transform_gives_the_cosines_with_the_centres(make: Make) -> None:
    model = make(K, random_state=0).fit(X)
    cosines = model.transform(X)
    np.testing.assert_allclose(cosines, make(K, random_state=0).fit_transform(X), rtol=1e-12)
    found = X @ model.cluster_centers_.T
    np.testing.assert_allclose(np.abs(cosines), np.abs(found), atol=1e-9)
    assert list(model.get_feature_names_out()) == [f"{make.__name__.lower()}{k}" for k in range(K)]


@pytest.mark.parametrize("make", [SphericalKMeans, DiametricalKMeans])
def test_a_fit_from_its_own_centres_is_at_rest(make: Make) -> None:
    first = make(K, random_state=0).fit(X)
    again = make(K, init=first.cluster_centers_, n_init=1).fit(X)
    assert again.n_iter_ <= 2
    np.testing.assert_allclose(again.cluster_centers_, first.cluster_centers_, atol=1e-12)


@k_means
def test_fewer_directions_than_clusters_warn(make: Make) -> None:
    with pytest.warns(ConvergenceWarning, match="puts all rows into 2 of 3 clusters"):
        make(K, random_state=0).fit(np.repeat(np.eye(D)[:2], 5, axis=0))


@k_means
def test_rows_of_weight_zero_take_no_part_in_a_fit(make: Make) -> None:
    weight = (TRUTH != 2).astype(float)
    model = make(2, random_state=0).fit(X, sample_weight=weight)
    alone = make(2, random_state=0).fit(X[TRUTH != 2])
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(alone.cluster_centers_, axis=0), atol=1e-9
    )
    np.testing.assert_array_equal(weight, TRUTH != 2)


def test_learning_row_by_row_and_in_batches_goes_on_counting() -> None:
    """scikit-learn's MiniBatchKMeans counts steps and takes single rows; so does what follows a stream here."""
    order = np.random.default_rng(0).permutation(len(X))
    model = OnlineVMFMixture(K, random_state=0)
    for i in order[:20]:
        model.partial_fit(X[i : i + 1])
    model.partial_fit(X[order[20:]])
    assert adjusted_rand_score(TRUTH, model.predict(X)) > 0.9
