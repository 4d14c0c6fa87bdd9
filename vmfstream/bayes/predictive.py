"""Predictive densities of documents, with mean directions integrated out exactly; relative to uniform.

Concentrations are integrated out too where their uncertainty matters: every density of documents integrates to one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.bessel_scalars import ell
from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import directed, softmax_rows

MATTERS = 1e-3
"""Nats by which E[ell(kappa)] must exceed ell(E[kappa]) for the uncertainty of a concentration to be integrated."""

_NODES, _MASSES = hermegauss(9)
_MASSES = _MASSES / _MASSES.sum()


def predictive(x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor, log_weights: Vector) -> Vector:
    """Log predictive density of each document relative to uniform, the directions integrated out exactly.

    log sum_k w_k E exp( -ell(kappa) - ell(gamma_k) + ell(|f_k + kappa x|) )

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    f : (D, kp) natural vectors of the beliefs; gamma : (k,) their lengths
    kappa : concentration, or its factor, over which the expectation is; where E[ell(kappa)] exceeds ell(E[kappa]) by
        less than `MATTERS`, it is that at the mean
    log_weights : (k,) log of the weights, -inf for topics left out

    Returns
    -------
    (N,) float64, zero for rows without direction.
    """
    return memberships(x, f, gamma, kappa, log_weights)[1]


def memberships(
    x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor, log_weights: Vector
) -> tuple[NDArray[np.float64], Vector]:
    """Probabilities of the topics for each document, (N, k), and its `predictive` density, (N,).

    Arguments as in `predictive`.
    """
    resp = topic_densities(x, f, gamma, kappa)
    density = softmax_rows(resp, np.ones(len(gamma)), np.asarray(log_weights, np.float64), 1.0)
    density[~directed(x)] = 0
    return resp, density


def topic_densities(x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor) -> NDArray[np.float64]:
    """Log predictive density of each document under each topic, (N, k) float64; arguments as in `predictive`."""
    d = f.shape[0]
    factor = kappa if isinstance(kappa, KappaFactor) else point_factor(d, kappa)
    nodes, masses = factor.mean[None], np.ones(1)
    if factor.log_var.any() and (factor.ell - log_partition(d, factor.mean)).max() > MATTERS:
        nodes, masses = np.exp(factor.log_mean + np.sqrt(factor.log_var) * _NODES[:, None]), _MASSES
    known = np.broadcast_to(nodes, (len(masses), len(gamma))).copy()
    return _topic_densities(float(d), dots(x, f), gamma, known, np.log(masses))


@njit(cache=True)
def _topic_densities(
    d: float, cross: Floats, gamma: Vector, kappa: NDArray[np.float64], log_masses: Vector
) -> NDArray[np.float64]:
    """Average densities over concentrations ``kappa`` (G, k), whose masses add to one."""
    n, k = cross.shape[0], len(gamma)
    out = np.full((n, k), -np.inf)
    for g in range(len(kappa)):
        for j in range(k):
            base = ell(d, kappa[g, j]) + ell(d, gamma[j]) - log_masses[g]
            square = gamma[j] ** 2 + kappa[g, j] ** 2
            for i in range(n):
                value = ell(d, np.sqrt(max(square + 2 * kappa[g, j] * cross[i, j], 0.0))) - base
                low, high = min(value, out[i, j]), max(value, out[i, j])
                out[i, j] = high if g == 0 else high + np.log1p(np.exp(low - high))
    return out
