"""Mixtures of spherical Cauchy distributions, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Floats, Rows
from vmfstream.directional.cauchy import HIGHEST, SphericalCauchy
from vmfstream.directional.params import Mixture
from vmfstream.estimators.base import ITERATION, FitInput
from vmfstream.estimators.likelihood import OWN, STARTING, LikelihoodMixture
from vmfstream.estimators.parameters import Choice, Domain, Either, Number
from vmfstream.mixtures import cauchy


class SphericalCauchyMixture(LikelihoodMixture):
    """Mixture of spherical Cauchy distributions, whose tails are so heavy that outliers hardly move a mean.

    For vectors of texts, most of which lie about a few directions and some of which belong nowhere. The density falls
    with a power of the distance, not exponentially as that of a von Mises-Fisher distribution does.

    Parameters
    ----------
    n_components : int
        Number of components K.
    outliers : float
        Share of rows that ``predict`` and ``labels_`` mark as outliers, with the label -1, in [0, .5]: those whose
        log-density is below that quantile of the rows of ``fit``. 0 marks none.
    init : {"k-means++", "random"}, array or callable
        As of `VMFMixture`.
    weights_init : array of shape (K,), optional
        As of `VMFMixture`.
    n_init : int
        Number of starts; the one with the largest likelihood is kept.
    max_iter : int
        Largest number of M-steps.
    tol : float
        Stop when the log-likelihood per row changes by less, in nats.
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
    means_ : (K, D) unit rows; concentrations_ : (K,) rho in [0, 1), the position of the mean direction in the ball
    weights_ : (K,) shares, sum to 1; labels_ : (N,) int64, -1 for outliers and for rows without direction
    threshold_ : log-density relative to uniform below which a row is an outlier; -inf if there are none
    lower_bounds_ : mean log-likelihood relative to uniform, before the first M-step and after each;
    lower_bound_ : the last of them
    n_iter_, converged_, n_empty_rows_, n_features_in_

    Notes
    -----
    rho is estimated up to .999; a fit that ends there warns.

    References
    ----------
    Kato and McCullagh (2020), "Some properties of a Cauchy family on the sphere derived from the Moebius
    transformations", Bernoulli 26, eq. (1) for the density; EM by a bound of it, see `vmfstream.mixtures.cauchy`.

    Examples
    --------
    >>> X = np.repeat(np.eye(4)[:2], 50, axis=0) + 0.1 * np.random.default_rng(0).standard_normal((100, 4))
    >>> X[99] = [-1, -1, 0, 0]
    >>> SphericalCauchyMixture(2, outliers=0.01, random_state=0).fit(X).labels_[[0, 49, 50, 98, 99]]
    array([ 0,  0,  1,  1, -1])
    """

    domains: ClassVar[Mapping[str, Domain]] = (
        ITERATION
        | STARTING
        | {
            "outliers": Number(0.0, 0.5, closed="both"),
            "init": Either(Choice("k-means++", "random"), *OWN),
            "tol": Number(0.0),
        }
    )

    def __init__(
        self,
        n_components: int = 8,
        *,
        outliers: float = 0.0,
        init: str | ArrayLike = "k-means++",
        weights_init: ArrayLike | None = None,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.outliers = outliers
        self.init = init
        self.weights_init = weights_init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _climbed(self, rows: Rows, start: str | Floats | Mixture, **options: Any) -> cauchy.CauchyFit:
        self.threshold_ = -np.inf
        return cauchy.fit(rows, self.n_components, init=start, **options)

    def _fitted(self, documents: FitInput) -> None:
        if self.outliers:
            density = self._posterior(documents.rows)[1]
            self.threshold_ = float(np.quantile(density[~documents.empty], self.outliers))
            self.labels_[density < self.threshold_] = -1

    def _largest_concentration(self) -> float:
        return HIGHEST

    def _component(self, k: int) -> SphericalCauchy:
        return SphericalCauchy(self.means_[k], float(self.concentrations_[k]))

    def _posterior(self, rows: Rows) -> tuple[NDArray[Any], NDArray[np.float64]]:
        return cauchy.e_step(rows, self._mixture(rows.dtype), threads=self._threads())

    def _labels(self, rows: Rows, empty: NDArray[np.bool_]) -> NDArray[np.int64]:
        resp, density = self._posterior(rows)
        labels = np.asarray(resp.argmax(axis=1), np.int64)
        labels[empty | (density < self.threshold_)] = -1
        return labels
