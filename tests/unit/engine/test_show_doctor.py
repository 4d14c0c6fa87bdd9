"""What commands print about a run file and about the installation."""

from __future__ import annotations

import re
import shutil
import time
from dataclasses import replace
from datetime import timedelta
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import duckdb
import numpy as np
import pytest

from tests.unit.engine.documents import SUBJECTS, years
from vmfstream.cli import diagnosis as doctor
from vmfstream.cli.diagnosis import examine, profile_lines
from vmfstream.cli.look import show
from vmfstream.cli.topic_table import newest_stories, one_topic, smoothed_slices, topics_of_slice
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import Aborted, Item, Mark, MemorySource
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.runfile.queries import Reader, Reading, SliceFrame
from vmfstream.runfile.writer import RunFile
from vmfstream.stages import ELAPSED, STAGES

SETTINGS = RunSettings(title="Reports", topics=3, threads=1, window=60)


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("log") / "run.duckdb"
    items = [*years({2001: 40, 2002: 40, 2003: 45}), b"{", b"?", b"[]"]
    follow(MemorySource(items), FieldCodec(), RunFile(path), SETTINGS)
    return path


def test_the_newest_slice_largest_topic_first(run_file: Path) -> None:
    rows = topics_of_slice(Reader(run_file), words=8, reading="filtered")
    assert [row["slice"] for row in rows] == ["2003"] * 3
    assert [row["documents"] for row in rows] == [15] * 3
    assert sorted(row["topic"] for row in rows) == [0, 1, 2]
    assert sum(row["share"] for row in rows) == pytest.approx(1.0, abs=1e-3)
    assert sorted(map(sorted, (row["words"] for row in rows))) == sorted(map(sorted, SUBJECTS))


def test_the_topics_of_an_earlier_slice(run_file: Path) -> None:
    rows = topics_of_slice(Reader(run_file), words=8, reading="filtered", at="2001")
    assert [(row["slice"], row["documents"]) for row in rows] == [("2001", 14), ("2001", 13), ("2001", 13)]


def test_a_slice_that_is_not_there_names_those_that_are(run_file: Path) -> None:
    with pytest.raises(InputError, match="no closed slice '1999' with topics; there are: from '2001' to '2003'"):
        topics_of_slice(Reader(run_file), words=8, reading="filtered", at="1999")


def test_sizes_decide_the_order(tmp_path: Path) -> None:
    uneven = [item for i, item in enumerate(years({2001: 90})) if i % 3 == 1 or i % 9 == 0 or i % 18 == 2]
    path = tmp_path / "run.duckdb"
    follow(MemorySource(uneven), FieldCodec(), RunFile(path), SETTINGS)
    rows = topics_of_slice(Reader(path), words=1, reading="filtered")
    assert [row["documents"] for row in rows] == [30, 10, 5]
    assert [len(row["words"]) for row in rows] == [1, 1, 1]


