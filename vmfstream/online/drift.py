"""Drift: by which angle topics turn, which words they gain and lose, and when documents begin to fit worse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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


class Change(NamedTuple):
    """A change of scores: ``since``, its first slice, and ``difference``, the mean since then less the one before."""

    since: int
    difference: float


def detect_change(scores: Vector, slices: NDArray[np.int64], rules: DriftSettings) -> Change | None:
    """Compare the scores before and since the begin of each slice; return the clearest change, or None.

    The means differ if they are further apart than adaptive windowing allows (ADWIN). All scores are at hand, so every
    begin of a slice is looked at, not only the few moments that its compressed window remembers.

    Parameters
    ----------
    scores : (N,) in the order of arrival
    slices : (N,) their slices, ascending
    rules : thresholds

    References
    ----------
    A. Bifet and R. Gavalda, Learning from Time-Changing Data with Adaptive Windowing, SDM 2007, section 3 (ADWIN0, with
    the bound for windows of small variance).
    """
    n = len(scores)
    before = np.flatnonzero(np.diff(slices)) + 1  # scores before the begin of each slice but the first
    if n < rules.least_documents or not len(before):
        return None
    low, middle, high = np.percentile(scores, [25, 50, 75])
    if high <= low:
        return None
    scaled = np.clip((scores - middle) / (rules.spreads * (high - low)) + 0.5, 0.0, 1.0)
    first = np.cumsum(scaled)
    difference = (first[-1] - first[before - 1]) / (n - before) - first[before - 1] / before
    error = (1.0 / before + 1.0 / (n - before)) * np.log(2.0 * np.log(n) / rules.false_alarm)
    excess = np.abs(difference) - np.sqrt(2.0 * scaled.var() * error) - 2.0 / 3.0 * error
    clearest = int(np.argmax(excess))
    if excess[clearest] <= 0.0:
        return None
    at = before[clearest]
    return Change(int(slices[at]), float(scores[at:].mean() - scores[:at].mean()))


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
    After a change its watch in the new ``state`` begins where the change was.
    """
    life = state.life
    if life is None:
        return state, []
    new = life.arrival_slice == state.slice
    if not new.any():
        return state, []
    events, since, watched = [], life.watched_since, life.topic_watched_since.copy()
    change = _change(life, life.arrival_slice >= since[0], rules)
    if change is not None:
        events.append(Event("surprise", -1, value=change.difference))
        since = np.array([change.since])
    for j in np.flatnonzero(np.isin(state.ids, life.arrival_topic[new])).tolist():
        id = state.ids[j]
        change = _change(life, (life.arrival_topic == id) & (life.arrival_slice >= watched[j]), rules)
        if change is None:
            continue
        watched[j] = change.since
        if change.difference < 0.0:
            value = None if np.isnan(angle[j]) else float(angle[j])
            events.append(Event("drift", int(id), value=value, evidence=-change.difference))
    return replace(state, life=replace(life, watched_since=since, topic_watched_since=watched)), events


def _change(life: Lifecycle, watched: Mask, rules: DriftSettings) -> Change | None:
    """Look for a change among the scores that count."""
    return detect_change(life.arrival_gain[watched], life.arrival_slice[watched], rules)
