"""A number stands for what was told of its topic, and the documents of one that ends go where they fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tests.unit.online.streams import LIVING, begun, learn, story
from vmfstream.online import filtering
from vmfstream.online.endings import with_topic_ended
from vmfstream.online.identity import strayed, strongest_word_ids, with_other_numbers, with_told
from vmfstream.online.state import TOLD_WORDS, Matrix, TrackState, WindowSlice, rows_in_columns, stack
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.vocabulary_change import regrown

LONG = replace(LIVING, topics=3, window=900)
"""The window holds six slices of 150."""


def followed() -> TrackState:
    """Return a state with three topics of fifty documents a slice, at the end of the sixth."""
    stream = story(np.tile([50, 50, 50], (6, 1)))
    state = begun(stream.xs, LONG)
    for x in stream.xs[1:]:
        state, _ = learn(state, x, LONG)
    return state


def beliefs(state: TrackState) -> Matrix:
    return filtering.anchored(state, filtering.run(state, filtering.statistics(state), state.leader, LONG)[1])


def exchanged(state: TrackState, columns: list[int]) -> TrackState:
    """Give the documents of each topic to another one, as a fit may."""
    window = tuple(WindowSlice(w.index, w.x, np.ascontiguousarray(w.resp[:, columns])) for w in state.window)
    return replace(state, window=window)


def swapped(state: TrackState) -> list[int]:
    return [1, 0, *range(2, state.kp)]


def test_strongest_words_are_those_of_a_sort() -> None:
    f = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
    wanted: NDArray[np.int64] = np.argsort(-f[:, :3], axis=0)[:TOLD_WORDS] + 1
    np.testing.assert_array_equal(strongest_word_ids(f, 3), wanted)
    assert not strongest_word_ids(-np.abs(f), 3).any()


def test_topics_that_got_the_documents_of_others_get_other_numbers() -> None:
    state = followed()
    state = with_told(with_told(state, beliefs(state)), beliefs(state))
    other = exchanged(state, swapped(state))
    assert strayed(other, beliefs(other)).tolist() == [True, True, *[False] * (state.k - 2)]
    found, events = with_other_numbers(other, beliefs(other), LONG)
    assert found.ids[:2].tolist() == [state.next_id, state.next_id + 1]
    assert found.next_id == state.next_id + 2
    gone = [(event.kind, event.topic, event.other) for event in events]
    assert gone == [("merged", state.ids[0], found.ids[1]), ("merged", state.ids[1], found.ids[0])]
    assert all(event.value is not None and event.value < 45.0 for event in events)
    assert found.life is not None
    assert found.life.numbered_since[:2].tolist() == [found.slice] * 2


def test_topics_keep_their_numbers_with_their_words_or_their_documents() -> None:
    state = followed()
    told = with_told(with_told(state, beliefs(state)), beliefs(state))
    assert not strayed(told, beliefs(told)).any()
    life = told.life
    assert life is not None
    none = np.where(life.told > 0, told.dim, 0)  # words that no topic has
    alone = replace(told, life=replace(life, told=none))
    assert strayed(alone, beliefs(alone)).all()
    assert with_other_numbers(alone, beliefs(alone), LONG)[1] == []
    pinned = replace(exchanged(told, swapped(told)), by_hand=replace(told.by_hand, pinned=tuple(told.ids.tolist())))
    assert with_other_numbers(pinned, beliefs(pinned), LONG)[1] == []


def test_words_that_were_told_move_with_the_vocabulary() -> None:
    state = followed()
    state = with_told(state, beliefs(state))
    assert state.life is not None
    columns = np.append(np.arange(state.dim)[::-1], -1).astype(np.int32)  # turned around, and one word more
    columns[0] = -1  # and the last one is gone
    moved = regrown(
        state, columns, [rows_in_columns(w.x, columns) for w in state.window], stack([], state.dim + 1), LONG
    )
    assert moved.life is not None
    before = state.life.told
    np.testing.assert_array_equal(
        moved.life.told, np.where((before > 0) & (before < state.dim), state.dim + 1 - before, 0)
    )


def test_documents_of_a_topic_that_ends_go_where_each_fits() -> None:
    state = followed()
    mixed = exchanged(state, list(range(state.kp)))
    window = []
    for w in mixed.window:  # one topic holds half of each of the others besides its own
        resp = w.resp.copy()
        rows = np.flatnonzero(resp[:, 1:3].any(axis=1))[::2]
        resp[rows] = 0.0
        resp[rows, 0] = 1.0
        window.append(WindowSlice(w.index, w.x, resp))
    mixed = replace(mixed, window=tuple(window))
    left = with_topic_ended(mixed, 0, TopicPairs(LONG), LONG)
    assert left.ids.tolist() == state.ids[1:].tolist()
    for before, w, now in zip(state.window, mixed.window, left.window, strict=True):
        away = np.flatnonzero((before.resp[:, 1:3] > 0.5).any(axis=1) & (w.resp[:, 0] == 1.0))
        assert len(away)
        right = before.resp[away, 1 : state.k].argmax(axis=1) == now.resp[away, : left.k].argmax(axis=1)
        assert right.mean() > 0.9
        np.testing.assert_allclose(now.resp.sum(axis=1), w.resp.sum(axis=1), atol=1e-5)
        made = WindowSlice(now.index, now.x, now.resp).sums
        np.testing.assert_allclose(now.sums.dense(left.dim), made.dense(left.dim), atol=1e-4)
