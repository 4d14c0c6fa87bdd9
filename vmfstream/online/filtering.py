"""The filter over slices that a state describes: its committed past, its window, and the anchor over all.

p_1 = the past's prediction,  h_t = p_t + kappa S_t,  p_{t+1} = conv(h_t);  belief about slice t: anchor + h_t

The prior of topics that are pinned belongs to their anchor.

A slice without documents only shortens beliefs. Its statistics are None, and in a row of such slices nothing but the
lengths is computed, so that a long silence costs little.

``state`` is described by its fields; ``stats`` are the sums S_t of the slices of its window over the words that they
hold, oldest first, None for one without documents; ``settings`` hold the grid of persistences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.factors import beliefs
from vmfstream.bayes.temporal.word_sums import RunningBelief, SliceSums
from vmfstream.directional.bessel import R_MAX, bessel_ratio, conv_concentration, inv_bessel_ratio
from vmfstream.directional.kernels import empty
from vmfstream.mixtures.columns import column_norms
from vmfstream.online.state import Matrix, TrackerSettings, TrackState, Vector, WindowSlice, rows_of


def is_first_slice(state: TrackState) -> bool:
    """Tell whether the open slice is the first: nothing predicts it but the anchor."""
    return state.warm_up and not state.window


def run(
    state: TrackState, stats: Sequence[SliceSums | None], grid: int, settings: TrackerSettings
) -> tuple[Matrix | None, Matrix, Matrix]:
    """Run the filter from the committed past over slice statistics under one persistence, number ``grid`` of the grid.

    Returns the belief of the last slice but one, anchor included (None if there is no such slice), the data part h of
    the last one, and the prediction p for the slice after it. Only these are held, however long the window is; the
    work is that of the words that the slices hold.
    """
    if not stats:
        return None, past(state, grid), past(state, grid)
    omega = settings.persistences[grid]
    *earlier, newest = stats
    before = None
    belief = RunningBelief(past(state, grid))
    if not earlier and not state.warm_up:
        before = anchored(state, _unconvolved(belief.matrix(), omega))
    for count, s in enumerate(earlier, start=1):
        _learn(belief, s, state)
        if count == len(earlier):
            before = anchored(state, belief.matrix())
        belief.convolve(omega)
    _learn(belief, newest, state)
    h = belief.matrix()
    belief.convolve(omega)
    return before, h, belief.matrix()


def predicted(
    state: TrackState, stats: Sequence[SliceSums | None], grid: int, settings: TrackerSettings, *, lengths: bool = True
) -> RunningBelief:
    """Return the prediction for the slice after the last under persistence number ``grid``, as `run` does.

    With ``lengths`` the anchor's products come along; no other belief.
    """
    belief = RunningBelief(past(state, grid), state.anchor if lengths else None)
    for s in stats:
        _learn(belief, s, state)
        belief.convolve(settings.persistences[grid])
    return belief


def newest_columns(
    state: TrackState, stats: Sequence[SliceSums | None], topics: NDArray[np.intp], settings: TrackerSettings
) -> Matrix:
    """Data parts of the beliefs of some ``topics`` (M,) at the end of the window, (D, M): columns of h of `run`."""
    none = state.past is None
    belief = RunningBelief(np.zeros((state.dim, len(topics))) if none else past(state, state.leader)[:, topics])
    for count, sums in enumerate(stats):
        if count:
            belief.convolve(settings.persistences[state.leader])
        _learn(belief, sums, state, topics)
    newest: Matrix = belief.matrix()
    return newest


def predicted_sum(
    state: TrackState, stats: Sequence[SliceSums | None], topics: list[int], settings: TrackerSettings
) -> Vector:
    """Data part of `predicted` of a topic that has the documents and the past of some ``topics``, (D,)."""
    belief = RunningBelief(past(state, state.leader)[:, topics].sum(axis=1, keepdims=True))
    for sums in stats:
        one = None if sums is None else SliceSums(sums.words, sums.s[:, topics].sum(axis=1, keepdims=True))
        _learn(belief, one, state)
        belief.convolve(settings.persistences[state.leader])
    return np.asarray(belief.matrix()[:, 0])


def smoothed_oldest(state: TrackState, stats: Sequence[SliceSums | None], settings: TrackerSettings) -> list[Matrix]:
    """Beliefs about the first two slices of the window (or the only one) given all of it, anchor included.

    s_t = anchor + h_t + b_t,  b_t = conv(kappa S_{t+1} + b_{t+1}),  b = 0 in the last slice
    """
    omega = settings.persistences[state.leader]
    belief = RunningBelief(past(state, state.leader))
    later = belief.begun_anew()
    back = [later.matrix()]
    for t in reversed(range(1, len(stats))):
        _learn(later, stats[t], state)
        later.convolve(omega)
        if t <= 2:
            back = [later.matrix(), *back[:1]]
    out = []
    for s, b in zip(stats, back, strict=False):
        _learn(belief, s, state)
        out.append(anchored(state, belief.matrix() + b))
        belief.convolve(omega)
    return out


def _learn(
    belief: RunningBelief, sums: SliceSums | None, state: TrackState, topics: NDArray[np.intp] | None = None
) -> None:
    """Add kappa S of a slice, or of some of its ``topics``; None for one without documents."""
    if sums is not None:
        belief.learn(sums, np.full(sums.s.shape[1] if topics is None else len(topics), state.kappa), topics)


def past(state: TrackState, grid: int) -> Matrix:
    """Data part predicted to the window's first slice under one persistence of the grid; zero while nothing is past."""
    return np.zeros((state.dim, state.kp), np.float32) if state.past is None else state.past[grid]


