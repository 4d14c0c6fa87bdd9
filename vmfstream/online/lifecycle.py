"""The lifecycle of topics at the ends of slices: births, trials, splits, dormancy, reactivation.

A topic keeps its id, and ids are issued once. The number of active topics when one is born is bounded, and so is that
of all: when all topic slots are taken, a new topic gets the slot of the one that has been dormant longest.

Whether a new topic will last cannot be known at its birth. So it is on trial: for some slices it may exceed the bound
by one. If it proves much like another topic meanwhile, it is merged into that. If too many topics are active after the
trial, those two are merged whose newest documents lose least by it; if one of them is the new topic, it ends instead,
and its documents go to the topics that explain them best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from vmfstream.mixtures.columns import directed
from vmfstream.online.belief import Belief, new_topic_log_density, score
from vmfstream.online.births import (
    Group,
    ScoredDocuments,
    SearchCache,
    find_groups,
    new_topic_densities,
)
from vmfstream.online.drift import with_arrival_gains
from vmfstream.online.endings import with_topic_ended
from vmfstream.online.matching import centred_pairs
from vmfstream.online.mergers import counts, merge_pair, most_likely_pair
from vmfstream.online.new_groups import find_new_groups
from vmfstream.online.settings import BirthSettings, DormancySettings, TrackerSettings
from vmfstream.online.state import (
    NEVER,
    TOLD_SLICES,
    TOLD_WORDS,
    Lifecycle,
    Rows,
    Sample,
    TrackState,
    Vector,
    rows_of,
    slice_rng,
)
from vmfstream.online.topic_pairs import TopicPairs
from vmfstream.online.topic_slots import slots_of, with_columns, with_topic, with_topics_merged
from vmfstream.records import Event


def empty_lifecycle(dim: int, k: int) -> Lifecycle:
    """Return the statistics of ``k`` topics before any document."""
    none, zero, never = np.zeros(0, np.int64), np.zeros(k), np.full(k, NEVER)
    return Lifecycle(
        recent=Sample.nothing(dim),
        control=Sample.nothing(dim),
        arrival_gain=np.zeros(0),
        arrival_slice=none,
        arrival_topic=none,
        watched_since=np.array([NEVER]),
        recent_slices=none,
        recent_counts=np.zeros((0, k)),
        decayed_share=zero,
        decayed_weight=zero,
        reference_share=zero,
        dormant_since=never,
        topic_watched_since=never,
        alive_since=never,
        numbered_since=never,
        trial=np.zeros(k, np.int64),
        told=np.zeros((TOLD_SLICES * TOLD_WORDS, k), np.int64),
        holder=none,
    )


def with_arrivals(state: TrackState, x: Rows, belief: Belief, settings: TrackerSettings) -> TrackState:
    """Add documents of the open slice to the samples with their scores under its prediction, before they are learnt.

    ``x`` are unit rows (N, D) and ``belief`` is the prediction. The samples belong to ``state``, and ``settings`` bound
    them. What leaves the recent slices enters the control sample, which stays uniform over the documents of the stream.
    """
    life = state.life
    if life is None:
        return state
    rng = slice_rng(settings.seed, state.slice, 4)
    rows = np.sort(rng.permutation(np.flatnonzero(directed(x)))[: settings.births.slice_documents])
    n = len(rows)
    x = x[rows]
    if not n:
        return state
    loglik, label = score(x, belief, threads=settings.threads)
    new = Sample(
        x=x,
        gain=loglik - new_topic_log_density(x, state.anchor, state.kappa),
        slice=np.full(n, state.slice),
        row=rows,
        topic=state.ids[np.maximum(label, 0)],
        key=rng.exponential(size=n) * n / max(state.open.documents, n, 1),
        half=rng.random(n) < 0.5,
    )
    recent = life.recent.and_also(new)
    old = recent.slice <= state.slice - settings.births.recent_slices
    control = life.control.and_also(recent.take(np.flatnonzero(old)))
    most = settings.births.control_documents
    if len(control) > most:
        control = control.take(np.sort(np.argpartition(control.key, most)[:most]))
    life = replace(life, recent=recent.take(np.flatnonzero(~old)), control=control)
    return replace(state, life=with_arrival_gains(life, new, settings.drift))


def with_births(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs | None = None
) -> tuple[TrackState, list[Event]]:
    """Make topics of groups of recent documents that are new, and of finer structure while topic slots are free.

    ``state`` and ``settings`` as they are at the end of a slice; ``pairs`` follow what is done to its topics.
    """
    events: list[Event] = []
    pairs, memory = TopicPairs(settings) if pairs is None else pairs, SearchCache()
    left = settings.births.most_births
    while left > 0:
        state, more, births = _births_of_search(state, settings, pairs, memory, left)
        events, left = events + more, left - births
        if not births:
            break
    return state, events


def _births_of_search(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs, memory: SearchCache, most: int
) -> tuple[TrackState, list[Event], int]:
    """Make topics of at most so many groups of one search that have no documents in common; tell how many."""
    life, rules, events = state.life, settings.births, list[Event]()
    if life is None or len(life.control) < rules.least_control or not len(life.recent):
        return state, events, 0
    recent, control = _scored(life, state, memory)
    taken, births = np.zeros(len(life.recent), np.bool_), 0
    for group in _groups(life, recent, control, state, rules, memory):
        if (group.joins & taken).any():
            continue
        state, more = _birth(state, group, settings, pairs, memory)
        if more:
            taken, births, events = taken | group.joins, births + 1, events + more
        if births == most:
            break
    return state, events, births


def _scored(life: Lifecycle, state: TrackState, memory: SearchCache) -> tuple[ScoredDocuments, ScoredDocuments]:
    """Recent and control documents with their log-densities."""
    parts = (life.recent, life.control)
    recent, control = (
        ScoredDocuments(s.x, s.gain + new_topic_densities(s.x, state.anchor, state.kappa, memory)) for s in parts
    )
    return recent, control


def _birth(
    state: TrackState, group: Group, settings: TrackerSettings, pairs: TopicPairs, memory: SearchCache
) -> tuple[TrackState, list[Event]]:
    """Make a topic of a group, or give it to a dormant one; without events if it is refused."""
    life, rules = state.life, settings.births
    if life is None:
        return state, []
    new = group.chance < rules.chance
    refines = group.gain >= rules.refining_gain and state.active < settings.topics
    if _has_drifted(life, state, group, memory) if new else not refines:
        return state, []
    members = life.recent.take(np.flatnonzero(group.joins))
    if not new and _parent(state, members) in state.by_hand.whole:
        return state, []
    worth = 2.0 * group.gain  # one half tests and stands for both; of what is new about half joins at first
    roomy, events = with_room(state, settings, worth, pairs, on_trial=True)
    if roomy is None and not (life.dormant_since > NEVER).any():
        return state, []
    same_cosine = rules.same_cosine if new else settings.mergers.least_cosine
    tried = with_topic(state, members, settings)
    same = _same_topic(tried, same_cosine, pairs)
    if same is not None and life.dormant_since[same] > NEVER:
        found, events = _reactivated(tried, len(members), same)
        return _explained(found, group, memory), events
    if roomy is None or same is not None:
        return state, []
    born = Event("born", roomy.next_id) if new else Event("split", _parent(roomy, members), roomy.next_id)
    born = replace(born, value=float(len(members)), evidence=group.gain, chance=group.chance)
    found = tried if roomy is state else with_topic(roomy, members, settings)
    return _explained(found, group, memory), [*events, born]


def _groups(
    life: Lifecycle,
    recent: ScoredDocuments,
    control: ScoredDocuments,
    state: TrackState,
    rules: BirthSettings,
    memory: SearchCache,
) -> Iterator[Group]:
    """Groups that are new, then those that one half of the recent documents proposes and the other confirms."""
    held = memory.once("holders", lambda: _holders(state, life.recent), state)
    told = (held >= 0) & (life.alive_since[held] > state.slice - rules.recent_slices)
    yield from find_new_groups(recent, life.recent.slice, control, state.anchor, state.kappa, rules, told, memory)
    yield from find_groups(recent, life.recent.half, control, state.anchor, state.kappa, rules, memory)


def _explained(state: TrackState, group: Group, memory: SearchCache) -> TrackState:
    """Raise the gains of documents that a group explains, so that it is not found again.

    ``state`` has the samples in which the ``group`` was found, and ``memory`` is that of the searches in these.
    """
    life = state.life
    if life is None:
        return state
    recent, control = _scored(life, state, memory)
    of_recent, of_control = group.densities()
    now = life.recent.gain + np.logaddexp(recent.s, of_recent) - recent.s
    then = life.control.gain + np.logaddexp(control.s, of_control) - control.s
    life = replace(life, recent=replace(life.recent, gain=now), control=replace(life.control, gain=then))
    return replace(state, life=life)


def _has_drifted(life: Lifecycle, state: TrackState, group: Group, memory: SearchCache) -> bool:
    """Tell whether a group is a topic that has drifted: it holds most of the group, and no more documents than before.

    Before is the smaller of its usual share and its share of the last slices, so that nothing new is taken for a topic
    that was dormant. ``life`` is that of the ``state`` in which the ``group`` was found, and ``memory`` that of the
    searches.
    """
    topic = memory.once("holders", lambda: _holders(state, life.recent), state)
    columns, members = np.unique(topic[group.joins], return_counts=True)
    parent = int(columns[np.argmax(members)])
    if parent < 0 or len(life.decayed_share) < state.k or 2 * members.max() <= members.sum():
        return False
    newest = np.isin(life.recent.slice, life.recent.slice[group.joins])
    own = newest & (topic == parent)
    lately = life.recent_counts.sum(axis=0) / max(life.recent_counts.sum(), 1.0)
    before = np.minimum(_usual_share(life), lately)[parent] * np.count_nonzero(newest)
    return bool(np.count_nonzero(own) <= before + 0.5 * np.count_nonzero(own & group.joins))


def _holders(state: TrackState, documents: Sample) -> NDArray[np.int64]:
    """Find the column of each document's topic, now or on arrival if it left the window; -1 if the topic has ended."""
    topic = slots_of(state.ids, documents.topic)
    for w in state.window:
        here = documents.slice == w.index
        topic[here] = w.resp[documents.row[here], : state.k].argmax(axis=1)
    return topic


