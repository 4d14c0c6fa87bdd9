"""How much is known: credible intervals of concentrations and weights, credible caps of directions."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from vmfstream.bayes.concentration import KappaRule, kappa_quantiles
from vmfstream.bayes.densities import grid_quantiles, located_grid
from vmfstream.bayes.flat import FlatFit

Vector: TypeAlias = NDArray[np.float64]


def central(mass: float) -> Vector:
    """Return the two levels between which a central interval holds the probability ``mass``."""
    if not 0 < mass < 1:
        raise ValueError(f"mass: expected a probability in (0, 1), got {mass}")
    return np.array([0.5 - 0.5 * mass, 0.5 + 0.5 * mass])


def kappa_interval(
    fit: FlatFit, rule: KappaRule | float | Vector, mass: float = 0.95, seen: tuple[ArrayLike, ArrayLike] = (0.0, 0.0)
) -> Vector:
    """Central credible interval of each concentration, (g, 2), under the factor that ``rule`` gave ``fit``.

    A known or point value has an interval without width.

    Parameters
    ----------
    fit : FlatFit
    rule : as in `vmfstream.bayes.flat.fit`
    mass : float in (0, 1), probability of the interval
    seen : as in `vmfstream.bayes.flat.fit`
    """
    levels = central(mass)
    d = fit.f.shape[0]
    if isinstance(rule, str) and rule in ("quadrature", "sampling") and fit.law is not None:
        n = (fit.nk if len(fit.t) == len(fit.nk) else fit.nk.sum(keepdims=True)) + np.asarray(seen[0], np.float64)
        return kappa_quantiles(d, n, fit.t + np.asarray(seen[1], np.float64), fit.law, levels)
    spread = np.sqrt(fit.kappa.log_var)[:, None]
    return np.asarray(np.exp(fit.kappa.log_mean[:, None] + spread * ndtri(levels)))


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
    edge = 1e-9

    def radius(value: float) -> float:
        def exponent(phi: Vector) -> Vector:
            return np.asarray((d - 2) * np.log(np.sin(phi)) - 2 * value * np.sin(phi / 2) ** 2)

        return float(grid_quantiles(*located_grid(exponent, edge, np.pi - edge), mass))

    return np.array([radius(float(value)) for value in np.atleast_1d(np.asarray(gamma, np.float64))])
