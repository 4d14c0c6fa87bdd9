"""Words for topics of vectors: those that are frequent in a topic's documents and rare in others'."""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from tests.unit.engine.documents import SUBJECTS, committed, document, engine
from vmfstream.connectors.codecs import FieldCodec
from vmfstream.connectors.memory import MemorySource
from vmfstream.engine.loop.engine import Progress
from vmfstream.engine.run import RunSettings, follow
from vmfstream.engine.snapshots.batch import take_snapshots
from vmfstream.errors import InputError, MissingExtra
from vmfstream.records import Document
from vmfstream.runfile.memory import MemoryStore
from vmfstream.runfile.queries import Reader
from vmfstream.runfile.writer import RunFile
from vmfstream.text.named_vectors import NamedVectorEncoder, SentenceEncoder, class_tf_idf
from vmfstream.text.sentence_models import _loaded, sentence_model
from vmfstream.text.vocabulary import Vocabulary

NOW = datetime(2024, 1, 1, tzinfo=UTC)
CENTRES = np.random.default_rng(0).standard_normal((3, 16))


def vector(i: int) -> list[float]:
    noise = np.random.default_rng(i + 1).standard_normal(16)
    return [float(v) for v in CENTRES[i % 3] + 0.3 * noise]


def items(sizes: dict[int, int]) -> list[dict[str, Any]]:
    times = [year for year, size in sizes.items() for _ in range(size)]
    return [document(i, time) | {"emb": vector(i)} for i, time in enumerate(times)]


def encoder(**settings: Any) -> NamedVectorEncoder:
    return NamedVectorEncoder(16, Vocabulary(min_df=1, max_df_share=1.0, **settings))


def some(n: int, first: int = 0) -> list[Document]:
    rows = [document(i, 2001) for i in range(first, first + n)]
    return [
        Document("a", i, row["id"], NOW, row["text"], np.array(vector(i), np.float32))
        for i, row in enumerate(rows, first)
    ]


def one_hot(n: int, first: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.eye(16, dtype=np.float32)[(np.arange(n) + first) % 3]


# --- weights


def test_weights_are_those_of_the_formula() -> None:
    counts = np.random.default_rng(2).poisson(2.0, (4, 9)).astype(float)
    average, often = counts.sum() / 4, counts.sum(axis=0)
    wanted = counts / counts.sum(axis=1)[:, None] * np.log(1 + average / often)
    np.testing.assert_allclose(class_tf_idf(counts), wanted / np.linalg.norm(wanted, axis=1, keepdims=True), rtol=1e-6)


def test_classes_and_words_without_counts_have_no_weight() -> None:
    found = class_tf_idf(np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0]]))
    assert found[0].tolist() == [0, 0, 0]
    assert found[1, 1] == 0
    assert not class_tf_idf(np.zeros((2, 3))).any()


def test_words_are_counted_by_topic() -> None:
    one, docs = encoder(), some(30)
    counts = one.count(docs)
    one.close_slice()
    resp = np.random.default_rng(3).dirichlet(np.ones(3), 30).astype(np.float32)
    words = CountVectorizer(vocabulary=one.vocabulary.words())
    plain = words.transform([doc.text or "" for doc in docs]).toarray()
    np.testing.assert_allclose(one.by_topic(counts, resp), resp.T @ plain, rtol=1e-5)


# --- the encoder


def test_topics_are_named_at_the_end_of_a_slice() -> None:
    one = encoder()
    counts = one.count(some(60))
    one.close_slice()
    ids = np.array([4, 7, 9])
    nothing = np.zeros((16, 3), np.float32)
    assert one.words(nothing, 8, 3, (2001, ids)) == [[], [], []]
    one.observe_slice(2001, ids, [counts], one_hot(60))
    found = one.words(nothing, 8, 3, (2001, ids))
    assert [{word for word, _ in words} for words in found] == [set(subject) for subject in SUBJECTS]
    swapped = one.words(nothing, 8, 3, (2002, np.array([9, 4, 5])))
    assert swapped == [found[2], found[0], []]
    assert one.words(nothing, 2, 1) == [[]]


