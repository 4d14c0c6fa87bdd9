"""The command that lists documents as they were labelled on arrival."""

from __future__ import annotations

import csv
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, Run, lines, write


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run file of a replay, one of whose texts has no words and whose story 1 was merged into 0."""
    folder = tmp_path_factory.mktemp("replayed")
    rows: list[dict[str, object]] = [*lines(), {"id": "\x1b[31mred", "time": "2004", "text": "...", "title": "Nothing"}]
    good, path = write(folder / "good.jsonl", rows), folder / "replayed.duckdb"
    command = [sys.executable, "-m", "vmfstream", "replay", good, *COMMAND, "--out", path]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("insert into story_event values (2003, 9, 'merged', 1, 40, 0, 8.5)")
    return path


def asked(run: Run, *given: object) -> list[dict[str, object]]:
    code, out, err = run("documents", *given, "--format", "jsonl")
    assert code == 0, err
    return [json.loads(line) for line in out.splitlines()]


def test_documents_come_in_the_order_in_which_they_were_learnt(run: Run, replayed: Path) -> None:
    rows = asked(run, replayed)
    assert [row["id"] for row in rows] == [*(f"d{i}" for i in range(120)), "\x1b[31mred"]
    first, known, blank = rows[0], rows[60], rows[-1]
    assert first == first | {"time": "2001-01-01T00:00:00", "slice": "2001", "topic": None, "probability": None}
    assert known["topic"] in (0, 1, 2)
    assert 0.5 < float(str(known["probability"])) <= 1.0
    assert float(str(known["novelty"])) < 0.0
    assert blank == blank | {"topic": None, "story": None, "novelty": None}
    assert [row["story"] for row in rows[:4]] == [0, 1, 2, 0]


def test_documents_are_chosen_by_topic_story_slice_and_date(run: Run, replayed: Path) -> None:
    rows = asked(run, replayed)
    topic = rows[60]["topic"]
    assert rows[0]["smoothed_topic"] in (0, 1, 2)  # of before the first topics
    assert {row["id"]: row["smoothed_topic"] for row in rows}["d60"] == topic
    assert asked(run, replayed, "--topic", topic) == [row for row in rows if row["smoothed_topic"] == topic]
    early = asked(run, replayed, "--topic", topic, "--reading", "filtered")
    assert early == [row for row in rows if row["topic"] == topic]
    assert asked(run, replayed, "--until", "2002") == rows[:60]
    assert asked(run, replayed, "--story", 2) == [row for row in rows if row["story"] == 2]
    assert asked(run, replayed, "--story", 0) == [row for row in rows if row["story"] in (0, 1)]
    assert asked(run, replayed, "--slice", "2002") == rows[30:60]
    assert asked(run, replayed, "--since", "2003-01-01", "--limit", 7) == rows[60:67]


def test_the_table_has_the_newest_first_and_csv_has_all(run: Run, replayed: Path) -> None:
    code, out, _ = run("documents", replayed)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if line.startswith("d")] == [
        f"d{i}" for i in range(119, 90, -1)
    ]
    assert "\x1b" not in out
    code, out, _ = run("documents", replayed, "--format", "csv")
    assert code == 0
    table = list(csv.DictReader(out.splitlines()))
    assert [row["id"] for row in table] == [row["id"] for row in asked(run, replayed)]
    assert (table[0]["topic"], table[-1]["story"]) == ("", "")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--topic", 77), "no document got the topic 77; there are: 0, 1, 2"),
        (("--story", 77), "no document got the story 77; there are: 0, 1, 2"),
        (("--slice", "1999"), "there is no slice '1999'; there are: from '2001' to '2004'"),
        (("--since", "tomorrow"), "--since: expected a date, such as 2013-11-04, got 'tomorrow'"),
        (
            ("--since", "2003", "--until", "2002"),
            "--since: expected a date that is not after --until, got 2003 and 2002",
        ),
        (("--until", "soon"), "--until: expected a date, such as 2013-11-04, got 'soon'"),
        (("--format", "parquet"), "--format parquet: expected the file to write: --out documents.parquet"),
        (("--out", "x"), "--out: expected a name that ends in .csv, .jsonl or .parquet, or --format, got x"),
        (("--format", "table", "--out", "x"), "--out: expected a name that ends in .csv, .jsonl or .parquet"),
        (
            ("--format", "csv", "--out", "x.parquet"),
            "--out: x.parquet is named as a file of parquet, --format says csv; change one of them",
        ),
        (("--format", "parquet", "--out", "/nowhere/x.parquet"), "the folder /nowhere does not exist"),
        (("--format", "xml"), "--format: expected table, csv, jsonl or parquet, got 'xml'"),
    ],
)
def test_what_there_is_not_is_told(run: Run, replayed: Path, given: tuple[object, ...], says: str) -> None:
    code, _, err = run("documents", replayed, *given)
    assert code == 1
    assert says in err


def test_parquet_holds_what_json_lines_hold(run: Run, good: Path, tmp_path: Path) -> None:
    path, target = tmp_path / "texts.duckdb", tmp_path / "it's.parquet"
    assert run("run", good, *COMMAND, "--documents", "20", "--keep-text", "--out", path)[0] == 0
    code, out, err = run("documents", path, "--format", "parquet", "--out", target)
    assert code == 0, err
    rows = asked(run, path)
    assert f"{len(rows)} documents" in out
    with duckdb.connect() as connection:
        found = connection.execute("select * from read_parquet(?)", [str(target)])
        names = [column[0] for column in found.description or ()]
        stored = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    same = ("id", "slice", "topic", "story", "smoothed_topic", "text")
    assert [[row[name] for name in same] for row in stored] == [[row[name] for name in same] for row in rows]
    assert all(row["text"] for row in rows)
    word = str(rows[0]["text"]).split()[0]
    assert [row["id"] for row in asked(run, path, "--search", word.upper())] == [
        row["id"] for row in rows if word in str(row["text"])
    ]
    code, out, _ = run("documents", path, "--out", tmp_path / "documents.CSV")
    assert (code, out) == (0, f"{tmp_path / 'documents.CSV'}: {len(rows)} documents\n")
    assert run("documents", path, "--out", tmp_path / "plain", "--format", "csv")[0] == 0
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "documents.CSV").read_bytes()
    assert run("documents", path, "--out", tmp_path / "documents.jsonl")[0] == 0
    assert list(map(json.loads, (tmp_path / "documents.jsonl").read_text().splitlines())) == rows
    with (tmp_path / "documents.CSV").open(newline="") as table:
        assert [row["text"] for row in csv.DictReader(table)] == [row["text"] for row in rows]


def test_a_file_that_cannot_be_written_whole_is_named_and_the_earlier_one_stays(
    run: Run, replayed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = tmp_path / "documents.jsonl"
    target.write_text("earlier")
    monkeypatch.setattr(os, "fsync", full)
    code, _, err = run("documents", replayed, "--format", "jsonl", "--out", target)
    assert code == 1
    assert f"cannot write {target}: No space left on device" in err
    assert target.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [target]


def test_a_run_file_without_them_says_how_to_get_them(run: Run, run_file: Path, good: Path, tmp_path: Path) -> None:
    code, _, err = run("documents", run_file)
    assert code == 1
    assert "does not keep its documents" in err
    assert "write a new run file with --documents all" in err
    path = tmp_path / "kept.duckdb"
    assert run("run", good, *COMMAND, "--documents", "all", "--out", path)[0] == 0
    assert len(asked(run, path)) == 120
    said = "there are no such documents; --search looked in ids only: texts were not kept (--keep-text)\n"
    assert run("documents", path, "--search", "harbour") == (0, said, "")
    assert run("documents", path, "--search", "d119")[1].count("d119") == 1
    assert run("documents", path, "--search", "d119", "--slice", "2001")[1] == said
