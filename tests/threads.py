"""Threads that call the same object at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Watched:
    """Calls a function, and tells in ``most`` how many threads were in it at once.

    Each waits a while inside for another one to come, so that threads that may come in together do.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._inside, self.most = function, 0, 0

    def __call__(self, *args: Any, **named: Any) -> Any:
        self._inside += 1
        for _ in range(200):
            self.most = max(self.most, self._inside)
            if self.most > 1:
                break
            time.sleep(0)
        self._inside -= 1
        return self._function(*args, **named)


def at_once(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Call functions in a thread each; return what they return, or raise the first error."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]
