"""The Dirichlet admixture: its bound grows with every step and stays below the evidence; its limits."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import digamma, entr, gammaln, logsumexp, softmax

from tests.unit.bayes.admixture.documents import columns, cut, planted
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.bayes.admixture import loops, variational
from vmfstream.bayes.admixture.topics import Likelihood, TopicBelief, Topics, joined, point_topics
from vmfstream.bayes.admixture.variational import directed_bags
from vmfstream.bayes.factors.concentration import quadrature_factor
from vmfstream.bayes.factors.directions import expected_cosines
from vmfstream.bayes.factors.empirical_bayes import best_alpha
from vmfstream.bayes.factors.priors import moment_prior
from vmfstream.directional.bessel import inv_bessel_ratio, log_partition
from vmfstream.directional.kernels import padded
from vmfstream.mixtures import steps
from vmfstream.mixtures.concentration import own_concentration
from vmfstream.mixtures.seeding import one_hot, random_responsibilities
from vmfstream.mixtures.sums import WeightedSums


def scores_of(x: Vector, topics: Topics) -> Vector:
    """Scores (V, k) of all vectors, without the compiled passes."""
    scores: Vector = x @ topics.f[:, : topics.k] * topics.slope + topics.offset
    return scores


def bound_of(scores: Vector, bags: csr_array, p: list[Vector], phi: Vector, alpha: float) -> float:
    """The lower bound of any state, term by term as it is derived; ``p[i]`` (J_i, k) are of the vectors of i."""
    k = phi.shape[1]
    total = 0.0
    for i, (row, own) in enumerate(zip(phi, p, strict=True)):
        entries = slice(bags.indptr[i], bags.indptr[i + 1])
        c, v = bags.data[entries], bags.indices[entries]
        log_theta = digamma(row) - digamma(row.sum())
        total += gammaln(k * alpha) - k * gammaln(alpha) + gammaln(row).sum() - gammaln(row.sum())
        total += (alpha + c @ own - row) @ log_theta + c @ entr(own).sum(axis=1) + c @ (own * scores[v]).sum(axis=1)
    return float(total)


def steps_of(scores: Vector, bags: csr_array, phi: Vector) -> list[Vector]:
    """The responsibilities that are best given ``phi``."""
    log_theta = digamma(phi) - digamma(phi.sum(axis=1, keepdims=True))
    return [
        softmax(log_theta[i] + scores[bags.indices[bags.indptr[i] : bags.indptr[i + 1]]], axis=1)
        for i in range(bags.shape[0])
    ]


def counted(bags: csr_array, p: list[Vector]) -> Vector:
    """Expected numbers of vectors (N, k)."""
    return np.array([bags.data[bags.indptr[i] : bags.indptr[i + 1]] @ p[i] for i in range(len(p))])


def some_topics(seed: int, k: int, d: int, kappa: float) -> Topics:
    rng = np.random.default_rng(seed)
    return point_topics(columns(directions(rng, k, d)), kappa * (1 + np.arange(k) / k))


@pytest.mark.parametrize("x", [1e-3, 0.1, 0.7, 1.0, 1.4616321449683622, 3.3, 9.99, 10.0, 77.0, 1e5])
def test_digamma_is_exact(x: float) -> None:
    exact = float(mpmath.digamma(mpmath.mpf(x)))
    assert loops.digamma(x) == pytest.approx(exact, rel=2e-15, abs=2e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_visit_is_the_fixed_point_of_both_steps(dtype: Any) -> None:
    x, _, _, _ = planted(d=5)
    rng = np.random.default_rng(1)
    bags = csr_array(rng.poisson(0.05, (12, len(x))).astype(np.float64))
    bags.data[:] = rng.integers(1, 5, bags.nnz)
    topics, alpha = some_topics(2, 3, 5, 6.0), 0.4
    scores = scores_of(x, topics)
    phi = np.full((12, 3), alpha) + np.asarray(bags.sum(axis=1))[:, None] / 3
    for _ in range(8):
        p = steps_of(scores, bags, phi)
        phi = alpha + counted(bags, p)
    found = variational.visited(x.astype(dtype), bags, topics, alpha, sweeps=7, tol=0.0)
    near = 1e-4 if dtype == np.float32 else 1e-12
    assert found.phi == pytest.approx(phi, rel=near)
    assert found.bound.sum() == pytest.approx(bound_of(scores, bags, p, phi, alpha), rel=near)
    mass, square = np.zeros((len(x), 3)), np.zeros(3)
    for i in range(12):
        entries = slice(bags.indptr[i], bags.indptr[i + 1])
        np.add.at(mass, bags.indices[entries], bags.data[entries][:, None] * p[i])
        square += bags.data[entries] @ p[i] ** 2
    assert found.mass[:, :3] == pytest.approx(mass, abs=10 * near)
    assert not found.mass[:, 3:].any()
    assert found.sums.nk == pytest.approx(mass.sum(axis=0), rel=near)
    assert found.sums.qk == pytest.approx(square, rel=10 * near)
    assert found.sums.s[:, :3] == pytest.approx(x.T @ mass, abs=100 * near)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_that_vanish_are_taken_in_logarithms(dtype: Any) -> None:
    # the first vectors make the document pure in topic 0, whose score of the last one is 1,400 less than topic 1's
    topics = point_topics(columns(np.eye(3)[:2]), np.array([700.0, 700.0]))
    x = np.array([[1.0, 0, 0]] * 6 + [[-0.8, 0.6, 0.0]], dtype)
    found = variational.visited(x, cut([7]), topics, 1e-3, np.array([[1e-3 + 7, 1e-3]]), sweeps=0)
    scores = scores_of(x.astype(np.float64), topics)
    p = steps_of(scores, cut([7]), np.array([[1e-3 + 7, 1e-3]]))[0]
    assert found.mass[:, :2] == pytest.approx(p, abs=1e-4 if dtype == np.float32 else 1e-9)
    assert np.isfinite(found.bound).all()


@pytest.mark.parametrize("alpha", [0.05, 1.0, 50.0])
def test_the_bound_is_below_the_evidence(alpha: float) -> None:
    rng = np.random.default_rng(3)
    x = vmf_rows(rng, directions(rng, 2, 4), rng.integers(2, size=9), 0.6)
    bags, topics = cut([5, 4]), some_topics(4, 2, 4, 3.0)
    scores = scores_of(x, topics)
    evidence = np.zeros(2)
    for i, (low, high) in enumerate([(0, 5), (5, 9)]):
        terms = []
        for z in itertools.product(range(2), repeat=high - low):
            n = np.bincount(z, minlength=2)
            log_prior = gammaln(2 * alpha) - gammaln(2 * alpha + n.sum())
            log_prior += (gammaln(alpha + n) - gammaln(alpha)).sum()
            terms.append(log_prior + scores[np.arange(low, high), z].sum())
        evidence[i] = logsumexp(terms)
    gap = evidence - variational.visited(x, bags, topics, alpha, sweeps=200, tol=1e-12).bound
    assert (gap > 0).all()
    assert (gap < (0.02 if alpha == 50 else 1.0)).all()


def test_every_step_raises_the_bound() -> None:
    x, bags, _, _ = planted(seed=5, n=15, size=8, a=0.5)
    k, alpha = 4, 0.7
    rng = np.random.default_rng(5)
    topics = some_topics(6, k, 8, 2.0)
    phi = alpha + rng.gamma(1.0, size=(15, k))
    p = [rng.dirichlet(np.ones(k), 8) for _ in range(15)]
    trace = [bound_of(scores_of(x, topics), bags, p, phi, alpha)]

    def note(topics: Topics) -> None:
        trace.append(bound_of(scores_of(x, topics), bags, p, phi, alpha))

    for _ in range(30):
        p = steps_of(scores_of(x, topics), bags, phi)
        note(topics)
        phi = alpha + counted(bags, p)
        note(topics)
        alpha = best_alpha(k, float(variational.log_proportions(phi).mean()), alpha)
        note(topics)
        mass = np.zeros((len(x), padded(k)))
        mass[:, :k] = np.concatenate(p)
        sums = variational.summed(x, mass, k, np.zeros(k))
        turned = point_topics(Likelihood().topics(sums, topics).f, topics.kappa.mean)
        note(turned)
        topics = point_topics(turned.f, own_concentration(8, sums.norms, sums.nk, "mle"))
        note(topics)
        assert Likelihood().topics(sums, topics).slope == pytest.approx(topics.slope)
    assert min(np.diff(trace)) > -1e-10
    assert trace[-1] > trace[5]


@pytest.mark.parametrize("bayesian", [False, True])
@pytest.mark.parametrize("concentration", ["own", "shared"])
@pytest.mark.parametrize("d", [3, 60])
def test_the_trace_never_falls(bayesian: bool, concentration: Any, d: int) -> None:
    x, bags, _, _ = planted(seed=d, d=d, n=40, a=0.6)
    found = variational.best_fit(
        x,
        bags,
        5,
        np.random.default_rng(0),
        bayesian=bayesian,
        concentration=concentration,
        init="random",
        tol=1e-9,
        max_iter=60,
    )
    assert len(found.trace) > 5
    assert np.diff(found.trace).min() > -1e-9 * abs(found.trace[-1])


@pytest.mark.parametrize("bayesian", [False, True])
@pytest.mark.parametrize("concentration", ["own", "shared"])
def test_what_is_planted_is_found(bayesian: bool, concentration: Any) -> None:
    x, bags, theta, mu = planted(n=150, size=40)
    rng = np.random.default_rng(0)
    found = variational.best_fit(x, bags, 3, rng, bayesian=bayesian, concentration=concentration, n_init=3)
    assert found.converged
    means = found.topics.f[:, :3] / np.linalg.norm(found.topics.f[:, :3], axis=0)
    order = (mu @ means).argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    assert (mu @ means).max(axis=1).min() > 0.998
    assert found.topics.kappa.mean == pytest.approx(float(inv_bessel_ratio(8, 0.85)), rel=0.06)
    assert found.alpha == pytest.approx(0.3, rel=0.25)
    shares = found.visit.phi[:, order] / found.visit.phi.sum(axis=1, keepdims=True)
    assert np.abs(shares - theta).mean() < 0.05


def test_single_vectors_and_a_large_alpha_make_the_soft_mixture() -> None:
    x, _, _, _ = planted(seed=9, n=20, size=10, a=0.6)
    k, start = 3, random_responsibilities(x, 3, np.random.default_rng(2))
    found = variational.fit(
        x, cut([1] * len(x)), start, k, Likelihood(), alpha=1e7, learn_alpha=False, max_iter=12, tol=0
    )
    resp = start
    for _ in range(12):
        mixture = steps.m_step(x, resp, k, concentration="own", estimator="mle")
        resp, density = steps.e_step(x, replace(mixture, pi=np.full(k, 1 / k)))
    assert found.topics.f == pytest.approx(mixture.mu, abs=1e-6)
    assert found.topics.slope == pytest.approx(mixture.kappa, rel=1e-5)
    assert found.visit.mass == pytest.approx(resp, abs=1e-5)
    assert found.trace[-1] == pytest.approx(density.sum(), abs=1e-3)


def test_documents_become_pure_as_alpha_vanishes() -> None:
    x, bags, _, mu = planted(n=30)
    topics = point_topics(columns(mu), np.full(3, 5.0))
    purity = []
    for alpha in (3.0, 0.3, 0.03, 1e-5):
        phi = variational.visited(x, bags, topics, alpha, sweeps=500, tol=1e-9).phi
        purity.append(float((phi.max(axis=1) / phi.sum(axis=1)).mean()))
    assert purity == sorted(purity)
    # alpha is small enough once log(1 / alpha) is more than all vectors of a document can say for another topic
    phi = variational.visited(x, bags, topics, 1e-200).phi
    assert (phi.max(axis=1) / phi.sum(axis=1)).min() > 1 - 1e-12


def test_a_visit_is_not_worse_than_any_single_topic() -> None:
    x, bags, _, mu = planted(n=40, a=0.5)
    topics, alpha = point_topics(columns(mu), np.full(3, 4.0)), 1e-3
    found = variational.visited(x, bags, topics, alpha)
    pure = scores_of(x, topics).reshape(40, 20, 3).sum(axis=1) + float(
        gammaln(3 * alpha) - gammaln(3 * alpha + 20) + gammaln(alpha + 20) - gammaln(alpha)
    )
    assert (found.bound > pure.max(axis=1) - 1e-9).all()
    assert found.mass.sum(axis=1) == pytest.approx(np.ones(800))
    assert found.sums.nk == pytest.approx((found.phi - alpha).sum(axis=0))
    assert (found.phi.max(axis=1) > 19.9).sum() > 30  # where single topics won


def test_shared_rows_are_the_same_as_repeated_ones() -> None:
    rng = np.random.default_rng(4)
    words = vmf_rows(rng, directions(rng, 2, 6), rng.integers(2, size=12), 0.8)
    counts = rng.poisson(1.0, (25, 12))
    repeated = np.concatenate([np.repeat(np.arange(12), row) for row in counts])
    start = one_hot(rng.integers(2, size=12), 2, np.float64)
    options: dict[str, Any] = {"max_iter": 20, "tol": 0.0}
    shared = variational.fit(words, csr_array(counts, dtype=np.float64), start, 2, Likelihood(), **options)
    bags = cut(counts.sum(axis=1).tolist())
    single = variational.fit(words[repeated], bags, start[repeated], 2, Likelihood(), **options)
    assert shared.trace == pytest.approx(single.trace, rel=1e-10)
    assert shared.visit.phi == pytest.approx(single.visit.phi, rel=1e-8)
    assert shared.visit.sums.qk == pytest.approx(single.visit.sums.qk, rel=1e-8)


def test_vectors_without_direction_and_empty_documents_count_for_nothing() -> None:
    x, bags, _, _ = planted(n=20, size=10)
    plain = variational.best_fit(x, bags, 3, np.random.default_rng(0))
    padding = np.concatenate([x, np.zeros((4, 8))])
    wide = csr_array((bags.data, bags.indices, np.append(bags.indptr, [bags.nnz] * 2)), shape=(22, len(padding)))
    wide = csr_array(wide + csr_array(([1.0, 2.0], ([0, 20], [200, 201])), shape=wide.shape))
    kept = directed_bags(padding, wide)
    found = variational.best_fit(padding, kept, 3, np.random.default_rng(0))
    assert found.trace == pytest.approx(plain.trace)
    assert found.alpha == pytest.approx(plain.alpha)
    assert found.visit.phi[20:] == pytest.approx(np.full((2, 3), found.alpha))
    assert found.visit.has_direction.tolist() == [True] * 20 + [False] * 2
    assert not found.visit.bound[20:].any()


def test_beliefs_approach_points_as_vectors_grow_in_number() -> None:
    x, _, _, _ = planted(n=400, size=40)
    start = one_hot(np.random.default_rng(0).integers(3, size=len(x)), 3, np.float64)
    sums = variational.summed(x, np.asarray(start, np.float64), 3, start.sum(axis=0, dtype=np.float64)[:3])
    law = variational._believed(x, start, np.ones(len(x)), 3, "own")
    points = Likelihood().topics(sums, None)
    believed = law.topics(sums, law.topics(sums, None))
    assert isinstance(law, TopicBelief)
    assert law.model.prior is not None
    assert believed.kappa.mean == pytest.approx(points.kappa.mean, rel=0.02)
    exact = quadrature_factor(8, sums.nk, expected_cosines(believed.f, believed.gamma, sums.s), law.model.prior)
    assert believed.kappa.mean == pytest.approx(exact.mean, rel=1e-12)
    assert believed.cost > 0
    assert (believed.gamma < np.inf).all()
    assert law.prior.b == pytest.approx(moment_prior(x, start, 3).b)


def test_a_topic_without_vectors_keeps_its_direction() -> None:
    before = some_topics(3, 2, 8, 4.0)
    sums = WeightedSums(before.f * np.array([-5.0, 0.0] + [0.0] * 14), np.array([6.0, 0.0]), np.zeros(2))
    after = Likelihood().topics(sums, before)
    assert after.f[:, 0] == pytest.approx(-before.f[:, 0])
    assert after.f[:, 1] == pytest.approx(before.f[:, 1])
    assert after.slope[1] < 1e-4


def test_topics_of_several_fits_are_joined() -> None:
    first, second = some_topics(1, 3, 8, 4.0), some_topics(2, 15, 8, 6.0)
    natural = replace(second, f=second.f * 7.0, gamma=np.full(15, 7.0))
    both = joined([first, natural])
    assert both.k == 18
    assert both.f.shape == (8, 32)
    assert both.f[:, :3] == pytest.approx(first.f[:, :3])
    assert both.f[:, 3:18] == pytest.approx(second.f[:, :15])
    assert both.slope == pytest.approx(np.r_[first.slope, second.slope])
    assert -both.offset == pytest.approx(log_partition(8, both.slope))


def test_bad_input() -> None:
    x, bags, _, _ = planted(n=5, size=4)
    start = one_hot(np.zeros(20, np.int64), 3, np.float64)
    for arguments, message in [
        ((x, csr_array(bags[:, :10]), start, 3), "a column for each of 20 vectors"),
        ((x, bags, start[:9], 3), r"resp must have the shape \(20, 16\)"),
        ((x, csr_array(bags.shape), start, 3), "no vector with a direction is in any of 5 documents"),
    ]:
        with pytest.raises(ValueError, match=message):
            variational.fit(*arguments, Likelihood())
    with pytest.raises(ValueError, match="alpha must be a positive number; got 0"):
        variational.fit(x, bags, start, 3, Likelihood(), alpha=0)
    with pytest.raises(ValueError, match="init must give responsibilities"):
        variational.best_fit(x, bags, 3, np.random.default_rng(0), init="perturbed-mean")
    with pytest.raises(ValueError, match="n_init must be at least 1"):
        variational.best_fit(x, bags, 3, np.random.default_rng(0), n_init=0)
