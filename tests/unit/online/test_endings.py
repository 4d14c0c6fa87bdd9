"""Topics without documents end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, follow, story
from vmfstream.online.endings import with_empty_ended, with_topic_ended
from vmfstream.online.filtering import counts
from vmfstream.online.slice_end import _fewer
from vmfstream.online.state import TrackState, WindowSlice
from vmfstream.online.topic_pairs import TopicPairs

SETTINGS = replace(LIVING, topics=4, window=700)


@pytest.fixture(scope="module")
def ended() -> TrackState:
    """A state after the warm-up of four topics, two of which have lost what they had to the first."""
    state, _ = follow(story(np.full((14, 4), 40)).xs, SETTINGS)
    assert not state.warm_up
    window, n_past = [], state.n_past.copy()
    for w in state.window:
        resp = w.resp.copy()
        for column, left in ((1, 0.0), (3, 0.01)):
            resp[:, 0] += (1.0 - left) * resp[:, column]
            resp[:, column] *= left
        window.append(w.with_memberships(resp, np.arange(4)))
    n_past[[1, 3]] = 0.0, 0.1
    return replace(state, window=tuple(window), n_past=n_past)


def test_topics_without_documents_end(ended: TrackState) -> None:
    n = ended.n_past[:4] + counts(ended.window, ended.kp)[:4]
    assert n[1] == 0.0 < n[3]
    silent = float(ended.slice - ended.window[0].index)
    assert silent > 2.0
    least = replace(SETTINGS, dormancy=replace(SETTINGS.dormancy, least_documents=1e-6))
    state, events = with_empty_ended(ended, least, TopicPairs(least))
    assert [(event.kind, event.topic, event.value) for event in events] == [("ended", ended.ids[1], silent)]
    most = replace(SETTINGS, dormancy=replace(SETTINGS.dormancy, least_documents=float(n[3]) + 1e-6))
    state, events = with_empty_ended(ended, most, TopicPairs(most))
    assert [event.topic for event in events] == ended.ids[[1, 3]].tolist()
    assert state.ids.tolist() == ended.ids[[0, 2]].tolist()
    for before, after in zip(ended.window, state.window, strict=True):
        np.testing.assert_allclose(after.resp.sum(axis=1), before.resp.sum(axis=1), rtol=1e-5)
        np.testing.assert_allclose(after.resp[:, 1], before.resp[:, 2], atol=0.02)


def test_what_has_documents_stays(ended: TrackState) -> None:
    full, _ = follow(story(np.full((14, 4), 40)).xs, SETTINGS)
    assert with_empty_ended(full, SETTINGS, TopicPairs(SETTINGS)) == (full, [])
    pinned = replace(ended, by_hand=replace(ended.by_hand, pinned=(int(ended.ids[1]),)))
    state, _ = with_empty_ended(pinned, SETTINGS, TopicPairs(SETTINGS))
    assert ended.ids[1] in state.ids
    before = ended.n_past.copy()
    before[1] = 60.0  # it had documents once
    state, _ = with_empty_ended(replace(ended, n_past=before), SETTINGS, TopicPairs(SETTINGS))
    assert ended.ids[1] in state.ids


def test_nothing_ends_in_the_warm_up_or_where_topics_are_fixed(ended: TrackState) -> None:
    fixed = replace(ended, life=None)
    assert with_empty_ended(fixed, SETTINGS, TopicPairs(SETTINGS)) == (fixed, [])
    warm, _ = follow(story(np.full((2, 4), 40)).xs, replace(SETTINGS, window=10_000))
    assert warm.warm_up
    none = replace(SETTINGS, dormancy=replace(SETTINGS.dormancy, least_documents=1e9))
    assert with_empty_ended(warm, none, TopicPairs(none)) == (warm, [])


def test_one_topic_stays(ended: TrackState) -> None:
    none = replace(SETTINGS, dormancy=replace(SETTINGS.dormancy, least_documents=1e9))
    state, events = with_empty_ended(ended, none, TopicPairs(none))
    assert (state.k, len(events)) == (1, 3)


def test_the_end_of_a_slice_ends_them(ended: TrackState) -> None:
    state, events = _fewer(ended, SETTINGS, TopicPairs(SETTINGS))
    assert ("ended", ended.ids[1]) in [(event.kind, event.topic) for event in events]
    assert ended.ids[1] not in state.ids


def test_sums_follow_the_documents_of_a_topic_that_ends(ended: TrackState) -> None:
    assert all(w.sums.s.any() for w in ended.window)
    state = with_topic_ended(ended, 2, TopicPairs(SETTINGS), SETTINGS)
    for before, w in zip(ended.window, state.window, strict=True):
        assert not np.array_equal(before.resp[:, :2], w.resp[:, :2])
        anew = WindowSlice(w.index, w.x, w.resp)
        np.testing.assert_allclose(w.sums.s, anew.sums.s, atol=1e-6)
