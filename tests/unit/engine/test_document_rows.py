"""What every document got on arrival: one row each, the same whatever the cuts, in the log and in memory."""

from __future__ import annotations

import logging
import unicodedata
from dataclasses import replace
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.engine import documents as documents_module
from tests.unit.engine.documents import OneByOne, document, engine, run, years
from tests.unit.engine.parts import Parts, spread
from tests.unit.engine.parts import run as run_ranged
from tests.unit.runfile.records import commit, documents, of_format
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop import document_buffer
from vmfstream.engine.models import tracker
from vmfstream.engine.run import RunSettings, agree, follow
from vmfstream.errors import InputError
from vmfstream.online.settings import TrackerSettings
from vmfstream.records import DocumentRows, Documents, SmoothedDocuments
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import DocumentChoice, Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings
from vmfstream.stories.weights import RunningTfidf
from vmfstream.stories.window import Left, Window
from vmfstream.text.encoders import TextEncoder

SIZES = {2001: 40, 2002: 50, 2003: 60}


def all_rows(store: MemoryStore) -> DocumentRows:
    return DocumentRows.joined([one.documents for one in store.commits if one.documents is not None])


def test_every_document_has_one_row_with_what_it_got() -> None:
    topics: dict[str, int] = {}
    stories: dict[str, int] = {}

    def note(into: dict[str, int]) -> Any:
        def noted(some: Any, labels: NDArray[np.int64]) -> None:
            into.update(zip([one.id for one in some], labels.tolist(), strict=True))

        return noted

    store = MemoryStore()
    items = [*years(SIZES), {"id": "blank", "time": 2003, "text": ""}]
    settings = RunSettings(topics=3, documents="all", epoch_documents=25, threads=1)
    follow(
        MemorySource(items),
        FieldCodec(),
        store,
        settings,
        assigned=note(topics),
        in_stories=note(stories),
    )
    rows = all_rows(store)
    ids = [f"d{i}" for i in range(150)]
    assert list(rows.id) == [one for one in [*ids, "blank"] if one in stories]
    assert len(rows) == sum(one.epoch.n for one in store.commits)
    assert rows.story.tolist() == [stories[id] for id in rows.id]
    assert rows.topic.tolist() == [topics.get(id, -1) for id in rows.id]
    assert rows.topic[:40].tolist() == [-1] * 40  # before the first topics
    known = rows.topic >= 0
    assert known[40:150].all()
    assert np.isnan(rows.probability[~known]).all()
    assert np.isnan(rows.novelty[~known]).all()
    assert ((rows.probability[known] > 1 / 3) & (rows.probability[known] <= 1)).all()
    assert (rows.novelty[known] < 0).all()
    assert [np.datetime64(t, "us").astype(object).year for t in rows.time[[0, 40, 149]].tolist()] == [2001, 2002, 2003]


def test_probabilities_have_the_temperature_of_the_slice_before(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = all_rows(run(years(SIZES), documents=True))
    monkeypatch.setattr(tracker, "arrival_temperature", lambda result, rules: 200.0 if result.prediction else np.nan)
    found = all_rows(run(years(SIZES), documents=True))
    np.testing.assert_array_equal(found.topic, plain.topic)
    np.testing.assert_array_equal(found.probability[:90], plain.probability[:90])  # the first slice predicts nothing
    assert (plain.probability[90:] > 0.999).all()
    assert ((found.probability[90:] > 1 / 3) & (found.probability[90:] < 0.9)).all()


def test_nothing_is_kept_unless_it_is_wanted() -> None:
    assert all(one.documents is None for one in run(years(SIZES)).commits)


def test_a_continued_run_keeps_the_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracker, "arrival_temperature", lambda result, rules: 200.0 if result.prediction else np.nan)
    store = MemoryStore()
    begun = engine(OneByOne(years(SIZES)), store, documents=True)
    begun.run(stop=lambda: begun.documents > 120)
    assert not begun.finished
    engine(years(SIZES), store, documents=True).run()
    rows = all_rows(store)
    assert list(rows.id) == [f"d{i}" for i in range(150)]
    assert (rows.probability[-20:] < 0.9).all()


