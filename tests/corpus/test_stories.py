"""What the tracker is for: topics that are found, change, die and are predicted, in streams whose story is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.data import corpus_file
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.directional.bessel import bessel_ratio
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.engine.observers.evaluation import Comparison
from vmfstream.engine.run import RunSettings, evaluate
from vmfstream.online.state import TrackerSettings, TrackState
from vmfstream.records import Document, Message, SliceReport
from vmfstream.replay.corpora import get
from vmfstream.replay.planted import PlantedSource, PlantedStream
from vmfstream.replay.planted.truth import TopicTruth, recovery
from vmfstream.replay.sorted_source import CorpusSource
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import TextEncoder

STREAM = PlantedStream(slices=24, documents_per_slice=200)
TRACK = TrackerSettings(topics=16, threads=1, window=400)
RECOVERED = 0.7


LIVING = replace(TRACK, living_topics=True)
SEEDS = (0, 1)


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


def story_of(track: TrackerSettings, stream: PlantedStream = STREAM) -> Story:
    """Follow a planted stream."""
    truth: list[int] = []
    found: list[int] = []
    slices: list[int] = []

    def keep(documents: Sequence[Document], topics: NDArray[np.int64]) -> None:
        truth.extend(document.meta["truth"] for document in documents)
        slices.extend(stream.labels.index(f"{document.time:%Y-%m}") for document in documents)
        found.extend(topics.tolist())

    run_file = MemoryStore()
    source, cut = PlantedSource(stream), EngineSettings(Slicing.parse("month"))
    batches = LocalBatches(source, FieldCodec(meta=("truth",)), cut, keep)
    Engine(source, TextEncoder(), TrackerModel(track), run_file, cut, batches).run()
    closed = [report for commit in run_file.commits for report in commit.closed]
    return Story(np.array(truth), np.array(found), np.array(slices), closed)


@pytest.fixture(scope="module")
def story() -> Story:
    return story_of(TRACK)


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
    story = story_of(TrackerSettings(topics=16, threads=1, window=400, persistences=(0.0,)))
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
        assert report.topics.drift_angle[here] < 5.0
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


@pytest.fixture(scope="module", params=SEEDS)
def life(request: pytest.FixtureRequest) -> Story:
    """The same stories, other documents for every seed; topics may come and go."""
    return story_of(LIVING, replace(STREAM, seed=request.param))


def test_topics_that_live_recover_the_truth(life: Story) -> None:
    settled = life.slice >= 4
    assert recovery(life.truth[settled], life.found[settled]).ari > 0.75


def test_a_seasonal_story_keeps_its_number_while_others_are_born(life: Story) -> None:
    own = life.truth == planted("film festival").topic
    topic = life.topic_of(planted("film festival"))
    for year in ((life.slice >= 4) & (life.slice < 12), life.slice >= 12):
        assert np.mean(life.found[own & year] == topic) > 0.9


def test_late_stories_get_topics_of_their_own(life: Story) -> None:
    ids = {life.topic_of(planted(name)) for name in ("virus", "comet", "robot taxis")}
    assert len(ids) == 3
    for name in ("virus", "comet", "robot taxis"):
        late = planted(name)
        after = (life.truth == late.topic) & (life.slice >= late.birth + 2)
        assert np.mean(life.found[after] == life.topic_of(late)) > 0.85


def test_stories_that_end_are_reported_as_dormant(life: Story) -> None:
    dormant = {
        (event.topic, t) for t, report in enumerate(life.closed) for event in report.events if event.kind == "dormant"
    }
    for name in ("harbour strike", "museum theft"):
        dead = planted(name)
        assert dead.death is not None
        slept = [t for topic, t in dormant if topic == life.topic_of(dead)]
        assert slept
        assert dead.death <= min(slept) <= dead.death + 2


def doubling(slices: int, per_slice: int, subjects: int = 3) -> list[dict[str, Any]]:
    """Documents whose words are replaced by twice as many at three times; half of a subject's words stay each time."""
    rng = np.random.default_rng(0)
    words = np.array(["".join(rng.choice(list("bcdfghklmnprstvw"), 7)) for _ in range(subjects * 480)]).reshape(
        subjects, -1
    )
    documents = []
    for t in range(slices):
        stage = 4 * t // slices
        known = 60 * 2**stage
        for n in range(per_slice):
            subject = n % subjects
            own = rng.choice(words[subject, :known], 12)
            foreign = rng.choice(words[rng.integers(subjects), :known], 3)
            text = " ".join([*own, *foreign])
            documents.append({"id": f"{t}-{n}", "time": f"{2000 + t}-06-01", "text": text, "truth": subject})
    return documents