def _same_topic(state: TrackState, cosine_above: float, pairs: TopicPairs) -> int | None:
    """Find the topic that the documents of the last one belong to although it explains them badly, by the evidence."""
    evidence, cosine = pairs.evidence(state, topic=state.k - 1)
    same = np.where(cosine[0] > cosine_above, evidence[0], -np.inf)[:-1]
    return int(np.argmax(same)) if same.max(initial=-np.inf) > 0.0 else None


def _reactivated(tried: TrackState, members: int, dormant: int) -> tuple[TrackState, list[Event]]:
    """Give the documents of the last topic, that many ``members``, to a dormant one, which becomes active."""
    active = replace(with_topics_merged(tried, tried.k - 1, dormant), next_id=tried.next_id - 1)
    if active.life is not None:
        since = np.where(np.arange(active.k) == dormant, NEVER, active.life.dormant_since)
        active = replace(active, life=replace(active.life, dormant_since=since))
    return active, [Event("woken", int(active.ids[dormant]), value=float(members))]


def with_room(
    state: TrackState, settings: TrackerSettings, gain: float, pairs: TopicPairs, *, on_trial: bool = False
) -> tuple[TrackState | None, list[Event]]:
    """Make room for one more topic.

    If too many topics are active, the two most alike of these are merged; if keeping them apart is worth as much as
    ``gain`` nats or more, there is no room: None. The topic that has been dormant longest ends if all slots are taken.

    Parameters
    ----------
    state, settings : at the end of a slice.
    gain : nats that the new topic brings.
    pairs : which of its topics may be one.
    on_trial : whether the new topic will be on trial. Then two topics must be as much alike, but they are not merged
        yet, and only what documents of the newest slices lose counts: the new topic has had no more time to gain.
    """
    life = state.life
    if life is None:
        return None, []
    if state.active >= settings.topics:
        evidence, cosine = pairs.evidence(state)
        barred = (cosine < settings.mergers.crowded_cosine) | ~state.by_hand.may_merge(state.ids)
        pair = most_likely_pair(np.where(barred, -np.inf, evidence), life.dormant_since == NEVER)
        if pair is None:
            return None, []
        lost = -evidence[pair] + (pairs.evidence_before(state)[pair] if on_trial else 0.0)
        if lost >= gain:
            return None, []
        if not on_trial:
            return merge_pair(state, pair, evidence, cosine)
    if state.k < settings.topics + max(1, round(settings.dormancy.slots * settings.topics)):
        return state, []
    may_end = (life.dormant_since > NEVER) & ~state.by_hand.are_pinned(state.ids)
    if not may_end.any():
        return None, []
    gone = int(np.argmin(np.where(may_end, life.dormant_since, state.slice)))
    ended = Event("ended", int(state.ids[gone]), value=float(state.slice - life.dormant_since[gone]))
    return with_topic_ended(state, gone, pairs, settings), [ended]


