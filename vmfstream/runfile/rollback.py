"""The rollback journal: what a transaction may overwrite, kept beside the run file until the transaction is over.

DuckDB adds rows in free blocks of the file and makes them valid by writing one of two headers last. Two kinds of blocks
are written in place: the headers, and those blocks of the directory that have free room. A power cut in between leaves
any of them old, new, or a mixture that DuckDB refuses. So they are copied into ``<run file>.rollback`` and synced
before a transaction begins, as SQLite does. If the headers of a file are still those of the journal, its transaction
was interrupted, and the blocks are written back. If one of them is newer, everything that it refers to was
synced before it, and the transaction counts. In both cases DuckDB's own log of the transaction is removed.

The journal names blocks by where they stand in the file and holds copies of them; nothing of DuckDB's format is
interpreted, and nothing is written back that was not read from the same file before.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import BinaryIO

import duckdb

from vmfstream.folders import sync_folder

_logger = logging.getLogger(__name__)

_MAGIC = b"vmfstream rollback 1\n"
_DIGEST = 32
_LENGTH = 8  # bytes that hold the length of the JSON header
_PAGE = 4096
_HEADERS = 3 * _PAGE
"""Bytes at the beginning of a DuckDB file: one page about the file, two headers that are written in turn."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Parts of a run file as they were before a transaction: its first bytes, and blocks by their places."""

    headers: bytes
    blocks: dict[int, bytes]


def journal_of(run_file: Path) -> Path:
    """Return where the journal of a run file is."""
    return run_file.with_name(run_file.name + ".rollback")


def keep(connection: duckdb.DuckDBPyConnection, run_file: Path, file: BinaryIO) -> None:
    """Write the journal and have it on disk, before a transaction begins.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        To the run file, for writing; nothing was changed over it yet.
    run_file : Path
    file : BinaryIO
        The run file, opened before the connection: closing a file gives up all locks that the process has on it.
    """
    # qualified, since a stranger's file may have functions of these names
    size = connection.execute("select block_size from system.main.pragma_database_size()").fetchall()[0][0]
    found = connection.execute("select block_id, free_list from system.main.pragma_metadata_info()").fetchall()
    places = sorted({number * size for number, free in found if free})
    descriptor = file.fileno()
    blocks = {_HEADERS + place: os.pread(descriptor, size, _HEADERS + place) for place in places}
    body = _packed(Journal(os.pread(descriptor, _HEADERS, 0), blocks))
    path = journal_of(run_file)
    with path.open("wb") as journal:
        journal.write(body)
        journal.flush()
        os.fsync(journal.fileno())
    sync_folder(path.parent)


def cut_off(run_file: Path, file: BinaryIO) -> Journal | None:
    """Return the journal if its transaction was cut off, or goes on at the moment; None if not.

    ``file`` is the open run file.
    """
    try:
        journal = _unpacked(journal_of(run_file).read_bytes())
    except FileNotFoundError:
        return None
    if journal is None:
        return None
    first, *turn = _same_pages(journal, file)
    end = os.fstat(file.fileno()).st_size
    inside = all(_HEADERS <= at <= end - len(block) for at, block in journal.blocks.items())
    return journal if first and any(turn) and inside else None


def settle(journal: Journal, run_file: Path, file: BinaryIO) -> None:
    """Undo the transaction of a journal, or let it count if it had come to its end; remove the journal.

    Nobody else may have the file open. Being cut off here does no harm: it is done again.

    Parameters
    ----------
    journal : Journal
        From `cut_off`.
    run_file : Path
    file : BinaryIO
        The run file, open for reading and writing.
    """
    descriptor = file.fileno()
    logs = [log for log in _logs(run_file) if log.exists()]
    if all(_same_pages(journal, file)):
        changed = [at for at, block in journal.blocks.items() if os.pread(descriptor, len(block), at) != block]
        for at in changed:
            file.seek(at)
            file.write(journal.blocks[at])
        file.flush()  # unlike `os.pwrite`, this goes on after a part was written
        os.fsync(descriptor)
        if changed or logs:
            _logger.warning("%s: the last transaction was cut off and is undone; the run goes on before it", run_file)
    for log in logs:
        log.unlink()
    sync_folder(run_file.parent)
    journal_of(run_file).unlink()


def remove(run_file: Path) -> None:
    """Remove a file that was not finished, with its journal and DuckDB's logs, which would fit no other file.

    Raises
    ------
    OSError
        If one of them cannot be removed.
    """
    for path in (*_logs(run_file), journal_of(run_file), run_file):
        path.unlink(missing_ok=True)


def _same_pages(journal: Journal, file: BinaryIO) -> list[bool]:
    """Tell which of the first pages of a file are those of its journal."""
    now = os.pread(file.fileno(), _HEADERS, 0)
    return [now[at : at + _PAGE] == journal.headers[at : at + _PAGE] for at in range(0, _HEADERS, _PAGE)]


def _logs(run_file: Path) -> list[Path]:
    """Return where DuckDB logs a transaction that is not in the file yet."""
    return [run_file.with_name(run_file.name + suffix) for suffix in (".wal", ".wal.checkpoint", ".wal.recovery")]


def _packed(journal: Journal) -> bytes:
    sizes = [[place, len(block)] for place, block in journal.blocks.items()]
    header = json.dumps([len(journal.headers), sizes]).encode()
    body = b"".join([len(header).to_bytes(_LENGTH, "little"), header, journal.headers, *journal.blocks.values()])
    return _MAGIC + hashlib.blake2b(body, digest_size=_DIGEST).digest() + body


def _unpacked(content: bytes) -> Journal | None:
    """Return what a journal holds; None if it was not written to its end, so that its transaction never began.

    None, too, if it is none that `keep` wrote: a stranger can make the digest.
    """
    digest, body = content[len(_MAGIC) : len(_MAGIC) + _DIGEST], content[len(_MAGIC) + _DIGEST :]
    if not content.startswith(_MAGIC) or hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        return None
    at = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    try:
        first, sizes = json.loads(body[_LENGTH:at])
        ends = list(accumulate([at, first, *(size for _, size in sizes)]))
        headers, *blocks = (body[low:high] for low, high in pairwise(ends))
        places = [int(place) for place, _ in sizes]
    except (ValueError, TypeError, RecursionError):
        return None
    if ends != sorted(ends) or ends[-1] != len(body):
        return None
    return Journal(headers, dict(zip(places, blocks, strict=True)))
