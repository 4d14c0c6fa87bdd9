"""The models and the baselines of [GY14] by name, on starts that are common to them, and the tasks that fit them.

Tasks name the ``data`` set, the ``method`` and the number ``k`` of clusters; ``seed`` decides the start and ``draw``
which half is held out.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from vmfstream import datasets, metrics
from vmfstream.arrays import ClusterLabels, Rows, Vector
from vmfstream.datasets import Dataset
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.replay.papers import spherical_topics
from vmfstream.replay.papers.gopal_yang_data import dated, halves, labelled
from vmfstream.replay.papers.work import Result

V, B_MODE, B_SAMPLED = "vMFmix", "B-vMFmix, MAP", "B-vMFmix, sampled κ"
"""The paper's: EM with one κ; a mode of the posterior (its Table 2); variational, its priors learnt (its Table 3)."""

B_MODE_TIED, B_TIED = "B-vMFmix, MAP, one κ", "B-vMFmix, one κ"
"""The same starts and priors with one concentration for all clusters; the second variational."""

V_OURS, B_OURS, B_OWN = "vMFmix, vmfstream", "B-vMFmix, vmfstream", "B-vMFmix, vmfstream, own κ"
"""As vmfstream fits them by default, annealed; the last with a concentration for each cluster."""

B_STRONG = "B-vMFmix, annealed, strong prior"
"""The Bayesian mixture itself annealed under a prior that holds clusters near the mean of all documents."""

STRONG = 0.95

LEARNT = ("alpha", "mu0", "c0", "kappa")
"""The priors that the paper learns: all."""

KMEANS, GAUSSIAN, MULTINOMIAL, LDA = "K-means", "Gaussian mixture", "multinomial mixture", "LDA"

SPHERICAL = "spherical topic model"
"""The paper names it as related work and does not compare with it."""

T, T_OURS, T_OWN = "T-vMFmix, mean field", "T-vMFmix, vmfstream", "T-vMFmix, vmfstream, own κ"

TEMPORAL = (T, T_OURS, T_OWN)

PERSISTENCE = 0.9
"""Of the mean-field model; the paper sets its C_0 by hand and does not say to what."""

MOST_SWEEPS = 200

TOLERANCE = 1e-4
"""Change of the log-likelihood per document, in nats, at which the baselines are at rest."""


def random_labels(n: int, k: int, seed: int) -> ClusterLabels:
    """Return the clusters (n,) in which ``n`` documents start, equal for all methods of a restart."""
    return np.random.default_rng(seed).integers(k, size=n)


def _mixture(x: Rows, k: int, seed: int, name: str) -> Any:
    from vmfstream.estimators.bayesian import BayesianVMFMixture
    from vmfstream.estimators.mixtures import VMFMixture

    given: dict[str, Any] = {"init": random_labels(x.shape[0], k, seed)}
    if name == V:
        options = given | {"estimator": "banerjee", "anneal": False, "n_init": 1, "max_iter": MOST_SWEEPS}
        return VMFMixture(k, random_state=seed, **options)
    if name == V_OURS:
        return VMFMixture(k, random_state=seed)
    options = {
        B_MODE: given | {"inference": "map", "concentration": "own"},
        B_MODE_TIED: given | {"inference": "map"},
        B_SAMPLED: given | {"kappa": "sampling", "concentration": "own", "empirical_bayes": LEARNT},
        B_TIED: given,
        B_STRONG: {"init": "annealed", "prior_cosine": STRONG},
        B_OURS: {},
        B_OWN: {"concentration": "own"},
    }[name]
    return BayesianVMFMixture(k, random_state=seed, **options)


