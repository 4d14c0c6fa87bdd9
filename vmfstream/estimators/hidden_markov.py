"""Hidden Markov models of directions, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vmfstream.arrays import Rows
from vmfstream.directional.bessel import largest_concentration, log_c_uniform
from vmfstream.directional.vmf import VonMisesFisher
from vmfstream.estimators.base import (
    ITERATION,
    SphereEstimator,
    components_by_rows,
    occupied_first,
    padded_columns,
)
from vmfstream.estimators.parameters import Choice, Domain, Number
from vmfstream.mixtures.columns import renumbered
from vmfstream.mixtures.hidden_markov import HiddenMarkovChain, fit, likeliest, passes, scores


class VMFHiddenMarkovModel(SphereEstimator):
    """Hidden Markov model whose states are von Mises-Fisher distributions.

    For directions in the order of time, such as headings of an animal or sentences of a text: the state of a row
    depends on that of the row before, so that a row is labelled by its neighbours too.

    p(x_1 .. x_N) = sum over z of prod_t p(z_t | z_t-1) vMF(x_t | mu_z_t, kappa_z_t), on unit vectors x. All
    log-densities are relative to the uniform density on the sphere, in nats.

    Parameters
    ----------
    n_components : int
        Number of states K.
    concentration : {"shared", "own"}
        One concentration for all states, or one each.
    estimator : {"marginal", "mle", "banerjee", "newton2", "debiased"}
        How concentrations are estimated, see `VMFMixture`.
    init : {"k-means++", "random", "perturbed-mean"}
        Start of the mixture that the fit begins with, see `VMFMixture`.
    n_init : int
        Number of starts; the one of largest likelihood is kept.
    max_iter : int
        Largest number of sweeps.
    tol : float
        Stop when the log-density per row changes by less, in nats.
    random_state : None, int, RandomState or Generator
        Source of randomness.
    n_jobs : int or None
        Threads: one for None, all for -1.
    verbose : int or bool
        Whether to print a line for every sweep.

    Attributes
    ----------
    means_ : (K, D)
        Mean directions of the states, unit rows.
    concentrations_ : (K,)
        Their concentrations.
    startprob_ : (K,)
        Probabilities of the first state of a sequence, sum to 1.
    transmat_ : (K, K)
        Probabilities of the next state, a row for each state before; rows sum to 1.
    labels_ : (N,) int64
        States of the likeliest path, -1 for rows without direction.
    lower_bounds_ : (sweeps + 1,)
        Mean log-density of a row before the first sweep and after each; with ``mle`` it never falls, unless a state
        without rows starts again. ``lower_bound_`` is the last of them.
    n_iter_, converged_, n_empty_rows_, n_features_in_
        Sweeps, whether the fit came to rest, rows without direction, columns.

    Notes
    -----
    A sweep costs O(nnz K + N K^2), and a fit O(N K + D K) memory. A row of zeros has no direction: it says nothing
    about its state, but time passes.

    References
    ----------
    [Sra] section 6, which names hidden Markov models of directions as open. Rabiner (1989), "A tutorial on hidden
    Markov models and selected applications in speech recognition", Proceedings of the IEEE 77: sections III.A and C for
    the passes and the sweeps, III.B for the likeliest path, V.B for several sequences.

    Examples
    --------
    Noisy headings that turn after 50, 100 and 150 of them; a mixture, which knows no order, changes its label 23 times:

    >>> heading = np.eye(2)[np.repeat([0, 1, 0, 1], 50)]
    >>> X = heading + 0.4 * np.random.default_rng(0).standard_normal((200, 2))
    >>> np.flatnonzero(np.diff(VMFHiddenMarkovModel(2, random_state=0).fit(X).labels_)) + 1
    array([ 50, 100, 152])
    """

    domains: ClassVar[Mapping[str, Domain]] = ITERATION | {
        "concentration": Choice("shared", "own"),
        "estimator": Choice("marginal", "mle", "banerjee", "newton2", "debiased"),
        "init": Choice("k-means++", "random", "perturbed-mean"),
        "tol": Number(0.0),
    }

    def __init__(
        self,
        n_components: int = 8,
        *,
        concentration: str = "shared",
        estimator: str = "marginal",
        init: str = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.concentration = concentration
        self.estimator = estimator
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> Self:
        """Fit the model to sequences of rows.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
            Rows in the order of time, one sequence after the other.
        y : ignored
        lengths : array-like of int, optional
            Numbers of rows of the sequences, N in all; by default one sequence.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, a number in ``X`` is not finite, fewer rows than states have a
            direction, or ``lengths`` are not positive integers with the sum N.
        """
        rows, empty, _ = self._read(X)
        first = _first_rows(lengths, len(empty))
        k = self.n_components
        with self._fitting():
            found = fit(
                rows,
                k,
                first,
                rng=self._rng(),
                concentration=self.concentration,  # type: ignore[arg-type]
                estimator=self.estimator,  # type: ignore[arg-type]
                init=self.init,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
                threads=self._threads(),
            )
        path = likeliest(scores(rows, found.chain, threads=self._threads()), found.chain, first)
        path[empty] = -1
        order = occupied_first(path, k)
        self.means_ = components_by_rows(found.chain.mu, k)[order]
        self.concentrations_ = found.chain.kappa[order]
        self.startprob_ = found.chain.start[order]
        self.transmat_ = found.chain.transitions[np.ix_(order, order)]
        self.labels_ = renumbered(path, order)
        self.lower_bounds_ = found.trace
        self.lower_bound_ = float(found.trace[-1])
        self.n_iter_ = len(found.trace) - 1
        self.converged_ = found.converged
        self._warn_of_empty()
        self._warn_of_the_largest(self.concentrations_, largest_concentration(self.n_features_in_))
        self._warn_unless(self.converged_, self.max_iter)
        return self

    def predict(self, X: ArrayLike, *, lengths: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return the states of the likeliest path through each sequence, (N,) int64, -1 for rows without direction.

        ``lengths`` as in `fit`. A row's state depends on its whole sequence.
        """
        rows, empty = self._rows(X)
        path = likeliest(*self._scored(rows, lengths))
        path[empty] = -1
        return path

    def predict_proba(
        self, X: ArrayLike, *, lengths: ArrayLike | None = None, filtered: bool = False
    ) -> NDArray[np.float64]:
        """Return the probability of every state for every row, (N, K).

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        lengths : array-like of int, optional
            As in `fit`.
        filtered : bool
            Given the rows up to each one only, instead of all of its sequence (smoothed).
        """
        found = passes(*self._scored(self._rows(X)[0], lengths))
        return found.filtered if filtered else found.smoothed

    def score_samples(
        self, X: ArrayLike, *, lengths: ArrayLike | None = None, relative_to_uniform: bool = True
    ) -> NDArray[np.float64]:
        """Return the log-density of every row given those before it in its sequence, (N,), in nats.

        Parameters
        ----------
        X : array-like or sparse, shape (N, D)
        lengths : array-like of int, optional
            As in `fit`.
        relative_to_uniform : bool
            Leave out the log-density of the uniform distribution, see `VMFMixture.score_samples`.

        Notes
        -----
        The sum over a sequence is its log-density. A row without direction is as likely as under the uniform
        distribution.
        """
        density = passes(*self._scored(self._rows(X)[0], lengths)).loglik
        return density if relative_to_uniform else density + float(log_c_uniform(self.n_features_in_))

    def score(self, X: ArrayLike, y: object = None, *, lengths: ArrayLike | None = None) -> float:
        """Return the mean log-density of the rows that have a direction, in nats relative to the uniform density.

        ``lengths`` as in `fit`; ``y`` is ignored.
        """
        rows, empty = self._rows(X)
        return float(passes(*self._scored(rows, lengths)).loglik[~empty].mean()) if not empty.all() else 0.0

    def sample(self, n_samples: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Draw one sequence; with an integer ``random_state`` the same one in every call.

        Returns
        -------
        X : (n_samples, D) unit rows in the order of time
        y : (n_samples,) int64, their states

        Raises
        ------
        ValueError
            If ``n_samples`` is no integer of at least 1.
        """
        rng = self._rng_of_draws(n_samples)
        states = np.empty(n_samples, np.int64)
        probabilities = self.startprob_
        for t in range(n_samples):
            states[t] = rng.choice(len(probabilities), p=probabilities)
            probabilities = self.transmat_[states[t]]
        rows = np.empty((n_samples, self.means_.shape[1]))
        for k in range(len(self.means_)):
            here = np.flatnonzero(states == k)
            rows[here] = VonMisesFisher(self.means_[k], float(self.concentrations_[k])).rvs(len(here), rng)
        return rows, states

    def _scored(
        self, rows: Rows, lengths: ArrayLike | None
    ) -> tuple[NDArray[np.float64], HiddenMarkovChain, NDArray[np.bool_]]:
        """Return the scores of unit rows in the states, the fitted chain, and which rows begin a sequence."""
        shares = np.full(len(self.means_), 1.0 / len(self.means_))  # have no part in what follows
        means = padded_columns(self.means_, rows.dtype)
        chain = HiddenMarkovChain(shares, means, self.concentrations_, self.startprob_, self.transmat_)
        first = _first_rows(lengths, rows.shape[0])
        return scores(rows, chain, threads=self._threads()), chain, first


def _first_rows(lengths: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    """Mark the rows that begin a sequence, (N,)."""
    sizes = np.asarray([n] if lengths is None else lengths)
    whole = sizes.ndim == 1 and len(sizes) > 0 and np.issubdtype(sizes.dtype, np.integer) and bool((sizes > 0).all())
    if not whole or sizes.sum() != n:
        raise ValueError(f"lengths: expected positive integers with the sum {n}, the number of rows, got {lengths!r}")
    first = np.zeros(n, np.bool_)
    first[np.cumsum(sizes) - sizes] = True
    return first
