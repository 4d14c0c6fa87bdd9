"""The schedule of deterministic annealing: its first temperature and those that follow."""

from __future__ import annotations

import numpy as np

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.kernels import dots
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import directed

MELTING = (0.001, 0.3)
"""Limits of the temperature at which annealing starts."""

ANNEAL = 0.5
"""Where annealing starts, as a multiple of the inverse temperature at which topics melt."""

FROZEN_BELOW = 0.3
"""While the inverse temperature is below this, the concentration stays as it was: soft labels say nothing about it."""

_BLOCK = 8192  # documents whose scores are held at once


def melting(x: Rows, mixture: Mixture, *, weights: Vector | None = None, threads: int = 1) -> float:
    """Inverse temperature at which the scores kappa x'mu_k of a mixture spread by one nat: colder, topics differ.

    1 / sd_ik(kappa x_i'mu_k), within [0.001, 0.3], for unit rows ``x`` (N, D) and ``mixture``; rows without direction
    do not count. ``weights`` (N,) say how often each was seen. ``threads`` share the rows.
    """
    count, total, squares = 0.0, 0.0, 0.0
    for low in range(0, x.shape[0], _BLOCK):
        rows = x[low : low + _BLOCK]
        scores = dots(rows, mixture.mu, threads=threads)[directed(rows), : mixture.k] * mixture.kappa
        if weights is None:
            count += scores.size
            total += float(scores.sum())
            squares += float(np.square(scores).sum())
        else:
            mass = weights[low : low + _BLOCK][directed(rows)]
            count += float(mass.sum()) * mixture.k
            total += float(mass @ scores.sum(axis=1))
            squares += float(mass @ np.square(scores).sum(axis=1))
    variance = squares / count - (total / count) ** 2
    return float(np.clip(variance**-0.5, *MELTING)) if variance > 0.0 else MELTING[1]


def temperatures(beta0: float, factor: float) -> list[float]:
    """Return the inverse temperatures from ``beta0`` to below 1, each ``factor`` times the one before."""
    steps = int(np.ceil(-np.log(beta0) / np.log(factor)))
    return [beta0 * factor**j for j in range(steps)]
