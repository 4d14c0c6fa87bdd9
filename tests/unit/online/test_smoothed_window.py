"""What smoothing may change: topics are shown from their birth to their end, with all documents of each slice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.engine.documents import engine, track_state, years
from tests.unit.online.streams import LIVING, Story, begun, learn, story
from tests.unit.online.test_state import through_a_file
from vmfstream.online import serialization
from vmfstream.online.reading import smoothed
from vmfstream.online.results import TrackedTopics
from vmfstream.online.settings import TrackerSettings
from vmfstream.online.smoothed_window import SmoothedWindow
from vmfstream.online.smoothed_window import begun as shown
from vmfstream.online.state import NEVER, TrackState
from vmfstream.records import Event

LONG = replace(LIVING, topics=4, window=5_000)
"""Every slice stays in the window; there is no room for more than four topics at a time."""


def passing(slices: int = 14) -> Story:
    """Three kinds of documents that stay, and others that come one after the other for three slices each."""
    kinds = np.zeros((slices, 3 + -(-slices // 3)), np.int64)
    kinds[:, :3] = 40
    for t in range(slices):
        kinds[t, 3 + t // 3] = 40
    return story(kinds)


def followed(
    stream: Story, settings: TrackerSettings
) -> tuple[TrackState, list[tuple[int, Event]], list[TrackedTopics]]:
    """The last state, events with their slices, and all topics smoothed."""
    state, events = begun(stream.xs, settings), []
    views: list[TrackedTopics] = []
    for x in stream.xs[1:]:
        state, result = learn(state, x, settings)
        events += [(result.filtered.slice, event) for event in result.events]
        views += result.smoothed
    return state, events, [*views, *smoothed(state, settings)]


def births(events: list[tuple[int, Event]]) -> dict[int, int]:
    named = {"born": "topic", "split": "other"}
    return {getattr(event, named[event.kind]): index for index, event in events if event.kind in named}


@pytest.mark.thorough
@pytest.mark.parametrize("window", [5_000, 600])  # the window holds all slices, or the last few
def test_topics_are_shown_from_birth_to_end_with_all_documents(window: int) -> None:
    stream = passing()
    state, events, views = followed(stream, replace(LONG, window=window))
    born = births(events)
    shown = {(view.slice, int(topic)) for view in views for topic in view.ids}
    assert {view.slice for view in views} == set(range(14))
    assert len(born) >= 3
    assert [(index, topic) for index, topic in shown if index < born.get(topic, 0)] == []
    gone = {topic for topic in born if topic not in state.ids}
    assert gone
    assert gone <= {topic for _, topic in shown}
    for topic, index in ((e.topic, index) for index, e in events if e.kind in ("ended", "merged")):
        assert (index + 1, topic) not in shown
    assert [float(view.n.sum()) for view in views] == pytest.approx([160.0] * 14)


def test_a_passing_topic_has_its_own_documents_in_hindsight() -> None:
    """The documents of a topic that is gone are not given to those that stay."""
    stream = passing()
    state, events, views = followed(stream, LONG)
    for topic, birth in births(events).items():
        if topic not in state.ids:
            (view,) = [view for view in views if view.slice == birth]
            own = view.f[:, int(np.flatnonzero(view.ids == topic)[0])].astype(np.float64)
            kind = 3 + birth // 3
            mean = np.asarray(stream.xs[birth][stream.labels[birth] == kind].sum(axis=0)).ravel()
            others = np.asarray(stream.xs[birth][stream.labels[birth] < 3].sum(axis=0)).ravel()
            cosine, other = (v @ own / np.linalg.norm(v) / np.linalg.norm(own) for v in (mean, others))
            assert cosine > 0.9 > other


def test_states_of_earlier_versions_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Births, trials and holders were not stored then: topics count as there from the beginning."""
    stream = passing(6)
    state, _, _ = followed(stream, LONG)
    to_arrays = serialization.to_arrays

    def earlier(state: TrackState):  # type: ignore[no-untyped-def]
        open_part, slice_part = to_arrays(state)
        return open_part, {k: v for k, v in slice_part.items() if k not in ("life.alive", "life.holder", "life.trial")}

    monkeypatch.setattr("tests.unit.online.test_state.to_arrays", earlier)
    old = through_a_file(state, LONG)
    assert old.life is not None
    assert (old.life.alive_since == NEVER).all()
    assert not old.life.trial.any()
    assert len(smoothed(old, LONG)) == 6
    old, result = learn(old, stream.xs[0], LONG)
    assert old.life is not None
    assert len(old.life.holder) == 7 * 160
    assert len(smoothed(old, LONG)) == 7
    assert result.filtered.slice == 6


def test_a_slice_none_of_whose_topics_is_remembered_shows_none() -> None:
    """Such as an empty one whose topics have all ended since."""
    follower = engine(years({1990: 60, 1991: 60}))
    follower.run()
    state = track_state(follower)
    assert state is not None
    (view, *_) = smoothed(state, TrackerSettings(topics=3))
    assert len(view.ids) == 3
    nothing = shown(SmoothedWindow(state, np.full(3, NEVER)), view, np.ones(3), 0.5)
    assert (nothing.f.shape, len(nothing.ids)) == ((state.dim, 0), 0)
    rows = follower.state.rows(nothing)
    assert len(rows.topic) == 0
    assert list(rows.words) == []
