"""What is probable in a group that the multilevel sampler has not seen: its tokens, its cluster, its topics.

Given their cluster the tokens of a new group are exchangeable, not independent: each tells about the weights of the
topics, above all where the cluster is a new one, whose weights are the group's own. Clusters are summed over; in each
that may have made the group the sum over all topics is estimated token by token: the probability of a token given the
topics of those before it; a topic for it; new topics for some of those before it. The mean of the product of these
probabilities is the probability of the group, however few topics are drawn anew, so that its logarithm errs downwards
(Buntine 2009, Estimating likelihoods for topic models). Topics of one cluster hardly ever turn into those of another,
so that a walk over clusters and topics together would miss clusters that the first tokens did not speak for.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from vmfstream.bayes.multilevel.contexts import Indices, Vector
from vmfstream.bayes.multilevel.slots import drawn_slot

FAINT = -40.0
"""Logarithm of the odds below which a cluster that sums over its topics roughly is left out."""

ROUNDS = 20
"""Times that the topics of a group are drawn anew before they are averaged, and as often for the average."""

REDRAWN = 3
"""Tokens whose topics are drawn anew after each where clusters are weighed against each other."""


class Known(NamedTuple):
    """What is known of K clusters and, as the last, a new one.

    ``of`` (K + 1, M + 1): tokens of each topic; ``size`` (K + 1,): their sums, and v; ``prior`` (M + 1,): v times the
    shares of the topics.
    """

    of: Vector
    size: Vector
    prior: Vector


@njit(cache=True)
def follow_groups(
    indptr: Indices, tokens: Indices, like: Vector, known: Known, odds: Vector, steps: int, rng: Any
) -> Vector:
    """Estimate log p(tokens of a group), (J,), in every cluster token by token in their order.

    Parameters
    ----------
    indptr : (J + 1,)
    tokens : (T,) rows of ``like``, those of group j from ``indptr[j]`` on
    like : (R, M + 1) probability of each kind of token under each topic, the last of them new
    known : Known
    odds : (J, K + 1) logarithms of what speaks for each cluster before any token
    steps : tokens whose topics are drawn anew after each
    rng : numpy.random.Generator
    """
    out = np.zeros(len(odds))
    mixing = (known.of + known.prior) / known.size.reshape((-1, 1))
    for j in range(len(odds)):
        mine = tokens[indptr[j] : indptr[j + 1]]
        found = _likely(mine, like, mixing, odds[j])
        for k in range(len(found)):
            if found[k] > -np.inf:
                found[k] = odds[j, k] + _followed(k, mine, like, known, steps, rng)[0]
        out[j] = _log_sum(found) - _log_sum(odds[j])
    return out


@njit(cache=True)
def _likely(tokens: Indices, like: Vector, mixing: Vector, odds: Vector) -> Vector:
    """Log-odds of the clusters, (K + 1,), roughly, -inf for those that are left out; a new one never is."""
    found = odds + _at_means(tokens, like, mixing)
    faint = found < found.max() + FAINT
    faint[-1] = False
    found[faint] = -np.inf
    return found


@njit(cache=True)
def _at_means(tokens: Indices, like: Vector, mixing: Vector) -> Vector:
    """Return log p(tokens) in every cluster as if the weights of its topics were known to be their means, (K + 1,)."""
    out = np.zeros(len(mixing))
    for i in tokens:
        out += np.log(np.dot(mixing, like[i]))
    return out


@njit(cache=True)
def _followed(
    k: int, tokens: Indices, like: Vector, known: Known, steps: int, rng: Any
) -> tuple[float, Indices, Vector]:
    """Estimate log p(tokens) in cluster k; return it, the topics drawn, (T,), and the weights with them, (M + 1,)."""
    had, size, out = known.of[k] + known.prior, known.size[k], 0.0
    label, weight = np.empty(len(tokens), np.int64), np.empty(len(had))
    for i in range(len(tokens)):
        out += math.log(_weigh(had, like[tokens[i]], weight) / (size + i))
        label[i] = drawn_slot(weight, rng.random())
        had[label[i]] += 1.0
        for _ in range(min(steps, i)):
            _draw_anew(int(rng.random() * (i + 1)), tokens, like, label, had, weight, rng)
    return out, label, had


@njit(cache=True)
def _draw_anew(r: int, tokens: Indices, like: Vector, label: Indices, had: Vector, weight: Vector, rng: Any) -> None:
    """Draw the topic of token r given those of the others."""
    had[label[r]] -= 1.0
    _weigh(had, like[tokens[r]], weight)
    label[r] = drawn_slot(weight, rng.random())
    had[label[r]] += 1.0


@njit(cache=True, fastmath={"reassoc", "contract"})
def _weigh(had: Vector, like: Vector, weight: Vector) -> float:
    total = 0.0
    for m in range(len(weight)):
        weight[m] = had[m] * like[m]
        total += weight[m]
    return total


@njit(cache=True)
def _log_sum(values: Vector) -> float:
    top = values.max()
    return float(top + math.log(np.exp(values - top).sum()))


@njit(cache=True)
def settle_groups(
    indptr: Indices, tokens: Indices, like: Vector, known: Known, odds: Vector, rng: Any
) -> tuple[Vector, Vector]:
    """Return p(topic of one more token | tokens), (J, M + 1), and p(cluster | tokens), (J, K + 1); see `follow_groups`.

    In each cluster topics are averaged over `ROUNDS` draws of all.
    """
    topics, clusters = np.zeros((len(odds), like.shape[1])), np.zeros(odds.shape)
    mixing = (known.of + known.prior) / known.size.reshape((-1, 1))
    for j in range(len(odds)):
        mine = tokens[indptr[j] : indptr[j + 1]]
        found = _likely(mine, like, mixing, odds[j])
        each = np.zeros((len(found), like.shape[1]))
        for k in range(len(found)):
            if found[k] > -np.inf:
                log_p, label, had = _followed(k, mine, like, known, REDRAWN, rng)
                found[k] = odds[j, k] + log_p
                _settle(mine, like, label, had, rng, each[k])
        clusters[j] = np.exp(found - _log_sum(found))
        topics[j] = np.dot(clusters[j], each)
    return topics, clusters


@njit(cache=True)
def _settle(tokens: Indices, like: Vector, label: Indices, had: Vector, rng: Any, mean: Vector) -> None:
    """Draw topics anew again and again, and write their mean weights."""
    weight = np.empty(len(had))
    for sweep in range(2 * ROUNDS):
        for r in range(len(tokens)):
            _draw_anew(r, tokens, like, label, had, weight, rng)
        if sweep >= ROUNDS:
            mean += had / (had.sum() * ROUNDS)


@njit(cache=True)
def mixed_likelihoods(indptr: Indices, tokens: Indices, like: Vector, topics: Vector) -> Vector:
    """Return sum_i log sum_m p(m) p(token i | m), (J,), for weights of topics (J, M + 1)."""
    out = np.zeros(len(topics))
    for j in range(len(topics)):
        for i in range(indptr[j], indptr[j + 1]):
            out[j] += math.log(np.dot(topics[j], like[tokens[i]]))
    return out
