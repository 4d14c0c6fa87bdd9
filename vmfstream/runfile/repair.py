"""Repair a run file whose writer was killed in the middle of a write.

When DuckDB folds its journal into the file it puts the new part of its directory into free places of blocks that also
hold the part in force, writes each such block (16 KiB, in older files 256) at once, and names the new part in the
header last. A process that is killed within such a write leaves a block of which some pages are new. The part in force
is the same in both, so nothing is lost; but the block's checksum is that of all new pages, not of the mixture, and
DuckDB refuses the file. The repair gives the block the checksum of its content, and keeps it if everything in the file
can then be read.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

import duckdb

from vmfstream.runfile.lease import abandoned

_logger = logging.getLogger(__name__)

_TORN = re.compile(
    r"computed checksum (?P<computed>\d+) does not match stored checksum (?P<stored>\d+) "
    r"in block at location (?P<at>\d+)"
)


def read_directory(connection: duckdb.DuckDBPyConnection) -> None:
    """Read the whole directory of a run file, which DuckDB otherwise reads in parts, as needed.

    Raises
    ------
    duckdb.Error
        If a block of it is damaged; the connection is closed then.
    """
    try:
        for table in _tables(connection):
            connection.execute("select count(*) from pragma_storage_info(?)", [table]).fetchall()
    except duckdb.Error:
        connection.close()
        raise


def repair(run_file: Path, error: duckdb.Error) -> bool:
    """Repair the block that an error of DuckDB names; return False, with the file unchanged, if that does not help."""
    torn = _TORN.search(str(error))
    if torn is None or not abandoned(run_file):
        return False
    computed, stored = (int(torn[name]).to_bytes(8, "little") for name in ("computed", "stored"))
    with run_file.open("r+b", buffering=0) as file:
        file.seek(int(torn["at"]))
        if file.read(8) != stored:
            return False
        _write_checksum(file.fileno(), computed, int(torn["at"]))
        try:
            _read_all(run_file)
        except duckdb.Error:
            _write_checksum(file.fileno(), stored, int(torn["at"]))
            return False
    _logger.warning("%s: its writer was killed within a write; the block at %s was repaired", run_file, torn["at"])
    return True


def _write_checksum(file: int, checksum: bytes, at: int) -> None:
    os.pwrite(file, checksum, at)
    os.fsync(file)


def _read_all(run_file: Path) -> None:
    """Read every row: the blocks of rows have checksums of their own."""
    with duckdb.connect(run_file, read_only=True) as connection:
        for table in _tables(connection):
            connection.execute(f'select bit_xor(hash(row)) from "{table}" as row').fetchall()


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()]
