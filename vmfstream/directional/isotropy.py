"""Goodness of fit of von Mises-Fisher distributions: are residual directions uniform?

With the mean direction mu, a unit vector is x = t mu + sqrt(1 - t^2) u, where u is orthogonal to mu. If x is von
Mises-Fisher, its residual direction u is uniform on the sphere of D - 1 dimensions, whatever the concentration, and
independent of the cosine t [MJ00, the tangent-normal decomposition]. Pairs of residual directions have cosines of the
variance 1 / (D - 1) then, and of a larger one where the vectors spread in some directions more than in others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import ClusterLabels, Vector

LEAST_ROWS = 10
"""Fewest rows that say anything: the standard deviation of isotropy is .25 with 10 uniform ones, .03 with 64."""

MOST_ROWS = 64
"""Most rows of a cluster that count: all pairs of them are compared."""

_LEAST_RESIDUAL = 1e-6
"""Square of a residual below which a row is the mean but for rounding."""


def isotropy(x: NDArray[np.floating]) -> float:
    """Return 1 / ((D - 1) v) for unit rows (N, D), where v is the variance of the cosines of residual directions.

    It is 1 if the rows are von Mises-Fisher, but for chance, and about M / (D - 1) if they spread in M directions
    only; at most 1. NaN for fewer than `LEAST_ROWS` rows that differ from their mean.

    Notes
    -----
    The variance, not the mean square: residuals from the rows' own mean have cosines of -1 / (N - 1) on average.

    References
    ----------
    [MJ00] for Bingham's test of uniformity, whose statistic is the mean square of these cosines but for constants.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.eye(1, 256) + 0.05 * rng.standard_normal((64, 256)) * (np.arange(256) < 21)
    >>> round(isotropy(x / np.linalg.norm(x, axis=1, keepdims=True)), 2)  # 20 of 255 directions
    0.08
    """
    rows = np.asarray(x, np.float64)
    s = rows.sum(axis=0)
    t = rows @ (s / max(float(np.linalg.norm(s)), 1e-300))
    residual = 1.0 - t * t
    known = residual > _LEAST_RESIDUAL
    if np.count_nonzero(known) < LEAST_ROWS:
        return float("nan")
    rows, t, scale = rows[known], t[known], np.sqrt(residual[known])
    cosines = (rows @ rows.T - np.outer(t, t)) / np.outer(scale, scale)
    variance = float(cosines[np.triu_indices(len(rows), 1)].var())
    return float(min(1.0, 1.0 / (max(rows.shape[1] - 1, 1) * max(variance, 1e-300))))


def isotropies(parts: Sequence[NDArray[np.floating]], label: ClusterLabels, clusters: ClusterLabels) -> Vector:
    """Return the isotropy of K clusters, (K,), each by its last `MOST_ROWS` rows.

    Parameters
    ----------
    parts : unit rows or rows of zeros, (N, D) all together, the oldest first
    label : (N,), the cluster of each row
    clusters : (K,), the labels of those that are asked for
    """
    chosen = [np.flatnonzero(label == cluster)[-MOST_ROWS:] for cluster in clusters]
    starts = np.cumsum([0, *map(len, parts)])
    found = np.full(len(clusters), np.nan)
    for at, rows in enumerate(chosen):
        ends = np.searchsorted(rows, starts[1:-1])
        own = zip(parts, np.split(rows, ends), starts[:-1], strict=True)
        taken = [x[some - start] for x, some, start in own]
        if len(rows) >= LEAST_ROWS:
            found[at] = isotropy(np.concatenate(taken))
    return found
