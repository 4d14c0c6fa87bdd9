"""The smoother: all slices at once, every topic's direction in every slice given the past and the future.

The bound is the evidence lower bound with the evidence of each topic's chain taken from the assumed densities of the
filter. It is exact for one slice, for slices that share nothing and for topics that never move; in between it need not
grow at every sweep, so the best state met is the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.beliefs import per_column
from vmfstream.bayes.factors.concentration import KappaFactor, point_factor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.responsibilities import total_entropy
from vmfstream.bayes.temporal.meanfield import all_weighted
from vmfstream.bayes.temporal.proportions import Proportions, StaticWeights
from vmfstream.bayes.temporal.word_sums import Narrow, Pins, RunningBelief, SliceSums, narrowed
from vmfstream.directional.bessel import log_partition
from vmfstream.directional.kernels import accumulate, dots
from vmfstream.mixtures.annealing import FROZEN_BELOW
from vmfstream.mixtures.columns import directed, softmax_rows
from vmfstream.progress import swept


@dataclass(frozen=True, slots=True, eq=False)
class SmootherModel:
    """What does not change while sweeping.

    ``start``, the belief predicted to the first slice, with the anchor's products; ``anchor`` (D,) the natural vector
    of all slices; ``omega`` in [0, 1] the expected cosine between consecutive means; ``lag`` how many slices ahead
    speak, None for all; ``kappa`` how the concentrations are inferred; ``threads`` share the rows of large slices;
    ``pins`` belong to the anchor of some topics; ``masses`` (N_t,) per slice say how often each row was seen, once if
    None.
    """

    start: RunningBelief
    anchor: Floats
    omega: float
    lag: int | None
    kappa: KappaModel
    threads: int = 1
    pins: Pins | None = None
    masses: Sequence[Vector] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SmootherState:
    """What sweeps renew: responsibilities ``resps`` (N_t, kp) per slice, ``kappa`` and ``weights``."""

    resps: list[Floats]
    kappa: KappaFactor
    weights: Proportions


@dataclass(frozen=True, slots=True, eq=False)
class Sweep:
    """One sweep: the new ``state``, and what belongs to the state before it.

    ``stats`` S_t over the words of each slice, ``counts`` (T, k), ``weights`` renewed by these, and ``bound``, which is
    that of full temperature, NaN if it was not asked for.
    """

    state: SmootherState
    stats: list[SliceSums]
    counts: Vector
    weights: Proportions
    bound: float


@dataclass(frozen=True, eq=False)
class SmootherFit:
    """A fitted chain: ``resps`` and ``factor`` q(kappa), and of exactly these all the rest.

    ``stats`` S_t over the words of each slice, ``counts`` (T, k), ``weights`` and ``bound``; ``trace`` is the bound
    before each sweep at full temperature, and ``begun`` that before the first sweep of all. ``model`` is what did not
    change.
    """

    resps: list[Floats]
    factor: KappaFactor
    stats: list[SliceSums]
    counts: Vector
    weights: Proportions
    bound: float
    begun: float
    trace: Vector
    converged: bool
    model: SmootherModel

    @cached_property
    def h(self) -> Floats:
        """The belief after the last slice without the anchor, (D, kp)."""
        last = _filtered(self.factor, self.stats, self.counts.shape[1], self.model)[1]
        found: Floats = last.matrix(self.model.anchor.dtype)
        return found

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
    threads: int = 1,
    pins: Pins | None = None,
    masses: Sequence[Vector] | None = None,
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
    betas : inverse temperatures of sweeps done first (restarted annealing), one sweep each
    max_iter : int, largest number of sweeps at full temperature
    tol : float, stop when the bound per document changes by less, in nats
    threads : int, threads that share the rows of a slice, if there are enough for them
    pins : what belongs to the anchor of some topics besides
    masses : (N_t,) per slice, how often each row was seen, default once

    Notes
    -----
    Cost of a sweep: one product X M and one X'resp per slice, and O(W K) for the W words that a slice holds, times
    1 + lag with a lag; O(D K) once.
    """
    b = np.zeros(len(h0), h0.dtype) if anchor is None else anchor
    given = SmootherModel(RunningBelief(h0, b, pins), b, omega, lag, model or KappaModel(), threads, pins, masses)
    narrow = [narrowed(x) for x in xs]
    prior = StaticWeights(alpha + n0, alpha + n0, len(xs)) if weights is None else weights
    factor = kappa if isinstance(kappa, KappaFactor) else point_factor(len(h0), kappa)
    state = SmootherState(list(resps0), factor, prior)
    first: float | None = None
    for beta in betas:
        hot = smoother_sweep(narrow, state, given, beta, judged=first is None)
        state, first = hot.state, hot.bound if first is None else first
    best: tuple[float, SmootherState, list[SliceSums], Vector, Proportions] | None = None
    trace: list[float] = []
    while True:
        sweep = smoother_sweep(narrow, state, given) if len(trace) < max_iter else None
        if sweep is None:
            stats, counts = _statistics(narrow, state, given)
            steps, now = _filtered(state.kappa, stats, counts.shape[1], given)[0], state.weights.renewed(counts)
            bound = _bound(state, steps, counts, now, given)
        else:
            stats, counts, now, bound = sweep.stats, sweep.counts, sweep.weights, sweep.bound
        if best is None or bound > best[0]:
            best = (bound, state, stats, counts, now)
        converged = bool(trace) and abs(bound - trace[-1]) < tol * max(float(counts.sum()), 1.0)
        trace.append(bound)
        swept(len(trace), "bound in nats", bound)
        if converged or sweep is None:
            break
        state = sweep.state
    bound, state, stats, counts, now = best
    begun = trace[0] if first is None else first
    return SmootherFit(state.resps, state.kappa, stats, counts, now, bound, begun, np.array(trace), converged, given)


