"""Scores of documents: polynomials and exact densities, sums of batches."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.mixtures.planted import directions
from tests.unit.online.streams import sparse, texts
from vmfstream.bayes.predictive import predictive, topic_densities
from vmfstream.bayes.temporal.chain import next_slice_density
from vmfstream.directional.bessel import inv_bessel_ratio, log_partition
from vmfstream.directional.kernels import accumulate
from vmfstream.online import belief as beliefs
from vmfstream.online.belief import TOLERANCE, Belief, gather, label, score, score_polynomial

COSINES = np.array([1e-4, 0.01, 0.1, 0.3, 0.5, 0.8, 0.95, 0.999, 0.9999])


pytestmark = pytest.mark.usefixtures("any_work_is_shared")


def belief(d: int, kappa: float, gamma: NDArray[np.float64], low: float, seed: int = 0) -> Belief:
    """Beliefs of the given lengths in random directions, with unequal weights."""
    rng = np.random.default_rng(seed)
    k = len(gamma)
    psi = directions(rng, k, d)
    psi = np.abs(psi) if low == 0.0 else psi
    f = np.zeros((d, -(-k // 16) * 16), np.float32)
    f[:, :k] = (psi * gamma[:, None]).T
    return Belief(f, np.linalg.norm(f[:, :k].astype(np.float64), axis=0), kappa, np.log(rng.dirichlet(np.ones(k))), low)


def concentrations(d: int) -> NDArray[np.float64]:
    return np.asarray(inv_bessel_ratio(d, COSINES))


def worst(b: Belief) -> float:
    """Largest distance of the polynomial from the density's formula on a fine grid of cosines."""
    d, c = len(b.f), np.linspace(b.lowest_cosine, 1.0, 999)
    poly = score_polynomial(b)
    u = (np.outer(c, b.gamma) - poly.centre) / poly.scale
    value = sum(row * u**p for p, row in enumerate(poly.coef))
    joint = np.sqrt(np.maximum(b.gamma**2 + b.kappa**2 + 2 * b.kappa * np.outer(c, b.gamma), 0))
    exact = b.log_weights + log_partition(d, joint) - log_partition(d, b.gamma) - log_partition(d, b.kappa)
    return float(np.abs(value - exact).max())


@pytest.mark.parametrize("d", [2, 3, 10, 50, 300, 5000, 50_000])
def test_polynomials_of_text_are_exact_in_every_dimension(d: int) -> None:
    for kappa in concentrations(d):
        for gamma in (concentrations(d), np.full(1, kappa), np.array([0.0, 1e-6, 1e9])):
            b = belief(d, float(kappa), gamma, 0.0)
            poly = score_polynomial(b)
            assert len(poly.coef) - 1 <= 16
            assert poly.error <= TOLERANCE
            assert worst(b) < 1.5 * TOLERANCE


@pytest.mark.parametrize("d", [2, 3, 10, 50, 300, 5000])
def test_polynomials_over_all_cosines_suffice_or_say_so(d: int) -> None:
    for kappa, cosine in zip(concentrations(d), COSINES, strict=True):
        b = belief(d, float(kappa), np.append(concentrations(d), kappa), -1.0)
        assert worst(b) < 1.5 * max(score_polynomial(b).error, TOLERANCE)
        if cosine <= 0.5:
            assert score_polynomial(b).error <= TOLERANCE
        if cosine >= 0.99:
            assert score_polynomial(b).error > TOLERANCE


@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("d", [2, 10, 300, 5000])
def test_largest_error_of_a_polynomial_is_reported(d: int, low: float) -> None:
    reported = 0
    for kappa in concentrations(d):
        for gamma in (*concentrations(d), 1e-6, 1e9):
            b = belief(d, float(kappa), np.array([gamma]), low)
            error = score_polynomial(b).error
            reported += error > 1e-5
            assert worst(b) == pytest.approx(error, rel=1e-4, abs=1e-5)
    assert reported >= 5


def test_lowest_degree_that_suffices_is_taken() -> None:
    used = {len(score_polynomial(belief(1000, k, np.array([k]), -1.0)).coef) - 1 for k in concentrations(1000)}
    assert used == {4, 8, 16, 32}


