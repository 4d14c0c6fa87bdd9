"""One run at a time per run file: a lock file that the system releases however the process ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vmfstream.errors import InputError, StoreLocked


@contextmanager
def lease(run_file: Path) -> Iterator[None]:
    """Keep other runs from writing a run file, for the length of a run; other processes may read it.

    The lock is a file ``<run file>.lock``, since the run file itself is locked and released at every commit. It
    names the process that holds it and goes away at the end; one left behind by a killed process is no obstacle.

    Raises
    ------
    StoreLocked
        If another run holds the run file; the message names its process.
    InputError
        If the lock file cannot be written.
    """
    try:
        import fcntl
    except ImportError:  # Windows; there the commit refuses an epoch that does not follow
        yield
        return
    path = _lock_of(run_file)
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise inaccessible(run_file, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 100).decode(errors="replace").strip() or "unknown"
            os.close(descriptor)
            raise StoreLocked(
                f"process {holder} is writing the run file {run_file}; stop it, or choose another --out"
            ) from None
        if _is_at(descriptor, path):
            break
        os.close(descriptor)  # the previous run removed the file between the two steps
    try:
        try:
            os.truncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        except OSError as error:
            raise inaccessible(run_file, error) from error
        yield
    finally:
        with suppress(OSError):  # a file that is left behind is no obstacle
            path.unlink(missing_ok=True)
        os.close(descriptor)


def holder(run_file: Path) -> int | None:
    """Return the process that is writing a run file, None if there is none.

    The lock itself is not tried, since that could hinder a run that begins at the same moment.
    """
    try:
        process = int(_lock_of(run_file).read_text())
        os.kill(process, 0)
    except PermissionError:  # the process exists and belongs to another user
        return process
    except (OSError, ValueError):
        return None
    return process


def inaccessible(path: Path, error: OSError) -> InputError:
    """Return what to say of a run file that the system does not let us open."""
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return InputError(
            f"no permission to open the run file {path}: {error.strerror}; change its rights or use another"
        )
    return InputError(f"cannot access the run file {path}: {error.strerror}")


def _lock_of(run_file: Path) -> Path:
    return run_file.with_name(run_file.name + ".lock")


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
