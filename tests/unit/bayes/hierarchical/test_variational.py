"""The hierarchical mixture: trees, messages against integration on the sphere, bounds, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from tests.unit.mixtures.planted import directions, nmi, vmf_rows
from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import KappaPrior, point_factor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat.variational import fit
from vmfstream.bayes.hierarchical import variational
from vmfstream.bayes.hierarchical.node_directions import Branches, Scheme, evidence, renewed
from vmfstream.bayes.hierarchical.prior import TreePrior, moment_tree_prior
from vmfstream.bayes.hierarchical.trees import Tree, arrange, read_tree, regular_tree
from vmfstream.bayes.hierarchical.variational import (
    TreeState,
    bound,
    direction_step,
    fit_hierarchy,
    fit_tree,
    kappa_step,
    label_step,
    learned,
    started,
    weight_step,
)
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio, log_partition
from vmfstream.mixtures.seeding import one_hot, random_responsibilities

SCHEMES: tuple[Scheme, ...] = ("messages", "meanfield")
FAMILY = read_tree({"r": ["a", "b"], "a": ["x", "y"], "b": ["c", "z"], "c": ["u", "v"]})


def sphere(latitudes: int = 22, longitudes: int = 44) -> tuple[Vector, Vector]:
    """Points (G, 3) and log weights of a product rule for the uniform distribution on the sphere."""
    z, w = np.polynomial.legendre.leggauss(latitudes)
    angle = 2 * np.pi * np.arange(longitudes) / longitudes
    radius = np.sqrt(1 - z**2)[:, None]
    points = np.stack(
        [radius * np.cos(angle), radius * np.sin(angle), np.broadcast_to(z[:, None], (latitudes, longitudes))]
    )
    return points.reshape(3, -1).T, np.repeat(np.log(w / 2 / longitudes), longitudes)


def exact(tree: Tree, b: Vector, v: Vector, kappa: Vector) -> tuple[float, Vector, Vector]:
    """Log evidence, expected directions and expected cosines with the parents by integration on the sphere."""
    points, w = sphere()
    dots = points @ points.T
    link = {n: kappa[n] * dots - log_partition(3, kappa[n]) + w for n in tree.inner}
    up = [points @ v[:, n] if n < tree.k else np.zeros(len(points)) for n in range(tree.n)]
    messages = [np.zeros(len(points))] * tree.n
    for n in range(tree.n - 1):  # children come before their parents
        parent = int(tree.parent[n])
        if parent != tree.root:
            messages[n] = logsumexp(link[parent] + up[n][None, :], axis=1)
            up[parent] = up[parent] + messages[n]
    root = points @ b - log_partition(3, float(np.linalg.norm(b)))
    down = [root] * tree.n
    means, cosines, total = np.zeros((3, tree.n)), np.zeros(tree.n), 0.0
    for n in reversed(range(tree.n - 1)):
        parent = int(tree.parent[n])
        if parent == tree.root:
            total += float(logsumexp(root + up[n] + w))
        else:
            cavity = down[parent] + up[parent] - messages[n]
            down[n] = logsumexp(link[parent] - w + (cavity + w)[None, :], axis=1)
            joint = cavity[:, None] + w[:, None] + link[parent] + up[n][None, :]
            share = np.exp(joint - logsumexp(joint))
            cosines[n] = float((share * dots).sum())
        full = np.exp(down[n] + up[n] + w - logsumexp(down[n] + up[n] + w))
        means[:, n] = full @ points
    return total, means, cosines


def tiny(seed: int, spread: float) -> tuple[Vector, Vector, Vector]:
    """Root vector, leaves' sums (3, kp) and concentrations of a family whose leaves disagree by ``spread``."""
    rng = np.random.default_rng(seed)
    centre = directions(rng, 1, 3)
    points = centre + spread * directions(rng, 5, 3)
    s = np.zeros((3, 16))
    s[:, :5] = points.T / np.linalg.norm(points, axis=1) * rng.uniform(0.5, 4, 5)
    kappa = np.ones(FAMILY.n)
    kappa[:5] = 3.0
    kappa[FAMILY.inner] = rng.uniform(2, 12, 3)
    return 2 * centre[0], s, kappa


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spread", "resultant", "degrees", "cosine", "nats"), [(0.7, 0.015, 1.5, 0.005, 0.1), (5.0, 0.12, 20.0, 0.05, 0.6)]
)
@pytest.mark.parametrize("seed", range(2))
def test_messages_are_close_to_integration_on_the_sphere(
    seed: int, spread: float, resultant: float, degrees: float, cosine: float, nats: float
) -> None:
    """On the sphere of three dimensions, the worst case, and the worse the more the leaves disagree."""
    b, s, kappa = tiny(seed, spread)
    total, means, cosines = exact(FAMILY, b, s * 3.0, kappa)
    now = renewed(FAMILY, None, b, s, kappa, "messages")
    found = now.f[:, :8] * (np.asarray(bessel_ratio(3, now.gamma[:8])) / now.gamma[:8])
    length, true = np.linalg.norm(found, axis=0), np.linalg.norm(means[:, :8], axis=0)
    angle = np.degrees(np.arccos(np.clip((found * means[:, :8]).sum(axis=0) / (length * true), -1, 1)))
    linked = np.flatnonzero(FAMILY.parent[:-1] != FAMILY.root)
    inner = point_factor(3, kappa[FAMILY.inner])
    gap = evidence(FAMILY, now, b, s, kappa, inner) - total
    errors = (np.abs(length - true).max(), angle.max(), np.abs(now.cosine[linked] - cosines[linked]).max(), abs(gap))
    assert (np.array(errors) < (resultant, degrees, cosine, nats)).all(), errors
    # the bound of mean field is a bound
    fixed: Branches | None = None
    for _ in range(200):
        fixed = renewed(FAMILY, fixed, b, s, kappa, "meanfield")
    assert fixed is not None
    assert total - 8 < evidence(FAMILY, fixed, b, s, kappa, inner) < total


