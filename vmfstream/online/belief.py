"""The belief about the topics' means: how documents are scored under it, and how it follows from them.

For a belief vMF(psi, gamma) about a topic's mean and documents vMF(mu, kappa), relative to the uniform density,

    log p(x) = ell(|gamma psi + kappa x|) - ell(gamma) - ell(kappa),   |.|^2 = gamma^2 + kappa^2 + 2 gamma kappa c,

where ell = log C_D(0) - log C_D and c = x'psi [GY14, predictive density of the Bayesian mixture]. In the open slice the
natural vectors gamma psi are f = prediction + kappa S, S the sums of its documents: computed, or updated in place.

Documents ``x`` are unit rows (N, D), and ``belief`` holds the topics' natural vectors in columns (D, kp); ``state`` is
the state of the tracker and ``settings`` its settings; ``threads`` share the rows of a matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from vmfstream.bayes.factors.beliefs import learn
from vmfstream.bayes.predictive import topic_densities
from vmfstream.bayes.tempering import tempered
from vmfstream.bayes.temporal.word_sums import words_of
from vmfstream.directional import kernels
from vmfstream.directional.bessel import ell
from vmfstream.directional.kernels import accumulate, in_parts, posterior_accumulate
from vmfstream.mixtures.columns import column_norms, directed, softmax_rows, square_of
from vmfstream.online import filtering
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, Vector

TOLERANCE = 1e-3
"""Largest error of a polynomial in nats; topics of text differ by far more."""

DEGREES = (4, 8, 16, 32)
"""Degrees that are tried; beyond, powers lose more digits by cancelling than the degree gains."""

MOST_WORDS = 4
"""Non-zeros per word of the vocabulary from which on a batch is taken to hold most words, without counting them."""


class Belief(NamedTuple):
    """What documents are scored under.

    Natural vectors ``f`` (D, kp) of the beliefs about the means, their lengths ``gamma`` (k,), the documents'
    concentration, ``log_weights`` (k,), and the smallest cosine possible: 0 where all coordinates are non-negative
    (text), else -1.
    """

    f: Matrix
    gamma: Vector
    kappa: float
    log_weights: Vector
    lowest_cosine: float


class Gathered(NamedTuple):
    """A batch as scored: sums ``s`` (D, kp), ``n`` (kp,), ``loglik``, ``label`` (N,), memberships of the first rows.

    ``second`` (N,) are the second topics, -1 for none; ``probability`` (N, 2) are those of label and second under the
    inverse temperature asked for, 0 without direction.
    Rows of ``resp`` (keep, kp) sum to one, or to zero without direction; they keep the strongest topics only, the sums
    also those beyond. The label of a document without direction is -1 and its log-density 0.
    """

    s: Matrix
    n: Vector
    resp: Matrix
    loglik: Vector
    label: NDArray[np.int32]
    second: NDArray[np.int32]
    probability: NDArray[np.float32]


class ScorePolynomial(NamedTuple):
    """Scores as polynomials of a document's dot product with the natural vector of a topic's belief.

    The score of document x under topic k is ``sum_p coef[p, k] * u**p``, ``u = (x @ f[:, k] - centre[k]) / scale[k]``.
    ``error`` is the largest deviation in nats; above `TOLERANCE` no degree sufficed.
    """

    coef: NDArray[np.float64]
    centre: Vector
    scale: Vector
    error: float


def current_belief(state: TrackState, settings: TrackerSettings) -> Belief:
    """Return the belief that documents of the open slice are scored under now."""
    return belief_of(state, state.f, state.gamma, state.n + state.open.n, settings)


def predicted_belief(state: TrackState, settings: TrackerSettings, base: Matrix | None = None) -> Belief:
    """Return the belief made before the open slice began; ``base`` (D, kp) replaces the leading prediction."""
    f = state.base if base is None else base
    return belief_of(state, f, column_norms(f), state.n, settings)


def belief_of(state: TrackState, f: Matrix, gamma: Vector, n: Vector, settings: TrackerSettings) -> Belief:
    """Combine means ``f`` (D, kp) of lengths ``gamma`` (kp,) with the weights that counts ``n`` (kp,) predict."""
    k = state.k
    log_weights = np.log(n[:k] + settings.alpha) - np.log(n[:k].sum() + settings.alpha * k)
    return Belief(f, gamma[:k], state.kappa, log_weights, state.lowest_cosine)


def with_prediction(state: TrackState, settings: TrackerSettings) -> TrackState:
    """Recompute the prediction for the open slice from the past and the window under the leading persistence."""
    p = filtering.predicted(state, filtering.statistics(state), state.leader, settings, lengths=False).matrix()
    return refreshed(replace(state, base=filtering.anchored(state, p)))


def refreshed(state: TrackState) -> TrackState:
    """Return the state with f = prediction + kappa S of the open slice made anew.

    After donated steps it then equals, to the last bit, the state that is restored from its arrays.
    """
    if not state.open.documents:
        return replace(state, f=state.base, gamma=column_norms(state.base), in_belief=0)
    f, gamma = learn(state.base, state.open.s, np.full(state.kp, state.kappa))
    return replace(state, f=f, gamma=gamma, in_belief=state.open.documents)


def up_to_date(state: TrackState) -> TrackState:
    """Return a state whose belief includes every document: this one, where it does already."""
    return state if state.in_belief == state.open.documents else refreshed(state)


def update(
    f: Matrix, gamma: Vector, base: Matrix, s: Matrix, kappa: float, words: NDArray[np.intp] | None, threads: int
) -> Vector:
    """Set f = base + kappa S in place after documents were added to S, and return the lengths of the columns of f.

    Work and memory traffic are those of the words named.

    Parameters
    ----------
    f : (D, kp), overwritten.
    gamma : (kp,) lengths of its columns before.
    base, s : (D, kp), the prediction for the slice and the statistics of the slice.
    kappa : concentration of documents around the means.
    words : rows of S that have changed since; None for any.
    """
    squares = np.zeros((threads, len(gamma)))
    if words is None:
        in_parts(_update_all, len(f), threads, base, s, kappa, f, own=squares)
        return np.asarray(np.sqrt(squares.sum(axis=0)))
    in_parts(_update_words, len(words), threads, words, base, s, kappa, f, own=squares)
    return np.asarray(np.sqrt(np.maximum(gamma * gamma + squares.sum(axis=0), 0.0)))


def few_words(x: Rows) -> NDArray[np.intp] | None:
    """Return the words that documents hold, or None if these are more than half of the vocabulary."""
    d = x.shape[1]
    if isinstance(x, np.ndarray) or x.nnz >= MOST_WORDS * d:
        return None
    words = words_of(x)
    return None if 2 * len(words) > d else words


def score(x: Rows, belief: Belief, *, threads: int) -> tuple[Vector, NDArray[np.int32]]:
    """Log-density of documents in nats relative to uniform and their strongest topic, (0, -1) without direction."""
    _, loglik, label = posterior(x, belief, threads=threads)
    return loglik, label


def posterior(
    x: Rows, belief: Belief, *, threads: int, poly: ScorePolynomial | None = None
) -> tuple[Matrix, Vector, NDArray[np.int32]]:
    """Memberships (N, kp) of documents, and what `score` returns; ``poly`` as in `gather`.

    Exact within `TOLERANCE`: by polynomials, or by the Bessel functions themselves where these do not suffice.
    """
    poly = score_polynomial(belief) if poly is None else poly
    if poly.error > TOLERANCE:
        return _exact(x, belief)[:3]
    out = kernels.posterior(x, belief.f, poly.coef, poly.centre, poly.scale, len(belief.gamma), threads=threads)
    return out.resp, out.loglik, out.label


def label(
    x: Rows, belief: Belief, *, threads: int, poly: ScorePolynomial | None = None, beta: float = 1.0
) -> kernels.Labelled:
    """Log-density of documents, their strongest topic and its probability, as `gather` gives them, without the sums.

    ``poly`` and ``beta`` as in `gather`.
    """
    poly = score_polynomial(belief) if poly is None else poly
    if poly.error > TOLERANCE:
        _, loglik, strongest, _, sure = _exact(x, belief, beta)
        return kernels.Labelled(loglik, strongest, sure[:, 0])
    scores = poly.coef, poly.centre, poly.scale, len(belief.gamma)
    return kernels.labels(x, belief.f, *scores, threads=threads, beta=beta)


def gather(
    x: Rows,
    belief: Belief,
    *,
    threads: int,
    keep: int | None = None,
    into: Matrix | None = None,
    poly: ScorePolynomial | None = None,
    beta: float = 1.0,
) -> Gathered:
    """Score documents as `score` does and sum them by their memberships, in one pass over the non-zeros.

    Memberships are returned for the first ``keep`` documents, or all. The sums are added to ``into``, if it is given.
    With the ``poly`` of a belief, ``x`` and the belief's vectors may be without the words that no document has.
    Probabilities are those of softmax(``beta`` scores).
    """
    poly = score_polynomial(belief) if poly is None else poly
    if poly.error > TOLERANCE:
        resp, loglik, label, second, sure = _exact(x, belief, beta)
        s = accumulate(x, resp, threads=threads)
        s = s if into is None else np.add(into, s, out=into)
        return Gathered(s, resp.sum(axis=0, dtype=np.float64), resp[:keep], loglik, label, second, sure)
    k, kp = len(belief.gamma), belief.f.shape[1]
    scores = poly.coef, poly.centre, poly.scale, k
    out = posterior_accumulate(x, belief.f, *scores, threads=threads, into=into, beta=beta)
    resp = _memberships(out.top[:keep], out.weight[:keep], kp)
    return Gathered(out.s, out.nk, resp, out.loglik, out.label, out.second, out.sure)


def new_topic_log_density(x: Rows, anchor: Matrix, kappa: float) -> Vector:
    """Compute the log-density of documents (N, D) under a topic without documents, (N,), nats relative to uniform.

    ``x`` are unit rows, ``anchor`` (D,) is the prior's natural vector, ``kappa`` the concentration of documents.
    """
    return log_density(len(anchor), kappa, square_of(anchor), np.asarray(x @ anchor, np.float64))


def novelty_of(
    x: Rows, anchor: Matrix, kappa: float, loglik: Vector, label: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Compute by how many nats a topic without documents explains documents better than all known topics, (N,).

    ``x``, ``anchor`` and ``kappa`` as in `new_topic_log_density`; ``loglik`` (N,) and ``label`` (N,) are those of
    `score`. Documents without direction have 0.
    """
    return np.where(label >= 0, new_topic_log_density(x, anchor, kappa) - loglik, 0.0)


