"""Diametrical k-means: objective, fixed points, degenerate input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.mixtures.planted import directions, nmi
from vmfstream.directional.axes import principal_axis
from vmfstream.directional.sphere import unit_rows
from vmfstream.directional.watson import sample
from vmfstream.mixtures.diametrical import axial_seeds, diametrical_kmeans


def axial(d: int, n: int, kappa: float, k: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return np.vstack([sample(np.eye(d)[j], kappa, n, rng) for j in range(k)]), np.repeat(np.arange(k), n)


def fit(x: Any, k: int, seed: int = 0, **options: Any) -> Any:
    return diametrical_kmeans(x, axial_seeds(x, k, np.random.default_rng(seed)), k, **options)


@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=40, deadline=None)
def test_objective_never_falls_and_ends_at_a_fixed_point(d: int, k: int, seed: int, sparse: bool) -> None:
    x = unit_rows(np.random.default_rng(seed).standard_normal((60, d)))[0]
    found = fit(csr_array(x) if sparse else x, k, seed, max_iter=500)
    assert np.diff(found.trace).min(initial=0) > -1e-13
    assert found.converged
    squares = (x @ found.mu[:, :k]) ** 2
    np.testing.assert_array_equal(found.labels, squares.argmax(axis=1))
    for j in range(k):
        best = principal_axis(x, (found.labels == j).astype(float))[1]
        assert squares[found.labels == j, j].mean() == pytest.approx(best, rel=1e-9)
    assert found.trace[-1] == pytest.approx(squares.max(axis=1).mean(), rel=1e-12)
    assert np.all(found.sizes == np.bincount(found.labels, minlength=k))


def test_two_axes_that_k_means_would_cut_into_four() -> None:
    x, labels = axial(2, 150, 30.0, 2, 0)
    found = fit(x, 2)
    assert nmi(found.labels, labels) > 0.9
    np.testing.assert_allclose(np.abs(found.mu[:, :2]).max(axis=0), 1, atol=0.01)


def test_signs_of_rows_do_not_matter() -> None:
    x, _ = axial(15, 40, 60.0, 3, 1)
    signs = np.random.default_rng(2).choice([-1.0, 1.0], (len(x), 1))
    one, two = fit(x, 3), fit(signs * x, 3)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_allclose(one.mu, two.mu, atol=1e-9)
    np.testing.assert_allclose(one.trace, two.trace, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_does_not_matter(dtype: Any) -> None:
    x, labels = axial(300, 30, 900.0, 4, 3)
    dense, sparse = fit(x.astype(dtype), 4), fit(csr_array(x.astype(dtype)), 4)
    assert nmi(dense.labels, labels) == pytest.approx(1)
    np.testing.assert_array_equal(dense.labels, sparse.labels)
    assert dense.mu.dtype == dtype
    assert np.diff(dense.trace).min(initial=0) > (-1e-6 if dtype == np.float32 else -1e-13)


def test_weights_count_rows() -> None:
    x, _ = axial(6, 30, 8.0, 2, 4)
    times = np.random.default_rng(5).integers(0, 3, len(x))
    start = axial_seeds(x, 2, np.random.default_rng(0))
    weighted = diametrical_kmeans(x, start, 2, weights=times.astype(float))
    repeated = diametrical_kmeans(np.repeat(x, times, axis=0), start, 2)
    np.testing.assert_allclose(weighted.trace, repeated.trace, rtol=1e-12)
    np.testing.assert_allclose(weighted.sizes, repeated.sizes)
    assert np.all(weighted.labels[times == 0] == -1)


def test_zero_rows_duplicates_and_opposites() -> None:
    rows = np.array([[1.0, 0, 0], [-1, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 0]])
    found = fit(rows, 2)
    assert found.labels[-1] == -1
    assert len(set(found.labels[:3])) == len(set(found.labels[3:5])) == 1
    assert found.trace[-1] == pytest.approx(1)
    crowded = fit(rows, 4)  # more clusters than axes
    assert crowded.converged
    assert sorted(crowded.sizes) == [0, 0, 2, 3]
    assert crowded.trace[-1] == pytest.approx(1)


def test_empty_clusters_take_the_worst_rows() -> None:
    x, _ = axial(5, 30, 20.0, 2, 6)
    start = np.zeros((5, 16))
    start[:, :3] = np.eye(5)[:, [0, 1, 1]]  # the third axis never wins
    found = diametrical_kmeans(x, start, 3)
    assert np.all(found.sizes >= 1)
    assert np.diff(found.trace).min() > -1e-13


def test_a_row_across_all_axes_gets_one_of_its_own_at_once() -> None:
    x = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    start = np.zeros((3, 16))
    start[0, 0] = start[2, 1] = 1
    np.testing.assert_allclose(diametrical_kmeans(x, start, 2, max_iter=2).trace, [2 / 3, 1])


def test_axial_seeds_differ_in_axis() -> None:
    x = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]])
    for seed in range(5):
        seeds = axial_seeds(x, 2, np.random.default_rng(seed))
        assert seeds[:, 0] @ seeds[:, 1] == 0


def lloyd(x: NDArray[Any], mu: NDArray[Any]) -> NDArray[np.int64]:
    """Diametrical clustering as it is written: nearest axes, then first eigenvectors, until labels rest."""
    labels = np.full(len(x), -1)
    while True:
        new = np.abs(x @ mu).argmax(axis=1)
        if np.array_equal(new, labels):
            return labels
        labels = new
        for j in np.unique(labels):
            own = x[labels == j]
            mu[:, j] = np.linalg.eigh(own.T @ own)[1][:, -1]


@pytest.mark.thorough
@pytest.mark.parametrize("storage", [np.asarray, csr_array])
def test_it_ends_where_lloyds_algorithm_ends(storage: Any) -> None:
    """Single steps of the power method ended elsewhere in 34 of these 40 runs."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = directions(rng, 200, 6)
        start = axial_seeds(x, 4, rng)
        found = diametrical_kmeans(storage(x), start, 4)
        assert np.array_equal(found.labels, lloyd(x, start[:, :4].copy()))
