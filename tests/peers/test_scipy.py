"""What SciPy's test suite asks of scipy.stats.vonmises_fisher, asked of `VonMisesFisher`.

Source: class TestVonMises_Fisher in scipy/stats/tests/test_multivariate.py, SciPy 1.17. The checks are written anew:
references are computed with 50 digits or by SciPy. Where the two differ on purpose, the test says how.

Left out is the seed of a frozen distribution: here it is given with each call of ``rvs``, so that a distribution has no
state.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy import stats

from vmfstream import VonMisesFisher
from vmfstream.directional.bessel import bessel_ratio


def diagonal(d: int) -> np.ndarray:
    return np.full(d, d**-0.5)


def log_density(cosine: float, d: int, kappa: float) -> mpmath.mpf:
    """The log density by its definition, with 50 digits."""
    with mpmath.workdps(50):
        order, k = mpmath.mpf(d) / 2 - 1, mpmath.mpf(kappa)
        constant = order * mpmath.log(k) - mpmath.mpf(d) / 2 * mpmath.log(2 * mpmath.pi)
        return constant - mpmath.log(mpmath.besseli(order, k)) + k * mpmath.mpf(cosine)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
@pytest.mark.parametrize("size", [(), 1, 5, (5, 4)])
def test_samples_have_the_shape_asked_for_and_unit_length(d: int, size: int | tuple[int, ...]) -> None:
    drawn = VonMisesFisher(diagonal(d), 1.0).rvs(size, rng=2)
    assert drawn.shape == (*np.atleast_1d(size).astype(int), d)
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=-1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("d", [5, 8])
@pytest.mark.parametrize("kappa", [1e15, 1e20, 1e30])
def test_sampling_at_high_concentration_warns_of_nothing(d: int, kappa: float) -> None:
    drawn = VonMisesFisher(diagonal(d), kappa).rvs(10, rng=2)
    np.testing.assert_allclose(drawn, np.broadcast_to(diagonal(d), (10, d)), atol=1e-6)


@pytest.mark.parametrize(
    ("mu", "kappa", "says"),
    [
        (np.ones((2, 2)), 1.0, "mu"),
        (np.ones(2), 1.0, "mu.*length"),
        ([1.0], 1.0, "mu"),
        ([1.0, 0.0], -1.0, "kappa"),
        ([1.0, 0.0], (5, 3), "kappa"),
        ([1.0, 0.0], np.nan, "kappa"),
    ],
)
def test_parameters_are_checked(mu: object, kappa: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        VonMisesFisher(mu, kappa)  # type: ignore[arg-type]


def test_concentration_zero_is_the_uniform_distribution() -> None:
    """SciPy refuses it and names uniform_direction; here it is the limit."""
    uniform = VonMisesFisher(diagonal(3), 0.0)
    np.testing.assert_allclose(uniform.pdf(stats.uniform_direction(3, seed=1).rvs(5)), 1 / (4 * np.pi), rtol=1e-14)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_densities_check_dimension_and_length(method: str) -> None:
    density = getattr(VonMisesFisher(diagonal(3), 1.0), method)
    with pytest.raises(ValueError, match="3"):
        density([[1.0, 0.0]])
    with pytest.raises(ValueError, match="unit"):
        density(np.ones((2, 3)))


@pytest.mark.parametrize("d", [2, 3, 4, 10])
@pytest.mark.parametrize("kappa", [1e-5, 0.3, 10.0, 1e4])
def test_densities_are_exact(d: int, kappa: float) -> None:
    mu = np.eye(d)[0]
    x = np.vstack([mu, -mu, np.eye(d)[1]])
    wanted = [log_density(cosine, d, kappa) for cosine in (1.0, -1.0, 0.0)]
    found = VonMisesFisher(mu, kappa)
    np.testing.assert_allclose(found.logpdf(x), np.array(wanted, float), rtol=5e-14)
    np.testing.assert_allclose(found.pdf(x), [float(mpmath.exp(one)) for one in wanted], rtol=1e-11)


@pytest.mark.parametrize("d", [2, 3, 5, 40])
@pytest.mark.parametrize("kappa", [1e-4, 1.0, 25.0, 1e5])
def test_entropy_is_exact(d: int, kappa: float) -> None:
    with mpmath.workdps(50):
        order, k = mpmath.mpf(d) / 2 - 1, mpmath.mpf(kappa)
        ratio = mpmath.besseli(order + 1, k) / mpmath.besseli(order, k)
        wanted = -log_density(0.0, d, kappa) - k * ratio
    np.testing.assert_allclose(VonMisesFisher(diagonal(d), kappa).entropy(), float(wanted), rtol=2e-13)


@pytest.mark.parametrize("method", ["pdf", "logpdf"])
def test_densities_keep_the_shape_of_their_argument(method: str) -> None:
    x = stats.uniform_direction(3, seed=4).rvs((2, 2))
    density = getattr(VonMisesFisher(diagonal(3), 5.0), method)
    found = density(x)
    assert found.shape == (2, 2)
    assert np.ndim(density(x[0, 0])) == 0
    np.testing.assert_allclose(found, [[density(x[i, j]) for j in range(2)] for i in range(2)], rtol=1e-15)


def test_in_the_plane_it_is_the_von_mises_distribution() -> None:
    peer = stats.vonmises(loc=np.pi / 2, kappa=20)
    found = VonMisesFisher([0.0, 1.0], 20.0)
    x = stats.uniform_direction(2, seed=3).rvs(10)
    angle = np.arctan2(x[:, 1], x[:, 0])
    np.testing.assert_allclose(found.entropy(), peer.entropy(), rtol=1e-12)
    np.testing.assert_allclose(found.pdf(x), peer.pdf(angle), rtol=1e-12)
    np.testing.assert_allclose(found.logpdf(x), peer.logpdf(angle), rtol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 6])
@pytest.mark.parametrize("kappa", [1.0, 10.0, 100.0, 1e3])
def test_a_fit_comes_back_to_what_was_drawn_from(d: int, kappa: float) -> None:
    drawn = VonMisesFisher(diagonal(d), kappa).rvs(10_000, rng=7)
    found = VonMisesFisher.fit(drawn)
    theirs, their_kappa = stats.vonmises_fisher.fit(drawn)
    spread = np.sqrt((d - 1) / (10_000 * kappa * float(bessel_ratio(d, kappa))))  # of the mean direction, in radians
    assert np.arccos(min(found.mu @ diagonal(d), 1.0)) < 3 * spread
    assert found.kappa == pytest.approx(kappa, rel=0.05)
    np.testing.assert_allclose(found.mu, theirs, atol=1e-12)
    assert found.kappa == pytest.approx(their_kappa, rel=1e-8)


def test_fit_checks_its_argument() -> None:
    with pytest.raises(ValueError, match="one unit vector a row"):
        VonMisesFisher.fit([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="unit"):
        VonMisesFisher.fit(np.ones((3, 3)))


def test_a_distribution_is_frozen() -> None:
    """SciPy's test_frozen_distribution: the same densities and draws with the parameters given once or every time."""
    mu = np.array([0.0, 0.0, 1.0])
    found = VonMisesFisher(mu, 5.0)
    x = stats.uniform_direction(3, seed=6).rvs(8)
    np.testing.assert_allclose(found.logpdf(x), stats.vonmises_fisher(mu, 5).logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(found.logpdf(x), stats.vonmises_fisher.logpdf(x, mu, 5), rtol=1e-12)
    np.testing.assert_array_equal(found.rvs(random_state=514), VonMisesFisher(mu, 5).rvs(rng=514))
    with pytest.raises(AttributeError):
        found.kappa = 6.0  # type: ignore[misc]
    mu[0] = 1.0
    assert found.mu.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        found.mu[0] = 1.0


def test_a_seed_gives_the_same_draws_again() -> None:
    found = VonMisesFisher([0.0, 0.0, 1.0], 5.0)
    np.testing.assert_array_equal(found.rvs(4, rng=514), found.rvs(4, rng=514))
    np.testing.assert_array_equal(found.rvs(4, rng=514), found.rvs(4, rng=np.random.default_rng(514)))
    assert (found.rvs(4, rng=1) != found.rvs(4, rng=2)).any()
