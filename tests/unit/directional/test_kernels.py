from __future__ import annotations

import itertools
from typing import Any

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy.sparse import csr_array

from tests.unit.directional import oracles
from vmfstream.directional import kernels, loops, simd

N, D = 60, 80


class Case:
    """Documents, topics and a polynomial; three rows are empty in different ways."""

    def __init__(self, k: int, dtype: type = np.float64, *, sparse: bool = True, degree: int = 1, n: int = N) -> None:
        rng = np.random.default_rng([k, degree, n])
        rows = rng.gamma(0.3, size=(n, D)) * (rng.random((n, D)) < 0.2)
        rows[1:2] = 0.0
        norm = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, norm, out=np.zeros_like(rows), where=norm > 0).astype(dtype)
        self.x: Any = csr_array(rows) if sparse else rows
        self.k, self.kp = k, kernels.padded(k)
        self.m: Any = np.zeros((D, self.kp), dtype)
        topics = rng.gamma(0.3, size=(D, k))
        self.m[:, :k] = topics / np.linalg.norm(topics, axis=0)
        self.centre = 0.1 * rng.random(k) if degree > 1 else np.zeros(k)
        self.scale = 0.5 + rng.random(k) if degree > 1 else np.ones(k)
        self.coef = np.vstack([np.log(rng.dirichlet(np.ones(k))), 20.0 + 10 * rng.random((degree, k))])

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.x, self.m, self.coef, self.centre, self.scale, self.k


def tolerance(dtype: type) -> dict[str, Any]:
    return {"rtol": 1e-10, "atol": 1e-10} if dtype is np.float64 else {"rtol": 1e-4, "atol": 2e-5}


pytestmark = pytest.mark.usefixtures("any_work_is_shared")

every = pytest.mark.parametrize(
    ("k", "dtype", "sparse", "threads"),
    [
        (k, dtype, sparse, threads)
        for k in (1, 3, 16, 30, 100, 150)
        for dtype in (np.float32, np.float64)
        for sparse, threads in ((True, 1), (True, 2), (False, 1))
    ],
)


@pytest.mark.parametrize(("k", "kp"), [(1, 16), (15, 16), (16, 16), (17, 32), (100, 112)])
def test_padded(k: int, kp: int) -> None:
    assert kernels.padded(k) == kp


@every
def test_dots(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    found = kernels.dots(case.x, case.m, threads=threads)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, case.x @ case.m, **tolerance(dtype))


