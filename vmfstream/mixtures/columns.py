"""Sums along the columns of words-by-topics matrices, and the softmax over topics, in double precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.params import ChunkedMatrix

NEGLIGIBLE = -50.0
"""A difference of log scores whose exponential does not change a sum in double precision."""


@njit(cache=True)
def column_norms(a: Floats) -> NDArray[np.float64]:
    """Euclidean norm of every column of ``a`` (D, kp), accumulated in double precision."""
    total = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            v = np.float64(a[i, j])
            total[j] += v * v
    return np.sqrt(total)


@njit(cache=True)
def column_dots(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Inner product of every column of ``a`` (D, kp) with the same column of ``b`` (D, kp), in double precision."""
    total = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total[j] += np.float64(a[i, j]) * np.float64(b[i, j])
    return total


@njit(cache=True, nogil=True)
def column_products(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Inner products of all columns of ``a`` (D, K) with all of ``b`` (D, L), (K, L), in double precision.

    Unlike those of a BLAS library they are the same for any number of threads, and no thread waits for the next ones.
    """
    total = np.zeros((a.shape[1], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            v = np.float64(a[i, j])
            if v != 0.0:
                for other in range(b.shape[1]):
                    total[j, other] += v * np.float64(b[i, other])
    return total


@njit(cache=True, nogil=True)
def square_of(vector: Floats) -> float:
    """Squared length of a vector (D,), in double precision, the same for any number of threads."""
    total = 0.0
    for value in vector:
        total += np.float64(value) * np.float64(value)
    return total


def length_of(vector: Floats) -> float:
    """Length of a vector (D,), from `square_of`."""
    return math.sqrt(square_of(vector))


@njit(cache=True)
def softmax_rows(
    scores: Floats, scale: NDArray[np.float64], offset: NDArray[np.float64], beta: float
) -> NDArray[np.float64]:
    """Turn ``scores`` (N, kp) in place into responsibilities of the first ``len(scale)`` topics.

    resp_ik = softmax_k( beta (scale_k scores_ik + offset_k) ); padded columns become zero.

    Parameters
    ----------
    scores : (N, kp) array, overwritten
    scale, offset : (k,) float64, k <= kp
    beta : float, inverse temperature

    Returns
    -------
    (N,) float64, log-sum-exp of the tempered scores of each row.
    """
    n, kp = scores.shape
    k = scale.shape[0]
    row = np.empty(k)
    lse = np.empty(n)
    for i in range(n):
        top = -np.inf
        for j in range(k):
            row[j] = beta * (scale[j] * np.float64(scores[i, j]) + offset[j])
            top = max(top, row[j])
        total = 0.0
        for j in range(k):
            row[j] = np.exp(row[j] - top) if row[j] - top > NEGLIGIBLE else 0.0
            total += row[j]
        for j in range(k):
            scores[i, j] = row[j] / total
        for j in range(k, kp):
            scores[i, j] = 0.0
        lse[i] = top + np.log(total)
    return lse


def renumbered(labels: NDArray[np.integer], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``labels`` (N,) of components that stand in another ``order`` (K,) now; -1 stays."""
    return np.asarray(np.append(np.argsort(order), -1)[labels])


def directed(x: Rows) -> NDArray[np.bool_]:
    """Mark the rows of ``x`` that carry a direction: those with an entry that is not zero."""
    if isinstance(x, ChunkedMatrix):
        return x.directed()
    if isinstance(x, np.ndarray):
        return np.asarray((x != 0).any(axis=1))
    return _directed_rows(x.indptr, x.data)


def eligible(x: Rows, weights: NDArray[np.float64] | None) -> NDArray[np.bool_]:
    """Mark the rows that have a direction and, if weights are given, a weight."""
    return directed(x) if weights is None else directed(x) & (weights > 0)


@njit(cache=True)
def _directed_rows(indptr: NDArray[np.integer[Any]], data: Floats) -> NDArray[np.bool_]:
    out = np.zeros(len(indptr) - 1, np.bool_)
    for i in range(len(out)):
        for j in range(indptr[i], indptr[i + 1]):
            if data[j] != 0:
                out[i] = True
                break
    return out


def dense_rows(x: Rows, rows: NDArray[np.integer[Any]]) -> Floats:
    """Return a few ``rows`` of ``x`` as a dense array."""
    few = x[rows]
    return np.asarray(few if isinstance(few, np.ndarray) else few.toarray())
