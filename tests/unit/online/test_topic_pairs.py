"""Evidence of pairs of topics that is followed through the changes of a slice end, instead of computed anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, follow, story
from vmfstream.bayes.temporal.word_sums import SliceSums
from vmfstream.online import filtering
from vmfstream.online.state import TrackState, WindowSlice
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import with_topic, with_topics_merged, without_topic

SETTINGS = replace(LIVING, topics=4)


def changes(state: TrackState) -> list[TrackState]:
    """Return states that follow each other as at the end of a slice; some go back to the first."""
    assert state.life is not None
    recent = state.life.recent
    born = with_topic(state, recent.take(np.arange(0, 30, 3)), SETTINGS)
    again = with_topic(born, recent.take(np.arange(1, len(recent), 5)), SETTINGS)
    return [
        state,
        born,
        state,
        again,
        with_topics_merged(again, 0, 2),
        without_topic(again, 1, 3),
        replace(state, kappa=2.0 * state.kappa),
        state,
    ]


@pytest.fixture(scope="module")
def ended() -> TrackState:
    state, _ = follow(story(np.full((14, 4), 40)).xs, SETTINGS)
    assert not state.warm_up
    return state


def test_what_is_followed_equals_what_is_computed_anew(ended: TrackState) -> None:
    pairs = TopicPairs(SETTINGS)
    for state in changes(ended):
        anew = replace(state, window=tuple(replace(w) for w in state.window))
        for found, expected in zip(pairs.evidence(state), TopicPairs(SETTINGS).evidence(anew), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        row = pairs.evidence(state, topic=2)[1]
        np.testing.assert_array_equal(row, pairs.evidence(state)[1][2:3])


def test_topics_that_did_not_change_are_not_filtered_again(ended: TrackState, monkeypatch: pytest.MonkeyPatch) -> None:
    filtered: list[list[int]] = []

    def counted(state: TrackState, stats: Any, topics: Any, settings: Any) -> Any:
        filtered.append(topics.tolist())
        return original(state, stats, topics, settings)

    original = filtering.newest_columns
    monkeypatch.setattr(filtering, "newest_columns", counted)
    assert ended.life is not None
    recent = ended.life.recent
    members = recent.take(np.arange(len(recent) - 3, len(recent)))
    pairs = TopicPairs(SETTINGS)
    born = with_topic(ended, members, SETTINGS)
    moved = without_topic(with_topics_merged(born, 1, 0), 0, 1)
    for state in (ended, ended, born, born, moved):
        pairs.evidence(state)
    first, second, third = filtered
    assert first == list(range(ended.k))
    assert second[-1] == ended.k
    assert 1 < len(second) < born.k
    assert third == [0]  # what stood in columns 0 and 1 flowed into the next; the others moved up


def test_evidence_without_the_newest_slices_is_asked_for_once(ended: TrackState) -> None:
    pairs, newest = TopicPairs(SETTINGS), SETTINGS.births.proposing_slices
    found = pairs.evidence_before(ended)
    assert pairs.evidence_before(ended) is found
    empty = (WindowSlice(w.index, w.x[:0], w.resp[:0]) for w in ended.window[-newest:])
    before = replace(ended, window=(*ended.window[:-newest], *empty))
    np.testing.assert_array_equal(found, TopicPairs(SETTINGS).evidence(before)[0])
    assert not np.array_equal(pairs.evidence_before(with_topics_merged(ended, 0, 2)), found)
    assert not pairs.evidence_before(replace(ended, window=())).any()


def test_sums_follow_the_memberships(ended: TrackState) -> None:
    for state in changes(ended):
        for w in state.window:
            fresh = SliceSums.of(w.x, w.resp)
            np.testing.assert_array_equal(w.sums.words, fresh.words)
            np.testing.assert_allclose(w.sums.s, fresh.s, rtol=1e-5, atol=1e-5)
            np.testing.assert_array_equal(w.settled().sums.s, fresh.s)
            np.testing.assert_array_equal(w.n, w.resp.sum(axis=0, dtype=np.float64))


def test_columns_of_the_filter_are_those_of_all(ended: TrackState) -> None:
    stats = filtering.statistics(ended)
    _, h, _ = filtering.run(ended, stats, ended.leader, SETTINGS)
    some = np.array([2, 0])
    np.testing.assert_allclose(filtering.newest_columns(ended, stats, some, SETTINGS), h[:, some], rtol=1e-5, atol=1e-5)


def test_what_was_tried_and_dropped_is_not_taken_back(ended: TrackState, monkeypatch: pytest.MonkeyPatch) -> None:
    """Group after group is tried on the same state; between them only what a group changes is filtered."""
    filtered: list[int] = []

    def counted(state: TrackState, stats: Any, topics: Any, settings: Any) -> Any:
        filtered.append(len(topics))
        return original(state, stats, topics, settings)

    original = filtering.newest_columns
    monkeypatch.setattr(filtering, "newest_columns", counted)
    assert ended.life is not None
    recent, pairs = ended.life.recent, TopicPairs(SETTINGS)
    before = [found.copy() for found in pairs.evidence(ended)]
    for last in range(len(recent), len(recent) - 9, -3):
        pairs.evidence(with_topic(ended, recent.take(np.arange(last - 3, last)), SETTINGS))
        again = pairs.evidence(replace(ended, life=replace(ended.life, arrival_gain=ended.life.arrival_gain + 1.0)))
        for found, expected in zip(again, before, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert len(filtered) == 4  # the state itself, and three topics that were tried on it
