"""Sums of a few documents, and products of all documents with vectors and with each other, in double precision.

Groups of some tens of documents are tried by the hundred at the end of a slice; sparse rows are looked at where they
are, without matrices made of a few of them. ``x`` are unit rows (N, D), ``members`` (M,) numbers of some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.kernels import empty


def sum_of(x: Rows, members: NDArray[np.intp]) -> Vector:
    """Return the sum of the ``members`` among the rows of ``x``, (D,)."""
    if isinstance(x, np.ndarray):
        return np.asarray(x[members].sum(axis=0), np.float64)
    out = np.zeros(x.shape[1])
    _add_rows(x.indptr, x.indices, x.data, members, out)
    return out


def sums_of(x: Rows, groups: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return the sums of several groups of rows of ``x``, given as their numbers, (D, G)."""
    out = np.zeros((x.shape[1], len(groups)))
    for group, members in enumerate(groups):
        if isinstance(x, np.ndarray):
            out[:, group] = x[members].sum(axis=0)
        else:
            _add_rows(x.indptr, x.indices, x.data, members, out[:, group])
    return out


def products(x: Rows, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``x vectors`` for one vector (D,) or several (D, G): (N,) or (N, G)."""
    if isinstance(x, np.ndarray):
        out = np.empty((len(x), *vectors.shape[1:]))
        for low in range(0, len(x), _CONVERTED):
            np.matmul(x[low : low + _CONVERTED].astype(np.float64), vectors, out=out[low : low + _CONVERTED])
        return out
    out = np.zeros((x.shape[0], *vectors.shape[1:]))
    if vectors.size == len(vectors):  # a third of the time, with the same sums
        _multiply_one(x.indptr, x.indices, x.data, vectors.ravel(), out.reshape(-1))
    else:
        _multiply(x.indptr, x.indices, x.data, np.ascontiguousarray(vectors), out)
    return out


MOST_KEPT = 1000
"""Documents whose products with all others are kept: 64 MB for the 8,000 documents that a search has at most."""

_CONVERTED = 512  # dense rows that become double at a time and stay near: less than half the time of all at once

_NEAR = 1024  # documents whose sums and largest products, 8 bytes each, are kept near


class Pairs:
    """Products of pairs of documents, of words by lists of the documents that hold one.

    Those of a document with all others are computed when it is first among the members, and kept: groups of the same
    documents are tried again and again. Those of `MOST_KEPT` documents are kept, 8 N bytes each; before there are more,
    all are forgotten.

    Parameters
    ----------
    x : (N, D) unit rows.
    """

    def __init__(self, x: Rows) -> None:
        self._x = x
        self._words: Any = None if isinstance(x, np.ndarray) else x.tocsc()
        self._place, self._known = np.full(x.shape[0], -1), 0
        kind = x.dtype if isinstance(x, np.ndarray) else np.float64
        self._dots = empty(MOST_KEPT, x.shape[0], kind)  # what is not written to takes no memory

    def with_others(self, members: NDArray[np.intp]) -> tuple[Vector, Vector]:
        """Sum and largest of the products of every row with the ``members``, of which it is left out, both (N,).

        That with itself counts as zero.
        """
        n = self._x.shape[0]
        total, largest = np.zeros(n), np.full(n, -np.inf)
        for begin in range(0, len(members), MOST_KEPT):
            some = members[begin : begin + MOST_KEPT]
            self._learn(some)
            _sum_and_largest(self._dots, self._place[some], total, largest)
        return total, largest

    def _learn(self, members: NDArray[np.intp]) -> None:
        """Compute the products of those of the ``members`` whose are not kept with all documents."""
        new = members[self._place[members] < 0]
        if self._known + len(new) > MOST_KEPT:
            self._place[:], self._known, new = -1, 0, members
        x, words, needed = self._x, self._words, self._known + len(new)
        self._place[new] = np.arange(self._known, needed)
        out = self._dots[self._known : needed]
        if isinstance(x, np.ndarray):
            np.matmul(x[new], x.T, out=out)
            out[np.arange(len(new)), new] = 0.0
        else:
            _pair(words.indptr, words.indices, words.data, x.indptr, x.indices, x.data, new, out)
        self._known = needed


@njit(cache=True, nogil=True)
def _add_rows(indptr: Any, indices: Any, data: Any, members: NDArray[np.intp], out: Vector) -> None:
    for row in members:
        for j in range(indptr[row], indptr[row + 1]):
            out[indices[j]] += data[j]


@njit(cache=True, nogil=True)
def _multiply_one(indptr: Any, indices: Any, data: Any, vector: Vector, out: Vector) -> None:
    for i in range(len(out)):
        total = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[j]) * vector[indices[j]]
        out[i] = total


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
    word_indptr: Any,
    documents: Any,
    values: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    members: NDArray[np.intp],
    out: NDArray[np.float64],
) -> None:
    """Write the products of each member with every row, zero with itself, to a row of ``out``."""
    for place in range(len(members)):
        m, dots = members[place], out[place]
        dots[:] = 0.0
        for j in range(indptr[m], indptr[m + 1]):
            value = np.float64(data[j])
            for a in range(word_indptr[indices[j]], word_indptr[indices[j] + 1]):
                dots[documents[a]] += value * values[a]
        dots[m] = 0.0


@njit(cache=True, nogil=True)
def _sum_and_largest(dots: NDArray[np.float64], places: NDArray[np.intp], total: Vector, largest: Vector) -> None:
    """Add some rows of ``dots`` to ``total`` and raise ``largest`` to them, in ranges that stay near."""
    for low in range(0, len(total), _NEAR):
        sums, most = total[low : low + _NEAR], largest[low : low + _NEAR]
        for place in places:
            row = dots[place, low : low + _NEAR]
            for i in range(len(sums)):
                sums[i] += row[i]
            for i in range(len(sums)):
                most[i] = row[i] if row[i] > most[i] else most[i]
