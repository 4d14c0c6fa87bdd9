"""MC2: groups are clustered by their content and their contexts, tokens by topics that all clusters share.

    z_j ~ pi ~ GEM(alpha),   tau_k ~ DP(v, eps),   eps ~ GEM(eta)
    x_j ~ phi_{z_j},   l_ji ~ tau_{z_j},   w_ji ~ psi_{l_ji}

Both numbers are found. Weights, topics and context parameters are integrated out; z, l, the shares eps and the three
concentrations are drawn ([MC2] section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from vmfstream.bayes.multilevel_content import SLOTS, empty_topics
from vmfstream.bayes.multilevel_contexts import (
    BAG,
    DIRECTION,
    Context,
    Indices,
    Vector,
    bag,
    log_marginals,
    prior_direction,
)
from vmfstream.bayes.multilevel_levels import Laws, drawn_kappa, resampled
from vmfstream.bayes.multilevel_sweeps import (
    ALPHA,
    ETA,
    REST,
    SPREAD,
    VECTOR,
    WORD,
    Content,
    Groups,
    count_all,
    sweep_groups,
    sweep_tokens,
    tables,
)
from vmfstream.directional.bessel import log_partition

OUTSET = 20
"""Sweeps over the clusters by contexts alone before tokens choose topics."""

_BY_TOPIC = ("tokens", "sums", "norm", "square", "cross", "share")


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw from the posterior, K clusters and M topics in it.

    ``labels`` (J,); ``members`` (K,) groups; ``alpha``, ``spread``, ``eta``; ``tokens`` (K, M) of each topic in each
    cluster; ``mixing`` (K + 1, M + 1) expected weights of topics, the last row of a new cluster, the last column of a
    new topic; ``topics`` (M + 1, W): word probabilities, or the natural parameters kappa S + b of mean directions, the
    last row of a new one; ``kappa`` of content that is directions, else 0; ``contexts``: the contexts with the
    clusters' sums, ``kc`` = K + 1 rows of which the last is empty; ``log_joint`` in nats.
    """

    labels: Indices
    members: Vector
    alpha: float
    spread: float
    eta: float
    tokens: Vector
    mixing: Vector
    topics: NDArray[Any]
    kappa: float
    contexts: tuple[Context, ...]
    log_joint: float