def with_trials_ended(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs
) -> tuple[TrackState, list[Event]]:
    """Merge topics on trial with those that they are alike; judge those whose trial is over, if too many are active.

    Each that is judged costs one topic, or ends itself. Of those not on trial two become one, alike ones, or one that
    is judged and any other: those whose documents of the newest slices lose least by it. An empty slice judges nothing
    and does not count. ``state``, ``settings`` and ``pairs`` are as in `with_room`.
    """
    if state.life is None or (state.window and not rows_of(state.window[-1].x)):
        return state, []
    state, events = _with_alike_merged(state, settings, pairs)
    if (life := state.life) is None:
        return state, events
    left = np.maximum(life.trial - (life.alive_since < state.slice), 0)
    judged = state.ids[(life.trial > 0) & (left == 0)]
    state = replace(state, life=replace(life, trial=left))
    for _ in judged:
        if (life := state.life) is None:
            break
        known = (life.dormant_since == NEVER) & (life.trial == 0)
        if np.count_nonzero(known) <= settings.topics:
            break
        evidence, cosine = pairs.evidence(state)
        new = np.isin(state.ids, judged) & ~state.by_hand.are_pinned(state.ids)
        allowed = (cosine >= settings.mergers.crowded_cosine) | new[:, None] | new
        lost = pairs.evidence_before(state) - evidence
        pair = most_likely_pair(np.where(allowed & state.by_hand.may_merge(state.ids), -lost, -np.inf), known)
        if pair is None:
            break
        newest = max(pair, key=lambda topic: new[topic])
        if new[newest]:
            events.append(Event("ended", int(state.ids[newest]), evidence=float(-lost[pair])))
            state = with_topic_ended(state, newest, pairs, settings)
        else:
            state, merged = merge_pair(state, pair, evidence, cosine)
            events += merged
    return state, events


