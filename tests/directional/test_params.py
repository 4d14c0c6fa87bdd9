from __future__ import annotations

import numpy as np
import pytest

from vmfstream.directional.params import Mixture, SuffStats


def stats(value: float, d: int = 3) -> SuffStats:
    return SuffStats(np.full(16, value), np.full(16, 2 * value), np.full((d, 16), 3 * value), 4 * value, int(5 * value))


def test_statistics_merge() -> None:
    both = stats(1.0).merge(stats(2.0))
    expected = stats(3.0)
    for name in ("nk", "q", "s", "loglik", "n"):
        np.testing.assert_array_equal(getattr(both, name), getattr(expected, name))


def test_statistics_of_other_words_do_not_merge() -> None:
    with pytest.raises(ValueError, match=r"other: expected statistics of shape \(3, 16\), got \(4, 16\)"):
        stats(1.0).merge(stats(1.0, d=4))


def test_a_mixture_knows_its_size() -> None:
    mixture = Mixture(pi=np.full(2, 0.5), mu=np.zeros((7, 16), np.float32), kappa=np.ones(2))
    assert (mixture.d, mixture.k) == (7, 2)
