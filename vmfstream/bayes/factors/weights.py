"""Priors of topic weights, and their posteriors given expected numbers of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, digamma, gammaln

from vmfstream.arrays import Vector


class Weights(Protocol):
    """A posterior of the weights pi of k topics."""

    @property
    def expected_log(self) -> Vector:
        """E[log pi_k], (k,)."""
        ...

    @property
    def mean(self) -> Vector:
        """E[pi_k], (k,)."""
        ...

    @property
    def kl(self) -> float:
        """Divergence from the prior."""
        ...

    def quantiles(self, levels: ArrayLike) -> Vector:
        """Quantiles of each pi_k, (k, number of ``levels``)."""
        ...


class WeightsPrior(Protocol):
    """A prior of the weights of k topics."""

    def posterior(self, nk: Vector) -> Weights:
        """Return the posterior that is best given expected numbers of documents (k,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet:
    """Weights pi ~ Dir(alpha), alpha (k,)."""

    alpha: Vector

    def posterior(self, nk: Vector) -> DirichletWeights:
        """Return Dir(alpha + n)."""
        return DirichletWeights(self.alpha + nk, self.alpha)


@dataclass(frozen=True, slots=True, eq=False)
class DirichletWeights:
    """The posterior Dir(rho) under the prior Dir(alpha), both (k,)."""

    rho: Vector
    alpha: Vector

    @property
    def expected_log(self) -> Vector:
        """Psi(rho_k) - Psi(sum rho)."""
        return expected_log_weights(self.rho)

    @property
    def mean(self) -> Vector:
        """rho_k / sum rho."""
        return np.asarray(self.rho / self.rho.sum())

    @property
    def kl(self) -> float:
        """KL(Dir(rho) || Dir(alpha))."""
        return dirichlet_divergence(self.rho, self.alpha)

    def quantiles(self, levels: ArrayLike) -> Vector:
        """Quantiles of pi_k ~ Beta(rho_k, sum rho - rho_k); one topic alone has all the weight."""
        if len(self.rho) == 1:
            return np.ones((1, np.size(levels)))
        rho = self.rho[:, None]
        return np.asarray(betaincinv(rho, self.rho.sum() - rho, np.atleast_1d(np.asarray(levels, np.float64))))


def expected_log_weights(rho: ArrayLike) -> Vector:
    """Return E[log pi_k] = digamma(rho_k) - digamma(sum rho)."""
    rho = np.asarray(rho, np.float64)
    return np.asarray(digamma(rho) - digamma(rho.sum()), np.float64)


def dirichlet_divergence(rho: Vector, alpha: ArrayLike) -> float:
    """KL(Dir(rho) || Dir(alpha))."""
    alpha = np.broadcast_to(np.asarray(alpha, np.float64), rho.shape)
    log_b = gammaln(rho.sum()) - gammaln(rho).sum() - gammaln(alpha.sum()) + gammaln(alpha).sum()
    return float(log_b + (rho - alpha) @ expected_log_weights(rho))
