"""The automatic grain: averages over all pairs of documents, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.unit.stories.streams import bursts, long_news
from vmfstream.clustering_metrics import v_measure
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import AUTO, StorySettings


def grain_by_pairs(x: Any) -> float:
    """The formula, with every pair of documents looked at."""
    n = len(x)
    others = ~np.eye(n, dtype=bool)
    shared = (x @ x.T)[others].mean()
    chance = ((x**2) @ (x**2).T)[others].mean()
    return float(
        np.sqrt((12 * shared * n / (n + 600)) ** 2 + (2000 * 0.15**2 + n * 36 * chance) / (n + 2000)).clip(0.05, 0.5)
    )


@pytest.mark.parametrize("dense", [False, True])
def test_the_grain_is_that_of_all_pairs(dense: bool) -> None:
    x = bursts(150, seed=4)[0].astype(np.float32)
    mixture = SequentialMixture(StorySettings(), 300, dense=dense)
    for count in (2, 3, 10, 40):  # up to 40 it is set at every one
        mixture.learn(x[mixture.n_documents : count] if dense else csr_array(x[mixture.n_documents : count]))
        assert mixture.grain == pytest.approx(grain_by_pairs(x[:count].astype(np.float64)), rel=1e-9)


def test_old_documents_count_less() -> None:
    rng = np.random.default_rng(0)
    kinds = []
    for shared in (0.0, 0.15):  # unlike documents, and then ones that have something in common
        x = rng.standard_normal((9000, 300)) / np.sqrt(300) + shared * np.eye(300)[0]
        kinds.append((x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32))
    mixture = SequentialMixture(StorySettings(half_life=20.0), 300, dense=True)
    grains = []
    for kind in (0, 0, 0, 1, 1, 1, 1, 1, 1, 1):
        mixture.learn(kinds[kind])
        grains.append(mixture.grain)
    alone = SequentialMixture(StorySettings(half_life=20.0), 300, dense=True)
    alone.learn(kinds[1])
    alone.learn(kinds[1])
    assert grains[2] < 0.95 * alone.grain
    assert grains[-1] == pytest.approx(alone.grain, rel=0.02)


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