def test_cosines_are_the_slope_of_the_evidence() -> None:
    """One level of inner nodes: d evidence / d kappa_n, by differences, is the sum of the children's cosines."""
    tree = regular_tree(2, (2, 3))
    rng = np.random.default_rng(0)
    b, s = 5 * directions(rng, 1, 40)[0], np.pad(directions(rng, 6, 40).T * 3, [(0, 0), (0, 10)])
    kappa = np.r_[np.full(6, 20.0), 30.0, 60.0, 1.0]

    def at(node: int, value: float) -> float:
        changed = kappa.copy()
        changed[node] = value
        inner = point_factor(40, changed[tree.inner])
        unlinked = evidence(tree, renewed(tree, None, b, s, changed, "messages"), b, s, changed, inner)
        return unlinked + 3 * float(log_partition(40, value))

    now = renewed(tree, None, b, s, kappa, "messages")
    for node in (6, 7):
        slope = (at(node, kappa[node] + 1e-3) - at(node, kappa[node] - 1e-3)) / 2e-3
        assert slope == pytest.approx(now.cosine[tree.children(node)].sum(), rel=1e-6)


def planted(d: int, k: int, n: int = 120, seed: int = 0) -> tuple[Vector, Vector]:
    rng = np.random.default_rng([seed, d])
    x = vmf_rows(rng, directions(rng, k, d), rng.integers(k, size=n), 0.4)
    return x, np.asarray(random_responsibilities(x, k, rng), np.float64)


def own(d: int, k: int) -> KappaModel:
    return KappaModel("quadrature", KappaPrior(np.log(0.4 * d), 0.25), "own", np.zeros(k), np.zeros(k))


