"""Base class of the Bayesian mixtures: posteriors of the parameters, starts and predictive densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.concentration import KappaFactor, exact_partition
from vmfstream.bayes.factors.credible_regions import angular_radius
from vmfstream.bayes.factors.empirical_bayes import Hyperparameter
from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.factors.responsibilities import total
from vmfstream.bayes.factors.weights import WeightsPrior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.flat.restarts import STARTS, best_of
from vmfstream.bayes.flat.uncertainty import Uncertainty, of_factors
from vmfstream.bayes.predictive import memberships
from vmfstream.estimators.base import (
    ITERATION,
    FitInput,
    MixtureEstimator,
    components_by_rows,
    occupied_first,
    padded_columns,
)
from vmfstream.estimators.distinct import Distinct
from vmfstream.estimators.parameters import Array, Choice, Domain, Either, Function, Names, Nothing, Number, Whole
from vmfstream.estimators.starts import own_start, start_given
from vmfstream.mixtures.columns import renumbered
from vmfstream.mixtures.sums import weighted

COMMON: dict[str, Domain] = ITERATION | {
    "max_iter": Whole(1),
    "n_init": Either(Whole(1), Choice("auto")),
    "tol": Number(0.0),
    "concentration": Choice("shared", "own"),
    "empirical_bayes": Names(*get_args(Hyperparameter)),
    "prior_cosine": Either(Number(0.0, 1.0), Nothing()),
    "init": Either(Choice(*STARTS), Array(), Function()),
}


STARTS_DRAWN = 2
"""Starts that are drawn by default."""


class BayesianEstimator(MixtureEstimator):
    """Base of the Bayesian mixtures: beliefs about every parameter, and the density of documents that they predict."""

    init: str | ArrayLike
    n_init: int | str
    max_iter: int
    prior_cosine: float | None
    certainties_: Vector
    _uncertainty: Uncertainty | None
    _factor: KappaFactor
    _order: NDArray[np.int64]
    _seen: float

    def concentration_interval(self, mass: float = 0.95) -> Vector:
        """Return central credible intervals of the concentrations, (K, 2), that hold the probability ``mass``.

        Raises
        ------
        ValueError
            If ``mass`` is outside (0, 1), or the fit is a mode.
        """
        return np.broadcast_to(self._known().concentrations(mass), (self.n_components, 2))[self._order]

    def weight_interval(self, mass: float = 0.95) -> Vector:
        """Return central credible intervals of the weights, (K, 2), that hold the probability ``mass``.

        Errors as of `concentration_interval`.
        """
        return self._known().weights(mass)[self._order]

    def mean_radius(self, mass: float = 0.95) -> Vector:
        """Return the angles about the means, (K,) in radians, that hold the directions with probability ``mass``.

        Errors as of `concentration_interval`.
        """
        self._known()
        return angular_radius(self.n_features_in_, self.certainties_, mass)

    def _known(self) -> Uncertainty:
        check_is_fitted(self)
        if self._uncertainty is None:
            raise ValueError("inference: a mode says nothing of uncertainty; expected 'variational' or 'gibbs'")
        return self._uncertainty

    def _best(
        self,
        part: Distinct,
        documents: FitInput,
        run: Callable[[Floats, Prior], Any],
        alpha: float = 1.0,
        weights: WeightsPrior | None = None,
    ) -> Any:
        """Run from every start and return the run of largest bound; ``part`` is what is fitted of the documents."""
        rows, mass, k, rng = part.rows, part.weight, self.n_components, self._rng()
        self._seen = total(rows, mass)
        init = own_start(self.init, rows, k, rng)
        with self._fitting():
            return best_of(
                rows,
                k,
                rng,
                lambda resp: moment_prior(rows, weighted(resp, mass), k, alpha=alpha, cosine=self.prior_cosine),
                run,
                lambda found: float(found.trace[-1]),
                n_init=self._number_of_starts(STARTS_DRAWN),
                start=start_given(init, part, documents.weight, k, self._threads()),  # type: ignore[arg-type]
                weights=weights,
                mass=mass,
            )

    def _take(self, found: variational.FlatFit, rule: Any, part: Distinct, documents: FitInput) -> None:
        """Take the fitted attributes from a variational fit."""
        factor = exact_partition(self.n_features_in_, found.kappa) if rule == "bounding" else found.kappa
        weights = found.weights.mean
        resp, _ = memberships(part.rows, found.f, found.gamma, factor, np.log(weights))
        self._label(resp, part.number)
        self._believe(found.f, found.gamma, factor, weights)
        self._uncertainty = of_factors(found, rule)
        self._label_others(part, documents)
        self._traced(found.trace, found.converged)

    def _label(self, resp: Floats, number: NDArray[np.int64]) -> None:
        """Take the labels from responsibilities (M, kp), of which ``number`` (N,) says where each document is, or -1.

        Components without rows become the last ones, from here on.
        """
        best = resp[:, : self.n_components].argmax(axis=1)
        labels = np.where(number >= 0, best[number], -1)
        self._order = occupied_first(labels, self.n_components)
        self.labels_ = renumbered(labels, self._order)

    def _label_others(self, part: Distinct, documents: FitInput) -> None:
        """Label the documents that have a direction but took no part in the fit, for they have no weight."""
        others = (part.number < 0) & ~documents.empty
        if others.any():
            self.labels_[others] = self._labels(documents.rows[others], documents.empty[others])

    def _believe(self, f: Floats, gamma: Vector, factor: KappaFactor, weights: Vector) -> None:
        """Take the fitted attributes from natural vectors (D, kp), their lengths and the rest."""
        lengths = np.where(gamma > 0, gamma, 1.0).astype(f.dtype)
        self.means_ = (components_by_rows(f, self.n_components) / lengths[:, None])[self._order]
        self.certainties_ = gamma[self._order]
        self._factor = factor.taken(self._order)
        self.concentrations_ = np.broadcast_to(self._factor.mean, self.n_components).copy()
        self.weights_ = weights[self._order]

    def _traced(self, trace: Vector, converged: bool) -> None:
        self.lower_bounds_ = trace / self._seen
        self.lower_bound_ = float(self.lower_bounds_[-1])
        self.n_iter_ = len(trace)
        self.converged_ = converged
        self._warn_unless(converged, self.max_iter)

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], Vector]:
        f = padded_columns(self.means_ * self.certainties_[:, None], rows.dtype)
        return memberships(rows, f, self.certainties_, self._factor, np.log(self.weights_))
