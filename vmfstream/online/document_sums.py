"""Sums of a few documents, and products of all documents with vectors and with each other, in double precision.

Groups of some tens of documents are tried by the hundred at the end of a slice; sparse rows are looked at where they
are, without matrices made of a few of them. ``x`` are unit rows (N, D), ``members`` (M,) numbers of some of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Rows, Vector


def sum_of(x: Rows, members: NDArray[np.intp]) -> Vector:
    """Return the sum of the ``members`` among the rows of ``x``, (D,)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x[members].sum(axis=0), np.float64)
    out = np.zeros(x.shape[1])
    _add_rows(x.indptr, x.indices, x.data, members, out)
    return out


def products(x: Rows, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``x vectors`` for one vector (D,) or several (D, G): (N,) or (N, G)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x @ vectors)
    several = np.ascontiguousarray(vectors.reshape(len(vectors), -1))
    out = np.zeros((x.shape[0], several.shape[1]))
    _multiply(x.indptr, x.indices, x.data, several, out)
    return out.reshape(x.shape[0], *vectors.shape[1:])


def products_with_others(x: Rows, members: NDArray[np.intp]) -> tuple[Vector, Vector]:
    """Sum and largest of the products of every row of ``x`` with the ``members``, of which it is left out, both (N,).

    That with itself counts as zero.
    """
    if isinstance(x, np.ndarray):
        dots = np.asarray(x[members] @ x.T, np.float64)
        dots[np.arange(len(members)), members] = 0.0
        return dots.sum(axis=0), dots.max(axis=0)
    own = np.full(x.shape[0], -1)
    own[members] = np.arange(len(members))
    total, largest = np.empty(x.shape[0]), np.empty(x.shape[0])
    _pair(x.indptr, x.indices, x.data, members, own, np.zeros(x.shape[1] + 1, np.int64), total, largest)
    return total, largest


@njit(cache=True, nogil=True)
def _add_rows(indptr: Any, indices: Any, data: Any, members: NDArray[np.intp], out: Vector) -> None:
    for row in members:
        for j in range(indptr[row], indptr[row + 1]):
            out[indices[j]] += data[j]


@njit(cache=True, nogil=True)
def _multiply(indptr: Any, indices: Any, data: Any, vectors: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    for i in range(len(out)):
        row = out[i]
        for j in range(indptr[i], indptr[i + 1]):
            vector, value = vectors[indices[j]], np.float64(data[j])
            for g in range(len(row)):
                row[g] += value * vector[g]


@njit(cache=True, nogil=True)
def _pair(
    indptr: Any,
    indices: Any,
    data: Any,
    members: NDArray[np.intp],
    own: NDArray[np.int64],
    first: NDArray[np.int64],
    total: Vector,
    largest: Vector,
) -> None:
    """Do `products_with_others` by lists of the members that hold a word, those of w from ``first[w]`` (D + 1,) on.

    ``own`` (N,) is the place of a row among the members, -1 for others; ``first`` comes as zeros.
    """
    for row in members:
        for j in range(indptr[row], indptr[row + 1]):
            first[indices[j]] += 1
    for w in range(1, len(first)):
        first[w] += first[w - 1]
    place, value = np.empty(first[-1], np.int64), np.empty(first[-1])
    for m in range(len(members)):
        for j in range(indptr[members[m]], indptr[members[m] + 1]):
            first[indices[j]] -= 1
            place[first[indices[j]]], value[first[indices[j]]] = m, data[j]
    dots, met, of_row = np.empty(len(members)), np.empty(len(members), np.int64), np.full(len(members), -1)
    for i in range(len(total)):
        count = 0
        for j in range(indptr[i], indptr[i + 1]):
            for a in range(first[indices[j]], first[indices[j] + 1]):
                m = place[a]
                if m == own[i]:
                    continue
                if of_row[m] != i:
                    of_row[m], met[count], dots[m] = i, m, 0.0
                    count += 1
                dots[m] += value[a] * data[j]
        total[i], largest[i] = 0.0, 0.0 if count < len(members) else -np.inf
        for a in range(count):
            total[i] += dots[met[a]]
            largest[i] = max(largest[i], dots[met[a]])
