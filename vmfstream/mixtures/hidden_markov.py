"""Hidden Markov models whose states are von Mises-Fisher distributions: components that follow each other in time.

    p(z_1 = k) = start_k,   p(z_t = j | z_t-1 = i) = transitions_ij,   p(x_t | z_t = k) = vMF(x_t | mu_k, kappa_k)

Log-densities are relative to the uniform density on the sphere. A row without direction says nothing about its state,
which follows from its neighbours; it has no part in the means. Probabilities are kept as logarithms: scores of rows in
high dimension differ by hundreds of nats, so that products of probabilities would be zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.directional.bessel import vmf_terms
from vmfstream.directional.kernels import dots
from vmfstream.directional.params import Mixture
from vmfstream.mixtures import movmf, steps
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.concentration import Treatment
from vmfstream.mixtures.em import Expectation, Stop, best_of, climb
from vmfstream.mixtures.options import Concentration

RESTARTED = 0.1
"""Share of every transition that is spread over all states when a state without rows starts again."""


@dataclass(frozen=True, slots=True, eq=False)
class HiddenMarkovChain(Mixture):
    """States as a mixture, whose ``pi`` are their shares of the rows, and how they follow each other.

    ``start`` (k,) are the probabilities of the first state of a sequence, ``transitions`` (k, k) those of the next
    state, a row for each state before.
    """

    start: Vector
    transitions: Vector


class Passed(NamedTuple):
    """What a forward and a backward pass find.

    ``smoothed`` (N, k) are probabilities of states given all rows of the sequence, ``filtered`` (N, k) given those up
    to each row; ``pairs`` (k, k) expected numbers of transitions; ``loglik`` (N,) log-densities of rows given those
    before.
    """

    smoothed: Vector
    filtered: Vector
    pairs: Vector
    loglik: Vector


@dataclass(frozen=True, slots=True, eq=False)
class HiddenMarkovFit:
    """A fitted chain; ``trace`` is the mean log-density of a row before the first M-step and after each, in nats."""

    chain: HiddenMarkovChain
    trace: Vector
    converged: bool


def fit(
    x: Rows,
    k: int,
    first: NDArray[np.bool_],
    *,
    rng: np.random.Generator,
    concentration: Concentration = "shared",
    estimator: Treatment = "marginal",
    init: str = "k-means++",
    n_init: int = 1,
    max_iter: int = 100,
    tol: float = 1e-4,
    threads: int = 1,
) -> HiddenMarkovFit:
    """Fit a hidden Markov model by EM (Baum-Welch), begun by an annealed mixture that knows no order.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows, in the order of time
    k : int, number of states
    first : (N,) which rows begin a sequence
    rng : numpy.random.Generator
    concentration, estimator, init : of the states, see `vmfstream.mixtures.movmf.fit`
    n_init : int, number of starts; the one of largest likelihood is returned
    max_iter : int, largest number of M-steps
    tol : float, stop when the log-likelihood per row changes by less, in nats
    threads : int, of the scores

    Notes
    -----
    With ``estimator="mle"`` no sweep lowers the likelihood, except where a state without rows starts again. A sweep
    costs O(nnz k + N k^2), and the fit O(N k + D k) memory besides ``x``.

    References
    ----------
    Rabiner (1989), "A tutorial on hidden Markov models and selected applications in speech recognition", Proceedings of
    the IEEE 77, sections III and V.B.
    """

    def fitted() -> HiddenMarkovFit:
        mixture = movmf.fit(
            x, k, rng=rng, concentration=concentration, estimator=estimator, init=init, threads=threads
        ).mixture
        model = _ChainModel(x, k, first, concentration, estimator, threads)
        found = climb(model, x, _followed(x, mixture, first, threads), Stop(max_iter, tol))
        assert isinstance(found.mixture, HiddenMarkovChain)
        return HiddenMarkovFit(found.mixture, found.trace, found.converged)

    return best_of(fitted() for _ in range(n_init))


def scores(x: Rows, mixture: Mixture, *, threads: int = 1) -> Vector:
    """Return log vMF(x_i | mu_k, kappa_k), (N, k) float64; 0 for rows without direction.

    ``x`` are unit rows (N, D) of the dtype of the ``mixture``, and ``threads`` share them.
    """
    kappa = np.asarray(mixture.kappa, np.float64)
    found = dots(x, mixture.mu, threads=threads)[:, : mixture.k].astype(np.float64) * kappa
    found -= vmf_terms(mixture.d, kappa).ell
    found[~directed(x)] = 0.0
    return np.ascontiguousarray(found)


def passes(scores: Vector, chain: HiddenMarkovChain, first: NDArray[np.bool_]) -> Passed:
    """Find the probabilities of states of all rows by a forward and a backward pass.

    Parameters
    ----------
    scores : (N, k) log-densities of the rows in the states
    chain : of k states
    first : (N,) which rows begin a sequence
    """
    with np.errstate(divide="ignore"):
        return Passed(*_passes(scores, np.log(chain.start), np.log(chain.transitions), first))


def likeliest(scores: Vector, chain: HiddenMarkovChain, first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the likeliest states of whole sequences, (N,), by Viterbi's algorithm.

    ``scores``, ``chain`` and ``first`` as in `passes`.
    """
    with np.errstate(divide="ignore"):
        return np.asarray(_likeliest(scores, np.log(chain.start), np.log(chain.transitions), first))


