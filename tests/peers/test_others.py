"""What TensorFlow Probability asks of its density and spherecluster of its mixtures, asked of what is here.

Sources: tensorflow_probability/python/distributions/von_mises_fisher_test.py (0.25), and spherecluster's tests and
README examples (0.1.7). The checks are written anew. River's own checks run in tests/unit/estimators.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

from vmfstream import SphericalKMeans, VMFMixture, VonMisesFisher
from vmfstream.directional.bessel import bessel_ratio


@pytest.mark.parametrize("d", [2, 3, 5, 20])
@pytest.mark.parametrize("kappa", [0.0, 0.1, 1.0, 25.0, 1000.0])
def test_densities_integrate_to_one(d: int, kappa: float) -> None:
    """TensorFlow Probability: over the sphere, here over the angle with the mean direction."""
    one = VonMisesFisher(np.eye(d)[0], kappa)
    area = np.exp(np.log(2) + (d - 1) / 2 * np.log(np.pi) - gammaln((d - 1) / 2))

    def ring(angle: float) -> float:
        x = np.zeros(d)
        x[0], x[1] = np.cos(angle), np.sin(angle)
        return float(one.pdf(x) * np.sin(angle) ** (d - 2))

    narrow = min(np.pi, 12 / np.sqrt(max(kappa, 1.0)) + (0 if kappa > 200 else np.pi))
    assert area * quad(ring, 0.0, narrow, limit=200)[0] == pytest.approx(1.0, rel=1e-8)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("kappa", [0.0, 1.0, 10.0])
def test_moments_of_draws_are_those_of_the_distribution(d: int, kappa: float) -> None:
    """TensorFlow Probability: mean A(kappa) mu; variance along mu 1 - A^2 - (d - 1) A / kappa, across A / kappa."""
    mu = np.eye(d)[-1]
    n = 20_000
    drawn = VonMisesFisher(mu, kappa).rvs(n, rng=3)
    ratio = float(bessel_ratio(d, kappa))
    across = 1 / d if kappa == 0 else ratio / kappa
    along = 1 - ratio**2 - (d - 1) * across
    wanted = across * np.eye(d) + (along - across) * np.outer(mu, mu)
    np.testing.assert_allclose(drawn.mean(axis=0), ratio * mu, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(np.cov(drawn.T), wanted, atol=5 / np.sqrt(n))


@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_mode_is_the_mean_direction(d: int) -> None:
    mu = np.full(d, d**-0.5)
    one = VonMisesFisher(mu, 4.0)
    assert (one.logpdf(mu) > one.logpdf(stats.uniform_direction(d, seed=1).rvs(100))).all()


def test_divergence_is_the_mean_difference_of_log_densities() -> None:
    one, other = VonMisesFisher([1.0, 0.0, 0.0], 8.0), VonMisesFisher([0.6, 0.8, 0.0], 3.0)
    drawn = one.rvs(40_000, rng=5)
    apart = one.logpdf(drawn) - other.logpdf(drawn)
    assert one.kl(other) == pytest.approx(apart.mean(), abs=5 * apart.std() / 200)
    assert one.kl(one) == 0.0


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_the_small_mix_is_told_apart(assignment: str) -> None:
    """spherecluster: two components on the circle, nearly opposite, of concentrations 8 and 2."""
    rng = np.random.default_rng(11)
    label = (rng.random(200) < 0.7).astype(int)
    means = np.array([[-0.251, -0.968], [0.399, 0.917]])
    x = np.empty((200, 2))
    for k, kappa in enumerate((8.0, 2.0)):
        x[label == k] = VonMisesFisher(means[k] / np.linalg.norm(means[k]), kappa).rvs(int((label == k).sum()), rng=k)
    mixture = VMFMixture(2, assignment=assignment, concentration="own", estimator="mle", random_state=0).fit(x)
    order = np.argsort(mixture.means_[:, 1])
    cosines = (mixture.means_[order] * means / np.linalg.norm(means, axis=1)[:, None]).sum(axis=1)
    assert (cosines > 0.97).all()
    assert mixture.concentrations_[order][0] > 1.5 * mixture.concentrations_[order][1]
    assert mixture.weights_[order][1] == pytest.approx(label.mean(), abs=0.12)


def test_sparse_and_dense_text_like_rows_agree() -> None:
    """spherecluster: mixtures and spherical k-means of sparse rows are those of the same dense rows."""
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 3, 150)
    counts = rng.poisson(np.where(np.arange(60) // 20 == truth[:, None], 1.0, 0.05)).astype(float)
    for make in (VMFMixture, SphericalKMeans):
        dense, sparse = (make(3, random_state=0).fit(rows) for rows in (counts, csr_array(counts)))
        np.testing.assert_array_equal(dense.labels_, sparse.labels_)
        np.testing.assert_allclose(dense.means_, sparse.means_, atol=1e-10)
        assert adjusted_rand_score(truth, dense.labels_) > 0.9
