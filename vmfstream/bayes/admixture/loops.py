"""Compiled loop of the admixture: the topic proportions of every document, given the scores of its vectors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from vmfstream.bayes.factors.responsibilities import products

_LARGE = 10.0  # argument from which the asymptotic series of digamma is exact to double precision
_FAINT = 1e-30  # a sum of products below which factors may have vanished in single precision


@njit(cache=True)
def digamma(x: float) -> float:
    """Return the digamma function of ``x`` > 0: recurrence to x >= 10, then its asymptotic series (DLMF 5.11.2)."""
    total = 0.0
    while x < _LARGE:  # 1/x + 1/(x + 1) + 1/(x + 2) + 1/(x + 3) + 1/(x + 4) in one division
        a, b = x * (x + 4.0), (x + 1.0) * (x + 3.0)
        total -= (2.0 * (x + 2.0) ** 2 * (a + b) + a * b) / (a * b * (x + 2.0))
        x += 5.0
    y = 1.0 / (x * x)
    tail = 1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * (691 / 32760 - y / 12)))))
    return total + math.log(x) - 0.5 / x - y * tail


@njit(cache=True)
def relative_scores(dots: Any, slope: Any, offset: Any, best: Any, likeness: Any) -> None:
    """Turn dot products (V, kp) in place into scores less the largest of their row; write it, and exp of the others.

    The score of a topic is slope_k dots_vk + offset_k, with ``dots`` (V, kp), ``slope`` and ``offset`` (k,). Written
    are the largest scores ``best`` (V,) and ``likeness`` (V, kp), which is 0 in padded columns.
    """
    k = len(slope)
    row = np.empty(k)
    for v in range(dots.shape[0]):
        top = -math.inf
        for t in range(k):
            row[t] = slope[t] * dots[v, t] + offset[t]
            top = max(top, row[t])
        best[v] = top
        for t in range(k):
            dots[v, t] = row[t] - top
            likeness[v, t] = math.exp(row[t] - top)
        for t in range(k, dots.shape[1]):
            likeness[v, t] = 0.0


@njit(cache=True)
def _log_weights(phi: Any, k: int, e: Any, w: Any) -> float:
    """Fill e with E[log theta] and w with exp(e - max e), return the maximum; padded entries of w are 0."""
    total = 0.0
    for t in range(k):
        total += phi[t]
    base = digamma(total)
    top = -math.inf
    for t in range(k):
        e[t] = digamma(phi[t]) - base
        top = max(top, e[t])
    for t in range(k):
        w[t] = math.exp(e[t] - top)
    w[k:] = 0.0
    return top


@njit(cache=True)
def _careful(e: Any, scores: Any, k: int, r: Any) -> tuple[float, float]:
    """Fill r with exp(e + score - top); return its sum and top: for products that vanish where weights are extreme."""
    top = -math.inf
    for t in range(k):
        top = max(top, e[t] + scores[t])
    total = 0.0
    for t in range(k):
        r[t] = math.exp(e[t] + scores[t] - top)
        total += r[t]
    return total, top


@njit(cache=True)
def _responsibilities(likeness: Any, scores: Any, w: Any, e: Any, top: float, k: int, r: Any) -> tuple[float, float]:
    """Fill r in proportion to exp(e + score) of one vector; return its sum and what was taken off the exponents."""
    total = products(w, likeness, r)
    if total < _FAINT:
        return _careful(e, scores, k, r)
    return total, top


@njit(cache=True)
def _count(words: Any, counts: Any, scores: Any, likeness: Any, phi: Any, k: int, room: Any) -> None:
    """n = sum_v c_v p_v of one document."""
    e, w, r, n, _ = room
    top = _log_weights(phi, k, e, w)
    n[:] = 0.0
    for j in range(len(words)):
        v = words[j]
        total, _ = _responsibilities(likeness[v], scores[v], w, e, top, k, r)
        share = counts[j] / total
        for t in range(len(n)):
            n[t] += share * r[t]


@njit(cache=True)
def _settle(
    words: Any,
    counts: Any,
    scores: Any,
    likeness: Any,
    phi: Any,
    alpha: float,
    sweeps: int,
    enough: float,
    room: Any,
) -> None:
    """phi = alpha + n(phi) until it rests."""
    n = room[3]
    for _ in range(sweeps):
        _count(words, counts, scores, likeness, phi, len(phi), room)
        moved = 0.0
        for t in range(len(phi)):
            moved += abs(alpha + n[t] - phi[t])
            phi[t] = alpha + n[t]
        if moved < enough:
            break


@njit(cache=True)
def _count_and_sum(
    words: Any,
    counts: Any,
    scores: Any,
    likeness: Any,
    best: Any,
    phi: Any,
    k: int,
    times: float,
    room: Any,
    mass: Any,
    qk: Any,
) -> float:
    """Do as `_count`, add to mass and qk so many ``times``, and return sum_vk c_v p_vk (score_vk - log p_vk).

    The last part of ``room`` becomes sum_v c_v score_v, what a document of one topic would have in place of it.
    """
    e, w, r, n, pure = room
    top = _log_weights(phi, k, e, w)
    n[:] = 0.0
    pure[:] = 0.0
    gain, base = 0.0, 0.0
    for j in range(len(words)):
        v, c = words[j], counts[j]
        total, taken = _responsibilities(likeness[v], scores[v], w, e, top, k, r)
        gain += c * (best[v] + taken + math.log(total))
        base += c * best[v]
        for t in range(k):
            p = r[t] / total
            n[t] += c * p
            pure[t] += c * scores[v, t]
            mass[v, t] += times * c * p
            qk[t] += times * c * p * p
    for t in range(k):
        gain -= n[t] * e[t]
        pure[t] += base
    return gain


@njit(cache=True)
def _weight_gain(alpha: float, n: Any, k: int) -> float:
    """What the proportions Dir(alpha + n) of a document add to its bound."""
    gain = math.lgamma(k * alpha) - k * math.lgamma(alpha)
    total = 0.0
    for t in range(k):
        gain += math.lgamma(alpha + n[t])
        total += alpha + n[t]
    return gain - math.lgamma(total)


@njit(cache=True)
def _better_alone(alpha: float, size: float, k: int, bound: float, pure: Any) -> int:
    """Return the topic that alone would give the document a larger bound, -1 if there is none."""
    topic = 0
    for t in range(1, k):
        if pure[t] > pure[topic]:
            topic = t
    gain = math.lgamma(k * alpha) - math.lgamma(k * alpha + size) + math.lgamma(alpha + size) - math.lgamma(alpha)
    return topic if pure[topic] + gain > bound + 1e-9 * abs(bound) else -1


@njit(cache=True)
def visit(
    indptr: Any,
    indices: Any,
    counts: Any,
    scores: Any,
    likeness: Any,
    best: Any,
    alpha: float,
    sweeps: int,
    tol: float,
    phi: Any,
    mass: Any,
    qk: Any,
    bound: Any,
) -> None:
    """Renew the Dirichlet posteriors ``phi`` (N, k) of all documents and sum their responsibilities.

    p_vk ~ exp(E[log theta_k] + score_vk) and phi_k = alpha + sum_v c_v p_vk in turn, until phi changes by less than
    ``tol`` a vector or ``sweeps`` are done, and once more for the sums: ``mass`` (V, kp) of c p and ``qk`` (k,) of c
    p^2. These steps do not let go of a topic that has part of a document, however small alpha is; so where one topic
    alone gives a larger bound, they begin again from there. ``bound`` (N,) is what each document adds to the lower
    bound with these p and the phi made of them.

    Document i holds the vectors ``indices`` and ``counts`` from ``indptr[i]`` to ``indptr[i + 1]``; their ``scores``,
    ``likeness`` and ``best`` are from `relative_scores`. ``alpha`` > 0 is the prior of a topic.
    """
    k, kp = phi.shape[1], scores.shape[1]
    room = np.empty(kp), np.empty(kp), np.empty(kp), np.empty(kp), np.empty(kp)
    n = room[3]
    for i in range(len(indptr) - 1):
        words, often = indices[indptr[i] : indptr[i + 1]], counts[indptr[i] : indptr[i + 1]]
        if len(words) == 0:
            phi[i] = alpha
            continue
        size = often.sum()
        for attempt in range(2):
            _settle(words, often, scores, likeness, phi[i], alpha, sweeps, tol * size, room)
            gain = _count_and_sum(words, often, scores, likeness, best, phi[i], k, 1.0, room, mass, qk)
            bound[i] = gain + _weight_gain(alpha, n, k)
            topic = _better_alone(alpha, size, k, bound[i], room[4]) if attempt == 0 else -1
            if topic < 0:
                break
            _count_and_sum(words, often, scores, likeness, best, phi[i], k, -1.0, room, mass, qk)
            phi[i] = alpha
            phi[i, topic] += size
        for t in range(k):
            phi[i, t] = alpha + n[t]
