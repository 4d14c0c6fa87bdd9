"""Incremental EM: the same steps as a plain loop, F never falls, its end is one of EM, bad input."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import entr, ive, softmax

import vmfstream as vs
from tests.unit.mixtures.planted import directions, vmf_rows
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.incremental import BLOCKS, incremental
from vmfstream.mixtures.movmf import fit
from vmfstream.mixtures.seeding import random_responsibilities
from vmfstream.mixtures.steps import e_step, estimate, m_step
from vmfstream.mixtures.sums import WeightedSums


def rows_of(seed: int, d: int, k: int, n: int, a: float) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return vmf_rows(rng, directions(rng, k, d), rng.integers(k, size=n), a)


def passes(
    x: Any, start: Mixture, own: bool = False, weights: Any = None, most: int = 4, tol: float = 0.0
) -> tuple[Mixture, NDArray[np.float64]]:
    def estimated(sums: WeightedSums, before: Mixture) -> Mixture:
        return estimate(sums, before.mu, "own" if own else "shared", "mle")

    found = incremental(x, start, estimated, max_iter=most, tol=tol, weights=weights)
    return found.mixture, found.trace


def bessel(d: int, kappa: float) -> float:
    """Return log C_D(kappa) - log C_D(0) with its sign changed: log of the mean of exp(kappa x_1) over the sphere."""
    v = d / 2 - 1
    return float(np.log(ive(v, kappa)) + kappa - v * np.log(kappa / 2) + sum(np.log(np.arange(1, v + 0.5))))


def excess(kappa: float, d: int, r: float) -> float:
    """Mean cosine A_D(kappa) above ``r``."""
    return float(ive(d / 2, kappa) / ive(d / 2 - 1, kappa) - r)


def plainly(
    x: NDArray[np.float64], mu: NDArray[np.float64], pi: NDArray[np.float64], kappa: float, w: NDArray[np.float64]
) -> list[float]:
    """F per unit of weight before the first of three passes and after each, by sums made anew for every block."""
    n, d = x.shape
    resp = np.zeros((n, len(pi)))

    def scores(rows: Any) -> NDArray[np.float64]:
        return np.asarray(np.log(pi) + kappa * x[rows] @ mu.T - bessel(d, kappa))

    def free() -> float:
        return float((w[:, None] * (resp * scores(slice(None)) + entr(resp))).sum() / w.sum())

    resp = softmax(scores(slice(None)), axis=1)
    trace = [free()]
    edges = np.linspace(0, n, BLOCKS + 1).astype(int)
    for low, high in 3 * list(pairwise(edges)):
        resp[low:high] = softmax(scores(slice(low, high)), axis=1)
        s = (w[:, None] * resp).T @ x
        length = np.linalg.norm(s, axis=1)
        pi, mu = (w @ resp) / w.sum(), s / length[:, None]
        kappa = brentq(excess, 1e-3, 1e4, args=(d, length.sum() / w.sum()), xtol=1e-12)
        if high == n:
            trace.append(free())
    return trace


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_passes_are_those_of_a_plain_loop(sparse: bool, weighted: bool) -> None:
    x = rows_of(0, 6, 3, 57, 0.6)
    w = np.random.default_rng(1).uniform(0.5, 2.0, 57) if weighted else np.ones(57)
    start = m_step(x, random_responsibilities(x, 3, np.random.default_rng(2)), 3, estimator="mle")
    _, trace = passes(csr_array(x) if sparse else x, start, weights=w if weighted else None, most=3)
    assert trace == pytest.approx(plainly(x, start.mu[:, :3].T, start.pi, float(start.kappa[0]), w), abs=1e-8)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("d", [3, 50, 2000])
def test_what_it_raises_never_falls_and_never_exceeds_the_likelihood(d: int, own: bool) -> None:
    x = rows_of(d, d, 4, 120, 0.3)
    start = m_step(x, random_responsibilities(x, 4, np.random.default_rng(1)), 4, estimator="mle")
    for most in range(5):
        mixture, trace = passes(x, start, own, most=most)
        assert len(trace) == most + 1
        assert trace[-1] <= e_step(x, mixture)[1].mean() + 1e-9
    assert np.diff(trace).min() >= -1e-9
    assert trace[-1] > trace[0] + 1e-3


def test_the_end_is_an_end_of_em() -> None:
    x = rows_of(3, 20, 4, 200, 0.4)
    start = random_responsibilities(x, 4, np.random.default_rng(0))
    options: dict[str, Any] = {"estimator": "mle", "anneal": False, "tol": 1e-10, "max_iter": 3000, "init": start}
    found = fit(x, 4, rng=np.random.default_rng(0), algorithm="incremental", **options)
    again = fit(x, 4, rng=np.random.default_rng(0), **(options | {"init": found.mixture}))
    assert found.converged
    assert np.diff(found.trace).min() >= -1e-9
    assert again.trace[-1] == pytest.approx(found.trace[-1], abs=1e-8)
    assert np.array_equal(again.labels, found.labels)


def test_it_takes_fewer_sweeps_where_em_takes_many() -> None:
    x = rows_of(5, 10, 5, 2000, 0.6)
    start = random_responsibilities(x, 5, np.random.default_rng(0))
    options: dict[str, Any] = {"estimator": "mle", "anneal": False, "tol": 1e-6, "max_iter": 3000, "init": start}
    plain, blocks = (fit(x, 5, rng=np.random.default_rng(0), algorithm=one, **options) for one in ("em", "incremental"))
    assert blocks.trace[-1] > plain.trace[-1] - 0.01
    assert blocks.n_iter < 0.7 * plain.n_iter


def test_single_precision_does_not_drift() -> None:
    x = rows_of(6, 300, 6, 600, 0.3).astype(np.float32)
    start = m_step(x, random_responsibilities(x, 6, np.random.default_rng(0)), 6, estimator="mle")
    mixture, trace = passes(csr_array(x), start, most=200)
    assert len(trace) == 201
    resp, loglik = e_step(x, mixture)
    assert trace[-1] == pytest.approx(loglik.mean(dtype=np.float64), abs=1e-3)
    assert m_step(x, resp, 6, estimator="mle").kappa == pytest.approx(mixture.kappa, rel=1e-4)


@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_topics_without_documents_start_again(concentration: Any) -> None:
    x = rows_of(7, 30, 4, 100, 0.6)
    resp = np.zeros((100, 4))
    resp[:, 0] = 1.0
    run = fit(x, 4, rng=np.random.default_rng(0), algorithm="incremental", concentration=concentration, init=resp)
    assert np.isfinite(run.trace).all()
    assert np.isfinite(run.mixture.kappa).all()
    assert len(np.unique(run.labels)) == 4


def test_the_order_of_rows_and_copies_do_not_matter() -> None:
    x = rows_of(8, 12, 3, 80, 0.5)
    order = np.random.default_rng(0).permutation(80)
    given: list[tuple[Any, Any]] = [(x, np.full(80, 2.0)), (x[order], np.full(80, 2.0)), (np.vstack([x, x]), None)]
    a, b, c = (
        vs.VMFMixture(3, algorithm="incremental", random_state=0).fit(rows, sample_weight=weight)
        for rows, weight in given
    )
    assert a.lower_bound_ == pytest.approx(b.lower_bound_, abs=1e-9)
    assert a.lower_bound_ == pytest.approx(c.lower_bound_, abs=1e-9)
    assert np.array_equal(a.labels_[order], b.labels_)
    assert np.array_equal(a.labels_, c.labels_[:80])


def test_what_does_not_go_together_is_refused() -> None:
    x = rows_of(9, 12, 3, 80, 0.5)
    with pytest.raises(ValueError, match="'incremental' needs assignment 'soft'; got 'hard'"):
        vs.VMFMixture(3, algorithm="incremental", assignment="hard").fit(x)
    with pytest.raises(ValueError, match=r"algorithm.*'em'"):
        vs.VMFMixture(3, algorithm="online").fit(x)
    with pytest.raises(ValueError, match="rows at one place; got rows in chunks"):
        vs.VMFMixture(3, algorithm="incremental").fit(vs.chunked([x]))
