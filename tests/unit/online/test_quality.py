"""What the tracker finds: the true persistence, drift, concentrations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.tiers import first_of
from tests.unit.online.streams import (
    FILTER,
    PLAIN,
    begun,
    drifting,
    empty,
    follow,
    learn,
    unit,
)
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.online import tracker
from vmfstream.online.belief import with_prediction
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.slice_end import judge
from vmfstream.online.state import TrackerSettings
from vmfstream.online.vocabulary_change import regrown

Matrix = NDArray[np.float32]


def agreement(f: Matrix, means: NDArray[np.float64]) -> float:
    """Smallest cosine of a true mean with the topic nearest to it."""
    return float((unit(f, len(means)) @ means.T).max(axis=0).min())


@pytest.mark.parametrize("omega", [0.8, 0.9, 0.98])
def test_leading_persistence_is_the_true_one(omega: float) -> None:
    settings = TrackerSettings(topics=5, cold_starts=1, refit=False, concentration_step=0.0)
    stream = drifting(omega=omega, slices=7, n=60, d=2000, k=5, a=0.25, seed=1)
    state = begun(stream.xs, settings, given=2)
    # these topics have no common background, and kappa is known: then the leader is exact
    kappa = float(inv_bessel_ratio(2000, 0.25))
    state = replace(state, kappa=kappa, anchor=0 * state.anchor, base=np.zeros_like(state.base))
    state = regrown(state, np.arange(2000, dtype=np.int32), stream.xs[:2], empty(2000), settings)
    for x in stream.xs[2:]:
        state, _ = learn(state, x, settings)
    assert settings.persistences[state.leader] == omega


@pytest.mark.parametrize("omega", first_of([0.8, 0.95]))
def test_leading_persistence_is_near_the_true_one_when_all_is_estimated(omega: float) -> None:
    settings = TrackerSettings(topics=5, cold_starts=1)
    stream = drifting(omega=omega, slices=7, n=60, d=2000, k=5, a=0.25, seed=1)
    state, _ = follow(stream.xs, settings, given=2)
    assert abs(state.leader - settings.persistences.index(omega)) <= 1


def test_drift_is_followed() -> None:
    stream = drifting(omega=0.9, slices=9, n=60, d=2000, k=5, a=0.25, seed=1)
    settings = TrackerSettings(topics=5, cold_starts=2, window=200)
    first = begun(stream.xs, settings, given=2)
    state, cut, frozen, tracked = first, 0.0, 0.0, 0.0
    for t in range(2, 9):
        anchor = np.where(np.arange(16) < 5, state.anchor[:, None], 0).astype(np.float32)
        cut += float(predictive_log_likelihood(state, stream.xs[t], settings, base=anchor).mean())
        frozen += float(predictive_log_likelihood(first, stream.xs[t], settings).mean())
        state, closed = learn(state, stream.xs[t], settings)
        tracked += closed.predicted
        assert agreement(closed.filtered.f, stream.means[t]) > 0.6
    assert tracked > frozen + 7 * 5
    assert tracked > cut + 7 * 5
    # documents have the cosine 0.25 to their means: a dozen of them alone determine a mean to 0.67
    last = agreement(closed.filtered.f, stream.means[8])
    assert last > 0.7
    assert agreement(first.base, stream.means[8]) < last - 0.2
    label = closed.resp[:, :5].argmax(axis=1)
    for topic in range(5):
        assert len(set(label[stream.labels[8] == topic].tolist())) == 1


def test_concentration_is_learnt() -> None:
    stream = drifting(omega=1.0, slices=8, n=60, d=500, a=0.4)
    settings = replace(FILTER, persistences=(0.995,), concentration_step=0.2, window=10_000)
    state = begun(stream.xs, settings)
    state = replace(state, kappa=3 * state.kappa)
    for x in stream.xs[1:]:
        state, _ = learn(state, x, settings)
    assert bessel_ratio(500, state.kappa) == pytest.approx(0.4, abs=0.12)
    kept, _ = follow(stream.xs, replace(settings, concentration_step=0.0))
    assert kept.kappa == pytest.approx(begun(stream.xs, settings).kappa, rel=1e-12)


def test_new_leader_predicts_at_once() -> None:
    stream = drifting(omega=0.7, slices=4, d=300)
    settings = replace(PLAIN, persistences=(0.7, 0.99), refit=False)
    state, _ = follow(stream.xs[:3], settings)
    lagging = with_prediction(replace(state, leader=1), settings)
    filled, _ = tracker.step(lagging, stream.xs[3], settings)
    judged, predicted = judge(filled, settings)
    assert judged.leader == 0
    assert predicted == pytest.approx(predictive_log_likelihood(lagging, stream.xs[3], settings).mean(), abs=1e-3)
    h, led = (s.base[:, :3] - s.anchor[:, None] for s in (lagging, judged))
    assert (np.linalg.norm(led, axis=0) < 0.9 * np.linalg.norm(h, axis=0)).all()
    assert np.abs(judged.f - judged.base - np.float32(judged.kappa) * judged.open.s).max() < 1e-3
    assert predictive_log_likelihood(judged, stream.xs[3], settings).mean() > predicted
