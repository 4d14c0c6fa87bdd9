"""Angles between topics and sketches of their means as arrays over the slices and topics of a history.

In the smoothed reading, slices that were not smoothed yet count as filtered, as in the history itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.dashboards.rows.history import Bools, Doubles, History, Ints
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.runfile.queries import Reading

UNKNOWN = 255
"""An angle in a column of bytes that the run file does not hold."""


def as_bytes(degrees: Doubles) -> NDArray[np.uint8]:
    """Round angles to whole degrees, as pages write them: finer ones would be rounded twice."""
    return np.where(np.isnan(degrees), UNKNOWN, np.rint(np.nan_to_num(degrees))).astype(np.uint8)


def degrees_between(a: Doubles, b: Doubles) -> Doubles:
    """Return the angles between unit vectors in the last axis, NaN where one of them is."""
    out: Doubles = np.degrees(np.arccos(np.clip((a * b).sum(axis=-1), -1.0, 1.0)))
    return out


def angles_seen_from(rows: RunRows, history: History, topic: int) -> Doubles:
    """Return the degrees between ``topic``, an id, and every other at each slice, shape (S, T), NaN where unknown.

    ``rows`` are those of a run file, ``history`` is one of its readings.
    """
    out = np.full((history.index.size, history.topic.size), np.nan)
    for reading, used in _parts(rows, history):
        frame = rows.angles(reading)  # all: to ask for one takes as long, and a page shows many
        own = np.flatnonzero((frame.topic == topic) | (frame.other == topic))
        other = np.where(frame.topic[own] == topic, frame.other[own], frame.topic[own])
        s, (t,), kept = _places(history, used, frame.slice[own], other)
        out[s, t] = frame.degrees[own[kept]]
    return out


def sketch_of(rows: RunRows, history: History, topic: int) -> Doubles:
    """Return the sketches of one topic's mean as unit rows, shape (S, 256), NaN where there is none.

    Arguments as in `angles_seen_from`.
    """
    found = [(rows.sketches(reading), used) for reading, used in _parts(rows, history)]  # all: the globe needs them too
    out = np.full((history.index.size, max(frame.numbers.shape[1] for frame, _ in found)), np.nan)
    for frame, used in found:
        own = np.flatnonzero(frame.topic == topic)
        s, _, kept = _places(history, used, frame.slice[own])
        out[s] = unit(frame.numbers[own[kept]])
    return out


def all_sketches(rows: RunRows, history: History) -> NDArray[np.float32]:
    """Return the sketches of all means as unit rows, shape (S, T, 256), NaN where there is none."""
    found = [(rows.sketches(reading), used) for reading, used in _parts(rows, history)]
    width = max(frame.numbers.shape[1] for frame, _ in found)
    out = np.full((history.index.size, history.topic.size, width), np.nan, dtype=np.float32)
    for frame, used in found:
        s, (t,), kept = _places(history, used, frame.slice, frame.topic)
        out[s, t] = unit(frame.numbers[kept])
    return out


def unit(rows: Doubles) -> Doubles:
    """Return rows at length one; rows of zeros become NaN."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    out: Doubles = rows / np.where(length > 0, length, np.nan)
    return out


def _parts(rows: RunRows, history: History) -> list[tuple[Reading, Bools]]:
    """Return the readings of which a history is made, each with the slices that are taken from it."""
    if history.reading == "filtered":
        return [("filtered", np.ones(history.index.size, dtype=np.bool_))]
    reached = np.isin(history.index, rows.topics("smoothed").slice)
    return [("smoothed", reached)] if reached.all() else [("filtered", ~reached), ("smoothed", reached)]


def _places(history: History, used: Bools, slices: Ints, *topics: Ints) -> tuple[Ints, tuple[Ints, ...], Bools]:
    """Return rows and columns of entries in used slices and known topics, and which entries these are."""
    if not history.index.size:
        return np.empty(0, np.int64), tuple(np.empty(0, np.int64) for _ in topics), np.zeros(slices.size, np.bool_)
    s = slices - history.index[0]
    kept = (s >= 0) & (s < history.index.size)
    kept[kept] = used[s[kept]]
    for ids in topics:
        kept &= np.isin(ids, history.topic)
    return s[kept], tuple(np.searchsorted(history.topic, ids[kept]) for ids in topics), kept
