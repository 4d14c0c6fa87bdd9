"""The tracker's state: immutable values, and the rows of documents that it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from vmfstream.arrays import Matrix as Matrix
from vmfstream.arrays import Rows as Rows
from vmfstream.arrays import Vector as Vector
from vmfstream.bayes.temporal.word_sums import Pins, SliceSums, pins_of
from vmfstream.directional.kernels import copied, padded, zeros
from vmfstream.online.refit_schedule import RefitSchedule
from vmfstream.online.settings import TrackerSettings as TrackerSettings
from vmfstream.records import Arrays as Arrays

NEVER = -(2**62)
"""A slice before all others."""

TOLD_WORDS = 10
"""Strongest words of a topic by which it is known again."""

TOLD_SLICES = 2
"""Slices for which they are remembered."""


@dataclass(frozen=True, eq=False)
class WindowSlice:
    """A closed slice that may still be refitted: its number, rows and responsibilities (N, kp)."""

    index: int
    x: Rows
    resp: Matrix

    @cached_property
    def sums(self) -> SliceSums:
        """Sums of its documents by their memberships."""
        return SliceSums.of(self.x, self.resp)

    @cached_property
    def n(self) -> Vector:
        """Documents of every topic, (kp,)."""
        return np.asarray(self.resp.sum(axis=0, dtype=np.float64))

    def inherit(self, before: WindowSlice, gone: int, column: int) -> None:
        """Add what topic ``gone`` had in ``before`` to a ``column``, in a slice that nobody else has seen."""
        self.resp[:, column] += before.resp[:, gone]
        if self._known is not None:
            self.sums.s[:, column] += before.sums.s[:, gone]

    def rearranged(self, change: Callable[[Matrix], Matrix]) -> WindowSlice:
        """Change columns of the memberships, and of the sums if they were made; ``change`` must be linear."""
        known = self._known
        return self._changed(change(self.resp), None if known is None else SliceSums(known.words, change(known.s)))

    def with_memberships(self, resp: Matrix, topics: NDArray[np.intp]) -> WindowSlice:
        """Replace the memberships by ``resp`` (N, kp), which differs in the columns ``topics`` only."""
        known = self._known
        if known is None:
            return self._changed(resp, None)
        part = np.zeros((len(resp), padded(len(topics))), resp.dtype)
        part[:, : len(topics)] = resp[:, topics]
        rows = np.flatnonzero(part.any(axis=1))
        few = SliceSums.of(self.x[rows], part[rows])
        s = copied(known.s)
        s[:, topics] = 0.0
        s[np.ix_(np.searchsorted(known.words, few.words), topics)] = few.s[:, : len(topics)]
        return self._changed(resp, SliceSums(known.words, s))

    def add(self, rows: NDArray[np.intp], topics: NDArray[np.intp], share: Vector) -> None:
        """Add to ``topics`` (M,) what each of some documents has of another one, in a slice that nobody else has seen.

        ``rows`` (M,) are their numbers and ``share`` (M,) the memberships that are added.
        """
        self.resp[rows, topics] += share
        if self._known is not None:
            self.sums.add(self.x, rows, topics, share)

    def settled(self) -> WindowSlice:
        """Forget sums that were changed, not made from the documents: after a restart they would not be the same."""
        return WindowSlice(self.index, self.x, self.resp) if "changed" in vars(self) else self

    @property
    def _known(self) -> SliceSums | None:
        return vars(self).get("sums")

    def _changed(self, resp: Matrix, sums: SliceSums | None) -> WindowSlice:
        found = WindowSlice(self.index, self.x, resp)
        if sums is not None:
            vars(found).update(sums=sums, changed=True)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class OpenSlice:
    """What the open slice has gathered: statistics s (D, kp) and n (kp,), and its rows as far as they are kept.

    ``kept_documents`` of its documents are kept, in parts that may be as many. ``fitted`` is True if the first fit was
    made on all of its documents and none came since.
    """

    s: Matrix
    n: Vector
    documents: int
    kept: tuple[tuple[Rows, Matrix], ...]
    kept_documents: int
    fitted: bool = False

    @classmethod
    def empty(cls, dim: int, kp: int) -> OpenSlice:
        """Begin a slice without documents."""
        return cls(zeros(dim, kp), np.zeros(kp), 0, (), 0)

    def extended(self, s: Matrix, n: Vector, documents: int, kept: Rows, resp: Matrix) -> OpenSlice:
        """Return the slice with statistics ``s`` and ``n``, more documents, and the rows and memberships kept of them.

        Parameters
        ----------
        s : (D, kp) all sums.
        n : (kp,) all documents per topic.
        documents : how many more there are.
        kept, resp : (M, D) and (M, kp), M <= documents; where M is 0, ``kept`` may have any rows.
        """
        more = ((kept, resp),) if len(resp) else ()
        return OpenSlice(s, n, self.documents + documents, (*self.kept, *more), self.kept_documents + len(resp))


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Documents and how well they were explained on arrival.

    ``gain`` (N,) is the log-density under the prediction made before they came, less that under a topic without
    documents; ``slice`` and ``row`` are where they stood, ``topic`` is the id of their topic on arrival; ``key`` (those
    with the smallest stay in the control sample) and ``half`` are random.
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
        """Rebuild, bit for bit, what the method ``arrays`` made under ``name``, of rows with ``dim`` columns."""
        columns = [arrays[f"{name}.{f.name}"] for f in fields(cls)[1:]]
        if f"{name}.x" in arrays:
            return cls(arrays[f"{name}.x"], *columns)
        parts = tuple(arrays[f"{name}.x.{part}"] for part in ("data", "indices", "indptr"))
        return cls(csr_array(parts, shape=(len(columns[0]), dim)), *columns)


@dataclass(frozen=True, slots=True, eq=False)
class Lifecycle:
    """Statistics by which births, dormancy and alarms are judged; arrays of K values have one per topic, in order.

    Attributes
    ----------
    recent : documents of the last slices.
    control : a uniform sample of all older documents.
    arrival_gain, arrival_slice, arrival_topic : (M,) gains (see `Sample`) of the newest documents, their slices and the
        ids of their topics on arrival.
    watched_since : (1,) slice from which on the gains of all documents are watched for a change.
    recent_slices : (T,) the last slices.
    recent_counts : (T, K) documents per topic in these.
    decayed_share : (K,) decayed sum of the topics' shares of the documents in the slices before these.
    decayed_weight : (K,) what it would be for a share of 1; their quotient is the usual share.
    reference_share : (K,) the share that dormancy is measured by.
    dormant_since : (K,) slice in which the topic became dormant, `NEVER` while it is active.
    topic_watched_since : (K,) slice from which on the gains of the topic's documents are watched for a change.
    alive_since : (K,) slice in which the topic was born, `NEVER` for those of a first fit or a fit from nothing.
    trial : (K,) slices with documents until a new topic is judged, see `vmfstream.online.lifecycle`; 0 for others.
    numbered_since : (K,) slice in which the topic got another number, `NEVER` for those that kept their first one.
    told : (T, K) columns, plus 1, of each topic's strongest words at the ends of the last two slices, `TOLD_WORDS` of
        the older one first; 0 for none, as in dense documents.
    holder : (M,) ids of the topics of the window's documents at the ends of their slices, oldest first.
    """

    recent: Sample
    control: Sample
    arrival_gain: Vector
    arrival_slice: NDArray[np.int64]
    arrival_topic: NDArray[np.int64]
    watched_since: NDArray[np.int64]
    recent_slices: NDArray[np.int64]
    recent_counts: NDArray[np.float64]
    decayed_share: Vector
    decayed_weight: Vector
    reference_share: Vector
    dormant_since: NDArray[np.int64]
    topic_watched_since: NDArray[np.int64]
    alive_since: NDArray[np.int64]
    trial: NDArray[np.int64]
    numbered_since: NDArray[np.int64]
    told: NDArray[np.int64]
    holder: NDArray[np.int64]

    def vectors(self) -> list[NDArray[Any]]:
        """Return all arrays but the rows of the samples."""
        own = [getattr(self, name) for name in _STORED]
        return own + [getattr(sample, f.name) for sample in (self.recent, self.control) for f in fields(sample)[1:]]

    def arrays(self) -> Arrays:
        """Flatten under names that begin with ``life.``."""
        arrays = {stored: getattr(self, name) for name, stored in _STORED.items()}
        return arrays | self.recent.arrays("life.recent") | self.control.arrays("life.control")

    @classmethod
    def from_arrays(cls, arrays: Arrays, dim: int) -> Lifecycle | None:
        """Rebuild what `arrays` made, bit for bit; None where nothing was stored.

        In arrays of versions that did not remember births, trials and holders, all topics count as there from the
        beginning.
        """
        if _STORED["decayed_share"] not in arrays:
            return None
        recent, control = (Sample.from_arrays(arrays, f"life.{name}", dim) for name in ("recent", "control"))
        asleep = arrays[_STORED["dormant_since"]]
        unknown = np.zeros((TOLD_SLICES * TOLD_WORDS, len(asleep)), np.int64)
        missing = {
            "life.told": unknown,
            "life.alive": np.full_like(asleep, NEVER),
            "life.trial": np.zeros_like(asleep),
            "life.numbered": np.full_like(asleep, NEVER),
            "life.holder": asleep[:0],
        }
        known = missing | arrays
        return cls(recent, control, **{name: known[stored] for name, stored in _STORED.items()})


_STORED = {
    "arrival_gain": "life.heard",
    "arrival_slice": "life.heard_slice",
    "arrival_topic": "life.heard_topic",
    "watched_since": "life.calm",
    "recent_slices": "life.tallied",
    "recent_counts": "life.tally",
    "decayed_share": "life.usual",
    "decayed_weight": "life.weight",
    "reference_share": "life.height",
    "dormant_since": "life.asleep",
    "topic_watched_since": "life.watched",
    "alive_since": "life.alive",
    "trial": "life.trial",
    "numbered_since": "life.numbered",
    "told": "life.told",
    "holder": "life.holder",
}
"""Names under which run files hold the arrays of `Lifecycle`."""


@dataclass(frozen=True, slots=True)
class ByHand:
    """What people have decided about topics, by their ids.

    ``pinned`` topics never end and keep their direction; the pairs ``apart`` are not merged, and topics that are
    ``whole`` are not split unless documents of a new kind come. ``settled`` tells that a decision refers to the topics
    as they are: fits from nothing, which may change what an id means, compete no more. ``seeded`` are those of the
    pinned topics whose prior is a seed.
    """

    pinned: tuple[int, ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    whole: tuple[int, ...] = ()
    settled: bool = False
    seeded: tuple[int, ...] = ()

    def are_pinned(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which topics are pinned, (K,)."""
        return np.isin(ids, np.array(self.pinned, np.int64))

    def may_merge(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which pairs of topics may become one, (K, K): two pinned ones, and those kept apart, may not."""
        pinned = self.are_pinned(ids)
        allowed = ~np.outer(pinned, pinned)
        for pair in self.apart:
            one, other = (np.flatnonzero(ids == topic) for topic in pair)
            allowed[np.ix_(one, other)] = allowed[np.ix_(other, one)] = False
        return allowed

    def merged(self, gone: int, into: int) -> ByHand:
        """Let a topic that goes on inherit from what the one that is gone was kept apart."""
        renamed = ((into if one == gone else one, into if other == gone else other) for one, other in self.apart)
        return replace(self, apart=tuple(dict.fromkeys((one, other) for one, other in renamed if one != other)))

    def of_living(self, ids: NDArray[np.int64]) -> ByHand:
        """Forget what concerns topics that are gone; those with these ``ids`` (K,) are there."""
        living = set(ids.tolist())
        return replace(
            self,
            pinned=tuple(topic for topic in self.pinned if topic in living),
            apart=tuple(pair for pair in self.apart if living.issuperset(pair)),
            whole=tuple(topic for topic in self.whole if topic in living),
            seeded=tuple(topic for topic in self.seeded if topic in living),
        )


@dataclass(frozen=True, slots=True, eq=False)
class TrackState:
    """The belief about all topics at one moment.

    Each topic's mean has the natural vector ``anchor + h``: the anchor B = C_init mu_0 is common and permanent, the
    data part h follows the filter. ``past`` holds, for every persistence of the grid, the data part predicted to the
    first slice of the window from everything that has left it (None while nothing has). ``base`` is the prediction for
    the open slice under the leading persistence, anchor included, and ``f`` the same plus what the slice gathered from
    its first ``in_belief`` documents. ``life`` is None where the topics are fixed; ``refits`` tells when the window is
    refitted.

    ``by_hand`` is what people have decided. ``prior`` (D, kp) is what is known about the means of pinned topics from
    the beginning: it is added to the anchor of each and never fades; zero for others, None without any.
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
    smoothed_drift_angle: Vector
    life: Lifecycle | None = None
    in_belief: int = 0
    refits: RefitSchedule = field(default_factory=RefitSchedule)
    by_hand: ByHand = field(default_factory=ByHand)
    prior: Matrix | None = None

    @property
    def dim(self) -> int:
        """Dimension D."""
        return int(self.base.shape[0])

    @property
    def k(self) -> int:
        """Number of topics."""
        return len(self.ids)

    @property
    def active(self) -> int:
        """Number of topics that are not dormant."""
        return self.k if self.life is None else int(np.count_nonzero(self.life.dormant_since == NEVER))

    @property
    def kp(self) -> int:
        """Number of columns that the topics are stored in."""
        return len(self.n_past)

    @property
    def pins(self) -> Pins | None:
        """The prior of pinned topics, None without any."""
        return None if self.prior is None else pins_of(self.prior)

    @property
    def seeds(self) -> Matrix | None:
        """Directions (D, J) of the seeds, whose topics are the first ones during the warm-up; None without any."""
        if self.prior is None or not self.by_hand.seeded:
            return None
        own = self.prior[:, np.flatnonzero(np.isin(self.ids, np.array(self.by_hand.seeded)))]
        lengths = np.linalg.norm(own.astype(np.float64), axis=0)
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        return np.asarray(own * scale.astype(np.float32))

    @property
    def warm_up(self) -> bool:
        """True while every slice is in the window: fits from nothing still compete and ids may change their meaning."""
        return self.past is None


def slice_rng(seed: int, index: int, *purpose: int) -> np.random.Generator:
    """Return what draws at a slice: slices of before 1970 have negative numbers.

    Parameters
    ----------
    seed : that of the run.
    index : number of the slice.
    *purpose : not negative; each gives other draws.
    """
    return np.random.default_rng([seed, index % 2**32, *purpose])


def read_only(state: TrackState) -> TrackState:
    """Mark the vectors of a state read-only and return it.

    Matrices stay as they are: compiled functions would have to be compiled again for read-only ones.
    """
    vectors: list[NDArray[Any]] = [
        state.ids,
        state.n,
        state.n_past,
        state.scores,
        state.smoothed_drift_angle,
        state.open.n,
    ]
    if state.life is not None:
        vectors += state.life.vectors()
    for vector in vectors:
        vector.flags.writeable = False
    return state


def rows_of(x: Rows) -> int:
    """Number of rows."""
    return int(x.shape[0])


def same_rows(x: Rows, other: Rows) -> bool:
    """Tell whether rows are equal to the last bit."""
    if isinstance(x, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(x, other)
    return all(np.array_equal(getattr(x, part), getattr(other, part)) for part in ("indptr", "indices", "data"))


def rows_in_columns(x: Rows, columns: NDArray[np.int32]) -> Rows:
    """Move unit rows to a new vocabulary (see `vmfstream.online.tracker.NewRows`); words that left are lost."""
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
