"""Records that travel from the source to the log: one type per hop, in the order of the journey.

None is changed once it is made. All but `Message` and `Document` are frozen too; of these two there is one for every
message, and to make a frozen one takes four times as long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Position: TypeAlias = Mapping[str, int]
"""Next offset to read, per part of the source (a file, a Kafka partition)."""

Arrays: TypeAlias = dict[str, NDArray[Any]]
"""A state as flat named arrays, the only form in which states are stored (never pickled)."""


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of one part, from the offset ``first`` up to before ``last``."""

    part: str
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


@dataclass(slots=True, eq=False)
class Message:
    """One raw record of a source: bytes of a line or a mapping of columns, and where it stands.

    ``time`` is what the source knows of it, used where the record names none. ``oversized`` is the number of bytes of a
    record that the source refused to hold; ``value`` then is its beginning.
    """

    part: str
    offset: int
    value: bytes | Mapping[str, Any]
    time: datetime | None = None
    oversized: int | None = None

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes; one without content takes room too."""
        if isinstance(self.value, bytes):
            return len(self.value) + 100
        return sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in self.value.values()) + 100


@dataclass(slots=True, eq=False)
class Document:
    """A decoded document: ``text`` or ``vector`` is set, ``time`` is aware (UTC)."""

    part: str
    offset: int
    id: str
    time: datetime
    text: str | None = None
    vector: NDArray[np.float32] | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What a person would call the document: its title, else the beginning of its text."""
        title = self.meta.get("title")
        if isinstance(title, str) and title.strip():
            return title.strip()
        return (self.text or self.id).strip()[:120]


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """A message that cannot be a document: where it stands, why, and its first characters."""

    part: str
    offset: int
    reason: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """One interval of calendar time, ``[begins, ends)``, or a run of N documents (then both times are None)."""

    index: int
    label: str
    begins: datetime | None = None
    ends: datetime | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TopicRows:
    """Living topics at one moment, parallel arrays of length K in order of id.

    ``share`` sums to one over the topics; ``kappa`` is the concentration of documents around the mean and ``gamma`` of
    the belief about the mean, both only comparable at one dimension, so ``tightness`` = A_D(kappa) and ``certainty`` =
    A_D(gamma), both in [0, 1], stand beside them; ``drift_angle`` is the angle in degrees to the same topic's mean at
    the previous slice end and ``drift_angle_error`` its standard deviation (NaN where there is none).

    At the end of a slice ``share_low`` and ``share_high`` are the ends of the interval that holds the share of each
    topic with a probability of 95 %, and ``radius`` the degrees about its mean within which the true one lies with as
    much. ``angles`` (K, K) holds the degrees between the means, and ``sketches`` (K, 512) int8 each mean as few numbers
    whose cosines are nearly those of the means, whatever the vocabulary was when they were made.
    """

    topic: NDArray[np.int64]
    n: NDArray[np.float64]
    share: NDArray[np.float64]
    kappa: NDArray[np.float64]
    gamma: NDArray[np.float64]
    tightness: NDArray[np.float64]
    certainty: NDArray[np.float64]
    drift_angle: NDArray[np.float64]
    drift_angle_error: NDArray[np.float64]
    words: Sequence[Sequence[tuple[str, float]]]
    share_low: NDArray[np.float64] | None = None
    share_high: NDArray[np.float64] | None = None
    radius: NDArray[np.float64] | None = None
    angles: NDArray[np.float64] | None = None
    sketches: NDArray[np.int8] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Representative:
    """Documents most representative of a topic in a slice, parallel lists, best first within a topic."""

    topic: NDArray[np.int64]
    rank: NDArray[np.int64]
    id: Sequence[str]
    title: Sequence[str]
    time: Sequence[datetime]
    score: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Novel:
    """The most novel documents of a slice, parallel lists, most novel first.

    ``novelty`` are the nats by which a topic that nobody has seen yet explained a document better on its arrival than
    all known ones did; ``topic`` is the number of the one that it got nevertheless.
    """

    rank: NDArray[np.int64]
    id: Sequence[str]
    title: Sequence[str]
    time: Sequence[datetime]
    novelty: NDArray[np.float64]
    topic: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Something that happened to a topic, or to the stream as a whole (then ``topic`` is -1).

    ========  =============================================  ==========  =============================================
    kind      what                                           other       value
    ========  =============================================  ==========  =============================================
    started   first fitted
    born      a group of documents that is new                           documents
    split     finer structure of a topic found               new topic   documents of the new topic
    merged    its documents are those of another             survivor    angle between the two in degrees
    dormant   fell silent                                                documents in the last slices
    woken     speaks again, under its old id                             documents in the last slices
    ended     slept longest when its place was needed                    slices asleep
    drift     turned faster than it used to                              angle in degrees
    surprise  documents fit worse or better than they did                change of the mean log-density in nats
    ========  =============================================  ==========  =============================================

    ``evidence`` are the nats that speak for it and ``chance`` the probability of as much without a cause.
    """

    kind: str
    topic: int
    other: int | None = None
    value: float | None = None
    evidence: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EpochReport:
    """One engine update: what was read and how well it was predicted.

    ``prequential`` is the prequential log-likelihood: the mean log-density per document before the update, in nats
    relative to the uniform density (NaN while there is no model). ``oov_rate`` is the out-of-vocabulary rate, the share
    of words without a column. ``lag`` counts the messages that waited in the source, None if it cannot say.
    """

    epoch: int
    slice: Slice
    n: int
    rejected: int
    late: int
    empty: int
    oov_rate: float
    prequential: float
    seconds: float
    topics: TopicRows | None
    lag: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SliceReport:
    """A closed slice: its filtered topics, their representative documents and its events.

    ``predicted`` is the predictive log-likelihood: the mean log-density per document under the prediction made before
    the slice began (nats relative to uniform). ``warm_up`` marks slices of the warm-up, whose window is still refitted
    as a whole, so that topic ids may yet change their meaning. ``temperature`` is the softmax temperature that makes
    the topic probabilities on arrival fit best to the topics found at the end of the slice (NaN where nothing was
    predicted).
    """

    slice: Slice
    n: int
    predicted: float
    persistence: float
    warm_up: bool
    dimension: int
    topics: TopicRows | None
    representative: Representative | None
    events: Sequence[Event] = ()
    novel: Novel | None = None
    temperature: float = float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedSlice:
    """The topics of one slice in hindsight: using documents of later slices too."""

    slice: int
    topics: TopicRows


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Documents of one slice that join the stored sample, and what leaves it.

    Parallel columns, in the order of reading: ``key`` is what chose them, ``part`` and ``offset`` say where they stand,
    ``packed`` is what the encoder made of them. ``cut`` names slices that keep only documents of keys up to a largest.
    """

    slice: int
    key: NDArray[np.uint64]
    part: Sequence[str]
    offset: NDArray[np.int64]
    packed: Sequence[bytes]
    cut: Mapping[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Commit:
    """Everything that one transaction writes; either all of it becomes visible or nothing.

    ``open_state`` is written with every epoch, ``slice_state`` only when a slice closed; both are needed to resume.
    """

    epoch: EpochReport
    closed: Sequence[SliceReport]
    rejected: Sequence[Rejected]
    position: Position
    open_state: Arrays
    slice_state: Arrays | None
    smoothed: Sequence[SmoothedSlice] = ()
    finished: bool = False
    sampled: Sampled | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """What a store gives back to continue: the last committed epoch, the position and both states."""

    epoch: int
    position: Position
    open_state: Arrays
    slice_state: Arrays | None
    finished: bool
