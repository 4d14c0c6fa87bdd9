"""A stream of vectors without times: slices are cut by counts, and dimensions may be added."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vmfstream.directional.kernels import WORTH_SHARING
from vmfstream.directional.sphere import unit_rows
from vmfstream.online import tracker
from vmfstream.online.belief import few_words
from vmfstream.online.reading import memberships
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, Vector, rows_of, stack
from vmfstream.online.tracker import StepInfo

BATCH = 5000
"""Most rows that are scored under the same belief before they are added to it."""


class CountSlicedStream:
    """A tracker over rows that come without times.

    While all rows are still in the window, a slice ends when it has as many as came before it, so that the topics are
    fitted again on twice the rows; afterwards when it has ``size``.

    Parameters
    ----------
    settings : TrackerSettings
    size : rows of a slice after the warm-up.

    Attributes
    ----------
    state : TrackState, or None before the first row with a direction.
    dim : dimensions seen so far; those above ``state.dim`` count from the next slice on.
    """

    def __init__(self, settings: TrackerSettings, size: int) -> None:
        self.settings, self.size = settings, size
        self.state: TrackState | None = None
        self.dim = 0
        self._before: tuple[NDArray[np.intp], Matrix, Matrix] | None = None
        self._open: tuple[Rows, ...] = ()  # what the tracker keeps of its slice, with dimensions that it does not know

    def following(self, x: Rows) -> CountSlicedStream:
        """Return a copy of the stream to `learn` unit rows ``x`` (N, D); if that fails, `take_back` has to be called.

        The two share the sums if rows are few and have few of the words: then one row costs no copy of the sums of all
        words. Few are those that one thread learns: others would go on to write into the sums after an interruption.
        """
        made, state = copy(self), self.state
        if state is None:
            return made
        alone = isinstance(x, csr_array) and 10 * x.nnz * state.kp <= WORTH_SHARING
        known = x.shape[1] == state.dim and state.in_belief == state.open.documents
        if alone and known and (words := few_words(x)) is not None:
            self._before = words, state.open.s[words], state.f[words]
            made.state = replace(state)
        else:
            made.state = tracker.spare(state)
        return made

    def take_back(self) -> None:
        """Be again as before `following`: take what the copy has learnt out of sums that it shares."""
        if self._before is not None and self.state is not None:
            words, s, f = self._before
            self.state.open.s[words], self.state.f[words] = s, f
            self._before = None

    def learn(self, x: Rows) -> StepInfo:
        """Read unit rows (N, D) in float32; a csr_array may have more columns than those before.

        Returns log-densities and labels as they were on arrival; the very first rows are scored after they were fitted.
        """
        self.dim = max(self.dim, x.shape[1])
        infos: list[StepInfo] = []
        low = 0
        while low < rows_of(x):
            high = low + self._room()
            part = x if low == 0 and high >= rows_of(x) else x[low:high]
            low += rows_of(part)
            infos.append(self._read(part))
            if self.state is not None and self.state.open.documents >= self._most(self.state):
                self.state = self._ended(self.state)
        parts = zip(StepInfo.nothing(0), *infos, strict=True)
        return StepInfo(*(np.concatenate(column) for column in parts))

    def _read(self, part: Rows) -> StepInfo:
        """Score and add rows that fit into the open slice."""
        kept = self._kept()
        if kept < self.settings.slice_limit:
            part = part.copy()  # the caller may use the memory again
        rows = _directions(part, self.dim if self.state is None else self.state.dim)
        if self.state is not None:
            self.state, info = tracker.step(self.state, rows, self.settings, donate=True)
        elif np.any(rows.data if isinstance(rows, csr_array) else rows):
            self.state = tracker.init(self.settings, [], 0, rows)
            resp, loglik = memberships(self.state, rows, self.settings)
            label = np.where(resp.any(axis=1), resp.argmax(axis=1), -1).astype(np.int32)
            none = np.full(rows_of(rows), -1, np.int32)
            probability = np.stack([resp.max(axis=1), np.zeros(rows_of(rows), np.float32)], axis=1)
            info = StepInfo(loglik, label, none, probability)
        else:
            return StepInfo.nothing(rows_of(rows))
        if more := self._kept() - kept:
            self._open = (*self._open, part[:more])
        return info

    def posterior(self, x: Rows) -> tuple[Matrix, Vector]:
        """Return memberships (N, kp) and log-densities (N,), relative to uniform, of unit rows under what is known now.

        Raises
        ------
        ValueError
            If no row with a direction was read yet.
        """
        if self.state is None:
            raise ValueError("posterior: expected a stream that has read a row with a direction, it has read none")
        return memberships(self.state, _directions(x, self.state.dim), self.settings)

    def _room(self) -> int:
        """Rows that may be read together: to the end of the slice."""
        if self.state is None:
            return self.settings.slice_limit
        return min(BATCH, self._most(self.state) - self.state.open.documents)

    def _most(self, state: TrackState) -> int:
        """Rows of the open slice at its end."""
        return max(1, sum(rows_of(w.x) for w in state.window)) if state.warm_up else self.size

    def _kept(self) -> int:
        """Rows of the open slice that the tracker keeps."""
        return 0 if self.state is None else self.state.open.kept_documents

    def _ended(self, state: TrackState) -> TrackState:
        """End the slice; dimensions that came in it count from now on."""

        def regrow() -> tuple[NDArray[np.int32], Sequence[Rows], Rows, None]:
            columns = np.where(np.arange(self.dim) < state.dim, np.arange(self.dim), -1).astype(np.int32)
            kept = stack([_widened(rows, self.dim) for rows in self._open], self.dim)
            return columns, [_widened(w.x, self.dim) for w in state.window], kept, None

        wider = regrow if self.dim > state.dim else None
        state, _ = tracker.end_slice(state, self.settings, wider, describe=False)
        self._open = ()
        return state


def _widened(x: Rows, dim: int) -> Rows:
    """The same rows with columns of zeros up to ``dim``."""
    if not isinstance(x, csr_array) or x.shape[1] == dim:
        return x
    return csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], dim))


def _directions(x: Rows, dim: int) -> Rows:
    """Directions of unit rows in the first ``dim`` columns."""
    if isinstance(x, csr_array) and x.shape[1] > dim:
        return unit_rows(x[:, :dim])[0]
    return _widened(x, dim)
