"""The passes over documents, compiled: the story of each, and what it changes.

``memory`` is what the mixture remembers, changed in place where documents are learnt; ``model`` are its settings as
numbers; ``documents`` are rows with their times. ``labels`` (N,) are filled with ids of stories, -1 for rows of zeros.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel_scalars import ell
from vmfstream.stories.grain import KAPPA_SQUARED, OPENING, PRIOR_SQUARED, follow_length, rescore
from vmfstream.stories.lists import append, drop, find, remove, wanted
from vmfstream.stories.memory import DOCUMENTS, LIVING, MARK, NEWEST, NEXT_ID, OLDEST

DONE, NEEDS_SLOTS, NEEDS_POOL, NEEDS_RETIRED = range(4)
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
def _g(memory, model, square):  # type: ignore[no-untyped-def]
    kappa_squared, prior_squared = memory.scale[KAPPA_SQUARED], memory.scale[PRIOR_SQUARED]
    return ell(model.dimension, math.sqrt(kappa_squared * max(square, 0.0) + prior_squared))


@njit(cache=True, nogil=True)
def _visit(memory, documents, i, dense):  # type: ignore[no-untyped-def]
    """Compute r'x for stories that share a word with document ``i`` (all, if rows are dense); return how many."""
    low, high = documents.bounds[i], documents.bounds[i + 1]
    dot, visited, candidates = memory.dot, memory.visited, memory.candidates
    memory.counters[MARK] += 1
    mark = memory.counters[MARK]
    number = 0
    if dense:
        x = documents.values[low:high]
        slot = memory.counters[OLDEST]
        while slot >= 0:
            dot[slot] = _dot(memory.dense[slot], x)
            visited[slot] = mark
            candidates[number] = slot
            number += 1
            slot = memory.newer[slot]
        return number
    key, value, postings = memory.pool.key, memory.pool.value, memory.postings
    entries = 0
    for j in range(low, high):
        entries += postings.length[documents.columns[j]]
    if entries > 2 * dot.size:  # cheaper than to ask of every entry whether its story was visited
        dot[:] = 0.0
        for j in range(low, high):
            word, weight = documents.columns[j], np.float64(documents.values[j])
            start = postings.start[word]
            for at in range(start, start + postings.length[word]):
                dot[key[at]] += weight * value[at]
        for slot in range(dot.size):
            candidates[number] = slot
            number += dot[slot] != 0.0
        return number
    for j in range(low, high):
        word, weight = documents.columns[j], np.float64(documents.values[j])
        start = postings.start[word]
        for at in range(start, start + postings.length[word]):
            slot = key[at]
            if visited[slot] != mark:
                visited[slot] = mark
                dot[slot] = 0.0
                candidates[number] = slot
                number += 1
            dot[slot] += weight * value[at]
    return number


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = np.float32(0.0)
    for j in range(a.size):
        total += a[j] * b[j]
    return np.float64(total)


@njit(cache=True, nogil=True)
def _best(memory, model, number, now):  # type: ignore[no-untyped-def]
    """Return the slot of the most probable story, -1 for a new one; of equals the one with the smallest id.

    Stories that are silent for too long, but not retired yet, do not count.
    """
    best, winner = memory.scale[OPENING], np.int64(-1)
    ceiling, slope, dot = memory.ceiling, memory.slope, memory.dot
    first, highest = np.int64(-1), -np.inf
    for c in range(number):  # the candidate with the highest bound first: then few others are evaluated
        slot = memory.candidates[c]
        bound = ceiling[slot] + slope[slot] * dot[slot]
        if bound > highest:
            first, highest = slot, bound
    if first >= 0:
        best, winner = _better(memory, model, first, now, best, winner)
    threshold = best - _MARGIN * (1.0 + abs(best))
    for c in range(number):
        slot = memory.candidates[c]
        if slot != first and ceiling[slot] + slope[slot] * dot[slot] >= threshold:
            best, winner = _better(memory, model, slot, now, best, winner)
            threshold = best - _MARGIN * (1.0 + abs(best))
    return winner


