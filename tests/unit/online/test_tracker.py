"""Following a stream: scores, statistics, prediction, commits, edges."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.online.streams import (
    FILTER,
    LIVING,
    PLAIN,
    assert_same,
    begun,
    contents,
    drifting,
    empty,
    follow,
    learn,
    sparse,
    texts,
    unit,
)
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.predictive import predictive
from vmfstream.bayes.temporal.chain import convolve
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_norms
from vmfstream.online import filtering, tracker
from vmfstream.online.belief import up_to_date
from vmfstream.online.reading import (
    current,
    memberships,
    newest_slice,
    predictive_log_likelihood,
    smoothed,
    topic_log_densities,
)
from vmfstream.online.settings import PersistenceSettings
from vmfstream.online.slice_end import close, judge
from vmfstream.online.state import Rows, TrackerSettings, TrackState, rows_in_columns, rows_of
from vmfstream.online.vocabulary_change import regrown


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("words", [40, 2000])  # a batch holds most words, or few of them
@pytest.mark.usefixtures("any_work_is_shared")
def test_a_state_that_is_given_up_is_learnt_in_place(words: int, threads: int) -> None:
    settings = replace(PLAIN, threads=threads)
    xs = texts()
    for x in xs:
        x.resize(x.shape[0], max(words, x.shape[1]))
    kept = begun(xs[:2], settings)
    spent = copy.deepcopy(kept)
    for x in (xs[2], xs[3], xs[4]):
        buffer = spent.open.s
        kept, a = tracker.step(kept, x, settings)
        spent, b = tracker.step(spent, x, settings, donate=True)
        assert b.loglik == pytest.approx(a.loglik, abs=1e-4)  # of hundreds of nats: the rounding of f
        assert (b.label == a.label).all()
        assert spent.open.s is buffer
        assert spent.f is not spent.base
    assert np.abs(spent.f - kept.f).max() <= 1e-5 * kept.f.max()
    assert spent.gamma == pytest.approx(kept.gamma, rel=1e-7)
    assert (spent.base == kept.base).all()


def test_a_belief_lags_behind_by_a_fifth_of_its_slice_at_most() -> None:
    *before, x = drifting(d=20, a=0.8).xs[:3]
    kept = begun(before, PLAIN)
    spent = copy.deepcopy(kept)
    lagged = 0
    for low in range(0, x.shape[0], 3):
        known = spent.in_belief
        kept, _ = tracker.step(kept, x[low : low + 3], PLAIN)
        spent, _ = tracker.step(spent, x[low : low + 3], PLAIN, donate=True)
        assert spent.in_belief > 0.8 * spent.open.documents
        lagged += spent.in_belief == known
        exact = up_to_date(spent)
        assert np.abs(exact.f - kept.f).max() <= 1e-3 * kept.f.max()
    assert lagged > 5
    for a, b in zip(memberships(spent, x, PLAIN), memberships(exact, x, PLAIN), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(topic_log_densities(spent, x, PLAIN), topic_log_densities(exact, x, PLAIN))
    np.testing.assert_array_equal(current(spent).f, current(exact).f)
    assert close(spent, np.nan, PLAIN)[0].kappa == close(exact, np.nan, PLAIN)[0].kappa


# --- one slice and the limits ---------------------------------------------------------------------------------------


def test_one_slice_is_the_flat_mixture() -> None:
    x = texts()[0]
    state = begun([x], PLAIN)
    seen = newest_slice(state, PLAIN)
    assert seen is not None
    static = fit(x, seen.resp, 3, Prior(1.0, state.anchor), kappa="point", tol=1e-9)
    assert np.abs(seen.filtered.f - static.f).max() < 1e-3 * static.gamma.max()
    assert seen.filtered.kappa == pytest.approx(static.kappa.mean[0], rel=1e-3)
    assert np.abs(seen.resp - static.resp).max() < 1e-2
    assert seen.filtered.n == pytest.approx(static.nk, abs=1e-2)
    assert seen.filtered.gamma == pytest.approx(static.gamma, rel=1e-3)
    assert np.isnan(seen.filtered.drift_angle).all()
    assert np.isnan(seen.predicted)


def test_documents_are_scored_by_the_predictive_density() -> None:
    xs = texts()
    state, _ = follow(xs[:3], PLAIN)
    weights = np.log((state.n[:3] + 1) / (state.n[:3] + 1).sum())
    expected = predictive(xs[3], state.base, column_norms(state.base)[:3], state.kappa, weights)
    assert predictive_log_likelihood(state, xs[3], PLAIN) == pytest.approx(expected, abs=2e-3)
    after, info = tracker.step(state, xs[3], PLAIN)
    assert info.loglik == pytest.approx(expected, abs=2e-3)
    assert judge(after, PLAIN)[1] == pytest.approx(expected.mean(), abs=2e-3)
    weights = np.log((after.n + after.open.n + 1)[:3] / (after.n + after.open.n + 1)[:3].sum())
    learnt = predictive(xs[3], after.f, after.gamma[:3], state.kappa, weights)
    assert tracker.step(after, xs[3], PLAIN)[1].loglik == pytest.approx(learnt, abs=2e-3)
    assert learnt.mean() > expected.mean() + 1


def test_full_persistence_adds_everything_up() -> None:
    xs = texts()
    settings = replace(PLAIN, persistences=(1.0,), window=10_000)
    state, _ = follow(xs, settings)
    assert state.warm_up
    total = np.add.reduce([accumulate(w.x, w.resp) for w in state.window])
    expected = np.where(np.arange(16) < 3, state.anchor[:, None], 0) + state.kappa * total
    assert np.abs(state.base - expected).max() < 1e-4 * np.abs(expected).max()
    weights = np.add.reduce([w.resp.sum(axis=0) for w in state.window])
    assert state.n == pytest.approx(weights, abs=1e-3)
    static = fit(
        sparse(np.vstack([x.toarray() for x in xs])),
        np.vstack([w.resp for w in state.window]),
        3,
        Prior(1.0, state.anchor),
        kappa="point",
    )
    assert np.abs(state.base - static.f).max() < 1e-2 * static.gamma.max()


def test_open_slice_is_prediction_plus_what_it_gathered() -> None:
    xs = texts()
    state, _ = follow(xs[:3], PLAIN)
    state, _ = tracker.step(state, xs[3], PLAIN)
    expected = state.base + np.float32(state.kappa) * accumulate(xs[3], state.open.kept[0][1])
    assert np.abs(state.f - expected).max() < 1e-4 * np.abs(expected).max()
    view = current(state)
    assert view.gamma == pytest.approx(np.linalg.norm(state.f[:, :3], axis=0), rel=1e-5)
    cosine = np.clip((unit(state.base) * unit(state.f)).sum(axis=1), -1, 1)
    assert view.drift_angle == pytest.approx(np.degrees(np.arccos(cosine)), rel=1e-3)
    assert (view.drift_angle > 1).all()


@pytest.mark.parametrize("left", [2, 1])
def test_committed_slices_predict_as_if_they_were_still_there(left: int) -> None:
    xs = texts(slices=7)
    short, long = replace(FILTER, window=50 * left), replace(FILTER, window=10_000)
    (a, seen_a), (b, seen_b) = follow(xs, short), follow(xs, long)
    assert (len(a.window), len(b.window)) == (left, 7)
    assert a.past is not None
    assert b.past is None
    assert np.abs(a.base - b.base).max() < 1e-5 * np.abs(b.base).max()
    assert a.n == pytest.approx(b.n, rel=1e-6)
    for x, y in zip(seen_a, seen_b, strict=True):
        assert x.predicted == pytest.approx(y.predicted, abs=1e-3)
        assert x.filtered.gamma == pytest.approx(y.filtered.gamma, rel=1e-5)
        assert x.filtered.drift_angle == pytest.approx(y.filtered.drift_angle, rel=2e-2)


def test_past_is_the_filter_of_what_left_the_window() -> None:
    xs = texts(slices=5)
    settings = replace(FILTER, persistences=(0.8, 0.95))
    state, seen = follow(xs, settings)
    _, all_kept = follow(xs, replace(settings, window=10_000))
    assert state.past is not None
    final = [view.slice for closed in seen for view in closed.smoothed]
    assert final == [0, 1, 2]
    for j, omega in enumerate(settings.persistences):
        h = np.zeros_like(state.past[j])
        resps = [closed.resp for closed in all_kept[:-1]]
        first = begun(xs, settings).window[0].resp
        for x, resp in zip(xs[:3], [first, *resps], strict=False):
            h = convolve(h + np.float32(state.kappa) * accumulate(x, resp), omega)
        assert np.abs(state.past[j] - h).max() < 1e-4 * np.abs(h).max()
    assert state.n_past.sum() == pytest.approx(120, abs=1e-3)


# --- order and cuts -------------------------------------------------------------------------------------------------


def test_order_of_documents_changes_order_only() -> None:
    xs = texts()
    order = np.random.default_rng(1).permutation(40)
    state, _ = follow(xs[:3], FILTER)
    (a, info_a), (b, info_b) = (tracker.step(state, x, FILTER) for x in (xs[3], xs[3][order]))
    assert np.array_equal(info_a.label[order], info_b.label)
    assert info_a.loglik[order] == pytest.approx(info_b.loglik, abs=1e-6)
    closed_a, closed_b = (tracker.end_slice(s, FILTER)[1] for s in (a, b))
    assert np.abs(closed_a.filtered.f - closed_b.filtered.f).max() < 1e-5 * np.abs(closed_a.filtered.f).max()
    assert np.abs(closed_a.resp[order] - closed_b.resp).max() < 1e-6
    assert np.abs(closed_a.cosine[order] - closed_b.cosine).max() < 1e-5


def permuted(state: TrackState, order: NDArray[np.int64]) -> TrackState:
    """The same state with its topics in another order."""
    columns = np.append(order, np.arange(len(order), len(state.n)))
    cut: dict[str, Any] = {
        name: np.ascontiguousarray(getattr(state, name)[..., columns]) for name in ("n", "n_past", "base", "f")
    }
    cut |= {
        "gamma": state.gamma[columns],
        "smoothed_drift_angle": state.smoothed_drift_angle[columns],
        "ids": state.ids[order],
    }
    window = tuple(replace(w, resp=np.ascontiguousarray(w.resp[:, columns])) for w in state.window)
    past = None if state.past is None else tuple(np.ascontiguousarray(h[:, columns]) for h in state.past)
    return replace(state, **cut, window=window, past=past)


@pytest.mark.parametrize("slices", [2, 5])
def test_order_of_topics_changes_order_only(slices: int) -> None:
    xs = texts()
    order = np.array([2, 0, 1])
    settings = replace(PLAIN, refit=slices == 5)
    state, _ = follow(xs[:slices], settings)
    assert state.warm_up == (slices == 2)
    (a, seen_a), (b, seen_b) = (learn(s, xs[slices], settings) for s in (state, permuted(state, order)))
    assert np.array_equal(a.ids[order], b.ids)
    assert seen_a.predicted == pytest.approx(seen_b.predicted, abs=1e-4)
    assert np.abs(seen_a.filtered.f[:, order] - seen_b.filtered.f[:, :3]).max() < 1e-3 * np.abs(a.base).max()
    assert np.abs(seen_a.resp[:, order] - seen_b.resp[:, :3]).max() < 1e-3
    assert seen_a.filtered.drift_angle[order] == pytest.approx(seen_b.filtered.drift_angle, rel=1e-3)


def test_prediction_of_a_slice_does_not_depend_on_its_batches() -> None:
    xs = texts()
    state, _ = follow(xs[:4], PLAIN)
    (_, one), (_, many) = (learn(state, xs[4], PLAIN, batch=batch) for batch in (None, 7))
    assert one.predicted == pytest.approx(many.predicted, abs=1e-5)
    whole, first = (tracker.step(state, x, PLAIN)[1] for x in (xs[4], xs[4][:7]))
    assert whole.loglik[:7] == pytest.approx(first.loglik, abs=1e-6)
    # a later batch knows the earlier ones
    known, _ = tracker.step(state, xs[4][:35], PLAIN)
    assert tracker.step(known, xs[4][35:], PLAIN)[1].loglik.mean() > whole.loglik[35:].mean()


def test_reports_never_look_ahead() -> None:
    xs = texts(slices=7)
    _, some = follow(xs[:4], PLAIN)
    _, more = follow(xs, PLAIN)
    for a, b in zip(some, more, strict=False):
        assert_same(a, b)


# --- values ---------------------------------------------------------------------------------------------------------


def test_states_are_never_written_to() -> None:
    xs = texts()
    state, _ = follow(xs[:4], PLAIN)
    state, _ = tracker.step(state, xs[4][:20], PLAIN)
    columns = np.arange(300, dtype=np.int32)
    calls: list[Callable[[], Any]] = [
        lambda: tracker.step(state, xs[4][20:], PLAIN),
        lambda: judge(state, PLAIN),
        lambda: predictive_log_likelihood(state, xs[5], PLAIN),
        lambda: regrown(state, columns, [w.x for w in state.window], state.open.kept[0][0], PLAIN),
        lambda: close(state, 0.0, PLAIN),
        lambda: current(state),
        lambda: newest_slice(state, PLAIN),
        lambda: smoothed(state, PLAIN),
    ]
    for call in calls:
        before = copy.deepcopy(list(contents(state)))
        call()
        for (name, was), (_, now) in zip(before, contents(state), strict=True):
            assert np.array_equal(was, now, equal_nan=was is not None), name


def test_a_state_that_was_given_away_says_so() -> None:
    xs = texts()
    state, _ = tracker.step(begun(xs[:2], PLAIN), xs[2], PLAIN)
    after, _ = tracker.step(state, xs[3], PLAIN, donate=True)
    uses: list[Callable[[], Any]] = [
        lambda: tracker.step(state, xs[4], PLAIN),
        lambda: tracker.end_slice(state, PLAIN),
        lambda: memberships(state, xs[4], PLAIN),
        lambda: current(state),
        lambda: state.f.copy(),
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match=r"given away by step\(\.\.\., donate=True\)"):
            use()
    nothing, _ = tracker.step(after, empty(300), PLAIN, donate=True)
    assert nothing is after
    assert nothing.open.documents == 80


@pytest.mark.parametrize("settings", [PLAIN, LIVING])
def test_vectors_of_states_are_read_only(settings: TrackerSettings) -> None:
    xs = texts()
    first = tracker.init(settings, [], 0, xs[0])
    stepped, _ = tracker.step(first, xs[1], settings)
    ended, _ = tracker.end_slice(stepped, settings)
    later, _ = learn(ended, xs[2], settings)
    for state in (first, stepped, ended, later):
        vectors = [state.ids, state.n, state.n_past, state.scores, state.smoothed_drift_angle, state.open.n]
        if state.life is not None:
            vectors += [
                state.life.dormant_since,
                state.life.recent_counts,
                state.life.arrival_gain,
                state.life.recent.gain,
            ]
        for vector in vectors:
            with pytest.raises(ValueError, match="read-only"):
                vector[...] = 0
    assert all(x.data.flags.writeable for x in xs)  # the rows are the caller's


def test_the_vocabulary_changes_once_a_slice_was_judged() -> None:
    xs = texts()
    state, _ = follow(xs[:4], PLAIN)
    state, _ = tracker.step(state, xs[4], PLAIN)
    columns = np.append(np.arange(300), np.full(20, -1)).astype(np.int32)
    calls = []

    def regrow() -> tuple[NDArray[np.int32], list[Rows], Rows, None]:
        calls.append(1)
        return columns, [rows_in_columns(w.x, columns) for w in state.window], rows_in_columns(xs[4], columns), None

    judged, predicted = judge(state, PLAIN)
    grown, result = tracker.end_slice(state, PLAIN, regrow)
    assert calls == [1]
    assert grown.dim == 320
    assert result.predicted == predicted
    assert_same(grown.scores, judged.scores)
    expected = close(regrown(judged, *regrow()[:3], PLAIN), predicted, PLAIN)
    assert_same(grown, expected[0])
    assert_same(result, expected[1])
    assert result.whole
    assert result.prediction is not None
    assert rows_of(result.prediction.x) == 40
    assert result.prediction.belief.f.shape == (320, 16)
    assert_same(result.prediction.ids, state.ids)


def test_the_grid_is_judged_alike_without_a_description() -> None:
    xs = texts()
    settings = replace(PLAIN, persistence=PersistenceSettings(judged_documents=15))
    state, _ = follow(xs[:4], settings)
    for part in (xs[4][:7], xs[4][7:]):
        state, _ = tracker.step(state, part, settings)
    described, predicted = judge(state, settings)
    plain, nothing = judge(state, settings, describe=False)
    assert_same(plain, described)
    assert np.isnan(nothing)
    assert np.isfinite(predicted)
    drawn = np.random.default_rng([settings.seed, state.slice, 1]).permutation(40)[:15]
    stats = filtering.statistics(state)
    bases = [filtering.anchored(state, filtering.run(state, stats, j, settings)[2]) for j in range(2)]
    means = [predictive_log_likelihood(state, xs[4][np.sort(drawn)], settings, base=base).mean() for base in bases]
    np.testing.assert_allclose(plain.scores, 0.8 * state.scores + means, rtol=1e-5)


def test_same_seed_same_topics() -> None:
    xs = texts()
    (a, seen_a), (b, seen_b) = follow(xs, PLAIN), follow(xs, PLAIN)
    assert_same(a, b)
    assert_same(seen_a, seen_b)


# --- edges ----------------------------------------------------------------------------------------------------------


def test_rows_without_direction_change_nothing() -> None:
    xs = [x.toarray() for x in texts()]
    mixed = [np.insert(x, [0, 17], 0.0, axis=0) for x in xs]
    (a, seen_a), (b, seen_b) = (
        follow([sparse(x) for x in rows], replace(PLAIN, refit=False), given=2) for rows in (xs, mixed)
    )
    for p, q in zip(seen_a, seen_b, strict=True):
        assert p.predicted == pytest.approx(q.predicted, abs=1e-3)
        assert q.resp[[0, 18]].sum() == 0
        assert not q.cosine[[0, 18]].any()
    assert a.n == pytest.approx(b.n, abs=1e-3)


def test_slice_of_rows_without_direction() -> None:
    xs = texts()
    for slices, window in ((2, 100), (5, 100), (5, 5)):
        state, _ = follow(xs[:slices], replace(PLAIN, window=window))
        after, closed = learn(state, sparse(np.zeros((7, 300))), replace(PLAIN, window=window))
        assert len(after.window) == {100: min(slices + 1, 3), 5: 1}[window]
        assert after.kappa == state.kappa
        assert np.isnan(closed.predicted)
        assert closed.resp.shape == (7, 16)
        assert not closed.resp.any()
        assert after.n.sum() == pytest.approx(state.n.sum(), rel=1e-3)
        assert np.isfinite(after.base).all()


def test_topics_grow_with_the_documents() -> None:
    x = texts(slices=1)[0]
    settings = replace(PLAIN, topics=20)
    state = tracker.init(settings, [], 0, x[:1])
    assert (state.k, state.open.documents) == (1, 1)
    counts = [1]
    for t in range(4):
        state, _ = learn(state, x[2 + 8 * t : 10 + 8 * t], settings)
        counts.append(state.k)
        assert np.array_equal(state.ids, np.arange(state.k))
        assert state.next_id == state.k
        assert state.base.shape == (300, 16)
    assert counts == [1, 4, 8, 12, 16]
    wide, closed = learn(state, x, settings)
    assert wide.k == 20
    assert closed.filtered.f.shape == wide.base.shape == (300, 32)
    assert closed.filtered.n.shape == closed.filtered.drift_angle.shape == (20,)
    views = smoothed(wide, settings)
    assert [view.drift_angle.shape for view in views] == [view.ids.shape for view in views]
    assert views[-1].ids.shape == (20,)
    assert np.isfinite(learn(wide, x, settings)[1].filtered.gamma).all()


@pytest.mark.parametrize("d", [2, 3])
def test_lowest_dimensions(d: int) -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(3, d) * 2.0 - 1.0
    xs = []
    for _ in range(5):
        x = centres[rng.integers(2, size=30)] + 0.05 * rng.standard_normal((30, d))
        xs.append((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))
    state, seen = follow(xs, replace(PLAIN, topics=2, window=50))
    assert np.isfinite(state.base).all()
    assert bessel_ratio(d, state.kappa) > 0.99
    assert all(closed.predicted > 0.5 for closed in seen)


@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_identical_documents(kind: str) -> None:
    row = np.abs(np.random.default_rng(0).standard_normal((1, 30)))
    x = np.repeat(row / np.linalg.norm(row), 20, axis=0).astype(np.float32)
    xs = [sparse(x) if kind == "csr" else x] * 5
    state, seen = follow(xs, replace(PLAIN, window=50))
    assert np.isfinite(state.base).all()
    assert bessel_ratio(30, state.kappa) <= 0.9999 + 1e-6
    assert all(closed.predicted > 10 for closed in seen)


def test_negative_coordinates_that_come_late_are_scored_exactly() -> None:
    xs = [np.abs(x) for x in drifting(slices=3, d=10, a=0.9).xs]
    state, _ = follow(xs, PLAIN)
    assert state.lowest_cosine == 0.0
    x = -xs[0]
    weights = np.log((state.n[:3] + 1) / (state.n[:3] + 1).sum())
    expected = predictive(x, state.base, column_norms(state.base)[:3], state.kappa, weights)
    assert predictive_log_likelihood(state, x, PLAIN) == pytest.approx(expected, abs=5e-3)
    after, info = tracker.step(state, x, PLAIN)
    assert info.loglik == pytest.approx(expected, abs=5e-3)
    assert after.lowest_cosine == -1.0


def test_nothing_is_learnt_from_no_rows() -> None:
    state = begun(texts(), PLAIN)
    after, info = tracker.step(state, empty(300), PLAIN)
    assert after is state
    assert len(info.label) == len(info.loglik) == 0
    assert np.isnan(judge(state, PLAIN)[1])


def test_start_in_the_middle_of_a_slice() -> None:
    xs = texts()
    state = tracker.init(PLAIN, [(4, xs[0])], 5, xs[1])
    assert (state.slice, state.open.documents, [w.index for w in state.window]) == (5, 40, [4])
    assert state.open.n.sum() == pytest.approx(40, abs=1e-3)
    assert np.abs(state.f - state.base - np.float32(state.kappa) * state.open.s).max() < 1e-3
    alone = tracker.init(PLAIN, [], 5, xs[1])
    assert newest_slice(alone, PLAIN) is None
    assert smoothed(alone, PLAIN) == []
    assert np.isnan(current(alone).drift_angle).all()
    assert np.isnan(judge(alone, PLAIN)[1])
    _, closed = learn(alone, xs[2], PLAIN)
    assert closed.resp.shape == (80, 16)
    assert np.isnan(closed.filtered.drift_angle).all()
