"""One run at a time per log: a lock beside the file that the system releases however the process ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmfstream.errors import StoreLocked


@contextmanager
def lease(log: Path) -> Iterator[None]:
    """Hold a log for the length of a run; other processes may still read it.

    The lock is on a file ``<log>.lock`` of its own, since the log itself is locked and released at every commit. It
    names the process that holds it and goes away at the end; one left behind by a killed process is no obstacle.

    Raises
    ------
    StoreLocked
        If another run holds the log; the message names its process.
    """
    try:
        import fcntl
    except ImportError:  # Windows: an epoch that does not follow is still refused at the commit
        yield
        return
    path = _lock_of(log)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 100).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StoreLocked(f"process {holder} is writing the log {log}; stop it, or choose another --out") from None
        if _is_at(descriptor, path):
            break
        os.close(descriptor)  # the run before removed the file between our two steps
    try:
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def holder(log: Path) -> int | None:
    """Return the process that is writing a log, None if there is none.

    The lock itself is not touched: whoever tried it could be in the way of a run that begins at that moment.
    """
    try:
        process = int(_lock_of(log).read_text())
        os.kill(process, 0)
    except PermissionError:  # there it is, but it belongs to somebody else
        return process
    except (OSError, ValueError):
        return None
    return process


def abandoned(log: Path) -> bool:
    """Tell whether a run was killed that was writing a log: its lock is left, and nobody holds it."""
    try:
        import fcntl

        descriptor = os.open(_lock_of(log), os.O_RDONLY)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def _lock_of(log: Path) -> Path:
    return log.with_name(log.name + ".lock")


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
