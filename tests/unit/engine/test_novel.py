"""First stories, and how sure shares and directions are: in the log, and from a tracker."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.engine.documents import closed, document, engine, run, years
from vmfstream import TopicTracker
from vmfstream.bayes import tempering
from vmfstream.bayes.factors.credible_regions import angular_radius, share_intervals
from vmfstream.engine.loop.document_buffer import KeptDocument
from vmfstream.engine.loop.sample import MostNovel
from vmfstream.engine.loop.story_book import StoryBook
from vmfstream.records import Document
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.stories.settings import StorySettings

STRANGE = [{"id": f"new{i}", "time": 2003, "title": "Flood", "text": "harbour comet wheat crane"} for i in range(3)]


def stream() -> list[dict[str, Any]]:
    usual = [document(i, 2001 + i // 60) for i in range(150)]
    return [*usual[:120], *STRANGE, *usual[120:]]


def some(n: int) -> list[Document]:
    now = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    return [Document("a", i, f"d{i}", now, f"text {i} \ud83d") for i in range(n)]


# --- the most novel documents


def test_the_most_novel_of_all_batches_stay() -> None:
    rng = np.random.default_rng(1)
    docs, novelty, scored = some(200), rng.normal(0, 9, 200).round(), rng.random(200) < 0.8
    topic = rng.integers(0, 9, 200)
    wanted = sorted(np.flatnonzero(scored), key=lambda i: (-novelty[i], i))[:7]
    for size in (1, 13, 200):
        most = MostNovel(7)
        for i in range(0, 200, size):
            at = slice(i, i + size)
            most.add(docs[at], novelty[at], topic[at], scored[at])
        found = most.close()
        assert found is not None
        assert list(found.id) == [f"d{i}" for i in wanted]
        np.testing.assert_array_equal(found.novelty, novelty[wanted])
        np.testing.assert_array_equal(found.topic, topic[wanted])
        assert found.rank.tolist() == [1, 2, 3, 4, 5, 6, 7]
        assert most.close() is None


def test_a_state_comes_back() -> None:
    one, other = MostNovel(3), MostNovel(3)
    every = np.ones(5, bool)
    one.add(some(5), np.arange(5.0), np.arange(5), every)
    other.restore(one.arrays())
    found, again = one.close(), other.close()
    assert found is not None
    assert again is not None
    assert (found.id, found.title, found.time) == (again.id, again.title, again.time)
    other.restore({})
    assert other.close() is None


def test_none_are_kept_if_none_are_wanted() -> None:
    most = MostNovel(0)
    most.add(some(5), np.arange(5.0), np.arange(5), np.ones(5, bool))
    assert most.close() is None


ODD = [{"id": f"o{i}", "time": 2003, "title": f"Odd {i}", "text": f"o{i}x strange{i} harbour wheat"} for i in range(9)]
FLOOD = [
    {"id": f"flood{i}", "time": 2003, "title": f"Flood {i}", "text": "flood river levee rain harbour"} for i in range(6)
]


def test_a_story_that_begins_is_found_among_odd_documents(tmp_path: Path) -> None:
    usual = [document(i, 2001 + i // 60) for i in range(150)]
    mixed = [*usual[120:130], *ODD[:5], *FLOOD[:2], *ODD[5:], *usual[130:], *FLOOD[2:]]
    engine([*usual[:120], *mixed], RunFile(tmp_path / "run.duckdb"), novel_documents=4, stories=StorySettings()).run()
    frame = Reader(tmp_path / "run.duckdb").novel()
    here = frame.slice == 2003
    assert frame.id[here][0] == "flood0"
    stories = Reader(tmp_path / "run.duckdb").stories()
    assert stories.title[stories.story == frame.story[here][0]].tolist()[0].startswith("Flood")
    assert (frame.story[here][1:] == -1).all()
    assert set(frame.id[here][1:]) <= {row["id"] for row in ODD + FLOOD}
    assert frame.rank[here].tolist() == [1, 2, 3, 4]
    assert frame.id[frame.slice == 2001][0] == "d0"


def test_an_older_state_of_stories_continues_with_the_earliest_documents_it_knows() -> None:
    book = StoryBook()
    book.open(np.array([4, 9]), 0)
    kept = [KeptDocument(f"d{i}", f"Report {i}", 1000 - i) for i in range(3)]
    nothing = np.full(3, -1)
    book.add(np.array([1, 1, 0]), nothing, np.ones(3, np.float32), np.array([3.0, 2.0, 1.0]), kept, 0)
    book.add(np.array([1]), nothing[:1], np.ones(1, np.float32), np.array([7.0]), [kept[2]], 0)
    book.shown[:] = [False, True]
    assert [one.id for one in book.opener] == ["d2", "d0"]
    assert book.novelty.tolist() == [1.0, 3.0]
    arrays = book.arrays()
    assert StoryBook.from_arrays(arrays).opener.tolist() == book.opener.tolist()
    old = {name: array for name, array in arrays.items() if name != "listed" and name[:6] not in ("opener", "novelt")}
    assert len(old) < len(arrays) - 2
    again = StoryBook.from_arrays(old)
    assert [one.id for one in again.opener] == ["d2", "d2"]  # the earliest
    assert again.listed.tolist() == [False, True]
    again.merge(0, 1)
    assert again.opener[1].id == "d2"


def test_first_stories_are_in_the_run_file(tmp_path: Path) -> None:
    engine(stream(), RunFile(tmp_path / "run.duckdb"), novel_documents=4).run()
    frame = Reader(tmp_path / "run.duckdb").novel()
    assert frame.slice.tolist() == [2002] * 4 + [2003] * 4
    here = frame.slice == 2003
    assert set(frame.id[here][:3]) == {"new0", "new1", "new2"}
    assert set(frame.title[here][:3]) == {"Flood"}
    assert frame.rank[here].tolist() == [1, 2, 3, 4]
    assert (np.diff(frame.novelty[here]) <= 0).all()
    assert set(frame.topic.tolist()) <= {0, 1, 2}
    assert frame.time[here][0] == np.datetime64("2003-01-01")


def test_a_tracker_tells_them_too() -> None:
    tracker = TopicTracker(topics=3)
    rows = [{name: row[name] for name in ("text", "time", "id")} for row in stream()]
    tracker.learn_many(rows).finish()
    found = [row for row in tracker.novel() if row["slice"] == "2003"]
    assert {row["id"] for row in found[:3]} == {"new0", "new1", "new2"}
    assert len(found) == 20
    assert {row["story"] for row in found[3:]} == {None}
    assert {row["story"] for row in tracker.novel() if row["story"] is not None} <= {
        one["story"] for one in tracker.stories()
    }


# --- how sure topics are


def test_shares_and_directions_have_their_intervals(tmp_path: Path) -> None:
    sizes = {2001: 60, 2002: 120, 2003: 30}
    engine(years(sizes), RunFile(tmp_path / "run.duckdb")).run()
    reader = Reader(tmp_path / "run.duckdb")
    dimension = dict(zip(reader.slices().slice.tolist(), [24, 24, 24], strict=True))
    for reading in ("filtered", "smoothed"):
        topics, sure = reader.topics(reading), reader.uncertainty(reading)
        np.testing.assert_array_equal(sure.slice, topics.slice)
        assert ((sure.share_low < topics.share) & (topics.share < sure.share_high)).all()
        for year in sizes:
            here = topics.slice == year
            wanted = share_intervals(topics.n[here])
            np.testing.assert_allclose(np.column_stack([sure.share_low, sure.share_high])[here], wanted)
            radius = np.degrees(angular_radius(dimension[year], topics.gamma[here]))
            np.testing.assert_allclose(sure.radius[here], radius)


def test_more_documents_are_surer() -> None:
    few, many = (closed(run(years({2001: size, 2002: size})))[-1].topics for size in (30, 300))
    assert few is not None
    assert many is not None
    assert few.radius is not None
    assert many.radius is not None
    assert (many.radius < few.radius).all()


def test_rows_of_a_tracker_say_how_sure_they_are() -> None:
    texts = [document(i, 0)["text"] for i in range(60)]
    row = TopicTracker(topics=3).learn(texts, 2001).learn(texts, 2002).topics()[0]
    assert row["share_low"] < row["share"] < row["share_high"]
    assert 0 < row["radius"] < 90


def test_an_open_slice_is_not_judged() -> None:
    topics = [commit.epoch.topics for commit in run(years({2001: 60, 2002: 60})).commits]
    assert all(one is None or one.radius is None for one in topics)


@pytest.mark.parametrize("size", [1, 7])
def test_batches_of_any_size_find_the_same_first_stories(size: int) -> None:
    whole, parts = (closed(run(stream(), batch_documents=most))[-1].novel for most in (5000, size))
    assert whole is not None
    assert parts is not None
    assert set(whole.id[:3]) == set(parts.id[:3])


# --- how far memberships may be believed


def test_a_slice_says_how_far_memberships_on_arrival_went(tmp_path: Path) -> None:
    engine(years({2001: 60, 2002: 60, 2003: 60}), RunFile(tmp_path / "run.duckdb")).run()
    frame = Reader(tmp_path / "run.duckdb").temperatures()
    assert frame.slice.tolist() == [2001, 2002, 2003]
    assert np.isnan(frame.temperature[0])
    assert (frame.temperature[1:] > 0).all()


def test_the_temperature_fits_arrival_scores_to_settled_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Any]] = []

    def spy(scores: Any, labels: Any) -> float:
        seen.append((scores, labels))
        return 0.25

    monkeypatch.setattr(tempering, "fitted_inverse_temperature", spy)
    run_file = run(years({2001: 60, 2002: 90}))
    assert closed(run_file)[-1].temperature == 4.0
    ((scores, labels),) = seen
    assert scores.shape == (90, 3)
    topics = closed(run_file)[-1].topics
    assert topics is not None
    np.testing.assert_allclose(np.bincount(labels), topics.n, atol=0.5)
    np.testing.assert_array_equal(scores.argmax(axis=1), labels)


def test_few_documents_tell_no_temperature() -> None:
    assert np.isnan(closed(run(years({2001: 60, 2002: 12})))[-1].temperature)


def test_the_stream_calibrates_a_tracker() -> None:
    texts = [document(i, 0)["text"] for i in range(60)]
    tracker = TopicTracker(topics=3)
    assert tracker.temperature == 1.0
    tracker.learn(texts, 2001).learn(texts, 2002).learn(texts, 2003)
    assert tracker.temperature != 1.0
    asked = tracker.transform(["harbour comet"], temperature=None)
    np.testing.assert_array_equal(asked, tracker.transform(["harbour comet"], temperature=tracker.temperature))
