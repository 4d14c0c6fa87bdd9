"""Predictive densities of documents, with mean directions integrated out exactly; relative to uniform."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.directional.bessel_scalars import ell
from vmfstream.directional.kernels import dots
from vmfstream.mixtures.columns import directed, softmax_rows


def predictive(x: Rows, f: Floats, gamma: Vector, kappa: float | KappaFactor, log_weights: Vector) -> Vector:
    """Log predictive density of each document relative to uniform, the directions integrated out exactly.

    log sum_k exp( log w_k - ell(kappa) - ell(gamma_k) + ell(|f_k + kappa x|) )

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    f : (D, kp) natural vectors of the beliefs; gamma : (k,) their lengths
    kappa : concentration, or its factor (then its means are used)
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
    k = len(gamma)
    mean, mean_ell = np.broadcast_to(factor.mean, k).copy(), np.broadcast_to(factor.ell, k).copy()
    return _topic_densities(float(d), dots(x, f), gamma, mean, mean_ell)


@njit(cache=True)
def _topic_densities(d: float, cross: Floats, gamma: Vector, kappa: Vector, mean_ell: Vector) -> NDArray[np.float64]:
    n, k = cross.shape[0], len(gamma)
    out = np.empty((n, k))
    for j in range(k):
        base = mean_ell[j] + ell(d, gamma[j])
        square = gamma[j] ** 2 + kappa[j] ** 2
        for i in range(n):
            out[i, j] = ell(d, np.sqrt(max(square + 2 * kappa[j] * cross[i, j], 0.0))) - base
    return out
