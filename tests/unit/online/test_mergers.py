"""Mergers are tried by filtering one topic, and mean what the merger itself would mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, follow, story
from vmfstream.online.mergers import _ahead, _merged, _ordered, merge_pair, with_mergers
from vmfstream.online.state import TrackState, Vector
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import with_topic

SETTINGS = replace(LIVING, topics=4)


@pytest.fixture(scope="module", params=[False, True])
def ended(request: pytest.FixtureRequest) -> TrackState:
    """A state after the warm-up, without and with topics that have a prior."""
    state, _ = follow(story(np.full((14, 4), 40)).xs, SETTINGS)
    assert not state.warm_up
    assert state.life is not None
    state = with_topic(state, state.life.recent.take(np.arange(0, 30, 3)), SETTINGS)
    if not request.param:
        return state
    prior = np.zeros((state.dim, state.kp), np.float32)
    prior[:5, 1] = 20.0
    return replace(state, prior=prior)


def test_a_merger_that_is_tried_predicts_what_the_merger_does(ended: TrackState) -> None:
    evidence, cosine = TopicPairs(SETTINGS).evidence(ended)
    ahead = _ahead(ended, SETTINGS)
    for pair in [(0, 1), (1, 3), (2, ended.k - 1)]:
        into, gone = _ordered(ended, pair)
        tried = _merged(ahead, into, gone, SETTINGS)
        done = _ahead(merge_pair(ended, pair, evidence, cosine)[0], SETTINGS)
        np.testing.assert_array_equal(tried.p, done.p)
        np.testing.assert_array_equal(tried.n, done.n)
        assert tried.density == done.density
        assert tried.density != ahead.density


class Convinced(TopicPairs):
    """Evidence that speaks for every merger, however much the newest documents lose."""

    def evidence(self, state: TrackState, topic: int | None = None) -> tuple[Vector, Vector]:
        return np.full((state.k, state.k), 1e6), np.ones((state.k, state.k))


@pytest.mark.parametrize(("gain", "happens"), [(1.0, False), (1e6, True)])
def test_no_evidence_outweighs_what_the_newest_documents_lose(ended: TrackState, gain: float, happens: bool) -> None:
    settings = replace(SETTINGS, mergers=replace(SETTINGS.mergers, document_gain=gain))
    state, events = with_mergers(ended, settings, Convinced(settings))
    assert bool(events) == (state.k < ended.k) == happens
    ahead = _ahead(ended, settings)
    lost = [ahead.density - _merged(ahead, 0, other, settings).density for other in (1, 2, 3)]
    assert min(lost) > ahead.documents >= settings.mergers.least_judged
