"""The Dirichlet-process mixture: its sticks against integration, its bound, and the topics it keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import beta, gamma

from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.directions import directions_divergence, expected_cosines, natural_vectors
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.factors.responsibilities import assigned
from vmfstream.bayes.factors.weights import Dirichlet
from vmfstream.bayes.flat.dirichlet_process import Sticks, StickWeights, fit_process
from vmfstream.bayes.flat.variational import fit
from vmfstream.directional.bessel import inv_bessel_ratio
from vmfstream.mixtures.seeding import random_responsibilities

COUNTS = np.array([5.0, 20.0, 0.1, 3.0])


def test_moments_of_the_weights_against_draws() -> None:
    found = Sticks(2.0, 1.0).posterior(COUNTS)
    rng = np.random.default_rng(0)
    v = np.column_stack([rng.beta(found.g, found.h, size=(200_000, 3)), np.ones(200_000)])
    left = np.column_stack([np.ones(200_000), (1 - v[:, :3]).cumprod(axis=1)])
    pi = np.empty_like(v)
    pi[:, found.order] = v * left
    assert found.mean == pytest.approx(pi.mean(axis=0), abs=1e-3)
    assert found.expected_log == pytest.approx(np.log(pi).mean(axis=0), abs=0.02)
    assert found.quantiles([0.1, 0.9]) == pytest.approx(np.quantile(pi, [0.1, 0.9], axis=0).T, abs=0.01)
    assert found.mean.sum() == pytest.approx(1.0)
    assert list(found.order[:2]) == [1, 0]


def test_divergence_against_draws() -> None:
    found = Sticks(2.0, 0.5).posterior(COUNTS)
    rng = np.random.default_rng(1)
    a = rng.gamma(found.shape, 1 / found.rate, 200_000)
    v = rng.beta(found.g, found.h, size=(200_000, 3))
    log_q = gamma.logpdf(a, found.shape, scale=1 / found.rate) + beta.logpdf(v, found.g, found.h).sum(axis=1)
    log_p = gamma.logpdf(a, 2.0, scale=2.0) + beta.logpdf(v, 1, a[:, None]).sum(axis=1)
    error = (log_q - log_p).std() / np.sqrt(200_000)
    assert found.kl == pytest.approx((log_q - log_p).mean(), abs=4 * error)


def test_the_posterior_of_the_sticks_is_a_maximum() -> None:
    prior = Sticks(1.5, 0.7)
    best = prior.posterior(COUNTS)

    def worth(order: object, g: object, h: object, shape: float, rate: float) -> float:
        q = StickWeights(np.asarray(order), np.asarray(g), np.asarray(h), shape, rate, prior)
        return float(COUNTS @ q.expected_log) - q.kl

    top = worth(best.order, best.g, best.h, best.shape, best.rate)
    for step in (0.9, 1.1):
        assert worth(best.order, best.g * step, best.h, best.shape, best.rate) < top
        assert worth(best.order, best.g, best.h * step, best.shape, best.rate) < top
        assert worth(best.order, best.g, best.h, best.shape * step, best.rate) < top
        assert worth(best.order, best.g, best.h, best.shape, best.rate * step) < top


@pytest.mark.parametrize("prior", [Sticks(1.0, 1.0), Sticks(20.0, 2.0), Sticks(1.0, 20.0)])
def test_no_order_of_the_sticks_is_better(prior: Sticks) -> None:
    counts = np.array([7.0, 2.0, 3.0, 0.5])

    def worth(q: StickWeights) -> float:
        return float(counts @ q.expected_log) - q.kl

    top = worth(prior.posterior(counts))
    all_orders = [worth(prior._best(counts, np.array([order]))) for order in itertools.permutations(range(4))]
    assert top == pytest.approx(max(all_orders), abs=1e-12)


@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_step_raises_the_bound(d: int) -> None:
    rng = np.random.default_rng(d)
    k = 6
    x = vmf_rows(rng, directions(rng, 3, d), rng.integers(3, size=90), 0.4)
    prior = Prior(1.0, float(inv_bessel_ratio(d, 0.3)) * directions(rng, 1, d)[0])
    model = KappaModel("quadrature", KappaPrior(np.log(0.5 * d), 0.25))
    resp = random_responsibilities(x, k, rng)
    weights = Sticks().posterior(resp.sum(axis=0, dtype=np.float64)[:k])
    f, length = natural_vectors(prior.b, x.T @ resp, np.full(k, 0.5 * d), k)
    factor = model.factor(d, resp.sum(axis=0, dtype=np.float64)[:k], expected_cosines(f, length, x.T @ resp))
    bounds = []

    def note(resp: np.ndarray) -> None:
        score = (x @ f)[:, :k] * (expected_cosines(f, length, f) / length**2 * factor.mean)
        r = resp[:, :k]
        total = float((r * (score + weights.expected_log - factor.ell)).sum())
        entropy = -float((r * np.log(np.maximum(r, 1e-300))).sum())
        paid = weights.kl + directions_divergence(f, length, prior) + model.cost(factor)
        bounds.append(total + entropy - paid)

    for _ in range(10):
        resp, _ = assigned(x, f, length, factor, weights.expected_log)
        note(resp)
        s, nk = x.T @ resp, resp.sum(axis=0, dtype=np.float64)[:k]
        weights = Sticks().posterior(nk)
        note(resp)
        f, length = natural_vectors(prior.b, s, factor.mean, k)
        note(resp)
        factor = model.factor(d, nk, expected_cosines(f, length, s))
        note(resp)
    assert np.diff(bounds).min() > -1e-9 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


def test_it_keeps_the_topics_that_are_there() -> None:
    rng = np.random.default_rng(1)
    labels = rng.integers(3, size=240)
    x = vmf_rows(rng, directions(rng, 3, 6), labels, 0.9)
    prior = Prior(1.0, np.zeros(6))
    runs = [fit_process(x, random_responsibilities(x, 8, np.random.default_rng(s)), 8, prior) for s in range(8)]
    best = max(runs, key=lambda run: float(run.trace[-1]))
    assert (best.nk > 1).sum() == 3
    assert nmi(labels, best.resp[:, :8].argmax(axis=1)) > 0.95
    assert isinstance(best.weights, StickWeights)
    assert 0.1 < best.weights.concentration < 2
    with pytest.raises(TypeError, match="StickWeights"):
        best.rho  # noqa: B018


def test_a_dirichlet_as_weights_is_the_flat_mixture() -> None:
    rng = np.random.default_rng(2)
    x = vmf_rows(rng, directions(rng, 3, 20), rng.integers(3, size=60), 0.6)
    resp, prior = random_responsibilities(x, 3, rng), Prior(0.7, np.zeros(20))
    same = fit(x, resp, 3, prior, weights=Dirichlet(np.full(3, 0.7)))
    assert same.trace == pytest.approx(fit(x, resp, 3, prior).trace, rel=1e-14)


def test_bad_input_is_named() -> None:
    x, resp = np.eye(4), np.zeros((4, 16))
    with pytest.raises(ValueError, match="shape must be positive and finite; got 0"):
        fit_process(x, resp, 2, Prior(1.0, np.zeros(4)), shape=0.0)
    with pytest.raises(ValueError, match="rate must be positive and finite; got inf"):
        fit_process(x, resp, 2, Prior(1.0, np.zeros(4)), rate=np.inf)
