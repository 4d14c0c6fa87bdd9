"""The Bayesian mixture: its bound grows, stays below the evidence, and its limits."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import gammaln, logsumexp

from tests.data import golden_file
from tests.unit.mixtures.planted import directions, hard_text, nmi, vmf_rows
from vmfstream.bayes.factors.concentration import KappaPrior, KappaRule, point_factor, quadrature_factor
from vmfstream.bayes.factors.directions import expected_cosines, natural_vectors, shrinkage
from vmfstream.bayes.factors.empirical_bayes import learned_alpha, learned_c0, learned_mean
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.factors.responsibilities import SoftOrHard, assigned, responsibilities
from vmfstream.bayes.factors.weights import expected_log_weights
from vmfstream.bayes.flat.variational import divergence, elbo, fit
from vmfstream.bayes.predictive import predictive, topic_densities
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, log_c_uniform, log_partition
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.concentration import own_concentration
from vmfstream.mixtures.movmf import annealed_fit
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.seeding import one_hot, random_responsibilities

WIDE = KappaPrior(5.0, 1e4)

GIBBS = json.loads(golden_file("tiny_gibbs.json").read_text())["cases"]


def planted(seed: int, d: int, k: int, n: int, a: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), labels, a), labels


def log_joint(case: dict[str, Any], kappa: NDArray[np.float64]) -> float:
    """Log evidence of a tiny case at known concentrations, by summing over all labellings."""
    x, b = np.array(case["X"]), case["C0"] * np.array(case["mu0"])
    n, d, k, alpha = case["N"], case["D"], case["K"], case["alpha"]
    terms = []
    for z in itertools.product(range(k), repeat=n):
        r = one_hot(np.array(z), k, np.float64)[:, :k]
        nk, s = r.sum(axis=0), x.T @ r
        weights = gammaln(k * alpha) - gammaln(k * alpha + n) + (gammaln(alpha + nk) - gammaln(alpha)).sum()
        gamma = np.linalg.norm(kappa * s + b[:, None], axis=0)
        ell = log_partition(d, gamma) - log_partition(d, case["C0"]) - nk * log_partition(d, kappa)
        terms.append(weights + ell.sum())
    return float(logsumexp(terms) + n * log_c_uniform(d))


def tiny_prior(case: dict[str, Any]) -> Prior:
    return Prior(case["alpha"], case["C0"] * np.array(case["mu0"]))


def best_bound(case: dict[str, Any], **options: Any) -> float:
    """Largest bound of several starts, absolute."""
    x = np.array(case["X"])
    starts = [random_responsibilities(x, case["K"], np.random.default_rng(s)) for s in range(5)]
    bounds = [fit(x, r, case["K"], tiny_prior(case), tol=1e-10, **options).trace for r in starts]
    assert min(np.diff(b).min() for b in bounds) > -1e-9
    return float(max(b[-1] for b in bounds) + case["N"] * log_c_uniform(case["D"]))


@pytest.mark.parametrize("case", GIBBS)
def test_bound_is_below_the_evidence_with_known_concentrations(case: dict[str, Any]) -> None:
    evidence = case["fixed_kappa"]["log_evidence"]
    assert log_joint(case, np.array(case["kappa"])) == pytest.approx(evidence, abs=1e-9)
    bound = best_bound(case, kappa=np.array(case["kappa"]), concentration="own")
    assert evidence - 4 < bound < evidence


@pytest.mark.thorough
@pytest.mark.parametrize("case", GIBBS)
def test_bound_is_below_the_evidence_with_a_posterior_of_kappa(case: dict[str, Any]) -> None:
    prior = KappaPrior(case["m"], case["sigma2"])
    own = case["integrated_kappa"]["log_evidence"]
    best = best_bound(case, kappa_prior=prior, concentration="own")
    assert own - 4 < best < own
    assert best_bound(case, kappa_prior=prior, concentration="own", kappa="lognormal") < best
    assert best_bound(case, kappa_prior=prior, concentration="own", assignment="hard") < best
    u = np.linspace(-6, 6, 121)
    joint = [log_joint(case, np.full(case["K"], np.exp(prior.m + v * prior.s2**0.5))) - v**2 / 2 for v in u]
    common = float(logsumexp(joint)) + np.log(0.1 / np.sqrt(2 * np.pi))
    assert common - 4 < best_bound(case, kappa_prior=prior) < common


RISING: tuple[KappaRule, ...] = ("quadrature", "lognormal", "bounding", "point")


@pytest.mark.parametrize("rule", RISING)
@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_step_raises_the_bound(d: int, concentration: Concentration, rule: KappaRule) -> None:
    k, n = 3, 60
    x, _ = planted(d, d, k, n, 0.3)
    prior = Prior(
        np.array([0.7, 1.0, 2.0]), 0.8 * d * np.pad(directions(np.random.default_rng(1), k, d).T, [(0, 0), (0, 13)])
    )
    model = KappaModel(rule, KappaPrior(np.log(0.4 * d), 0.25), concentration)
    resp = random_responsibilities(x, k, np.random.default_rng(0))
    kappa, rho = point_factor(d, 0.5 * d), prior.alpha + np.ones(k)
    f, gamma = natural_vectors(prior.b, x.T @ resp, kappa.mean, k)
    bounds = []
    for sweep in range(8):
        resp, _ = responsibilities(x, f, gamma, kappa, expected_log_weights(rho))
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        s, nk = x.T @ resp, resp.sum(axis=0, dtype=np.float64)[:k]
        rho = prior.alpha + nk
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        f, gamma = natural_vectors(prior.b, s, kappa.mean, k)
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        kappa = model.factor(d, nk, expected_cosines(f, gamma, s))
        if rule != "point" and not sweep:
            bounds.clear()  # the start has no factor of kappa to compare with
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
    assert np.diff(bounds).min() > -1e-10 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("rule", ["quadrature", "lognormal"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_step_raises_the_bound_when_hyperparameters_are_learnt(
    d: int, assignment: SoftOrHard, rule: KappaRule
) -> None:
    k = 4
    x, _ = planted(d, d, k, 80, 0.4)
    prior = Prior(1.0, 0.8 * d * directions(np.random.default_rng(1), 1, d)[0])
    model = KappaModel(rule, KappaPrior(np.log(0.5 * d), 0.25), "own")
    resp = random_responsibilities(x, k, np.random.default_rng(0))
    f, gamma = natural_vectors(prior.b, x.T @ resp, np.full(k, 0.5 * d), k)
    rho = 1 + resp.sum(axis=0, dtype=np.float64)[:k]
    kappa = model.factor(d, rho, expected_cosines(f, gamma, x.T @ resp))
    bounds = []
    for sweep in range(10):
        resp, gain = assigned(x, f, gamma, kappa, expected_log_weights(rho), assignment)
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        assert bounds[-1] == pytest.approx(gain - divergence(f, gamma, rho, kappa, prior), abs=1e-8 * d)
        s, nk = x.T @ resp, resp.sum(axis=0, dtype=np.float64)[:k]
        rho = prior.alpha + nk
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        f, gamma = natural_vectors(prior.b, s, kappa.mean, k)
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        t = expected_cosines(f, gamma, s)
        kappa = model.factor(d, nk, t)
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        if sweep < 2:
            continue
        expected = f[:, :k] @ shrinkage(d, gamma)
        prior = replace(prior, b=learned_mean(expected, np.asarray(prior.b, np.float64)))
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        prior = replace(prior, b=learned_c0(d, expected, np.asarray(prior.b, np.float64), k))
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        prior = replace(prior, alpha=learned_alpha(rho, float(prior.alpha)))
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
        model, kappa = model.learned(d, nk, t, kappa)
        bounds.append(elbo(x, resp, f, rho, kappa, prior))
    assert np.diff(bounds).min() > -1e-9 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


def test_learning_the_prior_raises_the_bound_of_a_fit() -> None:
    x, labels = planted(3, 300, 5, 200, 0.4)
    resp = one_hot(labels, 5, np.float64)
    prior = Prior(1.0, moment_prior(x, labels, 5).b * 0.5)
    fixed = fit(x, resp, 5, prior, concentration="own", tol=1e-8)
    assert fixed.prior is prior
    free = fit(x, resp, 5, prior, concentration="own", tol=1e-8, learn=("alpha", "mu0", "c0", "kappa"))
    assert np.diff(free.trace).min() > -1e-8
    assert free.converged
    assert free.trace[-1] > fixed.trace[-1] + 1
    assert free.law is not None
    assert fixed.law is not None
    assert free.law.s2 < fixed.law.s2  # all five topics have the same concentration
    # one topic, or one concentration, leaves nothing to learn from
    lone = fit(x, one_hot(labels * 0, 1, np.float64), 1, prior, learn=("c0", "kappa"))
    assert float(lone.prior.c0) == pytest.approx(float(prior.c0))


def test_hard_assignments() -> None:
    x, labels = planted(4, 40, 3, 90, 0.5)
    resp = random_responsibilities(x, 3, np.random.default_rng(2))
    prior = moment_prior(x, labels, 3)
    run = fit(x, resp, 3, prior, assignment="hard", tol=1e-10)
    assert set(np.unique(run.resp)) == {0.0, 1.0}
    assert np.diff(run.trace).min() > -1e-9
    assert elbo(x, run.resp, run.f, run.rho, run.kappa, prior) == pytest.approx(run.trace[-1], abs=1e-8)
    assert run.trace[-1] <= fit(x, run.resp, 3, prior, tol=1e-10).trace[-1] + 1e-9


def test_sampling_rests_near_the_exact_fit() -> None:
    x, labels = planted(5, 200, 3, 90, 0.5)
    resp, prior = one_hot(labels, 3, np.float64), moment_prior(x, labels, 3)
    exact = fit(x, resp, 3, prior)
    drawn = fit(x, resp, 3, prior, kappa="sampling", rng=np.random.default_rng(0))
    assert drawn.converged
    assert drawn.kappa.mean == pytest.approx(exact.kappa.mean, rel=0.01)
    assert np.array_equal(drawn.resp.argmax(axis=1), exact.resp.argmax(axis=1))


def test_permuted_start_permutes_the_result() -> None:
    x, _ = planted(6, 30, 3, 60, 0.5)
    resp = random_responsibilities(x, 3, np.random.default_rng(0))
    order = np.r_[[2, 0, 1], 3:16]
    prior = moment_prior(x, resp, 3)
    for concentration in ("shared", "own"):
        one = fit(x, resp, 3, prior, concentration=concentration)
        two = fit(x, np.ascontiguousarray(resp[:, order]), 3, prior, concentration=concentration)
        assert two.trace == pytest.approx(one.trace, rel=1e-12)
        assert two.rho == pytest.approx(one.rho[order[:3]], rel=1e-10)
        assert two.resp == pytest.approx(one.resp[:, order], abs=1e-10)
        assert one.resp.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-14)


def test_rotation_changes_no_number() -> None:
    x, _ = planted(7, 20, 3, 60, 0.5)
    resp = random_responsibilities(x, 3, np.random.default_rng(0))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((20, 20)))[0]
    prior = moment_prior(x, resp, 3)
    one = fit(x, resp, 3, prior, tol=1e-12)
    two = fit(np.ascontiguousarray(x @ turn), resp, 3, Prior(1.0, prior.b @ turn), tol=1e-12)
    assert two.trace[-1] == pytest.approx(one.trace[-1], abs=1e-9)
    assert two.kappa.mean == pytest.approx(one.kappa.mean, rel=1e-9)
    assert pytest.approx(one.f.T, abs=1e-5) == two.f.T @ turn.T


def test_without_concentration_only_the_weights_speak() -> None:
    x, _ = planted(8, 20, 3, 40, 0.5)
    resp = random_responsibilities(x, 3, np.random.default_rng(0))
    run = fit(x, resp, 3, Prior(1.0, np.zeros(20)), kappa=1e-9, max_iter=1)
    expected = np.exp(expected_log_weights(run.rho))
    assert run.resp[:, :3] == pytest.approx(np.tile(expected / expected.sum(), (40, 1)), abs=1e-12)


def test_many_documents_give_the_estimate_of_largest_likelihood() -> None:
    x, _ = planted(9, 6, 1, 20_000, 0.5)
    run = fit(x, one_hot(np.zeros(20_000, np.int64), 1, np.float64), 1, Prior(1.0, np.zeros(6)))
    norm = float(np.linalg.norm(x.sum(axis=0)))
    assert run.kappa.mean[0] == pytest.approx(own_concentration(6, [norm], [20_000.0], "mle")[0], rel=2e-3)


def test_trace_is_the_bound() -> None:
    x, _ = planted(1, 30, 3, 60, 0.5)
    prior = moment_prior(x, random_responsibilities(x, 3, np.random.default_rng(0)), 3)
    run = fit(x, random_responsibilities(x, 3, np.random.default_rng(1)), 3, prior)
    assert elbo(x, run.resp, run.f, run.rho, run.kappa, prior) == pytest.approx(run.trace[-1], abs=1e-8)
    assert np.diff(run.trace).min() > -1e-9


@pytest.mark.parametrize(
    ("d", "n", "t", "m", "s2"),
    [(3, 5.0, 3.0, 1.2, 0.6), (10_000, 10.0, 4.3, 7.0, 1.0), (50, 1000.0, 400.0, 0.0, 0.01), (7, 0.0, 0.0, 1.0, 0.5)],
)
def test_quadrature_against_adaptive_integration(d: int, n: float, t: float, m: float, s2: float) -> None:
    factor = quadrature_factor(d, n, t, KappaPrior(m, s2))
    centre, width = float(factor.log_mean[0]), float(np.sqrt(factor.log_var[0]))

    def exponent(u: float) -> float:
        return float(-n * log_partition(d, np.exp(u)) + t * np.exp(u) - (u - m) ** 2 / (2 * s2))

    top = exponent(centre)
    span = (centre - 9 * width, centre + 9 * width)
    total = quad(lambda u: np.exp(exponent(u) - top), *span, epsabs=0, limit=200)[0]
    mean = quad(lambda u: np.exp(exponent(u) - top + u), *span, epsabs=0, limit=200)[0] / total
    assert factor.mean[0] == pytest.approx(mean, rel=1e-6)
    log_z = top + np.log(total) - 0.5 * np.log(2 * np.pi * s2)
    computed = -factor.kl[0] - n * factor.ell[0] + t * factor.mean[0]
    assert computed == pytest.approx(log_z, abs=1e-6 * max(1, abs(log_z)))


def test_quadrature_known_numbers_and_prior() -> None:
    assert quadrature_factor(100, 0.0, 0.0, KappaPrior(2.0, 0.09)).mean[0] == pytest.approx(
        np.exp(2.0 + 0.045), rel=1e-9
    )
    assert quadrature_factor(100, 0.0, 0.0, KappaPrior(2.0, 0.09)).kl[0] == pytest.approx(0.0, abs=1e-9)
    sharp = quadrature_factor(10_000, 10.0, 10 * float(bessel_ratio(10_000, 4761.0)), KappaPrior(np.log(4761.0), 1.0))
    assert np.sqrt(sharp.log_var[0]) == pytest.approx(0.0085, rel=0.03)
    assert sharp.mean[0] == pytest.approx(4761.0, rel=1e-3)


def test_without_prior_the_concentration_is_the_marginal_one() -> None:
    x, _ = planted(2, 500, 1, 12, 0.4)
    run = fit(
        x,
        one_hot(np.zeros(12, np.int64), 1, np.float64),
        1,
        Prior(1.0, np.zeros(500)),
        kappa="point",
        tol=1e-12,
        max_iter=500,
    )
    norm = float(np.linalg.norm(x.sum(axis=0)))
    assert run.kappa.mean[0] == pytest.approx(own_concentration(500, [norm], [12.0])[0], rel=1e-4)
    assert run.kappa.mean[0] < 0.9 * own_concentration(500, [norm], [12.0], "mle")[0]
    wide = fit(x, one_hot(np.zeros(12, np.int64), 1, np.float64), 1, Prior(1.0, np.zeros(500)), kappa_prior=WIDE)
    assert wide.kappa.mean[0] == pytest.approx(run.kappa.mean[0], rel=1e-2)


def test_moment_prior_finds_the_common_direction() -> None:
    rng = np.random.default_rng(3)
    background = directions(rng, 1, 3000)[0]
    mu = vmf_rows(rng, background[None], np.zeros(8, np.int64), 0.7)
    labels = rng.integers(8, size=800)
    x = vmf_rows(rng, mu, labels, 0.3)
    prior = moment_prior(x, labels, 8)
    c0 = float(prior.c0)
    assert prior.b @ background / c0 > 0.9
    # pairs within a topic must not count as pairs across: that would give sqrt(7/8 0.49 + 1/8) = 0.74
    assert float(bessel_ratio(3000, c0)) == pytest.approx(0.7, abs=0.025)
    sparse = moment_prior(csr_array(x.astype(np.float32)), one_hot(labels, 8), 8)
    assert sparse.b.dtype == np.float32
    assert float(sparse.c0) == pytest.approx(c0, rel=1e-3)


def test_annealed_start_then_bayes_on_hard_text() -> None:
    x, labels = hard_text(np.random.default_rng(1))
    x = x.astype(np.float32)
    resp = annealed_fit(x, 6, np.random.default_rng(0)).resp
    prior = moment_prior(x, resp, 6)
    run = fit(x, resp, 6, prior, kappa="point")
    assert nmi(labels, run.resp[:, :6].argmax(axis=1)) > 0.4
    frozen = fit(x, random_responsibilities(x, 6, np.random.default_rng(0)), 6, prior, kappa="point")
    assert run.trace[-1] > frozen.trace[-1] + 100


def test_topics_with_different_priors_keep_them() -> None:
    mu = directions(np.random.default_rng(0), 2, 40)
    x = vmf_rows(np.random.default_rng(1), mu, np.repeat([0, 1], 30), 0.6)
    b = np.zeros((40, 16))
    b[:, :2] = 200 * mu.T
    run = fit(x, None, 2, Prior(np.array([1.0, 1.0]), b), kappa="point", kappa0=30.0)
    assert np.array_equal(run.resp[:, :2].argmax(axis=1), np.repeat([0, 1], 30))
    assert run.rho == pytest.approx([31.0, 31.0])
    assert not run.f[:, 2:].any()


def test_predictive_is_the_ratio_of_evidences() -> None:
    case = GIBBS[0]
    x, d = np.array(case["X"]), case["D"]
    b, kappa = case["C0"] * np.array(case["mu0"]), 5.0
    f = np.zeros((d, 16))
    f[:, 0], f[:, 1] = b, b + kappa * x[:3].sum(axis=0)
    gamma = np.linalg.norm(f, axis=0)[:2]
    weights = np.log([0.3, 0.7])
    expected = [
        logsumexp(
            weights + log_partition(d, np.linalg.norm(f[:, :2] + kappa * y[:, None], axis=0)) - log_partition(d, gamma)
        )
        - log_partition(d, kappa)
        for y in x
    ]
    assert predictive(x, f, gamma, kappa, weights) == pytest.approx(expected, rel=1e-12)
    only = topic_densities(x, f, gamma, kappa)[:, 1]
    assert predictive(x, f, gamma, kappa, np.array([-np.inf, 0.0])) == pytest.approx(only, rel=1e-12)


def test_predictive_integrates_to_one_on_the_circle() -> None:
    angle = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    f = np.zeros((2, 16))
    f[:, :2] = [[3.0, -1.0], [0.5, 8.0]]
    density = predictive(x, f, np.linalg.norm(f, axis=0)[:2], 12.0, np.log([0.4, 0.6]))
    assert np.exp(density).mean() == pytest.approx(1.0, rel=1e-10)


def test_zero_rows_and_padding() -> None:
    x, _ = planted(5, 30, 3, 40, 0.5)
    resp = random_responsibilities(x, 3, np.random.default_rng(0))
    prior = moment_prior(x, resp, 3)
    full = fit(x, resp, 3, prior)
    holes = fit(np.insert(x, 10, 0.0, axis=0), np.insert(resp, 10, 0.2, axis=0), 3, prior)
    assert holes.trace == pytest.approx(full.trace, abs=1e-8)
    assert not holes.resp[10].any()
    assert full.f.shape == (30, padded(3))
    assert not full.f[:, 3:].any()
    assert predictive(np.zeros((1, 30)), full.f, full.gamma, 10.0, np.log(full.rho / full.rho.sum()))[0] == 0.0


def test_what_was_seen_before_counts_for_the_concentration() -> None:
    x, _ = planted(6, 200, 2, 40, 0.5)
    resp = random_responsibilities(x, 2, np.random.default_rng(0))
    prior = Prior(1.0, np.zeros(200))
    kappa = float(inv_bessel_ratio(200, 0.2))
    run = fit(x, resp, 2, prior, kappa="point", seen=(1e9, 0.2e9))
    assert run.kappa.mean[0] == pytest.approx(kappa, rel=1e-5)
    for rule in ("point", "quadrature"):
        some = fit(x, resp, 2, prior, kappa=rule, kappa_prior=KappaPrior(3.0, 0.1), seen=(100.0, 20.0), tol=1e-10)
        assert np.diff(some.trace).min() > -1e-9
        earlier = 20.0 * some.kappa.mean[0] - 100.0 * some.kappa.ell[0]
        bound = elbo(x, some.resp, some.f, some.rho, some.kappa, prior) + earlier
        assert bound == pytest.approx(some.trace[-1], abs=1e-8)


def test_duplicates_and_nothing_at_all() -> None:
    x = np.repeat(directions(np.random.default_rng(0), 2, 30), 5, axis=0)
    labels = np.repeat([0, 1], 5)
    resp = one_hot(labels, 2, np.float64)
    rules: tuple[KappaRule, ...] = ("quadrature", "point")
    for rule in rules:
        run = fit(x, resp, 2, moment_prior(x, labels, 2), kappa=rule)
        assert np.array_equal(run.resp[:, :2].argmax(axis=1), labels)
        empty = fit(x * 0, resp, 2, moment_prior(x * 0, labels, 2), kappa=rule)
        assert np.isfinite(empty.trace).all()
        assert not empty.f.any()


def test_bad_input_is_named() -> None:
    x, _ = planted(7, 30, 2, 20, 0.5)
    resp = random_responsibilities(x, 2, np.random.default_rng(0))
    prior = Prior(1.0, np.zeros(30))
    with pytest.raises(ValueError, match="'exact'"):
        fit(x, resp, 2, prior, kappa="exact")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"resp0 must have the shape \(20, 32\)"):
        fit(x, resp, 17, prior)
    with pytest.raises(ValueError, match=r"prior.b must have the shape \(30,\)"):
        fit(x, resp, 2, Prior(1.0, np.zeros(31)))
    with pytest.raises(ValueError, match="kappa0"):
        fit(x, None, 2, prior, kappa="point")
    with pytest.raises(ValueError, match="kappa_prior"):
        fit(x, None, 2, prior)
    with pytest.raises(ValueError, match="labels must be below"):
        moment_prior(x, np.full(20, 2), 2)
    with pytest.raises(ValueError, match="concentration must be one of shared, own; got 'both'"):
        fit(x, resp, 2, prior, concentration="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="assignment must be one of soft, hard; got 'firm'"):
        fit(x, resp, 2, prior, assignment="firm")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="learn must name some of alpha, mu0, c0, kappa; got 'rho'"):
        fit(x, resp, 2, prior, learn=("rho",))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="common prior"):
        fit(x, resp, 2, Prior(1.0, np.zeros((30, 16))), learn=["mu0"])
    with pytest.raises(ValueError, match="alpha is learnt"):
        fit(x, resp, 2, Prior(np.ones(2), np.zeros(30)), learn=["alpha"])
    with pytest.raises(ValueError, match="'sampling' needs rng"):
        fit(x, resp, 2, prior, kappa="sampling")
