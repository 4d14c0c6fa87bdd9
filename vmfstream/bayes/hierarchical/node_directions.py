"""Mean directions of all nodes of a tree, whose posteriors depend on each other along its branches.

    mu_n ~ vMF(mu_{pa(n)}, kappa_{pa(n)});  the root is fixed, kappa_root mu_root = b;  leaves have documents

Natural vectors of all nodes are the columns of one matrix (D, np), the leaves first, the root, which holds b, last. Two
schemes give the posterior: ``meanfield``, a factor for every node, and ``messages``, vMF messages up and down the tree,
exact but for the step of a message through a branch, which keeps its expected direction and the vMF form.

``tree`` has k leaves; ``b`` (D,) is the root's vector, ``s`` (D, kp) are sums of the leaves' documents, and ``kappa``
(n,) the expected concentrations of all nodes. Directions of the nodes are ``now`` or ``old``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numba import njit

from vmfstream.arrays import Floats, Indices, Vector
from vmfstream.bayes.factors.concentration import KappaFactor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.hierarchical.trees import Tree
from vmfstream.directional.bessel import conv_concentration, log_partition, vmf_terms
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.columns import column_dots, column_norms

Scheme: TypeAlias = Literal["meanfield", "messages"]


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Posterior of the directions.

    ``f`` (D, np) natural vectors of lengths ``gamma`` (n,); ``cosine`` (n,) the expected cosine of each node with its
    parent, b'E[mu] for children of the root, 0 for the root; ``entropy`` of all directions, relative to uniform.
    """

    f: Floats
    gamma: Vector
    cosine: Vector
    entropy: float


def renewed(tree: Tree, old: Branches | None, b: Floats, s: Floats, kappa: Vector, scheme: Scheme) -> Branches:
    """Renew all directions given the documents' sums ``s`` (D, kp) and the expected concentrations ``kappa`` (n,).

    kappa_root is 1, since the root's column is b. ``scheme`` is one of two. Without ``old`` directions, mean field
    starts from messages.

    Mean field goes from the leaves upward and downward again:

        leaf      R_n = kappa_n S_n + kappa_pa E[mu_pa]
        inner     R_n = kappa_pa E[mu_pa] + kappa_n sum_c E[mu_c]

    Messages do so exactly once, whatever the directions were:

        up    R_leaf = kappa S,  R_n = sum_c conv(R_c; kappa_n)
        down      R_c += conv(R_pa - conv(R_c; kappa_pa); kappa_pa)

    References
    ----------
    [GY14] section 3.2 (the model and its mean field).
    """
    if scheme == "messages":
        return _messages(tree, b, s, kappa)
    return _meanfield(tree, old or _messages(tree, b, s, kappa), b, s, kappa)


def evidence(tree: Tree, now: Branches, b: Floats, s: Floats, kappa: Vector, inner: KappaFactor) -> float:
    """What directions and the documents' sums add to the bound, the partition functions of the leaves left out.

    sum_k kappa_k S_k'E[mu_k] + sum_n ( kappa_pa E[mu_pa'mu_n] - E[ell(kappa_pa)] ) + entropy, in nats.

    ``inner`` is the factor of the concentrations of inner nodes.
    """
    d, k = len(b), tree.k
    ell = np.zeros(tree.n)
    ell[tree.inner] = inner.ell
    ell[tree.root] = log_partition(d, float(np.linalg.norm(b.astype(np.float64))))
    parent = tree.parent[:-1]
    documents = column_dots(s, now.f)[:k] * shrinkage(d, now.gamma[:k]) * kappa[:k]
    return float(documents.sum() + (kappa[parent] * now.cosine[:-1] - ell[parent]).sum()) + now.entropy


def rerooted(tree: Tree, now: Branches, b: Floats) -> Branches:
    """The same directions under another vector of the root."""
    top = tree.children(tree.root)
    f, cosine = now.f.copy(), now.cosine.copy()
    f[:, tree.root] = b
    cosine[top] = _link_cosines(f, tree.parent)[top] * shrinkage(len(b), now.gamma[top])
    return Branches(f, now.gamma, cosine, now.entropy)


