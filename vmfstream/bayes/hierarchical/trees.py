"""Rooted trees with topics as leaves, and the assignment of topics to leaves."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from vmfstream.arrays import Floats, Indices, Vector
from vmfstream.mixtures.columns import column_norms

TRIES = 8
"""Random starts when topics are grouped."""

ROUNDS = 30
"""Largest number of rounds of one such start."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A rooted tree of n nodes: the leaves come first, 0 to k - 1, and the root last.

    ``parent`` (n,), -1 for the root; ``depth`` (n,), 0 for the root; ``names`` of the nodes; the children of node j
    are ``child[first[j]:first[j + 1]]``.
    """

    parent: Indices
    depth: Indices
    first: Indices
    child: Indices
    names: tuple[Hashable, ...]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.parent)

    @property
    def k(self) -> int:
        """Number of leaves."""
        return int(self.first.searchsorted(0, side="right")) - 1

    @property
    def root(self) -> int:
        """The root."""
        return self.n - 1

    @property
    def inner(self) -> Indices:
        """Nodes that are neither leaves nor the root."""
        return np.arange(self.k, self.n - 1)

    def level(self, depth: int) -> Indices:
        """Nodes of a depth."""
        return np.flatnonzero(self.depth == depth)

    def children(self, node: int) -> Indices:
        """Children of a node."""
        return self.child[self.first[node] : self.first[node + 1]]

    def leaves(self, node: int) -> Indices:
        """Leaves below a node, or the leaf itself."""
        if node < self.k:
            return np.array([node])
        return np.concatenate([self.leaves(int(c)) for c in self.children(node)])


def regular_tree(height: int, branching: int | Sequence[int]) -> Tree:
    """Tree of ``height`` levels below the root, ``branching`` children under every node, or one number per level.

    Raises
    ------
    ValueError
        Numbers below 1, or as many of them as there are not levels.

    Examples
    --------
    >>> regular_tree(2, (5, 6)).k, regular_tree(3, 4).k
    (30, 64)
    """
    if not _whole(height) or height < 1:
        raise ValueError(f"height: expected an integer of at least 1, got {height!r}")
    factors = list(branching) if isinstance(branching, Sequence) else [branching] * height
    if len(factors) != height:
        raise ValueError(f"branching: expected a number, or one for each of {height} levels, got {branching!r}")
    if not all(_whole(factor) and factor >= 1 for factor in factors):
        raise ValueError(f"branching: expected integers of at least 1, got {branching!r}")
    parents, above = [-1], [0]
    for factor in map(int, factors):
        below = [parent for parent in above for _ in range(factor)]
        above = list(range(len(parents), len(parents) + len(below)))
        parents += below
    return read_tree(parents)


def read_tree(given: Sequence[int | None] | Mapping[Hashable, Sequence[Hashable]]) -> Tree:
    """Read a tree from the parents of its nodes, or from the children of its inner nodes by name.

    Parameters
    ----------
    given : parent of node 0, 1, ... (-1 or None for the root); or a mapping from inner nodes to their children, where
        children that are no keys are leaves

    Returns
    -------
    Tree, whose leaves keep their order

    Raises
    ------
    ValueError
        Not exactly one root, a cycle, a parent that does not exist, two parents, or an inner node without leaves.

    Examples
    --------
    >>> tree = read_tree({"all": ["animals", "ships"], "animals": ["cats", "dogs"]})
    >>> tree.names, tree.parent.tolist()
    (('ships', 'cats', 'dogs', 'animals', 'all'), [4, 3, 3, 4, -1])
    """
    names, parents = _named(given) if isinstance(given, Mapping) else _numbered(given)
    roots = [names[i] for i in np.flatnonzero(parents < 0)]
    if len(roots) != 1:
        raise ValueError(f"tree: expected one root, got {f'the roots {roots}' if roots else 'none'}")
    depth = _depths(names, parents)
    leaf = np.ones(len(parents), bool)
    leaf[parents[parents >= 0]] = False
    if len(parents) == 1:
        raise ValueError(f"tree: expected leaves below the root {roots[0]!r}, got none")
    order = np.concatenate([np.flatnonzero(leaf), sorted(np.flatnonzero(~leaf), key=lambda i: -depth[i])])
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    parent = place[parents[order]]
    child = np.argsort(parent, kind="stable")[1:]
    first = np.searchsorted(parent[child], np.arange(len(order) + 1))
    return Tree(parent, depth[order], first, child, tuple(names[i] for i in order))


def arrange(tree: Tree, means: Floats, weight: Vector, rng: np.random.Generator) -> Indices:
    """Put topics at leaves so that topics below a node are alike: the topic of each leaf, (k,).

    From the root downward, topics are cut into groups as large as the subtrees by spherical k-means with given sizes,
    on their deviations from the common mean.

    Parameters
    ----------
    tree : Tree
    means : (D, kp) directions of k topics
    weight : (k,) of the topics, for the common mean
    rng : numpy.random.Generator
    """
    k = tree.k
    unit = means[:, :k] / np.maximum(column_norms(means)[:k], np.finfo(means.dtype).tiny)
    common = unit @ (weight / weight.sum()).astype(unit.dtype)
    centred = unit - common[:, None]
    gram = np.asarray(centred.T @ centred, np.float64)
    place = np.empty(k, np.int64)

    def put(node: int, topics: Indices) -> None:
        if node < k:
            place[node] = topics[0]
            return
        children = tree.children(node)
        sizes = np.array([len(tree.leaves(int(c))) for c in children])
        group = _grouped(gram[np.ix_(topics, topics)], sizes, rng)
        for j, c in enumerate(children):
            put(int(c), topics[group == j])

    put(tree.root, np.arange(k))
    return place


def levels(tree: Tree) -> list[tuple[int, Indices]]:
    """Depths of the inner nodes, deepest first as the nodes are, and which of the inner nodes lie there."""
    depth = tree.depth[tree.inner]
    return [(int(level), np.flatnonzero(depth == level)) for level in np.unique(depth)[::-1]]


def resultants(tree: Tree, s: Floats) -> Floats:
    """Sums of the leaves' statistics (D, kp) below every node, (D, n)."""
    total = np.zeros((s.shape[0], tree.n), s.dtype)
    total[:, : tree.k] = s[:, : tree.k]
    for node in range(tree.n - 1):
        total[:, tree.parent[node]] += total[:, node]
    return total


