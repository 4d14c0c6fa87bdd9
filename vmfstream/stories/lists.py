"""Many short lists of numbered weights in one pool of memory, compiled.

A list takes a block of 2^k places and moves to one twice as long when it is full. Blocks that are given back wait in a
list for each length and are taken again before the pool is used further.

``start``, ``length`` and ``room`` are those of `Lists`, ``key``, ``value``, ``free`` and ``used`` those of `Pool`,
``i`` is the number of a list. Functions that are called for every document take arrays one by one: for arrays in
tuples compiled code counts references at each call, which takes as long as the work itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    value: NDArray[Any]
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


def empty_pool(places: int, dtype: type[np.float32] | type[np.int32] = np.float32) -> Pool:
    """Return a pool of so many places for values of a type."""
    return Pool(np.zeros(places, np.int32), np.zeros(places, dtype), np.full(31, -1, np.int64), np.zeros(1, np.int64))


def wider_pool(pool: Pool, more: int) -> Pool:
    """Return the pool with at least ``more`` further places, and at least twice as many."""
    size = len(pool.key) + max(more, len(pool.key))
    key, value = np.zeros(size, np.int32), np.zeros(size, pool.value.dtype)
    key[: len(pool.key)], value[: len(pool.key)] = pool.key, pool.value
    return Pool(key, value, pool.free, pool.used)


@njit(cache=True, nogil=True)
def take(key, free, used, room):  # type: ignore[no-untyped-def]
    """Return the first place of a block of 2^room places."""
    at = free[room]
    if at >= 0:
        free[room] = key[at]
        return at
    at = used[0]
    used[0] += np.int64(1) << room
    return at


@njit(cache=True, nogil=True)
def drop(i, start, length, room, key, free):  # type: ignore[no-untyped-def]
    """Empty list ``i`` and give its block back."""
    size = np.int64(room[i])
    if size >= 0:
        key[start[i]] = np.int32(free[size])
        free[size] = start[i]
    room[i] = -1
    length[i] = 0


@njit(cache=True, nogil=True)
def widen(i, start, length, room, key, value, free, used):  # type: ignore[no-untyped-def]
    """Let list ``i`` have a block twice as long, or its first one; the pool must have room, see `wanted`."""
    old, size = start[i], np.int64(room[i])
    wide = size + 1 if size >= 0 else np.int64(SMALLEST)
    new = free[wide]  # what `take` and `drop` do
    if new >= 0:
        free[wide] = key[new]
    else:
        new = used[0]
        used[0] += np.int64(1) << wide
    if size >= 0:
        for j in range(length[i]):
            key[new + j] = key[old + j]
            value[new + j] = value[old + j]
        key[old] = np.int32(free[size])
        free[size] = old
    start[i] = new
    room[i] = np.int8(wide)


@njit(cache=True, nogil=True)
def wanted(length, room, more):  # type: ignore[no-untyped-def]
    """Return the most places that ``more`` entries in a list of this length and room take from the pool."""
    have = np.int64(0) if room < 0 else np.int64(1) << np.int64(room)
    if np.int64(length) + more <= have:
        return np.int64(0)
    return 4 * (np.int64(length) + more) + (np.int64(1) << SMALLEST)
