"""Mixtures of spherical Cauchy distributions: density, bound, ascent, heavy tails, and scikit-learn's own checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import beta
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.unit.estimators.checks import EXPECTS_CLASSIFIER
from tests.unit.mixtures.planted import nmi
from vmfstream import SphericalCauchyMixture, VMFMixture, VonMisesFisher
from vmfstream.directional.cauchy import HIGHEST, best_rho
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.cauchy import e_step, log_densities, m_step


@parametrize_with_checks(
    [SphericalCauchyMixture(3, max_iter=2000, random_state=0)], expected_failed_checks=lambda _: EXPECTS_CLASSIFIER
)
@pytest.mark.filterwarnings("ignore:.* puts all rows into")  # some checks have no clusters
def test_scikit_learn_accepts_it(estimator: Any, check: Any) -> None:
    check(estimator)


def draw(mu: NDArray[np.float64], rho: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Map uniform vectors by a Moebius transformation of the sphere, [Kato and McCullagh 2020, section 2]."""
    u = rng.standard_normal((n, len(mu)))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    shifted = u + rho * mu
    return np.asarray((1 - rho**2) / (shifted**2).sum(axis=1, keepdims=True) * shifted + rho * mu)


def one(d: int, rho: float) -> Mixture:
    mu = np.zeros((d, padded(1)))
    mu[0, 0] = 1.0
    return Mixture(np.ones(1), mu, np.array([rho]))


def mass(d: int, rho: float, low: float, high: float) -> float:
    """Probability that the angle with the mean direction is between ``low`` and ``high``, by the density."""

    def at(angle: float) -> float:
        x = np.zeros((1, d))
        x[0, :2] = np.cos(angle), np.sin(angle)
        density = float(np.exp(log_densities(x, one(d, rho))[0, 0]))
        return float(density * np.sin(angle) ** (d - 2) / beta(0.5, 0.5 * (d - 1)))

    return float(quad(at, low, high, epsabs=1e-10)[0])


@pytest.mark.parametrize("d", [2, 3, 10, 40])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_the_density_integrates_to_one(d: int, rho: float) -> None:
    assert mass(d, rho, 0.0, np.pi) == pytest.approx(1.0, abs=1e-7)


def test_draws_have_the_density() -> None:
    x = draw(np.eye(5)[0], 0.6, 100_000, np.random.default_rng(0))
    angles = np.arccos(x[:, 0])
    for low, high in ((0.0, 0.4), (0.4, 0.8), (0.8, 1.5), (1.5, np.pi)):
        assert ((low < angles) & (angles < high)).mean() == pytest.approx(mass(5, 0.6, low, high), abs=0.006)


@pytest.mark.thorough
def test_the_best_rho_is_the_largest_value_of_the_bound() -> None:
    rng = np.random.default_rng(1)
    mass, near = rng.uniform(0.1, 5, 200), rng.uniform(0.1, 5, 200)
    length = near * rng.uniform(0, 1, 200)
    grid = np.linspace(0, 1, 200_001)[:-1, None]
    bound = mass * np.log1p(-(grid**2)) - near * (1 + grid**2) + 2 * length * grid
    np.testing.assert_allclose(best_rho(mass, near, length), grid[bound.argmax(axis=0), 0], atol=1e-5)
    assert best_rho(np.zeros(1), np.ones(1), np.ones(1)) == pytest.approx(HIGHEST)


def test_the_likelihood_never_falls() -> None:
    rng = np.random.default_rng(2)
    x = np.vstack([draw(np.eye(8)[j], rho, 80, rng) for j, rho in ((0, 0.7), (1, 0.5), (2, 0.3))])
    mu = np.zeros((8, padded(3)))
    mu[:, :3] = draw(np.eye(8)[5], 0.1, 3, rng).T
    mixture, before = Mixture(np.full(3, 1 / 3), mu, np.full(3, 0.1)), -np.inf
    for _ in range(60):
        resp, loglik = e_step(x, mixture)
        assert loglik.mean() > before - 1e-12
        before, mixture = loglik.mean(), m_step(x, resp, mixture)


