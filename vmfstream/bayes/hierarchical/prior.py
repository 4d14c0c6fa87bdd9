"""The prior of the hierarchical mixture, and its estimate from an initial partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaPrior
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import COSINE_LIMITS, LOG_KAPPA_SD
from vmfstream.bayes.hierarchical.trees import Tree, levels, resultants
from vmfstream.directional.bessel import R_MAX, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_norms

FALLBACK_COSINE = 0.7
"""Expected cosine of a node with its parent where the initial topics do not tell."""


@dataclass(frozen=True, slots=True, eq=False)
class TreePrior:
    """Prior of the hierarchical mixture.

    ``alpha`` of the weights, ``b`` (D,) = C_0 mu_0 of the root, ``leaf`` and ``inner``: how the concentrations of the
    leaves, and of the other nodes at each depth, are inferred.
    """

    alpha: float
    b: Floats
    leaf: KappaModel
    inner: Mapping[int, KappaModel]


def moment_tree_prior(
    x: Rows, resp: Floats, tree: Tree, *, alpha: float = 1.0, leaf: KappaModel | None = None
) -> TreePrior:
    """Estimate the prior from an initial partition whose topics sit at the leaves.

    Documents whose last common node is at depth l have the expected cosine A^2 a_{l+1}^2 ... a_L^2, where a_l is the
    expected cosine of a node at depth l with its parent. So a_{l+1}^2 is the mean cosine of pairs that part at depth l
    over that of pairs that part one deeper, and the concentration at depth l is A^-1(a_{l+1}).

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, kp), zero for rows without direction
    tree : Tree
    alpha : float > 0
    leaf : how the leaves' concentrations are inferred; its prior is centred here if it has none
    """
    d, k = x.shape[1], tree.k
    s = accumulate(x, resp)
    nk = resp.sum(axis=0, dtype=np.float64)[:k]
    qk = np.einsum("ik,ik->k", resp, resp, dtype=np.float64)[:k]
    close = _parting_cosines(tree, s, nk, qk)
    ratio = np.full(len(close), FALLBACK_COSINE)
    known = (close[:-1] > 0) & (close[1:] > 0)
    ratio[1:][known] = np.sqrt(close[:-1][known] / close[1:][known])
    near = np.asarray(inv_bessel_ratio(d, np.clip(ratio, *COSINE_LIMITS)))
    total = s.sum(axis=1, dtype=np.float64)
    norm = float(np.linalg.norm(total))
    b = (near[1] / norm if norm > 0 else 0.0) * total
    model = leaf or KappaModel("quadrature")
    if model.prior is None:
        within = min(float(np.sqrt(max(close[-1], 0.0))), R_MAX) or 0.2
        model = replace(model, prior=KappaPrior(float(np.log(inv_bessel_ratio(d, within))), LOG_KAPPA_SD**2))
    rule = model.rule if isinstance(model.rule, str) and model.rule != "point" else "quadrature"
    inner = {}
    for depth, here in levels(tree):
        law = KappaPrior(float(np.log(near[depth + 1])), LOG_KAPPA_SD**2)
        nothing = np.zeros(len(here))
        inner[depth] = KappaModel(rule, law, "own", nothing, nothing, model.rng)
    return TreePrior(alpha, b.astype(x.dtype), model, inner)


def _parting_cosines(tree: Tree, s: Floats, nk: Vector, qk: Vector) -> Vector:
    """Mean cosine of pairs of documents that part at depth 0, 1, ..., and of pairs within leaves last.

    Unknown depths, without pairs, are 0.
    """
    total = resultants(tree, s)
    square = column_norms(total) ** 2
    weight = resultants(tree, nk[None, :])[0]
    sums, pairs = np.zeros(int(tree.depth.max()) + 1), np.zeros(int(tree.depth.max()) + 1)
    for node in range(tree.k, tree.n):
        below = tree.children(node)
        sums[tree.depth[node]] += square[node] - square[below].sum()
        pairs[tree.depth[node]] += weight[node] ** 2 - (weight[below] ** 2).sum()
    sums[-1], pairs[-1] = float((square[: tree.k] - qk).sum()), float((nk**2 - qk).sum())
    return np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 1e-9)
