"""What smoothing may change: later documents improve what is known of topics, but not which topics there were.

In the smoothed slices of the window a topic begins with the slice of its birth and lasts until its end. Fits move
documents among the topics that existed then and exist still. Other documents stay in the topic that held them when
their slice ended, also if it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.mixtures.columns import directed
from vmfstream.online.results import TrackedTopics
from vmfstream.online.state import NEVER, Lifecycle, Matrix, TrackState, Vector, WindowSlice, rows_of
from vmfstream.online.topic_slots import rearranged
from vmfstream.protocols import DocumentTopics


def with_holders(state: TrackState) -> TrackState:
    """Remember which topics hold the documents of the slices of the window that have just ended."""
    life = state.life
    if life is None:
        return state
    new = [_strongest(state, w.resp[len(held) :]) for w, held in held_slices(state, life)]
    return replace(state, life=replace(life, holder=np.concatenate([life.holder, *new])))


def after_fit_from_nothing(state: TrackState) -> TrackState:
    """Let documents whose topic a fit from nothing has dissolved stay in their present one, if it existed then."""
    life = state.life
    if life is None:
        return state
    holder = [np.where(~np.isin(held, state.ids) & existed, now, held) for _, held, now, existed in _moves(state, life)]
    return replace(state, life=replace(life, holder=np.concatenate([life.holder[:0], *holder])))


def without_oldest(state: TrackState) -> TrackState:
    """Forget what was remembered about the oldest slice of the window, which leaves it."""
    if state.life is None:
        return state
    holder = state.life.holder[rows_of(state.window[0].x) :]
    return replace(state, life=replace(state.life, holder=holder))


class SmoothedWindow(NamedTuple):
    """A ``state`` whose window has the topics that its slices had, and the last slice (K,) of each."""

    state: TrackState
    until: NDArray[np.int64]


def as_it_was(state: TrackState) -> SmoothedWindow:
    """Return the window of ``state`` with the topics that there were: also those that are gone."""
    life = state.life
    until = np.full(state.k, state.slice)
    if life is None:
        return SmoothedWindow(state, until)
    moves = list(_moves(state, life))
    stays = [
        np.flatnonzero(~(np.isin(held, state.ids) & existed) & directed(w.x)[: len(held)])
        for w, held, _, existed in moves
    ]
    if not any(map(len, stays)):
        return SmoothedWindow(state, until)
    gone = np.setdiff1d(life.holder, state.ids)
    ids = np.append(state.ids, gone)
    until = np.append(until, np.full(len(gone), NEVER))
    shown = rearranged(state, np.append(np.arange(state.k), np.full(len(gone), -1)), ids)
    order = np.argsort(ids)
    window = []
    for w, (_, held, _, _), rows in zip(shown.window, moves, stays, strict=True):
        column = order[np.searchsorted(ids, held, sorter=order)]
        until[column] = np.maximum(until[column], w.index)
        if len(rows):
            resp = w.resp.copy()
            resp[rows] = 0.0
            resp[rows, column[rows]] = 1.0
            w = WindowSlice(w.index, w.x, resp)
        window.append(w)
    return SmoothedWindow(replace(shown, window=tuple(window)), until)


def labels(shown: TrackState, w: WindowSlice) -> DocumentTopics:
    """Return the topics of the documents of a slice of a window, that of `as_it_was`."""
    return DocumentTopics(w.index, np.where(w.resp.any(axis=1), _strongest(shown, w.resp), -1))


def begun(past: SmoothedWindow, view: TrackedTopics, so_far: Vector, least: float) -> TrackedTopics:
    """Leave out the topics that a smoothed slice did not have.

    Those are topics that were born or got their first document later, and those that had ended.

    Parameters
    ----------
    past : the window as it was.
    view : the topics of one of its slices.
    so_far : (>= K,) documents of each until the end of that slice.
    least : documents without which a topic is not shown.
    """
    there = (so_far[: len(view.ids)] >= least) & (past.until >= view.slice)
    if past.state.life is not None:
        there &= _since(past.state.life) <= view.slice
    if there.all():
        return view
    shown = np.flatnonzero(there)
    parts = {name: getattr(view, name)[shown] for name in ("gamma", "n", "drift_angle", "ids", "drift_angle_error")}
    return replace(view, f=np.ascontiguousarray(view.f[:, shown]), **parts)


def held_slices(state: TrackState, life: Lifecycle) -> Iterator[tuple[WindowSlice, NDArray[np.int64]]]:
    """The slices of the window with the topics that held their documents; of the newest none are remembered yet."""
    first = 0
    for w in state.window:
        last = first + rows_of(w.x)
        yield w, life.holder[first:last]
        first = last


def _moves(
    state: TrackState, life: Lifecycle
) -> Iterator[tuple[WindowSlice, NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]]:
    """Yield slices with their documents' topics then and now, and whether these existed then."""
    for w, held in held_slices(state, life):
        now = _strongest(state, w.resp[: len(held)])
        yield w, held, now, np.isin(now, state.ids[_since(life) <= w.index])


def _since(life: Lifecycle) -> NDArray[np.int64]:
    """Return the slice since which each topic stands under its number, (K,)."""
    return np.maximum(life.alive_since, life.numbered_since)


def _strongest(state: TrackState, resp: Matrix) -> NDArray[np.int64]:
    """Ids of the topics with most of each document."""
    return np.asarray(state.ids[resp[:, : state.k].argmax(axis=1)])
