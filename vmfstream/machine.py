"""How much memory the machine has, which signals a process leaves to the one that began it, and which can wait."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT = Path("/sys/fs/cgroup/memory.max")
"""File with the bytes that a container may use, or max."""


def memory_there() -> int | None:
    """Return the bytes of memory that this machine or container has, None if the system does not say."""
    found = []
    with suppress(AttributeError, ValueError, OSError):  # Windows has no sysconf
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    with suppress(ValueError, OSError):  # no such file, or no limit
        found.append(int(LIMIT.read_text()))
    return min(found, default=None)


def leave_stopping_to_others() -> None:
    """Ignore Ctrl-C and the end of the terminal, which reach all processes: the one that began this one will end it."""
    for name in ("SIGINT", "SIGHUP"):  # Windows has no second one
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the body is done, in the main thread, which alone is interrupted.

    Where another program that Python is part of looks after Ctrl-C, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(came[0])
