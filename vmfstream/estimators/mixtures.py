"""Maximum-likelihood mixtures of von Mises-Fisher distributions as scikit-learn estimators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.directional.params import Mixture, Rows
from vmfstream.estimators.base import ITERATION, MixtureEstimator, components_by_rows, padded_columns
from vmfstream.estimators.parameters import Choice, Domain, Flag, Number
from vmfstream.mixtures import movmf


class VMFMixture(MixtureEstimator):
    """Mixture of von Mises-Fisher distributions, fitted by annealed EM."""

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "concentration": Choice("shared", "own"),
        "estimator": Choice("marginal", "mle", "banerjee", "newton2", "debiased"),
        "tol": Number(0.0),
        "anneal": Flag(),
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        concentration: str = "shared",
        estimator: str = "marginal",
        init: str | ArrayLike = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        anneal: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.estimator = estimator
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.anneal = anneal
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> VMFMixture:
        """Fit the mixture to the rows of ``X``."""
        rows, _, _ = self._read(X)
        run = movmf.fit(
            rows,
            self.n_components,
            rng=self._rng(),
            concentration=self.concentration,  # type: ignore[arg-type]
            estimator=self.estimator,  # type: ignore[arg-type]
            anneal=self.anneal,
            max_iter=self.max_iter,
            tol=self.tol,
            init=self.init,  # type: ignore[arg-type]
            n_init=self.n_init,
        )
        self.weights_ = run.mixture.pi
        self.means_ = components_by_rows(run.mixture.mu, self.n_components)
        self.concentrations_ = run.mixture.kappa
        self.labels_ = run.labels
        self.lower_bounds_ = run.trace
        self.lower_bound_ = float(run.trace[-1])
        self.n_iter_ = run.n_iter
        self.converged_ = run.converged
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        mu = padded_columns(self.means_, rows.dtype)
        return movmf.e_step(rows, Mixture(self.weights_, mu, self.concentrations_))
