"""The automatic grain: the mean effective length of documents, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.unit.stories.streams import long_news
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
def test_the_grain_follows_the_mean_length(dense: bool) -> None:
    for words, expected in (([4] * 10, 0.15), ([20] * 3 + [40], 0.15 * (25 / 9) ** 0.6), ([200] * 5, 0.45)):
        mixture = SequentialMixture(StorySettings(), 1000, dense=dense)
        rows = rows_of(words)
        mixture.learn(rows.toarray() if dense else rows)
        assert mixture.grain == pytest.approx(expected, rel=1e-5)
    given = SequentialMixture(StorySettings(grain=0.3), 1000)
    given.learn(rows_of([200] * 5))
    assert given.grain == 0.3


def test_old_documents_count_less() -> None:
    mixture = SequentialMixture(StorySettings(half_life=5.0), 1000)
    mixture.learn(rows_of([12] * 15_000))
    early = mixture.grain
    mixture.learn(rows_of([50] * 60_000))
    assert early == pytest.approx(0.15 * (12 / 9) ** 0.6, rel=1e-5)
    assert mixture.grain == pytest.approx(0.15 * (50 / 9) ** 0.6, rel=0.06)


def test_long_documents_do_not_become_one_story() -> None:
    x, labels = long_news(1500)
    scores = {}
    for grain in (AUTO, 0.15):
        found = SequentialMixture(StorySettings(grain=grain), x.shape[1]).learn(x).labels
        scores[grain] = v_measure(found, labels).v
    assert scores[AUTO] > scores[0.15] + 0.2


@pytest.mark.parametrize("grain", [AUTO, 0.3])
def test_settings_come_back_from_numbers(grain: Any) -> None:
    settings = StorySettings(grain=grain, half_life=7.0, max_stories=12)
    assert StorySettings.from_numbers(settings.numbers()) == settings
