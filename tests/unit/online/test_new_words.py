"""A vocabulary that changes while topics are followed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.online.streams import (
    PLAIN,
    follow,
    sparse,
    texts,
    unit,
)
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.online import tracker
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.slice_end import close
from vmfstream.online.vocabulary_change import carried_vectors, regrown


def embedded(x: Any, columns: NDArray[np.int32]) -> Any:
    """Rows in a new vocabulary, scaled to unit length again."""
    dense = x.toarray()
    out = np.zeros((len(dense), len(columns)), np.float32)
    out[:, columns >= 0] = dense[:, columns[columns >= 0]]
    norm = np.linalg.norm(out, axis=1, keepdims=True)
    return sparse(np.divide(out, norm, out=out, where=norm > 0))


@pytest.mark.parametrize("slices", [2, 5])
def test_new_words_change_no_direction(slices: int) -> None:
    xs = texts()
    state, _ = follow(xs[:slices], PLAIN)
    state, _ = tracker.step(state, xs[slices], PLAIN)
    columns = np.full(420, -1, np.int32)
    columns[np.random.default_rng(0).permutation(420)[:300]] = np.arange(300)
    window = [embedded(w.x, columns) for w in state.window]
    grown = regrown(state, columns, window, embedded(xs[slices], columns), PLAIN)
    assert grown.dim == 420
    assert np.array_equal(grown.ids, state.ids)
    assert (grown.leader, grown.slice, grown.next_id) == (state.leader, state.slice, state.next_id)
    assert grown.kappa > 1.2 * state.kappa
    assert bessel_ratio(420, grown.kappa) == pytest.approx(bessel_ratio(300, state.kappa), rel=1e-9)
    pairs = [(state.anchor[:, None], grown.anchor[:, None])]
    pairs += list(zip(state.past or (), grown.past or (), strict=True))
    for old, new in pairs:
        k = min(3, old.shape[1])
        assert not new[columns < 0].any()
        assert np.abs(unit(new[columns >= 0], k) - unit(old[columns[columns >= 0]], k)).max() < 1e-6
        lengths = (np.linalg.norm(m[:, :k].astype(np.float64), axis=0) for m in (old, new))
        before, after = (bessel_ratio(d, length) for d, length in zip((300, 420), lengths, strict=True))
        assert after == pytest.approx(before, rel=1e-5)
    assert grown.n == pytest.approx(state.n, abs=1e-3)
    assert grown.open.n == pytest.approx(state.open.n, abs=1e-3)
    assert (unit(grown.base[columns >= 0]) * unit(state.base[columns[columns >= 0]])).sum(axis=1).min() > 0.999
    assert np.abs(grown.f - grown.base - np.float32(grown.kappa) * grown.open.s).max() < 1e-3
    assert predictive_log_likelihood(grown, embedded(xs[slices], columns), PLAIN).mean() > 1
    closed_state, closed = close(grown, 0.0, PLAIN)
    assert closed.filtered.f.shape == (420, 16)
    assert closed_state.dim == 420


def test_a_slice_without_documents_changes_nothing() -> None:
    xs = texts()
    state, _ = follow(xs[:4], PLAIN)
    same, window, nothing = np.arange(state.dim, dtype=np.int32), [w.x.copy() for w in state.window], xs[0][:0]
    assert regrown(state, same, window, nothing, PLAIN) is state
    window[0] = window[0] * np.float32(1.01)  # the words have other weights
    assert regrown(state, same, window, nothing, PLAIN) is not state
    assert regrown(state, same[::-1].copy(), [w.x for w in state.window], nothing, PLAIN) is not state
    begun, _ = tracker.step(state, xs[4], PLAIN)
    assert regrown(begun, same, [w.x for w in state.window], xs[4], PLAIN) is not begun


def test_dropped_words_leave_what_the_others_hold() -> None:
    xs = texts()
    state, _ = follow(xs[:5], PLAIN)
    state, _ = tracker.step(state, xs[5], PLAIN)
    weight = np.asarray(sum(x.sum(axis=0) for x in xs)).ravel()
    columns = np.sort(np.argsort(-weight)[:200]).astype(np.int32)
    gone = int(np.flatnonzero(state.open.kept[0][1].sum(axis=1))[0])
    kept = embedded(xs[5], columns).toarray()
    kept[gone] = 0.0
    grown = regrown(state, columns, [embedded(w.x, columns) for w in state.window], sparse(kept), PLAIN)
    assert state.past is not None
    assert grown.past is not None
    for old, new in zip(state.past, grown.past, strict=True):
        before, left = (np.linalg.norm(m[:, :3].astype(np.float64), axis=0) for m in (old, old[columns]))
        now = bessel_ratio(200, np.linalg.norm(new[:, :3].astype(np.float64), axis=0))
        assert now == pytest.approx(bessel_ratio(300, before) * left / before, rel=1e-5)
        assert np.abs(unit(new) - unit(old[columns])).max() < 1e-6
        assert (left < before).all()
    assert grown.open.n.sum() == pytest.approx(39, abs=1e-4)  # a document without words counts no more
    assert not grown.open.kept[0][1][gone].any()
    expected = accumulate(sparse(kept), grown.open.kept[0][1])
    assert np.abs(grown.open.s - expected).max() < 1e-6


def test_moved_keeps_zero_columns() -> None:
    h = np.zeros((10, 16), np.float32)
    h[2, 0] = h[3, 1] = 5.0
    out = carried_vectors(h, np.array([2, -1, 0], np.int32))
    assert bessel_ratio(3, out[0, 0]) == pytest.approx(bessel_ratio(10, 5.0), rel=1e-6)
    assert not out[:, 1:].any()
