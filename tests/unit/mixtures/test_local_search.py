"""Moves of single rows after spherical k-means, and starts from more clusters than wanted: oracles, limits."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import vmfstream as vs
from tests.unit.mixtures.planted import directions, hard_text, nmi, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.kmeans import spherical_kmeans
from vmfstream.mixtures.local_search import best_chain, searched_kmeans
from vmfstream.mixtures.seeding import agglomerated_labels, agglomerated_means, random_means, seed_labels


def rows_of(seed: int, n: int = 40, d: int = 60, k: int = 4, a: float = 0.3) -> Vector:
    rng = np.random.default_rng(seed)
    return vmf_rows(rng, directions(rng, k, d), rng.integers(k, size=n), a)


def worth(x: Vector, labels: NDArray[np.int64], w: Vector, k: int) -> float:
    """Sum of the lengths of the sums of clusters."""
    return sum(float(np.linalg.norm((w[:, None] * x)[labels == j].sum(axis=0))) for j in range(k))


def best_move(x: Vector, labels: NDArray[np.int64], w: Vector, k: int, still: set[int]) -> tuple[float, int, int]:
    """The best move of a row outside of ``still``, by trying all."""
    found = (-np.inf, -1, -1)
    for row in sorted(set(range(len(labels))) - still):
        for to in range(k):
            if to != labels[row] and labels[row] >= 0:
                moved = labels.copy()
                moved[row] = to
                found = max(found, (worth(x, moved, w, k), row, to))
    return found


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_chain_is_that_of_trying_all_moves(weighted: bool, sparse: bool) -> None:
    k, changed = 4, 0
    for seed, n in product(range(6), (9, 40)):
        x, rng = rows_of(seed, n), np.random.default_rng(seed)
        w = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
        x[3] = 0.0
        labels = spherical_kmeans(x, random_means(x, k, rng), k, weights=w).labels
        assert labels[3] == -1
        current, still = labels.copy(), set[int]()
        best, after = worth(x, labels, w, k) * (1 + 1e-6), labels
        for _ in range(5):
            value, row, to = best_move(x, current, w, k, still)
            current[row] = to
            still.add(row)
            if value > best:
                best, after = value, current.copy()
        given = csr_array(x) if sparse else x
        found = best_chain(given, labels, k, 5, w if weighted else None)
        assert np.array_equal(labels if found is None else found, after)
        changed += found is not None
    assert changed > 2


def test_a_chain_goes_through_a_loss_and_through_an_empty_cluster() -> None:
    x, labels = np.eye(3)[[0, 0, 1, 2]], np.array([0, 1, 2, 2])
    assert best_chain(x, labels, 3, 1) is None
    found = best_chain(x, labels, 3, 2)
    assert found is not None
    assert worth(x, found, np.ones(4), 3) == pytest.approx(4.0)


def test_no_single_move_gains_in_the_end_and_nothing_is_lost_on_the_way() -> None:
    better = 0
    for seed in range(8):
        x, k = rows_of(seed), 4
        mu = random_means(x, k, np.random.default_rng(seed))
        plain, found = spherical_kmeans(x, mu, k), searched_kmeans(x, mu, k, length=8)
        assert found.converged
        assert np.diff(found.trace).min(initial=0.0) >= -1e-12
        assert found.n_iter == len(found.trace)
        value = worth(x, found.labels, np.ones(40), k)
        assert found.trace[-1] * 40 == pytest.approx(value)
        assert best_move(x, found.labels, np.ones(40), k, set())[0] <= value * (1 + 1e-6)
        means = mean_of(x, found.labels, k)
        assert np.abs(found.mu[:, :k] - means).max() < 1e-12
        assert found.trace[-1] >= plain.trace[-1] - 1e-12
        better += found.trace[-1] > plain.trace[-1] + 1e-6
    assert better >= 6


def mean_of(x: Vector, labels: NDArray[np.int64], k: int) -> Vector:
    sums = np.stack([x[labels == j].sum(axis=0) for j in range(k)], axis=1)
    return np.asarray(sums / np.linalg.norm(sums, axis=0))


def test_it_finds_small_clusters_of_many_columns() -> None:
    agreement = []
    for seed in range(4):
        x, labels = hard_text(np.random.default_rng(seed), n=150, k=3)
        agreement.append(
            [nmi(labels, vs.SphericalKMeans(3, local_search=n, random_state=0).fit(x).labels_) for n in (0, 30)]
        )
    without, with_search = np.mean(agreement, axis=0)
    assert with_search > without + 0.3


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_that_lose_least_become_one(weighted: bool) -> None:
    x, k = rows_of(11, n=60), 3
    w = np.random.default_rng(0).uniform(0.5, 2.0, 60) if weighted else np.ones(60)
    x[7] = 0.0
    given = w if weighted else None
    labels = seed_labels(x, 2 * k, np.random.default_rng(5), weights=given)
    groups = [np.flatnonzero(labels == j) for j in range(2 * k)]

    def length(rows: NDArray[np.int64]) -> float:
        return float(np.linalg.norm((w[:, None] * x)[rows].sum(axis=0)))

    while len(groups) > k:
        lost = {
            (a, b): length(groups[a]) + length(groups[b]) - length(np.concatenate([groups[a], groups[b]]))
            for a, b in combinations(range(len(groups)), 2)
        }
        a, b = min(lost, key=lambda pair: lost[pair])
        groups[a] = np.concatenate([groups[a], groups.pop(b)])
    found = agglomerated_labels(x, k, np.random.default_rng(5), given)
    assert found[7] == -1
    assert {frozenset(np.flatnonzero(found == j).tolist()) for j in range(k)} == {frozenset(g.tolist()) for g in groups}


@pytest.mark.parametrize("k", [1, 5, 6])
def test_as_many_clusters_as_rows_and_one_alone(k: int) -> None:
    x = rows_of(1, n=6, d=8)
    assert sorted(set(agglomerated_labels(x, k, np.random.default_rng(0)))) == list(range(k))
    found = searched_kmeans(x, random_means(x, k, np.random.default_rng(0)), k, length=4)
    assert found.mu.shape == (8, padded(k))
    assert found.converged


def test_a_cluster_whose_rows_cancel_has_a_mean() -> None:
    x = np.array([[1.0, 0.0], [-1.0, 0.0]])
    mu = agglomerated_means(x, 1, np.random.default_rng(0))
    assert np.abs(mu[:, 0]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("make", [vs.VMFMixture, vs.SphericalKMeans, vs.FrequencySensitiveKMeans])
def test_estimators_start_from_agglomeration(make: Any) -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(4, size=200)
    x = vmf_rows(rng, directions(rng, 4, 50), labels, 0.6)
    fitted = make(4, init="agglomerative", n_init=1, random_state=0).fit(x)
    assert nmi(labels, fitted.labels_) > 0.95
    again = make(4, init="agglomerative", n_init=1, random_state=0).fit(x)
    assert np.array_equal(fitted.labels_, again.labels_)


def test_wrong_values_are_refused() -> None:
    x = rows_of(0)
    with pytest.raises(ValueError, match=r"local_search.*-1"):
        vs.SphericalKMeans(2, local_search=-1).fit(x)
    with pytest.raises(ValueError, match=r"init must be 'k-means\+\+', 'agglomerative'"):
        vs.mixtures.movmf.fit(x, 2, rng=np.random.default_rng(0), init="agglomerate")