@pytest.mark.parametrize(("text", "told"), [("absent", 1), ("text", 0)])
def test_topics_without_names_are_told_once(text: str, told: int, caplog: pytest.LogCaptureFixture) -> None:
    source = MemorySource(items({2001: 40, 2002: 40, 2003: 40}))
    settings = RunSettings(topics=3, threads=1, dimension=16, named=True)
    follow(source, FieldCodec(vector="emb", text=text), MemoryStore(), settings)
    assert len([one for one in caplog.messages if one.startswith("topics have no names: ")]) == told


def test_names_follow_the_stream_and_old_slices_keep_theirs() -> None:
    one, ids = encoder(), np.array([0])
    old, new = (
        Document("a", i, str(i), NOW, text, np.ones(16, np.float32))
        for i, text in enumerate(["ship sea", "moon comet"])
    )
    resp = np.ones((1, 16), np.float32)
    for year in range(2001, 2008):
        counts = one.count([old if year < 2004 else new])
        one.close_slice()
        one.observe_slice(year, ids, [counts], resp)
    first = [
        [word for word, _ in one.words(np.zeros((16, 1), np.float32), 9, 1, (year, ids))[0]]
        for year in (2001, 2004, 2007)
    ]
    assert set(first[0]) == {"ship", "sea"}
    assert set(first[1]) == {"ship", "sea", "moon", "comet"}
    assert set(first[2][:2]) == {"moon", "comet"}


def test_slices_before_the_first_names_have_no_later_words() -> None:
    one, ids = encoder(), np.array([0])
    parts = []
    for year, text in ((2001, "ship sea"), (2002, "ship moon")):
        document = Document("a", year, str(year), NOW, text, np.ones(16, np.float32))
        parts.append(one.count([document, document]))
        one.close_slice(year)
    one.observe_slice(2002, ids, parts, np.ones((4, 16), np.float32))
    named = [
        {word for word, _ in one.words(np.zeros((16, 1), np.float32), 9, 1, (year, ids))[0]}
        for year in (2000, 2001, 2002)
    ]
    assert named == [set(), {"ship", "sea"}, {"ship", "sea", "moon"}]


def test_counts_move_with_the_vocabulary() -> None:
    one = NamedVectorEncoder(16, Vocabulary(min_df=1, max_df_share=1.0, capacity=24))
    one.observe_slice(2001, np.arange(3), [_closed(one, some(60))], one_hot(60))
    before = {word: one._by_topic[:, [i]].toarray().ravel() for i, word in enumerate(one.vocabulary.words())}
    others = [Document("a", i, str(i), NOW, f"other{i % 9} new{i % 5}", np.ones(16, np.float32)) for i in range(200)]
    one.count(others)
    one.close_slice()
    after = one.vocabulary.words()
    assert len(set(after) & set(before)) < len(before)
    for i, word in enumerate(after):
        wanted = before.get(word, np.zeros(3))
        np.testing.assert_array_equal(one._by_topic[:, [i]].toarray().ravel(), wanted)


def _closed(one: NamedVectorEncoder, docs: list[Document]) -> Any:
    counts = one.count(docs)
    one.close_slice()
    return counts


def test_state_and_documents_come_back() -> None:
    one, other = encoder(), encoder()
    counts = one.count(some(60))
    one.close_slice()
    one.observe_slice(2001, np.arange(3), [counts], one_hot(60))
    other.restore(one.state())
    for each in (one, other):
        each.observe_slice(2002, np.arange(3), [each.count(some(30, 60))], one_hot(30))
    assert str(one.state()) == str(other.state())
    place = (2002, np.arange(3))
    assert one.words(np.zeros((16, 3), np.float32), 9, 3, place) == other.words(
        np.zeros((16, 3), np.float32), 9, 3, place
    )
    for back in (one.counts_from(counts.arrays()), one.unpack(one.pack(counts)), one.concat([counts])):
        np.testing.assert_array_equal(back.values, counts.values)
        np.testing.assert_array_equal(one.by_topic(back, one_hot(60)), one.by_topic(counts, one_hot(60)))
    assert len(counts.take(np.arange(5)).counts) == 5


# --- in a run


