"""Gibbs sampling of the tree: long-run frequencies against all labellings, directions integrated on circles."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, ive

from tests.unit.mixtures.planted import nmi
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.hierarchical.gibbs import TreeDraws, draw_tree, matched
from vmfstream.bayes.hierarchical.prior import TreePrior, moment_tree_prior
from vmfstream.bayes.hierarchical.trees import read_tree, regular_tree
from vmfstream.directional.vmf import sample
from vmfstream.mixtures.seeding import one_hot

TREE = regular_tree(2, 2)
ANGLES = np.array([0.1, 0.5, 0.9, 2.0, 2.3])
X = np.c_[np.cos(ANGLES), np.sin(ANGLES)]
B = np.array([1.8, -1.2])
NEAR = KappaPrior(np.log(3.0), 0.4)
CLOSE = KappaPrior(np.log(6.0), 0.3)
ALPHA = 0.7
LABELLINGS = np.array(list(itertools.product(range(4), repeat=len(X))))


def log_i0(z: Any) -> Any:
    """The partition function of the circle, relative to uniform."""
    return np.log(ive(0, z)) + z


def grid(law: KappaPrior, points: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Concentrations and the logarithms of their weights."""
    u = np.linspace(-4.0, 4.0, points)
    return np.exp(law.m + u * np.sqrt(law.s2)), -0.5 * u**2 - np.logaddexp.reduce(-0.5 * u**2)


