from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.sparse import csr_array

from vmfstream import (
    AngularCentralGaussian,
    FisherBingham,
    SphericalCauchy,
    VMFMixture,
    VonMisesFisher,
    Watson,
)
from vmfstream.directional import vmf
from vmfstream.directional.bessel import inv_bessel_ratio, kappa_bounds, log_c_uniform, vmf_terms
from vmfstream.directional.inverses import INVERSES


def unit(values: Any) -> Any:
    vector = np.asarray(values, float)
    return vector / np.linalg.norm(vector)


def pole(d: int) -> np.ndarray:
    mu = np.zeros(d)
    mu[0] = 1.0
    return mu


def test_circle_is_von_mises() -> None:
    angle, kappa = np.linspace(-3, 3, 7), 2.5
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    mine, theirs = VonMisesFisher([np.cos(0.4), np.sin(0.4)], kappa), stats.vonmises(kappa, loc=0.4)
    np.testing.assert_allclose(mine.logpdf(x), theirs.logpdf(angle), rtol=1e-12)
    assert mine.entropy() == pytest.approx(theirs.entropy(), rel=1e-12)


@pytest.mark.parametrize("d", [3, 5, 12])
@pytest.mark.parametrize("kappa", [0.5, 8.0, 60.0])
def test_agrees_with_scipy(d: int, kappa: float) -> None:
    rng = np.random.default_rng(d)
    mu = unit(rng.normal(size=d))
    mine, theirs = VonMisesFisher(mu, kappa), stats.vonmises_fisher(mu, kappa)
    x = theirs.rvs(5, random_state=rng)
    np.testing.assert_allclose(mine.logpdf(x), theirs.logpdf(x), rtol=1e-10)
    assert mine.entropy() == pytest.approx(theirs.entropy(), rel=1e-10)


def test_fit_agrees_with_scipy() -> None:
    x = stats.vonmises_fisher(pole(4), 7.0).rvs(300, random_state=np.random.default_rng(0))
    mu, kappa = stats.vonmises_fisher.fit(x)
    found = VonMisesFisher.fit(x)
    np.testing.assert_allclose(found.mu, mu, rtol=1e-9, atol=1e-12)
    assert found.kappa == pytest.approx(kappa, rel=1e-6)


@pytest.mark.parametrize("kappa", [0.0, 1.0, 1e4, 1e7])
def test_finite_in_a_million_dimensions(kappa: float) -> None:
    d = 10**6
    law = VonMisesFisher(pole(d), kappa)
    x = csr_array((np.ones(2), np.array([0, 5]), np.array([0, 1, 2])), shape=(2, d))
    relative = law.logpdf(x, relative_to_uniform=True)
    assert np.isfinite(relative).all()
    assert relative[0] - relative[1] == pytest.approx(kappa)
    np.testing.assert_allclose(law.logpdf(x), relative + log_c_uniform(d), rtol=1e-12)
    assert np.isfinite(law.entropy())
    assert np.linalg.norm(law.rvs(2, np.random.default_rng(0)), axis=1) == pytest.approx([1, 1], abs=1e-9)


def test_dense_and_sparse_rows_have_the_same_density() -> None:
    x = VonMisesFisher(pole(6), 3.0).rvs(4, np.random.default_rng(0))
    law = VonMisesFisher(unit(np.arange(1.0, 7.0)), 4.0)
    np.testing.assert_allclose(law.logpdf(csr_array(x)), law.logpdf(x), rtol=1e-12)
    assert law.logpdf(x[0]) == pytest.approx(law.logpdf(x)[0])


@pytest.mark.parametrize(
    ("d", "kappa"), [(2, 0.0), (2, 3.0), (3, 1e6), (10, 0.5), (200, 150.0), (5_000, 2_000.0), (3, 1e12)]
)
def test_sample_moments(d: int, kappa: float) -> None:
    n = 20_000 if d < 1_000 else 1_000
    mu = unit(np.random.default_rng(1).normal(size=d))
    x = vmf.sample(mu, kappa, n, np.random.default_rng(2))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-9)
    t = vmf_terms(d, kappa)
    below = 0.5 * np.sum((x - mu) ** 2, axis=1)  # 1 - cosine, to full precision
    assert abs(below.mean() - t.one_minus_a) < 4.5 * np.sqrt(t.a_prime / n)
    assert below.var() == pytest.approx(t.a_prime, rel=0.2)
    across = x - np.outer(x @ mu, mu)
    assert np.linalg.norm(across.mean(axis=0)) < 4.5 * np.sqrt(np.mean(across**2) * d / n)


