"""Estimates of the concentration of vMF topics from their resultants, one function per formula.

A topic with weight n_k = sum_i resp_ik and resultant S_k = sum_i resp_ik x_i has the mean resultant length
rbar_k = |S_k| / n_k. With far more words than documents rbar is biased upwards, E rbar^2 = A^2 + (1 - A^2) / n, so the
maximum-likelihood estimate is too tight; ``marginal`` and ``debiased`` remove that bias.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from vmfstream.arrays import Vector
from vmfstream.directional.bessel import R_MIN, inv_bessel_ratio, kappa_bounds, largest_resultant
from vmfstream.directional.bessel_scalars import terms
from vmfstream.directional.inverses import banerjee, newton2

Treatment: TypeAlias = Literal["marginal", "mle", "banerjee", "newton2", "debiased", "fixed"]

TREATMENTS: tuple[Treatment, ...] = ("marginal", "mle", "banerjee", "newton2", "debiased", "fixed")


def shared_concentration(
    d: int,
    norms: ArrayLike,
    nk: ArrayLike,
    n: float,
    treatment: Treatment = "marginal",
    *,
    qk: ArrayLike | None = None,
    fixed: float | None = None,
) -> float:
    """Estimate one concentration for all topics.

    Parameters
    ----------
    d : int, dimension >= 2
    norms : (k,), resultant lengths |S_k|
    nk : (k,), weights n_k
    n : float, total weight N
    treatment : ``mle`` kappa = A^-1(sum |S_k| / N); ``banerjee`` and ``newton2`` its approximations; ``marginal`` the
        root of N A(kappa) = sum_k |S_k| A(kappa |S_k|), the means integrated out; ``debiased`` A^-1 of the pooled mean
        cosine between different documents of a topic; ``fixed`` returns ``fixed``.
    qk : (k,), sums of squared responsibilities (``debiased`` only; default ``nk``, right for hard labels)
    fixed : float > 0, the value for ``fixed``

    Returns
    -------
    float, between A^-1(1e-6) and A^-1(0.9999) or, if that is larger, 1e6.

    Raises
    ------
    ValueError
        An unknown treatment, or ``fixed`` without a positive value.

    References
    ----------
    [BDGS05] eq. (4.4) (``banerjee``), [Sra] eq. (4.5) (``newton2``), [GY14] section 3 (shared concentration).
    """
    norms, nk = np.asarray(norms, np.float64), np.asarray(nk, np.float64)
    if treatment == "fixed":
        return float(_given(fixed))
    if n <= 0:
        return kappa_bounds(d)[0]
    if treatment == "marginal":
        return _marginal(d, norms, float(n))
    if treatment == "debiased":
        return float(inv_bessel_ratio(d, np.clip(debiased_resultant(norms, nk, qk), R_MIN, largest_resultant(d))))
    return float(_from_resultant(d, np.asarray(norms.sum() / n), treatment))


def own_concentration(
    d: int,
    norms: ArrayLike,
    nk: ArrayLike,
    treatment: Treatment = "marginal",
    *,
    qk: ArrayLike | None = None,
    fixed: float | None = None,
) -> Vector:
    """Estimate a concentration for every topic.

    As `shared_concentration`, topic by topic: ``mle`` kappa_k = A^-1(|S_k| / n_k); ``marginal`` the root of n_k
    A(kappa) = |S_k| A(kappa |S_k|), the lower limit where |S_k|^2 <= n_k; ``debiased`` A^-1( sqrt((|S_k|^2 - q_k) /
    (n_k^2 - q_k)) ). Arguments as in `shared_concentration`.

    Returns
    -------
    (k,) float64, the lower limit for topics without weight.
    """
    norms, nk = np.asarray(norms, np.float64), np.asarray(nk, np.float64)
    if treatment == "fixed":
        return np.full(len(nk), _given(fixed))
    if treatment == "marginal":
        return np.array([_marginal(d, norms[k : k + 1], nk[k]) for k in range(len(nk))])
    if treatment == "debiased":
        rbar = np.sqrt(np.maximum(_mean_cosine(norms, nk, nk if qk is None else np.asarray(qk, np.float64)), 0.0))
        return np.asarray(inv_bessel_ratio(d, np.clip(rbar, R_MIN, largest_resultant(d))), np.float64)
    rbar = np.divide(norms, nk, out=np.zeros_like(nk), where=nk > 0)
    return _from_resultant(d, rbar, treatment)


def debiased_resultant(norms: ArrayLike, nk: ArrayLike, qk: ArrayLike | None = None) -> float:
    """Pooled A(kappa) of topics from the mean cosine between *different* documents of a topic.

    A^2 = sum_k n_k (|S_k|^2 - q_k) / (n_k^2 - q_k) / sum_k n_k over the topics with more than one effective document.

    Parameters
    ----------
    norms, nk, qk : (k,), |S_k|, n_k and sums of squared responsibilities (default ``nk``: hard labels)

    Returns
    -------
    float in [0, 1), 0 if no topic holds two documents or documents repel each other.
    """
    norms, nk = np.asarray(norms, np.float64), np.asarray(nk, np.float64)
    qk = nk if qk is None else np.asarray(qk, np.float64)
    spread_out = nk**2 > qk * (1 + 1e-9)
    if not spread_out.any():
        return 0.0
    squared = float(np.average(_mean_cosine(norms, nk, qk)[spread_out], weights=nk[spread_out]))
    return float(np.sqrt(min(max(squared, 0.0), 1.0)))


def _from_resultant(d: int, rbar: Vector, treatment: Treatment) -> Vector:
    rbar = np.clip(rbar, R_MIN, largest_resultant(d))
    if treatment == "mle":
        return np.asarray(inv_bessel_ratio(d, rbar), np.float64)
    if treatment == "banerjee":
        return banerjee(d, rbar)
    if treatment == "newton2":
        return newton2(d, rbar)
    raise ValueError(f"treatment must be one of {', '.join(TREATMENTS)}; got {treatment!r}")


def _mean_cosine(norms: Vector, nk: Vector, qk: Vector) -> Vector:
    pairs = nk**2 - qk
    return np.divide(norms**2 - qk, pairs, out=np.zeros_like(nk), where=nk**2 > qk * (1 + 1e-9))


def _given(fixed: float | None) -> float:
    if fixed is None or not (np.isfinite(fixed) and fixed > 0):
        raise ValueError(f"treatment 'fixed' needs a positive finite concentration; got {fixed}")
    return float(fixed)


def _marginal(d: int, norms: Vector, n: float) -> float:
    low = kappa_bounds(d)[0]
    if n <= 0 or np.sum(norms**2) <= n:
        return low
    high = float(inv_bessel_ratio(d, np.clip(norms.sum() / n, R_MIN, largest_resultant(d))))
    return float(_marginal_root(d, norms, n, low, high))


@njit(cache=True)
def _marginal_root(d: int, norms: Vector, n: float, low: float, high: float) -> float:
    """Root of g(kappa) = n A(kappa) - sum_k |S_k| A(kappa |S_k|) between ``low`` and ``high``, g(low) < 0."""
    if _marginal_gap(d, norms, n, high)[0] <= 0.0:
        return high
    u_low, u_high = np.log(low), np.log(high)
    u = u_high
    for _ in range(100):
        gap, slope = _marginal_gap(d, norms, n, np.exp(u))
        if gap > 0.0:
            u_high = u
        else:
            u_low = u
        step = u - gap / (slope * np.exp(u)) if slope > 0.0 else u_low
        if not u_low < step < u_high:
            step = 0.5 * (u_low + u_high)
        if abs(step - u) < 1e-13 * max(1.0, abs(u)):
            return float(np.exp(step))
        u = step
    return float(np.exp(u))


@njit(cache=True)
def _marginal_gap(d: int, norms: Vector, n: float, kappa: float) -> tuple[float, float]:
    _, a, a_prime, _ = terms(d, kappa)
    gap, slope = n * a, n * a_prime
    for s in norms:
        _, a, a_prime, _ = terms(d, kappa * s)
        gap -= s * a
        slope -= s * s * a_prime
    return gap, slope
