"""What a draw of the multilevel sampler says about other groups, and about the contexts of clusters and topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import logsumexp
from scipy.stats import t as student

from vmfstream.bayes.multilevel import Draw
from vmfstream.bayes.multilevel_contexts import BAG, GAUSSIAN, Context, Vector
from vmfstream.directional.bessel import log_partition


def word_scores(draw: Draw, counts: csr_array) -> Vector:
    """log p(w_j, z_j = k), (J, K + 1), of the words of groups (J, V), the last column for a new cluster.

    Tokens are independent given the cluster: its weights of topics stand at their mean.
    """
    words = np.log(draw.mixing @ draw.topics.astype(np.float64))
    return np.asarray(counts @ words.T + _log_weights(draw))


def vector_scores(draw: Draw, vectors: Vector, indptr: NDArray[np.integer[Any]]) -> Vector:
    """log p(w_j, z_j = k), (J, K + 1), of the unit vectors (T, D) of groups, relative to uniform; see `word_scores`."""
    d, kappa, f = vectors.shape[1], draw.kappa, draw.topics
    lengths = np.linalg.norm(f, axis=1)
    joined = np.sqrt(np.maximum(lengths**2 + 2 * kappa * (vectors @ f.T) + kappa**2, 0.0))
    each = log_partition(d, joined) - log_partition(d, lengths) - log_partition(d, np.array([kappa]))
    top = each.max(axis=1, keepdims=True)
    tokens = np.log(np.exp(each - top) @ draw.mixing.T) + top
    return np.asarray(np.add.reduceat(tokens, indptr[:-1], axis=0) + _log_weights(draw))


def averaged(scores: list[Vector]) -> Vector:
    """log p(w_j), (J,), averaged over draws as a probability; ``scores`` of every draw, (J, K + 1)."""
    each = np.array([logsumexp(score, axis=1) for score in scores])
    return np.asarray(logsumexp(each, axis=0) - np.log(len(scores)))


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


def _log_weights(draw: Draw) -> Vector:
    weights = np.append(draw.members, draw.alpha)
    return np.asarray(np.log(weights / weights.sum()))
