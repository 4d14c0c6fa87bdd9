"""Local search: move single rows to other clusters where sweeps of spherical k-means change nothing any more.

With S_k the sum of the rows of a cluster, moving row i with weight w from cluster a to b changes sum_k |S_k| by

    |S_a - w x_i| - |S_a| + |S_b + w x_i| - |S_b|

Sweeps compare a row with means that hold the row itself, so that a row of a small cluster hardly leaves it; moves do
not. A chain of moves may lose at first: its best beginning is what counts ([DGK02]).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import ClusterLabels, Floats, Rows, Vector
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.mixtures.columns import column_norms, dense_rows
from vmfstream.mixtures.kmeans import KMeansFit, spherical_kmeans
from vmfstream.mixtures.seeding import one_hot
from vmfstream.mixtures.sums import directions, weighted, weighted_sums

GAIN = 1e-6
"""Share of sum_k |S_k| that a chain must gain: less is rounding."""


def searched_kmeans(
    x: Rows,
    mu: Floats,
    k: int,
    *,
    length: int,
    max_iter: int = 100,
    weights: Vector | None = None,
    threads: int = 1,
) -> KMeansFit:
    """Do sweeps of spherical k-means and chains of moves in turn, until no chain gains or ``max_iter`` sweeps are done.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns, padded with zeros
    k : int, number of clusters
    length : int >= 1, moves of a chain
    max_iter : int, largest number of sweeps
    weights : (N,) float64, how often each row was seen; once by default
    threads : int
    """
    found = spherical_kmeans(x, mu, k, max_iter=max_iter, weights=weights, threads=threads)
    trace = found.trace
    while found.converged and len(trace) < max_iter:
        labels = best_chain(x, found.labels, k, length, weights, threads)
        if labels is None:
            break
        sums = weighted_sums(x, weighted(one_hot(labels, k, x.dtype), weights), k, threads)
        left = max_iter - len(trace)
        found = spherical_kmeans(x, directions(sums, found.mu), k, max_iter=left, weights=weights, threads=threads)
        trace = np.concatenate([trace, found.trace])
    return replace(found, trace=trace, n_iter=len(trace))


def best_chain(
    x: Rows, labels: ClusterLabels, k: int, length: int, weights: Vector | None = None, threads: int = 1
) -> ClusterLabels | None:
    """Return the labels after the moves of a chain that gain most together, None if none gains.

    Every move is the best there is, gain or loss, of a row that has not moved yet. A cluster may be empty in between.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    labels : (N,) clusters below ``k``, -1 for rows that take no part
    k : int, number of clusters
    length : int >= 1, moves of a chain
    weights : (N,) float64, how often each row was seen, above 0 where it takes part; once by default
    threads : int

    Notes
    -----
    O(nnz k + (nnz + N k) length) time and O(N k) memory.

    References
    ----------
    [DGK02] section 3 (first variation, Kernighan-Lin chains).
    """
    w = np.ones(len(labels)) if weights is None else weights
    of = np.where(labels >= 0, labels, 0)
    sums = accumulate(x, weighted(one_hot(labels, k, x.dtype), weights), threads=threads)
    along = dots(x, sums, threads=threads)[:, :k].astype(np.float64)
    squared = column_norms(sums)[:k] ** 2
    movable, rows = labels >= 0, np.arange(len(labels))
    total, gained, best, moves = float(np.sqrt(squared).sum()), 0.0, 0.0, list[tuple[int, int]]()
    kept = 0
    for _ in range(length):
        gain = _gains(along, squared, of, w)
        gain[rows, of] = -np.inf
        gain[~movable] = -np.inf
        row, to = divmod(int(gain.argmax()), k)
        if gain[row, to] == -np.inf:
            break
        here, products = of[row], w[row] * np.asarray(x @ dense_rows(x, np.array([row]))[0], np.float64)
        gained += gain[row, to]
        squared[here] += w[row] ** 2 - 2.0 * w[row] * along[row, here]
        squared[to] += w[row] ** 2 + 2.0 * w[row] * along[row, to]
        along[:, here] -= products
        along[:, to] += products
        of[row], movable[row] = to, False
        moves.append((row, to))
        if gained > best:
            best, kept = gained, len(moves)
    if best <= GAIN * total:
        return None
    found = labels.copy()
    for row, to in moves[:kept]:
        found[row] = to
    return found


def _gains(along: Vector, squared: Vector, of: NDArray[np.int64], w: Vector) -> Vector:
    """What it gains to move each row to each cluster, (N, k)."""
    length = np.sqrt(np.maximum(squared, 0.0))
    twice, square = 2.0 * w[:, None] * along, np.square(w)
    joined = np.sqrt(np.maximum(squared + twice + square[:, None], 0.0)) - length
    own = twice[np.arange(len(of)), of]
    left = np.sqrt(np.maximum(squared[of] - own + square, 0.0)) - length[of]
    gain: Vector = joined + left[:, None]
    return gain
