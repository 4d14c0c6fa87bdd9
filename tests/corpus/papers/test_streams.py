"""Streams of stories: the single pass against one in plain numpy, and the table beside published figures."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.data import corpus_file
from vmfstream.replay.papers.catalogue import Effort
from vmfstream.replay.papers.streams import (
    PAPER,
    STREAMS,
    LabelledStream,
    fit_stories,
    label_scores,
    read_stream,
    single_pass,
)
from vmfstream.replay.papers.work import Done

THRESHOLDS = np.linspace(0.05, 0.95, 19)


def drawn(rng: np.random.Generator) -> LabelledStream:
    """Rows of six words, most of them of one of eight stories, the first one empty."""
    y = rng.integers(8, size=300)
    x = rng.random((300, 60)) * (rng.random((300, 60)) < 0.05)
    for i, story in enumerate(y):
        x[i, 5 * story : 5 * story + 5] += rng.random(5) * (rng.random(5) < 0.7)
    x[0] = 0
    length = np.linalg.norm(x, axis=1, keepdims=True)
    x = np.divide(x, length, out=x, where=length > 0)
    return LabelledStream(csr_array(x.astype(np.float32)), y, np.arange(300) % 7 > 0)


def plain_single_pass(x: np.ndarray, threshold: float) -> list[int]:
    sums: list[np.ndarray] = []
    labels = []
    for row in x:
        if not row.any():
            labels.append(-1)
            continue
        cosines = np.array([row @ one / np.linalg.norm(one) for one in sums])
        if len(cosines) and cosines.max() >= threshold:
            labels.append(int(np.flatnonzero(cosines == cosines.max())[-1]))
            sums[labels[-1]] = sums[labels[-1]] + row
        else:
            labels.append(len(sums))
            sums.append(row)
    return labels


@pytest.mark.parametrize("seed", range(3))
def test_the_single_pass_is_that_of_plain_numpy(seed: int) -> None:
    stream = drawn(np.random.default_rng(seed))
    labels, how = single_pass(stream)
    assert how["threshold"] in THRESHOLDS.round(2)
    threshold = THRESHOLDS[np.argmin(np.abs(THRESHOLDS - how["threshold"]))]
    np.testing.assert_array_equal(labels, plain_single_pass(stream.x.toarray(), threshold))
    assert labels[0] == -1


def test_scores_leave_out_what_has_no_class() -> None:
    stream = drawn(np.random.default_rng(0))
    labels = np.where(stream.scored, stream.y, np.arange(300) + 100)
    assert label_scores(labels, stream) == pytest.approx({"nmi": 1, "ari": 1, "b3": 1, "ami": 1, "c_det": 0})


def test_every_stream_and_method_is_planned_once_and_shown_with_what_is_published() -> None:
    exhibit = PAPER.exhibits["arrival"]
    plan = exhibit.plan(Effort(3))
    assert len(plan) == 2 * (4 + 3)  # one stream has no order of its own
    rng = np.random.default_rng(0)
    names = ("nmi", "ari", "b3", "ami", "c_det", "seconds")
    results = [{name: rng.random() for name in names} | {"documents": 90, "learnt": 100, "clusters": 12} for _ in plan]
    shown = exhibit.show(Done([(task.given, result) for task, result in zip(plan, results, strict=True)]))
    assert len(shown.tables) == len(STREAMS)
    titles = shown.tables[0]
    assert titles.text("MStreamF", "NMI", "paper") == "0.873"
    assert titles.text("StoryMixture", "NMI", "ours") == f"{results[0]['nmi']:.3f}"
    assert titles.text("StoryMixture", "documents/s", "ours") == f"{100 / results[0]['seconds']:,.0f}"
    assert "±" in shown.tables[1].text("single pass", "ARI", "ours")


@pytest.mark.corpus
def test_stories_agree_better_with_titles_than_a_single_pass_and_what_is_published() -> None:
    corpus_file("mstream_news_t/docs.parquet")
    stream = read_stream("news_t")
    assert len(stream.y) == 11_109
    stories = label_scores(fit_stories(stream)[0], stream)
    other = label_scores(single_pass(stream)[0], stream)
    assert all(stories[name] > other[name] for name in ("nmi", "ari", "b3", "ami"))
    assert stories["nmi"] > 0.90 > 0.873 > other["nmi"]


@pytest.mark.corpus
def test_a_permutation_has_the_same_documents_in_another_order() -> None:
    corpus_file("mstream_news/docs.parquet")
    own, other = read_stream("news"), read_stream("news", 1)
    assert (own.y != other.y).any()
    np.testing.assert_array_equal(np.bincount(own.y), np.bincount(other.y))