def test_stories_newest_first_then_the_largest(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    kinds = {"early": (2001, 40), "late": (2003, 50), "later": (2003, 60), "small": (2003, 2)}
    items: list[Item] = [
        {"id": f"{kind}{i}", "time": year, "title": f"About {kind}", "text": f"{kind}one {kind}two {kind}three"}
        for kind, (year, count) in kinds.items()
        for i in range(count)
    ]
    follow(MemorySource(items), FieldCodec(), RunFile(path), SETTINGS)
    rows = newest_stories(Reader(path), words=2, top=9)
    assert [(row["story"], row["title"], row["size"], row["first"], row["last"]) for row in rows] == [
        (2, "About later", 60, "2003", "2003"),
        (1, "About late", 50, "2003", "2003"),
        (0, "About early", 40, "2001", "2001"),
    ]
    assert [len(row["words"]) for row in rows] == [2, 2, 2]
    assert [row["topic"] for row in rows] == [None, None, None]
    assert [row["trend"] for row in rows] == ["rising", "rising", "falling"]
    assert newest_stories(Reader(path), words=2, top=1) == rows[:1]
    reader = Reader(path)
    assert reader.story_events().kind.tolist() == ["opened"] * 3 + ["burst"] * 2
    assert reader.story_documents(1).title.tolist() == ["About early", "About late", "About later"]


def test_one_topic_over_time(run_file: Path) -> None:
    readings: tuple[Reading, ...] = ("filtered", "smoothed")
    for reading in readings:
        rows = one_topic(Reader(run_file), 1, words=5, reading=reading)
        assert [row["slice"] for row in rows] == ["2001", "2002", "2003"]
        assert rows[0]["drift_angle"] == ""
        assert rows[1]["drift_angle"].endswith("°")
        assert all(len(row["words"]) == 5 for row in rows)


def test_a_topic_told_before_it_was_found_is_called_by_its_words_there(run_file: Path, tmp_path: Path) -> None:
    """The smoothed reading tells a topic in slices that ended before the warm-up gave it its number.

    Its first name may have words that no document held yet.
    """
    path = tmp_path / "run.duckdb"
    shutil.copy(run_file, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update topic_name set name = 'first' where slice = (select min(slice) + 1 from topic_name)")
        connection.execute("delete from topic_name where slice = (select min(slice) from topic_name)")
    rows = one_topic(Reader(path), 1, words=5, reading="smoothed")
    assert [row["name"] for row in rows][:2] == [", ".join(rows[0]["words"][:3]), "first"]
    assert rows[2]["name"] not in ("", "first")
    for row in topics_of_slice(Reader(path), 5, "smoothed", "2001"):
        assert (row["name"], row["title"]) == (", ".join(row["words"][:3]), "")


def test_slices_of_a_run_that_goes_on_are_filtered_until_they_are_smoothed(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its newest slice was the newest that had been smoothed, up to 16 slices before."""
    path = tmp_path / "run.duckdb"
    shutil.copy(run_file, path)
    with duckdb.connect(str(path)) as connection:
        for table in ("smoothed", "smoothed_word"):
            connection.execute(f"delete from {table} where slice > (select min(slice) from smoothed)")
    reader = Reader(path)
    assert smoothed_slices(reader) == ["2001"]
    assert topics_of_slice(reader, 5) == topics_of_slice(reader, 5, "filtered")
    assert topics_of_slice(reader, 5, at="2001") == topics_of_slice(reader, 5, "smoothed", "2001")
    both = one_topic(reader, 1, words=5)
    assert both[:1] == one_topic(reader, 1, words=5, reading="smoothed")
    assert both[1:] == one_topic(reader, 1, words=5, reading="filtered")[1:]
    with pytest.raises(InputError, match="slice 2003 has not been smoothed yet, slices are up to 2001; leave"):
        topics_of_slice(reader, 5, "smoothed", "2003")
    show(path)
    shown = capsys.readouterr()
    assert shown.out.count(" 2003 ") == 3
    assert shown.err.startswith("as known then: slices have been smoothed up to 2001 so far\n")
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from filtered where topic = 2 and slice > (select min(slice) from filtered)")
        connection.execute("delete from smoothed where topic = 2")
    with pytest.raises(InputError, match="topic 2 has no smoothed slices, but filtered ones: --reading filtered"):
        one_topic(Reader(path), 2, words=5)
    show(path, topic=1)
    assert capsys.readouterr().err.startswith("smoothed up to 2001, as known then from there on\n")


def test_an_unknown_topic_names_the_known(run_file: Path) -> None:
    with pytest.raises(InputError, match="no topic 17; topics: 0, 1, 2"):
        one_topic(Reader(run_file), 17, words=5, reading="filtered")


def test_a_run_file_without_smoothed_topics_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    RunFile(path)
    assert smoothed_slices(Reader(path)) == []
    assert topics_of_slice(Reader(path), words=5) == []
    with pytest.raises(InputError, match="smoothed"):
        topics_of_slice(Reader(path), words=5, reading="smoothed")
    with pytest.raises(InputError, match="none yet"):
        one_topic(Reader(path), 0, words=5, reading="filtered")


def test_everything_is_there() -> None:
    checks = {check.what: check for check in examine()}
    assert {"python", "numpy", "numba", "duckdb", "plotly", "compiled kernels"} <= set(checks)
    assert checks["compiled kernels"].good
    assert "4166.6" in checks["compiled kernels"].found


def test_a_missing_package_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "plotly":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "version", version)
    assert [check.what for check in examine() if not check.good] == ["plotly"]


def test_wrong_numbers_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmfstream.directional.bessel.inv_bessel_ratio", lambda d, r: 4000.0)
    assert "compiled kernels" in [check.what for check in examine() if not check.good]


def test_a_run_file_is_examined(run_file: Path) -> None:
    found = {check.what: check.found for check in examine(run_file)}
    assert "Reports" in found[str(run_file)]
    assert "finished" in found[str(run_file)]
    assert "newest closed slice 2003" in found["epochs"]
    assert found["settings"] == "topics = 3, threads = 1, window = 60"
    assert found["rejected"] == (
        "3 messages, 2.3% (2 x not JSON: line 126, column 2: Expecting property name enclosed in double quotes; "
        "1 x not a JSON object: line 128 holds a list)"
    )


def test_the_size_of_a_run_file_is_told_by_table(run_file: Path) -> None:
    sizes, size = Reader(run_file).sizes(), run_file.stat().st_size
    assert sum(sizes.values()) == size
    with duckdb.connect(str(run_file), read_only=True) as connection:
        ((block, used),) = connection.execute("select block_size, used_blocks from pragma_database_size()").fetchall()
        (state,) = connection.execute("select count(*) * 8 from checkpoint_slice").fetchall()[0]
    assert 0 <= sizes["checkpoint_slice"] - state < 2 * block
    assert size - block * used <= sizes[""] < size
    told = {check.what: check.found for check in examine(run_file)}["size"]
    assert told.startswith(f"{size / 1e6:.1f} MB (")
    assert "free " in told


def test_a_small_run_takes_a_small_file(run_file: Path) -> None:
    assert run_file.stat().st_size < 2_000_000


def test_rejected_messages_of_rare_kinds_are_counted_too(tmp_path: Path) -> None:
    bad = [b"{", b"[]", b"", b"\xff", b'{"text": "", "time": 2001}']
    follow(MemorySource([*years({2001: 40}), *bad, *bad[:3]]), FieldCodec(), RunFile(tmp_path / "run.duckdb"), SETTINGS)
    found = {check.what: check.found for check in examine(tmp_path / "run.duckdb")}
    assert found["rejected"] == (
        "8 messages, 16.7% (2 x empty: line 43 holds nothing; 2 x not JSON: line 41, column 2: Expecting property name "
        "enclosed in double quotes; 2 x not a JSON object: line 42 holds a list; 2 others)"
    )


@pytest.mark.parametrize(("smileys", "told"), [(4, None), (60, "without a topic: 60 documents (32.4%) held no word")])
def test_many_documents_without_words_are_told(tmp_path: Path, smileys: int, told: str | None) -> None:
    known = years({2001: 40, 2002: 40, 2003: 45})
    items = [*known[:80], *({"time": 2002, "text": "\U0001f600"} for _ in range(smileys)), *known[80:]]
    follow(MemorySource(items), FieldCodec(), RunFile(tmp_path / "run.duckdb"), SETTINGS)
    said = list(doctor.told_of_input(Reader(tmp_path / "run.duckdb")))
    assert [line.startswith(told or "") for line in said] == [True] * (told is not None)


@pytest.mark.parametrize(("source", "told"), [("-", True), ("rows.jsonl", False)])
def test_a_table_on_standard_input_is_told(tmp_path: Path, source: str, told: bool) -> None:
    table = [b"date,text", b"2001,some words"]
    settings = replace(SETTINGS, source=source)
    follow(MemorySource(table), FieldCodec(), RunFile(tmp_path / "run.duckdb"), settings)
    said = list(doctor.told_of_input(Reader(tmp_path / "run.duckdb")))
    assert said[0] == "rejected: 2 messages (100.0%)"
    assert said[-1].startswith("standard input is read as one JSON object a line") == told


def test_everything_in_a_run_file_is_read(run_file: Path, tmp_path: Path) -> None:
    assert [check.found for check in examine(run_file, deep=True)][-1].startswith("every row")
    other = shutil.copyfile(run_file, tmp_path / "other.duckdb")
    with duckdb.connect(other) as connection:
        connection.execute("delete from sample where rowid = 0")
    told = [check.found for check in examine(other, deep=True) if not check.good]
    assert told == ["the saved state has other sampled documents than the table sample"]


def test_what_is_no_run_file_fails(tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("nonsense " * 1000)
    last = list(examine(tmp_path / "x.duckdb"))[-1]
    assert not last.good
    assert str(tmp_path) in last.found
    assert not list(examine(tmp_path / "missing.duckdb"))[-1].good


def test_a_new_run_file_has_nothing_to_tell(tmp_path: Path) -> None:
    RunFile(tmp_path / "new.duckdb")
    found = {check.what: check for check in examine(tmp_path / "new.duckdb")}
    assert found["epochs"].found.startswith("0,")
    assert found[str(tmp_path / "new.duckdb")].found == "nothing was read yet, can be continued"


def test_a_run_tells_where_its_time_went(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    began = time.perf_counter()
    follow(MemorySource(years({2001: 400, 2002: 400})), FieldCodec(), RunFile(path), SETTINGS)
    passed = time.perf_counter() - began
    stored = Reader(path).stages()
    passed_through = [name for name in STAGES if name != "embedding"]  # of runs with a sentence model
    assert set(stored) == {*passed_through, ELAPSED}
    assert all(seconds > 0.0 for seconds in stored.values())
    assert stored[ELAPSED] < passed
    meanwhile = ("reading", "stories", "writing")  # in threads of their own
    assert sum(stored[name] for name in passed_through if name not in meanwhile) < stored[ELAPSED]
    header, *rows, _ = profile_lines(path)
    assert header.split() == ["stage", "seconds", "share"]
    for row, name in zip(rows, [*passed_through, ELAPSED], strict=True):
        seconds, share, *_ = row.removeprefix(name).split()
        assert float(seconds) == pytest.approx(stored[name], abs=0.006)
        assert float(share.rstrip("%")) == pytest.approx(100 * stored[name] / stored[ELAPSED], abs=0.06)


def test_times_of_interrupted_and_continued_runs_add_up(tmp_path: Path) -> None:
    path, items = tmp_path / "run.duckdb", years({2001: 40, 2002: 40, 2003: 40})
    source = MemorySource([*items[:60], Mark.ABORT, *items[60:]])
    with pytest.raises(Aborted):
        follow(source, FieldCodec(), RunFile(path), SETTINGS, ahead=0)
    first = Reader(path).stages()
    assert first["words"] > 0.0
    follow(source, FieldCodec(), RunFile(path), SETTINGS, ahead=0)
    both = Reader(path).stages()
    assert all(both[name] >= seconds for name, seconds in first.items())
    for name in ("reading", "words", "scoring", "slice ends", "writing", ELAPSED):
        assert both[name] > first.get(name, 0.0), name
    assert sum(both.values()) - both["stories"] - both[ELAPSED] <= both[ELAPSED]  # all else was done in one thread


def test_a_run_file_without_times_says_so(tmp_path: Path) -> None:
    RunFile(tmp_path / "new.duckdb")
    (line,) = profile_lines(tmp_path / "new.duckdb")
    assert "no stage times" in line


@pytest.mark.parametrize(
    ("slices", "told"),
    [
        ([0, 600, 601, 603], "far away: 5 documents of 0, 599 empty slices before all others"),
        ([0, 1, 3, 600, 601], "far away: 10 documents of 600 to 601, 596 empty slices after all others"),
        ([0, 30], "far away: 5 documents of 30, 29 empty slices after all others"),
        ([0, 20], ""),
        (
            [0, 600, 601, 603, 9000],
            "far away: 5 documents of 9000, 8,396 empty slices after all others|"
            "far away: 5 documents of 0, 599 empty slices before all others",
        ),
        ([0, 10, 50], ""),
        ([7], ""),
        ([], ""),
    ],
)
def test_documents_far_from_all_others_are_told(slices: list[int], told: str) -> None:
    index = np.array(slices, np.int64)
    none = np.full(index.size, np.nan)
    label = np.array([str(one) for one in slices], np.object_)
    times = np.full(index.size, np.datetime64("NaT", "us"))
    frame = SliceFrame(index, label, times, times, np.full(index.size, 5), none, np.zeros(index.size, np.bool_))
    assert [line.split(";")[0] for line in doctor.told_of_far_slices(frame)] == (told.split("|") if told else [])


@pytest.mark.parametrize(
    ("slices", "documents", "length", "days", "told"),
    [
        (
            2675,
            2675,
            "15 minutes",
            100,
            "2,675 slices .15 minutes. of 1.0 documents on average: .*; try --slices day, or a number of documents",
        ),
        (500, 500, "day", 1_000_000, "500 slices .day. of 1.0 documents on average: .*; try a number of documents"),
        (500, 9_999, "250", None, "500 slices .* of 20.0 documents on average: .*; try a number of documents, such as"),
        (500, 10_000, "hour", 30, None),
        (499, 499, "hour", 30, None),
        (0, 0, "hour", None, None),
    ],
)
def test_slices_that_are_too_short_are_told(
    slices: int, documents: int, length: str, days: int | None, told: str | None
) -> None:
    span = None if days is None else timedelta(days=days)
    said = list(doctor.told_of_short_slices(slices, documents, length, span))
    assert len(said) == (told is not None)
    assert told is None or re.match(told, said[0])


@pytest.mark.parametrize(
    ("epochs", "told"), [(1, "1 epoch ended before it was full"), (2, "2 epochs ended before they were full")]
)
def test_epochs_that_the_clock_cut_are_counted(epochs: int, told: str) -> None:
    assert doctor.cut_by_clock(epochs).startswith(told)
