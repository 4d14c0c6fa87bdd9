"""Mixtures of Watson distributions: likelihood, invariances, limits, failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.special import logsumexp

from tests.unit.mixtures.planted import hard_text, nmi
from vmfstream.directional.kummer import watson_bounds
from vmfstream.directional.params import Mixture
from vmfstream.directional.sphere import unit_rows
from vmfstream.directional.watson import Watson, sample
from vmfstream.mixtures import watson
from vmfstream.mixtures.diametrical import axial_seeds, diametrical_kmeans
from vmfstream.mixtures.seeding import one_hot


def drawn(d: int, kappas: list[float], n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, len(kappas))))[0].T
    x = np.vstack([sample(axis, kappa, n, rng) for axis, kappa in zip(axes, kappas, strict=True)])
    return x, np.repeat(np.arange(len(kappas)), n)


def fit(x: Any, k: int, seed: int = 0, **options: Any) -> watson.WatsonFit:
    return watson.fit(x, k, rng=np.random.default_rng(seed), **options)


def random_mixture(d: int, k: int, rng: np.random.Generator) -> Mixture:
    mu = np.zeros((d, 16))
    mu[:, :k] = unit_rows(rng.standard_normal((k, d)))[0].T
    return Mixture(rng.dirichlet(np.ones(k)), mu, rng.normal(0, d, k))


@pytest.mark.parametrize("stored", [np.asarray, csr_array])
def test_e_step_is_bayes(stored: Any) -> None:
    rng = np.random.default_rng(0)
    x, mixture = unit_rows(rng.standard_normal((20, 7)))[0], random_mixture(7, 3, rng)
    x[4] = 0
    scores = np.zeros((20, 3))
    others = np.arange(20) != 4
    for j in range(3):
        law = Watson(mixture.mu[:, j], mixture.kappa[j])
        scores[others, j] = np.log(mixture.pi[j]) + law.logpdf(x[others], relative_to_uniform=True)
    resp, loglik = watson.e_step(stored(x), mixture)
    np.testing.assert_allclose(loglik[others], logsumexp(scores[others], axis=1), rtol=1e-12)
    np.testing.assert_allclose(resp[others, :3], np.exp(scores[others] - loglik[others, None]), rtol=1e-10)
    assert not resp[4].any()
    assert not resp[:, 3:].any()
    assert loglik[4] == 0
    hard, best = watson.e_step(stored(x), mixture, assignment="hard")
    np.testing.assert_array_equal(hard[others].argmax(axis=1), scores[others].argmax(axis=1))
    np.testing.assert_allclose(best[others], scores[others].max(axis=1), rtol=1e-12)
    assert hard.sum() == 19


@given(st.integers(2, 25), st.integers(1, 4), st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
@example(10, 4, 1476, True, True)  # a girdle is left with ten rows in ten dimensions
@settings(max_examples=40, deadline=None)
def test_objective_never_falls(d: int, k: int, seed: int, hard: bool, negative: bool) -> None:
    rng = np.random.default_rng(seed)
    x = unit_rows(rng.standard_normal((80, d)) * np.linspace(0.4, 2, d))[0]
    mixture, before = random_mixture(d, k, rng), -np.inf
    if not negative:
        mixture = Mixture(mixture.pi, mixture.mu, np.abs(mixture.kappa))
    assignment: watson.WatsonAssignment = "hard" if hard else "soft"
    for _ in range(12):
        resp, loglik = watson.e_step(x, mixture, assignment=assignment)
        shrunk = (resp**2).sum(axis=0)[:k] * d >= resp.sum(axis=0)[:k] ** 2  # no more effective rows than dimensions
        assert loglik.mean() >= before - 1e-10
        after = watson.m_step(x, resp, k, negative=negative, previous=mixture)
        # the girdle of a component that has become too small is given up, and the likelihood with it
        before = -np.inf if np.any(shrunk & (mixture.kappa < 0)) else float(loglik.mean())
        mixture = after
    assert negative or np.all(mixture.kappa >= 0)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_finds_axes_and_girdles(assignment: watson.WatsonAssignment) -> None:
    x, labels = drawn(20, [80.0, 50.0, -300.0], 400, 1)
    found = fit(x, 3, assignment=assignment, n_init=3, tol=1e-7)
    assert nmi(found.labels, labels) > 0.98
    np.testing.assert_allclose(np.sort(found.mixture.kappa), [-300, 50, 80], rtol=0.15)
    assert found.converged
    assert np.diff(found.trace).min() > -1e-10
    resp, loglik = watson.e_step(x, found.mixture, assignment=assignment)
    assert found.trace[-1] == pytest.approx(loglik.mean(), rel=1e-12)
    np.testing.assert_array_equal(found.resp, resp)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_objective_never_falls_in_high_dimension(assignment: watson.WatsonAssignment) -> None:
    x, labels = hard_text(np.random.default_rng(3), d=600, n=200, k=3)
    found = fit(x, 3, assignment=assignment, tol=0.0, max_iter=12)
    assert np.diff(found.trace).min(initial=0) > -1e-9
    assert np.all(found.mixture.kappa > 0)  # fewer documents than words
    assert nmi(found.labels, labels) > 0.2


@pytest.mark.parametrize("estimator", ["L", "B", "U", "BBG"])
def test_bounds_replace_the_exact_concentration(estimator: Any) -> None:
    x, labels = drawn(15, [60.0, 90.0], 150, 2)
    exact, other = fit(x, 2), fit(x, 2, estimator=estimator)
    assert nmi(other.labels, labels) > 0.98
    assert not np.allclose(other.mixture.kappa, exact.mixture.kappa, rtol=1e-4)
    assert other.trace[-1] <= exact.trace[-1] + 1e-6


def test_signs_and_rotations_do_not_matter() -> None:
    x, _ = drawn(10, [40.0, -80.0], 120, 3)
    rng = np.random.default_rng(4)
    turn = np.linalg.qr(rng.standard_normal((10, 10)))[0]
    moved = rng.choice([-1.0, 1.0], (len(x), 1)) * (x @ turn)
    start = rng.dirichlet(np.ones(2), len(x))
    one, two = fit(x, 2, init=start, tol=1e-9), fit(moved, 2, init=start, tol=1e-9)
    np.testing.assert_allclose(two.mixture.kappa, one.mixture.kappa, rtol=1e-6)
    np.testing.assert_allclose(two.trace, one.trace, rtol=1e-9)
    np.testing.assert_array_equal(two.labels, one.labels)


def test_permuted_starts_and_doubled_rows_give_the_same_mixture() -> None:
    x, _ = drawn(8, [30.0, 20.0], 60, 5)
    start = np.random.default_rng(6).dirichlet(np.ones(2), len(x))
    one, swapped = fit(x, 2, init=start), fit(x, 2, init=start[:, ::-1])
    np.testing.assert_allclose(swapped.mixture.kappa[::-1], one.mixture.kappa, rtol=1e-9)
    doubled = fit(np.repeat(x, 2, axis=0), 2, init=np.repeat(start, 2, axis=0))
    np.testing.assert_allclose(doubled.mixture.kappa, one.mixture.kappa, rtol=1e-9)
    times = np.random.default_rng(7).integers(0, 3, len(x))
    weighted = fit(x, 2, init=start, weights=times.astype(float))
    repeated = fit(np.repeat(x, times, axis=0), 2, init=np.repeat(start, times, axis=0))
    np.testing.assert_allclose(weighted.mixture.kappa, repeated.mixture.kappa, rtol=1e-9)
    np.testing.assert_allclose(weighted.trace, repeated.trace, rtol=1e-9)


def test_without_concentration_responsibilities_are_the_proportions() -> None:
    mixture = random_mixture(6, 3, np.random.default_rng(8))
    x = unit_rows(np.random.default_rng(9).standard_normal((5, 6)))[0]
    resp, loglik = watson.e_step(x, Mixture(mixture.pi, mixture.mu, np.zeros(3)))
    np.testing.assert_allclose(resp[:, :3], np.tile(mixture.pi, (5, 1)), rtol=1e-12)
    np.testing.assert_allclose(loglik, 0, atol=1e-12)


def test_large_equal_concentrations_are_diametrical_k_means() -> None:
    x, _ = drawn(9, [25.0, 25.0, 25.0], 80, 10)
    found = diametrical_kmeans(x, axial_seeds(x, 3, np.random.default_rng(0)), 3)
    mixture = Mixture(np.full(3, 1 / 3), found.mu, np.full(3, 1e6))
    np.testing.assert_array_equal(watson.e_step(x, mixture)[0].argmax(axis=1), found.labels)


def test_a_single_row_and_duplicates_meet_the_upper_limit() -> None:
    d = 6
    high = watson_bounds(d)[1]
    x, _ = drawn(d, [15.0], 40, 11)
    start = np.zeros((40, 2))
    start[:, 0], start[0] = 1, [0, 1]
    mixture = watson.m_step(x, one_hot(start.argmax(axis=1), 2, x.dtype), 2)
    assert mixture.kappa[1] == pytest.approx(high)
    assert abs(mixture.mu[:, 1] @ x[0]) == pytest.approx(1)
    copies = fit(np.repeat(x[:2], 20, axis=0), 2)
    np.testing.assert_allclose(copies.mixture.kappa, high)
    assert np.isfinite(copies.trace).all()


def test_antipodal_rows_have_an_axis() -> None:
    x = np.vstack([np.eye(4)[[0] * 5], -np.eye(4)[[0] * 5], np.eye(4)[[1] * 4], -np.eye(4)[[1] * 4]])
    found = fit(x, 2)
    assert nmi(found.labels, np.repeat([0, 1], [10, 8])) == pytest.approx(1)


def test_small_components_have_no_girdle() -> None:
    x = sample(np.eye(30)[0], -2_000.0, 45, np.random.default_rng(12))
    whole = watson.m_step(x, one_hot(np.zeros(45, int), 1, x.dtype), 1)
    assert whole.kappa[0] < -500
    halves = watson.m_step(x, one_hot(np.arange(45) % 2, 2, x.dtype), 2)
    assert np.all(halves.kappa > 0)
    assert watson.m_step(x, one_hot(np.zeros(45, int), 1, x.dtype), 1, negative=False).kappa[0] > 0


def test_components_without_weight_stay_or_are_uniform() -> None:
    x, _ = drawn(5, [10.0], 20, 13)
    resp = one_hot(np.zeros(20, int), 2, x.dtype)
    fresh = watson.m_step(x, resp, 2)
    assert (fresh.pi[1], fresh.kappa[1]) == (0, 0)
    previous = random_mixture(5, 2, np.random.default_rng(14))
    kept = watson.m_step(x, resp, 2, previous=previous)
    assert kept.kappa[1] == previous.kappa[1]
    np.testing.assert_array_equal(kept.mu[:, 1], previous.mu[:, 1])


def test_a_dead_component_starts_again_from_the_row_explained_worst() -> None:
    x, labels = drawn(10, [60.0, 60.0], 50, 15)
    start = np.zeros((100, 2))
    start[:, 0] = 1
    found = fit(x, 2, init=start)
    assert nmi(found.labels, labels) > 0.9


def test_zero_rows_take_no_part() -> None:
    x, _ = drawn(7, [20.0, 30.0], 40, 16)
    start = np.random.default_rng(17).dirichlet(np.ones(2), 82)
    padded = np.vstack([x, np.zeros((2, 7))])
    one, two = fit(x, 2, init=start[:80]), fit(padded, 2, init=start)
    np.testing.assert_allclose(two.mixture.kappa, one.mixture.kappa, rtol=1e-12)
    np.testing.assert_allclose(two.trace, one.trace, rtol=1e-12)
    assert np.all(two.labels[-2:] == -1)
    assert not two.resp[-2:].any()


def test_many_dimensions() -> None:
    rng = np.random.default_rng(18)
    d = 10**5
    words = np.repeat(rng.integers(0, d, (4, 60)), 25, axis=0)
    keep = rng.random(words.shape) < 0.7
    rows = np.repeat(np.arange(100), 60).reshape(words.shape)
    x = unit_rows(csr_array((np.ones(keep.sum()), (rows[keep], words[keep])), shape=(100, d)))[0]
    found = fit(x, 4, n_init=3)
    assert nmi(found.labels, np.repeat(np.arange(4), 25)) > 0.8
    assert np.isfinite(found.trace).all()
    assert np.all(found.mixture.kappa > 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be between 1 and the 60 rows"),
        ({"k": 61}, "k must be between 1 and the 60 rows"),
        ({"assignment": "fuzzy"}, "assignment must be one of soft, hard; got 'fuzzy'"),
        ({"estimator": "V"}, "estimator must be one of mle, L, B, U, BBG; got 'V'"),
        ({"init": np.ones((3, 2))}, r"init must have shape \(60, 2\)"),
        ({"init": "there"}, "init must be"),
        ({"weights": np.ones(3)}, "weights: expected one weight for each of 60 vectors"),
        ({"weights": np.full(60, np.nan)}, "weights: expected finite weights"),
        ({"x": 2 * np.eye(3)}, "rows of x must have length 1 or 0"),
        ({"x": np.full((60, 3), np.nan)}, "rows of x must have length 1 or 0; row 0 has length nan"),
    ],
)
def test_says_what_is_wrong(options: Any, message: str) -> None:
    given_options = {"x": drawn(4, [5.0], 60, 19)[0], "k": 2, "rng": np.random.default_rng(0)} | options
    with pytest.raises(ValueError, match=message):
        watson.fit(**given_options)