@pytest.mark.parametrize("learn", [(), ("alpha", "mu0", "c0", "kappa")], ids=["given", "learnt"])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("d", [4, 50, 2000])
def test_every_step_raises_the_bound(d: int, scheme: Scheme, learn: Any) -> None:
    tree = regular_tree(3, 2)
    x, resp = planted(d, tree.k)
    prior = moment_tree_prior(x, resp, tree, leaf=own(d, tree.k))
    state = started(x, resp, tree, prior, scheme)
    bounds: list[float] = []

    def note(state: TreeState, sweep: int) -> None:
        if sweep:  # the start has no factors of kappa to compare with
            bounds.append(bound(state, tree, prior))

    for sweep in range(10):
        state = weight_step(state)
        note(state, sweep)
        state = direction_step(state, tree, prior, scheme)
        note(state, sweep)
        state = kappa_step(state, tree, prior)
        note(state, sweep)
        if learn and sweep % 3 == 2:
            prior, state = learned(state, tree, prior, learn)
            note(state, sweep)
        state = label_step(x, state, tree)
        note(state, sweep)
    # the evidence of messages is not a strict bound, in few dimensions least of all
    assert np.diff(bounds).min() > -(0.05 if scheme == "messages" else 1e-11 * abs(bounds[-1]))
    assert bounds[-1] > bounds[0]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("concentration", ["shared", "own"])
def test_depth_one_is_the_flat_mixture(scheme: Scheme, concentration: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variational, "TREE_SWEEPS", 1)
    tree = regular_tree(1, 4)
    x, resp = planted(60, 4)
    b, law = 20 * directions(np.random.default_rng(5), 1, 60)[0], KappaPrior(3.5, 0.2)
    size = 1 if concentration == "shared" else 4
    model = KappaModel("quadrature", law, concentration, np.zeros(size), np.zeros(size))
    found = fit_tree(x, resp, tree, TreePrior(1.0, b, model, {}), scheme, tol=1e-9)
    flat = fit(x, resp, 4, Prior(1.0, b), kappa_prior=law, concentration=concentration, tol=1e-9)
    assert len(found.trace) == len(flat.trace)
    assert np.abs(found.trace - flat.trace).max() < 1e-8
    assert np.abs(found.state.branches.f[:, :4] - flat.f[:, :4]).max() < 1e-8 * flat.gamma.max()
    assert np.abs(found.state.resp - flat.resp).max() < 1e-8


def test_firm_inner_nodes_pool_their_children_and_loose_ones_do_nothing() -> None:
    tree = regular_tree(2, (1, 2))
    rng = np.random.default_rng(0)
    b, s = 5 * directions(rng, 1, 40)[0], np.pad(directions(rng, 2, 40).T * 3, [(0, 0), (0, 14)])
    firm, loose = (renewed(tree, None, b, s, np.array([9.0, 9.0, c, 1.0]), "messages") for c in (1e9, 1e-6))
    pooled = b + 9 * s[:, :2].sum(axis=1)
    assert np.abs(firm.f[:, :3] - pooled[:, None]).max() < 1e-4
    assert np.abs(loose.f[:, :2] - 9 * s[:, :2]).max() < 1e-4
    assert np.abs(loose.f[:, 2] - b).max() < 1e-4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_permuted_leaves_permute_the_result(scheme: Scheme) -> None:
    tree = regular_tree(2, (2, 2))
    x, resp = planted(60, 4)
    order = [2, 3, 1, 0]  # the groups change places, and the leaves of one
    turned = resp[:, [*order, *range(4, 16)]]
    prior = TreePrior(1.0, 20 * directions(np.random.default_rng(5), 1, 60)[0], own(60, 4), {1: own(60, 2)})
    one, two = (fit_tree(x, r, tree, prior, scheme, max_iter=5) for r in (resp, turned))
    assert np.abs(one.trace - two.trace).max() < 1e-7
    assert np.abs(one.state.branches.f[:, order] - two.state.branches.f[:, :4]).max() < 1e-6


def test_empty_leaves_and_single_children_do_no_harm() -> None:
    tree = regular_tree(2, (2, 1))
    x, _ = planted(30, 2)
    resp = one_hot(np.zeros(len(x), np.int64), 2, np.float64)
    for scheme in SCHEMES:
        found = fit_tree(x, resp, tree, moment_tree_prior(x, resp, tree), scheme)
        assert np.isfinite(found.trace).all()
        assert np.isfinite(found.state.branches.f).all()


