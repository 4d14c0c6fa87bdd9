"""The algorithms that the papers compare, by the papers' names, from a common start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Rows
from vmfstream.directional.params import Mixture
from vmfstream.mixtures import frequency_sensitive, kmeans, movmf
from vmfstream.mixtures.seeding import perturbed_means

FSKMEANS, SPKMEANS, HARD, SOFT = PRINTED = ("fskmeans", "spkmeans", "hard-moVMF", "soft-moVMF")
"""The algorithms of Banerjee et al., all from means near the mean of all documents, without annealing."""

TIED = "soft-moVMF, one κ"
"""soft-moVMF with one concentration for all clusters."""

OURS = "vmfstream"
"""The same model as vmfstream fits it by default: annealed, seeded by k-means++, one unbiased κ."""

STEP = 1e-3
"""Length of the random step from the mean of all documents to each first mean; the paper says "small"."""

VAGUE = 10.0
"""The first concentration, as printed."""

OWN = "vmfstream, own κ"
"""The same with a concentration for each cluster."""

MARGINAL, DEBIASED = "κ marginal", "κ debiased"
"""soft-moVMF with estimators of the concentration that have no small-sample bias."""

MOST_SWEEPS = 200

TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """Labels of the documents, the mean directions (D, K) of the clusters, their concentrations and weights."""

    labels: NDArray[np.int64]
    mu: NDArray[np.floating[Any]]
    kappa: NDArray[np.float64]
    weights: NDArray[np.float64]
    sweeps: int


Algorithm: TypeAlias = Callable[[Rows, int, int], Clustering]


def cluster(x: Rows, k: int, algorithm: str, seed: int) -> Clustering:
    """Cluster unit rows ``x`` (N, D) into ``k`` by the ``algorithm`` of that name.

    Equal values of ``seed`` give the printed algorithms the same start.
    """
    return ALGORITHMS[algorithm](x, k, seed)


def printed_start(x: Rows, k: int, seed: int) -> Mixture:
    """Return where the printed algorithms start: means near the mean of all documents, equal weights, a low kappa.

    ``x`` are unit rows (N, D), ``k`` is the number of means, which ``seed`` spreads.
    """
    mu = perturbed_means(x, k, np.random.default_rng(seed), step=STEP)
    return Mixture(np.full(k, 1.0 / k), mu, np.full(k, VAGUE))


def _as_printed(**options: Any) -> Algorithm:
    chosen = {"concentration": "own", "estimator": "banerjee", "max_iter": MOST_SWEEPS, "tol": TOLERANCE, **options}

    def fit(x: Rows, k: int, seed: int) -> Clustering:
        start = printed_start(x, k, seed)
        run = movmf.fit(x, k, rng=np.random.default_rng(seed), init=start, anneal=False, **chosen)
        return Clustering(run.labels, run.mixture.mu[:, :k], run.mixture.kappa, run.mixture.pi, run.n_iter)

    return fit


def _as_public(**options: Any) -> Algorithm:
    def fit(x: Rows, k: int, seed: int) -> Clustering:
        from vmfstream.estimators.mixtures import VMFMixture

        run = VMFMixture(k, max_iter=MOST_SWEEPS, random_state=seed, **options).fit(x)
        return Clustering(run.labels_, run.means_.T, run.concentrations_, run.weights_, run.n_iter_)

    return fit


def _kmeans(sweeps: Callable[..., kmeans.KMeansFit]) -> Algorithm:
    def fit(x: Rows, k: int, seed: int) -> Clustering:
        run = sweeps(x, printed_start(x, k, seed).mu, k, max_iter=MOST_SWEEPS)
        return Clustering(run.labels, run.mu[:, :k], run.kappa, run.sizes / run.sizes.sum(), run.n_iter)

    return fit


ALGORITHMS: Mapping[str, Algorithm] = {
    FSKMEANS: _kmeans(frequency_sensitive.frequency_sensitive),
    SPKMEANS: _kmeans(kmeans.spherical_kmeans),
    HARD: _as_printed(assignment="hard"),
    SOFT: _as_printed(),
    TIED: _as_printed(concentration="shared"),
    OURS: _as_public(),
    OWN: _as_public(concentration="own"),
    MARGINAL: _as_printed(estimator="marginal"),
    DEBIASED: _as_printed(estimator="debiased"),
}