SPOKEN = TrackerSettings(topics=3, threads=1, window=120, persistences=(0.95,))


def spoken(
    documents: Sequence[dict[str, Any]], capacity: int, track: TrackerSettings = SPOKEN
) -> tuple[list[int], list[int], TrackState, SliceReport]:
    """Follow documents; the topics on arrival, the sizes of the vocabulary, the state and the last slice."""
    found: list[int] = []
    sizes: list[int] = []
    run_file = MemoryStore()
    source, model = MemorySource(list(documents)), TrackerModel(track)
    settings = EngineSettings(Slicing.parse("year"), batch_documents=60)
    batches = LocalBatches(source, FieldCodec(), settings, lambda _, topics: found.extend(topics.tolist()))
    engine = Engine(source, TextEncoder(capacity=capacity), model, run_file, settings, batches)
    while not engine.finished:
        engine.run(stop=partial(reached, engine, engine.documents + 60))
        sizes += [model.state.dim] if model.state is not None else []
    assert model.state is not None
    return found, sizes, model.state, [report for commit in run_file.commits for report in commit.closed][-1]


def reached(engine: Engine, documents: int) -> bool:
    return engine.documents >= documents


@pytest.mark.parametrize("capacity", [5000, 600])
def test_a_vocabulary_that_doubles_three_times_keeps_its_topics(capacity: int) -> None:
    documents = doubling(slices=16, per_slice=60)
    found, sizes, state, last = spoken(documents, capacity)
    assert state.ids.tolist() == [0, 1, 2]
    assert recovery([document["truth"] for document in documents][-len(found) :], found).ari > 0.95
    assert max(sizes) <= capacity
    assert sizes[-1] > 5 * sizes[0] or sizes[-1] == capacity
    fresh = spoken(documents[-240:], capacity)[2]
    cosines = [float(bessel_ratio(s.dim, s.kappa)) for s in (state, fresh)]
    assert cosines[0] == pytest.approx(cosines[1], rel=0.2)
    new = {word for document in documents[-60:] for word in document["text"].split()}
    new -= {word for document in documents[:720] for word in document["text"].split()}
    assert last.topics is not None
    for words in last.topics.words:
        assert {word for word, _ in words} & new


def test_a_concentration_that_is_not_learnt_means_the_same_in_every_vocabulary() -> None:
    still = replace(SPOKEN, refit=False, concentration_step=0.0)
    documents = doubling(slices=16, per_slice=60)
    _, sizes, state, _ = spoken(documents, 5000, still)
    _, _, early, _ = spoken(documents[:120], 5000, still)
    assert state.dim > 4 * early.dim
    assert bessel_ratio(state.dim, state.kappa) == pytest.approx(float(bessel_ratio(early.dim, early.kappa)), rel=1e-6)
    assert sizes == sorted(sizes)


def test_following_predicts_better_than_freezing_or_forgetting() -> None:
    stream = PlantedStream(slices=12, documents_per_slice=80)
    settings = RunSettings(topics=12, slices="month", threads=1)
    comparison = evaluate(PlantedSource(stream), FieldCodec(), settings)
    assert len(comparison.rows) == 11
    assert comparison.mean("tracker") > 1.2 * comparison.mean("frozen")
    assert comparison.mean("tracker") > 2.0 * comparison.mean("cut")
    assert comparison.mean("tracker") > comparison.mean("static")


def compared(name: str, until: int = 9999) -> Comparison:
    corpus = get(name)
    corpus_file(corpus.file)
    messages: list[Message] = []
    with closing(CorpusSource(corpus)) as source:
        while not source.exhausted:
            messages += source.poll(10_000, 0.0)
    values = [m.value for m in messages if isinstance(m.value, dict) and int(str(m.value["time"])[:4]) <= until]
    settings = RunSettings(topics=30, slices=corpus.slices, stop_words=" ".join(corpus.stop_words))
    comparison = evaluate(MemorySource(values), FieldCodec(), settings)
    print(f"\n{corpus.title}, {len(values):,} documents\n{comparison.render()}")
    return comparison


@pytest.mark.corpus
def test_abstracts_are_predicted_as_well_as_by_refitting_on_all_past() -> None:
    comparison = compared("nips", until=2003)
    assert len(comparison.rows) >= 10
    assert comparison.mean("tracker") >= 0.98 * comparison.mean("static")
    assert comparison.mean("tracker") > comparison.mean("frozen")


@pytest.mark.corpus
def test_news_are_predicted_as_well_as_by_refitting_on_all_past() -> None:
    comparison = compared("nyt", until=2001)
    assert len(comparison.rows) == 5
    assert comparison.mean("tracker") >= comparison.mean("static")
    assert comparison.mean("tracker") > comparison.mean("frozen")
