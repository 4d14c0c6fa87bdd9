"""A table of words: byte strings numbered in the order they come, found by hash and compared byte by byte."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# for long words, eight bytes at a time; the multipliers are those of splitmix64 and spread the key over the bits that
# choose the slot
_BASIS = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x94D049BB133111EB)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Words(NamedTuple):
    """The arrays of a :class:`WordTable` as compiled code sees them.

    ``slots`` is an open-addressing index of 2^b pairs (key, length and id + 1; 0 where free). The key of a word of up
    to eight bytes is the word itself, of a longer one its hash. Word ``i`` is ``pool[starts[i] : starts[i + 1]]``.
    ``size`` holds how many words there are and how many there may ever be.
    """

    slots: NDArray[np.uint64]
    starts: NDArray[np.int64]
    pool: NDArray[np.uint8]
    size: NDArray[np.int64]


@njit(cache=True, inline="always")
def push_byte(last, byte):  # type: ignore[no-untyped-def]
    """Append a byte to the number made of the last eight bytes of a word."""
    return (last << np.uint64(8)) | np.uint64(byte)


@njit(cache=True, nogil=True)
def push_bytes(text, begin, end):  # type: ignore[no-untyped-def]
    """Last eight bytes of ``text[begin:end]`` as a number."""
    last = np.uint64(0)
    for i in range(begin, end):
        last = push_byte(last, text[i])
    return last


@njit(cache=True, inline="always")
def find_short(slots, last, length):  # type: ignore[no-untyped-def]
    """Id of a word of at most eight bytes, or -1; the inlined half of :func:`find_or_add`, which nearly always does."""
    mask = (slots.size >> 1) - 1
    tag = np.uint64(length) << _HALF
    slot = np.int64(((last ^ (last >> _HALF)) * _MIX) >> _HALF) & mask
    entry = slots[2 * slot + 1]
    while entry != 0 and (slots[2 * slot] != last or entry & ~_LOW != tag):
        slot = (slot + 1) & mask
        entry = slots[2 * slot + 1]
    return np.int64(entry & _LOW) - 1


@njit(cache=True, nogil=True)
def find_or_add(slots, starts, pool, size, last, text, begin, end):  # type: ignore[no-untyped-def]
    """Id of ``text[begin:end]``, which is added if it is new; -1 if it is new and the table is full.

    ``slots, starts, pool, size`` are the fields of :class:`Words`; handed over as a tuple they would be unpacked, with
    their reference counts, for every word. ``last`` is what :func:`push_bytes` makes of the word. The caller has made
    room (:meth:`WordTable.reserve`).
    """
    length = end - begin
    key = last
    if length > 8:
        key = _BASIS
        for i in range(begin, end - 8, 8):
            key = (key ^ push_bytes(text, i, i + 8)) * _PRIME
            key ^= key >> _HALF
        key = (key ^ last) * _PRIME
    mask = (slots.size >> 1) - 1
    slot = np.int64(((key ^ (key >> _HALF)) * _MIX) >> _HALF) & mask
    tag = np.uint64(length) << _HALF
    while True:
        entry = slots[2 * slot + 1]
        if entry == 0:
            break
        # a short word is its key; only long words have to be compared byte by byte
        if slots[2 * slot] == key and entry & ~_LOW == tag:
            word = np.int64(entry & _LOW) - 1
            if length <= 8:
                return word
            first = starts[word]
            same = True
            for i in range(length):
                if pool[first + i] != text[begin + i]:
                    same = False
                    break
            if same:
                return word
        slot = (slot + 1) & mask
    word = size[0]
    if word >= size[1]:
        return np.int64(-1)
    first = starts[word]
    for i in range(length):
        pool[first + i] = text[begin + i]
    starts[word + 1] = first + length
    slots[2 * slot] = key
    slots[2 * slot + 1] = tag | np.uint64(word + 1)
    size[0] = word + 1
    return word


@njit(cache=True, nogil=True)
def _add_all(slots, starts, pool, size, new_starts, text, ids):  # type: ignore[no-untyped-def]
    for i in range(new_starts.size - 1):
        begin, end = new_starts[i], new_starts[i + 1]
        ids[i] = find_or_add(slots, starts, pool, size, push_bytes(text, begin, end), text, begin, end)


@njit(cache=True, nogil=True)
def _gather(starts, pool, ids, starts_out, pool_out):  # type: ignore[no-untyped-def]
    position = 0
    for i in range(ids.size):
        for j in range(starts[ids[i]], starts[ids[i] + 1]):
            pool_out[position] = pool[j]
            position += 1
        starts_out[i + 1] = position


class WordTable:
    """Numbers words 0, 1, 2, ... in the order they come; two words are never confused.

    Parameters
    ----------
    limit : int
        Most words the table may hold, > 0: its memory is bounded by it. Further words get the id -1.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.words = _allocate(0, 0, limit)

    def __len__(self) -> int:
        return int(self.words.size[0])

    @property
    def nbytes(self) -> int:
        """Memory held by the table."""
        return sum(array.nbytes for array in self.words)

    def reserve(self, more: int, more_bytes: int) -> None:
        """Make room for ``more`` words of ``more_bytes`` bytes together (fewer where the limit forbids)."""
        old = self.words
        count, used = len(self), int(old.starts[len(self)])
        wanted = min(count + more, self.limit)
        if wanted < old.starts.size and used + more_bytes <= old.pool.size:
            return
        self.words = _allocate(
            max(wanted, min(2 * count, self.limit)), max(used + more_bytes, used * 3 // 2), self.limit
        )
        starts, pool = old.starts[: count + 1], old.pool[:used]
        _add_all(*self.words, starts, pool, np.empty(count, dtype=np.int64))

    def add(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of ``words``, adding the new ones; -1 where the table is full."""
        encoded = [word.encode("utf-8", "replace") for word in words]
        pool = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        starts = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(word) for word in encoded], out=starts[1:])
        return self.extend(starts, pool)

    def word(self, word_id: int) -> str:
        """Return word ``word_id``."""
        first, last = self.words.starts[word_id], self.words.starts[word_id + 1]
        return self.words.pool[first:last].tobytes().decode()

    def take(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the words ``ids`` one after the other, as starts (len(ids) + 1,) and their bytes."""
        lengths = self.words.starts[ids + 1] - self.words.starts[ids]
        starts = np.zeros(ids.size + 1, dtype=np.int64)
        pool = np.empty(int(lengths.sum()), dtype=np.uint8)
        _gather(self.words.starts, self.words.pool, ids, starts, pool)
        return starts, pool

    def content(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return a copy of all words, for :meth:`refill`."""
        starts = self.words.starts[: len(self) + 1].copy()
        return starts, self.words.pool[: starts[-1]].copy()

    def keep(self, ids: NDArray[np.int64]) -> None:
        """Forget all words but ``ids``, which become 0, 1, 2, ... in this order."""
        self.refill(*self.take(ids))

    def refill(self, starts: NDArray[np.int64], pool: NDArray[np.uint8]) -> None:
        """Replace the content by the words ``pool[starts[i] : starts[i + 1]]``, numbered by ``i``."""
        self.words = _allocate(starts.size - 1, pool.size, self.limit)
        self.extend(starts, pool)

    def extend(self, starts: NDArray[np.int64], pool: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Do as :meth:`add` with the words ``pool[starts[i] : starts[i + 1]]``."""
        self.reserve(starts.size - 1, pool.size)
        ids = np.empty(starts.size - 1, dtype=np.int64)
        _add_all(*self.words, starts, pool, ids)
        return ids


def _allocate(words: int, pool_bytes: int, limit: int) -> Words:
    words = max(words, min(1024, limit))
    # at most half of the slots are ever taken, so that a search ends after a step or two
    slots = 1 << (2 * words - 1).bit_length()
    return Words(
        np.zeros(2 * slots, dtype=np.uint64),
        np.zeros(words + 1, dtype=np.int64),
        np.empty(max(pool_bytes, 8192), dtype=np.uint8),
        np.array([0, limit], dtype=np.int64),
    )
