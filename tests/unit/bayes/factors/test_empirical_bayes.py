"""Learnt hyperparameters: maxima of the bound, and the guards that keep them from collapsing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.unit.mixtures.planted import directions
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior
from vmfstream.bayes.factors.empirical_bayes import (
    ALPHA_LIMITS,
    COSINE_MAX,
    S2_MIN,
    learned_alpha,
    learned_c0,
    learned_kappa_prior,
    learned_mean,
)
from vmfstream.bayes.factors.weights import dirichlet_divergence
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, log_partition


@pytest.mark.parametrize("start", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("rho", [[3.0, 5.0, 4.0, 6.0], [0.3, 40.0, 0.5], [2.0, 2.1]])
def test_alpha_is_where_the_divergence_is_least(rho: list[float], start: float) -> None:
    given = np.array(rho)
    found = minimize_scalar(
        lambda u: dirichlet_divergence(given, np.exp(u)),
        bounds=np.log(ALPHA_LIMITS),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert learned_alpha(given, start) == pytest.approx(np.exp(found.x), rel=1e-4)


def test_alpha_stays_within_its_limits_unless_it_starts_beyond() -> None:
    assert learned_alpha(np.full(4, 1e6), 1.0) == ALPHA_LIMITS[1]
    assert learned_alpha(np.full(4, 1e6), 300.0) == 300.0
    assert learned_alpha(np.array([1e-9, 1e9]), 1.0) <= 0.1


def test_mean_and_concentration_are_where_the_evidence_is_largest() -> None:
    d, k = 20, 5
    rng = np.random.default_rng(0)
    expected = 0.6 * directions(rng, 1, d)[0] * k + 0.3 * rng.standard_normal(d)
    b = 7.0 * directions(rng, 1, d)[0]
    turned = learned_mean(expected, b)
    assert np.linalg.norm(turned) == pytest.approx(7.0)
    c0 = float(np.linalg.norm(learned_c0(d, expected, turned, k)))

    def evidence(c: float) -> float:
        return float(c * np.linalg.norm(expected) - k * log_partition(d, c))

    assert evidence(c0) > max(evidence(c0 * 1.01), evidence(c0 * 0.99))
    assert expected @ turned > max(expected @ (7.0 * u) for u in directions(rng, 50, d))


def test_concentration_of_the_directions_is_guarded() -> None:
    d, b = 30, np.eye(30)[0]
    for k in (1, 2):
        assert learned_c0(d, k * b, 5 * b, k) is not None
        assert np.array_equal(learned_c0(d, k * b, 5 * b, k), 5 * b)
    capped = learned_c0(d, 4 * 0.999 * b, 5 * b, 4)
    assert float(bessel_ratio(d, np.linalg.norm(capped))) == pytest.approx(COSINE_MAX)
    beyond = float(inv_bessel_ratio(d, 0.99))
    assert np.linalg.norm(learned_c0(d, 4 * 0.999 * b, beyond * b, 4)) == pytest.approx(beyond)
    assert np.linalg.norm(learned_c0(d, -b, 5 * b, 4)) == 0
    assert not learned_c0(d, b, 0 * b, 4).any()
    assert not learned_mean(0 * b, 0 * b).any()


def test_prior_of_the_concentrations_matches_their_moments() -> None:
    log_mean, log_var = np.array([1.0, 1.4, 2.0, 9.0]), np.array([0.1, 0.2, 0.3, 0.4])
    factor = KappaFactor(np.exp(log_mean), log_mean, log_mean, log_var, np.zeros(4))
    nk = np.array([20.0, 30.0, 5.0, 0.8])  # the last topic is nearly empty and has no say
    found = learned_kappa_prior(factor, nk, KappaPrior(0.0, 1.0))
    assert found.m == pytest.approx(4.4 / 3)
    assert found.s2 == pytest.approx(0.2 + np.var([1.0, 1.4, 2.0]))
    same = KappaFactor(np.ones(3), np.ones(3), np.ones(3), np.full(3, 1e-8), np.zeros(3))
    assert learned_kappa_prior(same, np.full(3, 9.0), KappaPrior(0.0, 1.0)).s2 == S2_MIN
    assert learned_kappa_prior(same, np.full(3, 9.0), KappaPrior(0.0, 1e-5)).s2 == 1e-5
    assert learned_kappa_prior(same, np.array([9.0, 9.0, 1.0]), KappaPrior(0.0, 1.0)) == KappaPrior(0.0, 1.0)
    shared = KappaFactor(*(np.ones(1) for _ in range(5)))
    assert learned_kappa_prior(shared, np.full(3, 9.0), KappaPrior(0.0, 1.0)) == KappaPrior(0.0, 1.0)
