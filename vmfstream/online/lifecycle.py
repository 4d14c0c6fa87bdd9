"""The life of topics: births, splits, sleep and waking, at the ends of slices.

A topic keeps its id for life, and ids are issued once. The number of topics that are awake when one is born is bounded,
and so is that of all: when all places are taken, a newborn gets that of the topic that has slept longest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from vmfstream.mixtures.columns import directed
from vmfstream.online.births import Group, Known, find, new_topic_log_density
from vmfstream.online.drift import listened
from vmfstream.online.mergers import likeliest, merged
from vmfstream.online.prediction import Belief, score
from vmfstream.online.settings import DormancySettings, TrackerSettings
from vmfstream.online.state import NEVER, Life, Rows, Sample, TrackState, Vector
from vmfstream.online.topic_slots import added, dropped, joined, same_topic, with_columns
from vmfstream.records import Event


def begun(dim: int, k: int) -> Life:
    """Nothing seen yet."""
    none, zero, never = np.zeros(0, np.int64), np.zeros(k), np.full(k, NEVER)
    return Life(
        recent=Sample.nothing(dim),
        control=Sample.nothing(dim),
        heard=np.zeros(0),
        heard_slice=none,
        heard_topic=none,
        calm=np.array([NEVER]),
        tallied=none,
        tally=np.zeros((0, k)),
        usual=zero,
        weight=zero,
        height=zero,
        asleep=never,
        watched=never,
    )


def arrived(state: TrackState, x: Rows, belief: Belief, settings: TrackerSettings) -> TrackState:
    """Remember documents of the open slice with their scores under its prediction, before they are learnt.

    What leaves the recent slices enters the control sample, which stays uniform over the documents of the stream.
    """
    life = state.life
    if life is None:
        return state
    rng = np.random.default_rng([settings.seed, state.slice, 4])
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
    return replace(state, life=listened(life, new, settings.drift))


def with_births(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Give topics to groups of recent documents that are new, and to finer structure while there are places."""
    events: list[Event] = []
    for _ in range(settings.births.most_births):
        state, news = _one_birth(state, settings)
        events += news
        if not news:
            break
    return state, events


