"""Bring a run file of an older format up to date before it is read."""

from __future__ import annotations

from pathlib import Path

import duckdb

from vmfstream.errors import FormatVersion, InputError, StoreLocked
from vmfstream.runfile.connection import connected, explain
from vmfstream.runfile.schema import MIGRATIONS, prepare, stored_format, verify


def upgrade(path: Path, timeout: float) -> None:
    """Bring a run file to the format that this program reads; do nothing if it has it.

    Parameters
    ----------
    path : Path
        Resolved.
    timeout : float
        Seconds to wait for a file that another process holds.

    Raises
    ------
    InputError
        If there is no run file at ``path``, or its tables are not those of its format.
    FormatVersion
        If the format is newer than the program's, or older and the file cannot be written.
    StoreLocked
        If the file is not released in time, or has an older format and a run is writing it.
    """
    with connected(path, read_only=True, timeout=timeout) as connection:
        stored = stored_format(connection, path)
        if stored == len(MIGRATIONS):
            verify(connection, path)
            return
    older = f"the run file {path} has format {stored}, this program reads format {len(MIGRATIONS)}"
    try:
        with connected(path, read_only=False, timeout=timeout) as connection:
            prepare(connection, path)
            verify(connection, path)
    except StoreLocked as error:
        raise StoreLocked(f"{older} and cannot bring it up to date now: {error}") from error
    except (InputError, OSError, duckdb.Error) as error:
        reason = explain(error) if isinstance(error, duckdb.Error) else error
        raise FormatVersion(
            f"{older} and cannot write it to bring it up to date: {reason}; "
            "make the file and its folder writable, or open a copy in a folder that is"
        ) from error
