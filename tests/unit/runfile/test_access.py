"""The log file: one holder at a time, and plain words for whatever is wrong with it."""

from __future__ import annotations

import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.processes import run, snapshot
from tests.unit.runfile.records import commit
from vmfstream.errors import FormatVersion, InputError, StoreLocked
from vmfstream.records import Commit
from vmfstream.runfile import schema
from vmfstream.runfile.connection import explain
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

# --- one holder at a time

_HOLD = """
import sys, duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "True")
print("held", flush=True)
__import__("time").sleep(float(sys.argv[3]))
"""


@pytest.mark.parametrize("reading", [True, False])
def test_names_the_process_that_holds_the_file(tmp_path: Path, reading: bool) -> None:
    run_file = RunFile(tmp_path / "run.duckdb", timeout=0.2)
    run_file.commit(commit(0))
    with run(_HOLD, run_file.path, reading, 3600) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            with pytest.raises(StoreLocked, match=rf"run\.duckdb is held by process {process.pid} .* 0\.2 s"):
                run_file.commit(commit(1))
            if not reading:
                with pytest.raises(StoreLocked, match=str(process.pid)):
                    Reader(run_file.path, timeout=0.1)
        finally:
            process.kill()
    run_file.commit(commit(1))


def test_waits_for_a_file_that_is_soon_released(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    with run(_HOLD, run_file.path, False, 0.3) as process:
        assert process.stdout is not None
        process.stdout.readline()
        run_file.commit(commit(0))
        assert Reader(run_file.path).newest().epoch == 0


def test_a_writer_in_the_same_process_makes_a_reader_wait(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    reader = Reader(run_file.path, timeout=0.1)
    with duckdb.connect(run_file.path), pytest.raises(StoreLocked, match="another connection of this process"):
        reader.newest()
    assert reader.newest().epoch == -1


def test_what_the_system_said_is_told_instead_of_json() -> None:
    said = '{"exception_type":"IO","exception_message":"Could not write file \\"x\\": No space left","errno":"28"}'
    assert explain(duckdb.IOException(f"Async write failed for range [offset=0, size=26]: {said}")) == os.strerror(28)


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, damage: str) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    whole = run_file.path.read_bytes()
    run_file.path.write_bytes(whole[:5000] if damage == "cut off" else whole[:8192] + bytes(4096) + whole[12288:])
    copy = shutil.copy(run_file.path, tmp_path / "copy.duckdb")
    with pytest.raises(InputError, match=r"cannot open .*; the file is cut off or damaged: go on from a copy that is"):
        Reader(copy).newest()


def test_two_threads_of_a_process_wait_for_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB refuses a file that another thread is just opening."""
    run_file, refused, connect = RunFile(tmp_path / "run.duckdb"), [True, True], duckdb.connect

    def opening(*given: Any, **how: Any) -> Any:
        if refused:
            refused.pop()
            raise duckdb.BinderException("Binder Error: Unique file handle conflict: Cannot attach")
        return connect(*given, **how)

    monkeypatch.setattr(duckdb, "connect", opening)
    assert Reader(run_file.path).newest().epoch == -1
    assert not refused


def test_holds_nothing_between_commits(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    with run("import sys, duckdb; duckdb.connect(sys.argv[1]).execute('drop table event')", run_file.path) as process:
        assert process.wait() == 0


# --- files that are no log


def test_refuses_a_newer_format_and_says_both(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    with duckdb.connect(run_file.path) as connection:
        connection.execute("update meta set value = '99' where key = 'format'")
    says = re.escape(f"format 99, this program knows formats up to {len(schema.MIGRATIONS)}")
    for attempt in (lambda: RunFile(run_file.path), lambda: Reader(run_file.path), run_file.resume):
        with pytest.raises(FormatVersion, match=says):
            attempt()


def test_brings_an_older_run_file_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))

    def add_a_column(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("alter table topic add column mood double")

    def break_off(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("alter table topic add column half double")
        raise KeyboardInterrupt

    now = len(schema.MIGRATIONS)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_a_column))
    with pytest.raises(FormatVersion, match=f"has format {now}, this program reads format {now + 1}"):
        run_file.resume()
    RunFile(run_file.path)
    assert Reader(run_file.path).meta()["format"] == str(now + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, break_off))
    with pytest.raises(KeyboardInterrupt):
        RunFile(run_file.path)
    rows = snapshot(run_file.path)
    assert ("format", str(now + 1)) in rows["meta"]
    assert {name for name, _ in rows["migration"]} == {made.__name__ for made in schema.MIGRATIONS[:-1]}
    assert len(rows["topic"][0]) == 11  # with mood, without half


@pytest.mark.parametrize("opened", [RunFile, Reader])
def test_says_what_is_no_run_file(tmp_path: Path, opened: type[RunFile] | type[Reader]) -> None:
    text = tmp_path / "notes.duckdb"
    text.write_text("dear diary " * 1000)
    foreign = tmp_path / "shop.duckdb"
    with duckdb.connect(foreign) as connection:
        connection.execute("create table orders(id integer)")
    cousin = tmp_path / "cousin.duckdb"
    with duckdb.connect(cousin) as connection:
        connection.execute("create table meta(a integer); create table migration(a integer)")
    for path, says in [
        (text, "not a DuckDB file"),
        (foreign, "no vmfstream run file: it holds the tables orders"),
        (cousin, "names no format"),
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "run.duckdb", "folder of the run file does not exist"),
        (text / "run.duckdb", "folder of the run file does not exist"),
        (tmp_path / ("x" * 300), "File name too long"),
        (tmp_path / os.fsdecode(b"a\xff"), "is no UTF-8; rename it"),
    ]:
        with pytest.raises(InputError, match=says):
            opened(path)
    assert text.read_text().startswith("dear diary")


def test_a_file_that_cannot_be_read_is_not_called_a_strange_one(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    run_file.close()

    class Failing:
        """A disk that fails where the format stands."""

        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self._connection = connection

        def execute(self, query: str) -> Any:
            if "from meta" in query:
                raise duckdb.IOException('Could not read from file "run.duckdb": Input/output error\n\nStack Trace')
            return self._connection.execute(query)

    with duckdb.connect(run_file.path, read_only=True) as connection:
        failing: Any = Failing(connection)
        with pytest.raises(InputError, match=r"^cannot read the run file .*run\.duckdb: .*Input/output error$"):
            schema.stored_format(failing, run_file.path)


def test_a_reader_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no run file at"):
        Reader(tmp_path / "run.duckdb")
    assert list(tmp_path.iterdir()) == []
    with duckdb.connect(tmp_path / "bare.duckdb"):
        pass
    with pytest.raises(InputError, match="is empty"):
        Reader(tmp_path / "bare.duckdb")


def test_does_not_begin_anew_when_its_file_is_deleted(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    run_file.path.unlink()
    with pytest.raises(InputError, match="is gone"):
        run_file.commit(commit(1))
    assert not run_file.path.exists()


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Yield a folder whose rights hold even if the tests are run by root."""
    folder = Path(tempfile.mkdtemp())
    root = os.geteuid() == 0
    if root:
        os.chown(folder, 65534, -1)
        os.seteuid(65534)
    try:
        yield folder
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)
        shutil.rmtree(folder)


