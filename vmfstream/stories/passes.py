"""The passes over documents, compiled: the story of each, and what it changes.

``memory`` is what the mixture remembers, changed in place where documents are learnt; ``model`` are its settings as
numbers; ``documents`` are rows with their times. ``labels`` (N,) are filled with ids of stories, -1 for rows of zeros.
What is called for every document takes arrays one by one, see `vmfstream.stories.lists`; ``columns`` and ``values`` are
those of one row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel_scalars import ell
from vmfstream.stories.grain import COUNT, GRAINS, KAPPA_SQUARED, OPENING, PRIOR_SQUARED, grain_of, rescore, weight_of
from vmfstream.stories.lists import drop, wanted, widen
from vmfstream.stories.memory import DOCUMENTS, LIVING, MARK, NEWEST, NEXT_ID, OLDEST
from vmfstream.stories.tables import make_room, place
from vmfstream.stories.tables import wanted as wanted_of_table

DONE, NEEDS_SLOTS, NEEDS_POOL, NEEDS_PLACES, NEEDS_RETIRED = range(5)
"""Why a pass came back: all is done, or arrays must grow before the next document."""

TOP_WORDS = 20
"""Number of words that describe a retired story."""

_MARGIN = 1e-9  # by which a bound may miss the score that it bounds, relative: rounding


class Documents(NamedTuple):
    """Unit rows for the compiled code: of a sparse matrix its parts, of a dense one the values and no columns."""

    bounds: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    times: NDArray[np.float64]
    """(N,) relative to the origin; (0,) where time is the number of documents."""


class RetiredArrays(NamedTuple):
    """Stories that were retired, in this order; ``number`` of the places are used."""

    number: NDArray[np.int64]
    ids: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    words: NDArray[np.int32]
    """(places, TOP_WORDS) columns of the largest weights in absolute value, -1 where there are fewer."""
    weights: NDArray[np.float32]
    """(places, TOP_WORDS) their weights in the mean direction."""


@njit(cache=True, nogil=True)
def _visit(columns, values, starts, lengths, key, value, dot, visited, candidates, mark):  # type: ignore[no-untyped-def]
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
def _visit_all(x, sums, oldest, newer, dot, candidates):  # type: ignore[no-untyped-def]
    """Compute w r'x for all stories; return how many."""
    number, slot = 0, oldest
    while slot >= 0:
        dot[slot] = _dot(sums[slot], x)
        candidates[number] = slot
        number += 1
        slot = newer[slot]
    return number


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return np.float64(total)


@njit(cache=True, nogil=True)
def _best(  # type: ignore[no-untyped-def]
    number,
    now,
    weight,
    dense,
    model,
    scale,
    ids,
    size,
    square,
    first,
    last,
    base,
    ceiling,
    slope,
    dot,
    candidates,
    bounds,
):
    """Return the slot of the most probable story, -1 for a new one; of equals the one with the smallest id.

    Stories that are silent for too long, but not retired yet, do not count.
    """
    kappa_squared, prior_squared, own = scale[KAPPA_SQUARED], scale[PRIOR_SQUARED], weight * weight
    best = scale[OPENING] + ell(model.dimension, math.sqrt(kappa_squared * own + prior_squared))
    winner = np.int64(-1)
    highest, most = -1, -np.inf
    for c in range(number):
        slot = candidates[c]
        bounds[c] = ceiling[slot] + slope[slot] * (dot[slot] + 0.5 * own)
        if bounds[c] > most:
            highest, most = c, bounds[c]
    if highest > 0:  # the candidate with the highest bound first: then few others are evaluated
        candidates[0], candidates[highest] = candidates[highest], candidates[0]
        bounds[0], bounds[highest] = bounds[highest], bounds[0]
    threshold = best - _MARGIN * (1.0 + abs(best))
    for c in range(number):
        if bounds[c] < threshold:
            continue
        slot = candidates[c]
        gap = now - last[slot]
        if gap > model.silence or (not dense and dot[slot] == 0.0):
            continue
        silent = (size[slot] + 1.0) * math.log1p(gap / (model.tempo + last[slot] - first[slot]))
        if bounds[c] - silent < threshold:
            continue
        joined = max(square[slot] + 2.0 * dot[slot] + own, 0.0)
        score = base[slot] - silent + ell(model.dimension, math.sqrt(kappa_squared * joined + prior_squared))
        if score > best or (score == best and winner >= 0 and ids[slot] < ids[winner]):
            best, winner = score, np.int64(slot)
            threshold = best - _MARGIN * (1.0 + abs(best))
    return winner


