"""Compiled Gibbs updates of the topic of every token, and of the numbers of tables.

Free slots are as in `vmfstream.bayes.multilevel.group_updates`.

Arguments are those of `vmfstream.bayes.multilevel.group_updates`: ``groups``, ``content``, ``levels``, ``rng``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.factors.univariate import resultant
from vmfstream.bayes.multilevel.concentrations import ETA, REST, SPREAD
from vmfstream.bayes.multilevel.content import WORD, Content
from vmfstream.bayes.multilevel.group_updates import Groups
from vmfstream.bayes.multilevel.slots import drawn_slot, free_slot, last_held
from vmfstream.directional.bessel import ell


@njit(cache=True)
def sweep_tokens(start: int, groups: Groups, content: Content, levels: Vector, rng: Any) -> int:
    """Draw the topic of every token from ``start`` on given all else; return where it stopped for want of room."""
    z, indptr, labels, tokens, share = groups.z, content.indptr, content.l, content.tokens, content.share
    if content.kind == WORD:
        counts = groups.of, groups.tokens, content.sums, tokens, content.norm
        return _sweep_words(start, z, indptr, content.words, labels, counts, share, content.law, levels, rng)
    weight, cosine = np.empty(len(tokens)), np.empty(len(tokens))
    free, top = free_slot(tokens), last_held(tokens)
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
            new = drawn_slot(weight[:limit], rng.random())
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
    free, top = free_slot(tokens), last_held(tokens)
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
            new = drawn_slot(weight[:limit], rng.random())
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
    """Write P(l_i = m | rest), up to a constant; i belongs to no topic and ``free`` stands for a new one.

    ``of`` (mc,) are the tokens by topic of the cluster; ``weight`` (mc,) is written, and for vectors ``cosine`` (mc,)
    too.
    """
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
