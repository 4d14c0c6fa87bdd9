"""EM against a dense oracle: objectives that never fall, weights, assignments, and what goes wrong with its remedy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import vonmises_fisher

from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.directional.bessel import LARGE_KAPPA, inv_bessel_ratio, kappa_bounds, log_c_uniform
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.concentration import Treatment
from vmfstream.mixtures.movmf import MixtureFit, fit
from vmfstream.mixtures.seeding import one_hot, random_responsibilities
from vmfstream.mixtures.steps import e_step, labels, m_step, sweep


def planted(seed: int, d: int, k: int, n: int, a: float) -> tuple[Vector, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), truth, a), truth


def plain(x: Any, k: int, **options: Any) -> MixtureFit:
    """EM as in the textbook: maximum likelihood, no annealing."""
    defaults: dict[str, Any] = {"estimator": "mle", "anneal": False, "init": "random", "tol": 1e-12}
    return fit(x, k, rng=np.random.default_rng(1), **(defaults | options))


def log_joint(x: Vector, pi: Vector, mu: Vector, kappa: Vector) -> Vector:
    """log pi_k vMF(x_i | mu_k, kappa_k) relative to uniform, (N, K), with scipy's density."""
    uniform = float(log_c_uniform(x.shape[1]))
    return np.stack(
        [np.log(p) + vonmises_fisher(m, q).logpdf(x) - uniform for p, m, q in zip(pi, mu, kappa, strict=True)], axis=1
    )


def oracle(x: Vector, w: Vector, resp: NDArray[Any], sweeps: int, *, shared: bool, hard: bool) -> list[float]:
    """Dense EM by maximum likelihood with weights; the objective per document before every M-step but the first.

    Of own concentrations, the first five sweeps share one and do not count.
    """
    d, k = x.shape[1], resp.shape[1]
    trace: list[float] = []
    for _ in range(sweeps + 1 if shared else sweeps + 6):
        s = (w[:, None] * resp).T @ x
        nk = w @ resp
        norms = np.linalg.norm(s, axis=1)
        tied = shared or len(trace) < 6
        rbar = np.full(k, norms.sum() / w.sum()) if tied else norms / nk
        joint = log_joint(x, nk / nk.sum(), s / norms[:, None], np.asarray(inv_bessel_ratio(d, rbar)))
        trace.append(float(w @ (joint.max(axis=1) if hard else logsumexp(joint, axis=1)) / w.sum()))
        resp = np.eye(k)[joint.argmax(axis=1)] if hard else np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return trace if shared else trace[5:]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_every_sweep_is_that_of_a_dense_oracle(assignment: Any, concentration: Any, weighted: bool) -> None:
    x, _ = planted(3, 5, 3, 60, 0.7)
    w = np.random.default_rng(0).gamma(1.0, size=60) if weighted else np.ones(60)
    resp = random_responsibilities(x, 3, np.random.default_rng(5))
    run = plain(
        x,
        3,
        assignment=assignment,
        concentration=concentration,
        init=resp,
        max_iter=12,
        weights=w if weighted else None,
    )
    hard = assignment == "hard"
    expected = oracle(x, w, resp[:, :3], len(run.trace) - 1, shared=concentration == "shared", hard=hard)
    assert len(run.trace) > (3 if concentration == "shared" else 1)
    assert run.trace == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("d", [3, 50, 1000])
def test_the_objective_never_falls(d: int, assignment: Any, concentration: Any, weighted: bool) -> None:
    x, _ = planted(d, d, 4, 120, 0.3)
    weights = np.random.default_rng(0).gamma(0.5, size=120) + 0.2 if weighted else None
    run = plain(x, 4, assignment=assignment, concentration=concentration, weights=weights)
    assert len(run.trace) > 2
    assert np.diff(run.trace).min() >= -1e-9


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.integers(0, 10_000),
    st.integers(2, 30),
    st.integers(1, 4),
    st.sampled_from(["soft", "hard"]),
    st.sampled_from(["shared", "own"]),
)
def test_the_objective_never_falls_on_any_data(seed: int, d: int, k: int, assignment: Any, concentration: Any) -> None:
    rng = np.random.default_rng(seed)
    x = directions(rng, 30, d)
    run = plain(x, k, assignment=assignment, concentration=concentration, weights=rng.random(30) + 0.5, max_iter=30)
    steps = np.diff(run.trace)
    resp = e_step(x, run.mixture)[0]
    assert np.abs(resp[:, :k].sum(axis=1) - 1).max() < 1e-12
    assert run.mixture.pi.sum() == pytest.approx(1.0)
    dying = run.mixture.pi.min() * 30 < 1.0  # a cluster that starts again may cost something once
    assert dying or (not len(steps) or steps.min() >= -1e-9)


