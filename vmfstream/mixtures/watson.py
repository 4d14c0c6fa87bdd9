"""Maximum-likelihood mixtures of Watson distributions by expectation and maximisation.

    p(x) = sum_k pi_k W(x | mu_k, kappa_k),   W(x | mu, kappa) = C_D(0) exp(kappa (mu'x)^2) / M(1/2, D/2, kappa)

Log-densities are relative to the uniform density on the sphere. Rows without direction take no part: their
responsibilities are zero and their label is -1. A row and its opposite are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.kernels import dots, padded
from vmfstream.directional.kummer import log_kummer
from vmfstream.directional.params import Mixture
from vmfstream.directional.watson import ESTIMATORS, WatsonEstimator, estimate
from vmfstream.mixtures.columns import dense_rows, directed, eligible, softmax_rows
from vmfstream.mixtures.diametrical import axial_seeds, diametrical_kmeans
from vmfstream.mixtures.em import Expectation, Stop, best_of, climb
from vmfstream.mixtures.options import EMOptions, checked
from vmfstream.mixtures.seeding import one_hot, start_from

WatsonAssignment: TypeAlias = Literal["soft", "hard"]

SEEDING_SWEEPS = 5
"""Sweeps of diametrical k-means from which EM starts."""


@dataclass(frozen=True, slots=True, eq=False)
class WatsonFit:
    """A fitted mixture.

    ``resp`` (N, kp) and ``labels`` (N,) belong to exactly this ``mixture``, whose ``kappa`` may be negative; ``trace``
    holds the objective before the first M-step and after each, in nats per document relative to uniform: the mean
    log-likelihood, or for hard assignments the mean of the largest log pi_k W(x | mu_k, kappa_k).
    """

    mixture: Mixture
    resp: Floats
    labels: NDArray[np.int64]
    trace: Vector
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of M-steps."""
        return len(self.trace) - 1


def e_step(
    x: Rows, mixture: Mixture, *, assignment: WatsonAssignment = "soft", threads: int = 1
) -> tuple[Floats, Vector]:
    """Compute responsibilities softmax_k( log pi_k + kappa_k (x_i'mu_k)^2 - log M(1/2, D/2, kappa_k) ).

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    mixture : Mixture, kappa of any sign
    assignment : ``"hard"`` gives each document wholly to its largest score
    threads : int

    Returns
    -------
    resp : (N, kp), rows sum to one; zero in padded columns and for rows without direction
    loglik : (N,) float64, log-sum-exp of the scores, or their largest if hard; zero for rows without direction

    References
    ----------
    [Sra] eqs. (5.4) and (5.9).
    """
    kappa = np.asarray(mixture.kappa, np.float64)
    with np.errstate(divide="ignore"):
        offset = np.log(mixture.pi) - log_kummer(mixture.d, kappa)
    resp = dots(x, mixture.mu, threads=threads)
    np.square(resp, out=resp)
    blank = ~directed(x)
    if assignment == "hard":
        scores = kappa * resp[:, : mixture.k] + offset
        loglik = scores.max(axis=1)
        resp = one_hot(np.where(blank, -1, scores.argmax(axis=1)), mixture.k, x.dtype)
    else:
        loglik = softmax_rows(resp, kappa, offset, 1.0)
        resp[blank] = 0
    loglik[blank] = 0
    return resp, loglik


def m_step(
    x: Rows,
    resp: Floats,
    k: int,
    *,
    weights: Vector | None = None,
    estimator: WatsonEstimator = "mle",
    negative: bool = True,
    previous: Mixture | None = None,
) -> Mixture:
    """Estimate the mixture from responsibilities, component by component.

    pi_k = n_k / N; mu_k is the first or the last eigenvector of sum_i w_i resp_ik x_i x_i', kappa_k = g^-1 of its
    mean square, whichever is likelier: see `vmfstream.directional.watson.estimate`.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows
    resp : (N, kp), zero for rows without direction
    k : int, number of components
    weights : (N,) float64, how often each row was seen; once by default
    estimator : how kappa is found
    negative : whether kappa < 0 is considered
    previous : the mixture that the responsibilities come from; its axes are where the search begins, and a component
        without weight stays what it was

    Notes
    -----
    With the estimator ``mle`` the likelihood does not fall, unless a girdle loses the documents that bounded it.
    O(nnz) for each of some tens of passes and components; a component pays only for its own documents.

    References
    ----------
    [Sra] eqs. (5.7) and (5.8).
    """
    d = x.shape[1]
    nk, kappa = np.zeros(k), np.zeros(k)
    mu = np.zeros((d, padded(k)), x.dtype)
    for j in range(k):
        mass = resp[:, j].astype(np.float64) if weights is None else resp[:, j] * weights
        nk[j] = mass.sum()
        if nk[j] > 0:
            start = None if previous is None else previous.mu[:, j]
            mu[:, j], kappa[j], _ = estimate(x, mass, estimator, negative=negative, start=start)
        elif previous is not None:
            mu[:, j], kappa[j] = previous.mu[:, j], previous.kappa[j]
        else:
            mu[0, j] = 1.0  # the uniform distribution
    return Mixture(pi=nk / nk.sum(), mu=mu, kappa=kappa)


