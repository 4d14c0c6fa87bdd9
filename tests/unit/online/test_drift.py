"""Angles with their uncertainty, moving terms, alarms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

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


SLICES = np.repeat(np.arange(12), 50)


@pytest.mark.parametrize("shift", [-4.0, 4.0])
def test_a_change_is_told_from_its_slice_on(shift: float) -> None:
    scores = np.random.default_rng(0).normal(100.0, 2.0, 600)
    scores[500:] += shift
    change = detect_change(scores, SLICES, RULES)
    assert change is not None
    assert change.since == 10
    assert change.difference == pytest.approx(scores[500:].mean() - scores[:500].mean())
    assert detect_change(scores[:500], SLICES[:500], RULES) is None
    assert detect_change(scores[500:], SLICES[500:], RULES) is None


def test_changes_are_bounded_as_in_the_paper() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(0.0, 1.0, 600) + np.where(SLICES >= 7, 0.5, 0.0)
    low, middle, high = np.percentile(scores, [25, 50, 75])
    scaled = np.clip((scores - middle) / (4.0 * (high - low)) + 0.5, 0.0, 1.0)
    excess = {}
    for slice in range(1, 12):
        old, new = scaled[slice > SLICES], scaled[slice <= SLICES]
        harmonic = 1.0 / (1.0 / len(old) + 1.0 / len(new))
        share = RULES.false_alarm / math.log(600)  # of the allowed false alarms, for one of the moments
        bound = math.sqrt(2.0 / harmonic * scaled.var() * math.log(2.0 / share))
        bound += 2.0 / (3.0 * harmonic) * math.log(2.0 / share)
        excess[slice] = abs(old.mean() - new.mean()) - bound
    change = detect_change(scores, SLICES, RULES)
    assert change is not None
    assert change.since == max(excess, key=excess.__getitem__)
    barely = min(0.5, RULES.false_alarm)
    while detect_change(scores, SLICES, replace(RULES, false_alarm=barely)) is not None:
        barely /= 1.1
    rest = math.log(600) / barely
    assert barely < RULES.false_alarm / 1.1
    harmonic = 1.0 / (1.0 / (50 * change.since) + 1.0 / (600 - 50 * change.since))
    at = change.since <= SLICES
    bound = math.sqrt(2.0 / harmonic * scaled.var() * math.log(2.0 * rest))
    bound += 2.0 / (3.0 * harmonic) * math.log(2.0 * rest)
    assert abs(scaled[at].mean() - scaled[~at].mean()) == pytest.approx(bound, rel=0.01)


def test_changes_are_found_no_later_than_by_adwin() -> None:
    from river.drift import ADWIN

    own, adwin = [], []
    for seed in range(12):
        scores = np.random.default_rng(seed).normal(size=600) + np.where(SLICES >= 6, 0.6, 0.0)
        ends = [t for t in range(1, 12) if detect_change(scores[t >= SLICES], SLICES[t >= SLICES], RULES) is not None]
        own.append(min(ends, default=12))
        watch: Any = ADWIN(delta=RULES.false_alarm, clock=1)  # type: ignore[no-untyped-call]
        low, middle, high = np.percentile(scores, [25, 50, 75])
        found = 600
        for i, value in enumerate(np.clip((scores - middle) / (4.0 * (high - low)) + 0.5, 0.0, 1.0).tolist()):
            watch.update(value)
            if watch.drift_detected:
                found = min(found, i)
        adwin.append(found // 50)
    assert min(own) >= 6
    assert np.mean(own) <= np.mean(adwin)


def test_steady_scores_raise_no_alarm() -> None:
    for seed in range(200):
        scores = np.random.default_rng(seed).standard_t(3, 600)
        assert detect_change(scores, SLICES, RULES) is None


def test_what_cannot_change_is_not_watched() -> None:
    assert detect_change(np.ones(100), SLICES[:100], RULES) is None
    assert detect_change(np.zeros(0), SLICES[:0], RULES) is None
    assert detect_change(np.arange(100.0), np.zeros(100, np.int64), RULES) is None  # nothing older
    shifted = np.random.default_rng(0).normal(0.0, 1.0, 600) + np.where(SLICES >= 6, 1.0, 0.0)
    assert detect_change(shifted, SLICES, replace(RULES, least_documents=601)) is None
    assert detect_change(shifted, SLICES, replace(RULES, least_documents=600)) is not None


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
