"""How stories end, compiled: no document joined them for long, or they were merged into another one.

A story that has 5, 10, 20 or 40 documents (``examined``, and twice as many up to ``last_examined``, of `StorySettings`)
is compared with the other stories of at least 5. With sums of rows r_a and r_b, those of more than 10 documents
(``compared``) scaled down to so many, the log Bayes factor of one mean direction against two is

    L(kappa r_a + C_0 m_0) + L(kappa r_b + C_0 m_0) - L(kappa (r_a + r_b) + C_0 m_0) - L(C_0),   L(v) = log C_D(|v|),

plus the same of vectors that documents have beside their words.

The two become one if that exceeds log alpha, the log prior odds of a story of its own. Without the scaling the factor
of two stories that are about the same, but not of the same words, falls below any bound as they grow. Only stories that
were opened within the last half-life are compared: one event makes two stories when it begins, while two stories whose
words are as near and whose beginnings are apart are two events. The first half-life of a stream does not count, for
its stories all began together.

``memory`` is what the mixture remembers, changed in place; ``model`` are its settings as numbers; ``slot`` is the place
of a story; ``retired`` are filled with the stories that ended.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel_scalars import ell
from vmfstream.stories.grain import KAPPA_SQUARED, OPENING, PRIOR_SQUARED, rescore
from vmfstream.stories.lists import drop
from vmfstream.stories.memory import DONE, EXAMINE, LIVING, MARK, NEEDS_PLACES, NEEDS_POOL, NEEDS_RETIRED, OLDEST
from vmfstream.stories.sums import (
    add,
    link,
    need_of,
    product_of,
    remove,
    shorten,
    strongest,
    sums_of,
    unlink,
    visit,
    visit_all,
)
from vmfstream.stories.tables import make_room
from vmfstream.stories.tables import wanted as wanted_of_table

TOP_WORDS = 20
"""Number of words that describe a story that ended."""


class RetiredArrays(NamedTuple):
    """Stories that ended, in this order; ``number`` of the places are used."""

    number: NDArray[np.int64]
    ids: NDArray[np.int64]
    size: NDArray[np.int64]
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    words: NDArray[np.int32]
    """(places, TOP_WORDS) columns of the largest weights in absolute value, -1 where there are fewer."""
    weights: NDArray[np.float32]
    """(places, TOP_WORDS) their weights in the mean direction."""
    into: NDArray[np.int64]
    """(places,) ids of the stories that they were merged into, -1 for those that nobody joined."""
    evidence: NDArray[np.float64]
    """(places,) the log Bayes factor for one story, minus log alpha; NaN for those that nobody joined."""


@njit(cache=True, nogil=True)
def retire(memory, retired):  # type: ignore[no-untyped-def]
    """End the story that nobody joined for longest."""
    slot = memory.counters[OLDEST]
    columns, weights = sums_of(slot, memory)
    _end(slot, columns, weights, memory, retired, np.int64(-1), np.nan)


@njit(cache=True, nogil=True)
def _end(slot, columns, weights, memory, retired, into, evidence):  # type: ignore[no-untyped-def]
    at = retired.number[0]
    retired.number[0] += 1
    retired.ids[at] = memory.ids[slot]
    retired.size[at] = memory.size[slot]
    retired.first[at], retired.last[at] = memory.first[slot], memory.last[slot]
    retired.into[at], retired.evidence[at] = into, evidence
    strongest(memory.square[slot], columns, weights, retired.words[at], retired.weights[at])
    if memory.dense.shape[1] > 0:
        memory.dense[slot] = 0.0
    else:
        remove(slot, columns, weights, memory)
        drop(slot, memory.words.start, memory.words.length, memory.words.room, memory.places.key, memory.places.free)
    if memory.beside.shape[1] > 0:
        memory.beside[slot] = 0.0
        memory.beside_square[slot] = 0.0
    unlink(slot, memory.older, memory.newer, memory.counters)
    memory.ids[slot] = -1
    memory.counters[LIVING] -= 1
    memory.free[memory.ids.size - memory.counters[LIVING] - 1] = slot


@njit(cache=True, nogil=True)
def to_examine(size, first, now, model):  # type: ignore[no-untyped-def]
    """Tell whether a story that has ``size`` documents since ``first`` is compared ``now``."""
    times = size // model.examined
    doubled = size == times * model.examined and times & (times - 1) == 0
    return 0 < size <= model.last_examined and doubled and _young(first, now, model.half_life)


@njit(cache=True, nogil=True)
def _young(first, now, half_life):  # type: ignore[no-untyped-def]
    return first > half_life and now - first <= half_life


@njit(cache=True, nogil=True)
def merge_twin(memory, model, retired):  # type: ignore[no-untyped-def]
    """Compare the story that waits for it with others, and merge the smaller one of two into the larger.

    Of equals the one with the smaller id is kept. Returns what is lacking, `DONE` for nothing, and how many places of
    it; then nothing was changed.
    """
    one = memory.counters[EXAMINE]
    other, evidence, product = _twin_of(one, memory, model)
    if other >= 0:
        if retired.number[0] == retired.ids.size:
            return NEEDS_RETIRED, np.int64(0)
        more = memory.size[one] - memory.size[other]
        kept, gone = (one, other) if more > 0 or (more == 0 and memory.ids[one] < memory.ids[other]) else (other, one)
        columns, weights = sums_of(gone, memory)
        if memory.dense.shape[1] == 0:
            need = need_of(columns, memory.postings.length, memory.postings.room)
            if memory.pool.used[0] + need > memory.pool.key.size:
                return NEEDS_POOL, need
            need = wanted_of_table(memory.words.length[kept], memory.words.room[kept], columns.size)
            if memory.places.used[0] + need > memory.places.key.size:
                return NEEDS_PLACES, need
        _merge(kept, gone, columns, weights, product, evidence, memory, model, retired)
    memory.counters[EXAMINE] = -1
    return DONE, np.int64(0)


@njit(cache=True, nogil=True)
def _twin_of(slot, memory, model):  # type: ignore[no-untyped-def]
    """Return the story that is the same as one that was just joined, -1 for none, the evidence and r_a'r_b.

    Of equals it is the one with the smallest id.
    """
    counters, scale, now = memory.counters, memory.scale, memory.last[slot]
    columns, weights = sums_of(slot, memory)
    counters[MARK] += 1
    if memory.dense.shape[1] > 0:
        number = visit_all(weights, memory.dense, counters[OLDEST], memory.newer, memory.dot, memory.candidates)
    else:
        order = np.argsort(columns)  # whatever the order of the table: sums are the same to the last bit
        number = visit(
            columns[order], weights[order], memory.postings.start, memory.postings.length, memory.pool.key,
            memory.pool.value, memory.dot, memory.visited, memory.candidates, counters[MARK],
        )  # fmt: skip
    own = min(1.0, model.compared / memory.size[slot])
    own_square = own * own * memory.square[slot]
    two = memory.beside.shape[1] > 0
    own_ell = _ell_of(own_square, model, scale)
    if two:
        own_ell += _ell_beside(own * own * memory.beside_square[slot], model)
    best, winner, product = 0.0, np.int64(-1), 0.0
    for c in range(number):
        other = memory.candidates[c]
        if other == slot or memory.size[other] < model.examined or memory.dot[other] <= 0.0:
            continue
        if not _young(memory.first[other], now, model.half_life):
            continue
        share = min(1.0, model.compared / memory.size[other])
        square = share * share * memory.square[other]
        together = own_square + square + 2.0 * own * share * memory.dot[other]
        evidence = _ell_of(together, model, scale) - own_ell - _ell_of(square, model, scale) - scale[OPENING]
        if two:
            memory.beside_dot[other] = product_of(memory.beside[slot], memory.beside[other])
            square = share * share * memory.beside_square[other]
            together = own * own * memory.beside_square[slot] + square + 2.0 * own * share * memory.beside_dot[other]
            evidence += _ell_beside(together, model) - _ell_beside(square, model)
        if evidence > best or (evidence == best and winner >= 0 and memory.ids[other] < memory.ids[winner]):
            best, winner, product = evidence, np.int64(other), memory.dot[other]
    return winner, best, product


@njit(cache=True, nogil=True)
def _ell_of(square, model, scale):  # type: ignore[no-untyped-def]
    return ell(model.dimension, math.sqrt(scale[KAPPA_SQUARED] * max(square, 0.0) + scale[PRIOR_SQUARED]))


@njit(cache=True, nogil=True)
def _ell_beside(square, model):  # type: ignore[no-untyped-def]
    return ell(model.beside, math.sqrt(model.beside_kappa * max(square, 0.0) + model.beside_prior))


@njit(cache=True, nogil=True)
def _merge(kept, gone, columns, weights, product, evidence, memory, model, retired):  # type: ignore[no-untyped-def]
    """Merge the story in slot ``gone``, with its columns and weights, into another one; r_a'r_b is ``product``."""
    if memory.dense.shape[1] > 0:
        memory.dense[kept] += memory.dense[gone]
    else:
        words, places, postings, pool = memory.words, memory.places, memory.postings, memory.pool
        make_room(
            kept, columns, words.start, words.length, words.room, places.key, places.value, places.free, places.used
        )
        words.length[kept] += add(
            kept, columns, weights, places.key, places.value, words.start[kept], np.int64(words.room[kept]),
            postings.start, postings.length, postings.room, pool.key, pool.value, pool.free, pool.used,
        )  # fmt: skip
    square, beside_square = memory.square[gone] + 2.0 * product, 0.0
    if memory.beside.shape[1] > 0:
        between = product_of(memory.beside[kept], memory.beside[gone])
        beside_square = memory.beside_square[gone] + 2.0 * between
        memory.beside[kept] += memory.beside[gone]
    size, first, last = memory.size[gone], memory.first[gone], memory.last[gone]
    _end(gone, columns, weights, memory, retired, memory.ids[kept], evidence)
    memory.size[kept] += size
    memory.square[kept] += square
    memory.beside_square[kept] += beside_square
    memory.first[kept] = min(memory.first[kept], first)
    if last > memory.last[kept]:
        memory.last[kept] = last
        unlink(kept, memory.older, memory.newer, memory.counters)
        link(kept, memory.older, memory.newer, memory.counters)
    if memory.words.length[kept] > model.max_words:
        shorten(memory, kept, model.max_words - model.max_words // 4)
    rescore(
        kept, model, memory.scale, memory.size, memory.square, memory.first, memory.last, memory.base, memory.ceiling,
        memory.slope, memory.beside_square, memory.beside_slope,
    )  # fmt: skip
