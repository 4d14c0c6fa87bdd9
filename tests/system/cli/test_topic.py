"""The command by which people correct a run, beside it and in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.system.cli.given import COMMAND, Run, lines, write
from vmfstream.runfile.inbox import Inbox
from vmfstream.runfile.lease import lease
from vmfstream.runfile.queries import Reader


def decided(run: Run, run_file: Path) -> list[dict[str, object]]:
    code, out, err = run("topic", run_file, "decisions", "--json")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_a_name_is_shown_wherever_the_topic_is(run: Run, run_file: Path, tmp_path: Path) -> None:
    name = "<i>Ships\x1b[31m & ports"
    code, out, err = run("topic", run_file, "name", 1, name)
    assert code == 0, err
    assert out == "name topic 1 '<i>Ships [31m & ports': done\n"
    (row,) = decided(run, run_file)
    assert row == row | {"number": 1, "decision": out.partition(":")[0], "slice": "2004", "outcome": "applied"}
    shown = [json.loads(line) for line in run("show", run_file, "--json")[1].splitlines()]
    assert {row["topic"]: row["name"] for row in shown}[1] == "<i>Ships [31m & ports"
    assert "\x1b" not in run("show", run_file)[1]
    report = run("report", run_file, "--since", "2001")[1]
    assert "topic 1 (\\<i\\>Ships" in report
    page = tmp_path / "page.html"
    assert run("export", run_file, page)[0] == 0
    assert "<i>Ships" not in page.read_text()
    assert run("topic", run_file, "unname", 1)[0] == 0
    assert Reader(run_file).topic_names() == {}
    assert decided(run, run_file)[0]["outcome"] == "applied, undone by 2"


def test_decisions_wait_for_the_run_that_goes_on(
    run: Run, good: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_file = tmp_path / "run.duckdb"
    follow = ("run", good, *COMMAND, "--out", run_file)
    assert run(*follow)[0] == 0
    for action in (("merge", 0, 1), ("pin", 2), ("words", "--forbid", "ship", "--forbid", "moon"), ("end", 2)):
        code, out, err = run("topic", run_file, *action)
        assert code == 0, err
        assert "waits: this run is finished, and applies it when a slice of later documents ends\nadd later" in out
    assert [row["outcome"] for row in decided(run, run_file)] == ["waits"] * 5
    assert "5 decisions came after the last slice had ended; a slice of later documents has" in run(*follow)[1]
    write(good, [*lines(), *({**row, "id": f"later {i}"} for i, row in enumerate(lines(60, 2005)))])
    code, out, err = run(*follow)
    assert code == 0
    assert "had ended" not in out
    assert "decision 5, to end topic 2, was refused: topic 2 is pinned; unpin it first" in caplog.text
    rows = decided(run, run_file)
    assert [row["number"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["slice"] for row in rows] == ["2005"] * 5
    assert [row["outcome"] for row in rows] == ["applied"] * 4 + ["refused: topic 2 is pinned; unpin it first"]
    assert not Inbox(run_file).folder.exists()
    assert "2005: topic 0 (" in (report := run("report", run_file, "--since", "2005")[1])
    assert "merged into topic 1" in report
    assert "decided by hand" in report
    table = run("show", run_file)[1]
    assert "pinned" in table
    assert not {"ship", "moon"} & set(table.split())


def test_while_a_run_is_writing_it_is_named(run: Run, run_file: Path) -> None:
    with lease(run_file):
        code, out, err = run("topic", run_file, "name", 1, "Ships")
    assert code == 0, err
    assert "is applied at the next end of a slice, by process" in out
    assert Reader(run_file).topic_names() == {}
    assert [one.text for one in Reader(run_file).waiting_decisions()] == ["Ships"]


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (("merge", 0, 55), "there is no topic 55; topics: 0, 1, 2"),
        (("merge", 1, 1), "topic 1 cannot be merged with itself"),
        (("pin", 55), "there is no topic 55"),
        (("words",), "expected words"),
        (("words", "--forbid", " "), "forbid: expected a word"),
        (("words", "--forbid", "two words"), "forbid: expected one word, got 'two words'"),
        (("words", "--forbid", "C++"), "forbid: expected a word, got 'C++', in which the tokeniser finds none"),
        (("words", "--forbid", "ship", "--allow", "!!!"), "allow: expected a word, got '!!!'"),
        (("unname", 1), "topic 1 has no name that was given to it"),
        (("name", 0, "x" * 200), "at most 100 characters, got 200"),
        (("end", "one"), "a valid integer"),
        (("explode", 1), "No such command 'explode'"),
    ],
)
def test_wrong_decisions_are_told_at_once(run: Run, run_file: Path, action: tuple[object, ...], told: str) -> None:
    code, _, err = run("topic", run_file, *action)
    assert code in (1, 2)
    assert told in err
    assert decided(run, run_file) == []


def test_no_run_file(run: Run, tmp_path: Path) -> None:
    code, _, err = run("topic", tmp_path / "none.duckdb", "name", 0, "x")
    assert code == 1
    assert "there is no run file" in err
    assert not Inbox(tmp_path / "none.duckdb").folder.exists()