@every
def test_posterior(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    found = kernels.posterior(*case.arguments, threads=threads)
    expected = oracles.posterior(*case.arguments)
    np.testing.assert_allclose(found.loglik, expected.loglik, **tolerance(dtype))
    np.testing.assert_array_equal(found.label, expected.label)
    np.testing.assert_allclose(found.resp, expected.resp, rtol=1e-4, atol=2e-6)
    assert found.label[1] == -1
    assert not found.resp[:, k:].any()


@every
def test_posterior_from_dots(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    x, m, *scores = case.arguments
    empty = np.arange(x.shape[0]) == 1
    found = kernels.posterior_from_dots(kernels.dots(x, m, threads=threads), empty, *scores)
    expected = kernels.posterior(*case.arguments, threads=threads)
    np.testing.assert_allclose(found.loglik, expected.loglik, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found.label, expected.label)
    np.testing.assert_allclose(found.resp, expected.resp, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="empty: expected one value for each"):
        kernels.posterior_from_dots(kernels.dots(x, m), empty[1:], *scores)


@every
def test_pass(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads, threshold=0.02)
    expected = oracles.posterior(*case.arguments)
    resp = oracles.truncated(expected.resp, 0.02)
    assert found.s.dtype == dtype
    np.testing.assert_allclose(found.s, oracles.accumulate(case.x, resp), **tolerance(dtype))
    np.testing.assert_allclose(found.nk, resp.sum(axis=0), **tolerance(dtype))
    np.testing.assert_allclose(found.q, (resp**2).sum(axis=0), **tolerance(dtype))
    np.testing.assert_allclose(found.loglik, expected.loglik, **tolerance(dtype))
    np.testing.assert_array_equal(found.label, expected.label)
    largest = -np.sort(-resp, axis=1)[:, : loops.TOP]
    np.testing.assert_allclose(found.weight, largest, rtol=1e-4, atol=2e-5)
    used = found.top >= 0
    np.testing.assert_array_equal(used, found.weight > 0)
    row = np.nonzero(used)[0]
    np.testing.assert_allclose(resp[row, found.top[used]], found.weight[used], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("beta", [1.0, 0.3, 4.0])
@every
def test_probabilities_of_labels(k: int, dtype: type, sparse: bool, threads: int, beta: float) -> None:
    case = Case(k, dtype, sparse=sparse)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads, beta=beta)
    x, m, coef, *rest = case.arguments
    resp = oracles.posterior(x, m, beta * coef, *rest).resp[:, :k]
    expected = np.zeros((len(resp), 2))
    expected[:, : min(k, 2)] = -np.sort(-resp, axis=1)[:, :2]
    np.testing.assert_allclose(found.sure, expected, rtol=1e-3 if dtype is np.float32 else 1e-6, atol=1e-12)
    known = np.flatnonzero((found.label >= 0) & (k > 1))
    assert (found.second[known] != found.label[known]).all()
    np.testing.assert_allclose(resp[known, found.second[known]], expected[known, 1], rtol=1e-3, atol=1e-12)
    assert (found.second[found.label < 0] == -1).all()
    assert k > 1 or (found.second == -1).all()
    plain = kernels.posterior_accumulate(*case.arguments, threads=threads)
    for name in ("s", "nk", "q", "loglik", "label", "top", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    labelled = kernels.labels(*case.arguments, threads=threads, beta=beta)
    for name in ("loglik", "label"):
        np.testing.assert_array_equal(getattr(labelled, name), getattr(found, name))
    np.testing.assert_array_equal(labelled.sure, found.sure[:, 0])


@pytest.mark.parametrize("call", [kernels.posterior_accumulate, kernels.labels])
def test_an_inverse_temperature_is_above_zero(call: Any) -> None:
    with pytest.raises(ValueError, match="beta: expected a number above 0, got 0"):
        call(*Case(3).arguments, beta=0.0)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("degree", [0, 2, 5])
def test_scores_are_polynomials(degree: int, sparse: bool) -> None:
    case = Case(5, sparse=sparse, degree=degree)
    expected = oracles.posterior(*case.arguments)
    np.testing.assert_allclose(kernels.posterior(*case.arguments).loglik, expected.loglik, rtol=1e-10)
    np.testing.assert_allclose(kernels.posterior_accumulate(*case.arguments).loglik, expected.loglik, rtol=1e-10)


@pytest.mark.parametrize("sparse", [True, False])
def test_threshold_limits(sparse: bool) -> None:
    case = Case(30, sparse=sparse)
    case.coef[1] = 2.0  # flat: every topic is active
    every_topic = kernels.posterior_accumulate(*case.arguments, threshold=0.0)
    resp = oracles.posterior(*case.arguments).resp
    np.testing.assert_allclose(every_topic.s, oracles.accumulate(case.x, resp), rtol=1e-10, atol=1e-12)
    hard = kernels.posterior_accumulate(*case.arguments, threshold=1.0)
    counts = np.bincount(hard.label[hard.label >= 0], minlength=case.kp)
    np.testing.assert_array_equal(hard.nk, counts)
    np.testing.assert_array_equal(hard.q, counts)


@pytest.mark.parametrize("sparse", [True, False])
def test_a_threshold_decides_between_equal_topics(sparse: bool) -> None:
    """Up to a half both have half of a document; above, the first has all of it."""
    x, m, coef, *rest = Case(40, np.float64, sparse=sparse).arguments
    m, coef = m.copy(), coef.copy()
    m[:, 25], coef[:, 25] = m[:, 3], coef[:, 3]
    coef[0, [3, 25]] += 100.0
    n = kernels.posterior_accumulate(x, m, coef, *rest, threshold=0.0).nk.sum()
    for threshold, shares in ((1e-3, [0.5, 0.5]), (0.5, [0.5, 0.5]), (0.51, [1.0, 0.0]), (1.0, [1.0, 0.0])):
        found = kernels.posterior_accumulate(x, m, coef, *rest, threshold=threshold)
        np.testing.assert_array_equal(found.label[found.label >= 0], 3)
        np.testing.assert_array_equal(found.nk[[3, 25]], np.multiply(shares, n))
        assert not np.delete(found.nk, [3, 25]).any()


@pytest.mark.parametrize(("sparse", "threads"), [(True, 1), (True, 2), (False, 1)])
def test_mass_repeats_documents(sparse: bool, threads: int) -> None:
    case = Case(5, sparse=sparse)
    mass = np.random.default_rng(0).integers(0, 4, N).astype(np.float64)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads, threshold=0.0, mass=mass)
    resp = oracles.posterior(*case.arguments).resp
    np.testing.assert_allclose(found.s, oracles.accumulate(case.x, mass[:, None] * resp), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.nk, mass @ resp, rtol=1e-10)
    np.testing.assert_allclose(found.q, mass**2 @ resp**2, rtol=1e-10)
    once = kernels.posterior_accumulate(*case.arguments, threads=threads, threshold=0.0)
    np.testing.assert_array_equal(found.loglik, once.loglik)
    np.testing.assert_array_equal(found.weight, once.weight)
    with pytest.raises(ValueError, match="mass: expected one value for each of 60"):
        kernels.posterior_accumulate(*case.arguments, mass=mass[1:])


@pytest.mark.parametrize(("sparse", "threads"), [(True, 1), (True, 2), (False, 1)])
def test_sums_are_added_to_a_matrix(sparse: bool, threads: int) -> None:
    case = Case(30, sparse=sparse)
    alone = kernels.posterior_accumulate(*case.arguments, threads=threads)
    into = kernels.copied(case.m)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads, into=into)
    assert found.s is into
    np.testing.assert_allclose(into, case.m + alone.s, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(found.nk, alone.nk)
    with pytest.raises(ValueError, match="into: expected the shape of m"):
        kernels.posterior_accumulate(*case.arguments, into=into[1:])
    with pytest.raises(ValueError, match="into: expected the dtype of x"):
        kernels.posterior_accumulate(*case.arguments, into=into.astype(np.float32))


@pytest.mark.parametrize(("d", "kp"), [(5, 16), (20_000, 32), (70_001, 16)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_are_zeros_of_their_own(d: int, kp: int, dtype: type) -> None:
    m = kernels.zeros(d, kp, dtype)
    assert m.shape == (d, kp)
    assert m.dtype == dtype
    assert m.flags.c_contiguous
    assert not m.any()
    m[0, 0] = m[-1, -1] = 1.0
    np.testing.assert_array_equal(kernels.copied(m), m)
    assert not kernels.zeros(d, kp, dtype).any()


@pytest.mark.parametrize("threshold", [0.0, 3e-3, 1.0])
def test_dense_sums_are_the_same_by_rows_and_by_a_product(threshold: float) -> None:
    """Of 100 topics a document has all that differ by less than 50 nats, some, or one."""
    case = Case(100, np.float32, sparse=False)
    s = kernels.posterior_accumulate(*case.arguments, threshold=threshold).s
    assert s.shape == case.m.shape
    assert s.flags.c_contiguous
    soft = kernels.posterior(*case.arguments).resp
    kept = np.where((soft >= threshold) | (soft == soft.max(axis=1, keepdims=True)), soft, 0.0) * (soft > 0)
    active = np.count_nonzero(kept, axis=1)[kept.any(axis=1)]
    assert (active > 14).any() if threshold < 1.0 else (active == 1).all()
    assert (active < 14).any() if threshold > 0.0 else (active > 14).all()
    kept /= np.maximum(kept.sum(axis=1, keepdims=True), 0.1)  # documents without direction have nothing
    np.testing.assert_allclose(s, case.x.T @ kept, **tolerance(np.float32))


@every
def test_accumulate(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    resp = np.zeros((N, case.kp), np.float32)
    resp[:, :k] = np.random.default_rng(0).dirichlet(np.full(k, 0.2), N)
    resp[resp < 1e-3] = 0.0
    found = kernels.accumulate(case.x, resp, threads=threads)
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    np.testing.assert_allclose(found, oracles.accumulate(case.x, resp), **tolerance(dtype))


@pytest.mark.parametrize(("sparse", "threads"), [(True, 1), (True, 2), (False, 1)])
def test_the_largest_responsibilities_repeat_the_pass(sparse: bool, threads: int) -> None:
    case = Case(3, np.float64, sparse=sparse)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads)
    resp = np.zeros((len(found.top), case.kp))
    row, place = np.nonzero(found.top >= 0)
    resp[row, found.top[row, place]] = found.weight[row, place]
    again = kernels.accumulate(case.x, resp, threads=threads)
    np.testing.assert_allclose(again, found.s, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_sums_run_over_blocks_and_unsorted_rows(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(30, np.float64, n=200)
    expected = kernels.posterior_accumulate(*case.arguments)
    for start, stop in itertools.pairwise(case.x.indptr):
        case.x.indices[start:stop] = case.x.indices[start:stop][::-1].copy()
        case.x.data[start:stop] = case.x.data[start:stop][::-1].copy()
    monkeypatch.setattr(kernels, "_BLOCK", 64)
    found = kernels.posterior_accumulate(*case.arguments, threads=threads)
    np.testing.assert_array_equal(found.label, expected.label)
    np.testing.assert_allclose(found.s, expected.s, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.nk, expected.nk, rtol=1e-10)
    resp = kernels.posterior(*case.arguments).resp
    again = kernels.accumulate(case.x, resp, threads=threads)
    np.testing.assert_allclose(again, oracles.accumulate(case.x, resp), rtol=1e-10, atol=1e-12)


def test_threads_share_many_documents_only(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(30, np.float32, n=200)
    resp = kernels.posterior(*case.arguments).resp
    parts: list[int] = []
    run = kernels._run

    def counted(chunk: Any, bounds: Any, *shared: Any, **own: Any) -> None:
        parts.append(len(bounds) - 1)
        run(chunk, bounds, *shared, **own)

    def all_of_them() -> set[int]:
        parts.clear()
        kernels.dots(case.x, case.m, threads=3)
        kernels.accumulate(case.x, resp, threads=3)
        for passed in (kernels.posterior, kernels.labels, kernels.posterior_accumulate):
            passed(*case.arguments, threads=3)
        return set(parts)

    monkeypatch.setattr(kernels, "_run", counted)
    monkeypatch.setattr(kernels, "WORTH_SHARING", case.x.nnz * case.kp)
    assert all_of_them() == {1}
    monkeypatch.setattr(kernels, "WORTH_SHARING", case.x.nnz * case.kp - 1)
    assert all_of_them() == {3}


def test_threads_only_change_the_order_of_sums() -> None:
    case = Case(30, np.float32, n=200)
    one, two, again = (kernels.posterior_accumulate(*case.arguments, threads=t) for t in (1, 2, 2))
    np.testing.assert_array_equal(one.loglik, two.loglik)
    np.testing.assert_array_equal(one.top, two.top)
    np.testing.assert_array_equal(one.s, two.s)
    for a, b in zip(two, again, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("n", [0, 1])
def test_small_batches(n: int, sparse: bool) -> None:
    case = Case(3, sparse=sparse, n=n)
    found = kernels.posterior_accumulate(*case.arguments, threads=2)
    assert found.s.shape == (D, case.kp)
    assert found.nk.sum() == pytest.approx(n)
    assert kernels.posterior(*case.arguments, threads=2).resp.shape == (n, case.kp)
    assert kernels.dots(case.x, case.m, threads=2).shape == (n, case.kp)


def test_explicit_zeros_are_no_words() -> None:
    case = Case(3)
    case.x.data[case.x.indptr[4] : case.x.indptr[5]] = 0.0
    assert case.x.indptr[4] < case.x.indptr[5]
    assert kernels.posterior(*case.arguments).label[4] == -1
    assert kernels.posterior_accumulate(*case.arguments).nk.sum() == pytest.approx(N - 2)


def test_unknown_words_are_words() -> None:
    case = Case(3)
    case.m[:] = 0.0
    found = kernels.posterior(*case.arguments)
    np.testing.assert_allclose(found.loglik, 0.0, atol=1e-12)
    assert np.sum(found.label >= 0) == N - 1


@pytest.mark.parametrize("sparse", [True, False])
def test_switched_off_topics(sparse: bool) -> None:
    case = Case(3, sparse=sparse)
    case.coef[0, 1] = -np.inf
    found = kernels.posterior_accumulate(*case.arguments, threshold=0.0)
    assert found.nk[1] == 0
    assert np.isfinite(found.loglik).all()
    assert not (found.top == 1).any()
    case.coef[0] = -np.inf
    found = kernels.posterior_accumulate(*case.arguments)
    assert (found.label == -1).all()
    assert not found.s.any()
    assert np.isfinite(kernels.posterior(*case.arguments).resp).all()


def test_large_scores_stay_finite() -> None:
    case = Case(30, np.float32)
    case.coef[1] = 1e7
    found = kernels.posterior(*case.arguments)
    assert np.isfinite(found.loglik).all()
    np.testing.assert_allclose(found.resp.sum(axis=1)[found.label >= 0], 1.0, rtol=1e-5)


@pytest.mark.thorough
def test_wide_row_numbers() -> None:
    case = Case(3)
    expected = kernels.posterior_accumulate(*case.arguments).s
    case.x.indices, case.x.indptr = case.x.indices.astype(np.int64), case.x.indptr.astype(np.int64)
    np.testing.assert_array_equal(kernels.posterior_accumulate(*case.arguments).s, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": csr_array(np.eye(D)).tocsc()}, "x: expected a csr_array or an array of two dimensions, got csc_array"),
        ({"x": np.ones(D)}, "x: expected a csr_array or an array of two dimensions"),
        ({"x": np.ones((2, D), int)}, "x: expected float32 or float64, got int64"),
        ({"m": np.zeros((D, 15))}, r"m: expected the shape \(80, a multiple of 16\)"),
        ({"m": np.zeros((D + 1, 16))}, r"one row a word of x, got \(81, 16\)"),
        ({"m": np.zeros((D, 16), np.float32)}, "m: expected the dtype of x, float64, got float32"),
        ({"m": np.zeros((16, D)).T}, "C order"),
        ({"k": 17}, "k: expected 1 to 16"),
        ({"coef": np.zeros((2, 2))}, r"coef: expected the shape \(degree \+ 1, at least 3\), got \(2, 2\)"),
        ({"centre": np.zeros(2)}, "centre: expected at least 3 values"),
        ({"scale": np.zeros(3)}, "scale: expected positive values, got 0.0"),
        ({"threads": 0}, "threads: expected at least 1, got 0"),
        ({"threshold": 1.5}, r"threshold: expected a responsibility in \[0, 1\], got 1.5"),
    ],
)
def test_says_what_is_wrong(change: dict[str, Any], message: str) -> None:
    case = Case(3)
    names = ("x", "m", "coef", "centre", "scale", "k")
    with pytest.raises(ValueError, match=message):
        kernels.posterior_accumulate(**(dict(zip(names, case.arguments, strict=True)) | change))


def test_says_what_is_wrong_with_weights() -> None:
    x = Case(3).x
    with pytest.raises(ValueError, match="resp: expected 60 rows, one a document"):
        kernels.accumulate(x, np.zeros((3, 16)))
    with pytest.raises(ValueError, match="multiple of 16 columns, got 15"):
        kernels.accumulate(x, np.zeros((N, 15)))
    with pytest.raises(ValueError, match="k: expected at least one topic, got 0"):
        kernels.padded(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threshold", [0.0, 1e-3, 1.0])
def test_dense_rows_are_the_same_in_blocks(dtype: type, threshold: float, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(30, dtype, sparse=False)
    mass = np.random.default_rng(0).uniform(0.0, 2.0, N)
    whole = kernels.posterior_accumulate(*case.arguments, threshold=threshold, mass=mass)
    monkeypatch.setattr(kernels, "_NEAR", 1)
    monkeypatch.setattr(kernels, "_LEAST_ROWS", 7)
    x, *rest = case.arguments
    for rows in (x, np.asfortranarray(x)):
        blocks = kernels.posterior_accumulate(rows, *rest, threshold=threshold, mass=mass)
        np.testing.assert_array_equal(blocks.label, whole.label)
        for name in ("s", "nk", "q", "loglik", "sure"):
            np.testing.assert_allclose(getattr(blocks, name), getattr(whole, name), **tolerance(dtype))


@every
def test_sums_alone_are_those_of_a_whole_pass(k: int, dtype: type, sparse: bool, threads: int) -> None:
    case = Case(k, dtype, sparse=sparse)
    for threshold in (0.0, 1e-3, 1.0):
        whole = kernels.posterior_accumulate(*case.arguments, threads=threads, threshold=threshold)
        sums = kernels.posterior_accumulate(*case.arguments, threads=threads, threshold=threshold, sums_only=True)
        for name in ("s", "nk", "q", "loglik", "label"):
            np.testing.assert_array_equal(getattr(sums, name), getattr(whole, name))
        assert [len(sums.top), len(sums.weight), len(sums.second), len(sums.sure)] == [0, 0, 0, 0]


@njit
def exponentials(score: Any, best: float, beta: float, out: Any) -> Any:
    return [simd.exp_lanes(score, column, best, beta, out) for column in range(0, len(score), simd.NARROW)]


def test_exponentials_are_exact_to_the_last_digits() -> None:
    rng = np.random.default_rng(0)
    score = np.concatenate([-rng.uniform(0, 60, 800), -rng.uniform(0, 1, 400), -(10.0 ** rng.uniform(-20, 1, 400))])
    best = 3.0
    out = np.empty_like(score)
    for beta in (1.0, 0.3, 7.0):
        sums = exponentials(best + score, best, beta, out)
        behind = beta * ((best + score) - best)
        with mpmath.workdps(40):
            exact = np.array([float(mpmath.exp(mpmath.mpf(float(value)))) for value in behind])
        np.testing.assert_allclose(out, exact, rtol=2 * np.finfo(np.float64).eps, atol=0.0)
        np.testing.assert_allclose(sums, exact.reshape(-1, 16).sum(axis=1), rtol=1e-15)
    assert exponentials(np.full(16, best), best, 1.0, out[:16]) == [16.0]
    assert (out[:16] == 1.0).all()
    exponentials(np.append(np.full(8, -np.inf), np.full(8, -1e308)), best, 1.0, out[:16])
    assert ((out[:16] >= 0) & (out[:16] < 1e-200)).all()