def fit(
    x: Rows,
    k: int,
    *,
    rng: np.random.Generator,
    assignment: WatsonAssignment = "soft",
    estimator: WatsonEstimator = "mle",
    negative: bool = True,
    max_iter: int = 100,
    tol: float = 1e-4,
    init: str | Floats | Mixture = "k-means++",
    n_init: int = 1,
    weights: Vector | None = None,
    pi: Vector | None = None,
    threads: int = 1,
) -> WatsonFit:
    """Fit a mixture of Watson distributions by EM.

    Parameters
    ----------
    x : (N, D) CSR or dense array of float32 or float64, unit rows; zero rows are ignored
    k : int, number of components, at most the number of rows with a direction and a weight
    rng : numpy.random.Generator
    assignment : ``"soft"`` (EM) or ``"hard"`` (every row wholly to its likeliest component)
    estimator : how kappa is found: ``mle`` exactly, or by a bound of [Sra]: ``L``, ``B``, ``U``, ``BBG``
    negative : whether components may be girdles, kappa < 0; never where no more effective rows than dimensions have one
    max_iter : int, largest number of M-steps
    tol : float, stop when the objective per row changes by less, in nats
    init : ``"k-means++"`` (labels of diametrical k-means), ``"random"`` (random responsibilities), responsibilities
        (N, k) or (N, kp), or a mixture
    n_init : int, number of starts; the one of largest objective is returned
    weights : (N,) float64, how often each row was seen, >= 0; once by default
    pi : (k,) float64, weights of the components in the first E-step; those of the start by default
    threads : int

    Raises
    ------
    ValueError
        Rows that are neither unit nor zero, k out of range, an unknown option, a start of another shape.

    Notes
    -----
    With the estimator ``mle`` the objective falls only where a dead component starts again or a girdle is given up. The
    likelihood of a component of one row is bounded by the limit of its concentration alone, so the start of largest
    objective may be the one that has found such a component.

    References
    ----------
    [Sra] algorithm 1.
    """
    if assignment not in get_args(WatsonAssignment):
        raise ValueError(f"assignment must be one of {', '.join(get_args(WatsonAssignment))}; got {assignment!r}")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator must be one of {', '.join(ESTIMATORS)}; got {estimator!r}")
    options = checked(x, k, EMOptions(max_iter, tol, weights, threads, pi), n_init)
    model = _WatsonModel(x, k, options, assignment, estimator, negative)
    starts = n_init if isinstance(init, str) else 1
    return best_of(_fitted(model, _start(x, k, init, rng, options.weights, threads)) for _ in range(starts))


@dataclass(frozen=True, slots=True, eq=False)
class _WatsonModel:
    """The steps of EM for Watson components; the statistics of an E-step are its responsibilities (N, kp)."""

    x: Rows
    k: int
    options: EMOptions
    assignment: WatsonAssignment
    estimator: WatsonEstimator
    negative: bool

    def e_step(self, mixture: Mixture) -> Expectation[Floats]:
        """Compute responsibilities; hard ones if the assignment is."""
        x, weights = self.x, self.options.weights
        resp, loglik = e_step(x, mixture, assignment=self.assignment, threads=self.options.threads)
        taking_part = eligible(x, weights)
        mass = taking_part.astype(np.float64) if weights is None else np.where(taking_part, weights, 0.0)
        labels = np.where(directed(x), resp[:, : self.k].argmax(axis=1), -1)
        return Expectation(resp, float(mass @ loglik / mass.sum()), mass @ resp[:, : self.k], labels, loglik)

    def m_step(self, mixture: Mixture | None, found: Expectation[Floats], sweep: int) -> Mixture:
        """Estimate the components, the search for their axes beginning at those of ``mixture``."""
        return self.estimated(found.statistics, mixture)

    def restart(
        self,
        mixture: Mixture,
        found: Expectation[Floats],
        sweep: int,
        dead: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Mixture:
        """Make the dead components axes at the documents ``rows``, as wide as the narrowest of the others.

        Estimated from one document alone, its concentration would be the largest there is, and it would never win
        another.
        """
        mixture = self.m_step(mixture, found, sweep)
        mu, kappa = mixture.mu.copy(), mixture.kappa.copy()
        mu[:, dead] = dense_rows(self.x, rows).T
        kappa[dead] = np.abs(np.delete(kappa, dead)).max()
        pi = mixture.pi * (1.0 - len(dead) / mixture.k)
        pi[dead] = 1.0 / mixture.k
        return Mixture(pi / pi.sum(), mu, kappa)

    def estimated(self, resp: Floats, previous: Mixture | None) -> Mixture:
        """Do an M-step from responsibilities."""
        return m_step(
            self.x,
            resp,
            self.k,
            weights=self.options.weights,
            estimator=self.estimator,
            negative=self.negative,
            previous=previous,
        )


def _fitted(model: _WatsonModel, start: Floats | Mixture) -> WatsonFit:
    options = model.options
    mixture = start if isinstance(start, Mixture) else model.estimated(start, None)
    found = climb(model, model.x, options.begun(mixture), Stop(options.max_iter, options.tol), options.weights)
    return WatsonFit(
        found.mixture, found.last.statistics, found.last.labels.astype(np.int64), found.trace, found.converged
    )


def _start(
    x: Rows, k: int, init: str | Floats | Mixture, rng: np.random.Generator, weights: Vector | None, threads: int
) -> Floats | Mixture:
    if isinstance(init, str) and init == "k-means++":
        seeds = axial_seeds(x, k, rng, weights)
        found = diametrical_kmeans(x, seeds, k, max_iter=SEEDING_SWEEPS, weights=weights, threads=threads)
        return one_hot(found.labels, k, x.dtype)
    return start_from(x, k, init, rng, weights, threads)
