"""Compiled sweeps of the multilevel sampler: groups to clusters, tokens to topics, tables for the topics' shares.

Slots without members are zero everywhere; the first of them stands for a new cluster or topic. A sweep that finds none
stops and says where, so that the caller can make room and let it go on: no draw is lost or repeated.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from vmfstream.bayes.densities import resultant
from vmfstream.bayes.multilevel_contexts import Context, Indices, Vector, predictive, shift
from vmfstream.directional.bessel import ell

WORD, VECTOR = 0, 1

ALPHA, SPREAD, ETA, REST = 0, 1, 2, 3
"""Places in ``levels``: concentrations of clusters, of topics in a cluster and of topics, and the share of new ones."""


class Groups(NamedTuple):
    """Clusters of the groups: ``z`` (J,); ``members`` (kc,), ``tokens`` (kc,), and these by topic, ``of`` (kc, mc)."""

    z: Indices
    members: Vector
    tokens: Vector
    of: Vector


class Content(NamedTuple):
    """Tokens and their topics.

    ``indptr`` (J+1,); ``words`` (T,) or ``vectors`` (T, W) with ``own`` (T,) = x'b; ``law``: (b, V b) of words or
    (d, kappa, |b|); ``l`` (T,), -1 for none yet; ``tokens`` (mc,); ``sums`` (W, mc); ``norm`` (mc,): 1/(n + V b), or
    ell(|kappa S + b|); ``square``, ``cross`` (mc,) of vectors; ``share`` (mc,) of the topics, 0 in free slots.
    """

    kind: int
    indptr: Indices
    words: Indices
    vectors: Vector
    own: Vector
    law: Vector
    l: Indices  # noqa: E741
    tokens: Vector
    sums: Vector
    norm: Vector
    square: Vector
    cross: Vector
    share: Vector


@njit(cache=True)
def sweep_groups(
    start: int, groups: Groups, content: Content, contexts: tuple[Context, ...], levels: Vector, rng: Any
) -> int:
    """Draw the cluster of every group from ``start`` on given all else; return where it stopped for want of room."""
    held, number = np.empty(len(content.tokens), np.int64), np.zeros(len(content.tokens))
    score = np.empty(len(groups.members))
    for j in range(start, len(groups.z)):
        if groups.members.min() > 0:
            return j
        topics = topics_of(j, content, held, number)
        move_group(j, groups.z[j], groups, contexts, held[:topics], number, -1.0)
        score_group(j, groups, content, contexts, levels, held[:topics], number, score)
        groups.z[j] = _draw(np.exp(score - score.max()), rng.random())
        move_group(j, groups.z[j], groups, contexts, held[:topics], number, 1.0)
        number[held[:topics]] = 0.0
    return len(groups.z)


@njit(cache=True)
def topics_of(j: int, content: Content, held: Indices, number: Vector) -> int:
    """Count the tokens of group j by topic into ``number``, list its topics in ``held``; return how many."""
    topics = 0
    for i in range(content.indptr[j], content.indptr[j + 1]):
        m = content.l[i]
        if m >= 0:
            if number[m] == 0:
                held[topics] = m
                topics += 1
            number[m] += 1.0
    return topics


@njit(cache=True)
def move_group(
    j: int, k: int, groups: Groups, contexts: tuple[Context, ...], held: Indices, number: Vector, sign: float
) -> None:
    """Let group j with its tokens and contexts join cluster k (``sign`` 1) or leave it (-1)."""
    groups.members[k] += sign
    for m in held:
        groups.of[k, m] += sign * number[m]
        groups.tokens[k] += sign * number[m]
    for context in contexts:
        shift(context, j, k, sign)


@njit(cache=True)
def score_group(
    j: int,
    groups: Groups,
    content: Content,
    contexts: tuple[Context, ...],
    levels: Vector,
    held: Indices,
    number: Vector,
    score: Vector,
) -> None:
    """Write log P(z_j = k | rest), up to a constant, for every slot; j belongs to none, -inf in all free but the first.

    [MC2] section 3.2: Chinese restaurant, contexts, and the topics of the tokens with tau_k integrated out.
    """
    new, size = True, number[held].sum()
    for k in range(len(score)):
        weight = groups.members[k]
        if weight == 0:
            weight, new = (levels[ALPHA], False) if new else (0.0, False)
        if weight == 0:
            score[k] = -np.inf
            continue
        before = levels[SPREAD] + groups.tokens[k]
        value = math.log(weight) + math.lgamma(before) - math.lgamma(before + size)
        for m in held:
            had = levels[SPREAD] * content.share[m] + groups.of[k, m]
            value += math.log(had) if number[m] == 1.0 else math.lgamma(had + number[m]) - math.lgamma(had)
        for context in contexts:
            value += predictive(context, j, k)
        score[k] = value


@njit(cache=True)
def sweep_tokens(start: int, groups: Groups, content: Content, levels: Vector, rng: Any) -> int:
    """Draw the topic of every token from ``start`` on given all else; return where it stopped for want of room."""
    weight, cosine = np.empty(len(content.tokens)), np.empty(len(content.tokens))
    free = free_slot(content.tokens)
    top = len(content.tokens)
    while top > 0 and content.tokens[top - 1] == 0:
        top -= 1
    for j in range(len(groups.z)):
        k = groups.z[j]
        for i in range(max(start, content.indptr[j]), content.indptr[j + 1]):
            if free < 0:
                return i
            old = content.l[i]
            if old >= 0:
                groups.of[k, old] -= 1.0
                groups.tokens[k] -= 1.0
                move_token(i, old, content, -1.0)
                if content.tokens[old] == 0:
                    levels[REST] += content.share[old]
                    content.share[old] = 0.0
            limit = max(top, free + 1)
            weigh_token(i, groups.of[k], content, levels, free, weight[:limit], cosine)
            new = _draw(weight[:limit], rng.random())
            if content.tokens[new] == 0:
                part = rng.beta(1.0, levels[ETA])
                content.share[new] = part * levels[REST]
                levels[REST] -= content.share[new]
                top = max(top, new + 1)
            groups.of[k, new] += 1.0
            groups.tokens[k] += 1.0
            content.l[i] = new
            move_token(i, new, content, 1.0)
            if new == free:
                free = free_slot(content.tokens)
    return len(content.l)


@njit(cache=True)
def free_slot(count: Vector) -> int:
    """The first slot without members, -1 if there is none."""
    for m in range(len(count)):
        if count[m] == 0:
            return m
    return -1


@njit(cache=True)
def move_token(i: int, m: int, content: Content, sign: float) -> None:
    """Let token i join topic m (``sign`` 1) or leave it (-1)."""
    content.tokens[m] += sign
    if content.kind == WORD:
        content.sums[content.words[i], m] += sign
        content.norm[m] = 1.0 / (content.law[1] + content.tokens[m])
        return
    dot, square = 0.0, 0.0
    for row in range(content.vectors.shape[1]):
        x = content.vectors[i, row]
        dot += x * content.sums[row, m]
        square += x * x
        content.sums[row, m] += sign * x
    content.square[m] += 2.0 * sign * dot + square
    content.cross[m] += sign * content.own[i]
    if content.tokens[m] == 0:  # nothing is left but rounding
        content.sums[:, m] = 0.0
        content.square[m] = content.cross[m] = 0.0
    law = content.law
    content.norm[m] = ell(law[0], resultant(law[1], content.square[m], content.cross[m], law[2]))


@njit(cache=True)
def weigh_token(
    i: int, of: Vector, content: Content, levels: Vector, free: int, weight: Vector, cosine: Vector
) -> None:
    """Write P(l_i = m | rest), up to a constant; i belongs to no topic and ``free`` stands for a new one."""
    if content.kind == WORD:
        row = content.sums[content.words[i]]
        _weigh_word(of, content.share, row, content.norm, levels[SPREAD], content.law[0], weight)
        weight[free] = levels[SPREAD] * levels[REST] * content.law[0] * content.norm[free]
        return
    d, kappa, c0 = content.law[0], content.law[1], content.law[2]
    cosine[:] = 0.0
    square, top = 0.0, -np.inf
    for row in range(content.vectors.shape[1]):
        x = content.vectors[i, row]
        square += x * x
        for m in range(len(weight)):
            cosine[m] += x * content.sums[row, m]
    for m in range(len(weight)):
        prior = levels[SPREAD] * levels[REST] if m == free else of[m] + levels[SPREAD] * content.share[m]
        weight[m] = -np.inf
        if prior > 0:
            joined = resultant(
                kappa, content.square[m] + 2.0 * cosine[m] + square, content.cross[m] + content.own[i], c0
            )
            weight[m] = math.log(prior) + ell(d, joined) - content.norm[m]
        top = max(top, weight[m])
    for m in range(len(weight)):
        weight[m] = math.exp(weight[m] - top)


@njit(cache=True, fastmath={"reassoc", "contract"})
def _weigh_word(of: Vector, share: Vector, row: Vector, norm: Vector, spread: float, b: float, weight: Vector) -> None:
    for m in range(len(weight)):
        weight[m] = (of[m] + spread * share[m]) * (row[m] + b) * norm[m]


@njit(cache=True, fastmath={"reassoc", "contract"})
def _total(weight: Vector) -> float:
    total = 0.0
    for w in weight:
        total += w
    return total


@njit(cache=True)
def _draw(weight: Vector, uniform: float) -> int:
    """Draw a place in proportion to its weight; rounding never ends in a place of weight 0."""
    left, last = uniform * _total(weight), 0
    for m in range(len(weight)):
        if weight[m] > 0:
            last = m
            left -= weight[m]
            if left < 0:
                return m
    return last


@njit(cache=True)
def tables(groups: Groups, content: Content, levels: Vector, rng: Any) -> Vector:
    """Draw the tables of every topic, (mc,), summed over clusters.

    The law of [MC2] (3), without Stirling numbers: token r of a cluster's topic opens one with a / (a + r - 1).
    """
    out = np.zeros(len(content.tokens))
    for k in range(len(groups.members)):
        for m in range(len(out)):
            a = levels[SPREAD] * content.share[m]
            for r in range(int(groups.of[k, m])):
                if rng.random() * (a + r) < a:
                    out[m] += 1.0
    return out


@njit(cache=True)
def count_all(groups: Groups, content: Content, contexts: tuple[Context, ...]) -> None:
    """Fill sums that are zero from the labels of groups and tokens."""
    held, number = np.empty(len(content.tokens), np.int64), np.zeros(len(content.tokens))
    for j in range(len(groups.z)):
        topics = topics_of(j, content, held, number)
        move_group(j, groups.z[j], groups, contexts, held[:topics], number, 1.0)
        number[held[:topics]] = 0.0
    for i in range(len(content.l)):
        if content.l[i] >= 0:
            move_token(i, content.l[i], content, 1.0)