@njit(cache=True, nogil=True)
def _better(memory, model, slot, now, best, winner):  # type: ignore[no-untyped-def]
    gap = now - memory.last[slot]
    if gap > model.silence or (memory.dense.shape[1] == 0 and memory.dot[slot] == 0.0):
        return best, winner
    span = model.tempo + memory.last[slot] - memory.first[slot]
    score = memory.base[slot] - (memory.size[slot] + 1.0) * math.log1p(gap / span)
    bound = score + memory.ceiling[slot] - memory.base[slot] + memory.slope[slot] * memory.dot[slot]
    if bound < best - _MARGIN * (1.0 + abs(best)):
        return best, winner
    score += _g(memory, model, memory.square[slot] + 2.0 * memory.dot[slot] + 1.0)
    if score > best or (score == best and winner >= 0 and memory.ids[slot] < memory.ids[winner]):
        return score, np.int64(slot)
    return best, winner


@njit(cache=True, nogil=True)
def _unlink(memory, slot):  # type: ignore[no-untyped-def]
    older, newer = memory.older[slot], memory.newer[slot]
    if older >= 0:
        memory.newer[older] = newer
    else:
        memory.counters[OLDEST] = newer
    if newer >= 0:
        memory.older[newer] = older
    else:
        memory.counters[NEWEST] = older


@njit(cache=True, nogil=True)
def _link(memory, slot):  # type: ignore[no-untyped-def]
    newest = memory.counters[NEWEST]
    memory.older[slot], memory.newer[slot] = newest, -1
    if newest >= 0:
        memory.newer[newest] = slot
    else:
        memory.counters[OLDEST] = slot
    memory.counters[NEWEST] = slot


@njit(cache=True, nogil=True)
def _sums(memory, slot, dense):  # type: ignore[no-untyped-def]
    """Return the columns of the sum of a story's rows, increasing, and their weights."""
    if dense:
        return np.arange(memory.dense.shape[1]).astype(np.int32), memory.dense[slot].copy()
    start, length = memory.words.start[slot], memory.words.length[slot]
    columns = np.sort(memory.pool.key[start : start + length])
    weights = np.empty(length, np.float32)
    for j in range(length):
        weights[j] = memory.pool.value[find(memory.postings, columns[j], memory.pool, slot)]
    return columns, weights


@njit(cache=True, nogil=True)
def _retire(memory, retired, dense):  # type: ignore[no-untyped-def]
    """Retire the story that nobody joined for longest."""
    slot = memory.counters[OLDEST]
    at = retired.number[0]
    retired.number[0] += 1
    retired.ids[at] = memory.ids[slot]
    retired.size[at] = memory.size[slot]
    retired.first[at], retired.last[at] = memory.first[slot], memory.last[slot]
    columns, weights = _sums(memory, slot, dense)
    order = np.argsort(-np.abs(weights), kind="mergesort")[:TOP_WORDS]
    retired.words[at] = -1
    retired.weights[at] = 0.0
    length = math.sqrt(max(memory.square[slot], 1e-300))
    for j in range(order.size):
        retired.words[at, j] = columns[order[j]]
        retired.weights[at, j] = weights[order[j]] / length
    if dense:
        memory.dense[slot] = 0.0
    else:
        for word in columns:
            remove(memory.postings, word, memory.pool, slot)
        drop(memory.words, slot, memory.pool)
    _unlink(memory, slot)
    memory.ids[slot] = -1
    memory.counters[LIVING] -= 1
    memory.free[memory.ids.size - memory.counters[LIVING] - 1] = slot


@njit(cache=True, nogil=True)
def _add(memory, documents, i, slot, dense):  # type: ignore[no-untyped-def]
    """Add row ``i`` to the sum of a story's rows."""
    low, high = documents.bounds[i], documents.bounds[i + 1]
    if dense:
        memory.dense[slot] += documents.values[low:high]
        return
    for j in range(low, high):
        word = documents.columns[j]
        at = find(memory.postings, word, memory.pool, slot)
        if at >= 0:
            memory.pool.value[at] += documents.values[j]
        else:
            append(memory.postings, word, memory.pool, np.int32(slot), documents.values[j])
            append(memory.words, slot, memory.pool, word, np.float32(0.0))


@njit(cache=True, nogil=True)
def _shorten(memory, slot, most):  # type: ignore[no-untyped-def]
    """Drop all but the ``most`` strongest words of a story."""
    columns, weights = _sums(memory, slot, False)
    order = np.argsort(-np.abs(weights), kind="mergesort")
    for j in order[most:]:
        memory.square[slot] -= np.float64(remove(memory.postings, columns[j], memory.pool, slot)) ** 2
    start = memory.words.start[slot]
    for j in range(most):
        memory.pool.key[start + j] = columns[order[j]]
    memory.words.length[slot] = most


