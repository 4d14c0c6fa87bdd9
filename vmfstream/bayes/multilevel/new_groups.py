"""Predict groups that the multilevel sampler has not seen: probabilities of their tokens, cluster and topics.

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

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.factors.responsibilities import products
from vmfstream.bayes.multilevel.slots import drawn_slot

FAINT = -40.0
"""Logarithm of the odds below which a cluster is left out: of those that sum over its topics roughly, or, in draws of
clusters and topics together, until all are weighed again, at powers of two."""

ROUNDS = 20
"""Times that the topics of a group are drawn anew before they are averaged, and as often for the average."""


class Known(NamedTuple):
    """What is known of K clusters and, as the last, a new one.

    ``of`` (K + 1, M + 1): tokens of each topic; ``size`` (K + 1,): their sums, and v; ``prior`` (M + 1,): v times the
    shares of the topics.
    """

    of: Vector
    size: Vector
    prior: Vector


class NewGroupState(NamedTuple):
    """Topics of the tokens so far: ``label`` (T,), ``number`` (M + 1,); ``score`` (K + 1,) logarithms of the clusters'
    probabilities given these, up to a constant, of which ``relevant`` lists those that matter; room for ``weight``."""

    label: Indices
    number: Vector
    score: Vector
    relevant: Indices
    weight: Vector


@njit(cache=True)
def score_groups(
    indptr: Indices, tokens: Indices, like: Vector, known: Known, odds: Vector, steps: int, rng: Any
) -> Vector:
    """Estimate log p(tokens of a group, cluster), (J, K + 1), token by token in their order.

    -inf stands for clusters that are left out; a new one never is, but where its odds say so.

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
    out = np.empty(odds.shape)
    mixing = (known.of + known.prior) / known.size.reshape((-1, 1))
    for j in range(len(odds)):
        mine = tokens[indptr[j] : indptr[j + 1]]
        found = odds[j] + _at_means(mine, like, mixing)
        likely = found > found.max() + FAINT
        likely[-1] = odds[j, -1] > -np.inf
        for k in range(len(found)):
            out[j, k] = odds[j, k] + _followed(k, mine, like, known, steps, rng) if likely[k] else -np.inf
    return out


@njit(cache=True)
def _at_means(tokens: Indices, like: Vector, mixing: Vector) -> Vector:
    """Return log p(tokens) in every cluster as if the weights of its topics were known to be their means, (K + 1,)."""
    out = np.zeros(len(mixing))
    for i in tokens:
        out += np.log(np.dot(mixing, like[i]))
    return out


@njit(cache=True)
def _followed(k: int, tokens: Indices, like: Vector, known: Known, steps: int, rng: Any) -> float:
    """Estimate log p(tokens) in cluster k."""
    had, size, out = known.of[k] + known.prior, known.size[k], 0.0
    label, weight = np.empty(len(tokens), np.int64), np.empty(len(had))
    for i in range(len(tokens)):
        out += math.log(products(had, like[tokens[i]], weight) / (size + i))
        label[i] = drawn_slot(weight, rng.random())
        had[label[i]] += 1.0
        for _ in range(min(steps, i)):
            r = int(rng.random() * (i + 1))
            had[label[r]] -= 1.0
            products(had, like[tokens[r]], weight)
            label[r] = drawn_slot(weight, rng.random())
            had[label[r]] += 1.0
    return out


@njit(cache=True)
def settle_groups(indptr: Indices, tokens: Indices, like: Vector, known: Known, odds: Vector, rng: Any) -> Vector:
    """Return p(topic of one more token | tokens), (J, M + 1), averaged over `ROUNDS` draws.

    Arguments as in `score_groups`. Here clusters and topics are walked over together: what speaks for a cluster is then
    the same in all of them, while estimates of p(tokens) err the further downwards the less is known of the weights of
    a cluster's topics.
    """
    everything = np.ones(like.shape[1])
    topics = np.zeros((len(odds), like.shape[1]))
    for j in range(len(odds)):
        mine, state = tokens[indptr[j] : indptr[j + 1]], _begun(indptr[j + 1] - indptr[j], known)
        n = len(mine)
        active, due = 0, 0
        for i in range(n):
            if i == due:
                active, due = _weigh_clusters(i, odds[j], known, state), max(1, 2 * i)
            _seat(i, i, _weigh_topics(i, like[mine[i]], known, state, active), known, state, active, rng)
        for sweep in range(2 * ROUNDS):
            active = _weigh_clusters(n, odds[j], known, state)
            for i in range(n):
                _draw_anew(i, n - 1, mine, like, known, state, active, rng)
            if sweep >= ROUNDS:
                active = _weigh_clusters(n, odds[j], known, state)
                _weigh_topics(n, everything, known, state, active)
                topics[j] += state.weight / ROUNDS
    return topics


