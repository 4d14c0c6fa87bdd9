"""The commands as a user meets them: what they print, how they fail, what they leave behind."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from vmfstream import cli

Run = Callable[..., tuple[int, str, str]]

SUBJECTS = (
    "harbour ship crane cargo docker sailor vessel anchor",
    "comet moon orbit rocket telescope astronaut galaxy launch",
    "wheat barley farmer harvest grain field tractor seed",
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vmfstream", *map(str, args)])
        code = 0
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return call


def lines(n: int = 120, start: int = 2001) -> list[dict[str, object]]:
    """Documents of three subjects over four years."""
    rows: list[dict[str, object]] = []
    for i in range(n):
        words = SUBJECTS[i % 3].split()
        text = " ".join(words[(i + j) % len(words)] for j in range(6))
        rows.append({"id": f"d{i}", "time": str(start + i * 4 // n), "title": f"Report {i}", "text": text})
    return rows


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write(tmp_path / "good.jsonl", lines())


def count(log: Path, table: str) -> int:
    with duckdb.connect(str(log), read_only=True) as connection:
        return int(connection.execute(f"select count(*) from {table}").fetchall()[0][0])


def test_a_run_writes_a_log_that_show_reads(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    code, out, _ = run("run", good, "--slices", "year", "-k", 3, "--out", log)
    assert code == 0
    assert "120 documents, 0 rejected" in out
    code, out, _ = run("show", log, "--json")
    rows = [json.loads(line) for line in out.splitlines()]
    assert len(rows) == 3
    assert sum(row["documents"] for row in rows) == 30
    found = {frozenset(row["words"][:3]) for row in rows}
    assert all(any(words <= set(s.split()) for s in SUBJECTS) for words in found)
    topic = rows[0]["topic"]
    code, out, _ = run("show", log, "--topic", topic, "--hindsight")
    assert code == 0
    assert "2004" in out


def test_the_same_command_again_adds_nothing(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    command = ("run", good, "--slices", "year", "-k", 3, "--out", log)
    run(*command)
    before = count(log, "epoch")
    code, out, _ = run(*command)
    assert code == 0
    assert "120 documents" in out
    assert count(log, "epoch") == before


def test_other_settings_cannot_continue_a_log(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    run("run", good, "--slices", "year", "-k", 3, "--out", log)
    code, _, err = run("run", good, "--slices", "year", "-k", 4, "--out", log)
    assert code == 1
    assert "topics" in err
    assert "3" in err


def test_replay_sorts_by_time(run: Run, tmp_path: Path) -> None:
    rows = lines()
    file = write(tmp_path / "mixed.jsonl", rows[60:] + rows[:60])
    log = tmp_path / "run.duckdb"
    code, _, _ = run("replay", file, "--slices", "year", "-k", 3, "--out", log)
    assert code == 0
    with duckdb.connect(str(log), read_only=True) as connection:
        assert connection.execute("select sum(late) from epoch").fetchall() == [(0,)]
        assert connection.execute("select label, n from slice order by slice").fetchall() == [
            ("2001", 30),
            ("2002", 30),
            ("2003", 30),
            ("2004", 30),
        ]


BAD_ROWS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"{nonsense", "line 7"),
    "missing time": (b'{"id": "x", "text": "harbour ship"}', "time"),
    "unparsable time": (b'{"id": "x", "time": "yesterday", "text": "harbour"}', "yesterday"),
    "text null": (b'{"id": "x", "time": "2001", "text": null}', "text"),
    "text a number": (b'{"id": "x", "time": "2001", "text": 5}', "text"),
    "invalid UTF-8": (b'{"id": "x", "time": "2001", "text": "\xff\xfe"}', "UTF-8"),
    "a list": (b"[1, 2]", "object"),
    "duplicate id": (b'{"id": "d0", "time": "2001", "text": "harbour ship"}', "read before"),
    "far future": (b'{"id": "x", "time": "9999", "text": "harbour ship"}', "ahead"),
    "50 MB": (b'{"id": "x", "time": "2001", "text": "' + b"harbour " * 6_250_000 + b'"}', ""),
}


@pytest.mark.parametrize("kind", BAD_ROWS)
def test_a_bad_line_is_rejected_with_its_reason_and_the_stream_goes_on(run: Run, tmp_path: Path, kind: str) -> None:
    line, reason = BAD_ROWS[kind]
    rows = [json.dumps(row).encode() for row in lines()]
    file = tmp_path / "bad.jsonl"
    file.write_bytes(b"\n".join([*rows[:6], line, *rows[6:]]) + b"\n")
    log = tmp_path / "run.duckdb"
    code, out, _ = run("run", file, "--slices", "year", "-k", 3, "--out", log)
    assert code == 0
    assert "120 documents, 1 rejected" in out
    with duckdb.connect(str(log), read_only=True) as connection:
        found = connection.execute("select source_offset, reason, excerpt from rejected").fetchall()
    assert len(found) == 1
    offset, said, excerpt = found[0]
    assert offset == 6
    assert reason in said
    assert len(excerpt) < 2000


def test_time_going_backwards_is_counted_as_late(run: Run, tmp_path: Path) -> None:
    rows = lines()
    rows[100]["time"] = "1999"
    log = tmp_path / "run.duckdb"
    code, _, _ = run("run", write(tmp_path / "late.jsonl", rows), "--slices", "year", "-k", 3, "--out", log)
    assert code == 0
    with duckdb.connect(str(log), read_only=True) as connection:
        assert connection.execute("select sum(late), sum(n) from epoch").fetchall() == [(1, 120)]


def vectors(path: Path) -> Path:
    rows: list[dict[str, object]] = []
    for i in range(80):
        value = [0.05 * ((i * 7 + j * 3) % 5) for j in range(4)]
        value[i % 2] += 3.0
        rows.append({"id": str(i), "time": 2001 + i // 20, "v": value})
    rows[10]["v"] = [1.0, float("nan"), 0.0, 0.0]
    rows[11]["v"] = [float("inf"), 0.0, 0.0, 0.0]
    rows[12]["v"] = [1.0, 0.0, 0.0]
    rows[13]["v"] = [0.0, 0.0, 0.0, 0.0]
    return write(path, rows)


def test_vectors_with_holes_are_rejected(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    command = ("run", vectors(tmp_path / "v.jsonl"), "--vector", "v", "--dimension", 4, "--slices", "year", "-k", 2)
    code, out, _ = run(*command, "--out", log)
    assert code == 0
    assert "76 documents, 4 rejected" in out
    with duckdb.connect(str(log), read_only=True) as connection:
        reasons = [r for (r,) in connection.execute("select reason from rejected order by source_offset").fetchall()]
    for reason, wanted in zip(reasons, ("finite", "finite", "dimension", "direction"), strict=True):
        assert wanted in reason


@pytest.mark.parametrize(
    ("rows", "topics"), [(1, 3), (2, 3), (5, 30), (40, 30)], ids=["one", "two", "five", "fewer than 2K"]
)
def test_few_documents(run: Run, tmp_path: Path, rows: int, topics: int) -> None:
    file = write(tmp_path / "few.jsonl", lines()[:rows])
    log = tmp_path / "run.duckdb"
    code, out, _ = run("run", file, "--slices", "year", "-k", topics, "--out", log)
    assert code == 0
    assert f"{rows} documents, 0 rejected" in out
    code, _, err = run("show", log)
    assert code == 0, err
    code, out, err = run("export", log, tmp_path / "page.html")
    assert code == 0, err


def test_an_empty_file_is_no_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    code, out, _ = run("run", tmp_path / "empty.jsonl", "--out", tmp_path / "run.duckdb")
    assert code == 0
    assert "0 documents" in out


def test_gzip_is_read(run: Run, good: Path, tmp_path: Path) -> None:
    packed = tmp_path / "good.jsonl.gz"
    packed.write_bytes(gzip.compress(good.read_bytes()))
    code, out, _ = run("run", packed, "--slices", "year", "-k", 3, "--out", tmp_path / "run.duckdb")
    assert code == 0
    assert "120 documents, 0 rejected" in out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("run", "missing.jsonl"), "missing.jsonl"),
        (("replay", "missing.csv"), "missing.csv"),
        (("replay", "npis"), "nips"),
        (("run", "x.docx"), ".docx"),
        (("run", "good.jsonl", "--slices", "fortnight"), "fortnight"),
        (("run", "good.jsonl", "--vector", "v"), "--dimension"),
        (("show", "missing.duckdb"), "missing.duckdb"),
        (("export", "missing.duckdb", "p.html"), "missing.duckdb"),
        (("export", "good.jsonl"), "PAGE.html"),
        (("export", "good.jsonl", "--still", "river", "--format", "gif"), "expected svg, pdf, png"),
        (("export", "good.jsonl", "--still", "river", "--width", "3mm"), "60 to 1200 mm"),
        (("show", "good.jsonl"), "good.jsonl"),
        (("corpora", "fetch"), "get"),
    ],
)
def test_one_clear_sentence(
    run: Run, good: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(good.parent)
    code, _, err = run(*args)
    assert code == 1
    assert said in err
    assert len(err.strip().splitlines()) <= 3


def test_unknown_option(run: Run) -> None:
    code, _, err = run("run", "x.jsonl", "--colour", "red")
    assert code == 2
    assert "--colour" in err


def test_a_folder_that_cannot_hold_the_log(run: Run, good: Path, tmp_path: Path) -> None:
    for out in (tmp_path / "nowhere" / "run.duckdb", good / "run.duckdb", tmp_path, Path("/proc/run.duckdb")):
        code, _, err = run("run", good, "--out", out)
        assert code == 1
        assert str(out.parent) in err


def test_a_log_of_a_newer_version(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    run("run", good, "--slices", "year", "-k", 3, "--out", log)
    with duckdb.connect(str(log)) as connection:
        connection.execute("update meta set value = '999' where key = 'format'")
    for command in (("run", good, "--slices", "year", "-k", 3, "--out", log), ("show", log)):
        code, _, err = run(*command)
        assert code == 1
        assert "999" in err


def test_a_locked_log_names_the_other_process(
    run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vmfstream.log.queries import Reader

    log = tmp_path / "run.duckdb"
    run("run", good, "--slices", "year", "-k", 3, "--out", log)
    monkeypatch.setattr(Reader.__init__, "__defaults__", (0.3,))
    hold = f"import duckdb, sys; c = duckdb.connect({str(log)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        code, _, err = run("show", log)
        other.communicate(b"")
    assert code == 1
    assert str(log) in err
    assert str(other.pid) in err


def test_help_teaches(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    for command in ("demo", "replay", "run", "export", "show", "corpora", "doctor"):
        assert command in out
        code, text, _ = run(command, "--help")
        assert code == 0
        assert len(text) > 200


def test_version(run: Run) -> None:
    import vmfstream

    assert run("--version")[1].strip() == f"vmfstream {vmfstream.__version__}"


def test_doctor(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    run("run", good, "--slices", "year", "-k", 3, "--out", log)
    code, out, _ = run("doctor", log)
    assert code == 0
    assert "numba" in out
    assert "rejected" in out
    code, out, _ = run("doctor", good)
    assert code == 1
    assert "FAIL" in out


def test_corpora_are_listed(run: Run) -> None:
    code, out, _ = run("corpora")
    assert code == 0
    for name in ("planted", "nips", "nyt"):
        assert name in out


def test_an_interrupted_run_ends_cleanly_and_goes_on(good: Path, tmp_path: Path) -> None:
    """Ctrl-C while standard input is still open: the documents read so far are committed."""
    log = tmp_path / "run.duckdb"
    command = [sys.executable, "-m", "vmfstream", "run", "-", "--slices", "year", "-k", "3", "--out", str(log)]
    text = good.read_bytes().splitlines(keepends=True)
    with subprocess.Popen(
        [*command, "--linger", "0.2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        child.stdin.write(b"".join(text[:70]))
        child.stdin.flush()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (log.exists() and read(log) >= 70):
            time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate()
    assert child.returncode == 130, err
    assert b"interrupted" in out
    assert b"Traceback" not in err
    again = subprocess.run(command, input=b"".join(text), capture_output=True, check=True)
    assert b"finished: 120 documents, 0 rejected" in again.stdout


def read(log: Path) -> int:
    """Documents in the log so far; 0 while it is being made."""
    try:
        with duckdb.connect(str(log), read_only=True) as connection:
            return int(connection.execute("select coalesce(sum(n), 0) from epoch").fetchall()[0][0])
    except duckdb.Error:
        return 0


def test_snapshots_of_a_log(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    assert run("run", good, "--slices", "year", "-k", 3, "--out", log)[0] == 0
    code, out, _ = run("snapshot", log, "--kind", "tree", "--kind", "flat")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["flat", "tree"]
    assert all("90 documents" in line and "3 of 3 topics are live ones" in line for line in out.splitlines())
    assert count(log, "snapshot") == 2


def test_snapshots_beside_a_run(run: Run, good: Path, tmp_path: Path) -> None:
    log = tmp_path / "run.duckdb"
    args = ("run", good, "--slices", "year", "-k", 3, "--out", log, "--snapshot-every", 2, "--kind", "flat")
    assert run(*args)[0] == 0
    assert count(log, "snapshot") >= 1
    assert run(*args)[0] == 0  # nothing new, no further snapshot
    assert count(log, "snapshot") <= 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--snapshot-every", 2, "--sample", 0), "--snapshot-every needs a sample"),
        (("--snapshot-every", 2, "--kind", "round"), "--kind must be one of flat, tree, smoothed, got round"),
        (("--kind", "flat"), "--kind says what --snapshot-every takes"),
        (("--vector", "v", "--dimension", 3, "--embed", "m"), "give one of them"),
    ],
)
def test_snapshots_that_cannot_be(run: Run, good: Path, tmp_path: Path, args: tuple[object, ...], message: str) -> None:
    code, _, err = run("run", good, "--out", tmp_path / "run.duckdb", *args)
    assert code == 1
    assert message in err
    assert not (tmp_path / "run.duckdb").exists()


def test_embedding_needs_its_extra(run: Run, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    code, _, err = run("run", good, "--out", tmp_path / "run.duckdb", "--embed", "some-model")
    assert code == 1
    assert "pip install 'vmfstream[embeddings]'" in err


def test_vectors_with_texts_have_topics_with_words(run: Run, tmp_path: Path) -> None:
    rows = [row | {"v": [float(i % 3 == j) + 0.01 * (i % 7) for j in range(3)]} for i, row in enumerate(lines())]
    log = tmp_path / "run.duckdb"
    given = ("--slices", "year", "-k", 3, "--out", log, "--vector", "v", "--dimension", 3, "--text", "text")
    assert run("run", write(tmp_path / "vectors.jsonl", rows), *given)[0] == 0
    _, out, _ = run("show", log, "--json")
    words = [set(json.loads(line)["words"][:5]) for line in out.splitlines()]
    assert len(words) == 3
    assert all(any(found <= set(subject.split()) for subject in SUBJECTS) for found in words)
