"""Mixture of EDCM distributions, the exponential family near Dirichlet compound multinomials.

C. Elkan: Clustering documents with an exponential-family approximation of the Dirichlet compound multinomial
distribution. ICML 2006.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import digamma, gammaln, softmax

TEMPERATURES = (5.0, 1.0)
"""Of the rounds of EM: memberships are those of log-densities divided by it. The paper begins with 25, where documents
of eight words, as those of Slashdot, belong to all clusters alike for ever (NMI .16 instead of .27)."""

SWEEPS = 100

SMALLEST = 0.01
"""Parameter of a word that no document of a cluster has, as a share of the smallest other one, as in the paper."""


def cluster(counts: csr_array, k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the cluster of every document, from random memberships.

    Parameters
    ----------
    counts : (N, D) words of documents; only which words a document has, and how many in all, tells clusters apart.
    k : number of clusters.
    rng : draws the first memberships.
    """
    present = csr_array((counts > 0).astype(np.float64))
    lengths = np.asarray(counts.sum(axis=1), np.float64)
    memberships = rng.dirichlet(np.ones(k), len(lengths))
    for temperature in TEMPERATURES:
        for _ in range(SWEEPS):
            scores = log_densities(present, lengths, *parameters(present, lengths, memberships))
            memberships, before = np.asarray(softmax(scores / temperature, axis=1)), memberships
            if np.abs(memberships - before).max() < 1e-4:
                break
    return np.asarray(memberships.argmax(axis=1))


def parameters(
    present: csr_array, lengths: NDArray[np.float64], memberships: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximise the log-likelihood: beta (K, D) of words, and weights (K,).

    beta_w = sum_i m_i [w in i] / sum_i m_i (digamma(s + n_i) - digamma(s)), where s is the sum of beta.

    Parameters
    ----------
    present : (N, D) which words documents have.
    lengths : (N,) numbers of their words.
    memberships : (N, K)
    """
    held = np.asarray(present.T @ memberships).T
    beta = np.empty_like(held)
    for k, (row, m) in enumerate(zip(held, memberships.T, strict=True)):
        beta[k] = row / _spread(_total(float(row.sum()), lengths, m), lengths, m)
        beta[k, row == 0.0] = SMALLEST * beta[k, row > 0.0].min()
    return beta, memberships.mean(axis=0)


def _spread(s: float, lengths: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    return float(m @ (digamma(s + lengths) - digamma(s)))


def _total(held: float, lengths: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    """Solve s = held / spread(s), in logarithms; a bound where documents are as if drawn from one multinomial."""

    def gap(log_s: float) -> float:
        s = float(np.exp(log_s))
        return s * _spread(s, lengths, m) - held

    low, high = np.log(1e-6), np.log(1e8)
    if gap(high) <= 0.0:
        return float(np.exp(high))
    return float(np.exp(brentq(gap, low, high, xtol=1e-10)))


def log_densities(
    present: csr_array, lengths: NDArray[np.float64], beta: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log weight and density (N, K) of documents, but for what is the same in all clusters.

    Parameters
    ----------
    present, lengths : as in `parameters`.
    beta, weights : (K, D) and (K,), what it returns.
    """
    s = beta.sum(axis=1)
    of_words = np.asarray(present @ np.log(beta).T)
    return np.asarray(of_words + gammaln(s) - gammaln(lengths[:, None] + s) + np.log(weights))
