"""Base classes of the estimators: checks of documents and weights, labels and log-densities."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from vmfstream.arrays import Rows
from vmfstream.directional.bessel import log_c_uniform
from vmfstream.directional.checks import check_sparse, checked_weights, generator, numbers
from vmfstream.directional.distribution import Distribution
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import ChunkedMatrix, Mixture
from vmfstream.directional.sphere import unit_rows
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.estimators.parameters import Domain, Either, Flag, Nothing, Whole, check_parameters
from vmfstream.estimators.words import words_of_means
from vmfstream.mixtures.columns import renumbered
from vmfstream.progress import telling
from vmfstream.runtime_tuning import product_threads

log = logging.getLogger(__name__)

ITERATION: dict[str, Domain] = {"n_components": Whole(1), "max_iter": Whole(1), "n_init": Whole(1)}
"""Domains that most estimators declare."""

SHARED: dict[str, Domain] = {"n_jobs": Either(Whole(-1), Nothing()), "verbose": Either(Whole(0), Flag())}
"""Domains of parameters that are the same wherever there are such."""

FEW_COLUMNS = 16
"""Columns up to which rows are held in double precision.

The concentration follows from 1 - r, which is about D / (2 kappa): sums of single precision have no digits left of it.
"""


class FitInput(NamedTuple):
    """What an estimator is fitted to."""

    rows: Rows
    """(N, D) unit rows, csr_array or C-contiguous, float32 or float64; rows without direction stay zero."""
    empty: NDArray[np.bool_]
    """(N,) which rows have no direction."""
    weight: NDArray[np.float64] | None
    """(N,) weights of the rows, at least 0, in all at least the number of rows that have one; None if they all count
    once."""


class SphereEstimator(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the estimators of directions: what they accept, and what every one of them can say afterwards.

    ``X`` may be any matrix scikit-learn accepts; CSR stays sparse, float32 and float64 are kept and everything else
    becomes float64, as do rows of at most 16 columns, whose concentration needs the digits.
    Rows are scaled to unit length. A row of zeros has no direction: it takes no part in a fit, its
    label is -1, and ``n_empty_rows_`` says how many there were.

    Subclasses declare the ``domains`` of their parameters, take ``n_components``, ``random_state`` and, if they
    use threads, ``n_jobs``, and begin ``fit`` with `_read`.
    """

    domains: ClassVar[Mapping[str, Domain]] = {}

    n_components: int
    n_features_in_: int
    n_empty_rows_: int
    means_: NDArray[Any]
    labels_: NDArray[np.int64]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the label of every row, (N,) int64: its most probable component, -1 for rows without direction."""
        raise NotImplementedError

    def words(self, feature_names: Sequence[str] | None = None, top: int = 10) -> list[list[str]]:
        """Return the words of largest weight of every component, the strongest first.

        Parameters
        ----------
        feature_names : sequence of D str, optional
            Names of the columns, as vectorizers give them; by default those of the data frame that it was fitted to, or
            of the features that ``learn_one`` was given.
        top : int >= 1
            Most words of a component; those of weight 0 or less are left out.

        Returns
        -------
        list of K lists of str
            Of `TemporalVMFMixture` those of the last slice, of `MultilevelClustering` those of topics.

        Raises
        ------
        ValueError
            If there are no names, or not one for each column.

        Examples
        --------
        >>> from vmfstream import SphericalKMeans
        >>> model = SphericalKMeans(2, random_state=0).fit([[3, 1, 0], [2, 0, 0], [0, 0, 5], [0, 1, 4]])
        >>> model.words(["cat", "the", "ship"])
        [['cat', 'the'], ['ship', 'the']]
        """
        check_is_fitted(self)
        if feature_names is None:
            feature_names = self._own_feature_names()
        if feature_names is None:
            raise ValueError("feature_names: expected the names of the columns, because the rows of the fit had none")
        means = self.means_
        return words_of_means(means[-1] if means.ndim == 3 else means, feature_names, top)

    def _own_feature_names(self) -> Sequence[str] | None:
        """Return the names of the columns that the fit knows, (D,), None if it knows none."""
        return getattr(self, "feature_names_in_", None)

    def _read(self, X: ArrayLike, sample_weight: ArrayLike | None = None) -> FitInput:
        """Check all parameters and the input of ``fit``; return unit rows."""
        self._check_parameters()
        rows, empty = _unit(self._validated(X, ensure_min_features=2))
        weight = None if sample_weight is None else row_weights(sample_weight, rows.shape[0])
        self._report_empty(empty)
        usable = int((~empty).sum() if weight is None else (~empty & (weight > 0)).sum())
        wanted = self._components()
        if usable < wanted:
            raise ValueError(
                f"n_components: expected at most the {usable} rows that have a direction and a weight "
                f"(n_samples={len(empty)}), got {wanted}"
            )
        return FitInput(rows, empty, weight)

    def _check_parameters(self) -> None:
        """Raise ValueError for a parameter outside its domain."""
        given_parameters = self.get_params(deep=False)
        shared = {name: domain for name, domain in SHARED.items() if name in given_parameters}
        check_parameters(given_parameters, shared | dict(self.domains))

    @contextmanager
    def _kept_after_errors(self) -> Iterator[None]:
        """Bring back all attributes as they were, if the body, which may replace them, ends with an error."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _components(self) -> int:
        """Return the number of components that the parameters ask for."""
        return self.n_components

    def _rows(self, X: ArrayLike) -> tuple[Rows, NDArray[np.bool_]]:
        """Return unit rows of ``X``, and which have no direction, for a fitted estimator."""
        check_is_fitted(self)
        return _unit(self._validated(X, reset=False))

    def _validated(self, X: Any, *, reset: bool = True, **wanted: Any) -> Any:
        """Check a matrix as scikit-learn does; of rows in parts only the number of columns is looked at."""
        if not isinstance(X, ChunkedMatrix):
            check_sparse("X", X)
            _refuse_texts(X)
            return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset, **wanted)
        if reset:
            self.n_features_in_ = X.shape[1]
        if X.shape[1] != self.n_features_in_ or X.shape[1] < 2:
            raise ValueError(f"X: expected {max(self.n_features_in_, 2)} columns, got {X.shape[1]}")
        return X

    def _report_empty(self, empty: NDArray[np.bool_]) -> None:
        self.n_empty_rows_ = int(empty.sum())
        if self.n_empty_rows_:
            log.info("%d of %d rows have no direction and take no part", self.n_empty_rows_, len(empty))

    def _continues(self, k: int, d: int) -> bool:
        """Tell whether a fit of ``k`` clusters in ``d`` dimensions begins with those of the last one.

        ValueError if ``warm_start`` asks for that and the last fit had other numbers.
        """
        if not (self.get_params(deep=False)["warm_start"] and hasattr(self, "means_")):
            return False
        if self.means_.shape != (k, d):
            before = "{} clusters in {} dimensions".format(*self.means_.shape)
            raise ValueError(f"warm_start: the last fit had {before}, expected {k} in {d}; fit with warm_start=False")
        return True

    def _rng(self) -> np.random.Generator:
        """Return a generator for ``random_state``: None, an int, a RandomState or a Generator."""
        return generator("random_state", self.get_params(deep=False)["random_state"])

    def _rng_of_draws(self, n_samples: Any) -> np.random.Generator:
        """Return the generator for drawing ``n_samples`` rows of a fit; ValueError unless that is a number of rows."""
        check_is_fitted(self)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples: expected an integer of at least 1, got {n_samples!r}")
        return self._rng()

    def _threads(self) -> int:
        """Return the number of threads that ``n_jobs`` asks for: one for None or 0, all for -1."""
        jobs: int | None = self.get_params(deep=False).get("n_jobs")
        return (os.cpu_count() or 1) if jobs == -1 else max(jobs or 1, 1)

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Let the body use ``n_jobs`` threads for products, and print a line for every sweep if ``verbose`` says so."""
        name = type(self).__name__
        verbose = self.get_params(deep=False)["verbose"]
        tell = (lambda line: print(f"{name}, {line}", flush=True)) if verbose else None
        with telling(tell), product_threads(self._threads()):
            yield

    def _warn_of_empty(self) -> None:
        """Warn of a fit that leaves clusters without rows, as one of two clusters with the same mean is."""
        found = len(np.unique(self.labels_[self.labels_ >= 0]))
        if found < self.n_components:
            warnings.warn(
                f"{type(self).__name__} puts all rows into {found} of {self.n_components} clusters: there may be no "
                "more, or too few rows for so many columns",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_of_the_largest(self, concentrations: NDArray[np.float64], largest: float) -> None:
        """Warn of ``concentrations`` (K,) that are the ``largest`` that is estimated, or minus this."""
        found = int((np.abs(concentrations) >= largest * (1 - 1e-9)).sum())
        if found:
            warnings.warn(
                f"{type(self).__name__} stops at a concentration of {largest:.3g}, and {found} of {self.n_components} "
                "components have it: their rows are the same, or so nearly that more is not told from them",
                RuntimeWarning,
                stacklevel=3,
            )

    def _number_of_starts(self, drawn: int = 1) -> int:
        """Return how many starts are to be made: by default ``drawn`` if they are drawn, one if it is given."""
        parameters = self.get_params(deep=False)
        wanted = parameters["n_init"]
        if isinstance(parameters["init"], str) or callable(parameters["init"]):
            return drawn if wanted == "auto" else int(wanted)
        if wanted not in ("auto", 1):
            warnings.warn(
                f"n_init: expected 'auto' or 1 with a given init, got {wanted}; {type(self).__name__} starts once",
                RuntimeWarning,
                stacklevel=3,
            )
        return 1

    def _warn_unless(self, converged: bool, max_iter: int) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__} has not converged in max_iter={max_iter} iterations; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )


class FitRun(Protocol):
    """What is kept of a fit by maximum likelihood."""

    @property
    def mixture(self) -> Mixture:
        """Parameters, one column a component."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """Labels of the rows, (N,), -1 without direction."""

    @property
    def trace(self) -> NDArray[np.float64]:
        """Objective after each sweep, in nats a row."""

    @property
    def n_iter(self) -> int:
        """Number of sweeps."""

    @property
    def converged(self) -> bool:
        """Whether it ended by itself."""


class MixtureEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SphereEstimator):  # type: ignore[misc]
    """Base of the estimators of mixtures; subclasses give responsibilities and log-densities by `_posterior`."""

    weights_: NDArray[np.float64]
    concentrations_: NDArray[np.float64]
    lower_bound_: float
    lower_bounds_: NDArray[np.float64]
    n_iter_: int
    converged_: bool

    def _keep(
        self, run: FitRun, documents: FitInput, number: NDArray[np.int64], before: NDArray[np.float64] | None = None
    ) -> None:
        """Take the fitted attributes from a run; ``number`` (N,) says which of its rows the documents are, or -1.

        Components without rows become the last ones. ``before`` are objectives of sweeps that led to the run.
        """
        order = occupied_first(run.labels, self.n_components)
        self.weights_ = run.mixture.pi[order]
        self.means_ = components_by_rows(run.mixture.mu, self.n_components)[order]
        self.concentrations_ = run.mixture.kappa[order]
        taking_part = number >= 0
        self.labels_ = np.full(len(number), -1)
        self.labels_[taking_part] = renumbered(run.labels, order)[number[taking_part]]
        others = ~taking_part & ~documents.empty
        if others.any():
            self.labels_[others] = self._labels(documents.rows[others], documents.empty[others])
        self.lower_bounds_ = run.trace if before is None else np.append(before, run.trace)
        self.lower_bound_ = float(run.trace[-1])
        self.n_iter_ = len(self.lower_bounds_) - 1
        self.converged_ = run.converged

    def _mixture(self, dtype: np.typing.DTypeLike) -> Mixture:
        return Mixture(self.weights_, padded_columns(self.means_, dtype), self.concentrations_)

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return responsibilities (N, at least K) and log-densities (N,) relative to uniform of unit rows."""
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the label of every row, (N,) int64: its most probable component, -1 for rows without direction."""
        return self._labels(*self._rows(X))

    def _labels(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        return labels_of(self._posterior(rows)[0][:, : len(self.weights_)], empty)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of every component for every row, (N, K); rows without direction get the weights."""
        rows, empty = self._rows(X)
        probability = self._posterior(rows)[0][:, : len(self.weights_)].astype(np.float64)
        probability[empty] = self.weights_
        return np.asarray(probability)

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of every component for every row, (N, K), as `predict_proba`: new features."""
        return self.predict_proba(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw rows from the fitted mixture; with an integer ``random_state`` the same ones in every call.

        Weights, means and concentrations are those of the attributes: of Bayesian models what is expected of them.

        Returns
        -------
        X : (n_samples, D) unit rows, those of the first component first
        y : (n_samples,) int64, their components

        Raises
        ------
        ValueError
            If ``n_samples`` is no integer of at least 1.
        """
        rng = self._rng_of_draws(n_samples)
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        parts = [self._component(k).rvs(int(n), rng) for k, n in enumerate(counts)]
        return np.concatenate(parts), np.repeat(np.arange(len(counts)), counts)

    def _component(self, k: int) -> Distribution:
        """Return the distribution of component ``k``."""
        return VonMisesFisher(self.means_[k], float(self.concentrations_[k]))

    def score_samples(self, X: ArrayLike, *, relative_to_uniform: bool = True) -> NDArray[np.float64]:
        """Return the log-density of every row, (N,), in nats.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        relative_to_uniform : bool
            Leave out the log-density of the uniform distribution, which depends on D alone and is 2e5 at D = 5e4.

        Notes
        -----
        A row without direction is as likely as under the uniform distribution.
        """
        rows, empty = self._rows(X)
        density = self._posterior(rows)[1]
        density[empty] = 0.0
        return density if relative_to_uniform else density + float(log_c_uniform(rows.shape[1]))

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Return the mean log-density of the rows that have a direction, in nats relative to the uniform density."""
        rows, empty = self._rows(X)
        return float(self._posterior(rows)[1][~empty].mean()) if not empty.all() else 0.0


def _unit(X: Any) -> tuple[Rows, NDArray[np.bool_]]:
    """Return unit rows, of double precision where columns are `FEW_COLUMNS` or fewer, and which have no direction."""
    if X.shape[1] <= FEW_COLUMNS and not isinstance(X, ChunkedMatrix):
        X = X.astype(np.float64, copy=False)
    return unit_rows(X)


def labels_of(scores: NDArray[Any], empty: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the column of the largest score of every row, -1 for ``empty`` rows."""
    return np.where(empty, -1, scores.argmax(axis=1)).astype(np.int64)


