"""A hash table of words: byte strings numbered in order of arrival."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.text.ascii_scan import eight

# the places of words depend on a key that nobody knows beforehand, so that nobody can choose words which collide; what
# a table returns does not depend on it, since words are numbered in the order in which they come
_KEY = np.frombuffer(os.urandom(8), np.uint64) | np.uint64(1)
_PRIME = np.uint64(0x94D049BB133111EB)  # of splitmix64; for long words, eight bytes at a time
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Words(NamedTuple):
    """The arrays of a :class:`WordTable` as compiled code sees them.

    ``slots`` is an open-addressing index of 2^b pairs (key, length and id + 1; 0 where free). The key of a word of up
    to eight bytes is the word itself, of a longer one its hash. Word ``i`` is ``pool[starts[i] : starts[i + 1]]``.
    ``size`` holds how many words there are, how many there may ever be, and the key of the hash, which is odd.
    """

    slots: NDArray[np.uint64]
    starts: NDArray[np.int64]
    pool: NDArray[np.uint8]
    size: NDArray[np.int64]


@njit(cache=True, inline="always")
def stirred(key, part, secret):  # type: ignore[no-untyped-def]
    """Go on with the ``key`` of a long word, which begins with ``secret``, by ``part``, eight of its bytes."""
    key = (key ^ part) * _PRIME
    return (key ^ (key >> _HALF)) * secret


@njit(cache=True, inline="always")
def long_key(key, last):  # type: ignore[no-untyped-def]
    """Key of a word of more than eight bytes, of which ``last`` are the last eight; a shorter one is its own key."""
    return (key ^ last) * _PRIME


@njit(cache=True, nogil=True)
def _key_of(last, text, begin, end, secret):  # type: ignore[no-untyped-def]
    """Key of the word ``text[begin:end]``, of which ``last`` are the last eight bytes as a number."""
    if end - begin <= 8:
        return last
    key = secret
    for i in range(begin, end - 8, 8):
        key = stirred(key, eight(text, i), secret)
    return long_key(key, last)


@njit(cache=True, inline="always")
def slot_of(mask, key, secret):  # type: ignore[no-untyped-def]
    """Slot at which the search for a ``key`` begins; ``mask`` is the number of slots, a power of two, less one.

    Multiply-shift by the odd number ``secret``: two keys have the same slot with a probability of at most two in the
    number of slots [Dietzfelbinger and others 1997].
    """
    high = ((key ^ (key >> _HALF)) * secret) >> _HALF
    return np.int64((high * np.uint64(mask + 1)) >> _HALF)


@njit(cache=True, nogil=True)
def find_or_add(slots, starts, pool, size, slot, key, text, begin, end):  # type: ignore[no-untyped-def]
    """Id of ``text[begin:end]``, which is added if it is new; -1 if it is new and the table is full.

    ``slots, starts, pool, size`` are the fields of :class:`Words`; handed over as a tuple they would be unpacked, with
    their reference counts, for every word. ``key`` and ``slot`` are those of :func:`_key_of` and :func:`slot_of`. The
    caller has made room (:meth:`WordTable.reserve`).
    """
    length = end - begin
    mask = (slots.size >> 1) - 1
    tag = np.uint64(length) << _HALF
    while True:
        entry = slots[2 * slot + 1]
        if entry == 0:
            break
        # a short word is its key; only long words have to be compared byte by byte
        if slots[2 * slot] == key and entry & ~_LOW == tag:
            word = np.int64(entry & _LOW) - 1
            if length <= 8 or _same(pool, starts[word], text, begin, length):
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
def _same(pool, first, text, begin, length):  # type: ignore[no-untyped-def]
    """Tell whether two words of more than eight bytes are the same."""
    for i in range(0, length - 8, 8):
        if eight(pool, first + i) != eight(text, begin + i):
            return False
    return eight(pool, first + length - 8) == eight(text, begin + length - 8)


@njit(cache=True, nogil=True)
def _last_bytes(text, begin, end):  # type: ignore[no-untyped-def]
    """Last eight bytes of ``text[begin:end]`` as a number, whatever lies before."""
    last = np.uint64(0)
    for i in range(max(begin, end - 8), end):
        last = (last << np.uint64(8)) | np.uint64(text[i])
    return last


@njit(cache=True, nogil=True)
def _add_all(slots, starts, pool, size, new_starts, text, ids):  # type: ignore[no-untyped-def]
    mask, secret = (slots.size >> 1) - 1, np.uint64(size[2])
    for i in range(new_starts.size - 1):
        begin, end = new_starts[i], new_starts[i + 1]
        key = _key_of(_last_bytes(text, begin, end), text, begin, end, secret)
        ids[i] = find_or_add(slots, starts, pool, size, slot_of(mask, key, secret), key, text, begin, end)


@njit(cache=True, nogil=True)
def _move(slots, wider, secret):  # type: ignore[no-untyped-def]
    """Put the words of an index into a wider one, which is empty."""
    mask = (wider.size >> 1) - 1
    for old in range(0, slots.size, 2):
        if slots[old + 1] != 0:
            slot = slot_of(mask, slots[old], secret)
            while wider[2 * slot + 1] != 0:
                slot = (slot + 1) & mask
            wider[2 * slot] = slots[old]
            wider[2 * slot + 1] = slots[old + 1]


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
        slots, starts, pool, size = self.words
        count, used = len(self), int(starts[len(self)])
        wanted = min(count + more, self.limit)
        if wanted >= starts.size:
            room = max(wanted, min(2 * count, self.limit))
            starts = _extended(starts[: count + 1], room + 1)
            wider = _slots(room)
            if wider.size > slots.size:
                _move(slots, wider, size.view(np.uint64)[2])
                slots = wider
        if used + more_bytes > pool.size:
            pool = _extended(pool[:used], max(used + more_bytes, used * 3 // 2))
        self.words = Words(slots, starts, pool, size)

    def add(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of ``words``, adding the new ones; -1 where the table is full."""
        return self.extend(*_encoded(words))

    def find(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of ``words``, -1 for those that are not in the table."""
        return self.places(*_encoded(words))

    def places(self, starts: NDArray[np.int64], pool: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Do as :meth:`find` with the words ``pool[starts[i] : starts[i + 1]]``."""
        size = self.words.size.copy()
        size[1] = size[0]  # as if the table were full, so that it takes no more words
        return _ids(self.words._replace(size=size), starts, pool)

    def word(self, word_id: int) -> str:
        """Return word ``word_id``."""
        first, last = self.words.starts[word_id], self.words.starts[word_id + 1]
        return self.words.pool[first:last].tobytes().decode()

    def texts(self, ids: NDArray[np.integer[Any]]) -> list[str]:
        """Return the words ``ids``."""
        starts, pool = self.take(ids.astype(np.int64))
        letters = pool.tobytes()
        return [letters[a:b].decode() for a, b in pairwise(starts.tolist())]

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
        """Replace the content by the words ``pool[starts[i] : starts[i + 1]]``, numbered by ``i``.

        Raises
        ------
        ValueError
            If a word is there twice, or there are more than the table may hold.
        """
        self.words = _allocate(starts.size - 1, pool.size, self.limit)
        if not np.array_equal(self.extend(starts, pool), np.arange(starts.size - 1)):
            raise ValueError(f"expected at most {self.limit} words, each once")

    def extend(self, starts: NDArray[np.int64], pool: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Do as :meth:`add` with the words ``pool[starts[i] : starts[i + 1]]``."""
        self.reserve(starts.size - 1, pool.size)
        return _ids(self.words, starts, pool)


def _encoded(words: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return words one after the other, as their starts and their bytes."""
    encoded = [word.encode("utf-8", "replace") for word in words]
    starts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in encoded], out=starts[1:])
    return starts, np.frombuffer(b"".join(encoded), dtype=np.uint8)


def _ids(table: Words, starts: NDArray[np.int64], pool: NDArray[np.uint8]) -> NDArray[np.int64]:
    ids = np.empty(starts.size - 1, dtype=np.int64)
    _add_all(*table, starts, pool, ids)
    return ids


def _allocate(words: int, pool_bytes: int, limit: int) -> Words:
    words = max(words, min(1024, limit))
    return Words(
        _slots(words),
        np.zeros(words + 1, dtype=np.int64),
        np.empty(max(pool_bytes, 8192), dtype=np.uint8),
        np.array([0, limit, _KEY.view(np.int64)[0]], dtype=np.int64),
    )


def _slots(words: int) -> NDArray[np.uint64]:
    # at most half of them are ever taken, so that a search ends after a step or two
    return np.zeros(2 << (2 * words - 1).bit_length(), dtype=np.uint64)


def _extended(values: NDArray[Any], size: int) -> NDArray[Any]:
    out = np.empty(size, values.dtype)
    out[: values.size] = values
    return out
