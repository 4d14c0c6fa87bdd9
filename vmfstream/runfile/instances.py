"""Connections to a run file over instances of DuckDB that are kept for the next use.

To make an instance takes about 16 ms of a core, to attach a file to one 2 ms. An instance can open its file only, and
holds nothing of it while it is kept.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path

import duckdb

BLOCK = 2**14
"""Bytes of a block of a run file."""

CLOSED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "lock_configuration": True,
}
"""A run file may come from somebody else: what it holds, views for one, can read and write no other file."""

WRITING = CLOSED | {"threads": 1, "default_block_size": BLOCK, "checkpoint_threshold": "1TB"}
"""Transactions are too small to gain from threads. A new file has the smallest blocks, since a table fills whole ones:
600 headlines in 30 slices took 7.7 MB instead of 19.7 when they were chosen.
Changes are folded into the file once, at the end: a second time would find the rollback journal out of date."""

LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")
"""What follows the name of a run file in those of the files in which DuckDB logs a transaction."""

_MOST = 8
"""Instances that are kept; of more the one that was used longest ago is closed."""

_Kind = tuple[Path, bool]

_kept: list[tuple[_Kind, duckdb.DuckDBPyConnection]] = []
_lock = threading.Lock()


def attached(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection whose database is the file.

    Raises
    ------
    duckdb.Error
        If the file cannot be opened.
    """
    kind = path, read_only
    connection = _taken(kind) or _made(kind)
    try:
        connection.execute(f"attach {quoted(path)} as run_file{' (read_only)' if read_only else ''}")
    except BaseException:
        _keep(kind, connection)
        raise
    connection.execute("use run_file")
    return connection


def detach(path: Path, connection: duckdb.DuckDBPyConnection, *, read_only: bool) -> None:
    """Close the file at ``path`` of a ``connection`` that `attached` gave, ``read_only`` or not.

    An open transaction is rolled back.
    """
    try:
        with suppress(duckdb.TransactionException):  # there is none
            connection.rollback()
        connection.execute("use memory")
        connection.execute("detach run_file")
    except duckdb.Error:
        connection.close()
    else:
        _keep((path, read_only), connection)


def quoted(path: Path) -> str:
    """Return a path as a text of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def _made(kind: _Kind) -> duckdb.DuckDBPyConnection:
    path, read_only = kind
    paths = [str(path), *(f"{path}{log}" for log in LOGS)]
    config = (CLOSED if read_only else WRITING) | {"temp_directory": f"{path}.tmp"}
    last = {name: config.pop(name) for name in ("enable_external_access", "lock_configuration")}
    connection = duckdb.connect(config=config)
    connection.execute("set allowed_paths = ?", [paths])
    for name, value in last.items():
        connection.execute(f"set {name} = {value}")
    return connection


def _taken(kind: _Kind) -> duckdb.DuckDBPyConnection | None:
    with _lock:
        for at, (other, connection) in enumerate(_kept):
            if other == kind:
                del _kept[at]
                return connection
    return None


def _keep(kind: _Kind, connection: duckdb.DuckDBPyConnection) -> None:
    with _lock:
        _kept.append((kind, connection))
        if len(_kept) > _MOST:
            _kept.pop(0)[1].close()


@atexit.register
def close_all() -> None:
    """Close what is kept."""
    with _lock:
        while _kept:
            _kept.pop()[1].close()


_inherited: list[object] = []


def _leave() -> None:
    """Use no instance of the parent process, whose threads are not here; to close one would wait for them."""
    global _kept, _lock
    _inherited.append(_kept)
    _kept, _lock = [], threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave)
