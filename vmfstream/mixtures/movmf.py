"""Maximum-likelihood mixtures of von Mises-Fisher distributions by expectation and maximisation.

    p(x) = sum_k pi_k vMF(x | mu_k, kappa_k),   vMF(x | mu, kappa) = C_D(kappa) exp(kappa mu'x)

Log-densities are relative to the uniform density on the sphere, log C_D(kappa) - log C_D(0) = -ell_D(kappa). Rows
without direction take no part: their responsibilities are zero and their label is -1. Weights of documents multiply
their responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vmfstream.directional.bessel import vmf_terms
from vmfstream.directional.kernels import dots, posterior
from vmfstream.directional.params import Mixture, Rows
from vmfstream.mixtures.columns import Floats, column_dots, dense_rows, directed, softmax_rows
from vmfstream.mixtures.concentration import Treatment, own_concentration, shared_concentration
from vmfstream.mixtures.kmeans import eligible
from vmfstream.mixtures.options import Assignment, Concentration, Options, check
from vmfstream.mixtures.seeding import one_hot, start_from
from vmfstream.mixtures.sums import Scored, Sums, Vector, directions, gather, move, score

MELTING = (0.001, 0.3)
"""Limits of the temperature at which annealing starts."""

ANNEAL = 0.5
"""Where annealing starts, as a multiple of the inverse temperature at which topics melt."""

FROZEN_BELOW = 0.3
"""While the inverse temperature is below this, the concentration stays as it was: soft labels say nothing about it."""

TIED_SWEEPS = 5
"""Sweeps after a start from labels during which own concentrations are still shared."""

DEAD = 0.5
"""Weight, in documents, below which a cluster is dead and starts again from the document explained worst."""

_BLOCK = 8192  # documents whose scores are held at once


@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """A fitted mixture.

    ``resp`` (N, kp) and ``labels`` (N,) belong to exactly this ``mixture``; ``trace`` holds the objective after each
    sweep at full temperature, in nats per document relative to uniform: the mean log-likelihood, or for hard
    assignments the mean of the largest log pi_k vMF(x | mu_k, kappa_k) (of a hybrid fit, the hard sweeps only).
    ``n_iter`` counts all sweeps.
    """

    x: Rows
    mixture: Mixture
    trace: Vector
    labels: NDArray[np.int64]
    n_iter: int
    converged: bool

    @property
    def resp(self) -> Floats:
        """Responsibilities of the documents it was fitted to, (N, kp); computed anew whenever they are asked for."""
        return e_step(self.x, self.mixture)[0]


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
    loglik = softmax_rows(resp, *_line(mixture), beta)
    blank = ~directed(x)
    resp[blank] = 0
    loglik[blank] = 0
    return resp, loglik


def labels(x: Rows, mixture: Mixture, *, threads: int = 1) -> NDArray[np.int64]:
    """Return the topic of the largest score of every row, -1 for rows without direction: the labels of a fit."""
    slope, offset = _line(mixture)
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
    slope, offset = _line(mixture)
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
    return estimate(gather(x, resp, k, threads), otherwise, concentration, estimator, kappa)


def estimate(
    sums: Sums,
    otherwise: Floats,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | Vector | None = None,
) -> Mixture:
    """Estimate the mixture from sums over documents; see `m_step`.

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


