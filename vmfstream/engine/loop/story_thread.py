"""Gives documents their stories in a thread of its own, while topics learn the same documents and later ones."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from vmfstream.engine.loop.stories import StoryDocuments, StoryLevel
from vmfstream.stages import spent, timed

Told = Callable[[NDArray[np.int64]], None]
"""Called with the ids of the stories of N documents, (N,), -1 for none."""


class StoryThread:
    """The stories of a run, which learn in a thread while it goes on: entered then, else at once.

    Stories depend on no topic, so nothing of a result depends on which of the two is ahead. Batches are learnt in the
    order in which they are given. An error of the thread is raised by `settled`.

    Parameters
    ----------
    level : StoryLevel
    """

    def __init__(self, level: StoryLevel) -> None:
        self._level = level
        self._pool: ThreadPoolExecutor | None = None
        self._learning: deque[tuple[Future[tuple[NDArray[np.int64], float]], Told]] = deque()

    def __enter__(self) -> StoryThread:
        self._pool = ThreadPoolExecutor(1, "vmfstream-stories")
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
            self._learning.clear()  # of an epoch that an error ended; one that was committed has them

    def learn(self, documents: StoryDocuments, index: int, first: int, told: Told) -> None:
        """Let stories learn ``documents``; `settled` calls ``told`` with their stories.

        ``index`` is the open slice and ``first`` the place in it of the first of them, see `StoryLevel.learn`.
        """
        terms = self._level.terms

        def learn() -> tuple[NDArray[np.int64], float]:
            began = time.perf_counter()
            return self._level.learn(documents, index, first, terms), time.perf_counter() - began

        if self._pool is None:
            with timed("stories"):
                told(learn()[0])
        else:
            self._learning.append((self._pool.submit(learn), told))

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
