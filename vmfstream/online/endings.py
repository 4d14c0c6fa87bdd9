"""The end of a topic: each of its documents in the window goes to the topic that explains it best.

Topics without any document end by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.bayes.factors import beliefs
from vmfstream.bayes.predictive import topic_densities
from vmfstream.mixtures.columns import column_norms
from vmfstream.online import filtering
from vmfstream.online.belief import belief_of
from vmfstream.online.mergers import counts
from vmfstream.online.state import TrackerSettings, TrackState, stack
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import rearranged
from vmfstream.records import Event


def with_topic_ended(
    state: TrackState, gone: int, pairs: TopicPairs, settings: TrackerSettings, apart: Sequence[int] = ()
) -> TrackState:
    """Forget the past of topic ``gone``; each of its documents in the window goes to the topic that explains it best.

    Parameters
    ----------
    state : at the end of a slice, with another topic at least.
    gone : column of the topic that ends.
    pairs : knows the newest beliefs about the topics.
    settings : those of the run.
    apart : columns of topics that its documents do not go to.
    """
    f = beliefs.anchored(state.anchor, pairs.beliefs(state), state.k)
    n = state.n_past + filtering.counts(state.window, state.kp)
    belief = belief_of(state, f, column_norms(f), n, settings)
    bias = belief.log_weights.copy()
    bias[[gone, *apart]] = -np.inf
    stay = np.delete(np.arange(state.k), gone)
    left = rearranged(state, stay, state.ids[stay])
    if not state.window:
        return left
    held = [np.flatnonzero(w.resp[:, gone] > 0.0) for w in state.window]
    documents = stack([w.x[rows] for w, rows in zip(state.window, held, strict=True)], state.dim)
    densities = topic_densities(documents, f, belief.gamma, state.kappa)
    best = (densities + bias).argmax(axis=1)
    best -= best > gone
    parts = np.split(best, np.cumsum([len(rows) for rows in held])[:-1])
    for w, before, rows, to in zip(left.window, state.window, held, parts, strict=True):
        w.add(rows, to, before.resp[rows, gone])
    return left


def with_empty_ended(state: TrackState, settings: TrackerSettings, pairs: TopicPairs) -> tuple[TrackState, list[Event]]:
    """End topics that had no document in any slice, as where the first fits were given more topics than there are.

    Not during the warm-up, nor those that people have pinned or named, whose documents may come later. The events tell
    for how many slices, those of the window at most, there was none. ``state``, ``settings`` and ``pairs`` are as in
    `with_topic_ended`.
    """
    if state.life is None or state.warm_up:
        return state, []
    empty = (counts(state) < settings.dormancy.least_documents) & ~state.by_hand.are_pinned(state.ids)
    columns = np.flatnonzero(empty)[: state.k - 1]  # one topic stays
    since = np.maximum(state.life.alive_since[columns], state.window[0].index if state.window else state.slice)
    silent = np.maximum(state.slice - since, 1).tolist()
    events = [
        Event("ended", topic, value=float(slices))
        for topic, slices in zip(state.ids[columns].tolist(), silent, strict=True)
    ]
    for column in columns[::-1].tolist():
        state = with_topic_ended(state, column, pairs, settings)
    return state, events
