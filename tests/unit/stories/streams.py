"""Streams of documents whose stories come and go."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

TWINS: dict[str, int] = {"columns": 800, "own_words": 20, "seed": 5}
"""`bursts` of documents that have few of the many words of their story: some stories begin twice."""


def forwarded(labels: NDArray[np.int64], retired: Any) -> NDArray[np.int64]:
    """Labels as they are after all mergers."""
    into = {int(a): int(b) for a, b in zip(retired.ids, retired.into, strict=True) if b >= 0}

    def last(story: int) -> int:
        return last(into[story]) if story in into else story

    return np.array([last(label) for label in labels.tolist()])


def bursts(
    n: int, *, columns: int = 300, words: int = 8, alive: int = 6, own_words: int = 12, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Unit rows of a few words each, and their stories: every 40 documents one of those alive makes room for another.

    A document has words of its story's own twelve, or ``own_words``, and some of all.
    """
    rng = np.random.default_rng(seed)
    own = [rng.choice(columns, own_words, replace=False) for _ in range(alive + n // 40 + 1)]
    rows, labels = np.zeros((n, columns)), np.zeros(n, np.int64)
    for i in range(n):
        labels[i] = i // 40 + rng.integers(alive)
        rows[i, rng.choice(own[labels[i]], words - 3, replace=False)] += rng.uniform(0.5, 1.5, words - 3)
        rows[i, rng.choice(columns, 3, replace=False)] += rng.uniform(0.5, 1.0, 3)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def vectors_of(labels: NDArray[np.int64], *, noise: float, length: int = 12, seed: int = 0) -> NDArray[np.float32]:
    """Unit vectors about a direction for each story."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((labels.max() + 1, length))
    vectors = centres[labels] + noise * rng.standard_normal((len(labels), length))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def long_news(
    n: int, *, columns: int = 8000, words: int | tuple[int, int] = 150, stories: int = 30, seed: int = 0
) -> tuple[Any, Any]:
    """Unit rows of many words, most of them by a law that all share, and their stories: the largest has a fourth.

    ``words`` are those of each document, or the fewest and the most.
    """
    rng = np.random.default_rng(seed)
    shared = 1.0 / np.arange(5, columns + 5)
    own = [rng.choice(columns, 60, replace=False) for _ in range(stories)]
    sizes = 1.0 / np.arange(1, stories + 1)
    labels = rng.choice(stories, n, p=sizes / sizes.sum())
    counts = np.zeros((n, columns))
    for row, label in zip(counts, labels, strict=True):
        size = words if isinstance(words, int) else round(float(np.exp(rng.uniform(*np.log(words)))))
        np.add.at(row, rng.choice(columns, size - size // 4, p=shared / shared.sum()), 1.0)
        np.add.at(row, rng.choice(own[label], size // 4), 1.0)
    weights = np.log1p(counts) * np.log1p(n / np.maximum((counts > 0).sum(axis=0), 1))
    return csr_array((weights / np.linalg.norm(weights, axis=1, keepdims=True)).astype(np.float32)), labels


def mixed_shares(n: int, *, columns: int = 4000, words: int = 150, stories: int = 8, seed: int = 0) -> tuple[Any, Any]:
    """Unit rows of as many words, of which 10 to 40 % are of their story's own, and their stories."""
    rng = np.random.default_rng(seed)
    shared = np.arange(8.0, columns + 8) ** -0.8
    own = [rng.choice(columns, 60, replace=False) for _ in range(stories)]
    sizes = 1.0 / np.arange(1, stories + 1)
    labels = rng.choice(stories, n, p=sizes / sizes.sum())
    counts = np.zeros((n, columns))
    for row, label in zip(counts, labels, strict=True):
        few = round(words * rng.uniform(0.1, 0.4))
        np.add.at(row, rng.choice(columns, words - few, p=shared / shared.sum()), 1.0)
        np.add.at(row, rng.choice(own[label], few), 1.0)
    weights = np.log1p(counts) * np.log1p(n / np.maximum((counts > 0).sum(axis=0), 1))
    return weights / np.linalg.norm(weights, axis=1, keepdims=True), labels