def test_the_run_file_has_them_in_order(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    run_file.commit(commit(0, documents=documents("a", "half \ud83d")), commit(1, documents=documents("c")))
    with duckdb.connect(run_file.path, read_only=True) as connection:
        found = connection.execute(
            "select id, epoch_us(time), slice, topic, probability, story, novelty from document order by rowid"
        ).fetchall()
    first = (59_999_999, 0, -1, None, -1, None)
    assert found == [("a", *first), ("half ?", 60_000_000, 0, 0, 0.0, 0, 0.0), ("c", 59_999_999, 1, -1, None, -1, None)]


def test_a_file_of_before_there_were_any_goes_on_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = {name: value for name, value in RunSettings(topics=3).as_text().items() if name != "documents"}
    path = of_format(tmp_path / "run.duckdb", 12, **settings)
    Reader(path)
    with caplog.at_level(logging.WARNING):
        follow(
            MemorySource([document(i, 2001) for i in range(30)]),
            FieldCodec(),
            RunFile(path),
            RunSettings(topics=3, documents="all"),
        )
    assert "kept no documents; it goes on without them" in caplog.text
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("select (select count(*) from document), sum(n) from epoch").fetchall() == [(0, 30)]


def test_a_run_keeps_to_what_it_began_with() -> None:
    begun = RunSettings(documents="none").as_text()
    with pytest.raises(InputError, match="begun with documents = 'none' and cannot be continued with 'all'"):
        agree(RunSettings(documents="all"), begun)
    with pytest.raises(InputError, match="documents: expected all, none or a number above 0, got 'some'"):
        RunSettings(documents="some")


def later_topics(commits: Any) -> dict[int, int]:
    """The later labels of documents by their places in the stream, as a store has them after all commits."""
    begins: dict[int, int] = {}
    for total, one in zip(accumulate((one.epoch.n for one in commits), initial=0), commits, strict=False):
        begins.setdefault(one.epoch.slice.index, total)
    return {
        begins[labels.slice] + labels.first + i: topic
        for one in commits
        for labels in one.relabelled
        for i, topic in enumerate(labels.topic.tolist())
    }


def test_documents_of_before_the_first_topics_get_theirs_with_them() -> None:
    store = MemoryStore()
    begun = engine(OneByOne(years(SIZES)), store, documents=True)
    begun.run(stop=lambda: begun.documents > 60)
    rows = all_rows(store)
    assert rows.place.tolist() == [*range(40), *range(len(rows) - 40)]
    assert rows.topic[:40].tolist() == [-1] * 40
    found = later_topics(store.commits)
    assert sorted(found) == list(range(40))
    topics = np.array([found[i] for i in range(40)])
    assert [len(set(topics[subject::3].tolist())) for subject in range(3)] == [1, 1, 1]
    assert len(set(topics[:3].tolist())) == 3


def test_a_large_first_slice_gets_its_topics_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrackerSettings, "slice_limit", 1000)
    store = run(years({2001: 1700, 2002: 30}), documents=True, epoch_documents=200, batch_documents=100)
    begins = next(i for i, one in enumerate(store.commits) if one.relabelled)
    assert not any(one.closed for one in store.commits[: begins + 1])
    rows, found = all_rows(store), later_topics(store.commits)
    before = rows.topic < 0
    assert 1000 <= before.sum() < 1700
    assert set(np.flatnonzero(before).tolist()) <= found.keys()
    assert all(found[i] >= 0 for i in np.flatnonzero(before).tolist())


def test_smoothed_topics_come_once_when_a_slice_leaves_the_window() -> None:
    sizes = dict.fromkeys(range(2001, 2013), 40)
    store = MemoryStore()
    begun = engine(years(sizes), store, window=100, documents=True)
    begun.run(stop=lambda: begun.documents >= 400)
    final = [
        (labels.slice - 2001, labels.first, len(labels.topic)) for one in store.commits[2:] for labels in one.relabelled
    ]
    assert final == [(i, 0, 40) for i in range(len(final))]
    assert 5 <= len(final) <= 9
    smoothed = {view.slice for one in store.commits for view in one.smoothed}
    assert len(smoothed) == len(final)  # in the commit in which the topics of the slice became final
    begun.run()
    rows, found = all_rows(store), later_topics(store.commits)
    assert sorted(found) == list(range(480))  # at the end of the stream also those of the window
    assert np.mean([found[i] == topic for i, topic in enumerate(rows.topic.tolist()) if topic >= 0]) > 0.95