def _one_birth(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    life, rules = state.life, settings.births
    if life is None or len(life.control) < rules.least_control or not len(life.recent):
        return state, []
    recent, control = (
        Known(s.x, s.gain + new_topic_log_density(s.x, state.anchor, state.kappa)) for s in (life.recent, life.control)
    )
    for group in find(recent, life.recent.half, control, state.anchor, state.kappa, rules):
        new = group.chance < rules.chance
        refines = group.gain >= rules.refining_gain and awake(state) < settings.topics
        if _has_turned(life, state, group) if new else not refines:
            continue
        members = life.recent.take(np.flatnonzero(group.joins))
        known = replace(state, life=_explained(life, group, recent, control))
        kin = _kin(known, members, settings, rules.same_cosine if new else settings.mergers.least_cosine)
        if kin is not None and life.asleep[kin] > NEVER:
            return _roused(known, members, kin, settings)
        worth = 2.0 * group.gain  # the half that tests stands for both
        roomy, events = (None, []) if kin is not None else _place(known, settings, worth)
        if roomy is not None:
            born = Event("born", roomy.next_id) if new else Event("split", _parent(roomy, members), roomy.next_id)
            born = replace(born, value=float(len(members)), evidence=group.gain, chance=group.chance)
            return added(roomy, members, settings), [*events, born]
    return state, []


def _explained(life: Life, group: Group, recent: Known, control: Known) -> Life:
    """Count documents that a group explains as explained from now on, lest it be found again."""
    now = life.recent.gain + np.logaddexp(recent.s, group.recent) - recent.s
    then = life.control.gain + np.logaddexp(control.s, group.control) - control.s
    return replace(life, recent=replace(life.recent, gain=now), control=replace(life.control, gain=then))


def _has_turned(life: Life, state: TrackState, group: Group) -> bool:
    """Tell whether a group is what a topic has become: it held most of them, and has no more documents than before.

    Before is the less of what was usual and of the last slices, so that nothing new is taken for a topic that slept.
    """
    topic = _holders(state, life.recent)
    columns, members = np.unique(topic[group.joins], return_counts=True)
    parent = int(columns[np.argmax(members)])
    if parent < 0 or len(life.usual) < state.k or 2 * members.max() <= members.sum():
        return False
    newest = life.recent.slice == life.recent.slice.max()
    own = newest & (topic == parent)
    lately = life.tally.sum(axis=0) / max(life.tally.sum(), 1.0)
    before = np.minimum(_share(life), lately)[parent] * np.count_nonzero(newest)
    return bool(np.count_nonzero(own) <= before + 0.5 * np.count_nonzero(own & group.joins))


def _holders(state: TrackState, documents: Sample) -> NDArray[np.int64]:
    """Column of the topic that holds each document, or that got it on arrival if it left the window; -1 if it ended."""
    order = np.argsort(state.ids)
    at = order[np.minimum(np.searchsorted(state.ids, documents.topic, sorter=order), state.k - 1)]
    topic = np.where(state.ids[at] == documents.topic, at, -1)
    for w in state.window:
        here = documents.slice == w.index
        topic[here] = w.resp[documents.row[here], : state.k].argmax(axis=1)
    return topic


def _kin(state: TrackState, members: Sample, settings: TrackerSettings, cosine_above: float) -> int | None:
    """The topic that documents belong to although it explains them badly, by the evidence of mergers."""
    evidence, cosine = same_topic(added(state, members, settings), settings)
    same = np.where(cosine[-1] > cosine_above, evidence[-1], -np.inf)[:-1]
    return int(np.argmax(same)) if same.max(initial=-np.inf) > 0.0 else None


def _roused(
    state: TrackState, members: Sample, sleeper: int, settings: TrackerSettings
) -> tuple[TrackState, list[Event]]:
    """Give documents to a topic that sleeps; it wakes."""
    woken = replace(joined(added(state, members, settings), state.k, sleeper), next_id=state.next_id)
    if woken.life is not None:
        asleep = np.where(np.arange(state.k) == sleeper, NEVER, woken.life.asleep)
        woken = replace(woken, life=replace(woken.life, asleep=asleep))
    return woken, [Event("woken", int(state.ids[sleeper]), value=float(len(members)))]


def _place(state: TrackState, settings: TrackerSettings, gain: float) -> tuple[TrackState | None, list[Event]]:
    """Make room for one more topic.

    The longest asleep makes room if sleeping topics have taken their places and others'; if too many are awake, the
    closest two of these, and None does if keeping them apart is worth more nats.
    """
    life = state.life
    if life is None:
        return None, []
    crowded = awake(state) >= settings.topics
    if not crowded and state.k < settings.topics + max(1, round(settings.dormancy.slots * settings.topics)):
        return state, []
    evidence, cosine = same_topic(state, settings)
    if crowded:
        pair = likeliest(np.where(cosine < settings.mergers.crowded_cosine, -np.inf, evidence), life.asleep == NEVER)
        if pair is None or evidence[pair] <= -gain:
            return None, []
        return merged(state, pair, evidence, cosine)
    gone = int(np.argmin(np.where(life.asleep > NEVER, life.asleep, state.slice)))
    np.fill_diagonal(cosine, -2.0)
    ended = Event("ended", int(state.ids[gone]), value=float(state.slice - life.asleep[gone]))
    return dropped(state, gone, int(np.argmax(cosine[gone]))), [ended]


def _parent(state: TrackState, members: Sample) -> int:
    """Id of the topic that held most of the documents, among those in the window."""
    held = np.zeros(state.kp)
    for w in state.window:
        held += w.resp[members.row[members.slice == w.index]].sum(axis=0, dtype=np.float64)
    return int(state.ids[int(np.argmax(held[: state.k]))])


def awake(state: TrackState) -> int:
    """Number of topics that do not sleep."""
    return state.k if state.life is None else int(np.count_nonzero(state.life.asleep == NEVER))


def with_sleep(state: TrackState, n: Vector, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Count the documents ``n`` (K,) of the slice that ends, and tell which topics fell asleep or woke.

    A topic sleeps when its documents in the last slices are as few as chance
    makes them with probability ``settings.dormancy.chance``.
    """
    life, rules = state.life, settings.dormancy
    if life is None:
        return state, []
    life = _tallied(life, state, n, rules)
    seen, total = life.tally.sum(axis=0), life.tally.sum()
    expected = life.height * total
    sleeping = life.asleep > NEVER
    falls = ~sleeping & (pdtr(seen, expected) < rules.chance) & (seen < rules.dormant_below * expected)
    wakes = sleeping & (seen > rules.active_above * expected) & (seen >= rules.least_waking)
    events = [
        Event(kind, int(state.ids[j]), value=float(seen[j]), chance=float(pdtr(seen[j], expected[j])))
        for kind, which in (("dormant", falls), ("woken", wakes))
        for j in np.flatnonzero(which)
    ]
    asleep = np.where(falls, state.slice, np.where(wakes, NEVER, life.asleep))
    return replace(state, life=replace(life, asleep=asleep)), events


def _tallied(life: Life, state: TrackState, n: Vector, rules: DormancySettings) -> Life:
    """Add a slice to the tally, refresh those that the window still holds, and let the oldest become usual.

    While every slice is in the window the topics may change their meaning with each fit: all is counted again.
    """
    if state.settling:
        known = np.arange(state.k)
        places = np.where(known < len(life.asleep), known, -1)  # a larger fit may have brought more topics
        life, k = with_columns(life, places), state.k
        life = replace(life, tallied=life.tallied[:0], tally=np.zeros((0, k)))
        life = replace(life, usual=np.zeros(k), weight=np.zeros(k), height=np.zeros(k))
        for w in state.window:
            life = _counted(life, w.index, w.resp.sum(axis=0, dtype=np.float64)[: state.k], rules)
        return life
    fresh = {w.index: w.resp.sum(axis=0, dtype=np.float64)[: state.k] for w in state.window}
    rows = [fresh.get(int(index), row) for index, row in zip(life.tallied, life.tally, strict=True)]
    return _counted(replace(life, tally=np.array(rows).reshape(-1, state.k)), state.slice, n, rules)


def _counted(life: Life, index: int, n: Vector, rules: DormancySettings) -> Life:
    tally, tallied = np.vstack([life.tally, n]), np.append(life.tallied, index)
    if len(tally) <= rules.recent_slices:
        return replace(life, tallied=tallied, tally=tally)
    oldest = tally[0]
    life = replace(life, tallied=tallied[1:], tally=tally[1:])
    if not oldest.any():
        return life
    begun = (life.weight > 0.0) | (oldest > 0.0)
    usual = np.where(begun, rules.memory * life.usual + (1.0 - rules.memory) * oldest / oldest.sum(), life.usual)
    weight = np.where(begun, rules.memory * life.weight + (1.0 - rules.memory), life.weight)
    life = replace(life, usual=usual, weight=weight)
    return replace(life, height=np.maximum(_share(life), rules.decline * life.height))


def _share(life: Life) -> Vector:
    """Usual share of every topic in a slice, (K,), 0 as long as it is not known."""
    return np.divide(life.usual, life.weight, out=np.zeros_like(life.usual), where=life.weight > 0.0)
