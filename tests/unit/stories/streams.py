"""Streams of documents whose stories come and go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def bursts(
    n: int, *, columns: int = 300, words: int = 8, alive: int = 6, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unit rows of a few words each, and their stories: every 40 documents one of those alive makes room for another.

    A document has words of its story's own twelve, and some of all.
    """
    rng = np.random.default_rng(seed)
    own = [rng.choice(columns, 12, replace=False) for _ in range(alive + n // 40 + 1)]
    rows, labels = np.zeros((n, columns)), np.zeros(n, np.int64)
    for i in range(n):
        labels[i] = i // 40 + rng.integers(alive)
        rows[i, rng.choice(own[labels[i]], words - 3, replace=False)] += rng.uniform(0.5, 1.5, words - 3)
        rows[i, rng.choice(columns, 3, replace=False)] += rng.uniform(0.5, 1.0, 3)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels
