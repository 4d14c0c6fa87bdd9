"""What scikit-learn's test suites ask of its mixtures and of k-means, asked of the estimators here.

Sources: sklearn/mixture/tests/test_gaussian_mixture.py, test_bayesian_mixture.py and test_mixture.py, and
sklearn/cluster/tests/test_k_means.py, scikit-learn 1.9. The checks are written anew for directions: the scale of rows
takes the place of translation, cosines that of distances.

Left out, since it does not apply:

* covariances, their forms, priors, starts and regularisation: a component has a direction and one concentration;
* fits that fail because a covariance is singular: concentrations have a largest value, and fits go on;
* the default prior of the weights, one over the number of components: here it is ``alpha``, 1 unless given;
* ``copy_x``: rows are never changed;
* Elkan's and mini-batch algorithms, and the parameters that only they have: there are none;
* ``k_means``, ``kmeans_plusplus`` and functions of distances: estimators are the interface, starts are an ``init``;
* distances by ``transform``: it gives cosines;
* arrays on other devices: they are read into main memory;
* of `VMFHiddenMarkovModel` starts at given means, weights of rows, criteria, and labels of parts: it has no such
  arguments and methods, and the label of a row depends on the rows around it;
* of `FrequencySensitiveKMeans` rows for empty clusters, and scores that never fall: it balances the sizes of clusters.

The unit tests check in more detail: ``warm_start``, ``weights_init``, ``verbose``, weights, threads, domains of
parameters, and scikit-learn's `check_estimator`.
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
    SphericalCauchy,
    SphericalCauchyMixture,
    SphericalKMeans,
    VMFHiddenMarkovModel,
    VMFMixture,
    VonMisesFisher,
    Watson,
    WatsonMixture,
)
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.mixtures.seeding import agglomerated_means, perturbed_means, random_means, seed_means

K, D = 3, 5
MEANS = np.eye(D)[:K]
TRUTH = np.repeat(np.arange(K), [50, 80, 70])
X = np.vstack([VonMisesFisher(MEANS[k], 60.0).rvs(int(n), rng=int(k)) for k, n in enumerate(np.bincount(TRUTH))])
NOISE = np.random.default_rng(0).uniform(size=(60, D))
"""Rows that lie in no clusters."""

Make = Callable[..., Any]
LIKELIEST: list[Make] = [VMFMixture, WatsonMixture, SphericalCauchyMixture]
BAYESIAN: list[Make] = [BayesianVMFMixture, DirichletProcessVMFMixture]
MIXTURES: list[Make] = [*LIKELIEST, *BAYESIAN, VMFHiddenMarkovModel]
MEANS_FINDERS: list[Make] = [SphericalKMeans, FrequencySensitiveKMeans, DiametricalKMeans]
mixtures = pytest.mark.parametrize("make", MIXTURES)
likeliest = pytest.mark.parametrize("make", LIKELIEST)
bayesian = pytest.mark.parametrize("make", BAYESIAN)
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


@pytest.mark.parametrize(
    ("make", "component"),
    [(VMFMixture, VonMisesFisher), (WatsonMixture, Watson), (SphericalCauchyMixture, SphericalCauchy)],
)
def test_densities_are_the_sum_over_components(make: Make, component: Make) -> None:
    """They are relative to the uniform density, so that they do not grow with the number of columns."""
    mixture = make(K, random_state=0).fit(X)
    parts = [component(mu, kappa) for mu, kappa in zip(mixture.means_, mixture.concentrations_, strict=True)]
    joint = np.log(mixture.weights_) + np.column_stack([one.logpdf(X, relative_to_uniform=True) for one in parts])
    np.testing.assert_allclose(mixture.score_samples(X), logsumexp(joint, axis=1), rtol=1e-9)
    np.testing.assert_allclose(mixture.predict_proba(X), np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (VMFMixture, {"concentration": "shared", "estimator": "mle", "anneal": False}),
        (VMFMixture, {"concentration": "own", "estimator": "mle", "anneal": False}),
        (WatsonMixture, {}),
        (SphericalCauchyMixture, {}),
        (VMFHiddenMarkovModel, {"estimator": "mle"}),
    ],
)
def test_the_likelihood_never_falls(make: Make, options: dict[str, Any]) -> None:
    mixture = make(K, n_init=1, init="random", tol=1e-9, max_iter=500, random_state=3, **options).fit(X)
    assert mixture.converged_
    assert mixture.n_iter_ >= 2
    assert (np.diff(mixture.lower_bounds_) > -1e-12).all()


@bayesian
@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_the_bound_of_the_evidence_never_falls(make: Make, concentration: str) -> None:
    """scikit-learn's test_monotonic_likelihood of its Bayesian mixture, with twice the components that there are."""
    options: dict[str, Any] = {"init": "random", "n_init": 1, "tol": 1e-9, "max_iter": 500, "random_state": 3}
    mixture = make(2 * K, concentration=concentration, **options).fit(X)
    assert mixture.converged_
    assert mixture.n_iter_ > 10
    assert (np.diff(mixture.lower_bounds_) > -1e-12).all()


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_weights_are_those_expected_of_the_prior_and_the_rows(alpha: float) -> None:
    """scikit-learn's test_bayesian_mixture_weights: a strong prior makes weights equal, a weak one does nothing."""
    mixture = BayesianVMFMixture(K, alpha=alpha, random_state=0).fit(X)
    wanted = (alpha + np.bincount(mixture.labels_)) / (K * alpha + len(X))
    np.testing.assert_allclose(mixture.weights_, wanted, rtol=1e-6)


