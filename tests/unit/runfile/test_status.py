"""What a watcher of a running log asks: how far it is, what is open, who writes it, a copy of it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.records import commit, epoch_report, slice_report, topic_rows
from vmfstream.records import Commit, Slice
from vmfstream.runfile.lease import holder, lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile


def part(epoch: int, index: int, *, closes: bool) -> Commit:
    report = replace(epoch_report(epoch, topic_rows()), slice=Slice(index, f"slice {index}"))
    return replace(commit(epoch), epoch=report, closed=(slice_report(index, topic_rows()),) if closes else ())


@pytest.fixture
def run_file(tmp_path: Path) -> RunFile:
    return RunFile(tmp_path / "run.duckdb")


def test_a_new_run_file_has_no_pulse(run_file: RunFile) -> None:
    pulse = Reader(run_file.path).status()
    assert (pulse.epoch, pulse.finished, pulse.written, pulse.slice, pulse.closed, pulse.snapshot) == (
        -1,
        False,
        None,
        None,
        -1,
        -1,
    )
    assert math.isnan(pulse.usual)
    assert Reader(run_file.path).open_slice() is None


def test_the_open_slice_counts_its_updates_until_it_is_closed(run_file: RunFile) -> None:
    reader = Reader(run_file.path)
    run_file.commit(part(0, 0, closes=False))
    run_file.commit(part(1, 0, closes=False))
    found = reader.open_slice()
    assert found is not None
    assert (found.slice, found.label, found.n) == (0, "slice 0", 200)
    assert found.topic.tolist() == [3, 7]
    np.testing.assert_array_equal(found.documents, [10.0, 11.0])
    assert (reader.status().slice, reader.status().closed) == (None, -1)

    run_file.commit(part(2, 0, closes=True))
    assert reader.open_slice() is None
    assert (reader.status().slice, reader.status().closed) == (0, 2)

    run_file.commit(part(3, 1, closes=False))
    found = reader.open_slice()
    assert found is not None
    assert (found.label, found.n) == ("slice 1", 100)
    pulse = reader.status()
    assert (pulse.epoch, pulse.closed) == (3, 2)
    assert pulse.written is not None
    assert pulse.usual >= 0


def test_a_slice_without_topics_is_open_too(run_file: RunFile) -> None:
    report = replace(epoch_report(0, None), slice=Slice(4, "slice 4"))
    run_file.commit(replace(commit(0), epoch=report, closed=()))
    found = Reader(run_file.path).open_slice()
    assert found is not None
    assert (found.slice, found.n, found.topic.size) == (4, 100, 0)


def test_the_writer_is_known_as_long_as_it_lives(run_file: RunFile) -> None:
    reader = Reader(run_file.path)
    assert reader.writer() is None
    with lease(run_file.path):
        assert reader.writer() == os.getpid()
    assert reader.writer() is None
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    lock = run_file.path.with_name(run_file.path.name + ".lock")
    lock.write_text(gone.stdout)  # left behind by a killed process
    assert holder(run_file.path) is None
    lock.write_text("nobody\n")
    assert holder(run_file.path) is None


def test_a_copy_answers_as_the_run_file_did(run_file: RunFile, tmp_path: Path) -> None:
    for epoch in range(4):
        run_file.commit(part(epoch, epoch // 2, closes=epoch % 2 == 1))
    reader = Reader(run_file.path)
    reader.copy(tmp_path / "copy.duckdb")
    before = reader.status()
    run_file.commit(part(4, 2, closes=False))
    copied = Reader(tmp_path / "copy.duckdb")
    assert copied.status() == before
    assert copied.slices().slice.tolist() == [0, 1]
    assert reader.status().epoch == 4


def test_what_is_usual_is_the_median_of_the_pauses_between_recent_epochs(run_file: RunFile) -> None:
    """Epochs are written when they end; only the last twenty tell how far apart they are."""
    run_file.commit(part(0, 0, closes=False))
    assert math.isnan(Reader(run_file.path).status().usual)
    run_file.commit(*(part(epoch, 0, closes=False) for epoch in range(1, 25)))
    gaps = np.array([1000.0 if epoch < 6 else 4.0 if epoch % 3 else 70.0 for epoch in range(25)])  # seldom 70
    with duckdb.connect(run_file.path) as connection:
        begun = [[round(1000 * at), epoch] for epoch, at in enumerate(np.cumsum(gaps))]
        change = "update epoch set seconds = 2.5, begun = timestamp '2026-01-01' + to_milliseconds(?) where epoch = ?"
        connection.executemany(change, begun)
    pulse = Reader(run_file.path).status()
    assert (pulse.epoch, pulse.usual) == (24, 4.0)
    assert pulse.written == datetime(2026, 1, 1) + timedelta(seconds=gaps.sum() + 2.5)
    assert np.median(gaps[1:]) > 4.0  # of all epochs it would be another one
