"""What stories hold: the sums of their rows, products with them, and the order in which they were joined; compiled.

``memory`` is what the mixture remembers, changed in place. What is called for every document takes arrays one by one,
see `vmfstream.stories.lists`; ``columns`` and ``values`` are those of one row, ``x`` is a dense one, ``slot`` is the
place of a story. ``dot`` are filled with products, ``candidates`` with the slots that have one, ``visited`` are the
``mark`` of the document that visited a slot last; ``starts``, ``lengths``, ``key`` and ``value`` are those of the
postings, ``sums`` the dense ones; ``oldest``, ``older``, ``newer`` and ``counters`` are the order of slots.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from vmfstream.stories.lists import drop, wanted, widen
from vmfstream.stories.memory import NEWEST, OLDEST
from vmfstream.stories.tables import place


@njit(cache=True, nogil=True)
def visit(columns, values, starts, lengths, key, value, dot, visited, candidates, mark):  # type: ignore[no-untyped-def]
    """Compute w r'x for stories that share a word with a document; return how many."""
    number = 0
    entries = 0
    for word in columns:
        entries += lengths[word]
    if entries > 2 * dot.size:  # cheaper than to ask of every entry whether its story was visited
        dot[:] = 0.0
        for j in range(columns.size):
            word, weight = columns[j], np.float64(values[j])
            start, end = np.uint64(starts[word]), np.uint64(starts[word] + lengths[word])
            for at in range(start, end):  # unsigned: a negative index would count from the end
                dot[np.uint32(key[at])] += weight * value[at]
        for slot in range(dot.size):
            candidates[number] = slot
            number += dot[slot] != 0.0
        return number
    for j in range(columns.size):
        word, weight = columns[j], np.float64(values[j])
        start, end = np.uint64(starts[word]), np.uint64(starts[word] + lengths[word])
        for at in range(start, end):
            slot = np.uint32(key[at])  # type: ignore[assignment]
            if visited[slot] != mark:
                visited[slot] = mark
                dot[slot] = 0.0
                candidates[number] = slot
                number += 1
            dot[slot] += weight * value[at]
    return number


