"""Starts of mixtures: labels by cosine k-means++ and spherical k-means, perturbed means, random responsibilities.

Functions draw with ``rng`` from unit rows ``x`` (N, D), in proportion to ``weights`` (N,) where there are any, for
``k`` topics.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Mixture
from vmfstream.directional.sphere import cosine_plus_plus, drawing_order
from vmfstream.mixtures.columns import dense_rows, directed, eligible
from vmfstream.mixtures.kmeans import spherical_kmeans
from vmfstream.mixtures.sums import directions, weighted, weighted_sums

PERTURBATION = 0.1
"""Length of the random step by which perturbed means leave the mean of all documents."""

SURPLUS = 2
"""Clusters that agglomeration begins with, as a multiple of those that are wanted."""

VAGUE = 10.0
"""Concentration of the mixture that starts from perturbed means ([BDGS05] section 7)."""


def one_hot(labels: NDArray[np.integer], k: int, dtype: np.typing.DTypeLike = np.float32) -> Floats:
    """Responsibilities (N, kp) of ``dtype`` for ``labels`` (N,); a negative label gives a row of zeros.

    Raises ValueError for a label of ``k`` or more.
    """
    labels = np.asarray(labels)
    if labels.size and labels.max() >= k:
        raise ValueError(f"labels must be below k = {k}; got {labels.max()}")
    resp = np.zeros((len(labels), padded(k)), dtype)
    labelled = np.flatnonzero(labels >= 0)
    resp[labelled, labels[labelled]] = 1
    return resp


def agglomerated_labels(
    x: Rows, k: int, rng: np.random.Generator, weights: NDArray[np.float64] | None = None, threads: int = 1
) -> NDArray[np.int64]:
    """Labels (N,) of `SURPLUS` times ``k`` clusters of which the two that lose least became one until ``k`` are left.

    With S the sum of a cluster two of them lose |S_a| + |S_b| - |S_a + S_b|. ``threads`` share the rows.

    References
    ----------
    [BDGS05] section 7 (more clusters than needed, then put together).
    """
    many = min(SURPLUS * k, int(eligible(x, weights).sum()))
    labels = seed_labels(x, many, rng, weights=weights, threads=threads)
    sums = weighted_sums(x, weighted(one_hot(labels, many, x.dtype), weights), many, threads).s
    products = np.asarray(sums.T @ sums, np.float64)[:many, :many]
    of = np.arange(many)
    for _ in range(many - k):
        squared = products.diagonal()
        length = np.sqrt(squared)
        together = np.sqrt(np.maximum(squared[:, None] + squared + 2.0 * products, 0.0))
        lost = np.where(np.tri(len(squared), dtype=np.bool_), np.inf, length[:, None] + length - together)
        into, gone = np.unravel_index(int(lost.argmin()), lost.shape)
        products[into] += products[gone]
        products[:, into] += products[:, gone]
        products = np.delete(np.delete(products, gone, axis=0), gone, axis=1)
        of = np.where(of == gone, into, of - (of > gone))
    return np.where(labels >= 0, of[labels], -1)


def agglomerated_means(x: Rows, k: int, rng: np.random.Generator, weights: NDArray[np.float64] | None = None) -> Floats:
    """Mean directions (D, kp) of the clusters of `agglomerated_labels`, a row of those whose rows cancel."""
    member = weighted(one_hot(agglomerated_labels(x, k, rng, weights), k, x.dtype), weights)
    return directions(weighted_sums(x, member, k), means_at(x, member[:, :k].argmax(axis=0)))


def random_responsibilities(x: Rows, k: int, rng: np.random.Generator) -> Floats:
    """Responsibilities (N, kp) drawn uniformly from the simplex, zero for rows without direction."""
    resp = np.zeros((x.shape[0], padded(k)), x.dtype)
    order = drawing_order(x)
    order = order[directed(x)[order]]
    resp[order, :k] = rng.dirichlet(np.ones(k), size=len(order))
    return resp


def start_from(
    x: Rows,
    k: int,
    init: str | Floats | Mixture,
    rng: np.random.Generator,
    weights: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> Floats | Mixture:
    """Return where EM starts: responsibilities (N, kp), or a whole mixture.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    k : int, number of topics
    init : ``"k-means++"`` (labels of `seed_labels`), ``"agglomerative"`` (of `agglomerated_labels`), ``"random"``
        (random responsibilities), ``"perturbed-mean"`` (means near the mean of all documents, equal weights and the
        concentration `VAGUE`: the start of [BDGS05]), responsibilities (N, k) or (N, kp), or a mixture
    rng : numpy.random.Generator
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Raises
    ------
    ValueError
        An unknown name, or responsibilities or a mixture of another shape.
    """
    if isinstance(init, Mixture):
        if init.k != k or init.mu.shape != (x.shape[1], padded(k)):
            raise ValueError(f"init must have {k} topics in {x.shape[1]} dimensions; got {init.k} in {init.d}")
        return Mixture(init.pi, np.ascontiguousarray(init.mu, x.dtype), init.kappa)
    if isinstance(init, str):
        if init == "k-means++":
            return one_hot(seed_labels(x, k, rng, weights=weights, threads=threads), k, x.dtype)
        if init == "agglomerative":
            return one_hot(agglomerated_labels(x, k, rng, weights, threads), k, x.dtype)
        if init == "random":
            return random_responsibilities(x, k, rng)
        if init == "perturbed-mean":
            return Mixture(np.full(k, 1 / k), perturbed_means(x, k, rng, weights), np.full(k, VAGUE))
        raise ValueError(
            "init must be 'k-means++', 'agglomerative', 'random', 'perturbed-mean', responsibilities or a mixture; "
            f"got {init!r}"
        )
    given = np.asarray(init)
    kp = padded(k)
    if given.ndim != 2 or given.shape[0] != x.shape[0] or given.shape[1] not in (k, kp):
        raise ValueError(f"init must have shape {(x.shape[0], k)} or {(x.shape[0], kp)}; got {given.shape}")
    resp = np.zeros((x.shape[0], kp), x.dtype)
    resp[:, :k] = given[:, :k]
    resp[~directed(x)] = 0
    return resp


def seed_means(x: Rows, k: int, rng: np.random.Generator, weights: NDArray[np.float64] | None = None) -> Floats:
    """Mean directions (D, kp) at documents that are far apart, drawn by cosine k-means++.

    Documents of fewer than ``k`` directions are drawn once more, whatever their distance.
    """
    seeds = cosine_plus_plus(x, k, rng, weights)
    if len(seeds) < k:
        others = np.setdiff1d(np.flatnonzero(eligible(x, weights)), seeds)
        seeds = np.append(seeds, rng.choice(others, k - len(seeds), replace=False))
    return means_at(x, seeds)


def random_means(x: Rows, k: int, rng: np.random.Generator, weights: NDArray[np.float64] | None = None) -> Floats:
    """Mean directions (D, kp) at ``k`` different documents, drawn by their weights."""
    rows = np.flatnonzero(eligible(x, weights))
    chance = None if weights is None else weights[rows] / weights[rows].sum()
    return means_at(x, rng.choice(rows, k, replace=False, p=chance))


def perturbed_means(
    x: Rows, k: int, rng: np.random.Generator, weights: NDArray[np.float64] | None = None, step: float = PERTURBATION
) -> Floats:
    """Mean directions (D, kp) near the mean of all documents: normalise(m + step g_k), g_k random unit vectors.

    ``step`` > 0 is the length of what is added to the unit vector m.

    References
    ----------
    [BDGS05] section 7.
    """
    mass = (np.ones(x.shape[0]) if weights is None else weights).astype(x.dtype)
    mean = np.asarray(x.T @ mass, np.float64)
    length = float(np.linalg.norm(mean))
    mu = np.zeros((x.shape[1], padded(k)))
    mu[:, :k] = rng.standard_normal((x.shape[1], k))
    mu[:, :k] *= step / np.linalg.norm(mu[:, :k], axis=0)
    mu[:, :k] += (mean / length if length > 0 else mean)[:, None]
    mu[:, :k] /= np.linalg.norm(mu[:, :k], axis=0)
    return np.asarray(mu.astype(x.dtype, copy=False))


def means_at(x: Rows, rows: NDArray[np.int64]) -> Floats:
    """Mean directions (D, kp) at some ``rows`` of ``x``."""
    mu = np.zeros((x.shape[1], padded(len(rows))), x.dtype)
    mu[:, : len(rows)] = dense_rows(x, rows).T
    return mu


def seed_labels(
    x: Rows,
    k: int,
    rng: np.random.Generator,
    sweeps: int = 5,
    weights: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Labels of ``sweeps`` spherical k-means sweeps from seeds drawn by cosine k-means++.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows, at least k of them with a direction
    k : int, number of clusters
    rng : numpy.random.Generator
    sweeps : int >= 1
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Returns
    -------
    (N,) int64, -1 for rows without direction.

    Raises
    ------
    ValueError
        ``k`` is not between 1 and the number of rows with a direction.
    """
    rows = int(directed(x).sum())
    if not 1 <= k <= rows:
        raise ValueError(f"k must be between 1 and the {rows} rows with a direction; got {k}")
    mu = seed_means(x, k, rng, weights)
    return spherical_kmeans(x, mu, k, max_iter=sweeps, weights=weights, threads=threads).labels
