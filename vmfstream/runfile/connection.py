"""Open the run file briefly: wait while another process has it open, and turn DuckDB's errors into clear messages."""

from __future__ import annotations

import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import duckdb

from vmfstream.errors import InputError, StoreLocked
from vmfstream.folders import printable, sync_folder
from vmfstream.runfile.lease import inaccessible, lease
from vmfstream.runfile.rollback import cut_off, journal_of, keep, remove, settle

_ERRNO = re.compile(r'"errno":"(\d+)"')
_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")

_CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "lock_configuration": True,
}
"""A run file may come from somebody else: what it holds, views for one, can read and write no other file."""

BLOCK = 2**14
"""Bytes of a block of a run file."""

_WRITING = _CLOSED | {"threads": 1, "default_block_size": BLOCK, "checkpoint_threshold": "1TB"}
"""Transactions are too small to gain from threads. A new file has the smallest blocks, since a table fills whole ones:
600 headlines in 30 slices took 7.7 MB instead of 19.7 when they were chosen.
Changes are folded into the file once, at the end: a second time would find the rollback journal out of date."""

_MARK = slice(8, 12)
"""Bytes of a file by which it is known to be of DuckDB: names such as x.jsonl mean other things to it."""

_OF_DUCKDB = b"DUCK"


_open_here: Counter[Path] = Counter()
_opening = threading.RLock()
"""While none of this process's connections is open, and none is being opened or closed, the file may be opened beside
DuckDB: closing it gives up the locks that DuckDB has on it."""


