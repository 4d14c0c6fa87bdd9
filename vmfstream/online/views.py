"""What is reported of a slice: its topics as numbers, and how near to them its documents lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.drift import turn
from vmfstream.online.state import Matrix, Rows, TrackState, Vector
from vmfstream.records import Event


@dataclass(frozen=True, slots=True, eq=False)
class TopicView:
    """Topics of one slice as numbers: means as natural vectors f (D, kp) and, per topic, what is reported.

    ``speed`` is the angle in degrees to the mean of the slice before and ``speed_error`` its standard deviation.
    """

    slice: int
    f: Matrix
    gamma: Vector
    n: Vector
    speed: Vector
    kappa: float
    ids: NDArray[np.int64]
    speed_error: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """What a closed slice showed.

    ``predicted`` is the mean log-density of its documents under the prediction made before it began; ``filtered`` its
    topics as known now; ``smoothed`` the topics of slices that became final. Of its kept documents (all of them, or the
    first of a slice above the limit) ``resp`` (N, kp) are the memberships, after the refit if there was one, and
    ``cosine`` (N, K) the cosines with the topics' means. ``events`` tell what happened to topics.
    """

    predicted: float
    filtered: TopicView
    smoothed: Sequence[TopicView]
    resp: Matrix
    cosine: Matrix
    events: Sequence[Event] = ()


def view(state: TrackState, index: int, before: Matrix | None, f: Matrix, n: Vector) -> TopicView:
    """Topics of a slice; their speed is NaN if there is nothing before."""
    k = state.k
    if before is None:
        unknown = np.full(k, np.nan)
        return TopicView(index, f, column_norms(f)[:k], n[:k], unknown, state.kappa, state.ids, unknown)
    moved = turn(before, f, k)
    return TopicView(index, f, moved.length, n[:k], moved.angle, state.kappa, state.ids, moved.error)


def typicality(x: Rows, view: TopicView) -> Matrix:
    """Cosine of every kept document with every topic's mean, (N, K)."""
    scale = np.divide(1.0, view.gamma, out=np.zeros_like(view.gamma), where=view.gamma > 0.0)
    return np.asarray(dots(x, view.f)[:, : len(scale)] * scale.astype(np.float32))
