"""Starts whose topics are looked for in a sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.online.streams import texts
from vmfstream.bayes import starts
from vmfstream.directional.sphere import unit_rows
from vmfstream.mixtures.movmf import annealed_fit
from vmfstream.online.state import stack


def test_a_sample_shows_the_topics_and_all_rows_continue(monkeypatch: pytest.MonkeyPatch) -> None:
    x: Any = stack(list(texts(slices=4)), 300)
    rows = np.arange(0, x.shape[0], 2)
    searched: list[Any] = []

    def recorded(x: Any, *arguments: Any, **options: Any) -> Any:
        searched.append(x)
        return annealed_fit(x, *arguments, **options)

    monkeypatch.setattr(starts, "annealed_fit", recorded)
    resp = starts.sampled_start(x, rows, 3, np.random.default_rng(0), 2)
    assert resp.shape == (x.shape[0], 16)
    np.testing.assert_allclose(resp.sum(axis=1), 1.0, atol=1e-6)
    held = np.bincount(x[rows].indices, minlength=300)
    assert [one.shape for one in searched] == [(len(rows), np.count_nonzero(held >= starts.FREQUENT))] * 2
    assert np.count_nonzero(held >= starts.FREQUENT) < np.count_nonzero(held)
    np.testing.assert_allclose((searched[0] * searched[0]).sum(axis=1), 1.0, atol=1e-5)
    whole = annealed_fit(x, 3, np.random.default_rng(0)).labels
    assert len(set(zip(resp.argmax(axis=1).tolist(), whole.tolist(), strict=True))) == 3  # the same groups


def test_rows_without_common_words_are_searched_whole() -> None:
    x = stack([np.eye(6, dtype=np.float32)], 6)
    assert starts.sampled_start(x, np.arange(6), 3, np.random.default_rng(0), 1).shape == (6, 16)
    sparse: Any = stack([texts(slices=1)[0][:6]], 300)
    lone = unit_rows(sparse[:, np.flatnonzero(np.bincount(sparse.indices, minlength=300) == 1)])[0]
    assert starts.sampled_start(lone, np.arange(6), 3, np.random.default_rng(0), 1).shape == (6, 16)
