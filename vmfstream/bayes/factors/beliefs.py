"""Steps of a state-space model for natural vectors (D, kp): predict, update by a slice, join past and future.

Each passes once over the matrices; column norms and products come with it, in double precision.

``b`` (D,) is the anchor's natural vector, ``p`` (D, kp) the predictions and ``s`` (D, kp) the sums of a slice, in which
``weight`` (kp,) are the concentrations, zero in padded columns. Lengths and norms are of columns.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from vmfstream.arrays import Floats, Vector
from vmfstream.directional.bessel import conv_concentration


def per_column(value: ArrayLike, kp: int, k: int) -> Vector:
    """Spread ``value``, a number or one for each of ``k`` topics, over kp columns, zero in the padding."""
    out = np.zeros(kp)
    out[:k] = value
    return out


def shrunk(h: Floats, norms: Vector, omega: float) -> Floats:
    """Return A^-1( A(|h|) omega ) h / |h| for columns of the given ``norms``; zero columns stay zero.

    ``h`` is (D, kp) and ``omega`` the persistence in (0, 1).
    """
    return resized(h, norms, conv_concentration(h.shape[0], norms, omega))


def resized(h: Floats, norms: Vector, lengths: Vector) -> Floats:
    """Give columns of ``h`` (D, kp), whose ``norms`` are known, new ``lengths``; zero columns stay zero."""
    factor = np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0).astype(h.dtype)
    scaled: Floats = _scaled(h, factor)
    return scaled


@njit(cache=True, nogil=True)
def _scaled(h: Floats, factor: Floats) -> Floats:
    out = np.empty_like(h)
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            out[i, j] = h[i, j] * factor[j]
    return out


@njit(cache=True)
def anchored(b: Floats, p: Floats, k: int) -> Floats:
    """Return B + p for the first ``k`` columns of p, the others as they are."""
    out = np.empty_like(p)
    part = np.zeros(p.shape[1], p.dtype)
    part[:k] = 1
    for i in range(p.shape[0]):
        anchor = b[i]
        for j in range(p.shape[1]):
            out[i, j] = p[i, j] + anchor * part[j]
    return out


@njit(cache=True, nogil=True)
def anchored_norms(b: Floats, p: Floats, k: int) -> Vector:
    """Return the column norms of B + p for the first ``k`` columns of p, without writing it."""
    square = np.zeros(k)
    for i in range(p.shape[0]):
        anchor = np.float64(b[i])
        for j in range(k):
            v = anchor + p[i, j]
            square[j] += v * v
    return np.sqrt(square)


@njit(cache=True, nogil=True)
def learn(p: Floats, s: Floats, weight: Vector) -> tuple[Floats, Vector]:
    """Return h = p + kappa S and its column norms."""
    h = np.empty_like(p)
    square = np.zeros(p.shape[1])
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            v = p[i, j] + weight[j] * s[i, j]
            h[i, j] = v
            square[j] += v * v
    return h, np.sqrt(square)


@njit(cache=True, nogil=True)
def learned_norms(p: Floats, s: Floats, kappa: float) -> Vector:
    """Return the column norms of p + ``kappa`` S, without writing it."""
    square = np.zeros(p.shape[1])
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            v = p[i, j] + kappa * s[i, j]
            square[j] += v * v
    return np.sqrt(square)


@njit(cache=True, nogil=True)
def learned_scaled(p: Floats, s: Floats, kappa: float, factor: Vector, out: Floats) -> None:
    """Write p + ``kappa`` S, its columns times ``factor`` (kp,), to ``out`` (D, kp)."""
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            out[i, j] = (p[i, j] + kappa * s[i, j]) * factor[j]


@njit(cache=True, nogil=True)
def linked(
    before: Floats, pull: Vector, s: Floats, weight: Vector, after: Floats, push: Vector
) -> tuple[Floats, Vector]:
    """Return pull before + weight S + push after, and the column norms.

    ``before`` and ``after`` (D, kp) are the neighbouring slices' directions; ``pull``, ``weight`` and ``push`` (kp,)
    are factors of columns.
    """
    h = np.empty_like(s)
    square = np.zeros(s.shape[1])
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            v = pull[j] * before[i, j] + weight[j] * s[i, j] + push[j] * after[i, j]
            h[i, j] = v
            square[j] += v * v
    return h, np.sqrt(square)


@njit(cache=True)
def turned(a: Floats, b: Floats) -> tuple[Vector, Vector, Vector]:
    """Return the column norms of a and of b and the inner products of their columns."""
    first, second, cross = np.zeros(a.shape[1]), np.zeros(a.shape[1]), np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            v, w = np.float64(a[i, j]), np.float64(b[i, j])
            first[j] += v * v
            second[j] += w * w
            cross[j] += v * w
    return np.sqrt(first), np.sqrt(second), cross