def _grouped(gram: Vector, sizes: Indices, rng: np.random.Generator) -> Indices:
    """Cut points with inner products ``gram`` into groups of ``sizes`` whose summed lengths |sum| are largest."""
    k, groups = len(gram), len(sizes)
    if groups in (1, k):
        return np.zeros(k, np.int64) if groups == 1 else np.arange(k)
    slots = np.repeat(np.arange(groups), sizes)
    best, chosen = -np.inf, slots
    for _ in range(TRIES):
        group = slots[np.argsort(rng.random(k))]
        for _ in range(ROUNDS):
            member = np.eye(groups)[group]
            length = np.sqrt(np.maximum(np.einsum("ig,ij,jg->g", member, gram, member), 1e-300))
            _, slot = linear_sum_assignment((gram @ member / length)[:, slots], maximize=True)
            if np.array_equal(slots[slot], group):
                break
            group = slots[slot]
        if length.sum() > best:
            best, chosen = float(length.sum()), group
    return chosen


def _depths(names: Sequence[Hashable], parents: Indices) -> Indices:
    depth = np.full(len(parents), -1)
    depth[parents < 0] = 0
    for start in range(len(parents)):
        path: list[int] = []
        node = start
        while depth[node] < 0:
            if node in path:
                circle = [names[i] for i in path[path.index(node) :]]
                raise ValueError(f"tree: expected no cycle, got one through the nodes {circle}")
            path.append(node)
            node = int(parents[node])
        for step, passed in enumerate(reversed(path), start=1):
            depth[passed] = depth[node] + step
    return depth


def _numbered(given: Sequence[int | None]) -> tuple[list[Hashable], Indices]:
    parents = [-1 if p is None else p for p in given]
    for node, parent in enumerate(parents):
        if not _whole(parent) or not -1 <= parent < len(parents):
            raise ValueError(f"tree: expected parents from -1 to {len(parents) - 1}, got {parent!r} for node {node}")
    return list(range(len(parents))), np.array(parents, np.int64)


def _named(given: Mapping[Hashable, Sequence[Hashable]]) -> tuple[list[Hashable], Indices]:
    parent: dict[Hashable, Hashable] = {}
    for node, children in given.items():
        if isinstance(children, str) or not len(children):
            raise ValueError(f"tree: expected a sequence of children for every key, got {children!r} for {node!r}")
        for c in children:
            if c in parent:
                raise ValueError(f"tree: expected one parent for every node, got {parent[c]!r} and {node!r} for {c!r}")
            parent[c] = node
    names = list(dict.fromkeys([*given, *parent]))
    number = {name: i for i, name in enumerate(names)}
    return names, np.array([number[parent[n]] if n in parent else -1 for n in names], np.int64)


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
