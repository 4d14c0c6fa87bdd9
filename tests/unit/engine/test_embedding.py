"""Runs on vectors of texts: rejections, the same bits on resume, workers' copies, errors."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.engine.documents import SUBJECTS, closed, committed, document
from vmfstream import TopicTracker
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.embedding import EmbeddingCodec
from vmfstream.engine.loop.engine import Progress
from vmfstream.engine.run import RunSettings, follow
from vmfstream.errors import InputError
from vmfstream.records import Message
from vmfstream.runfile.memory import MemoryStore
from vmfstream.text.sentence_models import FunctionModel, sentence_model

DIRECTIONS = np.random.default_rng(0).standard_normal((3, 8))


def subjects(texts: list[str]) -> NDArray[np.float64]:
    """Vectors by the subjects of texts; not finite, or an error, where a text asks for it."""
    if any("broken" in text for text in texts):
        raise RuntimeError("no such token")
    counts = [[sum(word in subject for word in text.split()) + 0.1 for subject in SUBJECTS] for text in texts]
    found = np.array(counts) @ DIRECTIONS
    found[["infinite" in text for text in texts]] = np.nan
    return found


def silent(texts: list[str]) -> NDArray[np.float64]:
    """The same, with zeros for a text that says so."""
    found = subjects(texts)
    found[["nothing" in text for text in texts]] = 0.0
    return found


def wider(texts: list[str]) -> NDArray[np.float64]:
    """Vectors of another dimension."""
    return np.ones((len(texts), 9))


def failing(texts: list[str]) -> NDArray[np.float64]:
    """A model that fails on all texts but the one with which it is tried."""
    if texts != ["a"]:
        raise RuntimeError("no memory")
    return np.ones((1, 8))


HERE = f"{__name__}:subjects"
SETTINGS = RunSettings(topics=3, slices="year", embed=HERE, threads=1, documents="all")


def items(sizes: dict[int, int]) -> list[dict[str, Any]]:
    times = [year for year, size in sizes.items() for _ in range(size)]
    return [document(i, time) for i, time in enumerate(times)]


def codec(function: Any = subjects) -> EmbeddingCodec:
    return EmbeddingCodec(FieldCodec(), lambda: FunctionModel(function, "mine"), "mine")


def messages(*texts: object) -> Sequence[Message]:
    return MemorySource([{"id": str(i), "time": 2001, "text": text} for i, text in enumerate(texts)]).poll(99, 0.0)


def test_documents_get_the_vectors_of_their_texts() -> None:
    found = codec().decode_all(messages("ship", "moon orbit"))
    assert found.vector is not None
    np.testing.assert_array_equal(np.array(found.vector), np.float32(subjects(["ship", "moon orbit"])))
    one = codec().decode(messages("moon orbit")[0])
    np.testing.assert_array_equal(one.vector, found.vector[1])  # type: ignore[union-attr]


def test_a_text_that_the_model_fails_on_is_rejected_alone() -> None:
    found = codec().decode_all(messages("ship", "broken ship", "infinite moon", 3, "moon"))
    assert {at: one.reason for at, one in found.rejected.items()} == {
        1: "mine failed with RuntimeError: no such token",
        2: "mine made numbers of the text that are not finite",
        3: "text is no text: it is a number",
    }
    assert [found.rejected[at].offset for at in (1, 2)] == [1, 2]
    assert found.rejected[2].excerpt == "infinite moon"
    assert found.vector is not None
    np.testing.assert_array_equal(np.array([found.vector[0], found.vector[4]]), np.float32(subjects(["ship", "moon"])))


def test_a_model_that_fails_on_everything_ends_the_run() -> None:
    with pytest.raises(InputError, match="mine failed on all of 2 texts: no memory"):
        codec(failing).decode_all(messages("ship", "moon"))


def test_a_model_whose_numbers_are_never_finite_ends_the_run() -> None:
    with pytest.raises(InputError, match="mine failed on all of 2 texts: mine made numbers of the text that are not"):
        codec().decode_all(messages("infinite ship", "infinite moon"))
    found = codec().decode_all(messages("infinite ship"))  # of one text nothing follows
    assert len(found.rejected) == 1


def test_workers_load_their_own_model() -> None:
    embedding = SETTINGS.embedding(FieldCodec())
    assert isinstance(embedding, EmbeddingCodec)
    embedding.decode_all(messages("ship"))
    copy = pickle.loads(pickle.dumps(embedding))
    assert "model" not in vars(copy)
    np.testing.assert_array_equal(
        np.array(copy.decode_all(messages("moon")).vector), np.array(embedding.decode_all(messages("moon")).vector)
    )


def test_a_run_counts_rejections_and_names_topics_by_words() -> None:
    store = MemoryStore()
    bad = [{"id": "x", "time": 2001, "text": "infinite ship"}, {"id": "y", "time": 2001, "text": "broken moon"}]
    both = items({2001: 60, 2002: 60})
    engine = follow(MemorySource([*both[:60], *bad, *both[60:]]), FieldCodec(), store, SETTINGS)
    assert [one.offset for commit in store.commits for one in commit.rejected] == [60, 61]
    assert engine.documents == 120
    topics = closed(store)[-1].topics
    assert topics is not None
    assert {frozenset(w for w, _ in words[:8]) for words in topics.words} == {frozenset(s) for s in SUBJECTS}
    assert sum("embedding" in commit.seconds for commit in store.commits) > 0


@pytest.mark.thorough
@pytest.mark.parametrize("ahead", [0, 2**20])
def test_a_run_that_is_killed_after_every_epoch_is_the_same(ahead: int) -> None:
    given: dict[str, Any] = {"settings": RunSettings(**SETTINGS_OF_CRASH), "ahead": ahead}
    whole, parts = MemoryStore(), MemoryStore()
    source = items({2001: 60, 2002: 90, 2003: 40})
    follow(MemorySource(source), FieldCodec(), whole, **given)

    def crash(now: Progress) -> None:
        if now.epoch > begun.epoch:
            raise KeyboardInterrupt

    for _ in range(len(whole.commits)):
        begun = parts.commits[-1].epoch if parts.commits else Progress(0, "", 0, 0, 0.0, False)
        with contextlib.suppress(KeyboardInterrupt):
            follow(MemorySource(source), FieldCodec(), parts, observe=crash, **given)
    assert len(parts.commits) >= 6
    assert committed(parts) == committed(whole)


SETTINGS_OF_CRASH: dict[str, Any] = {
    "topics": 3,
    "slices": "year",
    "embed": "wordllama",
    "threads": 1,
    "epoch_documents": 25,
    "documents": "all",
}


def test_other_dimensions_and_models_on_resume_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore()
    follow(MemorySource(items({2001: 60}), name="s"), FieldCodec(), store, SETTINGS)
    with pytest.raises(InputError, match=r"was begun with embed = .* and cannot be continued with 'wordllama'"):
        follow(MemorySource(items({2001: 60})), FieldCodec(), store, RunSettings(**{**OWN, "embed": "wordllama"}))
    from vmfstream.text.sentence_models import _loaded

    _loaded.cache_clear()
    monkeypatch.setitem(globals(), "subjects", wider)
    try:
        with pytest.raises(InputError, match="dimension: the stored run has 8, now 9"):
            follow(MemorySource(items({2001: 60, 2002: 5})), FieldCodec(), store, SETTINGS)
    finally:
        _loaded.cache_clear()


OWN: dict[str, Any] = {"topics": 3, "slices": "year", "threads": 1, "documents": "all"}


# --- from Python


def learnt(embed: Any) -> TopicTracker:
    tracker = TopicTracker(topics=3, embed=embed)
    texts = [item["text"] for item in items({2001: 60})]
    return tracker.learn(texts, 2001).learn(texts, 2002)


def test_a_tracker_takes_a_function_or_its_name() -> None:
    by_function, by_name = learnt(subjects), learnt(HERE)
    assert [row["words"] for row in by_function.topics()] == [row["words"] for row in by_name.topics()]
    found = by_function.transform(["a ship", "the moon"])
    np.testing.assert_array_equal(found, by_name.transform(["a ship", "the moon"]))
    assert found.argmax(axis=1)[0] != found.argmax(axis=1)[1]
    assert by_function.novelty(["", "moon"])[0] < np.inf


@pytest.mark.thorough
def test_a_tracker_goes_on_from_a_file_and_a_pickle(tmp_path: Any) -> None:
    tracker = learnt(subjects)
    tracker.save(tmp_path / "t.duckdb")
    others = [TopicTracker.load(tmp_path / "t.duckdb", embed=HERE), pickle.loads(pickle.dumps(tracker))]
    texts = [item["text"] for item in items({2003: 30})]
    tracker.learn(texts, 2003).finish()
    wanted = tracker.topics()
    for other in others:
        other.learn(texts, 2003).finish()
        assert repr(other.topics()) == repr(wanted)


@pytest.mark.filterwarnings("ignore:.*were not learnt")
def test_a_tracker_counts_texts_without_vectors() -> None:
    tracker = TopicTracker(topics=3, embed=subjects, documents=True)
    with pytest.warns(UserWarning, match="40 of 80 documents were not learnt"):
        tracker.learn(["ship", "infinite", "", "moon"] * 20, 2001).finish()
    reasons = [one.reason for one in tracker.rejected]
    assert {reason: reasons.count(reason) for reason in reasons} == {
        f"{HERE} made numbers of the text that are not finite": 20,
        "text is empty": 20,
    }


def test_a_text_without_a_direction_has_no_topic() -> None:
    tracker = TopicTracker(topics=2, embed=silent, documents=True)
    tracker.learn(["a ship in the harbour", "nothing", "the moon and a comet"] * 20, 2001)
    tracker.learn(["ship", "nothing", "moon"], 2002).finish()
    assert [one is None or one == -1 for one in list(tracker.documents()["topic"])[-3:]] == [False, True, False]


def test_labels_name_a_text_whose_vector_is_not_finite() -> None:
    tracker = TopicTracker(topics=2, embed=subjects).learn(["a ship in the harbour", "the moon and a comet"] * 20, 2001)
    tracker.finish()
    for ask in (tracker.predict, tracker.label):
        with pytest.raises(InputError, match=r"made numbers of a text that are not finite: 'infinite moon'$"):
            ask(["a ship", "infinite moon"])


def test_vectors_of_zeros_have_no_topics_and_that_is_why() -> None:
    tracker = TopicTracker(topics=2, embed=silent).learn(["nothing"] * 20, 2001)
    tracker.finish()
    assert repr(tracker).endswith("0 topics; next: stories(); all vectors are zeros")
    with pytest.raises(InputError, match="those of vectors one that is not 0"):
        tracker.predict(["a ship"])


@pytest.mark.parametrize("embed", ["", 3, ["wordllama"]])
def test_what_is_no_model(embed: Any) -> None:
    with pytest.raises(InputError, match="embed: expected the name of a model or a function, got"):
        TopicTracker(embed=embed)


def test_no_such_model_is_found_before_anything_is_read() -> None:
    with pytest.raises(InputError, match=r"expected wordllama, onnx:FILE"):
        TopicTracker(embed="no.such:model")
    with pytest.raises(InputError, match=r"expected wordllama, onnx:FILE"):
        RunSettings(embed="no.such:model").check_encoder()
    assert sentence_model(HERE).dimension == 8


# --- stories of words and vectors


def told(first: int, second: int) -> dict[str, Any]:
    """A document of three words that all share, and four of a subject."""
    own = SUBJECTS[second][first % 4 : first % 4 + 4]
    return {"id": f"{first}", "time": 2001, "text": " ".join(["report says today", *own])}


def test_stories_are_made_of_words_and_vectors() -> None:
    store = MemoryStore()
    engine = follow(MemorySource([told(i, i % 3) for i in range(60)]), FieldCodec(), store, SETTINGS)
    state = engine.state.stories.arrays()  # type: ignore[union-attr]
    assert state["mixture.beside"].shape == (len(state["mixture.ids"]), 8)
    np.testing.assert_allclose(state["mixture.beside_square"], (state["mixture.beside"] ** 2).sum(axis=1), rtol=1e-4)
    assert state["mixture.size"].sum() == 60


def test_stories_of_words_alone_go_on_without_vectors() -> None:
    """As in run files of before stories had vectors."""
    from vmfstream.engine.loop.document_buffer import KeptDocuments
    from vmfstream.engine.loop.stories import StoryDocuments, StoryLevel
    from vmfstream.stories.settings import StorySettings

    encoder = SETTINGS.encoder()
    decoded = codec().decode_all(MemorySource([told(i, i % 3) for i in range(60)]).poll(99, 0.0))
    counts = encoder.count(decoded)
    kept, none = KeptDocuments.of(decoded), (np.full(60, -1), np.zeros(60))
    words = StoryDocuments(encoder.word_counts(counts), kept, *none)  # type: ignore[attr-defined]
    both = StoryDocuments(words.counts, kept, *none, encoder.vectors_beside(counts))  # type: ignore[attr-defined]
    one = StoryLevel(StorySettings(), encoder.vocabulary)  # type: ignore[attr-defined]
    other = StoryLevel(StorySettings(), encoder.vocabulary)  # type: ignore[attr-defined]

    def labels(level: StoryLevel, documents: StoryDocuments) -> NDArray[np.int64]:
        return level.note(level.assign(documents.counts, kept.times, documents.vectors), documents, 0)

    labels(one, words)
    other.restore(one.arrays())
    np.testing.assert_array_equal(labels(other, both), labels(one, words))
    assert both.merged(both).vectors.shape == (120, 8)  # type: ignore[union-attr]


def test_frozen_stories_take_words_and_vectors(tmp_path: Any) -> None:
    tracker = learnt(HERE)
    frozen = tracker.freeze()
    texts = [item["text"] for item in items({2001: 9})]
    wanted = frozen.label(texts)
    assert (wanted["story"] >= 0).all()
    frozen.save(tmp_path / "model")
    again = type(frozen).load(tmp_path / "model", embed=HERE)
    np.testing.assert_array_equal(again.label(texts)["story"], wanted["story"])
    array = np.load(tmp_path / "model" / "stories.mixture.beside.npy")
    np.save(tmp_path / "model" / "stories.mixture.beside.npy", array[:, :-1].copy())
    with pytest.raises(InputError, match=r"is damaged: .*expected a size of 7, got"):
        type(frozen).load(tmp_path / "model", embed=HERE)