def log_density(d: int, kappa: float, square: Vector | float, dot: Vector) -> Vector:
    """Compute log-densities relative to uniform under beliefs of squared length ``square`` and dot products ``dot``.

    [GY14, predictive density of the Bayesian mixture], in nats; ``d`` is the dimension, ``kappa`` the concentration of
    documents.
    """
    out = np.empty_like(dot)
    squares = np.full(dot.shape, square)
    _log_densities(float(d), kappa, squares.ravel(), dot.ravel(), out.ravel())
    return out


@njit(cache=True, nogil=True)
def _log_densities(d: float, kappa: float, square: Vector, dot: Vector, out: Vector) -> None:
    common, last, alone = ell(d, kappa), -1.0, 0.0
    for i in range(len(dot)):
        if square[i] != last:  # often the same for all
            last = square[i]
            alone = ell(d, np.sqrt(max(last, 0.0)))
        joint = max(square[i] + kappa * kappa + 2.0 * kappa * dot[i], 0.0)
        out[i] = ell(d, np.sqrt(joint)) - alone - common


def lowest_cosine(parts: Sequence[Rows]) -> float:
    """0 for documents with non-negative coordinates, which text is; -1 otherwise."""
    values = (part if isinstance(part, np.ndarray) else part.data for part in parts)
    return 0.0 if all(v.min(initial=0.0) >= 0.0 for v in values) else -1.0


