"""What the tracker carries from one epoch to the next, as immutable values and as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from vmfstream.arrays import Matrix as Matrix
from vmfstream.arrays import Rows as Rows
from vmfstream.arrays import Vector as Vector
from vmfstream.records import Arrays as Arrays

NEVER = -(2**62)
"""A slice before all others."""

SHORT_WINDOW = 100_000
"""Stored coordinates that the window may always hold: refitting short documents costs little and more of them help."""


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """What a user may choose; the defaults are those that worked on news, abstracts and papers.

    Attributes
    ----------
    topics : number of topics K; of those that live, the most that are awake when one is born.
    window : documents that are refitted together at the end of a slice; None means max(1500, 50 K), and more of them as
        long as they are short (`SHORT_WINDOW` stored coordinates).
    persistences : grid of omega = A_D(C_0), the expected cosine between a topic's means in consecutive slices.
    cold_starts : most fresh fits that compete at each slice end while nothing has left the window; to thousands of
        documents there are fewer, but two.
    refit : False follows the stream by the filter alone after the first fit.
    alpha : Dirichlet parameter of the proportions.
    concentration_speed : how far log kappa moves towards a slice's estimate.
    threads : chunks that a batch is split into; results depend on it (float summation order), so a run keeps it.
    seed : of all random choices; those of a slice depend on (seed, slice) only.
    living_topics : whether topics may be born, split, merge and sleep at slice ends, with alarms; else those of the
        first fits stay for ever.
    """

    topics: int = 30
    window: int | None = None
    persistences: tuple[float, ...] = (0.8, 0.9, 0.95, 0.98, 0.995)
    cold_starts: int = 5
    refit: bool = True
    alpha: float = 1.0
    concentration_speed: float = 0.2
    threads: int = 2
    seed: int = 0
    living_topics: bool = False

    @property
    def window_documents(self) -> int:
        """Documents that the window holds before its oldest slice is committed."""
        return max(1500, 50 * self.topics) if self.window is None else self.window

    @property
    def window_coordinates(self) -> int:
        """Stored coordinates up to which the window may hold more documents than that."""
        return SHORT_WINDOW if self.window is None else 0

    @property
    def slice_limit(self) -> int:
        """Documents of one slice that are kept for refits; a larger slice is followed by the filter alone.

        Refits of samples would bring it nothing: years of the New York Times (2,800 documents) are foretold to 91.2
        nats without any refit and to 91.7 with refits of all, two seeds each, which differ by as much.
        """
        return max(self.window_documents, 4000)


@dataclass(frozen=True, slots=True, eq=False)
class WindowSlice:
    """A closed slice that may still be refitted: its number, rows and responsibilities (N, kp)."""

    index: int
    x: Rows
    resp: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class OpenSlice:
    """What the open slice has gathered: statistics s (D, kp) and n (kp,), and its rows as far as they are kept.

    ``fitted`` tells that the first fit was made on all of its documents and that none came since.
    """

    s: Matrix
    n: Vector
    documents: int
    kept: tuple[tuple[Rows, Matrix], ...]
    fitted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Documents and how well they were explained on arrival.

    ``gain`` (N,) is the log-density under the prediction made before they came, less that under a topic without
    documents; ``slice`` and ``row`` tell where they stood, ``topic`` the id they got on arrival; ``key`` (the smallest
    stay) and ``half`` are drawn.
    """

    x: Rows
    gain: Vector
    slice: NDArray[np.int64]
    row: NDArray[np.int64]
    topic: NDArray[np.int64]
    key: Vector
    half: NDArray[np.bool_]

    @classmethod
    def nothing(cls, dim: int) -> Sample:
        """No documents."""
        none = np.zeros(0, np.int64)
        return cls(stack([], dim), np.zeros(0), none, none, none, np.zeros(0), np.zeros(0, np.bool_))

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.gain)

    def take(self, rows: NDArray[np.integer[Any]]) -> Sample:
        """Choose documents by their numbers."""
        return Sample(*(getattr(self, f.name)[rows] for f in fields(self)))

    def and_also(self, other: Sample) -> Sample:
        """Put the documents of another sample behind these."""
        columns = [np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)[1:]]
        return Sample(stack([self.x, other.x], int(self.x.shape[1])), *columns)

    def arrays(self, name: str) -> Arrays:
        """Flatten under names that begin with ``name``."""
        arrays = {f"{name}.{f.name}": getattr(self, f.name) for f in fields(self)[1:]}
        if isinstance(self.x, np.ndarray):
            return arrays | {f"{name}.x": self.x}
        return arrays | {f"{name}.x.{part}": getattr(self.x, part) for part in ("data", "indices", "indptr")}

    @classmethod
    def from_arrays(cls, arrays: Arrays, name: str, dim: int) -> Sample:
        """Rebuild what `arrays` made, bit for bit."""
        columns = [arrays[f"{name}.{f.name}"] for f in fields(cls)[1:]]
        if f"{name}.x" in arrays:
            return cls(arrays[f"{name}.x"], *columns)
        parts = tuple(arrays[f"{name}.x.{part}"] for part in ("data", "indices", "indptr"))
        return cls(csr_array(parts, shape=(len(columns[0]), dim)), *columns)


