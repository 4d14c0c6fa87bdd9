"""Mergers: two topics whose documents are better explained by one become one, at the ends of slices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.mixtures.columns import column_norms
from vmfstream.online import filtering
from vmfstream.online.belief import belief_of, score
from vmfstream.online.state import TrackerSettings, TrackState, Vector, rows_of
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import with_topics_merged
from vmfstream.records import Event


def with_mergers(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs | None = None
) -> tuple[TrackState, list[Event]]:
    """Make one topic of two whose documents are better explained by one; not while the first fits still compete.

    The evidence depends on the beliefs alone, which decay. So the newest slices, as many as hold `LEAST_JUDGED`
    documents, must not lose more nats by the merger than the evidence gains, and a slice without documents, in which
    beliefs only decay, merges nothing. ``state`` and ``settings`` as they are at the end of a slice; ``pairs`` follow
    its topics.
    """
    events: list[Event] = []
    pairs = TopicPairs(settings) if pairs is None else pairs
    if state.life is None or state.warm_up or state.k < 2 or not (state.window and rows_of(state.window[-1].x)):
        return state, events
    evidence, cosine = pairs.evidence(state)
    speaking = _merging_gain(state, evidence, cosine, settings)
    predicted, refused = None, 0
    while refused < settings.mergers.most_refused:
        pair = most_likely_pair(speaking, counts(state) >= settings.mergers.least_documents)
        if pair is None or speaking[pair] <= 0.0:
            break
        one, merger = merge_pair(state, pair, evidence, cosine)
        predicted = _predicted(state, settings) if predicted is None else predicted
        then = _predicted(one, settings)
        if then + speaking[pair] < predicted:
            speaking[pair], refused = -np.inf, refused + 1
            continue
        state, predicted, events = one, then, events + merger
        evidence, cosine = pairs.evidence(state)
        speaking = _merging_gain(state, evidence, cosine, settings)
    return state, events


def _merging_gain(
    state: TrackState, evidence: NDArray[np.float64], cosine: NDArray[np.float64], settings: TrackerSettings
) -> NDArray[np.float64]:
    """Nats that speak for one topic instead of two, (K, K), with what the smaller one must be worth."""
    n = filtering.counts(state.window, state.kp)[: state.k]
    rules = settings.mergers
    worth = rules.document_gain * np.minimum(n[:, None], n)
    return np.where((cosine < rules.least_cosine) | ~state.by_hand.may_merge(state.ids), -np.inf, evidence + worth)


LEAST_JUDGED = 50
"""Documents that say whether a merger loses more than it gains."""


def _predicted(state: TrackState, settings: TrackerSettings) -> float:
    """Log-density of the newest documents of the window under the prediction from what came before their slices."""
    first, found = len(state.window), 0
    while first > 0 and found < LEAST_JUDGED:
        first -= 1
        found += rows_of(state.window[first].x)
    if not found:
        return 0.0
    _, _, p = filtering.run(state, filtering.statistics(state)[:first], state.leader, settings)
    f = filtering.anchored(state, p)
    n = state.n_past + filtering.counts(state.window[:first], state.kp)
    belief = belief_of(state, f, column_norms(f), n, settings)
    judged = [one.x for one in state.window[first:] if rows_of(one.x)]
    return sum(float(score(x, belief, threads=settings.threads)[0].sum()) for x in judged)


def most_likely_pair(evidence: NDArray[np.float64], eligible: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The two eligible topics that are most likely one; None if no pair has any evidence."""
    allowed = np.triu(np.outer(eligible, eligible), 1) & np.isfinite(evidence)
    if not allowed.any():
        return None
    a, b = divmod(int(np.argmax(np.where(allowed, evidence, -np.inf))), len(evidence))
    return a, b


def merge_pair(
    state: TrackState, pair: tuple[int, int], evidence: NDArray[np.float64], cosine: NDArray[np.float64]
) -> tuple[TrackState, list[Event]]:
    """Let one of two topics of ``state``, the one that is usually smaller, or newer, flow into the other.

    A pinned one stays. ``pair`` are their columns; the event tells its ``evidence`` in nats and, from ``cosine``, the
    angle between their means, both (K, K).
    """
    n, usual = counts(state), np.zeros(state.k) if state.life is None else state.life.reference_share
    pinned = state.by_hand.are_pinned(state.ids)
    into, gone = sorted(pair, key=lambda topic: (not pinned[topic], -usual[topic], -n[topic]))
    angle = float(np.degrees(np.arccos(cosine[pair])))
    event = Event("merged", int(state.ids[gone]), int(state.ids[into]), value=angle, evidence=float(evidence[pair]))
    by_hand = state.by_hand.merged(int(state.ids[gone]), int(state.ids[into]))
    return replace(with_topics_merged(state, gone, into), by_hand=by_hand), [event]


def counts(state: TrackState) -> Vector:
    """Documents of every topic so far, (K,)."""
    inside = sum((w.resp.sum(axis=0, dtype=np.float64) for w in state.window), np.zeros(state.kp))
    return np.asarray((state.n_past + inside)[: state.k])
