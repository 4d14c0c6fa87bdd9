"""Where a mixture starts: labels from cosine k-means++ and spherical k-means, or random responsibilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import accumulate, dots, padded
from vmfstream.directional.params import Rows
from vmfstream.directional.sphere import cosine_plus_plus
from vmfstream.mixtures.columns import Floats, column_norms, dense_rows, directed


def one_hot(labels: NDArray[np.integer], k: int, dtype: np.typing.DTypeLike = np.float32) -> Floats:
    """Responsibilities (N, kp) of hard labels; a negative label gives a row of zeros."""
    labels = np.asarray(labels)
    if labels.size and labels.max() >= k:
        raise ValueError(f"labels must be below k = {k}; got {labels.max()}")
    resp = np.zeros((len(labels), padded(k)), dtype)
    held = np.flatnonzero(labels >= 0)
    resp[held, labels[held]] = 1
    return resp


def random_responsibilities(x: Rows, k: int, rng: np.random.Generator) -> Floats:
    """Responsibilities (N, kp) drawn uniformly from the simplex, zero for rows without direction."""
    resp = np.zeros((x.shape[0], padded(k)), x.dtype)
    resp[:, :k] = rng.dirichlet(np.ones(k), size=x.shape[0])
    resp[~directed(x)] = 0
    return resp


def seed_labels(x: Rows, k: int, rng: np.random.Generator, sweeps: int = 5) -> NDArray[np.int64]:
    """Labels of ``sweeps`` spherical k-means sweeps from seeds drawn by cosine k-means++.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows, at least k of them with a direction
    k : int, number of clusters
    rng : numpy.random.Generator
    sweeps : int >= 1

    Returns
    -------
    (N,) int64, -1 for rows without direction.
    """
    rows = int(directed(x).sum())
    if not 1 <= k <= rows:
        raise ValueError(f"k must be between 1 and the {rows} rows with a direction; got {k}")
    seeds = cosine_plus_plus(x, k, rng)  # fewer than k if many rows are equal: the sweeps fill the empty clusters
    mu = np.zeros((x.shape[1], padded(k)), x.dtype)
    mu[:, : len(seeds)] = dense_rows(x, seeds).T
    return spherical_kmeans_sweeps(x, mu, k, sweeps)[0]


def spherical_kmeans_sweeps(x: Rows, mu: Floats, k: int, sweeps: int = 5) -> tuple[NDArray[np.int64], Floats]:
    """Assign rows to the mean of largest cosine and renew the means, until labels rest or ``sweeps`` are done.

    z_i = argmax_k x_i' mu_k, mu_k = S_k / |S_k|; sum_k |S_k| never falls, except where an empty cluster is reseeded
    with the row that fits its own cluster worst.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mu : (D, kp) unit columns, padded with zeros
    k : int, number of clusters
    sweeps : int, largest number of sweeps

    Returns
    -------
    labels : (N,) int64, -1 for rows without direction
    mu : (D, kp), normalised sums of the rows with these labels

    References
    ----------
    [BDGS05] section 5 (spkmeans).
    """
    held = directed(x)
    labels = np.full(x.shape[0], -1, np.int64)
    for _ in range(sweeps):
        cosines = dots(x, mu)[:, :k]
        new = np.where(held, cosines.argmax(axis=1), -1)
        _fill_empty(new, np.where(held, cosines.max(axis=1), np.inf), k)
        if np.array_equal(new, labels):
            break
        labels = new
        s = accumulate(x, one_hot(labels, k, x.dtype))
        norms = column_norms(s)
        mu = np.where(norms > 0, s / np.where(norms > 0, norms, 1.0).astype(s.dtype), mu)
    return labels, mu


def _fill_empty(labels: NDArray[np.int64], fit: Floats, k: int) -> None:
    """Give every empty cluster the worst fitting row of a cluster that can spare it."""
    counts = np.bincount(labels[labels >= 0], minlength=k)
    worst = iter(np.argsort(fit))
    for empty in np.flatnonzero(counts == 0):
        for row in worst:
            if labels[row] >= 0 and counts[labels[row]] > 1:
                counts[labels[row]] -= 1
                counts[empty] = 1
                labels[row] = empty
                break
