"""Data of the neighbours of one topic: angles to the others, directions that separate them, its own past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmfstream.dashboards.rows.geometry import angles_seen_from, degrees_between, sketch_of
from vmfstream.dashboards.rows.history import Bools, Doubles, History, Ints, history_of
from vmfstream.dashboards.rows.run_rows import RunRows, readings_of
from vmfstream.dashboards.rows.stable_layout import river_order
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.view import Selection

RING = 15
RIM = 90.0

_SECTOR = 56.0  # kept on the left for the own past
_TRAIL = 48.0  # part of it that the trail takes
_MOST_PAST, _LEAST_PAST, _PAST_BYTES = 40, 12, 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """How far a topic was from where it is at each date.

    Parameters
    ----------
    at : int array of shape (P,)
        Positions of the past slices that are shown, oldest first.
    date : int array of shape (Q,)
        Positions of the dates from which one can look back.
    degrees : float array of shape (Q, P)
        Turn between the two, NaN where the past slice is not before the date.
    """

    at: Ints
    date: Ints
    degrees: Doubles

    def seen_from(self, s: int) -> tuple[Ints, Doubles]:
        """Return the past slices before position ``s`` and the drift since."""
        row = np.flatnonzero(self.date == s)
        if not row.size:
            return np.empty(0, np.int64), np.empty(0)
        degrees = self.degrees[row[0]]
        known = ~np.isnan(degrees)
        return self.at[known], degrees[known]


@dataclass(frozen=True, slots=True, eq=False)
class NeighboursFrame:
    """What is to be seen from one topic at one date.

    Parameters
    ----------
    topic : int
        Its id; -1 if the run file has no topics.
    date : int
        Position of the slice shown: the date, or the last before it at which the topic was there.
    labels : tuple of S str
    life : (first, last) position of the topic
    name : str
        What it is called at the date.
    share : float
        Its part of all documents at the date.
    others : int array of shape (R,)
        Ids of all topics that ever lived beside it, in the order of their rays.
    direction : float array of shape (R,)
        Of the rays, in degrees from the right, counter-clockwise; it carries no meaning.
    angles : float array of shape (S, R)
        To the others in all slices, NaN where one of the two is not there.
    degrees, first_degrees : float arrays of shape (R,)
        Angle at the date, NaN where it is not there; angle when both were first there and settled, NaN if not before.
    shares : float array of shape (R,)
    names : tuple of R str
    past : Past
    rim : float
        Degrees of the outermost ring: 90, or more if an angle at any date is larger.
    """

    topic: int
    date: int
    labels: tuple[str, ...]
    life: tuple[int, int]
    name: str
    share: float
    others: Ints
    direction: Doubles
    angles: Doubles
    degrees: Doubles
    first_degrees: Doubles
    shares: Doubles
    names: tuple[str, ...]
    past: Past
    rim: float

    def past_direction(self, s: Ints) -> Doubles:
        """Return the directions of past slices: from the upper edge of the sector, oldest, to the lower one."""
        first, last = self.life
        out: Doubles = 180.0 - _TRAIL / 2 + _TRAIL * (s - first) / max(last - first, 1)
        return out


def neighbours_frame(rows: RunRows, selection: Selection) -> NeighboursFrame:
    """Look from the selected topic (the lowest id if none is selected) at the selected date (the newest)."""
    history = history_of(rows, selection.reading)
    lowest = 0 if history.topic.size else None
    t = lowest if selection.topic is None else history.position(selection.topic)
    there = np.flatnonzero(~np.isnan(history.documents[:, t])) if t is not None else np.empty(0, np.int64)
    if t is None or not there.size:
        return _nothing()
    newest = history.index.size - 1
    date = newest if selection.date is None else int(np.clip(selection.date, 0, newest))
    before = there[there <= date]
    s = int(before[-1] if before.size else there[0])
    topic = int(history.topic[t])
    others = _rays(rows, topic)
    known = np.isin(others, history.topic)  # in this reading
    columns = np.searchsorted(history.topic, others[known])
    angles, shares = np.full((history.index.size, others.size), np.nan), np.zeros(others.size)
    there_too = ~np.isnan(history.documents[:, columns])
    angles[:, known] = np.where(there_too, angles_seen_from(rows, history, topic)[:, columns], np.nan)
    shares[known] = np.nan_to_num(history.share[s, columns])
    names = np.full(others.size, "", dtype=np.object_)
    names[known] = [topic_name(history, s, int(c)) for c in columns]
    count = others.size
    past = past_of(rows, history, topic, _MOST_PAST)
    largest = max(np.nanmax(angles, initial=RIM), np.nanmax(past.degrees, initial=RIM))
    return NeighboursFrame(
        topic=topic,
        date=s,
        labels=history.labels,
        life=(int(there[0]), int(there[-1])),
        name=topic_name(history, s, t),
        share=float(np.nan_to_num(history.share[s, t])),
        others=others,
        direction=180.0 + _SECTOR / 2 + (360.0 - _SECTOR) * (np.arange(count) + 0.5) / max(count, 1),
        angles=angles,
        degrees=angles[s],
        first_degrees=_first(angles, history.settled(), s),
        shares=shares,
        names=tuple(names),
        past=past,
        rim=float(RING * np.ceil(largest / RING)),
    )


def past_of(rows: RunRows, history: History, topic: int, most: int) -> Past:
    """Return the drift between all dates of a ``topic`` and at most ``most`` of its past slices, from its sketches.

    ``history`` is a reading of ``rows``. Slices of the warm-up are left out: the topic with this number may be another
    one there.
    """
    sketch = sketch_of(rows, history, topic)
    known = np.flatnonzero(~np.isnan(sketch).any(axis=1) & history.settled()) if sketch.size else np.empty(0, np.int64)
    most = int(np.clip(_PAST_BYTES // max(known.size, 1), _LEAST_PAST, most))
    at = known[np.unique(np.linspace(0, known.size - 1, min(most, known.size)).round().astype(np.int64))]
    degrees = degrees_between(sketch[known][:, None, :], sketch[at][None, :, :])
    return Past(at, known, np.where(at[None, :] < known[:, None], degrees, np.nan))


def _rays(rows: RunRows, topic: int) -> Ints:
    """Return the topics active together with one in either reading, in the order of the river."""
    order = np.array(river_order(rows), dtype=np.int64)
    beside = np.zeros(order.size, dtype=np.bool_)
    for reading in readings_of(rows):
        history = history_of(rows, reading)
        alive = ~np.isnan(history.documents)
        at = history.position(topic)
        if at is not None:
            beside |= np.isin(order, history.topic[alive[alive[:, at]].any(axis=0)])
    out: Ints = order[beside & (order != topic)]
    return out


def _first(angles: Doubles, settled: Bools, s: int) -> Doubles:
    """Return the first known angle of each column over settled slices, NaN unless it lies before row ``s``."""
    known = ~np.isnan(angles) & settled[:, None]
    first = known.argmax(axis=0)
    out: Doubles = np.where(known.any(axis=0) & (first < s), angles[first, np.arange(angles.shape[1])], np.nan)
    return out


def _nothing() -> NeighboursFrame:
    whole, none = np.empty(0, np.int64), np.empty(0)
    return NeighboursFrame(
        topic=-1,
        date=0,
        labels=(),
        life=(0, 0),
        name="",
        share=0.0,
        others=whole,
        direction=none,
        angles=np.empty((0, 0)),
        degrees=none,
        first_degrees=none,
        shares=none,
        names=(),
        past=Past(whole, whole, np.empty((0, 0))),
        rim=RIM,
    )