def test_hard_objective_is_a_lower_bound_and_labels_are_the_largest_scores() -> None:
    x, _ = planted(4, 8, 3, 80, 0.5)
    run = plain(x, 3, assignment="hard", concentration="own")
    joint = log_joint(x, run.mixture.pi, run.mixture.mu[:, :3].T, run.mixture.kappa)
    assert np.array_equal(run.labels, joint.argmax(axis=1))
    assert run.trace[-1] == pytest.approx(joint.max(axis=1).mean(), abs=1e-10)
    assert run.trace[-1] < logsumexp(joint, axis=1).mean()
    assert run.converged


def test_hybrid_is_hard_em_from_where_soft_em_stops() -> None:
    x, _ = planted(6, 20, 4, 150, 0.4)
    init = random_responsibilities(x, 4, np.random.default_rng(2))
    hybrid = plain(x, 4, assignment="hybrid", soft_iter=3, init=init)
    soft = plain(x, 4, init=init, max_iter=3)
    hard = plain(x, 4, assignment="hard", init=soft.mixture)
    assert hybrid.trace == pytest.approx(hard.trace)
    assert np.array_equal(hybrid.labels, hard.labels)
    assert hybrid.n_iter == hard.n_iter
    assert plain(x, 4, assignment="hard", init=init).trace[-1] != pytest.approx(hybrid.trace[-1])


@pytest.mark.parametrize("estimator", ["mle", "marginal", "banerjee", "newton2"])
@pytest.mark.parametrize("assignment", ["soft", "hard", "hybrid"])
def test_integer_weights_are_repeated_rows(assignment: Any, estimator: Any) -> None:
    x, _ = planted(7, 30, 3, 50, 0.5)
    counts = np.random.default_rng(0).integers(0, 4, 50)
    init = random_responsibilities(x, 3, np.random.default_rng(3))
    options: dict[str, Any] = {"assignment": assignment, "estimator": estimator, "concentration": "own", "max_iter": 8}
    once = plain(x, 3, init=init, weights=counts.astype(float), **options)
    repeated = plain(np.repeat(x, counts, axis=0), 3, init=np.repeat(init, counts, axis=0), **options)
    assert once.trace == pytest.approx(repeated.trace, abs=1e-10)
    assert once.mixture.kappa == pytest.approx(repeated.mixture.kappa, rel=1e-9)
    assert np.abs(once.mixture.mu - repeated.mixture.mu).max() < 1e-10
    assert np.array_equal(np.repeat(once.labels, counts), repeated.labels)


def test_maximum_likelihood_knows_only_the_proportions_of_weights() -> None:
    x, _ = planted(8, 20, 3, 60, 0.5)
    weights = np.random.default_rng(0).random(60)
    init = random_responsibilities(x, 3, np.random.default_rng(3))
    runs = [plain(x, 3, init=init, weights=c * weights, concentration="own") for c in (1.0, 1e-3, 500.0)]
    for other in runs[1:]:
        assert other.trace == pytest.approx(runs[0].trace, abs=1e-10)
    seen_twice = [plain(x, 3, init=init, weights=c * weights, estimator="marginal") for c in (1.0, 2.0)]
    assert seen_twice[1].mixture.kappa[0] > 1.01 * seen_twice[0].mixture.kappa[0]


@pytest.mark.parametrize("init", ["k-means++", "random", "perturbed-mean"])
def test_rows_without_weight_count_for_nothing(init: str) -> None:
    x, truth = planted(9, 40, 3, 90, 0.7)
    noise = directions(np.random.default_rng(1), 30, 40)
    weights = np.append(np.ones(90), np.zeros(30))
    run = fit(np.vstack([x, noise]), 3, rng=np.random.default_rng(0), weights=weights, init=init, n_init=3)
    assert run.mixture.pi == pytest.approx(np.sort(np.bincount(truth) / 90)[np.argsort(np.argsort(run.mixture.pi))])
    assert (run.labels >= 0).all()


@pytest.mark.parametrize("init", ["perturbed-mean", "random", "k-means++"])
def test_every_start_finds_clear_clusters(init: str) -> None:
    x, truth = planted(1, 200, 4, 240, 0.5)
    run = fit(csr_array(x.astype(np.float32)), 4, rng=np.random.default_rng(0), init=init, n_init=4)
    assert len(set(zip(truth.tolist(), run.labels.tolist(), strict=True))) == 4


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_results_do_not_depend_on_threads(assignment: Any) -> None:
    x, _ = planted(2, 300, 4, 200, 0.4)
    one, two = (
        fit(csr_array(x), 4, rng=np.random.default_rng(0), assignment=assignment, threads=t, weights=np.arange(200.0))
        for t in (1, 2)
    )
    assert np.array_equal(one.labels, two.labels)
    assert one.trace == pytest.approx(two.trace, abs=1e-9)


