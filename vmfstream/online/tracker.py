"""The tracker: topics as moving means on the sphere, followed slice by slice in one pass over the documents.

`init` fits the first topics. `step` scores a batch under the prediction made from the past plus what the open slice has
gathered so far, and adds it. `end_slice` lets the slice enter the filter, refits the window of recent slices as a whole
and predicts the next slice. States are values that only these functions make; `vmfstream.online.reading` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.kernels import accumulate, copied, padded
from vmfstream.online import lifecycle
from vmfstream.online.belief import current_belief, few_words, gather, lowest_cosine, refreshed, update, with_prediction
from vmfstream.online.filtering import counts
from vmfstream.online.refit_schedule import RefitSchedule
from vmfstream.online.results import SliceResult as SliceResult
from vmfstream.online.results import StepInfo as StepInfo
from vmfstream.online.slice_end import close, judge
from vmfstream.online.state import (
    ByHand,
    Matrix,
    OpenSlice,
    Rows,
    TrackerSettings,
    TrackState,
    WindowSlice,
    read_only,
    rows_of,
    slice_rng,
)
from vmfstream.online.vocabulary_change import regrown
from vmfstream.online.window import cold_fits, topics_for
from vmfstream.records import Decision

NewRows: TypeAlias = Callable[[], tuple[NDArray[np.int32], Sequence[Rows], Rows, Matrix | None]]
"""Changes the vocabulary and returns ``(columns, window, kept, seeds)`` in the new one.

