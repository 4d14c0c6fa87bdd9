"""Draw concentrations in the multilevel sampler: those of Dirichlet processes and of directions."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from vmfstream.arrays import Vector
from vmfstream.bayes.factors.univariate import ConcentrationTarget
from vmfstream.bayes.multilevel.contexts import concentration_range

Gamma: TypeAlias = tuple[float, float]
"""Shape and rate."""

ALPHA, SPREAD, ETA, REST = 0, 1, 2, 3
"""Places in ``levels``: concentrations of clusters, of topics in a cluster and of topics, and the share of new ones."""


class Laws(NamedTuple):
    """Gamma priors of the concentrations of clusters (alpha), of topics in a cluster (v) and of topics (eta)."""

    alpha: Gamma = (1.0, 1.0)
    spread: Gamma = (1.0, 1.0)
    eta: Gamma = (1.0, 1.0)


def resampled(level: float, n: float, parts: int, law: Gamma, rng: np.random.Generator) -> float:
    """Draw the concentration of a Dirichlet process that put ``n`` things into ``parts`` (Escobar and West 1995).

    ``level`` > 0 is the one so far, ``law`` shape and rate of its Gamma prior; ``rng`` draws.
    """
    shape, rate = law
    rate -= np.log(rng.beta(level + 1.0, n))
    below = rng.random() * (shape + parts - 1.0 + n * rate) > shape + parts - 1.0
    return float(max(rng.gamma(shape + parts - below) / rate, 1e-8))


def drawn_kappa(law: Vector, count: Vector, square: Vector, cross: Vector, rng: np.random.Generator) -> float:
    """Draw with ``rng`` a shared concentration given the sums of its blocks, mean directions integrated out.

    Each block has ``count`` rows, and of their sum S the squared length ``square`` and the product ``cross`` = S'b, all
    of the same shape; ``law`` holds dimension, the concentration so far and |b|.
    """
    occupied = count > 0
    if not occupied.any():
        return float(law[1])
    low, high = concentration_range(law[0])
    c0 = np.full(int(occupied.sum()), law[2])
    target = ConcentrationTarget(
        int(law[0]), float(count.sum()), 0.0, 0.0, np.inf, square[occupied], cross[occupied], c0
    )
    u, f = target.located(low, high)
    mass = np.cumsum(np.exp(f - f.max()))
    return float(np.exp(u[np.searchsorted(mass, rng.random() * mass[-1])]))