def score_polynomial(belief: Belief) -> ScorePolynomial:
    """Expand log pi_k + log p(x | k) as a polynomial of the cosine, of the lowest of `DEGREES` that suffices.

    The score is analytic in the cosine c with singularities at c = -(gamma^2 + kappa^2 + j^2) / (2 gamma kappa), where
    j > D/2 - 1 is a zero of the Bessel function J [DLMF 10.21]. For cosines from 0 on they are far away: degree 16 at
    most is exact to `TOLERANCE`, and N K Bessel functions per batch become a few multiplications. From -1 on they come
    close where gamma and kappa are alike and far above D (A(kappa) > 0.9), and no degree suffices.
    """
    d, low = len(belief.f), belief.lowest_cosine
    for degree in DEGREES:
        coef, error = _expanded(float(d), belief.gamma, float(belief.kappa), low, *_interpolation(degree))
        if error <= TOLERANCE:
            break
    coef[0] += belief.log_weights
    half = (1.0 - low) / 2.0
    known = belief.gamma > 0.0
    centre = np.where(known, belief.gamma * (low + half), 0.0)
    scale = np.where(known, belief.gamma * half, 1.0)
    return ScorePolynomial(coef, centre, scale, error)


@lru_cache
def _interpolation(degree: int) -> tuple[Vector, NDArray[np.float64], NDArray[np.float64]]:
    """Chebyshev nodes, the matrix from values there to Chebyshev coefficients, and from these to powers.

    The two must not be multiplied together: small high coefficients would drown in the rounding of large values.
    """
    n = degree + 1
    angles = np.pi * (np.arange(n) + 0.5) / n
    transform = np.cos(np.outer(np.arange(n), angles)) * 2.0 / n
    transform[0] /= 2.0
    powers = np.zeros((n, n))
    for j in range(n):
        powers[: j + 1, j] = chebyshev.cheb2poly(np.eye(n)[j])[: j + 1]
    return np.cos(angles), transform, powers


