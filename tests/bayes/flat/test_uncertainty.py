"""Credible regions against draws and against distributions that are known in closed form."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, vonmises

from tests.mixtures.planted import directions
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.priors import moment_prior
from vmfstream.bayes.factors.weights import Dirichlet
from vmfstream.bayes.flat import gibbs, uncertainty
from vmfstream.bayes.flat.uncertainty import DrawnUncertainty, angular_radius, central, of_draws, of_factors
from vmfstream.bayes.flat.variational import fit
from vmfstream.directional.vmf import sample
from vmfstream.mixtures.seeding import one_hot


@pytest.mark.parametrize("gamma", [0.3, 4.0, 500.0])
def test_radius_on_the_circle_is_that_of_von_mises(gamma: float) -> None:
    expected = vonmises.ppf(0.975, gamma)
    assert angular_radius(2, gamma)[0] == pytest.approx(expected, rel=1e-5)


def test_radius_on_the_sphere_has_a_closed_form() -> None:
    # P(cos phi >= c) = (1 - exp(-gamma (1 - c))) / (1 - exp(-2 gamma)) in three dimensions
    for gamma in (0.5, 10.0, 1e4):
        angle = float(angular_radius(3, gamma, 0.9)[0])
        inside = -np.expm1(-2 * gamma * np.sin(angle / 2) ** 2) / -np.expm1(-2 * gamma)
        assert inside == pytest.approx(0.9, abs=1e-5)
    assert angular_radius(3, 0.0, 0.5)[0] == pytest.approx(np.pi / 2, rel=1e-5)


@pytest.mark.parametrize(("d", "gamma"), [(50, 60.0), (5_000, 2000.0), (300, 1e6)])
def test_radius_holds_its_share_of_draws(d: int, gamma: float) -> None:
    drawn = sample(np.eye(1, d)[0], gamma, 1000, np.random.default_rng(0))
    angle = 2 * np.arcsin(np.linalg.norm(drawn - np.eye(1, d), axis=1) / 2)
    for mass in (0.5, 0.9):
        share = (angle < angular_radius(d, gamma, mass)[0]).mean()
        assert share == pytest.approx(mass, abs=4 * np.sqrt(mass * (1 - mass) / 1000))


def test_weights_have_beta_quantiles() -> None:
    posterior = Dirichlet(np.full(3, 0.5)).posterior(np.array([4.0, 9.0, 0.0]))
    expected = beta.ppf([0.1, 0.9], posterior.rho[:, None], posterior.rho.sum() - posterior.rho[:, None])
    assert posterior.quantiles([0.1, 0.9]) == pytest.approx(expected)
    assert np.array_equal(Dirichlet(np.ones(1)).posterior(np.ones(1)).quantiles([0.1, 0.9]), np.ones((1, 2)))


@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_factors_and_draws_agree(concentration: str) -> None:
    # far more documents than dimensions and clear topics: labels are certain, and only kappa is not
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=300)
    x = np.vstack([sample(mu, 60.0, int((labels == j).sum()), rng) for j, mu in enumerate(directions(rng, 2, 8))])
    labels = np.sort(labels)
    prior, law = moment_prior(x, labels, 2), KappaPrior(3.0, 1.0)
    start = one_hot(labels, 2, np.float64)
    exact = fit(x, start, 2, prior, concentration=concentration, kappa_prior=law)  # type: ignore[arg-type]
    known = of_factors(exact, "quadrature")
    run = gibbs.fit(
        x,
        labels,
        2,
        prior,
        rng=rng,
        kappa_prior=law,
        concentration=concentration,  # type: ignore[arg-type]
        draws=1000,
    )
    drawn = of_draws(run)
    width = np.diff(known.concentrations(0.9))
    assert (np.abs(drawn.concentrations(0.9) - known.concentrations(0.9)) < 0.15 * width).all()
    assert drawn.weights(0.9) == pytest.approx(known.weights(0.9), abs=0.01)
    normal = fit(x, start, 2, prior, concentration=concentration, kappa_prior=law, kappa="lognormal")  # type: ignore[arg-type]
    assert of_factors(normal, "lognormal").concentrations(0.9) == pytest.approx(known.concentrations(0.9), rel=0.01)
    point = fit(x, start, 2, prior, concentration=concentration, kappa="point")  # type: ignore[arg-type]
    assert not np.diff(of_factors(point, "point").concentrations(0.9)).any()


def test_intervals_are_central() -> None:
    assert central(0.9) == pytest.approx([0.05, 0.95])
    draws = np.random.default_rng(0).permutation(np.arange(1001.0))[:, None]
    found = DrawnUncertainty(draws, draws / 1000)
    assert found.concentrations(0.8) == pytest.approx(np.array([[100.0, 900.0]]))
    assert found.weights(0.8) == pytest.approx(np.array([[0.1, 0.9]]))


def test_bad_input_is_named() -> None:
    for mass in (0.0, 1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=r"mass: expected a probability in \(0, 1\)"):
            central(mass)


@pytest.mark.parametrize("mass", [0.5, 0.95])
def test_radius_in_high_dimension_is_nearly_exact(monkeypatch: pytest.MonkeyPatch, mass: float) -> None:
    for d in (1000, 20_000):
        gamma = np.concatenate([[0.0], d * np.geomspace(0.01, 100, 9)])
        near = angular_radius(d, gamma, mass)
        with monkeypatch.context() as patch:
            patch.setattr(uncertainty, "NORMAL_FROM", d + 1)
            np.testing.assert_allclose(near, angular_radius(d, gamma, mass), rtol=0.6 / d)


# --- memberships, shares


def test_a_temper_changes_probabilities_and_not_their_order() -> None:
    scores = np.random.default_rng(3).normal(0, 40, (20, 5))
    for heat in (0.01, 0.3, 1.0, 4.0):
        found = uncertainty.tempered(scores, heat)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_array_equal(found.argmax(axis=1), scores.argmax(axis=1))
        exact = [[float(1 / sum(mpmath.exp(heat * (mpmath.mpf(b) - a)) for b in row)) for a in row] for row in scores]
        np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_the_temper_of_overconfident_scores_is_found() -> None:
    rng = np.random.default_rng(4)
    honest = rng.normal(0, 2, (20_000, 4))
    labels = (rng.gumbel(size=honest.shape) + honest).argmax(axis=1)
    assert uncertainty.fitted_temper(honest, labels) == pytest.approx(1.0, rel=0.03)
    assert uncertainty.fitted_temper(50 * honest, labels) == pytest.approx(0.02, rel=0.03)


def test_shares_lie_where_the_dirichlet_says() -> None:
    n = np.array([0.0, 3.0, 40.0])
    low, high = uncertainty.share_intervals(n, 1.0, 0.9).T
    draws = np.random.default_rng(5).dirichlet(n + 1.0, 200_000)
    np.testing.assert_allclose(low, np.quantile(draws, 0.05, axis=0), atol=2e-3)
    np.testing.assert_allclose(high, np.quantile(draws, 0.95, axis=0), atol=2e-3)


def test_what_no_temper_can_be_fitted_to() -> None:
    with pytest.raises(ValueError, match="above 0"):
        uncertainty.tempered(np.zeros((2, 2)), 0.0)
    for labels in ([0], [0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="labels"):
            uncertainty.fitted_temper(np.zeros((2, 2)), np.array(labels))
