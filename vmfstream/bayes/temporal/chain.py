"""The chain of directions over slices: each topic's mean takes a random step between slices.

    mu_{t,k} ~ vMF(mu_{t-1,k}, tau),  A_D(tau) = omega;    x_{t,i} ~ vMF(mu_{t, z_{t,i}}, kappa)

Beliefs are natural vectors. A belief h passes through a step by keeping the expected direction, A(|h|) omega h / |h|,
and the vMF form. With an anchor B every mu_t has the factor exp(B'mu_t) besides, the steps act on the part learnt from
data:

    p_{t+1} = conv(h_t),  h_t = p_t + kappa S_t,  b_t = conv(kappa S_{t+1} + b_{t+1}),  s_t = B + h_t + b_t

Everything accepts float32 and float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.beliefs import anchored, learn, per_column, shrunk
from vmfstream.bayes.factors.concentration import KappaFactor
from vmfstream.bayes.predictive import predictive
from vmfstream.mixtures.columns import column_norms


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Beliefs given the past and the future: ``s`` natural vectors (D, kp) per slice."""

    s: Sequence[Floats]


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
    weight = _weights(kappa, h0.shape[1])
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

    Raises
    ------
    ValueError
        A negative ``lag``.
    """
    if lag is not None and lag < 0:
        raise ValueError(f"lag must be at least 0; got {lag}")
    if not stats:
        return []
    weight = _weights(kappa, stats[0].shape[1])
    last = len(stats) - 1
    if lag is not None and lag < last:
        return [message(stats[t + 1 : t + 1 + lag], weight, omega, np.zeros_like(stats[t])) for t in range(last + 1)]
    out = [np.zeros_like(stats[last])]
    for s in reversed(stats[1:]):
        out.append(message([s], weight, omega, out[-1]))
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
    return Smoothed([v if anchor is None else anchored(anchor, v, k) for v in s])


def next_slice_density(x: Rows, p: Floats, b: Floats | None, kappa: float | KappaFactor, log_weights: Vector) -> Vector:
    """Log predictive density of documents under predicted beliefs, (N,) nats relative to uniform.

    log sum_k exp( log w_k - ell(kappa) - ell(|B + p_k|) + ell(|B + p_k + kappa x|) )

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    p : (D, kp) predicted natural vectors without the anchor
    b : (D,) anchor, or None
    kappa : float, or q(kappa)
    log_weights : (k,)
    """
    k = len(log_weights)
    f = p if b is None else anchored(b, p, k)
    return predictive(x, f, column_norms(f)[:k], kappa, log_weights)


def _live(kappa: ArrayLike, kp: int) -> int:
    return kp if np.ndim(kappa) == 0 else len(np.asarray(kappa))


def _weights(kappa: ArrayLike, kp: int) -> Vector:
    """One concentration per column; zero in the padding if there is one for each topic."""
    return per_column(kappa, kp, _live(kappa, kp))


def message(stats: Sequence[Floats], weight: Vector, omega: float, b: Floats) -> Floats:
    """Carry the backward message ``b`` (D, kp) of the last of ``stats`` to the slice before the first of them.

    ``stats`` are sums (D, kp) of slices, ``weight`` (kp,) the concentrations in them, ``omega`` the persistence in (0,
    1).
    """
    for s in reversed(stats):
        b = shrunk(*learn(b, s, weight), omega)
    return b