def _followed(x: Rows, mixture: Mixture, first: NDArray[np.bool_], threads: int) -> HiddenMarkovChain:
    """Return a mixture as a chain whose states follow each other as the rows' responsibilities do.

    One pair more for every state is spread over all of them, so that nothing is impossible.
    """
    resp = steps.e_step(x, mixture, threads=threads)[0][:, : mixture.k].astype(np.float64)
    later = np.flatnonzero(~first)
    pairs = resp[later - 1].T @ resp[later] + 1.0 / mixture.k
    return _chain(mixture, resp[first].sum(axis=0) + 1.0 / mixture.k, pairs)


def _chain(states: Mixture, begun: Vector, pairs: Vector) -> HiddenMarkovChain:
    """Scale counts of first states (k,) and of transitions (k, k) to probabilities."""
    transitions = pairs / pairs.sum(axis=1, keepdims=True)
    return HiddenMarkovChain(states.pi, states.mu, states.kappa, begun / begun.sum(), transitions)


class _Counts(NamedTuple):
    """What the M-step needs: responsibilities (N, kp), expected first states (k,) and transitions (k, k)."""

    resp: Floats
    begun: Vector
    pairs: Vector


@dataclass(frozen=True, slots=True, eq=False)
class _ChainModel:
    """The steps of EM; ``first`` (N,) are the rows that begin a sequence."""

    x: Rows
    k: int
    first: NDArray[np.bool_]
    concentration: Concentration
    estimator: Treatment
    threads: int

    def e_step(self, mixture: Mixture) -> Expectation[_Counts]:
        """Pass over the sequences forwards and backwards."""
        assert isinstance(mixture, HiddenMarkovChain)
        found = passes(scores(self.x, mixture, threads=self.threads), mixture, self.first)
        there = directed(self.x)
        resp = np.zeros((len(there), mixture.mu.shape[1]), mixture.mu.dtype)
        resp[there, : self.k] = found.smoothed[there]
        nk = resp[:, : self.k].sum(axis=0, dtype=np.float64)
        labels = np.where(there, found.smoothed.argmax(axis=1), -1)
        counts = _Counts(resp, found.smoothed[self.first].sum(axis=0), found.pairs)
        return Expectation(counts, float(found.loglik.sum() / there.sum()), nk, labels, found.loglik)

    def m_step(self, mixture: Mixture, found: Expectation[_Counts], sweep: int) -> Mixture:
        """Estimate states from responsibilities, and probabilities from counts; a state that nothing left stays."""
        assert isinstance(mixture, HiddenMarkovChain)
        resp, begun, pairs = found.statistics
        states = steps.m_step(
            self.x,
            resp,
            self.k,
            concentration=self.concentration,
            estimator=self.estimator,
            previous=mixture,
            threads=self.threads,
        )
        left = pairs.sum(axis=1, keepdims=True) > 0.0
        return _chain(states, begun, np.where(left, pairs, mixture.transitions))

    def restart(
        self,
        mixture: Mixture,
        found: Expectation[_Counts],
        sweep: int,
        dead: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Mixture:
        """Move the ``rows`` to the dead states before the M-step, and let all states be reached from all others."""
        found.statistics.resp[rows] = 0.0
        found.statistics.resp[rows, dead] = 1.0
        chain = self.m_step(mixture, found, sweep)
        assert isinstance(chain, HiddenMarkovChain)
        reached = (1.0 - RESTARTED) * chain.transitions + RESTARTED / self.k
        return replace(chain, transitions=reached)


@njit(cache=True, nogil=True)
def _exponentials(values: Vector) -> tuple[float, float]:
    """Replace logarithms by their exponentials over the largest; return the largest and the logarithm of the sum."""
    top, total = values.max(), 0.0
    if top == -np.inf:
        values[:] = 0.0
        return top, top
    for i in range(len(values)):
        values[i] = np.exp(values[i] - top)
        total += values[i]
    return top, top + np.log(total)


@njit(cache=True, nogil=True)
def _passes(
    scores: Vector, start: Vector, transitions: Vector, first: NDArray[np.bool_]
) -> tuple[Vector, Vector, Vector, Vector]:
    """Return the fields of `Passed`; probabilities of the chain are logarithms."""
    n, k = scores.shape
    ahead, loglik, terms = np.empty((n, k)), np.empty(n), np.empty(k)
    for t in range(n):
        for j in range(k):
            if first[t]:
                ahead[t, j] = start[j] + scores[t, j]
            else:
                for i in range(k):
                    terms[i] = ahead[t - 1, i] + transitions[i, j]
                ahead[t, j] = _exponentials(terms)[1] + scores[t, j]
        terms[:] = ahead[t]
        loglik[t] = _exponentials(terms)[1]
        ahead[t] -= loglik[t]
    smoothed, pairs, back, later = np.empty((n, k)), np.zeros((k, k)), np.zeros(k), np.empty(k)
    for t in range(n - 1, -1, -1):
        if t == n - 1 or first[t + 1]:
            back[:] = 0.0
        else:
            for j in range(k):
                later[j] = scores[t + 1, j] + back[j] - loglik[t + 1]
            for i in range(k):
                terms[:] = transitions[i] + later
                top, back[i] = _exponentials(terms)
                pairs[i] += np.exp(ahead[t, i] + top) * terms
        smoothed[t] = np.exp(ahead[t] + back)
    return smoothed, np.exp(ahead), pairs, loglik


@njit(cache=True, nogil=True)
def _likeliest(scores: Vector, start: Vector, transitions: Vector, first: NDArray[np.bool_]) -> NDArray[np.int64]:
    n, k = scores.shape
    before, best, new = np.zeros((n, k), np.int64), np.empty(k), np.empty(k)
    path = np.empty(n, np.int64)
    for t in range(n):
        for j in range(k):
            if first[t]:
                new[j] = start[j] + scores[t, j]
            else:
                way = best + transitions[:, j]
                before[t, j] = way.argmax()
                new[j] = way[before[t, j]] + scores[t, j]
        best[:] = new - new.max()
        path[t] = best.argmax()
    for t in range(n - 2, -1, -1):
        if not first[t + 1]:
            path[t] = before[t + 1, path[t + 1]]
    return path