def test_a_run_names_topics_of_vectors() -> None:
    run_file = MemoryStore()
    codec = FieldCodec(vector="emb", dimension=16)
    engine(items({2001: 60, 2002: 90, 2003: 60}), run_file, encoder=encoder(), codec=codec).run()
    topics = [report.topics for commit in run_file.commits for report in commit.closed]
    topics += [report.topics for commit in run_file.commits for report in commit.smoothed]
    assert len(topics) >= 5
    for rows in topics:
        assert rows is not None
        found = {frozenset(word for word, _ in words[:8]) for words in rows.words}
        assert found == {frozenset(subject) for subject in SUBJECTS}


def test_a_run_that_crashes_after_every_epoch_is_the_same() -> None:
    whole, parts = MemoryStore(), MemoryStore()
    source = items({2001: 60, 2002: 90, 2003: 60})
    given: dict[str, Any] = {"codec": FieldCodec(vector="emb", dimension=16), "epoch_documents": 25}
    engine(source, whole, encoder=encoder(), **given).run()

    def crash(now: Progress) -> None:
        if now.epoch > begun.epoch:
            raise KeyboardInterrupt

    for _ in range(len(whole.commits)):
        begun = parts.commits[-1].epoch if parts.commits else Progress(0, "", 0, 0, 0.0, False)
        with contextlib.suppress(KeyboardInterrupt):
            engine(source, parts, encoder=encoder(), **given).run(crash)
    assert committed(parts) == committed(whole)


@pytest.mark.thorough
def test_snapshots_of_vectors_have_words(tmp_path: Path) -> None:
    settings = RunSettings(topics=3, slices="year", dimension=16, named=True, threads=1)
    codec = FieldCodec(vector="emb", dimension=16)
    follow(MemorySource(items({2001: 60, 2002: 90, 2003: 60})), codec, RunFile(tmp_path / "run.duckdb"), settings)
    for one in take_snapshots(tmp_path / "run.duckdb", ["flat", "tree"]):
        found = {frozenset(word for word, _ in words[:8]) for words in one.words[:3]}
        assert found == {frozenset(subject) for subject in SUBJECTS}
        assert np.isfinite([one.predicted, one.live]).all()
    assert len(Reader(tmp_path / "run.duckdb").snapshot_words().word)


# --- sentences


class FakeModel:
    def __init__(self, name: str) -> None:
        if name != "known":
            raise OSError(f"{name} is not a model\nadvice")

    def get_sentence_embedding_dimension(self) -> int:
        return 3

    def encode(self, texts: list[str], show_progress_bar: bool) -> Any:
        assert not show_progress_bar
        return np.array(
            [[sum(word in subject for word in text.split()) + 0.01 for subject in SUBJECTS] for text in texts]
        )


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = FakeModel  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    _loaded.cache_clear()


def test_sentences_are_embedded_and_named(model: None) -> None:
    run_file = MemoryStore()
    settings = RunSettings(embed="known", topics=3)
    plain = [{name: value for name, value in item.items() if name != "emb"} for item in items({2001: 60, 2002: 60})]
    engine(plain, run_file, encoder=settings.encoder()).run()
    topics = run_file.commits[-1].closed[-1].topics
    assert topics is not None
    assert {frozenset(w for w, _ in words[:8]) for words in topics.words} == {frozenset(s) for s in SUBJECTS}


def test_no_documents_are_no_vectors(model: None) -> None:
    assert len(SentenceEncoder(sentence_model("known"), Vocabulary()).count([])) == 0


def test_without_the_extra_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    _loaded.cache_clear()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'vmfstream\[sentence-transformers\]'"):
        SentenceEncoder(sentence_model("known"), Vocabulary())


def test_an_unknown_model_is_one_sentence(model: None) -> None:
    with pytest.raises(InputError, match=r"there is no sentence model 'other': other is not a model; expected word"):
        sentence_model("other")


def test_kinds_of_encoders() -> None:
    assert type(RunSettings(dimension=5).encoder()).__name__ == "VectorEncoder"
    assert type(RunSettings(dimension=5, named=True).encoder()).__name__ == "NamedVectorEncoder"
    assert RunSettings(dimension=5, named=True).encoder().dim == 5
