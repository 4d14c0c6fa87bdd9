"""Empirical Bayes: hyperparameters at which the evidence lower bound is largest, given the posterior.

Each step raises the bound. Variance components can collapse to a boundary, so all of them have limits; a value that
starts beyond its limit may stay there, for to move it would lower the bound.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.special import digamma, polygamma

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio

Hyperparameter: TypeAlias = Literal["alpha", "mu0", "c0", "kappa"]
"""alpha; mu_0 and C_0, the mean and the concentration of the directions; m and s2, those of log kappa."""

ALPHA_LIMITS = (1e-3, 1e2)
"""A single draw of weights says little about alpha."""

COSINE_MAX = 0.95
"""Largest expected cosine between topics and their common mean."""

S2_MIN = 1e-3
"""Smallest variance of log kappa."""

ENOUGH = 3
"""Fewest topics that tell how much topics differ."""


def check_hyperparameters(learn: Collection[str]) -> None:
    """Raise ValueError for a name that is no hyperparameter."""
    for name in learn:
        if name not in get_args(Hyperparameter):
            raise ValueError(f"learn must name some of {', '.join(get_args(Hyperparameter))}; got {name!r}")


def learned_alpha(rho: Vector, alpha: float) -> float:
    """Maximise -KL(Dir(rho) || Dir(alpha 1)) over alpha: `best_alpha` for weights with the posterior ``rho`` (k,)."""
    return best_alpha(len(rho), float((digamma(rho) - digamma(rho.sum())).sum()), alpha)


def best_alpha(k: int, given: float, alpha: float) -> float:
    """Maximise E[log Dir(pi | alpha 1)] over alpha, within `ALPHA_LIMITS`.

    The root of g(alpha) = K (Psi(K alpha) - Psi(alpha)) + sum_k E[log pi_k] by Newton in log alpha.

    Parameters
    ----------
    k : int, number of weights
    given : float, sum_k E[log pi_k], the mean of it if there are several draws
    alpha : float > 0, where to start
    """
    low, high = min(ALPHA_LIMITS[0], alpha), max(ALPHA_LIMITS[1], alpha)
    for _ in range(100):
        slope = float(k * (digamma(k * alpha) - digamma(alpha))) + given
        curvature = float(k**2 * polygamma(1, k * alpha) - k * polygamma(1, alpha))
        falling = alpha * curvature + slope
        step = -slope / falling if falling < 0 else np.sign(slope)
        new = float(np.clip(alpha * np.exp(np.clip(step, -2, 2)), low, high))
        if abs(new - alpha) <= 1e-12 * alpha:
            break
        alpha = new
    return alpha


def learned_mean(expected: Vector, b: Vector) -> Vector:
    """Turn the common prior b = C_0 mu_0 (D,) to the sum of the expected directions E[mu_k], (D,), C_0 kept."""
    norm = float(np.linalg.norm(expected))
    return expected * (float(np.linalg.norm(b)) / norm) if norm > 0 else b


def learned_c0(d: int, expected: Vector, b: Vector, k: int) -> Vector:
    """Give b = C_0 mu_0 the length C_0 = A^-1( mu_0' sum_k E[mu_k] / K ), at most A^-1(0.95).

    Parameters
    ----------
    d : int, dimension
    expected : (D,), sum_k E[mu_k]
    b : (D,), the prior now; unchanged if K < 3, where C_0 has no finite maximum, or if it has no direction
    k : int, number of topics
    """
    c0 = float(np.linalg.norm(b))
    if k < ENOUGH or c0 == 0:
        return b
    cosine = float(expected @ b) / (c0 * k)
    limit = max(COSINE_MAX, float(bessel_ratio(d, c0)))
    return b * (float(inv_bessel_ratio(d, np.clip(cosine, 0.0, limit))) / c0)


def learned_kappa_prior(factor: KappaFactor, nk: Vector, prior: KappaPrior) -> KappaPrior:
    """Set m = mean E[u_k] and s2 = mean( Var[u_k] + (E[u_k] - m)^2 ) over topics with more than one document.

    Parameters
    ----------
    factor : KappaFactor of shape (k,); a shared concentration tells nothing and leaves the prior as it is
    nk : (k,), expected numbers of documents
    prior : KappaPrior, returned unless three topics hold more than one document
    """
    occupied = nk > 1
    if len(factor.mean) != len(nk) or occupied.sum() < ENOUGH:
        return prior
    m = float(factor.log_mean[occupied].mean())
    s2 = float((factor.log_var[occupied] + (factor.log_mean[occupied] - m) ** 2).mean())
    return KappaPrior(m, max(s2, min(S2_MIN, prior.s2)))
