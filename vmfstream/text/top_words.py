"""Find the strongest rows of each column of a matrix, which name a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.text.protocol import TopWords

_NAMES = 3  # words in a name
_ALIKE = 4  # two words of a name differ in their first letters


def strongest_words(m: NDArray[np.float32], top: int, k: int, named: Callable[[list[int]], list[str]]) -> TopWords:
    """Return the ``top`` rows of largest positive weight of each of the first ``k`` columns of ``m`` by their names.

    ``named`` turns rows into names, those of all columns at once.
    """
    rows, weights = strongest(m, top, k)
    used = rows >= 0
    pairs = zip(named(rows[used].tolist()), weights[used].tolist(), strict=True)
    return [list(islice(pairs, length)) for length in used.sum(axis=1).tolist()]


def check_matrix(m: NDArray[np.float32], dim: int, k: int) -> None:
    """Raise ValueError if ``m`` is not (``dim``, ``k`` or more)."""
    if m.ndim != 2 or m.shape[0] != dim or m.shape[1] < k:
        raise ValueError(f"expected m of shape ({dim}, {k} or more), got {m.shape}")


def filled(rows: NDArray[np.int64], weights: NDArray[Any]) -> Iterator[tuple[list[int], NDArray[Any]]]:
    """The used part of each row of :func:`strongest`'s answer."""
    for chosen, values in zip(rows, weights, strict=True):
        used = int(np.count_nonzero(chosen >= 0))
        yield chosen[:used].tolist(), values[:used]


@njit(cache=True, nogil=True)
def strongest(m, top, k):  # type: ignore[no-untyped-def]
    """Rows of the ``top`` largest positive entries of the first ``k`` columns of ``m``, -1 where fewer.

    Largest first; their weights besides.
    """
    rows = np.full((k, top), -1, dtype=np.int64)
    weights = np.zeros((k, top), dtype=m.dtype)
    if top == 0:
        return rows, weights
    for row in range(m.shape[0]):
        for topic in range(k):
            weight = m[row, topic]
            # strictly larger: of equal weights the first row wins
            if weight > weights[topic, top - 1]:
                place = top - 1
                while place > 0 and weight > weights[topic, place - 1]:
                    rows[topic, place] = rows[topic, place - 1]
                    weights[topic, place] = weights[topic, place - 1]
                    place -= 1
                rows[topic, place] = row
                weights[topic, place] = weight
    return rows, weights


def topic_name(words: Sequence[str]) -> str:
    """Return the name of a topic: its three strongest words, of which no two begin with the same four letters.

    Examples
    --------
    >>> topic_name(["ship", "ships", "harbour", "sea", "cargo"])
    'ship harbour sea'
    """
    kept: list[str] = []
    for word in words:
        if len(kept) < _NAMES and not any(word[:_ALIKE] == other[:_ALIKE] for other in kept):
            kept.append(word)
    return " ".join(kept)
