"""Mergers: two topics whose documents are better explained by one become one, at the ends of slices."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import padded
from vmfstream.mixtures.columns import column_norms
from vmfstream.online import filtering
from vmfstream.online.belief import belief_of, score
from vmfstream.online.state import Matrix, TrackerSettings, TrackState, Vector, rows_of
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import columns_at, with_topics_merged
from vmfstream.records import Event


def with_mergers(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs | None = None
) -> tuple[TrackState, list[Event]]:
    """Make one topic of two whose documents are better explained by one; not while the first fits still compete.

    The evidence depends on the beliefs alone, which decay, and on what it took to learn two means instead of one. So
    the newest slices, as many as hold ``least_judged`` documents, must not lose more nats by the merger than the
    evidence gains, nor more than ``document_gain`` each; and a slice without documents, in which beliefs only decay,
    merges nothing. ``state`` and ``settings`` as they are at the end of a slice; ``pairs`` follow its topics.
    """
    events: list[Event] = []
    pairs = TopicPairs(settings) if pairs is None else pairs
    if state.life is None or state.warm_up or state.k < 2 or not (state.window and rows_of(state.window[-1].x)):
        return state, events
    evidence, cosine = pairs.evidence(state)
    speaking = _merging_gain(state, evidence, cosine, settings)
    ahead, refused = None, 0
    while refused < settings.mergers.most_refused:
        pair = most_likely_pair(speaking, counts(state) >= settings.mergers.least_documents)
        if pair is None or speaking[pair] <= 0.0:
            break
        ahead = _ahead(state, settings) if ahead is None else ahead
        into, gone = _ordered(state, pair)
        merged = _merged(ahead, into, gone, settings)
        if merged.density + min(speaking[pair], settings.mergers.document_gain * ahead.documents) < ahead.density:
            speaking[pair], refused = -np.inf, refused + 1
            continue
        state, merger = merge_pair(state, pair, evidence, cosine)
        ahead, events = merged._replace(state=state), events + merger
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


class _Ahead(NamedTuple):
    """What came before the slices from ``first`` on predicts: data parts ``p`` (D, kp), documents by topic ``n`` (kp,).

    ``density`` is the log-density of the documents of those slices under it, and ``documents`` their number.
    """

    state: TrackState
    first: int
    p: Matrix
    n: Vector
    density: float
    documents: int


def _ahead(state: TrackState, settings: TrackerSettings) -> _Ahead:
    """Predict the newest slices, as many as hold ``least_judged`` documents, from what came before them."""
    first, found = len(state.window), 0
    while first > 0 and found < settings.mergers.least_judged:
        first -= 1
        found += rows_of(state.window[first].x)
    before = filtering.statistics(state)[:first]
    p = filtering.predicted(state, before, state.leader, settings, lengths=False).matrix()
    n = state.n_past + filtering.counts(state.window[:first], state.kp)
    return _Ahead(state, first, p, n, _density(state, first, p, n, settings), found)


def _merged(ahead: _Ahead, into: int, gone: int, settings: TrackerSettings) -> _Ahead:
    """Predict them from one topic instead of two; only that topic is filtered.

    The state has the columns that it will have, and no more of them than `_density` asks for.
    """
    state, first, pair = ahead.state, ahead.first, [into, gone]
    stay = np.delete(np.arange(state.k), gone)
    wide, column = np.append(stay, np.full(padded(len(stay)) - len(stay), -1)), into - (into > gone)
    p, n = columns_at(ahead.p, wide), np.append(ahead.n[stay], np.zeros(len(wide) - len(stay)))
    p[:, column] = filtering.predicted_sum(state, filtering.statistics(state)[:first], pair, settings)
    one = replace(
        state,
        ids=state.ids[stay],
        n_past=state.n_past[stay],
        prior=None if state.prior is None else columns_at(state.prior, wide),
    )
    inside = (w.resp[:, pair].sum(axis=1) for w in state.window[:first])
    n[column] = state.n_past[pair].sum() + sum(float(resp.sum(dtype=np.float64)) for resp in inside)
    return ahead._replace(state=one, p=p, n=n, density=_density(one, first, p, n, settings))


def _density(state: TrackState, first: int, p: Matrix, n: Vector, settings: TrackerSettings) -> float:
    judged = [one.x for one in state.window[first:] if rows_of(one.x)]
    if not judged:
        return 0.0
    f = filtering.anchored(state, p)
    belief = belief_of(state, f, column_norms(f), n, settings)
    return sum(float(score(x, belief, threads=settings.threads)[0].sum()) for x in judged)


def _ordered(state: TrackState, pair: tuple[int, int]) -> list[int]:
    """The topic of a pair that stays and the one that goes, which is usually smaller, or newer; a pinned one stays."""
    n, usual = counts(state), np.zeros(state.k) if state.life is None else state.life.reference_share
    pinned = state.by_hand.are_pinned(state.ids)
    return sorted(pair, key=lambda topic: (not pinned[topic], -usual[topic], -n[topic]))


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
    """Let one of two topics of ``state``, see `_ordered`, flow into the other.

    ``pair`` are their columns; the event tells its ``evidence`` in nats and, from ``cosine``, the
    angle between their means, both (K, K).
    """
    into, gone = _ordered(state, pair)
    angle = float(np.degrees(np.arccos(cosine[pair])))
    event = Event("merged", int(state.ids[gone]), int(state.ids[into]), value=angle, evidence=float(evidence[pair]))
    by_hand = state.by_hand.merged(int(state.ids[gone]), int(state.ids[into]))
    return replace(with_topics_merged(state, gone, into), by_hand=by_hand), [event]


def counts(state: TrackState) -> Vector:
    """Documents of every topic so far, (K,)."""
    return np.asarray((state.n_past + filtering.counts(state.window, state.kp))[: state.k])
