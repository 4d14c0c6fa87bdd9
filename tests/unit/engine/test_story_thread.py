"""Stories learn in a thread of their own: the result is the same however late they are, and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from threading import Condition, Event, current_thread
from threading import enumerate as threads
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine.documents import committed, document, engine, years
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import Item, MemorySource
from vmfstream.engine.loop import learning, stories, story_thread
from vmfstream.engine.loop.document_buffer import KeptDocuments
from vmfstream.engine.loop.engine import Engine, EngineSettings
from vmfstream.engine.loop.local_batches import LocalBatches
from vmfstream.engine.loop.stories import StoryDocuments, StoryLevel, StoryStep
from vmfstream.engine.loop.story_thread import StoryThread
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.online.state import TrackerSettings
from vmfstream.records import Document, Documents
from vmfstream.runfile.memory import MemoryStore
from vmfstream.slicing import Slicing
from vmfstream.stages import StageClock, timed
from vmfstream.stories.settings import StorySettings
from vmfstream.text.encoders import TextEncoder

SHORT = StorySettings(half_life=5.0)
"""Stories that end after 40 documents of others."""


VERBS = ("depart", "collect", "visit", "attack", "gather", "appoint")


class AtOnce:
    """Stands for a pool whose thread is always ahead."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work())
        return done

    def shutdown(self) -> None:
        pass


class Latest(AtOnce):
    """Stands for one whose thread works only when it is waited for."""

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        return _Waiting(work)


class Ending(AtOnce):
    """Stands for one that gives no thread any more after some time, as while the interpreter ends."""

    def __init__(self, *_: object) -> None:
        self._left = 5

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("cannot schedule new futures after shutdown")
        return super().submit(work)


class _Waiting(Future[Any]):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def result(self, timeout: float | None = None) -> Any:
        return self._work()


