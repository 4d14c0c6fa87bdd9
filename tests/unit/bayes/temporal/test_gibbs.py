"""Gibbs sampling of the chain: long-run frequencies against all labellings, directions integrated on circles."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, ive, log_expit

from tests.unit.mixtures.planted import nmi
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.temporal.gibbs import ChainDraws, ChainPrior, draw_chain
from vmfstream.bayes.temporal.proportions import FIRST_STEP
from vmfstream.directional.vmf import sample

ANGLES = (np.array([0.1, 1.2, 1.0]), np.array([]), np.array([0.6, 2.0]))
XS = [np.c_[np.cos(angles), np.sin(angles)] for angles in ANGLES]
SLICES = np.repeat([0, 1, 2], [3, 0, 2])
ANCHOR, H0, TAU = np.array([0.9, 0.1]), np.array([-0.3, 1.1]), 2.5
CLOSE = KappaPrior(np.log(5.0), 0.3)
ALPHA, STEP = 0.8, 0.7
LABELLINGS = np.array(list(itertools.product(range(2), repeat=5)))


def log_i0(z: Any) -> Any:
    """The partition function of the circle, relative to uniform."""
    return np.log(ive(0, z)) + z


def log_evidence(kappa: float) -> NDArray[np.float64]:
    """log p(X | z, kappa) of every labelling, up to a constant: the chain of each topic summed over a grid."""
    theta = np.linspace(0, 2 * np.pi, 150, endpoint=False)
    mu = np.c_[np.cos(theta), np.sin(theta)]
    link = TAU * mu @ mu.T

    def of_topic(members: NDArray[np.bool_]) -> float:
        passed = mu @ H0
        for t in range(3):
            total = np.concatenate(XS)[members & (t == SLICES)].sum(axis=0)
            here = passed + mu @ (ANCHOR + kappa * total)
            passed = np.logaddexp.reduce(here[:, None] + link, axis=0)
        return float(np.logaddexp.reduce(here) - members.sum() * log_i0(kappa))

    return np.array([of_topic(z == 0) + of_topic(z == 1) for z in LABELLINGS])


def static_weights() -> NDArray[np.float64]:
    counts = np.array([np.bincount(z, minlength=2) for z in LABELLINGS])
    return np.asarray(gammaln(ALPHA + counts).sum(axis=1))


def walking_weights() -> NDArray[np.float64]:
    """log p(z): the difference of the log-weights walks on a grid."""
    delta = np.linspace(-12, 12, 241)
    move = -((delta[:, None] - delta) ** 2) / (4 * STEP)
    move -= np.logaddexp.reduce(move, axis=0)

    def of_labels(z: NDArray[np.int64]) -> float:
        passed = -(delta**2) / (4 * FIRST_STEP)
        for t in range(3):
            ones, zeros = ((z == k) & (t == SLICES) for k in (1, 0))
            here = passed + ones.sum() * log_expit(delta) + zeros.sum() * log_expit(-delta)
            passed = np.logaddexp.reduce(move + here, axis=1)
        return float(np.logaddexp.reduce(here))

    return np.array([of_labels(z) for z in LABELLINGS])


def together(labels: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often two documents share a topic, (N, N)."""
    return np.asarray(np.tensordot(weights, labels[:, :, None] == labels[:, None, :], axes=1))


def drawn(step: float | None) -> ChainDraws:
    prior = ChainPrior(np.tile(H0[:, None], 2), ANCHOR, TAU, None if step else ALPHA, step, CLOSE)
    labels = [np.array([0, 1, 1]), np.array([], np.int64), np.array([0, 1])]
    means = [np.eye(2)] * 3
    return draw_chain(XS, labels, means, np.array([5.0]), prior, np.random.default_rng(0), draws=4000)


