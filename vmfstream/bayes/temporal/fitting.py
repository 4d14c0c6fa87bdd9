"""Fit the temporal mixture to documents: starts, choice of the persistence, inference, later slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.beliefs import anchored, per_column
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, point_factor
from vmfstream.bayes.factors.directions import shrinkage
from vmfstream.bayes.factors.empirical_bayes import Hyperparameter
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import moment_kappa_prior, moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.predictive import memberships
from vmfstream.bayes.starts import annealed_starts
from vmfstream.bayes.temporal.chain import convolve, forward, next_slice_density, smooth
from vmfstream.bayes.temporal.filtering import Filtered, FilterSettings, FilterState, filter_fit, filter_step
from vmfstream.bayes.temporal.gibbs import ChainPrior, draw_chain
from vmfstream.bayes.temporal.meanfield import Links, fit_chain, started
from vmfstream.bayes.temporal.proportions import STEP, ProportionRule, Proportions, proportions
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate, padded
from vmfstream.directional.sphere import drawing_order
from vmfstream.mixtures.columns import column_norms, eligible
from vmfstream.mixtures.em import best_of
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import weighted

Inference: TypeAlias = Literal["filter", "smoother", "meanfield", "gibbs"]

TemporalStart: TypeAlias = Literal["all", "first"]

PERSISTENCES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)
"""Grid that a persistence is chosen from."""

PILOT = 0.9
"""Persistence of the filter whose memberships all the grid is judged by."""

UNJUDGED = 0.98
"""What is taken while no slice was predicted yet."""

JUDGED = 500
"""Most documents of a slice that judge."""

FLAT_SWEEPS = 25
"""Sweeps of the flat mixture of all slices from which the chain starts."""


@dataclass(frozen=True, slots=True)
class EvolutionOptions:
    """What `evolve` is asked for; see there."""

    inference: Inference = "smoother"
    persistence: float | None = 0.98
    lag: int | None = None
    proportions: ProportionRule = "static"
    weight_step: float = STEP
    strength: float | None = None
    anchored: bool = True
    kappa: KappaRule = "point"
    concentration: Concentration = "shared"
    alpha: float = 1.0
    start: TemporalStart = "all"
    learn: tuple[Hyperparameter, ...] = ()
    max_iter: int = 50
    tol: float = 1e-4
    draws: int = 100
    burn_in: int = 100

    def __post_init__(self) -> None:
        if self.inference not in get_args(Inference):
            raise ValueError(f"inference: expected one of {', '.join(get_args(Inference))}, got {self.inference!r}")
        if self.persistence is not None and not 0 < self.persistence < 1:
            raise ValueError(f"persistence: expected a number between 0 and 1, got {self.persistence}")
        if self.lag is not None and self.inference != "smoother":
            raise ValueError(f"lag: expected None unless inference is 'smoother', got {self.lag}")
        if self.learn and self.inference != "meanfield":
            raise ValueError(f"empirical_bayes: expected () unless inference is 'meanfield', got {self.learn}")
        if self.proportions == "dirichlet" and self.inference == "gibbs":
            raise ValueError(
                "proportions: expected 'static' or 'logistic-normal' with inference 'gibbs', got 'dirichlet'"
            )
        if self.start == "first" and self.inference != "filter":
            raise ValueError(f"start: 'first' belongs to inference 'filter', got inference {self.inference!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Evolution:
    """Beliefs about all slices so far, and what is needed to go on.

    ``f`` natural vectors (D, kp) per slice, anchor included, as the inference gives them; ``gains`` what the documents
    of each slice added to them, kappa S_t (not by filter and mean field); ``h0`` (D, kp) the prediction for the first
    slice; ``anchor`` (D,); ``weights`` (T, k); ``kappa`` q(kappa); ``resps`` (N_t, kp) of the slices of the last call;
    ``trace`` bounds after sweeps, or that of the appended slices given the past; ``state`` what is predicted for the
    slice after the last; ``scores`` the mean log predictive density per document for each of `PERSISTENCES` if that was
    chosen.
    """

    options: EvolutionOptions
    omega: float
    f: list[Floats]
    gains: list[Floats]
    h0: Floats
    anchor: Floats
    weights: Vector
    kappa: KappaFactor
    resps: list[Floats]
    state: FilterState
    settings: FilterSettings
    trace: Vector
    converged: bool
    scores: Vector | None = None

    def predicted(self, x: Rows) -> tuple[Vector, Vector]:
        """Return memberships (N, k) and log densities (N,) of documents of the slice after the last, in nats."""
        k = self.weights.shape[1]
        f = anchored(self.anchor, self._ahead, k)
        log_weights = np.log(self.state.weights.weights[-1])
        return memberships(x, f, column_norms(f)[:k], self.kappa, log_weights)

    @property
    def _ahead(self) -> Floats:
        """Directions predicted for the slice after the last."""
        return convolve(self.f[-1], self.omega) if self.options.inference == "meanfield" else self.state.p


def evolve(
    x: Rows,
    sizes: Sequence[int],
    k: int,
    options: EvolutionOptions,
    rng: np.random.Generator,
    starts: int = 1,
    mass: Vector | None = None,
) -> Evolution:
    """Fit the temporal mixture to slices of documents.

    Parameters
    ----------
    x : (N, D) CSR or dense unit rows, slice after slice
    sizes : documents of each slice, the first with as many as there are topics; others may be empty
    k : int, number of topics
    options : EvolutionOptions. ``inference``: by the filter, the smoother (with ``lag``, given so many later slices),
        mean field, or Gibbs sampling (``draws`` after ``burn_in``). ``persistence``: expected cosine between
        consecutive means, None to choose from `PERSISTENCES` what predicts best. ``anchored``: the prior of the
        directions acts in every slice, not the first alone (mean field has it in the first alone). ``proportions``,
        ``weight_step``, ``strength``: see `vmfstream.bayes.temporal.proportions`. ``start``: topics are looked for in
        all slices, or, for a filter that knows nothing of later slices, in the first. ``learn``: hyperparameters set
        by empirical Bayes, mean field only
    rng : numpy.random.Generator
    starts : int, annealed starts, of which the largest bound wins
    mass : (N,) how often each row was seen, default once; not with Gibbs sampling, which draws a label for every row

    Raises
    ------
    ValueError
        Fewer rows with a direction than topics where topics are looked for.

    References
    ----------
    [GY14] section 3.3.
    """
    ends = np.cumsum(sizes)
    xs = [x[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    masses = None if mass is None else np.split(mass, ends[:-1])
    whole = options.start == "all"
    seen, weight = (x, mass) if whole else (xs[0], None if masses is None else masses[0])
    directions = int(eligible(seen, weight).sum())
    if directions < k:
        where = "all slices" if whole else "the first slice"
        raise ValueError(f"n_components: expected at most the {directions} rows with a direction in {where}, got {k}")
    resps = annealed_starts(seen, k, rng, starts, weights=weight)
    begun = (_begun(seen, sizes, k, options, rng, resp, weight, masses) for resp in resps)
    fits = [_evolved(xs, start, k, options) for start in begun]
    return best_of(fits, lambda fit: float(fit.trace.max()))


def extended(past: Evolution, xs: Sequence[Rows], masses: Sequence[Vector] | None = None) -> Evolution:
    """Append slices to a ``past``, which is not refitted: each is filtered, the past smoothed as far as ``lag`` allows.

    ``xs`` are rows (N_t, D) that were seen ``masses`` times, (N_t,), once by default.
    """
    state, filtered = past.state, []
    each: Sequence[Vector | None] = [None] * len(xs) if masses is None else masses
    for x, mass in zip(xs, each, strict=True):
        state, one = filter_step(state, x, past.settings, mass=mass)
        filtered.append(one)
        if past.options.inference == "meanfield":
            state = replace(state, p=_linked(one.h, past.omega))
    k = past.weights.shape[1]
    gains = past.gains
    f = [*past.f, *(anchored(past.anchor, one.h, k) for one in filtered)]
    if past.options.inference in ("smoother", "gibbs"):
        gains = [*gains, *(one.h - one.p for one in filtered)]
        f = list(smooth(gains, 1.0, past.h0, past.omega, past.anchor, past.options.lag, k).s)
    return replace(
        past,
        f=f,
        gains=gains,
        weights=np.vstack([past.weights, *(one.weights for one in filtered)]),
        kappa=filtered[-1].kappa,
        resps=[one.resp for one in filtered],
        state=state,
        trace=np.array([sum(one.bound for one in filtered)]),
        converged=past.converged and all(one.converged for one in filtered),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Begun:
    """Where inference starts: responsibilities, the prior's natural vector, the concentrations' model and prior.

    ``masses`` (N_t,) per slice say how often rows were seen, once if None.
    """

    resps: list[Floats]
    b: Floats
    model: KappaModel
    kappa: KappaFactor
    rng: np.random.Generator
    law: KappaPrior
    masses: list[Vector] | None


def _evolved(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions) -> Evolution:
    scores, omega = None, options.persistence
    if omega is None:
        anchor, _ = _anchor_and_first(begun, k, options)
        scores = _judged(xs, _filtered(xs, begun, k, options, PILOT), anchor, begun.masses)
        omega = PERSISTENCES[int(np.argmax(scores))] if scores.any() else UNJUDGED
    if options.inference == "filter":
        found = _from_filter(xs, begun, k, options, omega)
    elif options.inference == "smoother":
        found = _from_smoother(xs, begun, k, options, omega)
    elif options.inference == "meanfield":
        found = _from_meanfield(xs, begun, k, options, omega)
    else:
        found = _from_gibbs(xs, begun, k, options, omega)
    return replace(found, scores=scores)


def _judged(xs: Sequence[Rows], pilot: Filtered, anchor: Floats, masses: Sequence[Vector] | None) -> Vector:
    """Mean log predictive density per document of every slice but the first, for each of `PERSISTENCES`; or zeros."""
    seen = [float(x.shape[0]) for x in xs] if masses is None else [float(mass.sum()) for mass in masses]
    gains = [one.h - one.p for one in pilot.slices]
    totals = np.zeros(len(PERSISTENCES))
    for j, omega in enumerate(PERSISTENCES):
        ps = forward(gains, 1.0, pilot.slices[0].p, omega)[0]
        for t in range(1, len(xs)):
            if seen[t]:
                weight = None if masses is None else masses[t]
                some = drawing_order(xs[t])
                some = some if weight is None else some[weight[some] > 0]
                some = some[:: -(-len(some) // JUDGED)]
                before = pilot.slices[t - 1]
                density = next_slice_density(xs[t][some], ps[t], anchor, before.kappa, np.log(before.weights))
                totals[j] += float(np.average(density, weights=None if weight is None else weight[some])) * seen[t]
    return np.asarray(totals / max(sum(seen[1:]), 1))


def _begun(
    x: Rows,
    sizes: Sequence[int],
    k: int,
    options: EvolutionOptions,
    rng: np.random.Generator,
    resp: Floats,
    mass: Vector | None,
    masses: list[Vector] | None,
) -> _Begun:
    """Fit a flat mixture to the documents that may be looked at."""
    prior = moment_prior(x, weighted(resp, mass), k, alpha=options.alpha)
    law = moment_kappa_prior(x, weighted(resp, mass), k)
    fit = variational.fit(x, resp, k, prior, kappa="point", max_iter=FLAT_SWEEPS, mass=mass)
    nothing = np.zeros(1 if options.concentration == "shared" else k)
    model = KappaModel(
        options.kappa, None if options.kappa == "point" else law, options.concentration, nothing, nothing, rng
    )
    whole = options.start == "all"
    resps = np.split(fit.resp, np.cumsum(sizes)[:-1]) if whole else [fit.resp]
    return _Begun(list(resps), np.asarray(prior.b), model, fit.kappa, rng, law, masses)


def _anchor_and_first(begun: _Begun, k: int, options: EvolutionOptions) -> tuple[Floats, Floats]:
    """The anchor (D,) of all slices and the prediction (D, kp) for the first: one of them is the prior."""
    nothing = np.zeros((len(begun.b), padded(k)), begun.b.dtype)
    if options.anchored and options.inference != "meanfield":
        return begun.b, nothing
    return np.zeros_like(begun.b), anchored(begun.b, nothing, k)


def _weights(k: int, slices: int, options: EvolutionOptions) -> Proportions:
    return proportions(
        options.proportions, k, slices, alpha=options.alpha, step=options.weight_step, strength=options.strength
    )


def _filtered(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions, omega: float) -> Filtered:
    anchor, h0 = _anchor_and_first(begun, k, options)
    return filter_fit(
        xs,
        begun.resps if len(begun.resps) == len(xs) else begun.resps[0],
        k,
        omega=omega,
        h0=h0,
        anchor=anchor,
        weights=_weights(k, 1, options),
        kappa=options.kappa,
        concentration=options.concentration,
        kappa_prior=begun.model.prior,
        rng=begun.model.rng,
        max_iter=options.max_iter,
        tol=options.tol,
        masses=begun.masses,
    )


def _from_filter(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions, omega: float) -> Evolution:
    anchor, h0 = _anchor_and_first(begun, k, options)
    out = _filtered(xs, begun, k, options, omega)
    return Evolution(
        options,
        omega,
        [anchored(anchor, one.h, k) for one in out.slices],
        [],
        h0,
        anchor,
        np.array([one.weights for one in out.slices]),
        out.slices[-1].kappa,
        [one.resp for one in out.slices],
        out.state,
        _settings(begun, anchor, options, omega),
        np.cumsum([one.bound for one in out.slices])[-1:],
        all(one.converged for one in out.slices),
    )


def _from_smoother(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions, omega: float) -> Evolution:
    anchor, h0 = _anchor_and_first(begun, k, options)
    fit = fit_smoother(
        xs,
        begun.resps,
        _spread(begun, k, options),
        np.zeros(k),
        h0,
        anchor,
        omega,
        options.alpha,
        weights=_weights(k, len(xs), options),
        model=begun.model,
        lag=options.lag,
        max_iter=options.max_iter,
        tol=options.tol,
        masses=begun.masses,
    )
    columns = np.zeros(h0.shape[1], h0.dtype)
    columns[:k] = fit.factor.mean
    gains: list[Floats] = [s.dense(len(h0)) * columns for s in fit.stats]
    n = begun.model.grouped(fit.nk)
    seen = n * np.asarray(bessel_ratio(len(h0), fit.factor.mean))
    state = FilterState(convolve(fit.h, omega), fit.weights.ahead(), fit.factor, n, seen)
    f = list(smooth(gains, 1.0, h0, omega, anchor, options.lag, k).s)
    settings = _settings(begun, anchor, options, omega)
    found = (fit.weights.weights, fit.factor, fit.resps, state, settings, fit.trace, fit.converged)
    return Evolution(options, omega, f, gains, h0, anchor, *found)


def _from_meanfield(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions, omega: float) -> Evolution:
    """Mean field from one pass of the smoother over the start."""
    anchor, h0 = _anchor_and_first(begun, k, options)
    d = len(h0)
    weights = _weights(k, len(xs), options)
    kappa = _spread(begun, k, options)
    links = Links(h0, float(inv_bessel_ratio(d, omega)))
    state = started(xs, begun.resps, [h0] * len(xs), kappa, weights, begun.masses)
    f = smooth(state.stats, np.broadcast_to(kappa.mean, k), h0, omega).s
    state = started(xs, begun.resps, f, kappa, weights, begun.masses)
    fit = fit_chain(xs, state, links, begun.model, learn=options.learn, max_iter=options.max_iter, tol=options.tol)
    found = fit.state
    n, t = begun.model.grouped(fit.counts.sum(axis=0)), begun.model.grouped(fit.cosines)
    ahead = FilterState(_linked(found.f[-1], omega), found.proportions.ahead(), found.kappa, n, t)
    settings = _settings(begun, anchor, options, omega)
    return Evolution(
        options,
        omega,
        found.f,
        [],
        h0,
        anchor,
        found.proportions.weights,
        found.kappa,
        found.resps,
        ahead,
        settings,
        fit.trace,
        fit.converged,
    )


def _from_gibbs(xs: Sequence[Rows], begun: _Begun, k: int, options: EvolutionOptions, omega: float) -> Evolution:
    """Draw from the start on; the beliefs are those of the smoother given how often documents were in topics."""
    anchor, h0 = _anchor_and_first(begun, k, options)
    d, kappa0 = len(h0), _spread(begun, k, options).mean
    static = options.proportions == "static"
    prior = ChainPrior(
        h0[:, :k].astype(np.float64),
        anchor.astype(np.float64),
        float(inv_bessel_ratio(d, omega)),
        options.alpha if static else None,
        None if static else options.weight_step,
        begun.law,
    )
    labels0 = [resp[:, :k].argmax(axis=1) for resp in begun.resps]
    f0 = smooth(_gains(xs, begun.resps, kappa0, k), 1.0, h0, omega, anchor, k=k).s
    means0 = [f / np.maximum(column_norms(f), np.finfo(np.float64).tiny) for f in f0]
    lengths = {"draws": options.draws, "burn_in": options.burn_in}
    found = draw_chain(xs, labels0, means0, kappa0, prior, begun.rng, **lengths)
    resps = [np.pad(resp, [(0, 0), (0, h0.shape[1] - k)]).astype(h0.dtype) for resp in found.resps]
    factor = point_factor(d, found.kappas.mean(axis=0))
    gains = _gains(xs, resps, factor.mean, k)
    counts = np.array([resp.sum(axis=0) for resp in found.resps])
    n = begun.model.grouped(counts.sum(axis=0))
    seen = n * np.asarray(bessel_ratio(d, factor.mean))
    weights = _weights(k, len(xs), options).renewed(counts)
    ahead = convolve(forward(gains, 1.0, h0, omega)[1][-1], omega)
    state = FilterState(ahead, weights.ahead(), factor, n, seen)
    f = list(smooth(gains, 1.0, h0, omega, anchor, k=k).s)
    settings = _settings(begun, anchor, options, omega)
    shown = (found.weights.mean(axis=0), factor, resps, state, settings, found.trace, True)
    return Evolution(options, omega, f, gains, h0, anchor, *shown)


def _gains(xs: Sequence[Rows], resps: Sequence[Floats], kappa: Vector, k: int) -> list[Floats]:
    """kappa S_t of every slice, (D, kp)."""
    return [
        accumulate(x, resp) * per_column(kappa, resp.shape[1], k).astype(resp.dtype)
        for x, resp in zip(xs, resps, strict=True)
    ]


def _settings(begun: _Begun, anchor: Floats, options: EvolutionOptions, omega: float) -> FilterSettings:
    return FilterSettings(omega, anchor, begun.model, 1.0, options.max_iter, options.tol)


def _spread(begun: _Begun, k: int, options: EvolutionOptions) -> KappaFactor:
    """The shared concentration of the start, for each topic if they have their own."""
    if options.concentration == "shared":
        return begun.kappa
    return point_factor(len(begun.b), np.repeat(begun.kappa.mean, k))


def _linked(f: Floats, omega: float) -> Floats:
    """What mean field hands to the next slice: c0 E[mu_t]."""
    d = len(f)
    scale = float(inv_bessel_ratio(d, omega)) * shrinkage(d, column_norms(f))
    return np.asarray(f * scale.astype(f.dtype))
