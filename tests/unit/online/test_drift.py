"""Angles with their uncertainty, moving terms, alarms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, follow, story
from vmfstream.directional.vmf import sample
from vmfstream.online.drift import detect_change, drift_angles, terms
from vmfstream.online.settings import DriftSettings

RULES = DriftSettings()


def two(d: int, gammas: tuple[float, float], angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Beliefs of these concentrations whose means stand at an angle in degrees, in the first of 16 columns."""
    a, b = np.zeros((2, d, 16), np.float32)
    a[0, 0] = gammas[0]
    b[0, 0], b[1, 0] = gammas[1] * np.cos(np.radians(angle)), gammas[1] * np.sin(np.radians(angle))
    return a, b


def test_angle_and_its_error_by_simulation() -> None:
    d, gammas, angle = 60, (9000.0, 25000.0), 25.0
    seen = drift_angles(*two(d, gammas, angle), 2)
    assert seen.angle[0] == pytest.approx(angle, abs=1e-3)
    assert np.isnan(seen.angle[1])
    assert np.isnan(seen.error[1])
    a, b = two(d, gammas, angle)
    drawn = [
        sample(m[:, 0] / np.linalg.norm(m[:, 0]), g, 20_000, np.random.default_rng(i))
        for i, (m, g) in enumerate(zip((a, b), gammas, strict=True))
    ]
    within = [np.degrees(np.arctan2(x[:, 1], x[:, 0])) for x in drawn]  # in the plane of both means
    assert np.std(within[1] - within[0]) == pytest.approx(seen.error[0], rel=0.03)


def test_certain_beliefs_leave_no_error() -> None:
    wide, narrow = (drift_angles(*two(500, (g, g), 10.0), 1).error[0] for g in (1e3, 1e7))
    assert narrow < 0.05 < wide


def test_terms_that_enter_and_leave() -> None:
    before, after = np.zeros((2, 6, 16), np.float32)
    before[[0, 1, 2], 3] = [3.0, 4.0, 0.0]
    after[[1, 2, 4], 3] = [8.0, 6.0, 0.5]
    entering, leaving = terms(before, after, 3, top=2)
    scale = np.linalg.norm([8.0, 6.0, 0.5])
    assert entering.columns.tolist() == [2, 4]
    assert entering.after == pytest.approx([6.0 / scale, 0.5 / scale])
    assert not entering.before.any()
    assert leaving.columns.tolist() == [0, 1]
    assert leaving.before == pytest.approx([0.6, 0.8])
    assert leaving.after == pytest.approx([0.0, 8.0 / scale])
    assert len(terms(before, after, 3, top=1)[0].columns) == 1
    assert [len(t.columns) for t in terms(before, before, 3)] == [0, 0]
    assert len(terms(before, after, 0)[0].columns) == 0
    with pytest.raises(ValueError, match="one vocabulary, got 6 and 5"):
        terms(before, after[:5], 3)


@pytest.mark.parametrize("shift", [-2.0, 2.0])
def test_a_change_is_reported_when_it_shows(shift: float) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(100.0, 2.0, 600)
    scores[500:] += shift * 2.0
    every = np.ones(600, np.bool_)
    change = detect_change(scores, np.arange(600) >= 500, every, RULES)
    assert change == pytest.approx(scores[500:].mean() - scores[:500].mean())
    assert detect_change(scores[:500], np.arange(500) >= 400, every[:500], RULES) is None
    longer = np.append(scores, rng.normal(100.0 + shift * 2.0, 2.0, 50))
    assert detect_change(longer, np.arange(650) >= 600, np.ones(650, np.bool_), RULES) is None  # it was reported before


def test_what_cannot_change_is_not_watched() -> None:
    every = np.ones(100, np.bool_)
    assert detect_change(np.ones(100), every & (np.arange(100) > 50), every, RULES) is None
    assert detect_change(np.zeros(0), every[:0], every[:0], RULES) is None
    assert detect_change(np.arange(30.0), np.arange(30) > 5, every[:30], RULES) is None


def test_quiet_topics_raise_no_alarm_and_turned_ones_do() -> None:
    settings = replace(LIVING, topics=4, persistences=(0.98,))
    plan = np.tile([30] * 4, (16, 1))
    quiet, turned = story(plan, length=120), story(plan, length=120)
    stranger = np.random.default_rng(1).permutation(800)
    for t in range(10, 16):  # documents of the last topic are reported in other words
        x = turned.xs[t].toarray()
        own = turned.labels[t] == 3
        half = stranger[:300]
        x[np.ix_(own, half)] = x[np.ix_(own, np.roll(half, 1))]
        turned.xs[t] = type(turned.xs[t])((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))
    calm, alarmed = (follow(s.xs, settings)[1] for s in (quiet, turned))
    assert not any(event.kind in ("drift", "surprise") for closed in calm for event in closed.events)
    reported = [(t, event) for t, closed in enumerate(alarmed, 1) for event in closed.events if event.kind == "drift"]
    assert len(reported) == 1
    at, drift = reported[0]
    assert 10 <= at <= 12
    assert drift.evidence is not None
    assert drift.evidence > 0
    assert drift.value is not None
    assert 0 < drift.value < 90
