"""Topic slots, the columns that topics are stored in: adding a topic, merging two, removing one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.bayes.factors.beliefs import learn
from vmfstream.bayes.temporal.chain import convolve
from vmfstream.directional.kernels import accumulate, copied, empty, padded
from vmfstream.online.state import (
    NEVER,
    Lifecycle,
    Matrix,
    Sample,
    TrackerSettings,
    TrackState,
    WindowSlice,
    stack,
)

PER_TOPIC = (
    "recent_counts",
    "decayed_share",
    "decayed_weight",
    "reference_share",
    "dormant_since",
    "topic_watched_since",
    "alive_since",
    "trial",
    "numbered_since",
    "told",
)
"""Fields of `Lifecycle` that have a value per topic."""

ADDITIVE = ("recent_counts", "decayed_share", "reference_share")
"""Those that add up when two topics become one."""


def rearranged(state: TrackState, columns: NDArray[np.int64], ids: NDArray[np.int64]) -> TrackState:
    """Let topic j stand where topic ``columns[j]`` of ``state`` stood, or be new where that is -1.

    ``ids`` (K,) are those of the topics afterwards.
    """
    kp = padded(len(columns))
    wide = np.append(columns, np.full(kp - len(columns), -1))
    as_they_are = kp == state.kp and np.array_equal(columns[: state.k], np.arange(state.k))

    def placed(a: Matrix) -> Matrix:
        return a if as_they_are else columns_at(a, wide)  # padded columns are zero

    return replace(
        state,
        ids=ids,
        n=_chosen(state.n, wide),
        n_past=_chosen(state.n_past, wide),
        past=None if state.past is None else tuple(placed(h) for h in state.past),
        prior=None if state.prior is None else placed(state.prior),
        window=state.window if as_they_are else tuple(w.rearranged(placed) for w in state.window),
        smoothed_drift_angle=_chosen(state.smoothed_drift_angle, wide, np.nan),
        life=None if state.life is None else with_columns(state.life, columns),
    )


def with_columns(life: Lifecycle, columns: NDArray[np.int64]) -> Lifecycle:
    """Rearrange the statistics of the topics; -1 begins a new one."""
    parts: dict[str, Any] = {
        name: _chosen(getattr(life, name), columns, NEVER if name.endswith("_since") else 0) for name in PER_TOPIC
    }
    return replace(life, **parts)


def _chosen(a: NDArray[Any], columns: NDArray[np.int64], missing: float = 0) -> NDArray[Any]:
    out = np.full((*a.shape[:-1], len(columns)), missing, a.dtype)
    known = columns >= 0
    out[..., known] = a[..., columns[known]]
    return out


def slots_of(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the columns of the topics with the ``wanted`` ids, -1 for those that are not among ``ids`` (K,)."""
    order = np.argsort(ids)
    at = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return np.where(ids[at] == wanted, at, -1)


def columns_at(a: Matrix, columns: NDArray[np.int64]) -> Matrix:
    """Return the columns of a matrix with these numbers, zeros for -1."""
    out: Matrix = empty(len(a), len(columns))
    _take_columns(a, columns, out)
    return out


@njit(cache=True, nogil=True)
def _take_columns(a: Matrix, columns: NDArray[np.int64], out: Matrix) -> None:
    for i in range(len(out)):
        row, written = a[i], out[i]
        for j in range(len(columns)):
            written[j] = row[columns[j]] if columns[j] >= 0 else 0.0


def documents_of(state: TrackState, column: int, slices: Sequence[WindowSlice]) -> Sample:
    """Return the documents that the topic in a ``column`` of ``state`` holds most of, in ``slices`` of its window."""
    held = [np.flatnonzero(w.resp[:, column] > 0.0) for w in slices]
    most = (w.resp[own, : state.k].argmax(axis=1) == column for w, own in zip(slices, held, strict=True))
    held = [own[mostly] for own, mostly in zip(held, most, strict=True)]
    where, row = np.repeat([w.index for w in slices], [len(own) for own in held]), np.concatenate(held)
    nothing = np.zeros(len(row))
    x = stack([w.x[own] for w, own in zip(slices, held, strict=True)], state.dim)
    return Sample(x, nothing, where, row, where, nothing, np.zeros(len(row), np.bool_))


