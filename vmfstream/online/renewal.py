"""The belief of the open slice brought up to date in place, where its state is given up: nothing is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.kernels import in_parts
from vmfstream.online.state import Matrix, Rows, Vector

SURELY = 4
"""Non-zeros for every word from which on a batch is taken to hold most words, without a look."""


def renew(
    f: Matrix, gamma: Vector, base: Matrix, s: Matrix, kappa: float, words: NDArray[np.intp] | None, threads: int
) -> Vector:
    """Let f = base + kappa S again after documents were added to S, and return the lengths of the columns of f.

    Work and memory traffic are those of the words named.

    Parameters
    ----------
    f : (D, kp), overwritten; gamma : (kp,) its lengths before.
    base, s : (D, kp), the prediction for the slice and what it has gathered.
    words : whose rows of S have changed since; None for any.
    """
    squares = np.zeros((threads, len(gamma)))
    if words is None:
        in_parts(_renew_all, len(f), threads, base, s, kappa, f, own=squares)
        return np.asarray(np.sqrt(squares.sum(axis=0)))
    in_parts(_renew_words, len(words), threads, words, base, s, kappa, f, own=squares)
    return np.asarray(np.sqrt(np.maximum(gamma * gamma + squares.sum(axis=0), 0.0)))


def few_words(x: Rows) -> NDArray[np.intp] | None:
    """Return the words of documents, or None where they are most of all."""
    d = x.shape[1]
    if isinstance(x, np.ndarray) or x.nnz >= SURELY * d:
        return None
    held = np.zeros(d, np.bool_)
    _mark(x.indices, held)
    words = np.flatnonzero(held)
    return None if 2 * len(words) > d else words


@njit(cache=True)
def _mark(indices: NDArray[Any], held: NDArray[np.bool_]) -> None:
    for word in indices:
        held[word] = True


@njit(cache=True, nogil=True)
def _renew_all(low: int, high: int, square: Vector, base: Matrix, s: Matrix, kappa: float, f: Matrix) -> None:
    for i in range(low, high):
        for j in range(f.shape[1]):
            v = base[i, j] + kappa * s[i, j]
            f[i, j] = v
            square[j] += v * v


@njit(cache=True, nogil=True)
def _renew_words(
    low: int, high: int, gain: Vector, words: NDArray[np.intp], base: Matrix, s: Matrix, kappa: float, f: Matrix
) -> None:
    """Do as `_renew_all` for a few words, and add up by how much the squares of f have grown."""
    for place in range(low, high):
        i = words[place]
        for j in range(f.shape[1]):
            old, v = np.float64(f[i, j]), base[i, j] + kappa * s[i, j]
            f[i, j] = v
            gain[j] += np.float64(f[i, j]) ** 2 - old * old
