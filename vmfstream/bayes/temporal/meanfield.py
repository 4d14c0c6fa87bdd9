"""Mean-field inference for the temporal mixture: the direction of every topic in every slice has its own factor.

    mu_{1,k} ~ vMF with natural vector b_k;  mu_{t,k} ~ vMF(mu_{t-1,k}, c0);  x_{t,i} ~ vMF(mu_{t, z_{t,i}}, kappa)
    q = q(pi) prod_{t,k} vMF(mu_{t,k} | f_{t,k} / |f_{t,k}|, |f_{t,k}|) q(kappa) prod_{t,i} Cat(z_{t,i} | resp_{t,i})

Every step below maximises the evidence lower bound given the rest, so the bound never falls. With one slice this is the
flat mixture with a prior per topic, which is what the filter solves in every slice. With several it is the published
scheme, and its directions are over-confident: above c0 = D / 2 the factors of neighbouring slices hold each other at a
length near 2 c0 whatever the documents say. The filter and the smoother do not have that fault.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.convergence import ConvergenceMonitor
from vmfstream.bayes.factors.beliefs import anchored, linked, per_column
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.factors.empirical_bayes import (
    Hyperparameter,
    check_hyperparameters,
    learned_alpha,
    learned_c0,
    learned_mean,
)
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.responsibilities import responsibilities, total_entropy
from vmfstream.bayes.temporal.proportions import Proportions, StaticWeights
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate
from vmfstream.mixtures.columns import column_dots, column_norms, directed
from vmfstream.mixtures.concentration import shared_concentration
from vmfstream.mixtures.sums import weighted


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The prior of the directions: ``b`` (D, kp) natural vectors of the first slice, ``c0`` between slices."""

    b: Floats
    c0: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ChainState:
    """All factors: ``resps`` (N_t, kp), ``f`` natural vectors (D, kp) of lengths ``gamma`` (T, k), ``kappa``, weights.

    ``stats`` S_t (D, kp) and ``counts`` (T, k) belong to the responsibilities, times ``masses`` (N_t,), how often each
    row was seen; once if None.
    """

    resps: list[Floats]
    stats: list[Floats]
    counts: Vector
    f: list[Floats]
    gamma: Vector
    kappa: KappaFactor
    proportions: Proportions
    masses: Sequence[Vector] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ChainFit:
    """A fitted ``state``, whose responsibilities are the E-step under its other factors.

    ``counts`` (T, k) and ``cosines`` (k,) = sum_t S_t'E[mu_t] are what its weights and concentrations were made from,
    ``trace`` the bound after each sweep in nats relative to uniform.
    """

    state: ChainState
    counts: Vector
    cosines: Vector
    trace: Vector
    converged: bool


def label_step(xs: Sequence[Rows], state: ChainState) -> ChainState:
    """Renew the responsibilities of all slices, softmax_k( E[log pi_tk] + E[kappa_k] x'E[mu_tk] - E[ell(kappa_k)] )."""
    log_weights = state.proportions.expected_log
    resps = [
        responsibilities(x, f, gamma, state.kappa, row)[0]
        for x, f, gamma, row in zip(xs, state.f, state.gamma, log_weights, strict=True)
    ]
    return with_labels(xs, state, resps)


def with_labels(xs: Sequence[Rows], state: ChainState, resps: list[Floats]) -> ChainState:
    """Set responsibilities, and the statistics that belong to them.

    ``resps`` are those of the rows ``xs`` of each slice, (N_t, kp); the rest of ``state`` stays.
    """
    k, shares = state.gamma.shape[1], all_weighted(resps, state.masses)
    counts = np.array([r.sum(axis=0, dtype=np.float64)[:k] for r in shares])
    return replace(state, resps=resps, stats=[accumulate(x, r) for x, r in zip(xs, shares, strict=True)], counts=counts)


def all_weighted(resps: Sequence[Floats], masses: Sequence[Vector] | None) -> Sequence[Floats]:
    """Return responsibilities (N_t, kp) of every slice times how often each row was seen, ``masses`` (N_t,)."""
    return resps if masses is None else [weighted(r, mass) for r, mass in zip(resps, masses, strict=True)]


