"""What the tracker carries from one epoch to the next, as immutable values and as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

Matrix: TypeAlias = NDArray[np.float32]
Vector: TypeAlias = NDArray[np.float64]
Arrays: TypeAlias = dict[str, NDArray[Any]]
Rows: TypeAlias = "csr_array | NDArray[np.float32]"


SHORT_WINDOW = 100_000
"""Stored coordinates that the window may always hold: refitting short documents costs little and more of them help."""


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    """What a user may choose; the defaults are those that worked on news, abstracts and papers.

    Attributes
    ----------
    topics : number of topics K.
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
        """Documents of one slice that are kept for refits; a larger slice is followed by the filter alone."""
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
class TrackState:
    """The belief about all topics at one moment.

    Each topic's mean has the natural vector ``anchor + h``: the anchor B = C_init mu_0 is common and permanent, the
    data part h follows the filter. ``past`` holds, for every persistence of the grid, the data part predicted to the
    first slice of the window from everything that has left it (None while nothing has). ``base`` is the prediction for
    the open slice under the leading persistence, anchor included, and ``f`` the same plus what the slice gathered.
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
    return open_part, slice_part