def test_says_that_permission_is_missing() -> None:
    with unprivileged() as folder:
        run_file = RunFile(folder / "run.duckdb")
        run_file.commit(commit(0))
        run_file.path.chmod(0o400)
        with pytest.raises(InputError, match=r"no permission .*run\.duckdb"):
            run_file.commit(commit(1))
        assert Reader(run_file.path).newest().epoch == 0
        folder.chmod(0o500)
        with pytest.raises(InputError, match=r"no permission .*new\.duckdb"):
            RunFile(folder / "new.duckdb")
        run_file.path.chmod(0o600)
        with pytest.raises(InputError, match=r"run\.duckdb"):
            run_file.commit(commit(1))
        folder.chmod(0o700)
        run_file.commit(commit(1))


def test_too_little_memory_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")

    def refuse(*_: Any) -> None:
        raise duckdb.OutOfMemoryException("Out of Memory Error: failed to allocate data of size 1.2 MiB")

    monkeypatch.setattr("vmfstream.runfile.writer.insert", refuse)
    with pytest.raises(InputError, match=r"failed to allocate .*MiB; there is too little memory; continue the run"):
        run_file.commit(commit(0))


def test_a_full_disk_leaves_the_last_epoch(tmp_path: Path) -> None:
    # a limit on the size of files stands for the disk
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0))
    before = snapshot(run_file.path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    big: Commit = commit(1, open_state={"mean": np.random.default_rng(0).random(1_000_000)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (run_file.path.stat().st_size + 500_000, limits[1]))
    try:
        with pytest.raises(InputError, match=r"nothing of epoch 1 could be written .*make room"):
            run_file.commit(big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert snapshot(run_file.path) == before
    run_file.commit(big)
    assert Reader(run_file.path).newest().epoch == 1
