"""A command that is given again: what it reads on, and what it refuses because documents could be lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.system.cli.given import COMMAND, Run, count, lines, write

Rows = Sequence[dict[str, object]]


@pytest.fixture
def piped(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Rows], tuple[int, str, str]]:
    """Run over rows on standard input, always into the same run file."""

    def through_a_pipe(rows: Rows) -> tuple[int, str, str]:
        descriptor, writing = os.pipe()
        os.write(writing, b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        os.close(writing)
        monkeypatch.setattr("vmfstream.connectors.stdin._stdin", lambda: descriptor)
        told = run("run", "-", *COMMAND, "--documents", "all", "--out", tmp_path / "run.duckdb")
        os.close(descriptor)
        return told

    return through_a_pipe


def without_ids(rows: Rows) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "id"} for row in rows]


def test_other_lines_of_standard_input_are_new_ones(
    piped: Callable[[Rows], tuple[int, str, str]], tmp_path: Path
) -> None:
    rows = without_ids(lines())
    assert piped(rows[:50])[0] == 0
    code, out, _ = piped(rows[50:])
    assert (code, out.splitlines()[0].partition(",")[0]) == (0, "finished: 120 documents")
    assert count(tmp_path / "run.duckdb", "document") == 120


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_a_run_that_is_stopped_before_its_first_document_tells_by_which_signal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals, code: int
) -> None:
    silent, writing = os.pipe()
    once = [sent]

    def asked(*_: object) -> bool:
        if once:
            os.kill(os.getpid(), once.pop())
        return False

    monkeypatch.setattr("vmfstream.connectors.stdin._stdin", lambda: silent)
    monkeypatch.setattr("vmfstream.connectors.stdin.StdinSource._read", asked)
    ended, out, _ = run("run", "-", *COMMAND, "--out", tmp_path / "run.duckdb")
    os.close(writing)
    os.close(silent)
    assert out.startswith("interrupted; the same command goes on from here: 0 documents")
    assert ended == code


def test_the_same_lines_of_standard_input_are_skipped(
    piped: Callable[[Rows], tuple[int, str, str]], tmp_path: Path
) -> None:
    rows = without_ids(lines())
    assert piped(rows[:50])[0] == 0
    code, out, _ = piped(rows)
    assert (code, out.splitlines()[0].partition(",")[0]) == (0, "finished: 120 documents")
    assert count(tmp_path / "run.duckdb", "document") == 120
    code, out, err = piped(rows[:100])
    assert (code, out) == (1, "")
    assert "standard input ended after line 100, and 120 lines of it were read before" in err
    assert count(tmp_path / "run.duckdb", "document") == 120


@pytest.mark.parametrize("rows", [[], [{}]], ids=["nothing", "no document"])
def test_standard_input_without_documents(
    piped: Callable[[Rows], tuple[int, str, str]], tmp_path: Path, rows: Rows
) -> None:
    code, out, err = piped(rows)
    assert code != 0
    assert (tmp_path / "run.duckdb").exists() == bool(rows)  # what was rejected is kept
    assert ("expected documents, found none" in err) != bool(rows)
    assert "interrupted" not in out
    assert "texts in another field" not in out


@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_file_that_begins_with_another_document_is_refused(run: Run, tmp_path: Path, command: str) -> None:
    rows, file, run_file = without_ids(lines()), tmp_path / "feed.jsonl", tmp_path / "run.duckdb"
    given = (*COMMAND, "--out", run_file)
    assert run(command, write(file, rows[30:60]), *given)[0] == 0
    assert run(command, write(file, rows[30:80]), *given)[0] == 0  # it has grown
    code, out, err = run(command, write(file, rows), *given)
    assert (code, out) == (1, "")
    assert "feed.jsonl does not begin as it did when this run file was begun" in err
    assert count(run_file, "epoch") == 2
    other = write(tmp_path / "other.jsonl", rows[80:])
    assert "finished: 90 documents" in run(command, other, *given, "--renamed")[1]


@pytest.mark.parametrize("command", ["run", "replay"])
def test_a_file_of_vectors_alone_is_known_by_the_first(run: Run, tmp_path: Path, command: str) -> None:
    rows: list[dict[str, object]] = [{"v": [1 + at % 3, (at + 1) % 3, 0.01 * at]} for at in range(120)]
    file, vectors = tmp_path / "feed.jsonl", ("--vector", "v", "--dimension", 3)
    given = (*vectors, "--slices", 20, "-k", 2, "--out", tmp_path / "run.duckdb")
    assert run(command, write(file, rows[:60]), *given)[0] == 0
    assert "finished: 100 documents" in run(command, write(file, rows[:100]), *given)[1]  # it has grown
    code, out, err = run(command, write(file, rows[10:]), *given)
    assert (code, out) == (1, "")
    assert "feed.jsonl does not begin as it did when this run file was begun" in err


@pytest.mark.parametrize("commands", [("run", "replay"), ("replay", "run")])
def test_run_and_replay_do_not_continue_each_other(run: Run, tmp_path: Path, commands: tuple[str, str]) -> None:
    file = write(tmp_path / "feed.jsonl", lines())
    given = (*COMMAND, "--documents", "all", "--out", tmp_path / "run.duckdb")
    assert run(commands[0], file, *given)[0] == 0
    code, out, err = run(commands[1], file, *given)
    assert (code, out) == (1, "")
    assert "feed.jsonl does not begin as it did when this run file was begun, or was read then by the other one" in err
    assert "of run and replay" in err


def test_a_replayed_file_that_has_become_shorter_is_refused(run: Run, tmp_path: Path) -> None:
    rows, file, given = lines(), tmp_path / "feed.jsonl", (*COMMAND, "--out", tmp_path / "run.duckdb")
    assert run("replay", write(file, rows), *given)[0] == 0
    code, _, err = run("replay", write(file, rows[:50]), *given)
    assert code == 1
    assert "feed.jsonl: 120 documents of it were read before, and it has 50" in err


def test_a_text_whose_name_comes_first_is_refused(run: Run, tmp_path: Path) -> None:
    folder, given = tmp_path / "texts", (*COMMAND, "--out", tmp_path / "run.duckdb")
    folder.mkdir()
    for at, row in enumerate(lines(20)):
        (folder / f"2001-02-{at + 1:02}.txt").write_text(str(row["text"]))
    assert run("run", folder, *given)[0] == 0
    (folder / "2001-01-31.txt").write_text("a ship")
    code, _, err = run("run", folder, *given)
    assert code == 1
    assert "texts does not begin as it did" in err
