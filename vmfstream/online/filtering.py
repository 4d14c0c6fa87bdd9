"""The filter over slices that a state describes: its committed past, its window, and the anchor over all.

p_1 = the past's prediction,  h_t = p_t + kappa S_t,  p_{t+1} = conv(h_t);  belief about slice t: anchor + h_t

A slice without documents only shortens beliefs. Its statistics are None, and in a row of such slices nothing but the
lengths is computed, so that a long silence costs little.

``state`` is described by its fields; ``stats`` are the sums S_t (D, kp) of the slices of its window, oldest first, None
for one without documents; ``settings`` hold the grid of persistences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from vmfstream.bayes.factors import beliefs
from vmfstream.bayes.factors.beliefs import learn, resized
from vmfstream.directional.bessel import R_MAX, bessel_ratio, conv_concentration, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.state import Matrix, TrackerSettings, TrackState, Vector, WindowSlice, rows_of


def is_first_slice(state: TrackState) -> bool:
    """Tell whether the open slice is the first: nothing predicts it but the anchor."""
    return state.warm_up and not state.window


def run(
    state: TrackState, stats: Sequence[Matrix | None], grid: int, settings: TrackerSettings
) -> tuple[Matrix | None, Matrix, Matrix]:
    """Run the filter from the committed past over slice statistics under one persistence, number ``grid`` of the grid.

    Returns the belief of the last slice but one, anchor included (None if there is no such slice), the data part h of
    the last one, and the prediction p for the slice after it. Only these are held, however long the window is.
    """
    omega = settings.persistences[grid]
    h = _Directions.of(past(state, grid))
    p, before = h, None
    for t, s in enumerate(stats):
        if t == len(stats) - 1 and (t or not state.warm_up):
            before = anchored(state, h.matrix() if t else _unconvolved(p.matrix(), omega))
        h = p.learnt(s, state)
        p = h.convolved(omega)
    return before, h.matrix(), p.matrix()


def smoothed_oldest(state: TrackState, stats: Sequence[Matrix | None], settings: TrackerSettings) -> list[Matrix]:
    """Beliefs about the first two slices of the window (or the only one) given all of it, anchor included.

    s_t = anchor + h_t + b_t,  b_t = conv(kappa S_{t+1} + b_{t+1}),  b = 0 in the last slice
    """
    omega = settings.persistences[state.leader]
    back = [_Directions.of(np.zeros((state.dim, state.kp), np.float32))]
    for s in reversed(stats[1:]):
        back = [back[0].learnt(s, state).convolved(omega), back[0]]
    out = []
    p = _Directions.of(past(state, state.leader))
    for s, b in zip(stats, back, strict=False):
        h = p.learnt(s, state)
        out.append(anchored(state, h.matrix() + b.matrix()))
        p = h.convolved(omega)
    return out


class _Directions(NamedTuple):
    """Natural vectors by their directions, the columns of ``m`` of the given ``norms``, and their ``lengths``."""

    m: Matrix
    norms: Vector
    lengths: Vector

    @classmethod
    def of(cls, m: Matrix) -> _Directions:
        norms = column_norms(m)
        return cls(m, norms, norms)

    def learnt(self, s: Matrix | None, state: TrackState) -> _Directions:
        return self if s is None else _updated(self.matrix(), s, state)

    def convolved(self, omega: float) -> _Directions:
        return self._replace(lengths=conv_concentration(len(self.m), self.lengths, omega))

    def matrix(self) -> Matrix:
        return self.m if self.lengths is self.norms else resized(self.m, self.norms, self.lengths)


def _updated(p: Matrix, s: Matrix, state: TrackState) -> _Directions:
    """Return h = p + kappa S."""
    h, norms = learn(p, s, np.full(state.kp, state.kappa))
    return _Directions(h, norms, norms)


def past(state: TrackState, grid: int) -> Matrix:
    """Data part predicted to the window's first slice under one persistence of the grid; zero while nothing is past."""
    return np.zeros((state.dim, state.kp), np.float32) if state.past is None else state.past[grid]


def anchored(state: TrackState, h: Matrix) -> Matrix:
    """Beliefs about the means from their data parts."""
    belief: Matrix = beliefs.anchored(state.anchor, h, state.k)
    return belief


def statistics(state: TrackState, settings: TrackerSettings) -> list[Matrix | None]:
    """Sums of the documents of each slice of the window by their memberships; None for slices without documents."""
    return [accumulate(w.x, w.resp, threads=settings.threads) if rows_of(w.x) else None for w in state.window]


def commit(state: TrackState, s: Matrix | None, n: Vector, settings: TrackerSettings) -> TrackState:
    """One filter step of the committed past, for every persistence: h^0 <- conv(h^0 + kappa S).

    ``s`` (D, kp) are the sums of the slice that leaves the window, None if it has no documents, and ``n`` (kp,) its
    documents by topic.
    """

    def step(j: int) -> Matrix:
        omega = settings.persistences[j]
        if s is None:
            return _Directions.of(past(state, j)).convolved(omega).matrix()
        h = _updated(past(state, j), s, state)
        return rescaled(h.m, h.norms, conv_concentration(state.dim, h.norms, omega))

    committed = tuple(step(j) for j in range(len(settings.persistences)))
    return replace(state, past=committed, n_past=state.n_past + n)


def rescaled(h: Matrix, norms: Vector, lengths: Vector) -> Matrix:
    """Give the columns of ``h`` (D, kp), of known ``norms``, new ``lengths``, in place; zero columns stay zero."""
    h *= np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0.0).astype(h.dtype)
    return h


def counts(window: Sequence[WindowSlice], kp: int) -> Vector:
    """Documents per topic in slices, (kp,)."""
    return sum((w.resp.sum(axis=0, dtype=np.float64) for w in window), np.zeros(kp))


def _unconvolved(p: Matrix, omega: float) -> Matrix:
    """The data part before a convolution, which only shortens it: A(|h|) = A(|p|) / omega."""
    length = column_norms(p)
    ratio = np.minimum(np.asarray(bessel_ratio(len(p), length)) / max(omega, 1e-6), R_MAX)
    wanted = np.asarray(inv_bessel_ratio(len(p), ratio))
    factor = np.divide(wanted, length, out=np.zeros_like(length), where=length > 0.0)
    return p * factor.astype(np.float32)