def test_labels_of_a_fit_are_those_of_its_mixture() -> None:
    x, _ = planted(5, 30, 4, 150, 0.2)
    for rows in (x, csr_array(x), csr_array(x.astype(np.float32))):
        run = fit(rows, 4, rng=np.random.default_rng(0), max_iter=5)
        assert np.array_equal(labels(rows, run.mixture), run.labels)
        assert np.array_equal(run.resp[:, :4].argmax(axis=1), run.labels)


def test_a_sweep_is_an_e_step_and_its_sums() -> None:
    x, _ = planted(6, 30, 4, 150, 0.2)
    mixture = m_step(x, random_responsibilities(x, 4, np.random.default_rng(0)), 4, concentration="own")
    for beta in (0.3, 1.0):
        resp, loglik = e_step(x, mixture, beta)
        scored = sweep(x, mixture, beta)
        assert scored.loglik == pytest.approx(loglik, abs=1e-10)
        assert np.abs(scored.sums.s - x.T @ resp).max() < 1e-10
        assert scored.sums.qk == pytest.approx((resp**2).sum(axis=0)[:4])


# --- what goes wrong, and its remedy ----------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_an_empty_cluster_starts_again(assignment: Any) -> None:
    x, truth = planted(11, 40, 3, 60, 0.7)
    run = plain(x, 3, assignment=assignment, init=one_hot(np.zeros(60, np.int64), 3, np.float64))
    assert run.mixture.pi.min() > 0.01
    assert np.isfinite(run.trace).all()
    tiny = plain(x, 3, assignment=assignment, init=one_hot(truth, 3, np.float64), weights=np.full(60, 1e-4))
    assert len(tiny.trace) < 10  # small weights do not make clusters empty


def test_a_document_that_starts_a_cluster_brings_its_weight() -> None:
    x, _ = planted(11, 40, 3, 60, 0.7)
    weights = np.random.default_rng(0).random(60) + 1.0
    for assignment in ("soft", "hard"):
        start = one_hot(np.zeros(60, np.int64), 3, np.float64)
        run = plain(x, 3, assignment=assignment, init=start, weights=weights, max_iter=1)
        shares = weights / weights.sum()
        assert all(np.abs(shares - share).min() < 1e-12 for share in run.mixture.pi[1:])
        assert run.mixture.pi[0] == pytest.approx(1 - run.mixture.pi[1:].sum())


@pytest.mark.parametrize("estimator", ["mle", "marginal", "debiased", "banerjee", "newton2"])
@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_duplicates_and_single_documents_are_capped(concentration: Any, estimator: Any) -> None:
    low, high = kappa_bounds(30)[0], LARGE_KAPPA
    x, _ = planted(12, 30, 2, 20, 0.6)
    rows = np.vstack([np.repeat(x[:1], 6, axis=0), x[1:2]])
    run = plain(rows, 2, concentration=concentration, estimator=estimator, init=one_hot(np.array([0] * 6 + [1]), 2))
    assert ((run.mixture.kappa >= low * 0.99) & (run.mixture.kappa <= high * 1.01)).all()
    assert np.isfinite(run.trace).all()
    assert len(set(run.labels[:6])) == 1
    same = fit(np.repeat(x[:1], 5, axis=0), 3, rng=np.random.default_rng(0), concentration=concentration)
    assert np.isfinite(same.trace).all()
    assert np.isfinite(same.resp).all()


def test_a_single_document_has_no_debiased_concentration_of_its_own() -> None:
    x, _ = planted(12, 30, 2, 20, 0.6)
    resp = one_hot(np.array([1] + [0] * 19), 2, np.float64)
    low, high = kappa_bounds(30)[0], LARGE_KAPPA
    estimators: tuple[Treatment, ...] = ("mle", "debiased", "marginal")
    by = {e: m_step(x, resp, 2, concentration="own", estimator=e).kappa for e in estimators}
    assert by["mle"][1] == pytest.approx(high)
    assert by["debiased"][1] == by["marginal"][1] == pytest.approx(low)
    assert m_step(x, resp, 2, estimator="debiased").kappa[1] > 10 * low


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_antipodal_documents_keep_a_direction(assignment: Any) -> None:
    x, _ = planted(14, 10, 2, 6, 0.7)
    rows = np.vstack([x, -x])
    for k in (1, 2):
        run = plain(rows, k, assignment=assignment, init=one_hot(np.zeros(12, np.int64), k, np.float64))
        assert np.linalg.norm(run.mixture.mu[:, :k], axis=0) == pytest.approx(1.0)
        assert np.isfinite(run.trace).all()
    assert plain(rows, 1, concentration="own").mixture.kappa[0] == pytest.approx(kappa_bounds(10)[0])


