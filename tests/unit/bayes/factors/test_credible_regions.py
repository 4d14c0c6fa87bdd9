"""Credible regions against draws and against distributions that are known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import simpson
from scipy.special import xlogy
from scipy.stats import beta, vonmises

from vmfstream.bayes.factors import credible_regions
from vmfstream.bayes.factors.credible_regions import angular_radius, central, share_intervals
from vmfstream.bayes.factors.weights import Dirichlet
from vmfstream.directional.vmf import sample


@pytest.mark.parametrize("gamma", [0.3, 4.0, 500.0])
def test_radius_on_the_circle_is_that_of_von_mises(gamma: float) -> None:
    expected = vonmises.ppf(0.975, gamma)
    assert angular_radius(2, gamma)[0] == pytest.approx(expected, rel=1e-5)


def test_radius_on_the_sphere_has_a_closed_form() -> None:
    # P(cos phi >= c) = (1 - exp(-gamma (1 - c))) / (1 - exp(-2 gamma)) in three dimensions
    for gamma in (0.5, 10.0, 1e4):
        angle = float(angular_radius(3, gamma, 0.9)[0])
        inside = -np.expm1(-2 * gamma * np.sin(angle / 2) ** 2) / -np.expm1(-2 * gamma)
        assert inside == pytest.approx(0.9, abs=1e-9)
    assert angular_radius(3, 0.0, 0.5)[0] == pytest.approx(np.pi / 2, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 7, 64, 999])
def test_radius_holds_its_mass_of_a_fine_sum(d: int) -> None:
    gamma = np.array([0.0, 0.4, d, 31.0 * d, 1e9])
    for mass in (0.001, 0.5, 0.95, 0.999):
        for strength, angle in zip(gamma, angular_radius(d, gamma, mass), strict=True):
            far = min(np.pi, angle + 40.0 / np.sqrt(strength + d))
            height = _exponent(d, strength, np.linspace(0.0, far, 10_001)).max()
            inside, rest = (
                simpson(np.exp(_exponent(d, strength, phi) - height), x=phi)
                for phi in (np.linspace(0.0, angle, 100_001), np.linspace(angle, far, 100_001))
            )
            missed = (inside - mass * (inside + rest)) / np.exp(_exponent(d, strength, angle) - height)
            assert abs(missed) < 1e-9 * angle


def _exponent(d: int, gamma: float, phi: Any) -> Any:
    return xlogy(d - 2, np.sin(phi)) - 2 * gamma * np.sin(phi / 2) ** 2


def test_radii_are_found_together_as_one_by_one() -> None:
    gamma = np.geomspace(0.1, 1e8, 40)
    together = angular_radius(300, gamma)
    assert np.all(np.diff(together) < 0.0)
    np.testing.assert_allclose(together, [angular_radius(300, one)[0] for one in gamma], rtol=1e-12)


@pytest.mark.parametrize(("d", "gamma"), [(50, 60.0), (5_000, 2000.0), (300, 1e6)])
def test_radius_holds_its_share_of_draws(d: int, gamma: float) -> None:
    drawn = sample(np.eye(1, d)[0], gamma, 1000, np.random.default_rng(0))
    angle = 2 * np.arcsin(np.linalg.norm(drawn - np.eye(1, d), axis=1) / 2)
    for mass in (0.5, 0.9):
        share = (angle < angular_radius(d, gamma, mass)[0]).mean()
        assert share == pytest.approx(mass, abs=4 * np.sqrt(mass * (1 - mass) / 1000))


@pytest.mark.parametrize("mass", [0.5, 0.95])
def test_radius_in_high_dimension_is_nearly_exact(monkeypatch: pytest.MonkeyPatch, mass: float) -> None:
    for d in (1000, 20_000):
        gamma = np.concatenate([[0.0], d * np.geomspace(0.01, 100, 9)])
        near = angular_radius(d, gamma, mass)
        with monkeypatch.context() as patch:
            patch.setattr(credible_regions, "NORMAL_FROM", d + 1)
            np.testing.assert_allclose(near, angular_radius(d, gamma, mass), rtol=0.6 / d)


def test_weights_have_beta_quantiles() -> None:
    posterior = Dirichlet(np.full(3, 0.5)).posterior(np.array([4.0, 9.0, 0.0]))
    expected = beta.ppf([0.1, 0.9], posterior.rho[:, None], posterior.rho.sum() - posterior.rho[:, None])
    assert posterior.quantiles([0.1, 0.9]) == pytest.approx(expected)
    assert np.array_equal(Dirichlet(np.ones(1)).posterior(np.ones(1)).quantiles([0.1, 0.9]), np.ones((1, 2)))


def test_shares_lie_where_the_dirichlet_says() -> None:
    n = np.array([0.0, 3.0, 40.0])
    low, high = share_intervals(n, 1.0, 0.9).T
    draws = np.random.default_rng(5).dirichlet(n + 1.0, 200_000)
    np.testing.assert_allclose(low, np.quantile(draws, 0.05, axis=0), atol=2e-3)
    np.testing.assert_allclose(high, np.quantile(draws, 0.95, axis=0), atol=2e-3)


def test_intervals_are_central() -> None:
    assert central(0.9) == pytest.approx([0.05, 0.95])


def test_bad_input_is_named() -> None:
    for mass in (0.0, 1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match=r"mass: expected a probability in \(0, 1\)"):
            central(mass)
