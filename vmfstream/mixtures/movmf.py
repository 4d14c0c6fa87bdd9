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

from vmfstream.directional.params import Mixture, Rows
from vmfstream.mixtures.annealing import ANNEAL, FROZEN_BELOW, melting, temperatures
from vmfstream.mixtures.columns import Floats, column_dots
from vmfstream.mixtures.concentration import Treatment
from vmfstream.mixtures.kmeans import eligible
from vmfstream.mixtures.options import Assignment, Concentration, Options, check
from vmfstream.mixtures.seeding import one_hot, start_from
from vmfstream.mixtures.steps import e_step, estimate, line, m_step, sweep
from vmfstream.mixtures.sums import Sums, Vector, move

TIED_SWEEPS = 5
"""Sweeps after a start from labels during which own concentrations are still shared."""

DEAD = 0.5
"""Weight, in documents, below which a cluster is dead and starts again from the document explained worst."""


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
    betas = temperatures(ANNEAL * melting(x, mixture, threads=threads) if beta0 is None else beta0, factor)
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
    slope, offset = line(mixture)
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
