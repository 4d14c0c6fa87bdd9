"""Many short lists of numbered weights in one pool of memory, compiled.

A list takes a block of 2^k places and moves to one twice as long when it is full. Blocks that are given back wait in a
list for each length and are taken again before the pool is used further.

``lists`` hold of each list where it starts, its length and its room, (slots,); ``pool`` holds the entries, ``key`` and
``value``. ``i`` is the number of a list.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

SMALLEST = 2
"""Logarithm of the length of the shortest block."""


class Lists(NamedTuple):
    """Where lists lie: first place, length and the logarithm of the length of the block (-1 without a block)."""

    start: NDArray[np.int64]
    length: NDArray[np.int32]
    room: NDArray[np.int8]


class Pool(NamedTuple):
    """Memory of the lists: numbers and weights, first free block of each length (-1 if none), places used so far."""

    key: NDArray[np.int32]
    value: NDArray[np.float32]
    free: NDArray[np.int64]
    used: NDArray[np.int64]


def empty_lists(n: int) -> Lists:
    """Return ``n`` empty lists."""
    return Lists(np.zeros(n, np.int64), np.zeros(n, np.int32), np.full(n, -1, np.int8))


def more_lists(lists: Lists, n: int) -> Lists:
    """Return the lists with empty ones after them, ``n`` altogether."""
    more = empty_lists(n - len(lists.start))
    return Lists(
        np.concatenate([lists.start, more.start]),
        np.concatenate([lists.length, more.length]),
        np.concatenate([lists.room, more.room]),
    )


def empty_pool(places: int) -> Pool:
    """Return a pool of so many places."""
    return Pool(
        np.zeros(places, np.int32), np.zeros(places, np.float32), np.full(31, -1, np.int64), np.zeros(1, np.int64)
    )


def wider_pool(pool: Pool, more: int) -> Pool:
    """Return the pool with at least ``more`` further places, and at least twice as many."""
    size = len(pool.key) + max(more, len(pool.key))
    key, value = np.zeros(size, np.int32), np.zeros(size, np.float32)
    key[: len(pool.key)], value[: len(pool.key)] = pool.key, pool.value
    return Pool(key, value, pool.free, pool.used)


@njit(cache=True, nogil=True)
def _take(pool, room):  # type: ignore[no-untyped-def]
    at = pool.free[room]
    if at >= 0:
        pool.free[room] = pool.key[at]
        return at
    at = pool.used[0]
    pool.used[0] += np.int64(1) << room
    return at


@njit(cache=True, nogil=True)
def drop(lists, i, pool):  # type: ignore[no-untyped-def]
    """Empty list ``i`` and give its block back."""
    room = np.int64(lists.room[i])
    if room >= 0:
        pool.key[lists.start[i]] = np.int32(pool.free[room])
        pool.free[room] = lists.start[i]
    lists.room[i] = -1
    lists.length[i] = 0


@njit(cache=True, nogil=True)
def append(lists, i, pool, key, value):  # type: ignore[no-untyped-def]
    """Append to list ``i``; the pool must have room, see `wanted`."""
    length = np.int64(lists.length[i])
    room = np.int64(lists.room[i])
    if room < 0:
        lists.start[i] = _take(pool, SMALLEST)
        lists.room[i] = SMALLEST
    elif length == np.int64(1) << room:
        old, new = lists.start[i], _take(pool, room + 1)
        for j in range(length):
            pool.key[new + j] = pool.key[old + j]
            pool.value[new + j] = pool.value[old + j]
        drop(lists, i, pool)
        lists.start[i] = new
        lists.room[i] = np.int8(room + 1)
    at = lists.start[i] + length
    pool.key[at] = key
    pool.value[at] = value
    lists.length[i] = np.int32(length + 1)


@njit(cache=True, nogil=True)
def wanted(lists, i, more):  # type: ignore[no-untyped-def]
    """Return the most places that ``more`` entries in list ``i`` take from the pool."""
    room = np.int64(lists.room[i])
    have = np.int64(0) if room < 0 else np.int64(1) << room
    if np.int64(lists.length[i]) + more <= have:
        return np.int64(0)
    return 4 * (np.int64(lists.length[i]) + more) + (np.int64(1) << SMALLEST)


@njit(cache=True, nogil=True)
def find(lists, i, pool, key):  # type: ignore[no-untyped-def]
    """Return the place in the pool of an entry of list ``i``, -1 if it has none."""
    start = lists.start[i]
    for at in range(start, start + lists.length[i]):
        if pool.key[at] == key:
            return np.int64(at)
    return np.int64(-1)


@njit(cache=True, nogil=True)
def remove(lists, i, pool, key):  # type: ignore[no-untyped-def]
    """Remove an entry of list ``i`` and return its weight; the last entry takes its place."""
    at = find(lists, i, pool, key)
    value = pool.value[at]
    last = lists.start[i] + lists.length[i] - 1
    pool.key[at] = pool.key[last]
    pool.value[at] = pool.value[last]
    lists.length[i] -= 1
    if lists.length[i] == 0:
        drop(lists, i, pool)
    return value
