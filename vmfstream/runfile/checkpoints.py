"""Read the settings and the last state of a run file without writing to it, also while a run is writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb

from vmfstream.errors import InputError
from vmfstream.records import Checkpoint
from vmfstream.runfile.connection import connected
from vmfstream.runfile.schema import check
from vmfstream.runfile.upgrade import upgrade
from vmfstream.runfile.writer import stored_checkpoint

TIMEOUT = 30.0
"""Seconds to wait for a file that another process holds."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredRun:
    """Settings and last state of a run file, of the same commit; ``checkpoint`` is None before the first."""

    settings: Mapping[str, str]
    checkpoint: Checkpoint | None


def read_run(path: Path) -> StoredRun:
    """Read settings and state of the last commit.

    Raises
    ------
    InputError
        If there is no run file at ``path``, or its state cannot be read.
    FormatVersion
        If it was written by a newer version.
    StoreLocked
        If the run file is not released in time.
    """
    path = path.expanduser().resolve()
    upgrade(path, TIMEOUT)
    with connected(path, read_only=True, timeout=TIMEOUT) as connection:
        try:
            connection.begin()
            check(connection, path)
            settings = dict(connection.execute("select key, value from meta").fetchall())
            return StoredRun(settings, stored_checkpoint(connection))
        except (duckdb.Error, ValueError) as error:
            raise InputError(f"cannot read the last state in the run file {path}: {error}") from error