def smoother_sweep(
    xs: Sequence[Narrow], state: SmootherState, model: SmootherModel, beta: float = 1.0, *, judged: bool = True
) -> Sweep:
    """Renew the weights, the concentrations and the responsibilities of all slices once, from smoothed beliefs.

    resp = softmax( beta (E[log pi_tk] + E[kappa_k] x'E[mu_tk] - E[ell(kappa_k)]) )

    Of the smoothed belief s_t = B + h_t + b_t only the words of the slice are needed, and its norm, whose square is
    |B + h_t|^2 + 2 (B + h_t)'b_t + |b_t|^2.

    Parameters
    ----------
    xs : slices over their words
    state, model : see there
    beta : float in (0, 1], inverse temperature; the concentrations are kept while it is below 0.3
    judged : whether the bound is asked for
    """
    d = len(model.anchor)
    stats, counts = _statistics(xs, state, model)
    k = counts.shape[1]
    (steps, _), weights = _filtered(state.kappa, stats, k, model), state.weights.renewed(counts)
    bound = _bound(state, steps, counts, weights, model) if judged else float("nan")
    columns = _columns(state.kappa, model, k)
    resps: list[Floats] = []
    squares, crosses = np.zeros((len(stats), k)), np.zeros((len(stats), k))
    for t, back, along in _messages(stats, steps, columns, model):
        step, sums = steps[t], stats[t]
        squares[t] = (step.after + 2.0 * (back.anchor_products + along) + back.squares)[:k]
        smoothed, cross = back.smoothed(sums, step.rows, columns, k)
        crosses[t] = (step.cross + cross)[:k]
        resps.append(dots(xs[t].x, smoothed, threads=model.threads))
    scales = shrinkage(d, np.sqrt(np.maximum(squares, 0.0)))
    kappa = state.kappa
    if beta >= FROZEN_BELOW:
        kappa = model.kappa.factor(d, counts.sum(axis=0), (scales * crosses)[::-1].sum(axis=0))
    resps.reverse()
    for part, resp, scale, log_weights in zip(xs, resps, scales, weights.expected_log, strict=True):
        softmax_rows(resp, kappa.mean * scale, log_weights - kappa.ell, beta)
        resp[~directed(part.x)] = 0
    return Sweep(SmootherState(resps, kappa, weights), stats, counts, weights, bound)


