"""A state carried to a vocabulary that has grown or was pruned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate, zeros
from vmfstream.mixtures.columns import column_norms, directed
from vmfstream.online import filtering
from vmfstream.online.belief import with_prediction
from vmfstream.online.filtering import counts
from vmfstream.online.state import (
    Lifecycle,
    Matrix,
    OpenSlice,
    Rows,
    TrackerSettings,
    TrackState,
    Vector,
    WindowSlice,
    rows_in_columns,
    same_rows,
)


def regrown(
    state: TrackState,
    columns: NDArray[np.int32],
    window: Sequence[Rows],
    kept: Rows,
    settings: TrackerSettings,
    seeds: Matrix | None = None,
) -> TrackState:
    """Move ``state`` to a new vocabulary.

    ``columns[j]`` is the old column of new column j, or -1 where it is new; ``window`` and ``kept`` are the same
    documents in the new encoding; ``settings`` are those of the run. ``seeds`` (D, J) are the directions of the topics
    with the ids 0 to J - 1, if they have seeds, whose prior takes up words that are new.

    Directions are padded with zeros; every concentration is solved again from its dimension-free counterpart (a mean
    resultant length or an expected cosine), since kappa grows like D. At the end of a slice without documents, where
    no column and no row changes, the state stays as it is.
    """
    if not state.open.documents and seeds is None and _unchanged(state, columns, window):
        return state
    new = len(columns)
    n, kept_parts = state.open.n, state.open.kept
    s = zeros(new, state.kp)
    _put_rows(state.open.s, columns, s)
    if kept_parts:
        resp = _masked(kept, np.concatenate([r for _, r in kept_parts]))
        kept_parts = ((kept, resp),)
        if state.open.documents == len(resp):
            s, n = accumulate(kept, resp, threads=settings.threads), resp.sum(axis=0, dtype=np.float64)
    parts = tuple(WindowSlice(w.index, x, _masked(x, w.resp)) for w, x in zip(state.window, window, strict=True))
    state = replace(
        state,
        anchor=carried_vectors(state.anchor[:, None], columns)[:, 0],
        kappa=float(inv_bessel_ratio(new, bessel_ratio(state.dim, state.kappa))),
        n=state.n_past + counts(parts, state.kp),
        past=None if state.past is None else tuple(carried_vectors(h, columns) for h in state.past),
        prior=None if state.prior is None else _with_seeds(state, carried_vectors(state.prior, columns), seeds),
        window=parts,
        open=OpenSlice(s, n, state.open.documents, kept_parts, state.open.kept_documents, state.open.fitted),
        base=np.zeros((new, state.kp), np.float32),
        life=None if state.life is None else _carried_samples(state.life, columns, state.dim),
    )
    return with_prediction(state, settings)


def _unchanged(state: TrackState, columns: NDArray[np.int32], window: Sequence[Rows]) -> bool:
    same_columns = len(columns) == state.dim and np.array_equal(columns, np.arange(state.dim))
    return same_columns and all(same_rows(w.x, x) for w, x in zip(state.window, window, strict=True))


def _with_seeds(state: TrackState, prior: Matrix, seeds: Matrix | None) -> Matrix:
    """Turn the ``prior`` of topics with seeds to where these are now; lengths stay."""
    if seeds is None:
        return prior
    lengths = column_norms(prior)
    for topic in state.by_hand.seeded:
        column = int(np.flatnonzero(state.ids == topic)[0])
        if seeds[:, topic].any():
            prior[:, column] = np.float32(lengths[column]) * seeds[:, topic]
    return prior


def _carried_samples(life: Lifecycle, columns: NDArray[np.int32], old: int) -> Lifecycle:
    """Move the samples of documents to a new vocabulary; densities relative to uniform grow like the dimension."""
    factor = len(columns) / old
    parts: dict[str, Any] = {
        name: replace(sample, x=rows_in_columns(sample.x, columns), gain=sample.gain * factor)
        for name, sample in (("recent", life.recent), ("control", life.control))
    }
    place = np.zeros(old + 1, np.int64)  # where an old column is now, plus 1
    here = np.flatnonzero(columns >= 0)
    place[columns[here] + 1] = here + 1
    return replace(life, **parts, arrival_gain=life.arrival_gain * factor, told=place[life.told])


def carried_vectors(h: Matrix, columns: NDArray[np.int32]) -> Matrix:
    """Move natural vectors (D, kp) to a new vocabulary.

    A_D of their lengths is kept, times the share of the length that the remaining words hold.
    """
    old, new = len(h), len(columns)
    out = zeros(new, h.shape[1])
    after = _put_rows(h, columns, out)
    gone = np.ones(old, np.bool_)
    gone[columns[columns >= 0]] = False
    before = np.hypot(after, column_norms(h[gone]))
    kept_share = np.divide(after, before, out=np.zeros_like(after), where=before > 0.0)
    wanted = np.asarray(inv_bessel_ratio(new, np.asarray(bessel_ratio(old, before)) * np.minimum(kept_share, 1.0)))
    return filtering.rescaled(out, after, wanted)


@njit(cache=True, nogil=True)
def _put_rows(h: Matrix, columns: NDArray[np.int32], out: Matrix) -> Vector:
    """Put the rows ``columns`` of a matrix into one of zeros, and return the norms of its columns."""
    square = np.zeros(h.shape[1])
    for i in range(len(columns)):
        if columns[i] >= 0:
            for j in range(h.shape[1]):
                v = h[columns[i], j]
                out[i, j] = v
                square[j] += np.float64(v) * np.float64(v)
    return np.sqrt(square)


def _masked(x: Rows, resp: Matrix) -> Matrix:
    """Memberships of the rows that have a direction; a document may lose all its words with the vocabulary."""
    return np.where(directed(x)[:, None], resp, np.float32(0.0))
