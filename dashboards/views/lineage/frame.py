"""Data of the lineage: topics with their first and last slice, dormant stretches, lanes, and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vmfstream.dashboards.rows.history import Bools, Doubles, History
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.topic_names import lifetime
from vmfstream.dashboards.views.lineage.lane_assignment import Life, Link, assign_lanes

LARGEST = 26
RELATIVES = 14
SHORT = 3

ACTIVE_SHARE = 0.5
"""Part of its mean number of documents with which a smoothed topic is not dormant in a slice."""

_FEW = 6
_STEP = 1.25
_KINDS = ("born", "split", "merged", "dormant", "woken", "ended", "drift")
_ROOM = 0.22  # of the whole time, between two lives on one lane: room for a mark and two words


class TopicEvent(NamedTuple):
    """Event of a topic: row of the slice, kind, topic and other topic (-1: none), number or NaN, by whom."""

    slice: int
    kind: str
    topic: int
    other: int
    value: float
    by_hand: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TopicLane:
    """One topic: column in the history, first and last row, lane, and the rows in which it was active, shape (S,)."""

    t: int
    first: int
    last: int
    lane: int
    active: Bools


@dataclass(frozen=True, slots=True, eq=False)
class LineageFrame:
    """Data of the lineage.

    Parameters
    ----------
    history : History
    events : tuple of TopicEvent
        All events, whether its topic is drawn or not.
    lines : tuple of TopicLane
    links : tuple of (int, Link)
        Position in ``events``, and in ``lines``: splits and merges.
    smaller, short : int
        Topics that are left out for being small, and for being over within three slices.
    may_change : bool
        Whether the run was allowed to change the number of topics.
    """

    history: History
    events: tuple[TopicEvent, ...]
    lines: tuple[TopicLane, ...]
    links: tuple[tuple[int, Link], ...]
    smaller: int
    short: int
    may_change: bool

    @property
    def lanes(self) -> int:
        """Return how many lanes there are."""
        return max((line.lane for line in self.lines), default=-1) + 1


def topic_events(rows: RunRows, history: History) -> tuple[TopicEvent, ...]:
    """Return the events of the topics of a history within its slices, in order."""
    frame = rows.events()
    if not history.index.size:
        return ()
    known = {-1, *history.topic.tolist()}
    return tuple(
        TopicEvent(int(s - history.index[0]), str(kind), int(topic), int(other), float(value), bool(decision >= 0))
        for s, kind, topic, other, value, decision in zip(
            frame.slice, frame.kind, frame.topic, frame.other, frame.value, frame.decision, strict=True
        )
        if kind in _KINDS and 0 <= s - history.index[0] < history.index.size and {topic, other} <= known
    )


def lineage_frame(rows: RunRows, history: History, selected: int | None, all_topics: bool) -> LineageFrame:
    """Choose the topics of ``history``, a reading of ``rows``, and give them lanes.

    Without ``all_topics`` these are the 26 with the highest share, up to 14 more of those that came out of another or
    went into one since topics were found, and the ``selected`` one, unless that leaves out no more than six. Lives that
    were over within three slices are left out unless they have relatives.
    """
    events = topic_events(rows, history)
    spans = {t: span for t in range(history.topic.size) if (span := lifetime(history, t)) is not None}
    links = [
        (k, link)
        for k, what in enumerate(events)
        if (link := _link(what, history)) and {link.child, link.parent} <= spans.keys()
    ]
    kin = {t for _, link in links for t in (link.child, link.parent)}
    newest = history.index.size - 1
    over = {t for t, (a, b) in spans.items() if b - a + 1 < SHORT and b < newest and t not in kin}
    peak = np.nan_to_num(history.share).max(axis=0, initial=0.0)
    chosen = sorted(spans.keys() - over, key=lambda t: -peak[t])
    own = history.position(selected) if selected is not None else None
    if not all_topics:
        settled = history.settled()
        since = {t for _, link in links if settled[link.slice] for t in (link.child, link.parent)}
        kin_shown = [t for t in chosen[LARGEST:] if t in since][:RELATIVES]
        kept = {*chosen[:LARGEST], *kin_shown} | ({own} if own in spans else set())
        if len(set(chosen) - kept) > _FEW:
            chosen = [t for t in spans if t in kept]
    chosen = sorted(chosen)
    place = {t: k for k, t in enumerate(chosen)}
    near = tuple(
        (k, link._replace(child=place[link.child], parent=place[link.parent]))
        for k, link in links
        if {link.child, link.parent} <= place.keys()
    )
    # the size at birth never changes, so that lanes keep their order while slices are added
    lives = [Life(*spans[t], float(np.nan_to_num(history.share[spans[t][0], t]))) for t in chosen]
    lanes = assign_lanes(lives, [link for _, link in near], _ROOM * max(newest, 1))
    active = _active(history, events)
    return LineageFrame(
        history=history,
        events=events,
        lines=tuple(TopicLane(t, *spans[t], lane, active[:, t]) for t, lane in zip(chosen, lanes, strict=True)),
        links=near,
        smaller=len(spans) - len(over - set(chosen)) - len(chosen),
        short=len(over - set(chosen)),
        may_change=rows.meta().get("living_topics") == "True" or bool(events),
    )


def thickness(history: History, least: float, most: float) -> Doubles:
    """Return the thickness of every life of ``history`` in every slice, by the square root of its share, shape (S, T).

    It lies between ``least`` and ``most``. The share that is drawn thickest is a power of 1.25, so that the scale
    seldom changes while slices are added.
    """
    share = np.clip(np.nan_to_num(history.share), 0.0, None)
    largest = max(float(share.max(initial=0.0)), 1e-12)
    scaled: Doubles = least + (most - least) * np.sqrt(share / _STEP ** np.ceil(np.log(largest) / np.log(_STEP)))
    return scaled


def _link(what: TopicEvent, history: History) -> Link | None:
    topic, other = history.position(what.topic), history.position(what.other)
    if topic is None or other is None or topic == other or what.kind not in ("split", "merged"):
        return None
    child, parent = (other, topic) if what.kind == "split" else (topic, other)
    return Link(child, parent, what.slice, what.kind == "merged")


def _active(history: History, events: tuple[TopicEvent, ...]) -> Bools:
    """Return where topics are neither dormant nor in an empty slice, shape (S, T).

    A topic that has documents in hindsight is not shown as dormant, whatever was known when it became so.
    """
    active = history.alive()
    for what in events:
        t = history.position(what.topic)
        if t is None or what.kind not in ("dormant", "woken"):
            continue
        active[what.slice :, t] = what.kind == "woken" and history.alive()[what.slice :, t]
    if history.reading == "smoothed":
        mean = np.nansum(history.documents, axis=0) / np.maximum(history.alive().sum(axis=0), 1)
        active |= history.alive() & (np.nan_to_num(history.documents) >= ACTIVE_SHARE * mean)
    return active
