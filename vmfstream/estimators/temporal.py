"""The temporal mixture as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import RULES
from vmfstream.bayes.factors.empirical_bayes import Hyperparameter
from vmfstream.bayes.factors.responsibilities import total
from vmfstream.bayes.predictive import memberships
from vmfstream.bayes.temporal.fitting import Evolution, EvolutionOptions, evolve, extended
from vmfstream.directional.params import ChunkedMatrix
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.estimators.base import (
    ITERATION,
    FitInput,
    MixtureEstimator,
    components_by_rows,
    occupied_first,
    row_weights,
)
from vmfstream.estimators.distinct import Distinct, as_they_come, distinct, repeated
from vmfstream.estimators.parameters import Choice, Domain, Either, Flag, Names, Nothing, Number, Whole
from vmfstream.mixtures.columns import column_norms, renumbered

LONGEST_SILENCE = 1000
"""Most slices without documents in a row; more are taken for an error in the numbers."""


class TemporalVMFMixture(MixtureEstimator):
    """Mixture of von Mises-Fisher distributions whose mean directions move from slice to slice.

    Parameters
    ----------
    n_components : int >= 1
    persistence : float in (0, 1), or "auto"
        Expected cosine between a component's means in consecutive slices; "auto" chooses what predicts best.
    inference : {"smoother", "filter", "meanfield", "gibbs"}
        Means given all slices; given the past alone; the published factor per slice, which is over-confident; or Gibbs
        sampling, with the directions of a slice integrated out of its labels, and means given all slices and how often
        rows were drawn with components. That is for few dimensions: in many its chains stay where they start.
    lag : int >= 0, optional
        So many later slices speak about a slice (smoother); default all.
    proportions : {"static", "logistic-normal", "dirichlet"}
        Weights that are the same in all slices, or walk, see `vmfstream.bayes.temporal.proportions`; the last not for
        Gibbs sampling.
    weight_step : float > 0
        Variance of a step of the log-weights.
    strength : float > 0, optional
        Total concentration of "dirichlet" weights, default the number of components.
    anchored : bool
        Whether the common prior of the directions acts in every slice; otherwise, and with mean field, in the first.
    start : {"all", "first"}
        Whether topics are looked for in all slices, or in the first, so that a filter knows nothing of later ones.
    kappa, concentration
        Factor of the concentrations, see `BayesianVMFMixture`, which Gibbs sampling draws; one for all components, or
        one each.
    empirical_bayes : sequence of str
        Which of "alpha", "mu0", "c0" (of the first slice) and "kappa" are learnt; mean field only.
    alpha : float > 0
        Prior of static weights.
    n_init, max_iter, tol
        Annealed starts, sweeps (per slice for the filter), and nats per document by which the bound changes at rest.
    n_draws, burn_in : int
        Sweeps of Gibbs sampling that are kept, and that come before, instead of ``max_iter`` and ``tol``.
    random_state : int, Generator, RandomState or None
    verbose : int or bool
        Whether to print a line for every sweep.

    Attributes
    ----------
    means_ : (T, K, D)
        Mean directions in every slice, those without documents too.
    certainties_ : (T, K)
        Concentrations of what is known about the means.
    slices_ : (T,)
        Numbers of the slices, without gaps.
    slice_weights_ : (T, K)
        Expected weights in every slice.
    weights_ : (K,)
        Expected weights in the slice after the last, for which `predict` and `score_samples` speak.
    concentrations_ : (K,)
    persistence_ : float
    labels_, lower_bound_, lower_bounds_, n_iter_, converged_ : as in other mixtures
        Bounds of Gibbs draws are their log joint densities.

    References
    ----------
    [GY14] section 3.3; its abstract names Gibbs sampling of this model, the text gives that of the flat one.

    Examples
    --------
    Means of two components in each of two slices:

    >>> X = [[1, 0.0], [1, 0.1], [0.0, 1], [0.1, 1], [0.8, 0.6], [0.7, 0.7], [0.0, 1], [0.1, 1]]
    >>> mixture = TemporalVMFMixture(2, random_state=0).fit(X, slices=[1, 1, 1, 1, 2, 2, 2, 2])
    >>> mixture.slices_.tolist(), mixture.means_.shape
    ([1, 2], (2, 2, 2))
    """

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "persistence": Either(Number(0.0, 1.0, closed="neither"), Choice("auto")),
        "inference": Choice("filter", "smoother", "meanfield", "gibbs"),
        "lag": Either(Whole(0), Nothing()),
        "proportions": Choice("static", "logistic-normal", "dirichlet"),
        "weight_step": Number(0.0, closed="neither"),
        "strength": Either(Number(0.0, closed="neither"), Nothing()),
        "anchored": Flag(),
        "start": Choice("all", "first"),
        "kappa": Choice(*RULES),
        "concentration": Choice("shared", "own"),
        "empirical_bayes": Names(*get_args(Hyperparameter)),
        "alpha": Number(0.0, closed="neither"),
        "tol": Number(0.0),
        "n_draws": Whole(1),
        "burn_in": Whole(0),
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        persistence: float | str = 0.98,
        inference: str = "smoother",
        lag: int | None = None,
        proportions: str = "static",
        weight_step: float = 0.1,
        strength: float | None = None,
        anchored: bool = True,
        start: str = "all",
        kappa: str = "point",
        concentration: str = "shared",
        empirical_bayes: Sequence[str] = (),
        alpha: float = 1.0,
        n_init: int = 2,
        max_iter: int = 50,
        tol: float = 1e-4,
        n_draws: int = 100,
        burn_in: int = 100,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.persistence = persistence
        self.inference = inference
        self.lag = lag
        self.proportions = proportions
        self.weight_step = weight_step
        self.strength = strength
        self.anchored = anchored
        self.start = start
        self.kappa = kappa
        self.concentration = concentration
        self.empirical_bayes = empirical_bayes
        self.alpha = alpha
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_draws = n_draws
        self.burn_in = burn_in
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        slices: ArrayLike | None = None,
    ) -> TemporalVMFMixture:
        """Fit the mixture to the rows of ``X``.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        y : ignored
            Classes have no part in the fit. Without ``slices`` a warning says so.
        sample_weight : array-like, shape (N,), optional
            How often each row was seen, as in `BayesianVMFMixture.fit`; Gibbs sampling takes whole numbers only.
        slices : (N,) integers, optional
            Slice of every row, in any order; numbers that are left out are slices without documents. Default one slice.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, a number in ``X`` is not finite, or fewer rows than components have a
            direction and a weight.
        """
        if y is not None and slices is None:
            warnings.warn(
                "TemporalVMFMixture: y is ignored, all rows are of one slice; name slices: fit(X, slices=...)",
                stacklevel=2,
            )
        documents, k = self._read(X, sample_weight), self.n_components
        numbers = _slice_numbers(slices, len(documents.empty), 0)
        part = distinct(documents, k, numbers)
        if self.inference == "gibbs":
            part = repeated(part)
        learnt = _by_slice(part, numbers, int(numbers.min()))
        with self._fitting():
            evolution = evolve(learnt.rows, learnt.sizes, k, self._options(), self._rng(), self.n_init, learnt.weight)
        self.slices_ = int(numbers.min()) + np.arange(len(learnt.sizes))
        labels = learnt.labels(evolution.resps, k)
        self._order = occupied_first(labels, k)
        self._take(evolution, labels)
        self._label_others(part, documents, numbers)
        self._tell_bounds(part.rows, part.weight)
        self.n_iter_ = len(evolution.trace) - (self.inference == "smoother")  # which tells the bound of the start too
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        slices: ArrayLike | None = None,
    ) -> TemporalVMFMixture:
        """Append slices, each learnt once and in order, without refitting those before.

        A call that ends with an error, or by Ctrl-C, has learnt nothing.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        y : ignored
        sample_weight : array-like, shape (N,), optional
            How often each row was seen, as in `fit`, fractions allowed; relative ones are to the rows of this call.
        slices : (N,) integers, optional
            After the last slice so far; numbers that are left out are slices without documents. Default the next slice.

        Notes
        -----
        Means given the past alone never change; with the smoother, as many earlier slices as ``lag`` allows are seen
        anew. ``labels_`` and bounds are those of ``X``: ``lower_bound_`` is the filter's bound per row given the slices
        before, the only one of ``lower_bounds_``; ``n_iter_`` is 1, for one pass.
        """
        if not hasattr(self, "slices_"):
            return self.fit(X, y, sample_weight, slices=slices)
        rows, empty = self._rows(X)
        weight = None if sample_weight is None else row_weights(sample_weight, len(empty))
        last = int(self.slices_[-1])
        numbers = _slice_numbers(slices, len(empty), last + 1)
        if numbers.min() <= last:
            raise ValueError(f"slices: expected slices after the last one, {last}, got {numbers.min()}")
        learnt = _by_slice(as_they_come(FitInput(rows, empty, weight)), numbers, last + 1)
        ends = np.cumsum(learnt.sizes)
        xs = [learnt.rows[end - size : end] for end, size in zip(ends, learnt.sizes, strict=True)]
        masses = None if learnt.weight is None else np.split(learnt.weight, ends[:-1])
        with self._kept_after_errors():
            with self._fitting():
                evolution = extended(self._evolution, xs, masses)
            self.slices_ = self.slices_[0] + np.arange(len(self.slices_) + len(xs))
            self._report_empty(empty)
            self._take(evolution, learnt.labels(evolution.resps, self.n_components))
            self._tell_bounds(learnt.rows, learnt.weight)
            self.n_iter_ = 1
        return self

    def _rows(self, X: ArrayLike) -> tuple[Rows, NDArray[np.bool_]]:
        """Return unit rows in the precision of the fit, which the state of the filter has."""
        rows, empty = super()._rows(X)
        return self._in_precision(rows), empty

    def _in_precision(self, rows: Rows) -> Rows:
        wanted = self._evolution.f[-1].dtype
        if not isinstance(rows, ChunkedMatrix):
            return rows.astype(wanted, copy=False)
        if rows.dtype != wanted:
            raise ValueError(f"X: expected rows in parts of the precision of the fit, {wanted}, got {rows.dtype}")
        return rows

    def _component(self, k: int) -> VonMisesFisher:
        return VonMisesFisher(self.means_[-1, k], float(self.concentrations_[k]))  # of the newest slice

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        resp, density = self._evolution.predicted(rows)
        return resp[:, self._order], density

    def _options(self) -> EvolutionOptions:
        return EvolutionOptions(
            inference=self.inference,  # type: ignore[arg-type]
            persistence=None if isinstance(self.persistence, str) else self.persistence,
            lag=self.lag,
            proportions=self.proportions,  # type: ignore[arg-type]
            weight_step=self.weight_step,
            strength=self.strength,
            anchored=self.anchored,
            kappa=self.kappa,  # type: ignore[arg-type]
            concentration=self.concentration,  # type: ignore[arg-type]
            alpha=self.alpha,
            start=self.start,  # type: ignore[arg-type]
            learn=tuple(self.empirical_bayes),  # type: ignore[arg-type]
            max_iter=self.max_iter,
            tol=self.tol,
            draws=self.n_draws,
            burn_in=self.burn_in,
        )

    def _label_others(self, part: Distinct, documents: FitInput, numbers: NDArray[np.int64]) -> None:
        """Label rows that have a direction but no weight, each by the means of its slice, one of ``numbers`` (N,)."""
        others = (part.number < 0) & ~documents.empty
        for slice_number in np.unique(numbers[others]):
            rows, t = np.flatnonzero(others & (numbers == slice_number)), int(slice_number - self.slices_[0])
            f, log_weights = self._evolution.f[t], np.log(self._evolution.weights[t])
            norms = column_norms(f)[: self.n_components]
            resp = memberships(documents.rows[rows], f, norms, self._evolution.kappa, log_weights)[0]
            self.labels_[rows] = resp[:, self._order].argmax(axis=1)

    def _tell_bounds(self, rows: Rows, weight: Vector | None) -> None:
        """Show the bounds of the ``rows`` of the last call, which were seen ``weight`` (N,) times."""
        self.lower_bounds_ = self._evolution.trace / total(rows, weight)
        self.lower_bound_ = float(self.lower_bounds_.max())

    def _take(self, evolution: Evolution, labels: NDArray[np.int64]) -> None:
        """Show a fit, with ``labels`` (N,) of its topics in their own order."""
        k, shown = self.n_components, self._order
        vectors = np.stack([components_by_rows(f, k)[shown] for f in evolution.f])
        norms = np.linalg.norm(vectors, axis=2, keepdims=True)
        self._evolution = evolution
        self.means_ = vectors / np.where(norms > 0, norms, 1)
        self.certainties_ = np.asarray(norms[:, :, 0], np.float64)
        self.slice_weights_ = evolution.weights[:, shown]
        self.weights_ = evolution.state.weights.weights[-1][shown]
        self.concentrations_ = np.broadcast_to(evolution.kappa.mean, k)[shown]
        self.persistence_ = evolution.omega
        self.converged_ = evolution.converged
        self.labels_ = renumbered(labels, shown)


class _Learnt(NamedTuple):
    """Rows slice after slice, so many in each, with their weights, and where the documents are among them."""

    rows: Rows
    sizes: list[int]
    weight: Vector | None
    number: NDArray[np.int64]

    def labels(self, resps: Sequence[Floats], k: int) -> NDArray[np.int64]:
        """Return the likeliest of ``k`` topics of every document, (N,), -1 for those that took no part."""
        best = np.concatenate(resps)[:, :k].argmax(axis=1)
        return np.where(self.number >= 0, best[self.number], -1)


def _by_slice(part: Distinct, numbers: NDArray[np.int64], first: int) -> _Learnt:
    """Put the rows of a ``part`` of documents, whose slices are ``numbers`` (N,), in the order of these."""
    known, document = np.flatnonzero(part.number >= 0), np.arange(part.rows.shape[0])
    document[part.number[known]] = known  # rows as they come are their documents, without direction too
    place = numbers[document if part.first is None else document[part.first]]
    order = np.argsort(place, kind="stable")
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return _Learnt(
        _ordered(part.rows, order),
        np.bincount(place - first, minlength=_span(numbers, first)).tolist(),
        None if part.weight is None else part.weight[order],
        np.where(part.number >= 0, back[part.number], -1),
    )


def _ordered(rows: Rows, order: NDArray[np.int64]) -> Rows:
    """Rows slice by slice; those in parts have to be so already, since they are too many to be moved."""
    if not isinstance(rows, ChunkedMatrix):
        return rows[order]
    if (np.diff(order) < 0).any():
        row = int(np.flatnonzero(order != np.arange(len(order)))[0])
        raise ValueError(f"slices: expected rows in parts in the order of their slices, row {row} is not")
    return rows


def _slice_numbers(given: ArrayLike | None, n: int, default: int) -> NDArray[np.int64]:
    if given is None:
        return np.full(n, default, np.int64)
    numbers = np.asarray(given)
    if numbers.shape != (n,):
        raise ValueError(f"slices: expected one slice for each of {n} rows, got the shape {numbers.shape}")
    if numbers.dtype.kind not in "iuf":
        try:
            numbers = np.array([float(value) for value in numbers if not isinstance(value, str)])
        except TypeError:
            numbers = numbers[:0]
        if len(numbers) != n:
            raise ValueError(f"slices: expected integers, got values such as {np.asarray(given).flat[0]!r}")
    with np.errstate(invalid="ignore"):
        bad = np.flatnonzero(~(np.abs(numbers.astype(np.float64)) < 2.0**53) | (numbers != np.floor(numbers)))
    if bad.size:
        raise ValueError(f"slices: expected integers, got {numbers[bad[0]]} in row {bad[0]}")
    return numbers.astype(np.int64)


def _span(numbers: NDArray[np.int64], first: int) -> int:
    """How many slices there are from the first to the last, gaps included."""
    occurring = np.unique(numbers)
    silent = np.diff(occurring, prepend=first - 1) - 1
    if silent.max() > LONGEST_SILENCE:
        after = int(occurring[np.argmax(silent)])
        raise ValueError(
            f"slices: expected at most {LONGEST_SILENCE} slices without documents in a row, got {silent.max()} before "
            f"slice {after}"
        )
    return int(occurring[-1]) - first + 1