def test_sample_distribution_of_the_cosine() -> None:
    x = vmf.sample(pole(3), 2.0, 5_000, np.random.default_rng(5))

    def cdf(w: np.ndarray) -> np.ndarray:  # the density of the cosine is exp(kappa w) in three dimensions
        return np.asarray((np.exp(2.0 * w) - np.exp(-2.0)) / (np.exp(2.0) - np.exp(-2.0)))

    assert stats.kstest(x[:, 0], cdf).pvalue > 1e-3


def test_samples_repeat_with_the_seed() -> None:
    one, two = (vmf.sample(pole(4), 2.0, 10, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert vmf.sample(pole(4), 2.0, 0, np.random.default_rng(7)).shape == (0, 4)


@pytest.mark.parametrize("estimator", ["mle", "marginal", "banerjee", "debiased"])
@pytest.mark.parametrize(("d", "kappa"), [(3, 10.0), (50, 40.0), (500, 600.0)])
def test_fit_recovers(estimator: vmf.Estimator, d: int, kappa: float) -> None:
    mu = unit(np.random.default_rng(3).normal(size=d))
    x = vmf.sample(mu, kappa, 2_000, np.random.default_rng(4))
    found = VonMisesFisher.fit(x, estimator)
    assert found.kappa == pytest.approx(kappa, rel=0.12 if (estimator, d) == ("banerjee", 3) else 0.08)
    assert found.mu @ mu > 0.99
    sparse = VonMisesFisher.fit(csr_array(x), estimator)
    assert sparse.kappa == pytest.approx(found.kappa, rel=1e-9)


def test_fit_of_few_vectors_in_many_dimensions() -> None:
    d, kappa = 10_000, 2_083.0
    rng = np.random.default_rng(6)
    fits: dict[Any, list[float]] = {"mle": [], "marginal": [], "debiased": []}
    for _ in range(5):
        x = vmf.sample(pole(d), kappa, 20, rng)
        for name, found in fits.items():
            found.append(VonMisesFisher.fit(x, name).kappa)
    assert np.mean(fits["mle"]) > 1.4 * kappa
    assert np.mean(fits["marginal"]) == pytest.approx(kappa, rel=0.08)
    np.testing.assert_allclose(fits["marginal"], fits["debiased"], rtol=1e-3)


@pytest.mark.parametrize("name", [name for name in INVERSES if name != "exact"])
def test_fit_knows_every_approximation(name: Any) -> None:
    x = vmf.sample(pole(12), 9.0, 400, np.random.default_rng(12))
    r = float(np.linalg.norm(x.mean(axis=0)))
    assert VonMisesFisher.fit(x, name).kappa == pytest.approx(float(INVERSES[name](12, r)), rel=1e-12)


def test_marginal_solves_its_equation() -> None:
    x = vmf.sample(pole(20), 15.0, 30, np.random.default_rng(8))
    length, n = float(np.linalg.norm(x.sum(axis=0))), len(x)
    kappa = VonMisesFisher.fit(x, "marginal").kappa
    assert n * vmf_terms(20, kappa).a == pytest.approx(length * vmf_terms(20, kappa * length).a, rel=1e-10)


def test_weights_count_vectors() -> None:
    x = vmf.sample(pole(5), 3.0, 6, np.random.default_rng(9))
    times = np.array([1, 2, 0, 3, 1, 1])
    for estimator in ("mle", "marginal", "banerjee"):
        weighted = VonMisesFisher.fit(x, estimator, weights=times)
        repeated = VonMisesFisher.fit(np.repeat(x, times, axis=0), estimator)
        assert weighted.kappa == pytest.approx(repeated.kappa, rel=1e-9)
        np.testing.assert_allclose(weighted.mu, repeated.mu, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 5, 100])
@pytest.mark.parametrize("kappa", [1e3, 1e5, 1e8, 1e12])
def test_narrow_concentrations_are_found(d: int, kappa: float) -> None:
    """The cosine's distance from 1 is a gamma variable: its mean has the relative error sqrt(2 / ((d - 1) n))."""
    n = 2_000
    x = vmf.sample(unit(np.arange(1.0, d + 1)), kappa, n, np.random.default_rng(11))
    found = VonMisesFisher.fit(x).kappa
    assert found == pytest.approx(kappa, rel=4 * np.sqrt(2 / ((d - 1) * n)))
    weights = np.arange(n) % 3
    repeated = VonMisesFisher.fit(np.repeat(x, weights, axis=0)).kappa
    assert VonMisesFisher.fit(x, weights=weights).kappa == pytest.approx(repeated, rel=1e-9)
    if kappa <= 1e8:
        assert VonMisesFisher.fit(csr_array(x)).kappa == pytest.approx(found, rel=1e-7 * max(1.0, kappa / 1e6))
    if kappa <= 1e5 and d > 2:
        mixture = VMFMixture(1, estimator="mle").fit(x)
        assert mixture.concentrations_[0] == pytest.approx(found, rel=1e-6)


def test_the_estimate_goes_on_where_distances_take_over() -> None:
    """Below and above the resultant from which on distances are used the same equation is solved."""
    rng = np.random.default_rng(12)
    for kappa in (90.0, 99.0, 101.0, 120.0):
        x = vmf.sample(pole(3), kappa, 5_000, rng)
        length = float(np.linalg.norm(x.sum(axis=0)))
        assert VonMisesFisher.fit(x).kappa == pytest.approx(float(inv_bessel_ratio(3, length / 5_000)), rel=1e-9)


@pytest.mark.parametrize("estimator", ["mle", "marginal", "banerjee", "debiased"])
def test_fit_stays_within_bounds(estimator: vmf.Estimator) -> None:
    low, high = kappa_bounds(8)
    if estimator == "mle":
        high = float(inv_bessel_ratio(8, 1 - 2.0**-52, 2.0**-52))
    warned = pytest.warns(UserWarning, match="the same to rounding") if estimator == "mle" else nullcontext()
    with warned:
        same = VonMisesFisher.fit(np.repeat(pole(8)[None], 4, axis=0), estimator).kappa
    assert same == pytest.approx(high)
    nearly_cancelling = np.array([pole(8), -unit(pole(8) + 1e-4 * pole(8)[::-1])])
    kappa = VonMisesFisher.fit(nearly_cancelling, estimator).kappa
    assert low * (1 - 1e-9) <= kappa < 1e-2
    with warned:
        one = VonMisesFisher.fit(pole(8)[None], estimator).kappa
    assert one == pytest.approx(low if estimator in ("marginal", "debiased") else high)


def test_divergence() -> None:
    p, q = VonMisesFisher(pole(4), 5.0), VonMisesFisher(unit([1.0, 1.0, 0.0, 0.0]), 2.0)
    x = p.rvs(200_000, np.random.default_rng(10))
    gap = p.logpdf(x) - q.logpdf(x)
    assert p.kl(q) == pytest.approx(gap.mean(), abs=4 * gap.std() / np.sqrt(len(gap)))
    assert p.kl(p) == 0.0
    assert p.entropy() == pytest.approx(-p.logpdf(x).mean(), abs=0.02)


def test_convolution_composes() -> None:
    law = VonMisesFisher(pole(30), 50.0)
    moved = law.convolve(80.0)
    np.testing.assert_array_equal(moved.mu, law.mu)
    assert moved.mean_cosine == pytest.approx(law.mean_cosine * vmf_terms(30, 80.0).a, rel=1e-12)
    assert law.convolve(0.0).kappa == 0.0


@given(st.integers(2, 10**5), st.floats(0, 1e6), st.floats(0, 1e6), st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_information_laws(d: int, gamma: float, c0: float, cosine: float) -> None:
    assert vmf.kl(d, gamma, c0, cosine) >= 0
    uniform = -float(log_c_uniform(d))
    assert vmf.entropy(d, gamma) <= uniform + 1e-9 * abs(uniform)
    # against the uniform density the divergence is the loss of entropy
    assert vmf.kl(d, gamma, 0.0, cosine) == pytest.approx(
        uniform - vmf.entropy(d, gamma), abs=1e-8 * (1 + abs(uniform))
    )


@given(st.integers(2, 40), st.floats(0, 1e4), st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_rotation_does_not_matter(d: int, kappa: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    x = vmf.sample(pole(d), 5.0, 3, rng)
    here, there = VonMisesFisher(pole(d), kappa), VonMisesFisher(turn @ pole(d), kappa)
    np.testing.assert_allclose(there.logpdf(x @ turn.T), here.logpdf(x), rtol=1e-9, atol=1e-9 * (1 + kappa))


def test_is_frozen() -> None:
    given_mu = np.array([1.0, 0.0])
    law = VonMisesFisher(given_mu, 1.0)
    with pytest.raises(AttributeError):
        law.kappa = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        law.mu[0] = 0.0
    given_mu[0] = 5.0
    assert law.mu[0] == 1.0
    assert repr(law) == "VonMisesFisher(d=2, kappa=1)"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VonMisesFisher([1.0, 1.0], 1.0), "mu: expected a vector of unit length, got length 1.41421"),
        (lambda: VonMisesFisher([1.0], 1.0), r"mu: expected a vector of at least two numbers, got the shape \(1,\)"),
        (lambda: VonMisesFisher([np.nan, 1.0], 1.0), "mu: .* got length nan"),
        (lambda: VonMisesFisher(pole(3), -1.0), "kappa: expected a finite concentration of at least 0, got -1.0"),
        (lambda: VonMisesFisher(pole(3), 1.0).logpdf(np.eye(4)), r"shape \(n, 3\), got the shape \(4, 4\)"),
        (lambda: VonMisesFisher(pole(3), 1.0).logpdf(2 * np.eye(3)), "unit length, got length 2 in row 0"),
        (lambda: VonMisesFisher(pole(3), 1.0).logpdf(csr_array((1, 3))), "unit length, got length 0 in row 0"),
        (lambda: VonMisesFisher(pole(3), 1.0).kl(VonMisesFisher(pole(4), 1.0)), "other: expected .* dimension 3"),
        (lambda: VonMisesFisher(pole(3), 1.0).kl(None), "other: expected a VonMisesFisher, got None"),  # type: ignore[arg-type]
        (lambda: VonMisesFisher(pole(3), 1.0).rvs(True), "size: expected .* got True"),
        (lambda: VonMisesFisher(pole(3), 1.0).convolve(np.inf), "tau: expected a finite concentration"),
        (lambda: VonMisesFisher(pole(3), 1.0).rvs(-1, np.random.default_rng()), "size: expected the number of vectors"),
        (lambda: VonMisesFisher.fit(np.eye(3), "best"), "estimator: expected one of mle, marginal.* got 'best'"),  # type: ignore[arg-type]
        (lambda: VonMisesFisher.fit(pole(3)), r"x: expected one unit vector a row, got the shape \(3,\)"),
        (
            lambda: VonMisesFisher.fit([[1.0], [1.0]]),
            r"x: expected at least one row, .*, got the shape \(2, 1\)",
        ),
        (lambda: VonMisesFisher.fit([pole(3)], weights=["a"]), r"weights: expected an array of numbers, got \['a'\]"),
        (lambda: VonMisesFisher.fit(np.array([pole(3), -pole(3)])), "x: the vectors cancel"),
        (lambda: VonMisesFisher.fit(np.eye(3), weights=[1.0]), r"weights: expected one weight for each of 3 vectors"),
        (lambda: VonMisesFisher.fit(np.eye(3), weights=[1, -1, 1]), "weights: expected finite weights"),
        (lambda: vmf.kl(3, 1.0, 1.0, 1.5), r"cosine: expected values in \[-1, 1\], got 1.5"),
        (lambda: vmf.entropy(3, -1.0), "kappa: expected finite values"),
    ],
)
def test_says_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("d", [2, 3, 18, 60])
@pytest.mark.parametrize("kappa", [20.0, 1e3, 1e8, 1e12])
def test_large_concentrations_keep_their_digits(d: int, kappa: float) -> None:
    """At 10^12 a difference of numbers of its size lost 1e-4 nats."""
    mu, angle = np.zeros(d), 1.0 / np.sqrt(kappa)
    mu[:2] = 0.6, 0.8
    x = mu * np.cos(angle)
    x[:2] += np.array([-0.8, 0.6]) * np.sin(angle)
    with mpmath.workdps(60):
        nu, first, other = mpmath.mpf(d) / 2 - 1, mpmath.mpf(kappa), mpmath.mpf(kappa) * mpmath.mpf("1.5")

        def log_c(k: Any) -> Any:
            return nu * mpmath.log(k) - (nu + 1) * mpmath.log(2 * mpmath.pi) - mpmath.log(mpmath.besseli(nu, k))

        cosine = sum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(x, mu, strict=True))
        for vector in (x, mu):
            cosine /= mpmath.sqrt(sum(mpmath.mpf(float(a)) ** 2 for a in vector))
        mean = mpmath.besseli(nu + 1, first) / mpmath.besseli(nu, first)
        density, entropy = float(log_c(first) + first * cosine), float(-log_c(first) - first * mean)
        divergence = float(log_c(first) - log_c(other) + (first - other) * mean)
    one = VonMisesFisher(mu, kappa)
    assert one.logpdf(x) == pytest.approx(density, rel=1e-13)
    assert one.logpdf(csr_array(x[None]))[0] == pytest.approx(density, rel=1e-13)
    assert one.pdf(x) == pytest.approx(float(mpmath.exp(density)), rel=1e-11)
    assert one.entropy() == pytest.approx(entropy, rel=1e-13)
    assert one.kl(VonMisesFisher(mu, 1.5 * kappa)) == pytest.approx(divergence, rel=1e-12)


