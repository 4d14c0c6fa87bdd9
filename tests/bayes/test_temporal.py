"""The chain: golden numbers, integration on the sphere, limits, commits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, softmax

from tests.mixtures.planted import directions, vmf_rows
from tests.shared import shared
from vmfstream.bayes.concentration import KappaRule, point_kappa
from vmfstream.bayes.filtering import filter_fit
from vmfstream.bayes.flat import Prior, fit, moment_prior, natural_vectors, predictive
from vmfstream.bayes.temporal import (
    backward,
    convolve,
    fit_smoother,
    forward,
    next_slice_density,
    smooth,
    smoother_sweep,
)
from vmfstream.directional.bessel import bessel_ratio, log_c_uniform, log_partition
from vmfstream.mixtures.seeding import one_hot, random_responsibilities

FILTER = json.loads(shared("golden/tiny_filter.json").read_text())["cases"]
Matrix = NDArray[np.float64]


def column(v: Any) -> Matrix:
    """A vector as the first of 16 columns: one topic and its padding."""
    return np.asarray(np.pad(np.asarray(v, np.float64)[:, None], [(0, 0), (0, 15)]))


def chain(case: dict[str, Any]) -> tuple[list[Matrix], float, Matrix, float]:
    """Statistics, kappa, first prediction and persistence of a tiny case."""
    stats = [column(np.sum(rows, axis=0)) if rows else np.zeros((case["D"], 16)) for rows in case["X"]]
    omega = float(bessel_ratio(case["D"], case["C0"]))
    return stats, case["kappa"], column(case["mu_init"]) * case["C_init"], omega


def means(vectors: Sequence[NDArray[Any]]) -> Matrix:
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


def simulated(t: int = 4, d: int = 300, k: int = 3, n: int = 40) -> tuple[list[Matrix], list[Matrix], list[Matrix]]:
    """Slices of static topics, their true responsibilities and statistics."""
    rng = np.random.default_rng(7)
    mu = directions(rng, k, d)
    labels = [rng.integers(k, size=n) for _ in range(t)]
    xs = [vmf_rows(rng, mu, z, 0.4) for z in labels]
    resps = [np.asarray(one_hot(z, k, np.float64), np.float64) for z in labels]
    return xs, resps, [x.T @ r for x, r in zip(xs, resps, strict=True)]


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


def test_one_slice_with_an_anchor_is_the_flat_mixture() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    prior = moment_prior(xs[0], resp, 3)
    flat = fit(xs[0], resp, 3, prior, kappa="point", tol=1e-10)
    filtered = filter_fit(xs, resp, 3, omega=0.9, anchor=prior.b, tol=1e-10)
    assert np.abs(natural_vectors(prior.b, filtered.h[0], 1.0, 3)[0] - flat.f).max() < 1e-10 * flat.gamma.max()
    assert filtered.kappa[0] == pytest.approx(flat.kappa.mean[0], rel=1e-10)
    h0 = np.zeros_like(flat.f)
    smoothed = fit_smoother(xs, [flat.resp], flat.kappa.mean[0], np.zeros(3), h0, prior.b, 0.9, 1.0, tol=1e-12)
    assert smoothed.kappa == pytest.approx(flat.kappa.mean[0], rel=1e-6)
    assert np.abs(smoothed.resps[0] - flat.resp).max() < 1e-6
    # the flat bound with q(mu) at its optimum given labels and kappa is the chain's
    assert smoothed.bound == pytest.approx(flat.trace[-1], abs=1e-4)


def test_static_chain_is_one_mixture_of_all_slices() -> None:
    xs, resps, _ = simulated()
    anchor = 100 * directions(np.random.default_rng(3), 1, 300)[0]
    smoothed = fit_smoother(xs, resps, 60.0, np.zeros(3), np.zeros((300, 16)), anchor, 1.0, 1.0, tol=1e-12)
    flat = fit(np.vstack(xs), np.vstack(resps), 3, Prior(1.0, anchor), kappa="point", tol=1e-12)
    assert smoothed.kappa == pytest.approx(flat.kappa.mean[0], rel=1e-6)
    assert smoothed.bound == pytest.approx(flat.trace[-1], abs=1e-5)
    assert np.abs(natural_vectors(anchor, smoothed.h, 1.0, 3)[0] - flat.f).max() < 1e-5 * flat.gamma.max()
    assert np.diff(smoothed.trace).min() > -1e-8


def test_plain_filter_with_one_slice_is_the_flat_mixture_with_that_prior() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    b = 100 * directions(np.random.default_rng(3), 1, 300)[0]
    flat = fit(xs[0], resp, 3, Prior(1.0, b), kappa="point")
    filtered = filter_fit(xs, resp, 3, omega=0.5, h0=b)
    assert np.abs(filtered.h[0] - flat.f).max() < 1e-10 * flat.gamma.max()


@pytest.mark.parametrize("anchored", [True, False])
def test_empty_slices_only_predict(anchored: bool) -> None:
    xs, resps, _ = simulated(t=2)
    anchor = 100 * directions(np.random.default_rng(3), 1, 300)[0] if anchored else None
    gap = [xs[0], np.zeros((0, 300)), np.zeros((2, 300)), xs[1]]
    out = filter_fit(gap, resps[0], 3, omega=0.9, anchor=anchor)
    for t in (1, 2):
        assert np.array_equal(out.h[t], out.p[t])
        assert np.array_equal(out.rho[t], out.rho[0])
        assert out.resps[t].shape == (gap[t].shape[0], 16)
    assert np.array_equal(out.p[3], convolve(convolve(convolve(out.h[0], 0.9), 0.9), 0.9))
    assert np.isnan(out.log_predictive[0]).all()
    assert out.log_predictive[3].mean() > 5
    assert not out.log_predictive[2].any()
    rows = [resps[0], np.zeros((0, 16)), np.zeros((2, 16)), resps[1]]
    sweep = smoother_sweep(gap, rows, 60.0, np.zeros(3), np.zeros((300, 16)), anchor, 0.9, 1.0)
    assert np.isfinite(sweep.bound)
    assert [r.shape[0] for r in sweep.resps] == [40, 0, 2, 40]
    assert not sweep.resps[2].any()


def test_filter_follows_topics_and_sums_what_it_saw() -> None:
    xs, resps, _ = simulated(t=4)
    rules: tuple[KappaRule, ...] = ("quadrature", "point")
    for rule in rules:
        out = filter_fit(xs, resps[0], 3, omega=0.99, kappa=rule)
        for r, truth in zip(out.resps, resps, strict=True):
            assert np.abs(r - truth).max() < 1e-3
        assert out.n_seen == pytest.approx(160.0, abs=1e-6)
        assert bessel_ratio(300, out.kappa[-1]) == pytest.approx(0.4, abs=0.02)
    assert out.kappa[-1] == pytest.approx(float(point_kappa(300, out.n_seen, out.t_seen)[0]), rel=1e-9)
    assert out.log_predictive[3].mean() > out.log_predictive[1].mean()
    assert out.rho[-1] == pytest.approx(1 + np.sum(resps, axis=(0, 1))[:3])


def test_next_slice_density_is_the_predictive_of_anchor_plus_prediction() -> None:
    xs, _, stats = simulated(t=1)
    anchor, weights = 50 * directions(np.random.default_rng(3), 1, 300)[0], np.log([0.2, 0.3, 0.5])
    p = 40.0 * stats[0]
    f, gamma = natural_vectors(anchor, p, 1.0, 3)
    expected = predictive(xs[0], f, gamma, 60.0, weights)
    assert next_slice_density(xs[0], p, anchor, 60.0, weights) == pytest.approx(expected, rel=1e-12)
    plain = next_slice_density(xs[0], p, None, 60.0, weights)
    assert plain == pytest.approx(next_slice_density(xs[0], p, np.zeros(300), 60.0, weights), rel=1e-12)


def test_smoother_repairs_wrong_labels_with_the_future() -> None:
    xs, resps, _ = simulated(t=4)
    rng = np.random.default_rng(0)
    start = [random_responsibilities(xs[0], 3, rng), *resps[1:]]
    run = fit_smoother(xs, start, 60.0, np.zeros(3), np.zeros((300, 16)), None, 0.98, 1.0)
    assert np.abs(run.resps[0] - resps[0]).max() < 1e-3
    assert run.converged
    assert run.bound == run.trace.max()
    assert bessel_ratio(300, run.kappa) == pytest.approx(0.4, abs=0.02)
    assert np.abs(run.h - forward(run.stats, run.kappa, np.zeros((300, 16)), 0.98)[1][-1]).max() < 1e-9
    assert run.nk == pytest.approx(np.sum([r.sum(axis=0) for r in run.resps], axis=0)[:3])


def test_hot_sweeps_soften_labels_and_keep_kappa() -> None:
    xs, resps, _ = simulated(t=2)
    given = (60.0, np.zeros(3), np.zeros((300, 16)), None, 0.98, 1.0)
    hot, cold = (smoother_sweep(xs, resps, *given, beta) for beta in (0.01, 1.0))
    assert hot.kappa == 60.0
    assert cold.kappa != 60.0
    assert hot.resps[0].max() < 0.8 < cold.resps[0].max()
    reheated = fit_smoother(xs, resps, *given, betas=[0.03 * 1.4**j for j in range(11)])
    assert reheated.bound == pytest.approx(fit_smoother(xs, resps, *given).bound, abs=0.1)


def test_one_sweep_follows_its_formulas() -> None:
    xs, resps, stats = simulated(t=1)
    n0, alpha, kappa = np.array([3.0, 30.0, 0.0]), 0.5, 60.0
    h0 = 100.0 * np.roll(stats[0], 1, axis=1)
    sweep = smoother_sweep(xs, resps, kappa, n0, h0, None, 0.9, alpha)
    nk = resps[0].sum(axis=0)[:3]
    f, gamma = natural_vectors(h0[:, 0] * 0, h0 + kappa * stats[0], 1.0, 3)
    mean = f[:, :3] * (np.asarray(bessel_ratio(300, gamma)) / gamma)
    new = point_kappa(300, nk.sum(), (mean * stats[0][:, :3]).sum())[0]
    rho = alpha + n0 + nk
    scores = digamma(rho) - digamma(rho.sum()) + new * xs[0] @ mean
    assert sweep.kappa == pytest.approx(new, rel=1e-12)
    assert np.abs(sweep.resps[0][:, :3] - softmax(scores, axis=1)).max() < 1e-10
    evidence = (log_partition(300, gamma) - log_partition(300, np.linalg.norm(h0, axis=0)[:3])).sum()
    weights = gammaln(rho).sum() - gammaln(rho.sum()) - gammaln(alpha + n0).sum() + gammaln((alpha + n0).sum())
    assert sweep.bound == pytest.approx(evidence - nk.sum() * log_partition(300, kappa) + weights, rel=1e-12)


def test_committed_past_counts() -> None:
    xs, resps, stats = simulated(t=3)
    h0 = convolve(60.0 * stats[0], 0.98)
    n0 = resps[0].sum(axis=0)[:3]
    run = fit_smoother(xs[1:], resps[1:], 60.0, n0, h0, None, 0.98, 1.0, tol=1e-9)
    fresh = fit_smoother(xs[1:], resps[1:], 60.0, np.zeros(3), np.zeros_like(h0), None, 0.98, 1.0, tol=1e-9)
    assert run.bound > fresh.bound + 10
    assert np.linalg.norm(run.h, axis=0)[:3] == pytest.approx(
        np.linalg.norm(forward(run.stats, run.kappa, h0, 0.98)[1][-1], axis=0)[:3], rel=1e-12
    )


def test_sparse_single_precision_slices() -> None:
    xs, resps, _ = simulated(t=3)
    sparse = [csr_array(x.astype(np.float32)) for x in xs]
    single = [r.astype(np.float32) for r in resps]
    given = (np.zeros(3), np.zeros((300, 16), np.float32), None, 0.95, 1.0)
    narrow = fit_smoother(sparse, single, 60.0, *given)
    wide = fit_smoother(xs, resps, 60.0, np.zeros(3), np.zeros((300, 16)), None, 0.95, 1.0)
    assert narrow.h.dtype == np.float32
    assert narrow.bound == pytest.approx(wide.bound, rel=1e-4)
    assert narrow.kappa == pytest.approx(wide.kappa, rel=1e-4)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="first slice"):
        filter_fit([np.zeros((2, 5))], np.zeros((2, 16)), 2, omega=0.9)
    xs, resps, _ = simulated(t=1)
    with pytest.raises(ValueError, match="memory"):
        filter_fit(xs, resps[0], 3, omega=0.9, memory=0.0)
    with pytest.raises(ValueError, match="omega"):
        convolve(np.ones((5, 16)), 1.5)
