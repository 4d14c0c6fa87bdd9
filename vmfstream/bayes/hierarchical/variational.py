"""Variational inference for the hierarchical mixture: topics are the leaves of a given tree and resemble their parents.

    pi ~ Dir(alpha) over leaves;  mu_n ~ vMF(mu_{pa(n)}, kappa_{pa(n)});  log kappa_n ~ N(m_l, s2_l) at depth l
    x_i ~ vMF(mu_{z_i}, kappa_{z_i});  the root is given: kappa_root mu_root = b

The concentration of a leaf says how close its documents are, that of a node above how close its children are, so each
depth has its own prior. A tree of depth one is the flat mixture.

Documents ``x`` are unit rows (N, D) and belong to the leaves of ``tree``; ``prior`` is that of all parameters,
``state`` their posterior, ``scheme`` how directions are renewed (see `vmfstream.bayes.hierarchical.node_directions`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import entr

from vmfstream.arrays import Floats, Indices, Rows, Vector
from vmfstream.bayes.convergence import ConvergenceMonitor
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, point_factor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.factors.empirical_bayes import (
    Hyperparameter,
    check_hyperparameters,
    learned_alpha,
    learned_c0,
    learned_mean,
)
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.responsibilities import responsibilities, total
from vmfstream.bayes.factors.weights import DirichletWeights
from vmfstream.bayes.hierarchical.node_directions import Branches, Scheme, evidence, renewed, rerooted
from vmfstream.bayes.hierarchical.prior import TreePrior, moment_tree_prior
from vmfstream.bayes.hierarchical.trees import Tree, arrange, levels
from vmfstream.bayes.starts import annealed_starts
from vmfstream.directional.kernels import accumulate, padded
from vmfstream.mixtures.columns import column_dots, column_norms, directed
from vmfstream.mixtures.concentration import shared_concentration
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import weighted

TREE_SWEEPS = 5
"""Sweeps of directions and concentrations for one of the labels: they cost less, and need more."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """All factors: ``resp`` (N, kp), ``branches``, ``leaf`` and ``inner`` q(kappa), and ``weights``.

    ``s`` (D, kp) and ``nk`` (k,) belong to the responsibilities times the ``mass`` of the rows.
    """

    resp: Floats
    s: Floats
    nk: Vector
    branches: Branches
    leaf: KappaFactor
    inner: KappaFactor
    weights: DirichletWeights
    mass: Vector | None = None
    """How often each row was seen, (N,); once if None."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeFit:
    """A fitted ``state``, whose responsibilities are the E-step under its other factors, and the ``prior`` at the end.

    ``trace`` is the lower bound after each sweep, in nats relative to uniform.
    """

    state: TreeState
    prior: TreePrior
    trace: Vector
    converged: bool


def fit_tree(
    x: Rows,
    resp0: Floats,
    tree: Tree,
    prior: TreePrior,
    scheme: Scheme = "messages",
    *,
    learn: Collection[Hyperparameter] = (),
    mass: Vector | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
) -> TreeFit:
    """Fit the hierarchical mixture by coordinate ascent.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    resp0 : (N, kp) initial responsibilities of the leaves, see `vmfstream.bayes.hierarchical.trees.arrange`
    tree : Tree
    prior : TreePrior, see `moment_tree_prior`
    scheme : ``"messages"``, whose bound is exact but for the vMF form of messages, or ``"meanfield"``, whose bound
        never falls but whose inner nodes are over-confident where kappa is above D / 2
    learn : hyperparameters set by empirical Bayes every few sweeps; ``"kappa"`` by depth
    mass : (N,) float64, how often each row was seen, >= 0; once by default
    max_iter : int, largest number of sweeps
    tol : float, stop when the bound per document changes by less, in nats

    Returns
    -------
    TreeFit; with messages, the best state met

    Notes
    -----
    O(nnz K + D n) a sweep.

    References
    ----------
    [GY14] section 3.2; messages instead of mean field over the nodes.
    """
    check_hyperparameters(learn)
    state = started(x, resp0, tree, prior, scheme, mass)
    sweeps = ConvergenceMonitor(learn, tol * total(x, mass), max_iter)
    best: tuple[float, TreeState, TreePrior] | None = None
    while True:
        state = weight_step(state)
        for _ in range(TREE_SWEEPS):
            state = kappa_step(direction_step(state, tree, prior, scheme), tree, prior)
        if sweeps.learning():
            prior, state = learned(state, tree, prior, learn)
        state = label_step(x, state, tree)
        reached = bound(state, tree, prior)
        if best is None or reached > best[0] or scheme == "meanfield":
            best = (reached, state, prior)
        if sweeps.ended(reached):
            return TreeFit(best[1], best[2], sweeps.trace, sweeps.converged)


