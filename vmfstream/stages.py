"""Where the time of a run goes: seconds by stage, measured where the work is done.

A run switches a `StageClock` on. ``with timed(stage):`` and ``@timed(stage)`` then add to it, on any floor, without it
being handed down; where no clock is on they do nothing. Time within an inner stage does not count for the outer one.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

WRITING = "writing"

STAGES = {
    "reading": "polling, decoding and admitting messages",
    "embedding": "vectors of texts by a sentence model",
    "waiting": "nothing to do: no messages yet, or stories not learnt yet",
    "words": "counting words and making unit rows",
    "scoring": "scoring documents and adding them to topics",
    "stories": "giving documents their stories",
    "slice ends": "growing the vocabulary, judging, births, mergers, drift, reports",
    "refits": "first fits and refits",
    WRITING: "states, rows and transactions",
}
"""The stages, and what they are made of."""

ELAPSED = "elapsed"
"""Stands beside the stages for the time that passed, from the opening of the run file to its last epoch."""


class StageClock:
    """Adds up seconds by stage; also of threads that run in a copy of the context in which it is on."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._lock = Lock()

    @contextmanager
    def on(self) -> Iterator[None]:
        """Let what is timed in the body add to this clock."""
        before = _clock.set(self)
        try:
            yield
        finally:
            _clock.reset(before)

    def add(self, stage: str, seconds: float) -> None:
        """Add to a stage."""
        with self._lock:
            self._seconds[stage] += seconds

    def take(self) -> dict[str, float]:
        """Return the seconds of each stage since the last call."""
        with self._lock:
            seconds, self._seconds = self._seconds, defaultdict(float)
        return dict(seconds)


_clock: ContextVar[StageClock | None] = ContextVar("clock", default=None)
_inner: ContextVar[list[float]] = ContextVar("inner")  # what stages within the open one took, to be added to


def spent(stage: str, seconds: float, *, meanwhile: bool = False) -> None:
    """Add ``seconds`` to a ``stage``, measured elsewhere, as if timed just now, or ``meanwhile`` by a thread."""
    clock = _clock.get()
    if clock is not None:
        clock.add(stage, seconds)
        if not meanwhile and (inner := _inner.get([])):
            inner[0] += seconds


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Add to a stage the time that the body takes, without that of stages within."""
    if _clock.get() is None:
        yield
        return
    inner = [0.0]
    before = _inner.set(inner)
    began = time.perf_counter()
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        _inner.reset(before)
        spent(stage, seconds - inner[0])
        if outer := _inner.get([]):
            outer[0] += inner[0]