def _with_alike_merged(
    state: TrackState, settings: TrackerSettings, pairs: TopicPairs
) -> tuple[TrackState, list[Event]]:
    """Merge topics on trial, but those of this slice, with others that they are too much alike to stand beside."""
    events, rules = list[Event](), settings.mergers
    while (life := state.life) is not None:
        on_trial = (life.trial > 0) & (life.alive_since < state.slice)
        if not on_trial.any():
            break
        evidence, cosine = pairs.evidence(state)
        one_on_trial, n = np.outer(on_trial, life.trial == 0), counts(state)
        alike = centred_pairs(cosine, n) >= settings.births.trial_cosine
        allowed = alike & (one_on_trial | one_on_trial.T) & state.by_hand.may_merge(state.ids)
        eligible = (life.dormant_since == NEVER) & (n >= rules.least_documents)
        pair = most_likely_pair(np.where(allowed, evidence, -np.inf), eligible)
        if pair is None:
            break
        state, merged = merge_pair(state, pair, evidence, cosine)
        events += merged
    return state, events


def _parent(state: TrackState, members: Sample) -> int:
    """Id of the topic with most of the documents, among those in the window."""
    documents = np.zeros(state.kp)
    for w in state.window:
        documents += w.resp[members.row[members.slice == w.index]].sum(axis=0, dtype=np.float64)
    return int(state.ids[int(np.argmax(documents[: state.k]))])