@pytest.mark.thorough
def test_far_more_words_than_documents() -> None:
    rng = np.random.default_rng(0)
    n, d, k = 500, 100_000, 5
    truth = rng.integers(k, size=n)
    own = np.array([rng.choice(d, 2000, replace=False) for _ in range(k)])
    topical = own[truth[:, None], rng.integers(2000, size=(n, 60))]
    columns = np.where(rng.random((n, 60)) < 0.8, topical, rng.integers(d, size=(n, 60)))
    counts = csr_array((np.ones(n * 60), (np.repeat(np.arange(n), 60), columns.ravel())), shape=(n, d))
    counts.sum_duplicates()
    counts.data = (1.0 / np.sqrt(np.diff(counts.indptr)).repeat(np.diff(counts.indptr))).astype(np.float32)
    x = csr_array(counts.astype(np.float32))
    estimators: tuple[Treatment, ...] = ("mle", "marginal", "debiased")
    by = {e: fit(x, k, rng=np.random.default_rng(0), estimator=e, n_init=3) for e in estimators}
    for run in by.values():
        assert np.isfinite(run.trace).all()
    # the pooled mean cosine between documents of a class says what the concentration is; the mle is far above
    sums = np.stack([np.asarray(x[np.flatnonzero(truth == t)].sum(axis=0)).ravel() for t in range(k)])
    sizes = np.bincount(truth)
    cosine = ((sums**2).sum(axis=1) - sizes).sum() / (sizes * (sizes - 1)).sum()
    true = float(inv_bessel_ratio(d, np.sqrt(cosine)))
    assert by["marginal"].mixture.kappa[0] == pytest.approx(true, rel=0.01)
    assert by["debiased"].mixture.kappa[0] == pytest.approx(true, rel=0.01)
    assert by["mle"].mixture.kappa[0] > 1.2 * true
    assert len(set(zip(truth.tolist(), by["marginal"].labels.tolist(), strict=True))) == k


def test_without_concentration_and_with_a_huge_one() -> None:
    x, _ = planted(5, 20, 3, 50, 0.5)
    mixture = m_step(x, random_responsibilities(x, 3, np.random.default_rng(0)), 3)
    flat, sharp = (replace(mixture, kappa=np.full(3, kappa), pi=np.full(3, 1 / 3)) for kappa in (1e-9, 1e7))
    assert sweep(x, flat).sums.nk == pytest.approx(np.full(3, 50 / 3), rel=1e-6)
    assert np.array_equal(sweep(x, sharp).label, (x @ mixture.mu)[:, :3].argmax(axis=1))


def test_doubling_every_document_leaves_maximum_likelihood_alone() -> None:
    x, _ = planted(7, 60, 2, 30, 0.4)
    init = random_responsibilities(x, 2, np.random.default_rng(1))
    for estimator in ("mle", "banerjee", "newton2"):
        once = plain(x, 2, init=init, estimator=estimator)
        twice = plain(np.vstack([x, x]), 2, init=np.vstack([init, init]), estimator=estimator)
        assert twice.trace == pytest.approx(once.trace, abs=1e-10)
    for estimator in ("marginal", "debiased"):
        once = plain(x, 2, init=init, estimator=estimator, max_iter=1)
        twice = plain(np.vstack([x, x]), 2, init=np.vstack([init, init]), estimator=estimator, max_iter=1)
        assert twice.mixture.kappa[0] > 1.05 * once.mixture.kappa[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"assignment": "firm"}, "assignment must be one of 'soft', 'hard', 'hybrid'; got 'firm'"),
        ({"weights": np.ones(39)}, r"weights: expected one weight for each of 40 vectors, got the shape \(39,\)"),
        ({"weights": np.append(-1.0, np.ones(39))}, "expected finite weights of at least 0, got -1.0 in row 0"),
        ({"weights": np.append(np.ones(39), np.nan)}, "expected finite weights of at least 0, got nan in row 39"),
        ({"weights": np.append(1.0, np.zeros(39))}, "the 1 rows with a direction and a weight; got 2"),
        ({"init": Mixture(np.ones(1), np.zeros((30, 16)), np.ones(1))}, "2 topics in 30 dimensions; got 1 in 30"),
    ],
)
def test_bad_options_are_named(change: dict[str, Any], message: str) -> None:
    x, _ = planted(13, 30, 2, 40, 0.5)
    with pytest.raises(ValueError, match=message):
        fit(x, 2, rng=np.random.default_rng(0), **change)
