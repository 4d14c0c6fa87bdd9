"""The automatic grain: the mean effective length of documents, and what it is for."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.benchmarks.bench_stories import planted_stories
from tests.unit.stories.streams import TWINS, bursts, long_news, mixed_shares
from vmfstream import VonMisesFisher
from vmfstream.clustering_metrics import v_measure
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import AUTO, StorySettings


def rows_of(words: list[int], columns: int = 1000) -> csr_array:
    """Unit rows of so many words of equal weight."""
    rng = np.random.default_rng(0)
    terms = np.concatenate([np.sort(rng.choice(columns, n, replace=False)) for n in words])
    weights = np.concatenate([np.full(n, n**-0.5) for n in words]).astype(np.float32)
    return csr_array((weights, terms, np.concatenate(([0], np.cumsum(words)))), shape=(len(words), columns))


@pytest.mark.parametrize("dense", [False, True])
def test_the_grain_follows_the_length_of_each_document(dense: bool) -> None:
    for words, expected in (([4] * 10, 0.15), ([24] * 3 + [300], (3 * 0.15 * 2**0.5 + 0.5) / 4), ([300] * 5, 0.5)):
        mixture = SequentialMixture(StorySettings(), 1000, dense=dense)
        rows = rows_of(words)
        mixture.learn(rows.toarray() if dense else rows)
        assert mixture.grain == pytest.approx(expected, rel=1e-5)
    given = SequentialMixture(StorySettings(grain=0.3), 1000)
    given.learn(rows_of([200] * 5))
    assert given.grain == 0.3


def test_a_story_is_the_sum_of_weighted_documents() -> None:
    """Concentrations of two documents that share their words: 12 words have the coarsest grain, 48 twice that."""
    rows = csr_array(np.repeat([[1.0] * 12 + [0.0] * 36, [1.0] * 48], [1, 1], axis=0).astype(np.float32))
    rows = csr_array(rows.toarray() / np.linalg.norm(rows.toarray(), axis=1, keepdims=True))
    mixture = SequentialMixture(StorySettings(), 48)
    assert mixture.learn(rows).labels.tolist() == [0, 0]
    weight = (0.3 / (1 - 0.3**2)) / (0.15 / (1 - 0.15**2))
    sums: Any = mixture.living().sums
    np.testing.assert_allclose(sums.toarray()[0], rows.toarray().T @ [1.0, weight], rtol=1e-5)


def test_signs_of_dense_rows_do_not_shorten_them() -> None:
    rows = rows_of([48] * 4, 200).toarray() * np.random.default_rng(0).choice([-1.0, 1.0], 200)
    mixture = SequentialMixture(StorySettings(), 200, dense=True)
    mixture.learn(rows.astype(np.float32))
    assert mixture.grain == pytest.approx(0.3, rel=1e-5)


@pytest.mark.parametrize(("columns", "expected"), [(2, 0.928), (20, 0.820), (100, 0.657), (255, 0.501), (256, 0.5)])
def test_the_grain_of_vectors_follows_their_columns(columns: int, expected: float) -> None:
    rows = np.full((4, columns), columns**-0.5, np.float32)
    mixture = SequentialMixture(StorySettings(), columns, dense=True)
    mixture.learn(rows)
    assert mixture.grain == pytest.approx(expected, abs=5e-4)
    words = SequentialMixture(StorySettings(), 2 * columns, dense=True)  # half of the columns are not used
    words.learn(np.hstack([rows, np.zeros_like(rows)]))
    assert words.grain == pytest.approx(np.clip(0.15 * (columns / 12) ** 0.5, 0.15, 0.5), rel=1e-5)


def planted_vectors(columns: int, cosine: float, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """2,000 rows of 30 von Mises-Fisher clusters of unequal sizes, of this expected cosine with the mean direction."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(30, 2000, p=rng.dirichlet(np.full(30, 2.0)))
    means = rng.standard_normal((30, columns))
    kappa = cosine * (columns - cosine**2) / (1 - cosine**2)
    rows = np.empty((2000, columns), np.float32)
    for cluster in np.unique(labels):
        of = labels == cluster
        mean = means[cluster] / np.linalg.norm(means[cluster])
        rows[of] = VonMisesFisher(mean, kappa).rvs(int(of.sum()), random_state=rng)
    return rows, labels


@pytest.mark.parametrize(("columns", "cosine", "least"), [(20, 0.9, 0.96), (50, 0.8, 0.98), (100, 0.7, 0.99)])
def test_vectors_of_few_columns_do_not_become_a_few_stories(columns: int, cosine: float, least: float) -> None:
    """Without the rule NMI is .64, .75 and .89."""
    scores = []
    for settings in (StorySettings(), StorySettings(vector_columns=1.0)):
        found = []
        for seed in (1, 2, 3):
            rows, labels = planted_vectors(columns, cosine, seed)
            found.append(v_measure(SequentialMixture(settings, columns, dense=True).learn(rows).labels, labels).v)
        scores.append(float(np.mean(found)))
    assert scores[0] > least
    assert scores[0] > scores[1] + 0.1