def with_dormancy(state: TrackState, n: Vector, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Count the documents ``n`` (K,) of the slice that ends, and decide which topics become dormant or active again.

    A topic of ``state`` becomes dormant when its documents in the last slices are as few as chance makes them with
    probability ``settings.dormancy.chance``.
    """
    life, rules = state.life, settings.dormancy
    if life is None:
        return state, []
    life = _with_counts(life, state, n, rules)
    seen, total = life.recent_counts.sum(axis=0), life.recent_counts.sum()
    expected = life.reference_share * total
    dormant = life.dormant_since > NEVER
    falls = ~dormant & (pdtr(seen, expected) < rules.chance) & (seen < rules.dormant_below * expected)
    wakes = dormant & (seen > rules.active_above * expected) & (seen >= rules.least_waking)
    events = [
        Event(kind, int(state.ids[j]), value=float(seen[j]), chance=float(pdtr(seen[j], expected[j])))
        for kind, which in (("dormant", falls), ("woken", wakes))
        for j in np.flatnonzero(which)
    ]
    since = np.where(falls, state.slice, np.where(wakes, NEVER, life.dormant_since))
    return replace(state, life=replace(life, dormant_since=since)), events


def _with_counts(life: Lifecycle, state: TrackState, n: Vector, rules: DormancySettings) -> Lifecycle:
    """Add a slice to the recent counts, and update those of slices that the window still holds.

    During the warm-up the topics may change their meaning with each fit: all slices are counted again.
    """
    if state.warm_up:
        columns = np.arange(state.k)
        columns = np.where(columns < len(life.dormant_since), columns, -1)  # a larger fit may have brought more topics
        life, zero = with_columns(life, columns), np.zeros(state.k)
        life = replace(life, recent_slices=life.recent_slices[:0], recent_counts=np.zeros((0, state.k)))
        life = replace(life, decayed_share=zero, decayed_weight=zero, reference_share=zero)
        for w in state.window:
            life = _with_count(life, w.index, w.n[: state.k], rules)
        return life
    fresh = {w.index: w.n[: state.k] for w in state.window}
    rows = [fresh.get(int(index), row) for index, row in zip(life.recent_slices, life.recent_counts, strict=True)]
    return _with_count(replace(life, recent_counts=np.array(rows).reshape(-1, state.k)), state.slice, n, rules)


def _with_count(life: Lifecycle, index: int, n: Vector, rules: DormancySettings) -> Lifecycle:
    """Add the counts of one slice; the oldest beyond the recent ones enters the usual share."""
    counts, slices = np.vstack([life.recent_counts, n]), np.append(life.recent_slices, index)
    if len(counts) <= rules.recent_slices:
        return replace(life, recent_slices=slices, recent_counts=counts)
    oldest = counts[0]
    life = replace(life, recent_slices=slices[1:], recent_counts=counts[1:])
    if not oldest.any():
        return life
    begun = (life.decayed_weight > 0.0) | (oldest > 0.0)
    newest = 1.0 - rules.memory
    share = np.where(begun, rules.memory * life.decayed_share + newest * oldest / oldest.sum(), life.decayed_share)
    weight = np.where(begun, rules.memory * life.decayed_weight + newest, life.decayed_weight)
    life = replace(life, decayed_share=share, decayed_weight=weight)
    return replace(life, reference_share=np.maximum(_usual_share(life), rules.decline * life.reference_share))


def _usual_share(life: Lifecycle) -> Vector:
    """Usual share of every topic in a slice, (K,), 0 as long as it is not known."""
    share, weight = life.decayed_share, life.decayed_weight
    return np.divide(share, weight, out=np.zeros_like(share), where=weight > 0.0)
