"""Takeovers: documents that have turned a topic into something else become a topic of their own.

A topic may move, and the filter follows it. But when its mean has turned far from what it was before the newest slices,
and two topics explain the documents before and since better than one, its id must not pass to the new ones.
The same is tested where it shares no strongest word with the topic that it was two slices before. With the belief p
about the topic before these slices, g = kappa S of their documents and the anchor B, the evidence
that it is one topic is

    M = ell(|B + p + g|) + ell(|B|) - ell(|B + p|) - ell(|B + g|)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.temporal.word_sums import SliceSums
from vmfstream.directional.bessel import log_partition
from vmfstream.mixtures.columns import column_norms, length_of
from vmfstream.online import filtering
from vmfstream.online.endings import with_topic_ended
from vmfstream.online.identity import strayed
from vmfstream.online.lifecycle import with_room
from vmfstream.online.matching import centred_cosines
from vmfstream.online.settings import TakeoverSettings
from vmfstream.online.state import NEVER, Matrix, Sample, TrackerSettings, TrackState, Vector
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import documents_of, with_topic
from vmfstream.records import Event


class Changed(NamedTuple):
    """Topics that are not the same any more.

    ``topics`` are their columns, ``gain`` (K,) the nats by which two topics are better than one; ``earlier`` and
    ``newest`` (D, kp) are the beliefs about them before the newest slices and from these alone.
    """

    topics: NDArray[np.intp]
    gain: Vector
    earlier: Matrix
    newest: Matrix


def changed_topics(
    state: TrackState, earlier: Matrix, stats: list[SliceSums | None], f: Matrix, rules: TakeoverSettings
) -> Changed:
    """Find the topics of ``state`` that are not what they were.

    Parameters
    ----------
    state : at the end of a slice.
    earlier : (D, kp) data part of the belief predicted to the first of the newest slices.
    stats : sums of the newest slices.
    f : (D, kp) belief about the topics now.
    rules : thresholds.
    """
    newest = np.zeros_like(f)
    for sums in stats:
        if sums is not None:
            newest[sums.words] += np.float32(state.kappa) * sums.s
    before = filtering.anchored(state, earlier)
    alone = filtering.anchored(state, newest)

    def ell(norms: Vector) -> Vector:
        return np.asarray(log_partition(state.dim, norms))

    lengths = column_norms(before)
    nothing = float(log_partition(state.dim, length_of(state.anchor)))
    gain = ell(lengths) + ell(column_norms(alone)) - ell(column_norms(before + newest)) - nothing
    cosine = centred_cosines(before, f, filtering.counts(state.window[-1:], state.kp))
    turned = (cosine < rules.same_cosine)[: state.k] | _unlike(state, f)
    return Changed(np.flatnonzero(turned & (gain > rules.least_gain)[: state.k]), gain[: state.k], before, alone)


def _unlike(state: TrackState, f: Matrix) -> NDArray[np.bool_]:
    """Tell which topics have strayed, (K,); in the warm-up, whose fits move documents anyway, only dormant ones."""
    found = strayed(state, f)
    return found & _dormant(state) if state.warm_up else found


def _dormant(state: TrackState) -> NDArray[np.bool_]:
    return np.zeros(state.k, np.bool_) if state.life is None else state.life.dormant_since > NEVER


def with_takeovers(
    state: TrackState, h: Matrix, settings: TrackerSettings, pairs: TopicPairs | None = None
) -> tuple[TrackState, list[Event]]:
    """Give the newest documents of topics that have become something else topics of their own.

    The old topic keeps its id, its past and the documents that are more like it, or ends if there is no room for both.
    Topics that were born in the newest slices have no past to compare with.

    Parameters
    ----------
    state : at the end of a slice.
    h : (D, kp) data part of the belief about the topics at the end of the newest slice, which the window holds.
    settings : those of the run.
    pairs : which topics may be one, as far as it is known by now.
    """
    events: list[Event] = []
    rules = settings.takeovers
    pairs = TopicPairs(settings) if pairs is None else pairs
    if state.life is None or (state.warm_up and len(state.window) <= rules.recent_slices):
        return state, events
    stats = filtering.statistics(state)
    before = stats[: -rules.recent_slices]
    earlier = filtering.predicted(state, before, state.leader, settings, lengths=False).matrix()
    found = changed_topics(state, earlier, stats[-rules.recent_slices :], filtering.anchored(state, h), rules)
    with_past = state.life.alive_since[found.topics] <= state.slice - rules.recent_slices
    for topic, old in [(int(topic), int(state.ids[topic])) for topic in found.topics[with_past]]:
        if old in state.ids and old not in state.by_hand.pinned:  # unless it was merged to make room for another
            column = _column(state, old)
            members = _newest_documents(state, column, _turned(found, topic), rules)
            if len(members) >= (rules.least_of_dormant if _dormant(state)[column] else rules.least_documents):
                state, more = _split(state, old, members, float(found.gain[topic]), settings, pairs)
                events += more
    return state, events


def _split(
    state: TrackState, old: int, members: Sample, gain: float, settings: TrackerSettings, pairs: TopicPairs
) -> tuple[TrackState, list[Event]]:
    """Let ``members`` leave the topic with the id ``old``, which ends if there is no room for both."""
    roomy, events = with_room(state, settings, gain, pairs)
    state = state if roomy is None else roomy
    event = Event("split", old, state.next_id, value=float(len(members)), evidence=gain)
    state, events = with_topic(state, members, settings), [*events, event]
    if roomy is None:
        column = _column(state, old)
        apart = [state.k - 1] if state.k > 2 else []  # its other documents do not follow those that left
        state = with_topic_ended(state, column, pairs, settings, apart)
        events.append(Event("ended", old, value=0.0))
    return state, events


def _column(state: TrackState, topic: int) -> int:
    return int(np.flatnonzero(state.ids == topic)[0])


def _turned(found: Changed, topic: int) -> Vector:
    """The direction in which a topic has turned: its mean now less its mean before, (D,)."""
    now, before = (f[:, topic].astype(np.float64) for f in (found.newest, found.earlier))
    return np.asarray(now / np.linalg.norm(now) - before / np.linalg.norm(before))


def _newest_documents(state: TrackState, column: int, towards: Vector, rules: TakeoverSettings) -> Sample:
    """Documents of a topic in the newest slices that are more like what it is now than like what it was."""
    own = documents_of(state, column, state.window[-rules.recent_slices :])
    return own.take(np.flatnonzero(np.asarray(own.x @ towards).ravel() > 0.0))