def test_a_process_that_expects_more_components_keeps_more() -> None:
    """The same test for the process, whose concentration says how many components it expects."""
    few, many = (
        DirichletProcessVMFMixture(10, process_shape=shape, process_rate=rate, random_state=0).fit(X)
        for shape, rate in ((1.0, 1e3), (1e3, 1.0))
    )
    assert few.process_concentration_ < 0.1 < 100 < many.process_concentration_
    assert few.n_active_ == K < many.n_active_
    for mixture in (few, many):
        assert mixture.weights_.sum() == pytest.approx(1.0, rel=1e-12)


@every
def test_sweeps_are_counted_and_none_is_too_few(make: Make) -> None:
    """scikit-learn's test_gaussian_mixture_n_iter and test_max_iter_zero; here a fit makes at least one sweep."""
    with pytest.warns(ConvergenceWarning, match="has not converged in max_iter=1"):
        assert make(2, max_iter=1, random_state=0).fit(NOISE).n_iter_ == 1
    with pytest.raises(ValueError, match="max_iter: expected an integer of at least 1, got 0"):
        make(2, max_iter=0).fit(NOISE)


@pytest.mark.parametrize("make", [*LIKELIEST, VMFHiddenMarkovModel, *MEANS_FINDERS])
@pytest.mark.parametrize("max_iter", [1, 2, 500])
@pytest.mark.filterwarnings("ignore:.* has not converged", "ignore:.* puts all rows into")
def test_labels_are_those_of_predict_however_few_the_sweeps(make: Make, max_iter: int) -> None:
    """scikit-learn's test_gaussian_mixture_fit_predict and test_kmeans_predict, with rows that lie apart in no way."""
    for seed in range(3):
        model = make(4, max_iter=max_iter, random_state=seed).fit(NOISE)
        np.testing.assert_array_equal(model.labels_, model.predict(NOISE))


@pytest.mark.parametrize(
    ("make", "init"),
    [
        *((VMFMixture, init) for init in ("k-means++", "agglomerative", "random", "perturbed-mean")),
        *((make, init) for make in (WatsonMixture, SphericalCauchyMixture) for init in ("k-means++", "random")),
        *((VMFHiddenMarkovModel, init) for init in ("k-means++", "random", "perturbed-mean")),
        *((make, init) for make in BAYESIAN for init in ("annealed-em", "annealed", "k-means++", "random")),
        *((SphericalKMeans, init) for init in ("k-means++", "agglomerative", "random", "perturbed-mean")),
        *((FrequencySensitiveKMeans, init) for init in ("k-means++", "agglomerative", "random", "perturbed-mean")),
        *((DiametricalKMeans, init) for init in ("k-means++", "random")),
    ],
)
@pytest.mark.filterwarnings("ignore:.* has not converged in max_iter=1 ", "ignore:.* puts all rows into")
def test_no_start_has_a_mean_twice_and_every_start_comes_to_rest(make: Make, init: str) -> None:
    """scikit-learn's test_init_means_not_duplicated and test_means_for_all_inits."""
    for seed in range(3):
        means = make(K, init=init, n_init=1, max_iter=1, random_state=seed).fit(X).means_
        assert not any(np.allclose(means[i], means[j]) for i in range(K) for j in range(i))
        model = make(K, init=init, max_iter=500, random_state=seed).fit(X)
        assert model.converged_
        assert model.means_.shape == (K, D)
        np.testing.assert_allclose(np.linalg.norm(model.means_, axis=1), 1.0, rtol=1e-12)


