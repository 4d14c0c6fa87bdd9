"""Geometry of the river: bands, thickness and baseline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vmfstream.dashboards.rows.history import Bools, Doubles, History, Ints
from vmfstream.dashboards.rows.stable_layout import StableLayout
from vmfstream.dashboards.view import INSET, PHONE, Size, SizeMeasure

REST = -1
MOST_TOPICS = 40

_MOST_BANDS_PHONE = 20
_MOST_COLUMNS = 300
_POINTS = 600


@dataclass(frozen=True, slots=True, eq=False)
class RiverFrame:
    """What the river draws.

    Parameters
    ----------
    history : History
        The reading that is drawn.
    measure : {"documents", "share"}
        What thickness means.
    order : int array of shape (T,)
        Columns of the history from top to bottom; similar topics are adjacent.
    tone : int array of shape (S, T)
        Paleness, from 0 (words were changing) to 5 (they stood still).
    words_at : function of a slice and a column
        Return what may be written there, best first, escaped.
    selected : int or None
        Column of the selected topic: always drawn by itself.
    all_topics : bool
        Draw every topic, however many.
    layout : StableLayout or None
        What earlier pictures of a growing run file looked like.
    """

    history: History
    measure: SizeMeasure
    order: Ints
    tone: Ints
    words_at: Callable[[int, int], list[str]]
    selected: int | None
    all_topics: bool
    layout: StableLayout | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Bands:
    """The river's geometry: ``edges[b]`` and ``edges[b + 1]`` bound band ``b``, from the top down, at ``x`` in slices.

    ``column`` holds the positions of the C columns that are data, ``source`` the slice each column is called after,
    ``thickness`` (C, B) and ``topics`` (B,) the band's columns in the history, -1 for the band of all others. The
    drawing shows heights from ``extent[0]`` to ``extent[1]``.
    """

    x: Doubles
    edges: Doubles
    column: Doubles
    source: Ints
    thickness: Doubles
    topics: Ints
    smaller: int
    per_column: int
    extent: tuple[float, float] = (0.0, 1.0)


def stack(frame: RiverFrame, size: Size) -> Bands:
    """Lay the bands out: bins, top-40 rule, least-wiggle baseline, monotone curves between columns."""
    history = frame.history
    values = _thickness(frame)
    slices = history.index.size
    if slices == 0 or not history.topic.size:
        none = np.empty(0)
        return Bands(none, np.empty((1, 0)), none, np.empty(0, np.int64), np.empty((0, 0)), np.empty(0, np.int64), 0, 1)
    shown = _shown(frame, values, size)
    order = [t for t in frame.order if shown[t]]
    hidden = np.flatnonzero(~shown)
    columns = [values[:, t] for t in order]
    topics = [int(t) for t in order]
    if hidden.size:  # the others lie on top, where they disturb nobody's shape
        columns.insert(0, values[:, hidden].sum(axis=1))
        topics.insert(0, REST)
    thickness = np.column_stack(columns)

    per = max(1, -(-slices // max(1, min(_MOST_COLUMNS, (size.width - 2 * INSET) // 4))))
    position, source = np.arange(slices, dtype=np.float64), np.arange(slices)
    if per > 1:
        position, source, thickness = _bins(thickness, history.n, per, frame.measure)
    kind = (history.reading, frame.measure, frame.all_topics, size.width <= PHONE)
    if frame.measure == "share":
        base = np.zeros(position.size)
    else:
        base, line = least_wiggle(thickness)
        if frame.layout:
            line = frame.layout.line(kind, line, base.size)
        base = base - np.polyval(line, np.arange(base.size))
    x, dense, baseline = _curves(position, thickness, base, frame.measure)
    edges = np.vstack([baseline, baseline + np.cumsum(dense, axis=1).T])
    extent = (float(edges.min()), float(edges.max()))
    if extent[0] == extent[1]:
        extent = (0.0, 1.0)
    elif frame.layout:
        extent = frame.layout.extent(kind, *extent)
    columns_of = np.array(topics, np.int64)
    return Bands(x, edges, position, source, thickness, columns_of, int(hidden.size), per, extent)


def least_wiggle(thickness: Doubles) -> tuple[Doubles, Doubles]:
    """Return the baseline that minimises the bands' squared slopes weighted by thickness, and a line that levels it.

    Parameters
    ----------
    thickness : float array of shape (C, B)
        Non-negative, bands from first to last.

    Returns
    -------
    baseline : float array of shape (C,)
    line : float array
        Coefficients, highest power first, of the river's middle over columns 0, 1, ...: to be subtracted.

    Notes
    -----
    The slope of the baseline at each step is minus the mean of the bands' middle slopes, weighted by thickness (Byron &
    Wattenberg 2008). It is accumulated from the left, so that later columns do not change it.
    """
    columns = thickness.shape[0]
    slope = np.diff(thickness, axis=0)
    weight = 0.5 * (thickness[1:] + thickness[:-1])
    below = np.cumsum(slope, axis=1) - slope
    total = weight.sum(axis=1)
    step = -((below + 0.5 * slope) * weight).sum(axis=1) / np.where(total > 0, total, 1.0)
    base = np.concatenate([[0.0], np.cumsum(step)])
    heavy = thickness.sum(axis=1)
    middle = base + 0.5 * heavy
    if heavy.sum() <= 0:
        return np.zeros(columns), np.zeros(1)
    degree = min(1, int(np.count_nonzero(heavy)) - 1)
    line: Doubles = np.polyfit(np.arange(columns), middle, degree, w=np.sqrt(heavy))
    return base, line


def _thickness(frame: RiverFrame) -> Doubles:
    history = frame.history
    alive = history.alive()
    values = np.where(alive, history.documents if frame.measure == "documents" else history.share, 0.0)
    values = np.clip(np.nan_to_num(values), 0.0, None)
    if frame.measure == "share":
        total = values.sum(axis=1, keepdims=True)
        values = values / np.where(total > 0, total, 1.0)
    return np.asarray(values, dtype=np.float64)


def crowded(history: History, most: int = MOST_TOPICS) -> bool:
    """Tell whether a reading has more topics than are drawn one by one."""
    provisional = history.provisional()
    return max(int(provisional.sum()), int((~provisional).sum())) > most


def _shown(frame: RiverFrame, values: Doubles, size: Size) -> Bools:
    history = frame.history
    topics = history.topic.size
    most = _MOST_BANDS_PHONE if size.width <= PHONE else MOST_TOPICS
    if frame.all_topics or not crowded(history, most):
        return np.ones(topics, dtype=np.bool_)
    peak = values.max(axis=0)  # as it is drawn
    shown = np.zeros(topics, dtype=np.bool_)
    provisional = history.provisional()
    for group in (np.flatnonzero(~provisional), np.flatnonzero(provisional)):  # one comes after the other
        shown[group[np.argsort(-peak[group], kind="stable")[:most]]] = True
    if size.width > PHONE:
        first = np.argmax(history.alive(), axis=0)
        newborn = history.alive().any(axis=0) & (first >= history.index.size * 0.9) & (first > 0)
        shown[np.flatnonzero(newborn)[:most]] = True
    if frame.selected is not None:
        shown[frame.selected] = True
    return shown


def _bins(thickness: Doubles, n: Ints, per: int, measure: SizeMeasure) -> tuple[Doubles, Ints, Doubles]:
    """Sum columns by bins counted back from the newest; a bin is called after its fullest slice."""
    slices = thickness.shape[0]
    ends = np.arange(slices, 0, -per)[::-1]
    starts = np.maximum(ends - per, 0)
    weights = np.ones(slices) if measure == "documents" else n / np.maximum(n.max(), 1)
    rows, source = [], []
    for a, b in zip(starts, ends, strict=True):
        part = thickness[a:b]
        if measure == "documents":
            rows.append(part.sum(axis=0))
        else:
            w = weights[a:b, None]
            rows.append((part * w).sum(axis=0) / max(float(w.sum()), 1e-12))
        source.append(a + int(np.argmax(n[a:b])))
    position = 0.5 * (starts + ends - 1)
    position[0], position[-1] = 0.0, slices - 1.0
    return np.asarray(position, np.float64), np.array(source, np.int64), np.array(rows, np.float64)


def _curves(
    position: Doubles, thickness: Doubles, base: Doubles, measure: SizeMeasure
) -> tuple[Doubles, Doubles, Doubles]:
    """Return x, thickness on it (P, B) and the baseline (P,)."""
    from scipy.interpolate import PchipInterpolator

    columns = position.size
    if columns == 1:  # one stacked column, as wide as the drawing allows a column to be
        x = np.array([-0.12, 0.12])
        return x, np.repeat(thickness, 2, axis=0), np.repeat(base, 2)
    sub = int(np.clip(_POINTS // columns, 1, 8))
    x = np.concatenate([np.linspace(a, b, sub, endpoint=False) for a, b in pairwise(position)])
    x = np.append(x, position[-1])
    dense = np.clip(PchipInterpolator(position, thickness, axis=0)(x), 0.0, None)
    if measure == "share":
        total = dense.sum(axis=1, keepdims=True)
        covered = PchipInterpolator(position, (thickness.sum(axis=1) > 0).astype(np.float64))(x)
        dense = dense / np.where(total > 0, total, 1.0) * covered[:, None]
        return x, dense, 0.5 * (1.0 - covered)
    baseline: Doubles = PchipInterpolator(position, base)(x)
    return x, dense, baseline