@cache
def exact(kappa: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log p(X, z | kappa of the leaves) of every labelling, up to a constant, and the mean log kappa of the groups."""
    theta = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    mu = np.c_[np.cos(theta), np.sin(theta)]
    near, weight = grid(NEAR, 25)
    start = mu @ B - log_i0(np.linalg.norm(B)) - np.log(len(theta))

    @cache
    def of_leaf(members: tuple[int, ...]) -> NDArray[np.float64]:
        """Density of a leaf's documents by concentration and direction of its parent."""
        total = kappa * X[list(members)].sum(axis=0)
        length = np.linalg.norm(near[:, None, None] * mu + total, axis=2)
        return np.asarray(log_i0(length) - log_i0(near)[:, None] - len(members) * log_i0(kappa))

    @cache
    def of_group(*leaves: tuple[int, ...]) -> tuple[float, float]:
        by_kappa = np.logaddexp.reduce(sum(map(of_leaf, leaves)) + start, axis=1) + weight
        whole = np.logaddexp.reduce(by_kappa, axis=None)
        return float(whole), float(np.exp(by_kappa - whole) @ np.log(near))

    density, log_near = [], []
    for z in LABELLINGS:
        members = [tuple(np.flatnonzero(z == leaf).tolist()) for leaf in range(4)]
        groups = np.array([of_group(*members[:2]), of_group(*members[2:])])
        density.append(groups[:, 0].sum() + gammaln(ALPHA + np.bincount(z, minlength=4)).sum())
        log_near.append(groups[:, 1].mean())
    return np.array(density), np.array(log_near)


def together(labels: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How often two documents share a leaf, and how often a group; (2, N, N)."""
    pairs = [part[:, :, None] == part[:, None, :] for part in (labels, labels // 2)]
    return np.array([np.tensordot(weights, pair, axes=1) for pair in pairs])


def drawn(leaf: KappaModel, draws: int) -> TreeDraws:
    inner = {1: KappaModel("quadrature", NEAR, "own", np.zeros(2), np.zeros(2))}
    prior = TreePrior(ALPHA, B, leaf, inner)
    return draw_tree(X, np.array([0, 0, 1, 2, 3]), TREE, prior, rng=np.random.default_rng(0), draws=draws)


@pytest.mark.thorough
def test_draws_are_as_frequent_as_they_should_with_known_concentration() -> None:
    density, log_near = exact(5.0)
    expected = np.exp(density - np.logaddexp.reduce(density, axis=None))
    found = drawn(KappaModel(5.0), 3000)
    share = np.full(len(found.labels), 1 / len(found.labels))
    assert together(found.labels, share) == pytest.approx(together(LABELLINGS, expected), abs=0.03)
    assert np.log(found.kappas[:, 4:6]).mean() == pytest.approx(expected @ log_near, abs=0.03)
    assert (found.kappas[:, :4] == 5.0).all()
    assert found.kappas[:, 6] == pytest.approx(np.linalg.norm(B))


@pytest.mark.thorough
def test_draws_are_as_frequent_as_they_should_with_drawn_concentration() -> None:
    kappas, weight = grid(CLOSE, 15)
    density = np.array([exact(float(kappa))[0] + w for kappa, w in zip(kappas, weight, strict=True)])
    joint = np.exp(density - np.logaddexp.reduce(density, axis=None))
    found = drawn(KappaModel("quadrature", CLOSE), 3000)
    share = np.full(len(found.labels), 1 / len(found.labels))
    assert together(found.labels, share) == pytest.approx(together(LABELLINGS, joint.sum(axis=0)), abs=0.03)
    expected, log_kappa = joint.sum(axis=1), np.log(found.kappas[:, 0])
    mean = expected @ np.log(kappas)
    assert log_kappa.mean() == pytest.approx(mean, abs=0.03)
    assert log_kappa.std() == pytest.approx(np.sqrt(expected @ (np.log(kappas) - mean) ** 2), abs=0.03)


def planted() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw 120 rows of a tree with three groups of two leaves."""
    rng = np.random.default_rng(5)
    groups = np.eye(6)[:3]
    leaves = np.concatenate([sample(group, 30.0, 2, rng) for group in groups])
    z = rng.integers(6, size=120)
    return np.concatenate([sample(leaves[leaf], 200.0, 1, rng) for leaf in z]), z


def test_planted_leaves_are_found_from_disturbed_labels() -> None:
    x, z = planted()
    tree = regular_tree(2, (3, 2))
    rng = np.random.default_rng(0)
    start = np.where(rng.random(len(z)) < 0.3, rng.integers(6, size=len(z)), z)
    prior = moment_tree_prior(x, one_hot(z, 6, np.float64), tree)
    found = draw_tree(x, start, tree, prior, rng=rng, concentration="own", draws=50, burn_in=50)
    assert nmi(z, found.fit.state.resp[:, :6].argmax(axis=1)) > 0.95
    assert found.fit.trace[-1] > found.fit.trace[0]
    assert found.kappas.shape == (50, 10)
    assert found.fit.state.resp.sum(axis=1) == pytest.approx(np.ones(len(z)))
    assert found.fit.state.leaf.mean == pytest.approx(np.full(6, 200.0), rel=0.5)
    again = draw_tree(x, start, tree, prior, rng=np.random.default_rng(3), draws=2, burn_in=0)
    same = draw_tree(x, start, tree, prior, rng=np.random.default_rng(3), draws=2, burn_in=0)
    assert np.array_equal(again.labels, same.labels)
    assert np.array_equal(again.kappas, same.kappas)


def test_a_numbering_is_matched_as_well_as_the_tree_allows() -> None:
    """The oracle tries all numberings of the leaves and keeps those that leave the tree as it is."""
    tree = read_tree({"top": ["a", "b", "c"], "a": ["a1", "a2"], "b": ["b1", "b2"]})
    groups = [set(tree.leaves(int(child)).tolist()) for child in tree.children(tree.root)]
    allowed = [
        leaves
        for leaves in itertools.permutations(range(tree.k))
        if all({leaves[leaf] for leaf in group} in groups for group in groups)
    ]
    assert len(allowed) == 8
    rng = np.random.default_rng(1)
    for _ in range(20):
        shared = rng.integers(20, size=(tree.k, tree.k))
        order = matched(tree, shared)
        assert tuple(order[: tree.k]) in allowed
        best = max(sum(shared[i, j] for i, j in enumerate(leaves)) for leaves in allowed)
        assert shared[np.arange(tree.k), order[: tree.k]].sum() == best
        inner = np.arange(tree.n - 1)
        assert np.array_equal(tree.parent[order[inner]], order[tree.parent[inner]])


def test_rows_without_direction_take_no_part() -> None:
    x, z = planted()
    holes, tree = np.insert(x, 3, 0.0, axis=0), regular_tree(2, (3, 2))
    prior = moment_tree_prior(x, one_hot(z, 6, np.float64), tree)
    rng = np.random.default_rng(0)
    found = draw_tree(holes, np.insert(z, 3, 99), tree, prior, rng=rng, draws=3, burn_in=0)
    assert (found.labels[:, 3] == -1).all()
    assert not found.fit.state.resp[3].any()


def test_bad_input_is_named() -> None:
    x, z = planted()
    tree, rng = regular_tree(2, (3, 2)), np.random.default_rng(0)
    prior = moment_tree_prior(x, one_hot(z, 6, np.float64), tree)
    with pytest.raises(ValueError, match=r"labels must have the shape \(120,\); got \(119,\)"):
        draw_tree(x, z[1:], tree, prior, rng=rng)
    with pytest.raises(ValueError, match="labels must lie between 0 and 5; got 0 to 6"):
        draw_tree(x, np.where(z == 5, 6, z), tree, prior, rng=rng)
    with pytest.raises(ValueError, match="draws must be at least 1"):
        draw_tree(x, z, tree, prior, rng=rng, draws=0)
