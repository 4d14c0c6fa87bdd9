"""Predictions from a draw of the multilevel sampler: new groups, and contexts of clusters and topics.

``draw`` is from the posterior; ``bags`` are tokens of J groups, rows of ``like`` (, M + 1), their likelihoods under
each topic; ``odds`` (J, K + 1) are from `cluster_odds`; ``rng`` draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import t as student

from vmfstream.arrays import Vector
from vmfstream.bayes.multilevel.contexts import BAG, DIRECTION, GAUSSIAN, Context, score_rows
from vmfstream.bayes.multilevel.new_groups import Known, mixed_likelihoods, score_groups, settle_groups
from vmfstream.bayes.multilevel.sampler_state import Draw
from vmfstream.directional.bessel import log_partition


class Bags(NamedTuple):
    """Tokens of J groups: ``indptr`` (J + 1,); ``tokens`` (T,), rows of the likelihoods of words or of vectors."""

    indptr: NDArray[np.int64]
    tokens: NDArray[np.int64]


def words_given_topics(draw: Draw) -> Vector:
    """p(word | topic), (V, M + 1), the last column for a new topic."""
    return np.ascontiguousarray(draw.topics.T, np.float64)


def vectors_given_topics(draw: Draw, vectors: Vector) -> tuple[Vector, Vector]:
    """Densities of unit vectors (T, D) under each topic, (T, M + 1), and the logarithm (T,) to which each is relative.

    Densities are relative to uniform, and their largest is 1.
    """
    d, kappa, f = vectors.shape[1], draw.kappa, draw.topics
    lengths = np.linalg.norm(f, axis=1)
    sums = np.sqrt(np.maximum(lengths**2 + 2 * kappa * (vectors @ f.T) + kappa**2, 0.0))
    each = log_partition(d, sums) - log_partition(d, lengths) - log_partition(d, np.array([kappa]))
    top = each.max(axis=1)
    return np.exp(each - top[:, None]), top


def cluster_odds(draw: Draw, fresh: Sequence[Context | None], groups: int) -> Vector:
    """log p(z_j = k | contexts of the group), (J, K + 1), up to a constant, before any of its tokens is seen.

    ``groups`` is J. ``fresh``: for every context of the draw that of the new groups, made by the same kernel, or None
    for those not known; empty if the draw knows none.
    """
    odds = np.tile(np.log(np.append(draw.members, draw.alpha)), (groups, 1))
    for known, rows in zip(draw.contexts, fresh, strict=False):
        if rows is not None:
            score_rows(_placed(known, rows), odds)
    return np.asarray(odds - logsumexp(odds, axis=1, keepdims=True))


def log_probabilities(
    draw: Draw, like: Vector, bags: Bags, odds: Vector, rng: np.random.Generator, *, steps: int
) -> Vector:
    """Estimate log p(tokens of a group), (J,), its cluster and their topics summed out; it errs downwards.

    Parameters
    ----------
    draw : Draw
    like : (R, M + 1) of `words_given_topics` or `vectors_given_topics`
    bags : Bags
    odds : (J, K + 1) of `cluster_odds`
    rng : numpy.random.Generator
    steps : tokens whose topics are drawn anew after each; see `vmfstream.bayes.multilevel.new_groups`
    """
    scores = cluster_scores(draw, like, bags, odds, rng, steps=steps)
    return np.asarray(logsumexp(scores, axis=1) - logsumexp(odds, axis=1))


def cluster_scores(
    draw: Draw, like: Vector, bags: Bags, odds: Vector, rng: np.random.Generator, *, steps: int
) -> Vector:
    """Estimate log p(tokens of a group, z_j = k), (J, K + 1), up to the constant of ``odds``; see `log_probabilities`.

    -inf stands for clusters of small odds. ``steps`` is how many earlier tokens get a new topic after each.
    """
    group = np.repeat(np.arange(len(odds)), np.diff(bags.indptr))
    tokens = bags.tokens[np.lexsort((rng.random(len(group)), group))]
    return np.asarray(score_groups(bags.indptr, tokens, like, _known(draw), odds, steps, rng))


def memberships(draw: Draw, like: Vector, bags: Bags, odds: Vector, rng: np.random.Generator) -> Vector:
    """Return p(topic of a further token | tokens of the group), (J, M + 1)."""
    return np.asarray(settle_groups(bags.indptr, bags.tokens, like, _known(draw), odds, rng))


def further(like: Vector, bags: Bags, topics: Vector) -> Vector:
    """Return sum_i log p(token i), (J,), of tokens that are independent given weights ``topics`` from `memberships`."""
    return np.asarray(mixed_likelihoods(bags.indptr, bags.tokens, like, topics))


def averaged(log_p: Sequence[Vector]) -> Vector:
    """The logarithm of the mean over draws of the probabilities of groups, (J,) each."""
    return np.asarray(logsumexp(np.array(log_p), axis=0) - np.log(len(log_p)))


def context_by_cluster(context: Context, at: Vector | None = None) -> Vector:
    """The predictive distribution of a context, (K + 1, W) for the items of a bag, else its density (K + 1, n).

    ``at``: (n, W) numbers, or unit vectors, whose density is relative to uniform; the last row is of a new cluster.
    """
    law, n, sums = context.law, context.amount[:, None], context.sums
    if context.kind == BAG:
        return np.asarray((law[0] + sums) / (law[1] + n))
    if at is None:
        raise ValueError("at: expected the places at which to evaluate the density, got None")
    if context.kind == GAUSSIAN:
        total, squares = sums[:, ::2], sums[:, 1::2]
        strength, shape = law[1] + n, law[2] + 0.5 * n
        rate = law[3] + 0.5 * np.maximum(squares - total**2 / strength, 0.0)
        scale = np.sqrt(rate * (strength + 1.0) / (shape * strength))
        density = student.pdf(at, 2.0 * shape[:, None], (total / strength)[:, None], scale[:, None])
        return np.asarray(density.prod(axis=2))
    d, kappa, c0 = int(law[0]), law[1], law[2]
    square, cross = context.extra.T[:, :, None]
    own = np.outer(np.ones(len(n)), at @ context.prior)
    alone = np.sqrt(np.maximum(kappa * (kappa * square + 2 * cross) + c0**2, 0.0))
    joined = np.sqrt(np.maximum(alone**2 + kappa * (2 * (kappa * sums @ at.T + own) + kappa), 0.0))
    log_density = log_partition(d, joined) - log_partition(d, alone) - log_partition(d, np.array([kappa]))
    return np.asarray(np.exp(log_density))


def context_by_topic(draw: Draw, by_cluster: Vector) -> Vector:
    """The distribution of a context given a topic, (M, ·): that of its tokens' clusters, sum_k p(k | m) p(x | k)."""
    return np.asarray((draw.tokens / draw.tokens.sum(axis=0)).T @ by_cluster[:-1])


def _known(draw: Draw) -> Known:
    k, m = draw.tokens.shape
    of, prior = np.zeros((k + 1, m + 1)), draw.spread * draw.mixing[-1]
    of[:k, :m] = draw.tokens
    return Known(of, of.sum(axis=1) + prior.sum(), prior)


def _placed(known: Context, fresh: Context) -> Context:
    """The sums of ``known`` with the rows of ``fresh``."""
    own = fresh.own.copy()
    if known.kind == DIRECTION:
        rows = csr_array((fresh.values, fresh.indices, fresh.indptr), shape=(len(own), len(known.prior)))
        own[:, 1] = rows @ known.prior
    return known._replace(indptr=fresh.indptr, indices=fresh.indices, values=fresh.values, own=own)
