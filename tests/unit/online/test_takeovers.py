"""Topics that have become something else, on simulated streams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, Story, begun, drifting, learn, story
from vmfstream.online import filtering
from vmfstream.online.results import SliceResult, TrackedTopics
from vmfstream.online.settings import TrackerSettings
from vmfstream.online.takeovers import with_takeovers

WITHOUT_BIRTHS = replace(LIVING, births=replace(LIVING.births, least_gain=np.inf))
"""A new kind of documents has no other way to get a topic than to take one over."""

SWITCH = np.array([[50, 50, 50, 0]] * 5 + [[0, 50, 50, 50]] * 4)
"""Documents per slice and kind: in slice 5 the first kind is followed by another one."""


def followed(stream: Story, settings: TrackerSettings) -> list[SliceResult]:
    state, seen = begun(stream.xs, settings), []
    for x in stream.xs[1:]:
        state, result = learn(state, x, settings)
        seen.append(result)
    return seen


def ids_of(stream: Story, result: SliceResult, kind: int) -> set[int]:
    """Ids of the topics that documents of a kind have in a slice."""
    view = result.filtered
    column = result.resp[:, : len(view.ids)].argmax(axis=1)
    return set(view.ids[column[stream.labels[view.slice] == kind]].tolist())


@pytest.mark.parametrize("seed", range(3))
def test_an_id_does_not_pass_to_something_else(seed: int) -> None:
    stream = story(SWITCH, seed=seed)
    seen = followed(stream, WITHOUT_BIRTHS)
    (before,) = ids_of(stream, seen[3], 0)
    (after,) = ids_of(stream, seen[-1], 3)
    assert after != before
    splits = [(r.filtered.slice, event) for r in seen for event in r.events if event.kind == "split"]
    ((index, split),) = [(index, event) for index, event in splits if event.other == after]
    assert split.topic == before
    assert index in (5, 6)
    assert split.evidence is not None
    assert split.evidence > WITHOUT_BIRTHS.takeovers.least_gain
    silent = [event.topic for r in seen for event in r.events if event.kind in ("dormant", "ended")]
    assert before in silent
    for kind in (1, 2):
        assert ids_of(stream, seen[3], kind) == ids_of(stream, seen[-1], kind)


def test_without_the_rule_the_id_passes_on() -> None:
    stream = story(SWITCH)
    never = replace(WITHOUT_BIRTHS, takeovers=replace(LIVING.takeovers, least_gain=np.inf))
    seen = followed(stream, never)
    assert ids_of(stream, seen[3], 0) == ids_of(stream, seen[-1], 3)


@pytest.mark.parametrize("seed", range(3))
def test_a_smoothed_topic_begins_with_its_first_document(seed: int) -> None:
    stream = story(SWITCH, seed=seed)
    seen = followed(stream, WITHOUT_BIRTHS)
    views: list[TrackedTopics] = [view for result in seen for view in result.smoothed]
    (after,) = ids_of(stream, seen[-1], 3)
    shown = {view.slice for view in views if after in view.ids}
    (birth,) = [r.filtered.slice for r in seen for e in r.events if e.kind == "split" and e.other == after]
    assert min(shown) == birth


def test_the_number_of_active_topics_stays_bounded() -> None:
    kinds = np.zeros((14, 8), np.int64)
    for t in range(14):
        kinds[t, [t // 3, 5, 6, 7]] = 50  # one kind after the other beside three that stay
    full = replace(WITHOUT_BIRTHS, topics=4, window=800)
    stream = story(kinds)
    state = begun(stream.xs, full)
    splits = 0
    for x in stream.xs[1:]:
        state, result = learn(state, x, full)
        splits += sum(event.kind == "split" for event in result.events)
        assert state.active <= 5  # dormancy is noticed with a delay
        assert state.k <= 6
    assert splits >= 3


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_quiet_topics_are_not_taken_over(seed: int) -> None:
    stream = story(np.tile([50, 50, 50], (25, 1)), seed=seed)
    kinds = [event.kind for result in followed(stream, WITHOUT_BIRTHS) for event in result.events]
    assert "split" not in kinds


def test_topics_that_move_slowly_keep_their_ids() -> None:
    stream = drifting(omega=0.9, slices=16, n=90)
    state = begun(stream.xs, WITHOUT_BIRTHS)
    for x in stream.xs[1:]:
        state, result = learn(state, x, WITHOUT_BIRTHS)
        assert "split" not in [event.kind for event in result.events]


@pytest.mark.parametrize("seed", range(3))
def test_no_document_is_lost_where_two_topics_share_one_slot(seed: int) -> None:
    stream = story(np.array([[40, 0, 20]] * 5 + [[0, 40, 20]] * 4), seed=seed)
    one = replace(WITHOUT_BIRTHS, topics=1, takeovers=replace(LIVING.takeovers, same_cosine=2.0))
    state = begun(stream.xs, one)
    for x in stream.xs[1:]:
        state, _ = learn(state, x, one)
        for w in state.window:
            assert w.resp.sum(axis=1) == pytest.approx(np.ones(len(w.resp)))


def test_a_topic_that_was_just_born_has_no_past_to_be_taken_from() -> None:
    stream = story(SWITCH)
    never = replace(WITHOUT_BIRTHS, takeovers=replace(LIVING.takeovers, least_gain=np.inf))
    state = begun(stream.xs, never)
    for x in stream.xs[1:7]:
        state, result = learn(state, x, never)
    state = replace(state, slice=6)  # as it is while that slice ends
    (turned,) = ids_of(stream, result, 3)
    assert state.life is not None
    _, h, _ = filtering.run(state, filtering.statistics(state), state.leader, WITHOUT_BIRTHS)
    for born, found in ((4, True), (5, False), (6, False)):
        since = np.where(state.ids == turned, born, state.life.alive_since)
        known = replace(state, life=replace(state.life, alive_since=since))
        _, events = with_takeovers(known, h, WITHOUT_BIRTHS)
        assert (("split", turned) in [(event.kind, event.topic) for event in events]) == found
