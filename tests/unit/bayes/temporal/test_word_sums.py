"""Slices over the words that they hold: beliefs and sweeps are those of all words."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import point_factor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.responsibilities import responsibilities
from vmfstream.bayes.temporal.chain import forward, smooth
from vmfstream.bayes.temporal.proportions import StaticWeights
from vmfstream.bayes.temporal.smoother import SmootherModel, SmootherState, Sweep, fit_smoother, smoother_sweep
from vmfstream.bayes.temporal.word_sums import Pins, RunningBelief, SliceSums, narrowed, words_of
from vmfstream.directional.kernels import accumulate
from vmfstream.directional.sphere import unit_rows
from vmfstream.mixtures.columns import column_norms

D, K, KP = 400, 3, 16


def short_documents(rng: np.random.Generator, n: int) -> csr_array:
    """Rows with four words each, all words among the first half of the vocabulary or all among the second."""
    side = np.zeros((n, 2, D // 2))
    side[:, rng.integers(2)] = np.where(rng.random((n, D // 2)) < 8 / D, rng.random((n, D // 2)), 0.0)
    return csr_array(unit_rows(csr_array(side.reshape(n, D)))[0])


def soft(rng: np.random.Generator, x: csr_array) -> Vector:
    """Memberships of K topics in padded columns, none of rows without words."""
    resp = np.zeros((x.shape[0], KP))
    resp[:, :K] = rng.dirichlet(np.full(K, 0.3), x.shape[0])
    resp[np.diff(x.indptr) == 0] = 0.0
    return resp


def swept(
    xs: list[csr_array], resps: list[Vector], kappa: Vector, h0: Vector, anchor: Vector, omega: float, lag: int | None
) -> Sweep:
    """One sweep of the smoother."""
    rho = np.ones(K)
    state = SmootherState(list(resps), point_factor(D, kappa), StaticWeights(rho, rho, len(xs)))
    model = SmootherModel(RunningBelief(h0, anchor), anchor, omega, lag, KappaModel(concentration="own"))
    return smoother_sweep([narrowed(x) for x in xs], state, model)


def responsibilities_of_all_words(
    xs: list[csr_array], sweep: Sweep, kappa: Vector, h0: Vector, anchor: Vector, omega: float, lag: int | None
) -> list[Floats]:
    """The same from beliefs (D, KP) about every slice."""
    beliefs = smooth([s.dense(D) for s in sweep.stats], kappa, h0, omega, anchor, lag, K).s
    return [
        responsibilities(x, np.asarray(f), column_norms(f)[:K], sweep.state.kappa, row)[0]
        for x, f, row in zip(xs, beliefs, sweep.weights.expected_log, strict=True)
    ]


@pytest.mark.parametrize("lag", [None, 0, 2])
@pytest.mark.parametrize("omega", [0.0, 0.3, 0.95, 1.0])
def test_sweeps_over_few_words_are_those_over_all(omega: float, lag: int | None) -> None:
    rng = np.random.default_rng(0)
    xs = [short_documents(rng, n) for n in (30, 0, 1, 50, 40)]
    resps = [soft(rng, x) for x in xs]
    kappa, anchor = np.array([40.0, 80.0, 120.0]), 3.0 * rng.random(D)
    h0 = np.zeros((D, KP))
    h0[:, :K] = rng.random((D, K)) * np.array([0.0, 1.0, 30.0])
    sweep = swept(xs, resps, kappa, h0, anchor, omega, lag)
    expected = responsibilities_of_all_words(xs, sweep, kappa, h0, anchor, omega, lag)
    for found, row, x in zip(sweep.state.resps, expected, xs, strict=True):
        row[np.diff(x.indptr) == 0] = 0.0
        np.testing.assert_allclose(found, row, atol=1e-9)


def test_rounding_does_not_grow_along_the_chain() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        xs = [short_documents(rng, int(rng.choice([0, 1, 3, 100]))) for _ in range(int(rng.integers(2, 40)))]
        resps = [soft(rng, x) for x in xs]
        for resp in resps[:: int(rng.integers(1, 4))]:
            resp[:, int(rng.integers(K))] = 0.0
        h0, anchor, omega = np.zeros((D, KP)), np.zeros(D), float(rng.choice([0.01, 0.3, 0.8, 0.999, 1 - 1e-6]))
        h0[:, :K], kappa = rng.random((D, K)) * 10.0 ** rng.uniform(-3, 10, K), 10.0 ** rng.uniform(-2, 6, K)
        sweep = swept(xs, resps, kappa, h0, anchor, omega, None)
        expected = responsibilities_of_all_words(xs, sweep, kappa, h0, anchor, omega, None)
        for found, row in zip(sweep.state.resps, expected, strict=True):
            np.testing.assert_allclose(found, row, atol=1e-12)


@pytest.mark.usefixtures("any_work_is_shared")
def test_threads_that_share_slices_change_nothing_but_rounding() -> None:
    rng = np.random.default_rng(5)
    xs = [short_documents(rng, 300) for _ in range(3)]
    resps, given = [soft(rng, x) for x in xs], (40.0, np.zeros(K), np.zeros((D, KP)), None, 0.9, 1.0)
    alone, shared = (fit_smoother(xs, resps, *given, threads=threads) for threads in (1, 2))
    assert shared.bound == pytest.approx(alone.bound, rel=1e-12)
    np.testing.assert_allclose(shared.resps[0], alone.resps[0], atol=1e-9)


def test_a_belief_learns_and_forgets_as_the_filter_does() -> None:
    rng = np.random.default_rng(2)
    xs = [short_documents(rng, n) for n in (10, 30, 20)]
    sums = [SliceSums.of(x, soft(rng, x)) for x in xs]
    h0, anchor = rng.random((D, KP)), rng.random(D)
    belief = RunningBelief(h0, anchor)
    before = belief.copy()
    ps, hs = forward([s.dense(D) for s in sums], 25.0, h0, 0.8)
    for t, (s, p, h) in enumerate(zip(sums, ps, hs, strict=True)):
        if t:
            belief.convolve(0.8)
        np.testing.assert_allclose(belief.rows(s.words, np.float64), p[s.words], rtol=1e-12)
        learnt = belief.learn(s, np.full(KP, 25.0))
        np.testing.assert_allclose(learnt.before, (p * s.dense(D)).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(learnt.own, (s.dense(D) ** 2).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(learnt.anchor, anchor @ s.dense(D), rtol=1e-12)
        np.testing.assert_allclose(belief.matrix(np.float64), h, rtol=1e-12)
        np.testing.assert_allclose(np.sqrt(belief.squares), column_norms(h), rtol=1e-12)
        np.testing.assert_allclose(belief.anchored_squares, column_norms(h + anchor[:, None]) ** 2, rtol=1e-12)
    np.testing.assert_array_equal(before.matrix(np.float64), h0)


def test_a_belief_that_is_begun_anew_has_zeros_and_the_same_anchor() -> None:
    rng = np.random.default_rng(5)
    anchor, pins = np.arange(5.0), Pins(np.array([3]), rng.random((5, 1)))
    used = RunningBelief(rng.random((5, 16)), anchor, pins)
    used.convolve(0.5)
    used.learn(SliceSums(np.array([0, 2]), rng.random((2, 16))), np.ones(16))
    anew, zeros = used.begun_anew(), RunningBelief(np.zeros((5, 16)), anchor, pins)
    np.testing.assert_array_equal(anew.matrix(), zeros.matrix())
    np.testing.assert_array_equal(anew.anchored_squares, zeros.anchored_squares)
    np.testing.assert_array_equal(anew.convolve(0.5), np.ones(16))


def test_a_belief_about_some_topics_learns_their_columns() -> None:
    rng = np.random.default_rng(6)
    x = short_documents(rng, 20)
    sums, topics, h0 = SliceSums.of(x, soft(rng, x)), np.array([4, 1]), rng.random((D, KP))
    some, copied = RunningBelief(h0[:, topics], rng.random(D)), SliceSums(sums.words, sums.s[:, topics])
    other, weight = some.copy(), np.array([25.0, 3.0])
    for found, expected in zip(some.learn(sums, weight, topics), other.learn(copied, weight), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(some.matrix(), other.matrix())


def test_narrow_documents_hold_the_same_words() -> None:
    x = short_documents(np.random.default_rng(3), 20)
    narrow = narrowed(x)
    assert isinstance(narrow.x, csr_array)
    np.testing.assert_array_equal(narrow.words, np.flatnonzero(x.toarray().any(axis=0)))
    np.testing.assert_array_equal(words_of(x), narrow.words)
    np.testing.assert_array_equal(narrow.x.toarray(), x.toarray()[:, narrow.words])
    resp = soft(np.random.default_rng(4), x)
    np.testing.assert_allclose(SliceSums.of(x, resp).dense(D), accumulate(x, resp), rtol=1e-12)
    full = narrowed(x.toarray())
    assert full.x.shape == x.shape
    assert len(full.words) == D


@pytest.mark.parametrize("dense", [False, True])
def test_documents_are_added_to_sums_as_if_they_had_been_summed_there(dense: bool) -> None:
    rng = np.random.default_rng(5)
    sparse = short_documents(rng, 30)
    x: Rows = sparse.toarray() if dense else sparse
    resp, more = soft(rng, short_documents(rng, 30)), np.zeros((30, KP))
    rows, topics, share = np.array([3, 4, 17, 29]), np.array([2, 0, 2, 1]), rng.random(4)
    more[rows, topics] = share
    sums = SliceSums.of(x, resp)
    sums.add(x, rows, topics, share)
    np.testing.assert_allclose(sums.dense(D), accumulate(x, resp + more), rtol=1e-12, atol=1e-15)
