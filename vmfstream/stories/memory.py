"""What a sequential mixture remembers, as arrays for the compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.stories.lists import Lists, Pool, empty_lists, empty_pool, more_lists

LIVING, NEXT_ID, DOCUMENTS, OLDEST, NEWEST, MARK, EXAMINE, N_COUNTERS = range(8)
"""Places in ``Memory.counters``: living stories, next id, documents learnt, slots that were joined longest ago and
last, mark of the last visit, slot of the story to compare with others before the next document or -1."""

DONE, NEEDS_SLOTS, NEEDS_POOL, NEEDS_PLACES, NEEDS_RETIRED = range(5)
"""Why a pass came back: all is done, or arrays must grow before the next document."""


class Memory(NamedTuple):
    """State of a sequential mixture. A story has a slot; slots are used again, ids are not.

    With S slots, D columns and g(q) = ell(|kappa r + C_0 m_0|) for |r|^2 = q, where r is the sum of rows times their
    weights w, the score of a document x of weight w at time t is

        log P(c) + log p(x | c) = base + g(q + 2 w r'x + w^2) - (n + 1) log(1 + (t - last) / (b_0 + last - first)),

    but for what all stories share. Vectors beside the words have sums, squares, products and slopes of their own; the
    base is less their g, the ceiling has both, and the score has a second g(q + 2 r'x + 1).
    """

    ids: NDArray[np.int64]
    """(S,) -1 for free slots."""
    size: NDArray[np.int64]
    """(S,) n, the documents of each."""
    square: NDArray[np.float64]
    """(S,) q = |r|^2."""
    first: NDArray[np.float64]
    last: NDArray[np.float64]
    base: NDArray[np.float64]
    """(S,) 2 log n - log(1 + (last - first) / b_0) - g(q)."""
    ceiling: NDArray[np.float64]
    """(S,) base + g(q): with g'(q) (2 w r'x + w^2) a bound of the score, for g is concave."""
    slope: NDArray[np.float64]
    """(S,) 2 g'(q)."""
    older: NDArray[np.int64]
    newer: NDArray[np.int64]
    """(S,) neighbours in the order in which stories were last joined, -1 at the ends."""
    free: NDArray[np.int64]
    """(S,) free slots; the next one to take is at place S - living - 1."""
    dot: NDArray[np.float64]
    visited: NDArray[np.int64]
    candidates: NDArray[np.int64]
    bounds: NDArray[np.float64]
    """(S,) w r'x, mark of the last visit, slots visited for one document and bounds of their scores."""
    words: Lists
    """S tables: of each word of a story, where in the word's list its weight is."""
    postings: Lists
    """D lists: the slots of the stories that hold a word, and the word's weight in r."""
    pool: Pool
    """Memory of the postings."""
    places: Pool
    """Memory of the words."""
    dense: NDArray[np.float32]
    """(S, D) sums of rows; (1, 0) in a sparse mixture."""
    beside: NDArray[np.float32]
    """(S, E) sums of the vectors that documents have beside their words; (1, 0) without."""
    beside_square: NDArray[np.float64]
    beside_dot: NDArray[np.float64]
    beside_slope: NDArray[np.float64]
    """(S,) what ``square``, ``dot`` and ``slope`` are, of these vectors."""
    counters: NDArray[np.int64]
    clock: NDArray[np.float64]
    """(2,) newest time, relative to the origin; the origin."""
    scale: NDArray[np.float64]
    """(5,) concentrations of the formulas and the grains so far, see `vmfstream.stories.grain`."""


def empty_memory(slots: int, columns: int, dense: bool, vectors: int = 0) -> Memory:
    """Return the memory of a mixture without stories: room for ``slots`` of them and for ``columns`` columns.

    ``dense`` keeps sums of rows as arrays instead of lists; ``vectors`` is the length of those that documents have
    beside their words, 0 for none.
    """
    counters = np.zeros(N_COUNTERS, np.int64)
    counters[[OLDEST, NEWEST, EXAMINE]] = -1
    return Memory(
        ids=np.full(slots, -1, np.int64),
        size=np.zeros(slots, np.int64),
        square=np.zeros(slots),
        first=np.zeros(slots),
        last=np.zeros(slots),
        base=np.zeros(slots),
        ceiling=np.zeros(slots),
        slope=np.zeros(slots),
        older=np.full(slots, -1, np.int64),
        newer=np.full(slots, -1, np.int64),
        free=np.arange(slots - 1, -1, -1),
        dot=np.zeros(slots),
        visited=np.zeros(slots, np.int64),
        candidates=np.zeros(slots, np.int64),
        bounds=np.zeros(slots),
        words=empty_lists(slots),
        postings=empty_lists(0 if dense else columns),
        pool=empty_pool(0 if dense else 1024),
        places=empty_pool(0 if dense else 1024, np.int32),
        dense=np.zeros((slots, columns), np.float32) if dense else np.zeros((1, 0), np.float32),
        beside=np.zeros((slots, vectors), np.float32) if vectors else np.zeros((1, 0), np.float32),
        beside_square=np.zeros(slots),
        beside_dot=np.zeros(slots),
        beside_slope=np.zeros(slots),
        counters=counters,
        clock=np.zeros(2),
        scale=np.zeros(5),
    )


def more_slots(memory: Memory, slots: int) -> Memory:
    """Return the memory with free slots after those there are, ``slots`` altogether."""
    old = len(memory.ids)
    dense = memory.dense.shape[1] > 0
    wider = empty_memory(slots, memory.dense.shape[1], dense, memory.beside.shape[1])
    same = ("ids", "size", "square", "first", "last", "base", "ceiling", "slope", "older", "newer", "visited")
    for name in (*same, "beside_square", "beside_slope"):
        getattr(wider, name)[:old] = getattr(memory, name)
    free = np.concatenate([np.arange(slots - 1, old - 1, -1), memory.free])
    if dense:
        wider.dense[:old] = memory.dense
    if memory.beside.shape[1]:
        wider.beside[:old] = memory.beside
    return wider._replace(
        free=free,
        words=more_lists(memory.words, slots),
        postings=memory.postings,
        pool=memory.pool,
        places=memory.places,
        counters=memory.counters,
        clock=memory.clock,
        scale=memory.scale,
    )
