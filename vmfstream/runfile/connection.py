"""Open the run file for a moment: wait while another process has it open, and explain errors of DuckDB."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from vmfstream.errors import InputError, StoreLocked
from vmfstream.runfile.lease import abandoned
from vmfstream.runfile.repair import read_directory, repair

_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")

_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "lock_configuration": True,
}
"""A run file may come from somebody else: what it holds, views for one, can read and write no other file."""

_WRITING = _CLOSED | {"threads": 1, "default_block_size": 2**14}
"""Transactions are too small to gain from threads. A new file has the smallest blocks, since a table fills whole ones:
600 headlines in 30 slices take 7.7 MB instead of 19.7, and a state of 14 MB is written in 80 ms instead of 65."""

_MARK = slice(8, 12)
"""Bytes of a file by which it is known to be of DuckDB: names such as x.jsonl mean other things to it."""


@contextmanager
def connected(path: Path, *, read_only: bool, timeout: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file, yield the connection, and close it; an open transaction is rolled back.

    DuckDB lets either one process write or several read, so keep the file open for one commit or one set of queries
    only. While another process holds it, opening is tried again every 10 to 20 ms.

    Parameters
    ----------
    path : Path
        Resolved, so that one process opens a file under one name only, as DuckDB needs.
    read_only : bool
    timeout : float
        Seconds to wait for a file that another process holds.

    Raises
    ------
    StoreLocked
        If the file is still held after ``timeout``.
    InputError
        If there is no such file (read only) or folder, or DuckDB cannot open it.
    """
    _check_path(path, read_only)
    connection = _open(path, read_only, timeout)
    try:
        yield connection
    finally:
        connection.close()


def explain(error: duckdb.Error) -> str:
    """Return the first line of DuckDB's message, without its advice."""
    return str(error).partition("\n")[0].partition(". See also")[0]


def _check_path(path: Path, read_only: bool) -> None:
    try:
        if path.is_dir():
            raise InputError(f"the run file must be a file, {path} is a folder")
        if not path.parent.is_dir():
            raise InputError(
                f"the folder of the run file does not exist: {path.parent} (create it, or choose another path)"
            )
        if read_only and not path.exists():
            raise InputError(f"there is no run file at {path}")
        if path.exists() and not abandoned(path):
            with path.open("rb") as file:
                head = file.read(_MARK.stop)
            if head and head[_MARK] != b"DUCK":
                raise _no_run_file(path)
    except OSError as error:
        raise InputError(f"cannot access the run file {path}: {error.strerror}") from error


def _open(path: Path, read_only: bool, timeout: float) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + timeout
    doubtful = not read_only and abandoned(path)
    while True:
        try:
            connection = duckdb.connect(path, read_only=read_only, config=_CLOSED if read_only else _WRITING)
            if doubtful:
                read_directory(connection)
            return connection
        except duckdb.Error as error:
            if doubtful and repair(path, error):
                continue
            if not _is_held(error):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise StoreLocked(_held(path, timeout, error)) from error
        # the random part keeps two waiting processes from retrying at the same moments
        time.sleep(random.uniform(0.010, 0.020))


_HELD = ("Could not set lock on file", "different configuration than existing", "Unique file handle conflict")
"""Messages of DuckDB for a file that is open elsewhere; the last two if two threads of one process open it at once."""


def _is_held(error: duckdb.Error) -> bool:
    return any(message in str(error) for message in _HELD)


def _held(path: Path, timeout: float, error: duckdb.Error) -> str:
    holder = _HOLDER.search(str(error))
    who = f"process {holder['pid']} ({holder['program']})" if holder else "another connection of this process"
    return f"the run file {path} is held by {who} and was not released within {timeout:g} s; stop it or wait"


def _no_run_file(path: Path) -> InputError:
    return InputError(f"{path} is not a DuckDB file, so it is no run file; choose another path")


def _unusable(path: Path, error: duckdb.Error) -> InputError:
    message = explain(error)
    if "not a valid DuckDB database file" in message:
        return _no_run_file(path)
    if "Permission denied" in message or "Read-only file system" in message:
        return InputError(f"no permission to open the run file {path}: {message}; change its rights or use another")
    if abandoned(path):
        message += "; its run was killed: start it again, which repairs what a killed write leaves"
    return InputError(f"cannot open the run file {path}: {message}")
