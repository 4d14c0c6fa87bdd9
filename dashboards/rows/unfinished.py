"""Whether the newest slice is whole: a stream may end in the middle of one."""

from __future__ import annotations

import numpy as np

from vmfstream.dashboards.rows.history import Doubles, History
from vmfstream.dashboards.rows.run_rows import RunRows, once

_LEAST_SLICES = 4
_WHOLE = 0.75
"""Part of what is usual that a slice must reach to count as whole."""


def judged(rows: RunRows, history: History) -> History:
    """Return a reading without its newest slice if that is unfinished: what is said of it could still change.

    Slices of so many documents are compared by these, others by how far into each the representative documents reach,
    with the median of the slices before.
    """
    whole = once(rows, ("whole", history.index.size), lambda: _is_whole(rows, history))
    return history if whole else history.until(history.index.size - 2)


def _is_whole(rows: RunRows, history: History) -> bool:
    counted = bool(np.isnat(rows.slices().begins).all())
    reached = history.n.astype(np.float64) if counted else _reached(rows, history)
    known = reached[~np.isnan(reached)]
    if history.index.size < _LEAST_SLICES or known.size < _LEAST_SLICES or np.isnan(reached[-1]):
        return True
    return bool(reached[-1] >= _WHOLE * np.median(known[:-1]))


def _reached(rows: RunRows, history: History) -> Doubles:
    """Return the part of each slice that its representative documents reach, NaN where it is not known, shape (S,)."""
    slices, documents = rows.slices(), rows.representative()
    begin, end = (np.full(history.index.size, np.datetime64("NaT", "us")) for _ in range(2))
    at = slices.slice - history.index[0]
    inside = (at >= 0) & (at < history.index.size)
    begin[at[inside]], end[at[inside]] = slices.begins[inside], slices.ends[inside]
    newest = np.full(history.index.size, np.datetime64("NaT", "us"))
    own = documents.slice - history.index[0]
    timed = (own >= 0) & (own < history.index.size) & ~np.isnat(documents.time)
    np.fmax.at(newest, own[timed], documents.time[timed].astype("datetime64[us]"))
    length = (end - begin) / np.timedelta64(1, "us")
    return np.asarray((newest - begin) / np.timedelta64(1, "us") / np.where(length > 0, length, np.nan))