def anchored(state: TrackState, h: Matrix) -> Matrix:
    """Beliefs about the means from their data parts."""
    belief: Matrix = beliefs.anchored(state.anchor, h, state.k)
    return belief if state.prior is None else belief + state.prior


def statistics(state: TrackState) -> list[SliceSums | None]:
    """Sums of the documents of each slice of the window by their memberships; None for slices without documents."""
    return [w.sums if rows_of(w.x) else None for w in state.window]


def commit(state: TrackState, s: SliceSums | None, n: Vector, settings: TrackerSettings) -> TrackState:
    """One filter step of the committed past, for every persistence: h^0 <- conv(h^0 + kappa S).

    ``s`` are the sums of the slice that leaves the window, None if it has no documents, and ``n`` (kp,) its documents
    by topic.
    """
    sums = np.zeros((state.dim, state.kp), np.float32) if s is None else s.dense(state.dim)

    def step(j: int) -> Matrix:
        before = past(state, j)
        norms = beliefs.learned_norms(before, sums, state.kappa)
        lengths = conv_concentration(state.dim, norms, settings.persistences[j])
        factor = np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0.0)
        out: Matrix = empty(state.dim, state.kp)
        beliefs.learned_scaled(before, sums, state.kappa, factor, out)
        return out

    committed = tuple(step(j) for j in range(len(settings.persistences)))
    return replace(state, past=committed, n_past=state.n_past + n)


def rescaled(h: Matrix, norms: Vector, lengths: Vector) -> Matrix:
    """Give the columns of ``h`` (D, kp), of known ``norms``, new ``lengths``, in place; zero columns stay zero."""
    h *= np.divide(lengths, norms, out=np.zeros_like(norms), where=norms > 0.0).astype(h.dtype)
    return h


def counts(window: Sequence[WindowSlice], kp: int) -> Vector:
    """Documents per topic in slices, (kp,)."""
    return sum((w.n for w in window), np.zeros(kp))


def _unconvolved(p: Matrix, omega: float) -> Matrix:
    """The data part before a convolution, which only shortens it: A(|h|) = A(|p|) / omega."""
    length = column_norms(p)
    ratio = np.minimum(np.asarray(bessel_ratio(len(p), length)) / max(omega, 1e-6), R_MAX)
    wanted = np.asarray(inv_bessel_ratio(len(p), ratio))
    factor = np.divide(wanted, length, out=np.zeros_like(length), where=length > 0.0)
    return p * factor.astype(np.float32)
