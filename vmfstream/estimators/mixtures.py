"""Maximum-likelihood mixtures of von Mises-Fisher distributions as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.bessel import largest_concentration
from vmfstream.directional.params import Mixture
from vmfstream.estimators.base import ITERATION
from vmfstream.estimators.likelihood import OWN, STARTING, LikelihoodMixture
from vmfstream.estimators.parameters import Choice, Domain, Either, Flag, Number, Whole
from vmfstream.mixtures import movmf, steps

STARTS = 3
"""Starts that are drawn by default."""


class VMFMixture(LikelihoodMixture):
    """Mixture of von Mises-Fisher distributions, fitted by annealed EM.

    p(x) = sum_k pi_k C_D(kappa_k) exp(kappa_k mu_k'x) on unit vectors x. All log-densities are relative to the uniform
    density on the sphere, in nats.

    Parameters
    ----------
    n_components : int
        Number of components K.
    assignment : {"soft", "hard", "hybrid"}
        ``soft``: EM; ``hard``: every row belongs wholly to its likeliest component; ``hybrid``: soft for at most
        ``soft_iter`` sweeps, then hard.
    algorithm : {"em", "incremental"}
        ``em``: components are estimated after a sweep over all rows; ``incremental``: after every tenth of the rows,
        which often takes fewer sweeps, though not less time, and room for a copy of ``X`` and N K responsibilities; it
        ends with sweeps of ``em``, and must be soft.
    concentration : {"shared", "own"}
        One concentration for all components, which is right for text, or one each.
    estimator : {"marginal", "mle", "banerjee", "newton2", "debiased"}
        How concentrations are estimated. ``mle`` maximises the likelihood; it is too large where a component has fewer
        rows than dimensions, which ``marginal`` (means integrated out) and ``debiased`` correct. ``banerjee`` and
        ``newton2`` approximate ``mle``.
    init : {"k-means++", "agglomerative", "random", "perturbed-mean"}, array or callable
        ``k-means++``: rows that are far apart and five sweeps of spherical k-means; ``agglomerative``: the same with
        2 K clusters, of which those most alike become one until K are left; ``random``: random
        responsibilities; ``perturbed-mean``: means near the mean of all rows and the concentration 10; among few
        columns soft fits may stay at the mean that these two begin with, and warn. An array is
        either labels, shape (N,), or means, shape (K, D), whose nearest rows are the first components. A callable gives
        means: ``init(unit rows without copies, n_components, numpy.random.Generator)``.
    weights_init : array of shape (K,), optional
        Weights of the components in the first E-step, above 0, scaled to the sum 1; by default those that the start
        gives. Annealing soon forgets them.
    n_init : int or "auto"
        Number of starts; the one of largest ``lower_bound_`` is kept. ``auto``: 3, or 1 where ``init`` is an array.
        Of many rows, at least 200 for every component, 40 for every column and 4,000 in all, ``auto`` fits the starts
        to half of these numbers, drawn at random, and goes on from the best with all rows, not annealed again. Dense
        rows of double precision are fitted in single precision first (a copy), then in their own.
    max_iter : int
        Largest number of sweeps at full temperature; the first five of own concentrations, which still share one, are
        part of the start and do not count.
    tol : float
        Stop when the mean log-density changes by less, in nats. Hard sweeps stop when no label changes.
    anneal : bool
        Approach the full scores from a high temperature. Without, EM in high dimension hardly leaves its start.
    soft_iter : int
        Largest number of soft sweeps of ``hybrid``, annealing not counted.
    warm_start : bool
        Begin where the last fit ended, if there was one, without annealing.
    random_state : None, int, RandomState or Generator
        Source of randomness.
    n_jobs : int or None
        Threads: one for None, all for -1.
    verbose : int or bool
        Whether to print a line for every sweep.

    Attributes
    ----------
    weights_ : (K,)
        Proportions.
    means_ : (K, D)
        Mean directions, unit rows.
    concentrations_ : (K,)
        Concentrations.
    labels_ : (N,) int64
        Components of the rows, -1 for rows without direction.
    lower_bounds_ : (sweeps,)
        Mean over rows, before the first sweep at full temperature and after each, of the log-density, for hard
        assignments of the largest log pi_k vMF(x | mu_k, kappa_k); with ``mle`` it never falls. ``lower_bound_`` is the
        last of them.
    n_iter_ : int
        Sweeps over all rows at full temperature.
    converged_, n_empty_rows_, n_features_in_
        Whether the fit came to rest, rows without direction, columns.

    Notes
    -----
    A sweep costs O(nnz K); beside ``X`` the fit needs O(D K + N) memory.

    Equal rows are merged and their weights added, and components that no row belongs to come last, so that labels have
    no gaps. The order of rows does not matter, but to rounding. ``debiased`` takes a row of weight w for one row seen w
    times, not for w independent ones. Concentrations are estimated up to 10^6, or to A^-1(.9999) where that is more; a
    fit that ends there warns.

    Of scikit-learn's own checks two cannot apply: those of sparse input take whatever has predict_proba for a
    classifier.

    References
    ----------
    [BDGS05] algorithms 1 (soft) and 2 (hard), sections 7 and 8; [GY14] section 3 (shared concentration); [NH98]
    (incremental).

    Examples
    --------
    >>> X = [[1, 0.1], [1, 0.2], [0.1, 1], [0.3, 1]]
    >>> mixture = VMFMixture(2, random_state=0).fit(X)
    >>> bool(mixture.labels_[0] == mixture.labels_[1] != mixture.labels_[2])
    True
    """

    domains: ClassVar[Mapping[str, Domain]] = (
        ITERATION
        | STARTING
        | {
            "assignment": Choice("soft", "hard", "hybrid"),
            "algorithm": Choice("em", "incremental"),
            "concentration": Choice("shared", "own"),
            "estimator": Choice("marginal", "mle", "banerjee", "newton2", "debiased"),
            "init": Either(Choice("k-means++", "agglomerative", "random", "perturbed-mean"), *OWN),
            "n_init": Either(Whole(1), Choice("auto")),
            "tol": Number(0.0),
            "anneal": Flag(),
            "soft_iter": Whole(1),
        }
    )
    starts: ClassVar[int] = STARTS

    def __init__(
        self,
        n_components: int = 8,
        *,
        assignment: str = "soft",
        algorithm: str = "em",
        concentration: str = "shared",
        estimator: str = "marginal",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        weights_init: ArrayLike | None = None,
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        anneal: bool = True,
        soft_iter: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.assignment = assignment
        self.algorithm = algorithm
        self.concentration = concentration
        self.estimator = estimator
        self.init = init
        self.weights_init = weights_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.anneal = anneal
        self.soft_iter = soft_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _climbed(self, rows: Rows, start: str | Floats | Mixture, **options: Any) -> movmf.MixtureFit:
        going_on = isinstance(start, Mixture)
        return movmf.fit(
            rows,
            self.n_components,
            init=start,
            assignment="hard" if going_on and self.assignment == "hybrid" else self.assignment,  # type: ignore[arg-type]
            algorithm=self.algorithm,  # type: ignore[arg-type]
            concentration=self.concentration,  # type: ignore[arg-type]
            estimator=self.estimator,  # type: ignore[arg-type]
            anneal=self.anneal and not going_on,
            soft_iter=self.soft_iter,
            **options,
        )

    def _largest_concentration(self) -> float:
        return largest_concentration(self.n_features_in_)

    def _labels(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        return steps.labels(rows, self._mixture(rows.dtype), threads=self._threads())

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        return steps.e_step(rows, self._mixture(rows.dtype), threads=self._threads())
