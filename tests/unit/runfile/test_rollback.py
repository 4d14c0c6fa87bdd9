"""What a transaction that was cut off leaves is undone; nothing else is ever written back."""

from __future__ import annotations

import hashlib
import logging
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.unit.runfile.processes import run, snapshot
from tests.unit.runfile.records import commit
from vmfstream.errors import InputError, StoreLocked
from vmfstream.runfile import connection, rollback
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.rollback import journal_of
from vmfstream.runfile.verification import problems
from vmfstream.runfile.writer import RunFile


@pytest.fixture
def run_file(tmp_path: Path) -> RunFile:
    run_file = RunFile(tmp_path / "run.duckdb")
    for epoch in range(3):
        run_file.commit(commit(epoch))
    return run_file


class Cut(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def torn(run_file: RunFile, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run file whose transaction was cut off: there is its journal, half of the directory, and half of a log."""

    def kept(*given: Any) -> None:
        rollback.keep(*given)
        shutil.copyfile(journal_of(run_file.path), run_file.path.with_name("kept"))
        raise Cut

    monkeypatch.setattr(connection, "keep", kept)
    with pytest.raises(Cut):
        run_file.commit(commit(3))
    monkeypatch.undo()
    assert journal_of(run_file.path).read_bytes() == run_file.path.with_name("kept").read_bytes()
    tear(run_file.path)
    run_file.path.with_name("run.duckdb.wal").write_bytes(b"half a log" * 50)
    return run_file.path


def tear(path: Path) -> None:
    """Overwrite half of a block of the directory, as a power cut may."""
    journal = rollback._unpacked(journal_of(path).read_bytes())
    assert journal is not None
    with path.open("r+b") as file:
        file.seek(max(journal.blocks) + 4096)
        file.write(b"new" * 2000)


@pytest.mark.parametrize("opened", [RunFile, Reader])
def test_a_transaction_that_was_cut_off_is_undone(
    torn: Path, caplog: pytest.LogCaptureFixture, opened: type[Reader] | type[RunFile]
) -> None:
    with caplog.at_level(logging.WARNING):
        opened(torn)
    assert "was cut off and is undone" in caplog.text
    assert not journal_of(torn).exists()
    assert not torn.with_name("run.duckdb.wal").exists()
    assert not list(problems(torn))
    assert [row[0] for row in snapshot(torn)["epoch"]] == [0, 1, 2]
    RunFile(torn).commit(commit(3))


@pytest.mark.parametrize("at", ["os.fsync", "vmfstream.runfile.rollback.sync_folder"])
def test_undoing_may_be_cut_off_too(torn: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    def cut(_: object) -> None:
        raise Cut

    monkeypatch.setattr(at, cut)
    with pytest.raises(Cut):
        Reader(torn)
    monkeypatch.undo()
    assert journal_of(torn).exists()
    RunFile(torn)
    assert [row[0] for row in snapshot(torn)["epoch"]] == [0, 1, 2]


def test_without_the_journal_a_torn_file_is_refused_and_left_alone(torn: Path) -> None:
    journal_of(torn).unlink()
    torn.with_name("run.duckdb.wal").unlink()
    before = torn.read_bytes()
    with pytest.raises(InputError, match="checksum"):
        _read(torn)
    assert torn.read_bytes() == before


def _read(path: Path) -> None:
    found = list(problems(path))
    if found:
        raise InputError(found[0])


def test_a_damaged_journal_is_not_used(torn: Path) -> None:
    body = bytearray(journal_of(torn).read_bytes())
    body[len(body) // 2] ^= 1
    journal_of(torn).write_bytes(body)
    before = torn.read_bytes()
    with pytest.raises(InputError):
        RunFile(torn)
    assert torn.read_bytes() == before


def sealed(header: bytes, rest: bytes) -> bytes:
    """Return a journal with a right digest, as a stranger can make one."""
    body = len(header).to_bytes(8, "little") + header + rest
    return rollback._MAGIC + hashlib.blake2b(body, digest_size=32).digest() + body


@pytest.mark.parametrize(
    "header",
    [
        b"no json",
        b"5",
        b"[12288]",
        b"[" * 10**5,
        b'[12288, [["a", 5]]]',
        b"[12288, [[20480, 6]]]",
        b"[12288, [[20480, -1], [20480, 6]]]",
        b"[12288.0, [[20480, 5]]]",
        b"[12288, [[-5, 5]]]",
        b"[12288, [[0, 5]]]",
        b"[12288, [[1099511627776, 5]]]",
    ],
    ids=str,
)
def test_the_journal_of_a_stranger_is_not_used(run_file: RunFile, header: bytes) -> None:
    before = run_file.path.read_bytes()
    journal_of(run_file.path).write_bytes(sealed(header, before[:12288] + b"other"))
    assert Reader(run_file.path).newest().epoch == 2
    assert run_file.path.read_bytes() == before


def test_the_journal_of_an_earlier_transaction_is_not_used(run_file: RunFile, torn: Path) -> None:
    RunFile(torn)
    for epoch in (3, 4):
        run_file.commit(commit(epoch))
    shutil.copyfile(torn.with_name("kept"), journal_of(torn))
    before = snapshot(torn)
    assert Reader(torn).newest().epoch == 4
    RunFile(torn)
    assert snapshot(torn) == before


def test_the_journal_of_another_file_is_not_used(torn: Path, tmp_path: Path) -> None:
    other = RunFile(tmp_path / "other.duckdb")
    other.commit(commit(0))
    before = snapshot(other.path)
    shutil.copyfile(torn.with_name("kept"), journal_of(other.path))
    with other.path.open("rb") as file:
        assert rollback.cut_off(other.path, file) is None
    RunFile(other.path)
    assert snapshot(other.path) == before


def test_a_transaction_that_had_come_to_its_end_counts(run_file: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The headers are written, the journal and DuckDB's log are still there."""

    def cut(folder: Path) -> None:
        raise Cut

    monkeypatch.setattr(connection, "sync_folder", cut)
    with pytest.raises(Cut):
        run_file.commit(commit(3))
    monkeypatch.undo()
    assert journal_of(run_file.path).exists()
    run_file.path.with_name("run.duckdb.wal").write_bytes(b"its log" * 50)
    assert Reader(run_file.path).newest().epoch == 3
    assert not journal_of(run_file.path).exists()
    run_file.commit(commit(4))


_HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=True)
print("held", flush=True)
__import__("time").sleep(3600)
"""


def test_nothing_is_undone_while_somebody_has_the_file_open(torn: Path) -> None:
    torn.with_name("run.duckdb.wal").unlink()
    shutil.copyfile(torn, torn.with_name("torn"))
    journal = rollback._unpacked(journal_of(torn).read_bytes())
    assert journal is not None
    with torn.open("r+b") as file:  # whole, so that it can be opened
        for at, block in journal.blocks.items():
            file.seek(at)
            file.write(block)
    with run(_HOLD, torn) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(StoreLocked, match="is held by another process and"):
                RunFile(torn, timeout=0.1)
            assert journal_of(torn).exists()
        finally:
            process.kill()
    RunFile(torn)
    assert not journal_of(torn).exists()


def test_a_reader_does_not_give_up_the_lock_of_a_writer_of_its_process(run_file: RunFile) -> None:
    """Closing any descriptor of a file releases the locks that the process has on it."""
    other = "import sys, duckdb; duckdb.connect(sys.argv[1], read_only=True)"
    with connection.connected(run_file.path, read_only=False, timeout=1.0) as held:
        with pytest.raises(StoreLocked):
            Reader(run_file.path, timeout=0.0)
        with run(other, run_file.path) as process:
            assert process.wait() == 1
            assert process.stderr is not None
            assert "Could not set lock" in process.stderr.read()
        held.execute("select 1")


def test_a_new_file_is_there_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    path.with_name("run.duckdb.new").write_bytes(b"left by a kill")
    RunFile(path)
    assert [file.name for file in tmp_path.iterdir()] == ["run.duckdb"]


def test_what_a_kill_left_of_a_copy_is_removed(run_file: RunFile) -> None:
    for name in ("run.duckdb.new", "run.duckdb.new.wal"):
        run_file.path.with_name(name).write_bytes(b"left by a kill")
    RunFile(run_file.path)
    assert [file.name for file in run_file.path.parent.iterdir()] == ["run.duckdb"]


def test_between_transactions_there_is_one_file(run_file: RunFile) -> None:
    assert [file.name for file in run_file.path.parent.iterdir()] == ["run.duckdb"]


# --- reading everything


def test_damaged_rows_are_found(run_file: RunFile) -> None:
    assert list(problems(run_file.path)) == []
    with duckdb.connect(run_file.path, read_only=True) as found:
        query = "select block_id, block_size from pragma_storage_info('filtered_word'), pragma_database_size()"
        block, size = next(row for row in found.execute(query).fetchall() if row[0] >= 0)
    with run_file.path.open("r+b") as file:
        file.seek(3 * 4096 + block * size + size // 2)
        file.write(b"damage" * 10)
    assert any("filtered_word cannot be read" in one for one in problems(run_file.path))


def test_tables_that_do_not_agree_are_found(run_file: RunFile) -> None:
    with duckdb.connect(run_file.path) as found:
        found.execute("delete from slice")
    assert "filtered has slices that are not closed" in list(problems(run_file.path))
