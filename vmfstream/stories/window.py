"""Smoothed story labels: documents are labelled again when a window of later documents is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.arrays import Rows
from vmfstream.stories.mixture import Learnt, Retired, SequentialMixture

STRIDE = 100
"""Rows after which those that are past the window leave it together."""


class _Part(NamedTuple):
    """Rows in the window, their labels as they are after mergers, and their times."""

    rows: Rows
    labels: NDArray[np.int64]
    times: NDArray[np.floating[Any]]
    vectors: NDArray[np.float32] | None

    def taken(self, some: slice) -> _Part:
        vectors = None if self.vectors is None else self.vectors[some]
        return _Part(self.rows[some], self.labels[some], self.times[some], vectors)


class Left(NamedTuple):
    """Rows that left the window, (N,): their second ``labels``, and those ``before``, which follow mergers."""

    labels: NDArray[np.int64]
    before: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[Left]) -> Left:
        """Put parts behind each other."""
        nothing = np.zeros(0, np.int64)
        return cls(*(np.concatenate([nothing, *(part[i] for part in parts)]) for i in range(2)))


class Window:
    """The rows that were learnt last, each of which gets a second label when it leaves.

    The second label is the most probable story as stories are then, without the row itself, those included that were
    opened or merged since; a row that would be alone keeps its first one. Labels do not depend on how rows are cut into
    batches.

    Parameters
    ----------
    size : int
        Rows that are learnt at least between the two labels of a row, at least 1; up to `STRIDE` more are.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._parts: list[_Part] = []
        self._seen = 0

    def learn(
        self,
        mixture: SequentialMixture,
        rows: Rows,
        times: NDArray[np.float64] | None,
        vectors: NDArray[np.float32] | None = None,
    ) -> tuple[Learnt, Left]:
        """Let a mixture learn rows; return what it says, and the rows that left meanwhile.

        Parameters
        ----------
        mixture : the same in every call.
        rows, times, vectors : as `SequentialMixture.learn` takes them, checked.
        """
        learnt: list[Learnt] = []
        left, low = list[Left](), 0
        while low < rows.shape[0] or not learnt:
            step = min(rows.shape[0] - low, STRIDE - self._seen % STRIDE)
            some = slice(low, low + step)
            given = None if times is None else times[some]
            number, newest = mixture.n_documents, mixture.newest
            beside = None if vectors is None else vectors[some]
            learnt.append(mixture.learn(rows[some], given, beside))
            known = learnt[-1].labels >= 0
            if given is None:
                came = number + np.cumsum(known) - 1.0
            else:
                came = np.maximum(np.maximum.accumulate(np.where(known, given, -np.inf)), newest)
            self._parts.append(_Part(rows[some], learnt[-1].labels.copy(), came, beside))
            self._follow(learnt[-1].retired)
            self._seen += step
            low += step
            if step and self._seen % STRIDE == 0:
                left += [self._relabelled(mixture, part) for part in self._leave()]
        retired = Retired(*(np.concatenate(parts) for parts in zip(*(one.retired for one in learnt), strict=True)))
        labels, cosines = (np.concatenate([getattr(one, name) for one in learnt]) for name in ("labels", "cosines"))
        return Learnt(labels, retired, cosines), Left.joined(left)

    def flush(self, mixture: SequentialMixture) -> Left:
        """Let all rows leave, and return them."""
        left = Left.joined([self._relabelled(mixture, part) for part in self._parts])
        self._parts = []  # not before: after Ctrl-C they are still there
        return left

    def remap(self, terms: NDArray[np.integer], columns: int) -> None:
        """Follow a renumbering of the columns, as `vmfstream.engine.loop.stories.remapped` does; for sparse rows."""
        self._parts = [part._replace(rows=_renumbered(part.rows, terms, columns)) for part in self._parts]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays, for `restore`; for sparse rows."""
        rows: Any = [part.rows for part in self._parts]
        if not rows:
            return {"seen": np.array([self._seen])}
        lengths = np.concatenate([np.diff(one.indptr) for one in rows])
        vectors = [part.vectors for part in self._parts if part.vectors is not None]
        beside = {"vectors": np.concatenate(vectors)} if vectors else {}
        return beside | {
            "seen": np.array([self._seen]),
            "indptr": np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
            "indices": np.concatenate([one.indices for one in rows]).astype(np.int32),
            "values": np.concatenate([one.data for one in rows]),
            "labels": np.concatenate([part.labels for part in self._parts]),
            "times": np.concatenate([part.times for part in self._parts]).astype(np.float64),
        }

    def restore(self, arrays: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Continue from what `arrays` returned, with rows of so many ``columns``."""
        self._seen = int(arrays["seen"][0])
        if "labels" in arrays:
            labels = np.array(arrays["labels"])
            parts = (arrays["values"], arrays["indices"], arrays["indptr"])
            rows = csr_array(parts, shape=(len(labels), columns))
            self._parts = [_Part(rows, labels, arrays["times"], arrays.get("vectors"))]

    def columns_in_use(self, columns: int) -> NDArray[np.bool_]:
        """Tell which of so many columns rows in the window hold; for sparse rows."""
        used = np.zeros(columns, bool)
        for part in self._parts:
            used[part.rows.indices] = True  # type: ignore[union-attr]
        return used

    def _follow(self, retired: Retired) -> None:
        """Let the labels of rows in the window follow mergers."""
        merged = retired.into >= 0
        for gone, kept in zip(retired.ids[merged], retired.into[merged], strict=True):
            for part in self._parts:
                part.labels[part.labels == gone] = kept

    def _leave(self) -> list[_Part]:
        """Take out what is past the window."""
        beyond = sum(len(part.labels) for part in self._parts) - self.size
        left = []
        while beyond > 0:
            first, size = self._parts[0], len(self._parts[0].labels)
            out = min(beyond, size)
            left.append(first.taken(slice(out)))
            self._parts[:1] = [first.taken(slice(out, size))] if out < size else []
            beyond -= out
        return left

    def _relabelled(self, mixture: SequentialMixture, part: _Part) -> Left:
        rows: Any = part.rows
        if isinstance(rows, csr_array) and rows.shape[1] < mixture.columns:
            rows = rows.copy()
            rows.resize((rows.shape[0], mixture.columns))
        labels = mixture.relabel(rows, part.times, part.labels, part.vectors)
        return Left(np.where(labels < 0, part.labels, labels), part.labels)


def _renumbered(rows: Any, terms: NDArray[np.integer], columns: int) -> csr_array:
    """Return sparse rows under other columns, ``terms`` of the old ones, without those that are gone (-1)."""
    new = terms[rows.indices]
    stay = new >= 0
    bounds = np.concatenate(([0], np.cumsum(stay)))[rows.indptr]
    return csr_array((rows.data[stay], new[stay].astype(np.int32), bounds), shape=(rows.shape[0], columns))
