"""What people decide about topics: mergers, splits, ends and pins at the ends of slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, assert_same, begun, drifting, empty, story, unit
from tests.unit.online.test_state import through_a_file
from vmfstream.decisions import decision
from vmfstream.online import lifecycle, tracker
from vmfstream.online.decisions import with_decisions
from vmfstream.online.settings import BirthSettings, GivenSettings, MergerSettings, WindowSettings
from vmfstream.online.state import ByHand, Rows, TrackerSettings, TrackState, rows_of
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.records import Decision

SETTINGS = replace(LIVING, births=BirthSettings(most_births=0))
COUNTS = np.tile(np.array([40, 40, 40, 30]), (8, 1))


def numbered(*wanted: Decision) -> list[Decision]:
    return [replace(one, number=number) for number, one in enumerate(wanted, start=1)]


def ended(
    state: TrackState, x: Rows, *wanted: Decision, settings: TrackerSettings = SETTINGS
) -> tuple[TrackState, tracker.SliceResult]:
    """Learn a slice and end it with decisions."""
    if rows_of(x):
        state, _ = tracker.step(state, x, settings)
    return tracker.end_slice(state, settings, decisions=numbered(*wanted))


def followed(slices: int, settings: TrackerSettings = SETTINGS) -> tuple[TrackState, Sequence[Rows]]:
    xs = story(COUNTS).xs
    state = begun(xs, settings)
    for x in xs[1:slices]:
        state, _ = tracker.end_slice(tracker.step(state, x, settings)[0], settings)
    return state, xs


@pytest.mark.parametrize("slices", [1, 5])
def test_a_merged_topic_goes_on_with_the_documents_of_both(slices: int) -> None:
    state, xs = followed(slices)
    assert state.warm_up == (slices == 1)
    gone, into, *_ = state.ids.tolist()
    after, result = ended(state, xs[slices], decision("merge", gone, into))
    assert gone not in after.ids
    assert after.k == state.k - 1
    (event,) = [one for one in result.events if one.decision is not None]
    assert (event.kind, event.topic, event.other, event.decision) == ("merged", gone, into, 1)
    assert event.value is not None
    assert 0.0 < event.value <= 90.0
    assert after.n.sum() == pytest.approx(sum(rows_of(x) for x in xs[: slices + 1]))
    for x in xs[slices + 1 :]:  # no fit from nothing brings it back, nor a split
        after, _ = ended(after, x)
    assert gone not in after.ids
    assert into in after.ids


def test_what_was_merged_is_split_again_only_by_hand() -> None:
    settings = replace(LIVING, births=BirthSettings(refining_gain=1.0))
    state, xs = followed(5, settings)
    gone, into, *_ = state.ids.tolist()
    merged, _ = ended(state, xs[5], decision("merge", gone, into), settings=settings)
    assert merged.by_hand.whole == (into,)
    after, result = ended(merged, xs[6], settings=settings)
    assert not [one for one in result.events if one.kind == "split" and one.topic == into]
    after, result = ended(merged, xs[6], decision("split", into), settings=settings)
    assert after.by_hand.whole == ()
    (event,) = [one for one in result.events if one.decision == 1]
    assert (event.kind, event.topic, event.other) == ("split", into, merged.next_id)


def test_halves_of_a_split_topic_are_not_merged_again() -> None:
    state, xs = followed(5)
    old = int(state.ids[0])
    after, result = ended(state, xs[5], decision("split", old))
    (event,) = [one for one in result.events if one.decision == 1]
    new = event.other
    assert new == state.next_id
    assert event.value is not None
    assert 2.0 <= event.value <= 80.0
    assert {old, new} <= set(after.ids.tolist())
    assert after.by_hand.apart == ((old, new),)
    assert after.life is not None
    assert not after.life.trial.any()  # nothing judges what was asked for
    others = [decision("end", topic) for topic in after.ids.tolist() if topic not in (old, new)]
    after, _ = ended(after, xs[6], *others)
    eager = replace(SETTINGS, mergers=MergerSettings(least_cosine=-1.0, document_gain=1e6, least_documents=0.0))
    forgotten, _ = ended(replace(after, by_hand=ByHand(settled=True)), xs[7], settings=eager)
    assert forgotten.k == 1
    after, _ = ended(after, xs[7], settings=eager)
    assert after.k == 2  # what the new topic is merged with inherits that it is kept apart
    other = int(after.ids[1])
    again, _ = ended(after, empty(after.dim), decision("merge", other, old))
    assert again.ids.tolist() == [old]
    assert again.by_hand.apart == ()


def test_an_ended_topic_leaves_its_documents_to_others() -> None:
    state, xs = followed(5)
    gone = int(state.ids[1])
    after, result = ended(state, xs[5], decision("end", gone))
    assert gone not in after.ids
    assert [(one.kind, one.topic) for one in result.events if one.decision == 1] == [("ended", gone)]
    assert sum(w.resp.sum() for w in after.window) == pytest.approx(sum(rows_of(w.x) for w in after.window), rel=1e-5)


def test_the_documents_of_an_ended_topic_go_to_the_one_most_like_it() -> None:
    """Before the refit of the window, which may share them out."""
    state, _ = followed(5)
    cosine = TopicPairs(SETTINGS).evidence(state)[1][1]
    heir = max((at for at in range(state.k) if at != 1), key=lambda at: cosine[at])
    after, _, refused = with_decisions(state, numbered(decision("end", int(state.ids[1]))), SETTINGS)
    assert not refused
    before, now = (np.sum([w.resp.sum(axis=0) for w in one.window], axis=0) for one in (state, after))
    (place,) = np.flatnonzero(after.ids == state.ids[heir])
    assert now[place] == pytest.approx(before[heir] + before[1], rel=1e-5)


def test_a_pinned_topic_keeps_its_direction_and_an_unpinned_one_does_not() -> None:
    stream = drifting(omega=0.9, slices=12, n=90)
    settings = replace(SETTINGS, topics=3, window=200)
    free = held = begun(stream.xs, settings)
    for x in stream.xs[1:4]:
        free = held = ended(free, x, settings=settings)[0]
    topic = int(free.ids[0])
    held, _ = ended(held, stream.xs[4], decision("pin", topic), settings=settings)
    free, _ = ended(free, stream.xs[4], settings=settings)
    at = int(np.flatnonzero(held.ids == topic)[0])
    start = unit(held.base)[at]
    for x in stream.xs[5:]:
        held, free = (ended(one, x, settings=settings)[0] for one in (held, free))
    kept, turned = (float(unit(one.base)[int(np.flatnonzero(one.ids == topic)[0])] @ start) for one in (held, free))
    assert kept > 0.9 > turned


def test_unpinning_undoes_pinning() -> None:
    state, xs = followed(5)
    topic = int(state.ids[2])
    pinned, _ = ended(state, xs[5], decision("pin", topic))
    assert pinned.by_hand.pinned == (topic,)
    both, _ = ended(state, xs[5], decision("pin", topic), decision("unpin", topic))
    plain, _ = ended(state, xs[5])
    assert both.prior is None
    assert both.by_hand.pinned == ()
    np.testing.assert_array_equal(both.base, plain.base)


def test_how_strong_a_pin_is_is_a_setting() -> None:
    state, xs = followed(5)
    pin = decision("pin", int(state.ids[2]))
    usual, weak = (
        ended(state, xs[5], pin, settings=replace(SETTINGS, given=given))[0].prior
        for given in (GivenSettings(), GivenSettings(pin_strength=4.5))
    )
    assert usual is not None
    assert weak is not None
    np.testing.assert_allclose(2.0 * weak, usual, rtol=1e-6)
    assert usual.any()


def test_a_pinned_topic_is_neither_ended_nor_merged_away() -> None:
    state, xs = followed(5)
    one, other, third, *_ = state.ids.tolist()
    wanted = [decision("pin", one), decision("end", one), decision("merge", one, other), decision("merge", other, one)]
    after, result = ended(state, xs[5], *wanted, decision("pin", third), decision("pin", third))
    assert {one, third} <= set(after.ids.tolist())
    assert other not in after.ids
    assert list(result.refused) == [2, 3, 6]
    assert "unpin it first" in result.refused[2]
    assert "merge" in result.refused[3]
    assert "already" in result.refused[6]
    assert not after.by_hand.may_merge(after.ids)[0, 0]


def test_slots_are_never_taken_from_a_pinned_topic() -> None:
    state, _ = followed(5)
    life = state.life
    assert life is not None
    asleep = np.arange(state.k) + 1
    state = replace(state, life=replace(life, dormant_since=asleep))
    settings = replace(SETTINGS, topics=2)
    _, (first,) = lifecycle.with_room(state, settings, 1.0, TopicPairs(settings))
    assert first.topic == state.ids[0]
    pinned = replace(state, by_hand=ByHand(pinned=(int(state.ids[0]),)))
    _, (second,) = lifecycle.with_room(pinned, settings, 1.0, TopicPairs(settings))
    assert second.topic == state.ids[1]
    all_pinned = replace(state, by_hand=ByHand(pinned=tuple(state.ids.tolist())))
    assert lifecycle.with_room(all_pinned, settings, 1.0, TopicPairs(settings)) == (None, [])


def test_what_cannot_be_done_is_refused_with_its_reason_and_the_rest_is_done() -> None:
    state, xs = followed(5)
    one, other, third, *_ = state.ids.tolist()
    wanted = [
        decision("merge", 77, one),
        decision("end", one),
        decision("split", one),
        decision("unpin", other),
        decision("merge", third, other),
    ]
    after, result = ended(state, xs[5], *wanted)
    assert list(result.refused) == [1, 3, 4]
    assert result.refused[1] == "there is no topic 77: it was never there"
    assert result.refused[3] == f"there is no topic {one}: it has ended"
    assert result.refused[4] == f"topic {other} is not pinned"
    assert not {one, third} & set(after.ids.tolist())


def test_no_more_topics_than_were_asked_for() -> None:
    settings = replace(SETTINGS, topics=4)
    state, xs = followed(5, settings)
    _, result = ended(state, xs[5], decision("split", int(state.ids[0])), settings=settings)
    assert "as many as may be" in result.refused[1]


def test_a_topic_without_documents_cannot_be_split() -> None:
    state, _ = followed(5)
    state = replace(state, window=())
    _, result = ended(state, empty(state.dim), decision("split", int(state.ids[0])))
    assert result.refused == {} or "too few documents" in result.refused[1]


def test_the_last_topic_does_not_end() -> None:
    state, xs = followed(3)
    _, result = ended(state, xs[3], *(decision("end", topic) for topic in state.ids.tolist()))
    assert list(result.refused) == [state.k]


@pytest.mark.parametrize("slices", [1, 5])
def test_a_stored_state_with_decisions_goes_on_bit_for_bit(slices: int) -> None:
    state, xs = followed(slices)
    one, other, third, *_ = state.ids.tolist()
    wanted = (decision("pin", one), decision("merge", third, other), decision("split", one))
    state, _ = ended(state, xs[slices], *wanted)
    again = through_a_file(state, SETTINGS)
    assert_same(state, again)
    for x in xs[slices + 1 :]:
        (state, left), (again, right) = (ended(which, x) for which in (state, through_a_file(again, SETTINGS)))
        assert_same(left, right)
    assert_same(state, again)


def test_large_slices_that_no_window_holds() -> None:
    settings = replace(SETTINGS, window=40, fitting=WindowSettings(least_slice_limit=40))
    xs = story(COUNTS).xs
    state = begun(xs, settings)
    for x in xs[1:4]:
        state, _ = tracker.end_slice(tracker.step(state, x, settings)[0], settings)
    assert not state.window
    one, other, third, *_ = state.ids.tolist()
    wanted = (decision("merge", one, other), decision("pin", other), decision("split", third))
    state, result = ended(state, xs[4], *wanted, settings=settings)
    assert result.refused == {}
    assert one not in state.ids
    assert [event.kind for event in result.events if event.decision] == ["merged", "split"]
    for x in xs[5:]:
        state, _ = ended(state, x, settings=settings)
    assert {other, third} <= set(state.ids.tolist())
