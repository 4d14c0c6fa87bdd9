"""EM for mixtures of vMF distributions: monotone, its limits, recovery, annealing, bad input."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from tests.unit.mixtures.planted import directions, hard_text, nmi, vmf_rows
from vmfstream.directional.bessel import bessel_ratio, log_partition
from vmfstream.mixtures.columns import column_norms
from vmfstream.mixtures.kmeans import spherical_kmeans
from vmfstream.mixtures.movmf import annealed_fit, fit
from vmfstream.mixtures.seeding import one_hot, random_responsibilities, seed_labels
from vmfstream.mixtures.steps import e_step, m_step


def planted(seed: int, d: int, k: int, n: int, a: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return vmf_rows(rng, directions(rng, k, d), labels, a), labels


@pytest.mark.parametrize("concentration", ["shared", "own"])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("d", [3, 50, 2000])
def test_likelihood_never_falls(d: int, init: str, concentration: Any) -> None:
    x, _ = planted(d, d, 4, 120, 0.3)
    run = fit(
        x,
        4,
        rng=np.random.default_rng(1),
        concentration=concentration,
        estimator="mle",
        anneal=False,
        init=init,
        tol=1e-12,
    )
    assert len(run.trace) > 2
    assert np.diff(run.trace).min() >= -1e-9


@pytest.mark.parametrize(("d", "a"), [(50, 0.6), (2000, 0.3)])
@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_planted_topics_are_recovered(d: int, a: float, concentration: Any) -> None:
    x, labels = planted(1, d, 4, 240, a)
    run = fit(csr_array(x.astype(np.float32)), 4, rng=np.random.default_rng(0), concentration=concentration, n_init=3)
    assert run.converged
    assert nmi(labels, run.labels) > 0.99
    assert bessel_ratio(d, run.mixture.kappa) == pytest.approx(a, abs=0.02)
    assert run.mixture.pi.sum() == pytest.approx(1.0)
    assert column_norms(run.mixture.mu)[:4] == pytest.approx(1.0, abs=1e-5)
    assert run.resp[:, :4].sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert not run.resp[:, 4:].any()


def test_result_agrees_with_its_parameters() -> None:
    x, _ = planted(2, 60, 3, 100, 0.5)
    run = fit(x, 3, rng=np.random.default_rng(0))
    resp, loglik = e_step(x, run.mixture)
    assert np.array_equal(resp, run.resp)
    assert loglik.mean() == pytest.approx(run.trace[-1], rel=1e-12)


def test_annealing_beats_freezing_on_hard_text() -> None:
    for seed in (1, 2):
        x, labels = hard_text(np.random.default_rng(seed))
        x = x.astype(np.float32)
        annealed = fit(x, 6, rng=np.random.default_rng(seed))
        frozen = fit(x, 6, rng=np.random.default_rng(seed), anneal=False)
        assert nmi(labels, annealed.labels) > nmi(labels, frozen.labels) + 0.2
        assert annealed.trace[-1] > frozen.trace[-1] + 3
    assert nmi(labels, annealed_fit(x, 6, np.random.default_rng(0)).resp[:, :6].argmax(axis=1)) > 0.4


def test_soft_assignments_become_hard_with_large_shared_concentration() -> None:
    x, _ = planted(3, 20, 4, 80, 0.5)
    mixture = m_step(x, random_responsibilities(x, 4, np.random.default_rng(0)), 4)
    sharp = replace(mixture, pi=np.full(4, 0.25), kappa=np.full(4, 1e7))
    resp, _ = e_step(x, sharp)
    assert np.array_equal(resp[:, :4].argmax(axis=1), (x @ mixture.mu)[:, :4].argmax(axis=1))
    assert resp.max(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("kappa", [0.5, 20.0, 3000.0])
def test_hard_em_with_equal_weights_is_spherical_k_means(kappa: float) -> None:
    x, _ = planted(4, 20, 4, 80, 0.3)
    start = seed_labels(x, 4, np.random.default_rng(2), sweeps=1)
    mixture = m_step(x, one_hot(start, 4, np.float64), 4)
    expected = spherical_kmeans(x, mixture.mu, 4, max_iter=4).labels
    for _ in range(4):
        resp, _ = e_step(x, replace(mixture, pi=np.full(4, 0.25), kappa=np.full(4, kappa)))
        labels = resp[:, :4].argmax(axis=1)
        mixture = m_step(x, one_hot(labels, 4, np.float64), 4)
    assert np.array_equal(labels, expected)


def test_without_concentration_responsibilities_are_the_weights() -> None:
    x, _ = planted(5, 20, 3, 50, 0.5)
    mixture = m_step(x, random_responsibilities(x, 3, np.random.default_rng(0)), 3)
    resp, loglik = e_step(x, replace(mixture, kappa=np.full(3, 1e-9)))
    assert np.abs(resp[:, :3] - mixture.pi).max() < 1e-8
    assert np.abs(loglik).max() < 1e-8


def test_rotation_changes_no_scalar() -> None:
    x, _ = planted(6, 12, 3, 90, 0.5)
    q, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))
    init = random_responsibilities(x, 3, np.random.default_rng(1))
    a, b = (fit(y, 3, rng=np.random.default_rng(0), init=init, concentration="own") for y in (x, x @ q))
    assert a.trace == pytest.approx(b.trace, abs=1e-9)
    assert a.mixture.kappa == pytest.approx(b.mixture.kappa, rel=1e-9)
    assert np.abs(a.resp - b.resp).max() < 1e-8


def test_doubling_every_document_moves_only_the_debiased_estimate() -> None:
    x, _ = planted(7, 100, 2, 30, 0.4)
    resp = random_responsibilities(x, 2, np.random.default_rng(1))
    twice, resp2 = np.vstack([x, x]), np.vstack([resp, resp])
    once, doubled = (m_step(y, r, 2, estimator="mle") for y, r in ((x, resp), (twice, resp2)))
    assert doubled.kappa == pytest.approx(once.kappa, rel=1e-12)
    assert np.abs(doubled.mu - once.mu).max() < 1e-12
    hard, hard2 = one_hot(np.zeros(30, np.int64), 1, np.float64), one_hot(np.zeros(60, np.int64), 1, np.float64)
    for estimator in ("debiased", "marginal"):
        kappas = [m_step(y, r, 1, estimator=estimator).kappa[0] for y, r in ((x, hard), (twice, hard2))]
        assert kappas[1] > 1.05 * kappas[0]


def test_words_nobody_uses_change_kappa_and_nothing_else() -> None:
    x, _ = planted(8, 60, 3, 90, 0.5)
    wide = np.hstack([x, np.zeros((90, 60))])
    start = seed_labels(x, 3, np.random.default_rng(0))
    narrow, padded = (m_step(y, one_hot(start, 3, np.float64), 3, estimator="mle") for y in (x, wide))
    assert padded.kappa[0] > 1.5 * narrow.kappa[0]
    assert bessel_ratio(120, padded.kappa) == pytest.approx(np.asarray(bessel_ratio(60, narrow.kappa)), rel=1e-12)
    assert np.array_equal(padded.mu[:60], narrow.mu)
    assert not padded.mu[60:].any()
    labels = [spherical_kmeans(y, m.mu, 3).labels for y, m in ((x, narrow), (wide, padded))]
    assert np.array_equal(labels[0], labels[1])


def test_permuting_topics_permutes_the_result() -> None:
    x, _ = planted(9, 30, 3, 90, 0.5)
    init = random_responsibilities(x, 3, np.random.default_rng(1))[:, :3]
    order = [2, 0, 1]
    a, b = (fit(x, 3, rng=np.random.default_rng(0), init=r) for r in (init, init[:, order]))
    assert np.abs(a.resp[:, order] - b.resp[:, :3]).max() < 1e-8


def test_zero_rows_take_no_part() -> None:
    x, _ = planted(10, 30, 3, 60, 0.5)
    holes = np.insert(x, [0, 20, 60], 0.0, axis=0)
    init = random_responsibilities(x, 3, np.random.default_rng(1))
    with_holes = np.insert(init, [0, 20, 60], 0.2, axis=0)
    a = fit(x, 3, rng=np.random.default_rng(0), init=init)
    b = fit(csr_array(holes), 3, rng=np.random.default_rng(0), init=with_holes)
    empty = [0, 21, 62]
    assert (b.labels[empty] == -1).all()
    assert not b.resp[empty].any()
    assert np.array_equal(np.delete(b.labels, empty), a.labels)
    assert b.trace == pytest.approx(a.trace, abs=1e-9)
    assert (seed_labels(holes, 3, np.random.default_rng(0))[empty] == -1).all()


def test_dead_topics_start_again() -> None:
    x, _ = planted(11, 40, 3, 60, 0.7)
    init = np.zeros((60, 3))
    init[:, 0] = 1.0
    run = fit(x, 3, rng=np.random.default_rng(0), init=init, anneal=False)
    assert run.mixture.pi.min() > 1e-3
    assert np.isfinite(run.trace).all()


def test_empty_clusters_are_filled_by_different_rows() -> None:
    x, _ = planted(11, 40, 3, 60, 0.7)
    same = np.ascontiguousarray(np.broadcast_to(x[:1].T, (40, 16)))
    assert len(np.unique(spherical_kmeans(x, same, 3, max_iter=1).labels)) == 3
    repeated = np.repeat(x[:2], 4, axis=0)
    assert len(np.unique(seed_labels(repeated, 4, np.random.default_rng(0)))) == 2
    assert spherical_kmeans(repeated, same, 4).converged
    assert np.isfinite(fit(repeated, 4, rng=np.random.default_rng(0)).trace).all()


def test_opposite_documents_keep_the_previous_direction() -> None:
    x, _ = planted(14, 10, 2, 2, 0.7)
    rows = np.vstack([x, -x[1:]])
    previous = m_step(rows, one_hot(np.array([0, 1, 0]), 2, np.float64), 2)
    again = m_step(rows, one_hot(np.array([0, 1, 1]), 2, np.float64), 2, previous=previous)
    assert np.array_equal(again.mu[:, 1], previous.mu[:, 1])
    assert again.mu[:, 0] == pytest.approx(x[0])


def test_tempered_responsibilities_follow_their_formula() -> None:
    x, _ = planted(15, 20, 3, 30, 0.5)
    mixture = m_step(x, random_responsibilities(x, 3, np.random.default_rng(0)) ** 3, 3, concentration="own")
    scores = np.log(mixture.pi) + mixture.kappa * (x @ mixture.mu)[:, :3] - log_partition(20, mixture.kappa)
    for beta in (0.05, 1.0):
        resp, loglik = e_step(x, mixture, beta)
        assert loglik == pytest.approx(logsumexp(beta * scores, axis=1), abs=1e-10)
        assert np.abs(resp[:, :3] - softmax(beta * scores, axis=1)).max() < 1e-10


def test_input_is_left_alone() -> None:
    x, _ = planted(12, 30, 2, 40, 0.5)
    init = random_responsibilities(x, 2, np.random.default_rng(0))
    before = x.copy(), init.copy()
    fit(x, 2, rng=np.random.default_rng(0), init=init, anneal=False, estimator="mle")
    assert np.array_equal(x, before[0])
    assert np.array_equal(init, before[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be between 1"),
        ({"k": 41}, "the 40 rows"),
        ({"concentration": "some"}, "'some'"),
        ({"estimator": "best"}, "'best'"),
        ({"estimator": "fixed"}, "kappa belongs"),
        ({"kappa": 3.0}, "kappa belongs"),
        ({"estimator": "fixed", "kappa": -1.0}, "positive"),
        ({"init": "zeros"}, "'zeros'"),
        ({"init": np.zeros((40, 5))}, r"\(40, 2\)"),
        ({"beta0": 0.0}, "beta0"),
        ({"n_init": 0}, "n_init"),
        ({"x": np.ones((40, 30))}, "row 0 has length 5.47723"),
        ({"x": np.ones((40, 30), np.int64)}, "int64"),
        ({"x": np.ones((40, 1))}, "at least 2 columns"),
        ({"x": np.full((40, 30), np.nan)}, "length nan"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    x, _ = planted(13, 30, 2, 40, 0.5)
    arguments: dict[str, Any] = {"x": x, "k": 2, "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=message):
        fit(**arguments)