@njit(cache=True)
def _expanded(
    d: float,
    gamma: Vector,
    kappa: float,
    lowest: float,
    nodes: Vector,
    transform: NDArray[np.float64],
    powers: NDArray[np.float64],
) -> tuple[NDArray[np.float64], float]:
    """Return coefficients (nodes, k) of log-densities relative to uniform, and their largest error at both ends."""
    n = len(nodes)
    coef, error = np.zeros((n, len(gamma))), 0.0
    values, series = np.empty(n), np.empty(n)
    for k in range(len(gamma)):
        known = ell(d, gamma[k]) + ell(d, kappa)
        for a in range(n):
            values[a] = _joint(d, gamma[k], kappa, lowest, nodes[a]) - known
        for j in range(n):
            series[j] = 0.0
            for a in range(n):
                series[j] += transform[j, a] * values[a]
        for p in range(n):
            for j in range(p, n):
                coef[p, k] += powers[p, j] * series[j]
        for end in (-1.0, 1.0):
            value = 0.0
            for p in range(n - 1, -1, -1):
                value = value * end + coef[p, k]
            error = max(error, abs(value - (_joint(d, gamma[k], kappa, lowest, end) - known)))
    return coef, error


@njit(cache=True)
def _joint(d: float, gamma: float, kappa: float, lowest: float, u: float) -> float:
    """ell(|gamma psi + kappa x|) at the cosine that u from -1 to 1 stands for."""
    cosine = lowest + (1.0 - lowest) * (u + 1.0) / 2.0
    return ell(d, math.sqrt(max(gamma * gamma + kappa * kappa + 2.0 * gamma * kappa * cosine, 0.0)))


def _exact(
    x: Rows, belief: Belief, beta: float = 1.0
) -> tuple[Matrix, Vector, NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return memberships, log-densities, the two strongest topics, their probabilities: N K Bessel functions.

    Documents ``x``, ``belief`` and ``beta`` are those of `gather`, and so is what is returned.
    """
    scores = topic_densities(x, belief.f, belief.gamma, belief.kappa) + belief.log_weights
    label = scores.argmax(axis=1).astype(np.int32)
    rows, second = np.arange(len(scores)), np.full(len(scores), -1, np.int32)
    probability, sure = tempered(scores, beta), np.zeros((len(scores), 2), np.float32)
    sure[:, 0] = probability[rows, label]
    if scores.shape[1] > 1:
        others = scores.copy()
        others[rows, label] = -np.inf
        second = others.argmax(axis=1).astype(np.int32)
        sure[:, 1] = probability[rows, second]
    loglik = softmax_rows(scores, np.ones(len(belief.gamma)), np.zeros(len(belief.gamma)), 1.0)
    resp = np.zeros((len(scores), belief.f.shape[1]), np.float32)
    resp[:, : len(belief.gamma)] = scores
    blank = ~directed(x)
    resp[blank], loglik[blank], label[blank], second[blank], sure[blank] = 0.0, 0.0, -1, -1, 0.0
    return resp, loglik, label, second, sure


@njit(cache=True)
def _memberships(top: NDArray[Any], weight: NDArray[np.float32], kp: int) -> Matrix:
    """Memberships (N, kp) from their compact form, rows summing to one again although weak topics were left out."""
    out = np.zeros((len(top), kp), np.float32)
    for i in range(len(top)):
        total = np.float32(0.0)
        for slot in range(top.shape[1]):
            total += weight[i, slot]
        for slot in range(top.shape[1]):
            if top[i, slot] >= 0:
                out[i, top[i, slot]] = weight[i, slot] / total
    return out


@njit(cache=True, nogil=True)
def _update_all(low: int, high: int, square: Vector, base: Matrix, s: Matrix, kappa: float, f: Matrix) -> None:
    for i in range(low, high):
        for j in range(f.shape[1]):
            v = base[i, j] + kappa * s[i, j]
            f[i, j] = v
            square[j] += v * v


@njit(cache=True, nogil=True)
def _update_words(
    low: int, high: int, gain: Vector, words: NDArray[np.intp], base: Matrix, s: Matrix, kappa: float, f: Matrix
) -> None:
    """Do as `_update_all` for a few words, and add up by how much the squares of f have grown."""
    for place in range(low, high):
        i = words[place]
        for j in range(f.shape[1]):
            old, v = np.float64(f[i, j]), base[i, j] + kappa * s[i, j]
            f[i, j] = v
            gain[j] += np.float64(f[i, j]) ** 2 - old * old
