"""Read the settings and the last state of a run file without writing to it, also while a run is writing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def one_commit(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection that sees one commit of the run file at ``path``, which is brought up to date before."""
    upgrade(path, TIMEOUT)
    with connected(path, read_only=True, timeout=TIMEOUT) as connection:
        connection.begin()
        check(connection, path)
        yield connection


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
    try:
        with one_commit(path) as connection:
            settings = dict(connection.execute("select key, value from meta").fetchall())
            return StoredRun(settings, stored_checkpoint(connection))
    except (duckdb.Error, ValueError) as error:
        raise InputError(f"cannot read the last state in the run file {path}: {error}") from error