@pytest.mark.parametrize("together", [False, True])
def test_later_labels_replace_earlier_ones_in_the_run_file(tmp_path: Path, together: bool) -> None:
    commits = [
        commit(0, documents=documents("a", "b"), relabelled=[SmoothedDocuments(0, 0, np.array([5]))]),
        commit(1, relabelled=[SmoothedDocuments(0, 0, np.array([7, 8]))]),
    ]
    run_file = RunFile(tmp_path / "run.duckdb")
    for some in [commits] if together else [[one] for one in commits]:
        run_file.commit(*some)
    found = Reader(run_file.path).documents(DocumentChoice())
    assert found.smoothed_topic.tolist() == [7, 8]
    assert Reader(run_file.path).documents(DocumentChoice(topic=8)).id.tolist() == ["b"]
    assert Reader(run_file.path).documents(DocumentChoice(topic=0, reading="filtered")).id.tolist() == ["b"]


def test_second_topics_are_others_and_less_probable() -> None:
    rows = all_rows(run(years(SIZES), documents=True))
    known = rows.topic >= 0
    assert (rows.second[~known] == -1).all()
    assert np.isnan(rows.second_probability[~known]).all()
    assert ((rows.second[known] >= 0) & (rows.second[known] != rows.topic[known])).all()
    assert (rows.second_probability[known] <= rows.probability[known]).all()


@pytest.mark.thorough
def test_of_each_topic_and_slice_the_newest_are_kept(tmp_path: Path) -> None:
    def followed(name: str, kept: str, **more: Any) -> Path:
        path = tmp_path / name
        settings = RunSettings(topics=3, documents=kept, window=100, epoch_documents=17, threads=1, **more)
        sizes = dict.fromkeys(range(2001, 2009), 40)
        follow(MemorySource(years(sizes)), FieldCodec(), RunFile(path), settings)
        return path

    whole = Reader(followed("all.duckdb", "all", keep_text=True)).documents(DocumentChoice())
    few = Reader(followed("few.duckdb", "4", keep_text=True)).documents(DocumentChoice())
    place = {id: i for i, id in enumerate(whole.id.tolist())}
    at = np.array([place[id] for id in few.id.tolist()])
    for name in ("time", "slice", "topic", "story", "second", "smoothed_topic", "text"):
        np.testing.assert_array_equal(getattr(few, name), getattr(whole, name)[at])
    expected = [
        i
        for i in range(len(whole.id))
        if np.count_nonzero((whole.slice[i:] == whole.slice[i]) & (whole.topic[i:] == whole.topic[i])) <= 4
    ]
    assert at.tolist() == expected
    assert (few.smoothed_topic >= 0).all()
    assert whole.text[0] == document(0, 2001)["text"]
    with duckdb.connect(tmp_path / "few.duckdb", read_only=True) as connection:
        assert connection.execute("select count(*) from document_smoothed").fetchall() == [(len(few.id),)]


def test_texts_are_cut() -> None:
    rows = all_rows(run([document(i, 2001) | {"text": "word " * 1000} for i in range(5)], documents=True, text=2000))
    assert {len(text) for text in rows.text or ()} == {2000}
    with pytest.raises(InputError, match="texts are kept with documents"):
        RunSettings(keep_text=True)


