"""Uncertainty of concentrations and weights, from the factors of a fit or from Gibbs draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, kappa_quantiles
from vmfstream.bayes.factors.credible_regions import central
from vmfstream.bayes.factors.weights import Weights
from vmfstream.bayes.flat.gibbs import GibbsFit
from vmfstream.bayes.flat.variational import FlatFit


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