def fit(
    x: Rows,
    k: int,
    *,
    rng: np.random.Generator,
    assignment: Assignment = "soft",
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    kappa: float | None = None,
    anneal: bool = True,
    beta0: float | None = None,
    factor: float = 1.4,
    soft_iter: int = 10,
    max_iter: int = 100,
    tol: float = 1e-4,
    init: str | Floats | Mixture = "k-means++",
    n_init: int = 1,
    weights: Vector | None = None,
    threads: int = 1,
) -> MixtureFit:
    """Fit a mixture of von Mises-Fisher distributions by EM, deterministically annealed unless told otherwise.

    Scores of documents grow with the dimension, so EM in high dimension freezes at its start after a sweep or two;
    annealing (responsibilities softmax(beta scores), beta from ``beta0`` to 1 by ``factor`` per sweep) is what lets the
    result leave a poor start.

    Parameters
    ----------
    x : (N, D) CSR or dense array of float32 or float64, unit rows; zero rows are ignored
    k : int, number of topics, at most the number of rows with a direction
    rng : numpy.random.Generator
    assignment : ``"soft"`` (EM), ``"hard"`` (every document wholly to its likeliest topic; only annealing is soft), or
        ``"hybrid"`` (at most ``soft_iter`` soft sweeps, then hard ones)
    concentration : ``"shared"`` (default, right for text) or ``"own"``
    estimator : treatment of the concentration, see `vmfstream.mixtures.concentration`
    kappa : float, the concentration for ``estimator="fixed"``
    anneal, beta0, factor : the annealing; the concentration is frozen while beta < 0.3. By default beta0 is the inverse
        of the spread of the scores under the start, where topics just begin to differ, times `ANNEAL`
    soft_iter : int, largest number of soft sweeps of a hybrid fit at beta = 1
    max_iter : int, largest number of sweeps at beta = 1
    tol : float, stop when the log-likelihood per document changes by less, in nats; hard sweeps stop when no label
        changes
    init : ``"k-means++"``, ``"random"``, ``"perturbed-mean"``, responsibilities (N, k) or (N, kp), or a mixture
    n_init : int, number of starts; the one of largest objective is returned
    weights : (N,) float64, how often each document was seen, >= 0; once by default
    threads : int

    Raises
    ------
    ValueError
        Rows that are neither unit nor zero, k out of range, an unknown option, responsibilities of another shape.

    Notes
    -----
    With ``estimator="mle"`` no sweep lowers the objective, except where a dead topic starts again. A sweep costs
    O(nnz k), and the fit O(D k + N) memory besides ``x``.

    References
    ----------
    [BDGS05] algorithms 1 and 2, section 8 (hybrid); [UN98] (annealing).
    """
    heat = (beta0, factor) if anneal else None
    options = Options(assignment, concentration, estimator, kappa, heat, soft_iter, max_iter, tol, weights, threads)
    check(x, k, options, n_init)
    runs = (
        _em(x, start_from(x, k, init, rng, weights, threads), k, options)
        for _ in range(n_init if isinstance(init, str) else 1)
    )
    return max(runs, key=lambda run: float(run.trace[-1]))


def annealed_start(x: Rows, k: int, rng: np.random.Generator, *, heat: float = ANNEAL, max_iter: int = 50) -> Floats:
    """Responsibilities (N, kp) of annealed EM with a shared concentration: where Bayesian fits and streams start.

    ``heat`` is where annealing starts, as a multiple of the inverse temperature at which topics melt.
    """
    start = start_from(x, k, "k-means++", rng)
    assert not isinstance(start, Mixture)
    beta0 = heat * melting(x, m_step(x, start, k))
    return fit(x, k, rng=rng, init=start, beta0=beta0, max_iter=max_iter).resp


def melting(x: Rows, mixture: Mixture, *, threads: int = 1) -> float:
    """Inverse temperature at which the scores kappa x'mu_k of a mixture spread by one nat: colder, topics differ.

    1 / sd_ik(kappa x_i'mu_k), within [0.001, 0.3].
    """
    count, total, squares = 0, 0.0, 0.0
    for low in range(0, x.shape[0], _BLOCK):
        rows = x[low : low + _BLOCK]
        scores = dots(rows, mixture.mu, threads=threads)[directed(rows), : mixture.k] * mixture.kappa
        count += scores.size
        total += float(scores.sum())
        squares += float(np.square(scores).sum())
    variance = squares / count - (total / count) ** 2
    return float(np.clip(variance**-0.5, *MELTING)) if variance > 0.0 else MELTING[1]


class _Climb(NamedTuple):
    mixture: Mixture
    label: NDArray[np.int32]
    trace: list[float]
    converged: bool


def _em(x: Rows, start: Floats | Mixture, k: int, options: Options) -> MixtureFit:
    mixture, annealed = _annealed(x, start, k, options)
    tied = 0 if isinstance(start, Mixture) else TIED_SWEEPS
    sweeps = annealed
    if options.assignment == "hybrid":
        soft = _climb(x, mixture, options, hard=False, max_iter=options.soft_iter, tied=tied)
        mixture, sweeps = soft.mixture, sweeps + len(soft.trace)
        tied = max(tied - len(soft.trace), 0)
    hard = options.assignment != "soft"
    found = _climb(x, mixture, options, hard=hard, max_iter=options.max_iter, tied=tied)
    label = found.label.astype(np.int64)
    return MixtureFit(x, found.mixture, np.array(found.trace), label, sweeps + len(found.trace), found.converged)


