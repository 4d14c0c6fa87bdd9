"""Refits of the window: candidates, which one wins, and what becomes of the topics' ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.online.streams import PLAIN, begun, follow, learn, sparse, texts
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.online import slice_end, window
from vmfstream.online.matching import match, with_refit
from vmfstream.online.settings import TrackerSettings, WindowSettings
from vmfstream.online.state import TrackState
from vmfstream.online.window import Refit, cold_fits, directed_rows, refit, topics_for


def test_matching_brings_permuted_topics_back() -> None:
    shared = np.diag([5.0, 4.0, 3.0, 2.0, 1.0])
    order = np.array([3, 1, 4, 0, 2])
    assert match(shared[:, order]).tolist() == np.argsort(order).tolist()
    more = np.concatenate([np.full((5, 2), 0.1), shared[:, order]], axis=1)
    assert match(more).tolist() == [*(2 + np.argsort(order)), 0, 1]


def test_matching_looks_at_all_topics_together() -> None:
    shared = np.array([[8.0, 9.0], [1.0, 6.0]])  # both share most with the second
    assert match(shared).tolist() == [0, 1]


def relabelled(order: list[int], fresh: int = 0) -> Callable[..., Refit]:
    """A refit that finds the same topics under other numbers, and perhaps more of them."""

    def answer(state: TrackState, settings: TrackerSettings, rng: np.random.Generator, *, cold: bool) -> Refit:
        resps = []
        for w in state.window:
            resp = np.zeros_like(w.resp)
            resp[:, order] = w.resp[:, : state.k]
            for j in range(fresh):  # a new topic takes over every tenth document
                resp[j::10] = 0
                resp[j::10, [c for c in range(state.k + fresh) if c not in order][j]] = 1
            resps.append(resp)
        return Refit(resps, state.anchor, state.kappa, 0.0, state.k + fresh, cold=True)

    return answer


def test_ids_stay_with_their_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts()
    state = begun(xs, PLAIN)
    monkeypatch.setattr(slice_end, "refit", relabelled([0, 1, 2]))
    plain, seen = learn(state, xs[1], PLAIN)
    monkeypatch.setattr(slice_end, "refit", relabelled([2, 0, 1]))
    other, seen_other = learn(state, xs[1], PLAIN)
    assert np.array_equal(plain.ids, other.ids)
    assert np.array_equal(seen.resp, seen_other.resp)
    assert np.array_equal(plain.base, other.base)


def test_topics_beyond_the_old_ones_get_new_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts()
    state = replace(begun(xs, PLAIN), ids=np.array([4, 0, 7]), next_id=9)
    monkeypatch.setattr(slice_end, "refit", relabelled([0, 1, 2]))
    plain, _ = learn(state, xs[1], PLAIN)
    monkeypatch.setattr(slice_end, "refit", relabelled([4, 0, 2], fresh=2))
    grown, seen = learn(state, xs[1], PLAIN)
    assert grown.ids.tolist() == [4, 0, 7, 9, 10]
    assert grown.next_id == 11
    assert seen.filtered.n[3:] == pytest.approx([4.0, 4.0])
    cosine = np.sum(plain.base[:, :3] * grown.base[:, :3], axis=0) / (plain.gamma[:3] * grown.gamma[:3])
    assert (cosine > 0.9).all()


@pytest.mark.parametrize("living", [True, False])
def test_a_topic_of_other_documents_is_another_where_topics_live(living: bool) -> None:
    """Documents of three topics; a fresh fit takes two of them for one and finds two in the third."""
    rows = texts(n=40, k=3, slices=1)[0]
    state = begun([rows], replace(PLAIN, living_topics=living))
    old = np.repeat([0, 1, 2], [10, 10, 20])
    new = np.repeat([0, 0, 1, 2], 10)

    def one_hot(labels: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.eye(state.kp, dtype=np.float32)[labels]

    state = replace(state, window=(replace(state.window[0], resp=one_hot(old)),))
    fit = Refit([one_hot(new)], state.anchor, state.kappa, 0.0, 3, cold=True)
    after, events = with_refit(state, fit, PLAIN)
    labels = after.ids[after.window[0].resp.argmax(axis=1)]
    assert len(set(labels[:20])) == 1
    assert labels[0] in (0, 1)
    gone = 1 - labels[0]
    assert sorted(np.unique(labels[20:])) == ([2, 3] if living else sorted([2, gone]))
    assert after.next_id == (4 if living else 3)
    assert [(event.kind, event.topic, event.other) for event in events] == (
        [("merged", gone, labels[0])] if living else []
    )
    x = rows.toarray()
    for event in events:
        a, b = (x[labels_then == k].sum(axis=0) for labels_then, k in ((old, gone), (new, 0)))
        expected = np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))
        assert event.value == pytest.approx(expected, abs=0.01)


def test_cold_fits_compete_until_something_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts(slices=5)
    settings = replace(PLAIN, cold_starts=3, fitting=replace(PLAIN.fitting, least_free_gain=-1.0))
    calls: list[tuple[str, int]] = []
    warm, cold = window._warm, window.cold_fits

    def counted_cold(xs, k, settings, omega, rng, seeds):  # type: ignore[no-untyped-def]
        calls.append(("cold", k))
        return cold(xs, k, settings, omega, rng, seeds)

    def counted_warm(state, settings, betas, sweeps=None):  # type: ignore[no-untyped-def]
        calls.append(("hot" if len(betas) else "warm" if sweeps is None else "present", state.k))
        return warm(state, settings, betas, sweeps)

    state = begun(xs, settings)
    monkeypatch.setattr(window, "cold_fits", counted_cold)
    monkeypatch.setattr(window, "_warm", counted_warm)
    for x in xs[1:4]:
        state, _ = learn(state, x, settings)
    assert calls == [(kind, 3) for kind in ("warm", "cold", "hot", "hot")]
    learn(state, xs[4], replace(settings, refit=False))
    assert len(calls) == 4


def test_topics_of_many_documents_are_annealed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts(slices=2)
    state, _ = follow(xs, PLAIN)
    assert state.warm_up
    truth = np.concatenate([w.resp.argmax(axis=1) for w in state.window])
    names = np.where(truth < 2, 0, 1 + np.arange(len(truth)) % 2)  # two groups in one topic, the third in two
    parts = np.split(np.eye(16, dtype=np.float32)[names], 2)
    poor = replace(state, window=tuple(replace(w, resp=r) for w, r in zip(state.window, parts, strict=True)))
    many = replace(PLAIN, fitting=WindowSettings(sampled_documents=60, sampled_per_topic=10))
    monkeypatch.delattr(window, "cold_fits")  # nothing is looked for from nothing
    found = refit(poor, many, np.random.default_rng(0), cold=True)
    assert not found.cold
    assert found.bound > found.present
    labels = np.concatenate([r.argmax(axis=1) for r in found.resp])
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == 3

    monkeypatch.setattr(window, "_annealed", lambda state, settings, rng: poor)
    kept = refit(state, many, np.random.default_rng(0), cold=True)  # annealing gains nothing: they go on as they are
    assert kept.bound >= kept.present
    assert np.concatenate([r.argmax(axis=1) for r in kept.resp]).tolist() == truth.tolist()


def test_largest_bound_wins() -> None:
    xs = texts(slices=3)
    state, _ = follow(xs[:2], PLAIN)
    poor = replace(
        state,
        window=tuple(replace(w, resp=np.roll(w.resp, 1, axis=0)) for w in state.window),  # every label is wrong
    )
    rng = np.random.default_rng(0)
    found = refit(poor, PLAIN, rng, cold=True)
    assert found.cold
    given = (np.zeros(3), np.zeros((300, 16), np.float32), found.anchor, 0.95, 1.0)
    again = fit_smoother(xs[:2], found.resp, found.kappa, *given, max_iter=0)
    assert found.bound == pytest.approx(again.bound, rel=1e-5)
    here = fit_smoother(xs[:2], [w.resp for w in poor.window], poor.kappa, *given, max_iter=0)
    assert found.bound > here.bound + 10


def test_a_committed_window_continues_only_where_annealing_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    state, _ = follow(texts(slices=6), PLAIN)
    assert not state.warm_up
    fits = list[tuple[bool, int]]()
    poor = replace(state, window=tuple(replace(w, resp=np.roll(w.resp, 1, axis=0)) for w in state.window))

    def refitted(handicap: float) -> Refit:
        def fitted(*given: Any, **options: Any) -> Any:
            fits.append((bool(options["betas"]), options["max_iter"]))
            found = fit_smoother(*given, **options)
            return replace(found, bound=found.bound - handicap) if options["betas"] else found

        monkeypatch.setattr(window, "fit_smoother", fitted)
        fits.clear()
        return refit(poor, PLAIN, np.random.default_rng(0), cold=False)

    for handicap, then in ((0.0, []), (1e9, [(False, 3)])):
        found = refitted(handicap)
        assert fits == [(True, 3), *then]
        assert found.bound > found.present


def test_committed_past_speaks_in_refits() -> None:
    xs = texts(slices=5)
    state, _ = follow(xs, PLAIN)
    assert state.past is not None
    found = refit(state, PLAIN, np.random.default_rng(0), cold=True)
    assert not found.cold
    assert found.anchor is state.anchor
    omega = PLAIN.persistences[state.leader]
    past = (state.n_past[:3], state.past[state.leader], state.anchor, omega, 1.0)
    rows = [w.x for w in state.window]
    assert found.bound == pytest.approx(fit_smoother(rows, found.resp, found.kappa, *past, max_iter=0).bound, rel=1e-6)


def test_more_topics_win_at_once_when_they_become_affordable() -> None:
    xs = texts(slices=3)
    state = begun([xs[0][:4]], PLAIN)
    assert state.k == 2
    state = replace(
        state,
        window=(*state.window, replace(state.window[0], x=xs[1], resp=np.eye(16, dtype=np.float32)[np.zeros(40, int)])),
    )
    found = refit(state, PLAIN, np.random.default_rng(0), cold=True)
    assert (found.k, found.cold) == (3, True)


def test_topics_need_two_documents_each() -> None:
    rows = sparse(np.vstack([np.eye(6), np.zeros((4, 6))]))
    assert directed_rows(rows) == 6
    assert [topics_for([rows], replace(PLAIN, topics=k)) for k in (1, 3, 9)] == [1, 3, 3]
    assert topics_for([rows, rows], replace(PLAIN, topics=9)) == 6
    assert topics_for([sparse(np.zeros((4, 6)))], PLAIN) == 1


def test_no_cold_fit_with_fewer_rows_than_topics() -> None:
    state, _ = follow(texts(slices=2), PLAIN)
    blank = sparse(np.zeros((40, 300)))
    state = replace(state, window=tuple(replace(w, x=blank, resp=0 * w.resp) for w in state.window))
    found = refit(state, PLAIN, np.random.default_rng(0), cold=True)
    assert not found.cold
    assert not any(r.any() for r in found.resp)


def test_best_of_several_starts() -> None:
    xs = texts(slices=2, length=12, k=3)
    rng = np.random.default_rng(0)
    one = [cold_fits(xs, 3, PLAIN, 0.9, rng) for _ in range(4)]
    best = cold_fits(xs, 3, replace(PLAIN, cold_starts=4), 0.9, np.random.default_rng(0))
    assert best.bound == max(c.bound for c in one)
    assert [r.shape for r in best.resp] == [(40, 16), (40, 16)]
    assert all(r.dtype == np.float32 for r in best.resp)


@pytest.mark.parametrize(
    ("most", "together", "starts"), [(5, 400, 5), (5, 240, 3), (5, 40, 2), (1, 40, 1), (3, 400, 3)]
)
def test_many_documents_need_fewer_starts(
    most: int, together: int, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    static_fits = window.static_fits

    def counted(*arguments):  # type: ignore[no-untyped-def]
        given.append(arguments[-1])
        return static_fits(*arguments)

    monkeypatch.setattr(window, "static_fits", counted)
    settings = replace(PLAIN, cold_starts=most, fitting=WindowSettings(cold_documents=together))
    cold_fits(texts(slices=2), 3, settings, 0.9, np.random.default_rng(0))
    assert given == [starts]


def test_empty_slices_take_part() -> None:
    x = texts(slices=1)[0]
    for rows in (x, x.toarray()):
        found = cold_fits([sparse(np.zeros((0, 300))), rows, rows[:0]], 3, PLAIN, 0.9, np.random.default_rng(0))
        assert [r.shape for r in found.resp] == [(0, 16), (40, 16), (0, 16)]
        assert np.isfinite(found.bound)
