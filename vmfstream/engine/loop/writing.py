"""Epochs into a store, in their order: at once, or while later ones are learnt, several in one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from vmfstream.errors import StoreLocked
from vmfstream.protocols import Store
from vmfstream.records import Commit

log = logging.getLogger(__name__)

PAUSE = 2.0
"""Most seconds from the begin of a transaction to that of the next one while epochs wait."""

SHARE = 10
"""The pause is so many times as long as the transaction took, while that is less: writing takes a tenth of a thread."""

MOST = 16
"""Epochs that may wait while others are under way."""

MOST_BYTES = 2**26
"""Bytes of states with which epochs may wait."""


class Task(NamedTuple):
    """An epoch to be written, and whom to tell."""

    commit: Commit
    told: Callable[[], None]

    @property
    def bytes(self) -> int:
        """Memory of its states."""
        states = (self.commit.open_state, self.commit.slice_state or {})
        return sum(array.nbytes for state in states for array in state.values())


class Writer:
    """Commits to a store; it is entered while a run goes on.

    A transaction costs nearly the same for one epoch as for ten, so those that end shortly after each other are
    written together. What is then in the store is the same.

    Parameters
    ----------
    store : Store
    beside : bool
        Commit in a thread, one transaction at a time; else each epoch at once.
    """

    def __init__(self, store: Store, *, beside: bool) -> None:
        self._store, self._beside = store, beside
        self._pool: Executor = _AtOnce()
        self._waiting: list[Task] = []
        self._open: tuple[Sequence[Task], Future[float]] | None = None
        self._due = 0.0

    def __enter__(self) -> Writer:
        if self._beside:
            self._pool = ThreadPoolExecutor(1, "vmfstream-writer")
        return self

    def __exit__(self, *error: object) -> None:
        if self._waiting:  # an error elsewhere ends the run, not one of the store
            self._pool.submit(self._written, self._waiting)
        self._pool.shutdown()
        self._open, self._waiting = None, []

    def write(self, commit: Commit, told: Callable[[], None], stop: Callable[[], bool], *, urgent: bool) -> None:
        """Commit, after those before; ``told`` is called by `settle` once it is written. What is urgent is not kept."""
        self._waiting.append(Task(commit, told))
        if len(self._waiting) > MOST or sum(task.bytes for task in self._waiting) > MOST_BYTES:
            self._wait(stop)
            urgent = True
        if urgent:
            self._due = 0.0
        self.settle(stop, wait=not self._beside)

    def settle(self, stop: Callable[[], bool], *, wait: bool = True) -> None:
        """See to the epochs that are to be written, and raise what writing them raised.

        While another process holds the log they are tried again until the run is stopped. Without ``wait`` those that
        are not done yet, or are to wait for others, are left alone.
        """
        while True:
            self._wait(stop, wait=wait)
            if self._open is not None or not self._waiting or not (wait or time.monotonic() >= self._due):
                return
            self._begin(self._waiting)
            self._waiting = []
            if not wait:
                return

    def _begin(self, tasks: Sequence[Task]) -> None:
        self._open = tasks, self._pool.submit(self._written, tasks)

    def _written(self, tasks: Sequence[Task]) -> float:
        """Write, and return when the next transaction may begin."""
        began = time.monotonic()
        self._store.commit(*(task.commit for task in tasks))
        return began + min(PAUSE, SHARE * (time.monotonic() - began))

    def _wait(self, stop: Callable[[], bool], *, wait: bool = True) -> None:
        """Wait for the epochs that are under way, or see whether they are written."""
        while self._open is not None and (wait or self._open[1].done()):
            tasks, done = self._open
            try:
                self._due = done.result()
            except StoreLocked as error:
                if stop():
                    self._waiting = []
                    raise
                for task in tasks:
                    log.warning("%s; epoch %d waits", error, task.commit.epoch.epoch)
                self._begin(tasks)
                continue
            except BaseException:
                self._waiting = []
                raise
            self._open = None
            for task in tasks:
                told = task.commit.epoch
                log.info("epoch %d, slice %s: %d documents", told.epoch, told.slice.label, told.n)
                task.told()


class _AtOnce(Executor):
    """Does what it is given before it returns."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **how: Any) -> Future[Any]:
        """Call the function."""
        done: Future[Any] = Future()
        try:
            done.set_result(function(*args, **how))
        except Exception as error:
            done.set_exception(error)
        return done
