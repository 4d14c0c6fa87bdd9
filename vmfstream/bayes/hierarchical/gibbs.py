"""Gibbs sampling of the hierarchical mixture: weights and the directions of leaves are integrated out for the labels.

Given the nodes above the leaves, the leaves are a flat mixture whose topics have priors of their own, and what
`vmfstream.bayes.flat.gibbs` draws. With R_n = sum_c mu_c over the children of an inner node n,

    mu_leaf | rest ~ vMF(kappa_pa mu_pa + kappa_leaf S_leaf)
    p(u_n = log kappa_n | rest) ~ exp( -n_c ell(e^u_n) + ell(|e^u_n R_n + kappa_pa mu_pa|) ) N(u_n; m_l, s2_l)
    mu_n | rest ~ vMF(kappa_pa mu_pa + kappa_n R_n)

Like all chains of single labels it hardly moves in high dimension: start it well, or keep it for few words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from vmfstream.arrays import ClusterLabels, Floats, Indices, Rows, Vector
from vmfstream.bayes.factors.concentration import point_factor
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.factors.univariate import ConcentrationTarget
from vmfstream.bayes.factors.weights import DirichletWeights
from vmfstream.bayes.flat.gibbs import GibbsState, drawn_columns, drawn_concentration, kept_draws
from vmfstream.bayes.hierarchical.node_directions import renewed
from vmfstream.bayes.hierarchical.prior import TreePrior
from vmfstream.bayes.hierarchical.trees import Tree
from vmfstream.bayes.hierarchical.variational import (
    TreeFit,
    TreeState,
    expected_concentrations,
    node_priors,
    tree_starts,
)
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate, padded
from vmfstream.mixtures.columns import column_norms, renumbered
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.seeding import one_hot


@dataclass(frozen=True, slots=True, eq=False)
class TreeDraws:
    """Draws from the posterior; nodes that could be exchanged are numbered as in the draw of largest joint density.

    ``labels`` (draws, N), -1 for rows without direction; ``kappas`` (draws, n) of all nodes, that of the root is given;
    ``fit`` the posterior given how often each document was at each leaf, for prediction, whose ``trace`` is the log
    joint density after every sweep, in nats relative to uniform.
    """

    labels: ClusterLabels
    kappas: Vector
    fit: TreeFit

    @property
    def trace(self) -> Vector:
        """The log joint density after every sweep."""
        return self.fit.trace


def draw_tree(
    x: Rows,
    labels0: ClusterLabels,
    tree: Tree,
    prior: TreePrior,
    *,
    rng: np.random.Generator,
    concentration: Concentration = "shared",
    draws: int = 100,
    burn_in: int = 100,
) -> TreeDraws:
    """Draw labels, concentrations and directions from their posterior.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows; zero rows are ignored
    labels0 : (N,) leaves to start from; those of zero rows are not read
    tree : Tree
    prior : TreePrior, see `vmfstream.bayes.hierarchical.prior.moment_tree_prior`; known concentrations stay
    rng : numpy.random.Generator
    concentration : one for all leaves or one each
    draws, burn_in : sweeps kept (at least 1), and before them (at least 0)

    Returns
    -------
    TreeDraws

    Raises
    ------
    ValueError
        Labels of another shape or beyond the leaves, or no draws.

    Notes
    -----
    O(nnz K + D n) a sweep, and 2 N K scalar functions.

    References
    ----------
    [GY14] sections 3.1.2 and 3.2: the paper gives the conditionals of the flat mixture only.
    """
    chain = _TreeChain(x, labels0, tree, prior, concentration)
    return _gathered(chain, *kept_draws(lambda: chain.sweep(rng), chain.log_joint, draws, burn_in))


def draw_hierarchy(
    x: Rows,
    tree: Tree,
    rng: np.random.Generator,
    *,
    concentration: Concentration = "shared",
    alpha: float = 1.0,
    starts: int = 1,
    draws: int = 100,
    burn_in: int = 100,
) -> TreeDraws:
    """Draw from annealed starts, as `vmfstream.bayes.hierarchical.variational.fit_hierarchy` fits from them.

    The chain with the draw of largest joint density wins. Rows ``x``, ``tree``, ``rng``, ``concentration``,
    ``alpha`` and ``starts`` as there, ``draws`` and ``burn_in`` as in `draw_tree`.
    """
    chains = [
        draw_tree(
            x,
            resp[:, : tree.k].argmax(axis=1),
            tree,
            prior,
            rng=rng,
            concentration=concentration,
            draws=draws,
            burn_in=burn_in,
        )
        for resp, prior in tree_starts(x, tree, rng, starts, "quadrature", concentration, alpha)
    ]
    return best_of(chains, lambda chain: float(chain.trace.max()))


class _TreeChain:
    """Labels, and directions ``mu`` (D, np) and concentrations ``kappa`` (n,) of all nodes; changed in place."""

    def __init__(
        self, x: Rows, labels: ClusterLabels, tree: Tree, prior: TreePrior, concentration: Concentration
    ) -> None:
        b = prior.b.astype(np.float64)
        self.x, self.tree, self.prior = x, tree, prior
        self.law = dict(zip(tree.inner.tolist(), node_priors(tree, prior), strict=True))
        known = prior.leaf.known
        law = prior.leaf.prior if known is None else None
        self.leaves = GibbsState(x, labels, tree.k, Prior(prior.alpha, b), law, known, concentration)
        self.kappa = np.ones(tree.n)
        self.kappa[: tree.k] = self.leaves.kappas
        self.kappa[tree.inner] = [np.exp(law.m) for law in self.law.values()]
        self.mu = renewed(tree, None, b, self.leaves.s, self.kappa, "messages").f
        self.kappa[tree.root] = np.linalg.norm(b)
        self.mu /= np.maximum(column_norms(self.mu), np.finfo(np.float64).tiny)
        self._pass_down()

    def sweep(self, rng: np.random.Generator) -> tuple[ClusterLabels, Vector]:
        """Draw everything once, leaves and then nodes from below; return labels and concentrations."""
        tree, k = self.tree, self.tree.k
        self.leaves.draw_labels(rng)
        if self.leaves.law is not None:
            self.leaves.draw_kappa(rng)
        self.kappa[:k] = self.leaves.kappas
        self.mu[:, :k] = self.leaves.drawn_directions(rng)[:, :k]
        for node, law in self.law.items():
            children = tree.children(node)
            total, pull = self.mu[:, children].sum(axis=1), self._pulls(np.array([node]))[:, 0]
            sums = np.array([total @ total]), np.array([total @ pull]), np.array([np.linalg.norm(pull)])
            target = ConcentrationTarget(len(total), float(len(children)), 0.0, law.m, law.s2, *sums)
            self.kappa[node] = drawn_concentration(target, float(self.kappa[node]), float(np.linalg.norm(total)), rng)
            self.mu[:, node] = drawn_columns((pull + self.kappa[node] * total)[:, None], 1, rng)[:, 0]
        self._pass_down()
        return self.leaves.labels.copy(), self.kappa.copy()

    def log_joint(self) -> float:
        """log p(z, X, log kappa, mu of inner nodes) without weights and directions of leaves, relative to uniform."""
        pull = self._pulls(self.tree.inner)
        links = (pull * self.mu[:, self.tree.inner]).sum() - log_partition(len(pull), column_norms(pull)).sum()
        laws = [
            (np.log(self.kappa[node]) - law.m) ** 2 / law.s2 + np.log(2 * np.pi * law.s2)
            for node, law in self.law.items()
        ]
        return self.leaves.log_joint() + float(links) - 0.5 * float(np.sum(laws))

    def _pulls(self, nodes: Indices) -> Floats:
        """kappa_pa mu_pa of ``nodes``, (D, len)."""
        above = self.tree.parent[nodes]
        return np.asarray(self.mu[:, above] * self.kappa[above])

    def _pass_down(self) -> None:
        """Give the leaves the priors that their parents are."""
        self.leaves.renew_prior(self._pulls(np.arange(self.tree.k)))


def _gathered(chain: _TreeChain, kept: list[tuple[ClusterLabels, Vector]], trace: Vector) -> TreeDraws:
    """Number the nodes of all draws as in the best one, and summarise."""
    tree, prior, x = chain.tree, chain.prior, chain.x
    best = kept[int(trace[-len(kept) :].argmax())][0]
    both = best >= 0
    resp = np.zeros((len(best), padded(tree.k)))
    labels, kappas = [], []
    for z, kappa in kept:
        pairs = np.bincount(best[both] * tree.k + z[both], minlength=tree.k**2)
        order = matched(tree, pairs.reshape(tree.k, tree.k))
        labels.append(renumbered(z, order[: tree.k]))
        kappas.append(kappa[order])
        resp += one_hot(labels[-1], tree.k, np.float64)
    resp = (resp / len(kept)).astype(prior.b.dtype)
    mean, d, k = np.mean(kappas, axis=0), len(prior.b), tree.k
    groups = mean[:1] if chain.leaves.concentration == "shared" else mean[:k]
    leaf, inner = point_factor(d, groups), point_factor(d, mean[tree.inner])
    s, nk = accumulate(x, resp), resp.sum(axis=0, dtype=np.float64)[:k]
    branches = renewed(tree, None, prior.b, s, expected_concentrations(tree, leaf, inner), "messages")
    alpha = np.full(k, prior.alpha)
    state = TreeState(resp, s, nk, branches, leaf, inner, DirichletWeights(alpha + nk, alpha))
    return TreeDraws(np.array(labels), np.array(kappas), TreeFit(state, prior, trace, True))


def matched(tree: Tree, shared: NDArray[np.int64]) -> Indices:
    """Which node of a draw is each node of another one, (n,): the numbering of the tree that agrees best.

    Parameters
    ----------
    tree : Tree
    shared : (k, k), documents at a leaf of the one and at a leaf of the draw
    """
    shapes = [""] * tree.n
    for node in range(tree.k, tree.n):
        shapes[node] = f"({''.join(sorted(shapes[c] for c in tree.children(node)))})"

    def best(one: int, other: int) -> tuple[float, list[tuple[int, int]]]:
        """Return how many documents two nodes share at best, and the pairs of nodes at and below them."""
        if one < tree.k:
            return float(shared[one, other]), [(one, other)]
        total, pairs = 0.0, [(one, other)]
        ours, theirs = tree.children(one).tolist(), tree.children(other).tolist()
        for shape in dict.fromkeys(shapes[c] for c in ours):
            rows, columns = ([c for c in some if shapes[c] == shape] for some in (ours, theirs))
            below = [[best(a, b) for b in columns] for a in rows]
            gain = np.array([[agreed for agreed, _ in row] for row in below])
            for a, b in zip(*linear_sum_assignment(gain, maximize=True), strict=True):
                total += below[a][b][0]
                pairs += below[a][b][1]
        return total, pairs

    pairs = np.array(best(tree.root, tree.root)[1])
    order = np.empty(tree.n, np.int64)
    order[pairs[:, 0]] = pairs[:, 1]
    return order
