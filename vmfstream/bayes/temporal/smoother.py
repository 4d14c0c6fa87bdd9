"""The smoother: all slices at once, every topic's direction in every slice given the past and the future.

The bound is the evidence lower bound with the evidence of each topic's chain taken from the assumed densities of the
filter. It is exact for one slice, for slices that share nothing and for topics that never move; in between it need not
grow at every sweep, so the best state met is the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.beliefs import learn, learn_anchored, per_column, shrunk, smoothed_belief
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.temporal.chain import message
from vmfstream.bayes.temporal.proportions import Proportions, StaticWeights
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.mixtures.annealing import FROZEN_BELOW
from vmfstream.mixtures.columns import directed, softmax_rows


@dataclass(frozen=True, slots=True, eq=False)
class SmootherModel:
    """What does not change while sweeping.

    ``h0`` (D, kp), the belief predicted to the first slice; ``anchor`` (D,) the natural vector of all slices;
    ``omega`` in [0, 1] the expected cosine between consecutive means; ``lag`` how many slices ahead speak, None for
    all; ``kappa`` how the concentrations are inferred.
    """

    h0: Floats
    anchor: Floats
    omega: float
    lag: int | None
    kappa: KappaModel


@dataclass(frozen=True, slots=True, eq=False)
class SmootherState:
    """What sweeps renew: responsibilities ``resps`` (N_t, kp) per slice, ``kappa`` and ``weights``."""

    resps: list[Floats]
    kappa: KappaFactor
    weights: Proportions


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One sweep: the new ``state``, and what belongs to the state before it.

    ``stats`` S_t (D, kp), ``counts`` (T, k), ``weights`` renewed by these, and ``bound``.
    """

    state: SmootherState
    stats: list[Floats]
    counts: Vector
    weights: Proportions
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class SmootherFit:
    """A fitted chain: ``resps`` and ``factor`` q(kappa), and of exactly these all the rest.

    ``stats`` S_t, ``counts`` (T, k), ``weights``, ``bound``, and ``h`` (D, kp), the belief after the last slice without
    the anchor; ``trace`` is the bound before each sweep at full temperature.
    """

    resps: list[Floats]
    factor: KappaFactor
    stats: list[Floats]
    counts: Vector
    weights: Proportions
    h: Floats
    bound: float
    trace: Vector
    converged: bool

    @property
    def kappa(self) -> float:
        """The concentration, if it is shared; else that of the first topic."""
        return float(self.factor.mean[0])

    @property
    def nk(self) -> Vector:
        """Documents per topic in all slices, (k,)."""
        return np.asarray(self.counts.sum(axis=0))


def fit_smoother(
    xs: Sequence[Rows],
    resps0: Sequence[Floats],
    kappa: float | KappaFactor,
    n0: Vector,
    h0: Floats,
    anchor: Floats | None,
    omega: float,
    alpha: float,
    *,
    weights: Proportions | None = None,
    model: KappaModel | None = None,
    lag: int | None = None,
    betas: Sequence[float] = (),
    max_iter: int = 50,
    tol: float = 1e-4,
) -> SmootherFit:
    """Sweep until the bound rests; return the best state met.

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; may be empty
    resps0 : (N_t, kp) per slice, zero for rows without direction
    kappa : float > 0, or q(kappa), where the concentrations start
    n0 : (k,), documents per topic already committed before the first slice
    h0 : (D, kp), their belief predicted to the first slice
    anchor : (D,) natural vector B, or None
    omega : float in [0, 1]
    alpha : float > 0, prior of the static weights
    weights : prior of the weights of all slices instead of Dir(alpha + n0)
    model : how concentrations are inferred, default one point for all topics
    lag : int >= 0, only so many slices ahead speak, default all; the bound is then still that of the filter
    betas : inverse temperatures of sweeps done first (re-heating), one sweep each
    max_iter : int, largest number of sweeps at full temperature
    tol : float, stop when the bound per document changes by less, in nats

    Notes
    -----
    Cost of a sweep: one product X M and one X'resp per slice, and O(D K) a slice, times 1 + lag with a lag.
    """
    given = SmootherModel(
        h0, np.zeros(len(h0), h0.dtype) if anchor is None else anchor, omega, lag, model or KappaModel()
    )
    prior = StaticWeights(alpha + n0, alpha + n0, len(xs)) if weights is None else weights
    factor = kappa if isinstance(kappa, KappaFactor) else point_factor(len(h0), kappa)
    state = SmootherState(list(resps0), factor, prior)
    for beta in betas:
        state = smoother_sweep(xs, state, given, beta).state
    best: tuple[float, SmootherState, list[Floats], Vector, Proportions] | None = None
    trace: list[float] = []
    while True:
        sweep = smoother_sweep(xs, state, given) if len(trace) < max_iter else None
        if sweep is None:
            stats, counts = _statistics(xs, state)
            now, bound = _judged(state, stats, counts, given)[1:]
        else:
            stats, counts, now, bound = sweep.stats, sweep.counts, sweep.weights, sweep.bound
        if best is None or bound > best[0]:
            best = (bound, state, stats, counts, now)
        converged = bool(trace) and abs(bound - trace[-1]) < tol * max(float(counts.sum()), 1.0)
        trace.append(bound)
        if converged or sweep is None:
            break
        state = sweep.state
    bound, state, stats, counts, now = best
    h = last_belief(stats, state.kappa, h0, omega, counts.shape[1])
    return SmootherFit(state.resps, state.kappa, stats, counts, now, h, bound, np.array(trace), converged)


