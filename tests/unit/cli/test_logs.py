"""What commands write to standard error as JSON: one object a line, whatever is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmfstream.cli import logs
from vmfstream.cli.console import progress
from vmfstream.engine.loop.settings import Progress


def run(*words: object, code: int = 0) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "vmfstream", *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stderr
    return [json.loads(line) for line in ended.stderr.splitlines()]


@pytest.mark.thorough
def test_a_run_logs_json_only(tmp_path: Path) -> None:
    file, run_file = tmp_path / "a.jsonl", tmp_path / "a.duckdb"
    rows = [{"id": str(n), "time": 1_600_000_000 + n, "text": f"harbour strike {n % 7}"} for n in range(30)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows) + "no json\n" * 30)
    lines = run("run", file, "--out", run_file, "--slices", 10, "--log-format", "json", code=3)
    first, last = lines[0], lines[-1]
    assert (first["logger"], first["level"], first["documents"]) == ("vmfstream.progress", "info", 0)
    assert (last["logger"], last["level"]) == ("vmfstream", "error")
    assert "50.0% of the messages were rejected" in last["message"]
    (ended,) = [line for line in lines if line.get("finished")]
    assert (ended["documents"], ended["rejected"], ended["lag"]) == (30, 30, None)
    (refused,) = run("run", "kafka://u:secret@h/t", "--log-format", "json", code=1)
    assert (refused["level"], "secret" in refused["message"]) == ("error", False)


def test_progress_is_told_after_a_while_and_at_the_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    one = logs.ProgressLog()
    with caplog.at_level("INFO", "vmfstream.progress"):
        for seconds, epoch in [(0, 0), (0, 1), (9, 2), (10, 3), (11, 3), (12, 4)]:
            now[0] = seconds
            one(Progress(epoch, "2021", 100 * epoch, 0, 0.0, finished=epoch == 4))
    assert [record.__dict__["epoch"] for record in caplog.records] == [0, 3, 4]


def test_the_last_commit_before_a_pause_is_told_after_a_while_or_at_the_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the log of a run that has caught up would go on showing a lag."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with caplog.at_level("INFO", "vmfstream.progress"), progress("news") as (observe, stop):
        for seconds, epoch, told in [(0, 0, 1), (5, 1, 1), (10, None, 2), (11, 2, 2)]:
            now[0] = seconds
            if epoch is not None:
                observe(Progress(epoch, "2021", 100 * epoch, 0, 0.0, finished=False))
            assert not stop()
            assert len(caplog.records) == told
    assert [record.__dict__["epoch"] for record in caplog.records] == [0, 1, 2]


def test_a_format_that_there_is_not_is_told() -> None:
    command = [sys.executable, "-m", "vmfstream", "run", "-", "--log-format", "xml"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "--log-format: expected text or json, got 'xml'" in ended.stderr
