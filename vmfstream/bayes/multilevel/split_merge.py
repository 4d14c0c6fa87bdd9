"""Split and merge moves for topics of the multilevel sampler; updates of single tokens hardly ever do either.

Two tokens are drawn. If their topics differ, merging these is proposed. Otherwise splitting their topic is: each of the
two tokens begins a half, and the other tokens are assigned to a half one by one in random order, each given those
before it. The share e of the topic becomes u e and (1 - u) e, with u from a Beta distribution. The reverse move is
unique: the shares add up, and tokens in random order are assigned to the halves that they are in.

The density of partitions and shares is that of `SamplerState.log_joint` times eta^M rest^(eta - 1) / prod_m eps_m, the
law of GEM(eta) where topics have no order.

References
----------
Dahl 2003, An improved merge-split sampler for conjugate Dirichlet process mixture models; Wang and Blei 2012, A
split-merge MCMC algorithm for the hierarchical Dirichlet process.

``groups``, ``content``, ``levels`` and ``rng`` are those of `vmfstream.bayes.multilevel.group_updates`. Sums are copied
in loops: numba takes twice as long to compile expressions over arrays.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from vmfstream.arrays import Indices, Vector
from vmfstream.bayes.factors.univariate import resultant
from vmfstream.bayes.multilevel.concentrations import ETA, SPREAD
from vmfstream.bayes.multilevel.content import WORD, Content
from vmfstream.bayes.multilevel.group_updates import Groups, rising
from vmfstream.bayes.multilevel.slots import free_slot
from vmfstream.directional.bessel import ell

PAIRS = 20
"""Pairs of tokens that are drawn in a sweep."""

TINY = 1e-200
"""Products of probabilities that are smaller give way to their logarithm."""


class Halves(NamedTuple):
    """Sums of two topics that may be one.

    ``of`` (kc, 2) tokens by cluster; ``sums`` (W, 2); ``size``, ``square``, ``cross``, ``norm`` (2,); ``share`` (2,).
    """

    of: Vector
    sums: Vector
    size: Vector
    square: Vector
    cross: Vector
    norm: Vector
    share: Vector


class Proposal(NamedTuple):
    """A topic and its two halves.

    ``log_ratio`` of the acceptance of parting it, minus that of joining them; ``token`` (n,) its tokens in the order in
    which they joined a half, ``second`` (n,) whether the second; both are empty where joining is out of the question.
    """

    log_ratio: float
    halves: Halves
    token: Indices
    second: Indices


@njit(cache=True)
def sweep_pairs(start: int, groups: Groups, content: Content, levels: Vector, rng: Any) -> int:
    """Propose to join or to part topics from pair ``start`` on; return where it stopped for want of room."""
    labels, n = content.l, len(content.l)
    if n < 2:
        return PAIRS
    for pair in range(start, PAIRS):
        free = free_slot(content.tokens)
        if free < 0:
            return pair
        i, j = int(rng.random() * n), int(rng.random() * (n - 1))
        j += j >= i
        a, b, limit = labels[i], labels[j], math.log(1.0 - rng.random())
        proposal = proposed(i, j, limit, groups, content, levels, rng)
        if a != b and limit < -proposal.log_ratio:
            _join(a, b, proposal, groups, content)
        elif a == b and limit < proposal.log_ratio:
            _part(a, free, proposal, groups, content)
    return PAIRS


@njit(cache=True)
def proposed(i: int, j: int, limit: float, groups: Groups, content: Content, levels: Vector, rng: Any) -> Proposal:
    """Compare the topics of tokens i and j, if they differ, with one topic; otherwise draw halves of it and compare.

    ``limit``: joining that is accepted with a probability of no larger logarithm is not of interest; ``log_ratio`` is
    then known to be -``limit`` or more, and may be too small.
    """
    a, b, share = content.l[i], content.l[j], content.share
    drawn = a == b  # as a variable: `_allot` is compiled once for it, but once for True and once for False
    if drawn:
        halves = _no_halves(groups, content)
        token, cluster = _tokens_of(i, j, groups, content)
        second = np.zeros(len(token), np.int64)
        log_p = _allot(token, cluster, second, drawn, -np.inf, halves, 0.5 * levels[SPREAD] * share[a], content, rng)
        first = rng.beta(*_opened(halves, 0.5 * levels[SPREAD] * share[a]))
        halves.share[0], halves.share[1] = first * share[a], (1.0 - first) * share[a]
        return Proposal(_log_parted(halves, content, levels) - log_p, halves, token, second)
    halves = _halves_of(a, b, groups, content)
    height, nothing = _log_parted(halves, content, levels), np.zeros(0, np.int64)
    if limit >= -height:  # the probability of the halves can but lessen it
        return Proposal(height, halves, nothing, nothing)
    token, cluster = _tokens_of(i, j, groups, content)
    second = np.zeros(len(token), np.int64)
    for t in range(len(token)):
        second[t] = content.l[token[t]] == b
    again, level = _no_halves(groups, content), 0.5 * levels[SPREAD] * (share[a] + share[b])
    log_p = _allot(token, cluster, second, drawn, limit + height, again, level, content, rng)
    return Proposal(height - log_p, halves, token, second)


@njit(cache=True)
def _no_halves(groups: Groups, content: Content) -> Halves:
    sums, of = np.zeros((len(content.sums), 2)), np.zeros((len(groups.members), 2))
    norm = np.full(2, ell(content.law[0], content.law[2])) if content.kind != WORD else np.zeros(2)
    return Halves(of, sums, np.zeros(2), np.zeros(2), np.zeros(2), norm, np.zeros(2))


@njit(cache=True)
def _halves_of(a: int, b: int, groups: Groups, content: Content) -> Halves:
    halves = _no_halves(groups, content)
    for h in range(2):
        m = b if h else a
        for k in range(len(halves.of)):
            halves.of[k, h] = groups.of[k, m]
        for row in range(len(halves.sums)):
            halves.sums[row, h] = content.sums[row, m]
        halves.size[h] = content.tokens[m]
        halves.square[h], halves.cross[h], halves.norm[h] = content.square[m], content.cross[m], content.norm[m]
        halves.share[h] = content.share[m]
    return halves


@njit(cache=True)
def _tokens_of(i: int, j: int, groups: Groups, content: Content) -> tuple[Indices, Indices]:
    """The tokens of the topics of i and j, these two first, and the clusters of their groups."""
    a, b, labels = content.l[i], content.l[j], content.l
    n = int(content.tokens[a] + (content.tokens[b] if a != b else 0.0))
    token, cluster, place = np.empty(n, np.int64), np.empty(n, np.int64), 2
    for group in range(len(groups.z)):
        for t in range(content.indptr[group], content.indptr[group + 1]):
            if labels[t] == a or labels[t] == b:
                at = 0 if t == i else 1 if t == j else place
                token[at], cluster[at] = t, groups.z[group]
                place += at == place
    return token, cluster


@njit(cache=True)
def _allot(
    token: Indices,
    cluster: Indices,
    second: Indices,
    drawn: bool,
    floor: float,
    halves: Halves,
    level: float,
    content: Content,
    rng: Any,
) -> float:
    """Let tokens join halves that are empty, the first two one each, and return the logarithm of its probability.

    Others come in random order, which is left in ``token``, and draw ``second``, or have it already and join at once;
    ``level``: v times the share of one half, taken to be equal. Stops when the logarithm has fallen below ``floor``.
    """
    second[1] = 1
    if content.kind == WORD:
        sums = halves.of, halves.sums, halves.size
        return _allot_words(token, cluster, second, drawn, floor, level, content.words, content.law, sums, rng)
    log_p, joined = 0.0, np.empty(2)
    for t in range(len(token)):
        if t >= 2:
            _shuffle(t, token, cluster, second, rng)
        odds = _log_odds(token[t], content, halves, joined)
        odds += math.log((halves.of[cluster[t], 1] + level) / (halves.of[cluster[t], 0] + level))
        if t >= 2:
            if drawn:
                second[t] = rng.random() * (1.0 + math.exp(-odds)) < 1.0
            away = -odds if second[t] else odds
            log_p -= max(away, 0.0) + math.log1p(math.exp(-abs(odds)))
            if log_p < floor:
                break
        _add(token[t], cluster[t], second[t], content, halves, joined)
    return log_p


@njit(cache=True)
def _allot_words(
    token: Indices,
    cluster: Indices,
    second: Indices,
    drawn: bool,
    floor: float,
    level: float,
    words: Indices,
    law: Vector,
    sums: tuple[Vector, Vector, Vector],
    rng: Any,
) -> float:
    """Do as `_allot` does, for words: arrays by themselves, and a logarithm for many tokens."""
    (of, counts, size), b, total = sums, law[0], law[1]
    log_p, p = 0.0, 1.0
    for t in range(len(token)):
        if t >= 2:
            _shuffle(t, token, cluster, second, rng)
        k, w = cluster[t], words[token[t]]
        if t >= 2:
            one = (of[k, 0] + level) * (counts[w, 0] + b) * (size[1] + total)
            two = (of[k, 1] + level) * (counts[w, 1] + b) * (size[0] + total)
            if drawn:
                second[t] = rng.random() * (one + two) < two
            p *= (two if second[t] else one) / (one + two)
            if p < TINY:
                log_p += math.log(p)
                p = 1.0
                if log_p < floor:
                    break
        h = second[t]
        of[k, h] += 1.0
        counts[w, h] += 1.0
        size[h] += 1.0
    return log_p + math.log(p)


@njit(cache=True)
def _shuffle(t: int, token: Indices, cluster: Indices, second: Indices, rng: Any) -> None:
    """Draw which of the tokens that are left comes at place t."""
    other = t + int(rng.random() * (len(token) - t))
    token[t], token[other] = token[other], token[t]
    cluster[t], cluster[other] = cluster[other], cluster[t]
    second[t], second[other] = second[other], second[t]


@njit(cache=True)
def _log_odds(i: int, content: Content, halves: Halves, joined: Vector) -> float:
    """log of the predictive density of vector i in the second half over that in the first.

    ``joined`` becomes |S + x|^2 of both halves.
    """
    joined[0], joined[1] = halves.square[0], halves.square[1]
    for row in range(content.vectors.shape[1]):
        x = content.vectors[i, row]
        for h in range(2):
            joined[h] += x * (2.0 * halves.sums[row, h] + x)
    value = halves.norm[0] - halves.norm[1]
    for h in range(2):
        value += (2 * h - 1) * _norm(joined[h], halves.cross[h] + content.own[i], content)
    return float(value)


@njit(cache=True)
def _norm(square: float, cross: float, content: Content) -> float:
    """ell(|kappa S + b|)."""
    return float(ell(content.law[0], resultant(content.law[1], square, cross, content.law[2])))


@njit(cache=True)
def _add(i: int, k: int, h: int, content: Content, halves: Halves, joined: Vector) -> None:
    """Let vector i, of a group of cluster k, join half h."""
    halves.of[k, h] += 1.0
    halves.size[h] += 1.0
    for row in range(len(halves.sums)):
        halves.sums[row, h] += content.vectors[i, row]
    halves.square[h] = joined[h]
    halves.cross[h] += content.own[i]
    halves.norm[h] = _norm(halves.square[h], halves.cross[h], content)


@njit(cache=True)
def _opened(halves: Halves, level: float) -> tuple[float, float]:
    """About how many tables a Chinese restaurant franchise opens for each half: the law of u is Beta of them."""
    opened = np.zeros(2)
    for k in range(len(halves.of)):
        for h in range(2):
            n = halves.of[k, h]
            if n > 0:
                opened[h] += 1.0 + level * math.log((n - 0.5 + level) / (0.5 + level))
    return opened[0], opened[1]


@njit(cache=True)
def _log_parted(halves: Halves, content: Content, levels: Vector) -> float:
    """log of the joint density with two topics over that with one, times the Jacobian e, over the density of u."""
    share, whole, v = halves.share, halves.share.sum(), levels[SPREAD]
    value = math.log(levels[ETA])
    first, second = _opened(halves, 0.5 * v * whole)
    value += math.lgamma(first) + math.lgamma(second) - math.lgamma(first + second)
    value -= first * math.log(share[0] / whole) + second * math.log(share[1] / whole)
    for k in range(len(halves.of)):
        one, two = halves.of[k, 0], halves.of[k, 1]
        if one + two > 0:
            value -= rising(v * whole, one + two)
            value += rising(v * share[0], one) if one > 0 else 0.0
            value += rising(v * share[1], two) if two > 0 else 0.0
    value += _words_parted(halves, content.law) if content.kind == WORD else _vectors_parted(halves, content)
    return float(value)


@njit(cache=True)
def _words_parted(halves: Halves, law: Vector) -> float:
    b, total, size = law[0], law[1], halves.size
    value = math.lgamma(total) + math.lgamma(total + size[0] + size[1])
    value -= math.lgamma(total + size[0]) + math.lgamma(total + size[1])
    for w in range(len(halves.sums)):
        one, two = halves.sums[w, 0], halves.sums[w, 1]
        if one > 0 and two > 0:
            few, many = min(one, two), max(one, two)
            value += rising(b, few) - rising(b + many, few)
    return value


@njit(cache=True)
def _vectors_parted(halves: Halves, content: Content) -> float:
    square = halves.square.sum()
    for row in range(len(halves.sums)):
        square += 2.0 * halves.sums[row, 0] * halves.sums[row, 1]
    return float(halves.norm.sum() - _norm(square, halves.cross.sum(), content) - ell(content.law[0], content.law[2]))


@njit(cache=True)
def _join(a: int, b: int, proposal: Proposal, groups: Groups, content: Content) -> None:
    for t in proposal.token:
        content.l[t] = a
    halves, none = proposal.halves, _no_halves(groups, content)
    for k in range(len(halves.of)):
        halves.of[k, 0] += halves.of[k, 1]
    for row in range(len(halves.sums)):
        halves.sums[row, 0] += halves.sums[row, 1]
    halves.size[0] += halves.size[1]
    halves.cross[0] += halves.cross[1]
    halves.share[0] += halves.share[1]
    first: Any = np.int64(0)  # not a literal, for which `_write` would be compiled anew
    _write(a, halves, first, groups, content)
    _write(b, none, first, groups, content)


@njit(cache=True)
def _part(a: int, free: int, proposal: Proposal, groups: Groups, content: Content) -> None:
    for t in range(len(proposal.token)):
        if proposal.second[t]:
            content.l[proposal.token[t]] = free
    for h in range(2):
        _write(free if h else a, proposal.halves, h, groups, content)


@njit(cache=True)
def _write(m: int, halves: Halves, h: int, groups: Groups, content: Content) -> None:
    """Let topic m have the sums of half h."""
    square = 0.0
    for k in range(len(halves.of)):
        groups.of[k, m] = halves.of[k, h]
    for row in range(len(halves.sums)):
        content.sums[row, m] = halves.sums[row, h]
        square += halves.sums[row, h] ** 2
    content.tokens[m], content.share[m] = halves.size[h], halves.share[h]
    if content.kind == WORD:
        content.norm[m] = 1.0 / (content.law[1] + content.tokens[m])
        return
    content.square[m], content.cross[m] = square, halves.cross[h]
    content.norm[m] = _norm(content.square[m], content.cross[m], content)
