"""A slice shared among workers: each scores documents of its own and returns sums over the words that they hold.

Sums are additive, and scoring needs only the rows of the words that occur. So a worker gets the prediction once per
slice, what the slice has gathered so far once per epoch, and returns a row per word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.factors.beliefs import learn
from vmfstream.bayes.temporal.word_sums import narrowed
from vmfstream.online.belief import Belief, ScorePolynomial, current_belief, gather, refreshed, score_polynomial
from vmfstream.online.results import StepInfo
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, Vector, read_only, rows_of

WordColumns = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class SliceProgress:
    """What a slice has gathered so far: sums ``s`` (A, kp) of ``words`` (A,), and what scoring needs of the rest."""

    words: WordColumns
    s: Matrix
    weight: Vector
    gamma: Vector
    kappa: float
    log_weights: Vector
    lowest_cosine: float
    poly: ScorePolynomial


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """Statistics of some documents: sums ``s`` (A, kp) of the ``words`` (A,) that they hold, and ``n`` (kp,).

    ``documents`` have been scored, ``scored`` of them with a direction, whose log-densities have the sum ``loglik``.
    """

    words: WordColumns
    s: Matrix
    n: Vector
    documents: int
    scored: int
    loglik: float


class ScoredRows(NamedTuple):
    """Documents one by one: what `StepInfo` has of all, memberships (M, kp) of the first."""

    info: StepInfo
    resp: Matrix


def slice_progress(
    state: TrackState, lowest_cosine: float, settings: TrackerSettings
) -> tuple[TrackState, SliceProgress]:
    """Return what workers need besides ``state.base``, and the state that takes documents of this ``lowest_cosine``.

    ``settings`` are those of the run.
    """
    state = replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine))
    now = current_belief(state, settings)
    words = np.flatnonzero(state.open.s.any(axis=1))
    weight = np.full(state.kp, state.kappa)
    rest = (now.gamma, now.kappa, now.log_weights, now.lowest_cosine, score_polynomial(now))
    return state, SliceProgress(words, state.open.s[words], weight, *rest)


def partial_sums(
    x: Rows, base: Matrix, so_far: SliceProgress, keep: int, threads: int, temperature: float = 1.0
) -> tuple[PartialSums, ScoredRows]:
    """Score documents under the prediction and what the slice has gathered, and sum them up.

    ``x`` are unit rows (N, D), ``base`` (D, kp) is the prediction, ``so_far`` is from `slice_progress`. Memberships are
    returned of the first ``keep`` documents; ``threads`` share the rows.
    Only the probabilities of the labels depend on the ``temperature``.
    """
    narrow = narrowed(x)
    f, _ = learn(base[narrow.words], _rows(so_far, narrow.words), so_far.weight)
    now = Belief(f, so_far.gamma, so_far.kappa, so_far.log_weights, so_far.lowest_cosine)
    out = gather(narrow.x, now, threads=threads, keep=keep, poly=so_far.poly, beta=1.0 / temperature)
    scored = out.label >= 0
    loglik = float(out.loglik[scored].sum())
    sums = PartialSums(narrow.words, out.s, out.n, rows_of(x), int(np.count_nonzero(scored)), loglik)
    return sums, ScoredRows(StepInfo(out.loglik, out.label, out.second, out.probability), out.resp)


def added(a: PartialSums, b: PartialSums) -> PartialSums:
    """Add the sums of other documents."""
    words = np.union1d(a.words, b.words)
    s = np.zeros((len(words), a.s.shape[1]), np.float32)
    for one in (a, b):
        s[np.searchsorted(words, one.words)] += one.s
    numbers = (a.documents + b.documents, a.scored + b.scored, a.loglik + b.loglik)
    return PartialSums(words, s, a.n + b.n, *numbers)


def step_by_sums(state: TrackState, sums: PartialSums, kept: Rows, resp: Matrix) -> TrackState:
    """Add documents to the open slice of ``state`` by their ``sums``.

    Of those to be kept, ``kept`` are the unit rows (M, D) and ``resp`` the memberships (M, kp).
    """
    s = state.open.s.copy()
    s[sums.words] += sums.s
    opened = state.open.extended(s, state.open.n + sums.n, sums.documents, kept, resp)
    return read_only(refreshed(replace(state, open=opened)))


def _rows(so_far: SliceProgress, words: WordColumns) -> Matrix:
    """Rows of the gathered sums of these words, zero where nothing was gathered."""
    out = np.zeros((len(words), so_far.s.shape[1]), np.float32)
    at = np.searchsorted(so_far.words, words)
    known = np.flatnonzero(at < len(so_far.words))
    known = known[so_far.words[at[known]] == words[known]]
    out[known] = so_far.s[at[known]]
    return out