@njit(cache=True, nogil=True)
def _unlink(slot, older, newer, counters):  # type: ignore[no-untyped-def]
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
def _link(slot, older, newer, counters):  # type: ignore[no-untyped-def]
    newest = counters[NEWEST]
    older[slot], newer[slot] = newest, -1
    if newest >= 0:
        newer[newest] = slot
    else:
        counters[OLDEST] = slot
    counters[NEWEST] = slot


@njit(cache=True, nogil=True)
def _remove(slot, words, weights, memory):  # type: ignore[no-untyped-def]
    """Take a story off the lists of some of its words; the last entry of a list moves to its place.

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
def _sums(slot, memory):  # type: ignore[no-untyped-def]
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
def _before(column, weight, other, other_weight):  # type: ignore[no-untyped-def]
    """Tell whether a column is stronger than another one, -1 for none; of equals the smaller one is."""
    if other < 0 or abs(weight) != abs(other_weight):
        return other < 0 or abs(weight) > abs(other_weight)
    return column < other


@njit(cache=True, nogil=True)
def _strongest(square, columns, weights, words, shares):  # type: ignore[no-untyped-def]
    """Fill ``words`` with the columns of the largest weights in absolute value, of equals the first; -1 for none left.

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
def strongest_words(memory, slots, words, weights):  # type: ignore[no-untyped-def]
    """Fill ``words`` and ``weights`` (n, k) with the strongest columns of the stories in ``slots``, (n,).

    Those of `RetiredArrays` are made in the same way.
    """
    for i in range(slots.size):
        columns, sums = _sums(slots[i], memory)
        _strongest(memory.square[slots[i]], columns, sums, words[i], weights[i])


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


@njit(cache=True, nogil=True)
def _retire(memory, retired):  # type: ignore[no-untyped-def]
    """Retire the story that nobody joined for longest."""
    slot = memory.counters[OLDEST]
    at = retired.number[0]
    retired.number[0] += 1
    retired.ids[at] = memory.ids[slot]
    retired.size[at] = memory.size[slot]
    retired.first[at], retired.last[at] = memory.first[slot], memory.last[slot]
    columns, weights = _sums(slot, memory)
    _strongest(memory.square[slot], columns, weights, retired.words[at], retired.weights[at])
    if memory.dense.shape[1] > 0:
        memory.dense[slot] = 0.0
    else:
        _remove(slot, columns, weights, memory)
        drop(slot, memory.words.start, memory.words.length, memory.words.room, memory.places.key, memory.places.free)
    _unlink(slot, memory.older, memory.newer, memory.counters)
    memory.ids[slot] = -1
    memory.counters[LIVING] -= 1
    memory.free[memory.ids.size - memory.counters[LIVING] - 1] = slot