def test_parameters_come_back() -> None:
    rng = np.random.default_rng(3)
    x = np.vstack([draw(np.eye(6)[0], 0.7, 3000, rng), draw(np.eye(6)[1], 0.5, 2000, rng)])
    model = SphericalCauchyMixture(2, tol=1e-7, random_state=0).fit(x)
    order = np.argsort(model.concentrations_)
    np.testing.assert_allclose(model.concentrations_[order], [0.5, 0.7], atol=0.02)
    np.testing.assert_allclose(model.weights_[order], [0.4, 0.6], atol=0.02)
    assert np.all(np.diag(model.means_[order][:, [1, 0]]) > 0.998)
    assert model.score(x) == pytest.approx(model.lower_bound_, rel=1e-9)


def planted(noise: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three clusters about directions near each other, and rows that belong nowhere."""
    rng = np.random.default_rng(4)
    x = np.repeat(np.eye(20)[:3] + 0.3, 100, axis=0) + 0.15 * rng.standard_normal((300, 20))
    x = np.vstack([x, rng.standard_normal((noise, 20))])
    return x / np.linalg.norm(x, axis=1, keepdims=True), np.repeat([0, 1, 2, -1], [100, 100, 100, noise])


def test_outliers_hardly_move_the_means() -> None:
    x, truth = planted(60)
    centres = np.eye(20)[:3] + 0.3
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)

    def farthest(model: Any) -> float:
        return float((model.means_ @ centres.T).max(axis=0).min())

    known = truth >= 0
    cauchy, vmf = (kind(3, n_init=5, random_state=0).fit(x) for kind in (SphericalCauchyMixture, VMFMixture))
    assert 1.0 - farthest(cauchy) < 0.4 * (1.0 - farthest(vmf))
    assert nmi(cauchy.labels_[known], truth[known]) > 0.95
    assert cauchy.lower_bound_ > vmf.lower_bound_


def test_none_of_these_is_a_label() -> None:
    x, truth = planted(30)
    model = SphericalCauchyMixture(3, outliers=30 / 330, n_init=5, random_state=0).fit(x)
    assert (model.labels_ == -1).sum() == 30
    assert (truth[model.labels_ == -1] == -1).mean() > 0.9
    np.testing.assert_array_equal(model.predict(x), model.labels_)
    assert model.predict(-x[:1]) == -1
    assert SphericalCauchyMixture(3, random_state=0).fit(x).predict(-x[:1]) >= 0
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match=r"outliers: expected a number in \[0, 0\.5\], got 0\.6"):
        SphericalCauchyMixture(3, outliers=0.6).fit(x)


def test_storage_scale_and_zero_rows_do_not_matter() -> None:
    x, _ = planted(10)
    base = SphericalCauchyMixture(3, random_state=0).fit(x)
    for other in (csr_array(x), np.vstack([5.0 * x, np.zeros((3, 20))])):
        again = SphericalCauchyMixture(3, random_state=0).fit(other)
        np.testing.assert_allclose(again.means_, base.means_, atol=1e-6)
        assert again.labels_[310:].tolist() == [-1] * (other.shape[0] - 310)
    single = SphericalCauchyMixture(3, random_state=0).fit(x.astype(np.float32))
    np.testing.assert_array_equal(single.labels_, base.labels_)


def test_equal_rows_are_one_component() -> None:
    model = SphericalCauchyMixture(1).fit(np.tile([[3.0, 4.0]], (5, 1)))
    np.testing.assert_allclose(model.means_, [[0.6, 0.8]])
    assert 0.99 < model.concentrations_[0] <= HIGHEST


def test_criteria_are_of_all_rows_with_a_direction() -> None:
    """Outliers have no label, and were left out."""
    x = np.vstack([VonMisesFisher(np.eye(5)[k], 60.0).rvs(60, rng=k) for k in range(3)])
    all_labelled, nine_tenths = (SphericalCauchyMixture(3, outliers=o, random_state=0).fit(x) for o in (0.0, 0.1))
    assert (nine_tenths.labels_ == -1).sum() == 18
    assert nine_tenths.bic(x) == all_labelled.bic(x)
    assert nine_tenths.aic(np.vstack([x, 0 * x[:4]])) == pytest.approx(all_labelled.aic(x))