class Chain:
    """State of the sampler, changed in place: `sweep` draws everything once.

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
        groups = len(content.indptr) - 1
        for context in contexts:
            if len(context.indptr) - 1 != groups:
                raise ValueError(f"contexts: expected {groups} rows, got {len(context.indptr) - 1}")
        labels = np.array(z, np.int64)
        if labels.shape != (groups,) or labels.min() < 0:
            raise ValueError(f"z: expected {groups} clusters of at least 0, got the shape {labels.shape}")
        self.rng, self.laws, self.fixed_kappa = rng, laws or Laws(), fixed_kappa
        self.levels = np.array([*levels, 1.0])
        self.content = content._replace(l=content.l.copy(), law=content.law.copy())
        without = bag(csr_array((groups, 1)))
        self.contexts = tuple(c._replace(law=c.law.copy()) for c in contexts) or (without,)
        self.groups = Groups(labels, np.zeros(0), np.zeros(0), np.zeros((0, 0)))
        self._rounds = content.kind == VECTOR or any(c.kind != BAG for c in self.contexts)
        self._resize(int(labels.max()) + 1, int(self.content.l.max()) + 1)
        self.recount()
        held = self.content.tokens > 0
        self.content.share[held] = 1.0 / (held.sum() + 1)
        self.compact()
        if (self.content.l < 0).any():
            self._begin(OUTSET if contexts else 0)
            self.draw_tokens()
            self.compact()
        self.draw_shares()

    @property
    def k(self) -> int:
        """Clusters that have groups."""
        return int((self.groups.members > 0).sum())

    @property
    def m(self) -> int:
        """Topics that have tokens."""
        return int((self.content.tokens > 0).sum())

    def sweep(self) -> float:
        """Draw clusters, topics, shares and concentrations; return the log joint density."""
        self.draw_groups()
        self.draw_tokens()
        self.compact()
        if self._rounds:
            self.recount()
        self.draw_shares()
        self.draw_levels()
        if not self.fixed_kappa:
            self.draw_kappas()
        return self.log_joint()

    def settle(self, sweeps: int) -> None:
        """Draw topics, their shares and the concentrations while clusters stay."""
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
        while (done := sweep_groups(done, *self._state, self.levels, self.rng)) < len(self.groups.z):
            self._resize(2 * len(self.groups.members), len(self.content.tokens))

    def draw_tokens(self) -> None:
        """Draw the topic of every token."""
        done = 0
        while (done := sweep_tokens(done, self.groups, self.content, self.levels, self.rng)) < len(self.content.l):
            self._resize(len(self.groups.members), 2 * len(self.content.tokens))

    def draw_shares(self) -> None:
        """Draw the shares of the topics and of new ones given the tables, then the concentration of topics."""
        held = self.content.tokens > 0
        opened = tables(self.groups, self.content, self.levels, self.rng)
        parts = self.rng.dirichlet([*opened[held], self.levels[ETA]])
        self.content.share[:] = 0.0
        self.content.share[held], self.levels[REST] = parts[:-1], parts[-1]
        self._tables = float(opened.sum())
        self.levels[ETA] = resampled(self.levels[ETA], self._tables, self.m, self.laws.eta, self.rng)

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

    def log_joint(self) -> float:
        """log p(z, l, w, x | shares, concentrations), densities of directions relative to uniform."""
        groups, (alpha, v) = self.groups, self.levels[[ALPHA, SPREAD]]
        clusters, topics = groups.members > 0, self.content.tokens > 0
        value = clusters.sum() * np.log(alpha) + gammaln(groups.members[clusters]).sum()
        value += gammaln(alpha) - gammaln(alpha + len(groups.z))
        value += (gammaln(v) - gammaln(v + groups.tokens[clusters])).sum()
        prior = v * self.content.share[topics]
        value += (gammaln(prior + groups.of[np.ix_(clusters, topics)]) - gammaln(prior)).sum()
        return float(value + self._log_content() + sum(log_marginals(context) for context in self.contexts))

    def _log_content(self) -> float:
        content = self.content
        held = content.tokens > 0
        if content.kind == VECTOR:
            d = int(content.law[0])
            each = log_partition(d, content.law[1:3])
            return float((content.norm[held] - content.tokens[held] * each[0] - each[1]).sum())
        b, total = content.law[:2]
        counts = content.sums[content.sums > 0]
        value = (gammaln(total) - gammaln(total + content.tokens[held])).sum()
        return float(value + gammaln(b + counts).sum() - len(counts) * gammaln(b))

    def compact(self) -> None:
        """Number clusters and topics without gaps; the shares of topics without tokens go to new ones."""
        groups, content = self.groups, self.content
        clusters, topics = np.flatnonzero(groups.members > 0), np.flatnonzero(content.tokens > 0)
        groups.z[:] = (np.cumsum(groups.members > 0) - 1)[groups.z]
        content.l[:] = np.append(np.cumsum(content.tokens > 0) - 1, -1)[content.l]
        kept: dict[str, Any] = {name: getattr(content, name)[..., topics] for name in _BY_TOPIC}
        self.levels[REST] = max(1.0 - kept["share"].sum(), 1e-300)
        self.content = content._replace(**kept)
        sums = groups.members[clusters], groups.tokens[clusters], groups.of[np.ix_(clusters, topics)]
        self.groups = Groups(groups.z, *sums)
        self.contexts = tuple(
            c._replace(amount=c.amount[clusters], sums=c.sums[clusters], extra=c.extra[clusters]) for c in self.contexts
        )
        self._resize(len(clusters) + 1, SLOTS * (1 + len(topics) // SLOTS))

    def recount(self) -> None:
        """Take all sums anew from the labels, so that rounding does not add up."""
        content = self.content
        for sums in (*self.groups[1:], *(sums for c in self.contexts for sums in c[-3:])):
            sums[:] = 0.0
        empty = empty_topics(content.kind, content.law, len(content.sums), len(content.tokens))
        zeros: dict[str, Any] = dict(zip(_BY_TOPIC, (*empty[:-1], content.share), strict=True))
        self.content = content._replace(**zeros)
        count_all(*self._state)

    def counts(self) -> tuple[NDArray[Any], ...]:
        """All sums that the sweeps keep, one array each, copied."""
        parts = [*self.groups[1:], *self.content[7:12]]
        return tuple(np.array(a) for a in (*parts, *(a for c in self.contexts for a in c[-3:])))

    def draw(self, log_joint: float) -> Draw:
        """What is kept of the state after a sweep."""
        groups, content, (k, m) = self.groups, self.content, (self.k, self.m)
        alpha, v, eta, rest = self.levels.tolist()
        prior = v * np.append(content.share[:m], rest)
        mixing = np.zeros((k + 1, m + 1))
        mixing[:k, :m] = groups.of[:k, :m]
        mixing += prior
        sums = content.sums[:, : m + 1].T
        if content.kind == WORD:
            topics = ((sums + content.law[0]) * content.norm[: m + 1, None]).astype(np.float32)
        else:
            topics = content.law[1] * sums + self._prior_vector()
        return Draw(
            labels=groups.z.copy(),
            members=groups.members[:k].copy(),
            alpha=alpha,
            spread=v,
            eta=eta,
            tokens=groups.of[:k, :m].copy(),
            mixing=mixing / mixing.sum(axis=1, keepdims=True),
            topics=topics,
            kappa=float(content.law[1]) if content.kind == VECTOR else 0.0,
            contexts=tuple(_resized(c._replace(law=c.law.copy()), k + 1) for c in self.contexts),
            log_joint=log_joint,
        )

    @property
    def _state(self) -> tuple[Groups, Content, tuple[Context, ...]]:
        return self.groups, self.content, self.contexts

    def _prior_vector(self) -> Vector:
        return prior_direction(self.content.vectors.sum(axis=0), float(self.content.law[2]))

    def _resize(self, clusters: int, topics: int) -> None:
        """Make room for more clusters and topics."""
        old = self.groups
        self.groups = Groups(
            old.z,
            _fitted(old.members, clusters),
            _fitted(old.tokens, clusters),
            _fitted(old.of, clusters, topics),
        )
        self.contexts = tuple(_resized(c, clusters) for c in self.contexts)
        content = self.content
        empty = empty_topics(content.kind, content.law, len(content.sums), topics)
        room: dict[str, Any] = dict(zip(_BY_TOPIC, empty, strict=True))
        for name, array in room.items():
            had = getattr(content, name)[..., :topics]
            array[..., : had.shape[-1]] = had
        self.content = content._replace(**room)


def fit(chain: Chain, *, draws: int = 10, burn_in: int = 100, thin: int = 10) -> tuple[list[Draw], NDArray[np.float64]]:
    """Run a chain and keep every ``thin``-th state after ``burn_in`` sweeps.

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


def _resized(context: Context, clusters: int) -> Context:
    return context._replace(
        amount=_fitted(context.amount, clusters),
        sums=_fitted(context.sums, clusters),
        extra=_fitted(context.extra, clusters),
    )


def _fitted(array: Vector, rows: int, columns: int | None = None) -> Vector:
    """A copy with so many rows and columns, zeros where there were none."""
    shape = (rows, *array.shape[1:]) if columns is None else (rows, columns)
    out = np.zeros(shape)
    common = tuple(slice(min(a, b)) for a, b in zip(shape, array.shape, strict=True))
    out[common] = array[common]
    return out
