"""Spherical k-means and its frequency-sensitive relatives: hard limits of mixtures with equal weights.

    z_i = argmax_k x_i'mu_k,   mu_k = S_k / |S_k|                                 spherical k-means
    z_i = argmax_k of a score that also falls with the size of cluster k          frequency-sensitive k-means

Rows without direction take no part; their label is -1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.bessel import R_MAX, R_MIN, inv_bessel_ratio, log_partition
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Rows
from vmfstream.mixtures.columns import Floats, directed
from vmfstream.mixtures.sums import Scored, Vector, directions, move, score

Score: TypeAlias = Literal["exact", "asymptotic"]

SCORES: tuple[Score, ...] = ("exact", "asymptotic")

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
    either: |S - x| >= |S| - |x|.

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
    held = eligible(x, weights)
    labels = np.full(x.shape[0], -1, np.int64)
    sizes, trace = np.zeros(k), list[float]()
    converged = False
    for _ in range(max_iter):
        scored = score(x, mu, slope, offset, hard=True, weights=weights, threads=threads)
        new = _filled(x, scored, held, weights)
        converged = np.array_equal(new, labels)
        if converged:
            break
        labels, sizes = new, scored.sums.nk
        mu = directions(scored.sums, mu)
        trace.append(_mean_cosine(scored))
    return KMeansFit(mu, labels, sizes, slope, np.array(trace), len(trace), converged)


def frequency_sensitive(
    x: Rows,
    mu: Floats,
    k: int,
    *,
    score_by: Score = "exact",
    scale: float | None = None,
    max_iter: int = 100,
    tol: float = 1e-3,
    weights: Vector | None = None,
    threads: int = 1,
) -> KMeansFit:
    """Spherical k-means whose scores favour clusters that were small in the sweep before.

    With kappa_k = scale (N / K) / n_k the score is kappa_k x'mu_k - ell(kappa_k) (``exact``), or its form for kappa
    much larger than D, -kappa_k (1 - x'mu_k) + ((D - 1) / 2) log kappa_k (``asymptotic``).

    Parameters
    ----------
    x, mu, k, max_iter, weights, threads
        As in `spherical_kmeans`.
    score_by : which score
    scale : float > 0, the concentration of a cluster of average size; see `default_scale`, the default
    tol : float, stop when at most this share of the rows changes its label

    Notes
    -----
    There is no objective that it climbs.

    References
    ----------
    [BDGS05] section 5.1, [BG02].
    """
    count = _Count.of(x, k, weights)
    if scale is None:
        scale = default_scale(x, mu, k, weights=weights, threads=threads)
    labels = np.full(x.shape[0], -1, np.int64)
    sizes, trace = np.full(k, count.average), list[float]()
    converged = False
    while not converged and len(trace) < max_iter:
        line = scores(x.shape[1], count.concentrations(scale, sizes), score_by)
        scored = score(x, mu, *line, hard=True, weights=weights, threads=threads)
        converged = np.mean(scored.label != labels) <= tol
        labels, sizes = scored.label.astype(np.int64), scored.sums.nk
        mu = directions(scored.sums, mu)
        trace.append(_mean_cosine(scored))
    return KMeansFit(
        mu, labels, sizes, count.concentrations(scale, sizes), np.array(trace), len(trace), bool(converged)
    )


def scores(d: int, kappa: Vector, score_by: Score) -> tuple[Vector, Vector]:
    """Slopes and offsets (k,) of the frequency-sensitive scores of clusters with concentrations ``kappa``."""
    if score_by == "exact":
        return kappa, -np.asarray(log_partition(d, kappa))
    if score_by == "asymptotic":
        return kappa, 0.5 * (d - 1) * np.log(kappa) - kappa
    raise ValueError(f"score_by must be one of {', '.join(SCORES)}; got {score_by!r}")


def default_scale(x: Rows, mu: Floats, k: int, *, weights: Vector | None = None, threads: int = 1) -> float:
    """Concentration of a cluster of average size: (K / N) A^-1(m / 2), m the median over rows of the largest cosine.

    Small clusters are favoured only while A(kappa_k) is below the cosine of their documents; so chosen, this holds down
    to clusters of one document.
    """
    slope = np.full(k, SHARP)
    nearest = score(x, mu, slope, np.zeros(k), hard=True, threads=threads).loglik / SHARP
    typical = float(np.median(nearest[eligible(x, weights)]))
    kappa = float(inv_bessel_ratio(x.shape[1], np.clip(0.5 * typical, R_MIN, R_MAX)))
    count = _Count.of(x, k, weights)
    return kappa * count.unit / count.average


@dataclass(frozen=True, slots=True)
class _Count:
    """Sizes of clusters in the scores: of an average cluster, and of a single document."""

    average: float
    unit: float

    @classmethod
    def of(cls, x: Rows, k: int, weights: Vector | None) -> _Count:
        held = eligible(x, weights)
        rows = int(held.sum())
        total = float(rows if weights is None else weights[held].sum())
        return cls(total / k, total / rows)

    def concentrations(self, scale: float, sizes: Vector) -> Vector:
        return scale * self.average / np.maximum(sizes, self.unit)


def eligible(x: Rows, weights: Vector | None) -> NDArray[np.bool_]:
    """Mark the rows that have a direction and, if weights are given, a weight."""
    return directed(x) if weights is None else directed(x) & (weights > 0)


def _mean_cosine(scored: Scored) -> float:
    return float(scored.sums.norms.sum() / scored.sums.nk.sum())


def _filled(x: Rows, scored: Scored, held: NDArray[np.bool_], weights: Vector | None) -> NDArray[np.int64]:
    """Give every empty cluster the worst fitting row of a cluster that can spare it; return the labels."""
    labels = scored.label.astype(np.int64)
    k = len(scored.sums.nk)
    counts = np.bincount(labels[held], minlength=k)
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return labels
    rows = list[int]()
    for row in np.argsort(np.where(held, scored.loglik, np.inf))[: held.sum()]:
        if len(rows) == len(empty):
            break
        if counts[labels[row]] > 1:
            counts[labels[row]] -= 1
            rows.append(row)
    taken, topics = np.array(rows, np.int64), empty[: len(rows)]
    resp = np.zeros((len(rows), padded(k)), x.dtype)
    resp[np.arange(len(rows)), labels[taken]] = 1 if weights is None else weights[taken]
    move(x, scored.sums, taken, resp, topics)
    labels[taken] = topics
    return labels
