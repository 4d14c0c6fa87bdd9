"""Options of the inference of concentrations: the rule, shared or own, and statistics of earlier documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, kappa_factor, point_factor
from vmfstream.bayes.factors.empirical_bayes import learned_kappa_prior
from vmfstream.directional.bessel import largest_resultant
from vmfstream.mixtures.options import Concentration


@dataclass(frozen=True, slots=True, eq=False)
class KappaModel:
    """How concentrations are inferred: the ``rule`` or known values, one for all topics or one each.

    All rules but ``"point"`` need the ``prior``, ``"sampling"`` the ``rng`` too. ``n_seen``, ``t_seen``: statistics of
    earlier documents, (1,) if shared, (k,) if own.
    """

    rule: KappaRule | float | Vector = "point"
    prior: KappaPrior | None = None
    concentration: Concentration = "shared"
    n_seen: Vector = field(default_factory=lambda: np.zeros(1))
    t_seen: Vector = field(default_factory=lambda: np.zeros(1))
    rng: np.random.Generator | None = None

    @property
    def known(self) -> Vector | None:
        """The values, if they are not to be inferred."""
        return None if isinstance(self.rule, str) else np.atleast_1d(np.asarray(self.rule, np.float64))

    @property
    def noisy(self) -> bool:
        """Whether bounds carry the noise of draws."""
        return isinstance(self.rule, str) and self.rule == "sampling"

    def grouped(self, per_topic: Vector) -> Vector:
        """Sum over topics that share a concentration."""
        return per_topic.sum(keepdims=True) if self.concentration == "shared" else per_topic

    def factor(self, d: int, n: Vector, t: Vector) -> KappaFactor:
        """q(kappa) given documents ``n`` (k,) and T = S'E[mu] ``t`` (k,) of the topics, in ``d`` dimensions.

        Documents that are all the same, for which T is n up to rounding, count as `largest_resultant`.
        """
        n_total, t_total = self.n_seen + self.grouped(n), self.t_seen + self.grouped(t)
        t_total = np.minimum(t_total, largest_resultant(d) * n_total)
        if not isinstance(self.rule, str):
            return point_factor(d, np.broadcast_to(np.asarray(self.rule, np.float64), n_total.shape))
        return kappa_factor(d, n_total, t_total, self.prior, self.rule, self.rng)

    def cost(self, factor: KappaFactor) -> float:
        """What the bound loses to the prior and gains from earlier documents."""
        return float((factor.kl + self.n_seen * factor.ell - self.t_seen * factor.mean).sum())

    def earlier(self, d: int) -> float:
        """What earlier documents alone give to the bound in ``d`` dimensions: -`cost` without others, or 0."""
        if not self.n_seen.any():
            return 0.0
        nothing = np.zeros_like(self.n_seen)
        return -self.cost(self.factor(d, nothing, nothing))

    def learned(self, d: int, n: Vector, t: Vector, factor: KappaFactor) -> tuple[KappaModel, KappaFactor]:
        """Learn the prior, unless topics left out of the estimate would lose more than the others gain.

        ``d``, ``n`` and ``t`` as in `factor`; ``factor`` is what it returned for them.
        """
        if self.prior is None:
            return self, factor
        after = replace(self, prior=learned_kappa_prior(factor, n, self.prior))
        renewed = after.factor(d, n, t)

        def worth(q: KappaFactor) -> float:
            return float(self.grouped(t) @ q.mean - self.grouped(n) @ q.ell) - self.cost(q)

        return (after, renewed) if worth(renewed) >= worth(factor) else (self, factor)
