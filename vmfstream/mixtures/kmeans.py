"""Spherical k-means: the hard limit of a mixture with equal weights and one concentration.

    z_i = argmax_k x_i'mu_k,   mu_k = S_k / |S_k|

Rows without direction take no part; their label is -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.kernels import padded
from vmfstream.directional.sphere import SAME
from vmfstream.mixtures.columns import eligible
from vmfstream.mixtures.sums import Scored, directions, move, score
from vmfstream.progress import swept

SHARP = 1e6
"""A concentration at which all but the nearest mean are negligible: assignments do not depend on it."""


@dataclass(frozen=True, slots=True, eq=False)
class KMeansFit:
    """Clusters of spherical or frequency-sensitive k-means.

    ``mu`` (D, kp) are the normalised sums of the rows with the ``labels`` (N,); ``sizes`` (k,) their weights, ``kappa``
    (k,) the concentrations of frequency-sensitive scores (else `SHARP`), ``trace`` the mean cosine of documents with
    the mean of their cluster after each sweep.
    """

    mu: Floats
    labels: NDArray[np.int64]
    sizes: Vector
    kappa: Vector
    trace: Vector
    n_iter: int
    converged: bool


def spherical_kmeans(
    x: Rows, mu: Floats, k: int, *, max_iter: int = 100, weights: Vector | None = None, threads: int = 1
) -> KMeansFit:
    """Assign rows to the mean of largest cosine and renew the means, until labels rest or ``max_iter`` sweeps are done.

    sum_k |S_k| never falls. An empty cluster is given the row that fits its own cluster worst, which does not lower it
    either: |S - x| >= |S| - |x|. It stays empty if every row is the mean of its cluster.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns, padded with zeros
    k : int, number of clusters
    max_iter : int, largest number of sweeps
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    References
    ----------
    [BDGS05] section 5 (spkmeans).
    """
    slope, offset = np.full(k, SHARP), np.zeros(k)
    taking_part = eligible(x, weights)
    labels = np.full(x.shape[0], -1, np.int64)
    sizes, trace = np.zeros(k), list[float]()
    converged = False
    for _ in range(max_iter):
        scored = score(x, mu, slope, offset, hard=True, weights=weights, threads=threads)
        new = _filled(x, scored, taking_part, weights)
        converged = np.array_equal(new[taking_part], labels[taking_part])
        if converged:
            break
        labels, sizes = new, scored.sums.nk
        mu = directions(scored.sums, mu)
        trace.append(mean_cosine(scored))
        swept(len(trace), "mean cosine", trace[-1])
    return KMeansFit(mu, labels, sizes, slope, np.array(trace), len(trace), converged)


def spare_rows(
    labels: NDArray[np.int64], fit: Vector, taking_part: NDArray[np.bool_], k: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose the worst fitting rows of clusters that can spare them, one for every empty cluster.

    Rows that fit perfectly are not spared: the new cluster would be the same as the old.

    Parameters
    ----------
    labels : (N,) cluster of every row
    fit : (N,) how well a row fits its cluster, 1 at best; rounded as its dtype rounds
    taking_part : (N,) which rows take part
    k : int, number of clusters

    Returns
    -------
    rows, clusters : the rows chosen, and the empty clusters they are for
    """
    counts = np.bincount(labels[taking_part], minlength=k)
    empty = np.flatnonzero(counts == 0)
    rows = list[int]()
    same = SAME[fit.dtype.name]
    for row in np.argsort(np.where(taking_part, fit, np.inf))[: taking_part.sum()] if len(empty) else ():
        if len(rows) == len(empty) or fit[row] > 1 - same:
            break
        if counts[labels[row]] > 1:
            counts[labels[row]] -= 1
            rows.append(row)
    return np.array(rows, np.int64), empty[: len(rows)]


def mean_cosine(scored: Scored) -> float:
    """Mean cosine of documents with the normalised sum of their cluster, sum_k |S_k| / N."""
    return float(scored.sums.norms.sum() / scored.sums.nk.sum())


def _filled(x: Rows, scored: Scored, taking_part: NDArray[np.bool_], weights: Vector | None) -> NDArray[np.int64]:
    """Give every empty cluster the worst fitting row of a cluster that can spare it; return the labels."""
    labels = scored.label.astype(np.int64)
    k = len(scored.sums.nk)
    taken, topics = spare_rows(labels, (scored.loglik / SHARP).astype(x.dtype), taking_part, k)
    if not len(taken):
        return labels
    resp = np.zeros((len(taken), padded(k)), x.dtype)
    resp[np.arange(len(taken)), labels[taken]] = 1 if weights is None else weights[taken]
    move(x, scored.sums, taken, resp, topics)
    labels[taken] = topics
    return labels
