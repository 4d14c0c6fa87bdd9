"""How much is known: credible intervals of concentrations and weights, credible caps of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv, ndtri, softmax

from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, kappa_quantiles
from vmfstream.bayes.factors.densities import grid_quantiles, located_grid
from vmfstream.bayes.factors.weights import Weights
from vmfstream.bayes.flat.gibbs import GibbsFit
from vmfstream.bayes.flat.variational import FlatFit
from vmfstream.directional.bessel import vmf_terms

Vector: TypeAlias = NDArray[np.float64]


NORMAL_FROM = 1000
"""Dimension from which on cos phi is taken for normal, with mean A and variance A'; the radius errs by 0.5 / D."""


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


def tempered(scores: Vector, beta: float = 1.0) -> Vector:
    """Probabilities softmax(beta scores) of the topics for each document, (N, k).

    In high dimension a small difference of cosines is worth many nats, so that untempered probabilities are nearly all
    0 or 1 and right less often than they say; ``beta`` < 1 takes that back, without changing which topic is first.

    Parameters
    ----------
    scores : (N, k), log weight plus log-density of each topic
    beta : float > 0, inverse temperature of the output
    """
    if not beta > 0.0:
        raise ValueError(f"beta: expected a number above 0, got {beta}")
    return np.asarray(softmax(beta * np.asarray(scores, np.float64), axis=1))


def fitted_temper(scores: Vector, labels: NDArray[np.integer]) -> float:
    """Inverse temperature under which known topics of documents are likeliest, between 1e-4 and 10.

    Parameters
    ----------
    scores : (N, k), see `tempered`; of documents that the model was not fitted to
    labels : (N,), the topic of each, 0 to k - 1

    Notes
    -----
    The mean of log softmax(beta scores)[label] is concave in beta.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels)
    if scores.ndim != 2 or labels.shape != scores.shape[:1] or not len(labels):
        raise ValueError(f"labels: expected one for each of {len(scores)} documents, got the shape {labels.shape}")
    if labels.min() < 0 or labels.max() >= scores.shape[1]:
        raise ValueError(
            f"labels: expected numbers from 0 to {scores.shape[1] - 1}, got {labels.min()} to {labels.max()}"
        )
    behind = scores - scores.max(axis=1, keepdims=True)
    own = behind[np.arange(len(labels)), labels]

    def loss(log_beta: float) -> float:
        beta = np.exp(log_beta)
        return float((np.log(np.exp(beta * behind).sum(axis=1)) - beta * own).mean())

    found = minimize_scalar(loss, bounds=(np.log(1e-4), np.log(10.0)), method="bounded", options={"xatol": 1e-4})
    return float(np.exp(found.x))


def share_intervals(n: ArrayLike, alpha: float = 1.0, mass: float = 0.95) -> Vector:
    """Central credible intervals (k, 2) of the shares of topics with ``n`` (k,) documents, under Dir(alpha + n).

    A share alone has the distribution Beta(alpha + n_k, sum of the others').
    """
    rho = np.asarray(n, np.float64) + alpha
    return np.asarray(betaincinv(rho[:, None], (rho.sum() - rho)[:, None], central(mass)))


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