def fitted(model: Any, x: Rows, **given: Any) -> Any:
    """Fit an estimator; sweeps that end before they rest are no reason to warn here.

    Parameters
    ----------
    model : the estimator
    x : (N, D) unit rows
    given : what else its ``fit`` takes, by name
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x, **given)


def _kmeans(data: Dataset, k: int, seed: int) -> ClusterLabels:
    from sklearn.cluster import KMeans

    start = _shares(random_labels(data.x.shape[0], k, seed), k)
    means = np.asarray((data.x.T @ start).T) / np.maximum(start.sum(axis=0), 1.0)[:, None]
    labels: ClusterLabels = fitted(KMeans(k, init=means, n_init=1, random_state=seed), data.x).labels_
    return labels


def _lda(data: Dataset, k: int, seed: int) -> ClusterLabels:
    from sklearn.decomposition import LatentDirichletAllocation

    topics = LatentDirichletAllocation(k, random_state=seed).fit_transform(_counts(data))
    labels: ClusterLabels = topics.argmax(axis=1)
    return labels


def _spherical_topics(data: Dataset, k: int, seed: int) -> ClusterLabels:
    x = csr_array(data.x, dtype=np.float64)
    return spherical_topics.cluster(x, random_labels(x.shape[0], k, seed), k)


def _counts(data: Dataset) -> csr_array:
    if data.counts is None:
        raise ValueError(f"{data.name}: expected word counts, got none")
    return csr_array(data.counts, dtype=np.float64)


def _shares(labels: ClusterLabels, k: int) -> Vector:
    return np.eye(k)[labels]


def expectation_maximisation(
    scores: Callable[[Vector], Vector], labels: ClusterLabels, k: int, most: int = MOST_SWEEPS
) -> ClusterLabels:
    """Run EM from ``labels`` (N,) in ``k`` clusters to rest and return the likeliest clusters.

    It does at most ``most`` sweeps. ``scores`` re-estimates the model from responsibilities (N, K) and returns the
    joint log-densities of documents and clusters, (N, K), under it.
    """
    shares, before = _shares(labels, k), -np.inf
    for _ in range(most):
        joint = scores(shares)
        density = logsumexp(joint, axis=1)
        shares = np.exp(joint - density[:, None])
        if abs(density.mean() - before) < TOLERANCE:
            break
        before = density.mean()
    return np.asarray(shares.argmax(axis=1))


def gaussian_scores(x: csr_array) -> Callable[[Vector], Vector]:
    """Return the step of a mixture of Gaussians of one variance, whose means shrink as if each held the corpus mean."""
    n, d = x.shape
    centre = np.asarray(x.mean(axis=0)).ravel()
    squares = np.asarray(x.multiply(x).sum(axis=1)).ravel()

    def scores(shares: Vector) -> Vector:
        nk = shares.sum(axis=0)
        means = (np.asarray(x.T @ shares) + centre[:, None]) / (nk + 1.0)
        distances = np.maximum(squares[:, None] - 2.0 * np.asarray(x @ means) + (means**2).sum(axis=0), 0.0)
        variance = float((shares * distances).sum() / (n * d))
        joint: Vector = _log_weights(nk) - 0.5 * distances / variance - 0.5 * d * np.log(2.0 * np.pi * variance)
        return joint

    return scores


def multinomial_scores(counts: csr_array) -> Callable[[Vector], Vector]:
    """Return the step of a mixture of multinomials whose words were all seen once more in every cluster."""

    def scores(shares: Vector) -> Vector:
        words = np.asarray(counts.T @ shares) + 1.0
        joint: Vector = counts @ np.log(words / words.sum(axis=0)) + _log_weights(shares.sum(axis=0))
        return joint

    return scores


def _log_weights(nk: Vector) -> Vector:
    """Log-weights with one document more in every cluster."""
    return np.asarray(np.log((nk + 1.0) / (nk.sum() + len(nk))))


def _by_em(step: Callable[[Dataset], Callable[[Vector], Vector]]) -> Callable[[Dataset, int, int], ClusterLabels]:
    def fit(data: Dataset, k: int, seed: int) -> ClusterLabels:
        return expectation_maximisation(step(data), random_labels(data.x.shape[0], k, seed), k)

    return fit


BASELINES: Mapping[str, Callable[[Dataset, int, int], ClusterLabels]] = {
    KMEANS: _kmeans,
    GAUSSIAN: _by_em(lambda data: gaussian_scores(csr_array(data.x))),
    MULTINOMIAL: _by_em(lambda data: multinomial_scores(_counts(data))),
    LDA: _lda,
    SPHERICAL: _spherical_topics,
}


def clustered_once(data: str, method: str, k: int, seed: int, weighting: datasets.Weighting = "ltc") -> Result:
    """Cluster a labelled data set, whose words have this ``weighting``, and score the result."""
    chosen = labelled(data)
    if weighting != "ltc":
        x = datasets.weigh(_counts(chosen), weighting)
        chosen = Dataset(data, x, chosen.y, chosen.classes, chosen.terms, chosen.counts)
    begun = time.perf_counter()
    if method in BASELINES:
        labels = BASELINES[method](chosen, k, seed)
    else:
        labels = fitted(_mixture(chosen.x, k, seed, method), chosen.x).labels_
    return {
        "seconds": time.perf_counter() - begun,
        "NMI": metrics.normalized_mutual_information(labels, chosen.y),
        "ARI": metrics.adjusted_rand_index(labels, chosen.y),
        "clusters": len(np.unique(labels)),
    }


def held_out_once(data: str, method: str, k: int, seed: int, draw: int) -> Result:
    """Fit one part of a data set and score the other."""
    train, test = halves(data, draw)
    return scored(fitted(_mixture(train, k, seed, method), train), test)


def _temporal(k: int, method: str, seed: int) -> Any:
    from vmfstream.estimators.temporal import TemporalVMFMixture

    options: dict[str, Any] = {"persistence": "auto", "concentration": "shared" if method == T_OURS else "own"}
    if method == T:
        options |= {"inference": "meanfield", "persistence": PERSISTENCE, "n_init": 1}
    return TemporalVMFMixture(k, random_state=seed, **options)


def next_year_once(data: str, method: str, k: int, year: int, seed: int) -> Result:
    """Fit all documents before a ``year`` and score those of the year."""
    documents = dated(data)
    past, ahead = documents.years < year, documents.years == year
    x = documents.x[past]
    if method in TEMPORAL:
        model = fitted(_temporal(k, method, seed), x, slices=documents.years[past])
    else:
        model = fitted(_mixture(x, k, seed, method), x)
    return scored(model, documents.x[ahead])


def scored(model: Any, test: Rows) -> Result:
    """Return how a fitted model scores documents: their log-likelihood, and per document relative to uniform."""
    likelihood = metrics.held_out(model.score_samples(test), test.shape[1])
    return {
        "total": likelihood.total,
        "relative": likelihood.relative,
        "documents": test.shape[0],
        "uniform": float(log_c_uniform(test.shape[1])),
    }
