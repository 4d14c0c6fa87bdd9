"""Predictive density of a document under a topic whose mean is only known in distribution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from vmfstream.directional.bessel import log_partition

TOLERANCE = 1e-3
"""Largest error of the polynomial in nats; a cosine gap of 0.001 is worth more than that in any text."""


class ScorePolynomial(NamedTuple):
    """Scores as polynomials of a document's dot product with the natural vector of a topic's belief.

    The score of document x under topic k is ``sum_p coef[p, k] * u**p`` with ``u = (x @ f[:, k] - centre[k]) / scale[k]``.
    ``error`` is the largest deviation in nats found on a grid of cosines.
    """

    coef: NDArray[np.float64]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    error: float


def score_polynomial(
    d: int, gamma: NDArray[np.float64], kappa: float, log_weights: NDArray[np.float64], *, lowest_cosine: float
) -> ScorePolynomial:
    """Expand log pi_k + log p(x | k) with the mean integrated out, as a polynomial of the cosine.

    For a belief vMF(psi, gamma) about the mean and documents vMF(mu, kappa), relative to the uniform density,

        log p(x) = l(|gamma psi + kappa x|) - l(gamma) - l(kappa),   |.|^2 = gamma^2 + kappa^2 + 2 gamma kappa c,

    where l = log C_D(0) - log C_D and c = x'psi [GY14, predictive density of B-vMFmix]. As a function of c it is
    analytic on the whole interval, so a low degree is exact to `TOLERANCE`, and N K Bessel functions per batch become
    a few multiplications.

    Parameters
    ----------
    d : dimension.
    gamma : (K,) concentrations of the beliefs, >= 0.
    kappa : concentration of the documents, > 0.
    log_weights : (K,) log proportions.
    lowest_cosine : 0 where all coordinates are non-negative (text), else -1.
    """
    k = len(gamma)
    for degree in (4, 8, 16, 32):
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        values = _log_predictive(d, gamma, kappa, _cosines(nodes, lowest_cosine))
        cheb = chebyshev.chebfit(nodes, values.T, degree)
        test = np.linspace(-1.0, 1.0, 4 * degree + 1)
        gap = chebyshev.chebval(test, cheb) - _log_predictive(d, gamma, kappa, _cosines(test, lowest_cosine))
        error = float(np.abs(gap).max())
        if error < TOLERANCE:
            break
    coef = np.stack([_padded_power_basis(np.asarray(cheb[:, j], np.float64), degree) for j in range(k)], axis=1)
    coef[0] += log_weights
    half = (1.0 - lowest_cosine) / 2.0
    known = gamma > 0.0
    centre = np.where(known, gamma * (lowest_cosine + half), 0.0)
    scale = np.where(known, gamma * half, 1.0)
    return ScorePolynomial(coef, centre, scale, error)


def _padded_power_basis(cheb: NDArray[np.float64], degree: int) -> NDArray[np.float64]:
    power = chebyshev.cheb2poly(cheb)  # drops trailing zeros
    return np.pad(power, (0, degree + 1 - len(power)))


def _cosines(u: NDArray[np.float64], lowest: float) -> NDArray[np.float64]:
    return lowest + (1.0 - lowest) * (u + 1.0) / 2.0


def _log_predictive(
    d: int, gamma: NDArray[np.float64], kappa: float, cosine: NDArray[np.float64]
) -> NDArray[np.float64]:
    g = gamma[:, None]
    joint = np.sqrt(np.maximum(g * g + kappa * kappa + 2.0 * g * kappa * cosine[None, :], 0.0))
    return np.asarray(log_partition(d, joint) - log_partition(d, g) - log_partition(d, np.float64(kappa)))