@njit(cache=True, nogil=True)
def visit_all(x, sums, oldest, newer, dot, candidates):  # type: ignore[no-untyped-def]
    """Compute w r'x for all stories; return how many."""
    number, slot = 0, oldest
    while slot >= 0:
        dot[slot] = product_of(sums[slot], x)
        candidates[number] = slot
        number += 1
        slot = newer[slot]
    return number


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def product_of(a, b):  # type: ignore[no-untyped-def]
    """Return the product of two dense rows of float32, ``a`` and ``b``."""
    total = np.float32(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return np.float64(total)


@njit(cache=True, nogil=True)
def unlink(slot, older, newer, counters):  # type: ignore[no-untyped-def]
    """Take a story out of the order in which stories were last joined."""
    before, after = older[slot], newer[slot]
    if before >= 0:
        newer[before] = after
    else:
        counters[OLDEST] = after
    if after >= 0:
        older[after] = before
    else:
        counters[NEWEST] = before


@njit(cache=True, nogil=True)
def link(slot, older, newer, counters):  # type: ignore[no-untyped-def]
    """Put a story at the end of that order: it was joined last."""
    newest = counters[NEWEST]
    older[slot], newer[slot] = newest, -1
    if newest >= 0:
        newer[newest] = slot
    else:
        counters[OLDEST] = slot
    counters[NEWEST] = slot


@njit(cache=True, nogil=True)
def add(  # type: ignore[no-untyped-def]
    slot, columns, values, key, value, start, room, begin, lengths, rooms, slots, weights, free, used
):
    """Add a row to the sum of a story's rows, whose table has room for its words; return how many of them are new.

    ``key``, ``value``, ``start`` (of its block) and ``room`` are those of the table; ``begin``, ``lengths``, ``rooms``,
    ``slots``, ``weights``, ``free`` and ``used`` are those of the postings.
    """
    new = 0
    for j in range(columns.size):
        word = columns[j]
        at = place(key, start, room, word)
        if key[at] == word:
            weights[begin[word] + value[at]] += values[j]
            continue
        length = lengths[word]
        if rooms[word] < 0 or np.int64(length) == np.int64(1) << np.int64(rooms[word]):
            widen(word, begin, lengths, rooms, slots, weights, free, used)
        slots[begin[word] + length] = slot
        weights[begin[word] + length] = values[j]
        lengths[word] = length + 1
        key[at] = word
        value[at] = length
        new += 1
    return new


@njit(cache=True, nogil=True)
def remove(slot, words, weights, memory):  # type: ignore[no-untyped-def]
    """Take a story off the lists of some of its ``words``; the last entry of a list moves to its place.

    ``weights`` are filled with those of the words. The story's own table stays as it is.
    """
    start, room, key, value = memory.words.start, memory.words.room, memory.places.key, memory.places.value
    begin, lengths, rooms = memory.postings.start, memory.postings.length, memory.postings.room
    slots, sums, free = memory.pool.key, memory.pool.value, memory.pool.free
    for j in range(words.size):
        word = words[j]
        here, last = begin[word], lengths[word] - 1
        at = value[place(key, start[slot], np.int64(room[slot]), word)]
        weights[j] = sums[here + at]
        if at != last:
            moved = slots[here + last]
            slots[here + at] = moved
            sums[here + at] = sums[here + last]
            value[place(key, start[moved], np.int64(room[moved]), word)] = at
        lengths[word] = last
        if last == 0:
            drop(word, begin, lengths, rooms, slots, free)


@njit(cache=True, nogil=True)
def sums_of(slot, memory):  # type: ignore[no-untyped-def]
    """Return the columns of the sum of a story's rows and their weights; sparse ones in no order."""
    if memory.dense.shape[1] > 0:
        return np.arange(memory.dense.shape[1]).astype(np.int32), memory.dense[slot].copy()
    length = memory.words.length[slot]
    columns, weights = np.empty(length, np.int32), np.empty(length, np.float32)
    key, value, begin, sums = memory.places.key, memory.places.value, memory.postings.start, memory.pool.value
    start, number = memory.words.start[slot], 0
    if length:
        for at in range(start, start + (np.int64(1) << np.int64(memory.words.room[slot]))):
            if key[at] >= 0:
                columns[number] = key[at]
                weights[number] = sums[begin[key[at]] + value[at]]
                number += 1
    return columns, weights


@njit(cache=True, nogil=True)
def need_of(columns, lengths, rooms):  # type: ignore[no-untyped-def]
    """Return the most places that a document takes of the pool of postings, whose ``rooms`` these are."""
    need = np.int64(0)
    for word in columns:
        need += wanted(lengths[word], rooms[word], 1)
    return need


@njit(cache=True, nogil=True)
def shorten(memory, slot, most):  # type: ignore[no-untyped-def]
    """Drop all but the ``most`` strongest words of a story."""
    columns, weights = sums_of(slot, memory)
    by_column = np.argsort(columns)
    columns, weights = columns[by_column], weights[by_column]
    order = np.argsort(-np.abs(weights), kind="mergesort")
    weak = weights[order[most:]]
    remove(slot, columns[order[most:]], weak, memory)
    for weight in weak:
        memory.square[slot] -= np.float64(weight) ** 2
    key, value = memory.places.key, memory.places.value
    start, room = memory.words.start[slot], np.int64(memory.words.room[slot])
    kept, at = columns[order[:most]], np.empty(most, np.int32)
    for j in range(most):
        at[j] = value[place(key, start, room, kept[j])]
    key[start : start + (np.int64(1) << room)] = -1
    for j in range(most):
        to = place(key, start, room, kept[j])
        key[to] = kept[j]
        value[to] = at[j]
    memory.words.length[slot] = most


@njit(cache=True, nogil=True)
def _before(column, weight, other, other_weight):  # type: ignore[no-untyped-def]
    """Tell whether a column is stronger than another one, -1 for none; of equals the smaller one is."""
    if other < 0 or abs(weight) != abs(other_weight):
        return other < 0 or abs(weight) > abs(other_weight)
    return column < other


@njit(cache=True, nogil=True)
def strongest(square, columns, weights, words, shares):  # type: ignore[no-untyped-def]
    """Fill ``words`` with the columns of the largest ``weights`` in absolute value, of equals the first; -1 for none.

    ``shares`` are filled with their weights in the mean direction, ``square`` is that of the sum of rows.
    """
    length = math.sqrt(max(square, 1e-300))
    words[:] = -1
    shares[:] = 0.0
    last = words.size - 1
    for j in range(columns.size):
        column, weight = columns[j], weights[j]
        if not _before(column, weight, words[last], shares[last]):
            continue
        rank = last
        while rank > 0 and _before(column, weight, words[rank - 1], shares[rank - 1]):
            words[rank], shares[rank] = words[rank - 1], shares[rank - 1]
            rank -= 1
        words[rank], shares[rank] = column, weight
    for rank in range(words.size):
        shares[rank] /= length


@njit(cache=True, nogil=True)
def strongest_story_words(memory, slots, words, weights):  # type: ignore[no-untyped-def]
    """Fill ``words`` and ``weights`` (n, k) with the strongest columns of the stories in ``slots``, (n,).

    Those of `RetiredArrays` are made in the same way.
    """
    for i in range(slots.size):
        columns, sums = sums_of(slots[i], memory)
        strongest(memory.square[slots[i]], columns, sums, words[i], weights[i])


@njit(cache=True, nogil=True)
def sums_by_story(memory, rank, cursor, words, weights):  # type: ignore[no-untyped-def]
    """Fill ``words`` and ``weights`` with the columns of stories, increasing, and their weights in the sums of rows.

    Those of the story in slot s go from place ``cursor[rank[s]]`` on.
    """
    start, length, key, value = memory.postings.start, memory.postings.length, memory.pool.key, memory.pool.value
    for word in range(start.size):
        for at in range(start[word], start[word] + length[word]):
            story = rank[key[at]]
            words[cursor[story]] = word
            weights[cursor[story]] = value[at]
            cursor[story] += 1
