"""What is reported of a slice: its topics as numbers, and how near to them its documents lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.beliefs import turned
from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.state import Matrix, Rows, TrackState, Vector
from vmfstream.records import Event


@dataclass(frozen=True, slots=True, eq=False)
class TopicView:
    """Topics of one slice as numbers: means as natural vectors f (D, kp) and, per topic, what is reported."""

    slice: int
    f: Matrix
    gamma: Vector
    n: Vector
    speed: Vector
    kappa: float
    ids: NDArray[np.int64]


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
        return TopicView(index, f, column_norms(f)[:k], n[:k], np.full(k, np.nan), state.kappa, state.ids)
    lengths, gamma, cross = turned(before, f)
    return TopicView(index, f, gamma[:k], n[:k], _angles(lengths * gamma, cross)[:k], state.kappa, state.ids)


def typicality(x: Rows, view: TopicView) -> Matrix:
    """Cosine of every kept document with every topic's mean, (N, K)."""
    scale = np.divide(1.0, view.gamma, out=np.zeros_like(view.gamma), where=view.gamma > 0.0)
    return np.asarray(dots(x, view.f)[:, : len(scale)] * scale.astype(np.float32))


def _angles(lengths: Vector, cross: Vector) -> Vector:
    """Angles in degrees of inner products of vectors with products of lengths; NaN where one of them is zero."""
    cosine = np.divide(cross, lengths, out=np.full_like(lengths, np.nan), where=lengths > 0.0)
    return np.asarray(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
