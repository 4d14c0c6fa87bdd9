"""How much is known: credible intervals of concentrations and weights, credible caps of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from vmfstream.bayes.concentration import KappaFactor, KappaPrior, KappaRule, kappa_quantiles
from vmfstream.bayes.densities import grid_quantiles, located_grid
from vmfstream.bayes.flat import FlatFit
from vmfstream.bayes.gibbs import GibbsFit
from vmfstream.bayes.weights import Weights

Vector: TypeAlias = NDArray[np.float64]


class Uncertainty(Protocol):
    """What is known about concentrations and weights."""

    def concentrations(self, mass: float) -> Vector:
        """Central credible intervals (g, 2) that hold the probability ``mass``; g = 1 (shared) or k."""
        ...

    def weights(self, mass: float) -> Vector:
        """Central credible intervals (k, 2) that hold the probability ``mass``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FactorUncertainty:
    """By the factors of a variational fit.

    Intervals of concentrations are those of the coordinate-optimal factor for ``"quadrature"`` and ``"sampling"``, of
    the normal factor of log kappa for ``"lognormal"`` and ``"bounding"``; without width for points and known values.
    """

    d: int
    rule: KappaRule | float | Vector
    factor: KappaFactor
    n: Vector
    t: Vector
    law: KappaPrior | None
    shares: Weights

    def concentrations(self, mass: float) -> Vector:
        """Quantiles of each factor of kappa."""
        levels = central(mass)
        if self.law is not None and isinstance(self.rule, str) and self.rule in ("quadrature", "sampling"):
            return kappa_quantiles(self.d, self.n, self.t, self.law, levels)
        spread = np.sqrt(self.factor.log_var)[:, None]
        return np.asarray(np.exp(self.factor.log_mean[:, None] + spread * ndtri(levels)))

    def weights(self, mass: float) -> Vector:
        """Quantiles of the factor of the weights."""
        return self.shares.quantiles(central(mass))


@dataclass(frozen=True, slots=True, eq=False)
class DrawnUncertainty:
    """By draws ``kappas`` (S, g) and ``pis`` (S, k)."""

    kappas: Vector
    pis: Vector

    def concentrations(self, mass: float) -> Vector:
        """Quantiles of the draws."""
        return np.asarray(np.quantile(self.kappas, central(mass), axis=0).T)

    def weights(self, mass: float) -> Vector:
        """Quantiles of the draws."""
        return np.asarray(np.quantile(self.pis, central(mass), axis=0).T)


def of_factors(fit: FlatFit, rule: KappaRule | float | Vector) -> FactorUncertainty:
    """Return what a variational fit whose concentrations were found by ``rule`` says."""
    n = fit.nk if len(fit.t) == len(fit.nk) else fit.nk.sum(keepdims=True)
    return FactorUncertainty(fit.f.shape[0], rule, fit.kappa, n, fit.t, fit.law, fit.weights)


def of_draws(fit: GibbsFit) -> DrawnUncertainty:
    """Return what the draws of a Gibbs sampler say."""
    return DrawnUncertainty(fit.kappas, fit.pis)


def central(mass: float) -> Vector:
    """Return the two levels between which a central interval holds the probability ``mass``."""
    if not 0 < mass < 1:
        raise ValueError(f"mass: expected a probability in (0, 1), got {mass}")
    return np.array([0.5 - 0.5 * mass, 0.5 + 0.5 * mass])


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
