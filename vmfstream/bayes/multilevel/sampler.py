"""The MC2 sampler: groups are clustered by content and contexts; all clusters share the topics of tokens.

    z_j ~ pi ~ GEM(alpha),   tau_k ~ DP(v, eps),   eps ~ GEM(eta)
    x_j ~ phi_{z_j},   l_ji ~ tau_{z_j},   w_ji ~ psi_{l_ji}

Both numbers are found. Weights, topics and context parameters are integrated out; z, l, the shares eps and the three
concentrations are drawn ([MC2] section 3.2); whole topics are merged and split too (`split_merge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Vector
from vmfstream.bayes.multilevel.concentrations import ALPHA, ETA, REST, SPREAD, Laws, drawn_kappa, resampled
from vmfstream.bayes.multilevel.content import VECTOR, Content
from vmfstream.bayes.multilevel.contexts import BAG, DIRECTION, Context
from vmfstream.bayes.multilevel.group_updates import sweep_groups
from vmfstream.bayes.multilevel.sampler_state import Draw, SamplerState
from vmfstream.bayes.multilevel.split_merge import PAIRS, sweep_pairs
from vmfstream.bayes.multilevel.token_updates import sweep_tokens, tables
from vmfstream.directional.bessel import log_partition

OUTSET = 20
"""Sweeps over the clusters by contexts alone before tokens choose topics."""


class Chain(SamplerState):
    """The sampler: `sweep` draws everything once, in place.

    Parameters
    ----------
    content : Content
    contexts : of any number of kernels; none is the model without context
    z : (J,) clusters to start from
    rng : numpy.random.Generator
    laws : Laws
    fixed_kappa : keep the concentrations of directions as they are
    levels : (alpha, v, eta) to start from
    """

    def __init__(
        self,
        content: Content,
        contexts: Sequence[Context],
        z: NDArray[np.integer[Any]],
        rng: np.random.Generator,
        *,
        laws: Laws | None = None,
        fixed_kappa: bool = False,
        levels: tuple[float, float, float] = (1.0, 1.0, 1.0),
    ) -> None:
        super().__init__(content, contexts, z, levels)
        self.rng, self.laws, self.fixed_kappa = rng, laws or Laws(), fixed_kappa
        self._rounds = content.kind == VECTOR or any(c.kind != BAG for c in self.contexts)
        if (self.content.l < 0).any():
            self._begin(OUTSET if contexts else 0)
            self.draw_tokens()
            self.compact()
        self.draw_shares()

    def sweep(self) -> float:
        """Draw clusters, topics, shares and concentrations; return the log joint density."""
        self.draw_groups()
        self.draw_tokens()
        self.draw_pairs()
        self.compact()
        if self._rounds:
            self.recount()
        self.draw_shares()
        self.draw_levels()
        if not self.fixed_kappa:
            self.draw_kappas()
        return self.log_joint()

    def settle(self, sweeps: int) -> None:
        """Draw topics, their shares and the concentrations while clusters stay; topics do not join yet.

        Those that were dealt out at random are all the same at first, and part token by token.
        """
        for _ in range(sweeps):
            self.draw_tokens()
            self.compact()
            self.draw_shares()
            self.draw_levels()

    def _begin(self, sweeps: int) -> None:
        """Draw clusters while tokens have no topics yet: what contexts say alone, a Dirichlet process mixture."""
        for _ in range(sweeps):
            self.draw_groups()
            self.compact()
            self._draw_alpha()

    def draw_groups(self) -> None:
        """Draw the cluster of every group."""
        done = 0
        while (done := sweep_groups(done, *self.parts, self.levels, self.rng)) < len(self.groups.z):
            self.make_room(2 * len(self.groups.members), len(self.content.tokens))

    def draw_tokens(self) -> None:
        """Draw the topic of every token."""
        done = 0
        while (done := sweep_tokens(done, self.groups, self.content, self.levels, self.rng)) < len(self.content.l):
            self.make_room(len(self.groups.members), 2 * len(self.content.tokens))

    def draw_pairs(self) -> None:
        """Let pairs of topics become one, or topics two."""
        done = 0
        while (done := sweep_pairs(done, self.groups, self.content, self.levels, self.rng)) < PAIRS:
            self.make_room(len(self.groups.members), 2 * len(self.content.tokens))

    def draw_shares(self) -> None:
        """Draw the concentration of topics given the tables, then the shares of the topics and of new ones."""
        occupied = self.content.tokens > 0
        opened = tables(self.groups, self.content, self.levels, self.rng)
        self._tables = float(opened.sum())
        self.levels[ETA] = resampled(self.levels[ETA], self._tables, self.m, self.laws.eta, self.rng)
        parts = self.rng.dirichlet([*opened[occupied], self.levels[ETA]])
        self.content.share[:] = 0.0
        self.content.share[occupied], self.levels[REST] = parts[:-1], parts[-1]

    def draw_levels(self) -> None:
        """Draw the concentrations of clusters and of topics in a cluster; `draw_shares` comes before."""
        self._draw_alpha()
        groups, rng = self.groups, self.rng
        tokens, v = groups.tokens[groups.members > 0], self.levels[SPREAD]
        tokens = tokens[tokens > 0]
        shape, rate = self.laws.spread
        seated = rng.random(len(tokens)) * (tokens + v) < tokens
        lost = np.log(rng.beta(v + 1.0, tokens)).sum()
        self.levels[SPREAD] = max(rng.gamma(shape + self._tables - seated.sum()) / (rate - lost), 1e-8)

    def _draw_alpha(self) -> None:
        groups = len(self.groups.z)
        self.levels[ALPHA] = resampled(self.levels[ALPHA], groups, self.k, self.laws.alpha, self.rng)

    def draw_kappas(self) -> None:
        """Draw the concentration of every kernel of directions from its posterior on a grid, flat in its logarithm."""
        content = self.content
        if content.kind == VECTOR:
            content.law[1] = drawn_kappa(content.law, content.tokens, content.square, content.cross, self.rng)
            lengths = np.sqrt(_squared(content.law, content.square, content.cross))
            content.norm[:] = log_partition(int(content.law[0]), lengths)
        for context in self.contexts:
            if context.kind == DIRECTION:
                square, cross = context.extra.T
                context.law[1] = drawn_kappa(context.law, context.amount, square, cross, self.rng)


def fit(chain: Chain, *, draws: int = 10, burn_in: int = 100, thin: int = 10) -> tuple[list[Draw], NDArray[np.float64]]:
    """Run a ``chain`` and keep every ``thin``-th state after ``burn_in`` sweeps.

    Returns
    -------
    kept : list of ``draws`` Draw
    trace : (burn_in + draws * thin, 3) log joint density, clusters and topics after every sweep
    """
    kept, trace = list[Draw](), list[tuple[float, int, int]]()
    for sweep in range(1, burn_in + draws * thin + 1):
        trace.append((chain.sweep(), chain.k, chain.m))
        if sweep > burn_in and (sweep - burn_in) % thin == 0:
            kept.append(chain.draw(trace[-1][0]))
    return kept, np.array(trace)


def _squared(law: Vector, square: Vector, cross: Vector) -> Vector:
    return np.asarray(np.maximum(law[1] * (law[1] * square + 2.0 * cross) + law[2] ** 2, 0.0))
