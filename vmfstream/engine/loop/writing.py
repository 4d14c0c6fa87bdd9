"""Write epochs into a store in their order: at once, or in a thread, which coalesces epochs into one transaction."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from math import inf
from typing import Any, NamedTuple

from vmfstream.errors import StoreLocked
from vmfstream.protocols import Store
from vmfstream.records import Commit

log = logging.getLogger(__name__)

MAX_PAUSE = 2.0
"""Most seconds from the start of a transaction to that of the next one while epochs wait."""

PAUSE_FACTOR = 10
"""The pause is so many times the duration of a transaction, up to `MAX_PAUSE`: writing takes a tenth of a thread.

The duration is the shorter one of the last two: a disk that stalls once is no reason to wait longer.
"""

PROMPT_PAUSE_FACTOR = 2
"""The same where labels wait for transactions."""

MAX_EPOCHS = 16
"""Epochs that may wait while a transaction goes on."""

MAX_BYTES = 2**26
"""Bytes of states that may wait while a transaction goes on."""


class WriteTask(NamedTuple):
    """An epoch to be written, and what is called once it is."""

    commit: Commit
    written: Callable[[], None]

    @property
    def bytes(self) -> int:
        """Memory of its states."""
        states = (self.commit.open_state, self.commit.slice_state or {})
        return sum(array.nbytes for state in states for array in state.values())


class Writer:
    """Commits to a store; entered while a run goes on.

    A transaction costs nearly the same for one epoch as for ten, so epochs that end shortly after each other are
    written together. The content of the store is the same.

    Parameters
    ----------
    store : Store
    in_thread : bool
        Commit in a thread, one transaction at a time; else each epoch at once.
    pause_factor : float
        See `PAUSE_FACTOR`.
    """

    def __init__(self, store: Store, *, in_thread: bool, pause_factor: float = PAUSE_FACTOR) -> None:
        self._store, self._in_thread, self._pause_factor = store, in_thread, pause_factor
        self._pool: Executor = _CallingThread()
        self._waiting: list[WriteTask] = []
        self._open: tuple[Sequence[WriteTask], Future[float]] | None = None
        self._due, self._urgent = 0.0, False
        self._lasted = inf

    def __enter__(self) -> Writer:
        if self._in_thread:
            self._pool = ThreadPoolExecutor(1, "vmfstream-writer")
        return self

    def __exit__(self, *error: object) -> None:
        if self._waiting:  # an error elsewhere ends the run, not one of the store
            self._pool.submit(self._transact, self._waiting)
        self._pool.shutdown()
        self._open, self._waiting = None, []

    def write(self, commit: Commit, written: Callable[[], None], stop: Callable[[], bool], *, urgent: bool) -> None:
        """Write ``commit`` after earlier epochs, and at once if ``urgent``; `settle` calls ``written`` when it is done.

        A store that is locked is tried again until ``stop()`` is true; then StoreLocked is raised.
        """
        self._waiting.append(WriteTask(commit, written))
        if len(self._waiting) > MAX_EPOCHS or sum(task.bytes for task in self._waiting) > MAX_BYTES:
            self._wait(stop)
            urgent = True
        self._urgent |= urgent
        self.settle(stop, wait=not self._in_thread)

    def free(self) -> bool:
        """Tell whether no epoch is being written, and none waits."""
        return not self._waiting and (self._open is None or self._open[1].done())

    def settle(self, stop: Callable[[], bool], *, wait: bool = True) -> None:
        """Write the epochs that wait, and raise the errors of writing them.

        While another process holds the run file they are tried again until the run is stopped. Without ``wait`` return
        at once: transactions go on, and epochs that are to be written together with later ones wait.
        """
        while True:
            self._wait(stop, wait=wait)
            at_once = wait or self._urgent or time.monotonic() >= self._due
            if self._open is not None or not self._waiting or not at_once:
                return
            self._begin(self._waiting)
            self._waiting, self._urgent = [], False
            if not wait:
                return

    def _begin(self, tasks: Sequence[WriteTask]) -> None:
        self._open = tasks, self._pool.submit(self._transact, tasks)

    def _transact(self, tasks: Sequence[WriteTask]) -> float:
        """Write, and return when the next transaction may begin."""
        began = time.monotonic()
        self._store.commit(*(task.commit for task in tasks))
        before, self._lasted = self._lasted, time.monotonic() - began
        return began + min(MAX_PAUSE, self._pause_factor * min(before, self._lasted))

    def _wait(self, stop: Callable[[], bool], *, wait: bool = True) -> None:
        """Wait for the transaction that goes on, or see whether it is done."""
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
                epoch = task.commit.epoch
                log.info("epoch %d, slice %s: %d documents", epoch.epoch, epoch.slice.label, epoch.n)
                task.written()


class _CallingThread(Executor):
    """Calls a function before it returns."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **how: Any) -> Future[Any]:
        """Call the function."""
        done: Future[Any] = Future()
        try:
            done.set_result(function(*args, **how))
        except Exception as error:
            done.set_exception(error)
        return done