def test_moments_find_the_planted_concentrations() -> None:
    tree, rng, d = regular_tree(2, (20, 5)), np.random.default_rng(0), 2000
    root = directions(rng, 1, d)
    nodes = vmf_rows(rng, root, np.zeros(20, np.int64), 0.6)
    leaves = vmf_rows(rng, nodes, np.repeat(np.arange(20), 5), 0.8)
    z = np.repeat(np.arange(100), 20)
    x = vmf_rows(rng, leaves, z, 0.4)
    prior = moment_tree_prior(x, one_hot(z, 100, np.float64), tree)
    assert bessel_ratio(d, np.linalg.norm(prior.b)) == pytest.approx(0.6, abs=0.03)
    assert prior.inner[1].prior is not None
    assert prior.leaf.prior is not None
    assert prior.inner[1].prior.m == pytest.approx(np.log(inv_bessel_ratio(d, 0.8)), abs=0.05)
    assert prior.leaf.prior.m == pytest.approx(np.log(inv_bessel_ratio(d, 0.4)), abs=0.05)


def test_topics_without_documents_are_arranged_too() -> None:
    means = np.random.default_rng(0).normal(size=(20, 6)).astype(np.float32)
    means[:, 2] = 0.0
    place = arrange(regular_tree(2, (2, 3)), means, np.ones(6), np.random.default_rng(0))
    assert sorted(place.tolist()) == list(range(6))


def test_topics_are_arranged_by_likeness() -> None:
    rng = np.random.default_rng(0)
    groups = directions(rng, 3, 50)
    means = np.pad(vmf_rows(rng, groups, np.repeat([0, 1, 2], 4), 0.7).T, [(0, 0), (0, 4)])
    shuffle = rng.permutation(12)
    place = arrange(regular_tree(2, (3, 4)), means[:, [*shuffle, 12, 13, 14, 15]], np.ones(12), rng)
    assert sorted(place) == list(range(12))
    assert nmi(shuffle[place] // 4, np.repeat([0, 1, 2], 4)) == pytest.approx(1)


def test_restarts_find_planted_groups_in_sparse_rows() -> None:
    rng = np.random.default_rng(3)
    groups = directions(rng, 2, 80)
    leaves = vmf_rows(rng, groups, np.repeat([0, 1], 3), 0.8)
    z = rng.integers(6, size=400)
    x = vmf_rows(rng, leaves, z, 0.7)
    found = fit_hierarchy(x, regular_tree(2, (2, 3)), np.random.default_rng(1), starts=4)
    labels = found.state.resp[:, :6].argmax(axis=1)
    assert nmi(labels, z) > 0.99
    assert nmi(labels // 3, z // 3) > 0.99


def test_named_and_numbered_trees_agree() -> None:
    assert FAMILY.names == ("x", "y", "z", "u", "v", "c", "a", "b", "r")
    assert FAMILY.parent.tolist() == [6, 6, 7, 5, 5, 7, 8, 8, -1]
    assert FAMILY.depth.tolist() == [2, 2, 2, 3, 3, 2, 1, 1, 0]
    assert FAMILY.leaves(FAMILY.root).tolist() == [0, 1, 2, 3, 4]
    numbered = read_tree([None, 0, 0, 1, 1, 2, 2])
    assert numbered.parent.tolist() == regular_tree(2, 2).parent.tolist() == [4, 4, 5, 5, 6, 6, -1]


def test_inner_nodes_need_priors() -> None:
    x, resp = planted(30, 4)
    prior = TreePrior(1.0, np.ones(30), own(30, 4), {1: KappaModel("quadrature")})
    with pytest.raises(ValueError, match="depth 1 need a prior"):
        fit_tree(x, resp, regular_tree(2, 2), prior)
    with pytest.raises(ValueError, match="resp0 must have the shape"):
        fit_tree(x, resp[:, :4], regular_tree(2, 2), prior)
