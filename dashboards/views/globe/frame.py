"""Positions of topics on the globe at each date, and their trails.

A topic moves around its home in the plane that holds most of its drift, turned so that what it approaches there it
also approaches on the globe. A trail is drawn behind a dot; its bends are those of the plane, but its beginning is
moved away from the dot until that distance is the true turn, at one scale for all topics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vmfstream.dashboards.rows.geometry import all_sketches, degrees_between, unit
from vmfstream.dashboards.rows.history import Bools, Doubles, Ints, history_of
from vmfstream.dashboards.rows.run_rows import RunRows
from vmfstream.dashboards.rows.topic_names import topic_name
from vmfstream.dashboards.view import Selection
from vmfstream.dashboards.views.globe.positions import topic_positions

SCALE = 0.42
"""Degrees on the globe for a degree of turning."""

BACK = 12
"""Slices of a trail."""

_ENOUGH = 64  # slices that tell the plane of a topic's drift


@dataclass(frozen=True, slots=True, eq=False)
class GlobeFrame:
    """The globe over all dates.

    Parameters
    ----------
    topic : int or None
        The selected topic.
    date : int
        Position of the slice shown.
    labels : tuple of S str
    topics : int array of shape (T,)
        Topics that have a position.
    place : float array of shape (S, T, 3)
        Unit vectors, NaN where a topic was not there or in slices of the warm-up.
    drift : float array of shape (S, T)
        Degrees between the topic at the date and at the beginning of its trail; 0 without a trail, NaN as ``place``.
    share : float array of shape (T,)
        At the date.
    names : tuple of T str
        At the date, empty where the topic is not there.
    """

    topic: int | None
    date: int
    labels: tuple[str, ...]
    topics: Ints
    place: Doubles
    drift: Doubles
    share: Doubles
    names: tuple[str, ...]

    def trail(self, t: int) -> Doubles:
        """Return the trail of column ``t`` at the date as unit vectors, oldest first, the dot last, shape (P, 3)."""
        known = self.place[max(0, self.date - BACK + 1) : self.date + 1, t]
        known = known[~np.isnan(known[:, 0])]
        return stretched(known, SCALE * float(self.drift[self.date, t]))


def globe_frame(rows: RunRows, selection: Selection) -> GlobeFrame:
    """Read where topics stand in one reading; the selected date is the newest if there is none."""
    history = history_of(rows, selection.reading)
    newest = max(history.index.size - 1, 0)
    date = newest if selection.date is None else int(np.clip(selection.date, 0, newest))
    home = topic_positions(rows) if history.index.size else {}
    columns = np.flatnonzero([int(topic) in home for topic in history.topic])
    topics = history.topic[columns]
    shape = (history.index.size, topics.size)
    place, drift = np.full((*shape, 3), np.nan), np.full(shape, np.nan)
    if topics.size:
        sketches = all_sketches(rows, history)[:, columns]
        sketches[~history.settled() if history.settled().any() else slice(0, 0)] = np.nan
        at = np.array([home[int(topic)] for topic in topics])
        lives = unit(np.nansum(sketches, axis=0).astype(np.float64))
        for t in range(topics.size):
            own = sketches[:, t].astype(np.float64)
            there = ~np.isnan(own[:, 0])
            if there.any():
                place[there, t] = _around(own[there], lives, at, t)
                drift[:, t] = _drift(own, there)
    shown = history.documents[date, columns] if topics.size else np.empty(0)
    return GlobeFrame(
        topic=selection.topic,
        date=date,
        labels=history.labels,
        topics=topics,
        place=place,
        drift=drift,
        share=np.nan_to_num(history.share[date, columns]) if topics.size else np.empty(0),
        names=tuple(
            "" if np.isnan(n) else topic_name(history, date, int(c)) for n, c in zip(shown, columns, strict=True)
        ),
    )


def moved(start: Doubles, east: Doubles, north: Doubles) -> Doubles:
    """Return the points reached from unit vectors ``start`` (N, 3) by great circles, (N, 3).

    They go so many degrees ``east`` and ``north``, both (N,).
    """
    to_east, to_north = _compass(start)
    way = np.radians(east)[..., None] * to_east + np.radians(north)[..., None] * to_north
    far = np.linalg.norm(way, axis=-1, keepdims=True)
    out: Doubles = np.cos(far) * start + np.sinc(far / np.pi) * way
    return out


def seen_from_point(start: Doubles, points: Doubles) -> tuple[Doubles, Doubles]:
    """Return how many degrees to go east and north from a unit vector to reach points, along great circles."""
    way = _tangent(start, points)
    to_east, to_north = _compass(start)
    return way @ to_east, way @ to_north


def stretched(path: Doubles, least: float) -> Doubles:
    """Return a path of unit vectors that ends where it did and begins ``least`` degrees from there.

    Its beginning goes as far as is missing, straight away from the end; the points between follow, each a bit less.
    """
    if len(path) < 2:
        return path
    way = np.column_stack(seen_from_point(path[-1], path))
    far = float(np.hypot(*way[0]))
    straight = way[0] / far if far > 1e-9 else np.array([1.0, 0.0])
    way = way + np.outer(np.linspace(least - far, 0.0, len(path)), straight)
    return moved(path[-1], way[:, 0], way[:, 1])


def _around(own: Doubles, lives: Doubles, at: Doubles, t: int) -> Doubles:
    """Return where a topic stands on the globe, from its sketches, shape (P, 3)."""
    way = _tangent(lives[t], own)
    some = way[:: -(-len(way) // _ENOUGH)]
    _, mixed = np.linalg.eigh(some @ some.T)  # few points in many dimensions: quicker than their singular vectors
    axes = np.nan_to_num(unit(mixed[:, ::-1][:, :2].T @ some))
    plane = np.zeros((2, own.shape[1]))
    plane[: len(axes)] = axes
    others = np.flatnonzero((np.arange(len(lives)) != t) & ~np.isnan(lives[:, 0]))
    near = np.maximum(lives[others] @ lives[t], 0.0)
    inside = unit(_tangent(lives[t], lives[others])) @ plane.T
    outside = unit(np.column_stack(seen_from_point(at[t], at[others])))
    left, _, right = np.linalg.svd((np.nan_to_num(inside) * near[:, None]).T @ np.nan_to_num(outside))
    offset = SCALE * way @ plane.T @ (left @ right)
    return moved(np.broadcast_to(at[t], (len(own), 3)), offset[:, 0], offset[:, 1])


def _drift(own: Doubles, there: Bools) -> Doubles:
    """Return the degrees between each date and the beginning of its trail, shape (S,)."""
    known = np.flatnonzero(there)
    first = known[np.searchsorted(known, known - BACK + 1)]
    out = np.full(there.size, np.nan)
    out[known] = np.where(first == known, 0.0, degrees_between(own[first], own[known]))
    return out


def _tangent(start: Doubles, points: Doubles) -> Doubles:
    """Return the way from a unit vector to others: directions at right angles to it, as long as degrees."""
    cosine = np.clip(points @ start, -1.0, 1.0)
    across = points - cosine[:, None] * start
    length = np.linalg.norm(across, axis=1, keepdims=True)
    out: Doubles = np.degrees(np.arctan2(length, cosine[:, None])) * across / np.where(length > 0, length, 1.0)
    return out


def _compass(start: Doubles) -> tuple[Doubles, Doubles]:
    """Return the directions east and north at unit vectors; at a pole, east is the second axis."""
    east = np.stack([-start[..., 1], start[..., 0], np.zeros(start.shape[:-1])], axis=-1)
    length = np.linalg.norm(east, axis=-1, keepdims=True)
    east = np.where(length > 1e-9, east / np.where(length > 1e-9, length, 1.0), np.array([0.0, 1.0, 0.0]))
    return east, np.cross(start, east)