def _meanfield(tree: Tree, old: Branches, b: Floats, s: Floats, kappa: Vector) -> Branches:
    d, k = len(b), tree.k
    f, gamma = old.f.copy(), old.gamma.copy()
    f[:, tree.root] = b
    scale = _scales(tree, d, gamma)
    depths = range(1, int(tree.depth.max()) + 1)
    for depth in (*reversed(depths), *list(depths)[1:]):
        nodes = tree.level(depth)
        above = tree.parent[nodes]
        pull = kappa[above] * scale[above]
        gamma[nodes] = _couple(f, s, nodes, above, pull, kappa, tree.first, tree.child, scale, k)
        scale[nodes] = shrinkage(d, gamma[nodes])
    cosine = _link_cosines(f, tree.parent) * scale
    cosine[:-1] *= scale[tree.parent[:-1]]
    own = log_partition(d, gamma[:-1]) - gamma[:-1] ** 2 * scale[:-1]
    return Branches(f, gamma, cosine, float(own.sum()))


def _messages(tree: Tree, b: Floats, s: Floats, kappa: Vector) -> Branches:
    d, k = len(b), tree.k
    up = np.zeros((d, padded(tree.n)), s.dtype)
    weight = kappa[:k].astype(s.dtype)
    up[:, :k] = s[:, :k] * weight
    norms = np.zeros(tree.n)
    norms[:k] = column_norms(up)[:k]
    shrink = np.zeros(tree.n)
    for depth in reversed(range(1, int(tree.depth.max()) + 1)):
        nodes = tree.level(depth)
        inner = nodes[nodes >= k]
        if len(inner):
            norms[inner] = _gather(up, inner, tree.first, tree.child, shrink)
        below = nodes[tree.parent[nodes] != tree.root]
        through = conv_concentration(d, norms[below], *_omega(d, kappa[tree.parent[below]]))
        shrink[below] = np.divide(through, norms[below], out=np.zeros(len(below)), where=norms[below] > 0)
    f = up.copy()
    f[:, tree.root] = b
    gamma, cosine = norms.copy(), np.zeros(tree.n)
    for depth in range(1, int(tree.depth.max()) + 1):
        nodes = tree.level(depth)
        above = tree.parent[nodes]
        cavity, cross = _cavity(f, up, nodes, above, shrink)
        factor = np.ones(len(nodes))
        linked = above != tree.root
        if linked.any():
            length = cavity[linked]
            through = conv_concentration(d, length, *_omega(d, kappa[above[linked]]))
            factor[linked] = np.divide(through, length, out=np.zeros_like(length), where=length > 0)
        gamma[nodes] = _descend(f, up, nodes, above, shrink, factor)
        here, pa = nodes[linked], above[linked]
        cosine[here] = _pair_cosines(d, kappa[pa], norms[here], shrink[here], gamma[pa], cross[linked])
    return _with_entropy(tree, Branches(f, gamma, cosine, 0.0), up, norms, shrink, kappa)


def _with_entropy(tree: Tree, now: Branches, up: Floats, norms: Vector, shrink: Vector, kappa: Vector) -> Branches:
    """Subtract from the log evidence of the tree of messages what it expects of documents and links."""
    d, k = len(up), tree.k
    parent = tree.parent[:-1]
    top = tree.children(tree.root)
    below = np.flatnonzero(parent != tree.root)
    now = rerooted(tree, now, now.f[:, tree.root])
    through = norms[below] * shrink[below]
    passed = log_partition(d, norms[below]) - log_partition(d, through) + log_partition(d, kappa[parent[below]])
    total = float(passed.sum() + log_partition(d, now.gamma[top]).sum())
    documents = column_dots(up, now.f)[:k] * shrinkage(d, now.gamma[:k])
    return replace(now, entropy=total - float(documents.sum() + (kappa[parent] * now.cosine[:-1]).sum()))


