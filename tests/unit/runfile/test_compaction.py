"""A run file is written anew without free blocks when its stream has ended, and holds the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.unit.runfile.processes import run, snapshot
from tests.unit.runfile.records import commit
from vmfstream.errors import InputError
from vmfstream.runfile.compaction import compact
from vmfstream.runfile.connection import connected
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.verification import problems
from vmfstream.runfile.writer import RunFile

_READ = """
import sys
from pathlib import Path
from vmfstream.runfile.connection import connected
with connected(Path(sys.argv[1]), read_only=True, timeout=5) as opened:
    print("open", flush=True)
    sys.stdin.readline()
    print(opened.execute("select count(*) from epoch").fetchall(), flush=True)
"""


@pytest.fixture
def run_file(tmp_path: Path) -> RunFile:
    run_file = RunFile(tmp_path / "it's a run.duckdb")
    for epoch in range(8):
        run_file.commit(commit(epoch))
    with connected(run_file.path, read_only=False, timeout=1) as opened:
        opened.execute("create table gone as select random() as x from range(50_000)")
    with connected(run_file.path, read_only=False, timeout=1) as opened:
        opened.execute("drop table gone")
    with connected(run_file.path, read_only=False, timeout=1) as opened:
        opened.execute("insert into stage values ('x', 1)")  # at the end, so that the free blocks stay
    return run_file


@pytest.mark.thorough
def test_is_smaller_and_holds_the_same(run_file: RunFile) -> None:
    path, before, large = run_file.path, snapshot(run_file.path), run_file.path.stat().st_size
    os.chmod(path, 0o640)
    run_file.compact()
    assert path.stat().st_size < 0.8 * large
    assert snapshot(path) == before
    assert not list(problems(path))
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    run_file.commit(commit(8))
    assert Reader(path).newest().epoch == 8


def test_is_left_alone_if_little_is_free(run_file: RunFile) -> None:
    assert compact(run_file.path, 0.0)
    there = run_file.path.stat().st_ino
    assert not compact(run_file.path, 0.0)
    assert run_file.path.stat().st_ino == there


@pytest.mark.thorough
def test_who_reads_goes_on_with_the_old_one(run_file: RunFile) -> None:
    held = run(_READ, run_file.path)
    with held as reading:
        assert reading.stdout is not None
        assert reading.stdout.readline() == "open\n"
        assert compact(run_file.path, 0.0)
        assert reading.stdin is not None
        reading.stdin.write("\n")
        reading.stdin.flush()
        assert reading.stdout.readline() == "[(8,)]\n"


def test_waits_for_who_writes_and_gives_up(run_file: RunFile) -> None:
    there = run_file.path.stat().st_ino
    with connected(run_file.path, read_only=False, timeout=1):
        assert not compact(run_file.path, 0.2)
    assert run_file.path.stat().st_ino == there
    assert compact(run_file.path, 0.2)


def test_who_opened_the_old_file_before_opens_the_new_one(run_file: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that has opened the file, but not locked it, must not write into the file that is replaced."""
    connect = duckdb.connect
    replaced: list[bool] = []

    def late(*given: Any, **how: Any) -> duckdb.DuckDBPyConnection:
        if given and not replaced:
            replaced.append(True)
            copy = run_file.path.with_name("copy")
            copy.write_bytes(run_file.path.read_bytes())
            opened = connect(*given, **how)
            copy.replace(run_file.path)
            return opened
        return connect(*given, **how)

    monkeypatch.setattr(duckdb, "connect", late)
    run_file.commit(commit(8))
    monkeypatch.undo()
    assert replaced
    assert Reader(run_file.path).newest().epoch == 8


def test_a_copy_that_fails_leaves_the_file(
    run_file: RunFile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = run_file.path.read_bytes()
    monkeypatch.setattr(os, "fsync", full)
    assert not compact(run_file.path, 0.0)
    assert "keeps its free blocks: [Errno 28] No space left" in caplog.text
    assert run_file.path.read_bytes() == before
    assert len(list(run_file.path.parent.iterdir())) == 1


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run file"):
        compact(tmp_path / "none.duckdb", 0.0)
