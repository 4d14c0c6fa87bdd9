"""Order of the river, and the layout that a live page keeps while its run file grows."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from vmfstream.dashboards.rows.history import Doubles, History, Ints, history_of
from vmfstream.dashboards.rows.run_rows import CachedRows, RunRows, once, readings_of
from vmfstream.dashboards.rows.similarity import lifetime_angles, order_by_similarity

_STEP = 0.25


def river_order(rows: RunRows) -> list[int]:
    """Return the topics of all readings from the top of the river to its bottom, adjacent ones similar.

    Topics of the reading that a page opens with are arranged together; those that only the other one has, because they
    were replaced while topics were still being found, stand beside their nearest relatives.
    """
    return once(rows, ("river_order",), lambda: _river_order(rows))


def columns_in_order(rows: RunRows, history: History) -> Ints:
    """Return the columns of a reading's topics in the order that both readings share, shape (T,)."""
    column = {int(t): k for k, t in enumerate(history.topic)}
    return np.array([column[t] for t in river_order(rows) if t in column], dtype=np.int64)


def _river_order(rows: RunRows) -> list[int]:
    layout = (rows.layout if isinstance(rows, CachedRows) else None) or StableLayout()
    order: list[int] = []
    for reading in readings_of(rows):
        order = layout.order_of(history_of(rows, reading))
    return order


class StableLayout:
    """The first layout of a page, to which later topics and slices are added."""

    def __init__(self) -> None:
        self._order: list[int] = []
        self._lines: dict[Hashable, tuple[Doubles, int]] = {}
        self._extents: dict[Hashable, tuple[float, float]] = {}

    def order_of(self, history: History) -> list[int]:
        """Return all topics so far in their fixed order; a new one is put beside the most similar one."""
        if not self._order:
            self._order = history.topic[order_by_similarity(history)].tolist()
        fresh = [int(t) for t in history.topic if int(t) not in self._order]
        if fresh:
            angle = lifetime_angles(history)
            column = {int(t): k for k, t in enumerate(history.topic)}
            for topic in fresh:
                known = [other for other in self._order if other in column]
                nearest = min(known, key=lambda other: angle[column[topic], column[other]], default=None)
                at = len(self._order) if nearest is None else self._order.index(nearest) + 1
                self._order.insert(at, topic)
        return list(self._order)

    def line(self, key: Hashable, fitted: Doubles, columns: int) -> Doubles:
        """Return the straight line that levels a kind of picture: the first one's until there is twice as much.

        ``key`` names the kind, ``fitted`` is the line that suits the present ``columns`` best.
        """
        if key not in self._lines or columns >= 2 * self._lines[key][1]:
            self._lines[key] = fitted, columns
            self._extents.pop(key, None)
        return self._lines[key][0]

    def extent(self, key: Hashable, low: float, high: float) -> tuple[float, float]:
        """Return the lowest and highest height that a kind of picture shows; it grows by quarters and never shrinks.

        ``key`` names the kind, ``low`` and ``high`` are what the present picture reaches.
        """
        a, b = self._extents.setdefault(key, (low, high))
        step = _STEP * (b - a)
        if step > 0:
            a -= step * np.ceil(max(a - low, 0.0) / step)
            b += step * np.ceil(max(high - b, 0.0) / step)
        self._extents[key] = (float(a), float(b))
        return self._extents[key]