def occupied_first(labels: NDArray[np.integer], k: int) -> NDArray[np.int64]:
    """Return the numbers of ``k`` components, those that have a label first: then ``labels`` (N,) have no gaps."""
    rows = np.bincount(labels[labels >= 0], minlength=k)
    return np.argsort(rows == 0, kind="stable")


def _refuse_texts(X: Any) -> None:
    """Raise ValueError for texts in place of rows."""
    one_by_one = isinstance(X, Sequence) or (getattr(X, "ndim", 0) == 1 and not issparse(X))
    if one_by_one and isinstance(next(iter(X), None), str):
        raise ValueError(
            "X: expected rows of numbers, got texts; make rows of them, as scikit-learn's "
            'TfidfVectorizer(stop_words="english").fit_transform(texts) does, or give them to a TopicTracker'
        )


def components_by_rows(columns: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the first ``k`` of the columns (D, kp) as rows, (K, D)."""
    return np.ascontiguousarray(columns[:, :k].T)


def padded_columns(means: NDArray[Any], dtype: np.typing.DTypeLike) -> NDArray[Any]:
    """Return the rows (K, D) as columns (D, kp), padded with zeros: the layout of the compiled passes."""
    k, d = means.shape
    columns = np.zeros((d, padded(k)), dtype)
    columns[:, :k] = means.T
    return columns


def means_given(init: ArrayLike, k: int, d: int, dtype: np.typing.DTypeLike) -> NDArray[Any]:
    """Return the means that were given as ``init`` (K, D) as unit columns (D, kp) of ``dtype``.

    Raises ValueError unless there are ``k`` means in ``d`` dimensions, each with a direction.
    """
    means = np.asarray(init, np.float64)
    if means.shape != (k, d):
        raise ValueError(f"init: expected means of the shape {(k, d)}, got {means.shape}")
    if not np.isfinite(means).all():
        raise ValueError(f"init: expected finite means, got {means[~np.isfinite(means)][0]}")
    rows, empty = unit_rows(means)
    if empty.any():
        raise ValueError(f"init: expected means with a direction, got zeros in row {np.flatnonzero(empty)[0]}")
    return padded_columns(np.asarray(rows), dtype)


MOST_WEIGHT = 1e12
"""Most observations that weights may stand for: posteriors of more are narrower than double precision can tell."""


def row_weights(given: ArrayLike, n: int) -> NDArray[np.float64]:
    """Return a weight for each of ``n`` rows; one number stands for all.

    Weights are numbers of observations to a fit. Those whose total is below the number of rows that have one can only
    be relative: they are scaled to that number. ValueError for a total above `MOST_WEIGHT`.
    """
    weights = numbers("sample_weight", given)
    weights = checked_weights(np.full(n, weights) if weights.ndim == 0 else weights, n, "sample_weight")
    rows = np.count_nonzero(weights)
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > MOST_WEIGHT:
        raise ValueError(f"sample_weight: expected at most {MOST_WEIGHT:.0e} observations in all, got {total:.3g}")
    if total < rows:
        weights = weights / weights.max()  # the scale of the smallest numbers would overflow
        weights *= rows / weights.sum()
    return weights