@njit(cache=True, nogil=True)
def _need(memory, documents, i, slot):  # type: ignore[no-untyped-def]
    """Return how many places of the pool document ``i`` takes at most if it joins the story."""
    if documents.columns.size == 0:
        return np.int64(0)
    low, high = documents.bounds[i], documents.bounds[i + 1]
    need = np.int64(0)
    for j in range(low, high):
        need += wanted(memory.postings, documents.columns[j], 1)
    return need + wanted(memory.words, slot, high - low)


@njit(cache=True, nogil=True)
def learn_rows(memory, model, documents, begin, labels, cosines, retired):  # type: ignore[no-untyped-def]
    """Give documents from ``begin`` on their stories, one after the other, and learn them.

    Returns how many are done, why no more are, and how many places the pool lacks.

    ``cosines`` are filled with those of documents and the stories that they joined, ``retired`` with the stories that
    ended meanwhile.
    """
    dense = memory.dense.shape[1] > 0
    counters, clock = memory.counters, memory.clock
    for i in range(begin, labels.size):
        if documents.bounds[i] == documents.bounds[i + 1]:
            labels[i] = -1
            continue
        now = max(clock[0], documents.times[i]) if documents.times.size else np.float64(counters[DOCUMENTS])
        while counters[OLDEST] >= 0 and now - memory.last[counters[OLDEST]] > model.silence:
            if retired.number[0] == retired.ids.size:
                return i, NEEDS_RETIRED, np.int64(0)
            _retire(memory, retired, dense)
        slot = _best(memory, model, _visit(memory, documents, i, dense), now)
        opened = slot < 0
        if opened:
            if counters[LIVING] >= model.max_stories:
                if retired.number[0] == retired.ids.size:
                    return i, NEEDS_RETIRED, np.int64(0)
                _retire(memory, retired, dense)
            if counters[LIVING] == memory.ids.size:
                return i, NEEDS_SLOTS, np.int64(0)
            slot = memory.free[memory.ids.size - counters[LIVING] - 1]
        need = _need(memory, documents, i, slot)
        if memory.pool.used[0] + need > memory.pool.key.size:
            return i, NEEDS_POOL, need
        if opened:
            memory.ids[slot] = counters[NEXT_ID]
            memory.size[slot] = 0
            memory.square[slot] = 0.0
            memory.dot[slot] = 0.0
            memory.first[slot] = now
            counters[NEXT_ID] += 1
            counters[LIVING] += 1
        else:
            _unlink(memory, slot)
            cosines[i] = memory.dot[slot] / math.sqrt(max(memory.square[slot], 1e-300))
        _link(memory, slot)
        _add(memory, documents, i, slot, dense)
        memory.size[slot] += 1
        memory.square[slot] += 2.0 * memory.dot[slot] + 1.0
        memory.last[slot] = now
        if not dense and memory.words.length[slot] > model.max_words:
            _shorten(memory, slot, model.max_words - model.max_words // 4)
        rescore(memory, model, slot)
        labels[i] = memory.ids[slot]
        counters[DOCUMENTS] += 1
        clock[0] = now
        if model.automatic:
            follow_length(memory, model, documents, i)
    return labels.size, DONE, np.int64(0)


@njit(cache=True, nogil=True)
def label_rows(memory, model, documents, labels):  # type: ignore[no-untyped-def]
    """Give every document the label that it would get if it were learnt next."""
    dense = memory.dense.shape[1] > 0
    counters, clock = memory.counters, memory.clock
    for i in range(labels.size):
        if documents.bounds[i] == documents.bounds[i + 1]:
            labels[i] = -1
            continue
        now = max(clock[0], documents.times[i]) if documents.times.size else np.float64(counters[DOCUMENTS])
        slot = _best(memory, model, _visit(memory, documents, i, dense), now)
        labels[i] = memory.ids[slot] if slot >= 0 else counters[NEXT_ID]


@njit(cache=True, nogil=True)
def place_stories(memory, model, begin, sums):  # type: ignore[no-untyped-def]
    """Put stories from slot ``begin`` on into an empty memory whose figures are set; ``sums`` are their sums of rows.

    Returns how many are done and how many places the pool lacks for the next.
    """
    for slot in range(begin, sums.bounds.size - 1):
        need = _need(memory, sums, slot, slot)
        if memory.pool.used[0] + need > memory.pool.key.size:
            return slot, need
        _add(memory, sums, slot, slot, memory.dense.shape[1] > 0)
        _link(memory, slot)
        rescore(memory, model, slot)
    return sums.bounds.size - 1, np.int64(0)
