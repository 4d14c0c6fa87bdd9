"""Matching the topics of a refit of the window to those before it, which decides their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.kernels import padded
from vmfstream.mixtures.columns import column_dots, column_norms, column_products, square_of
from vmfstream.online import filtering
from vmfstream.online.settings import TrackerSettings
from vmfstream.online.smoothed_window import after_fit_from_nothing
from vmfstream.online.state import Matrix, TrackState, Vector, WindowSlice
from vmfstream.online.topic_slots import rearranged
from vmfstream.online.window import Refit
from vmfstream.records import Event


def with_refit(state: TrackState, fit: Refit, settings: TrackerSettings) -> tuple[TrackState, list[Event]]:
    """Replace the memberships of the window of ``state`` by those of ``fit``; a cold fit's topics are matched first.

    Each gets the id of the topic whose documents it holds. Where topics may come and go, one that shares less than
    ``settings.fitting.continuing`` of the documents with its match gets a new id; if their means have less than
    ``settings.takeovers.same_cosine``, one that shares less than ``settings.fitting.surely_continuing``.
    """
    events: list[Event] = []
    resps = fit.resp
    if fit.cold:
        shared = _shared(state, fit)
        order = match(shared, 0 if fit.prior is None else len(state.by_hand.seeded))
        resps = [np.take(r, np.append(order, np.arange(fit.k, r.shape[1])), axis=1) for r in resps]
        columns = np.append(np.arange(state.k), np.full(fit.k - state.k, -1))
        if state.life is not None:
            both = shared[np.arange(state.k), order[: state.k]]
            smaller = np.minimum(shared.sum(axis=1), shared.sum(axis=0)[order[: state.k]])
            turned = _cosines(state, resps, fit.anchor, settings) < settings.takeovers.same_cosine
            least = np.where(turned, settings.fitting.surely_continuing, settings.fitting.continuing)
            lost = (both < least * smaller) & ~state.by_hand.are_pinned(state.ids)
            columns[: state.k][lost] = -1
        new = np.flatnonzero(columns < 0)
        ids = np.append(state.ids, np.full(fit.k - state.k, -1))
        ids[new] = state.next_id + np.arange(len(new))
        successors = np.argmax(shared[:, order], axis=1)
        events = [
            Event("merged", int(old), int(ids[successor]), value=_angle(state, resps, topic, int(successor)))
            for topic, (old, successor) in enumerate(zip(state.ids, successors, strict=True))
            if old not in ids
        ]
        state = replace(rearranged(state, columns, ids), next_id=state.next_id + len(new))
        state = replace(state, smoothed_drift_angle=np.full(padded(fit.k), np.nan))
    window = tuple(WindowSlice(w.index, w.x, r) for w, r in zip(state.window, resps, strict=True))
    state = replace(state, window=window, anchor=fit.anchor, kappa=fit.kappa)
    if fit.prior is not None:
        state = replace(state, prior=fit.prior)
    return (after_fit_from_nothing(state) if fit.cold else state), events


def match(shared: NDArray[np.float64], seeds: int = 0) -> NDArray[np.int64]:
    """Order new topics so that as many documents as can be stay in their topics; topics beyond the old ones come last.

    Parameters
    ----------
    shared : (K, K') documents that old and new topics share, K' >= K.
    seeds : so many first topics stay where they are.
    """
    from scipy.optimize import linear_sum_assignment

    _, others = linear_sum_assignment(shared[seeds:, seeds:], maximize=True)
    chosen = np.append(np.arange(seeds), seeds + others)
    return np.append(chosen, np.setdiff1d(np.arange(shared.shape[1]), chosen))


def _shared(state: TrackState, fit: Refit) -> NDArray[np.float64]:
    """Count the documents that the present topics share with those of a refit, (K, K')."""
    parts = (column_products(w.resp, r)[: state.k, : fit.k] for w, r in zip(state.window, fit.resp, strict=True))
    return np.asarray(sum(parts, np.zeros((state.k, fit.k))))


def _cosines(
    state: TrackState, resps: Sequence[Matrix], anchor: Matrix, settings: TrackerSettings
) -> NDArray[np.float64]:
    """Cosines of the topics' means at the end of the window with those under new memberships and anchor, (K,)."""
    kept = (np.ascontiguousarray(r[:, : state.kp]) for r in resps)
    window = tuple(WindowSlice(w.index, w.x, r) for w, r in zip(state.window, kept, strict=True))
    before, now = (
        filtering.anchored(one, filtering.run(one, filtering.statistics(one), one.leader, settings)[1])
        for one in (state, replace(state, window=window, anchor=anchor))
    )
    return centred_cosines(before, now, filtering.counts(state.window[-1:], state.kp))[: state.k]


def centred_cosines(before: Matrix, now: Matrix, n: Vector) -> Vector:
    """Cosines of means ``before`` and ``now`` (D, kp) seen from the mean of all topics, weighted by documents ``n``.

    What all topics have in common, such as frequent words, makes none of them the same. (kp,), 1 where it is undefined.
    """
    lengths, norms = column_norms(before), column_norms(now)
    one, other = (np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0) for length in (lengths, norms))
    centre = _combined(now, other * n / max(n.sum(), 1.0))
    square = square_of(centre)
    along, beside = (column_products(centre[:, None], f)[0] * scale for f, scale in ((before, one), (now, other)))
    dots = column_dots(before, now) * one * other - along - beside + square
    scale = np.sqrt(np.maximum((1.0 - 2.0 * along + square) * (1.0 - 2.0 * beside + square), 0.0))
    return np.asarray(np.divide(dots, scale, out=np.ones_like(dots), where=scale > 1e-6))


def centred_pairs(cosine: NDArray[np.float64], n: Vector) -> NDArray[np.float64]:
    """Cosines of all pairs of topics seen from the mean of all, (K, K), as in `centred_cosines`.

    ``cosine`` (K, K) are those seen from the origin, ``n`` (K,) the documents of the topics.
    """
    weights = n / max(n.sum(), 1.0)
    along = cosine @ weights
    square = float(weights @ along)
    lengths = np.sqrt(np.maximum(np.diagonal(cosine) - 2.0 * along + square, 0.0))
    dots, scale = cosine - along[:, None] - along + square, np.outer(lengths, lengths)
    return np.asarray(np.divide(dots, scale, out=np.ones_like(dots), where=scale > 1e-6))


@njit(cache=True, nogil=True)
def _combined(m: Matrix, weights: Vector) -> Matrix:
    """Sum of the columns of ``m`` (D, kp), each times its weight, (D,)."""
    out = np.empty(m.shape[0], m.dtype)
    for i in range(m.shape[0]):
        total = 0.0
        for j in range(m.shape[1]):
            total += m[i, j] * weights[j]
        out[i] = total
    return out


def _angle(state: TrackState, resps: Sequence[Matrix], old: int, new: int) -> float:
    """Angle in degrees between the documents of a topic before the refit and those of one after it."""
    a, b = (
        sum(
            (np.asarray(w.x.T @ r[:, k], np.float64) for w, r in zip(state.window, part, strict=True)),
            np.zeros(state.dim),
        )
        for k, part in ((old, [w.resp for w in state.window]), (new, resps))
    )
    return angle_between(a, b)


def angle_between(a: Vector, b: Vector) -> float:
    """Angle between two vectors (D,) in degrees, 90 if one is zero."""
    cosine = float(a @ b) / max(float(np.linalg.norm(a) * np.linalg.norm(b)), 1e-300)
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
