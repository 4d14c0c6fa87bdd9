"""Mean field over slices: its bound never falls, its limits, and the fault it is known for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.unit.bayes.temporal.slices import simulated
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.bayes.factors.beliefs import anchored
from vmfstream.bayes.factors.concentration import KappaPrior, point_factor
from vmfstream.bayes.factors.directions import natural_vectors
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.temporal.meanfield import (
    ChainState,
    Links,
    bound,
    fit_chain,
    kappa_step,
    label_step,
    learned,
    mean_step,
    started,
    weight_step,
)
from vmfstream.bayes.temporal.proportions import ProportionRule, proportions
from vmfstream.directional.bessel import inv_bessel_ratio, log_partition
from vmfstream.mixtures.columns import column_norms
from vmfstream.mixtures.seeding import random_responsibilities


def common(b: Vector, k: int) -> Any:
    """The same natural vector for all topics."""
    return anchored(b, np.zeros((len(b), 16)), k)


def own(k: int, prior: KappaPrior) -> KappaModel:
    return KappaModel("quadrature", prior, "own", np.zeros(k), np.zeros(k))


@pytest.mark.parametrize("learn", [(), ("alpha", "mu0", "c0", "kappa")], ids=["given", "learnt"])
@pytest.mark.parametrize("rule", ["static", "logistic-normal", "dirichlet"])
@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_step_raises_the_bound(d: int, rule: ProportionRule, learn: Any) -> None:
    k, rng = 3, np.random.default_rng(d)
    mu = directions(rng, k, d)
    xs = [vmf_rows(rng, mu, rng.integers(k, size=n), 0.4) for n in (30, 12, 0, 25)]
    resps = [random_responsibilities(x, k, rng) for x in xs]
    b = common(0.5 * d * directions(rng, 1, d)[0], k)
    links, model = Links(b, 2.0 * d), own(k, KappaPrior(np.log(0.4 * d), 0.25))
    state = started(xs, resps, [b] * 4, None, proportions(rule, k, 4))
    bounds: list[float] = []
    for sweep in range(10):
        for step in ("weights", "means", "kappa", "prior", "labels"):
            if step == "weights":
                state = weight_step(state)
            elif step == "means":
                state = mean_step(state, links)
            elif step == "kappa":
                state = kappa_step(state, model)
            elif step == "labels":
                state = label_step(xs, state)
            elif learn and sweep % 3 == 2:
                state, links, model = learned(state, links, model, learn)
            if sweep:  # the start has no factor of kappa to compare with
                bounds.append(bound(state, links, model))
    assert np.diff(bounds).min() > -1e-11 * abs(bounds[-1])
    assert bounds[-1] > bounds[0] + 1


def test_one_slice_is_the_flat_mixture() -> None:
    xs, _, _ = simulated(t=1)
    resp = random_responsibilities(xs[0], 3, np.random.default_rng(0))
    b, law = 100 * directions(np.random.default_rng(3), 1, 300)[0], KappaPrior(5.0, 0.1)
    for model in (KappaModel("quadrature", law), own(3, law)):
        state = started(xs, [resp], [common(b, 3)], point_factor(300, 60.0), proportions("static", 3, 1))
        chain = fit_chain(xs, state, Links(common(b, 3), 1e9), model, tol=1e-10)
        concentration = model.concentration
        flat = fit(xs[0], resp, 3, Prior(1.0, b), kappa_prior=law, kappa0=60.0, concentration=concentration, tol=1e-10)
        assert len(chain.trace) == len(flat.trace)
        assert np.abs(chain.trace - flat.trace).max() < 1e-8
        assert np.abs(chain.state.f[0] - flat.f).max() < 1e-9 * flat.gamma.max()
        assert np.abs(chain.state.resps[0] - flat.resp).max() < 1e-9


def settled(c0: float, sweeps: int = 4000) -> tuple[ChainState, Vector, Vector]:
    """Directions at rest given labels, and the natural vectors of the pooled and of the single slices."""
    xs, resps, stats = simulated(t=3, d=60)
    b = common(20 * directions(np.random.default_rng(3), 1, 60)[0], 3)
    start = [b + 30.0 * np.sum(stats, axis=0)] * 3
    state = started(xs, resps, start, point_factor(60, 30.0), proportions("static", 3, 3))
    for _ in range(sweeps):
        before = state.gamma
        state = mean_step(state, Links(b, c0))
        if np.abs(state.gamma - before).max() < 1e-12:
            break
    return state, start[0], np.array([30.0 * s for s in stats])


def test_no_link_leaves_each_slice_alone() -> None:
    state, _, alone = settled(0.0)
    for f, s in zip(state.f[1:], alone[1:], strict=True):
        assert np.abs(f - s).max() < 1e-11 * np.abs(s).max()


def test_a_firm_link_pools_directions_but_not_certainty() -> None:
    errors = []
    for c0 in (3e3, 1e4):
        state, pooled, alone = settled(c0)
        unit = pooled[:, :3] / column_norms(pooled)[:3]
        found = [f[:, :3] / g for f, g in zip(state.f, state.gamma, strict=True)]
        errors.append(max(np.abs(f - unit).max() for f in found))
        # and not the pooled length
        assert (np.abs(state.gamma[1] - 2 * c0) < 0.01 * c0 + np.linalg.norm(alone[1], axis=0)[:3]).all()
    assert errors[1] < 0.5 * errors[0]
    assert errors[1] < 0.01


@pytest.mark.parametrize(("ratio", "length"), [(0.45, 0.0), (1.0, 0.71), (5.0, 0.95)])
def test_long_chains_without_documents_are_sure_of_nothing_or_of_anything(ratio: float, length: float) -> None:
    """Above c0 = D / 2 neighbouring factors hold each other without a document: why this is not the default."""
    d, slices = 200, 30
    f = [np.pad(100 * directions(np.random.default_rng(0), 1, d).T, [(0, 0), (0, 15)])] * slices
    empty, labels, nothing = [np.zeros((0, d))] * slices, [np.zeros((0, 16))] * slices, np.zeros((d, 16))
    state = started(empty, labels, f, point_factor(d, 1.0), proportions("static", 1, slices))
    for _ in range(300):
        before = state.gamma
        state = mean_step(state, Links(nothing, ratio * d))
        if np.abs(state.gamma - before).max() < 1e-5 * d:
            break
    middle = float(state.gamma[slices // 2, 0])
    certain = float(log_partition(d, middle + 1e-3) - log_partition(d, middle)) / 1e-3
    assert certain == pytest.approx(length, abs=0.01)


def test_permuted_labels_permute_the_result() -> None:
    xs, _, _ = simulated(t=3)
    order = [2, 0, 1]
    rng = np.random.default_rng(1)
    resps = [random_responsibilities(x, 3, rng) for x in xs]
    turned = [r[:, [*order, *range(3, 16)]] for r in resps]
    b = common(100 * directions(rng, 1, 300)[0], 3)
    links, model = Links(b, float(inv_bessel_ratio(300, 0.5))), own(3, KappaPrior(5.0, 0.1))
    for rule in ("static", "logistic-normal"):
        fits = [
            fit_chain(xs, started(xs, r, [b] * 3, None, proportions(rule, 3, 3)), links, model, max_iter=6)
            for r in (resps, turned)
        ]
        assert np.abs(fits[0].trace - fits[1].trace).max() < 1e-7
        for a, c in zip(fits[0].state.f, fits[1].state.f, strict=True):
            assert np.abs(a[:, order] - c[:, :3]).max() < 1e-7 * np.abs(a).max()
        assert fits[0].state.kappa.mean[order] == pytest.approx(fits[1].state.kappa.mean, rel=1e-9)


def test_earlier_documents_speak_for_the_concentration() -> None:
    xs, resps, stats = simulated(t=1)
    b = common(np.zeros(300), 3)
    state = started(xs, resps, [b], None, proportions("static", 3, 1))
    nothing, much = (
        fit_chain(xs, state, Links(b), KappaModel("point", None, "shared", np.array([n]), np.array([n * 0.8])))
        for n in (0.0, 1e6)
    )
    assert nothing.state.kappa.mean[0] < 0.5 * much.state.kappa.mean[0]
    assert much.state.kappa.mean[0] == pytest.approx(float(inv_bessel_ratio(300, 0.8)), rel=1e-3)
    assert np.abs(nothing.state.f[0] - natural_vectors(b[:, 0], stats[0], nothing.state.kappa.mean, 3)[0]).max() < 1e-4


def test_a_start_needs_labels_or_concentrations() -> None:
    xs, _, _ = simulated(t=1)
    with pytest.raises(ValueError, match="without initial responsibilities, concentrations are needed"):
        started(xs, None, [np.zeros((300, 16))], None, proportions("static", 3, 1))
