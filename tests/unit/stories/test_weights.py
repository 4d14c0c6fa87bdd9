"""Weights of words as they come, against the formula one document at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from vmfstream.stories.weights import RunningTfidf


def counts(n: int = 50, seed: int = 0) -> csr_array:
    return csr_array(np.random.default_rng(seed).poisson(0.4, (n, 20)))


def test_weights_are_those_of_the_frequencies_so_far() -> None:
    given = counts().toarray()
    expected = np.zeros(given.shape)
    for i, row in enumerate(given):
        frequency = (given[: i + 1] > 0).sum(axis=0)
        for j in np.flatnonzero(row):
            expected[i, j] = (1 + math.log(row[j])) * math.log(1 + (i + 1) / frequency[j])
        expected[i] /= np.linalg.norm(expected[i]) or 1.0
    np.testing.assert_allclose(RunningTfidf().weigh(csr_array(given)).toarray(), expected, rtol=1e-6)


def test_batches_and_stored_state_change_nothing() -> None:
    whole = RunningTfidf().weigh(counts()).toarray()
    weights, parts = RunningTfidf(), []
    for low in range(0, 50, 7):
        parts.append(weights.weigh(counts()[low : low + 7]).toarray())
        weights = RunningTfidf.from_arrays(weights.arrays())
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_columns_may_be_added() -> None:
    weights = RunningTfidf()
    weights.weigh(csr_array([[1, 0]]))
    assert weights.weigh(csr_array([[1, 0, 2]])).shape == (1, 3)
    with pytest.raises(ValueError, match="at least 3 columns, as before, got 2"):
        weights.weigh(csr_array([[1, 1]]))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_counts_that_are_no_counts_are_refused(bad: float) -> None:
    weights = RunningTfidf()
    with pytest.raises(ValueError, match="finite numbers of at least 0"):
        weights.weigh(csr_array([[1.0, bad]]))
    assert weights.n_documents == 0


def test_counts_that_were_given_are_not_changed() -> None:
    given = csr_array((np.array([1.0, 2.0, 0.0]), np.array([1, 0, 2]), np.array([0, 3])), shape=(1, 3))
    RunningTfidf().weigh(given)
    assert given.data.tolist() == [1.0, 2.0, 0.0]
    assert given.indices.tolist() == [1, 0, 2]
