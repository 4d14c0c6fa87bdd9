"""Compiled Gibbs updates of the cluster of every group, given its topics and contexts.

Slots without members are zero everywhere; the first of them stands for a new cluster or topic. A sweep that finds none
stops and returns where, so that the caller can enlarge the arrays and resume it: no draw is lost or repeated.

``groups`` and ``content`` are changed in place; ``contexts`` are those of all kernels, ``levels`` the concentrations
and the share of new topics, ``rng`` draws. ``present`` lists the topics of one group, and ``number`` (mc,) counts its
tokens in each.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.multilevel.concentrations import ALPHA, SPREAD
from vmfstream.bayes.multilevel.content import Content
from vmfstream.bayes.multilevel.contexts import Context, predictive, shift
from vmfstream.bayes.multilevel.slots import drawn_slot

FEW = 16
"""Factors that are multiplied one by one: neither too many nor too large for double precision."""


class Groups(NamedTuple):
    """Clusters of the groups: ``z`` (J,); ``members`` (kc,), ``tokens`` (kc,), and these by topic, ``of`` (kc, mc)."""

    z: Indices
    members: Vector
    tokens: Vector
    of: Vector


@njit(cache=True)
def sweep_groups(
    start: int, groups: Groups, content: Content, contexts: tuple[Context, ...], levels: Vector, rng: Any
) -> int:
    """Draw the cluster of every group from ``start`` on given all else; return where it stopped for want of room."""
    present, number = np.empty(len(content.tokens), np.int64), np.zeros(len(content.tokens))
    score = np.empty(len(groups.members))
    for j in range(start, len(groups.z)):
        if groups.members.min() > 0:
            return j
        topics = topics_of(j, content, present, number)
        move_group(j, groups.z[j], groups, contexts, present[:topics], number, -1.0)
        score_group(j, groups, content, contexts, levels, present[:topics], number, score)
        groups.z[j] = drawn_slot(np.exp(score - score.max()), rng.random())
        move_group(j, groups.z[j], groups, contexts, present[:topics], number, 1.0)
        number[present[:topics]] = 0.0
    return len(groups.z)


@njit(cache=True)
def topics_of(j: int, content: Content, present: Indices, number: Vector) -> int:
    """Count the tokens of group j by topic into ``number``, list its topics in ``present``; return how many."""
    topics = 0
    for i in range(content.indptr[j], content.indptr[j + 1]):
        m = content.l[i]
        if m >= 0:
            if number[m] == 0:
                present[topics] = m
                topics += 1
            number[m] += 1.0
    return topics


@njit(cache=True)
def move_group(
    j: int, k: int, groups: Groups, contexts: tuple[Context, ...], present: Indices, number: Vector, sign: float
) -> None:
    """Let group j with its tokens and contexts join cluster k (``sign`` 1) or leave it (-1)."""
    groups.members[k] += sign
    for m in present:
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
    present: Indices,
    number: Vector,
    score: Vector,
) -> None:
    """Write log P(z_j = k | rest), up to a constant, for every slot; j belongs to none, -inf in all free but the first.

    [MC2] section 3.2: Chinese restaurant, contexts, and the topics of the tokens with tau_k integrated out. ``score``
    is (kc,).
    """
    new, size = True, number[present].sum()
    opened = np.empty(len(present))
    for e in range(len(present)):
        opened[e] = rising(levels[SPREAD] * content.share[present[e]], number[present[e]])
    for k in range(len(score)):
        weight = groups.members[k]
        if weight == 0:
            weight, new = (levels[ALPHA], False) if new else (0.0, False)
        if weight == 0:
            score[k] = -np.inf
            continue
        before = levels[SPREAD] + groups.tokens[k]
        value = math.log(weight) + math.lgamma(before) - math.lgamma(before + size)
        for e, m in enumerate(present):
            n = groups.of[k, m]
            value += rising(levels[SPREAD] * content.share[m] + n, number[m]) if n > 0 else opened[e]
        for context in contexts:
            value += predictive(context, j, k)
        score[k] = value


@njit(cache=True)
def rising(a: float, n: float) -> float:
    """log of a (a + 1) ... (a + n - 1)."""
    if n > FEW:
        return math.lgamma(a + n) - math.lgamma(a)
    product = a
    for r in range(1, int(n)):
        product *= a + r
    return math.log(product)
