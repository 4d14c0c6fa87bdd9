"""What goes wrong is said in a sentence, and what cannot be a document is counted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.system.cli.given import COMMAND, Run, lines, write

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


def test_bad_lines_are_rejected_with_their_reasons_and_the_stream_goes_on(run: Run, tmp_path: Path) -> None:
    rows = [json.dumps(row).encode() for row in lines()]
    for line, _ in reversed(BAD_ROWS.values()):
        rows.insert(6, line)
    file, run_file = tmp_path / "bad.jsonl", tmp_path / "run.duckdb"
    file.write_bytes(b"\n".join(rows) + b"\n")
    code, out, _ = run("run", file, *COMMAND, "--out", run_file)
    assert code == 0
    assert f"120 documents, {len(BAD_ROWS)} rejected" in out
    with duckdb.connect(str(run_file), read_only=True) as connection:
        query = "select source_offset, reason, excerpt from rejected order by source_offset"
        found = connection.execute(query).fetchall()
    assert [offset for offset, _, _ in found] == list(range(6, 6 + len(BAD_ROWS)))
    for (_, said, excerpt), (_, reason) in zip(found, BAD_ROWS.values(), strict=True):
        assert reason in said
        assert len(excerpt) < 2000


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
    run_file = tmp_path / "run.duckdb"
    command = ("run", vectors(tmp_path / "v.jsonl"), "--vector", "v", "--dimension", 4, "--slices", "year", "-k", 2)
    code, out, _ = run(*command, "--out", run_file)
    assert code == 0
    assert "76 documents, 4 rejected" in out
    with duckdb.connect(str(run_file), read_only=True) as connection:
        reasons = [r for (r,) in connection.execute("select reason from rejected order by source_offset").fetchall()]
    for reason, wanted in zip(reasons, ("finite", "finite", "dimension", "direction"), strict=True):
        assert wanted in reason


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


def test_a_folder_that_cannot_hold_the_run_file(run: Run, good: Path, tmp_path: Path) -> None:
    for out in (tmp_path / "nowhere" / "run.duckdb", good / "run.duckdb", tmp_path, Path("/proc/run.duckdb")):
        code, _, err = run("run", good, "--out", out)
        assert code == 1
        assert str(out.parent) in err


def test_a_run_file_of_a_newer_version(run: Run, good: Path, run_file: Path) -> None:
    with duckdb.connect(str(run_file)) as connection:
        connection.execute("update meta set value = '999' where key = 'format'")
    for command in (("run", good, *COMMAND, "--out", run_file), ("show", run_file)):
        code, _, err = run(*command)
        assert code == 1
        assert "999" in err


def test_a_locked_run_file_names_the_other_process(run: Run, run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmfstream.runfile.queries import Reader

    monkeypatch.setattr(Reader.__init__, "__defaults__", (0.3,))
    hold = f"import duckdb, sys; c = duckdb.connect({str(run_file)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        code, _, err = run("show", run_file)
        other.communicate(b"")
    assert code == 1
    assert str(run_file) in err
    assert str(other.pid) in err


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
