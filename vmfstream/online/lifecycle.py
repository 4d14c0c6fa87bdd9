"""The life of topics: births, splits, mergers, sleep and waking, at the ends of slices.

A topic keeps its id for life, and ids are issued once. The number of topics is bounded: when all places are taken, a
newborn gets that of the topic that has slept longest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import pdtr

from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.online import chain
from vmfstream.online.births import CHANCE, REFINING_GAIN, Group, Known, find, unseen
from vmfstream.online.drift import listened
from vmfstream.online.places import added, dropped, joined, same_topic, with_columns
from vmfstream.online.prediction import Belief, score
from vmfstream.online.state import NEVER, Life, Rows, Sample, TrackerSettings, TrackState, Vector
from vmfstream.records import Event

RECENT = 3
"""Slices in which births are looked for, and over which sleep is noticed."""

SLICE_SAMPLE = 2000
"""Documents of one slice among which births are looked for."""

CONTROL = 2000
"""Documents of the control sample."""

LEAST_CONTROL = 300
"""Documents that the control sample must hold before there are births."""

MOST_BIRTHS = 4
"""Births of one slice."""

ALIKE = 0.3
"""Cosine of two topics above which they may be one."""

CLOSE = 0.5
"""Cosine of two topics above which they may become one only to make room; topics farther apart are worth their places
for longer than the news that would take one (New York Times: 2 nats per document)."""

LEAST_MERGED = 20.0
"""Documents that each of two topics must have before they may be one."""

MOST_REFUSED = 8
"""Pairs of topics of one slice that may be tried in vain."""

MEMORY = 0.8
"""How much of a topic's usual share survives a slice."""

DECLINE = 0.95
"""How fast the share that sleep is measured by may fall per slice, so that slow silence is noticed too."""

SILENT = 1e-4
"""Probability with which a topic may fall as silent as it did by chance."""

ASLEEP, AWAKE = 0.2, 0.5
"""Shares of the expected documents below which a topic sleeps and above which it wakes."""

LEAST_WAKING = 3.0
"""Documents in the last slices without which no topic wakes."""


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
    rows = np.sort(rng.permutation(np.flatnonzero(directed(x)))[:SLICE_SAMPLE])
    n = len(rows)
    x = x[rows]
    if not n:
        return state
    loglik, label = score(x, belief, threads=settings.threads)
    new = Sample(
        x=x,
        gain=loglik - unseen(x, state.anchor, state.kappa),
        slice=np.full(n, state.slice),
        row=rows,
        topic=state.ids[np.maximum(label, 0)],
        key=rng.exponential(size=n) * n / max(state.open.documents, n, 1),
        half=rng.random(n) < 0.5,
    )
    recent = life.recent.and_also(new)
    old = recent.slice <= state.slice - RECENT
    control = life.control.and_also(recent.take(np.flatnonzero(old)))
    if len(control) > CONTROL:
        control = control.take(np.sort(np.argpartition(control.key, CONTROL)[:CONTROL]))
    life = replace(life, recent=recent.take(np.flatnonzero(~old)), control=control)
    return replace(state, life=listened(life, new))


