"""Wait for other processes as long as something moves: how fast a machine is says nothing about the program."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 180.0
"""Seconds without any movement after which a wait gives up; a quiet machine moves several times a second."""


def wait_for(look: Callable[[], T], enough: Callable[[T], object], process: Any = None) -> T:
    """Look again and again until it is enough, and return what was seen.

    Parameters
    ----------
    look : what is waited for, such as the number of documents in a file; a new answer is progress.
    enough : whether an answer ends the wait.
    process : who makes it happen, a ``Popen`` or a ``multiprocessing.Process``; the wait fails at once if it has ended.

    Raises
    ------
    AssertionError
        If the answer has not changed for `PATIENCE` seconds, or the process has ended before the answer was enough.
    """
    began = time.monotonic()
    seen, moved = look(), time.monotonic()
    took = moved - began
    while not enough(seen):
        gone = has_ended(process)
        time.sleep(min(max(0.05, 2.0 * took), 0.3))  # those who look must not take the time of those who work
        before, began, seen = seen, time.monotonic(), look()
        took = time.monotonic() - began
        if seen != before:
            moved = time.monotonic()
        elif gone:
            raise AssertionError(f"the process ended at {seen!r}{_last_words(process)}")
        elif time.monotonic() - moved > PATIENCE:
            raise AssertionError(f"nothing has moved for {PATIENCE:g} seconds, it stands at {seen!r}")
    return seen


def wait_until(true: Callable[[], object], process: Any = None) -> None:
    """Wait for something that has no steps in between."""
    wait_for(lambda: bool(true()), bool, process)


def has_ended(process: Any) -> bool:
    """Tell whether a ``Popen`` or a ``multiprocessing.Process`` has ended; False for None."""
    if isinstance(process, subprocess.Popen):
        return process.poll() is not None
    return process is not None and process.exitcode is not None


def _last_words(process: Any) -> str:
    """Return the end of what a process that has ended wrote to standard error, empty if nobody has kept that."""
    if not isinstance(process, subprocess.Popen) or process.stderr is None or process.stderr.closed:
        return ""
    return f", saying {process.communicate()[1][-2000:]!r}"
