"""State of the multilevel sampler: labels, sums over them, its log joint density, and the draws that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaln

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.multilevel.concentrations import ALPHA, REST, SPREAD
from vmfstream.bayes.multilevel.content import VECTOR, WORD, Content, empty_topics
from vmfstream.bayes.multilevel.contexts import Context, bag, log_marginals, prior_direction
from vmfstream.bayes.multilevel.group_updates import Groups, move_group, topics_of
from vmfstream.bayes.multilevel.slots import SLOTS
from vmfstream.bayes.multilevel.token_updates import move_token
from vmfstream.directional.bessel import log_partition

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


class SamplerState:
    """Clusters of the groups, ``groups``, and topics of the tokens, ``content``, with the sums that sweeps keep.

    ``levels``: the concentrations alpha, v and eta, and the share of new topics. Topics have equal shares at first.

    Parameters
    ----------
    content : Content
    contexts : of any number of kernels; none is the model without context
    z : (J,) clusters to start from
    levels : (alpha, v, eta) to start from

    Raises
    ------
    ValueError
        Contexts or clusters of another number of groups, or negative clusters.
    """

    def __init__(
        self,
        content: Content,
        contexts: Sequence[Context],
        z: NDArray[np.integer[Any]],
        levels: tuple[float, float, float],
    ) -> None:
        groups = len(content.indptr) - 1
        for context in contexts:
            if len(context.indptr) - 1 != groups:
                raise ValueError(f"contexts: expected {groups} rows, got {len(context.indptr) - 1}")
        labels = np.array(z, np.int64)
        if labels.shape != (groups,) or labels.min() < 0:
            raise ValueError(f"z: expected {groups} clusters of at least 0, got the shape {labels.shape}")
        self.levels = np.array([*levels, 1.0])
        self.content = content._replace(l=content.l.copy(), law=content.law.copy())
        without = bag(csr_array((groups, 1)))
        self.contexts = tuple(c._replace(law=c.law.copy()) for c in contexts) or (without,)
        self.groups = Groups(labels, np.zeros(0), np.zeros(0), np.zeros((0, 0)))
        self.make_room(int(labels.max()) + 1, int(self.content.l.max()) + 1)
        self.recount()
        occupied = self.content.tokens > 0
        self.content.share[occupied] = 1.0 / (occupied.sum() + 1)
        self.compact()

    @property
    def k(self) -> int:
        """Clusters that have groups."""
        return int((self.groups.members > 0).sum())

    @property
    def m(self) -> int:
        """Topics that have tokens."""
        return int((self.content.tokens > 0).sum())

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
        occupied = content.tokens > 0
        if content.kind == VECTOR:
            d = int(content.law[0])
            each = log_partition(d, content.law[1:3])
            return float((content.norm[occupied] - content.tokens[occupied] * each[0] - each[1]).sum())
        b, total = content.law[:2]
        counts = content.sums[content.sums > 0]
        value = (gammaln(total) - gammaln(total + content.tokens[occupied])).sum()
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
        self.make_room(len(clusters) + 1, SLOTS * (1 + len(topics) // SLOTS))

    def recount(self) -> None:
        """Take all sums anew from the labels, so that rounding does not add up."""
        content = self.content
        for sums in (*self.groups[1:], *(sums for c in self.contexts for sums in c[-3:])):
            sums[:] = 0.0
        empty = empty_topics(content.kind, content.law, len(content.sums), len(content.tokens))
        zeros: dict[str, Any] = dict(zip(_BY_TOPIC, (*empty[:-1], content.share), strict=True))
        self.content = content._replace(**zeros)
        _count_all(*self.parts)

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
    def parts(self) -> tuple[Groups, Content, tuple[Context, ...]]:
        """What compiled sweeps take."""
        return self.groups, self.content, self.contexts

    def _prior_vector(self) -> Vector:
        return prior_direction(self.content.vectors.sum(axis=0), float(self.content.law[2]))

    def make_room(self, clusters: int, topics: int) -> None:
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


@njit(cache=True)
def _count_all(groups: Groups, content: Content, contexts: tuple[Context, ...]) -> None:
    """Fill sums that are zero from the labels of groups and tokens."""
    present, number = np.empty(len(content.tokens), np.int64), np.zeros(len(content.tokens))
    for j in range(len(groups.z)):
        topics = topics_of(j, content, present, number)
        move_group(j, groups.z[j], groups, contexts, present[:topics], number, 1.0)
        number[present[:topics]] = 0.0
    for i in range(len(content.l)):
        if content.l[i] >= 0:
            move_token(i, content.l[i], content, 1.0)


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