def test_documents_are_searched_by_words_and_dates(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    settings = RunSettings(topics=3, documents="all", keep_text=True, threads=1)
    items = [*years(SIZES), {"id": "It's 100%_\\", "time": 2003, "text": "Robert'); drop table document; --"}]
    follow(MemorySource(items), FieldCodec(), RunFile(path), settings)
    reader = Reader(path)
    found = reader.documents(DocumentChoice(search="SHIP harbour"), limit=5, skip=2)
    assert len(found.id) == 5
    assert all("ship" in text and "harbour" in text for text in found.text)
    every = reader.documents(DocumentChoice(search="ship harbour")).id.tolist()
    assert reader.count_documents(DocumentChoice(search="ship harbour")) == len(every)
    assert found.id.tolist() == every[2:7]
    for words in ("drop table", "100%_\\", "it's"):
        assert reader.documents(DocumentChoice(search=words)).id.tolist() == ["It's 100%_\\"]
    year = DocumentChoice(since=datetime(2002, 1, 1), until=datetime(2003, 1, 1))
    assert reader.count_documents(year) == 50


@pytest.mark.parametrize("word", ["İzmir", "CAFÉ", "cafe\u0301"])
def test_documents_are_searched_whether_accents_are_composed_or_not(word: str, tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    texts = {form: unicodedata.normalize(form, "ship café İzmir") for form in ("NFC", "NFD")}
    items = [*years(SIZES), *({"id": form, "time": 2003, "text": text} for form, text in texts.items())]
    settings = RunSettings(topics=3, documents="all", keep_text=True, threads=1)
    follow(MemorySource(items), FieldCodec(), RunFile(path), settings)
    assert Reader(path).documents(DocumentChoice(search=word)).id.tolist() == ["NFC", "NFD"]


def test_the_places_of_documents_without_a_direction_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TrackerSettings, "slice_limit", 50)
    blank = [{"id": f"blank{i}", "time": 2001, "text": "..."} for i in range(120)]
    store = run([*blank, *years({2001: 90, 2002: 30})], documents=True, epoch_documents=40, batch_documents=10)
    rows, found = all_rows(store), later_topics(store.commits)
    before = [i for i, topic in enumerate(rows.topic.tolist()) if topic < 0 and not rows.id[i].startswith("blank")]
    assert len(before) >= 30
    assert all(found[i] >= 0 for i in before)
    topics = np.array([found[i] for i in before])
    subjects = np.array([int(rows.id[i][1:]) % 3 for i in before])
    assert all(len(set(topics[subjects == subject].tolist())) == 1 for subject in range(3))


@pytest.mark.thorough
def test_documents_in_parts_are_the_same_as_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.duckdb"
    sizes = {2001: 5, 2002: 5, 2003: 60, 2004: 5}  # two slices are one part, a large one is many
    settings = RunSettings(topics=3, documents="all", epoch_documents=25, threads=1)
    follow(MemorySource(years(sizes)), FieldCodec(), RunFile(path), settings)
    reader = Reader(path)
    whole = reader.documents(DocumentChoice())
    parts = list(reader.documents_in_parts(DocumentChoice(), most=12))
    assert [len(part.id) for part in parts] == [10, 12, 12, 12, 12, 12, 5]
    for name in ("id", "topic", "smoothed_topic", "story"):
        found = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(found, getattr(whole, name))
    few = list(reader.documents_in_parts(DocumentChoice(since=datetime(2003, 1, 1)), limit=30, most=12))
    assert [id for part in few for id in part.id] == whole.id[10:40].tolist()


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of more than 300 documents are large."""
    monkeypatch.setattr(TrackerSettings, "slice_limit", 300)
    monkeypatch.setattr(document_buffer, "LATER_STEP", 50)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_window")
@pytest.mark.parametrize("epoch", [100, 470])
def test_documents_of_large_slices_get_smoothed_topics(tmp_path: Path, epoch: int) -> None:
    sizes = {2001: 200, 2002: 1000, 2003: 200, 2004: 700}
    settings = RunSettings(topics=3, documents="all", epoch_documents=epoch, threads=1)
    follow(MemorySource(years(sizes)), FieldCodec(), RunFile(tmp_path / "run.duckdb"), settings)
    found = Reader(tmp_path / "run.duckdb").documents(DocumentChoice())
    assert found.id.tolist() == [f"d{i}" for i in range(2100)]
    assert [len(set(found.smoothed_topic[subject::3].tolist())) for subject in range(3)] == [1, 1, 1]
    assert (found.smoothed_topic >= 0).all()
    with duckdb.connect(tmp_path / "run.duckdb", read_only=True) as connection:
        assert connection.execute("select count(*) from document_smoothed").fetchall() == [(2100,)]


@pytest.mark.usefixtures("small_window")
def test_a_continued_run_tells_the_same_of_a_large_slice_and_keeps_few_documents() -> None:
    sizes = {2001: 200, 2002: 1000}
    cut: dict[str, Any] = {"documents": True, "epoch_documents": 100, "batch_documents": 100}
    whole = run(years(sizes), **cut)
    store = MemoryStore()
    begun = engine(OneByOne(years(sizes)), store, **cut)
    begun.run(stop=lambda: begun.documents >= 800)
    assert not begun.finished
    checkpoint = store.resume()
    assert checkpoint is not None
    kept = checkpoint.open_state
    assert 300 <= len(kept["later.tokens"]) < 350
    assert kept["later.first"][0] + len(kept["later.tokens"]) == begun.documents - 200
    engine(years(sizes), store, **cut).run()
    assert later_topics(store.commits) == later_topics(whole.commits)
    assert sorted(later_topics(whole.commits)) == list(range(1200))


@pytest.mark.usefixtures("small_window")
def test_topics_of_a_large_slice_are_those_of_later_documents() -> None:
    """A document is scored by what is known 300 documents later, not on arrival."""
    known = list[int]()

    class Noting(tracker.TrackerModel):
        def topics_of(self, x: Any) -> NDArray[np.int64]:
            assert self.state is not None
            known.append(self.state.open.documents)
            return np.asarray(known[-1:] * x.shape[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents_module, "TrackerModel", Noting)
        store = run(years({2001: 200, 2002: 1000}), documents=True, epoch_documents=100, batch_documents=100)
    found = later_topics(store.commits)
    waited = [found[200 + i] - i for i in range(700)]
    assert min(waited) > 300
    assert max(waited) <= 300 + 50 + 100
    assert {found[200 + i] for i in range(700, 1000)} == {1000}


def test_later_labels_replace_those_of_the_same_documents_only(tmp_path: Path) -> None:
    first, later = SmoothedDocuments(0, 2, np.arange(5)), SmoothedDocuments(0, 3, np.array([8, 9]))
    other = SmoothedDocuments(1, 0, np.arange(9))
    left = [(one.first, one.topic.tolist()) for one in first.besides([later, other])]
    assert left == [(2, [0]), (5, [3, 4])]
    assert first.besides([SmoothedDocuments(0, 0, np.arange(9))]) == []
    for together in (True, False):
        run_file = RunFile(tmp_path / f"{together}.duckdb")
        commits = [
            commit(0, documents=documents(*"abcdefg"), relabelled=[first, other]),
            commit(1, relabelled=[later]),
        ]
        for some in [commits] if together else [[one] for one in commits]:
            run_file.commit(*some)
        found = Reader(run_file.path).documents(DocumentChoice())
        assert found.smoothed_topic.tolist() == [-1, -1, 0, 8, 9, 3, 4]


def test_numbers_that_are_too_large_widen_their_columns(tmp_path: Path) -> None:
    run_file = RunFile(tmp_path / "run.duckdb")
    rows = documents("a", "b")
    run_file.commit(commit(0, documents=rows))
    many = replace(rows, topic=np.array([2**15, 7]), story=np.array([2**31, 7]), second=np.array([2**20, -1]))
    later = [SmoothedDocuments(1, 0, np.array([2**15, 3]))]
    run_file.commit(commit(1, documents=many, relabelled=later))
    found = Reader(RunFile(run_file.path).path).documents(DocumentChoice())
    assert found.topic.tolist() == [-1, 0, 2**15, 7]
    assert found.story.tolist() == [-1, 0, 2**31, 7]
    assert found.second.tolist() == [-1, 0, 2**20, -1]
    assert found.smoothed_topic.tolist() == [-1, -1, 2**15, 3]


def mixed(n: int) -> list[Any]:
    """Documents of five words of one of many themes, some of which share words, so that stories change."""
    rng = np.random.default_rng(3)
    theme = rng.integers(0, 12, n) + np.arange(n) // 150
    words = [[f"word{4 * t + j}x" for j in rng.integers(0, 7, 5)] for t in theme.tolist()]
    return [{"id": f"m{i}", "time": 2001 + i // 200, "text": " ".join(words[i])} for i in range(n)]


def later_stories(store: MemoryStore) -> dict[tuple[int, int], int]:
    return {
        (index, place): story
        for one in store.commits
        for some in one.in_other_stories
        for index, place, story in zip(*(getattr(some, f).tolist() for f in ("slice", "place", "story")), strict=True)
    }


@pytest.mark.thorough
def test_smoothed_stories_are_those_of_the_estimator_and_of_a_continued_run() -> None:
    items = mixed(1500)
    stories = StorySettings()
    cut: dict[str, Any] = {"documents": True, "stories": stories, "story_window": 300, "epoch_documents": 170}
    whole = run(items, **cut)
    rows, told = all_rows(whole), later_stories(whole)
    places = [(2001 + i // 200, i % 200) for i in range(1500)]
    assert rows.place.tolist() == [place for _, place in places]
    assert told.keys() <= set(places)

    made = TextEncoder()
    mixture, window = SequentialMixture(stories, 50_000), Window(300)
    labels, left = list[NDArray[np.int64]](), list[Left]()
    weights = RunningTfidf()
    for low in range(0, 1500, 170):
        some = items[low : low + 170]
        counts = made.count(
            Documents(
                [""] * len(some),
                np.arange(len(some)),
                [""] * len(some),
                np.zeros(len(some), np.int64),
                [one["text"] for one in some],
            )
        )
        x = weights.weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=(len(some), 50_000)))
        learnt, gone = window.learn(mixture, x, None)
        labels.append(learnt.labels)
        left.append(gone)
    left.append(window.flush(mixture))
    np.testing.assert_array_equal(rows.story, np.concatenate(labels))
    both = Left.joined(left)
    changed = np.flatnonzero(both.labels != both.before).tolist()
    assert 5 < len(changed) < 750
    assert told == {places[i]: both.labels[i] for i in changed}
    store = MemoryStore()
    begun = engine(OneByOne(items), store, **cut)
    begun.run(stop=lambda: begun.documents >= 700)
    assert not begun.finished
    engine(items, store, **cut).run()
    assert later_stories(store) == told


@pytest.mark.thorough
def test_smoothed_stories_are_in_the_run_file_and_in_python(tmp_path: Path) -> None:
    items = mixed(900)
    path = tmp_path / "run.duckdb"
    settings = RunSettings(topics=3, documents="all", smoothed_stories=True, threads=1)
    follow(MemorySource(items), FieldCodec(), RunFile(path), settings)
    found = Reader(path).documents(DocumentChoice())
    moved = found.smoothed_story != found.story
    assert 0 < moved.sum() < 450
    story = int(found.smoothed_story[moved][0])
    merged = Reader(path).story_events()
    assert not (merged.other == story).any()
    own = Reader(path).documents(DocumentChoice(story=story)).id.tolist()
    assert found.id[moved][0] in own
    assert found.id[moved][0] not in Reader(path).documents(DocumentChoice(story=story, reading="filtered")).id
    made = TopicTracker(3, documents=True, smoothed_stories=True)
    made.learn([one["text"] for one in items], [one["time"] for one in items]).finish()
    made.save(tmp_path / "tracker.duckdb")
    made = TopicTracker.load(tmp_path / "tracker.duckdb")
    np.testing.assert_array_equal(made.documents()["smoothed_story"], found.smoothed_story)
    with pytest.raises(InputError, match="smoothed_stories: they belong to kept documents with stories"):
        TopicTracker(3, smoothed_stories=True)


@pytest.mark.usefixtures("small_window")
def test_workers_tell_smoothed_topics_of_large_slices_once() -> None:
    items = years({2001: 200, 2002: 1000, 2003: 100})
    stores = [
        run_ranged(Parts(spread(items, parts)), documents=True, stories=StorySettings(), epoch_documents=200)
        for parts in (1, 3)
    ]
    for store in stores:
        rows, found = all_rows(store), later_topics(store.commits)
        assert sorted(found) == list(range(1300))
        known = np.flatnonzero(rows.topic >= 0)
        assert np.mean([found[int(i)] == rows.topic[i] for i in known]) > 0.95