@dataclass(frozen=True, slots=True, eq=False)
class Life:
    """What births, sleep and alarms are judged by; its arrays have one entry per topic, in order.

    ``recent`` are documents of the last slices and ``control`` a uniform sample of all older ones. ``heard`` (M,) are
    the gains (see `Sample`) of the newest documents, with their slices and their topics (ids) on arrival; those since
    the slice ``watched`` (K,) of their topic, and all since ``calm`` (1,), are watched for a change. ``tally`` (T, K)
    are the documents of the topics in the last slices ``tallied`` (T,), ``usual`` (K,) their usual share before these,
    ``weight`` (K,) how much of it is known, ``height`` (K,) the share that sleep is measured by, ``asleep`` (K,) the
    slice in which they fell asleep, `NEVER` while awake.
    """

    recent: Sample
    control: Sample
    heard: Vector
    heard_slice: NDArray[np.int64]
    heard_topic: NDArray[np.int64]
    calm: NDArray[np.int64]
    tallied: NDArray[np.int64]
    tally: NDArray[np.float64]
    usual: Vector
    weight: Vector
    height: Vector
    asleep: NDArray[np.int64]
    watched: NDArray[np.int64]

    def arrays(self) -> Arrays:
        """Flatten under names that begin with ``life.``."""
        arrays = {f"life.{f.name}": getattr(self, f.name) for f in fields(self)[2:]}
        return arrays | self.recent.arrays("life.recent") | self.control.arrays("life.control")

    @classmethod
    def from_arrays(cls, arrays: Arrays, dim: int) -> Life | None:
        """Rebuild what `arrays` made, bit for bit; None where nothing was stored."""
        if "life.usual" not in arrays:
            return None
        recent, control = (Sample.from_arrays(arrays, f"life.{name}", dim) for name in ("recent", "control"))
        return cls(recent, control, *(arrays[f"life.{f.name}"] for f in fields(cls)[2:]))


@dataclass(frozen=True, slots=True, eq=False)
class TrackState:
    """The belief about all topics at one moment.

    Each topic's mean has the natural vector ``anchor + h``: the anchor B = C_init mu_0 is common and permanent, the
    data part h follows the filter. ``past`` holds, for every persistence of the grid, the data part predicted to the
    first slice of the window from everything that has left it (None while nothing has). ``base`` is the prediction for
    the open slice under the leading persistence, anchor included, and ``f`` the same plus what the slice gathered from
    its first ``known`` documents. ``life`` is None where the topics are fixed.
    """

    slice: int
    anchor: Matrix
    kappa: float
    ids: NDArray[np.int64]
    next_id: int
    n: Vector
    n_past: Vector
    past: tuple[Matrix, ...] | None
    window: tuple[WindowSlice, ...]
    scores: Vector
    leader: int
    open: OpenSlice
    base: Matrix
    f: Matrix
    gamma: Vector
    lowest_cosine: float
    smoothed_speed: Vector
    life: Life | None = None
    known: int = 0

    @property
    def dim(self) -> int:
        """Dimension D."""
        return int(self.base.shape[0])

    @property
    def k(self) -> int:
        """Number of living topics."""
        return len(self.ids)

    @property
    def kp(self) -> int:
        """Number of columns that the topics are stored in."""
        return len(self.n_past)

    @property
    def settling(self) -> bool:
        """True while every slice is in the window: whole fits still compete and ids may change their meaning."""
        return self.past is None


