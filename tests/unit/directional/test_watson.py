"""The Watson distribution: density, samples, information, estimates, failures."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats
from scipy.sparse import csr_array

from vmfstream import VonMisesFisher, Watson
from vmfstream.directional import watson
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.kummer import watson_bounds, watson_terms
from vmfstream.directional.kummer_inverses import compare_inverses


def unit(values: Any) -> Any:
    vector = np.asarray(values, float)
    return vector / np.linalg.norm(vector)


def pole(d: int) -> np.ndarray:
    mu = np.zeros(d)
    mu[0] = 1.0
    return mu


def test_on_the_circle_twice_the_angle_is_von_mises() -> None:
    angle = np.linspace(-3, 3, 7)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    for kappa in (5.0, -5.0):
        mine = Watson([np.cos(0.4), np.sin(0.4)], kappa)
        double = stats.vonmises(abs(kappa) / 2, loc=0.8 if kappa > 0 else 0.8 - np.pi)
        np.testing.assert_allclose(mine.logpdf(x), double.logpdf(2 * angle), rtol=1e-12)
        assert mine.entropy() == pytest.approx(double.entropy(), rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 4, 9])
@pytest.mark.parametrize("kappa", [-40.0, -1.0, 0.0, 0.5, 25.0])
def test_density_integrates_to_one(d: int, kappa: float) -> None:
    law = Watson(pole(d), kappa)
    area = 2 * np.pi ** ((d - 1) / 2) / special.gamma((d - 1) / 2)  # of the sphere of one dimension less

    def at(angle: float) -> float:
        x = np.zeros(d)
        x[:2] = np.cos(angle), np.sin(angle)
        return float(area * np.exp(law.logpdf(x)) * np.sin(angle) ** (d - 2))

    def surprise(angle: float) -> float:
        x = np.zeros(d)
        x[:2] = np.cos(angle), np.sin(angle)
        return -at(angle) * float(law.logpdf(x))

    assert integrate.quad(at, 0, np.pi)[0] == pytest.approx(1, rel=1e-8)
    assert integrate.quad(surprise, 0, np.pi)[0] == pytest.approx(law.entropy(), rel=1e-7)


@pytest.mark.parametrize("kappa", [-1e7, -3.0, 0.0, 1.0, 1e7])
def test_finite_in_a_million_dimensions(kappa: float) -> None:
    d = 10**6
    law = Watson(pole(d), kappa)
    x = csr_array((np.ones(2), np.array([0, 5]), np.array([0, 1, 2])), shape=(2, d))
    relative = law.logpdf(x, relative_to_uniform=True)
    assert np.isfinite(relative).all()
    assert relative[0] - relative[1] == pytest.approx(kappa)
    np.testing.assert_allclose(law.logpdf(x), relative + log_c_uniform(d), rtol=1e-12)
    assert np.isfinite(law.entropy())
    assert np.linalg.norm(law.rvs(2, np.random.default_rng(0)), axis=1) == pytest.approx([1, 1], abs=1e-9)


def test_dense_and_sparse_rows_have_the_same_density() -> None:
    x = Watson(pole(6), 3.0).rvs(4, np.random.default_rng(0))
    law = Watson(unit(np.arange(1.0, 7.0)), -4.0)
    np.testing.assert_allclose(law.logpdf(csr_array(x)), law.logpdf(x), rtol=1e-12)
    assert law.logpdf(x[0]) == pytest.approx(law.logpdf(x)[0])


@pytest.mark.parametrize(
    ("d", "kappa"),
    [(2, 0.0), (2, 3.0), (3, 1e9), (3, -1e9), (10, -4.0), (200, 150.0), (200, 96.0), (2_000, -9e3), (2_000, 1.1e3)],
)
def test_sample_moments(d: int, kappa: float) -> None:
    n = 20_000 if d < 1_000 else 1_000
    mu = unit(np.random.default_rng(1).normal(size=d))
    x = watson.sample(mu, kappa, n, np.random.default_rng(2))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-9)
    t = watson_terms(d, kappa)
    across = x - np.outer(x @ mu, mu)
    squared_sine = np.sum(across**2, axis=1)
    value, mean = (squared_sine, t.one_minus_g) if kappa > d else ((x @ mu) ** 2, t.g)
    assert abs(value.mean() - mean) < 4.5 * np.sqrt(t.g_prime / n)
    assert value.var() == pytest.approx(t.g_prime, rel=0.25)
    assert abs(np.sign(x @ mu).mean()) < 4.5 / np.sqrt(n)
    assert np.linalg.norm(across.mean(axis=0)) < 4.5 * np.sqrt(squared_sine.mean() / n)


@pytest.mark.parametrize("kappa", [-30.0, -1.0, 2.0, 30.0])
def test_sample_distribution_of_the_cosine(kappa: float) -> None:
    x = watson.sample(pole(3), kappa, 5_000, np.random.default_rng(5))
    half = integrate.quad(lambda w: np.exp(kappa * w * w), 0, 1)[0]  # in three dimensions that is its density

    def cdf(w: np.ndarray) -> np.ndarray:
        parts = [integrate.quad(lambda v: np.exp(kappa * v * v), 0, end)[0] for end in w]
        return np.asarray(0.5 + 0.5 * np.array(parts) / half)

    assert stats.kstest(x[:1_000, 0], cdf).pvalue > 1e-3


def test_samples_repeat_with_the_seed() -> None:
    one, two = (watson.sample(pole(4), -2.0, 10, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert watson.sample(pole(4), 2.0, 0, np.random.default_rng(7)).shape == (0, 4)


@pytest.mark.parametrize("estimator", watson.ESTIMATORS)
@pytest.mark.parametrize(("d", "kappa"), [(3, 60.0), (3, -60.0), (40, 300.0), (40, -900.0), (150, 500.0)])
def test_fit_recovers(estimator: watson.WatsonEstimator, d: int, kappa: float) -> None:
    mu = unit(np.random.default_rng(3).normal(size=d))
    x = watson.sample(mu, kappa, 3_000, np.random.default_rng(4))
    found = Watson.fit(x, estimator)
    assert abs(found.mu @ mu) > 0.99
    r = float(np.mean((x @ found.mu) ** 2))
    expected = compare_inverses(d, r)["exact" if estimator == "mle" else estimator]
    assert found.kappa == pytest.approx(float(expected), rel=1e-6)
    if estimator == "mle":
        assert found.kappa == pytest.approx(kappa, rel=0.1)
    sparse = Watson.fit(csr_array(x), estimator)
    assert sparse.kappa == pytest.approx(found.kappa, rel=1e-6)
    np.testing.assert_allclose(sparse.mu, found.mu, atol=1e-4)


def test_fit_is_the_likeliest() -> None:
    rng = np.random.default_rng(8)
    for kappa in (4.0, -4.0):
        x = watson.sample(pole(4), kappa, 200, rng)
        best = Watson.fit(x)
        for _ in range(30):
            other = Watson(unit(best.mu + 0.05 * rng.normal(size=4)), best.kappa + rng.normal())
            assert other.logpdf(x).sum() <= best.logpdf(x).sum()
        for estimator in ("L", "B", "U", "BBG"):
            assert Watson.fit(x, estimator).logpdf(x).sum() <= best.logpdf(x).sum() + 1e-9


def test_fewer_vectors_than_dimensions_have_no_girdle() -> None:
    d = 60
    x = watson.sample(pole(d), -4_000.0, 120, np.random.default_rng(9))
    assert Watson.fit(x).kappa < -2_000  # two vectors a dimension
    assert 0 < Watson.fit(x[:60]).kappa < watson_bounds(d)[1]
    weights = np.full(120, 1e-6)
    weights[:55] = 1.0  # the number that counts is the effective one
    assert Watson.fit(x, weights=weights).kappa > 0
    padded = np.hstack([x, np.zeros((120, 2))])
    assert Watson.fit(padded).kappa > 0  # a word that nobody uses is no girdle


def test_weights_count_vectors() -> None:
    x = watson.sample(pole(5), 8.0, 9, np.random.default_rng(9))
    times = np.array([1, 2, 0, 3, 1, 1, 2, 1, 1])
    weighted, repeated = Watson.fit(x, weights=times), Watson.fit(np.repeat(x, times, axis=0))
    assert weighted.kappa == pytest.approx(repeated.kappa, rel=1e-9)
    np.testing.assert_allclose(weighted.mu, repeated.mu, atol=1e-9)


@pytest.mark.parametrize("estimator", watson.ESTIMATORS)
def test_fit_stays_within_bounds(estimator: watson.WatsonEstimator) -> None:
    low, high = watson_bounds(8)
    for x in (pole(8)[None], np.repeat(pole(8)[None], 9, axis=0), np.array([pole(8), -pole(8)])):
        found = watson.estimate(x, np.ones(len(x)), estimator)
        np.testing.assert_allclose(found.mu, pole(8), atol=1e-12)
        assert found.kappa == pytest.approx(high, rel=1e-9 if estimator == "mle" else 1)
        assert found.kappa <= high
        with pytest.warns(UserWarning, match="x: the vectors are the same to rounding"):
            assert Watson.fit(x, estimator).kappa > (1e15 if estimator == "mle" else 1e4)
    nearly = watson.sample(pole(8), -1e7, 500, np.random.default_rng(0))
    assert low <= watson.estimate(nearly, np.ones(500), estimator).kappa < 0.3 * low


@pytest.mark.parametrize("d", [2, 3, 10])
@pytest.mark.parametrize("kappa", [3e5, 2e6, 1e10, 1e14, -3e5, -2e6, -1e10, -1e14])
def test_draws_and_fits_of_any_concentration(d: int, kappa: float) -> None:
    """Tables of draws had 28 sqrt(kappa) entries, and fits ended at 20,000 in five dimensions."""
    x = Watson(pole(d), kappa).rvs(4_000, 1)
    across, along = np.square(x[:, 1:]).sum(axis=1), np.square(x[:, 0])
    small, shape = (across, 0.5 * (d - 1)) if kappa > 0 else (along, 0.5)
    assert stats.kstest(small * abs(kappa), stats.gamma(shape).cdf).pvalue > 1e-3
    if d > 2 or kappa > 0:  # on the circle a girdle is the axis across it
        assert Watson.fit(x).kappa == pytest.approx(kappa, rel=0.1)


@pytest.mark.parametrize("kappa", [1e3, 1e8, 1e12, -1e3, -1e12])
def test_large_concentrations_keep_their_digits(kappa: float) -> None:
    mu = np.array([0.0, 0.6, 0.0, 0.8])
    angle = 1.0 / np.sqrt(abs(kappa))
    near, far = (np.sin(angle), np.cos(angle)) if kappa > 0 else (np.cos(angle), np.sin(angle))
    x = np.array([near, 0.6 * far, 0.0, 0.8 * far])
    with mpmath.workdps(60):
        first, other = mpmath.mpf(kappa), mpmath.mpf(kappa) * mpmath.mpf("1.5")
        normaliser = mpmath.hyp1f1(0.5, 2, first)
        log_m, g = mpmath.log(normaliser), mpmath.hyp1f1(1.5, 3, first) / normaliser / 4
        uniform = mpmath.log(mpmath.gamma(2) / (2 * mpmath.pi**2))
        square = sum(mpmath.mpf(float(a)) * mpmath.mpf(float(b)) for a, b in zip(x, mu, strict=True)) ** 2
        for vector in (x, mu):
            square /= sum(mpmath.mpf(float(a)) ** 2 for a in vector)
        density, entropy = float(first * square - log_m + uniform), float(log_m - first * g - uniform)
        divergence = float((first - other) * g - log_m + mpmath.log(mpmath.hyp1f1(0.5, 2, other)))
    one = Watson(mu, kappa)
    # a cosine near 0 is as certain as the numbers of x and mu are
    assert one.logpdf(x) == pytest.approx(density, rel=1e-13, abs=0.0 if kappa > 0 else 1e-9)
    assert one.entropy() == pytest.approx(entropy, rel=1e-13)
    assert one.kl(Watson(mu, 1.5 * kappa)) == pytest.approx(divergence, rel=1e-12)


@given(st.integers(2, 30), st.floats(-200, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_signs_and_rotations_do_not_matter(d: int, kappa: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = watson.sample(pole(d), 5.0, 2 * d + 5, rng)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    signs = rng.choice([-1.0, 1.0], len(x))[:, None]
    here, there = Watson(pole(d), kappa), Watson(-turn @ pole(d), kappa)
    np.testing.assert_allclose(
        there.logpdf(signs * (x @ turn.T)), here.logpdf(x), rtol=1e-9, atol=1e-8 * (1 + abs(kappa))
    )
    one, two = Watson.fit(x), Watson.fit(signs * (x @ turn.T))
    assert two.kappa == pytest.approx(one.kappa, rel=1e-6, abs=1e-6)


def test_divergence() -> None:
    for first, second in ((5.0, 2.0), (5.0, -3.0), (-6.0, 4.0)):
        p, q = Watson(pole(4), first), Watson(unit([1.0, 2.0, 0.0, 0.0]), second)
        x = p.rvs(200_000, np.random.default_rng(10))
        gap = p.logpdf(x) - q.logpdf(x)
        assert p.kl(q) == pytest.approx(gap.mean(), abs=4 * gap.std() / np.sqrt(len(gap)))
        assert p.kl(Watson(-p.mu, first)) == pytest.approx(0.0, abs=1e-12)


@given(st.integers(2, 10**5), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1, 1))
@settings(max_examples=60, deadline=None)
def test_information_laws(d: int, kappa: float, other: float, cosine: float) -> None:
    assert watson.kl(d, kappa, other, cosine) >= 0
    uniform = -float(log_c_uniform(d))
    loss = uniform - float(watson.entropy(d, kappa))
    assert watson.kl(d, kappa, 0.0, cosine) == pytest.approx(loss, abs=1e-8 * (1 + abs(uniform)))


def test_no_concentration_is_uniform() -> None:
    x = watson.sample(pole(7), 0.0, 5, np.random.default_rng(0))
    np.testing.assert_allclose(Watson(pole(7), 0.0).logpdf(x), float(log_c_uniform(7)), rtol=1e-14)


def test_is_frozen() -> None:
    law = Watson([1.0, 0.0], -1.0)
    with pytest.raises(AttributeError):
        law.kappa = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        law.mu[0] = 0.0
    assert repr(law) == "Watson(d=2, kappa=-1)"
    assert law.mean_square == pytest.approx(float(watson_terms(2, -1.0).g))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Watson([1.0, 1.0], 1.0), "mu: expected a vector of unit length, got length 1.41421"),
        (lambda: Watson(pole(3), np.nan), "kappa: expected a finite concentration, got nan"),
        (lambda: Watson(pole(3), 1.0).logpdf(np.eye(4)), r"shape \(n, 3\), got the shape \(4, 4\)"),
        (lambda: Watson(pole(3), 1.0).logpdf(csr_array((1, 3))), "unit length, got length 0 in row 0"),
        (lambda: Watson(pole(3), 1.0).kl(Watson(pole(4), 1.0)), "other: expected .* dimension 3"),
        (lambda: Watson(pole(3), 1.0).rvs(-1, np.random.default_rng()), "size: expected the number of vectors"),
        (lambda: Watson.fit(np.eye(3), "best"), "estimator: expected one of mle, L.* got 'best'"),  # type: ignore[arg-type]
        (lambda: Watson.fit(pole(3)), r"x: expected one unit vector a row, got the shape \(3,\)"),
        (
            lambda: Watson.fit([[1.0], [1.0]]),
            r"x: expected at least one row, .*, got the shape \(2, 1\)",
        ),
        (lambda: Watson.fit([pole(3)], weights=["a"]), r"weights: expected an array of numbers, got \['a'\]"),
        (lambda: Watson.fit(np.full((2, 3), np.nan)), "x: expected rows of unit length, got length nan in row 0"),
        (lambda: Watson.fit(np.eye(3), weights=[1.0]), r"weights: expected one weight for each of 3 vectors"),
        (lambda: Watson.fit(np.eye(3), weights=[1, -1, 1]), "weights: expected finite weights"),
        (lambda: watson.kl(3, 1.0, 1.0, 1.5), r"cosine: expected a value in \[-1, 1\], got 1.5"),
    ],
)
def test_says_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_rows_that_are_the_same_to_rounding_are_fitted() -> None:
    """What lies across their axis is 1e-17 long, whose complement is 1 to rounding."""
    with pytest.warns(UserWarning, match="the same to rounding"):
        assert Watson.fit(VonMisesFisher([0.0, 0.0, 1.0], 1e17).rvs(50, rng=0)).kappa > 1e15
