"""Single steps of natural vectors (D, kp): a random step of the means, learning from a slice, joining past and future.

Each passes once over the matrices; column norms and products come with it, in double precision.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel import conv_concentration
from vmfstream.mixtures.columns import Floats

Vector = NDArray[np.float64]


def shrunk(h: Floats, norms: Vector, omega: float) -> Floats:
    """Return A^-1( A(|h|) omega ) h / |h| for columns of the given ``norms``; zero columns stay zero."""
    gamma = conv_concentration(h.shape[0], norms, omega)
    return np.asarray(h * np.divide(gamma, norms, out=np.zeros_like(norms), where=norms > 0).astype(h.dtype))


@njit(cache=True)
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


@njit(cache=True)
def learn_anchored(b: Floats, p: Floats, s: Floats, weight: Vector) -> tuple[Floats, Vector, Vector, Vector]:
    """Return h = p + kappa S and the column norms of h, B + p and B + h."""
    h = np.empty_like(p)
    square, before, after = np.zeros(p.shape[1]), np.zeros(p.shape[1]), np.zeros(p.shape[1])
    for i in range(p.shape[0]):
        anchor = np.float64(b[i])
        for j in range(p.shape[1]):
            old = np.float64(p[i, j])
            v = old + weight[j] * s[i, j]
            h[i, j] = v
            square[j] += v * v
            before[j] += (anchor + old) ** 2
            after[j] += (anchor + v) ** 2
    return h, np.sqrt(square), np.sqrt(before), np.sqrt(after)


@njit(cache=True)
def smoothed_belief(b: Floats, p: Floats, s: Floats, back: Floats, weight: Vector) -> tuple[Floats, Vector, Vector]:
    """Return the smoothed natural vectors B + p + kappa S + b, their column norms and inner products with S."""
    out = np.empty_like(p)
    square, cross = np.zeros(p.shape[1]), np.zeros(p.shape[1])
    for i in range(p.shape[0]):
        anchor = np.float64(b[i])
        for j in range(p.shape[1]):
            v = anchor + p[i, j] + weight[j] * s[i, j] + back[i, j]
            out[i, j] = v
            square[j] += v * v
            cross[j] += v * s[i, j]
    return out, np.sqrt(square), cross
