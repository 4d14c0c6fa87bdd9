"""Coherence against gensim's numbers and against a count document by document; diversity; what a run keeps of both."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from tests.unit.runfile.records import of_format
from vmfstream import metrics
from vmfstream.cli.topic_table import topics_of_slice
from vmfstream.runfile.queries import Reader
from vmfstream.text.coherence import cooccurrence
from vmfstream.text.counts import Counts
from vmfstream.topic_tracker.tracker import TopicTracker

WORDS = [f"w{i}" for i in range(12)]
TOPICS = [["w0", "w3", "w6", "w9"], ["w1", "w4", "w7", "w2"], ["w0", "w1", "w2", "w11"]]


def planted() -> np.ndarray:
    """Return 60 documents over 12 words, those of every third word together."""
    rng = np.random.default_rng(5)
    here = [rng.random(12) < 0.15 + 0.5 * (np.arange(12) % 3 == d % 3) for d in range(60)]
    return np.array([row for row in here if row.any()])


@pytest.mark.parametrize(
    ("measure", "golden"),
    [
        ("npmi", [0.2325459858, -0.036046622, -0.0939284945]),
        ("c_v", [0.7719595848, 0.4500943275, 0.353045335]),
    ],
)
def test_the_numbers_are_those_of_gensim(measure: str, golden: list[float]) -> None:
    # gensim 4.4: CoherenceModel(coherence="c_npmi" | "c_v", window_size=1000), texts shorter than the window
    found = metrics.topic_coherence(TOPICS, csr_array(3 * planted()), WORDS, measure=measure)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, golden, atol=1e-9)


def npmi(x: np.ndarray, i: int, j: int) -> float:
    """Return the measure of a pair, from documents one by one."""
    n = len(x)
    p, q, both = (sum(map(bool, rows)) / n for rows in (x[:, i], x[:, j], x[:, i] * x[:, j]))
    if both == 1.0:
        return 0.0
    return math.log((both + 1e-12) / (p * q)) / -math.log(both + 1e-12)


@given(arrays(np.int64, (9, 4), elements=st.integers(0, 2)))
def test_every_pair_is_counted(x: np.ndarray) -> None:
    words = list("abcd")
    there = [i for i in range(4) if x[:, i].any()]
    mean, c_v = (metrics.topic_coherence([words], x, words, measure=m)[0] for m in ("npmi", "c_v"))
    if len(there) < 2:
        assert np.isnan([mean, c_v]).all()
        return
    assert mean == pytest.approx(np.mean([npmi(x, i, j) for i, j in combinations(there, 2)]), abs=1e-9)
    vectors = np.array([[npmi(x, i, j) for j in there] for i in there])
    whole = vectors.sum(axis=0)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
    cosines = [row @ whole / length if length > 0 else 0.0 for row, length in zip(vectors, lengths, strict=True)]
    assert c_v == pytest.approx(np.mean(cosines), abs=1e-9)


def test_documents_come_in_parts_and_words_may_be_unknown() -> None:
    x = planted()
    indptr = np.concatenate(([0], np.cumsum(x.sum(axis=1))))
    counts = Counts(
        indptr, np.nonzero(x)[1].astype(np.int32), np.ones(x.sum(), np.uint16), x.sum(axis=1).astype(np.int32)
    )
    wanted = np.array([4, -1, 0])
    whole = cooccurrence([counts], wanted, 12)
    parts = cooccurrence([counts.take(slice(0, 25)), counts.take(slice(25, None))], wanted, 12)
    np.testing.assert_array_equal(whole.together, parts.together)
    here = x[:, [4, 0]].astype(np.int64)
    np.testing.assert_array_equal(whole.together[::2, ::2], here.T @ here)
    assert whole.documents == parts.documents == len(x)
    assert not whole.together[1].any()


def test_diversity_is_the_share_of_different_words() -> None:
    topics = [["a", "b"], ["b", "c"], ["d", "e"], []]
    found = metrics.topic_diversity(topics)
    np.testing.assert_array_equal(found, [0.75, 0.75, 1.0, np.nan])
    assert np.nanmean(found) == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("topics", "vocabulary", "measure", "says"),
    [
        ([["a"]], ["a"], "c_v", "expected 2 different words, one per column"),
        ([["a"]], ["a", "a"], "c_v", "got 2, 1 of them different"),
        ([["a"]], ["a", "b"], "umass", "expected 'npmi' or 'c_v', got 'umass'"),
        ([["a", "a"]], ["a", "b"], "c_v", r"topics\[0\]: expected a sequence of different words"),
        (["ab"], ["a", "b"], "c_v", r"topics\[0\]: expected a sequence of different words, got 'ab'"),
    ],
)
def test_what_cannot_be_judged_says_so(topics: list[list[str]], vocabulary: list[str], measure: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        metrics.topic_coherence(topics, np.ones((3, 2)), vocabulary, measure=measure)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topics", "says"),
    [
        ([[("a", 0.5), ("b", 0.2)]], r"topics\[0\]: expected a sequence of different words, got \[\('a', 0.5\)"),
        ([None], r"topics\[0\]: expected a sequence of different words, got None"),
        (None, "topics: expected a sequence of words for each topic, got None"),
        ("ab", "topics: expected a sequence of words for each topic, got 'ab'"),
    ],
)
def test_what_is_no_topic_of_words_says_so(topics: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        metrics.topic_coherence(topics, np.ones((3, 2)), ["a", "b"])


@pytest.mark.parametrize(
    ("reference", "got"),
    [
        (["a b", "b"], "texts"),
        ("a", "texts"),
        (None, "NoneType"),
        ([1, 2], r"the shape \(2,\)"),
        ([], r"the shape \(0,\)"),
    ],
)
def test_a_reference_is_a_matrix_of_counts(reference: Any, got: str) -> None:
    with pytest.raises(ValueError, match=f"documents, words.*, got {got}; scikit-learn's CountVectorizer"):
        metrics.topic_coherence([["a", "b"]], reference, ["a", "b"])


def test_a_run_keeps_them_by_topic_and_slice(tmp_path: Path) -> None:
    texts = ["ship sea harbour", "cat fur paw", "ship sea crane", "cat fur tail"] * 8
    tracker = TopicTracker(topics=2)
    tracker.learn(texts, [2001] * 32).learn(texts, [2002] * 32).finish()
    counts = [[text.split().count(word) for word in sorted(set(" ".join(texts).split()))] for text in texts]
    for row in tracker.topics():
        words = [word for word, _ in row["words"]]
        for measure in ("npmi", "c_v"):
            # both slices are in the window, and have the same documents
            wanted = metrics.topic_coherence([words], counts, sorted(set(" ".join(texts).split())), measure=measure)
            assert row[measure] == pytest.approx(wanted[0])
    tracker.save(tmp_path / "run.duckdb")
    frame = Reader(tmp_path / "run.duckdb").quality()
    for name in ("npmi", "c_v", "diversity"):
        assert getattr(frame, name).tolist() == [row[name] for row in tracker.topics()]
    assert np.isnan(frame.isotropy).all()  # documents are words
    assert "isotropy" not in topics_of_slice(Reader(tmp_path / "run.duckdb"), 2, "filtered")[0]


def test_a_run_file_of_before_knows_none(tmp_path: Path) -> None:
    path = of_format(tmp_path / "run.duckdb", 13)
    with duckdb.connect(path) as connection:
        connection.execute("insert into filtered (slice, topic, share) values (2001, 0, 1.0)")
    frame = Reader(path).quality()
    assert frame.topic.tolist() == [0]
    assert np.isnan([frame.npmi, frame.c_v, frame.diversity]).all()