def with_births(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Give topics to groups of recent documents that are new, and to finer structure while there are places."""
    events: list[Event] = []
    for _ in range(MOST_BIRTHS):
        before = state.next_id
        state, news = _one_birth(state, settings)
        events += news
        if state.next_id == before:
            break
    return state, events


def _one_birth(state: TrackState, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    life = state.life
    if life is None or len(life.control) < LEAST_CONTROL or not len(life.recent):
        return state, []
    recent, control = (Known(s.x, s.gain + unseen(s.x, state.anchor, state.kappa)) for s in (life.recent, life.control))
    for group in find(recent, life.recent.half, control, state.anchor, state.kappa):
        new = group.chance < CHANCE
        if not new and (state.k >= settings.topics or group.gain < REFINING_GAIN):
            continue
        roomy, events = _place(state, settings, group.gain)
        if roomy is None:
            continue
        return _born(roomy, group, (recent, control), [*events], new, settings)
    return state, []


def _place(state: TrackState, settings: TrackerSettings, gain: float) -> tuple[TrackState | None, list[Event]]:
    """Make room for one more topic; None if none sleeps and keeping apart the closest two is worth more nats."""
    life = state.life
    if life is None or state.k < settings.topics:
        return state, []
    evidence, cosine = same_topic(state, settings)
    asleep = np.flatnonzero(life.asleep > NEVER)
    if len(asleep):
        gone = int(asleep[np.argmin(life.asleep[asleep])])
        np.fill_diagonal(cosine, -2.0)
        ended = Event("ended", int(state.ids[gone]), value=float(state.slice - life.asleep[gone]))
        return dropped(state, gone, int(np.argmax(cosine[gone]))), [ended]
    pair = _likeliest(np.where(cosine < CLOSE, -np.inf, evidence), np.ones(state.k, np.bool_))
    if pair is None or evidence[pair] <= -gain:
        return None, []
    return _merged(state, pair, evidence, cosine)


def _born(
    state: TrackState,
    group: Group,
    known: tuple[Known, Known],
    events: list[Event],
    new: bool,
    settings: TrackerSettings,
) -> tuple[TrackState, list[Event]]:
    """Add the topic of a group; documents that it explains count as explained from now on."""
    life, id = state.life, state.next_id
    if life is None:
        return state, []
    members = life.recent.take(np.flatnonzero(group.joins))
    parent = _parent(state, members)
    recent, control = (
        replace(sample, gain=sample.gain + np.logaddexp(s, score) - s)
        for sample, (_, s), score in zip((life.recent, life.control), known, (group.recent, group.control), strict=True)
    )
    state = added(replace(state, life=replace(life, recent=recent, control=control)), members, settings)
    evidence: dict[str, Any] = {"value": float(len(members)), "evidence": group.gain, "chance": group.chance}
    return state, [*events, Event("born", id, **evidence) if new else Event("split", parent, other=id, **evidence)]


def _parent(state: TrackState, members: Sample) -> int:
    """Id of the topic that held most of the documents, among those in the window."""
    held = np.zeros(state.kp)
    for w in state.window:
        held += w.resp[members.row[members.slice == w.index]].sum(axis=0, dtype=np.float64)
    return int(state.ids[int(np.argmax(held[: state.k]))])


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
        pair = _likeliest(evidence, counts(state) >= LEAST_MERGED)
        if pair is None or evidence[pair] <= 0.0:
            break
        one, news = _merged(state, pair, evidence, cosine)
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


def _likeliest(evidence: NDArray[np.float64], eligible: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The two eligible topics that are most likely one; None if no pair has any evidence."""
    allowed = np.triu(np.outer(eligible, eligible), 1) & np.isfinite(evidence)
    if not allowed.any():
        return None
    a, b = divmod(int(np.argmax(np.where(allowed, evidence, -np.inf))), len(evidence))
    return a, b


def _merged(
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


def with_sleep(state: TrackState, n: Vector) -> tuple[TrackState, list[Event]]:
    """Count the documents ``n`` (K,) of the slice that ends, and tell which topics fell asleep or woke.

    A topic sleeps when its documents in the last slices are as few as chance makes them with probability `SILENT`.
    """
    life = state.life
    if life is None:
        return state, []
    life = _tallied(life, state, n)
    seen, total = life.tally.sum(axis=0), life.tally.sum()
    expected = life.height * total
    sleeping = life.asleep > NEVER
    falls = ~sleeping & (pdtr(seen, expected) < SILENT) & (seen < ASLEEP * expected)
    wakes = sleeping & (seen > AWAKE * expected) & (seen >= LEAST_WAKING)
    events = [
        Event(kind, int(state.ids[j]), value=float(seen[j]), chance=float(pdtr(seen[j], expected[j])))
        for kind, which in (("dormant", falls), ("woken", wakes))
        for j in np.flatnonzero(which)
    ]
    asleep = np.where(falls, state.slice, np.where(wakes, NEVER, life.asleep))
    return replace(state, life=replace(life, asleep=asleep)), events


def _tallied(life: Life, state: TrackState, n: Vector) -> Life:
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
            life = _counted(life, w.index, w.resp.sum(axis=0, dtype=np.float64)[: state.k])
        return life
    fresh = {w.index: w.resp.sum(axis=0, dtype=np.float64)[: state.k] for w in state.window}
    rows = [fresh.get(int(index), row) for index, row in zip(life.tallied, life.tally, strict=True)]
    return _counted(replace(life, tally=np.array(rows).reshape(-1, state.k)), state.slice, n)


def _counted(life: Life, index: int, n: Vector) -> Life:
    tally, tallied = np.vstack([life.tally, n]), np.append(life.tallied, index)
    if len(tally) <= RECENT:
        return replace(life, tallied=tallied, tally=tally)
    oldest = tally[0]
    life = replace(life, tallied=tallied[1:], tally=tally[1:])
    if not oldest.any():
        return life
    begun = (life.weight > 0.0) | (oldest > 0.0)
    usual = np.where(begun, MEMORY * life.usual + (1.0 - MEMORY) * oldest / oldest.sum(), life.usual)
    weight = np.where(begun, MEMORY * life.weight + (1.0 - MEMORY), life.weight)
    share = np.divide(usual, weight, out=np.zeros_like(usual), where=weight > 0.0)
    return replace(life, usual=usual, weight=weight, height=np.maximum(share, DECLINE * life.height))