def _pair_cosines(d: int, kappa: Vector, up: Vector, shrink: Vector, full: Vector, cross: Vector) -> Vector:
    """Expected cosine of children with their parents, d/dkappa of the log evidence of each pair.

    A(kappa) + A(|v|) A'(kappa) / A'(|w|) ( A(|R|) R'v / (|R| |v|) - A(|w|) ), v the message up before its branch, w
    after it, R the parent's natural vector
    """
    own, message = vmf_terms(d, kappa), vmf_terms(d, up)
    after = vmf_terms(d, up * shrink)
    lengths = full * up
    turned = np.divide(cross, lengths, out=np.zeros_like(cross), where=lengths > 0) * vmf_terms(d, full).a
    return np.asarray(own.a + message.a * own.a_prime / after.a_prime * (turned - after.a))


def _omega(d: int, kappa: Vector) -> tuple[Vector, Vector]:
    found = vmf_terms(d, kappa)
    return found.a, found.one_minus_a


def _scales(tree: Tree, d: int, gamma: Vector) -> Vector:
    """A(gamma) / gamma of all nodes; 1 for the root, whose column is known."""
    scale = shrinkage(d, gamma)
    scale[tree.root] = 1.0
    return scale


@njit(cache=True)
def _couple(
    f: Floats,
    s: Floats,
    nodes: Indices,
    above: Indices,
    pull: Vector,
    weight: Vector,
    first: Indices,
    child: Indices,
    scale: Vector,
    k: int,
) -> Vector:
    """Renew the columns ``nodes`` of f in place from parents, children and documents; return their norms."""
    square = np.zeros(len(nodes))
    for i in range(f.shape[0]):
        for a in range(len(nodes)):
            n = nodes[a]
            v = pull[a] * f[i, above[a]]
            if n < k:
                v += weight[n] * s[i, n]
            else:
                total = 0.0
                for c in child[first[n] : first[n + 1]]:
                    total += scale[c] * f[i, c]
                v += weight[n] * total
            f[i, n] = v
            square[a] += v * v
    return np.sqrt(square)


@njit(cache=True)
def _link_cosines(f: Floats, parent: Indices) -> Vector:
    """Inner products of nodes with their parents, 0 for the root."""
    out = np.zeros(len(parent))
    for i in range(f.shape[0]):
        for n in range(len(parent) - 1):
            out[n] += np.float64(f[i, n]) * f[i, parent[n]]
    return out


@njit(cache=True)
def _gather(up: Floats, nodes: Indices, first: Indices, child: Indices, shrink: Vector) -> Vector:
    """Sum the messages of the children into ``nodes``, in place; return the norms."""
    square = np.zeros(len(nodes))
    for i in range(up.shape[0]):
        for a in range(len(nodes)):
            total = 0.0
            for c in child[first[nodes[a]] : first[nodes[a] + 1]]:
                total += shrink[c] * up[i, c]
            up[i, nodes[a]] = total
            square[a] += total * total
    return np.sqrt(square)


@njit(cache=True)
def _cavity(f: Floats, up: Floats, nodes: Indices, above: Indices, shrink: Vector) -> tuple[Vector, Vector]:
    """Norms of the parents without the message of the child, and inner products of parents with messages up."""
    square, cross = np.zeros(len(nodes)), np.zeros(len(nodes))
    for i in range(f.shape[0]):
        for a in range(len(nodes)):
            n = nodes[a]
            whole, message = np.float64(f[i, above[a]]), np.float64(up[i, n])
            square[a] += (whole - shrink[n] * message) ** 2
            cross[a] += whole * message
    return np.sqrt(square), cross


@njit(cache=True)
def _descend(f: Floats, up: Floats, nodes: Indices, above: Indices, shrink: Vector, factor: Vector) -> Vector:
    """Add the messages of the parents to ``nodes``, in place; return the norms."""
    square = np.zeros(len(nodes))
    for i in range(f.shape[0]):
        for a in range(len(nodes)):
            n = nodes[a]
            message = np.float64(up[i, n])
            v = message + factor[a] * (f[i, above[a]] - shrink[n] * message)
            f[i, n] = v
            square[a] += v * v
    return np.sqrt(square)
