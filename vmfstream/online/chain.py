"""The filter over slices that a state describes: its committed past, its window, and the anchor over all.

p_1 = the past's prediction,  h_t = p_t + kappa S_t,  p_{t+1} = conv(h_t);  belief about slice t: anchor + h_t
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vmfstream.bayes import beliefs
from vmfstream.bayes.beliefs import learn, shrunk
from vmfstream.directional.bessel import R_MAX, bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.state import Matrix, TrackerSettings, TrackState, Vector, WindowSlice


def first(state: TrackState) -> bool:
    """Tell whether the open slice is the first: nothing predicts it but the anchor."""
    return state.settling and not state.window


def run(
    state: TrackState, stats: Sequence[Matrix], grid: int, settings: TrackerSettings
) -> tuple[Matrix | None, Matrix, Matrix]:
    """Run the filter from the committed past over slice statistics under one persistence of the grid.

    Returns the belief of the last slice but one, anchor included (None if there is no such slice), the data part h of
    the last one, and the prediction p for the slice after it. Only these are held, however long the window is.
    """
    omega = settings.persistences[grid]
    p = h = past(state, grid)
    before = None
    for t, s in enumerate(stats):
        if t == len(stats) - 1 and (t or not state.settling):
            before = anchored(state, h if t else _unconvolved(p, omega))
        h, norms = learn(p, s, np.full(state.kp, state.kappa))
        p = shrunk(h, norms, omega)
    return before, h, p


def past(state: TrackState, grid: int) -> Matrix:
    """Data part predicted to the window's first slice under one persistence of the grid; zero while nothing is past."""
    return np.zeros((state.dim, state.kp), np.float32) if state.past is None else state.past[grid]


def anchored(state: TrackState, h: Matrix) -> Matrix:
    """Beliefs about the means from their data parts."""
    return beliefs.anchored(state.anchor, h, state.k)[0]


def statistics(state: TrackState, settings: TrackerSettings) -> list[Matrix]:
    """Sums of the documents of each slice of the window by their memberships."""
    return [accumulate(w.x, w.resp, threads=settings.threads) for w in state.window]


def commit(state: TrackState, s: Matrix, n: Vector, settings: TrackerSettings) -> TrackState:
    """One filter step of the committed past, for every persistence: h^0 <- conv(h^0 + kappa S)."""
    kappa = np.full(state.kp, state.kappa)
    committed = []
    for j, omega in enumerate(settings.persistences):
        h, norms = learn(past(state, j), s, kappa)
        committed.append(shrunk(h, norms, omega, out=h))
    return replace(state, past=tuple(committed), n_past=state.n_past + n)


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
