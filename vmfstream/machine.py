"""How much memory the machine has, and which signals a process leaves to the one that began it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
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
