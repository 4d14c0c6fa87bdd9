"""What the reading interface answers, also for a log without rows and beside a writer."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.runfile.records import BEGINS, ENDS, commit, smoothed
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Newest, Reader, Reading
from vmfstream.runfile.schema import MIGRATIONS
from vmfstream.runfile.writer import RunFile


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.settings({"title": "Größe", "seed": "1"})
    # slices and epochs written in an order that is not that of their keys
    run_file.commit(commit(0, closed=[*commit(2).closed, *commit(0).closed]))
    run_file.commit(commit(1, small=True))
    run_file.commit(commit(2, closed=(), smoothed=[smoothed(2), smoothed(0, (9, 3))], finished=True))
    return Reader(run_file.path)


def test_settings_and_progress(reader: Reader) -> None:
    assert reader.meta() == {"title": "Größe", "seed": "1", "format": str(len(MIGRATIONS))}
    assert reader.newest() == Newest(epoch=2, slice=2, finished=True)
    assert reader.has_smoothed()


@pytest.mark.parametrize(
    "source", ["/home/me/papers.csv", "C:\\docs\\papers.csv", "kafka://host:9092/papers.csv?group=a"]
)
def test_the_source_is_told_by_its_name(tmp_path: Path, source: str) -> None:
    """Also by files of versions that stored where it was."""
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.settings({"title": "Papers", "source": source})
    assert Reader(run_file.path).meta()["source"] == "papers.csv"


def test_slices(reader: Reader) -> None:
    frame = reader.slices()
    assert frame.slice.tolist() == [0, 2]
    assert frame.label.tolist() == ["slice 0", "slice 2"]
    assert frame.begins.tolist() == [BEGINS.replace(tzinfo=None)] * 2
    assert frame.ends.tolist() == [ENDS.replace(tzinfo=None)] * 2
    assert frame.n.tolist() == [100, 100]
    assert np.isnan(frame.predicted).all()
    assert frame.warm_up.tolist() == [True, False]


def test_topics(reader: Reader) -> None:
    frame = reader.topics("filtered")
    assert list(zip(frame.slice, frame.topic, strict=True)) == [(0, 3), (0, 7), (2, 3), (2, 7)]
    np.testing.assert_array_equal(frame.n, [10, 11] * 2)
    np.testing.assert_array_equal(frame.share, [0.5] * 4)
    np.testing.assert_array_equal(frame.kappa, [20, 21] * 2)
    np.testing.assert_array_equal(frame.gamma, [30, 31] * 2)
    np.testing.assert_array_equal(frame.tightness, [0, 0.1] * 2)
    np.testing.assert_array_equal(frame.certainty, [0, 0.05] * 2)
    np.testing.assert_array_equal(frame.drift_angle, [np.nan, 1.5] * 2)
    np.testing.assert_array_equal(frame.drift_angle_error, [np.nan, 0.5] * 2)
    late = reader.topics("smoothed")
    assert list(zip(late.slice, late.topic, strict=True)) == [(0, 3), (0, 9), (2, 3), (2, 7)]


def test_angles_hold_each_pair_once(reader: Reader) -> None:
    frame = reader.angles("filtered")
    assert list(zip(frame.slice, frame.topic, frame.other, frame.degrees, strict=True)) == [
        (0, 3, 7, 30),
        (2, 3, 7, 30),
    ]
    late = reader.angles("smoothed", topic=9)
    assert list(zip(late.slice, late.topic, late.other, strict=True)) == [(0, 3, 9)]


def test_sketches(reader: Reader) -> None:
    frame = reader.sketches("filtered", topic=7)
    assert (frame.slice.tolist(), frame.topic.tolist()) == ([0, 2], [7, 7])
    np.testing.assert_array_equal(frame.numbers, np.full((2, 512), 2.0))
    assert reader.sketches("filtered", topic=99).numbers.shape == (0, 512)


def test_words(reader: Reader) -> None:
    frame = reader.words("filtered")
    assert frame.word.tolist() == ["w3_0", "w3_1", "w7_0", "w7_1"] * 2
    assert frame.rank.tolist() == [1, 2] * 4
    assert frame.weight.tolist() == [1.0, 0.5] * 4
    one = reader.words("smoothed", topic=9, top=1)
    assert (one.slice.tolist(), one.topic.tolist(), one.word.tolist()) == ([0], [9], ["s9_0"])


@pytest.mark.parametrize(("reading", "top"), [("filtered", 60), ("smoothed", 60), ("filtered", 1)])
def test_words_as_numbers_are_the_same_words(reader: Reader, reading: Reading, top: int) -> None:
    codes, frame = reader.word_codes(reading, top), reader.words(reading, top=top)
    assert codes.vocabulary.tolist() == sorted(set(frame.word))
    order = np.lexsort((codes.rank, codes.topic, codes.slice))
    np.testing.assert_array_equal(codes.vocabulary[codes.word[order]], frame.word)
    for name in ("slice", "topic", "rank", "weight"):
        np.testing.assert_array_equal(getattr(codes, name)[order], getattr(frame, name))


def test_typical_documents(reader: Reader) -> None:
    frame = reader.representative()
    assert frame.slice.tolist() == [0, 0, 2, 2]
    assert frame.id.tolist() == ["a", "b"] * 2
    assert frame.title.tolist() == ["First", "Second"] * 2
    assert frame.time.tolist() == [BEGINS.replace(tzinfo=None), ENDS.replace(tzinfo=None)] * 2
    assert frame.score.tolist() == [2.0, 1.0] * 2
    assert len(reader.representative(3).id) == 4
    assert len(reader.representative(7).id) == 0


def test_events(reader: Reader) -> None:
    frame = reader.events()
    assert frame.kind.tolist() == ["started", "merged"] * 2
    assert frame.topic.tolist() == [7, 3] * 2
    assert frame.other.tolist() == [-1, 7] * 2
    np.testing.assert_array_equal(frame.value, [np.nan, 0.5] * 2)
    assert frame.epoch.tolist() == [0] * 4


def test_epochs(reader: Reader) -> None:
    frame = reader.epochs()
    assert frame.epoch.tolist() == [0, 1, 2]
    assert frame.label.tolist() == ["slice 0", "slice 1", "slice 2"]
    assert (frame.n[0], frame.rejected[0], frame.late[0], frame.empty[0]) == (100, 1, 2, 3)
    np.testing.assert_array_equal(frame.prequential, [12.5, np.nan, 12.5])
    np.testing.assert_array_equal(frame.oov_rate, [0.25] * 3)
    # the last of a finished replay took five times as long as the others, which was told as unusual
    assert np.isnan(frame.seconds).tolist() == [False, False, True]


def test_rejected_messages(reader: Reader) -> None:
    frame = reader.rejected()
    assert frame.offset.tolist() == [205, 5]
    assert frame.epoch.tolist() == [2, 0]
    assert frame.excerpt.tolist() == ["{", "{"]
    assert reader.rejected(limit=1).offset.tolist() == [205]
    assert reader.rejections().total == 2
    assert reader.rejections().reasons == {"not JSON": 2}


def test_a_run_file_without_epochs_has_frames_without_rows(tmp_path: Path, reader: Reader) -> None:
    empty = Reader(RunFile(tmp_path / "empty.duckdb").path)
    assert empty.newest() == Newest(epoch=-1, slice=None, finished=False)
    assert not empty.has_smoothed()
    assert empty.rejections().total == 0
    for name in ("slices", "representative", "events", "epochs", "rejected"):
        _same_types(getattr(empty, name)(), getattr(reader, name)())
    for reading in ("filtered", "smoothed"):
        _same_types(empty.topics(reading), reader.topics(reading))
        _same_types(empty.words(reading), reader.words(reading))


def _same_types(empty: object, full: object) -> None:
    for column in fields(full):  # type: ignore[arg-type]
        none, some = getattr(empty, column.name), getattr(full, column.name)
        assert len(none) == 0 < len(some)
        assert none.dtype == some.dtype
        assert type(none) is type(some) is np.ndarray


def test_former_names_of_readings_work_and_warn(reader: Reader) -> None:
    readings: dict[str, Reading] = {"then": "filtered", "hindsight": "smoothed"}
    for former, reading in readings.items():
        with pytest.warns(DeprecationWarning, match=f"'{former}' is now called '{reading}'"):
            topics = reader.topics(former)  # type: ignore[arg-type]
        np.testing.assert_array_equal(topics.n, reader.topics(reading).n)
    with pytest.warns(DeprecationWarning, match="has_smoothed"):
        assert reader.has_hindsight()


def test_an_unknown_reading_is_refused(reader: Reader) -> None:
    with pytest.raises(ValueError, match="reading must be one of 'filtered', 'smoothed', got 'now'"):
        reader.topics("now")  # type: ignore[arg-type]


def test_says_when_the_run_file_went_away(reader: Reader) -> None:
    reader.path.unlink()
    with pytest.raises(InputError, match="there is no run file at"):
        reader.slices()


_COMMIT = """
import sys
from tests.unit.runfile.records import commit, smoothed
from vmfstream.runfile.writer import RunFile
log = RunFile(sys.argv[1])
for epoch in range(25):
    log.commit(commit(epoch, size=20_000))
