"""The chain of directions over slices: each topic's mean takes a random step between slices.

    mu_{t,k} ~ vMF(mu_{t-1,k}, tau),  A_D(tau) = omega;    x_{t,i} ~ vMF(mu_{t, z_{t,i}}, kappa)

Beliefs are natural vectors. A belief h passes through a step by keeping the expected direction, A(|h|) omega h / |h|,
and the vMF form. With an anchor B every mu_t has the factor exp(B'mu_t) besides, the steps act on the part learnt from
data:

    p_{t+1} = conv(h_t),  h_t = p_t + kappa S_t,  b_t = conv(kappa S_{t+1} + b_{t+1}),  s_t = B + h_t + b_t

Filtered and smoothed beliefs have different types. Everything accepts float32 and float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, gammaln

from vmfstream.bayes.beliefs import learn, learn_anchored, shrunk, smoothed_belief
from vmfstream.bayes.concentration import point_kappa
from vmfstream.bayes.flat import expected_log_weights, predictive, shrinkage
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.directional.params import Rows
from vmfstream.mixtures.columns import Floats, column_norms, directed, softmax_rows
from vmfstream.mixtures.movmf import FROZEN_BELOW

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Beliefs given the past and the future: ``s`` natural vectors (D, kp) per slice."""

    s: Sequence[Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One sweep of the smoother: new ``resps`` and ``kappa``, and what belongs to the state before the sweep.

    ``stats`` S_t (D, kp), ``nk`` (k,) summed over the slices and ``bound`` are those of the responsibilities and the
    concentration that went in.
    """

    resps: list[Floats]
    kappa: float
    stats: list[Floats]
    nk: Vector
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class SmootherFit:
    """A fitted chain: ``resps``, ``kappa``, and of exactly these the ``stats`` S_t, ``nk`` (k,), ``h`` and ``bound``.

    ``h`` (D, kp) is the belief after the last slice without the anchor; ``trace`` the bound before each sweep at full
    temperature.
    """

    resps: list[Floats]
    kappa: float
    stats: list[Floats]
    nk: Vector
    h: Floats
    bound: float
    trace: Vector
    converged: bool


def convolve(h: Floats, omega: float) -> Floats:
    """Pass beliefs through a step: conv(h) = A^-1( A(|h|) omega ) h / |h|, column by column; zero columns stay zero.

    Parameters
    ----------
    h : (D, kp) natural vectors
    omega : float in [0, 1], expected cosine between consecutive means; 1 changes nothing

    Returns
    -------
    (D, kp), a new array of the same precision; norms are taken in double precision.
    """
    return shrunk(h, column_norms(h), omega)


def forward(stats: Sequence[Floats], kappa: ArrayLike, h0: Floats, omega: float) -> tuple[list[Floats], list[Floats]]:
    """Filter: p_1 = h0, h_t = p_t + kappa S_t, p_{t+1} = conv(h_t).

    Parameters
    ----------
    stats : S_t (D, kp) per slice, zero for slices without documents
    kappa : float or (k,)
    h0 : (D, kp), the belief already predicted to the first slice
    omega : float in [0, 1]

    Returns
    -------
    p, h : lists of (D, kp), predicted and filtered natural vectors
    """
    weight = _per_column(kappa, h0.shape[1])
    ps, hs = [], []
    p = h0
    for s in stats:
        h, norms = learn(p, s, weight)
        ps.append(p)
        hs.append(h)
        if len(hs) < len(stats):
            p = shrunk(h, norms, omega)
    return ps, hs


def backward(stats: Sequence[Floats], kappa: ArrayLike, omega: float, lag: int | None = None) -> list[Floats]:
    """What the future says: b_T = 0, b_t = conv(kappa S_{t+1} + b_{t+1}).

    Parameters
    ----------
    stats, kappa, omega : as in `forward`
    lag : int >= 0, only so many slices ahead speak; default all

    Returns
    -------
    list of (D, kp) natural vectors. Cost O(D K T) in full, O(D K T lag) with a lag.
    """
    if lag is not None and lag < 0:
        raise ValueError(f"lag must be at least 0; got {lag}")
    if not stats:
        return []
    weight = _per_column(kappa, stats[0].shape[1])
    last = len(stats) - 1
    if lag is not None and lag < last:
        return [_message(stats[t + 1 : t + 1 + lag], weight, omega, np.zeros_like(stats[t])) for t in range(last + 1)]
    out = [np.zeros_like(stats[last])]
    for s in reversed(stats[1:]):
        out.append(_message([s], weight, omega, out[-1]))
    return out[::-1]


def smooth(
    stats: Sequence[Floats],
    kappa: ArrayLike,
    h0: Floats,
    omega: float,
    anchor: Floats | None = None,
    lag: int | None = None,
    k: int | None = None,
) -> Smoothed:
    """Beliefs about every slice given all slices, s_t = B + h_t + b_t.

    Parameters
    ----------
    stats, kappa, h0, omega : as in `forward`
    anchor : (D,) natural vector B, or None
    lag : int or None, see `backward`
    k : int, number of topics, the columns that have the anchor; default all
    """
    k = _live(kappa, h0.shape[1]) if k is None else k
    s = [h + b for h, b in zip(forward(stats, kappa, h0, omega)[1], backward(stats, kappa, omega, lag), strict=True)]
    return Smoothed([_anchored(v, anchor, k) for v in s])


def next_slice_density(x: Rows, p: Floats, b: Floats | None, kappa: float, log_weights: Vector) -> Vector:
    """Log predictive density of documents under predicted beliefs, (N,) nats relative to uniform.

    log sum_k exp( log w_k - ell(kappa) - ell(|B + p_k|) + ell(|B + p_k + kappa x|) )

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    p : (D, kp) predicted natural vectors without the anchor
    b : (D,) anchor, or None
    kappa : float
    log_weights : (k,)
    """
    k = len(log_weights)
    f = _anchored(p, b, k)
    return predictive(x, f, column_norms(f)[:k], kappa, log_weights)


def smoother_sweep(
    xs: Sequence[Rows],
    resps: Sequence[Floats],
    kappa: float,
    n0: Vector,
    h0: Floats,
    anchor: Floats | None,
    omega: float,
    alpha: float,
    beta: float = 1.0,
) -> Sweep:
    """Renew the responsibilities of all slices once, from the smoothed beliefs, and the concentration.

    resp = softmax( beta (E[log pi_k] + kappa x'E[mu_{t,k}]) ),  kappa = A^-1( sum_t S_t'E[mu_t] / N )

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; may be empty
    resps : (N_t, kp) per slice, zero for rows without direction
    kappa : float > 0
    n0 : (k,), documents per topic already committed before the first slice
    h0 : (D, kp), their belief predicted to the first slice
    anchor : (D,) natural vector B, or None
    omega : float in [0, 1]
    alpha : float > 0, prior of the weights
    beta : float in (0, 1], inverse temperature; the concentration is kept while it is below 0.3

    Returns
    -------
    Sweep

    Notes
    -----
    The bound is exact for one slice, omega = 0 and omega = 1; otherwise the chain's evidence is that of the assumed
    densities and need not grow at every sweep. Cost: one product X M and one X'resp per slice, and O(D K) a slice.
    """
    k, d = len(n0), h0.shape[0]
    stats, nk = _statistics(xs, resps, k)
    ps, bound = _forward_bound(xs, resps, stats, nk, kappa, n0, h0, anchor, omega, alpha)
    weight = _per_column(kappa, h0.shape[1], k)
    b0 = np.zeros(d, h0.dtype) if anchor is None else anchor
    back = np.zeros_like(h0)
    scores: list[Floats] = []
    scales: list[Vector] = []
    t_sum = 0.0
    for t in reversed(range(len(stats))):
        s, norms, cross = smoothed_belief(b0, ps.pop(), stats[t], back, weight)
        scales.append(shrinkage(d, norms[:k]))
        t_sum += float(scales[-1] @ cross[:k])
        scores.append(dots(xs[t], s))
        if t:
            back = _message([stats[t]], weight, omega, back)
    if beta >= FROZEN_BELOW:
        kappa = float(point_kappa(d, nk.sum(), t_sum)[0])
    offset = expected_log_weights(alpha + n0 + nk)
    for x, resp, scale in zip(xs, reversed(scores), reversed(scales), strict=True):
        softmax_rows(resp, kappa * scale, offset, beta)
        resp[~directed(x)] = 0
    return Sweep(scores[::-1], kappa, stats, nk, bound)


def fit_smoother(
    xs: Sequence[Rows],
    resps0: Sequence[Floats],
    kappa: float,
    n0: Vector,
    h0: Floats,
    anchor: Floats | None,
    omega: float,
    alpha: float,
    *,
    betas: Sequence[float] = (),
    max_iter: int = 50,
    tol: float = 1e-4,
) -> SmootherFit:
    """Sweep until the bound rests; return the best state met.

    Parameters
    ----------
    xs, resps0, kappa, n0, h0, anchor, omega, alpha : as in `smoother_sweep`
    betas : inverse temperatures of sweeps done first (re-heating), one sweep each
    max_iter : int, largest number of sweeps at full temperature
    tol : float, stop when the bound per document changes by less, in nats
    """
    resps = list(resps0)
    given = (n0, h0, anchor, omega, alpha)
    for beta in betas:
        heated = smoother_sweep(xs, resps, kappa, *given, beta)
        resps, kappa = heated.resps, heated.kappa
    best: tuple[float, list[Floats], float, list[Floats], Vector] | None = None
    trace: list[float] = []
    converged = False
    while True:
        if len(trace) < max_iter:
            sweep = smoother_sweep(xs, resps, kappa, *given)
            stats, nk, bound = sweep.stats, sweep.nk, sweep.bound
        else:
            stats, nk = _statistics(xs, resps, len(n0))
            bound = _forward_bound(xs, resps, stats, nk, kappa, *given)[1]
        if best is None or bound > best[0]:
            best = (bound, resps, kappa, stats, nk)
        converged = bool(trace) and abs(bound - trace[-1]) < tol * max(float(nk.sum()), 1.0)
        trace.append(bound)
        if converged or len(trace) > max_iter:
            break
        resps, kappa = sweep.resps, sweep.kappa
    bound, resps, kappa, stats, nk = best
    h = _last_belief(stats, kappa, h0, omega)
    return SmootherFit(resps, kappa, stats, nk, h, bound, np.array(trace), converged)


def _statistics(xs: Sequence[Rows], resps: Sequence[Floats], k: int) -> tuple[list[Floats], Vector]:
    stats = [accumulate(x, resp) for x, resp in zip(xs, resps, strict=True)]
    nk = np.sum([resp.sum(axis=0, dtype=np.float64)[:k] for resp in resps], axis=0)
    return stats, np.asarray(nk, np.float64)


def _forward_bound(
    xs: Sequence[Rows],
    resps: Sequence[Floats],
    stats: Sequence[Floats],
    nk: Vector,
    kappa: float,
    n0: Vector,
    h0: Floats,
    anchor: Floats | None,
    omega: float,
    alpha: float,
) -> tuple[list[Floats], float]:
    """Predicted beliefs, and the bound: evidence of the chain, entropy of the labels, evidence of the weights.

    sum_{t,k} [ ell(|B + h_t|) - ell(|B + p_t|) ] - N ell(kappa) + sum_i H(resp_i) + log B(rho_0 + n) - log B(rho_0)
    """
    d, k = h0.shape[0], len(n0)
    weight = _per_column(kappa, h0.shape[1], k)
    b0 = np.zeros(d, h0.dtype) if anchor is None else anchor
    evidence = 0.0
    ps = []
    p = h0
    for s in stats:
        ps.append(p)
        h, norms, before, after = learn_anchored(b0, p, s, weight)
        evidence += float((log_partition(d, after[:k]) - log_partition(d, before[:k])).sum())
        p = shrunk(h, norms, omega)
    entropy = sum(float(entr(resp.astype(np.float64)).sum()) for resp in resps)
    rho0 = alpha + n0
    weights = _log_beta(rho0 + nk) - _log_beta(rho0)
    return ps, evidence - float(nk.sum()) * float(log_partition(d, kappa)) + entropy + weights


def _last_belief(stats: Sequence[Floats], kappa: float, h0: Floats, omega: float) -> Floats:
    weight = _per_column(kappa, h0.shape[1])
    h, norms = h0, None
    for s in stats:
        p = h if norms is None else shrunk(h, norms, omega)
        h, norms = learn(p, s, weight)
    return h


def _log_beta(rho: Vector) -> float:
    return float(gammaln(rho).sum() - gammaln(rho.sum()))


def _live(kappa: ArrayLike, kp: int) -> int:
    return kp if np.ndim(kappa) == 0 else len(np.asarray(kappa))


def _per_column(kappa: ArrayLike, kp: int, k: int | None = None) -> Vector:
    """One concentration per column, zero in the padding."""
    value = np.asarray(kappa, np.float64)
    out = np.zeros(kp)
    k = k if k is not None else _live(value, kp)
    out[:k] = value
    return out


def _anchored(v: Floats, anchor: Floats | None, k: int) -> Floats:
    if anchor is None:
        return v
    out = v.copy()
    out[:, :k] += anchor[:, None].astype(v.dtype, copy=False)
    return out


def _message(stats: Sequence[Floats], weight: Vector, omega: float, b: Floats) -> Floats:
    """Carry the backward message ``b`` of the last of ``stats`` to the slice before the first of them."""
    for s in reversed(stats):
        b = shrunk(*learn(b, s, weight), omega)
    return b