def test_states_with_one_grain_for_all_documents_go_on() -> None:
    x, labels = long_news(900)
    one = SequentialMixture(StorySettings(grain=0.4), x.shape[1])
    before = one.learn(x[:600]).labels
    arrays = one.arrays()
    del arrays["grains"]
    arrays["grain"] = np.array([0.4, 60_000.0, 600.0, 610.0])
    mixture = SequentialMixture.from_arrays(StorySettings(), arrays)
    weight = (0.4 / (1 - 0.4**2)) / (0.15 / (1 - 0.15**2))
    sums: Any = mixture.living().sums
    np.testing.assert_allclose(sums.toarray(), weight * one.living().sums.toarray(), rtol=1e-5)  # type: ignore[union-attr]
    after = mixture.learn(x[600:]).labels
    assert v_measure(np.concatenate([before, after]), labels).v > 0.9
    assert len(np.intersect1d(before, after)) > 10


def test_short_and_long_documents_of_a_story_come_together() -> None:
    """A quarter of the words are those of the story, in documents of 10 to 300; of fixed grains .25 is the best."""
    x, labels = long_news(1500, words=(10, 300))
    scores = []
    for grain in (AUTO, 0.25):
        found = SequentialMixture(StorySettings(grain=grain), x.shape[1]).learn(x).labels
        scores.append(v_measure(found, labels).v)
    assert scores[0] > scores[1] + 0.05


def test_long_documents_do_not_become_one_story() -> None:
    x, labels = long_news(1500)
    scores = {}
    for grain in (AUTO, 0.15):
        found = SequentialMixture(StorySettings(grain=grain), x.shape[1]).learn(x).labels
        scores[grain] = v_measure(found, labels).v
    assert scores[AUTO] > scores[0.15] + 0.2


@pytest.mark.thorough
def test_long_documents_with_few_words_of_their_story_are_not_alone() -> None:
    """A quarter of some 200 words is of the story; half of the documents are of one. A single pass has .973."""
    stream = planted_stories(200, 0.7, 0.25, 200, 1.0, 306)
    found = SequentialMixture(StorySettings(), stream.x.shape[1]).learn(stream.x).labels
    assert v_measure(found, stream.y).v > 0.97
    assert np.mean(np.bincount(found)[found] == 1) < 0.03


@pytest.mark.parametrize("grain", [AUTO, 0.3])
def test_settings_come_back_from_numbers(grain: Any) -> None:
    settings = StorySettings(grain=grain, half_life=7.0, max_stories=12, days=True, nearer=2.0, examined=4, short=9.0)
    again = StorySettings.from_numbers(settings.numbers())
    assert again == settings
    assert [type(value) for value in astuple(again)[1:]] == [type(value) for value in astuple(StorySettings())[1:]]
    before = StorySettings(grain=grain, half_life=7.0, max_stories=12, days=True)
    assert StorySettings.from_numbers(replace(settings, cauchy=True).numbers()) == replace(settings, cauchy=True)
    for kept, expected in ((21, settings), (20, settings), (8, before), (7, replace(before, days=False))):
        assert StorySettings.from_numbers(expected.numbers()[:kept]) == replace(expected, vector_columns=1.0)
    for at in (0, 1, 6, 8, 14, 19, 21):
        numbers = settings.numbers()
        numbers[at] = 0.0
        with pytest.raises(ValueError, match="expected settings of stories"):
            StorySettings.from_numbers(numbers)
    flags = [np.where(np.arange(22) == at, 0.5, settings.numbers()) for at in (7, 20)]
    for wrong in (settings.numbers()[:9], *flags):
        with pytest.raises(ValueError, match="expected settings of stories"):
            StorySettings.from_numbers(wrong)


@pytest.mark.parametrize(
    "changed",
    [
        {"coarsest": 0.25},
        {"finest": 0.3},
        {"short": 48.0},
        {"dimension": 900.0},
        {"nearer": 2.5},
        {"others": 20},
        {"examined": 3},
    ],
)
def test_settings_of_long_documents_decide_their_labels(changed: dict[str, Any]) -> None:
    x, _ = mixed_shares(400)
    rows = csr_array(x.astype(np.float32))
    settings = StorySettings(half_life=40.0)
    given = SequentialMixture(replace(settings, **changed), x.shape[1]).learn(rows).labels
    same = np.array_equal(given, SequentialMixture(settings, x.shape[1]).learn(rows).labels)
    assert same == ("examined" in changed)  # nothing is merged here


@pytest.mark.parametrize("changed", [{"examined": 30}, {"last_examined": 4}, {"compared": 1}])
def test_settings_of_mergers_decide_what_is_merged(changed: dict[str, Any]) -> None:
    x: Any = bursts(700, **TWINS)[0]
    rows, settings = csr_array(x.astype(np.float32)), StorySettings(grain=0.2, half_life=150.0)
    usual, other = (
        SequentialMixture(one, x.shape[1]).learn(rows).retired for one in (settings, replace(settings, **changed))
    )
    assert not np.array_equal(usual.evidence[usual.into >= 0], other.evidence[other.into >= 0])
