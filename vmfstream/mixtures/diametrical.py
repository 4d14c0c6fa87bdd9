"""Diametrical k-means: clusters of axes, where a row and its opposite are the same.

    z_i = argmax_k (x_i'mu_k)^2,   mu_k = first eigenvector of sum_{z_i = k} x_i x_i'

It is the limit of a mixture of Watson distributions with equal weights and one large concentration. Rows without
direction take no part; their label is -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.axes import principal_axis
from vmfstream.directional.kernels import dots
from vmfstream.directional.sphere import cosine_plus_plus
from vmfstream.mixtures.columns import eligible
from vmfstream.mixtures.kmeans import SHARP, KMeansFit, spare_rows
from vmfstream.mixtures.seeding import means_at
from vmfstream.progress import swept


def axial_seeds(x: Rows, k: int, rng: np.random.Generator, weights: Vector | None = None) -> Floats:
    """Axes (D, kp) at rows of ``x`` (N, D) that are far apart, drawn with ``rng`` by k-means++ on 1 - cosine^2.

    Rows are drawn in proportion to ``weights`` (N,) too. Documents of fewer than ``k`` axes are drawn once more,
    whatever their distance.
    """
    seeds = cosine_plus_plus(x, k, rng, weights, axial=True)
    if len(seeds) < k:
        others = np.setdiff1d(np.flatnonzero(eligible(x, weights)), seeds)
        seeds = np.append(seeds, rng.choice(others, k - len(seeds), replace=False))
    return means_at(x, seeds)


def diametrical_kmeans(
    x: Rows, mu: Floats, k: int, *, max_iter: int = 100, weights: Vector | None = None, threads: int = 1
) -> KMeansFit:
    """Assign rows to the axis of largest squared cosine and renew the axes, until labels rest or after ``max_iter``.

    The mean squared cosine never falls. Axes are found exactly, as first eigenvectors of the clusters' scatter
    matrices. An empty cluster is given the row that fits its own cluster worst; it stays empty if every row is an axis.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns, padded with zeros
    k : int, number of clusters
    max_iter : int, largest number of sweeps
    weights : (N,) float64, how often each row was seen; once by default
    threads : int

    Returns
    -------
    KMeansFit, its ``trace`` the mean squared cosine of rows with the nearest axis in each sweep.

    Notes
    -----
    O(nnz k) a sweep, and O(nnz) for each of some tens of passes that find the axes; ``x`` stays sparse.

    References
    ----------
    [DMR03], [Sra] section 5.2.
    """
    taking_part = eligible(x, weights)
    mass = taking_part.astype(np.float64) if weights is None else np.where(taking_part, weights, 0.0)
    labels = np.full(x.shape[0], -1, np.int64)
    trace = list[float]()
    converged = False
    for _ in range(max_iter):
        new, along = _nearest(dots(x, mu, threads=threads)[:, :k], taking_part)
        trace.append(float(mass @ along**2 / mass.sum()))
        swept(len(trace), "mean squared cosine", trace[-1])
        rows, empty = spare_rows(new, (along**2).astype(x.dtype), taking_part, k)
        new[rows] = empty
        converged = np.array_equal(new, labels)
        if converged:
            break
        labels, mu = new, _axes(x, new, mass, mu)
    sizes = np.bincount(labels[taking_part], mass[taking_part], minlength=k).astype(np.float64)
    return KMeansFit(mu, labels, sizes, np.full(k, SHARP), np.array(trace), len(trace), converged)


def _nearest(cosines: Floats, taking_part: NDArray[np.bool_]) -> tuple[NDArray[np.int64], Vector]:
    """Return the axis nearest to every row, and the cosine with it."""
    labels = np.abs(cosines).argmax(axis=1)
    along = cosines[np.arange(len(labels)), labels].astype(np.float64)
    return np.where(taking_part, labels, -1), along


def _axes(x: Rows, labels: NDArray[np.int64], mass: Vector, mu: Floats) -> Floats:
    """Return the first eigenvectors of the clusters; the axis of an empty one stays."""
    axes = mu.copy()
    for j in np.unique(labels[labels >= 0]):
        axes[:, j] = principal_axis(x, np.where(labels == j, mass, 0.0), mu[:, j])[0]
    return axes