def stream() -> list[Item]:
    """Documents of three subjects, among which a story of eight documents follows the other, with words of one stem."""
    items: list[Item] = []
    for i, year in enumerate(np.repeat(np.arange(2001, 2007), 60).tolist()):
        one, episode = document(i, year), i // 16
        if i % 2:
            ending, letter = ("ed", "ing", "s")[i // 2 % 3], chr(97 + episode)
            one["text"] = f"event{letter} place{letter} {VERBS[episode % len(VERBS)]}{ending} w{i}"
        items.append(one)
    return items


def followed(pool: object, monkeypatch: pytest.MonkeyPatch, vocabulary: dict[str, Any]) -> list[str]:
    """All that is committed, and the stories that were told, with such a pool of threads."""
    if pool is not None:
        monkeypatch.setattr(story_thread, "ThreadPoolExecutor", pool)
    told: list[str] = []

    def keep(documents: Sequence[Any], stories: NDArray[np.int64]) -> None:
        told.extend(f"{one.id} {story}" for one, story in zip(documents, stories.tolist(), strict=True))

    cut = EngineSettings(
        Slicing.parse("year"), stories=SHORT, batch_documents=8, epoch_documents=24, documents=True, story_window=20
    )
    source, store = MemorySource(stream()), MemoryStore()
    batches = LocalBatches(source, FieldCodec(), cut, in_stories=keep)
    model = TrackerModel(TrackerSettings(topics=3, threads=1, cold_starts=2))
    Engine(source, TextEncoder(**vocabulary), model, store, cut, batches).run()
    monkeypatch.undo()
    return [*committed(store), *told]


@pytest.mark.parametrize(
    "vocabulary",
    [{}, {"capacity": 24, "min_df": 1}, {"stem": "english"}],
    ids=["terms that stay", "terms that are pruned", "words that are stemmed"],
)
def test_results_do_not_depend_on_how_late_stories_are(
    vocabulary: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = followed(AtOnce, monkeypatch, vocabulary)
    assert sum(line.startswith("d") for line in at_once) == 360
    assert followed(Latest, monkeypatch, vocabulary) == at_once
    assert followed(Ending, monkeypatch, vocabulary) == at_once
    assert followed(None, monkeypatch, vocabulary) == at_once


def test_results_do_not_depend_on_the_parts_in_which_words_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for part in (4, 8):
        monkeypatch.setattr(stories, "AT_ONCE", 4)
        monkeypatch.setattr(learning, "AT_ONCE", part)
        found.append(followed(None, monkeypatch, {}))
    assert found[0] == found[1]


def test_stories_begin_before_topics_have_scored_the_same_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch waits for its stories before it is scored."""
    count, assign, learn = TextEncoder.count, StoryLevel.assign, TrackerModel.learn
    counted, assigned, scored, changed = [0], [0], [0], Condition()

    def counts(self: TextEncoder, documents: Sequence[Document]) -> Any:
        counted[0] += 1
        return count(self, documents)

    def steps(self: StoryLevel, *arguments: Any) -> list[StoryStep]:
        found = assign(self, *arguments)
        with changed:
            assigned[0] += 1
            changed.notify_all()
        return found

    def scores(self: TrackerModel, *arguments: Any, **named: Any) -> Any:
        with changed:
            assert changed.wait_for(lambda: assigned == counted, 60.0)
        scored[0] += 1
        return learn(self, *arguments, **named)

    monkeypatch.setattr(TextEncoder, "count", counts)
    monkeypatch.setattr(StoryLevel, "assign", steps)
    monkeypatch.setattr(TrackerModel, "learn", scores)
    followed(None, monkeypatch, {})
    assert scored[0] > 10


def test_terms_that_come_later_change_no_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_thread, "ThreadPoolExecutor", Latest)
    encoder = TextEncoder()
    texts = Documents.of([Document("a", 0, "a", datetime(2001, 1, 1, tzinfo=UTC), "harbour strike")])
    documents = StoryDocuments(encoder.count(texts), KeptDocuments.of(texts), np.zeros(1, np.int64), np.zeros(1))
    thread, terms = StoryThread(StoryLevel(SHORT, encoder.vocabulary)), encoder.vocabulary.n_terms
    with thread:
        thread.learn(documents, 0, 0, lambda labels: None)
        encoder.vocabulary.add_phrases(["comet orbit"])
        assert encoder.vocabulary.n_terms == terms + 1
        assert thread.settled().arrays()["mixture.form"][0] == terms


def test_stories_learn_while_topics_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch of stories waits until another batch has been given; it is learnt in another thread."""
    given, names = Event(), set()
    assign, submit = StoryLevel.assign, StoryThread.learn
    calls = [0]

    def slow(self: StoryLevel, *arguments: Any) -> list[StoryStep]:
        names.add(current_thread().name.split("_")[0])
        assert given.wait(60.0)
        return assign(self, *arguments)

    def counted(self: StoryThread, *arguments: Any) -> None:
        submit(self, *arguments)
        calls[0] += 1
        if calls[0] == 2:
            given.set()

    monkeypatch.setattr(StoryLevel, "assign", slow)
    monkeypatch.setattr(StoryThread, "learn", counted)
    engine(years({2001: 40}), stories=SHORT, batch_documents=10).run()
    assert calls[0] == 4
    assert names == {"vmfstream-stories"}
    assert not [one for one in threads() if one.name.startswith("vmfstream-stories")]


def test_an_error_of_stories_ends_the_run_at_the_last_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    assign, calls = StoryLevel.assign, [0]

    def failing(self: StoryLevel, *arguments: Any) -> list[StoryStep]:
        calls[0] += 1
        if calls[0] == 4:
            raise MemoryError("no room for stories")
        return assign(self, *arguments)

    store = MemoryStore()
    monkeypatch.setattr(StoryLevel, "assign", failing)
    with pytest.raises(MemoryError, match="no room for stories"):
        engine(years({2001: 90}), store, stories=SHORT, batch_documents=10, epoch_documents=20).run()
    assert [commit.epoch.n for commit in store.commits] == [20]
    assert not [one for one in threads() if one.name.startswith("vmfstream-stories")]


def test_after_an_error_elsewhere_labels_belong_to_their_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was given before it is told to nobody later."""
    tracker = TopicTracker(topics=2, slices=50)
    tracker.learn([f"harbour strike w{i}" for i in range(20)])
    fold, story_labels = type(tracker._engine.state).fold, tracker.story_labels

    def interrupted(self: Any, *arguments: Any) -> None:
        fold(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(tracker._engine.state), "fold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tracker.learn([f"comet orbit w{i}" for i in range(30)])
    monkeypatch.undo()
    tracker.learn([f"comet orbit w{i}" for i in range(5)])
    assert set(story_labels.tolist()) == {0}
    assert tracker.story_labels.tolist() == [1] * 5


def test_the_clock_counts_stories_beside_what_waits_for_them() -> None:
    encoder, clock = TextEncoder(), StageClock()
    thread = StoryThread(StoryLevel(SHORT, encoder.vocabulary))
    kept = KeptDocuments.of(Documents.of([]))
    nothing = StoryDocuments(encoder.count([]), kept, np.zeros(0, np.int64), np.zeros(0))
    told: list[list[int]] = []
    with clock.on(), thread, timed("slice ends"):
        thread.learn(nothing, 0, 0, lambda labels: told.append(labels.tolist()))
        thread.settled()
    seconds = clock.take()
    assert set(seconds) == {"slice ends", "waiting", "stories"}
    assert told == [[]]
