"""Documents of very many words count with their strongest words."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from scipy.sparse import csr_array, vstack

from vmfstream import StoryMixture
from vmfstream.directional.sphere import unit_rows
from vmfstream.stories import shortening
from vmfstream.stories.mixture import SequentialMixture
from vmfstream.stories.settings import StorySettings
from vmfstream.stories.shortening import MOST_WORDS, shortened


def rows(lengths: list[int], columns: int, seed: int = 0) -> csr_array:
    """Unit rows with so many words, some of whose weights are equal, and some negative."""
    rng = np.random.default_rng(seed)
    parts = [np.sort(rng.choice(columns, length, replace=False)) for length in lengths]
    weights = [rng.choice([-3.0, 1.0, 1.0, 2.0, 5.0], length) for length in lengths]
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    made = csr_array((np.concatenate(weights), np.concatenate(parts), bounds), shape=(len(lengths), columns))
    return unit_rows(made.astype(np.float32))[0]


def strongest(row: np.ndarray) -> np.ndarray:
    """The definition, for one dense row."""
    out = np.zeros_like(row)
    order = np.argsort(-np.abs(row), kind="stable")[:MOST_WORDS]
    out[order] = row[order]
    return np.asarray(out / np.linalg.norm(out))


def parts_of(x: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data


def test_the_strongest_words_stay() -> None:
    x = rows([3, 700, 0, MOST_WORDS, MOST_WORDS + 1, 2000], 5000)
    bounds, columns, values = shortened(*parts_of(x))
    found = csr_array((values, columns, bounds), shape=x.shape).toarray()
    dense = x.toarray()
    for i in (0, 2, 3):
        np.testing.assert_array_equal(found[i], dense[i])
    for i in (1, 4, 5):
        assert np.count_nonzero(found[i]) == MOST_WORDS
        np.testing.assert_allclose(found[i], strongest(dense[i]), rtol=1e-6)
    assert np.diff(bounds).tolist() == [3, MOST_WORDS, 0, MOST_WORDS, MOST_WORDS, MOST_WORDS]


def test_rows_that_are_short_are_not_copied() -> None:
    given = parts_of(rows([3, MOST_WORDS], 5000))
    assert all(one is other for one, other in zip(shortened(*given), given, strict=True))


@pytest.mark.parametrize(("columns", "words"), [(0, MOST_WORDS), (1400, MOST_WORDS), (1399, 700), (701, 700)])
def test_vectors_in_sparse_form_keep_all_their_numbers(columns: int, words: int) -> None:
    """A row is one that uses more than half of the columns, if there will be no more of them."""
    bounds, _, _ = shortened(*parts_of(rows([700], 1400)), columns)
    assert bounds[1] == words


def test_stories_are_those_of_shortened_rows() -> None:
    x = rows([900, 40, 800, 900] * 20, 6000)
    x = vstack([x, x[:40]]).tocsr()
    short = csr_array(tuple(reversed(shortened(*parts_of(x)))), shape=x.shape)
    mixtures = [SequentialMixture(StorySettings(), x.shape[1]) for _ in range(2)]
    np.testing.assert_array_equal(mixtures[0].learn(x).labels, mixtures[1].learn(short).labels)
    np.testing.assert_array_equal(mixtures[0].predict(x), mixtures[1].predict(short))
    held = [csr_array(mixture.living().sums).nnz for mixture in mixtures]
    assert held[0] == held[1] <= MOST_WORDS * mixtures[0].n_stories * 2


def test_vectors_of_the_estimator_stay_whole() -> None:
    x = csr_array(np.random.default_rng(0).standard_normal((9, 700)).astype(np.float32))
    model = StoryMixture().fit(unit_rows(x)[0])
    assert np.diff(csr_array(model.means_).indptr).tolist() == [700] * 9


def test_examples() -> None:
    assert doctest.testmod(shortening).failed == 0