@njit(cache=True, nogil=True)
def _add(  # type: ignore[no-untyped-def]
    slot, columns, values, key, value, start, room, begin, lengths, rooms, slots, weights, free, used
):
    """Add a row to the sum of a story's rows, whose table has room for its words; return how many of them are new.

    ``key`` to ``room`` are those of the table, ``begin`` to ``used`` those of the postings.
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
def _shorten(memory, slot, most):  # type: ignore[no-untyped-def]
    """Drop all but the ``most`` strongest words of a story."""
    columns, weights = _sums(slot, memory)
    by_column = np.argsort(columns)
    columns, weights = columns[by_column], weights[by_column]
    order = np.argsort(-np.abs(weights), kind="mergesort")
    weak = weights[order[most:]]
    _remove(slot, columns[order[most:]], weak, memory)
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
def _need(columns, lengths, rooms):  # type: ignore[no-untyped-def]
    """Return the most places of the pool of postings that a document takes."""
    need = np.int64(0)
    for word in columns:
        need += wanted(lengths[word], rooms[word], 1)
    return need


@njit(cache=True, nogil=True)
def learn_rows(memory, model, documents, begin, labels, cosines, retired):  # type: ignore[no-untyped-def]
    """Give documents from ``begin`` on their stories, one after the other, and learn them.

    Returns how many are done, why no more are, and how many places a pool lacks.

    ``cosines`` are filled with those of documents and the stories that they joined, ``retired`` with the stories that
    ended meanwhile.
    """
    dense = memory.dense.shape[1] > 0
    ids, size, square, first, last = memory.ids, memory.size, memory.square, memory.first, memory.last
    base, ceiling, slope, scale = memory.base, memory.ceiling, memory.slope, memory.scale
    older, newer, free, dot, visited = memory.older, memory.newer, memory.free, memory.dot, memory.visited
    candidates, bounds, counters, clock = memory.candidates, memory.bounds, memory.counters, memory.clock
    words, places, postings, pool = memory.words, memory.places, memory.postings, memory.pool
    table, table_length, table_room = words.start, words.length, words.room
    key, value, places_free, places_used = places.key, places.value, places.free, places.used
    start, length, room = postings.start, postings.length, postings.room
    slots, weights, pool_free, pool_used = pool.key, pool.value, pool.free, pool.used
    rows, all_columns, all_values, times = documents.bounds, documents.columns, documents.values, documents.times
    number, ended, sums, no_columns = retired.number, retired.ids.size, memory.dense, documents.columns[:0]
    for i in range(begin, labels.size):
        if rows[i] == rows[i + 1]:
            labels[i] = -1
            continue
        columns = no_columns if dense else all_columns[rows[i] : rows[i + 1]]
        values = all_values[rows[i] : rows[i + 1]]
        weight = 1.0
        if model.automatic:
            grain = grain_of(values)
            weight = weight_of(grain)
            values = values * np.float32(weight)
        now = max(clock[0], times[i]) if times.size else np.float64(counters[DOCUMENTS])
        while counters[OLDEST] >= 0 and now - last[counters[OLDEST]] > model.silence:
            if number[0] == ended:
                return i, NEEDS_RETIRED, np.int64(0)
            _retire(memory, retired)
        counters[MARK] += 1
        if dense:
            found = _visit_all(values, sums, counters[OLDEST], newer, dot, candidates)
        else:
            found = _visit(columns, values, start, length, slots, weights, dot, visited, candidates, counters[MARK])
        slot = _best(
            found, now, weight, dense, model, scale, ids, size, square, first, last, base, ceiling, slope, dot,
            candidates, bounds,
        )  # fmt: skip
        opened = slot < 0
        if opened:
            if counters[LIVING] >= model.max_stories:
                if number[0] == ended:
                    return i, NEEDS_RETIRED, np.int64(0)
                _retire(memory, retired)
            if counters[LIVING] == ids.size:
                return i, NEEDS_SLOTS, np.int64(0)
            slot = free[ids.size - counters[LIVING] - 1]
        if not dense:
            need = _need(columns, length, room)
            if pool_used[0] + need > slots.size:
                return i, NEEDS_POOL, need
            need = wanted_of_table(table_length[slot], table_room[slot], columns.size)
            if places_used[0] + need > key.size:
                return i, NEEDS_PLACES, need
        if opened:
            ids[slot] = counters[NEXT_ID]
            size[slot] = 0
            square[slot] = 0.0
            dot[slot] = 0.0
            first[slot] = now
            counters[NEXT_ID] += 1
            counters[LIVING] += 1
        else:
            _unlink(slot, older, newer, counters)
            cosines[i] = dot[slot] / weight / math.sqrt(max(square[slot], 1e-300))
        _link(slot, older, newer, counters)
        if dense:
            sums[slot] += values
        else:
            make_room(slot, columns, table, table_length, table_room, key, value, places_free, places_used)
            table_length[slot] += _add(
                slot, columns, values, key, value, table[slot], np.int64(table_room[slot]), start, length, room, slots,
                weights, pool_free, pool_used,
            )  # fmt: skip
        size[slot] += 1
        square[slot] += 2.0 * dot[slot] + weight * weight
        last[slot] = now
        if table_length[slot] > model.max_words:
            _shorten(memory, slot, model.max_words - model.max_words // 4)
        rescore(slot, model, scale, size, square, first, last, base, ceiling, slope)
        labels[i] = ids[slot]
        counters[DOCUMENTS] += 1
        clock[0] = now
        if model.automatic:
            scale[GRAINS] += grain
            scale[COUNT] += 1.0
    return labels.size, DONE, np.int64(0)


@njit(cache=True, nogil=True)
def label_rows(memory, model, documents, labels):  # type: ignore[no-untyped-def]
    """Give every document the label that it would get if it were learnt next."""
    dense = memory.dense.shape[1] > 0
    counters, clock, rows = memory.counters, memory.clock, documents.bounds
    for i in range(labels.size):
        if rows[i] == rows[i + 1]:
            labels[i] = -1
            continue
        now = max(clock[0], documents.times[i]) if documents.times.size else np.float64(counters[DOCUMENTS])
        values = documents.values[rows[i] : rows[i + 1]]
        weight = 1.0
        if model.automatic:
            weight = weight_of(grain_of(values))
            values = values * np.float32(weight)
        counters[MARK] += 1
        if dense:
            found = _visit_all(values, memory.dense, counters[OLDEST], memory.newer, memory.dot, memory.candidates)
        else:
            found = _visit(
                documents.columns[rows[i] : rows[i + 1]], values, memory.postings.start, memory.postings.length,
                memory.pool.key, memory.pool.value, memory.dot, memory.visited, memory.candidates, counters[MARK],
            )  # fmt: skip
        slot = _best(
            found, now, weight, dense, model, memory.scale, memory.ids, memory.size, memory.square, memory.first,
            memory.last, memory.base, memory.ceiling, memory.slope, memory.dot, memory.candidates, memory.bounds,
        )  # fmt: skip
        labels[i] = memory.ids[slot] if slot >= 0 else counters[NEXT_ID]


@njit(cache=True, nogil=True)
def place_stories(memory, model, begin, sums):  # type: ignore[no-untyped-def]
    """Put stories from slot ``begin`` on into an empty memory whose figures are set; ``sums`` are their sums of rows.

    Returns how many are done, what the next one lacks, and how many places of it.
    """
    dense = memory.dense.shape[1] > 0
    words, places, postings, pool = memory.words, memory.places, memory.postings, memory.pool
    for slot in range(begin, sums.bounds.size - 1):
        low, high = sums.bounds[slot], sums.bounds[slot + 1]
        values = sums.values[low:high]
        if dense:
            memory.dense[slot] += values
        else:
            columns = sums.columns[low:high]
            need = _need(columns, postings.length, postings.room)
            if pool.used[0] + need > pool.key.size:
                return slot, NEEDS_POOL, need
            need = wanted_of_table(words.length[slot], words.room[slot], columns.size)
            if places.used[0] + need > places.key.size:
                return slot, NEEDS_PLACES, need
            make_room(
                slot, columns, words.start, words.length, words.room, places.key, places.value, places.free,
                places.used,
            )  # fmt: skip
            words.length[slot] += _add(
                slot, columns, values, places.key, places.value, words.start[slot], np.int64(words.room[slot]),
                postings.start, postings.length, postings.room, pool.key, pool.value, pool.free, pool.used,
            )  # fmt: skip
        _link(slot, memory.older, memory.newer, memory.counters)
        rescore(
            slot, model, memory.scale, memory.size, memory.square, memory.first, memory.last, memory.base,
            memory.ceiling, memory.slope,
        )  # fmt: skip
    return sums.bounds.size - 1, DONE, np.int64(0)
