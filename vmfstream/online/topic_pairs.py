"""Evidence that two topics are one, for all pairs; only pairs of topics that have changed are computed again.

M_ab = ell(|B + h_a + h_b|) + ell(|B|) - ell(|B + h_a|) - ell(|B + h_b|)

B is the anchor and h the data part of the newest beliefs. A topic whose documents and past are those of the state
before is not filtered again, nor are its products with others computed again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import zeros
from vmfstream.mixtures.columns import square_of
from vmfstream.online import filtering
from vmfstream.online.state import Matrix, TrackerSettings, TrackState, WindowSlice
from vmfstream.online.topic_slots import columns_at, slots_of


class _Known(NamedTuple):
    """A state with the data parts ``h`` (D, kp) of its newest beliefs; products of B + h with each other, and with B.

    ``evidence`` holds what was said of all its pairs, if that was asked for.
    """

    state: TrackState
    h: Matrix
    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    evidence: list[tuple[NDArray[np.float64], NDArray[np.float64]]]


class TopicPairs:
    """Remembers the last state that it was asked about, and the one that it was most like.

    What is tried on a state and dropped again does not have to be taken back.

    Parameters
    ----------
    settings : those of the run.
    """

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings
        self._known: list[_Known] = []
        self._before: tuple[TrackState, NDArray[np.float64]] | None = None

    def evidence(self, state: TrackState, topic: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Log evidence that two topics are one, and their cosines, both (K, K), from the newest beliefs.

        Only the row of one ``topic``, (1, K), if it is given. Those of all topics are not to be written to.
        """
        known = self._follow(state)
        if topic is None and known.evidence:
            return known.evidence[0]
        rows = slice(None) if topic is None else slice(topic, topic + 1)
        gram, cross, squares = known.gram[rows], known.cross, np.diagonal(known.gram)
        lengths, square = np.sqrt(squares), square_of(state.anchor)
        both = squares[rows, None] + squares + square + 2.0 * (gram - cross[rows, None] - cross)
        own = log_partition(state.dim, lengths)
        joint = log_partition(state.dim, np.sqrt(np.maximum(both, 0.0)))
        evidence = joint + float(log_partition(state.dim, np.sqrt(square))) - own[rows, None] - own
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        found = np.asarray(evidence), np.clip(gram * scale[rows, None] * scale, -1.0, 1.0)
        if topic is None:
            for values in found:
                values.flags.writeable = False
            known.evidence.append(found)
        return found

    def evidence_before(self, state: TrackState) -> NDArray[np.float64]:
        """Log evidence that two topics are one without the documents of the newest slices, (K, K); 0 without a window.

        Not to be written to: it is kept for the next question about the same ``state``.
        """
        if self._before is None or self._before[0] is not state:
            found, newest = np.zeros((state.k, state.k)), self._settings.births.proposing_slices
            if state.window:
                empty = (WindowSlice(w.index, w.x[:0], w.resp[:0]) for w in state.window[-newest:])
                before = replace(state, window=(*state.window[:-newest], *empty))
                found = TopicPairs(self._settings).evidence(before)[0]
            self._before = state, found
        return self._before[1]

    def beliefs(self, state: TrackState) -> Matrix:
        """Data parts of the newest beliefs about the topics of ``state``, (D, kp); not to be written to."""
        return self._follow(state).h

    def _follow(self, state: TrackState) -> _Known:
        """Filter the topics that differ from those of the state most like it, and renew their products with all."""
        if self._known and self._known[0].state is state:
            return self._known[0]
        tried = [(known, _as_before(known.state, state)) for known in self._known]
        like, column = max(tried, key=lambda one: np.count_nonzero(one[1] >= 0), default=(None, np.full(state.k, -1)))
        if like is None:
            self._known = [self._filtered(state)]
        elif np.array_equal(column, np.arange(len(like.gram))):
            self._known = [like._replace(state=state), *(known for known in self._known if known is not like)]
        else:
            self._known = [self._filtered(state, like, column), like]
        return self._known[0]

    def _filtered(
        self, state: TrackState, like: _Known | None = None, column: NDArray[np.intp] | None = None
    ) -> _Known:
        """Filter a state whose topic j is topic ``column[j]`` of one that is known, -1 for none."""
        gram, cross, anew = np.zeros((state.k, state.k)), np.zeros(state.k), np.arange(state.k)
        if like is None or column is None:
            h = zeros(state.dim, state.kp)
        else:
            anew, here = np.flatnonzero(column < 0), np.flatnonzero(column >= 0)
            h = columns_at(like.h, np.append(column, np.full(state.kp - state.k, -1)))
            gram[np.ix_(here, here)] = like.gram[np.ix_(column[here], column[here])]
            cross[here] = like.cross[column[here]]
        if len(anew):
            h[:, anew] = filtering.newest_columns(state, filtering.statistics(state), anew, self._settings)
            if state.prior is not None:
                h[:, anew] += state.prior[:, anew]
            products, cross[anew] = _products(h, state.anchor, anew, state.k)
            gram[anew], gram[:, anew] = products, products.T
        return _Known(state, h, gram, cross, [])


@njit(cache=True, nogil=True)
def _products(
    h: Matrix, anchor: Matrix, topics: NDArray[np.intp], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Products of B + h of some ``topics`` (M,) with that of all ``k`` (M, k), and with the ``anchor`` B (M,)."""
    products, cross, row = np.zeros((len(topics), k)), np.zeros(len(topics)), np.empty(k)
    for i in range(len(h)):
        b = np.float64(anchor[i])
        for j in range(len(row)):
            row[j] = h[i, j] + b
        for m in range(len(topics)):
            own = row[topics[m]]
            cross[m] += own * b
            for j in range(len(row)):
                products[m, j] += own * row[j]
    return products, cross


def _as_before(last: TrackState, state: TrackState) -> NDArray[np.intp]:
    """Find the column that each topic had in another state, (K,); -1 if its documents or its past have changed."""
    if not _same_frame(last, state):
        return np.full(state.k, -1)
    column = slots_of(last.ids, state.ids)
    pairs: list[tuple[Any, Any]] = [(a.resp, b.resp) for a, b in zip(last.window, state.window, strict=True)]
    if last.past is not None and state.past is not None:
        pairs.append((last.past[last.leader], state.past[state.leader]))
    in_place = np.array_equal(column, np.arange(state.k))
    for before, now in pairs:
        if not (before is now and in_place):
            _forget_changed(before, now, column)
    return column


def _same_frame(last: TrackState, state: TrackState) -> bool:
    """Tell whether the topics of two states were filtered from the same slices under the same parameters."""
    return (
        last.anchor is state.anchor
        and (last.prior is None) == (state.prior is None)
        and last.kappa == state.kappa
        and last.leader == state.leader
        and (last.past is None) == (state.past is None)
        and len(last.window) == len(state.window)
        and all(a.x is b.x for a, b in zip(last.window, state.window, strict=True))
    )


@njit(cache=True, nogil=True)
def _forget_changed(before: Matrix, now: Matrix, column: NDArray[np.intp]) -> None:
    """Set ``column[j]`` to -1 where column j of a matrix is not column ``column[j]`` of the one before."""
    for i in range(len(now)):
        for j in range(len(column)):
            if column[j] >= 0 and now[i, j] != before[i, column[j]]:
                column[j] = -1