``columns[j]`` is the old column of new column j, or -1 where it is new; ``window`` are the rows of the slices of the
window, oldest first, and ``kept`` (N, D) the kept rows of the open slice, the same documents as in the state;
``seeds`` (D, J) are the directions of the seeds, whose topics have the ids 0 to J - 1, or None.
"""


def init(
    settings: TrackerSettings,
    slices: Sequence[tuple[int, Rows]],
    open_slice: int,
    open_rows: Rows,
    seeds: Matrix | None = None,
) -> TrackState:
    """Fit the first topics on documents gathered so far.

    Parameters
    ----------
    settings : those of the run, which say how many topics.
    slices : closed slices, as (slice number, unit rows (N, D)); may be empty.
    open_slice : number of the slice that goes on.
    open_rows : (N, D) the documents that it already has, possibly none.
    seeds : (D, J) unit columns: directions of the first J topics, which are pinned there.
    """
    parts = [x for _, x in slices] + ([open_rows] if rows_of(open_rows) or not slices else [])
    dim = int(parts[0].shape[1])
    rng = slice_rng(settings.seed, open_slice, 0)
    leader = settings.persistences.index(sorted(settings.persistences)[len(settings.persistences) // 2])
    seeded = 0 if seeds is None else seeds.shape[1]
    k, fitted = max(topics_for(parts, settings), seeded), sum(map(rows_of, parts))
    fit = cold_fits(parts, k, settings, settings.persistences[leader], rng, seeds if seeded else None)
    kp = padded(k)
    window = tuple(
        WindowSlice(index, x, resp) for (index, x), resp in zip(slices, fit.resp[: len(slices)], strict=True)
    )
    state = TrackState(
        slice=open_slice,
        anchor=fit.anchor,
        kappa=fit.kappa,
        ids=np.arange(k, dtype=np.int64),
        next_id=k,
        n=counts(window, kp),
        n_past=np.zeros(kp),
        past=None,
        window=window,
        scores=np.zeros(len(settings.persistences)),
        leader=leader,
        open=OpenSlice.empty(dim, kp),
        base=np.zeros((dim, kp), np.float32),
        f=np.zeros((dim, kp), np.float32),
        gamma=np.zeros(kp),
        lowest_cosine=lowest_cosine(parts),
        smoothed_drift_angle=np.full(kp, np.nan),
        life=lifecycle.empty_lifecycle(dim, k) if settings.living_topics else None,
        refits=RefitSchedule(sum(rows_of(x) for _, x in slices), fitted),
        by_hand=ByHand(pinned=tuple(range(seeded)), seeded=tuple(range(seeded))),
        prior=fit.prior,
    )
    state = with_prediction(state, settings)
    if len(parts) > len(slices) and rows_of(open_rows):
        resp = fit.resp[-1]
        s = accumulate(open_rows, resp, threads=settings.threads)
        n = resp.sum(axis=0, dtype=np.float64)
        whole = OpenSlice(s, n, rows_of(open_rows), ((open_rows, resp),), len(resp), fitted=True)
        state = refreshed(replace(state, open=whole))
    return read_only(state)


def step(
    state: TrackState, x: Rows, settings: TrackerSettings, *, donate: bool = False, temperature: float = 1.0
) -> tuple[TrackState, StepInfo]:
    """Score a batch ``x`` of unit rows (N, D) under the current belief, then add it to the open slice of ``state``.

    Makes one pass over the non-zeros; ``settings`` are those of `init`. With ``donate`` the buffers of the given state
    are given away and reused: nothing of the size of the vocabulary is copied, and the given state must not be used
    afterwards (its open slice and belief raise RuntimeError). Without, two matrices of that size are copied. The belief
    of a state from donated steps may lack the last fifth of the slice's documents where batches hold most words; see
    `vmfstream.online.belief.refreshed`. Only the probabilities of the labels depend on the ``temperature``.
    """
    if rows_of(x) == 0:
        return state, StepInfo.nothing(0)
    given, state = state, replace(state, lowest_cosine=min(state.lowest_cosine, lowest_cosine([x])))
    room = max(settings.slice_limit - state.open.kept_documents, 0)
    belief = current_belief(state, settings)
    if donate:
        _give_away(given)
    s = state.open.s if donate else copied(state.open.s)
    out = gather(x, belief, threads=settings.threads, keep=room, into=s, beta=1.0 / temperature)
    opened = state.open.extended(s, state.open.n + out.n, rows_of(x), x[:room] if room else x, out.resp)
    info = StepInfo(out.loglik, out.label, out.second, out.probability)
    if not donate:
        return read_only(refreshed(replace(state, open=opened))), info
    words = few_words(x) if state.in_belief == state.open.documents else None
    if words is None and opened.documents < settings.lag * state.in_belief:
        return replace(state, open=opened), info
    f = copied(state.f) if state.f is state.base else state.f
    gamma = update(f, state.gamma, state.base, s, state.kappa, words, settings.threads)
    return replace(state, open=opened, f=f, gamma=gamma, in_belief=opened.documents), info


def spare(state: TrackState) -> TrackState:
    """Return a copy of a state for `step` to take with ``donate``; the given one can still be used afterwards."""
    f = state.f if state.f is state.base else copied(state.f)
    return replace(state, open=replace(state.open, s=copied(state.open.s)), f=f)


@overload
def end_slice(
    state: TrackState,
    settings: TrackerSettings,
    regrow: NewRows | None = None,
    *,
    describe: Literal[True] = True,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult]: ...


@overload
def end_slice(
    state: TrackState,
    settings: TrackerSettings,
    regrow: NewRows | None = None,
    *,
    describe: bool,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult | None]: ...


def end_slice(
    state: TrackState,
    settings: TrackerSettings,
    regrow: NewRows | None = None,
    *,
    describe: bool = True,
    decisions: Sequence[Decision] = (),
) -> tuple[TrackState, SliceResult | None]:
    """End the open slice and begin the next one.

    The slice is judged under the prediction made for it, then the vocabulary changes, then the slice enters the filter.

    Parameters
    ----------
    state, settings : the state and the settings of the run.
    regrow : called once, after the slice was judged in the old vocabulary; None keeps the vocabulary.
    describe : False leaves out the result, whose views of the topics cost passes over all words.
    decisions : what people have decided about topics, see `vmfstream.online.decisions`.
    """
    state, predicted = judge(state, settings, describe=describe)
    if regrow is not None:
        columns, window, kept, seeds = regrow()
        state = regrown(state, columns, window, kept, settings, seeds)
    state, result = close(state, predicted, settings, describe=describe, decisions=decisions)
    return read_only(state), result


class _Donated:
    """Stands in a state for what was given away."""

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError("this state was given away by step(..., donate=True); use the state that step returned")


def _give_away(state: TrackState) -> None:
    gone: Any = _Donated()
    object.__setattr__(state, "open", gone)
    object.__setattr__(state, "f", gone)
