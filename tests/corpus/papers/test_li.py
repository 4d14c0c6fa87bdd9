"""Li 2018: what was typed, the collections, the features on planted documents, and how the table is shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.data import corpus_file
from tests.unit.mixtures.planted import directions
from vmfstream.replay.papers import li_features as features
from vmfstream.replay.papers import li_printed as printed
from vmfstream.replay.papers.catalogue import Effort, find_paper
from vmfstream.replay.papers.li_features import LabelledCounts
from vmfstream.replay.papers.work import Done, Result, Task
from vmfstream.text.embeddings import WordVectors

LI = find_paper("li")
SOURCE = next(iter(features.VECTORS))


def planted(seed: int = 0, each: int = 40) -> tuple[LabelledCounts, WordVectors]:
    """Posts of three classes; each prefers words around two directions of six, one word in ten has no vector."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(directions(rng, 6, 10), 10, axis=0)
    words = centres + 0.1 * rng.standard_normal((60, 10))
    y = np.repeat(np.arange(3), each)
    chance = np.full((3, 66), 0.2)
    for label in range(3):
        chance[label, 20 * label : 20 * label + 20] = 1.0
    counts = np.array([rng.multinomial(30, chance[label] / chance[label].sum()) for label in y])
    terms = tuple(f"w{i}" for i in range(66))
    train = rng.random(len(y)) < 0.7
    return LabelledCounts(csr_array(counts), terms, y, train), WordVectors(terms[:60], 3 * words)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> Iterator[LabelledCounts]:
    planted_set, words = planted()
    monkeypatch.setattr(features, "collection", lambda name: planted_set)
    monkeypatch.setattr(features, "vectors", lambda name: words)
    monkeypatch.setattr(features, "TOPICS", {"20News": 2})
    monkeypatch.setattr(features, "LDA_TOPICS", 3)
    features.bags.cache_clear()
    yield planted_set
    features.bags.cache_clear()


def test_what_is_printed_fits_together() -> None:
    for rows in printed.CLASSIFICATION.values():
        for scores in rows.values():
            assert 50 <= scores["recall"] <= 93
            # an average of harmonic means is at most about the harmonic mean of averages
            both = 2 / (1 / scores["precision"] + 1 / scores["recall"])
            assert scores["F1"] < both + 0.6
    assert printed.CLASSIFICATION["VMFMix"]["Reuters"] == {"precision": 87.9, "recall": 88.7, "F1": 88.0}
    assert printed.CLASSIFICATION["BOW"]["20News"]["F1"] == 68.6


@pytest.mark.corpus
def test_collections_are_cut_by_time() -> None:
    corpus_file("reuters21578/docs.parquet")
    stories = features.collection("Reuters")
    assert np.bincount(stories.y).size == 10
    assert stories.train.sum() == 5754
    assert (~stories.train).sum() == 2254
    assert (np.diff(stories.counts.indptr) > 0).all()
    assert len(stories.terms) == stories.counts.shape[1]


@pytest.mark.parametrize("method", features.METHODS)
def test_features_tell_planted_classes_apart(tiny: LabelledCounts, method: str) -> None:
    result = features.classify_once("20News", method, SOURCE, 0)
    assert result["F1"] > 90
    assert result["test"] == (~tiny.train).sum()
    if method in features.OF_VECTORS:
        assert result["share"] == pytest.approx(0.94, abs=0.03)
        assert (result["words"], result["of"]) == (60, 66)


def test_means_are_of_the_words_that_have_vectors(tiny: LabelledCounts) -> None:
    found = features.mean_vectors("20News", SOURCE, 0)
    counts = tiny.counts.toarray()[:, :60]
    words = planted()[1].vectors
    assert found == pytest.approx(counts @ words / counts.sum(axis=1, keepdims=True))


def test_proportions_are_of_the_topics_of_all_classes(tiny: LabelledCounts) -> None:
    found = np.asarray(features.admixture_proportions("20News", SOURCE, 0))
    assert found.shape == (120, 6)
    assert found.sum(axis=1) == pytest.approx(np.ones(120))
    own = np.array([row[2 * label : 2 * label + 2].sum() for row, label in zip(found, tiny.y, strict=True)])
    assert own.mean() > 0.5
    assert features.single_admixture_proportions("20News", SOURCE, 0).shape == (120, 6)


def test_scores_are_macro_averages_of_the_test_documents() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    x = np.where(y, 1.0, -1.0)[:, None] + 0.01 * rng.standard_normal((100, 2))
    train = np.arange(100) % 2 == 0
    assert features.scores(x, y, train, 0)["F1"] == pytest.approx(100)
    assert features.scores(np.where(train[:, None], x, -x), y, train, 0)["F1"] == 0  # nothing is learnt of the test
    wrong = x.copy()
    wrong[[51, 53, 55, 57, 59]] *= -1  # a fifth of the second class is taken for the first
    found = features.scores(wrong, y, train, 0)
    assert found["recall"] == pytest.approx(100 * (1 + 0.8) / 2)
    assert found["precision"] == pytest.approx(100 * (25 / 30 + 1) / 2)


def invented(task: Task) -> Result:
    seed: int = task.given["seed"]
    result: dict[str, Any] = {"precision": 60.0, "recall": 61.0, "F1": 62.0 + seed, "seconds": 1.0, "test": 9}
    return result | ({"share": 0.75, "words": 300, "of": 400} if task.given["source"] else {})


def test_the_table_shows_both_values_and_says_what_differs() -> None:
    exhibit = LI.exhibits["table1"]
    tasks = exhibit.plan(Effort(2))
    assert len(tasks) == len({repr(task.given) for task in tasks})
    shown = exhibit.show(Done([(task.given, invented(task)) for task in tasks]))
    posts, stories, others, _ = shown.tables
    assert stories.text("VMFMix", "F1", "paper") == "88.0"
    assert stories.text("VMFMix", "F1", "ours") == "62.5 ± 0.7"
    assert posts.text("BOW", "F1", "ours") == "62.0"
    assert (posts.text("TWE", "F1", "paper"), posts.text("TWE", "F1", "ours")) == ("68.8", "")
    assert posts.text("VMFMix without the classes", "F1", "paper") == ""
    assert set(printed.CLASSIFICATION) | set(features.METHODS) == set(posts.rows()) == set(stories.rows())
    assert others.rows() == list(features.VECTORS)
    assert others.text(SOURCE, "words covered, %", "ours") == "75.0"
    assert any("smaller than the paper's" in note and "300 of 400" in note for note in shown.notes)


def test_every_task_names_its_data() -> None:
    for task in LI.exhibits["table1"].plan(Effort(1)):
        assert features.FILES[task.given["data"]] in task.data
        assert (task.given["method"] in features.OF_VECTORS) == (len(task.data) == 2)
