"""Epochs into a store, one after the other: at once, or while the next one is learnt."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from vmfstream.errors import StoreLocked
from vmfstream.protocols import Store
from vmfstream.records import Commit

log = logging.getLogger(__name__)


class Writer:
    """Commits to a store; it is entered while a run goes on.

    Parameters
    ----------
    store : Store
    beside : bool
        Commit in a thread. At most one commit is under way, and the next one waits for it.
    """

    def __init__(self, store: Store, *, beside: bool) -> None:
        self._store, self._beside = store, beside
        self._pool: Executor = _AtOnce()
        self._open: tuple[Commit, Future[None], Callable[[], None]] | None = None

    def __enter__(self) -> Writer:
        if self._beside:
            self._pool = ThreadPoolExecutor(1, "vmfstream-writer")
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()
        self._open = None

    def write(self, commit: Commit, told: Callable[[], None], stop: Callable[[], bool]) -> None:
        """Commit, after the one before; ``told`` is called by `settle` once it is written."""
        self.settle(stop)
        self._open = commit, self._pool.submit(self._store.commit, commit), told
        self.settle(stop, wait=not self._beside)

    def settle(self, stop: Callable[[], bool], *, wait: bool = True) -> None:
        """See to the commit that is under way, and raise what it raised.

        While another process holds the log it is tried again until the run is stopped. Without ``wait`` one that is not
        done yet is left alone.
        """
        while self._open is not None and (wait or self._open[1].done()):
            commit, done, told = self._open
            try:
                done.result()
            except StoreLocked as error:
                if stop():
                    raise
                log.warning("%s; epoch %d waits", error, commit.epoch.epoch)
                self._open = commit, self._pool.submit(self._store.commit, commit), told
                continue
            self._open = None
            log.info("epoch %d, slice %s: %d documents", commit.epoch.epoch, commit.epoch.slice.label, commit.epoch.n)
            told()


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