@mixtures
def test_one_sweep_is_too_few_and_says_so(make: Make) -> None:
    with pytest.warns(ConvergenceWarning):
        make(K, max_iter=1, n_init=1, init="random", random_state=1).fit(X)


@mixtures
def test_more_starts_are_never_worse(make: Make) -> None:
    few, many = (make(K, n_init=n, init="random", random_state=2).fit(X) for n in (1, 4))
    assert many.lower_bound_ >= few.lower_bound_ - 1e-9


@k_means
@pytest.mark.filterwarnings("ignore:.* has not converged in max_iter=1 ", "ignore:.* puts all rows into")
def test_more_starts_of_k_means_are_never_worse(make: Make) -> None:
    """scikit-learn's test_n_init: one sweep of each, so that they end in different places."""
    found = [make(8, n_init=n, init="random", max_iter=1, random_state=0).fit(X).lower_bound_ for n in (1, 5, 10)]
    assert found == sorted(found)
    assert found[0] < found[-1]


@every
def test_more_components_than_rows_are_refused(make: Make) -> None:
    with pytest.raises(ValueError, match="components"):
        make(K).fit(X[:2])


@every
def test_one_component_is_the_mean_of_all(make: Make) -> None:
    model = make(1, random_state=0).fit(X)
    assert set(model.labels_) == {0}
    if make is SphericalCauchyMixture:  # rows far away count for less than in the mean of all
        np.testing.assert_allclose(model.means_[0], SphericalCauchy.fit(X).mu, atol=0.01)
    elif make in (WatsonMixture, DiametricalKMeans):  # for a mixture the axis may be the pole of a girdle
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
    model = make(K, random_state=0, **({} if make is VMFHiddenMarkovModel else {"init": means})).fit(rows)
    kept = {name: np.copy(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    model.predict(rows)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(means, given)
    for name, value in kept.items():
        np.testing.assert_array_equal(getattr(model, name), value)


@pytest.mark.parametrize("make", [*LIKELIEST, *BAYESIAN, *MEANS_FINDERS])
def test_labels_of_parts_are_parts_of_labels(make: Make) -> None:
    model = make(K, random_state=0).fit(X)
    parts = [model.predict(X[low : low + 37]) for low in range(0, len(X), 37)]
    np.testing.assert_array_equal(np.concatenate(parts), model.predict(X))


@likeliest
def test_criteria_are_those_of_the_likelihood(make: Make) -> None:
    mixture = make(K, random_state=0).fit(X)
    free = K * (D - 1) + (K - 1) + len(set(mixture.concentrations_))
    twice = 2 * (mixture.score(X) + log_c_uniform(D)) * len(X)
    assert mixture.aic(X) == pytest.approx(2 * free - twice)
    assert mixture.bic(X) == pytest.approx(free * np.log(len(X)) - twice)


@pytest.mark.parametrize(
    ("make", "options", "free"),
    [
        (VMFMixture, {"concentration": "shared"}, 10),
        (VMFMixture, {"concentration": "own"}, 11),
        (WatsonMixture, {}, 11),
        (SphericalCauchyMixture, {}, 11),
    ],
)
def test_criteria_count_the_free_parameters(make: Make, options: dict[str, Any], free: int) -> None:
    """scikit-learn's test_gaussian_mixture_n_parameters: of two components one weight, eight angles, concentrations."""
    mixture = make(2, random_state=0, **options).fit(X)
    assert (mixture.bic(X) - mixture.aic(X)) / (np.log(len(X)) - 2) == pytest.approx(free)


def test_the_criterion_of_one_component_is_the_same_for_every_kind_of_concentration() -> None:
    """scikit-learn's test_bic_1d_1component."""
    shared, own = (VMFMixture(1, concentration=kind, random_state=0).fit(X) for kind in ("shared", "own"))
    assert shared.bic(X) == pytest.approx(own.bic(X), rel=1e-12)


@pytest.mark.parametrize("make", [*LIKELIEST, VMFHiddenMarkovModel])
def test_one_component_of_few_rows_can_be_drawn_from(make: Make) -> None:
    """scikit-learn's test_gaussian_mixture_single_component_stable."""
    mixture = make(1, random_state=0).fit(np.random.default_rng(0).standard_normal((3, 2)))
    drawn, labels = mixture.sample()
    assert drawn.shape == (1, 2)
    assert np.linalg.norm(drawn) == pytest.approx(1.0)
    assert labels.tolist() == [0]


@likeliest
@pytest.mark.parametrize("max_iter", [1, 2, 50])
@pytest.mark.filterwarnings("ignore:.* has not converged")
def test_fits_that_go_on_come_to_rest(make: Make, max_iter: int) -> None:
    """scikit-learn's test_convergence_detected_with_warm_start."""
    mixture = make(2, warm_start=True, init="random", max_iter=max_iter, random_state=0)
    assert any(mixture.fit(X).converged_ for _ in range(100))
    assert mixture.n_iter_ <= max_iter


@likeliest
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


@pytest.mark.parametrize("make", [*LIKELIEST, *MEANS_FINDERS])
@pytest.mark.filterwarnings("ignore:.* puts all rows into", "ignore:.* stops at a concentration of")
def test_weights_of_one_are_no_weights_and_others_are_repeated_rows(make: Make) -> None:
    """scikit-learn's test_unit_weights_vs_no_weights, test_weighted_vs_repeated and test_scaled_weights."""
    weight = np.random.default_rng(1).integers(1, 5, len(NOISE))
    options: dict[str, Any] = {"max_iter": 500, "random_state": 0}
    plain, ones, half, weighed, tiny, repeated = (
        make(4, **options).fit(rows, sample_weight=given)
        for rows, given in (
            (NOISE, None),
            (NOISE, np.ones(len(NOISE))),
            (NOISE, np.full(len(NOISE), 0.5)),
            (NOISE, weight),
            (NOISE, weight * 1e-3),
            (np.repeat(NOISE, weight, axis=0), None),
        )
    )
    for one in (ones, half):
        np.testing.assert_array_equal(one.labels_, plain.labels_)
        np.testing.assert_allclose(one.means_, plain.means_, atol=1e-12)
    np.testing.assert_array_equal(np.repeat(weighed.labels_, weight), repeated.labels_)
    np.testing.assert_allclose(weighed.means_, repeated.means_, atol=1e-12)
    again = make(4, **options).fit(NOISE, sample_weight=weight * 1e-4)
    np.testing.assert_array_equal(tiny.labels_, again.labels_)
    np.testing.assert_allclose(tiny.means_, again.means_, atol=1e-9)


@pytest.mark.parametrize("start", [seed_means, random_means, perturbed_means, agglomerated_means])
def test_starts_see_the_weights(start: Callable[..., Any]) -> None:
    """scikit-learn's test_sample_weight_init and test_sample_weight_zero: rows of weight 0 are in no start."""
    weight = np.random.default_rng(0).uniform(size=len(X))
    plain, weighed = (start(X, 5, np.random.default_rng(7), given)[:, :5] for given in (None, weight))
    assert np.abs(plain - weighed).max() > 1e-6
    here = TRUTH != 2
    for seed in range(5):
        found = start(X, 5, np.random.default_rng(seed), np.where(here, weight, 0.0))[:, :5]
        alone = start(X[here], 5, np.random.default_rng(seed), weight[here])[:, :5]
        assert (X[~here] @ found).max() < 1 - 1e-9
        np.testing.assert_allclose(found, alone, atol=1e-9)


@pytest.mark.parametrize("make", [SphericalKMeans, DiametricalKMeans])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_an_empty_cluster_takes_the_row_that_fits_worst(make: Make, form: Callable[..., Any]) -> None:
    """scikit-learn's test_kmeans_relocated_clusters and test_kmeans_empty_cluster_relocated.

    Rows at 0, 20, 60 and 80 degrees, one mean among them and one across, where no row is.
    """
    angle = np.deg2rad([0.0, 20.0, 60.0, 80.0, 40.0, 130.0])
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    model = make(2, init=points[4:]).fit(form(points[:4]))
    first = model.labels_[0]
    np.testing.assert_array_equal(model.labels_ == first, [True, True, False, False])
    found = np.rad2deg(np.arctan2(model.means_[:, 1], model.means_[:, 0]))
    np.testing.assert_allclose(found[[first, 1 - first]], [10.0, 70.0])
    assert model.n_iter_ <= 3
    light = make(2, init=[[1.0, 0.1], [-0.1, 1.0]]).fit(form(np.eye(2)), sample_weight=[1.9, 0.1])
    assert set(light.labels_) == {0, 1}
    np.testing.assert_allclose(light.means_[light.labels_], np.eye(2), atol=1e-12)


@pytest.mark.parametrize("make", [SphericalKMeans, DiametricalKMeans])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_more_given_means_than_directions_come_to_rest(make: Make, form: Callable[..., Any]) -> None:
    """scikit-learn's test_relocating_with_duplicates."""
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="puts all rows into 4 of 5 clusters"):
        model = make(5, init=rows).fit(form(rows))
    assert model.n_iter_ <= 2
    assert model.labels_.tolist() == [0, 1, 1, 2, 3]


@k_means
@pytest.mark.parametrize("form", [np.asarray, csr_array, np.float32])
def test_the_objective_is_the_mean_cosine_and_tells_the_inertia(make: Make, form: Callable[..., Any]) -> None:
    """scikit-learn's test_inertia: on the sphere squared distances are 2 - 2 cosines. Axes count squared cosines."""
    weight = np.random.default_rng(2).uniform(1.0, 4.0, len(X))
    model = make(K, random_state=0).fit(form(X), sample_weight=weight)
    own = model.means_[model.labels_]
    cosine = (X * own).sum(axis=1)
    wanted = np.average(cosine**2 if make is DiametricalKMeans else cosine, weights=weight)
    assert model.lower_bound_ == pytest.approx(wanted, abs=1e-6 if form is np.float32 else 1e-12)
    if make is not DiametricalKMeans:
        inertia = weight @ np.square(X - own).sum(axis=1)
        assert 2 * weight.sum() * (1 - model.lower_bound_) == pytest.approx(inertia, rel=1e-5)


@pytest.mark.parametrize("make", [SphericalKMeans, DiametricalKMeans])
@pytest.mark.filterwarnings("ignore:.* has not converged in max_iter=1 ")
def test_more_sweeps_of_k_means_are_better_and_come_to_an_end(make: Make) -> None:
    """scikit-learn's test_score_max_iter and test_kmeans_convergence."""
    rows = np.random.default_rng(0).standard_normal((1000, 10))
    short, long = (make(8, n_init=1, max_iter=n, random_state=0).fit(rows) for n in (1, 300))
    assert long.score(rows) > short.score(rows) + 0.01
    assert short.n_iter_ < long.n_iter_ < 300
    assert long.converged_


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.filterwarnings("ignore:.* has not converged in max_iter=1 ")
def test_one_sweep_is_that_of_a_plain_loop(form: Callable[..., Any]) -> None:
    """scikit-learn's test_k_means_1_iteration."""
    rows = np.random.default_rng(4).uniform(size=(100, 5))
    unit = rows / np.linalg.norm(rows, axis=1)[:, None]
    nearest = (unit @ unit[:5].T).argmax(axis=1)
    sums = np.array([unit[nearest == k].sum(axis=0) for k in range(5)])
    means = sums / np.linalg.norm(sums, axis=1)[:, None]
    model = SphericalKMeans(5, init=unit[:5], max_iter=1).fit(form(rows))
    np.testing.assert_allclose(model.means_, means, atol=1e-12)
    np.testing.assert_array_equal(model.labels_, (unit @ means.T).argmax(axis=1))


@pytest.mark.parametrize("make", [*LIKELIEST, *BAYESIAN, *MEANS_FINDERS])
def test_given_means_may_be_lists_and_are_started_from_once(make: Make) -> None:
    """scikit-learn's tests of array-like starts, of ``n_init="auto"``, and of its warning of needless starts."""
    given = make(K, init=MEANS.tolist()).fit(X)
    np.testing.assert_array_equal(given.labels_, make(K, init=MEANS).fit(X).labels_)
    with pytest.warns(RuntimeWarning, match="n_init: expected 'auto' or 1 with a given init, got 3"):
        again = make(K, init=MEANS, n_init=3).fit(X)
    np.testing.assert_array_equal(again.labels_, given.labels_)


def test_learning_row_by_row_and_in_batches_goes_on_counting() -> None:
    """scikit-learn's MiniBatchKMeans counts steps and takes single rows; so does what follows a stream here."""
    order = np.random.default_rng(0).permutation(len(X))
    model = OnlineVMFMixture(K, random_state=0)
    for i in order[:20]:
        model.partial_fit(X[i : i + 1])
    model.partial_fit(X[order[20:]])
    assert adjusted_rand_score(TRUTH, model.predict(X)) > 0.9
