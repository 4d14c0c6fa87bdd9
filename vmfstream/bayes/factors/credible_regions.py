"""Credible regions of factors: intervals of shares, caps of directions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.univariate import grid_quantiles, located_grid
from vmfstream.directional.bessel import vmf_terms

NORMAL_FROM = 1000
"""Dimension from which on cos phi is taken for normal, with mean A and variance A'; the radius errs by 0.5 / D."""


def central(mass: float) -> Vector:
    """Return the two levels between which a central interval holds the probability ``mass``."""
    if not 0 < mass < 1:
        raise ValueError(f"mass: expected a probability in (0, 1), got {mass}")
    return np.array([0.5 - 0.5 * mass, 0.5 + 0.5 * mass])


def share_intervals(n: ArrayLike, alpha: float = 1.0, mass: float = 0.95) -> Vector:
    """Central credible intervals (k, 2) of the shares of topics with ``n`` (k,) documents, under Dir(alpha + n).

    ``alpha`` > 0 is the prior of a topic; each interval holds the probability ``mass`` in (0, 1). A share alone has the
    distribution Beta(alpha + n_k, sum of the others').
    """
    rho = np.asarray(n, np.float64) + alpha
    return np.asarray(betaincinv(rho[:, None], (rho.sum() - rho)[:, None], central(mass)))


def angular_radius(d: int, gamma: ArrayLike, mass: float = 0.95) -> Vector:
    """Angle, in radians, of the cap about psi that holds the probability ``mass`` of vMF(psi, gamma), (g,).

    The angle phi with psi has the density exp(gamma cos phi) sin^(D-2) phi, up to a constant.

    Parameters
    ----------
    d : int, dimension >= 2
    gamma : (g,), concentrations >= 0
    mass : float in (0, 1)
    """
    central(mass)
    given = np.atleast_1d(np.asarray(gamma, np.float64))
    if d >= NORMAL_FROM:
        terms = vmf_terms(d, given)
        cosine = terms.a + ndtri(1 - mass) * np.sqrt(terms.a_prime)
        return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return np.array([_radius(d, float(value), mass) for value in given])


def _radius(d: int, gamma: float, mass: float) -> float:
    edge = 1e-9

    def exponent(phi: Vector) -> Vector:
        return np.asarray((d - 2) * np.log(np.sin(phi)) - 2 * gamma * np.sin(phi / 2) ** 2)

    return float(grid_quantiles(*located_grid(exponent, edge, np.pi - edge), mass))
