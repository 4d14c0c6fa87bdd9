"""Fixed positions of topics on a globe: similar topics are near, and adding slices moves none.

In thousands of dimensions topics stand at nearly right angles to each other, which no map of two dimensions can show.
What a map can show is what is near: angles are replaced by their ranks, and these by the angles that as many random
points on a sphere would have. Misfits of near pairs count most.

The topics of the first slice after the warm-up are laid out together; every later topic is placed among those before
it, from rows up to the slice of its birth. Such rows never change, so these positions never move. Where a run file has
smoothed topics, these are laid out once more from their angles, starting at these positions and rotated back to them:
they move when topics are smoothed again, never with a new slice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.dashboards.rows.geometry import unit
from vmfstream.dashboards.rows.history import Doubles, Ints
from vmfstream.dashboards.rows.run_rows import RunRows, once
from vmfstream.runfile.queries import AngleFrame, SketchFrame, kept

_POWER = 1.5  # weight of a pair: its target to this power, inverted
_NEAREST = 0.15  # radians, below which weights grow no more
_SEED = 1
_STARTS, _TIMES_SQUARE = 8, 20_000  # random starts, fewer where there are very many topics
_STEPS = 400
_TRIED = 400


def topic_positions(rows: RunRows) -> dict[int, Doubles]:
    """Return the position of every topic of which the run file holds sketches, as a unit vector in three dimensions.

    They are computed once for cached rows.
    """
    return once(rows, ("topic_positions",), lambda: _computed(rows))


def _computed(rows: RunRows) -> dict[int, Doubles]:
    frame = rows.slices()
    final = frame.slice[~frame.warm_up] if not frame.warm_up.all() else frame.slice
    angles, sketches = rows.angles("filtered"), rows.sketches("filtered")
    angles, sketches = kept(angles, np.isin(angles.slice, final)), kept(sketches, np.isin(sketches.slice, final))
    places = _by_birth({}, angles, sketches)
    if rows.has_smoothed():
        late_angles, late = rows.angles("smoothed"), rows.sketches("smoothed")
        topics = np.unique(late.topic)
        target = targets(mean_degrees(late_angles, late, topics))
        start = _completed(np.array([places.get(int(t), np.full(3, np.nan)) for t in topics]).reshape(-1, 3), target)
        again = turned_back(lay_out(target, start), start)
        places = _by_birth(dict(zip(topics.tolist(), again, strict=True)), angles, sketches)
    return places


def mean_degrees(angles: AngleFrame, sketches: SketchFrame, topics: Ints) -> Doubles:
    """Return the mean angle of each pair of topics over the slices in which both live, shape (T, T).

    ``angles`` and ``sketches`` are those of a run file, ``topics`` (T,) ids in order. Pairs that were never active
    together get the angle between the sketches of their life-long means.
    """
    count = topics.size
    a, b = (np.searchsorted(topics, ids) for ids in (angles.topic, angles.other))
    known = np.isin(angles.topic, topics) & np.isin(angles.other, topics)
    cell = a[known] * count + b[known]
    times = np.bincount(cell, minlength=count * count).reshape(count, count)
    total = np.bincount(cell, weights=angles.degrees[known], minlength=count * count).reshape(count, count)
    own = np.flatnonzero(np.isin(sketches.topic, topics))
    whose = np.searchsorted(topics, sketches.topic[own])
    of_topic = csr_array((np.ones(own.size), (whose, np.arange(own.size))), shape=(count, own.size))
    life = unit(of_topic @ unit(sketches.numbers[own]))
    times, total = times + times.T, total + total.T
    unmet = np.degrees(np.arccos(np.clip(life @ life.T, -1.0, 1.0)))
    out: Doubles = np.where(times > 0, total / np.maximum(times, 1), unmet)
    np.fill_diagonal(out, 0.0)
    return out


def targets(degrees: Doubles) -> Doubles:
    """Return the angles on the globe, in radians, that pairs should have: those of random points, rank by rank."""
    upper = np.triu_indices(len(degrees), 1)
    out = np.zeros_like(degrees)
    if upper[0].size:
        pairs, ordered = degrees[upper], np.sort(degrees[upper])
        # mean ranks, as of scipy.stats.rankdata, which takes longer to load than a layout
        below, until = (np.searchsorted(ordered, pairs, side) for side in ("left", "right"))
        out[upper] = np.arccos(1.0 - (below + until) / upper[0].size)
    return out + out.T


def lay_out(target: Doubles, start: Doubles | None = None) -> Doubles:
    """Return points on the sphere whose angles misfit their targets least, shape (T, 3).

    Without a start, the best of several fixed ones counts: the three strongest axes of the targets, then random points.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    if len(target) < 2:
        return np.tile([1.0, 0.0, 0.0], (len(target), 1)) if start is None else start
    starts = [start] if start is not None else [_axes(target), *_random(len(target))]
    weight = _weights(target)
    # at every step several threads would wait for each other: up to five times as long
    with threadpool_limits(1, "blas"):
        fits = [
            minimize(_stress, one.ravel(), (target, weight), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
            for one in starts
        ]
    return unit(min(fits, key=lambda fit: float(fit.fun)).x.reshape(-1, 3))


def put_among(places: Doubles, target: Doubles) -> Doubles:
    """Return the point that misfits its targets to fixed places least, shape (3,): the best of 400 spread evenly."""
    if not len(places):
        return np.array([1.0, 0.0, 0.0])
    k = np.arange(_TRIED) + 0.5
    z, turn = 1.0 - 2.0 * k / _TRIED, np.pi * (1.0 + 5.0**0.5) * k
    tried = np.column_stack([np.sqrt(1.0 - z**2) * np.cos(turn), np.sqrt(1.0 - z**2) * np.sin(turn), z])
    misfit = np.arccos(np.clip(tried @ places.T, -1.0, 1.0)) - target
    best: Doubles = tried[np.argmin((_weights(target) * misfit**2).sum(axis=1))]
    return best


def turned_back(points: Doubles, onto: Doubles) -> Doubles:
    """Return points rotated, and mirrored if needed, to lie as near to other points as possible."""
    left, _, right = np.linalg.svd(points.T @ onto)
    out: Doubles = points @ (left @ right)
    return out


def _by_birth(given: dict[int, Doubles], angles: AngleFrame, sketches: SketchFrame) -> dict[int, Doubles]:
    """Return places of all topics: the given ones, then every other at the slice of its birth."""
    places = dict(given)
    topics, first = np.unique(sketches.topic[np.argsort(sketches.slice, kind="stable")], return_index=True)
    births = np.sort(sketches.slice)[first]
    if not places and topics.size:
        founders = topics[births == births.min()]
        until = births.min()
        degrees = mean_degrees(kept(angles, angles.slice <= until), kept(sketches, sketches.slice <= until), founders)
        places = dict(zip(founders.tolist(), lay_out(targets(degrees)), strict=True))
    for born, topic in sorted(zip(births.tolist(), topics.tolist(), strict=True)):
        if topic in places:
            continue
        there = np.array(sorted(places))
        met = kept(sketches, sketches.slice <= born)
        there = there[np.isin(there, met.topic)]
        ids = np.sort(np.append(there, topic))
        target = targets(mean_degrees(kept(angles, angles.slice <= born), met, ids))
        places[topic] = put_among(
            np.array([places[int(t)] for t in there]).reshape(-1, 3), target[ids == topic][0][ids != topic]
        )
    return places


def _completed(places: Doubles, target: Doubles) -> Doubles:
    """Return places in which rows of NaN are put among the others, one by one."""
    out = places.copy()
    for k in np.flatnonzero(np.isnan(places).any(axis=1)):
        there = ~np.isnan(out).any(axis=1)
        out[k] = put_among(out[there], target[k, there])
    return out


def _weights(target: Doubles) -> Doubles:
    weight: Doubles = np.maximum(target, _NEAREST) ** -_POWER
    return weight


def _axes(target: Doubles) -> Doubles:
    """Return the three strongest axes of the cosines of the targets; signs are fixed by the largest entry."""
    value, vector = np.linalg.eigh(np.cos(target))
    axes = vector[:, -3:] * np.sqrt(np.maximum(value[-3:], 1e-9))
    largest = np.abs(axes).argmax(axis=0)
    points: Doubles = axes * np.sign(axes[largest, np.arange(axes.shape[1])])
    return np.pad(points, ((0, 0), (0, 3 - points.shape[1])))


def _random(count: int) -> list[Doubles]:
    rng = np.random.default_rng(_SEED)
    return [rng.normal(size=(count, 3)) for _ in range(min(_STARTS, _TIMES_SQUARE // count**2))]


def _stress(x: Doubles, target: Doubles, weight: Doubles) -> tuple[float, NDArray[np.float64]]:
    """Return the weighted misfit of all pairs and its gradient; points need not have length one."""
    points = x.reshape(-1, 3)
    length = np.linalg.norm(points, axis=1, keepdims=True)
    at = points / length
    cosine = np.clip(at @ at.T, -1.0 + 1e-9, 1.0 - 1e-9)
    misfit = np.arccos(cosine) - target
    np.fill_diagonal(misfit, 0.0)
    pull = -2.0 * weight * misfit / np.sqrt(1.0 - cosine**2)
    gradient = 2.0 * (pull @ at)
    gradient -= (gradient * at).sum(axis=1, keepdims=True) * at
    return float((weight * misfit**2).sum()), (gradient / length).ravel()
