"""The smoother: limits, its formulas, what the future repairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, softmax

from tests.unit.bayes.temporal.slices import simulated
from tests.unit.mixtures.planted import directions
from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import point_factor, point_kappa
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.factors.responsibilities import responsibilities
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.temporal.chain import convolve, forward, smooth
from vmfstream.bayes.temporal.filtering import filter_fit
from vmfstream.bayes.temporal.proportions import StaticWeights
from vmfstream.bayes.temporal.smoother import SmootherModel, SmootherState, Sweep, fit_smoother, smoother_sweep
from vmfstream.bayes.temporal.word_sums import RunningBelief, SliceSums, narrowed, pins_of
from vmfstream.directional.bessel import bessel_ratio, log_partition
from vmfstream.mixtures.columns import column_norms
from vmfstream.mixtures.seeding import random_responsibilities


def one_sweep(
    xs: list[Vector], resps: list[Vector], kappa: float, rho0: Vector, h0: Vector, omega: float, beta: float = 1.0
) -> Sweep:
    """A sweep without anchor."""
    state = SmootherState(list(resps), point_factor(300, kappa), StaticWeights(rho0, rho0, len(xs)))
    return smoother_sweep(list(map(narrowed, xs)), state, model_of(h0, omega), beta)


def model_of(h0: Vector, omega: float, lag: int | None = None) -> SmootherModel:
    """No anchor, one concentration for all topics."""
    return SmootherModel(RunningBelief(h0), np.zeros(300), omega, lag, KappaModel())


def dense(sums: list[SliceSums]) -> list[Vector]:
    """Sums over all words."""
    return [s.dense(300) for s in sums]


def test_one_slice_with_a_pinned_topic_is_the_flat_mixture_with_a_prior_of_its_own() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    anchor = moment_prior(xs[0], resp, 3).b
    prior = np.zeros((len(anchor), resp.shape[1]))
    prior[:, 1] = 80.0 * np.abs(xs[0][0])
    each = np.where(np.arange(resp.shape[1]) < 3, anchor[:, None], 0.0) + prior
    flat = fit(xs[0], resp, 3, Prior(1.0, each), kappa="point", tol=1e-12)
    h0 = np.zeros_like(flat.f)
    how: dict[str, Any] = {"tol": 1e-12, "pins": pins_of(prior)}
    smoothed = fit_smoother(xs, [flat.resp], flat.kappa.mean[0], np.zeros(3), h0, anchor, 0.9, 1.0, **how)
    assert smoothed.kappa == pytest.approx(flat.kappa.mean[0], rel=1e-6)
    assert np.abs(smoothed.resps[0] - flat.resp).max() < 1e-6
    plain = fit_smoother(xs, [flat.resp], flat.kappa.mean[0], np.zeros(3), h0, anchor, 0.9, 1.0, tol=1e-12)
    assert np.abs(plain.resps[0] - flat.resp).max() > 1e-4


@pytest.mark.parametrize("lag", [None, 0, 1])
def test_pins_that_all_topics_share_are_an_anchor(lag: int | None) -> None:
    xs, _, _ = simulated(t=4)
    resps = [random_responsibilities(x, 3, np.random.default_rng(t)) for t, x in enumerate(xs)]
    anchor = moment_prior(xs[0], resps[0], 3).b.astype(np.float64)
    h0 = np.zeros((len(anchor), resps[0].shape[1]))
    prior = np.where(np.arange(h0.shape[1]) < 3, 0.4 * anchor[:, None], 0.0)
    fits = [
        fit_smoother(xs, resps, 50.0, np.zeros(3), h0, share * anchor, 0.9, 1.0, lag=lag, max_iter=5, pins=pins)
        for share, pins in ((1.0, None), (0.6, pins_of(prior)))
    ]
    assert fits[1].bound == pytest.approx(fits[0].bound, rel=1e-10)
    for one, other in zip(fits[0].resps, fits[1].resps, strict=True):
        assert np.abs(one - other).max() < 1e-8


def test_one_slice_with_an_anchor_is_the_flat_mixture() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    prior = moment_prior(xs[0], resp, 3)
    flat = fit(xs[0], resp, 3, prior, kappa="point", tol=1e-10)
    filtered = filter_fit(xs, resp, 3, omega=0.9, anchor=prior.b, tol=1e-10)
    h = filtered.slices[0].h
    assert np.abs(natural_vectors(prior.b, h, 1.0, 3)[0] - flat.f).max() < 1e-10 * flat.gamma.max()
    assert filtered.slices[0].kappa.mean[0] == pytest.approx(flat.kappa.mean[0], rel=1e-10)
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


def test_smoother_repairs_wrong_labels_with_the_future() -> None:
    xs, resps, _ = simulated(t=4)
    rng = np.random.default_rng(0)
    start = [random_responsibilities(xs[0], 3, rng), *resps[1:]]
    run = fit_smoother(xs, start, 60.0, np.zeros(3), np.zeros((300, 16)), None, 0.98, 1.0)
    assert np.abs(run.resps[0] - resps[0]).max() < 1e-3
    assert run.converged
    assert run.bound == run.trace.max()
    assert bessel_ratio(300, run.kappa) == pytest.approx(0.4, abs=0.02)
    assert np.abs(run.h - forward(dense(run.stats), run.kappa, np.zeros((300, 16)), 0.98)[1][-1]).max() < 1e-9
    assert run.nk == pytest.approx(np.sum([r.sum(axis=0) for r in run.resps], axis=0)[:3])


def test_hot_sweeps_soften_labels_and_keep_kappa() -> None:
    xs, resps, _ = simulated(t=2)
    given = (60.0, np.zeros(3), np.zeros((300, 16)), None, 0.98, 1.0)
    hot, cold = (one_sweep(xs, resps, 60.0, np.ones(3), np.zeros((300, 16)), 0.98, beta).state for beta in (0.01, 1.0))
    assert hot.kappa.mean[0] == 60.0
    assert cold.kappa.mean[0] != 60.0
    assert hot.resps[0].max() < 0.8 < cold.resps[0].max()
    reheated = fit_smoother(xs, resps, *given, betas=[0.03 * 1.4**j for j in range(11)])
    assert reheated.begun == fit_smoother(xs, resps, *given, max_iter=0).bound
    assert reheated.bound == pytest.approx(fit_smoother(xs, resps, *given).bound, abs=0.1)


def test_one_sweep_follows_its_formulas() -> None:
    xs, resps, stats = simulated(t=1)
    n0, alpha, kappa = np.array([3.0, 30.0, 0.0]), 0.5, 60.0
    h0 = 100.0 * np.roll(stats[0], 1, axis=1)
    sweep = one_sweep(xs, resps, kappa, alpha + n0, h0, 0.9)
    nk = resps[0].sum(axis=0)[:3]
    f, gamma = natural_vectors(h0[:, 0] * 0, h0 + kappa * stats[0], 1.0, 3)
    mean = f[:, :3] * (np.asarray(bessel_ratio(300, gamma)) / gamma)
    new = point_kappa(300, nk.sum(), (mean * stats[0][:, :3]).sum())[0]
    rho = alpha + n0 + nk
    scores = digamma(rho) - digamma(rho.sum()) + new * xs[0] @ mean
    assert sweep.state.kappa.mean[0] == pytest.approx(new, rel=1e-12)
    assert np.abs(sweep.state.resps[0][:, :3] - softmax(scores, axis=1)).max() < 1e-10
    evidence = (log_partition(300, gamma) - log_partition(300, np.linalg.norm(h0, axis=0)[:3])).sum()
    weights = gammaln(rho).sum() - gammaln(rho.sum()) - gammaln(alpha + n0).sum() + gammaln((alpha + n0).sum())
    assert sweep.bound == pytest.approx(evidence - nk.sum() * log_partition(300, kappa) + weights, rel=1e-12)


@pytest.mark.parametrize("lag", [0, 1, 3])
def test_lagged_sweeps_score_by_lagged_beliefs(lag: int) -> None:
    xs, resps, stats = simulated()
    rho, h0 = np.ones(3), np.zeros((300, 16))
    state = SmootherState(list(resps), point_factor(300, 60.0), StaticWeights(rho, rho, 4))
    sweep = smoother_sweep(list(map(narrowed, xs)), state, model_of(h0, 0.9, lag))
    beliefs = smooth(stats, 60.0, h0, 0.9, lag=lag, k=3).s
    for x, f, row, found in zip(xs, beliefs, sweep.weights.expected_log, sweep.state.resps, strict=True):
        expected, _ = responsibilities(x, np.asarray(f), column_norms(f)[:3], sweep.state.kappa, row)
        assert np.abs(found - expected).max() < 1e-10
    full = one_sweep(xs, resps, 60.0, rho, h0, 0.9)
    closer = full.state.kappa.mean[0] - sweep.state.kappa.mean[0]
    assert abs(closer) < 1e-9 if lag == 3 else closer > 1  # smoothing brings means nearer to the documents


def test_committed_past_counts() -> None:
    xs, resps, stats = simulated(t=3)
    h0 = convolve(60.0 * stats[0], 0.98)
    n0 = resps[0].sum(axis=0)[:3]
    run = fit_smoother(xs[1:], resps[1:], 60.0, n0, h0, None, 0.98, 1.0, tol=1e-9)
    fresh = fit_smoother(xs[1:], resps[1:], 60.0, np.zeros(3), np.zeros_like(h0), None, 0.98, 1.0, tol=1e-9)
    assert run.bound > fresh.bound + 10
    assert np.linalg.norm(run.h, axis=0)[:3] == pytest.approx(
        np.linalg.norm(forward(dense(run.stats), run.kappa, h0, 0.98)[1][-1], axis=0)[:3], rel=1e-12
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
