"""Frequency-sensitive spherical k-means, which favours small clusters so that none stays empty.

The concentration of a cluster is set to kappa_k = scale (N / K) / n_k, n_k being its size. A document belongs to the
cluster of the largest score,

    exact        kappa_k x'mu_k - ell(kappa_k)
    asymptotic   -kappa_k (1 - x'mu_k) + ((D - 1) / 2) log kappa_k        its form for kappa much larger than D

Only while A(kappa_k) is below the cosine x'mu_k does a larger kappa_k raise the exact score: see `default_scale`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.bessel import R_MAX, R_MIN, inv_bessel_ratio, log_partition
from vmfstream.directional.bessel_scalars import ell
from vmfstream.mixtures.columns import eligible
from vmfstream.mixtures.kmeans import SHARP, KMeansFit, mean_cosine
from vmfstream.mixtures.sums import WeightedSums, directions, score
from vmfstream.progress import swept

Scoring: TypeAlias = Literal["exact", "asymptotic"]

SCORES: tuple[Scoring, ...] = ("exact", "asymptotic")

BELOW_PEAK = 0.9
"""Default concentration of an average cluster, asymptotic score: this share of the one that favours it most."""


def frequency_sensitive(
    x: Rows,
    mu: Floats,
    k: int,
    *,
    score_by: Scoring = "exact",
    scale: float | None = None,
    max_iter: int = 100,
    tol: float = 1e-3,
    weights: Vector | None = None,
    threads: int = 1,
) -> KMeansFit:
    """Sweep over all documents again and again; sizes are their means over the sweeps so far.

    Sizes of the last sweep alone often swing between two extremes for ever.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns, padded with zeros
    k : int, number of clusters
    score_by : which score
    scale : float > 0, the concentration of a cluster of average size; see `default_scale`, the default
    max_iter : int, largest number of sweeps
    tol : float, stop when at most this share of the rows changes its label
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Notes
    -----
    There is no objective that it climbs.

    References
    ----------
    [BDGS05] section 5.1, [BG02].
    """
    count = _Count.of(x, k, weights)
    if scale is None:
        scale = default_scale(x, mu, k, score_by, weights=weights, threads=threads)
    taking_part, labels = eligible(x, weights), np.full(x.shape[0], -1, np.int64)
    sizes, trace = np.full(k, count.average), list[float]()
    converged = False
    while not converged and len(trace) < max_iter:
        line = scores(x.shape[1], count.concentrations(scale, sizes), score_by)
        scored = score(x, mu, *line, hard=True, weights=weights, threads=threads)
        converged = np.mean((scored.label != labels)[taking_part]) <= tol
        labels, mu = scored.label.astype(np.int64), directions(scored.sums, mu)
        trace.append(mean_cosine(scored))
        swept(len(trace), "mean cosine", trace[-1])
        sizes += (scored.sums.nk - sizes) / (len(trace) + 1)
    return KMeansFit(
        mu, labels, sizes, count.concentrations(scale, sizes), np.array(trace), len(trace), bool(converged)
    )


def frequency_sensitive_online(
    x: Rows,
    mu: Floats,
    k: int,
    *,
    score_by: Scoring = "exact",
    scale: float | None = None,
    horizon: float | None = None,
    order: NDArray[np.int64] | None = None,
    weights: Vector | None = None,
) -> KMeansFit:
    """Read the documents once, one after the other; means and sizes follow each of them.

    S_z <- S_z + x, n_k <- (1 - 1/L) n_k + [k = z]. All sizes begin at L / K, and every mean as one document at ``mu``.

    Parameters
    ----------
    x, mu, k, score_by, scale, weights
        As in `frequency_sensitive`; a document of weight w is w documents at once.
    horizon : float >= the largest weight, the number L of documents that sizes remember; by default the number of rows
    order : (N,) row numbers in the order of reading; as they come by default

    References
    ----------
    [BG04].
    """
    count = _Count.of(x, k, weights)
    if scale is None:
        scale = default_scale(x, mu, k, score_by, weights=weights)
    memory = count.average * k if horizon is None else horizon
    average = memory / k
    rows = csr_array(x)
    mass = np.where(eligible(x, weights), 1.0 if weights is None else weights, 0.0)
    s, sizes, labels = mu.astype(np.float64), np.full(k, average), np.full(x.shape[0], -1, np.int64)
    exact = SCORES.index(score_by) == 0
    total = _compete(
        np.arange(x.shape[0]) if order is None else order,
        rows.indptr,
        rows.indices,
        rows.data,
        mass,
        s,
        sizes,
        labels,
        scale * average,
        count.unit,
        memory,
        exact,
    )
    found = directions(WeightedSums(s.astype(mu.dtype), sizes, sizes), mu)
    swept(1, "mean cosine", total / mass.sum())
    kappa = scale * average / np.maximum(sizes, count.unit)
    return KMeansFit(found, labels, sizes, kappa, np.array([total / mass.sum()]), 1, True)


@njit(cache=True)
def _compete(
    order: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    mass: Any,
    s: Any,
    sizes: Any,
    labels: Any,
    share: float,
    unit: float,
    memory: float,
    exact: bool,
) -> float:
    """Fill ``labels``; return the sum of the cosines that documents had with their means on arrival."""
    d, k = s.shape[0], sizes.shape[0]
    squares = (s[:, :k] ** 2).sum(axis=0)
    along = np.empty(k)
    total = 0.0
    for i in order:
        if mass[i] == 0.0:
            continue
        along[:] = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            for t in range(k):
                along[t] += data[j] * s[indices[j], t]
        best, z, near = -np.inf, 0, 0.0
        for t in range(k):
            cosine = along[t] / np.sqrt(squares[t]) if squares[t] > 0.0 else 0.0
            kappa = share / max(sizes[t], unit)
            offset = -ell(d, kappa) if exact else 0.5 * (d - 1) * np.log(kappa) - kappa
            if kappa * cosine + offset > best:
                best, z, near = kappa * cosine + offset, t, cosine
        total += mass[i] * near
        labels[i] = z
        for j in range(indptr[i], indptr[i + 1]):
            s[indices[j], z] += mass[i] * data[j]
        squares[z] = max(squares[z] + 2.0 * mass[i] * along[z] + mass[i] ** 2, 0.0)
        sizes *= 1.0 - mass[i] / memory
        sizes[z] += mass[i]
    return total


def scores(d: int, kappa: Vector, score_by: Scoring) -> tuple[Vector, Vector]:
    """Slopes and offsets (k,) of the frequency-sensitive scores of clusters with concentrations ``kappa`` (k,) > 0.

    ``d`` is the dimension; ``score_by`` "exact" has the normaliser C_d(kappa), "asymptotic" its limit for large kappa.
    Raises ValueError for others.
    """
    if score_by == "exact":
        return kappa, -np.asarray(log_partition(d, kappa))
    if score_by == "asymptotic":
        return kappa, 0.5 * (d - 1) * np.log(kappa) - kappa
    raise ValueError(f"score_by must be one of {', '.join(SCORES)}; got {score_by!r}")


def default_scale(
    x: Rows, mu: Floats, k: int, score_by: Scoring = "exact", *, weights: Vector | None = None, threads: int = 1
) -> float:
    """Concentration of a cluster of average size, from the median m over documents of the largest cosine with a mean.

    Small clusters are favoured only while the derivative of the score in kappa is positive at m.

    exact: (K / N) A^-1(m / 2), for which that holds down to clusters of one document.
    asymptotic: `BELOW_PEAK` of the root (D - 1) / (2 (1 - m)) of the derivative. It holds for clusters of nearly
    average size only; a smaller concentration favours small clusters whatever their direction, and all documents go to
    one.

    Parameters
    ----------
    x : unit rows (N, D)
    mu : means (D, kp) of the ``k`` clusters
    score_by : "exact" or "asymptotic", as in `scores`
    weights : (N,) float64, how often each row was seen; once by default
    threads : of the pass over ``x``
    """
    slope = np.full(k, SHARP)
    nearest = score(x, mu, slope, np.zeros(k), hard=True, threads=threads).loglik / SHARP
    taking_part = eligible(x, weights)
    typical = _median(nearest[taking_part], None if weights is None else weights[taking_part])
    d = x.shape[1]
    if score_by == "asymptotic":
        return BELOW_PEAK * float(d - 1) / (2 * max(1 - typical, 1 - R_MAX))
    count = _Count.of(x, k, weights)
    kappa = float(inv_bessel_ratio(d, np.clip(0.5 * typical, R_MIN, R_MAX)))
    return kappa * count.unit / count.average


def _median(values: Vector, weights: Vector | None) -> float:
    """Median of ``values`` (N,), each of which was seen as often as ``weights`` (N,) say."""
    if weights is None:
        return float(np.median(values))
    order = np.argsort(values)
    seen = np.cumsum(weights[order])
    middle = [np.searchsorted(seen, 0.5 * seen[-1], side) for side in ("left", "right")]
    return float(values[order[np.minimum(middle, len(order) - 1)]].mean())


@dataclass(frozen=True, slots=True)
class _Count:
    """Sizes of clusters in the scores: of an average cluster, and of a single document.

    A document weighs 1, or what a row weighs on average if that is less.
    """

    average: float
    unit: float

    @classmethod
    def of(cls, x: Rows, k: int, weights: Vector | None) -> _Count:
        taking_part = eligible(x, weights)
        rows = int(taking_part.sum())
        total = float(rows if weights is None else weights[taking_part].sum())
        return cls(total / k, min(1.0, total / rows))

    def concentrations(self, scale: float, sizes: Vector) -> Vector:
        return scale * self.average / np.maximum(sizes, self.unit)
