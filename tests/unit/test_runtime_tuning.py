"""Products of dense matrices use as many threads as a task says, and afterwards as many as before."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from types import FrameType
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.unit.engine.documents import years
from vmfstream import BayesianVMFMixture, OnlineVMFMixture, SphericalKMeans, TopicTracker, VMFMixture
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.estimators import base
from vmfstream.online.count_sliced import CountSlicedStream
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runtime_tuning import product_threads

ROWS = np.repeat(np.eye(5)[:3], 20, axis=0) + np.random.default_rng(0).normal(0.0, 0.2, (60, 5))


def threads() -> int:
    return max(int(library["num_threads"]) for library in threadpool_info() if library["user_api"] == "blas")


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    with product_threads():  # restores what a test of interruptions may have left
        pass
    with threadpool_limits(3, "blas"):
        yield
        assert threads() == 3


def test_the_limit_holds_until_the_last_task_ends() -> None:
    with ExitStack() as second:
        with product_threads(2):
            assert threads() == 2
            second.enter_context(product_threads(1))
            assert threads() == 2
        assert threads() == 2
    assert threads() == 3


def test_no_task_gets_more_threads_than_there_were() -> None:
    with product_threads(8):
        assert threads() == 3


def test_threads_come_back_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="over"), product_threads():
        raise RuntimeError("over")


def interrupted_as_it_ends() -> None:
    """Hold the limit, and be interrupted at the first line of its end."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_name == "held" and event == "line":
            raise KeyboardInterrupt
        return trace

    limit = product_threads(1)
    limit.__enter__()
    earlier = sys.gettrace()
    sys.settrace(trace)
    try:
        limit.__exit__(None, None, None)
    finally:
        sys.settrace(earlier)


def test_a_task_that_is_interrupted_as_it_ends_is_forgotten() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted_as_it_ends()
    gc.collect()
    with product_threads(2):
        assert threads() == 2
    assert threads() == 3


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (2, 2)])
@pytest.mark.parametrize("estimator", [VMFMixture, BayesianVMFMixture, SphericalKMeans])
def test_fits_use_as_many_threads_as_they_are_told(
    estimator: Any, n_jobs: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(base, "print", lambda *line, flush: seen.append(threads()), raising=False)
    estimator(3, n_jobs=n_jobs, verbose=1, random_state=0).fit(ROWS)
    assert set(seen) == {expected}


def watched(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[int]:
    """Note the threads that there are whenever a method of ``owner`` is called."""
    seen: list[int] = []
    real: Callable[..., Any] = getattr(owner, name)

    def noting(*args: Any, **kwargs: Any) -> Any:
        seen.append(threads())
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, name, noting)
    return seen


def test_one_pass_uses_as_many_threads_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(monkeypatch, CountSlicedStream, "learn")
    OnlineVMFMixture(3, n_jobs=2).partial_fit(ROWS)
    OnlineVMFMixture(3).partial_fit(ROWS)
    assert seen == [2, 1]


def test_a_run_and_a_tracker_use_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watched(monkeypatch, MemoryStore, "commit")
    follow(MemorySource(years({2001: 30})), FieldCodec(), MemoryStore(), RunSettings(topics=2))
    TopicTracker(topics=2).learn(["cat fur paw", "ship sea harbour"] * 20, 2001).finish()
    assert seen
    assert set(seen) == {1}
