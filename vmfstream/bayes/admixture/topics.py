"""Topics of the Dirichlet admixture, estimated from the sums of the vectors assigned to them.

Directions and concentrations are points, at their largest likelihood, or have beliefs as in
`vmfstream.bayes.flat.variational`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from vmfstream.arrays import Floats, Vector
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.bayes.factors.directions import directions_divergence, expected_cosines, natural_vectors, shrinkage
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import Prior
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.columns import column_norms
from vmfstream.mixtures.concentration import Treatment, own_concentration, shared_concentration
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import WeightedSums, directions


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """What vectors are scored by: slope_k f_k'x + offset_k.

    ``f`` (D, kp) are unit directions, or natural vectors of beliefs about them of lengths ``gamma`` (k,), infinite for
    points; ``cost`` is what the beliefs and their priors take from the bound.
    """

    f: Floats
    slope: Vector
    offset: Vector
    kappa: KappaFactor
    gamma: Vector
    cost: float = 0.0

    @property
    def k(self) -> int:
        """The number of topics."""
        return len(self.slope)


class Law(Protocol):
    """How topics follow from the sums of the vectors that are theirs."""

    def topics(self, sums: WeightedSums, before: Topics | None) -> Topics:
        """Return the topics at which the bound is largest given ``sums``, starting from those ``before``."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Topics of largest likelihood: mu_k = S_k / |S_k|, kappa_k = A^-1(|S_k| / n_k), or one kappa for all.

    References
    ----------
    [Li] eq. (10), here with the exact inverse, without which the bound may fall.
    """

    concentration: Concentration = "own"
    treatment: Treatment = "mle"

    def topics(self, sums: WeightedSums, before: Topics | None) -> Topics:
        """Return the topics of largest likelihood; a direction without vectors stays."""
        d, k = sums.s.shape[0], len(sums.nk)
        mu = directions(sums, np.zeros_like(sums.s) if before is None else before.f)
        if self.concentration == "shared":
            one = shared_concentration(d, sums.norms, sums.nk, float(sums.nk.sum()), self.treatment, qk=sums.qk)
            kappa = np.full(k, one)
        else:
            kappa = own_concentration(d, sums.norms, sums.nk, self.treatment, qk=sums.qk)
        return point_topics(mu, kappa)


@dataclass(frozen=True, slots=True, eq=False)
class TopicBelief:
    """Topics with beliefs about directions, under ``prior``, and about concentrations, under ``model``.

    References
    ----------
    [GY14] section 3.1 (the factors of a component), which [Li] leaves out.
    """

    prior: Prior
    model: KappaModel

    def topics(self, sums: WeightedSums, before: Topics | None) -> Topics:
        """Renew the directions given the concentrations before, then the concentrations."""
        d, k = sums.s.shape[0], len(sums.nk)
        if before is None:
            kappa = point_factor(d, shared_concentration(d, sums.norms, sums.nk, float(sums.nk.sum())))
        else:
            kappa = before.kappa
        f, gamma = natural_vectors(self.prior.b, sums.s, kappa.mean, k)
        kappa = self.model.factor(d, sums.nk, expected_cosines(f, gamma, sums.s))
        cost = directions_divergence(f, gamma, self.prior) + self.model.cost(kappa)
        slope = np.broadcast_to(kappa.mean, k) * shrinkage(d, gamma)
        return Topics(f, slope, -np.broadcast_to(kappa.ell, k), kappa, gamma, cost)


def point_topics(mu: Floats, kappa: ArrayLike) -> Topics:
    """Return topics of known directions (D, kp) and concentrations (k,)."""
    known = point_factor(mu.shape[0], kappa)
    return Topics(mu, known.mean, -known.ell, known, np.full(len(known.mean), np.inf))


def joined(parts: Sequence[Topics]) -> Topics:
    """Put the topics of several fits beside each other, as points at their directions and expected concentrations."""
    columns, kappas = [], []
    for topics in parts:
        unit = topics.f[:, : topics.k] / np.maximum(column_norms(topics.f)[: topics.k], np.finfo(np.float64).tiny)
        columns.append(unit)
        kappas.append(np.broadcast_to(topics.kappa.mean, topics.k))
    means = np.concatenate(columns, axis=1)
    mu = np.zeros((means.shape[0], padded(means.shape[1])), parts[0].f.dtype)
    mu[:, : means.shape[1]] = means
    return point_topics(mu, np.concatenate(kappas))
