"""Drift: by which angle topics turn, which words they gain and lose, and when documents begin to fit worse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Mask
from vmfstream.bayes.factors.beliefs import turned
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.online.settings import DriftSettings
from vmfstream.online.state import Lifecycle, Matrix, Sample, TrackState, Vector
from vmfstream.records import Event


@dataclass(frozen=True, slots=True, eq=False)
class DriftAngles:
    """Drift angles of topics between two beliefs, in degrees, (K,).

    ``angle`` between the mean directions (NaN where one is unknown), ``error`` its standard deviation; ``length`` of
    the later natural vectors.
    """

    angle: Vector
    error: Vector
    length: Vector


def drift_angles(before: Matrix, after: Matrix, k: int) -> DriftAngles:
    """Compute the angles between two beliefs about the same topics, with their uncertainty.

    Under vMF(psi, gamma) a mean deviates from psi, along one given direction, with the variance A(gamma) / gamma; the
    angle in the plane of both directions has the sum of both variances, the beliefs taken as independent.

    Parameters
    ----------
    before, after : (D, kp) natural vectors
    k : number of topics
    """
    d = len(before)
    first, second, cross = (v[:k] for v in turned(before, after))
    angle, error = np.full(k, np.nan), np.full(k, np.nan)
    known = (first > 0.0) & (second > 0.0)
    angle[known] = np.degrees(np.arccos(np.clip(cross[known] / (first[known] * second[known]), -1.0, 1.0)))
    error[known] = np.degrees(np.sqrt(_variance(d, first[known]) + _variance(d, second[known])))
    return DriftAngles(angle, error, second)


def _variance(d: int, gamma: Vector) -> Vector:
    """Variance of a direction along one axis across its mean, A(gamma) / gamma."""
    return np.asarray(bessel_ratio(d, gamma) / gamma)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Coordinates whose weight in a topic's mean direction grew or shrank most, with the weights before and after."""

    columns: NDArray[np.int64]
    before: Vector
    after: Vector


def terms(before: Matrix, after: Matrix, topic: int, top: int = 10) -> tuple[Terms, Terms]:
    """Find the terms that enter a topic and those that leave it, the largest changes first.

    Parameters
    ----------
    before, after : (D, kp) natural vectors of one vocabulary, see `vmfstream.online.vocabulary_change.carried_vectors`
    topic : column
    top : int >= 1, at most so many of each

    Returns
    -------
    entering, leaving

    Raises
    ------
    ValueError
        Beliefs of different vocabularies.
    """
    if before.shape[0] != after.shape[0]:
        raise ValueError(f"expected beliefs of one vocabulary, got {before.shape[0]} and {after.shape[0]} terms")
    a, b = (_direction(m[:, topic]) for m in (before, after))
    change = b - a
    order = np.argsort(-np.abs(change), kind="stable")
    entering, leaving = order[change[order] > 0.0][:top], order[change[order] < 0.0][:top]
    return Terms(entering, a[entering], b[entering]), Terms(leaving, a[leaving], b[leaving])


def _direction(f: NDArray[np.floating]) -> Vector:
    f = f.astype(np.float64)
    norm = float(np.linalg.norm(f))
    return np.asarray(f / norm if norm > 0.0 else f)


def detect_change(values: Vector, news: Mask, watched: Mask, rules: DriftSettings) -> float | None:
    """Watch scores by ADWIN; return by how much the new ones differ if it detects a change among them.

    Parameters
    ----------
    values : (N,) scores in the order of arrival
    news : (N,) which of them were not watched before
    watched : (N,) which of them count
    rules : thresholds

    Returns
    -------
    Mean of the new scores less that of the others, or None.

    References
    ----------
    A. Bifet and R. Gavalda, Learning from Time-Changing Data with Adaptive Windowing, SDM 2007; as in river.
    """
    scores, first = values[watched], int(np.count_nonzero(watched & ~news))
    if first in (0, len(scores)) or len(scores) < rules.least_documents:
        return None
    low, middle, high = np.percentile(scores, [25, 50, 75])
    if high <= low:
        return None
    from river.drift import ADWIN  # with it scikit-learn and pandas: not before there is something to compare

    scaled = np.clip((scores - middle) / (rules.spreads * (high - low)) + 0.5, 0.0, 1.0)
    watch: Any = ADWIN(delta=rules.false_alarm, clock=1)  # type: ignore[no-untyped-call]
    for value in scaled[:first].tolist():
        watch.update(value)
    for value in scaled[first:].tolist():
        watch.update(value)
        if watch.drift_detected:
            return float(scores[first:].mean() - scores[:first].mean())
    return None


def with_arrival_gains(life: Lifecycle, new: Sample, rules: DriftSettings) -> Lifecycle:
    """Add to ``life`` how well documents were explained on arrival, ``new``; keep the newest ``rules.history``."""

    def newest(old: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([old, more])[-rules.history :]

    return replace(
        life,
        arrival_gain=newest(life.arrival_gain, new.gain),
        arrival_slice=newest(life.arrival_slice, new.slice),
        arrival_topic=newest(life.arrival_topic, new.topic),
    )


def with_alarms(state: TrackState, angle: Vector, rules: DriftSettings) -> tuple[TrackState, list[Event]]:
    """Detect that documents of the slice that ends fit otherwise than before: all of them, or worse those of a topic.

    ``angle`` (K,) are the drift angles of this slice in degrees, and ``rules`` say how unlikely the change must be.
    After an alarm its watch in the new ``state`` starts again. Where the history has many slices each watch is looked
    at in every second or third of them only, in turn: every look passes over the whole history.
    """
    life = state.life
    if life is None:
        return state, []
    every = max(1, len(np.unique(life.arrival_slice)) // rules.looks)
    news = life.arrival_slice > state.slice - every
    events, since, watched = [], life.watched_since, life.topic_watched_since.copy()
    if state.slice % every == 0:
        change = detect_change(life.arrival_gain, news, life.arrival_slice >= since[0], rules)
        if change is not None:
            events.append(Event("surprise", -1, value=change))
            since = np.array([state.slice])
    met = np.isin(state.ids, life.arrival_topic[news])
    for j in np.flatnonzero(met & ((state.slice + state.ids) % every == 0)).tolist():
        id = state.ids[j]
        own = (life.arrival_topic == id) & (life.arrival_slice >= watched[j])
        change = detect_change(life.arrival_gain, news, own, rules)
        if change is not None and change < 0.0:
            value = None if np.isnan(angle[j]) else float(angle[j])
            events.append(Event("drift", int(id), value=value, evidence=-change))
            watched[j] = state.slice
    return replace(state, life=replace(life, watched_since=since, topic_watched_since=watched)), events
