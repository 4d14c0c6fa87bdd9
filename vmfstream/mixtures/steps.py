"""The steps of EM for mixtures of von Mises-Fisher distributions: responsibilities, sums, estimates.

Log-densities are relative to the uniform density on the sphere, log C_D(kappa) - log C_D(0) = -ell_D(kappa). Rows
without direction take no part: their responsibilities are zero and their label is -1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.bessel import vmf_terms
from vmfstream.directional.kernels import dots, posterior
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import dense_rows, directed, softmax_rows
from vmfstream.mixtures.concentration import Treatment, own_concentration, shared_concentration
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import Scored, WeightedSums, directions, score, weighted_sums


def e_step(x: Rows, mixture: Mixture, beta: float = 1.0, *, threads: int = 1) -> tuple[Floats, Vector]:
    """Compute responsibilities softmax_k( beta (log pi_k + kappa_k x_i'mu_k - ell(kappa_k)) ).

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mixture : Mixture
    beta : float in (0, 1], inverse temperature
    threads : int

    Returns
    -------
    resp : (N, kp), rows sum to one; zero in padded columns and for rows without direction
    loglik : (N,) float64, log-sum-exp of the tempered scores (for beta = 1 the log-density relative to uniform); zero
        for rows without direction

    References
    ----------
    [BDGS05] eq. (3.11), [GY14] section 3.
    """
    resp = dots(x, mixture.mu, threads=threads)
    loglik = softmax_rows(resp, *line(mixture), beta)
    blank = ~directed(x)
    resp[blank] = 0
    loglik[blank] = 0
    return resp, loglik


def labels(x: Rows, mixture: Mixture, *, threads: int = 1) -> NDArray[np.int64]:
    """Return the topic of the largest score of every row, (N,), -1 for rows without direction: the labels of a fit.

    ``x`` are unit rows (N, D), scored under ``mixture`` by so many ``threads``.
    """
    slope, offset = line(mixture)
    k = mixture.k
    found = posterior(x, mixture.mu, np.vstack([offset, slope]), np.zeros(k), np.ones(k), k, threads=threads)
    return found.label.astype(np.int64)


def sweep(
    x: Rows,
    mixture: Mixture,
    beta: float = 1.0,
    *,
    hard: bool = False,
    weights: Vector | None = None,
    threads: int = 1,
) -> Scored:
    """Do an E-step and the sums that follow it in one pass, without keeping responsibilities.

    Parameters
    ----------
    x, mixture, beta, threads
        As in `e_step`.
    hard : whether documents belong wholly to the topic of their largest score
    weights : (N,) float64, what each document weighs in the sums; 1 by default
    """
    slope, offset = line(mixture)
    return score(x, mixture.mu, beta * slope, beta * offset, hard=hard, weights=weights, threads=threads)


def m_step(
    x: Rows,
    resp: Floats,
    k: int,
    *,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | Vector | None = None,
    previous: Mixture | None = None,
    threads: int = 1,
) -> Mixture:
    """Estimate the mixture from responsibilities: pi_k = n_k / N, mu_k = S_k / |S_k|, kappa by ``estimator``.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, kp), zero for rows without direction; multiplied by the weights of the documents, if they have any
    k : int, number of topics
    concentration : one concentration for all topics or one each
    estimator : see `vmfstream.mixtures.concentration`
    kappa : the concentration (a number, or one per topic) if it is not to be estimated
    previous : gives the direction of topics whose resultant vanishes; without it they point to one of their documents
    threads : int

    References
    ----------
    [BDGS05] eqs. (3.12)-(3.14), [Sra] section 4.
    """
    otherwise = np.zeros((x.shape[1], resp.shape[1]), x.dtype) if previous is None else previous.mu
    if previous is None:
        otherwise[:, :k] = dense_rows(x, resp[:, :k].argmax(axis=0)).T
    return estimate(weighted_sums(x, resp, k, threads), otherwise, concentration, estimator, kappa)


def estimate(
    sums: WeightedSums,
    otherwise: Floats,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | Vector | None = None,
) -> Mixture:
    """Estimate the mixture from ``sums`` over documents; ``concentration``, ``estimator`` and ``kappa`` as in `m_step`.

    ``otherwise`` (D, kp) gives the directions of topics whose resultant vanishes.
    """
    d, k, (_, nk, qk) = len(sums.s), len(sums.nk), sums
    if kappa is None:
        if concentration == "shared":
            kappa = shared_concentration(d, sums.norms, nk, float(nk.sum()), estimator, qk=qk)
        else:
            kappa = own_concentration(d, sums.norms, nk, estimator, qk=qk)
    every = np.broadcast_to(np.asarray(kappa, np.float64), k).copy()
    return Mixture(pi=nk / nk.sum(), mu=directions(sums, otherwise), kappa=every)


def line(mixture: Mixture) -> tuple[Vector, Vector]:
    """Slope and offset (k,) of the scores kappa_k x'mu_k + log pi_k - ell(kappa_k)."""
    kappa = np.asarray(mixture.kappa, np.float64)
    with np.errstate(divide="ignore"):
        return kappa, np.log(mixture.pi) - vmf_terms(mixture.d, kappa).ell
