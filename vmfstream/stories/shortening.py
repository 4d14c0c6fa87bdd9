"""Long documents count with their strongest words only, compiled.

A document of very many words has something in common with every story, and most of what it adds to its own says little.
With the `MOST_WORDS` strongest words in its place, scaled to unit length again, speeches no longer flow into one story,
and its cost is bounded; see `docs/trials.md`.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

MOST_WORDS = 512
"""Words of a document that count."""


def shortened(
    bounds: NDArray[np.int64], columns: NDArray[np.int32], values: NDArray[np.float32], of: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return sparse rows without the words beyond `MOST_WORDS`, those of least weight; of equals the later ones go.

    Parameters
    ----------
    bounds, columns, values : of N unit rows, (N + 1,), (nnz,) and (nnz,), no value 0.
    of : number of columns if there will be no more: a row that uses more than half of them is a vector, no document,
        and stays as it is. 0 if there may be more.

    Examples
    --------
    >>> rows = np.array([0, 900]), np.arange(900, dtype=np.int32), np.full(900, 1 / 30, np.float32)
    >>> [len(part) for part in shortened(*rows)]
    [2, 512, 512]
    """
    words = np.diff(bounds)
    long = (words > MOST_WORDS) & ((of == 0) | (2 * words <= of))
    if not long.any():
        return bounds, columns, values
    short = np.concatenate(([0], np.cumsum(np.where(long, MOST_WORDS, words))))
    kept = np.empty(short[-1], np.int32), np.empty(short[-1], np.float32)
    _shorten(bounds, columns, values, short, long, *kept)
    return short, *kept


@njit(cache=True, nogil=True)
def _shorten(bounds, columns, values, short, long, kept, weights):  # type: ignore[no-untyped-def]
    for i in range(long.size):
        low, high, at = bounds[i], bounds[i + 1], short[i]
        if not long[i]:
            kept[at : short[i + 1]] = columns[low:high]
            weights[at : short[i + 1]] = values[low:high]
            continue
        size = np.abs(values[low:high])
        least = np.partition(size, size.size - MOST_WORDS)[size.size - MOST_WORDS]
        equal = MOST_WORDS - np.count_nonzero(size > least)
        square = 0.0
        for j in range(size.size):
            if size[j] > least or (size[j] == least and equal > 0):
                equal -= size[j] == least
                kept[at] = columns[low + j]
                weights[at] = values[low + j]
                square += np.float64(size[j]) ** 2
                at += 1
        for j in range(short[i], short[i + 1]):
            weights[j] = weights[j] / np.sqrt(square)
