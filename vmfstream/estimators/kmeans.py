"""Spherical k-means and frequency-sensitive k-means as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.kernels import dots
from vmfstream.estimators.base import (
    ITERATION,
    FitInput,
    SphereEstimator,
    components_by_rows,
    labels_of,
    means_given,
    occupied_first,
    padded_columns,
)
from vmfstream.estimators.distinct import Distinct, as_they_come, distinct
from vmfstream.estimators.parameters import Array, Choice, Domain, Either, Flag, Function, Nothing, Number, Whole
from vmfstream.estimators.starts import own_start
from vmfstream.mixtures.columns import renumbered
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.frequency_sensitive import frequency_sensitive, frequency_sensitive_online, scores
from vmfstream.mixtures.kmeans import KMeansFit, spherical_kmeans
from vmfstream.mixtures.local_search import searched_kmeans
from vmfstream.mixtures.seeding import agglomerated_means, perturbed_means, random_means, seed_means

_STARTS = {
    "k-means++": seed_means,
    "agglomerative": agglomerated_means,
    "perturbed-mean": perturbed_means,
    "random": random_means,
}

_COMMON: dict[str, Domain] = ITERATION | {"init": Either(Choice(*_STARTS), Array(), Function()), "warm_start": Flag()}


class KMeansEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SphereEstimator):  # type: ignore[misc]
    """Base of the k-means: starts, fitted attributes, cosines."""

    _seeding: ClassVar[Mapping[str, Callable[..., Floats]]] = _STARTS
    init: str | ArrayLike
    n_init: int
    max_iter: int
    warm_start: bool
    weights_: NDArray[np.float64]
    lower_bound_: float
    lower_bounds_: NDArray[np.float64]
    n_iter_: int
    converged_: bool

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Find clusters of the rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        y : ignored
        sample_weight : array-like, shape (N,), optional
            How often each row was seen, at least 0; fractions are allowed. The total is the number of rows that a fit
            takes as evidence. One below the number of rows that have a weight is scaled to that number: then weights
            are relative.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, a number in ``X`` is not finite, or fewer rows than components have a
            direction and a weight.
        """
        documents = self._read(X, sample_weight)
        rng = self._rng()
        part = self._part(documents)
        with self._fitting():
            run = best_of(self._run(part, start, rng) for start in self._starts(part, rng))
        self._keep(run, np.arange(self.n_components))
        labels = self._nearest(documents.rows, documents.empty)
        order = occupied_first(labels, self.n_components)
        self._keep(run, order)
        self.labels_ = renumbered(labels, order)
        directed_rows = ~documents.empty
        weight = None if documents.weight is None else documents.weight[directed_rows]
        sizes = np.bincount(self.labels_[directed_rows], weight, minlength=self.n_components)
        self.weights_ = sizes / sizes.sum()
        self._warn_of_empty()
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the label of every row, (N,) int64: the cluster of its largest score, -1 without direction."""
        return self._nearest(*self._rows(X))

    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """Return the cosine of every row with every mean, (N, K); 0 for rows without direction."""
        return self._cosines(self._rows(X)[0])

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean cosine of the rows that have a direction with the mean of their cluster."""
        rows, empty = self._rows(X)
        labels = self._nearest(rows, empty)
        return float(self._cosines(rows)[~empty, labels[~empty]].mean()) if not empty.all() else 0.0

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """The means, (K, D), under the name that scikit-learn's k-means gives them."""
        return self.means_

    @property
    def _n_features_out(self) -> int:
        return len(self.means_)

    def _part(self, documents: FitInput) -> Distinct:
        """Return what is fitted of the documents."""
        return distinct(documents, self.n_components)

    def _run(self, part: Distinct, mu: Floats, rng: np.random.Generator) -> KMeansFit:
        raise NotImplementedError

    def _line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Slopes and offsets (K,) that turn cosines into scores."""
        raise NotImplementedError

    def _starts(self, part: Distinct, rng: np.random.Generator) -> Iterator[Floats]:
        rows, k = part.rows, self.n_components
        if self._continues(k, rows.shape[1]):
            yield means_given(self.means_, k, rows.shape[1], rows.dtype)
            return
        for _ in range(self._number_of_starts()):
            if isinstance(self.init, str):
                yield self._seeding[self.init](rows, k, rng, part.weight)
            else:
                yield means_given(own_start(self.init, rows, k, rng), k, rows.shape[1], rows.dtype)

    def _keep(self, run: KMeansFit, order: NDArray[np.int64]) -> None:
        """Take the fitted attributes from a run, its clusters in an ``order`` (K,)."""
        self.means_ = components_by_rows(run.mu, self.n_components)[order]
        self.lower_bounds_ = run.trace
        self.lower_bound_ = float(run.trace[-1])
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged

    def _cosines(self, rows: Rows) -> NDArray[Any]:
        return dots(rows, padded_columns(self.means_, rows.dtype), threads=self._threads())[:, : len(self.means_)]

    def _nearest(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        slope, offset = self._line()
        return labels_of(self._cosines(rows) * slope + offset, empty)


class SphericalKMeans(KMeansEstimator):
    """K-means on the unit sphere: every row belongs to the mean direction with which its cosine is largest.

    Parameters
    ----------
    n_components : int
        Number of clusters K.
    init : {"k-means++", "agglomerative", "perturbed-mean", "random"}, array of shape (K, D), or callable
        ``k-means++``: rows that are far apart, drawn by 1 - cosine; ``agglomerative``: the means of 2 K clusters of
        which those most alike became one until K were left; ``perturbed-mean``: near the mean of all rows; ``random``:
        K rows; or the first means, or what gives them: ``init(unit rows without copies, n_components,
        numpy.random.Generator)``.
    n_init : int
        Number of starts; the one with the largest mean cosine is kept.
    max_iter : int
        Largest number of sweeps; it stops when no label changes.
    local_search : int
        Moves in a chain of single rows to other clusters that is tried when no label changes, 0 for none; where it
        gains sweeps go on. Small sets of many columns gain most by it, by chains of 30; a chain needs N K numbers.
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
        Mean directions, unit rows.
    weights_ : (K,)
        Shares of the clusters.
    labels_ : (N,) int64
        Clusters of the rows, -1 for rows without direction.
    lower_bounds_ : (sweeps,)
        Mean cosine after each sweep, which never falls; ``lower_bound_`` is the last of them.
    n_iter_, converged_, n_empty_rows_, n_features_in_
        Sweeps, whether the fit came to rest, rows without direction, columns.

    Notes
    -----
    Equal rows are merged and their weights added, and clusters without rows come last, so that labels have no gaps. The
    order of rows does not matter, but to rounding.

    References
    ----------
    [BDGS05] algorithm 3 (spkmeans), section 7 (agglomerative start); [DM01]; [DGK02] (local search).

    Examples
    --------
    >>> SphericalKMeans(2, random_state=0).fit_predict([[1, 0.1], [1, 0.2], [0.1, 1], [0.3, 1]])
    array([0, 0, 1, 1])
    """

    domains: ClassVar[Mapping[str, Domain]] = _COMMON | {"local_search": Whole(0)}

    def __init__(
        self,
        n_components: int = 8,
        *,
        init: str | ArrayLike = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        local_search: int = 0,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.local_search = local_search
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _run(self, part: Distinct, mu: Floats, rng: np.random.Generator) -> KMeansFit:
        options: dict[str, Any] = {"max_iter": self.max_iter, "weights": part.weight, "threads": self._threads()}
        if self.local_search:
            return searched_kmeans(part.rows, mu, self.n_components, length=self.local_search, **options)
        return spherical_kmeans(part.rows, mu, self.n_components, **options)

    def _line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.ones(len(self.means_)), np.zeros(len(self.means_))


class FrequencySensitiveKMeans(KMeansEstimator):
    """Spherical k-means with balanced clusters: the smaller a cluster, the larger its concentration.

    With kappa_k = kappa_0 (N / K) / n_k a row belongs to the cluster of the largest kappa_k x'mu_k - ell(kappa_k).

    Parameters
    ----------
    n_components : int
        Number of clusters K.
    mode : {"batch", "online"}
        Sweeps over all rows, with the mean sizes of the sweeps before; or one pass over the rows, after each of which
        the mean of its cluster and all sizes are renewed.
    frequency : {"exact", "asymptotic"}
        The score above, or its form for kappa much larger than D.
    kappa_0 : float or None
        Concentration of a cluster of average size. By default it is found from the first means: for the exact score so
        that small clusters of every size are favoured; the asymptotic one does so for sizes near the average only.
    horizon : float or None
        Online: the number of rows that sizes remember; by default all.
    shuffle : bool
        Online: read the rows in random order, equal rows at once. Rows that come sorted by their cluster cannot be
        balanced; without shuffling, order and copies matter.
    tol : float
        Batch: stop when at most this share of the rows changes its label. That may never happen; a warning tells.
    init, n_init, max_iter, warm_start, random_state, n_jobs, verbose
        As in `SphericalKMeans`; a warm start knows the means, not the sizes that were counted.

    Attributes
    ----------
    means_ : (K, D)
        Mean directions, unit rows.
    concentrations_ : (K,)
        Concentrations of the clusters.
    weights_ : (K,)
        Shares of the clusters.
    labels_ : (N,) int64
        Clusters of the rows, -1 for rows without direction.
    lower_bounds_ : (sweeps,)
        Mean cosine after each sweep, which may fall; ``lower_bound_`` is the last of them.
    n_iter_, converged_, n_empty_rows_, n_features_in_
        Sweeps, whether the fit came to rest, rows without direction, columns.

    References
    ----------
    [BDGS05] section 5.1; [BG02]; [BG04] (online).

    Examples
    --------
    >>> FrequencySensitiveKMeans(2, random_state=0).fit_predict([[1, 0.1], [1, 0.2], [0.1, 1], [0.3, 1]])
    array([0, 0, 1, 1])
    """

    domains: ClassVar[Mapping[str, Domain]] = _COMMON | {
        "mode": Choice("batch", "online"),
        "frequency": Choice("exact", "asymptotic"),
        "kappa_0": Either(Number(0.0, closed="neither"), Nothing()),
        "horizon": Either(Number(1.0), Nothing()),
        "shuffle": Flag(),
        "tol": Number(0.0),
    }
    concentrations_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int = 8,
        *,
        mode: str = "batch",
        frequency: str = "exact",
        kappa_0: float | None = None,
        horizon: float | None = None,
        shuffle: bool = True,
        init: str | ArrayLike = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-3,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.mode = mode
        self.frequency = frequency
        self.kappa_0 = kappa_0
        self.horizon = horizon
        self.shuffle = shuffle
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _part(self, documents: FitInput) -> Distinct:
        if self.mode == "online" and not self.shuffle:
            return as_they_come(documents)
        return super()._part(documents)

    def _run(self, part: Distinct, mu: Floats, rng: np.random.Generator) -> KMeansFit:
        options: dict[str, Any] = {
            "score_by": self.frequency,
            "scale": self.kappa_0,
            "weights": part.weight,
        }
        if self.mode == "online":
            order = rng.permutation(part.rows.shape[0]) if self.shuffle else None
            return frequency_sensitive_online(
                part.rows, mu, self.n_components, horizon=self.horizon, order=order, **options
            )
        return frequency_sensitive(
            part.rows,
            mu,
            self.n_components,
            max_iter=self.max_iter,
            tol=self.tol,
            threads=self._threads(),
            **options,
        )

    def _keep(self, run: KMeansFit, order: NDArray[np.int64]) -> None:
        super()._keep(run, order)
        self.concentrations_ = run.kappa[order]

    def _line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return scores(self.n_features_in_, self.concentrations_, self.frequency)  # type: ignore[arg-type]
