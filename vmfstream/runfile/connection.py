"""Opening the log file for a moment: waiting while another process has it, and saying what is wrong with it."""

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
from vmfstream.runfile.repair import look, mend

_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")


@contextmanager
def connected(path: Path, *, read_only: bool, timeout: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file, yield the connection, close it whatever happens; an open transaction is rolled back.

    DuckDB lets either one process write or several read, so that nobody may keep the file longer than one commit or one
    set of queries. A file that somebody else holds is tried again every 10 to 20 ms.

    Parameters
    ----------
    path : Path
        Resolved, so that two names of one file in one process meet in one DuckDB instance.
    read_only : bool
    timeout : float
        Seconds to wait for a file that somebody else holds.

    Raises
    ------
    StoreLocked
        If the file is still held after ``timeout``.
    InputError
        If there is no such file (read only) or folder, or DuckDB cannot open it.
    """
    _check_place(path, read_only)
    connection = _open(path, read_only, timeout)
    try:
        yield connection
    finally:
        connection.close()


def explain(error: duckdb.Error) -> str:
    """Return the first line of DuckDB's message, without its advice."""
    return str(error).partition("\n")[0].partition(". See also")[0]


def _check_place(path: Path, read_only: bool) -> None:
    try:
        if path.is_dir():
            raise InputError(f"the log must be a file, {path} is a folder")
        if not path.parent.is_dir():
            raise InputError(f"the folder of the log does not exist: {path.parent} (create it, or choose another path)")
        if read_only and not path.exists():
            raise InputError(f"there is no log at {path}")
    except OSError as error:
        raise InputError(f"cannot look at the log {path}: {error.strerror}") from error


def _open(path: Path, read_only: bool, timeout: float) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + timeout
    doubtful = not read_only and abandoned(path)
    while True:
        try:
            # a transaction is too small to be shared among threads
            connection = duckdb.connect(path, read_only=read_only, config={} if read_only else {"threads": 1})
            if doubtful:
                look(connection)
            return connection
        except duckdb.Error as error:
            if doubtful and mend(path, error):
                continue
            if not _is_held(error):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise StoreLocked(_held(path, timeout, error)) from error
        # the random part keeps two waiting processes from knocking at the same moments
        time.sleep(random.uniform(0.010, 0.020))


def _is_held(error: duckdb.Error) -> bool:
    # the second message is what a reader and a writer inside one process get
    return "Could not set lock on file" in str(error) or "different configuration than existing" in str(error)


def _held(path: Path, timeout: float, error: duckdb.Error) -> str:
    holder = _HOLDER.search(str(error))
    who = f"process {holder['pid']} ({holder['program']})" if holder else "another connection of this process"
    return f"the log {path} is held by {who} and was not released within {timeout:g} s; stop it or wait"


def _unusable(path: Path, error: duckdb.Error) -> InputError:
    message = explain(error)
    if "not a valid DuckDB database file" in message:
        return InputError(f"{path} is not a DuckDB file, so it is no log; choose another path")
    if "Permission denied" in message or "Read-only file system" in message:
        return InputError(f"no permission to open the log {path}: {message}; choose another path or change its rights")
    if abandoned(path):
        message += "; its run was killed: start that again, which mends what a killed write leaves"
    return InputError(f"cannot open the log {path}: {message}")