def weight_step(state: ChainState) -> ChainState:
    """Renew the weights."""
    return replace(state, proportions=state.proportions.renewed(state.counts))


def mean_step(state: ChainState, links: Links) -> ChainState:
    """Renew the directions, slice by slice forward and backward.

    f_1 = b + kappa S_1 + c0 E[mu_2];  f_t = kappa S_t + c0 (E[mu_{t-1}] + E[mu_{t+1}]);  f_T has no slice after it
    """
    f, gamma = list(state.f), state.gamma.copy()
    d, kp = links.b.shape
    last, k = len(f) - 1, gamma.shape[1]
    one, nothing = per_column(1.0, kp, k), np.zeros(kp)
    weight = per_column(state.kappa.mean, kp, k)

    def pull(t: int) -> Vector:
        return per_column(links.c0 * shrinkage(d, gamma[t]), kp, k)

    for t in (*range(last + 1), *reversed(range(last))):
        before, pull_before = (f[t - 1], pull(t - 1)) if t else (links.b, one)
        after, pull_after = (f[t + 1], pull(t + 1)) if t < last else (before, nothing)
        f[t], norms = linked(before, pull_before, state.stats[t], weight, after, pull_after)
        gamma[t] = norms[:k]
    return replace(state, f=f, gamma=gamma)


def kappa_step(state: ChainState, model: KappaModel) -> ChainState:
    """Renew the concentrations from n = sum_t n_t and T = sum_t S_t'E[mu_t]."""
    d = state.f[0].shape[0]
    return replace(state, kappa=model.factor(d, state.counts.sum(axis=0), _cosines(state).sum(axis=0)))


def bound(state: ChainState, links: Links, model: KappaModel) -> float:
    """Evidence lower bound of ``state``, in nats relative to the uniform density of all documents with a direction.

    ``links`` are those between slices, ``model`` that of the concentrations.
    """
    d, k = links.b.shape[0], state.gamma.shape[1]
    scores = state.kappa.mean * _cosines(state) + state.counts * (state.proportions.expected_log - state.kappa.ell)
    entropy = total_entropy(state.resps, state.masses)
    scale = np.array([shrinkage(d, gamma) for gamma in state.gamma])
    directions = log_partition(d, state.gamma) - state.gamma**2 * scale
    first = column_dots(links.b, state.f[0])[:k] * scale[0] - log_partition(d, column_norms(links.b)[:k])
    close = np.zeros(k)
    for t, (before, after) in enumerate(pairwise(state.f)):
        close += column_dots(before, after)[:k] * scale[t] * scale[t + 1]
    steps = links.c0 * float(close.sum()) - (len(state.f) - 1) * k * float(log_partition(d, links.c0))
    weighed = float(scores.sum() + directions.sum() + first.sum())
    fixed = state.proportions.gain - model.cost(state.kappa)
    return float(weighed + entropy + steps + fixed)


def started(
    xs: Sequence[Rows],
    resps: Sequence[Floats] | None,
    f: Sequence[Floats],
    kappa0: KappaFactor | None,
    proportions: Proportions,
    masses: Sequence[Vector] | None = None,
) -> ChainState:
    """Return a state with directions ``f``, (D, kp) for each slice ``xs`` of unit rows, and ``proportions``.

    Rows were seen ``masses`` times, (N_t,), once by default. Without responsibilities ``resps`` these are those of the
    E-step under all the rest; without concentrations ``kappa0`` there is one, the ``marginal`` estimate under the
    responsibilities.

    Raises
    ------
    ValueError
        Neither responsibilities nor concentrations.
    """
    d = xs[0].shape[1]
    k = proportions.expected_log.shape[1]
    if resps is None and kappa0 is None:
        raise ValueError("without initial responsibilities, concentrations are needed")
    gamma = np.array([column_norms(v)[:k] for v in f])
    kappa = kappa0 or point_factor(d, 1.0)
    state = ChainState([], [], np.zeros((len(xs), k)), list(f), gamma, kappa, proportions, masses)
    if resps is None:
        return label_step(xs, state)
    masked = [np.where(directed(x)[:, None], r, r.dtype.type(0)) for x, r in zip(xs, resps, strict=True)]
    state = with_labels(xs, state, masked)
    if kappa0 is None:
        pooled, nk = np.sum(state.stats, axis=0), state.counts.sum(axis=0)
        shared = shared_concentration(d, column_norms(pooled)[:k], nk, float(nk.sum()))
        state = replace(state, kappa=point_factor(d, shared))
    return state


