"""Maximum-likelihood mixtures of von Mises-Fisher distributions as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.kernels import dots
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.estimators.base import (
    ITERATION,
    labels_of,
    means_given,
)
from vmfstream.estimators.distinct import Distinct, distinct
from vmfstream.estimators.likelihood import LikelihoodMixture, own_start
from vmfstream.estimators.parameters import Array, Choice, Domain, Either, Flag, Function, Number, Whole
from vmfstream.mixtures import movmf, steps
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.seeding import one_hot

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
    concentration : {"shared", "own"}
        One concentration for all components, which is right for text, or one each.
    estimator : {"marginal", "mle", "banerjee", "newton2", "debiased"}
        How concentrations are estimated. ``mle`` maximises the likelihood; it is too large where a component has fewer
        rows than dimensions, which ``marginal`` (means integrated out) and ``debiased`` correct. ``banerjee`` and
        ``newton2`` approximate ``mle``.
    init : {"k-means++", "random", "perturbed-mean"}, array or callable
        ``k-means++``: rows that are far apart and five sweeps of spherical k-means; ``random``: random
        responsibilities; ``perturbed-mean``: means near the mean of all rows and the concentration 10; among few
        columns soft fits may stay at the mean that these two begin with, and warn. An array is
        either labels, shape (N,), or means, shape (K, D), whose nearest rows are the first components. A callable gives
        means: ``init(unit rows without copies, n_components, numpy.random.Generator)``.
    n_init : int or "auto"
        Number of starts; the one of largest ``lower_bound_`` is kept. ``auto``: 3, or 1 where ``init`` is an array.
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
        Threads for sparse ``X``: one for None, all for -1.

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
        Sweeps, those of the annealing included.
    converged_, n_empty_rows_, n_features_in_
        Whether the fit came to rest, rows without direction, columns.

    Notes
    -----
    A sweep costs O(nnz K); beside ``X`` the fit needs O(D K + N) memory.

    Equal rows are merged and their weights added, and components that no row belongs to come last, so that labels have
    no gaps. The order of rows does not matter, but to rounding.

    Of scikit-learn's own checks two cannot apply: those of sparse input take whatever has predict_proba for a
    classifier.

    References
    ----------
    [BDGS05] algorithms 1 (soft) and 2 (hard), sections 7 and 8; [GY14] section 3 (shared concentration).

    Examples
    --------
    >>> X = [[1, 0.1], [1, 0.2], [0.1, 1], [0.3, 1]]
    >>> mixture = VMFMixture(2, random_state=0).fit(X)
    >>> bool(mixture.labels_[0] == mixture.labels_[1] != mixture.labels_[2])
    True
    """

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "assignment": Choice("soft", "hard", "hybrid"),
        "concentration": Choice("shared", "own"),
        "estimator": Choice("marginal", "mle", "banerjee", "newton2", "debiased"),
        "init": Either(Choice("k-means++", "random", "perturbed-mean"), Array(), Function()),
        "n_init": Either(Whole(1), Choice("auto")),
        "tol": Number(0.0),
        "anneal": Flag(),
        "soft_iter": Whole(1),
        "warm_start": Flag(),
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        assignment: str = "soft",
        concentration: str = "shared",
        estimator: str = "marginal",
        init: str | ArrayLike | Callable[..., ArrayLike] = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        anneal: bool = True,
        soft_iter: int = 10,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.assignment = assignment
        self.concentration = concentration
        self.estimator = estimator
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.anneal = anneal
        self.soft_iter = soft_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> VMFMixture:
        """Fit the mixture to the rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        y : ignored
        sample_weight : array-like, shape (N,), optional
            How often each row was seen, at least 0; fractions are allowed. A total below the number of rows that have a
            weight is scaled to that number: then weights are relative. ``debiased`` takes a row of weight w for one
            row seen w times, not for w independent ones.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, a number in ``X`` is not finite, or fewer rows than components have a
            direction and a weight.
        """
        documents = self._read(X, sample_weight)
        warm = self.warm_start and hasattr(self, "means_")
        options: dict[str, Any] = {
            name: getattr(self, name) for name in ("concentration", "estimator", "max_iter", "tol", "soft_iter")
        }
        part = distinct(documents, self.n_components)
        k, rng, starts = self.n_components, self._rng(), 1 if warm else self._number_of_starts(STARTS)
        given = own_starts(self.init, part, documents.weight, k, starts, rng, self._threads())
        fits = (
            movmf.fit(
                part.rows,
                k,
                rng=rng,
                assignment="hard" if warm and self.assignment == "hybrid" else self.assignment,  # type: ignore[arg-type]
                init=self._mixture(documents.rows.dtype) if warm else start,
                n_init=starts if isinstance(start, str) else 1,
                anneal=self.anneal and not warm,
                weights=part.weight,
                threads=self._threads(),
                **options,
            )
            for start in given
        )
        self._keep(best_of(fits), documents, part.number)
        self._warn_of_empty()
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def _component(self, k: int) -> VonMisesFisher:
        return VonMisesFisher(self.means_[k], float(self.concentrations_[k]))

    def _labels(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        return steps.labels(rows, self._mixture(rows.dtype), threads=self._threads())

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        return steps.e_step(rows, self._mixture(rows.dtype), threads=self._threads())


def own_starts(
    init: Any,
    part: Distinct,
    weight: Vector | None,
    k: int,
    starts: int,
    rng: np.random.Generator,
    threads: int,
    *,
    axial: bool = False,
) -> Iterator[str | Floats]:
    """Yield what fits start from: a callable ``init`` is called as often as ``starts`` says, others stand once.

    The other arguments as in `start_given`; ``rng`` is given to the callable.
    """
    for _ in range(starts if callable(init) else 1):
        yield start_given(own_start(init, part.rows, k, rng), part, weight, k, threads, axial=axial)


def start_given(
    init: str | ArrayLike, part: Distinct, weight: Vector | None, k: int, threads: int, *, axial: bool = False
) -> str | Floats:
    """Return the start as fits take it: a name, or responsibilities (N, kp) from given labels or means.

    Parameters
    ----------
    init : a name of a start, labels (N,) below ``k``, or means (k, D); ValueError for others
    part : what is fitted of the documents, (M, D)
    weight : (N,) of the documents
    k : number of components
    threads : of the dot products with given means
    axial : count a mean and its opposite as one
    """
    if isinstance(init, str):
        return init
    rows = part.rows
    given = np.asarray(init)
    if given.ndim == 1:
        labels = np.where(part.number >= 0, _labels_given(given, len(part.number), k), -1)
        return part.merged(one_hot(labels, k, rows.dtype), weight)
    cosines = dots(rows, means_given(given, k, rows.shape[1], rows.dtype), threads=threads)[:, :k]
    return one_hot(labels_of(np.abs(cosines) if axial else cosines, ~directed(rows)), k, rows.dtype)


def _labels_given(given: NDArray[Any], n: int, k: int) -> NDArray[Any]:
    if given.shape != (n,) or not np.issubdtype(given.dtype, np.integer) or not ((given >= 0) & (given < k)).all():
        raise ValueError(f"init: expected {n} labels from 0 to {k - 1}, or means; got {given.dtype} of {given.shape}")
    return given
