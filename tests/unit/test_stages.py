from __future__ import annotations

import time
from contextvars import copy_context
from threading import Thread

import pytest

from vmfstream.stages import StageClock, spent, timed


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes only when it is told to."""
    at = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: at[0])
    return at


def test_an_inner_stage_does_not_count_for_the_outer_one(now: list[float]) -> None:
    clock = StageClock()
    with clock.on():
        with timed("outer"):
            now[0] += 1
            with timed("inner"):
                now[0] += 2
                with timed("innermost"):
                    now[0] += 4
            spent("inner", 8)
            now[0] += 16
        now[0] += 32
        assert clock.take() == {"outer": 1 + 16 - 8, "inner": 2 + 8, "innermost": 4}
        now[0] += 1
        with timed("outer"):
            now[0] += 1
        assert clock.take() == {"outer": 1}


def test_times_are_counted_whatever_is_raised(now: list[float]) -> None:
    clock = StageClock()

    @timed("inner")
    def fail() -> None:
        now[0] += 1
        raise ValueError("no")

    with clock.on(), timed("outer"):
        with pytest.raises(ValueError, match="no"):
            fail()
        now[0] += 2
    assert clock.take() == {"outer": 2, "inner": 1}


def test_without_a_clock_nothing_is_timed(now: list[float]) -> None:
    clock = StageClock()
    with clock.on():
        pass
    with timed("outer"):
        now[0] += 1
        spent("inner", 1)
    assert clock.take() == {}


def test_threads_in_a_copy_of_the_context_are_timed_beside(now: list[float]) -> None:
    clock = StageClock()

    @timed("beside")
    def work() -> None:
        now[0] += 1

    with clock.on():
        thread = Thread(target=copy_context().run, args=(work,))
        with timed("own"):
            thread.start()
            thread.join()
    assert clock.take() == {"own": 1, "beside": 1}