def fit_hierarchy(
    x: Rows,
    tree: Tree,
    rng: np.random.Generator,
    scheme: Scheme = "messages",
    *,
    kappa: KappaRule = "quadrature",
    concentration: Concentration = "shared",
    alpha: float = 1.0,
    learn: Collection[Hyperparameter] = (),
    starts: int = 1,
    mass: Vector | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
) -> TreeFit:
    """Fit from annealed starts, whose topics are put at the leaves so that siblings are alike; the largest bound wins.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    tree : Tree
    rng : numpy.random.Generator
    kappa, concentration : rule of the leaves' concentrations, and one for all leaves or one each
    alpha : float > 0, Dirichlet prior of a leaf's weight
    starts : int >= 1
    scheme, learn, mass, max_iter, tol : see `fit_tree`
    """
    fits = [
        fit_tree(x, resp, tree, prior, scheme, learn=learn, mass=mass, max_iter=max_iter, tol=tol)
        for resp, prior in tree_starts(x, tree, rng, starts, kappa, concentration, alpha, mass)
    ]
    return best_of(fits, lambda fit: float(fit.trace.max()))


def tree_starts(
    x: Rows,
    tree: Tree,
    rng: np.random.Generator,
    starts: int,
    kappa: KappaRule,
    concentration: Concentration,
    alpha: float,
    mass: Vector | None = None,
) -> Iterator[tuple[Floats, TreePrior]]:
    """Yield responsibilities (N, kp) of annealed fits, similar topics under the same nodes, and a prior from each.

    Arguments as in `fit_hierarchy`: rows ``x`` with their ``mass``, leaves of the ``tree``, as many ``starts`` by
    ``rng``; ``kappa``, ``concentration`` and ``alpha`` go into the prior.
    """
    k = tree.k
    nothing = np.zeros(1 if concentration == "shared" else k)
    leaf = KappaModel(kappa, None, concentration, nothing, nothing, rng)
    for resp in annealed_starts(x, k, rng, starts, weights=mass):
        seen = weighted(resp, mass)
        nk = seen.sum(axis=0, dtype=np.float64)[:k]
        resp[:, :k] = resp[:, arrange(tree, accumulate(x, seen), nk, rng)]
        yield resp, moment_tree_prior(x, weighted(resp, mass), tree, alpha=alpha, leaf=leaf)


def started(
    x: Rows, resp0: Floats, tree: Tree, prior: TreePrior, scheme: Scheme, mass: Vector | None = None
) -> TreeState:
    """Return a state from initial responsibilities: the ``marginal`` concentration, inner nodes at their priors.

    ``mass`` (N,) says how often each row was seen. Raises ValueError unless ``resp0`` is (N, kp).
    """
    d, k = x.shape[1], tree.k
    if resp0.shape != (x.shape[0], padded(k)):
        raise ValueError(f"resp0 must have the shape {(x.shape[0], padded(k))}; got {resp0.shape}")
    resp = np.where(directed(x)[:, None], resp0, resp0.dtype.type(0))
    seen = weighted(resp, mass)
    s, nk = accumulate(x, seen), seen.sum(axis=0, dtype=np.float64)[:k]
    leaf = point_factor(d, shared_concentration(d, column_norms(s)[:k], nk, float(nk.sum())))
    near = [law.m for law in node_priors(tree, prior)]
    inner = point_factor(d, np.exp(near)) if near else _joined([])
    alpha = np.full(k, prior.alpha)
    branches = renewed(tree, None, prior.b, s, expected_concentrations(tree, leaf, inner), scheme)
    return TreeState(resp, s, nk, branches, leaf, inner, DirichletWeights(alpha + nk, alpha), mass)


def label_step(x: Rows, state: TreeState, tree: Tree) -> TreeState:
    """Renew the responsibilities, and the sums that belong to them."""
    resp, _ = responsibilities(x, *leaf_vectors(state, tree), state.leaf, state.weights.expected_log)
    seen = weighted(resp, state.mass)
    return replace(state, resp=resp, s=accumulate(x, seen), nk=seen.sum(axis=0, dtype=np.float64)[: tree.k])


def weight_step(state: TreeState) -> TreeState:
    """Renew the weights."""
    return replace(state, weights=replace(state.weights, rho=state.weights.alpha + state.nk))


def direction_step(state: TreeState, tree: Tree, prior: TreePrior, scheme: Scheme) -> TreeState:
    """Renew the directions of all nodes."""
    kappa = expected_concentrations(tree, state.leaf, state.inner)
    return replace(state, branches=renewed(tree, state.branches, prior.b, state.s, kappa, scheme))


def kappa_step(state: TreeState, tree: Tree, prior: TreePrior) -> TreeState:
    """Renew the concentrations of leaves and inner nodes."""
    d = len(prior.b)
    children, close = _children(tree, state.branches)
    parts = [prior.inner[int(depth)].factor(d, children[here], close[here]) for depth, here in levels(tree)]
    leaf = prior.leaf.factor(d, state.nk, leaf_cosines(state, tree))
    return replace(state, leaf=leaf, inner=_joined(parts))


