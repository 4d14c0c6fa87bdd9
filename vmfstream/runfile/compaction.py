"""Write a run file anew without the blocks that it does not use, when its stream has ended.

A state that is replaced leaves its blocks free, and DuckDB cuts off free blocks at the end of a file only. The copy is
written beside the run file, synced, and renamed: after a kill or a power cut one of the two files is there as a
whole. Nobody can write the run file meanwhile; it may be read, and readers go on with the old one.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import duckdb

from vmfstream.errors import StoreLocked
from vmfstream.folders import sync_folder
from vmfstream.runfile.connection import BLOCK, connected_alone, explain, quoted, unfinished
from vmfstream.runfile.rollback import remove

_logger = logging.getLogger(__name__)

LEAST_FREE = 0.2
"""Share of a file that must be free for a copy to be worth it."""

_RETRY = 0.05
"""Seconds after which a file that somebody holds is tried again."""


def compact(path: Path, timeout: float) -> bool:
    """Replace a run file by a copy without free blocks, and say whether that was done.

    It is left as it is if less than a fifth of it is free, if another process does not release it in time, or if there
    is no room for a copy.

    Parameters
    ----------
    path : Path
        Resolved.
    timeout : float
        Seconds to wait for a file that another process holds.

    Raises
    ------
    InputError
        If there is no run file at ``path``, or it cannot be opened.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            with connected_alone(path) as connection:
                return _replaced(connection, path)
        except StoreLocked as error:
            if time.monotonic() >= deadline:
                _logger.info("%s; it keeps its free blocks", error)
                return False
        time.sleep(_RETRY)


def _replaced(connection: duckdb.DuckDBPyConnection, path: Path) -> bool:
    if _free_share(connection) < LEAST_FREE:
        return False
    part = unfinished(path)
    try:
        _copy(connection, part)
        shutil.copymode(path, part)
        part.replace(path)
        sync_folder(path.parent)
    except (duckdb.Error, OSError) as error:
        reason = explain(error) if isinstance(error, duckdb.Error) else error
        _logger.warning("the run file %s keeps its free blocks: %s", path, reason)
        return False
    finally:
        with suppress(OSError):  # the next one removes it, and whoever writes the run file
            remove(part)
    return True


def _free_share(connection: duckdb.DuckDBPyConnection) -> float:
    sizes = "from pragma_database_size() where database_name = 'run_file'"
    return float(connection.execute(f"select free_blocks / greatest(total_blocks, 1) {sizes}").fetchall()[0][0])


def _copy(connection: duckdb.DuckDBPyConnection, part: Path) -> None:
    """Copy what is attached as ``run_file`` to a new file, which is on disk then."""
    remove(part)
    connection.execute(f"attach {quoted(part)} as copied (block_size {BLOCK})")
    # what the file holds can reach no other one
    connection.execute(f"set allowed_paths = [{quoted(part)}, {quoted(part.with_name(part.name + '.wal'))}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    connection.execute("copy from database run_file to copied")
    connection.execute("detach copied")
    with part.open("rb") as file:
        os.fsync(file.fileno())
