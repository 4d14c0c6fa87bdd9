"""Runs and replays as a user meets them: what they print and what they leave behind."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, SUBJECTS, Run, count, lines, write
from tests.waiting import PATIENCE, wait_for
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile


def test_a_run_writes_a_run_file_that_show_reads(run: Run, good: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    code, out, _ = run("run", good, *COMMAND, "--out", run_file)
    assert code == 0
    assert "120 documents, 0 rejected" in out
    code, out, _ = run("show", run_file, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 3
    assert sum(row["documents"] for row in rows) == 30
    found = {frozenset(row["words"][:3]) for row in rows}
    assert all(any(words <= set(s.split()) for s in SUBJECTS) for words in found)
    topic = rows[0]["topic"]
    code, out, _ = run("show", run_file, "--topic", topic, "--reading", "smoothed")
    assert code == 0
    assert "2004" in out


def test_the_same_command_again_adds_nothing(run: Run, good: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    command = ("run", good, *COMMAND, "--out", run_file)
    run(*command)
    before = count(run_file, "epoch")
    code, out, _ = run(*command)
    assert code == 0
    assert "120 documents" in out
    assert count(run_file, "epoch") == before


def test_other_settings_cannot_continue_a_run_file(run: Run, good: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    run("run", good, *COMMAND, "--out", run_file)
    code, _, err = run("run", good, "--slices", "year", "-k", 4, "--out", run_file)
    assert code == 1
    assert "topics" in err
    assert "3" in err


def test_replay_sorts_by_time(run: Run, tmp_path: Path) -> None:
    rows = lines()
    file = write(tmp_path / "mixed.jsonl", rows[60:] + rows[:60])
    run_file = tmp_path / "run.duckdb"
    code, _, _ = run("replay", file, *COMMAND, "--out", run_file)
    assert code == 0
    with duckdb.connect(str(run_file), read_only=True) as connection:
        assert connection.execute("select sum(late) from epoch").fetchall() == [(0,)]
        assert connection.execute("select label, n from slice order by slice").fetchall() == [
            ("2001", 30),
            ("2002", 30),
            ("2003", 30),
            ("2004", 30),
        ]


@pytest.mark.parametrize("name", ["wire.jsonl", "wire.jsonl.gz"])
def test_run_and_replay_give_a_page_the_same_title(run: Run, good: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(good.read_bytes()) if name.endswith("gz") else good.read_bytes())
    for command in ("run", "replay"):
        run_file = tmp_path / f"{command}.duckdb"
        run(command, path, "--topics", 2, "--slices", "year", "--no-stories", "--out", run_file)
        assert Reader(run_file).meta()["title"] == "wire"


def test_a_replayed_file_gets_slices_that_suit_its_times(run: Run, tmp_path: Path) -> None:
    rows = [{**row, "time": f"2001-{1 + i // 40:02}-{1 + i % 28:02}"} for i, row in enumerate(lines(400))]
    path, run_file = write(tmp_path / "in.jsonl", rows[:200]), tmp_path / "a.duckdb"
    code, _, err = run("replay", path, "-k", 3, "--out", run_file)
    assert code == 0
    assert "slices: month, by the times of the documents; --slices chooses another length" in err
    assert count(run_file, "slice") == 5
    # of all of it years would be chosen, but what was begun with months goes on with months
    write(path, rows + [{**row, "id": f"e{i}", "time": f"{2002 + i // 20}-01-01"} for i, row in enumerate(lines(200))])
    code, _, err = run("replay", path, "-k", 3, "--out", run_file)
    assert code == 0, err
    assert "slices: " not in err
    assert count(run_file, "document") == 600


def test_time_going_backwards_is_counted_as_late(run: Run, tmp_path: Path) -> None:
    rows = lines()
    rows[100]["time"] = "1999"
    run_file = tmp_path / "run.duckdb"
    code, _, _ = run("run", write(tmp_path / "late.jsonl", rows), *COMMAND, "--out", run_file)
    assert code == 0
    with duckdb.connect(str(run_file), read_only=True) as connection:
        assert connection.execute("select sum(late), sum(n) from epoch").fetchall() == [(1, 120)]


@pytest.mark.parametrize(
    ("rows", "topics"), [(1, 3), (2, 3), (5, 30), (40, 30)], ids=["one", "two", "five", "fewer than 2K"]
)
def test_few_documents(run: Run, tmp_path: Path, rows: int, topics: int) -> None:
    file = write(tmp_path / "few.jsonl", lines()[:rows])
    run_file = tmp_path / "run.duckdb"
    code, out, _ = run("run", file, "--slices", "year", "-k", topics, "--out", run_file)
    assert code == 0
    assert f"{rows} document{'s' if rows > 1 else ''}, 0 rejected" in out
    code, _, err = run("show", run_file)
    assert code == 0, err
    code, out, err = run("export", run_file, tmp_path / "page.html")
    assert code == 0, err


def test_an_empty_file_is_refused_before_there_is_a_run_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    code, _, err = run("run", tmp_path / "empty.jsonl", "--out", tmp_path / "run.duckdb")
    assert (code, "empty.jsonl: expected documents, found none" in err) == (1, True)
    assert not (tmp_path / "run.duckdb").exists()


def test_gzip_is_read(run: Run, good: Path, tmp_path: Path) -> None:
    packed = tmp_path / "good.jsonl.gz"
    packed.write_bytes(gzip.compress(good.read_bytes()))
    code, out, _ = run("run", packed, *COMMAND, "--out", tmp_path / "run.duckdb")
    assert code == 0
    assert "120 documents, 0 rejected" in out


def test_an_interrupted_run_ends_cleanly_and_goes_on(good: Path, tmp_path: Path) -> None:
    """Ctrl-C while standard input is still open: the documents read so far are committed."""
    run_file = tmp_path / "run.duckdb"
    command = [sys.executable, "-m", "vmfstream", "run", "-", "--slices", "year", "-k", "3", "--out", str(run_file)]
    text = good.read_bytes().splitlines(keepends=True)
    with subprocess.Popen(
        [*command, "--linger", "0.2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        child.stdin.write(b"".join(text[:70]))
        child.stdin.flush()
        wait_for(lambda: read(run_file), lambda documents: documents >= 70, child)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert child.returncode == 130, err
    assert b"interrupted" in out
    assert b"Traceback" not in err
    again = subprocess.run(command, input=b"".join(text), capture_output=True, check=True)
    assert b"finished: 120 documents, 0 rejected" in again.stdout
    assert b"not repeatable: " in again.stdout


def test_a_run_whose_terminal_is_closed_ends_in_order(good: Path, tmp_path: Path) -> None:
    run_file = tmp_path / "run.duckdb"
    command = [sys.executable, "-m", "vmfstream", "run", "-", "--slices", "year", "-k", "3", "--out", str(run_file)]
    ours, terminal = os.openpty()

    def attach() -> None:
        """Make it the terminal of the run, whose end is told even if the tests run under nohup."""
        fcntl.ioctl(1, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

    with subprocess.Popen(
        [*command, "--linger", "0.2"],
        stdin=subprocess.PIPE,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        preexec_fn=attach,
    ) as child:
        assert child.stdin is not None
        os.close(terminal)
        child.stdin.write(b"".join(good.read_bytes().splitlines(keepends=True)[:70]))
        child.stdin.flush()

        def seen() -> int:
            while select.select([ours], [], [], 0)[0]:  # a terminal that nobody reads would hold the run up
                os.read(ours, 65_536)
            return read(run_file)

        wait_for(seen, lambda documents: documents >= 70, child)
        os.close(ours)
        assert child.wait(PATIENCE) == 0
    assert not run_file.with_name("run.duckdb.lock").exists()


def read(run_file: Path) -> int:
    """Documents in the log so far; 0 while it is being made."""
    if not run_file.exists():
        return 0
    try:
        with duckdb.connect(str(run_file), read_only=True) as connection:
            return int(connection.execute("select coalesce(sum(n), 0) from epoch").fetchall()[0][0])
    except duckdb.Error:
        return 0


@pytest.mark.parametrize("command", ["run", "replay"])
def test_vectors_with_texts_have_topics_with_words(run: Run, tmp_path: Path, command: str) -> None:
    rows = [row | {"v": [float(i % 3 == j) + 0.01 * (i % 7) for j in range(3)]} for i, row in enumerate(lines())]
    rows = rows if command == "run" else rows[::-1]  # a replay reads them in the order of their times
    run_file = tmp_path / "run.duckdb"
    given = (*COMMAND, "--out", run_file, "--vector", "v", "--dimension", 3, "--text", "text")
    code, out, _ = run(command, write(tmp_path / "vectors.jsonl", rows), *given)
    assert code == 0
    assert "120 documents, 0 rejected" in out
    _, out, _ = run("show", run_file, "--json")
    words = [set(json.loads(line)["words"][:5]) for line in out.splitlines()]
    assert len(words) == 3
    assert all(any(found <= set(subject.split()) for subject in SUBJECTS) for found in words)


@pytest.mark.parametrize("given", [("--embed",), ("--embed", "wordllama")])
def test_topics_of_vectors_are_named_by_words(run: Run, good: Path, tmp_path: Path, given: tuple[str, ...]) -> None:
    run_file = tmp_path / "run.duckdb"
    code, out, _ = run("run", good, *COMMAND, "--out", run_file, *given)
    assert code == 0
    assert "120 documents, 0 rejected" in out
    _, out, _ = run("show", run_file, "--json")
    found = {frozenset(json.loads(line)["words"][:3]) for line in out.splitlines()}
    assert len(found) == 3
    assert all(any(words <= set(s.split()) for s in SUBJECTS) for words in found)
    assert RunFile(run_file).settings({})["embed"] == "wordllama"
