"""Labels after the window: documents are labelled again when their story's next documents are known."""

from __future__ import annotations

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
    ) -> tuple[Learnt, NDArray[np.int64]]:
        """Let a mixture learn rows; return what it says, and the second labels of the rows that left meanwhile.

        Parameters
        ----------
        mixture : the same in every call.
        rows, times, vectors : as `SequentialMixture.learn` takes them, checked.
        """
        learnt: list[Learnt] = []
        left, low = [np.zeros(0, np.int64)], 0
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
        return Learnt(labels, retired, cosines), np.concatenate(left)

    def flush(self, mixture: SequentialMixture) -> NDArray[np.int64]:
        """Return the second labels of all rows in the window, and empty it."""
        parts, self._parts = self._parts, []
        return np.concatenate([np.zeros(0, np.int64), *(self._relabelled(mixture, part) for part in parts)])

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

    def _relabelled(self, mixture: SequentialMixture, part: _Part) -> NDArray[np.int64]:
        rows: Any = part.rows
        if isinstance(rows, csr_array) and rows.shape[1] < mixture.columns:
            rows = rows.copy()
            rows.resize((rows.shape[0], mixture.columns))
        labels = mixture.relabel(rows, part.times, part.labels, part.vectors)
        return np.where(labels < 0, part.labels, labels)
