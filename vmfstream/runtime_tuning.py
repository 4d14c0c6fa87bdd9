"""Tune this process for a task: rarer garbage collection, faster switches between threads, few threads for products."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakSet

ALLOCATIONS = 50_000
"""New objects between two rounds of the garbage collector."""

SWITCH_SECONDS = 0.0001
"""Seconds that a thread waits before it asks another one to release the interpreter."""


def _nothing() -> None:
    """Restore nothing."""


class _Task:
    """A task that holds a setting."""


class _Setting:
    """A setting of the whole process: of concurrent tasks, the first one makes it and the last one to end restores it.

    A task that could not end, since Ctrl-C came while it did, holds nothing once it is forgotten; what it should have
    restored, the next one does.

    Parameters
    ----------
    make : makes the setting, with the arguments of `held`, and returns what restores the one before.
    """

    def __init__(self, make: Callable[..., Callable[[], object]]) -> None:
        self._make, self._lock = make, Lock()
        self._tasks: WeakSet[_Task] = WeakSet()
        self._restore: Callable[[], object] = _nothing

    @contextmanager
    def held(self, *wanted: Any) -> Iterator[None]:
        """Hold the setting in the body."""
        task = _Task()
        with self._lock:
            if not self._tasks:
                self._restore()
                self._restore = self._make(*wanted)
            self._tasks.add(task)
        try:
            yield
        finally:
            with self._lock:
                self._tasks.discard(task)
                if not self._tasks:
                    self._restore()
                    self._restore = _nothing


def _tune() -> Callable[[], None]:
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    first, *others = thresholds
    gc.freeze()
    gc.set_threshold(first and max(first, ALLOCATIONS), *others)  # 0 is never
    sys.setswitchinterval(min(interval, SWITCH_SECONDS))

    def restore() -> None:
        sys.setswitchinterval(interval)
        gc.set_threshold(*thresholds)
        gc.unfreeze()

    return restore


@cache
def _blas() -> Any:
    """Return the BLAS libraries of this process; numpy, which is asked for the products, has loaded its own."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def _limit(most: int) -> Callable[[], object]:
    if all(library["num_threads"] <= most for library in _blas().info()):
        return _nothing
    restore: Callable[[], object] = _blas().limit(limits=most).restore_original_limits
    return restore


_tuning, _products = _Setting(_tune), _Setting(_limit)


@contextmanager
def tuned_runtime() -> Iterator[None]:
    """Let the garbage collector run less often, and threads switch sooner, than by default.

    Each round of the garbage collector passes over all objects, those of the loaded libraries above all: to do so every
    fifty thousand documents costs as much as to encode them. Documents would outlive many of its rounds, and are freed
    without it. And a thread that returns from compiled code, which does not hold the interpreter, gets it back sooner.

    The settings are those of the whole process: of concurrent tasks, the first sets them and the last one to end
    restores them.
    """
    with _tuning.held():
        yield


@contextmanager
def product_threads(most: int = 1) -> Iterator[None]:
    """Let a product of dense matrices use at most ``most`` threads, of the BLAS library below numpy.

    By default it uses as many as there are cores. Fits and passes multiply small matrices thousands of times, and after
    each the threads wait for each other, busily: on cores that have other work that takes ten times as long.

    The limit is that of the whole process: of concurrent tasks, the first sets it and the last one to end restores it.
    """
    with _products.held(most):
        yield
