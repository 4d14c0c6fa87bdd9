"""Mergers: two topics whose documents are better explained by one become one, at the ends of slices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.mixtures.columns import column_norms
from vmfstream.online import chain
from vmfstream.online.places import joined, same_topic
from vmfstream.online.prediction import Belief, score
from vmfstream.online.state import TrackerSettings, TrackState, Vector
from vmfstream.records import Event

ALIKE = 0.3
"""Cosine of two topics above which they may be one."""

LEAST_MERGED = 20.0
"""Documents that each of two topics must have before they may be one."""

MOST_REFUSED = 8
"""Pairs of topics of one slice that may be tried in vain."""


def with_mergers(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Make one topic of two whose documents are better explained by one; not while the first fits still compete.

    The evidence knows only what the beliefs remember, which is little of slow topics of long documents. So the newest
    slice, too, must be predicted no worse by one topic than by two.
    """
    events: list[Event] = []
    if state.life is None or state.settling or state.k < 2:
        return state, events
    evidence, cosine = same_topic(state, settings)
    evidence[cosine < ALIKE] = -np.inf
    predicted, refused = None, 0
    while refused < MOST_REFUSED:
        pair = likeliest(evidence, counts(state) >= LEAST_MERGED)
        if pair is None or evidence[pair] <= 0.0:
            break
        one, news = merged(state, pair, evidence, cosine)
        predicted = _predicted(state, settings) if predicted is None else predicted
        then = _predicted(one, settings)
        if then < predicted:
            evidence[pair], refused = -np.inf, refused + 1
            continue
        state, predicted, events = one, then, events + news
        evidence, cosine = same_topic(state, settings)
        evidence[cosine < ALIKE] = -np.inf
    return state, events


def _predicted(state: TrackState, settings: TrackerSettings) -> float:
    """Log-density of the newest slice, if the window holds it, under the prediction from what came before it."""
    if not state.window:
        return 0.0
    newest = state.window[-1]
    _, _, p = chain.run(state, chain.statistics(state, settings)[:-1], state.leader, settings)
    f = chain.anchored(state, p)
    n = (state.n_past + chain.counts(state.window[:-1], state.kp))[: state.k]
    log_weights = np.log(n + settings.alpha) - np.log(n.sum() + settings.alpha * state.k)
    belief = Belief(f, column_norms(f)[: state.k], state.kappa, log_weights, state.lowest_cosine)
    return float(score(newest.x, belief, threads=settings.threads)[0].sum())


def likeliest(evidence: NDArray[np.float64], eligible: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The two eligible topics that are most likely one; None if no pair has any evidence."""
    allowed = np.triu(np.outer(eligible, eligible), 1) & np.isfinite(evidence)
    if not allowed.any():
        return None
    a, b = divmod(int(np.argmax(np.where(allowed, evidence, -np.inf))), len(evidence))
    return a, b


def merged(
    state: TrackState, pair: tuple[int, int], evidence: NDArray[np.float64], cosine: NDArray[np.float64]
) -> tuple[TrackState, list[Event]]:
    """The smaller of two topics flows into the larger."""
    n = counts(state)
    into, gone = pair if n[pair[0]] >= n[pair[1]] else pair[::-1]
    angle = float(np.degrees(np.arccos(cosine[pair])))
    event = Event("merged", int(state.ids[gone]), int(state.ids[into]), value=angle, evidence=float(evidence[pair]))
    return joined(state, gone, into), [event]


def counts(state: TrackState) -> Vector:
    """Documents of every topic so far, (K,)."""
    inside = sum((w.resp.sum(axis=0, dtype=np.float64) for w in state.window), np.zeros(state.kp))
    return np.asarray((state.n_past + inside)[: state.k])
