"""What the tracker is for: topics that are found, change, die and are foretold, in streams whose story is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.shared import shared
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.engine import Engine, EngineSettings
from vmfstream.engine.evaluate import Comparison
from vmfstream.engine.follow import RunSettings, evaluate
from vmfstream.engine.slices import Slicing
from vmfstream.log.memory import MemoryLog
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Document, Message, SliceReport
from vmfstream.replay.corpus import get
from vmfstream.replay.planted import PlantedSource, PlantedStream, TopicTruth, recovery
from vmfstream.replay.source import CorpusSource
from vmfstream.text.encoders import TextEncoder

STREAM = PlantedStream(slices=24, documents_per_slice=200)
TRACK = TrackerSettings(topics=16, threads=1, window=400)
RECOVERED = 0.7


@dataclass(frozen=True)
class Story:
    """What was planted, and the topic that each document got on arrival, with its slice."""

    truth: NDArray[np.int64]
    found: NDArray[np.int64]
    slice: NDArray[np.int64]
    closed: list[SliceReport]

    def topic_of(self, planted: TopicTruth) -> int:
        """The topic that most of a planted story's documents got."""
        found: list[int] = self.found[self.truth == planted.topic].tolist()
        return Counter(found).most_common(1)[0][0]

    def words(self, topic: int, top: int) -> list[list[str]]:
        """Its words at the end of every slice."""
        rows = [report.topics for report in self.closed]
        return [[word for word, _ in row.words[row.topic.tolist().index(topic)][:top]] for row in rows if row]


def told(track: TrackerSettings) -> Story:
    """Follow the planted stream."""
    truth: list[int] = []
    found: list[int] = []
    slices: list[int] = []

    def keep(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        truth.extend(document.meta["truth"] for document in documents)
        slices.extend(STREAM.labels.index(f"{document.time:%Y-%m}") for document in documents)
        found.extend(topics.tolist())

    log = MemoryLog()
    parts = (PlantedSource(STREAM), FieldCodec(meta=("truth",)), TextEncoder(), log)
    Engine(*parts, track, EngineSettings(Slicing("month")), keep).run()
    closed = [report for commit in log.commits for report in commit.closed]
    return Story(np.array(truth), np.array(found), np.array(slices), closed)


@pytest.fixture(scope="module")
def story() -> Story:
    return told(TRACK)


def planted(name: str) -> TopicTruth:
    return next(topic for topic in STREAM.truth.topics if topic.name == name)


def test_truth_is_recovered_on_arrival(story: Story) -> None:
    """Every label was given before the document was learnt, the first slice aside."""
    assert len(story.truth) == STREAM.total - len(list(STREAM.slice(0)))
    found = recovery(story.truth, story.found)
    assert found.nmi > RECOVERED
    assert found.ari > RECOVERED


def test_without_the_link_between_slices_nothing_is_recovered() -> None:
    """Guards the bound above."""
    story = told(TrackerSettings(topics=16, threads=1, window=400, persistences=(0.0,)))
    assert recovery(story.truth, story.found).nmi < 0.2


@pytest.mark.parametrize("name", ["election", "virus", "bank crisis", "phones"])
def test_a_drift_is_seen_in_the_words(story: Story, name: str) -> None:
    topic = planted(name)
    words = story.words(story.topic_of(topic), top=20)
    for old, new in zip(topic.phases, topic.phases[1:], strict=False):
        only_old, only_new = set(old.words) - set(new.words), set(new.words) - set(old.words)
        leads = [len(only_new & set(found)) >= len(only_old & set(found)) for found in words]
        changed = leads.index(True, old.begins)
        assert new.begins - 1 <= changed <= new.begins + 2
        assert not any(leads[old.begins : changed])
        assert all(leads[changed : new.ends])


@pytest.mark.parametrize("name", ["harbour strike", "museum theft", "comet"])
def test_a_dead_story_keeps_its_topic(story: Story, name: str) -> None:
    dead = planted(name)
    topic, death = story.topic_of(dead), dead.death
    assert death is not None
    after = story.slice >= death
    assert (story.found[story.slice == death - 2] == topic).any()
    assert np.count_nonzero(story.found[after] == topic) <= 0.002 * after.sum()
    for report in story.closed[death:]:
        assert report.topics is not None
        here = report.topics.topic.tolist().index(topic)
        assert report.topics.n[here] < 1.0
        assert report.topics.speed[here] < 5.0
    words = story.words(topic, top=6)[death - 1 :]
    assert all(len(set(words[0]) & set(later)) >= 4 for later in words[1:])


def test_ids_are_never_used_again(story: Story) -> None:
    before: set[int] = set()
    for report in story.closed:
        assert report.topics is not None
        here = set(report.topics.topic.tolist())
        assert before <= here
        new = here - before
        assert not before or not new or min(new) > max(before)
        assert [event.topic for event in report.events if event.kind == "started"] == sorted(new)
        before = here


def test_a_seasonal_story_comes_back_under_its_id(story: Story) -> None:
    festival = planted("film festival")
    own = story.truth == festival.topic
    topic = story.topic_of(festival)
    for year in (story.slice < 12, story.slice >= 12):
        assert np.mean(story.found[own & year] == topic) > 0.8


def test_following_foretells_better_than_freezing_or_forgetting() -> None:
    stream = PlantedStream(slices=12, documents_per_slice=80)
    settings = RunSettings(topics=12, slices="month", threads=1)
    comparison = evaluate(PlantedSource(stream), FieldCodec(), settings)
    assert len(comparison.rows) == 11
    assert comparison.mean("tracker") > 1.2 * comparison.mean("frozen")
    assert comparison.mean("tracker") > 2.0 * comparison.mean("cut")
    assert comparison.mean("tracker") > comparison.mean("static")


def compared(name: str, until: int = 9999) -> Comparison:
    corpus = get(name)
    shared(f"data/{corpus.file}")
    messages: list[Message] = []
    with closing(CorpusSource(corpus)) as source:
        while not source.exhausted:
            messages += source.poll(10_000, 0.0)
    values = [m.value for m in messages if isinstance(m.value, dict) and int(str(m.value["time"])[:4]) <= until]
    settings = RunSettings(topics=30, slices=corpus.slices, stop_words=" ".join(corpus.stop_words))
    comparison = evaluate(MemorySource(values), FieldCodec(), settings)
    print(f"\n{corpus.title}, {len(values):,} documents\n{comparison.render()}")
    return comparison


@pytest.mark.slow
def test_abstracts_are_foretold_as_well_as_by_refitting_on_all_past() -> None:
    comparison = compared("nips", until=2003)
    assert len(comparison.rows) >= 10
    assert comparison.mean("tracker") >= 0.98 * comparison.mean("static")
    assert comparison.mean("tracker") > comparison.mean("frozen")


@pytest.mark.slow
def test_news_are_foretold_better_than_by_refitting_on_all_past() -> None:
    comparison = compared("nyt")
    assert len(comparison.rows) >= 10
    assert comparison.mean("tracker") >= comparison.mean("static")
    assert comparison.mean("tracker") > comparison.mean("frozen")
