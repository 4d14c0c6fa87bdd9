"""Many small hash tables of numbers in one pool of memory, compiled.

A table takes a block of 2^k places, at most three quarters of which are filled, and moves to one twice as long when it
is fuller. A key lies at its home or, if others lie there, at the next empty place after it, round the end.

``start``, ``length`` and ``room`` are those of `vmfstream.stories.lists.Lists`, ``key``, ``value``, ``free`` and
``used`` those of a pool whose values are places in other lists; ``i`` is the number of a table. Keys are at least 0; -1
marks an empty place.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from vmfstream.stories.lists import SMALLEST, drop, take

_GOLDEN = 2_654_435_769  # 2^32 over the golden ratio: spreads keys that follow each other


@njit(cache=True, nogil=True)
def place(key, start, room, wanted):  # type: ignore[no-untyped-def]
    """Return where the key ``wanted`` lies or, if the table of this start and room lacks it, the empty place for it."""
    last = (np.int64(1) << room) - 1
    at = ((np.int64(wanted) * _GOLDEN) & 0xFFFFFFFF) >> (32 - room)
    while key[start + at] != wanted and key[start + at] >= 0:
        at = (at + 1) & last
    return start + at


@njit(cache=True, nogil=True)
def make_room(i, keys, start, length, room, key, value, free, used):  # type: ignore[no-untyped-def]
    """Let table ``i`` have a block with room for ``keys`` too; the pool must have room for it, see `wanted`."""
    number, size = np.int64(length[i]), np.int64(room[i])
    more = keys.size
    if size >= 0 and 4 * (number + more) > np.int64(3) << size:
        for wanted in keys:
            more -= key[place(key, start[i], size, wanted)] == wanted
    wide = max(size, np.int64(SMALLEST))
    while 4 * (number + more) > np.int64(3) << wide:
        wide += 1
    if wide == size:
        return
    new, old = take(key, free, used, wide), start[i]
    key[new : new + (np.int64(1) << wide)] = -1
    if size >= 0:
        for at in range(old, old + (np.int64(1) << size)):
            if key[at] >= 0:
                to = place(key, new, wide, key[at])
                key[to] = key[at]
                value[to] = value[at]
        drop(i, start, length, room, key, free)
    start[i] = new
    room[i] = np.int8(wide)
    length[i] = np.int32(number)


@njit(cache=True, nogil=True)
def wanted(length, room, more):  # type: ignore[no-untyped-def]
    """Return the most places that room for ``more`` keys in a table of this length and room takes from the pool."""
    keys = np.int64(length) + more
    if room >= 0 and 4 * keys <= np.int64(3) << np.int64(room):
        return np.int64(0)
    return 3 * keys + (np.int64(1) << SMALLEST)
