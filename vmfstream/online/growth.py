"""Directions and samples of documents in a vocabulary that has grown or was pruned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import zeros
from vmfstream.mixtures.columns import column_norms
from vmfstream.online import chain
from vmfstream.online.state import Life, Matrix, Vector, columns_of


def carried(life: Life, columns: NDArray[np.int32], old: int) -> Life:
    """Move the samples of documents to a new vocabulary; densities relative to uniform grow like the dimension."""
    factor = len(columns) / old
    parts: dict[str, Any] = {
        name: replace(sample, x=columns_of(sample.x, columns), gain=sample.gain * factor)
        for name, sample in (("recent", life.recent), ("control", life.control))
    }
    return replace(life, **parts, heard=life.heard * factor)


def moved(h: Matrix, columns: NDArray[np.int32]) -> Matrix:
    """Move natural vectors (D, kp) to a new vocabulary.

    A_D of their lengths is kept, times the share of the length that the remaining words hold.
    """
    old, new = len(h), len(columns)
    out = zeros(new, h.shape[1])
    after = put_rows(h, columns, out)
    gone = np.ones(old, np.bool_)
    gone[columns[columns >= 0]] = False
    before = np.hypot(after, column_norms(h[gone]))
    held = np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
    wanted = np.asarray(inv_bessel_ratio(new, np.asarray(bessel_ratio(old, before)) * np.minimum(held, 1.0)))
    return chain.shrink(out, after, wanted)


@njit(cache=True, nogil=True)
def put_rows(h: Matrix, columns: NDArray[np.int32], out: Matrix) -> Vector:
    """Put the rows ``columns`` of a matrix into one of zeros, and return the norms of its columns."""
    square = np.zeros(h.shape[1])
    for i in range(len(columns)):
        if columns[i] >= 0:
            for j in range(h.shape[1]):
                v = h[columns[i], j]
                out[i, j] = v
                square[j] += np.float64(v) * np.float64(v)
    return np.sqrt(square)
