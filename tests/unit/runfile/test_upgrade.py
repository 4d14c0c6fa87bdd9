"""Run files of an earlier format: read, shown, drawn and continued as if they were of today's.

The fixtures were written by the version before the tables got standard terms (format 8): ``run`` by an interrupted
``vmfstream run``, with 70 of 120 documents read and three snapshots taken, ``tracker`` by ``TopicTracker.save``.
"""

from __future__ import annotations

import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.records import of_format
from tests.unit.runfile.test_access import unprivileged
from vmfstream import TopicTracker
from vmfstream.dashboards.export import build_page
from vmfstream.errors import FormatVersion, InputError, StoreLocked
from vmfstream.runfile import schema
from vmfstream.runfile.lease import lease
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.snapshots import read_stored
from vmfstream.runfile.writer import RunFile

FIXTURES = Path(__file__).parent / "fixtures"
TEMPER = 1.1262678131047703
"""Inverse temperature of the second slice of ``run``."""


def unpacked(name: str, folder: Path) -> Path:
    path = folder / f"{name}.duckdb"
    path.write_bytes(lzma.decompress((FIXTURES / f"format_8_{name}.duckdb.xz").read_bytes()))
    return path


def stored_format(path: Path) -> str:
    with duckdb.connect(path, read_only=True) as connection:
        return str(connection.execute("select value from meta where key = 'format'").fetchall()[0][0])


def test_reading_brings_a_file_up_to_date(tmp_path: Path) -> None:
    path = unpacked("run", tmp_path)
    assert stored_format(path) == "8"
    reader = Reader(path)
    assert stored_format(path) == str(len(schema.MIGRATIONS))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.duckdb"]
    np.testing.assert_array_equal(reader.temperatures().temperature, [np.nan, 1.0 / TEMPER])
    np.testing.assert_array_equal(reader.epochs().oov_rate, [np.nan, 0.0, 0.0])
    np.testing.assert_array_equal(reader.epochs().prequential, [np.nan, 14.000238137739185, 14.869834995889088])
    assert reader.slices().warm_up.tolist() == [True, True]
    topics = reader.topics("filtered")
    np.testing.assert_allclose(topics.drift_angle, [np.nan] * 3 + [3.7159122226513] * 3, rtol=1e-12)
    np.testing.assert_allclose(topics.drift_angle_error, [np.nan] * 3 + [2.7837512658726715] * 3, rtol=1e-12)
    assert len(reader.representative().id) == 30
    assert [len(one.id) for one in (reader.representative(0), reader.novel())] == [10, 20]
    assert len(reader.snapshots().snapshot) == 3


def test_events_of_stories_of_before_mergers_have_no_other(tmp_path: Path) -> None:
    path = of_format(tmp_path / "run.duckdb", 11)
    with duckdb.connect(path) as connection:
        connection.execute("insert into story_event values (2, 3, 'burst', 4, 50)")
    events = Reader(path).story_events()
    assert (events.kind.tolist(), events.size.tolist(), events.other.tolist()) == (["burst"], [50], [-1])
    assert np.isnan(events.evidence).all()


def test_batch_fits_read_an_older_file(tmp_path: Path) -> None:
    stored = read_stored(unpacked("run", tmp_path))
    assert len(stored.packed) == 36
    assert stored.now is not None


@pytest.mark.thorough
def test_a_page_is_made_of_an_older_file(tmp_path: Path) -> None:
    path = unpacked("run", tmp_path)
    page, report = build_page(Reader(path))
    assert report.dropped == ()
    assert page == build_page(Reader(path))[0]


def test_a_saved_tracker_goes_on(tmp_path: Path) -> None:
    tracker = TopicTracker.load(unpacked("tracker", tmp_path))
    assert tracker.temperature == 1.0 / 0.6289364727402663
    angles = [row["drift_angle"] for row in tracker.topics()]
    np.testing.assert_allclose(angles, [np.nan] * 3 + [3.7159122226513] * 3 + [2.37359065684520] * 3, rtol=1e-12)
    tracker.learn(["harbour ship crane", "comet moon orbit", "wheat barley farmer"] * 10, 2004).finish()
    assert {row["slice"] for row in tracker.topics()} == {"2001", "2002", "2003", "2004"}


@pytest.mark.parametrize("reading", [Reader, read_stored, TopicTracker.load, RunFile])
def test_a_file_that_a_run_is_writing_stays_as_it_is(tmp_path: Path, reading: Callable[[Path], object]) -> None:
    path = unpacked("run", tmp_path)
    with lease(path), pytest.raises(StoreLocked, match=f"process {os.getpid()} is writing"):
        reading(path)
    assert stored_format(path) == "8"
    Reader(path)
    assert stored_format(path) == str(len(schema.MIGRATIONS))


def test_a_file_that_cannot_be_written_says_what_to_do() -> None:
    says = re.escape(f"has format 8, this program reads format {len(schema.MIGRATIONS)} and cannot write it")
    with unprivileged() as folder:
        path = unpacked("run", folder)
        for file, rights in ((path, 0o400), (folder, 0o500)):
            file.chmod(rights)
            with pytest.raises(FormatVersion, match=f"{says}.*open a copy in a folder that is"):
                Reader(path)
            file.chmod(0o700)
        assert stored_format(path) == "8"
        assert Reader(path).newest().epoch == 3


def test_a_tracker_reads_an_older_run_file_and_does_not_go_on(tmp_path: Path) -> None:
    tracker = TopicTracker.load(unpacked("run", tmp_path))
    assert {row["slice"] for row in tracker.topics()} == {"2001", "2002"}
    with pytest.raises(InputError, match="the run of a command is continued by it"):
        tracker.learn(["harbour ship crane"], 2004)
