"""The filter: one slice, empty slices, what it follows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.data import golden_file
from tests.unit.bayes.temporal.slices import simulated
from tests.unit.mixtures.planted import directions
from vmfstream.bayes.factors.concentration import KappaPrior, KappaRule, point_kappa
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.temporal.chain import convolve, smooth
from vmfstream.bayes.temporal.filtering import filter_fit
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.directional.bessel import bessel_ratio, log_c_uniform
from vmfstream.mixtures.seeding import one_hot, random_responsibilities

FILTER = json.loads(golden_file("tiny_filter.json").read_text())["cases"]


def test_plain_filter_with_one_slice_is_the_flat_mixture_with_that_prior() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    b = 100 * directions(np.random.default_rng(3), 1, 300)[0]
    flat = fit(xs[0], resp, 3, Prior(1.0, b), kappa="point")
    filtered = filter_fit(xs, resp, 3, omega=0.5, h0=b)
    assert np.abs(filtered.slices[0].h - flat.f).max() < 1e-10 * flat.gamma.max()


@pytest.mark.parametrize("anchored", [True, False])
def test_empty_slices_only_predict(anchored: bool) -> None:
    xs, resps, _ = simulated(t=2)
    anchor = 100 * directions(np.random.default_rng(3), 1, 300)[0] if anchored else None
    gap = [xs[0], np.zeros((0, 300)), np.zeros((2, 300)), xs[1]]
    out = filter_fit(gap, resps[0], 3, omega=0.9, anchor=anchor).slices
    for t in (1, 2):
        assert np.array_equal(out[t].h, out[t].p)
        assert out[t].weights == pytest.approx(out[0].weights, rel=1e-14)
        assert out[t].resp.shape == (gap[t].shape[0], 16)
    assert np.array_equal(out[3].p, convolve(convolve(convolve(out[0].h, 0.9), 0.9), 0.9))
    assert np.isnan(out[0].log_predictive).all()
    assert out[3].log_predictive.mean() > 5
    assert not out[2].log_predictive.any()
    rows = [resps[0], np.zeros((0, 16)), np.zeros((2, 16)), resps[1]]
    smoothed = fit_smoother(gap, rows, 60.0, np.zeros(3), np.zeros((300, 16)), anchor, 0.9, 1.0)
    assert np.isfinite(smoothed.bound)
    assert [r.shape[0] for r in smoothed.resps] == [40, 0, 2, 40]
    assert not smoothed.resps[2].any()


def test_filter_follows_topics_and_sums_what_it_saw() -> None:
    xs, resps, _ = simulated(t=4)
    rules: tuple[KappaRule, ...] = ("quadrature", "point")
    for rule in rules:
        out = filter_fit(xs, resps[0], 3, omega=0.99, kappa=rule)
        for found, truth in zip(out.slices, resps, strict=True):
            assert np.abs(found.resp - truth).max() < 1e-3
        assert out.state.n_seen == pytest.approx(160.0, abs=1e-6)
        assert bessel_ratio(300, out.slices[-1].kappa.mean[0]) == pytest.approx(0.4, abs=0.02)
    kappa = point_kappa(300, out.state.n_seen, out.state.t_seen)
    assert out.slices[-1].kappa.mean == pytest.approx(kappa, rel=1e-9)
    assert out.slices[3].log_predictive.mean() > out.slices[1].log_predictive.mean()
    rho = 1 + np.sum(resps, axis=(0, 1))[:3]
    assert out.slices[-1].weights == pytest.approx(rho / rho.sum())


@pytest.mark.parametrize("rule", ["point", "quadrature"])
def test_bounds_of_slices_leave_out_earlier_documents(rule: KappaRule) -> None:
    """Each held the likelihood of all earlier slices once more."""
    rows, resp = np.concatenate(simulated(t=4)[0]), np.concatenate(simulated(t=4)[1])
    prior = KappaPrior(5.0, 1.0)
    whole = filter_fit([rows], resp, 3, omega=0.999, kappa=rule, kappa_prior=prior).slices[0].bound
    parts = filter_fit(np.split(rows, 4), np.split(resp, 4), 3, omega=0.999, kappa=rule, kappa_prior=prior).slices
    assert sum(one.bound for one in parts) == pytest.approx(whole, rel=0.01)
    for one in parts[1:]:
        assert one.bound == pytest.approx(one.log_predictive.sum(), rel=0.2)


@pytest.mark.parametrize("case", FILTER)
def test_golden_numbers_of_a_whole_fit(case: dict[str, Any]) -> None:
    d, kappa = case["D"], case["kappa"]
    xs = [np.array(rows, np.float64).reshape(-1, d) for rows in case["X"]]
    resps = [np.asarray(one_hot(np.zeros(len(x), np.int64), 1, np.float64), np.float64) for x in xs]
    omega = float(bessel_ratio(d, case["C0"]))
    h0 = np.array(case["mu_init"]) * case["C_init"]
    golden = case["assumed_density"]
    found = filter_fit(xs, resps[0], 1, omega=omega, h0=h0, kappa=kappa)
    assert np.array([one.p[:, 0] for one in found.slices]) == pytest.approx(np.array(golden["predicted"]), abs=1e-9)
    assert np.array([one.h[:, 0] for one in found.slices]) == pytest.approx(np.array(golden["filtered"]), abs=1e-9)
    first = np.pad(h0[:, None], [(0, 0), (0, 15)])
    model = KappaModel(kappa)
    smoothed = fit_smoother(xs, resps, kappa, np.zeros(1), first, None, omega, 1.0, model=model)
    s = smooth([s.dense(d) for s in smoothed.stats], smoothed.kappa, first, omega, k=1).s
    assert np.array([v[:, 0] for v in s]) == pytest.approx(np.array(golden["smoothed"]), abs=1e-9)
    n = sum(len(x) for x in xs)
    evidence = smoothed.bound + n * float(log_c_uniform(d))
    assert evidence == pytest.approx(sum(golden["log_predictive"]), abs=1e-9)
    assert evidence == pytest.approx(
        sum(case["exact"]["log_predictive"]), abs=1.05 * len(xs) * case["approximation_error"]["log_predictive_max_abs"]
    )


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="first slice"):
        filter_fit([np.zeros((2, 5))], np.zeros((2, 16)), 2, omega=0.9)
    xs, resps, _ = simulated(t=1)
    with pytest.raises(ValueError, match="memory"):
        filter_fit(xs, resps[0], 3, omega=0.9, memory=0.0)
    with pytest.raises(ValueError, match="omega"):
        filter_fit(xs, resps[0], 3, omega=1.5)
