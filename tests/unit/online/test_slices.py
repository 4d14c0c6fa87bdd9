"""Slices without documents, and large ones: what the window keeps and what goes straight to the past."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import (
    FILTER,
    PLAIN,
    begun,
    drifting,
    follow,
    learn,
    texts,
    unit,
)
from vmfstream.bayes.temporal.word_sums import SliceSums
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.online import filtering, slice_end, tracker
from vmfstream.online.reading import predictive_log_likelihood, smoothed
from vmfstream.online.serialization import from_arrays, to_arrays
from vmfstream.online.settings import TrackerSettings, WindowSettings
from vmfstream.online.slice_end import close
from vmfstream.online.state import Rows, TrackState
from vmfstream.online.window import Refit, refit


@pytest.mark.parametrize("kind", ["csr", "dense"])
@pytest.mark.parametrize("slices", [2, 5])
def test_empty_slices_only_predict(kind: str, slices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    xs: list[Rows] = list(texts()) if kind == "csr" else [x.toarray() for x in texts()]
    state, _ = follow(xs[:slices], PLAIN)
    with monkeypatch.context() as m:
        m.setattr(slice_end, "refit", None)
        after, closed = learn(state, xs[0][:0], PLAIN)
        assert np.isnan(closed.predicted)
        assert closed.resp.shape[0] == 0
        assert not closed.filtered.n.any()
        assert (after.slice, after.kappa, after.leader) == (state.slice + 1, state.kappa, state.leader)
        assert np.array_equal(after.ids, state.ids)
        assert after.n == pytest.approx(state.n, rel=1e-6)
        assert np.array_equal(after.scores, state.scores)
        h, later = (s.base[:, :3] - s.anchor[:, None] for s in (state, after))
        assert (unit(h) * unit(later)).sum(axis=1) == pytest.approx(1.0, abs=1e-5)
        omega = PLAIN.persistences[state.leader]
        for before, now in zip(np.linalg.norm(h, axis=0), np.linalg.norm(later, axis=0), strict=True):
            assert bessel_ratio(300, now) == pytest.approx(omega * bessel_ratio(300, before), rel=1e-4)
    after, closed = learn(after, xs[5], PLAIN)  # the refit goes over the empty slice
    assert closed.predicted > 1
    assert closed.resp.shape == (40, 16)


def test_long_silence_forgets_down_to_the_anchor() -> None:
    xs, settings = texts(), replace(PLAIN, persistences=(0.8,))
    state, _ = follow(xs, settings)
    for _ in range(80):
        state, closed = learn(state, xs[0][:0], settings)
        assert len(state.window) <= 64
    background = np.where(np.arange(16) < 3, state.anchor[:, None], 0)
    assert np.abs(state.base - background).max() < 1e-2 * np.abs(background).max()
    assert closed.filtered.drift_angle == pytest.approx(0.0, abs=0.2)
    state, closed = learn(state, xs[0], settings)
    assert np.isfinite(closed.filtered.f).all()


@pytest.mark.parametrize("gap", [0, 1, 3])
@pytest.mark.parametrize("warm_up", [True, False])
def test_slices_without_documents_are_passed_as_if_their_sums_were_zero(gap: int, warm_up: bool) -> None:
    xs, settings = texts(), replace(FILTER, window=200 if warm_up else 60)
    state, _ = follow(xs[:4], settings)
    for x in [*[xs[0][:0]] * gap, xs[4], *[xs[0][:0]] * gap]:
        state, _ = learn(state, x, settings)
    assert state.warm_up == warm_up
    stats = filtering.statistics(state)
    assert sum(s is None for s in stats) == 2 * gap
    full = [SliceSums.whole(np.zeros_like(state.base)) if s is None else s for s in stats]
    quickly, slowly = (filtering.run(state, given, 0, settings) for given in (stats, full))
    for quick, slow in zip(quickly, slowly, strict=True):
        assert quick is not None
        assert slow is not None
        assert np.abs(quick - slow).max() < 1e-5 * np.abs(slow).max()
    views = smoothed(state, settings)
    for belief, view in zip(filtering.smoothed_oldest(state, stats, settings), views[:2], strict=True):
        assert np.abs(belief - view.f).max() < 1e-5 * view.gamma.max()


def test_slice_too_large_to_keep_goes_straight_to_the_past() -> None:
    xs = drifting(n=40, d=20, a=0.8).xs
    large = drifting(n=4200, d=20, a=0.8).xs[3]
    state, _ = follow(xs[:3], PLAIN)
    filled = state
    for low in range(0, 4200, 1000):
        filled, _ = tracker.step(filled, large[low : low + 1000], PLAIN)
    assert sum(len(resp) for _, resp in filled.open.kept) == 4000
    assert filled.open.documents == 4200
    after, closed = tracker.end_slice(filled, PLAIN)
    assert not after.window
    assert after.past is not None
    assert [view.slice for view in closed.smoothed] == [*[w.index for w in state.window], 3]
    assert closed.resp.shape == (4000, 16)
    assert closed.cosine.shape == (4000, 3)
    assert closed.filtered.n.sum() == pytest.approx(4200, rel=1e-4)
    assert after.n.sum() == pytest.approx(state.n.sum() + 4200, rel=1e-4)
    anchor = np.where(np.arange(16) < 3, after.anchor[:, None], 0).astype(np.float32)
    assert np.array_equal(after.base, after.past[after.leader] + anchor)
    assert np.isfinite(closed.filtered.drift_angle).all()
    after, closed = learn(after, xs[4], PLAIN)
    assert [w.index for w in after.window] == [4]
    assert np.isfinite(closed.filtered.drift_angle).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_persistences_are_judged_by_the_past_alone_as_by_whole_predictions(*, sparse: bool) -> None:
    xs: list[Rows] = [*texts(slices=5, n=60)] if sparse else [*drifting(slices=5, n=60).xs]
    settings = replace(PLAIN, window=10, refit=False)
    state, _ = follow(xs[:4], settings)
    state = replace(state, window=())  # what it held is forgotten; all that is known is the past
    assert state.past is not None
    found = slice_end._grid_means(state, xs[4], settings)
    for mean, p in zip(found, state.past, strict=True):
        whole = predictive_log_likelihood(state, xs[4], settings, base=filtering.anchored(state, p))
        assert mean == pytest.approx(whole.mean(), abs=1e-3)
    assert abs(found[0] - found[1]) > 0.01


def test_slices_leave_the_window_oldest_first() -> None:
    xs = texts(slices=7)
    state = begun(xs, PLAIN)
    for t, x in enumerate(xs[1:], start=1):
        state, closed = learn(state, x, PLAIN)
        assert [w.index for w in state.window] == list(range(max(0, t - 1), t + 1))
        assert [view.slice for view in closed.smoothed] == ([t - 2] if t > 1 else [])
        assert closed.filtered.slice == t
    assert [view.slice for view in smoothed(state, PLAIN)] == [5, 6]
    cosine = closed.cosine
    assert np.abs(cosine - xs[6] @ unit(closed.filtered.f).T).max() < 1e-5
    first, second = smoothed(state, PLAIN)
    assert np.isfinite(first.drift_angle).all()
    turned = np.clip((unit(first.f) * unit(second.f)).sum(axis=1), -1, 1)
    assert second.drift_angle == pytest.approx(np.degrees(np.arccos(turned)), abs=0.05)
    assert (second.drift_angle > 0.1).all()


def test_short_documents_stay_longer_unless_a_window_is_asked_for() -> None:
    xs = texts(slices=3, n=800, d=20, length=10)
    lengths = []
    for window, coordinates in ((1500, 100_000), (None, 100_000), (None, 1_000)):
        fitting = WindowSettings(short_coordinates=coordinates)
        state, _ = follow(xs, replace(PLAIN, window=window, refit=False, fitting=fitting))
        lengths.append(len(state.window))
    assert lengths == [1, 3, 1]


def test_memory_bounds_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts(slices=8, n=6)
    monkeypatch.setattr(slice_end, "WINDOW_BYTES", 4 * 5 * 300 * 16 * 4)
    state, _ = follow(xs, replace(FILTER, topics=2))
    assert len(state.window) == 5
    monkeypatch.setattr(slice_end, "WINDOW_BYTES", 1)
    state, _ = learn(state, xs[0], replace(FILTER, topics=2))
    assert len(state.window) == 4


def test_what_was_just_fitted_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts()
    state = tracker.init(PLAIN, [], 0, xs[0])
    calls: list[int] = []

    def counted(state: TrackState, settings: TrackerSettings, rng: np.random.Generator, *, cold: bool) -> Refit:
        calls.append(state.slice)
        return refit(state, settings, rng, cold=cold)

    monkeypatch.setattr(slice_end, "refit", counted)
    arrays = to_arrays(state)
    again = from_arrays(*arrays, [], xs[0], PLAIN)
    for same in (state, again):
        closed, _ = close(same, 0.0, PLAIN)
        assert not calls
        assert np.array_equal(closed.window[0].resp, state.open.kept[0][1])
    grown, _ = tracker.step(state, xs[1], PLAIN)
    close(grown, 0.0, PLAIN)
    assert calls == [0]
