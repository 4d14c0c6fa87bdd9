"""A state as flat arrays and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vmfstream.online.belief import with_prediction
from vmfstream.online.refit_schedule import RefitSchedule
from vmfstream.online.state import (
    Arrays,
    ByHand,
    Lifecycle,
    Matrix,
    OpenSlice,
    Rows,
    TrackerSettings,
    TrackState,
    WindowSlice,
    rows_of,
)


def to_arrays(state: TrackState) -> tuple[Arrays, Arrays]:
    """Flatten to two parts: what changes with every batch, and what changes at the ends of slices.

    Rows are not included. ``base``, ``f`` and ``gamma`` are left out too: `from_arrays` recomputes them.
    """
    open_part: Arrays = {
        "open.s": state.open.s if state.open.documents else state.open.s[:0],  # zeros need no room
        "open.n": state.open.n,
        "open.documents": np.array([state.open.documents, state.open.fitted], np.int64),
        "open.resp": np.concatenate([np.zeros((0, state.kp), np.float32), *[r for _, r in state.open.kept]]),
    }
    slice_part: Arrays = {
        "slice": np.array([state.slice]),
        "anchor": state.anchor,
        "scalars": np.array([state.kappa, state.lowest_cosine]),
        "ids": state.ids,
        "counters": np.array([state.next_id, state.leader]),
        "n": state.n,
        "n_past": state.n_past,
        "scores": state.scores,
        "refits": state.refits.array(),
        "smoothed_speed": state.smoothed_drift_angle,
        "window.index": np.array([w.index for w in state.window], dtype=np.int64),
        "window.sizes": np.array([rows_of(w.x) for w in state.window], dtype=np.int64),
        "window.resp": np.concatenate([np.zeros((0, state.kp), np.float32), *[w.resp for w in state.window]]),
    }
    for j, h in enumerate(state.past or ()):
        slice_part[f"past.{j}"] = h
    if state.life is not None:
        slice_part |= state.life.arrays()
    return open_part, slice_part | _decided_arrays(state)


def _decided_arrays(state: TrackState) -> Arrays:
    """Flatten what people have decided, nothing where they have not; of the prior only columns of pinned topics."""
    hand = state.by_hand
    if hand == ByHand() and state.prior is None:
        return {}
    arrays: Arrays = {
        "hand.pinned": np.array(hand.pinned, np.int64),
        "hand.apart": np.array(hand.apart, np.int64).reshape(-1, 2),
        "hand.whole": np.array(hand.whole, np.int64),
        "hand.settled": np.array([hand.settled]),
        "hand.seeded": np.array(hand.seeded, np.int64),
    }
    if state.prior is not None:
        arrays["prior"] = state.prior[:, np.flatnonzero(hand.are_pinned(state.ids))]
    return arrays


def _by_hand(arrays: Arrays) -> ByHand:
    if "hand.settled" not in arrays:
        return ByHand()
    return ByHand(
        tuple(arrays["hand.pinned"].tolist()),
        tuple((one, other) for one, other in arrays["hand.apart"].tolist()),
        tuple(arrays["hand.whole"].tolist()),
        bool(arrays["hand.settled"][0]),
        tuple(arrays["hand.seeded"].tolist()),
    )


def _prior(arrays: Arrays, hand: ByHand, kp: int) -> Matrix | None:
    if "prior" not in arrays:
        return None
    columns = arrays["prior"]
    prior = np.zeros((len(columns), kp), np.float32)
    prior[:, np.flatnonzero(hand.are_pinned(arrays["ids"]))] = columns
    return prior


def from_arrays(
    open_part: Arrays,
    slice_part: Arrays,
    window: Sequence[Rows],
    kept: Rows,
    settings: TrackerSettings,
) -> TrackState:
    """Rebuild a state from what `to_arrays` returned and its rows, bit for bit.

    Parameters
    ----------
    open_part, slice_part : the two parts.
    window : rows (N, D) of the slices of the window, oldest first.
    kept : (N, D) the kept rows of the open slice.
    settings : those that the state was made with.
    """
    kp = len(slice_part["n"])
    _check_rows(open_part, slice_part, window, kept)
    if len(slice_part["scores"]) != len(settings.persistences):
        raise ValueError(f"expected {len(settings.persistences)} persistences, got {len(slice_part['scores'])}")
    if (slice_part["window.index"] >= slice_part["slice"][0]).any():
        raise ValueError(f"expected slices before {slice_part['slice'][0]}, got {slice_part['window.index'].max()}")
    splits = np.cumsum(slice_part["window.sizes"])[:-1]
    resps = np.split(slice_part["window.resp"], splits) if len(slice_part["window.sizes"]) else []
    past = tuple(slice_part[f"past.{j}"] for j in range(len(settings.persistences)) if f"past.{j}" in slice_part)
    dim = len(slice_part["anchor"])
    next_id, leader = (int(v) for v in slice_part["counters"])
    kappa, lowest = (float(v) for v in slice_part["scalars"])
    resp = open_part["open.resp"]
    hand = _by_hand(slice_part)
    state = TrackState(
        slice=int(slice_part["slice"][0]),
        anchor=slice_part["anchor"],
        kappa=kappa,
        ids=slice_part["ids"],
        next_id=next_id,
        n=slice_part["n"],
        n_past=slice_part["n_past"],
        past=past or None,
        window=tuple(
            WindowSlice(int(i), x, r) for i, x, r in zip(slice_part["window.index"], window, resps, strict=True)
        ),
        scores=slice_part["scores"],
        leader=leader,
        open=OpenSlice(
            open_part["open.s"] if len(open_part["open.s"]) else np.zeros((dim, kp), np.float32),
            open_part["open.n"],
            int(open_part["open.documents"][0]),
            ((kept, resp),) if len(resp) else (),
            len(resp),
            bool(open_part["open.documents"][1]),
        ),
        base=np.zeros((dim, kp), np.float32),
        f=np.zeros((dim, kp), np.float32),
        gamma=np.zeros(kp),
        lowest_cosine=lowest,
        smoothed_drift_angle=slice_part["smoothed_speed"],
        life=Lifecycle.from_arrays(slice_part, dim),
        refits=_refits(slice_part),
        by_hand=hand,
        prior=_prior(slice_part, hand, kp),
    )
    return with_prediction(state, settings)


def _check_rows(open_part: Arrays, slice_part: Arrays, window: Sequence[Rows], kept: Rows) -> None:
    """Raise ValueError if topics or rows are not as many as the arrays say, which compiled code relies on."""
    sizes, topics = slice_part["window.sizes"].tolist(), len(slice_part["ids"])
    if [rows_of(x) for x in window] != sizes:
        raise ValueError(f"expected slices of {sizes} documents, got {[rows_of(x) for x in window]}")
    if len(open_part["open.resp"]) != rows_of(kept) and open_part["open.documents"][0]:
        raise ValueError(f"expected {rows_of(kept)} kept documents, got memberships of {len(open_part['open.resp'])}")
    if not 0 < topics <= len(slice_part["n"]):
        raise ValueError(f"expected 1 to {len(slice_part['n'])} topics, got {topics}")
    if len(open_part["open.s"]) not in (0, len(slice_part["anchor"])):
        raise ValueError(f"expected sums over {len(slice_part['anchor'])} words, got {len(open_part['open.s'])}")
    if not slice_part["counters"][1] < len(slice_part["scores"]):
        raise ValueError(f"expected one of {len(slice_part['scores'])} persistences, got {slice_part['counters'][1]}")


def _refits(slice_part: Arrays) -> RefitSchedule:
    """Return the stored schedule; states of versions without one count as just refitted."""
    if "refits" in slice_part:
        return RefitSchedule.from_array(slice_part["refits"])
    learnt = round(float(slice_part["n"].sum()))
    return RefitSchedule(learnt, int(slice_part["window.sizes"].sum()))