def learned(
    state: ChainState, links: Links, model: KappaModel, learn: Collection[Hyperparameter]
) -> tuple[ChainState, Links, KappaModel]:
    """Set the hyperparameters named in ``learn`` to where the bound is largest; c0 between slices stays as given.

    ``state``, ``links`` and ``model`` as in `bound`. Learnt are alpha of static weights, direction and length of the
    prior of the first slice (common to all topics), and the prior of the log concentrations.
    """
    d, k = links.b.shape[0], state.gamma.shape[1]
    weights = state.proportions
    if "alpha" in learn and isinstance(weights, StaticWeights):
        alpha = learned_alpha(weights.rho, float(weights.alpha[0]))
        state = replace(state, proportions=replace(weights, alpha=np.full(k, alpha)))
    expected = (state.f[0][:, :k] * shrinkage(d, state.gamma[0])).sum(axis=1, dtype=np.float64)
    b = np.asarray(links.b[:, 0], np.float64)
    if "mu0" in learn:
        b = learned_mean(expected, b)
    if "c0" in learn:
        b = learned_c0(d, expected, b, k)
    if "mu0" in learn or "c0" in learn:
        links = replace(links, b=anchored(b, np.zeros_like(links.b), k))
    if "kappa" in learn:
        model, kappa = model.learned(d, state.counts.sum(axis=0), _cosines(state).sum(axis=0), state.kappa)
        state = replace(state, kappa=kappa)
    return state, links, model


def fit_chain(
    xs: Sequence[Rows],
    state: ChainState,
    links: Links,
    model: KappaModel,
    *,
    learn: Collection[Hyperparameter] = (),
    max_iter: int = 100,
    tol: float = 1e-4,
) -> ChainFit:
    """Sweep weights, directions, concentrations, labels until the bound per document rests.

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; may be empty
    state : see `started`
    links, model : the priors
    learn : hyperparameters set by empirical Bayes every few sweeps; of the links only those of the first slice, which
        must then have one prior for all topics
    max_iter : int, largest number of sweeps
    tol : float, stop when the bound per document changes by less, in nats

    Notes
    -----
    O(nnz K + T K D) a sweep. With several slices the number of sweeps that the directions need grows with c0.

    References
    ----------
    [GY14] section 3.3.
    """
    check_hyperparameters(learn)
    sweeps = ConvergenceMonitor(learn, tol * _seen(xs, state.masses), max_iter)
    while True:
        state = kappa_step(mean_step(weight_step(state), links), model)
        counts, cosines = state.counts, _cosines(state).sum(axis=0)
        if sweeps.learning():
            state, links, model = learned(state, links, model, learn)
        state = label_step(xs, state)
        if sweeps.ended(bound(state, links, model)):
            return ChainFit(state, counts, cosines, sweeps.trace, sweeps.converged)


def _seen(xs: Sequence[Rows], masses: Sequence[Vector] | None) -> float:
    """How many rows with a direction were seen, at least 1."""
    known = [directed(x) for x in xs]
    if masses is None:
        return float(max(sum(int(one.sum()) for one in known), 1))
    return max(sum(float(mass[one].sum()) for mass, one in zip(masses, known, strict=True)), 1.0)


def _cosines(state: ChainState) -> Vector:
    """S_t'E[mu_t], (T, k)."""
    k = state.gamma.shape[1]
    return np.array(
        [
            column_dots(s, f)[:k] * shrinkage(len(f), gamma)
            for s, f, gamma in zip(state.stats, state.f, state.gamma, strict=True)
        ]
    )
