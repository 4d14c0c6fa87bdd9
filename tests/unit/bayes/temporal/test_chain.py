"""The chain: golden numbers, integration on the sphere, limits, commits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.data import golden_file
from tests.unit.bayes.temporal.slices import simulated
from tests.unit.mixtures.planted import directions
from vmfstream.arrays import Vector
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.predictive import predictive
from vmfstream.bayes.temporal.chain import backward, convolve, forward, next_slice_density, smooth
from vmfstream.directional.bessel import bessel_ratio, log_c_uniform, log_partition

FILTER = json.loads(golden_file("tiny_filter.json").read_text())["cases"]


def column(v: Any) -> Vector:
    """A vector as the first of 16 columns: one topic and its padding."""
    return np.asarray(np.pad(np.asarray(v, np.float64)[:, None], [(0, 0), (0, 15)]))


def chain(case: dict[str, Any]) -> tuple[list[Vector], float, Vector, float]:
    """Statistics, kappa, first prediction and persistence of a tiny case."""
    stats = [column(np.sum(rows, axis=0)) if rows else np.zeros((case["D"], 16)) for rows in case["X"]]
    omega = float(bessel_ratio(case["D"], case["C0"]))
    return stats, case["kappa"], column(case["mu_init"]) * case["C_init"], omega


def means(vectors: Sequence[NDArray[Any]]) -> Vector:
    """Expected directions of the first columns of natural vectors."""
    f = np.array([v[:, 0] for v in vectors])
    gamma = np.linalg.norm(f, axis=1)
    return np.asarray(f * (bessel_ratio(f.shape[1], gamma) / gamma)[:, None])


@pytest.mark.parametrize("case", FILTER)
def test_golden_filter_and_smoother(case: dict[str, Any]) -> None:
    stats, kappa, h0, omega = chain(case)
    golden = case["assumed_density"]
    p, h = forward(stats, kappa, h0, omega)
    computed = {
        "predicted": p,
        "filtered": h,
        "backward_message": backward(stats, kappa, omega),
        "smoothed": smooth(stats, kappa, h0, omega).s,
    }
    for name, vectors in computed.items():
        assert np.array([v[:, 0] for v in vectors]) == pytest.approx(np.array(golden[name]), abs=1e-9), name
    d = case["D"]
    for t, rows in enumerate(case["X"]):
        ell = [float(log_partition(d, np.linalg.norm(v[t][:, 0]))) for v in (h, p)]
        density = ell[0] - ell[1] + len(rows) * (log_c_uniform(d) - log_partition(d, kappa))
        assert density == pytest.approx(golden["log_predictive"][t], abs=1e-9)


@pytest.mark.parametrize("case", FILTER)
def test_close_to_integration_over_the_sphere(case: dict[str, Any]) -> None:
    stats, kappa, h0, omega = chain(case)
    p, h = forward(stats, kappa, h0, omega)
    s = smooth(stats, kappa, h0, omega).s
    for name, vectors in (("predicted", p), ("filtered", h), ("smoothed", s)):
        exact, error = np.array(case["exact"][f"{name}_mean"]), case["approximation_error"][name]
        computed = means(vectors)
        lengths = [np.linalg.norm(m, axis=1) for m in (computed, exact)]
        assert np.abs(lengths[0] - lengths[1]).max() <= 1.05 * error["max_abs_resultant_error"] + 1e-9
        cosine = (computed * exact).sum(axis=1) / (lengths[0] * lengths[1])
        assert np.degrees(np.arccos(np.clip(cosine, -1, 1))).max() <= 1.05 * error["max_angle_deg"] + 1e-5


@pytest.mark.parametrize("d", [2, 3, 100, 10_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_dimension_is_finite(d: int, dtype: Any) -> None:
    rng = np.random.default_rng(d)
    stats = [
        np.pad(scale * directions(rng, 2, d).T, [(0, 0), (0, 14)]).astype(dtype) for scale in (0.0, 1e-3, 1.0, 1e4)
    ]
    h0 = np.zeros((d, 16), dtype)
    for kappa in (1e-3, 1e6):
        for vectors in (
            *forward(stats, kappa, h0, 0.98),
            backward(stats, kappa, 0.98),
            smooth(stats, kappa, h0, 0.98).s,
        ):
            for v in vectors:
                assert v.dtype == dtype
                assert np.isfinite(v).all()
                assert not v[:, 2:].any()
    assert not convolve(h0, 0.9).any()


def test_convolution_keeps_the_expected_direction() -> None:
    h = np.random.default_rng(0).standard_normal((50, 16)) * np.geomspace(1e-3, 1e5, 16)
    gamma = np.linalg.norm(h, axis=0)
    out = convolve(h, 0.9)
    after = np.linalg.norm(out, axis=0)
    assert np.asarray(bessel_ratio(50, after)) == pytest.approx(0.9 * np.asarray(bessel_ratio(50, gamma)), rel=1e-12)
    assert np.abs(out / after - h / gamma).max() < 1e-14
    assert np.array_equal(convolve(h, 1.0), h)
    assert not convolve(h, 0.0).any()


def test_full_persistence_pools_everything() -> None:
    _, _, stats = simulated()
    h0 = 3 * stats[0]
    pooled = h0 + 50.0 * np.sum(stats, axis=0)
    assert np.abs(forward(stats, 50.0, h0, 1.0)[1][-1] - pooled).max() < 1e-12 * np.abs(pooled).max()
    for s in smooth(stats, 50.0, h0, 1.0).s:
        assert np.abs(s - pooled).max() < 1e-12 * np.abs(pooled).max()
    errors = []
    for c0 in (1e6, 1e8):
        omega = float(bessel_ratio(300, c0))
        errors.append(max(np.abs(s - pooled).max() for s in smooth(stats, 50.0, h0, omega).s))
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.1)


def test_no_persistence_leaves_each_slice_alone() -> None:
    _, _, stats = simulated()
    for s, own in zip(smooth(stats, 50.0, np.zeros_like(stats[0]), 0.0).s, stats, strict=True):
        assert np.abs(s - 50.0 * own).max() < 1e-11


def test_fixed_lag_hears_only_the_next_slices() -> None:
    _, _, stats = simulated(t=6)
    full = backward(stats, 50.0, 0.9)
    for lag in (0, 1, 3):
        lagged = backward(stats, 50.0, 0.9, lag)
        for t in range(6):
            assert np.abs(lagged[t] - backward(stats[: t + 1 + lag], 50.0, 0.9)[t]).max() < 1e-12
    assert all(np.array_equal(a, b) for a, b in zip(backward(stats, 50.0, 0.9, 10), full, strict=True))
    with pytest.raises(ValueError, match="lag"):
        backward(stats, 50.0, 0.9, -1)


def test_committing_a_slice_changes_nothing_after_it() -> None:
    _, _, stats = simulated()
    h0 = np.zeros_like(stats[0])
    p, h = forward(stats, 50.0, h0, 0.9)
    committed = convolve(h0 + 50.0 * stats[0], 0.9)
    p_tail, h_tail = forward(stats[1:], 50.0, committed, 0.9)
    for whole, tail in ((p[1:], p_tail), (h[1:], h_tail)):
        assert max(np.abs(a - b).max() for a, b in zip(whole, tail, strict=True)) < 1e-12 * np.abs(h[-1]).max()


def test_single_precision_follows_double() -> None:
    _, _, stats = simulated()
    single = [s.astype(np.float32) for s in stats]
    wide, narrow = (smooth(s, 50.0, np.zeros_like(s[0]), 0.9).s for s in (stats, single))
    for a, b in zip(wide, narrow, strict=True):
        assert np.abs(a - b).max() < 1e-5 * np.abs(a).max()


def test_next_slice_density_is_the_predictive_of_anchor_plus_prediction() -> None:
    xs, _, stats = simulated(t=1)
    anchor, weights = 50 * directions(np.random.default_rng(3), 1, 300)[0], np.log([0.2, 0.3, 0.5])
    p = 40.0 * stats[0]
    f, gamma = natural_vectors(anchor, p, 1.0, 3)
    expected = predictive(xs[0], f, gamma, 60.0, weights)
    assert next_slice_density(xs[0], p, anchor, 60.0, weights) == pytest.approx(expected, rel=1e-12)
    plain = next_slice_density(xs[0], p, None, 60.0, weights)
    assert plain == pytest.approx(next_slice_density(xs[0], p, np.zeros(300), 60.0, weights), rel=1e-12)
