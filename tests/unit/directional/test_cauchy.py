"""The spherical Cauchy distribution: density, entropy and divergence by integration, draws, fits, domains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from vmfstream import SphericalCauchy, SphericalCauchyMixture


def pole(d: int) -> Any:
    return np.eye(1, d)[0]


def ring(d: int, angle: float) -> float:
    """Area of the directions at an angle with the pole, per radian."""
    return float(np.exp(np.log(2) + (d - 1) / 2 * np.log(np.pi) - gammaln((d - 1) / 2)) * np.sin(angle) ** (d - 2))


@pytest.mark.parametrize("d", [2, 3, 7, 30])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9, 0.99])
def test_density_and_entropy_are_integrals(d: int, rho: float) -> None:
    one = SphericalCauchy(pole(d), rho)

    def at(angle: float) -> float:
        return float(one.logpdf(np.append([np.cos(angle), np.sin(angle)], np.zeros(d - 2))))

    narrow = max(1e-3, 1 - rho)
    whole, surprise = (
        sum(quad(inner, *ends, limit=400, epsabs=1e-12)[0] for ends in ((0, narrow), (narrow, np.pi)))
        for inner in (
            lambda angle: np.exp(at(angle)) * ring(d, angle),
            lambda angle: -at(angle) * np.exp(at(angle)) * ring(d, angle),
        )
    )
    assert whole == pytest.approx(1.0, rel=1e-8)
    assert one.entropy() == pytest.approx(surprise, rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("d", [99, 100, 30_000, 100_000])
@pytest.mark.parametrize("rho", [1e-4, 0.1, 0.5, 0.999])
def test_entropy_and_divergence_in_many_dimensions(d: int, rho: float) -> None:
    latitude = np.linspace(-40, 40, 100_001) / np.sqrt(d)  # nearly all directions are near the equator
    latitude = latitude[abs(latitude) < np.pi / 2]
    weights = np.cos(latitude) ** (d - 2)
    one, uniform = SphericalCauchy(pole(d), rho), SphericalCauchy(pole(d), 0.0)
    logs = (d - 1) * (np.log1p(rho**2 - 2 * rho * np.sin(latitude)) - np.log1p(-(rho**2)))
    expected = (weights * logs).sum() / weights.sum()
    assert uniform.kl(one) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert one.kl(uniform) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert uniform.entropy() - one.entropy() == pytest.approx(expected, rel=1e-9, abs=1e-15 * abs(one.entropy()))


def test_on_the_circle_it_is_the_wrapped_cauchy_distribution() -> None:
    x = stats.uniform_direction(2, seed=1).rvs(20)
    angle = np.mod(np.arctan2(x[:, 1], x[:, 0]), 2 * np.pi)
    found = SphericalCauchy([1.0, 0.0], 0.6)
    np.testing.assert_allclose(found.pdf(x), stats.wrapcauchy(0.6).pdf(angle), rtol=1e-12)
    assert found.entropy() == pytest.approx(np.log(2 * np.pi * (1 - 0.36)), rel=1e-12)


def test_divergence_is_the_mean_difference_of_log_densities() -> None:
    for one, other in (
        (SphericalCauchy(pole(4), 0.7), SphericalCauchy([0.6, 0.8, 0.0, 0.0], 0.4)),
        (SphericalCauchy(pole(3), 0.2), SphericalCauchy(-pole(3), 0.8)),
    ):
        x = one.rvs(100_000, rng=2)
        apart = one.logpdf(x) - other.logpdf(x)
        assert one.kl(other) == pytest.approx(apart.mean(), abs=5 * apart.std() / 316)
        assert one.kl(one) == 0.0


def test_fits_find_parameters_and_agree_with_a_mixture_of_one() -> None:
    truth = SphericalCauchy([0.6, 0.0, 0.8], 0.8)
    x = truth.rvs(5000, random_state=3)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-14)
    found = SphericalCauchy.fit(x)
    assert found.mu @ truth.mu > 0.9999
    assert found.rho == pytest.approx(0.8, abs=0.01)
    mixture = SphericalCauchyMixture(1, tol=1e-12, max_iter=400).fit(x)
    assert found.rho == pytest.approx(mixture.concentrations_[0], abs=1e-5)
    assert found.logpdf(x, relative_to_uniform=True).mean() == pytest.approx(mixture.lower_bound_, rel=1e-9)
    counts = np.random.default_rng(0).integers(0, 3, 5000)
    weighed, repeated = SphericalCauchy.fit(x, counts), SphericalCauchy.fit(x.repeat(counts, axis=0))
    assert weighed.rho == pytest.approx(repeated.rho, rel=1e-10)


def test_a_mixture_draws_rows_and_has_criteria() -> None:
    x = np.vstack([SphericalCauchy(np.eye(3)[k], 0.8).rvs(300, rng=k) for k in range(2)])
    mixture = SphericalCauchyMixture(2, random_state=0).fit(x)
    drawn, labels = mixture.sample(5000)
    assert (mixture.predict(drawn) == labels).mean() > 0.9
    assert mixture.bic(x) - mixture.aic(x) == pytest.approx((np.log(600) - 2) * 7)
    assert mixture.bic(x) < SphericalCauchyMixture(1).fit(x).bic(x)


def test_domains() -> None:
    for bad in (1.0, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"rho: expected a number in \[0, 1\)"):
            SphericalCauchy([1.0, 0.0], bad)
    with pytest.raises(ValueError, match="rho: expected a number, got 'a'"):
        SphericalCauchy([1.0, 0.0], "a")  # type: ignore[arg-type]


def test_draws_take_scipys_names() -> None:
    one = SphericalCauchy(pole(3), 0.5)
    np.testing.assert_array_equal(one.rvs(size=4, random_state=7), one.rvs(4, rng=7))
    with pytest.warns(DeprecationWarning, match=r"rvs\(size=...\)"):
        np.testing.assert_array_equal(one.rvs(n=4, random_state=7), one.rvs(4, rng=7))
    first, second = (one.rvs(4, random_state=np.random.RandomState(1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    with pytest.raises(ValueError, match="random_state: expected None beside rng"):
        one.rvs(4, rng=1, random_state=1)
    for wrong in ("x", -1):
        with pytest.raises(
            ValueError, match=r"rng: expected a numpy\.random\.Generator, .*, a seed of at least 0 or None"
        ):
            one.rvs(4, random_state=wrong)  # type: ignore[arg-type]


def test_a_fit_that_ends_at_the_largest_rho_warns() -> None:
    with pytest.warns(UserWarning, match=r"so nearly the same that rho is 0\.999 or more"):
        assert SphericalCauchy.fit(np.repeat(np.eye(3)[:1], 9, axis=0)).rho == pytest.approx(0.999)
