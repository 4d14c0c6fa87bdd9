"""Stories beside topics: a label for every document, rows of what became of stories, the same bits however it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.engine.documents import committed, engine, run, years
from tests.unit.engine.parts import Parts, news, ranged, spread
from tests.unit.engine.test_executor import Many
from tests.unit.stories.streams import TWINS, bursts
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import ABORT, Aborted, Item, MemorySource
from vmfstream.engine.loop.document_buffer import KeptDocument
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.loop.stories import LEAST_DOCUMENTS, WORDS, remapped
from vmfstream.engine.loop.story_book import KEPT, YOUNG, StoryBook, growth
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.run import RunSettings
from vmfstream.errors import InputError
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Document, Event, StoryEvent, StoryRows
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings
from vmfstream.stories.weights import RunningTfidf
from vmfstream.text.encoders import Encoder, TextEncoder, VectorEncoder

SHORT = StorySettings(half_life=5.0)
"""Stories that end after 40 documents of others."""

DAYS = StorySettings(half_life=20.0, days=True)
"""Stories that end after 160 days without documents."""

EPISODES = ("harbour strike docker", "comet telescope orbit", "wheat harvest drought", "museum theft painting")


def episodes(size: int = 30, kinds: Sequence[str] = EPISODES) -> list[Item]:
    """Episodes one after the other, each year one, each document with words of its own."""
    return [
        {
            "id": f"d{i}",
            "time": 2001 + i // size,
            "title": f"{kinds[i // size]} {i}",
            "text": f"{kinds[i // size]} w{i}",
        }
        for i in range(size * len(kinds))
    ]


def labelled(items: Sequence[Item], settings: StorySettings = SHORT, **how: Any) -> tuple[MemoryStore, dict[str, int]]:
    """What was committed, and the story of each document on arrival by its id."""
    labels: dict[str, int] = {}

    def keep(documents: Sequence[Document], stories: NDArray[np.int64]) -> None:
        labels.update(zip((document.id for document in documents), stories.tolist(), strict=True))

    store = MemoryStore()
    source, cut = MemorySource(items), EngineSettings(Slicing.parse("year"), stories=settings, **how)
    batches = LocalBatches(source, FieldCodec(), cut, in_stories=keep)
    model = TrackerModel(TrackerSettings(topics=3, threads=1))
    Engine(source, TextEncoder(), model, store, cut, batches).run()
    return store, labels


def newest(store: MemoryStore) -> dict[int, tuple[StoryRows, int]]:
    """The last row of each story, as the rows of a commit and the place among them."""
    found = {}
    for commit in store.commits:
        if commit.stories is not None:
            found.update({story: (commit.stories, i) for i, story in enumerate(commit.stories.story.tolist())})
    return found


def happened(store: MemoryStore, kind: str) -> list[StoryEvent]:
    return [event for commit in store.commits for event in commit.story_events if event.kind == kind]


def test_every_document_gets_its_story_on_arrival() -> None:
    items = episodes()
    store, labels = labelled(items)
    texts = [str(item["text"]) for item in items if isinstance(item, dict)]
    encoder, weights = TextEncoder(), RunningTfidf()
    documents = [Document("", i, str(i), None, text) for i, text in enumerate(texts)]
    counts = encoder.count(documents)
    shape = (len(texts), encoder.vocabulary.n_terms)
    rows = weights.weigh(csr_array((counts.counts, counts.terms, counts.indptr), shape=shape))
    expected = SequentialMixture(SHORT, shape[1]).learn(rows).labels
    assert list(labels.values()) == expected.tolist()
    assert len(set(expected.tolist())) == len(EPISODES)
    assert store.commits[0].epoch.topics is None or np.isnan(store.commits[0].epoch.prequential)


def test_stories_are_told_of_with_their_words_and_documents() -> None:
    store, _ = labelled(episodes())
    assert [(e.story, e.size, e.slice - e.story) for e in happened(store, "opened")] == [
        (story, 30, 2001) for story in range(4)
    ]
    assert [(e.story, e.size) for e in happened(store, "ended")] == [(0, 30), (1, 30)]
    rows = newest(store)
    for story, words in enumerate(EPISODES):
        frame, i = rows[story]
        assert (frame.size[i], frame.first_slice[i], frame.last_slice[i]) == (30, 2001 + story, 2001 + story)
        assert frame.ended[i] == (story < 2)
        assert {word for word, _ in frame.words[i][:3]} == set(words.split())
        assert len(frame.words[i]) <= WORDS
        assert 2 <= len(frame.documents[i]) <= KEPT
        assert all(title.startswith(words) for _, title, _, _ in frame.documents[i])
        scores = [score for *_, score in frame.documents[i]]
        assert scores == sorted(scores, reverse=True)
        assert str(frame.first[i]).startswith(str(2001 + story))


def told(store: MemoryStore) -> dict[tuple[int, int], tuple[Any, ...]]:
    """What each story was told to be at the end of each slice: size, topic, trend, title, words."""
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for one in (part for commit in store.commits for part in commit.story_slices):
        numbers = (column.tolist() for column in (one.slice, one.story, one.size, one.topic, one.trend))
        for slice, story, *rest in zip(*numbers, one.title, one.words, strict=True):
            assert (slice, story) not in rows
            rows[slice, story] = tuple(rest)
    return rows


def changing() -> list[Item]:
    """Episodes some of which go on for years, under other words, beside shorter ones."""
    items = episodes(20, (*EPISODES, "harbour strike ended", "harbour strike verdict", "comet telescope mission"))
    return [item | {"time": 2001 + i // 30} for i, item in enumerate(items) if isinstance(item, dict)]


@pytest.mark.thorough
@pytest.mark.parametrize("settings", [SHORT, StorySettings(half_life=150.0), StorySettings(grain=0.3)])
def test_what_stories_were_is_what_a_run_knew_that_ended_there(settings: StorySettings) -> None:
    items = changing()
    whole = told(labelled(items, settings)[0])
    assert len({slice for slice, _ in whole}) == 5
    for last in range(2001, 2006):
        until, _ = labelled([item for item in items if isinstance(item, dict) and item["time"] <= last], settings)
        rows = newest(until)
        here = {story: row for (slice, story), row in whole.items() if slice == last}
        assert here
        for story, (size, topic, trend, title, words) in here.items():
            frame, i = rows[story]
            assert (size, topic, trend) == (frame.size[i], frame.topic[i], frame.trend[i])
            assert (title, words) == (frame.documents[i][0][1], [word for word, _ in frame.words[i]])
        assert {story for story, (frame, i) in rows.items() if frame.last_slice[i] == last} == set(here)


@pytest.mark.thorough
def test_what_stories_were_does_not_depend_on_epochs() -> None:
    items = changing()
    wanted = told(labelled(items)[0])
    assert any(words for *_, words in wanted.values())
    assert told(labelled(items, epoch_documents=7)[0]) == wanted
    assert told(labelled(items, epoch_documents=10**6)[0]) == wanted


def twins() -> list[Item]:
    """Documents of stories some of which begin twice."""
    words = np.array(["".join(np.random.default_rng(i).choice(list("bcdfghklmnprst"), 8)) for i in range(800)])
    rows = bursts(700, **TWINS)[0]
    return [
        {"id": f"d{i}", "time": 2001 + i // 350, "title": f"title {i}", "text": " ".join(words[row > 0.0])}
        for i, row in enumerate(rows)
    ]


MERGING = StorySettings(grain=0.3, half_life=150.0)


def test_of_two_stories_that_are_the_same_the_larger_goes_on() -> None:
    store, labels = labelled(twins(), MERGING)
    mergers, rows = happened(store, "merged"), newest(store)
    assert len(mergers) >= 3
    size, into = Counter(labels.values()), {event.story: event.other for event in mergers}
    assert len({event.other for event in mergers}) < len(mergers)  # one takes over two
    for event in mergers:
        assert event.other is not None
        assert event.evidence is not None
        assert event.evidence > 0.0
        frame, i = rows[event.story]
        assert (frame.size[i], frame.ended[i]) == (event.size, True)
        assert event.size == size[event.story]
    for story in set(into.values()):
        frame, i = rows[story]  # type: ignore[index]
        own = [number for number in labels if (labels[number] == story or into.get(labels[number]) == story)]
        assert frame.size[i] == len(own)
        assert (str(frame.first[i])[:4], str(frame.last[i])[:4]) == tuple(
            str(2001 + int(number[1:]) // 350) for number in (own[0], own[-1])
        )
        assert {id for id, *_ in frame.documents[i]} <= set(own)
    assert not {event.story for event in happened(store, "ended")} & set(into)


def test_small_stories_have_no_rows() -> None:
    items: list[Item] = [{"id": f"d{i}", "time": 2001, "text": f"one{i} two{i} three{i}"} for i in range(60)]
    items += [{"id": f"e{i}", "time": 2001, "text": "harbour strike docker"} for i in range(LEAST_DOCUMENTS)]
    items += [{"id": f"f{i}", "time": 2001, "text": "comet orbit"} for i in range(LEAST_DOCUMENTS - 1)]
    store, labels = labelled(items)
    assert len(set(labels.values())) == 62
    assert list(newest(store)) == [60]
    assert [event.story for event in happened(store, "ended")] == []


def test_only_stories_that_changed_are_written_again() -> None:
    store, _ = labelled(episodes(size=60), epoch_documents=30, settings=StorySettings())
    written = [[] if c.stories is None else c.stories.story.tolist() for c in store.commits]
    ends = [[0], [0, 1], [1, 2], [2, 3]]  # the end of a slice changes the trend of those that were in the one before
    assert written == [rows for story, end in enumerate(ends) for rows in ([story], [story], end)]


def test_time_may_be_counted_in_days() -> None:
    """The same words come twice, after nine months without any documents."""
    items: list[Item] = [
        {"id": f"d{i}", "time": "2001-01-02" if i < 20 else "2001-10-02", "text": "harbour strike docker"}
        for i in range(40)
    ]
    for settings, stories in ((SHORT, [0] * 40), (DAYS, [0] * 20 + [1] * 20)):
        store, labels = labelled(items, settings)
        assert list(labels.values()) == stories
        assert [(event.story, event.size) for event in happened(store, "ended")] == [(0, 20)][: stories[-1]]
    assert RunSettings(story_days=20.0).engine().stories == replace(DAYS, max_stories=10_000)
    assert RunSettings().engine().stories == StorySettings()
    assert RunSettings(story_component="cauchy").engine().stories == StorySettings(cauchy=True)
    assert RunSettings(story_days=2.0, story_component="cauchy").engine().stories == replace(
        DAYS, half_life=2.0, max_stories=10_000, cauchy=True
    )
    assert RunSettings(story_grain=0.3).engine().stories == StorySettings(grain=0.3)
    with pytest.raises(InputError, match="story_grain: expected a number from 0 to below 1"):
        RunSettings(story_grain=1.0)
    with pytest.raises(InputError, match="story_component: expected vmf or cauchy, got 'kent'"):
        RunSettings(story_component="kent")


@pytest.mark.parametrize("settings", [SHORT, DAYS, MERGING])
@pytest.mark.parametrize("at", [17, 45, 101])
def test_a_run_that_was_killed_goes_on_to_the_same_bits(at: int, settings: StorySettings) -> None:
    items, at = (twins(), 5 * at) if settings is MERGING else (episodes(), at)
    whole = run(items, epoch_documents=10, stories=settings)
    store = MemoryStore()
    broken = [*items[:at], ABORT, *items[at:]]
    with pytest.raises(Aborted):
        engine(broken, store, epoch_documents=10, stories=settings).run()
    assert 0 < len(store.commits) < len(whole.commits)
    again = engine(items, store, epoch_documents=10, stories=StorySettings())  # it keeps the settings of its begin
    again.run()
    assert committed(store) == committed(whole)
    states = [one.resume() for one in (store, whole)]
    assert states[0] is not None
    assert states[1] is not None
    for name, array in states[1].open_state.items():
        np.testing.assert_array_equal(states[0].open_state[name], array, err_msg=name)


@pytest.mark.parametrize("settings", [SHORT, DAYS])
@pytest.mark.parametrize("workers", [2, 5])
def test_workers_lead_to_the_same_bits(workers: int, settings: StorySettings) -> None:
    found = []
    for executor in (None, Many(workers)):
        store = MemoryStore()
        ranged(
            Parts(spread(news(900, 3), 3)), store, executor, stories=settings, epoch_documents=300, range_messages=40,
            window=200,
        ).run()  # fmt: skip
        found.append(store)
    assert committed(found[0]) == committed(found[1])
    assert len(newest(found[0])) >= 3
    states = [one.resume() for one in found]
    assert states[0] is not None
    assert states[1] is not None
    for name, array in states[0].open_state.items():
        np.testing.assert_array_equal(states[1].open_state[name], array, err_msg=name)


def test_without_the_switch_there_are_none() -> None:
    store = run(episodes())
    assert not newest(store)
    state = store.resume()
    assert state is not None
    assert not [name for name in state.open_state if name.startswith("stories.")]


def test_vectors_without_texts_have_no_stories() -> None:
    encoder: Encoder = VectorEncoder(3)
    rng = np.random.default_rng(0)
    items = [{"id": f"d{i}", "time": 2001, "vector": rng.normal(size=3).tolist()} for i in range(30)]
    store = run(items, encoder=encoder, codec=FieldCodec(vector="vector", dimension=3), stories=SHORT)
    assert len(store.commits) == 1
    assert not newest(store)


def test_a_pruned_vocabulary_changes_no_story() -> None:
    """Terms are renumbered when a slice ends and there are too many: those that stories need keep their words."""
    many = episodes(size=120)
    small = TextEncoder(capacity=60)
    stores = [MemoryStore(), MemoryStore()]
    for encoder, store in zip((small, TextEncoder()), stores, strict=True):
        engine(many, store, encoder=encoder, stories=SHORT).run()
    assert small.vocabulary.n_terms < TextEncoder().vocabulary.n_terms + 480
    rows = [newest(store) for store in stores]
    assert list(rows[0]) == list(rows[1])
    for story, words in enumerate(EPISODES):
        (few, i), (all_, j) = rows[0][story], rows[1][story]
        assert few.size[i] == all_.size[j] == 120
        assert {word for word, _ in few.words[i][:3]} == set(words.split())


def test_words_that_are_gone_are_taken_from_stories() -> None:
    rng = np.random.default_rng(3)
    dense = rng.random((40, 8)) * (rng.random((40, 8)) < 0.4) + np.eye(8)[np.arange(40) % 8]
    rows = csr_array((dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32))
    mixture = SequentialMixture(SHORT, 8)
    mixture.learn(rows)
    terms = np.array([0, -1, 1, 2, -1, 3, 4, 5])
    after = SequentialMixture.from_arrays(SHORT, remapped(mixture.arrays(), terms, 6))
    sums = [csr_array(one.living().sums).toarray() for one in (mixture, after)]
    np.testing.assert_array_equal(sums[1], sums[0][:, terms >= 0])
    np.testing.assert_allclose(after.arrays()["square"], (sums[1] ** 2).sum(axis=1), rtol=1e-5)
    same = SequentialMixture.from_arrays(SHORT, remapped(mixture.arrays(), np.arange(8), 8))
    assert same.learn(rows).labels.tolist() == mixture.learn(rows).labels.tolist()


def kept(i: int, title: str = "") -> KeptDocument:
    return KeptDocument(f"d{i}", title or f"title {i}", 1_000_000 * i)


def book(stories: int = 2) -> StoryBook:
    made = StoryBook()
    made.open(np.arange(stories), 7)
    return made


def added(made: StoryBook, places: list[int], topics: list[int]) -> None:
    n = len(places)
    made.add(
        np.array(places), np.array(topics), np.full(n, 0.5, np.float32), np.zeros(n), [kept(i) for i in range(n)], 8
    )


def test_the_book_counts_documents_and_keeps_the_best() -> None:
    made = book()
    rng = np.random.default_rng(1)
    places, scores = rng.integers(-1, 2, 50), rng.random(50).astype(np.float32)
    for part in (slice(0, 20), slice(20, 50)):
        none, documents = np.full(len(places[part]), -1), [kept(i) for i in range(50)[part]]
        made.add(places[part], none, scores[part], np.zeros(len(none)), documents, 8)
    for story in (0, 1):
        own = np.flatnonzero(places == story)
        assert made.size[story] == made.now[story] == len(own)
        young = np.arange(len(own)) / (np.arange(len(own)) + YOUNG)
        score = scores[own] * young.astype(np.float32)
        best = own[np.argsort(-score)][:KEPT]
        assert [one.id for one in made.documents[story]] == [f"d{i}" for i in best]
        np.testing.assert_array_equal(made.score[story], np.sort(score)[::-1][:KEPT])
        assert (made.first[story], made.last[story]) == (1_000_000 * own[0], 1_000_000 * own[-1])
        assert (made.first_slice[story], made.last_slice[story]) == (7, 8)
    again = StoryBook.from_arrays(made.arrays())
    assert repr(again) == repr(made)


def test_a_merged_story_leaves_its_documents_to_the_other() -> None:
    rng = np.random.default_rng(4)
    places, topics, scores = rng.integers(0, 2, 60), rng.integers(-1, 3, 60), rng.random(60).astype(np.float32)
    made = book()
    made.add(places, topics, scores, np.zeros(60), [kept(i) for i in range(60)], 8)
    made.before[:] = 7, 9
    parts = made.taken(np.arange(2))
    made.merge(1, 0)
    for name in ("size", "now", "before"):
        assert getattr(made, name)[0] == getattr(parts, name).sum()
    assert (made.first[0], made.last[0]) == (0, 59_000_000)
    best = np.argsort(-parts.score.reshape(-1), kind="stable")[:KEPT]
    np.testing.assert_array_equal(made.score[0], parts.score.reshape(-1)[best])
    assert made.documents[0].tolist() == parts.documents.reshape(-1)[best].tolist()
    assert made.size[1] == parts.size[1]
    assert made.changed[0]


@pytest.mark.parametrize(
    ("topics", "expected"),
    [([5, 5, 5, 5], (5, 4)), ([5, 5, 5, 6], (5, 2)), ([5, 6, 6, 6], (6, 2)), ([-1, 6, 6, 6], (6, 3))],
)
def test_a_merged_story_votes_for_its_parent(topics: list[int], expected: tuple[int, int]) -> None:
    made = book()
    added(made, [0, 1, 1, 1] if topics[0] != topics[1] else [0, 0, 0, 1], topics)
    made.merge(1, 0)
    assert (made.topic[0], made.votes[0]) == expected


def test_the_parent_is_the_topic_of_most_documents() -> None:
    made = book(3)
    rng = np.random.default_rng(2)
    topics = rng.choice([4, 9, 11], 200, p=[0.25, 0.6, 0.15])
    added(made, [0] * 200, topics.tolist())
    assert made.topic.tolist() == [Counter(topics.tolist()).most_common(1)[0][0], -1, -1]
    added(made, [1, 1, 1, 1], [5, -1, -1, -1])
    assert made.topic.tolist()[1] == 5
    added(made, [2] * 5, [4, 9, 9, 9, 9])
    assert made.topic.tolist()[2] == 9


def test_a_merged_topic_leaves_its_stories_to_the_other() -> None:
    store = MemoryStore()
    runs = engine(years({2001: 60, 2002: 60}), store, stories=SHORT)
    runs.run()
    level = runs.state.stories
    assert level is not None
    parents = {int(frame.topic[i]) for frame, i in newest(store).values()} - {-1}
    assert parents
    level.end_slice(2004, [Event("merged", topic, other=77) for topic in parents])
    rows, _ = level.take()
    assert rows is not None
    assert set(rows.topic.tolist()) <= {77, -1}


def test_growth_is_that_of_a_share() -> None:
    rng = np.random.default_rng(0)
    same = growth(rng.poisson(30, 4000), rng.poisson(60, 4000), 1000, 2000)
    assert abs(float(same.mean())) < 0.1
    assert float(same.std()) == pytest.approx(1.0, abs=0.05)
    np.testing.assert_array_equal(growth(np.array([5]), np.array([0]), 5, 0), [0.0])


def test_a_burst_is_told_once() -> None:
    """One story goes on evenly, another has few documents, then many for two slices, then few."""
    counts = {2001: (60, 2), 2002: (60, 2), 2003: (60, 40), 2004: (60, 140), 2005: (60, 2)}
    items: list[Item] = []
    for year, (even, burst) in counts.items():
        kinds = [EPISODES[0]] * even + [EPISODES[1]] * burst + [f"once{year}n{i} only{year}n{i}" for i in range(400)]
        order = np.random.default_rng(year).permutation(len(kinds)).tolist()
        items += [{"id": f"{year}-{i}", "time": year, "text": f"{kinds[i]} w{i}"} for i in order]
    store, labels = labelled(items, settings=StorySettings())
    size = Counter(labels.values())
    steady, burst_story = (story for story, _ in size.most_common(2))
    assert (size[steady], size[burst_story]) == (300, 186)
    assert [(event.slice, event.story) for event in happened(store, "burst")] == [(2003, burst_story)]
    frame, i = newest(store)[burst_story]
    assert frame.trend[i] < -4
    frame, i = newest(store)[steady]
    assert abs(frame.trend[i]) < 2


def test_documents_without_words_have_no_story() -> None:
    items: list[Item] = [{"id": f"d{i}", "time": 2001, "text": "the" if i % 2 else "harbour strike"} for i in range(10)]
    _, labels = labelled(items)
    assert [labels[f"d{i}"] for i in range(10)] == [0, -1] * 5


def test_titles_that_repeat_are_shown_once() -> None:
    items: list[Item] = [
        {"id": f"d{i}", "time": 2001, "title": "Docks closed", "text": "harbour strike docker"} for i in range(9)
    ]
    store, _ = labelled(items)
    frame, i = newest(store)[0]
    assert [title for _, title, _, _ in frame.documents[i]] == ["Docks closed"]


def test_years_of_plain_topics_are_followed() -> None:
    """Memory is bounded: stories that nobody joined are forgotten."""
    store = MemoryStore()
    items = [{"id": f"d{i}", "time": 2001, "text": f"one{i} two{i}"} for i in range(500)]
    runs = engine([*items, *years({2002: 30})], store, stories=SHORT)
    runs.run()
    level = runs.state.stories
    assert level is not None
    assert len(level.arrays()["book.ids"]) <= 41
