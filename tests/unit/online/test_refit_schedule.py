"""When the window is refitted: the schedule by itself, and what a tracker does under it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.unit.online.streams import LIVING, PLAIN, begun, learn, texts
from vmfstream.bayes.starts import sampled_start
from vmfstream.online import slice_end, window
from vmfstream.online.refit_schedule import RefitSchedule
from vmfstream.online.serialization import from_arrays, to_arrays
from vmfstream.online.settings import TrackerSettings, WindowSettings

SETTINGS = TrackerSettings(window=100, fitting=WindowSettings(early_documents=200, free_documents=1000))


def test_fits_from_nothing_wait_until_the_window_has_doubled() -> None:
    schedule = RefitSchedule(learnt=1000, cold=300)
    assert schedule.allows(600, SETTINGS)
    assert not schedule.allows(600, replace(SETTINGS, refit=False))
    assert replace(schedule, learnt=200).allows_cold(301, SETTINGS)
    assert schedule.allows_cold(600, SETTINGS)
    assert not schedule.allows_cold(599, SETTINGS)
    assert not replace(schedule, learnt=1001).allows_cold(600, SETTINGS)


def test_a_refit_waits_until_a_tenth_of_the_window_is_new() -> None:
    schedule, refits = RefitSchedule(), []
    for end in range(1, 41):
        schedule, rows = schedule.after_slice(10), min(10 * end, 250)
        if schedule.allows(rows, SETTINGS):
            refits.append(end)
            schedule = schedule.after_refit(rows, SETTINGS, gain=1.0, cold=False)
    assert refits == [*range(1, 11), 12, 14, 16, 18, 20, 23, 26, 29, 32, 35, 38]
    large = RefitSchedule().after_slice(25).after_refit(25, SETTINGS, gain=1.0, cold=False).after_slice(25)
    assert large.allows(250, SETTINGS)
    assert not large.allows(251, SETTINGS)


@pytest.mark.parametrize("budget", [0.0, 0.2, 3.0])
def test_refits_stay_within_the_budget(budget: float) -> None:
    settings, rows = replace(SETTINGS, refit_budget=budget), 50
    schedule = RefitSchedule()
    refits = 0
    for _ in range(2000):
        schedule = schedule.after_slice(rows)
        if schedule.allows(rows, settings):
            paid = schedule.learnt > 1000
            schedule = schedule.after_refit(rows, settings, gain=1.0, cold=False)
            refits += paid
    assert schedule.spent == refits * SETTINGS.fitting.counted_sweeps * rows
    allowed = budget * (schedule.learnt - 1000)
    assert allowed - SETTINGS.fitting.counted_sweeps * rows < schedule.spent <= allowed


def test_schedule_is_stored_and_older_states_count_as_just_refitted() -> None:
    xs = texts()
    state, _ = learn(begun(xs, LIVING), xs[1], LIVING)
    open_part, slice_part = to_arrays(state)
    rows = [w.x for w in state.window], xs[0][:0]
    assert state.refits.learnt == 80
    assert from_arrays(open_part, slice_part, *rows, LIVING).refits == state.refits
    del slice_part["refits"]
    assert from_arrays(open_part, slice_part, *rows, LIVING).refits == RefitSchedule(80, 80)


def test_a_tracker_refits_freely_first_and_then_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts(slices=6)
    settings = replace(PLAIN, refit_budget=0.2, fitting=WindowSettings(free_documents=120))
    refitted: list[int] = []

    def counted(state, settings, rng, *, cold):  # type: ignore[no-untyped-def]
        refitted.append(state.slice)
        return window.refit(state, settings, rng, cold=cold)

    monkeypatch.setattr(slice_end, "refit", counted)
    state = begun(xs, settings)
    for x in xs[1:]:
        state, _ = learn(state, x, settings)
    assert refitted == [1, 2]
    assert state.refits.spent == 0


def test_refits_that_gain_little_are_followed_by_longer_and_longer_pauses() -> None:
    schedule, refits = RefitSchedule(learnt=5000), []
    for t in range(120):
        schedule = schedule.after_slice(10)
        if schedule.allows(10, SETTINGS):
            refits.append(t)
            schedule = schedule.after_refit(10, SETTINGS, gain=0.001, cold=False)
    assert refits == [0, 2, 5, 10, 19, 36, 69, 102]
    assert RefitSchedule.from_array(schedule.array()) == schedule
    again = schedule.after_refit(10, SETTINGS, gain=0.1, cold=False)
    assert (again.pause, again.wait) == (0, 0)


@pytest.mark.parametrize(("gain", "warm_up", "wait"), [(0.0005, False, 2), (0.0005, True, 0), (0.002, False, 0)])
def test_free_refits_pause_where_they_gain_next_to_nothing(gain: float, warm_up: bool, wait: int) -> None:
    schedule = RefitSchedule(learnt=500).after_refit(10, SETTINGS, gain=gain, cold=False, warm_up=warm_up)
    assert schedule.wait == wait
    assert schedule.after_slice(10).allows(10, SETTINGS) == (wait == 0)


def test_first_topics_are_looked_for_in_a_sample() -> None:
    xs = texts(slices=4)
    settings = replace(PLAIN, fitting=WindowSettings(sampled_documents=60, sampled_per_topic=10))
    whole, sampled = (window.cold_fits(xs, 3, given, 0.9, np.random.default_rng(0)) for given in (PLAIN, settings))
    assert [r.shape for r in sampled.resp] == [(40, 16)] * 4
    labels = [np.concatenate([r.argmax(axis=1) for r in fit.resp]) for fit in (whole, sampled)]
    pairs = set(zip(*(one.tolist() for one in labels), strict=True))
    assert len(pairs) == 3  # the same groups


def test_more_topics_are_looked_for_in_a_larger_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = texts(slices=4)
    searched: list[int] = []

    def recorded(x: Any, rows: Any, *arguments: Any, **options: Any) -> Any:
        searched.append(len(rows))
        return sampled_start(x, rows, *arguments, **options)

    monkeypatch.setattr(window, "sampled_start", recorded)
    settings = replace(PLAIN, fitting=WindowSettings(sampled_documents=40, sampled_per_topic=25))
    for topics in (1, 3, 8):
        window.cold_fits(xs, topics, settings, 0.9, np.random.default_rng(0))
    assert searched == [40, 75]  # all 160 documents are fewer than 25 for each of 8 topics
