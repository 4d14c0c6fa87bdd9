"""The variational factor of a concentration: its posterior under a log-normal prior, by adaptive quadrature.

With u = log kappa ~ N(m, s2), n documents and T = S'E[mu], the coordinate-optimal factor is
q(u) ~ exp( -n ell_D(e^u) + T e^u - (u - m)^2 / (2 s2) ). In high dimension its width is a hundredth or less, so the
grid has to find it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.directional.bessel import R_MAX, R_MIN, inv_bessel_ratio, log_partition

Vector: TypeAlias = NDArray[np.float64]

KappaRule: TypeAlias = Literal["quadrature", "point"]

GRID = 400
"""Points of the trapezoid rule, which converges exponentially for these smooth, vanishing integrands."""

NEGLIGIBLE = np.log(1e-25)


@dataclass(frozen=True, slots=True, eq=False)
class KappaFactor:
    """q(kappa) of one or several concentrations, arrays of shape (g,): g = 1 (shared) or k (own).

    ``mean`` = E[kappa], ``ell`` = E[ell_D(kappa)], ``log_mean`` and ``log_var`` the moments of log kappa, ``kl`` =
    KL(q(kappa) || prior), 0 for point estimates.
    """

    mean: Vector
    ell: Vector
    log_mean: Vector
    log_var: Vector
    kl: Vector


@dataclass(frozen=True, slots=True)
class KappaPrior:
    """log kappa ~ N(m, s2)."""

    m: float
    s2: float


def point_factor(d: int, kappa: ArrayLike) -> KappaFactor:
    """Wrap concentrations that are known, or estimated as points."""
    mean = np.atleast_1d(np.asarray(kappa, np.float64))
    zero = np.zeros_like(mean)
    return KappaFactor(mean, np.atleast_1d(log_partition(d, mean)), np.log(mean), zero, zero)


def point_kappa(d: int, n: ArrayLike, t: ArrayLike) -> Vector:
    """Maximise T kappa - n ell_D(kappa): kappa = A^-1(T / n), within the limits that every estimate has.

    Parameters
    ----------
    d : int
    n, t : (g,), numbers of documents and T = sum_k S_k'E[mu_k]; the lower limit where n = 0
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    ratio = np.divide(t, n, out=np.zeros_like(n), where=n > 0)
    return np.asarray(inv_bessel_ratio(d, np.clip(ratio, R_MIN, R_MAX)), np.float64)


def quadrature_factor(d: int, n: ArrayLike, t: ArrayLike, prior: KappaPrior) -> KappaFactor:
    """Normalise q(u) ~ exp( -n ell_D(e^u) + T e^u - (u - m)^2 / (2 s2) ) on an adaptive grid.

    Parameters
    ----------
    d : int, dimension >= 2
    n, t : (g,), numbers of documents and T = sum_k S_k'E[mu_k]
    prior : KappaPrior

    Returns
    -------
    KappaFactor of shape (g,); the prior's own moments where n = 0.

    References
    ----------
    [GY14] section 3.1 (the factor of kappa), here integrated instead of sampled.
    """
    n, t = np.atleast_1d(np.asarray(n, np.float64)), np.atleast_1d(np.asarray(t, np.float64))
    cells = [_integrate(d, float(a), float(b), prior) for a, b in zip(n, t, strict=True)]
    return KappaFactor(*(np.array(column) for column in zip(*cells, strict=True)))


def _integrate(d: int, n: float, t: float, prior: KappaPrior) -> tuple[float, float, float, float, float]:
    m, sd = prior.m, float(np.sqrt(prior.s2))
    u_ml = float(np.log(point_kappa(d, n, t)[0])) if n > 0 else m
    low, high = min(m - 12 * sd, u_ml - 1), max(m + 12 * sd, u_ml + 1)
    # the exponent may have two peaks (narrow prior, distant data): the first scan has to see both
    while True:
        u = np.linspace(low, high, GRID)
        kappa = np.exp(u)
        ell = np.asarray(log_partition(d, kappa))
        f = -n * ell + t * kappa - (u - m) ** 2 / (2 * prior.s2)
        top = f.max()
        inside = np.flatnonzero(f - top > NEGLIGIBLE)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, GRID - 1)
        if last - first > 0.5 * GRID:
            break
        low, high = float(u[first]), float(u[last])
    w = np.exp(f - top)
    total = w.sum()
    log_z = top + np.log(total * (u[1] - u[0])) - 0.5 * np.log(2 * np.pi * prior.s2)
    w /= total
    mean, mean_ell, log_mean = float(w @ kappa), float(w @ ell), float(w @ u)
    log_var = float(w @ (u - log_mean) ** 2)
    kl = -(log_z + n * mean_ell - t * mean)
    return mean, mean_ell, log_mean, log_var, float(kl)
