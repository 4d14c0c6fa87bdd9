"""What the tracker returns besides its state: about a batch, a topic, a slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.belief import Belief
from vmfstream.online.drift import drift_angles
from vmfstream.online.state import Matrix, Rows, TrackState, Vector
from vmfstream.protocols import DocumentTopics
from vmfstream.records import Event


class StepInfo(NamedTuple):
    """Scores of one batch before it was learnt.

    ``loglik`` (N,) are log-densities in nats relative to the uniform density, ``label`` (N,) the columns of the
    strongest topics, ``second`` (N,) those of the second ones, ``probability`` (N, 2) the probabilities of both; 0, -1,
    -1 and 0 for documents without direction. The second is -1 too where there is one topic only.
    """

    loglik: Vector
    label: NDArray[np.int32]
    second: NDArray[np.int32]
    probability: NDArray[np.float32]

    @classmethod
    def nothing(cls, n: int) -> StepInfo:
        """Return the scores of ``n`` documents without direction."""
        none = np.full(n, -1, np.int32)
        return cls(np.zeros(n), none, none, np.zeros((n, 2), np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class TrackedTopics:
    """Topics of one slice as numbers: means as natural vectors f (D, kp) and, per topic, what is reported.

    ``drift_angle`` is the angle in degrees to the mean of the slice before and ``drift_angle_error`` its standard
    deviation; NaN where there is none.
    """

    slice: int
    f: Matrix
    gamma: Vector
    n: Vector
    drift_angle: Vector
    kappa: float
    ids: NDArray[np.int64]
    drift_angle_error: Vector


@dataclass(frozen=True, slots=True, eq=False)
class TrackerPrediction:
    """The prediction of a slice and the kept documents that it is calibrated on.

    Attributes
    ----------
    x : (N, D) the documents, in the vocabulary in force at the end of the slice.
    belief : the predicted means (D, kp); the weights count the slice's own documents too.
    ids : (K,) ids of the topics that were predicted.
    """

    x: Rows
    belief: Belief
    ids: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SliceResult:
    """What a slice showed when it ended.

    Attributes
    ----------
    predicted : mean log-density of its documents under the prediction made before it began, in nats relative to the
        uniform density; NaN if nothing was predicted.
    filtered : its topics given the documents up to its end.
    smoothed : the topics of slices that left the window, given all documents up to the end of this one.
    resp : (N, kp) memberships of its kept documents (all, or the first of a slice above the limit), after the refit if
        there was one.
    cosine : (N, K) cosines of these documents with the topics' means.
    events : births, splits, mergers, dormancy and alarms.
    whole : whether all of its documents were kept, and so entered the window.
    prediction : how its kept documents were predicted; None if nothing was.
    refused : why decisions of people were not applied, by their numbers.
    labelled : the topics of the documents of slices that left the window.
    """

    predicted: float
    filtered: TrackedTopics
    smoothed: Sequence[TrackedTopics]
    resp: Matrix
    cosine: Matrix
    events: Sequence[Event] = ()
    whole: bool = True
    prediction: TrackerPrediction | None = None
    refused: Mapping[int, str] = field(default_factory=dict)
    labelled: Sequence[DocumentTopics] = ()


def topic_view(state: TrackState, index: int, before: Matrix | None, f: Matrix, n: Vector) -> TrackedTopics:
    """Describe the topics of slice ``index``.

    Parameters
    ----------
    state : the state of the tracker, for ids, weights and concentration.
    before : (D, kp) natural vectors of the slice before; None leaves the drift angles NaN.
    f : (D, kp) natural vectors of the slice.
    n : (kp,) its documents per topic.
    """
    k = state.k
    if before is None:
        unknown = np.full(k, np.nan)
        return TrackedTopics(index, f, column_norms(f)[:k], n[:k], unknown, state.kappa, state.ids, unknown)
    turned = drift_angles(before, f, k)
    return TrackedTopics(index, f, turned.length, n[:k], turned.angle, state.kappa, state.ids, turned.error)


def mean_cosines(x: Rows, view: TrackedTopics) -> Matrix:
    """Return the cosine of every document with every topic's mean, (N, K)."""
    scale = np.divide(1.0, view.gamma, out=np.zeros_like(view.gamma), where=view.gamma > 0.0)
    return np.asarray(dots(x, view.f)[:, : len(scale)] * scale.astype(np.float32))
