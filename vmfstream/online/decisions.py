"""What people decide about topics, done to them at the end of a slice by the functions that the tracker itself uses.

A topic that is pinned keeps its direction: all that is known about its mean, times ``given.pin_strength``, becomes a
prior that never fades, to which later documents are added as before. Nor is it merged away, taken over, or ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.starts import annealed_starts
from vmfstream.mixtures.columns import directed
from vmfstream.online import filtering
from vmfstream.online.state import Sample, TrackerSettings, TrackState, slice_rng
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import documents_of, with_topic, with_topics_merged, without_topic
from vmfstream.records import Decision, Event


class Refused(Exception):
    """A decision that cannot be applied; the message says why."""


def with_decisions(
    state: TrackState, decisions: Sequence[Decision], settings: TrackerSettings
) -> tuple[TrackState, list[Event], Mapping[int, str]]:
    """Apply decisions about topics in their order.

    Parameters
    ----------
    state : at the end of a slice, which the window holds if it holds any.
    decisions : numbered, of the kinds in `KINDS`.
    settings : those of the run.

    Returns
    -------
    state : with the topics as decided.
    events : what happened to them, with the numbers of the decisions.
    refused : why decisions were not applied, by their numbers.
    """
    events: list[Event] = []
    refused: dict[int, str] = {}
    for decision in decisions:
        try:
            state, more = _KINDS[decision.kind](state, decision, settings)
        except Refused as reason:
            refused[decision.number] = str(reason)
            continue
        state = replace(state, by_hand=replace(state.by_hand.of_living(state.ids), settled=True))
        events += [replace(event, decision=decision.number) for event in more]
    return state, events, refused


def _merge(state: TrackState, decision: Decision, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Let a topic flow into the other."""
    if decision.topic == decision.other:
        raise Refused(f"topic {decision.topic} cannot be merged with itself")
    gone, into = _column(state, decision.topic), _column(state, decision.other)
    _check_unpinned(state, decision.topic, f"merge {decision.other} into it, or unpin it first")
    evidence, cosine = TopicPairs(settings).evidence(state, topic=gone)
    event = Event(
        "merged",
        decision.topic,
        decision.other,
        value=float(np.degrees(np.arccos(cosine[0, into]))),
        evidence=float(evidence[0, into]),
    )
    hand = state.by_hand.merged(decision.topic, decision.other)
    hand = replace(hand, whole=(*(one for one in hand.whole if one != decision.other), decision.other))
    return replace(with_topics_merged(state, gone, into), by_hand=hand), [event]


def _split(state: TrackState, decision: Decision, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Let the smaller half of a topic's documents become a topic of its own."""
    column = _column(state, decision.topic)
    if state.active >= settings.topics:
        raise Refused(
            f"there are {settings.topics} active topics, as many as may be (--topics, or topics in Python); end one"
        )
    documents = _documents(state, column)
    documents = documents.take(np.flatnonzero(directed(documents.x)))
    halves = _halves(documents, slice_rng(settings.seed, state.slice, 5, decision.number), settings)
    if min(map(len, halves)) < settings.given.least_split:
        raise Refused(
            f"topic {decision.topic} has too few documents among the newest ones to be split: {len(documents)}"
        )
    smaller = documents.take(min(halves, key=len))
    new, hand = state.next_id, state.by_hand
    whole = tuple(topic for topic in hand.whole if topic != decision.topic)
    hand = replace(hand, whole=whole, apart=(*hand.apart, (decision.topic, new)))
    event = Event("split", decision.topic, new, value=float(len(smaller)))
    return replace(with_topic(state, smaller, settings, on_trial=False), by_hand=hand), [event]


def _end(state: TrackState, decision: Decision, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """End a topic; its documents in the window go to the topic most like it."""
    column = _column(state, decision.topic)
    _check_unpinned(state, decision.topic, "unpin it first")
    if state.k == 1:
        raise Refused(f"topic {decision.topic} is the only one")
    cosine = TopicPairs(settings).evidence(state, topic=column)[1][0]
    cosine[column] = -2.0
    return without_topic(state, column, int(np.argmax(cosine))), [Event("ended", decision.topic, value=0.0)]


def _pin(state: TrackState, decision: Decision, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Make what is known about a topic its prior."""
    column = _column(state, decision.topic)
    if decision.topic in state.by_hand.pinned:
        raise Refused(f"topic {decision.topic} is pinned already")
    known = filtering.newest_columns(state, filtering.statistics(state), np.array([column]), settings)
    prior = np.zeros((state.dim, state.kp), np.float32) if state.prior is None else state.prior.copy()
    prior[:, column] = np.float32(settings.given.pin_strength) * known[:, 0]
    hand = replace(state.by_hand, pinned=(*state.by_hand.pinned, decision.topic))
    return replace(state, by_hand=hand, prior=prior), []


def _unpin(state: TrackState, decision: Decision, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Take the prior away from a topic."""
    column = _column(state, decision.topic)
    if decision.topic not in state.by_hand.pinned or state.prior is None:
        raise Refused(f"topic {decision.topic} is not pinned")
    pinned, seeded = (
        tuple(topic for topic in topics if topic != decision.topic)
        for topics in (state.by_hand.pinned, state.by_hand.seeded)
    )
    prior = state.prior.copy()
    prior[:, column] = 0.0
    hand = replace(state.by_hand, pinned=pinned, seeded=seeded)
    return replace(state, by_hand=hand, prior=prior if pinned else None), []


_KINDS: Mapping[str, Callable[[TrackState, Decision, TrackerSettings], tuple[TrackState, list[Event]]]] = {
    "merge": _merge,
    "split": _split,
    "end": _end,
    "pin": _pin,
    "unpin": _unpin,
}

KINDS = tuple(_KINDS)
"""The kinds of decisions that change topics."""


def _column(state: TrackState, topic: int) -> int:
    found = np.flatnonzero(state.ids == topic)
    if not len(found):
        there = "has ended" if 0 <= topic < state.next_id else "was never there"
        raise Refused(f"there is no topic {topic}: it {there}")
    return int(found[0])


def _check_unpinned(state: TrackState, topic: int, advice: str) -> None:
    if topic in state.by_hand.pinned:
        raise Refused(f"topic {topic} is pinned; {advice}")


def _documents(state: TrackState, column: int) -> Sample:
    """Documents of a topic in the window, or where slices are too large for one the sampled ones of the last slices."""
    if not state.window:
        if state.life is None:
            return Sample.nothing(state.dim)
        return state.life.recent.take(np.flatnonzero(state.life.recent.topic == state.ids[column]))
    return documents_of(state, column, state.window)


def _halves(
    documents: Sample, rng: np.random.Generator, settings: TrackerSettings
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Numbers of the documents of two topics fitted to some; the second is empty where there are too few."""
    if len(documents) < 2 * settings.given.least_split:
        return np.arange(len(documents)), np.arange(0)
    (resp,) = annealed_starts(documents.x, 2, rng, 1, threads=settings.threads)
    first = resp[:, 0] >= resp[:, 1]
    return np.flatnonzero(first), np.flatnonzero(~first)