def _annealed(x: Rows, start: Floats | Mixture, k: int, options: Options) -> tuple[Mixture, int]:
    """Return the mixture at which sweeps at full temperature begin, and the number of sweeps that led to it."""
    threads, weights = options.threads, options.weights
    if isinstance(start, Mixture):
        mixture = start
    else:
        held = start if weights is None else start * weights[:, None].astype(start.dtype)
        mixture = m_step(x, held, k, estimator=options.estimator, kappa=options.kappa, threads=threads)
    if options.heat is None:
        return mixture, 0
    beta0, factor = options.heat
    if isinstance(start, Mixture):  # its concentration says nothing about the documents yet
        sums = sweep(x, mixture, weights=weights, threads=threads).sums
        mixture = estimate(sums, mixture.mu, "shared", options.estimator, options.kappa)
    betas = _temperatures(ANNEAL * melting(x, mixture, threads=threads) if beta0 is None else beta0, factor)
    for beta in betas:
        sums = sweep(x, mixture, beta, weights=weights, threads=threads).sums
        kappa = mixture.kappa if beta < FROZEN_BELOW else options.kappa
        mixture = estimate(sums, mixture.mu, "shared", options.estimator, kappa)
    return mixture, len(betas)


def _climb(x: Rows, mixture: Mixture, options: Options, *, hard: bool, max_iter: int, tied: int) -> _Climb:
    """Alternate sweeps and estimates at full temperature, until the objective or the hard labels rest."""
    weights, threads = options.weights, options.threads
    held = eligible(x, weights)
    one = 1.0 if weights is None else float(weights[held].mean())
    label = np.full(x.shape[0], -1, np.int32)
    trace: list[float] = []
    spare = mixture.k
    while True:
        before, (sums, loglik, label) = label, sweep(x, mixture, hard=hard, weights=weights, threads=threads)
        total = float(sums.nk.sum())
        trace.append(_hard_objective(mixture, sums) / total if hard else float(_weighted(loglik, weights) / total))
        dead = np.flatnonzero(sums.nk < DEAD * one)[:spare]
        rest = (
            np.array_equal(label[held], before[held])
            if hard
            else len(trace) > 1 and abs(trace[-1] - trace[-2]) < options.tol
        )
        if options.concentration == "own" and len(trace) <= tied + 1:
            rest = False
        converged = rest and not len(dead)
        if converged or len(trace) > max_iter:
            return _Climb(mixture, label, trace, converged)
        spare -= len(dead)
        if len(dead):
            _restart(x, mixture, sums, np.where(held, loglik, np.inf), dead, label if hard else None, weights)
        concentration = options.concentration if len(trace) > tied else "shared"
        mixture = estimate(sums, mixture.mu, concentration, options.estimator, options.kappa)


def _weighted(values: Vector, weights: Vector | None) -> float:
    return float(values.sum() if weights is None else values @ weights)


def _hard_objective(mixture: Mixture, sums: Sums) -> float:
    """sum_i max_k (log pi_k + kappa_k x_i'mu_k - ell(kappa_k)) from the sums of the hard assignments."""
    slope, offset = _line(mixture)
    along = column_dots(mixture.mu, sums.s)[: mixture.k]
    held = sums.nk > 0
    return float((slope * along)[held].sum() + (offset[held] * sums.nk[held]).sum())


def _restart(
    x: Rows,
    mixture: Mixture,
    sums: Sums,
    loglik: Vector,
    dead: NDArray[np.int64],
    label: NDArray[np.int32] | None,
    weights: Vector | None,
) -> None:
    """Give each dead topic one of the documents explained worst."""
    rows = np.argsort(loglik)[: len(dead)]
    resp = e_step(x[rows], mixture)[0] if label is None else one_hot(label[rows], mixture.k, x.dtype)
    if weights is not None:
        resp *= weights[rows, None].astype(resp.dtype)
    move(x, sums, rows, resp, dead[: len(rows)])


def _line(mixture: Mixture) -> tuple[Vector, Vector]:
    """Slope and offset (k,) of the scores kappa_k x'mu_k + log pi_k - ell(kappa_k)."""
    kappa = np.asarray(mixture.kappa, np.float64)
    with np.errstate(divide="ignore"):
        return kappa, np.log(mixture.pi) - vmf_terms(mixture.d, kappa).ell


def _temperatures(beta0: float, factor: float) -> list[float]:
    steps = int(np.ceil(-np.log(beta0) / np.log(factor)))
    return [beta0 * factor**j for j in range(steps)]
