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

FEW = 16
"""Factors that are multiplied one by one: neither too many nor too large for double precision."""

STRIDE = 16
"""Places that a draw passes over at once."""

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
    opened = np.empty(len(held))
    for e in range(len(held)):
        opened[e] = _rising(levels[SPREAD] * content.share[held[e]], number[held[e]])
    for k in range(len(score)):
        weight = groups.members[k]
        if weight == 0:
            weight, new = (levels[ALPHA], False) if new else (0.0, False)
        if weight == 0:
            score[k] = -np.inf
            continue
        before = levels[SPREAD] + groups.tokens[k]
        value = math.log(weight) + math.lgamma(before) - math.lgamma(before + size)
        for e, m in enumerate(held):
            n = groups.of[k, m]
            value += _rising(levels[SPREAD] * content.share[m] + n, number[m]) if n > 0 else opened[e]
        for context in contexts:
            value += predictive(context, j, k)
        score[k] = value


@njit(cache=True)
def _rising(a: float, n: float) -> float:
    """log of a (a + 1) ... (a + n - 1)."""
    if n > FEW:
        return math.lgamma(a + n) - math.lgamma(a)
    product = a
    for r in range(1, int(n)):
        product *= a + r
    return math.log(product)


@njit(cache=True)
def sweep_tokens(start: int, groups: Groups, content: Content, levels: Vector, rng: Any) -> int:
    """Draw the topic of every token from ``start`` on given all else; return where it stopped for want of room."""
    z, indptr, labels, tokens, share = groups.z, content.indptr, content.l, content.tokens, content.share
    if content.kind == WORD:
        counts = groups.of, groups.tokens, content.sums, tokens, content.norm
        return _sweep_words(start, z, indptr, content.words, labels, counts, share, content.law, levels, rng)
    weight, cosine = np.empty(len(tokens)), np.empty(len(tokens))
    free, top = free_slot(tokens), _last_held(tokens)
    for j in range(len(z)):
        k = z[j]
        for i in range(max(start, indptr[j]), indptr[j + 1]):
            if free < 0:
                return i
            old = labels[i]
            if old >= 0:
                groups.of[k, old] -= 1.0
                groups.tokens[k] -= 1.0
                move_token(i, old, content, -1.0)
                _close(old, tokens, share, levels)
            limit = max(top, free + 1)
            weigh_token(i, groups.of[k], content, levels, free, weight[:limit], cosine)
            new = _draw(weight[:limit], rng.random())
            _open(new, tokens, share, levels, rng)
            top = max(top, new + 1)
            groups.of[k, new] += 1.0
            groups.tokens[k] += 1.0
            labels[i] = new
            move_token(i, new, content, 1.0)
            if new == free:
                free = free_slot(tokens)
    return len(labels)


@njit(cache=True)
def _sweep_words(
    start: int,
    z: Indices,
    indptr: Indices,
    words: Indices,
    labels: Indices,
    counts: tuple[Vector, Vector, Vector, Vector, Vector],
    share: Vector,
    law: Vector,
    levels: Vector,
    rng: Any,
) -> int:
    """Do as `sweep_tokens` does, for words: arrays by themselves, and all in one loop, are three times as fast."""
    of, size, sums, tokens, norm = counts
    weight, b, total, spread = np.empty(len(tokens)), law[0], law[1], levels[SPREAD]
    free, top = free_slot(tokens), _last_held(tokens)
    for j in range(len(z)):
        mine = of[z[j]]
        for i in range(max(start, indptr[j]), indptr[j + 1]):
            if free < 0:
                return i
            row, old = sums[words[i]], labels[i]
            if old >= 0:
                mine[old] -= 1.0
                row[old] -= 1.0
                tokens[old] -= 1.0
                norm[old] = 1.0 / (total + tokens[old])
                _close(old, tokens, share, levels)
            else:
                size[z[j]] += 1.0
            limit = max(top, free + 1)
            _weigh_word(mine, share, row, norm, spread, b, weight[:limit])
            weight[free] = spread * levels[REST] * b * norm[free]
            new = _draw(weight[:limit], rng.random())
            _open(new, tokens, share, levels, rng)
            top = max(top, new + 1)
            mine[new] += 1.0
            row[new] += 1.0
            tokens[new] += 1.0
            norm[new] = 1.0 / (total + tokens[new])
            labels[i] = new
            if new == free:
                free = free_slot(tokens)
    return len(labels)


@njit(cache=True)
def _last_held(tokens: Vector) -> int:
    """One more than the last slot that has members."""
    top = len(tokens)
    while top > 0 and tokens[top - 1] == 0:
        top -= 1
    return top


@njit(cache=True)
def _close(m: int, tokens: Vector, share: Vector, levels: Vector) -> None:
    """Give the share of a topic that lost its last token back to new topics."""
    if tokens[m] == 0:
        levels[REST] += share[m]
        share[m] = 0.0


@njit(cache=True)
def _open(m: int, tokens: Vector, share: Vector, levels: Vector, rng: Any) -> None:
    """Break a share for a topic that has no tokens yet from that of new ones."""
    if tokens[m] == 0:
        share[m] = rng.beta(1.0, levels[ETA]) * levels[REST]
        levels[REST] -= share[m]


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
    left, first = uniform * _total(weight), 0
    while first + STRIDE < len(weight):
        part = _total(weight[first : first + STRIDE])
        if part > left:
            break
        left, first = left - part, first + STRIDE
    for m in range(first, len(weight)):
        left -= weight[m]
        if left < 0:
            return m
    last = len(weight) - 1
    while weight[last] == 0:
        last -= 1
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
