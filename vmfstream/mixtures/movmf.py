"""Maximum-likelihood mixtures of von Mises-Fisher distributions by expectation and maximisation.

    p(x) = sum_k pi_k vMF(x | mu_k, kappa_k),   vMF(x | mu, kappa) = C_D(kappa) exp(kappa mu'x)

Log-densities are relative to the uniform density on the sphere, log C_D(kappa) - log C_D(0) = -ell_D(kappa). Rows
without direction take no part: their responsibilities are zero and their label is -1. Weights of documents multiply
their responsibilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.params import ChunkedMatrix, Mixture
from vmfstream.mixtures.annealing import ANNEAL, FROZEN_BELOW, melting, temperatures
from vmfstream.mixtures.columns import column_dots
from vmfstream.mixtures.concentration import TREATMENTS, Treatment
from vmfstream.mixtures.em import Climb, Expectation, Stop, best_of, climb
from vmfstream.mixtures.incremental import Passes, incremental
from vmfstream.mixtures.options import Assignment, Concentration, EMOptions, EMVariant, check_one_of, checked
from vmfstream.mixtures.seeding import one_hot, start_from
from vmfstream.mixtures.steps import e_step, estimate, line, m_step, sweep
from vmfstream.mixtures.sums import WeightedSums, move, weighted

TIED_SWEEPS = 5
"""Sweeps after a start from labels during which own concentrations are still shared; they are part of the start."""


@dataclass(frozen=True, slots=True, eq=False)
class MixtureFit:
    """A fitted mixture.

    ``resp`` (N, kp) and ``labels`` (N,) belong to exactly this ``mixture``; ``trace`` holds the objective before the
    first sweep and after each, in nats per document relative to uniform: the mean log-likelihood, or for hard
    assignments the mean of the largest log pi_k vMF(x | mu_k, kappa_k). Sweeps of the start do not count: annealing,
    those at which own concentrations are still shared (`TIED_SWEEPS`), and the soft ones of a hybrid fit.
    """

    x: Rows
    mixture: Mixture
    trace: Vector
    labels: NDArray[np.int64]
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""
        return len(self.trace) - 1

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
    algorithm: EMVariant = "em",
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
    pi: Vector | None = None,
    threads: int = 1,
) -> MixtureFit:
    """Fit a mixture of von Mises-Fisher distributions by EM, deterministically annealed by default.

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
    algorithm : ``"em"``, or ``"incremental"``: passes of `vmfstream.mixtures.incremental` until they rest, then EM;
        soft, and not of rows in chunks
    concentration : ``"shared"`` (default, right for text) or ``"own"``
    estimator : treatment of the concentration, see `vmfstream.mixtures.concentration`
    kappa : float, the concentration for ``estimator="fixed"``
    anneal, beta0, factor : the annealing; the concentration is frozen while beta < 0.3. By default beta0 is the inverse
        of the spread of the scores under the start, where topics just begin to differ, times `ANNEAL`
    soft_iter : int, largest number of soft sweeps of a hybrid fit at beta = 1
    max_iter : int, largest number of sweeps at beta = 1, those not counted with which own concentrations start
    tol : float, stop when the log-likelihood per document changes by less, in nats; hard sweeps stop when no label
        changes
    init : ``"k-means++"``, ``"agglomerative"``, ``"random"``, ``"perturbed-mean"``, responsibilities (N, k) or (N, kp),
        or a mixture
    n_init : int, number of starts; the one of largest objective is returned
    weights : (N,) float64, how often each document was seen, >= 0; once by default
    pi : (k,) float64, weights of the components in the first E-step; those of the start by default
    threads : int

    Raises
    ------
    ValueError
        Rows that are neither unit nor zero, k out of range, an unknown option or two that do not go together,
        responsibilities of another shape.

    Notes
    -----
    With ``estimator="mle"`` no sweep lowers the objective, except where a dead topic starts again. A sweep costs
    O(nnz k), and the fit O(D k + N) memory besides ``x``.

    References
    ----------
    [BDGS05] algorithms 1 and 2, section 8 (hybrid); [UN98] (annealing); [NH98] (incremental).
    """
    heat = (beta0, factor) if anneal else None
    _check(assignment, concentration, estimator, kappa, heat)
    _check_algorithm(algorithm, assignment, x)
    options = checked(x, k, EMOptions(max_iter, tol, weights, threads, pi), n_init)
    model = _VMFModel(x, k, options, concentration, estimator, kappa)
    starts = n_init if isinstance(init, str) else 1
    return best_of(
        _fitted(model, start_from(x, k, init, rng, options.weights, threads), assignment, algorithm, heat, soft_iter)
        for _ in range(starts)
    )


def annealed_fit(
    x: Rows,
    k: int,
    rng: np.random.Generator,
    *,
    heat: float = ANNEAL,
    max_iter: int = 50,
    weights: Vector | None = None,
    threads: int = 1,
) -> MixtureFit:
    """Fit by annealed EM with a shared concentration: where Bayesian fits and streams start.

    ``x`` are unit rows (N, D), ``k`` topics start by k-means++ drawn with ``rng``, and EM does at most ``max_iter``
    steps. ``heat`` > 0 is where annealing starts, as a multiple of the inverse temperature at which topics melt.
    ``weights`` (N,) say how often each row was seen, once by default; ``threads`` share the rows.
    """
    start = start_from(x, k, "k-means++", rng, weights, threads)
    assert not isinstance(start, Mixture)
    beta0 = heat * melting(x, m_step(x, weighted(start, weights), k, threads=threads), weights=weights, threads=threads)
    return fit(x, k, rng=rng, init=start, beta0=beta0, max_iter=max_iter, weights=weights, threads=threads)


def annealed(
    x: Rows,
    mixture: Mixture,
    beta0: float,
    factor: float = 1.4,
    *,
    estimator: Treatment = "marginal",
    kappa: float | None = None,
    weights: Vector | None = None,
    threads: int = 1,
) -> Mixture:
    """Do one sweep of EM with a shared concentration at each inverse temperature, ``factor`` times the one before.

    They begin at ``beta0`` in (0, 1] and end below 1; ``x`` are unit rows (N, D), EM begins at ``mixture``, and all
    else is as in `fit`. A topic without documents keeps its direction.
    """
    for beta in temperatures(beta0, factor):
        sums = sweep(x, mixture, beta, weights=weights, threads=threads).sums
        known = mixture.kappa if beta < FROZEN_BELOW else kappa
        mixture = estimate(sums, mixture.mu, "shared", estimator, known)
    return mixture


Heat: TypeAlias = tuple[float | None, float]
"""The inverse temperature at which annealing starts, None for the default, and its factor per sweep."""


def _check(
    assignment: Assignment, concentration: Concentration, estimator: Treatment, kappa: float | None, heat: Heat | None
) -> None:
    """Raise ValueError for options of von Mises-Fisher mixtures that are unknown or do not go together."""
    check_one_of("assignment", assignment, get_args(Assignment))
    check_one_of("concentration", concentration, get_args(Concentration))
    check_one_of("estimator", estimator, TREATMENTS)
    if (estimator == "fixed") != (kappa is not None):
        raise ValueError(
            f"kappa belongs to estimator 'fixed' and to no other; got estimator {estimator!r}, kappa {kappa}"
        )
    if kappa is not None and not (np.isfinite(kappa) and kappa > 0):
        raise ValueError(f"kappa must be positive and finite; got {kappa}")
    if heat is not None:
        beta0, factor = heat
        if not (beta0 is None or 0 < beta0 <= 1) or not factor > 1:
            raise ValueError(f"beta0 must lie in (0, 1] and factor above 1; got beta0 {beta0}, factor {factor}")


def _check_algorithm(algorithm: EMVariant, assignment: Assignment, x: Rows) -> None:
    """Raise ValueError for an unknown algorithm, or incremental EM of what it cannot fit."""
    check_one_of("algorithm", algorithm, get_args(EMVariant))
    if algorithm == "incremental" and assignment != "soft":
        raise ValueError(f"algorithm 'incremental' needs assignment 'soft'; got {assignment!r}")
    if algorithm == "incremental" and isinstance(x, ChunkedMatrix):
        raise ValueError("algorithm 'incremental' needs rows at one place; got rows in chunks")


@dataclass(frozen=True, slots=True, eq=False)
class _VMFModel:
    """The steps of EM for von Mises-Fisher components; the first ``tied`` M-steps share their concentration."""

    x: Rows
    k: int
    options: EMOptions
    concentration: Concentration
    estimator: Treatment
    kappa: float | None
    hard: bool = False
    tied: int = 0

    def e_step(self, mixture: Mixture) -> Expectation[WeightedSums]:
        """Sum documents by responsibilities; hard ones if ``hard``."""
        weights = self.options.weights
        sums, loglik, labels = sweep(self.x, mixture, hard=self.hard, weights=weights, threads=self.options.threads)
        total = _hard_objective(mixture, sums) if self.hard else _summed(loglik, weights)
        return Expectation(sums, float(total / float(sums.nk.sum())), sums.nk, labels, loglik)

    def m_step(self, mixture: Mixture, found: Expectation[WeightedSums], sweep: int) -> Mixture:
        """Estimate from the sums; directions whose resultant vanishes stay those of ``mixture``."""
        concentration = self.concentration if sweep > self.tied else "shared"
        return estimate(found.statistics, mixture.mu, concentration, self.estimator, self.kappa)

    def restart(
        self,
        mixture: Mixture,
        found: Expectation[WeightedSums],
        sweep: int,
        dead: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Mixture:
        """Move the documents ``rows`` to the dead components before the M-step."""
        x, weights = self.x, self.options.weights
        resp = one_hot(found.labels[rows], self.k, x.dtype) if self.hard else e_step(x[rows], mixture)[0]
        if weights is not None:
            resp *= weights[rows, None].astype(resp.dtype)
        move(x, found.statistics, rows, resp, dead)
        return self.m_step(mixture, found, sweep)

    def passes(self, mixture: Mixture) -> Passes:
        """Do passes of incremental EM at full temperature until they rest; one sweep of EM is left to be done."""
        options = self.options

        def estimated(sums: WeightedSums, before: Mixture) -> Mixture:
            return estimate(sums, before.mu, self.concentration, self.estimator, self.kappa)

        return incremental(
            self.x,
            mixture,
            estimated,
            max_iter=options.max_iter - 1,
            tol=options.tol,
            weights=options.weights,
            threads=options.threads,
        )

    def climb(self, mixture: Mixture, *, hard: bool, max_iter: int, tied: int) -> Climb[WeightedSums]:
        """Do EM at full temperature, after ``tied`` sweeps that do not count; it may not end with these."""
        stop = Stop(tied + max_iter, self.options.tol, by_labels=hard, earliest=tied + 2)
        return climb(replace(self, hard=hard, tied=tied), self.x, mixture, stop, self.options.weights)


def _fitted(
    model: _VMFModel,
    start: Floats | Mixture,
    assignment: Assignment,
    algorithm: EMVariant,
    heat: Heat | None,
    soft_iter: int,
) -> MixtureFit:
    """Anneal from a start, do the soft sweeps of a hybrid fit or incremental passes, then EM to its end."""
    mixture = _annealed(model, start, heat)
    tied = 0 if isinstance(start, Mixture) or model.concentration == "shared" else TIED_SWEEPS
    passed = np.zeros(0)
    if assignment == "hybrid":
        mixture = model.climb(mixture, hard=False, max_iter=soft_iter, tied=tied).mixture
        tied = 0
    elif algorithm == "incremental":
        if tied:
            mixture = model.climb(mixture, hard=False, max_iter=0, tied=tied).mixture
            tied = 0
        by_blocks = model.passes(mixture)
        mixture, passed = by_blocks.mixture, by_blocks.trace[:-1]
    left = model.options.max_iter - len(passed)
    found = model.climb(mixture, hard=assignment != "soft", max_iter=left, tied=tied)
    labels, trace = found.last.labels.astype(np.int64), np.concatenate([passed, found.trace[tied:]])
    return MixtureFit(model.x, found.mixture, trace, labels, found.converged)


def _annealed(model: _VMFModel, start: Floats | Mixture, heat: Heat | None) -> Mixture:
    """Return the mixture at which sweeps at full temperature begin."""
    x, estimator = model.x, model.estimator
    threads, weights = model.options.threads, model.options.weights
    if isinstance(start, Mixture):
        mixture = start
    else:
        mixture = m_step(x, weighted(start, weights), model.k, estimator=estimator, kappa=model.kappa, threads=threads)
    mixture = model.options.begun(mixture)
    if heat is None:
        return mixture
    beta0, factor = heat
    if isinstance(start, Mixture):  # its concentration says nothing about the documents yet
        sums = sweep(x, mixture, weights=weights, threads=threads).sums
        mixture = estimate(sums, mixture.mu, "shared", estimator, model.kappa)
    if beta0 is None:
        beta0 = ANNEAL * melting(x, mixture, weights=weights, threads=threads)
    return annealed(x, mixture, beta0, factor, estimator=estimator, kappa=model.kappa, weights=weights, threads=threads)


def _summed(values: Vector, weights: Vector | None) -> float:
    return float(values.sum() if weights is None else values @ weights)


def _hard_objective(mixture: Mixture, sums: WeightedSums) -> float:
    """sum_i max_k (log pi_k + kappa_k x_i'mu_k - ell(kappa_k)) from the sums of the hard assignments."""
    slope, offset = line(mixture)
    along = column_dots(mixture.mu, sums.s)[: mixture.k]
    occupied = sums.nk > 0
    return float((slope * along)[occupied].sum() + (offset[occupied] * sums.nk[occupied]).sum())
