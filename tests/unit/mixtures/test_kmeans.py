"""Spherical and frequency-sensitive k-means: objectives, brute-force oracles, balance, starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from tests.unit.mixtures.planted import directions, hard_text, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.directional.bessel import bessel_ratio, log_partition
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.frequency_sensitive import (
    SCORES,
    Scoring,
    default_scale,
    frequency_sensitive,
    frequency_sensitive_online,
    scores,
)
from vmfstream.mixtures.kmeans import spherical_kmeans
from vmfstream.mixtures.seeding import means_at, perturbed_means, random_means, seed_means
from vmfstream.mixtures.sums import directions as mean_directions
from vmfstream.mixtures.sums import move, weighted_sums


def columns(means: Vector) -> Vector:
    mu = np.zeros((means.shape[1], padded(len(means))))
    mu[:, : len(means)] = means.T
    return mu


def clustered(seed: int = 0, d: int = 20, k: int = 3, n: int = 90, a: float = 0.6) -> tuple[Vector, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), truth, a), truth


@pytest.mark.parametrize("weighted", [False, True])
def test_every_sweep_is_lloyds(weighted: bool) -> None:
    x, _ = clustered(1, a=0.3)
    w = np.random.default_rng(0).random(90) + 0.1 if weighted else np.ones(90)
    means = x[:3]
    found = spherical_kmeans(x, columns(means), 3, weights=w if weighted else None)
    trace, labels = [], np.full(90, -1)
    while True:
        nearest = (x @ means.T).argmax(axis=1)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        s = np.stack([(w[:, None] * x)[labels == t].sum(axis=0) for t in range(3)])
        means = s / np.linalg.norm(s, axis=1, keepdims=True)
        trace.append(np.linalg.norm(s, axis=1).sum() / w.sum())
    assert found.trace == pytest.approx(trace, abs=1e-12)
    assert np.array_equal(found.labels, labels)
    assert np.abs(found.mu[:, :3].T - means).max() < 1e-12
    assert found.sizes == pytest.approx(np.bincount(labels, w))
    assert found.converged


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 6), st.booleans())
def test_the_objective_never_falls_even_if_clusters_are_filled(seed: int, d: int, k: int, repeated: bool) -> None:
    rng = np.random.default_rng(seed)
    x = directions(rng, 25, d)
    if repeated:
        x[5:15] = x[0]
    start = columns(np.repeat(x[:1], k, axis=0) if repeated else directions(rng, k, d))
    weights = rng.random(25) + 0.1
    found = spherical_kmeans(x, start, k, weights=weights)
    assert (np.diff(found.trace) >= -1e-12).all()
    assert len(np.unique(found.labels)) == k
    assert found.sizes == pytest.approx(np.bincount(found.labels, weights, minlength=k))
    assert np.linalg.norm(found.mu[:, :k], axis=0) == pytest.approx(1.0)


def test_storage_precision_and_threads_change_nothing() -> None:
    x, _ = hard_text(np.random.default_rng(1))
    start = seed_means(x, 5, np.random.default_rng(0))
    runs = [spherical_kmeans(y, start, 5, threads=t) for y, t in ((x, 1), (x, 2), (x.toarray(), 1))]
    single = spherical_kmeans(x.astype(np.float32), start.astype(np.float32), 5)
    for other in (*runs[1:], single):
        assert np.array_equal(other.labels, runs[0].labels)
    assert single.mu.dtype == np.float32


def test_zero_and_opposite_rows() -> None:
    x, _ = clustered(2)
    rows = np.vstack([np.zeros(20), x, -x[:1]])
    found = spherical_kmeans(rows, columns(np.vstack([x[:1], x[:1]])), 2)
    assert found.labels[0] == -1
    assert (found.labels[1:] >= 0).all()
    pair = spherical_kmeans(np.vstack([x[:1], -x[:1]]), columns(x[:1]), 1)
    assert pair.mu[:, 0] == pytest.approx(x[0])  # documents cancel: the mean stays


def test_the_rule_of_sizes_turns_around_at_the_mean_cosine() -> None:
    # D = 1000, cosine 0.2, kappa_0 = 300 at 100 rows a cluster: 5.6, 16.8 and -1310 for 1000, 100 and 10 rows
    slope, offset = scores(1000, 300.0 * 100 / np.array([1000.0, 100.0, 10.0]), "exact")
    assert slope * 0.2 + offset == pytest.approx([5.6, 16.8, -1310], rel=0.01)


def test_scores_agree_where_kappa_is_much_larger_than_the_dimension() -> None:
    kappa = np.array([2e5, 3e5])
    exact, asymptotic = (scores(3, kappa, by) for by in SCORES)
    cosines = np.array([0.7, 0.9999])
    difference = [slope * cosines + offset for slope, offset in (exact, asymptotic)]
    assert np.ptp(difference[0] - difference[1]) < 1e-4
    assert exact[1] == pytest.approx(-np.asarray(log_partition(3, kappa)))


@pytest.mark.parametrize("weighted", [False, True])
def test_by_default_smaller_clusters_are_favoured_at_every_size(weighted: bool) -> None:
    x, _ = clustered(3, d=300, n=200, a=0.4)
    weights = np.full(200, 0.01) if weighted else None
    mu = seed_means(x, 3, np.random.default_rng(0))
    scale = default_scale(x, mu, 3, weights=weights)
    smallest = scale * 200 / 3
    cosine = float(np.median((x @ mu)[:, :3].max(axis=1)))
    assert bessel_ratio(300, smallest) == pytest.approx(0.5 * cosine, rel=1e-5)
    sizes = np.array([150.0, 50.0, 10.0, 1.0])
    slope, offset = scores(300, scale * 200 / 3 / sizes, "exact")
    assert (np.diff(slope * cosine + offset) > 0).all()


@pytest.mark.parametrize("score_by", SCORES)
def test_clusters_are_balanced_and_none_is_empty(score_by: Scoring) -> None:
    rng = np.random.default_rng(4)
    truth = np.repeat([0, 1, 2], [400, 30, 30])
    x = vmf_rows(rng, directions(rng, 3, 400), truth, 0.3)
    mu = seed_means(x, 3, rng)
    plain = spherical_kmeans(x, mu, 3)
    fair = frequency_sensitive(x, mu, 3, score_by=score_by)
    assert fair.sizes.min() > 30
    assert np.ptp(fair.sizes) < np.ptp(plain.sizes)
    assert fair.converged
    again = frequency_sensitive(x, mu, 3, score_by=score_by, scale=default_scale(x, mu, 3, score_by))
    assert np.array_equal(again.labels, fair.labels)
    other = frequency_sensitive(x, mu, 3, score_by=score_by, scale=1e6)
    assert not np.array_equal(other.labels, fair.labels)


def test_batch_sweeps_are_the_oracles() -> None:
    x, _ = clustered(5, d=30, n=60, a=0.4)
    means, sizes, labels = x[:4], np.full(4, 15.0), np.zeros(60, np.int64)
    for sweep in range(1, 6):
        kappa = 2.0 * 15.0 / np.maximum(sizes, 1)
        labels = (kappa * (x @ means.T) - np.asarray(log_partition(30, kappa))).argmax(axis=1)
        s = np.stack([x[labels == t].sum(axis=0) for t in range(4)])
        means = np.where(np.linalg.norm(s, axis=1, keepdims=True) > 0, s, means)
        means = means / np.linalg.norm(means, axis=1, keepdims=True)
        sizes = sizes + (np.bincount(labels, minlength=4) - sizes) / (sweep + 1)
    found = frequency_sensitive(x, columns(x[:4]), 4, scale=2.0, max_iter=5, tol=0.0)
    assert np.array_equal(found.labels, labels)
    assert found.sizes == pytest.approx(sizes)
    assert np.abs(found.mu[:, :4].T - means).max() < 1e-12


@pytest.mark.parametrize("score_by", SCORES)
@pytest.mark.parametrize("horizon", [None, 20.0])
def test_online_steps_are_the_oracles(horizon: float | None, score_by: Scoring) -> None:
    x, _ = clustered(6, d=30, n=50, a=0.4)
    x[7] = 0.0
    order = np.random.default_rng(0).permutation(50)
    weights = np.random.default_rng(1).random(50) + 0.5
    memory = weights.sum() - weights[7] if horizon is None else horizon
    unit = (weights.sum() - weights[7]) / 49
    s, sizes, labels = x[:3].copy(), np.full(3, memory / 3), np.full(50, -1)
    for i in order[order != 7]:
        kappa = 1.5 * memory / 3 / np.maximum(sizes, unit)
        cosines = s @ x[i] / np.linalg.norm(s, axis=1)
        slope, offset = scores(30, kappa, score_by)
        labels[i] = (slope * cosines + offset).argmax()
        s[labels[i]] += weights[i] * x[i]
        sizes *= 1 - weights[i] / memory
        sizes[labels[i]] += weights[i]
    for rows in (x, csr_array(x)):
        found = frequency_sensitive_online(
            rows, columns(x[:3]), 3, score_by=score_by, scale=1.5, horizon=horizon, order=order, weights=weights
        )
        assert np.array_equal(found.labels, labels)
        assert found.sizes == pytest.approx(sizes)
        assert np.abs(found.mu[:, :3].T - s / np.linalg.norm(s, axis=1, keepdims=True)).max() < 1e-12


def test_unknown_scores_are_named() -> None:
    with pytest.raises(ValueError, match="score_by must be one of exact, asymptotic; got 'other'"):
        scores(10, np.ones(2), "other")  # type: ignore[arg-type]


@pytest.mark.parametrize("start", [seed_means, random_means, perturbed_means])
def test_starts_are_unit_columns_and_seeded(start: Any) -> None:
    x, _ = clustered(7)
    x[3] = 0.0
    for rows in (x, csr_array(x.astype(np.float32))):
        mu = start(rows, 5, np.random.default_rng(0))
        assert mu.shape == (20, 16)
        assert mu.dtype == rows.dtype
        assert np.linalg.norm(mu[:, :5], axis=0) == pytest.approx(1.0, abs=1e-6)
        assert not mu[:, 5:].any()
        assert np.array_equal(mu, start(rows, 5, np.random.default_rng(0)))
        assert not np.array_equal(mu, start(rows, 5, np.random.default_rng(1)))


def test_seeds_and_random_means_are_rows_with_a_weight() -> None:
    x, _ = clustered(7)
    weights = np.zeros(90)
    weights[[4, 50, 51, 80]] = 1.0
    for start in (seed_means, random_means):
        mu = start(x, 4, np.random.default_rng(0), weights)
        rows = [int(np.flatnonzero(np.abs(x @ mu[:, t] - 1) < 1e-12)[0]) for t in range(4)]
        assert sorted(rows) == [4, 50, 51, 80]
    same = np.repeat(x[:1], 5, axis=0)
    assert np.array_equal(seed_means(same, 3, np.random.default_rng(0))[:, :3], np.repeat(x[:1], 3, axis=0).T)


def test_perturbed_means_lie_around_the_mean_of_all() -> None:
    x, _ = hard_text(np.random.default_rng(0))
    mean = np.asarray(x.sum(axis=0)).ravel()
    mu = perturbed_means(x, 4, np.random.default_rng(0), step=0.1)
    angle = np.arccos(np.clip(mu[:, :4].T @ mean / np.linalg.norm(mean), -1, 1))
    assert angle == pytest.approx(np.full(4, 0.1), rel=0.02)
    weights = np.append(1.0, np.zeros(x.shape[0] - 1))
    assert (perturbed_means(x, 2, np.random.default_rng(0), weights)[:, :2].T @ x[0].toarray() > 0.98).all()
    assert np.isfinite(perturbed_means(np.vstack([x[0].toarray(), -x[0].toarray()]), 2, np.random.default_rng(0))).all()


def test_moved_rows_leave_no_trace() -> None:
    x, _ = clustered(8)
    resp = np.zeros((90, 16))
    resp[:, :3] = np.random.default_rng(0).dirichlet(np.ones(3), 90) * np.linspace(0.5, 2, 90)[:, None]
    sums = weighted_sums(x, resp, 3)
    moved = resp.copy()
    moved[[5, 9]] = 0
    moved[5, 2], moved[9, 0] = resp[5].sum(), resp[9].sum()
    move(x, sums, np.array([5, 9]), resp[[5, 9]], np.array([2, 0]))
    again = weighted_sums(x, moved, 3)
    for a, b in zip(sums, again, strict=True):
        assert np.abs(a - b).max() < 1e-12
    mu = mean_directions(sums, np.zeros((20, 16)))
    assert np.abs(mu[:, :3] - sums.s[:, :3] / sums.norms).max() < 1e-12
    assert np.array_equal(means_at(x, np.array([3, 4]))[:, :2].T, x[3:5])
