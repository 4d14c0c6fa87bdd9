"""The factors of a concentration: against each other, against integration, and as maxima of what they maximise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from vmfstream.bayes.factors.concentration import (
    RULES,
    KappaFactor,
    KappaPrior,
    KappaRule,
    bounding_factor,
    exact_partition,
    kappa_factor,
    kappa_quantiles,
    lognormal_factor,
    mode_kappa,
    quadrature_factor,
    sampled_factor,
)
from vmfstream.bayes.factors.univariate import ConcentrationTarget, grid_quantiles, metropolis
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, log_partition

CASES = [
    (3, 5.0, 3.0, 1.2, 0.6),
    (10_000, 10.0, 4.3, 7.0, 1.0),
    (50, 1000.0, 400.0, 0.0, 0.01),
    (700, 2.5, 0.4, 5.0, 1),
]


def worth(factor: KappaFactor, n: float, t: float) -> float:
    """What the factor adds to the bound."""
    return float(t * factor.mean[0] - n * factor.ell[0] - factor.kl[0])


@pytest.mark.parametrize(("d", "n", "t", "m", "s2"), CASES)
def test_normal_factors_are_close_to_the_best_and_never_better(d: int, n: float, t: float, m: float, s2: float) -> None:
    prior = KappaPrior(m, s2)
    best = quadrature_factor(d, n, t, prior)
    normal = lognormal_factor(d, n, t, prior)
    assert worth(best, n, t) - 0.05 < worth(normal, n, t) <= worth(best, n, t) + 1e-9
    if d >= 1000:
        assert worth(normal, n, t) > worth(best, n, t) - 1e-3
        assert normal.mean == pytest.approx(best.mean, rel=1e-6)


@pytest.mark.parametrize(("d", "n", "t", "m", "s2"), CASES)
def test_the_lognormal_factor_is_a_maximum(d: int, n: float, t: float, m: float, s2: float) -> None:
    prior = KappaPrior(m, s2)
    found = lognormal_factor(d, n, t, prior)
    a, b = float(found.log_mean[0]), float(found.log_var[0])

    def objective(a: float, b: float) -> float:
        sd = np.sqrt(b)
        mean_ell = quad(
            lambda z: float(log_partition(d, np.exp(a + sd * z))) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi), -9, 9
        )[0]
        return float(t * np.exp(a + b / 2) - n * mean_ell - 0.5 * ((b + (a - m) ** 2) / s2 - 1 - np.log(b / s2)))

    assert worth(found, n, t) == pytest.approx(objective(a, b), abs=1e-5 * max(1, abs(worth(found, n, t)) * 1e-3))
    top = objective(a, b)
    for step in (0.05, -0.05):
        assert objective(a + step * np.sqrt(b), b) < top
        assert objective(a, b * np.exp(step)) < top


def test_bounding_against_the_exact_factor() -> None:
    # E[kappa] 4760.6 by the bound, 4761.4 exactly; far too small in few dimensions
    d, n, prior = 10_000, 10.0, KappaPrior(np.log(4761.0), 1.0)
    t = n * float(bessel_ratio(d, 4761.0))
    exact, bound = quadrature_factor(d, n, t, prior), bounding_factor(d, n, t, prior)
    assert bound.mean == pytest.approx(exact.mean, rel=1e-3)
    assert bound.log_var == pytest.approx(exact.log_var, rel=1e-2)
    few = KappaPrior(1.0, 0.5)
    assert bounding_factor(10, 20.0, 8.0, few).mean[0] < 0.9 * quadrature_factor(10, 20.0, 8.0, few).mean[0]


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(
    d=st.integers(3, 20_000),
    ratio=st.floats(0.01, 0.9),
    b=st.floats(1e-6, 0.05),
)
def test_the_bound_lies_above_the_partition_function(d: int, ratio: float, b: float) -> None:
    kappa = float(inv_bessel_ratio(d, ratio))
    prior = KappaPrior(np.log(kappa), b)
    found = bounding_factor(d, 1e-9, 0.0, prior)
    assert found.ell[0] >= exact_partition(d, found).ell[0] - 1e-9 * d


def test_sampling_agrees_with_quadrature_within_its_error() -> None:
    d, n, t, prior = 50, 40.0, 16.0, KappaPrior(3.0, 0.3)
    exact = quadrature_factor(d, n, t, prior)
    drawn = sampled_factor(d, np.full(60, n), np.full(60, t), prior, np.random.default_rng(0))
    for name in ("mean", "ell", "log_mean"):
        values = getattr(drawn, name)
        error = values.std() / np.sqrt(len(values))
        assert abs(values.mean() - getattr(exact, name)[0]) < 4 * error
    assert drawn.log_var.mean() == pytest.approx(exact.log_var[0], rel=0.1)
    again = sampled_factor(d, n, t, prior, np.random.default_rng(0))
    assert again.mean[0] == sampled_factor(d, n, t, prior, np.random.default_rng(0)).mean[0]


def test_without_documents_every_factor_is_the_prior() -> None:
    prior = KappaPrior(2.0, 0.09)
    for rule in ("quadrature", "bounding", "lognormal"):
        factor = kappa_factor(100, 0.0, 0.0, prior, rule)
        assert factor.mean[0] == pytest.approx(np.exp(2.045), rel=1e-9)
        assert factor.log_var[0] == pytest.approx(0.09, rel=1e-6)
        assert factor.kl[0] == pytest.approx(0.0, abs=1e-9)
    drawn = sampled_factor(100, np.zeros(50), np.zeros(50), prior, np.random.default_rng(1))
    assert drawn.log_mean.mean() == pytest.approx(2.0, abs=0.02)


def test_the_mode_is_where_the_density_is_largest() -> None:
    for d, n, t, m, s2 in CASES:
        prior = KappaPrior(m, s2)
        u = np.log(mode_kappa(d, n, t, prior)[0])
        target = ConcentrationTarget(d, n, t, m, s2)
        near = target(u + np.array([0.0, -1e-3, 1e-3]))
        assert near[0] >= near[1:].max()
        slope = n * bessel_ratio(d, np.exp(u)) * np.exp(u) - t * np.exp(u) + (u - m) / s2
        assert abs(slope) < 1e-5 * t * np.exp(u)


def test_both_peaks_are_seen() -> None:
    # a narrow prior far from the data: the likelihood's peak is the higher one by little or the lower one by little
    d, n, prior = 1000, 30.0, KappaPrior(1.0, 0.04)
    for ratio in (0.02, 0.3):
        t = n * ratio
        u = np.linspace(-2, 8, 200_001)
        f = ConcentrationTarget(d, n, t, prior.m, prior.s2)(u)
        w = np.exp(f - f.max())
        assert quadrature_factor(d, n, t, prior).log_mean[0] == pytest.approx(w @ u / w.sum(), abs=1e-6)


def test_quantiles_of_the_exact_factor() -> None:
    prior = KappaPrior(2.0, 0.25)
    z = np.array([-1.959964, 0.0, 1.959964])
    levels = [0.025, 0.5, 0.975]
    assert kappa_quantiles(20, 0.0, 0.0, prior, levels)[0] == pytest.approx(np.exp(2.0 + 0.5 * z), rel=1e-4)
    found = kappa_quantiles(20, [50.0, 5.0], [20.0, 2.0], prior, levels)
    assert found.shape == (2, 3)
    assert found[1, 2] - found[1, 0] > 1.5 * (found[0, 2] - found[0, 0])
    u, f = ConcentrationTarget(20, 0.0, 0.0, 0.3, 1e-6).located(-50.0, 50.0)
    assert grid_quantiles(u, f, 0.975) == pytest.approx(0.3 + 1.959964e-3, abs=1e-6)


def test_metropolis_leaves_its_target_alone() -> None:
    # directions integrated out: two topics, against the density on a grid
    square, cross, c0 = np.array([30.0, 8.0]), np.array([9.0, -2.0]), np.array([2.0, 2.0])
    target = ConcentrationTarget(5, 11.0, 0.0, 1.0, 0.5, square, cross, c0)
    u = np.linspace(-3, 5, 4001)
    w = np.exp(target(u) - target(u).max())
    mean = w @ u / w.sum()
    chain = metropolis(target, 1.0, 1.0, 40_000, np.random.default_rng(0))
    assert chain.mean() == pytest.approx(mean, abs=0.02)
    assert chain.var() == pytest.approx(w @ (u - mean) ** 2 / w.sum(), rel=0.05)


def test_bad_input_is_named() -> None:
    prior = KappaPrior(1.0, 1.0)
    with pytest.raises(ValueError, match=r"quadrature, sampling, bounding, lognormal, point.*'exact'"):
        kappa_factor(10, 1.0, 0.5, prior, "exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'sampling' needs rng"):
        kappa_factor(10, 1.0, 0.5, prior, "sampling")
    with pytest.raises(ValueError, match="at least 3; got 2"):
        kappa_factor(2, 1.0, 0.5, prior, "bounding")
    rules: tuple[KappaRule, ...] = RULES[:4]
    for rule in rules:
        with pytest.raises(ValueError, match=f"'{rule}' needs a prior"):
            kappa_factor(10, 1.0, 0.5, None, rule)