@pytest.mark.parametrize("low", [0.0, -1.0])
@pytest.mark.parametrize("d", [2, 5, 50])
def test_dense_documents_get_the_exact_density(d: int, low: float) -> None:
    rng = np.random.default_rng(d)
    x = directions(rng, 200, d).astype(np.float32)
    x = np.abs(x) if low == 0.0 else x
    for kappa in concentrations(d):
        b = belief(d, float(kappa), np.append(concentrations(d), kappa), low)
        x[0] = -b.f[:, len(b.gamma) - 1] / b.gamma[-1] if low else 0.0  # the singular end of the interval
        loglik, label = score(x, b, threads=1)
        exact = predictive(x, b.f, b.gamma, b.kappa, b.log_weights)
        rounding = 1e-6 * kappa
        assert np.abs(loglik - exact).max() < 1.5 * TOLERANCE + rounding
        scores = topic_densities(x, b.f, b.gamma, b.kappa) + b.log_weights
        kept = label >= 0
        assert kept.sum() == (200 if low else 199)
        best = scores[kept].max(axis=1)
        assert (best - np.take_along_axis(scores[kept], label[kept, None], axis=1)[:, 0]).max() < 2e-3 + rounding
        gathered = gather(x, b, threads=1)
        assert np.array_equal(gathered.label, label)
        assert gathered.loglik == pytest.approx(loglik, abs=1e-9)


def test_text_is_scored_as_the_chain_predicts() -> None:
    x = texts(slices=1)[0]
    b = belief(300, 80.0, np.array([5.0, 100.0, 4000.0]), 0.0)
    anchor = np.full(300, 0.5, np.float32)
    p = b.f - np.where(np.arange(16) < 3, anchor[:, None], 0).astype(np.float32)
    expected = next_slice_density(x, p, anchor, 80.0, b.log_weights)
    assert np.abs(score(x, b, threads=2)[0] - expected).max() < 2 * TOLERANCE


@pytest.mark.parametrize("kappa", [20.0, 1e5])
@pytest.mark.parametrize("kind", ["csr", "dense"])
def test_sums_do_not_depend_on_how_a_slice_is_cut(kappa: float, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = texts(slices=1)[0] if kind == "csr" else texts(slices=1)[0].toarray()
    b = belief(300, kappa, np.array([50.0, kappa, 300.0]), 0.0)
    for tolerance in (TOLERANCE, -1.0):  # by polynomials, and by the exact densities
        monkeypatch.setattr(beliefs, "TOLERANCE", tolerance)
        whole = gather(x, b, threads=2)
        parts = [gather(x[low : low + 7], b, threads=2) for low in range(0, 40, 7)]
        assert np.concatenate([p.label for p in parts]).tolist() == whole.label.tolist()
        assert np.concatenate([p.loglik for p in parts]) == pytest.approx(whole.loglik, abs=1e-4 + 1e-6 * kappa)
        assert np.abs(sum(p.s for p in parts) - whole.s).max() < 1e-4
        assert sum(p.n for p in parts) == pytest.approx(whole.n, abs=1e-4)
        assert whole.n.sum() == pytest.approx(40.0, abs=1e-4)


def test_sums_are_those_of_the_memberships() -> None:
    x = texts(slices=1)[0]
    for gamma in (np.array([50.0, 70.0, 60.0]), np.full(12, 5.0)):
        out = gather(x, belief(300, 30.0, gamma, 0.0), threads=2)
        assert out.resp.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
        assert not out.resp[:, len(gamma) :].any()
        assert out.resp.argmax(axis=1).tolist() == out.label.tolist()
        if len(gamma) == 3:
            assert np.abs(accumulate(x, out.resp) - out.s).max() < 1e-4
            assert out.resp.sum(axis=0) == pytest.approx(out.n, abs=1e-3)
        else:  # a dozen alike topics: the memberships keep the strongest four only
            assert (np.count_nonzero(out.resp, axis=1) <= 4).all()
            assert (out.n[:12] > 0.5).all()


def test_rows_without_direction_count_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    x = texts(slices=1)[0].toarray()
    x[[3, 5]] = 0.0
    b = belief(300, 30.0, np.array([50.0, 70.0, 60.0]), 0.0)
    for tolerance in (TOLERANCE, -1.0):
        monkeypatch.setattr(beliefs, "TOLERANCE", tolerance)
        for rows in (x, sparse(x)):
            out = gather(rows, b, threads=2)
            assert np.flatnonzero(out.label < 0).tolist() == [3, 5]
            assert not out.loglik[[3, 5]].any()
            assert not out.resp[[3, 5]].any()
            assert out.n.sum() == pytest.approx(38.0, abs=1e-4)
        assert score(sparse(x[:0]), b, threads=2)[0].shape == (0,)


@pytest.mark.parametrize(("kappa", "low"), [(200.0, 0.0), (20_000.0, -1.0)])
def test_labels_are_those_of_the_sums(kappa: float, low: float) -> None:
    """By polynomials, and by Bessel functions where no polynomial suffices."""
    b, x = belief(60, kappa, np.array([2e3, 1e4, 3e4]), low), texts(slices=1, n=50, d=60)[0]
    for rows in (x, x.toarray()):
        found, expected = label(rows, b, threads=1, beta=0.3), gather(rows, b, threads=1, beta=0.3)
        np.testing.assert_array_equal(found.label, expected.label)
        np.testing.assert_array_equal(found.loglik, expected.loglik)
        np.testing.assert_array_equal(found.sure, expected.probability[:, 0])
