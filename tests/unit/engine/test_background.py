"""Snapshots during a run: one at a time, every so many slices, and nothing left behind."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.waiting import wait_until
from vmfstream.engine.loop.engine import Progress
from vmfstream.engine.snapshots.background import BackgroundSnapshots, background_snapshots


def report(snapshots: BackgroundSnapshots, epoch: int, slice: str, *, finished: bool = False, topics: int = 3) -> None:
    snapshots(Progress(epoch, slice, 10, 0, 0.0, finished, topics=topics))


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Each snapshot leaves a line when it begins and one when it ends."""
    return tmp_path / "marks"


def instead(monkeypatch: pytest.MonkeyPatch, marks: Path, seconds: float = 0.0, code: int = 0) -> None:
    script = (
        f"import time; f = open({str(marks)!r}, 'a', buffering=1); f.write('begin\\n'); time.sleep({seconds}); "
        f"f.write('end\\n'); raise SystemExit({code})"
    )
    original = BackgroundSnapshots.__init__

    def patched(self: BackgroundSnapshots, *args: object) -> None:
        original(self, *args)  # type: ignore[arg-type]
        self._command = [sys.executable, "-c", script]

    monkeypatch.setattr(BackgroundSnapshots, "__init__", patched)


def lines(marks: Path) -> list[str]:
    return marks.read_text().split() if marks.exists() else []


def test_every_so_many_slices(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    instead(monkeypatch, marks)
    snapshots = BackgroundSnapshots(Path("x"), 2)
    for epoch, label in enumerate("aaabbcccd", 1):
        report(snapshots, epoch, label)
        report(snapshots, epoch, label)  # batches inside an epoch
        assert lines(marks).count("begin") <= (label >= "c")
        if label == "c":
            wait_until(lambda: len(lines(marks)) >= 2)
    snapshots.finish()
    assert lines(marks) == ["begin", "end"]
    report(snapshots, 10, "e")
    snapshots.finish()
    assert lines(marks) == ["begin", "end"] * 2


def test_slices_without_topics_do_not_count(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    instead(monkeypatch, marks)
    snapshots = BackgroundSnapshots(Path("x"), 1)
    for epoch, label in enumerate("abcd", 1):
        report(snapshots, epoch, label, topics=0)
    snapshots.finish()
    assert lines(marks) == []


def test_one_at_a_time_and_the_due_one_follows(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    instead(monkeypatch, marks, seconds=0.3)
    snapshots = BackgroundSnapshots(Path("x"), 1)
    for epoch, label in enumerate("abcdefgh", 1):
        report(snapshots, epoch, label)
    snapshots.finish()
    assert lines(marks) == ["begin", "end"] * 2


def test_the_end_of_the_stream_closes_a_slice(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    instead(monkeypatch, marks)
    snapshots = BackgroundSnapshots(Path("x"), 2)
    report(snapshots, 1, "a")
    report(snapshots, 2, "b", finished=True)
    snapshots.finish()
    assert lines(marks) == ["begin", "end"]


def test_a_failure_is_reported_and_the_next_one_is_tried(
    monkeypatch: pytest.MonkeyPatch, marks: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instead(monkeypatch, marks, code=3)
    snapshots = BackgroundSnapshots(Path("x"), 1)
    report(snapshots, 1, "a")
    report(snapshots, 2, "b")
    assert snapshots._running is not None
    snapshots._running.wait()
    report(snapshots, 3, "c")
    snapshots.finish()
    assert "failed with code 3" in caplog.text
    assert lines(marks) == ["begin", "end"] * 2


def test_a_run_that_is_stopped_gives_it_up(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    instead(monkeypatch, marks, seconds=60.0)
    with background_snapshots(lambda now: None, Path("x"), 1) as observe:
        observe(Progress(1, "a", 1, 0, 0.0, False, topics=2))
        observe(Progress(2, "b", 1, 0, 0.0, False, topics=2))
        wait_until(lambda: lines(marks))
    assert lines(marks) == ["begin"]


def test_none_is_none() -> None:
    def observe(now: Progress) -> None:
        raise AssertionError

    with background_snapshots(observe, Path("x"), 0) as report:
        assert report is observe
