"""Instances of DuckDB that are kept for the next use of a run file: few, of their own file and process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.unit.runfile.records import commit
from vmfstream.runfile import instances
from vmfstream.runfile.connection import connected
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile

FORKS = """
import os, sys
from vmfstream.runfile.queries import Reader
reader = Reader(sys.argv[1])
reader.newest()
child = os.fork()
if not child:
    os._exit(reader.newest().epoch)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), reader.newest().epoch)
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Instances made from now on; none is kept from before."""
    instances.close_all()
    found: list[Any] = []

    def make(kind: Any) -> duckdb.DuckDBPyConnection:
        found.append(kind)
        return make_one(kind)

    make_one = instances._made
    monkeypatch.setattr(instances, "_made", make)
    return found


def test_one_instance_reads_a_file_and_one_writes_it(tmp_path: Path, made: list[Any]) -> None:
    run_file, other = RunFile(tmp_path / "run.duckdb"), RunFile(tmp_path / "other's.duckdb")
    for epoch in range(3):
        run_file.commit(commit(epoch))
        assert Reader(run_file.path).newest().epoch == epoch
    other.commit(commit(0))
    assert made == [(run_file.path, False), (run_file.path, True), (other.path, False)]


def test_an_instance_in_which_something_failed_is_not_kept(tmp_path: Path, made: list[Any]) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    with pytest.raises(ZeroDivisionError), connected(run_file.path, read_only=False, timeout=1) as connection:  # noqa: PT012
        connection.begin()
        connection.execute("delete from migration")
        raise ZeroDivisionError
    run_file.commit(commit(0))
    assert made == [(run_file.path, False)] * 2
    with connected(run_file.path, read_only=True, timeout=1) as connection:
        connection.begin()  # nobody ends it
        assert connection.execute("select count(*) from migration").fetchall() != [(0,)]
    assert Reader(run_file.path).newest().epoch == 0


def test_few_are_kept(tmp_path: Path) -> None:
    for number in range(2 * instances._MOST):
        RunFile(tmp_path / f"{number}.duckdb").commit(commit(0))
    assert len(instances._kept) == instances._MOST
    assert Reader(tmp_path / "0.duckdb").newest().epoch == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_makes_its_own(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0), commit(1))
    done = subprocess.run([sys.executable, "-c", FORKS, run_file.path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1"]
