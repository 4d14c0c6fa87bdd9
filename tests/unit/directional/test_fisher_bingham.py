"""Fisher-Bingham and angular central Gaussian distributions: exact references, draws, fits, domains."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import gammaln

from vmfstream import AngularCentralGaussian, FisherBingham, VonMisesFisher, Watson


def some(d: int, size: float, seed: int = 0, *, linear: bool = True) -> FisherBingham:
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((d, d))
    return FisherBingham(size * rng.standard_normal(d) * linear, size * (matrix + matrix.T))


@pytest.mark.parametrize("d", [2, 3, 10, 60])
@pytest.mark.parametrize("kappa", [0.0, 1.0, 30.0, 1e4])
def test_special_cases_are_von_mises_fisher_and_watson(d: int, kappa: float) -> None:
    mu = np.full(d, d**-0.5)
    x = np.vstack([mu, np.eye(d)[0], -mu])
    scale = 1e-14 * max(kappa, 100.0)
    one, known = FisherBingham(kappa * mu, np.eye(d)), VonMisesFisher(mu, kappa)
    np.testing.assert_allclose(one.logpdf(x), known.logpdf(x), rtol=0, atol=scale)
    np.testing.assert_allclose(one.mean, known.mean_cosine * mu, atol=scale)
    assert one.entropy() == pytest.approx(known.entropy(), abs=scale)
    other = FisherBingham(0.5 * kappa * np.eye(d)[0], np.zeros((d, d)))
    assert one.kl(other) == pytest.approx(known.kl(VonMisesFisher(np.eye(d)[0], 0.5 * kappa)), abs=2 * scale)
    for sign in (1, -1):
        axial, watson = FisherBingham(np.zeros(d), sign * kappa * np.outer(mu, mu)), Watson(mu, sign * kappa)
        np.testing.assert_allclose(axial.logpdf(x), watson.logpdf(x), rtol=0, atol=10 * scale)
        assert mu @ axial.second_moment @ mu == pytest.approx(watson.mean_square, rel=1e-10, abs=scale)
        assert np.trace(axial.second_moment) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("size", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("linear", [True, False])
def test_densities_and_moments_are_integrals_over_the_sphere(size: float, linear: bool) -> None:
    one = some(3, size, 1, linear=linear)

    cosine, weight = np.polynomial.legendre.leggauss(120)
    turn = 2 * np.pi * np.arange(120) / 120
    sine = np.sqrt(1 - cosine**2)
    x = np.stack(
        [np.repeat(cosine, 120), np.outer(sine, np.cos(turn)).ravel(), np.outer(sine, np.sin(turn)).ravel()], 1
    )
    mass = np.repeat(weight, 120) * 2 * np.pi / 120 * one.pdf(x)
    assert mass.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(mass @ x, one.mean, atol=1e-12)
    np.testing.assert_allclose((x.T * mass) @ x, one.second_moment, atol=1e-12)


def test_on_the_circle_it_is_one_integral() -> None:
    one, other = some(2, 5.0, 3), some(2, 3.0, 4)

    def x(angle: float) -> Any:
        return np.array([np.cos(angle), np.sin(angle)])

    def mean(what: Any) -> float:
        return float(quad(lambda a: what(x(a)) * float(one.pdf(x(a))), -np.pi, np.pi, limit=200)[0])

    assert mean(lambda v: 1.0) == pytest.approx(1.0, rel=1e-9)
    assert mean(lambda v: -one.logpdf(v)) == pytest.approx(one.entropy(), rel=1e-8)
    assert mean(lambda v: one.logpdf(v) - other.logpdf(v)) == pytest.approx(one.kl(other), rel=1e-8)


@pytest.mark.parametrize(("kappa", "beta"), [(1.0, 0.4), (20.0, 5.0), (100.0, 49.0), (10.0, 30.0)])
def test_the_constant_of_kent_is_its_series(kappa: float, beta: float) -> None:
    """[MJ00] (9.3.4): c = 2 pi sum_j G(j + 1/2) / G(j + 1) beta^(2j) (kappa / 2)^(-2j - 1/2) I_(2j + 1/2)(kappa)."""
    with mpmath.workdps(40):
        half, k = mpmath.mpf(1) / 2, mpmath.mpf(kappa)
        constant = (
            2
            * mpmath.pi
            * mpmath.nsum(
                lambda j: (
                    mpmath.gamma(j + half)
                    / mpmath.gamma(j + 1)
                    * mpmath.mpf(beta) ** (2 * j)
                    * (k / 2) ** (-2 * j - half)
                    * mpmath.besseli(2 * j + half, k)
                ),
                [0, mpmath.inf],
            )
        )
        wanted = float(k - mpmath.log(constant))
    assert FisherBingham.kent(np.eye(3), kappa, beta).logpdf(np.eye(3)[0]) == pytest.approx(wanted, abs=1e-12 * kappa)


@pytest.mark.parametrize("size", [0.5, 5.0, 100.0])
@pytest.mark.parametrize("d", [2, 3, 6])
def test_draws_have_the_moments(d: int, size: float) -> None:
    one = some(d, size, d)
    x = one.rvs(40_000, rng=1)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-12)
    spread = np.sqrt(np.maximum(np.diag(one.second_moment) - one.mean**2, 1e-9))
    np.testing.assert_array_less(np.abs(x.mean(axis=0) - one.mean), 5 * spread / 200)
    np.testing.assert_allclose(x.T @ x / 40_000, one.second_moment, atol=5 * spread.max() / 200)
    assert -one.logpdf(x).mean() == pytest.approx(one.entropy(), abs=5 * one.logpdf(x).std() / 200)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize(("d", "size"), [(2, 1.0), (3, 1.0), (3, 30.0), (5, 3.0)])
def test_a_fit_has_the_moments_of_the_rows(d: int, size: float, linear: bool) -> None:
    truth = some(d, size, 2, linear=linear)
    x = truth.rvs(3000, rng=2)
    found = FisherBingham.fit(x, linear=linear)
    spread = max(1e-3, float(np.sqrt(np.trace(x.T @ x / 3000 - np.outer(x.mean(axis=0), x.mean(axis=0))))))
    np.testing.assert_allclose(found.second_moment, x.T @ x / 3000, atol=1e-6 * spread)
    if linear:
        np.testing.assert_allclose(found.mean, x.mean(axis=0), atol=1e-6 * spread)
    free = d * linear + d * (d + 1) // 2 - 1
    gain = 2 * (found.logpdf(x).sum() - truth.logpdf(x).sum())
    assert 0 <= gain < stats.chi2(free).ppf(1 - 1e-4)
    assert np.trace(found.quadratic) == pytest.approx(0.0, abs=1e-8 * max(size, 1.0))
    counts = np.random.default_rng(0).integers(0, 3, 3000)
    weighed, repeated = (
        FisherBingham.fit(*given, linear=linear) for given in ((csr_array(x), counts), (x.repeat(counts, axis=0),))
    )
    np.testing.assert_allclose(weighed.second_moment, repeated.second_moment, atol=1e-6 * spread)


def test_rows_in_a_plane_have_no_fit() -> None:
    x = np.vstack([np.eye(3)[:2]] * 5)
    with pytest.raises(ValueError, match="x: expected vectors in all dimensions"):
        FisherBingham.fit(x, linear=False)
    with pytest.raises(ValueError, match="x: expected vectors in all dimensions"):
        AngularCentralGaussian.fit(x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: FisherBingham([1.0], [[1.0]]),
            r"linear: expected a vector .*, got the shape \(1,\)",
        ),
        (lambda: FisherBingham([1.0, 0.0], np.eye(3)), r"quadratic: expected the shape \(2, 2\), got \(3, 3\)"),
        (lambda: FisherBingham([1.0, np.nan], np.eye(2)), "linear: expected finite numbers, got nan"),
        (lambda: FisherBingham([1.0, 0.0], [[0, 1], [0, 0]]), "quadratic: expected a symmetric matrix"),
        (lambda: FisherBingham.kent(np.ones((3, 3)), 1.0, 0.0), "axes: expected three orthonormal rows"),
        (lambda: FisherBingham.kent(np.eye(3), -1.0, 0.0), "kappa: expected a finite number of at least 0, got -1.0"),
        (lambda: AngularCentralGaussian(np.ones((2, 3))), "shape: expected a square matrix"),
        (lambda: AngularCentralGaussian([[1, 2], [0, 1]]), "shape: expected a symmetric matrix"),
        (lambda: AngularCentralGaussian(np.diag([1.0, -1.0])), "shape: expected a positive definite matrix"),
    ],
)
def test_domains(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


# --- angular central Gaussian


@pytest.mark.parametrize("ratio", [1.0, 3.0, 100.0])
def test_angular_gaussians_integrate_to_one_and_have_their_entropy(ratio: float) -> None:
    one = AngularCentralGaussian([[ratio, 0.3], [0.3, 1.0]])
    other = AngularCentralGaussian([[2.0, -1.0], [-1.0, 3.0]])

    def mean(what: Any) -> float:
        def inner(angle: float) -> float:
            x = np.array([np.cos(angle), np.sin(angle)])
            return float(what(x) * one.pdf(x))

        return float(quad(inner, 0, 2 * np.pi, points=[np.pi], limit=400)[0])

    assert mean(lambda x: 1.0) == pytest.approx(1.0, rel=1e-9)
    assert mean(lambda x: -one.logpdf(x)) == pytest.approx(one.entropy(), rel=1e-8)
    assert mean(lambda x: one.logpdf(x) - other.logpdf(x)) == pytest.approx(one.kl(other), rel=1e-8)
    assert one.kl(one) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("d", [3, 8])
def test_angular_gaussians_are_directions_of_normal_vectors(d: int) -> None:
    rng = np.random.default_rng(d)
    matrix = rng.standard_normal((d, d))
    one = AngularCentralGaussian(matrix @ matrix.T + 0.5 * np.eye(d))
    x = one.rvs(50_000, rng=1)
    surprise = -one.logpdf(x)
    assert surprise.mean() == pytest.approx(one.entropy(), abs=5 * surprise.std() / 223)
    other = AngularCentralGaussian(np.diag(np.arange(1.0, d + 1)))
    apart = one.logpdf(x) - other.logpdf(x)
    assert one.kl(other) == pytest.approx(apart.mean(), abs=5 * apart.std() / 223)
    found = AngularCentralGaussian.fit(x[:20_000])
    np.testing.assert_allclose(found.shape, one.shape, atol=0.05 * np.abs(one.shape).max())
    assert found.logpdf(x[:20_000]).sum() >= one.logpdf(x[:20_000]).sum()
    counts = rng.integers(0, 3, 500)
    weighed, repeated = (
        AngularCentralGaussian.fit(csr_array(x[:500]), counts),
        AngularCentralGaussian.fit(x[:500].repeat(counts, axis=0)),
    )
    np.testing.assert_allclose(weighed.shape, repeated.shape, atol=1e-10)


@pytest.mark.parametrize("d", [2, 5, 300])
def test_an_angular_gaussian_of_equal_axes_is_uniform(d: int) -> None:
    one = AngularCentralGaussian(7.0 * np.eye(d))
    log_area = np.log(2) + d / 2 * np.log(np.pi) - gammaln(d / 2)
    assert one.logpdf(np.eye(d)[0]) == pytest.approx(-log_area, rel=1e-12)
    assert one.entropy() == pytest.approx(log_area, rel=1e-12)
