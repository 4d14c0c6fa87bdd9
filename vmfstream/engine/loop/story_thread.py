"""Gives documents their stories in a thread of its own, while topics learn the same documents and later ones.

It has two steps: `StoryLevel.assign` needs the words of documents only, `StoryLevel.note` their topics too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.stories import StoryDocuments, StoryLevel, StoryStep
from vmfstream.stages import spent, timed
from vmfstream.text.counts import Counts

T = TypeVar("T")

Told = Callable[[NDArray[np.int64]], None]
"""Called with the ids of the stories of N documents, (N,), -1 for none."""


class StoryThread:
    """The stories of a run, which learn in a thread while it goes on: entered then, else at once.

    They learn at once too where no thread is to be had, as while the interpreter ends. Stories depend on no topic, so
    nothing of a result depends on which of the two is ahead. Batches are learnt in the order in which they are given,
    each as soon as its words are counted if `arrived` tells of them. An error of the thread is raised by `settled`.

    Parameters
    ----------
    level : StoryLevel
    """

    def __init__(self, level: StoryLevel) -> None:
        self._level = level
        self._pool: ThreadPoolExecutor | None = None
        self._arrived: list[Future[tuple[list[StoryStep], float]]] = []
        self._learning: deque[tuple[Future[tuple[NDArray[np.int64], float]], Told]] = deque()

    def __enter__(self) -> StoryThread:
        self._pool = ThreadPoolExecutor(1, "vmfstream-stories")
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._arrived.clear()  # of an epoch that an error ended; one that was committed has its stories
        self._learning.clear()

    def arrived(self, counts: Counts, times: NDArray[np.int64], vectors: NDArray[np.float32] | None = None) -> None:
        """Let the thread give documents their stories, whose topics `learn` tells later.

        ``counts`` are their words, ``times`` (N,) in microseconds and ``vectors`` (N, E) unit rows, see
        `StoryLevel.assign`. Together with what came since the last `learn` they are what the next one is called with.
        """
        terms = self._level.terms

        def assign() -> tuple[list[StoryStep], float]:
            began = time.perf_counter()
            return self._level.assign(counts, times, vectors, terms), time.perf_counter() - began

        self._arrived.append(self._submit(assign))

    def learn(self, documents: StoryDocuments, index: int, first: int, told: Told) -> None:
        """Let stories learn ``documents``; `settled` calls ``told`` with their stories.

        ``index`` is the open slice and ``first`` the place in it of the first of them, see `StoryLevel.note`.
        """
        if not self._arrived:
            self.arrived(documents.counts, documents.kept.times, documents.vectors)
        arrived, self._arrived = self._arrived, []

        def note() -> tuple[NDArray[np.int64], float]:
            parts = [one.result() for one in arrived]
            began = time.perf_counter()
            labels = self._level.note([step for steps, _ in parts for step in steps], documents, index, first)
            return labels, time.perf_counter() - began + sum(seconds for _, seconds in parts)

        self._learning.append((self._submit(note), told))
        if self._pool is None:
            self.settled()

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        if self._pool is not None:
            try:
                return self._pool.submit(work)
            except RuntimeError:  # no thread is to be had: the interpreter ends, or the system has no more
                self._pool.shutdown()  # which waits for what it was given before
                self._pool = None
        done: Future[T] = Future()
        done.set_result(work())
        return done

    def settled(self) -> StoryLevel:
        """Wait until all documents that were given are learnt; return the stories."""
        while self._learning:
            learning, told = self._learning.popleft()
            with timed("waiting"):
                labels, seconds = learning.result()
            spent("stories", seconds, meanwhile=True)
            told(labels)
        return self._level

    def before_close(self) -> None:
        """Wait as `settled` does if the vocabulary, which is about to close a slice, may rename what is learnt now."""
        if self._level.renamed_soon:
            self.settled()