@contextmanager
def connected(path: Path, *, read_only: bool, timeout: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the file, yield the connection, and close it; an open transaction is rolled back.

    DuckDB lets either one process write or several read, so keep the file open for one commit or one set of queries
    only. While another process holds it, opening is tried again every 10 to 20 ms. What was committed for writing is in
    the file and on disk when this ends without an error; else the file is as it was before, or holds all of it. A
    transaction that was cut off by a kill or a power cut is undone first.

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
        If there is no such file or folder, or DuckDB cannot open it, or the disk is full.
    """
    _check_path(path)
    if read_only:
        connection = _open(path, timeout, lambda: duckdb.connect(path, read_only=True, config=_CLOSED))
        try:
            yield connection
        finally:
            _close(path, connection)
        return
    with _writing(path, timeout) as connection:
        yield connection


@contextmanager
def _writing(path: Path, timeout: float) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file that exists for writing, under a rollback journal."""
    file: BinaryIO | None = None

    def connect() -> duckdb.DuckDBPyConnection:
        nonlocal file
        opened = path.open("rb")
        try:
            connection = duckdb.connect(path, config=_WRITING)
        except BaseException:
            opened.close()
            raise
        if not os.path.samestat(os.fstat(opened.fileno()), path.stat()):
            connection.close()  # a compact copy took its place before it was locked
            opened.close()
            raise duckdb.IOException(f"{_HELD[0]} {path}")
        file = opened
        return connection

    connection = _open(path, timeout, connect)
    try:
        assert file is not None
        with _explained(path):
            keep(connection, path, file)
        yield connection
        with _explained(path):
            connection.execute("checkpoint")
            sync_folder(path.parent)  # DuckDB's log must not come back
            journal_of(path).unlink(missing_ok=True)
    finally:
        _close(path, connection, file)


@contextmanager
def connected_alone(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection that has the file attached as ``run_file``, to be read, while nobody else writes it.

    No other thread of this process can open it meanwhile; other processes can, to read it.

    Parameters
    ----------
    path : Path
        Resolved.

    Raises
    ------
    StoreLocked
        At once if another process writes the file, or this one has it open.
    InputError
        As `connected`.
    """
    _check_path(path)

    def connect() -> duckdb.DuckDBPyConnection:
        if _open_here[path]:
            raise duckdb.IOException(f"{_HELD[1]}: {path}")
        connection = duckdb.connect(config={"threads": 1})
        try:
            connection.execute(f"attach {quoted(path)} as run_file (read_only)")
        except BaseException:
            connection.close()
            raise
        return connection

    with _opening:
        connection = _open(path, 0.0, connect)
        try:
            yield connection
        finally:
            _close(path, connection)


def quoted(path: Path) -> str:
    """Return a path as a text of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def unfinished(path: Path) -> Path:
    """Return the name that a run file at ``path`` has until it is written as a whole."""
    return path.with_name(path.name + ".new")


def created(path: Path, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> bool:
    """Make the file if there is none, with what ``fill`` writes; it is there as a whole or not at all.

    Parameters
    ----------
    path : Path
        Resolved.
    fill : callable
        Called with the connection of the new file; it commits what it writes.

    Returns
    -------
    bool
        Whether the file was made; False if there was one.

    Raises
    ------
    StoreLocked
        If another process holds the lease of the file.
    InputError
        If there is no such folder, or it cannot be written, or the disk is full.
    """
    _check_folder(path)
    if path.exists():
        return False
    part = unfinished(path)
    try:
        with lease(path):
            if path.exists():
                return False  # another process made it meanwhile
            remove(part)
            connection = _open(part, 0.0, lambda: duckdb.connect(part, config=_WRITING))
            try:
                with _explained(path):
                    fill(connection)
                    connection.execute("checkpoint")
            finally:
                _close(part, connection)
            part.replace(path)
            sync_folder(path.parent)
    except OSError as error:
        raise inaccessible(path, error) from error
    return True


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        reason = explain(error) if isinstance(error, duckdb.Error) else error.strerror
        raise InputError(f"cannot write the run file {path}: {reason}; {remedy(error)}") from error


def explain(error: duckdb.Error) -> str:
    """Return the first line of DuckDB's message, without its advice; of one with a number of the system its meaning.

    Of a file that is damaged it says what to do.
    """
    if number := _ERRNO.search(str(error)):
        return os.strerror(int(number[1]))
    said = str(error).partition("\n")[0].partition(". See also")[0]
    damaged = "Could not read enough bytes" in said or "Corrupt database file" in said
    return f"{said}; the file is cut off or damaged: go on from a copy that is whole" if damaged else said


def remedy(error: Exception) -> str:
    """Say what helps against an ``error`` of writing."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return "there is too little memory; continue the run with more"
    return "if the disk is full make room, then continue the run"


def check_kind(path: Path) -> None:
    """Raise InputError if the file at ``path`` is of another kind than run files."""
    head = _head_of(path)
    if head and head[_MARK] != _OF_DUCKDB:
        raise _no_run_file(path)


def is_run_file(path: Path) -> bool:
    """Tell whether the file at ``path`` is of the kind of run files; False where none can be read."""
    try:
        return path.is_file() and _head_of(path)[_MARK] == _OF_DUCKDB
    except OSError:
        return False


def _head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MARK.stop)


def _check_path(path: Path) -> None:
    _check_folder(path)
    try:
        if not path.exists():
            raise InputError(f"there is no run file at {path}")
    except OSError as error:
        raise inaccessible(path, error) from error


def check_name(path: Path) -> None:
    """Raise InputError if DuckDB cannot open a file of this name; ``path`` is resolved."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"the run file {printable(str(path))} cannot be opened: its name, or a folder's, is no UTF-8; rename it"
        ) from None


def _check_folder(path: Path) -> None:
    check_name(path)
    try:
        if path.is_dir():
            raise InputError(f"the run file must be a file, {path} is a folder")
        if not path.parent.is_dir():
            raise InputError(
                f"the folder of the run file does not exist: {path.parent} (create it, or choose another path)"
            )
    except OSError as error:
        raise inaccessible(path, error) from error


def _open(path: Path, timeout: float, connect: Callable[[], duckdb.DuckDBPyConnection]) -> duckdb.DuckDBPyConnection:
    """Connect; wait while the file is held elsewhere."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            with _opening:
                if not _open_here[path] and path.exists():
                    _look(path)
                connection = connect()
                _open_here[path] += 1
            return connection
        except duckdb.Error as error:
            if not _is_held(error):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise StoreLocked(_held(path, timeout, error)) from error
        except OSError as error:
            raise inaccessible(path, error) from error
        # the random part keeps two waiting processes from retrying at the same moments
        time.sleep(random.uniform(0.010, 0.020))


def _close(path: Path, connection: duckdb.DuckDBPyConnection, file: BinaryIO | None = None) -> None:
    with _opening:
        connection.close()
        if file is not None:
            file.close()
        _open_here[path] -= 1


def _look(path: Path) -> None:
    """Refuse a file of another kind, and undo a transaction that was cut off.

    Raises
    ------
    duckdb.IOException
        If another process has the file open, so that nothing can be undone.
    """
    check_kind(path)
    with path.open("rb") as file:
        if cut_off(path, file) is None:
            return
    try:
        with path.open("r+b") as file:
            _lock(file, path)
            journal = cut_off(path, file)  # its transaction may have come to its end meanwhile
            if journal is not None:
                settle(journal, path, file)
    except PermissionError as error:
        raise InputError(
            f"the last transaction of the run file {path} was cut off and must be undone first, but there is no "
            f"permission to write: {error.strerror}; continue the run, or copy the file and {journal_of(path).name} "
            "to a folder that can be written"
        ) from error


def _lock(file: BinaryIO, path: Path) -> None:
    """Take the lock that DuckDB takes; it goes when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows refuses to open a file that DuckDB has open
        return
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise duckdb.IOException(f"{_HELD[0]} {path}") from error


_HELD = ("Could not set lock on file", "different configuration than existing", "Unique file handle conflict")
"""Messages of DuckDB for a file that is open elsewhere; the last two if two threads of one process open it at once."""


def _is_held(error: duckdb.Error) -> bool:
    return any(message in str(error) for message in _HELD)


def _held(path: Path, timeout: float, error: duckdb.Error) -> str:
    who = "another process" if _HELD[0] in str(error) else "another connection of this process"
    if holder := _HOLDER.search(str(error)):
        who = f"process {holder['pid']} ({holder['program']})"
    return f"the run file {path} is held by {who} and was not released within {timeout:g} s; stop it or wait"


def _no_run_file(path: Path) -> InputError:
    return InputError(f"{path} is not a DuckDB file, so it is no run file; choose another path")


def _unusable(path: Path, error: duckdb.Error) -> InputError:
    message = explain(error)
    if "not a valid DuckDB database file" in message:
        return _no_run_file(path)
    if "Permission denied" in message or "Read-only file system" in message:
        return InputError(f"no permission to open the run file {path}: {message}; change its rights or use another")
    return InputError(f"cannot open the run file {path}: {message}")
