"""What TensorFlow Probability asks of its density and spherecluster of its mixtures, asked of what is here.

Sources: tensorflow_probability/python/distributions/von_mises_fisher_test.py (0.25), and spherecluster's tests and
README examples (0.1.7). The checks are written anew. River's own checks run in tests/unit/estimators.

Left out, since it does not apply:

* batches as one object: a distribution has one direction and one concentration; functions take arrays of them;
* parameters that change: a distribution is frozen;
* maps to unconstrained space, graphs and gradients: there are none;
* an asymptotic density for where SciPy's Bessel functions fail, and where that is: one density is exact everywhere;
* weights that are kept as given (``force_weights``): they are always estimated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import betainc, gammaln
from sklearn.metrics import adjusted_rand_score

from vmfstream import SphericalKMeans, VMFMixture, VonMisesFisher
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.vmf import entropy, kl


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


@pytest.mark.parametrize("directions", [[[1, 1], [-2, 1], [0, -1]], [[1, 2, 3], [-2, -3, -1]]])
def test_means_of_draws_grow_with_the_concentration(directions: list[list[int]]) -> None:
    """TensorFlow Probability's testSampleMeanDir2d and 3d, one distribution after the other."""
    for mu in np.array(directions, float):
        mu /= np.linalg.norm(mu)
        lengths = []
        for kappa in (0.0, 0.1, 2.0, 40.0, 1000.0):
            one = VonMisesFisher(mu, kappa)
            mean = one.rvs(20_000, rng=4).mean(axis=0)
            lengths.append(one.mean_cosine)
            assert np.linalg.norm(mean) == pytest.approx(one.mean_cosine, abs=0.03)
            assert kappa < 1 or mean @ mu / np.linalg.norm(mean) > 0.999
        assert lengths[0] == 0.0
        assert lengths == sorted(set(lengths))


def test_arrays_of_parameters_are_so_many_distributions() -> None:
    """TensorFlow Probability's batches: concentrations of shape (5, 1) and three directions are (5, 3)."""
    kappas = np.array([0.0, 0.1, 2.0, 40.0, 1000.0])[:, None]
    means = np.array([[1.0, 2.0, 2.0], [-2.0, 1.0, 2.0], [0.0, 0.0, -3.0]]) / 3
    other = VonMisesFisher([0.0, 0.6, 0.8], 7.0)
    entropies, divergences = entropy(3, kappas), kl(3, kappas, 7.0, means @ other.mu)
    ratios = bessel_ratio(3, kappas)
    assert (np.shape(entropies), np.shape(ratios), np.shape(divergences)) == ((5, 1), (5, 1), (5, 3))
    for i, kappa in enumerate(kappas[:, 0]):
        for j, mu in enumerate(means):
            one = VonMisesFisher(mu, float(kappa))
            assert one.entropy() == pytest.approx(entropies[i, 0], rel=1e-12)
            assert one.mean_cosine == pytest.approx(ratios[i, 0], rel=1e-12)
            assert one.kl(other) == pytest.approx(divergences[i, j], rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("kappa", [0.0, 1e-5, 0.1, 1.0, 10.0])
def test_draws_and_densities_belong_together(d: int, kappa: float) -> None:
    """TensorFlow Probability: one over the density is on average the area, here of the caps within three angles."""
    mu = np.full(d, d**-0.5)
    one = VonMisesFisher(mu, kappa)
    drawn = one.rvs(60_000, rng=8)
    inverse, cosine = 1 / one.pdf(drawn), drawn @ mu
    area = 2 * np.exp(d / 2 * np.log(np.pi) - gammaln(d / 2))
    for least in (0.9, 0.6, 0.3):
        cap = area * betainc((d - 1) / 2, 0.5, 1 - least**2) / 2
        assert (inverse * (cosine > least)).mean() == pytest.approx(cap, rel=0.1)
    if kappa < 3:
        assert inverse.mean() == pytest.approx(area, rel=0.05)


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


@pytest.mark.parametrize("kappa", [5000.0, 8000.0, 16400.0])
def test_sharp_concentrations_in_many_dimensions_are_found(kappa: float) -> None:
    """spherecluster's test_maximization."""
    mu = np.random.default_rng(1).standard_normal(500)
    mu /= np.linalg.norm(mu)
    found = VonMisesFisher.fit(VonMisesFisher(mu, kappa).rvs(2000, rng=3))
    assert found.kappa == pytest.approx(kappa, rel=0.01)
    assert np.linalg.norm(found.mu - mu) < 0.01


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("n_jobs", [None, 2, -1])
@pytest.mark.filterwarnings("ignore:.* puts all rows into")
def test_more_columns_than_rows_give_a_whole_fit(assignment: str, form: Callable[..., Any], n_jobs: int | None) -> None:
    """spherecluster's test_integration_dense and test_integration_sparse: 20 rows in 100 dimensions, five clusters."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((20, 100)) * (rng.random((20, 100)) < 0.1)
    mixture = VMFMixture(5, assignment=assignment, n_jobs=n_jobs, random_state=0).fit(form(x))
    assert mixture.means_.shape == (5, 100)
    np.testing.assert_allclose(np.linalg.norm(mixture.means_, axis=1), 1.0, rtol=1e-12)
    assert (mixture.concentrations_ > 0).all()
    assert mixture.concentrations_.shape == mixture.weights_.shape == (5,)
    assert mixture.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(mixture.predict(form(x)), mixture.labels_)
    np.testing.assert_array_equal(mixture.predict_proba(form(x)).argmax(axis=1), mixture.labels_)


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
