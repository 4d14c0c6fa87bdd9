"""A log whose writer was killed within a write is repaired; any other damage is reported and left alone."""

from __future__ import annotations

import logging
from pathlib import Path

import duckdb
import pytest

from tests.unit.runfile.processes import snapshot
from tests.unit.runfile.records import commit
from vmfstream.errors import InputError
from vmfstream.runfile.lease import abandoned, lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

HEADERS, BLOCK, PAGE = 3 * 4096, 2**14, 4096


def directory(path: Path) -> list[int]:
    """Where a page of free places begins in each block of a file's directory that has one."""
    with duckdb.connect(path, read_only=True) as connection:
        blocks = connection.execute("select block_id, free_list from pragma_metadata_info()").fetchall()
    places = PAGE // (BLOCK // 64)
    return [
        HEADERS + block * BLOCK + (first + 1) * (BLOCK // 64)
        for block, free in blocks
        if (first := next((at for at in free if {*range(at, at + places)} <= {*free}), None)) is not None
    ]


def overwrite(path: Path, at: int, body: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(body)


@pytest.fixture
def run_file(tmp_path: Path) -> RunFile:
    run_file = RunFile(tmp_path / "run.duckdb")
    for epoch in range(4):
        run_file.commit(commit(epoch))
    return run_file


@pytest.fixture
def left(run_file: RunFile) -> Path:
    """The lock of a run that was killed; its number may be that of a process by now."""
    lock = run_file.path.with_name(run_file.path.name + ".lock")
    lock.write_text("1\n")
    return lock


def tear(path: Path) -> None:
    """Leave a block of the directory as a killed process does: new in a place that nothing in force refers to."""
    overwrite(path, directory(path)[0], b"new" * 1000)


def test_a_torn_block_is_repaired(run_file: RunFile, left: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = snapshot(run_file.path)
    tear(run_file.path)
    with pytest.raises(InputError, match=r"does not match stored checksum.*start it again"):
        Reader(run_file.path).newest()
    with caplog.at_level(logging.WARNING):
        again = RunFile(run_file.path)
    assert "was repaired" in caplog.text
    assert snapshot(run_file.path) == before
    again.commit(commit(4))
    assert abandoned(run_file.path)


def test_without_a_killed_run_nothing_is_repaired(run_file: RunFile) -> None:
    tear(run_file.path)
    found = run_file.path.read_bytes()
    with pytest.raises(InputError, match="does not match stored checksum"):
        RunFile(run_file.path)
    assert run_file.path.read_bytes() == found


def test_while_a_run_goes_on_nothing_is_repaired(run_file: RunFile) -> None:
    tear(run_file.path)
    with lease(run_file.path), pytest.raises(InputError, match="does not match stored checksum"):
        RunFile(run_file.path)


def test_other_damage_is_reported_and_left_alone(run_file: RunFile, left: Path) -> None:
    at = HEADERS + (directory(run_file.path)[0] - HEADERS) // BLOCK * BLOCK
    overwrite(run_file.path, at + 8, bytes(BLOCK // 2))  # what is in force too
    found = run_file.path.read_bytes()
    with pytest.raises(InputError, match="does not match stored checksum"):
        RunFile(run_file.path)
    assert run_file.path.read_bytes() == found


def test_a_run_file_that_was_left_whole_is_opened_as_ever(run_file: RunFile, left: Path) -> None:
    before = snapshot(run_file.path)
    assert snapshot(RunFile(run_file.path).path) == before


def test_a_lock_is_abandoned_if_nobody_holds_it(run_file: RunFile) -> None:
    assert not abandoned(run_file.path)
    with lease(run_file.path):
        assert not abandoned(run_file.path)
    assert not abandoned(run_file.path)