"""


@pytest.mark.thorough
def test_never_sees_half_an_epoch_beside_a_writer(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    reader = Reader(run_file.path)
    seen = set()
    root = Path(__file__).resolve().parents[3]
    with subprocess.Popen([sys.executable, "-c", _COMMIT, str(run_file.path)], cwd=root) as process:
        while process.poll() is None:
            events, newest = reader.events(), reader.newest()
            seen.add(newest.epoch)
            assert np.unique(events.epoch, return_counts=True)[1].tolist() == [2] * len(set(events.epoch))
            assert newest.slice == (newest.epoch if newest.epoch >= 0 else None)
    assert process.returncode == 0
    assert reader.newest().epoch == 24
    assert len(seen) > 3


_LATER_COMMIT = """
import sys
from pathlib import Path
from tests.unit.runfile.records import commit
from vmfstream.errors import StoreLocked
from vmfstream.runfile.writer import RunFile

try:
    RunFile(Path(sys.argv[1]), timeout=float(sys.argv[2])).commit(commit(3))
except StoreLocked:
    print("held")
"""


@pytest.mark.thorough
def test_queries_at_once_see_one_moment_and_open_the_file_once(reader: Reader, opened: list[Path]) -> None:
    def later_commit(patience: str) -> str:
        program = [sys.executable, "-c", _LATER_COMMIT, str(reader.path), patience]
        root = Path(__file__).resolve().parents[3]
        return subprocess.run(program, check=True, capture_output=True, text=True, cwd=root).stdout

    with reader.at_once():
        before = reader.newest()
        with reader.at_once():
            labels, slices = reader.slice_labels(), reader.slices()
        assert later_commit("0.1") == "held\n"
        assert reader.newest() == before
    assert opened == [reader.path]
    assert set(slices.slice.tolist()) <= set(labels)
    assert later_commit("10") == ""
    assert reader.newest().epoch == 3
    assert len(opened) == 2


def test_errors_at_once_are_those_of_queries(reader: Reader) -> None:
    with pytest.raises(InputError, match="cannot read the run file"), reader.at_once():
        reader._rows("select * from nothing")
    assert reader.newest().epoch == 2
    with pytest.raises(KeyError), reader.at_once():
        raise KeyError
    assert reader.newest().epoch == 2
    reader.path.unlink()
    with pytest.raises(InputError, match="there is no run file"), reader.at_once():
        pass


def test_threads_have_their_own_moment(reader: Reader) -> None:
    with reader.at_once(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(reader.newest).result() == reader.newest()
        assert pool.submit(lambda: getattr(reader._open, "connection", None)).result() is None


@pytest.mark.parametrize(("kept", "parents"), [("all", [4, 1, 9]), ("5", [9, 9, 9])])
def test_the_parent_of_a_story_is_the_topic_of_most_of_its_documents(
    tmp_path: Path, kept: str, parents: list[int]
) -> None:
    """Documents of stories that became part of it count, and smoothed topics go before those on arrival."""
    path = tmp_path / "run.duckdb"
    RunFile(path).settings({"documents": kept})
    with duckdb.connect(str(path)) as connection:
        now = "timestamp '2001-01-01'"
        for story in (0, 1, 2):
            connection.execute(f"insert into story values ({story}, 0, 0, {now}, {now}, 4, 9, 0, false, 'title')")
        topics = {0: [3, 3, 4, -1], 1: [1, 4], 2: [-1], 5: [4], 6: [4]}
        for place, (story, topic) in enumerate((story, topic) for story, of in topics.items() for topic in of):
            columns = "(id, time, slice, topic, story, place)"
            row = f"('d', {now}, 0, {topic}, {story}, {place})"
            connection.execute(f"insert into document {columns} values {row}")
        connection.execute("insert into document_smoothed values (0, 5, 1)")  # the one of topic 4
        connection.execute("insert into story_event values (0, 1, 'merged', 6, 1, 5, 1.0)")
        connection.execute("insert into story_event values (0, 1, 'merged', 5, 2, 0, 1.0)")
    found = Reader(path).stories()
    assert dict(zip(found.story.tolist(), found.topic.tolist(), strict=True)) == dict(enumerate(parents))