class _Step(NamedTuple):
    """A step of the filter: the prediction's ``rows`` (W, kp) for the words of the slice, and products of columns.

    These are, (kp,), the squares of |B + p| ``before`` and |B + h| ``after``, (B + h)'S ``cross``, p'S ``ahead``; and
    the ``factor`` by which the belief about the slice before was shortened to p.
    """

    rows: Floats
    before: Vector
    after: Vector
    cross: Vector
    ahead: Vector
    factor: Vector


def _filtered(
    kappa: KappaFactor, stats: Sequence[SliceSums], k: int, model: SmootherModel
) -> tuple[list[_Step], RunningBelief]:
    """Filter all slices, of ``stats``, under ``kappa`` of ``k`` topics; return the steps and the belief after the last.

    ``model`` is that of the chain.
    """
    belief, columns = model.start.copy(), _columns(kappa, model, k)
    steps: list[_Step] = []
    for t, s in enumerate(stats):
        factor = belief.convolve(model.omega) if t else np.ones(len(columns))
        rows, before = belief.rows(s.words, s.s.dtype), belief.anchored_squares
        learnt = belief.learn(s, columns)
        cross = learnt.anchor + learnt.before + columns * learnt.own
        steps.append(_Step(rows, before, belief.anchored_squares, cross, learnt.before, factor))
    return steps, belief


def _messages(
    stats: Sequence[SliceSums], steps: Sequence[_Step], columns: Vector, model: SmootherModel
) -> Iterator[tuple[int, RunningBelief, Vector]]:
    """What the future says about each slice, b_t, and its products with h_t, (kp,), from the last slice to the first.

    From b_{t-1} = c (kappa S_t + b_t) and h_t = a h_{t-1} + kappa S_t follows

        h_{t-1}'b_{t-1} = c ( kappa p_t'S_t + h_t'b_t - kappa S_t'b_t ) / a,   p_t = a h_{t-1}
    """
    reach = 1 if model.lag is None else model.lag
    back, along = model.start.begun_anew(), np.zeros(len(columns))
    for t in reversed(range(len(stats))):
        if model.lag is not None:
            back, along = model.start.begun_anew(), np.zeros(len(columns))
        for u in reversed(range(t + 1, min(t + 1 + reach, len(stats)))):
            learnt = back.learn(stats[u], columns)
            shorter, factor = back.convolve(model.omega), steps[u].factor
            change = np.divide(shorter, factor, out=np.zeros_like(factor), where=factor > 0.0)
            along = change * (columns * (steps[u].ahead - learnt.before) + along)
        yield t, back, along


def _columns(kappa: KappaFactor, model: SmootherModel, k: int) -> Vector:
    """One concentration ``kappa`` for each of ``k`` columns of the ``model``; zero in the padding."""
    return per_column(kappa.mean, len(model.start.squares), k)


def _statistics(xs: Sequence[Narrow], state: SmootherState, model: SmootherModel) -> tuple[list[SliceSums], Vector]:
    k = state.weights.expected_log.shape[1]
    shares = all_weighted(state.resps, model.masses)
    stats = [
        SliceSums(part.words, accumulate(part.x, resp, threads=model.threads))
        for part, resp in zip(xs, shares, strict=True)
    ]
    return stats, np.array([resp.sum(axis=0, dtype=np.float64)[:k] for resp in shares])


def _bound(
    state: SmootherState, steps: Sequence[_Step], counts: Vector, weights: Proportions, model: SmootherModel
) -> float:
    """Evidence of the chains, of which ``steps`` are those of the filter, and of the renewed ``weights``, and entropy.

    sum_{t,k} [ ell(|B + h_t|) - ell(|B + p_t|) ] - sum_k n_k E[ell(kappa_k)] + sum_i H(resp_i)
        + sum_tk n_tk E[log pi_tk] + gain of the weights - KL(kappa)
    """
    k = counts.shape[1]
    squares = np.array([(step.after[:k], step.before[:k]) for step in steps])
    after, before = log_partition(len(model.anchor), np.sqrt(squares.ravel())).reshape(squares.shape).swapaxes(0, 1)
    evidence = float((after - before).sum())
    evidence -= float((counts.sum(axis=0) * state.kappa.ell).sum()) + model.kappa.cost(state.kappa)
    entropy = total_entropy(state.resps, model.masses)
    return evidence + entropy + float((counts * weights.expected_log).sum()) + weights.gain