@pytest.mark.thorough
@pytest.mark.parametrize("step", [None, STEP])
def test_draws_are_as_frequent_as_they_should_be(step: float | None) -> None:
    u = np.linspace(-4, 4, 15)
    kappas = np.exp(CLOSE.m + u * np.sqrt(CLOSE.s2))
    weights = static_weights() if step is None else walking_weights()
    density = np.array([log_evidence(float(kappa)) for kappa in kappas]) + weights - 0.5 * u[:, None] ** 2
    joint = np.exp(density - np.logaddexp.reduce(density, axis=None))
    found = drawn(step)
    share = np.full(len(found.labels), 1 / len(found.labels))
    expected = together(LABELLINGS, joint.sum(axis=0))
    assert np.ptp(expected[np.triu_indices(5, 1)]) > 0.15
    assert together(found.labels, share) == pytest.approx(expected, abs=0.03)
    log_kappa = np.log(found.kappas[:, 0])
    mean = joint.sum(axis=1) @ np.log(kappas)
    assert log_kappa.mean() == pytest.approx(mean, abs=0.03)
    assert log_kappa.std() == pytest.approx(np.sqrt(joint.sum(axis=1) @ (np.log(kappas) - mean) ** 2), abs=0.03)
    assert found.weights.sum(axis=2) == pytest.approx(np.ones((4000, 3)))
    assert np.array_equal(found.weights[:, 0], found.weights[:, 2]) == (step is None)


def planted() -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]], list[NDArray[np.float64]]]:
    """Draw four slices of 40 rows about three directions that turn, with labels and directions."""
    rng = np.random.default_rng(5)
    means, xs, labels = [np.eye(6)[:, :3]], [], []
    for _ in range(4):
        means.append(np.stack([sample(mean, 60.0, 1, rng)[0] for mean in means[-1].T], axis=1))
        labels.append(rng.integers(3, size=40))
        xs.append(np.concatenate([sample(means[-1][:, k], 80.0, 1, rng) for k in labels[-1]]))
    return xs, labels, means[1:]


def widened(means: list[NDArray[np.float64]]) -> list[NDArray[np.float64]]:
    return [np.pad(mean, [(0, 0), (0, 1)]) for mean in means]


@pytest.mark.parametrize("own", [False, True])
def test_planted_topics_are_found_from_disturbed_labels(own: bool) -> None:
    xs, labels, means = planted()
    rng = np.random.default_rng(0)
    start = [np.where(rng.random(40) < 0.4, rng.integers(3, size=40), z) for z in labels]
    prior = ChainPrior(np.zeros((6, 3)), np.zeros(6), 60.0, None, 0.1, KappaPrior(4.0, 1.0))
    kappa0 = np.full(3 if own else 1, 20.0)

    def run(seed: int, draws: int) -> ChainDraws:
        chain = np.random.default_rng(seed)
        return draw_chain(xs, start, widened(means), kappa0, prior, chain, draws=draws, burn_in=20)

    found = run(1, 50)
    assert nmi(np.concatenate(labels), np.concatenate(found.resps).argmax(axis=1)) > 0.95
    assert found.trace[-1] > found.trace[0]
    assert found.kappas.shape == (50, 3 if own else 1)
    assert np.exp(np.log(found.kappas).mean(axis=0)) == pytest.approx(np.full(len(kappa0), 80.0), rel=0.4)
    assert [resp.shape for resp in found.resps] == [(40, 3)] * 4
    assert np.array_equal(run(2, 2).labels, run(2, 2).labels)


def test_rows_without_direction_take_no_part_and_bad_input_is_named() -> None:
    xs, labels, means = planted()
    prior = ChainPrior(np.zeros((6, 3)), np.zeros(6), 60.0, 1.0, None, KappaPrior(4.0, 1.0))
    rng, kappa0 = np.random.default_rng(0), np.array([20.0])
    holes = [np.insert(xs[0], 3, 0.0, axis=0), *xs[1:]]
    named = [np.insert(labels[0], 3, 99), *labels[1:]]
    found = draw_chain(holes, named, widened(means), kappa0, prior, rng, draws=3, burn_in=0)
    assert (found.labels[:, 3] == -1).all()
    assert not found.resps[0][3].any()
    with pytest.raises(ValueError, match=r"labels must have the shape \(40,\); got \(41,\)"):
        draw_chain(xs, named, widened(means), kappa0, prior, rng)
    with pytest.raises(ValueError, match="draws must be at least 1"):
        draw_chain(xs, labels, widened(means), kappa0, prior, rng, draws=0)
