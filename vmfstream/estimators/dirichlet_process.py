"""The Dirichlet-process mixture of von Mises-Fisher distributions as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from numpy.typing import ArrayLike

from vmfstream.arrays import Floats
from vmfstream.bayes.factors.concentration import RULES
from vmfstream.bayes.factors.priors import Prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.flat.dirichlet_process import Sticks, StickWeights, fit_process
from vmfstream.estimators.bayesian_base import COMMON, BayesianEstimator
from vmfstream.estimators.distinct import distinct
from vmfstream.estimators.parameters import Choice, Domain, Number


class DirichletProcessVMFMixture(BayesianEstimator):
    """Truncated Dirichlet-process mixture of von Mises-Fisher distributions.

    As `BayesianVMFMixture` with weights by breaking sticks v_k ~ Beta(1, a), a ~ Gamma(process_shape, process_rate):
    components that are not needed stay empty. In many dimensions the prior of the directions, ``prior_cosine``, decides
    how many are kept much more than the process does.

    Parameters
    ----------
    n_components : int
        Largest number of components.
    process_shape, process_rate : float
        Prior of the concentration a of the process.
    kappa, concentration, empirical_bayes, prior_cosine, init, n_init, max_iter, tol, random_state, n_jobs, verbose
        As for `BayesianVMFMixture`, "alpha" not being learnt; ``init`` anneals this model by default.

    Attributes
    ----------
    n_active_ : int
        Components with more than one expected row.
    process_concentration_ : float
        E[a].
    weights_, means_, concentrations_, certainties_, labels_, lower_bounds_, lower_bound_, n_iter_, converged_
        As of `BayesianVMFMixture`.

    References
    ----------
    [BJ06] Blei & Jordan 2006 (truncated sticks), with the components of [GY14].

    Examples
    --------
    >>> X = [[1, 0.1], [1, 0.2], [0.1, 1], [0.3, 1]]
    >>> DirichletProcessVMFMixture(4, random_state=0).fit(X).n_active_ <= 4
    True
    """

    domains: ClassVar[Mapping[str, Domain]] = COMMON | {
        "kappa": Choice(*RULES),
        "process_shape": Number(0.0, closed="neither"),
        "process_rate": Number(0.0, closed="neither"),
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        process_shape: float = 1.0,
        process_rate: float = 1.0,
        kappa: str = "quadrature",
        concentration: str = "shared",
        empirical_bayes: Sequence[str] = ("mu0", "kappa"),
        prior_cosine: float | None = None,
        init: str | ArrayLike = "annealed",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.process_shape = process_shape
        self.process_rate = process_rate
        self.kappa = kappa
        self.concentration = concentration
        self.empirical_bayes = empirical_bayes
        self.prior_cosine = prior_cosine
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> DirichletProcessVMFMixture:
        """Fit the mixture to the rows of ``X``.

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
        part = distinct(documents, self.n_components)
        shape, rate, rng = self.process_shape, self.process_rate, self._rng()
        options: dict[str, Any] = {name: getattr(self, name) for name in ("kappa", "concentration", "max_iter", "tol")}

        def run(resp: Floats, prior: Prior) -> variational.FlatFit:
            options.update(learn=self.empirical_bayes, mass=part.weight, rng=rng)
            return fit_process(part.rows, resp, self.n_components, prior, shape=shape, rate=rate, **options)

        found: variational.FlatFit = self._best(part, documents, run, weights=Sticks(shape, rate))
        self.n_active_ = int((found.nk > 1).sum())
        self.process_concentration_ = cast(StickWeights, found.weights).concentration
        self._take(found, self.kappa, part, documents)
        return self
