"""Stored words that are spelt most like a given one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.dashboards.rows.history import Ints

_LONGEST = 40


def distances(word: str, others: Sequence[str]) -> Ints:
    """Return how many letters must be put in, taken out or changed to turn ``word`` into each other word.

    Words are compared up to their fortieth letter (Levenshtein 1966; all words at once, a letter at a time).
    """
    word, cut = word[:_LONGEST], [other[:_LONGEST] for other in others]
    length = np.array([len(other) for other in cut], dtype=np.int64)
    letters = np.zeros((len(cut), int(length.max(initial=0))), dtype=np.int64)
    for row, other in enumerate(cut):
        letters[row, : len(other)] = [ord(letter) for letter in other]
    before = np.tile(np.arange(letters.shape[1] + 1), (len(cut), 1))
    for k, letter in enumerate(word, start=1):
        now = np.empty_like(before)
        now[:, 0] = k
        for j in range(letters.shape[1]):
            changed = before[:, j] + (letters[:, j] != ord(letter))
            now[:, j + 1] = np.minimum(np.minimum(before[:, j + 1], now[:, j]) + 1, changed)
        before = now
    found: Ints = before[np.arange(len(cut)), length]
    return found


def nearest(word: str, others: Sequence[str], top: int = 5) -> list[str]:
    """Return the ``top`` words that are spelt most alike, in the order of the alphabet where it is a draw."""
    far = distances(word, others)
    return [others[k] for k in sorted(range(len(others)), key=lambda k: (int(far[k]), others[k]))[:top]]
