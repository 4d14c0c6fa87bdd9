"""The Bayesian mixtures as scikit-learn estimators: its own checks, and what they promise beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.bayes.factors.concentration import RULES, KappaPrior, kappa_quantiles, quadrature_factor
from vmfstream.bayes.factors.priors import moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.predictive import predictive
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.estimators.bayesian import BayesianVMFMixture
from vmfstream.estimators.dirichlet_process import DirichletProcessVMFMixture
from vmfstream.estimators.hierarchical import HierarchicalVMFMixture
from vmfstream.estimators.temporal import TemporalVMFMixture
from vmfstream.mixtures.movmf import annealed_fit
from vmfstream.mixtures.seeding import one_hot


@parametrize_with_checks(
    [
        BayesianVMFMixture(3, max_iter=300, random_state=0),
        BayesianVMFMixture(3, inference="map", concentration="own", max_iter=300, random_state=0),
        BayesianVMFMixture(3, inference="gibbs", n_draws=5, burn_in=5, random_state=0),
        DirichletProcessVMFMixture(3, max_iter=500, random_state=0),
    ],
    expected_failed_checks=lambda _: EXPECTS_CLASSIFIER,
)
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def planted(d: int = 30, n: int = 150) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    rng = np.random.default_rng(d)
    labels, mu = rng.integers(3, size=n), directions(rng, 3, d)
    return vmf_rows(rng, mu, labels, 0.6), labels, mu


ESTIMATORS = [
    *(BayesianVMFMixture(3, kappa=rule, random_state=0) for rule in RULES),
    BayesianVMFMixture(3, concentration="own", empirical_bayes=("alpha", "mu0", "c0", "kappa"), random_state=0),
    BayesianVMFMixture(3, assignment="hard", random_state=0),
    BayesianVMFMixture(3, inference="map", random_state=0),
    BayesianVMFMixture(3, inference="map", assignment="hard", concentration="own", random_state=0),
    BayesianVMFMixture(3, inference="gibbs", n_draws=20, burn_in=10, random_state=0),
    BayesianVMFMixture(3, inference="gibbs", collapsed=False, n_draws=20, burn_in=10, random_state=0),
    DirichletProcessVMFMixture(3, init="annealed-em", random_state=0),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_what_is_planted_is_found(estimator: Any) -> None:
    x, labels, mu = planted()
    fitted = estimator.fit(csr_array(x))
    assert nmi(labels, fitted.labels_) > 0.95
    assert np.array_equal(fitted.labels_, fitted.predict(x))
    cosines = fitted.means_ @ mu.T
    assert cosines.max(axis=1).min() > 0.9
    assert np.linalg.norm(fitted.means_, axis=1) == pytest.approx(np.ones(3))
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert (np.diff(fitted.concentrations_) == 0).all() == (fitted.concentration == "shared")
    assert fitted.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(150))
    fresh = vmf_rows(np.random.default_rng(9), mu, labels, 0.6)
    assert fitted.score(fresh) > 3
    absolute = fitted.score_samples(fresh, relative_to_uniform=False)
    assert absolute == pytest.approx(fitted.score_samples(fresh) + float(log_c_uniform(30)))


@pytest.mark.parametrize("inference", ["variational", "gibbs"])
def test_credible_regions_hold_what_is_planted(inference: str) -> None:
    x, labels, mu = planted()
    fitted = BayesianVMFMixture(3, inference=inference, random_state=0).fit(x)
    truth = mu[(fitted.means_ @ mu.T).argmax(axis=1)]
    angle = np.arccos((fitted.means_ * truth).sum(axis=1))
    assert (angle < fitted.mean_radius(0.999)).all()
    assert (fitted.mean_radius(0.5) < fitted.mean_radius(0.95)).all()
    counts = np.bincount(labels)[(fitted.means_ @ mu.T).argmax(axis=1)] / 150
    low, high = fitted.weight_interval(0.999).T
    assert ((low < counts) & (counts < high)).all()
    low, high = fitted.concentration_interval(0.95).T
    assert ((low < fitted.concentrations_) & (fitted.concentrations_ < high)).all()
    narrow = fitted.concentration_interval(0.5)
    assert ((low < narrow[:, 0]) & (narrow[:, 1] < high)).all()


def test_a_fit_is_the_function_below() -> None:
    x, _, _ = planted()
    resp = annealed_fit(x, 3, np.random.default_rng(5), heat=1.0).resp
    labels = resp[:, :3].argmax(axis=1)
    fitted = BayesianVMFMixture(3, init=labels, alpha=2.0, prior_cosine=0.5, empirical_bayes=()).fit(x)
    start = one_hot(labels, 3, np.float64)
    run = variational.fit(x, start, 3, moment_prior(x, start, 3, alpha=2.0, cosine=0.5))
    assert fitted.lower_bounds_ == pytest.approx(run.trace / np.count_nonzero(fitted.labels_ >= 0), rel=1e-12)
    assert fitted.certainties_ == pytest.approx(run.gamma, rel=1e-12)
    density = predictive(x, run.f, run.gamma, run.kappa, np.log(run.rho / run.rho.sum()))
    assert fitted.score_samples(x) == pytest.approx(density, abs=1e-9)


def test_densities_are_exact_although_the_fit_was_bounded() -> None:
    x, labels, _ = planted()
    exact, bounded = (BayesianVMFMixture(3, kappa=rule, init=labels).fit(x) for rule in ("quadrature", "bounding"))
    assert bounded.score(x) == pytest.approx(exact.score(x), abs=0.1)
    assert bounded.lower_bound_ < exact.lower_bound_ - 0.1


def test_more_starts_are_never_worse() -> None:
    x, _, _ = planted(8)
    bounds = [BayesianVMFMixture(5, init="k-means++", n_init=n, random_state=0).fit(x).lower_bound_ for n in (1, 6)]
    assert bounds[1] >= bounds[0]


@pytest.mark.thorough
def test_the_process_leaves_components_empty() -> None:
    x, labels, _ = planted(8, 240)
    fitted = DirichletProcessVMFMixture(8, prior_cosine=0.0, init="random", n_init=8, random_state=0).fit(x)
    assert fitted.n_active_ < 8
    assert nmi(labels, fitted.labels_) > 0.7
    assert 0 < fitted.process_concentration_ < 5


def test_rows_without_direction() -> None:
    x, _, _ = planted()
    holes = np.insert(x, 4, 0.0, axis=0)
    for inference in ("variational", "gibbs", "map"):
        fitted = BayesianVMFMixture(3, inference=inference, n_draws=3, burn_in=3, random_state=0).fit(holes)
        assert fitted.n_empty_rows_ == 1
        assert fitted.labels_[4] == fitted.predict(holes)[4] == -1
        assert fitted.predict_proba(holes)[4] == pytest.approx(fitted.weights_)
        assert fitted.score_samples(holes)[4] == 0.0


def test_bad_input_is_named() -> None:
    x, _, _ = planted()
    for options, message in (
        ({"inference": "exact"}, "inference: expected one of 'variational', 'gibbs', 'map', got 'exact'"),
        ({"kappa": "grid"}, "kappa: expected one of 'quadrature'"),
        ({"prior_cosine": 1.0}, r"prior_cosine: expected a number in \[0, 1\) or None, got 1.0"),
        ({"alpha": 0.0}, "alpha: expected a number"),
        ({"empirical_bayes": ("rho",)}, "some of 'alpha', 'mu0', 'c0', 'kappa', got \\('rho',\\)"),
        ({"init": "far"}, "init: expected one of 'annealed-em'"),
        ({"n_init": 0}, "n_init: expected an integer of at least 1 or one of .auto., got 0"),
        ({"inference": "map", "alpha": 0.5}, "a mode needs alpha of at least 1; got 0.5"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesianVMFMixture(3, **options).fit(x)
    with pytest.raises(ValueError, match="process_rate: expected"):
        DirichletProcessVMFMixture(3, process_rate=-1.0).fit(x)
    with pytest.raises(NotFittedError):
        BayesianVMFMixture(3).mean_radius()
    fitted = BayesianVMFMixture(3, random_state=0).fit(x)
    with pytest.raises(ValueError, match=r"mass: expected a probability in \(0, 1\), got 1"):
        fitted.weight_interval(1)
    mode = BayesianVMFMixture(3, inference="map", random_state=0).fit(x)
    with pytest.raises(ValueError, match="a mode says nothing of uncertainty"):
        mode.concentration_interval()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        BayesianVMFMixture(3, max_iter=1, random_state=0).fit(x)


INTEGRATED = [
    *(BayesianVMFMixture(2, kappa=rule) for rule in RULES),
    BayesianVMFMixture(2, concentration="own"),
    BayesianVMFMixture(2, inference="gibbs"),
    DirichletProcessVMFMixture(2),
    HierarchicalVMFMixture(2),
    TemporalVMFMixture(2, kappa="quadrature"),
]


@pytest.mark.parametrize(
    ("estimator", "d"),
    [(one, d) for one in INTEGRATED for d in (2, 3) if d == 3 or one.get_params()["kappa"] != "bounding"],
    ids=str,
)
def test_densities_integrate_to_one_however_few_the_rows(estimator: Any, d: int) -> None:
    """With the mean of the log partition function instead of its integral they integrated to .96."""
    rng = np.random.default_rng(0)
    fitted = clone(estimator).set_params(random_state=0).fit(np.eye(d)[[0, 0, 1, 1]] + 0.3 * rng.normal(size=(4, d)))
    turn = np.arange(720) * np.pi / 360
    height, mass = np.polynomial.legendre.leggauss(200) if d == 3 else (np.zeros(1), np.full(1, 2.0))
    z, angle = (grid.ravel() for grid in np.meshgrid(height, turn, indexing="ij"))
    points = np.stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z], axis=1)[:, :d]
    density = np.exp(fitted.score_samples(points))
    assert density @ np.repeat(mass / 2, 720) / 720 == pytest.approx(1.0, abs=1e-9)


def test_concentrations_are_integrated_by_their_factor() -> None:
    d, n, t, law = 3, 4.0, 3.2, KappaPrior(1.0, 0.5)
    factor = quadrature_factor(d, n, t, law)
    f, gamma = np.zeros((d, 16)), np.array([20.0])
    f[0, 0] = 20.0
    x = np.array([[1.0, 0, 0], [0, 1, 0], [-1, 0, 0]])
    kappas = kappa_quantiles(d, n, t, law, (np.arange(2000) + 0.5) / 2000)[0]
    each = np.exp([predictive(x, f, gamma, float(kappa), np.zeros(1)) for kappa in kappas])
    assert predictive(x, f, gamma, factor, np.zeros(1)) == pytest.approx(np.log(each.mean(axis=0)), abs=0.08)
    assert np.abs(predictive(x, f, gamma, float(factor.mean[0]), np.zeros(1)) - np.log(each.mean(axis=0))).max() > 0.3
