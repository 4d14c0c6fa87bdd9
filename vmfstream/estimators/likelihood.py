"""What mixtures fitted by maximum likelihood can do beside what all mixtures can: draw rows, and tell criteria."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from vmfstream.directional.distribution import Distribution
from vmfstream.estimators.base import MixtureEstimator


class LikelihoodMixture(MixtureEstimator):
    """Base of the mixtures that are fitted by maximum likelihood; subclasses name the distribution of a component."""

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw rows from the fitted mixture; with an integer ``random_state`` the same ones in every call.

        Returns
        -------
        X : (n_samples, D) unit rows, those of the first component first
        y : (n_samples,) int64, their components

        Raises
        ------
        ValueError
            If ``n_samples`` is no integer of at least 1.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples: expected an integer of at least 1, got {n_samples!r}")
        rng = self._rng()
        counts = rng.multinomial(n_samples, self.weights_ / self.weights_.sum())
        parts = [self._component(k).rvs(int(n), rng) for k, n in enumerate(counts)]
        return np.concatenate(parts), np.repeat(np.arange(len(counts)), counts)

    def bic(self, X: ArrayLike) -> float:
        """Return the Bayesian information criterion of the rows of ``X``, the smaller the better.

        p log N - 2 log L with p free parameters and the likelihood of the N rows that have a direction.
        """
        log_likelihood, rows = self._log_likelihood(X)
        return self._free_parameters() * float(np.log(rows)) - 2.0 * log_likelihood

    def aic(self, X: ArrayLike) -> float:
        """Return Akaike's information criterion of the rows of ``X``, the smaller the better: 2 p - 2 log L."""
        return 2.0 * self._free_parameters() - 2.0 * self._log_likelihood(X)[0]

    def _log_likelihood(self, X: ArrayLike) -> tuple[float, int]:
        """Log-likelihood of the rows that have a direction, and their number."""
        directed = self.predict(X) >= 0
        return float(self.score_samples(X, relative_to_uniform=False)[directed].sum()), int(directed.sum())

    def _free_parameters(self) -> int:
        """Weights, directions and concentrations."""
        k, d = self.means_.shape
        shared = self.get_params(deep=False).get("concentration") == "shared"
        return int(k - 1 + k * (d - 1) + (1 if shared else k))

    def _component(self, k: int) -> Distribution:
        """Return the distribution of component ``k``."""
        raise NotImplementedError


def own_start(init: Any, rows: Any, k: int, rng: np.random.Generator) -> Any:
    """Return what a callable ``init`` gives for unit ``rows`` (N, D), ``k`` and ``rng``; anything else as it is."""
    return init(rows, k, rng) if callable(init) else init