def smoother_sweep(xs: Sequence[Rows], state: SmootherState, model: SmootherModel, beta: float = 1.0) -> Sweep:
    """Renew the weights, the concentrations and the responsibilities of all slices once, from smoothed beliefs.

    resp = softmax( beta (E[log pi_tk] + E[kappa_k] x'E[mu_tk] - E[ell(kappa_k)]) )

    Parameters
    ----------
    xs : slices (N_t, D)
    state, model : see there
    beta : float in (0, 1], inverse temperature; the concentrations are kept while it is below 0.3
    """
    d, kp = model.h0.shape
    stats, counts = _statistics(xs, state)
    k = counts.shape[1]
    ps, weights, bound = _judged(state, stats, counts, model)
    columns = per_column(state.kappa.mean, kp, k)
    scores: list[Floats] = []
    scales: list[Vector] = []
    cosines = np.zeros(k)
    for t, back in _messages(stats, columns, model):
        s, norms, cross = smoothed_belief(model.anchor, ps.pop(), stats[t], back, columns)
        scales.append(shrinkage(d, norms[:k]))
        cosines += scales[-1] * cross[:k]
        scores.append(dots(xs[t], s))
    kappa = state.kappa if beta < FROZEN_BELOW else model.kappa.factor(d, counts.sum(axis=0), cosines)
    resps = scores[::-1]
    for x, resp, scale, log_weights in zip(xs, resps, reversed(scales), weights.expected_log, strict=True):
        softmax_rows(resp, kappa.mean * scale, log_weights - kappa.ell, beta)
        resp[~directed(x)] = 0
    return Sweep(SmootherState(resps, kappa, weights), stats, counts, weights, bound)


def last_belief(stats: Sequence[Floats], kappa: KappaFactor, h0: Floats, omega: float, k: int) -> Floats:
    """Belief after the last slice without the anchor, (D, kp): the filter, keeping one matrix.

    ``stats`` are the sums (D, kp) of the slices, ``kappa`` the factor of their concentrations, ``h0`` (D, kp) the
    belief before them, ``omega`` the persistence in (0, 1), ``k`` the number of topics.
    """
    columns = per_column(kappa.mean, h0.shape[1], k)
    h, norms = h0, None
    for s in stats:
        p = h if norms is None else shrunk(h, norms, omega)
        h, norms = learn(p, s, columns)
    return h


def _messages(stats: Sequence[Floats], columns: Vector, model: SmootherModel) -> Iterator[tuple[int, Floats]]:
    """What the future says about each slice, from the last to the first."""
    back = np.zeros_like(model.h0)
    for t in reversed(range(len(stats))):
        if model.lag is not None:
            back = message(stats[t + 1 : t + 1 + model.lag], columns, model.omega, np.zeros_like(model.h0))
        yield t, back
        if model.lag is None and t:
            back = message([stats[t]], columns, model.omega, back)


def _statistics(xs: Sequence[Rows], state: SmootherState) -> tuple[list[Floats], Vector]:
    k = state.weights.expected_log.shape[1]
    stats = [accumulate(x, resp) for x, resp in zip(xs, state.resps, strict=True)]
    return stats, np.array([resp.sum(axis=0, dtype=np.float64)[:k] for resp in state.resps])


def _judged(
    state: SmootherState, stats: Sequence[Floats], counts: Vector, model: SmootherModel
) -> tuple[list[Floats], Proportions, float]:
    """Predicted beliefs, weights renewed, and the bound: evidence of chains and weights, entropy of the labels.

    sum_{t,k} [ ell(|B + h_t|) - ell(|B + p_t|) ] - sum_k n_k E[ell(kappa_k)] + sum_i H(resp_i)
        + sum_tk n_tk E[log pi_tk] + gain of the weights - KL(kappa)
    """
    d, kp = model.h0.shape
    k = counts.shape[1]
    columns = per_column(state.kappa.mean, kp, k)
    evidence = 0.0
    ps = []
    p = model.h0
    for s in stats:
        ps.append(p)
        h, norms, before, after = learn_anchored(model.anchor, p, s, columns)
        evidence += float((log_partition(d, after[:k]) - log_partition(d, before[:k])).sum())
        p = shrunk(h, norms, model.omega)
    evidence -= float((counts.sum(axis=0) * state.kappa.ell).sum()) + model.kappa.cost(state.kappa)
    entropy = sum(float(entr(resp.astype(np.float64)).sum()) for resp in state.resps)
    weights = state.weights.renewed(counts)
    return ps, weights, evidence + entropy + float((counts * weights.expected_log).sum()) + weights.gain
