"""Tune Python for a long task: rarer garbage collection, faster switches between threads."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

ALLOCATIONS = 50_000
"""New objects between two rounds of the garbage collector."""

SWITCH_SECONDS = 0.0001
"""Seconds that a thread waits before it asks another one to release the interpreter."""


class _Tuning:
    """Counts the tasks of this process; the settings are those of all of it."""

    def __init__(self) -> None:
        self._lock, self._tasks = Lock(), 0
        self._thresholds, self._interval = gc.get_threshold(), sys.getswitchinterval()

    def begin(self) -> None:
        with self._lock:
            self._tasks += 1
            if self._tasks > 1:
                return
            self._thresholds, self._interval = gc.get_threshold(), sys.getswitchinterval()
            first, *others = self._thresholds
            gc.freeze()
            gc.set_threshold(first and max(first, ALLOCATIONS), *others)  # 0 is never
            sys.setswitchinterval(min(self._interval, SWITCH_SECONDS))

    def end(self) -> None:
        with self._lock:
            self._tasks -= 1
            if self._tasks == 0:
                sys.setswitchinterval(self._interval)
                gc.set_threshold(*self._thresholds)
                gc.unfreeze()


_tuning = _Tuning()


@contextmanager
def tuned_runtime() -> Iterator[None]:
    """Let the garbage collector run less often, and threads switch sooner, than by default.

    Each round of the garbage collector passes over all objects, those of the loaded libraries above all: to do so every
    fifty thousand documents costs as much as to encode them. Documents would outlive many of its rounds, and are freed
    without it. And a thread that returns from compiled code, which does not hold the interpreter, gets it back sooner.

    The settings are those of the whole process: of concurrent tasks, the first sets them and the last one to end
    restores them.
    """
    _tuning.begin()
    try:
        yield
    finally:
        _tuning.end()
