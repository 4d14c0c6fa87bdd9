"""Word counts of documents as byte strings that hold the words, so that renumbered terms do not matter.

A bag is the number of different words and of all words (u4), then per word its count and its length in bytes (u2), and
the words themselves in UTF-8 one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.errors import InputError
from vmfstream.text.ascii_scan import COPIED, copy
from vmfstream.text.counts import Counts
from vmfstream.text.word_table import WordTable

MOST_WORDS = 2000
"""Different words of a document that its bag holds, the most frequent ones: what bounds a bag."""

_HEAD = np.dtype("<u4")
_ENTRY = np.dtype("<u2")
_HEAD_BYTES, _ENTRY_BYTES = _HEAD.itemsize, _ENTRY.itemsize


def pack_bags(counts: Counts, table: WordTable) -> list[bytes]:
    """Return the bags of N documents whose terms are words of ``table``."""
    counts = _shortened(counts)
    bounds, body = _packed(
        counts.indptr, counts.terms, counts.counts, counts.tokens, table.words.starts, table.words.pool
    )
    bags = body.tobytes()
    return [bags[a:b] for a, b in pairwise(bounds.tolist())]


@njit(cache=True, nogil=True)
def _packed(indptr, terms, counts, tokens, starts, pool):  # type: ignore[no-untyped-def]
    """Bags one after the other, with some room behind them, and their bounds (N + 1,)."""
    bounds = np.zeros(tokens.size + 1, dtype=np.int64)
    for i in range(tokens.size):
        size = np.int64(2 * _HEAD_BYTES)
        for j in range(indptr[i], indptr[i + 1]):
            size += 2 * _ENTRY_BYTES + starts[terms[j] + 1] - starts[terms[j]]
        bounds[i + 1] = bounds[i] + size
    body = np.empty(bounds[-1] + COPIED, dtype=np.uint8)
    for i in range(tokens.size):
        n = indptr[i + 1] - indptr[i]
        _put(body, bounds[i], n, _HEAD_BYTES)
        _put(body, bounds[i] + _HEAD_BYTES, tokens[i], _HEAD_BYTES)
        count = bounds[i] + 2 * _HEAD_BYTES
        letter = count + 2 * n * _ENTRY_BYTES
        for j in range(indptr[i], indptr[i + 1]):
            begin, end = starts[terms[j]], starts[terms[j] + 1]
            _put(body, count, counts[j], _ENTRY_BYTES)
            _put(body, count + n * _ENTRY_BYTES, end - begin, _ENTRY_BYTES)
            count += _ENTRY_BYTES
            copy(pool, begin, end, body, letter)
            letter += end - begin
    return bounds, body


@njit(cache=True, inline="always")
def _put(body, at, number, size):  # type: ignore[no-untyped-def]
    """Write a number in ``size`` bytes, the lowest first."""
    for byte in range(size):
        body[at + byte] = (number >> (8 * byte)) & 0xFF


def unpack_bags(bags: Sequence[bytes], table: WordTable) -> Counts:
    """Return the counts of documents from their bags; words that ``table`` lacks are added to it while there is room.

    Words that find no room are left out and stay in ``tokens``.

    Raises
    ------
    InputError
        If a bag is none: too short or long for its words, a word not in UTF-8, twice, or without a count.
    """
    size = 2 * _HEAD.itemsize
    if any(len(bag) < size for bag in bags):
        raise _damaged("one is too short")
    heads = np.array([np.frombuffer(bag, _HEAD, 2) for bag in bags], np.int64).reshape(-1, 2)
    if (heads[:, 0] > MOST_WORDS).any() or (heads[:, 1] >= 2**31).any():
        raise _damaged("one has too many words")
    if any(len(bag) < size + 2 * n * _ENTRY.itemsize for bag, n in zip(bags, heads[:, 0].tolist(), strict=True)):
        raise _damaged("one is too short")
    parts = [
        (np.frombuffer(bag, _ENTRY, 2 * n, size), bag[size + 2 * n * _ENTRY.itemsize :])
        for bag, n in zip(bags, heads[:, 0].tolist(), strict=True)
    ]
    counts = _joined([numbers[: len(numbers) // 2] for numbers, _ in parts])
    lengths = _joined([numbers[len(numbers) // 2 :] for numbers, _ in parts])
    starts, bounds = _pointers(lengths), _pointers(heads[:, 0])
    sizes = np.array([len(letters) for _, letters in parts], np.int64)
    pool = b"".join(letters for _, letters in parts)
    letters = np.frombuffer(pool, np.uint8)
    if (np.diff(starts[bounds]) != sizes).any():
        raise _damaged("the lengths of its words are not those of its text")
    _check_words(counts, lengths, starts, pool)
    terms = table.extend(starts, letters)
    known = terms >= 0
    _check_distinct(terms[known], np.repeat(np.arange(len(heads)), heads[:, 0])[known])
    found = np.concatenate(([0], np.cumsum(known)))
    indptr = found[bounds]
    return Counts(indptr, terms[known].astype(np.int32), counts[known].astype(np.uint16), heads[:, 1].astype(np.int32))


def _check_words(
    counts: NDArray[np.uint16], lengths: NDArray[np.uint16], starts: NDArray[np.int64], pool: bytes
) -> None:
    """Check ``counts`` and ``lengths`` (N,) of words, and that those of ``pool`` at ``starts`` (N + 1,) are whole."""
    if not len(counts):
        return
    if not counts.min() or not lengths.min():
        raise _damaged("a word is empty or has no count")
    first = np.frombuffer(pool, np.uint8)[starts[:-1]]
    try:
        pool.decode()
    except UnicodeDecodeError:
        raise _damaged("a word is not in UTF-8") from None
    if ((first & 0xC0) == 0x80).any():  # within a letter
        raise _damaged("a word is not in UTF-8")


def _check_distinct(terms: NDArray[np.integer], rows: NDArray[np.integer]) -> None:
    """Check that each document has each of its terms once."""
    if len(terms):
        keys = np.sort(rows.astype(np.int64) * (int(terms.max()) + 1) + terms)
        if (keys[1:] == keys[:-1]).any():
            raise _damaged("a document has a word twice")


def _damaged(why: str) -> InputError:
    return InputError(f"stored documents of the sample are damaged: {why}")


def _shortened(counts: Counts) -> Counts:
    """Leave out the rarest words of documents that have too many."""
    lengths = np.diff(counts.indptr)
    if not (lengths > MOST_WORDS).any():
        return counts
    keep = np.ones(len(counts.terms), bool)
    for i in np.flatnonzero(lengths > MOST_WORDS):
        a, b = counts.indptr[i], counts.indptr[i + 1]
        keep[a + np.argsort(-counts.counts[a:b].astype(np.int64), kind="stable")[MOST_WORDS:]] = False
    before = np.concatenate(([0], np.cumsum(keep)))
    return Counts(before[counts.indptr], counts.terms[keep], counts.counts[keep], counts.tokens)


def _joined(parts: Sequence[NDArray[np.uint16]]) -> NDArray[np.uint16]:
    return np.concatenate([np.zeros(0, np.uint16), *parts])


def _pointers(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
