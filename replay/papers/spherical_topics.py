"""Spherical topic model: a document's direction lies about a weighted mean of the topics' directions.

J. Reisinger, A. Waters, B. Silverthorn and R. Mooney: Spherical topic models. ICML 2010. No kept library has it.

Documents x_i ~ vMF(m_i / ||m_i||, kappa) with m_i = sum_k theta_ik mu_k, and theta_i ~ Dirichlet(alpha). The paper
bounds the evidence; here all is estimated at its mode, shares in the basis of their logarithms, where the prior's
density is the product of theta_ik ^ alpha.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax

from vmfstream.directional.bessel import inv_bessel_ratio

ALPHA = 0.1
"""Of the prior of a document's shares, for each topic; chosen on CNAE-9 by agreement with its classes."""

START = 4.0
"""Logarithm by which the share of a document's first topic exceeds the others."""

ROUNDS = 4
"""Times that kappa is estimated."""

STEPS = 50
"""Of L-BFGS in a round, at most."""


def cluster(x: csr_array, labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the topic of largest share of every document.

    Parameters
    ----------
    x : (N, D) unit rows.
    labels : (N,) topics from 0 to k - 1 in which documents begin.
    k : number of topics.
    """
    n, d = x.shape
    first = np.eye(k)[labels]
    means = np.asarray((x.T @ first).T) + np.asarray(x.mean(axis=0))  # a topic that no document begins in has the mean
    at = np.concatenate([(START * first).ravel(), (means / np.linalg.norm(means, axis=1, keepdims=True)).ravel()])
    for _ in range(ROUNDS):
        logs, directions = parts(at, n, k)
        mu = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        kappa = float(inv_bessel_ratio(d, _compared(x, mu, softmax(logs, axis=1)).cosines.mean()))
        at = minimize(negative, at, (x, k, kappa), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x
    return np.asarray(at[: n * k].reshape(n, k).argmax(axis=1))


def parts(at: NDArray[np.float64], n: int, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the logarithms of shares (N, K) and directions (K, D), of any length, that ``at`` holds in a row.

    Parameters
    ----------
    at : (N K + K D,)
    n, k : numbers of documents and topics.
    """
    return at[: n * k].reshape(n, k), at[n * k :].reshape(k, -1)


class _Compared(NamedTuple):
    """Cosines (N, 1) of documents with the weighted means of their topics, and what they are made of.

    ``scores`` (N, K) are cosines with topics, ``mixed`` (N, K) inner products of means and topics, ``norms`` (N, 1)
    lengths of means.
    """

    cosines: NDArray[np.float64]
    scores: NDArray[np.float64]
    mixed: NDArray[np.float64]
    norms: NDArray[np.float64]


def _compared(x: csr_array, mu: NDArray[np.float64], theta: NDArray[np.float64]) -> _Compared:
    """Compare documents (N, D) with the means of topics ``mu`` (K, D), unit rows, weighted by shares (N, K)."""
    scores, mixed = x @ mu.T, theta @ (mu @ mu.T)
    norms = np.sqrt((mixed * theta).sum(axis=1, keepdims=True))
    return _Compared((theta * scores).sum(axis=1, keepdims=True) / norms, scores, mixed, norms)


def negative(at: NDArray[np.float64], x: csr_array, k: int, kappa: float) -> tuple[float, NDArray[np.float64]]:
    """Return the negative logarithm of likelihood times prior, but for constants, and its gradient.

    Parameters
    ----------
    at : (N K + K D,) what `parts` splits.
    x : (N, D) unit rows.
    k : number of topics.
    kappa : concentration of documents about their means.
    """
    logs, directions = parts(at, x.shape[0], k)
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    mu, log_theta = directions / lengths, log_softmax(logs, axis=1)
    theta = np.exp(log_theta)
    cos, scores, mixed, norms = _compared(x, mu, theta)
    by_theta = kappa * (scores / norms - cos * mixed / norms**2)
    by_logs = theta * (by_theta - (theta * by_theta).sum(axis=1, keepdims=True)) + ALPHA * (1.0 - k * theta)
    by_mu = kappa * (np.asarray(x.T @ (theta / norms)).T - (theta.T @ (cos / norms**2 * theta)) @ mu)
    by_directions = (by_mu - (by_mu * mu).sum(axis=1, keepdims=True) * mu) / lengths
    value = kappa * float(cos.sum()) + ALPHA * float(log_theta.sum())
    return -value, -np.concatenate([by_logs.ravel(), by_directions.ravel()])