def test_rows_that_are_nearly_unit_are_scaled() -> None:
    """A thousandth too long was worth nine nats at kappa 10^4."""
    rng = np.random.default_rng(0)
    one = VonMisesFisher(np.eye(5)[0], 1e4)
    x = one.rvs(20, rng)
    off = x * rng.uniform(0.9991, 1.0009, 20)[:, None]
    for storage in (np.asarray, csr_array):
        assert one.logpdf(storage(off)) == pytest.approx(one.logpdf(x), rel=1e-9)
        assert VonMisesFisher.fit(storage(off)).kappa == pytest.approx(VonMisesFisher.fit(x).kappa, rel=1e-9)
    assert one.logpdf(off[0]) == pytest.approx(one.logpdf(x[0]), rel=1e-9)


def test_shapes_of_vectors_and_draws_are_those_asked_for() -> None:
    """As of scipy's `stats.vonmises_fisher`: densities of arrays of any shape, draws of any shape."""
    one = VonMisesFisher(np.eye(4)[2], 7.0)
    drawn = one.rvs((5, 2, 3), 0)
    assert drawn.shape == (5, 2, 3, 4)
    assert np.array_equal(drawn.reshape(-1, 4), one.rvs(30, 0))
    assert one.rvs((), 0).shape == (4,)
    assert one.rvs((0, 3)).shape == (0, 3, 4)
    expected = stats.vonmises_fisher(one.mu, one.kappa).logpdf(drawn)
    assert one.logpdf(drawn).shape == (5, 2, 3)
    assert one.logpdf(drawn) == pytest.approx(expected, rel=1e-10)
    assert one.pdf(drawn) == pytest.approx(np.exp(expected), rel=1e-10)
    with pytest.raises(ValueError, match="size: expected the number of vectors"):
        one.rvs((3, -1))
    with pytest.raises(ValueError, match="x: expected unit vectors in rows"):
        one.logpdf(np.ones((2, 3, 5)))


@pytest.mark.parametrize("kind", [VonMisesFisher, Watson, SphericalCauchy, AngularCentralGaussian, FisherBingham])
def test_no_vectors_are_called_that(kind: Any) -> None:
    """The message was about ``weights``, which were not given."""
    with pytest.raises(ValueError, match=r"x: expected at least one row, .*, got the shape \(0, 3\)"):
        kind.fit(np.zeros((0, 3)))