@njit(cache=True)
def mixed_likelihoods(indptr: Indices, tokens: Indices, like: Vector, topics: Vector) -> Vector:
    """Return sum_i log sum_m p(m) p(token i | m), (J,), for weights ``topics`` of topics (J, M + 1).

    The tokens of group j are ``tokens`` from ``indptr[j]`` to ``indptr[j + 1]``, rows of the likelihoods ``like`` (, M
    + 1).
    """
    out = np.zeros(len(topics))
    for j in range(len(topics)):
        for i in range(indptr[j], indptr[j + 1]):
            out[j] += math.log(np.dot(topics[j], like[tokens[i]]))
    return out


@njit(cache=True)
def _begun(n: int, known: Known) -> NewGroupState:
    clusters, topics = known.of.shape
    return NewGroupState(
        np.empty(n, np.int64), np.zeros(topics), np.zeros(clusters), np.empty(clusters, np.int64), np.empty(topics)
    )


@njit(cache=True)
def _draw_anew(
    r: int, n: int, tokens: Indices, like: Vector, known: Known, state: NewGroupState, active: int, rng: Any
) -> None:
    """Draw the topic of token r given those of ``n`` others."""
    _leave(r, n, known, state, active)
    _seat(r, n, _weigh_topics(n, like[tokens[r]], known, state, active), known, state, active, rng)


@njit(cache=True)
def _weigh_clusters(n: int, odds: Vector, known: Known, state: NewGroupState) -> int:
    """Score every cluster by the topics of ``n`` tokens; list those that matter, and return how many."""
    score = state.score
    for k in range(len(score)):
        score[k] = odds[k] + math.lgamma(known.size[k]) - math.lgamma(known.size[k] + n)
        for m in range(len(state.number)):
            if state.number[m] > 0:
                had = known.prior[m] + known.of[k, m]
                score[k] += math.lgamma(had + state.number[m]) - math.lgamma(had)
    score -= score.max()
    active = 0
    for k in range(len(score)):
        if score[k] > FAINT:
            state.relevant[active] = k
            active += 1
    return active


@njit(cache=True)
def _weigh_topics(n: int, like: Vector, known: Known, state: NewGroupState, active: int) -> float:
    """Write p(topic, token | topics of ``n`` others), return the sum over topics."""
    relevant, weight = state.relevant[:active], state.weight
    top, total, own = -math.inf, 0.0, 0.0
    for k in relevant:
        top = max(top, state.score[k])
    for k in relevant:
        total += math.exp(state.score[k] - top)
    weight[:] = 0.0
    for k in relevant:
        share = math.exp(state.score[k] - top) / (total * (known.size[k] + n))
        own += share
        for m in range(len(weight)):
            weight[m] += share * known.of[k, m]
    value = 0.0
    for m in range(len(weight)):
        weight[m] = (weight[m] + own * (known.prior[m] + state.number[m])) * like[m]
        value += weight[m]
    return value


@njit(cache=True)
def _seat(r: int, n: int, total: float, known: Known, state: NewGroupState, active: int, rng: Any) -> None:
    """Draw a topic for token r, beside ``n`` others, in proportion to the weights."""
    left, new = total * rng.random(), 0
    for m in range(len(state.weight)):
        if state.weight[m] > 0:
            new = m
            left -= state.weight[m]
            if left < 0:
                break
    state.label[r] = new
    for k in state.relevant[:active]:
        state.score[k] += math.log((known.of[k, new] + known.prior[new] + state.number[new]) / (known.size[k] + n))
    state.number[new] += 1.0


@njit(cache=True)
def _leave(r: int, n: int, known: Known, state: NewGroupState, active: int) -> None:
    """Take token r from its topic, so that ``n`` others are left."""
    old = state.label[r]
    state.number[old] -= 1.0
    for k in state.relevant[:active]:
        state.score[k] -= math.log((known.of[k, old] + known.prior[old] + state.number[old]) / (known.size[k] + n))