def bound(state: TreeState, tree: Tree, prior: TreePrior) -> float:
    """Evidence lower bound of any state, in nats relative to the uniform density of all documents with a direction.

    With messages the directions' entropy is that of the tree of vMF messages, so it is not a strict bound.
    """
    kappa = expected_concentrations(tree, state.leaf, state.inner)
    directions = evidence(tree, state.branches, prior.b, state.s, kappa, state.inner)
    labels = float((state.nk * (state.weights.expected_log - state.leaf.ell)).sum())
    spread = entr(state.resp.astype(np.float64)).sum(axis=1)
    entropy = float(spread.sum() if state.mass is None else spread @ state.mass)
    return directions + labels + entropy - state.weights.kl - prior.leaf.cost(state.leaf) - float(state.inner.kl.sum())


def learned(
    state: TreeState, tree: Tree, prior: TreePrior, learn: Collection[Hyperparameter]
) -> tuple[TreePrior, TreeState]:
    """Set the hyperparameters named in ``learn`` to where the bound is largest, those of kappa depth by depth."""
    d, k = len(prior.b), tree.k
    if "alpha" in learn:
        alpha = learned_alpha(state.weights.rho, prior.alpha)
        prior = replace(prior, alpha=alpha)
        state = replace(state, weights=replace(state.weights, alpha=np.full(k, alpha)))
    top = tree.children(tree.root)
    expected = (state.branches.f[:, top] * shrinkage(d, state.branches.gamma[top])).sum(axis=1, dtype=np.float64)
    b = np.asarray(prior.b, np.float64)
    if "mu0" in learn:
        b = learned_mean(expected, b)
    if "c0" in learn:
        b = learned_c0(d, expected, b, len(top))
    state = replace(state, branches=rerooted(tree, state.branches, b.astype(prior.b.dtype)))
    prior = replace(prior, b=b.astype(prior.b.dtype))
    if "kappa" in learn:
        children, close = _children(tree, state.branches)
        model, leaf = prior.leaf.learned(d, state.nk, leaf_cosines(state, tree), state.leaf)
        prior = replace(prior, leaf=model)
        state = replace(state, leaf=leaf)
        parts = []
        for depth, here in levels(tree):
            model, part = prior.inner[depth].learned(d, children[here], close[here], _part(state.inner, here))
            prior = replace(prior, inner={**prior.inner, depth: model})
            parts.append(part)
        state = replace(state, inner=_joined(parts))
    return prior, state


def leaf_vectors(state: TreeState, tree: Tree) -> tuple[Floats, Vector]:
    """Natural vectors (D, kp) of the leaves and their lengths (k,)."""
    f = state.branches.f[:, : padded(tree.k)].copy()
    f[:, tree.k :] = 0
    return f, state.branches.gamma[: tree.k]


def leaf_cosines(state: TreeState, tree: Tree) -> Vector:
    """S_k'E[mu_k] of the leaves, (k,)."""
    k = tree.k
    return column_dots(state.s, state.branches.f)[:k] * shrinkage(len(state.s), state.branches.gamma[:k])


def node_priors(tree: Tree, prior: TreePrior) -> list[KappaPrior]:
    """Return the priors of log kappa of the inner nodes, those of their depths."""
    laws = []
    for depth in tree.depth[tree.inner]:
        law = prior.inner[int(depth)].prior
        if law is None:
            raise ValueError(f"the inner nodes at depth {depth} need a prior of their concentrations")
        laws.append(law)
    return laws


def expected_concentrations(tree: Tree, leaf: KappaFactor, inner: KappaFactor) -> Vector:
    """Return the expected concentrations (n,) of a ``tree`` with factors ``leaf`` and ``inner``; 1 for the root."""
    out = np.ones(tree.n)
    out[: tree.k] = leaf.mean
    out[tree.inner] = inner.mean
    return out


def _children(tree: Tree, branches: Branches) -> tuple[Vector, Vector]:
    """Numbers of children of the inner nodes, and the sums of their expected cosines with them."""
    parent = tree.parent[:-1]
    count = np.bincount(parent, minlength=tree.n).astype(np.float64)
    close = np.bincount(parent, weights=branches.cosine[:-1], minlength=tree.n)
    return count[tree.inner], np.asarray(close[tree.inner], np.float64)


def _part(factor: KappaFactor, here: Indices) -> KappaFactor:
    return KappaFactor(
        factor.mean[here], factor.ell[here], factor.log_mean[here], factor.log_var[here], factor.kl[here]
    )


def _joined(parts: list[KappaFactor]) -> KappaFactor:
    """Put factors one after the other."""
    rows = [(p.mean, p.ell, p.log_mean, p.log_var, p.kl) for p in parts]
    if not rows:
        return KappaFactor(*(np.zeros(0) for _ in range(5)))
    return KappaFactor(*(np.concatenate(column) for column in zip(*rows, strict=True)))