def with_topic(state: TrackState, members: Sample, settings: TrackerSettings, *, on_trial: bool = True) -> TrackState:
    """Add a topic to ``state``, born in the slice that ends, that holds ``members``.

    It holds them in the window by memberships, and before it by a past of its own.

    ``settings`` give the persistences under which that past is filtered, and the length of its trial if it is
    ``on_trial``; what people ask for is not.
    """
    k, before = state.k, state.past
    state = rearranged(state, np.append(np.arange(k), -1), np.append(state.ids, state.next_id))
    if state.life is not None:
        alive_since = np.append(state.life.alive_since[:k], state.slice)
        trial = np.append(state.life.trial[:k], settings.births.trial_slices if on_trial else 0)
        state = replace(state, life=replace(state.life, alive_since=alive_since, trial=trial))
    window = []
    for w in state.window:
        rows = members.row[members.slice == w.index]
        if len(rows):
            resp = w.resp.copy()
            left = np.append(np.flatnonzero(resp[rows].any(axis=0)), k)
            resp[rows] = 0.0
            resp[rows, k] = 1.0
            w = w.with_memberships(resp, left)
        window.append(w)
    state = replace(state, window=tuple(window), next_id=state.next_id + 1)
    first = window[0].index if window else state.slice + 1
    early = members.take(np.flatnonzero(members.slice < first))
    if state.past is None or not len(early):
        return state
    alone = np.zeros((len(early), padded(1)), np.float32)
    alone[:, 0] = 1.0
    own = (np.flatnonzero(early.slice == index) for index in range(int(early.slice.min()), first))
    sums = [accumulate(early.x[rows], alone[rows])[:, :1].copy() for rows in own]
    past, weight = list(state.past), np.full(1, state.kappa)
    for j, omega in enumerate(settings.persistences):
        h = np.zeros((state.dim, 1), np.float32)
        for s in sums:
            h = convolve(learn(h, s, weight)[0], omega)
        past[j] = copied(past[j]) if before is not None and past[j] is before[j] else past[j]
        past[j][:, k] = h[:, 0]
    n_past = state.n_past.copy()
    n_past[k] = len(early)
    return replace(state, past=tuple(past), n_past=n_past)


def with_topics_merged(state: TrackState, gone: int, into: int) -> TrackState:
    """Add the documents and past of topic ``gone`` of ``state`` to those of ``into``; its column goes."""
    return _without(state, gone, into, past_too=True)


def without_topic(state: TrackState, gone: int, successor: int) -> TrackState:
    """Forget the past of topic ``gone`` of ``state``; its documents in the window go to its ``successor``."""
    return _without(state, gone, successor, past_too=False)


def _without(state: TrackState, gone: int, heir: int, *, past_too: bool) -> TrackState:
    """Give the documents of topic ``gone`` to its ``heir``, and its past if ``past_too``; its column goes."""
    stay = np.delete(np.arange(state.k), gone)
    column = heir - (heir > gone)
    left = rearranged(state, stay, state.ids[stay])

    def inherited(before: NDArray[Any], now: NDArray[Any]) -> None:
        now[..., column] += before[..., gone]  # nobody else has seen these arrays

    for w, before in zip(left.window, state.window, strict=True):
        w.inherit(before, gone, column)
    if past_too:
        inherited(state.n_past, left.n_past)
        for h, now in zip(state.past or (), left.past or (), strict=True):
            inherited(h, now)
        for name in ADDITIVE if state.life is not None else ():
            inherited(getattr(state.life, name), getattr(left.life, name))
    return left
