"""Mixtures of Watson distributions and diametrical k-means, for axes, as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.kummer import watson_bounds
from vmfstream.directional.params import Mixture
from vmfstream.directional.watson import ESTIMATORS, Watson
from vmfstream.estimators.base import ITERATION, labels_of
from vmfstream.estimators.distinct import Distinct
from vmfstream.estimators.kmeans import KMeansEstimator
from vmfstream.estimators.likelihood import OWN, STARTING, LikelihoodMixture
from vmfstream.estimators.parameters import Choice, Domain, Either, Flag, Number
from vmfstream.mixtures import watson
from vmfstream.mixtures.diametrical import axial_seeds, diametrical_kmeans
from vmfstream.mixtures.kmeans import KMeansFit
from vmfstream.mixtures.seeding import random_means


class WatsonMixture(LikelihoodMixture):
    """Mixture of Watson distributions, for which a row and its opposite are the same, fitted by EM.

    Parameters
    ----------
    n_components : int
        Number of components K.
    assignment : {"soft", "hard"}
        EM, or every row wholly to its likeliest component.
    estimator : {"mle", "L", "B", "U", "BBG"}
        How concentrations are found: exactly, or by a bound or heuristic of [Sra] eqs. (4.10)-(4.13).
    negative : bool
        Whether components may be girdles, of negative concentration: only where more (effective) rows than dimensions
        belong to one, for its likelihood has no bound otherwise.
    init : {"k-means++", "random"}, array or callable
        ``k-means++``: labels of diametrical k-means from rows that are far apart; ``random``: random responsibilities.
        An array is either labels, shape (N,), or axes, shape (K, D), whose nearest rows are the first components; a
        callable as of `VMFMixture`.
    weights_init : array of shape (K,), optional
        As of `VMFMixture`.
    n_init : int
        Number of starts; the one with the largest objective is kept.
    max_iter : int
        Largest number of M-steps.
    tol : float
        Stop when the objective per row changes by less, in nats.
    warm_start : bool
        Begin where the last fit ended, if there was one.
    random_state : None, int, RandomState or Generator
        Source of randomness.
    n_jobs : int or None
        Threads: one for None, all for -1.
    verbose : int or bool
        Whether to print a line for every sweep.

    Attributes
    ----------
    means_ : (K, D)
        Axes, unit rows whose entry of largest modulus is positive.
    concentrations_ : (K,)
        Concentrations, of either sign.
    weights_ : (K,)
        Shares, sum to 1.
    labels_ : (N,) int64
        Components of the rows, -1 for rows without direction.
    lower_bounds_ : (sweeps,)
        Mean log-likelihood (or of the likeliest component, if hard) relative to uniform, before the first M-step and
        after each; ``lower_bound_`` is the last of them.
    n_iter_, converged_, n_empty_rows_, n_features_in_
        Sweeps, whether the fit came to rest, rows without direction, columns.

    Notes
    -----
    Rows and labels as of `VMFMixture`; of scikit-learn's own checks the same two cannot apply. Concentrations are
    estimated up to 10^6 either way, or to where the mean squared cosine is .9999 if that is more; a fit that ends there
    warns.

    References
    ----------
    [Sra] sections 4.2 and 5; [SK13].

    Examples
    --------
    >>> WatsonMixture(2, random_state=0).fit_predict([[1, 0.1], [-1, -0.2], [0.1, 1], [-0.3, -1]])
    array([1, 1, 0, 0])
    """

    domains: ClassVar[Mapping[str, Domain]] = (
        ITERATION
        | STARTING
        | {
            "assignment": Choice("soft", "hard"),
            "estimator": Choice(*ESTIMATORS),
            "negative": Flag(),
            "init": Either(Choice("k-means++", "random"), *OWN),
            "tol": Number(0.0),
        }
    )
    axial: ClassVar[bool] = True

    def __init__(
        self,
        n_components: int = 8,
        *,
        assignment: str = "soft",
        estimator: str = "mle",
        negative: bool = True,
        init: str | ArrayLike = "k-means++",
        weights_init: ArrayLike | None = None,
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.assignment = assignment
        self.estimator = estimator
        self.negative = negative
        self.init = init
        self.weights_init = weights_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _climbed(self, rows: Rows, start: str | Floats | Mixture, **options: Any) -> watson.WatsonFit:
        return watson.fit(
            rows,
            self.n_components,
            init=start,
            assignment=self.assignment,  # type: ignore[arg-type]
            estimator=self.estimator,  # type: ignore[arg-type]
            negative=self.negative,
            **options,
        )

    def _largest_concentration(self) -> float:
        return watson_bounds(self.n_features_in_)[1]

    def _component(self, k: int) -> Watson:
        return Watson(self.means_[k], float(self.concentrations_[k]))

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        return watson.e_step(rows, self._mixture(rows.dtype), threads=self._threads())


class DiametricalKMeans(KMeansEstimator):
    """K-means of axes: every row belongs to the axis with which its squared cosine is largest.

    A row and its opposite, such as a gene that rises and one that falls with the same pattern, belong to one cluster.

    Parameters
    ----------
    n_components : int
        Number of clusters K.
    init : {"k-means++", "random"}, array of shape (K, D), or callable
        ``k-means++``: rows that are far apart, drawn by 1 - cosine^2; ``random``: K rows; or the first axes, or a
        callable as of `SphericalKMeans`.
    n_init : int
        Number of starts; the one with the largest mean squared cosine is kept.
    max_iter, warm_start, random_state, n_jobs, verbose
        As in `SphericalKMeans`.

    Attributes
    ----------
    means_ : (K, D)
        Axes, unit rows.
    weights_ : (K,)
        Shares of the clusters.
    labels_ : (N,) int64
        Clusters of the rows, -1 for rows without direction.
    lower_bounds_ : (sweeps,)
        Mean squared cosine in each sweep, which never falls; ``lower_bound_`` is the last of them.
    n_iter_, converged_, n_empty_rows_, n_features_in_
        Sweeps, whether the fit came to rest, rows without direction, columns.

    References
    ----------
    [DMR03], [Sra] section 5.2.

    Examples
    --------
    >>> DiametricalKMeans(2, random_state=0).fit_predict([[1, 0.1], [-1, -0.2], [0.1, 1], [-0.3, -1]])
    array([1, 1, 0, 0])
    """

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "init": Either(Choice("k-means++", "random"), *OWN),
        "warm_start": Flag(),
    }
    _seeding: ClassVar[Mapping[str, Callable[..., Floats]]] = {"k-means++": axial_seeds, "random": random_means}

    def __init__(
        self,
        n_components: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _run(self, part: Distinct, mu: Floats, rng: np.random.Generator) -> KMeansFit:
        options: dict[str, Any] = {"max_iter": self.max_iter, "weights": part.weight, "threads": self._threads()}
        return diametrical_kmeans(part.rows, mu, self.n_components, **options)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean squared cosine of the rows that have a direction with the axis of their cluster."""
        rows, empty = self._rows(X)
        return float((self._cosines(rows)[~empty] ** 2).max(axis=1).mean()) if not empty.all() else 0.0

    def _nearest(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        return labels_of(np.abs(self._cosines(rows)), empty)
