"""The identity of a topic: its number goes on standing for the strongest words and the documents that it had.

At the end of a slice a topic has strayed if none of its strongest words is among those that it had two slices before.
Either its newest documents are about something else (`vmfstream.online.takeovers`). Or a refit, or the end of another
topic, gave it other documents: then it is another topic, and gets another number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.online import filtering
from vmfstream.online.matching import angle_between
from vmfstream.online.smoothed_window import held_slices
from vmfstream.online.state import (
    TOLD_SLICES,
    TOLD_WORDS,
    Lifecycle,
    Matrix,
    TrackerSettings,
    TrackState,
    Vector,
)
from vmfstream.online.topic_slots import slots_of
from vmfstream.records import Event


def with_told(state: TrackState, f: Matrix) -> TrackState:
    """Remember the strongest words of the topics of a slice that has just ended, by the belief ``f`` (D, kp).

    ``state`` is at its end. Vectors that are no texts have no words: nothing is remembered.
    """
    life = state.life
    if life is None or state.lowest_cosine < 0.0:
        return state
    told = np.concatenate([life.told[TOLD_WORDS:], strongest_word_ids(f, state.k)])
    return replace(state, life=replace(life, told=told))


def without_told(state: TrackState, decided: Sequence[Event]) -> TrackState:
    """Forget what those topics of ``state`` were told to be that people have ``decided`` about."""
    life, topics = state.life, [topic for event in decided for topic in (event.topic, event.other)]
    if life is None or not topics:
        return state
    named = np.isin(state.ids, np.array([topic for topic in topics if topic is not None], np.int64))
    return replace(state, life=replace(life, told=np.where(named, 0, life.told)))


def strayed(state: TrackState, f: Matrix) -> NDArray[np.bool_]:
    """Tell which topics share no strongest word with what they were told to be two slices before, (K,).

    ``state`` is at the end of a slice that was not told yet, and ``f`` (D, kp) the belief about its topics.
    """
    life = state.life
    if life is None or not life.told[:TOLD_WORDS].any():
        return np.zeros(state.k, np.bool_)
    then, now = life.told[:TOLD_WORDS], strongest_word_ids(f, state.k)
    shared = ((then[:, None] == now) & (now > 0)).any(axis=(0, 1))
    return np.asarray(then.any(axis=0) & ~shared)


def with_other_numbers(state: TrackState, f: Matrix, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Give other numbers to topics that have strayed and whose documents are others than they were told to be.

    They are if the documents that were told to be in the topic, and still are, make up less than
    ``settings.fitting.surely_continuing`` of those that were, or of those that are now. The event tells that the old
    topic flowed into the one that holds most of its documents, which may be the same under its new number.

    Parameters
    ----------
    state : at the end of a slice, which its window holds.
    f : (D, kp) belief about its topics.
    settings : those of the run.
    """
    life, found = state.life, strayed(state, f) & ~state.by_hand.are_pinned(state.ids)
    if life is None or not found.any():
        return state, []
    moved = _moved(state, life)
    told, newest = moved.sum(axis=1), filtering.counts(state.window[-TOLD_SLICES:], state.kp)[: state.k]
    now = moved.sum(axis=0) + newest
    found &= (told > 0.0) & (np.diagonal(moved) < settings.fitting.surely_continuing * np.maximum(told, now))
    topics = np.flatnonzero(found)
    ids, since, words = state.ids.copy(), life.numbered_since.copy(), life.told.copy()
    ids[topics], since[topics], words[:, topics] = state.next_id + np.arange(len(topics)), state.slice, 0
    events, by_hand = [], state.by_hand
    for topic in topics:
        gone, heir = int(state.ids[topic]), int(np.argmax(moved[topic]))
        angle = angle_between(_told_documents(state, life, gone), f[:, heir].astype(np.float64))
        events.append(Event("merged", gone, int(ids[heir]), value=angle))
        by_hand = by_hand.merged(gone, int(ids[heir]))
    life = replace(life, numbered_since=since, told=words)
    return replace(state, ids=ids, next_id=state.next_id + len(topics), life=life, by_hand=by_hand), events


def _moved(state: TrackState, life: Lifecycle) -> NDArray[np.float64]:
    """Count the documents of the window but its last slices by their topics as told and as they are now, (K, K).

    Documents of topics that are gone do not count.
    """
    out = np.zeros((state.k, state.k))
    for w, held in list(held_slices(state, life))[:-TOLD_SLICES]:
        then = slots_of(state.ids, held)
        known = np.flatnonzero((then >= 0) & w.resp.any(axis=1))
        np.add.at(out, (then[known], w.resp[known, : state.k].argmax(axis=1)), 1.0)
    return out


def _told_documents(state: TrackState, life: Lifecycle, topic: int) -> Vector:
    """Sum of the documents that a topic was told to have two slices ago and before, (D,)."""
    out = np.zeros(state.dim)
    for w, held in list(held_slices(state, life))[:-TOLD_SLICES]:
        out += np.asarray(w.x.T @ (held == topic).astype(np.float64)).ravel()
    return out


@njit(cache=True, nogil=True)
def strongest_word_ids(f: Matrix, k: int) -> NDArray[np.int64]:
    """Return the columns of the largest coordinates of the first ``k`` topics of ``f`` (D, kp), plus 1, (words, K).

    0 where a topic has fewer positive coordinates.
    """
    out, value = np.zeros((TOLD_WORDS, k), np.int64), np.zeros((TOLD_WORDS, k), f.dtype)
    for i in range(f.shape[0]):
        for j in range(k):
            v = f[i, j]
            if v > value[TOLD_WORDS - 1, j]:
                at = TOLD_WORDS - 1
                while at > 0 and value[at - 1, j] < v:
                    value[at, j], out[at, j] = value[at - 1, j], out[at - 1, j]
                    at -= 1
                value[at, j], out[at, j] = v, i + 1
    return out