def rows_of(x: Rows) -> int:
    """Number of rows."""
    return int(x.shape[0])


def columns_of(x: Rows, columns: NDArray[np.int32]) -> Rows:
    """Move unit rows to a new vocabulary, as `vmfstream.online.tracker.regrow` is told; words that left are lost."""
    known = np.flatnonzero(columns >= 0)
    if isinstance(x, np.ndarray):
        out = np.zeros((len(x), len(columns)), np.float32)
        out[:, known] = x[:, columns[known]]
        norms = np.sqrt(np.einsum("ij,ij->i", out, out, dtype=np.float64))
        return np.asarray(out * _inverse(norms)[:, None], np.float32)
    new = np.full(x.shape[1], -1, x.indices.dtype)
    new[columns[known]] = known
    return csr_array(_renamed(x.indptr, x.indices, x.data, new), shape=(x.shape[0], len(columns)))


@njit(cache=True, nogil=True)
def _renamed(indptr: Any, indices: Any, data: Any, new: Any) -> tuple[Any, Any, Any]:
    """Entries of rows under the ``new`` columns of theirs, -1 for none, scaled to unit length again; and the bounds."""
    bounds = np.zeros_like(indptr)
    found, values = np.empty_like(indices), np.empty_like(data)
    at = 0
    for i in range(len(indptr) - 1):
        first, square = at, 0.0
        for j in range(indptr[i], indptr[i + 1]):
            column = new[indices[j]]
            if column >= 0:
                found[at], values[at] = column, data[j]
                square += np.float64(data[j]) ** 2
                at += 1
        inverse = 1.0 / np.sqrt(square) if square > 0.0 else 0.0
        for j in range(first, at):
            values[j] = values[j] * inverse
        bounds[i + 1] = at
    return values[:at].copy(), found[:at].copy(), bounds


def _inverse(norms: Vector) -> Vector:
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0.0)


def stack(parts: list[Rows], dim: int) -> Rows:
    """Put rows under each other, keeping their kind; slices without documents have none."""
    parts = [part for part in parts if rows_of(part)]
    if not parts:
        return csr_array((0, dim), dtype=np.float32)
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return csr_array(vstack(parts, format="csr"))


def to_arrays(state: TrackState) -> tuple[Arrays, Arrays]:
    """Flatten to (what changes with every epoch, what changes at slice ends); rows are not included.

    ``base``, ``f`` and ``gamma`` are recomputed by the same code that made them, from the parts stored here.
    """
    open_part: Arrays = {
        "open.s": state.open.s if state.open.documents else state.open.s[:0],  # zeros need no room
        "open.n": state.open.n,
        "open.documents": np.array([state.open.documents, state.open.fitted], np.int64),
        "open.resp": np.concatenate([np.zeros((0, state.kp), np.float32), *[r for _, r in state.open.kept]]),
    }
    slice_part: Arrays = {
        "slice": np.array([state.slice]),
        "anchor": state.anchor,
        "scalars": np.array([state.kappa, state.lowest_cosine]),
        "ids": state.ids,
        "counters": np.array([state.next_id, state.leader]),
        "n": state.n,
        "n_past": state.n_past,
        "scores": state.scores,
        "smoothed_speed": state.smoothed_speed,
        "window.index": np.array([w.index for w in state.window], dtype=np.int64),
        "window.sizes": np.array([rows_of(w.x) for w in state.window], dtype=np.int64),
        "window.resp": np.concatenate([np.zeros((0, state.kp), np.float32), *[w.resp for w in state.window]]),
    }
    for j, h in enumerate(state.past or ()):
        slice_part[f"past.{j}"] = h
    if state.life is not None:
        slice_part |= state.life.arrays()
    return open_part, slice_part
