"""The hierarchical mixture as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Rows
from vmfstream.bayes.factors.concentration import RULES
from vmfstream.bayes.factors.empirical_bayes import Hyperparameter
from vmfstream.bayes.factors.responsibilities import total
from vmfstream.bayes.hierarchical.gibbs import draw_hierarchy
from vmfstream.bayes.hierarchical.trees import Tree, read_tree, regular_tree, resultants
from vmfstream.bayes.hierarchical.variational import TreeFit, fit_hierarchy, leaf_vectors
from vmfstream.bayes.predictive import memberships
from vmfstream.estimators.base import MixtureEstimator, components_by_rows, occupied_first, padded_columns
from vmfstream.estimators.distinct import Distinct, distinct, repeated
from vmfstream.estimators.parameters import Choice, Domain, Names, Number, Whole
from vmfstream.estimators.words import words_of_means
from vmfstream.mixtures.columns import renumbered


@dataclass(frozen=True, slots=True, eq=False)
class FittedTree:
    """The nodes of a fitted hierarchy: the leaves first, in the order of the components, the root last.

    ``names`` as given, or numbers counted from the root downward; ``parent`` (n,), -1 for the root; ``depth`` (n,);
    ``means`` (n, D) mean directions; ``certainties`` (n,), the concentrations of what is known about these, infinite
    for the root, which is given; ``concentrations`` (n,): of a leaf about its documents, of another node about its
    children; ``documents`` (n,), expected numbers of documents below.
    """

    names: tuple[Hashable, ...]
    parent: NDArray[np.int64]
    depth: NDArray[np.int64]
    means: NDArray[Any]
    certainties: NDArray[np.float64]
    concentrations: NDArray[np.float64]
    documents: NDArray[np.float64]

    def words(self, feature_names: Sequence[str], top: int = 10) -> list[list[str]]:
        """Return the words of largest weight of every node.

        Parameters
        ----------
        feature_names : sequence of D str
        top : int >= 1, most words of a node; words of weight 0 or less are left out
        """
        return words_of_means(self.means, feature_names, top)


class HierarchicalVMFMixture(MixtureEstimator):
    """Bayesian mixture whose components are the leaves of a tree, drawn about nodes that are drawn about their parents.

    Parameters
    ----------
    height : int >= 1
        Levels below the root.
    branching : int or sequence of int
        Children of every node, or one number per level; (5, 6) gives 30 components in 5 groups.
    tree : sequence of int, or mapping, optional
        Any other tree, instead of the two: the parent of every node (-1 for the root), or the children of every inner
        node by name. Its leaves keep their numbers; those of a tree of the two have documents first, so that labels
        have no gaps.
    inference : {"messages", "meanfield", "gibbs"}
        Messages up and down the tree; the published factor per node, which is over-confident about inner nodes; or
        Gibbs sampling, with weights and the directions of leaves integrated out of the labels. That is for few
        dimensions: in many its chains stay where they start.
    concentration : {"shared", "own"}
        One concentration for all leaves or one each; inner nodes have their own.
    kappa : str
        Factor of the leaves' concentrations, see `BayesianVMFMixture`; Gibbs sampling draws them.
    empirical_bayes : sequence of str
        Which of "alpha", "mu0", "c0" and "kappa" (by level) are learnt. Gibbs sampling leaves all of them as the start
        gives them.
    alpha : float > 0
        Prior of the weights.
    n_init, max_iter, tol
        Annealed starts, sweeps, and nats per document by which the bound changes at rest.
    n_draws, burn_in : int
        Sweeps of Gibbs sampling that are kept, and that come before, instead of ``max_iter`` and ``tol``.
    random_state : int, Generator, RandomState or None
    verbose : int or bool
        Whether to print a line for every sweep.

    Attributes
    ----------
    tree_ : FittedTree
    weights_, means_, concentrations_ : (K,), (K, D), (K,) of the leaves
    labels_, lower_bound_, lower_bounds_, n_iter_, converged_ : as in other mixtures
        Bounds of Gibbs draws are their log joint densities.

    References
    ----------
    [GY14] section 3.2; its abstract names Gibbs sampling of this model, the text gives that of the flat one.

    Examples
    --------
    Four components, two under each of the two nodes below the root:

    >>> X = [[1, 0.3, 0], [1, 0.4, 0], [1, -0.3, 0], [1, -0.4, 0], [0, 1, 0.3], [0, 1, 0.4], [0, 1, -0.3], [0, 1, -0.4]]
    >>> mixture = HierarchicalVMFMixture(height=2, branching=2, random_state=0).fit(X)
    >>> mixture.labels_.tolist(), mixture.tree_.parent.tolist()
    ([3, 3, 2, 2, 1, 1, 0, 0], [4, 4, 5, 5, 6, 6, -1])
    """

    domains: ClassVar[Mapping[str, Domain]] = {
        "inference": Choice("messages", "meanfield", "gibbs"),
        "concentration": Choice("shared", "own"),
        "kappa": Choice(*RULES),
        "empirical_bayes": Names(*get_args(Hyperparameter)),
        "alpha": Number(0.0, closed="neither"),
        "n_init": Whole(1),
        "max_iter": Whole(1),
        "tol": Number(0.0),
        "n_draws": Whole(1),
        "burn_in": Whole(0),
    }

    def __init__(
        self,
        height: int = 2,
        branching: int | Sequence[int] = 2,
        *,
        tree: Sequence[int | None] | Mapping[Hashable, Sequence[Hashable]] | None = None,
        inference: str = "messages",
        concentration: str = "shared",
        kappa: str = "quadrature",
        empirical_bayes: Sequence[str] = ("mu0",),
        alpha: float = 1.0,
        n_init: int = 2,
        max_iter: int = 100,
        tol: float = 1e-4,
        n_draws: int = 100,
        burn_in: int = 100,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.height = height
        self.branching = branching
        self.tree = tree
        self.inference = inference
        self.concentration = concentration
        self.kappa = kappa
        self.empirical_bayes = empirical_bayes
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> HierarchicalVMFMixture:
        """Fit the hierarchy to the rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        y : ignored
        sample_weight : array-like, shape (N,), optional
            How often each row was seen, at least 0; fractions are allowed. A total below the number of rows that have a
            weight is scaled to that number: then weights are relative. Gibbs sampling takes whole numbers only, and
            draws a label for each copy.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, a number in ``X`` is not finite, or fewer rows than leaves have a
            direction and a weight.
        """
        documents = self._read(X, sample_weight)
        tree = self._shape()
        part = distinct(documents, tree.k)
        with self._fitting():
            part, fit, resp = (self._drawn if self.inference == "gibbs" else self._ascended)(part, tree)
        labels = np.where(part.number >= 0, resp[:, : tree.k].argmax(axis=1)[part.number], -1)
        order = occupied_first(labels, tree.k) if self.tree is None else np.arange(tree.k)
        self.labels_ = renumbered(labels, order)
        self.tree_ = _fitted_tree(tree, fit, order)
        self._factor = fit.state.leaf.taken(order)
        self.weights_ = fit.state.weights.mean[order]
        self.means_ = self.tree_.means[: tree.k]
        self.concentrations_ = self.tree_.concentrations[: tree.k]
        others = (part.number < 0) & ~documents.empty
        if others.any():
            self.labels_[others] = self._labels(documents.rows[others], documents.empty[others])
        self.lower_bounds_ = fit.trace / total(part.rows, part.weight)
        self.lower_bound_ = float(self.lower_bounds_.max())
        self.n_iter_ = len(fit.trace)
        self.converged_ = fit.converged
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def _ascended(self, part: Distinct, tree: Tree) -> tuple[Distinct, TreeFit, NDArray[Any]]:
        """Return what was fitted, the fit, and the responsibilities (M, K) under what is believed in the end."""
        fit = fit_hierarchy(
            part.rows,
            tree,
            self._rng(),
            self.inference,  # type: ignore[arg-type]
            kappa=self.kappa,  # type: ignore[arg-type]
            concentration=self.concentration,  # type: ignore[arg-type]
            alpha=self.alpha,
            learn=self.empirical_bayes,  # type: ignore[arg-type]
            starts=self.n_init,
            mass=part.weight,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        state = fit.state
        resp, _ = memberships(part.rows, *leaf_vectors(state, tree), state.leaf, np.log(state.weights.mean))
        return part, fit, resp

    def _drawn(self, part: Distinct, tree: Tree) -> tuple[Distinct, TreeFit, NDArray[Any]]:
        """Return what was fitted, a row for each copy, the fit, and the responsibilities (M, kp) over the draws."""
        part = repeated(part)
        fit = draw_hierarchy(
            part.rows,
            tree,
            self._rng(),
            concentration=self.concentration,  # type: ignore[arg-type]
            alpha=self.alpha,
            starts=self.n_init,
            draws=self.n_draws,
            burn_in=self.burn_in,
        ).fit
        return part, fit, fit.state.resp

    def _components(self) -> int:
        return self._shape().k

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        certainties = self.tree_.certainties[: len(self.means_)]
        f = padded_columns(self.means_ * certainties[:, None], rows.dtype)
        return memberships(rows, f, certainties, self._factor, np.log(self.weights_))

    def _shape(self) -> Tree:
        return regular_tree(self.height, self.branching) if self.tree is None else read_tree(self.tree)


def _fitted_tree(tree: Tree, fit: TreeFit, order: NDArray[np.int64]) -> FittedTree:
    """Return the nodes of a fit, its leaves in an ``order`` (K,)."""
    state, nodes = fit.state, np.append(order, np.arange(tree.k, tree.n))
    columns = components_by_rows(state.branches.f, tree.n)
    norms = np.linalg.norm(columns.astype(np.float64), axis=1)
    length = np.where(norms > 0, norms, 1.0)
    certainties = norms.copy()
    certainties[tree.root] = np.inf
    concentrations = np.empty(tree.n)
    concentrations[: tree.k] = state.leaf.mean
    concentrations[tree.inner] = state.inner.mean
    concentrations[tree.root] = norms[tree.root]
    return FittedTree(
        tuple(tree.names[node] for node in nodes),
        tree.parent[nodes],
        tree.depth[nodes],
        (columns / length.astype(columns.dtype)[:, None])[nodes],
        certainties[nodes],
        concentrations[nodes],
        resultants(tree, state.nk[None, :])[0, nodes],
    )
