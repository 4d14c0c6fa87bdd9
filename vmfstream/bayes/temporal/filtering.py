"""The filter: fit one slice after the other, each under the prior that the slices before predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmfstream.arrays import Floats, Rows, Vector
from vmfstream.bayes.factors.beliefs import anchored
from vmfstream.bayes.factors.concentration import KappaFactor, KappaPrior, KappaRule, point_factor
from vmfstream.bayes.factors.kappa_model import KappaModel
from vmfstream.bayes.factors.priors import moment_kappa_prior
from vmfstream.bayes.temporal.chain import convolve, next_slice_density
from vmfstream.bayes.temporal.meanfield import Links, fit_chain, started
from vmfstream.bayes.temporal.proportions import Proportions, proportions
from vmfstream.directional.kernels import padded
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.options import Concentration
from vmfstream.mixtures.sums import weighted


@dataclass(frozen=True, slots=True, eq=False)
class FilterSettings:
    """What stays the same over slices; see `filter_fit`."""

    omega: float
    anchor: Floats
    kappa: KappaModel
    memory: float = 1.0
    max_iter: int = 50
    tol: float = 1e-4

    def __post_init__(self) -> None:
        if not 0 < self.memory <= 1:
            raise ValueError(f"memory must lie in (0, 1]; got {self.memory}")


@dataclass(frozen=True, slots=True, eq=False)
class FilterState:
    """What the slices so far say about the next one.

    ``p`` (D, kp) its predicted natural vectors without the anchor, ``weights`` the prior of its weights, ``kappa`` the
    concentrations, None while no document has come, and their statistics ``n_seen``, ``t_seen``.
    """

    p: Floats
    weights: Proportions
    kappa: KappaFactor | None
    n_seen: Vector
    t_seen: Vector


@dataclass(frozen=True, slots=True, eq=False)
class FilteredSlice:
    """Beliefs about one slice given it and the past.

    ``p`` predicted and ``h`` filtered natural vectors (D, kp) without the anchor, ``weights`` (k,), ``kappa``, ``resp``
    (N, kp), ``counts`` (k,) documents per topic, ``log_predictive`` (N,) the density of each document under the
    prediction, NaN while no concentration is known, ``bound`` of the slice alone given the past: what earlier documents
    give to it is left out, so the sum over slices is the bound of all.
    """

    p: Floats
    h: Floats
    weights: Vector
    kappa: KappaFactor
    resp: Floats
    counts: Vector
    log_predictive: Vector
    bound: float
    converged: bool


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """The ``slices`` as they were known when each was the last, and the ``state`` after the last of them."""

    slices: list[FilteredSlice]
    state: FilterState


def filter_fit(
    xs: Sequence[Rows],
    resp0: Floats | Sequence[Floats],
    k: int,
    *,
    omega: float,
    h0: Floats | None = None,
    anchor: Floats | None = None,
    weights: Proportions | None = None,
    kappa: KappaRule | float = "point",
    concentration: Concentration = "shared",
    kappa_prior: KappaPrior | None = None,
    rng: np.random.Generator | None = None,
    memory: float = 1.0,
    max_iter: int = 50,
    tol: float = 1e-4,
    masses: Sequence[Vector] | None = None,
) -> Filtered:
    """Filter a sequence of slices, each by coordinate ascent on its own evidence lower bound.

    p_{t+1} = conv(h_t); slice t is the Bayesian mixture with the prior natural vectors B + p_t, the weights predicted
    by the slices before and, for kappa, the statistics (n, T) of these.

    Parameters
    ----------
    xs : slices (N_t, D), CSR or dense unit rows; the first must hold documents, later ones may be empty
    resp0 : (N_1, kp), initial responsibilities of the first slice, later ones start from their prediction; or a list
        of responsibilities of every slice
    k : int, number of topics
    omega : float in [0, 1], expected cosine between consecutive means
    h0 : (D, kp) or (D,), prediction for the first slice, default none
    anchor : (D,) natural vector B that holds at all times, or None
    weights : prior of the weights of one slice, default Dir(1)
    kappa : a rule of `vmfstream.bayes.factors.concentration` or a known value
    concentration : one for all topics or one each
    kappa_prior : default from ``resp0``
    rng : numpy.random.Generator, for ``kappa="sampling"``
    memory : float in (0, 1], factor on the statistics of kappa per slice; 1 for one concentration at all times
    max_iter, tol : per slice, see `vmfstream.bayes.temporal.meanfield.fit_chain`
    masses : (N_t,) per slice, how often each row was seen, default once

    Raises
    ------
    ValueError
        No document of the first slice has a direction.

    References
    ----------
    [GY14] section 3.3 (the model); inference by assumed density instead of mean field over the slices.
    """
    if not xs or not directed(xs[0]).any():
        raise ValueError("the first slice must hold documents with a direction")
    starts: list[Floats | None] = list(resp0) if isinstance(resp0, Sequence) else [resp0, *[None] * (len(xs) - 1)]
    d, dtype = xs[0].shape[1], xs[0].dtype
    if kappa_prior is None and isinstance(kappa, str) and kappa != "point" and starts[0] is not None:
        kappa_prior = moment_kappa_prior(xs[0], weighted(starts[0], None if masses is None else masses[0]), k)
    nothing = np.zeros(1 if concentration == "shared" else k)
    settings = FilterSettings(
        omega,
        np.zeros(d, dtype) if anchor is None else anchor,
        KappaModel(kappa, kappa_prior, concentration, nothing, nothing, rng),
        memory,
        max_iter,
        tol,
    )
    p = np.zeros((d, padded(k)), dtype)
    if h0 is not None:
        p[:, :k] = h0[:, None] if h0.ndim == 1 else h0[:, :k]
    prior = proportions("static", k, 1) if weights is None else weights
    known = None if isinstance(kappa, str) else point_factor(d, kappa)
    state = FilterState(p, prior, known, nothing, nothing)
    slices = []
    seen: Sequence[Vector | None] = [None] * len(xs) if masses is None else masses
    for x, start, mass in zip(xs, starts, seen, strict=True):
        state, filtered = filter_step(state, x, settings, start, mass)
        slices.append(filtered)
    return Filtered(slices, state)


def filter_step(
    state: FilterState, x: Rows, settings: FilterSettings, resp0: Floats | None = None, mass: Vector | None = None
) -> tuple[FilterState, FilteredSlice]:
    """Learn one slice, and predict the one after it.

    Parameters
    ----------
    state : what the slices before say
    x : (N, D) CSR or dense unit rows; a slice without documents only shortens beliefs
    settings : see `filter_fit`
    resp0 : (N, kp) initial responsibilities, needed while no concentration is known; default from the prediction
    mass : (N,) how often each row was seen, default once

    Raises
    ------
    ValueError
        Documents, but neither initial responsibilities nor a concentration.
    """
    k = state.weights.expected_log.shape[1]
    if not directed(x).any():
        if state.kappa is None:
            raise ValueError("the first slice must hold documents with a direction")
        resp = np.zeros((x.shape[0], state.p.shape[1]), x.dtype)
        density = np.zeros(x.shape[0])
        share = state.weights.weights[-1]
        idle = FilteredSlice(state.p, state.p, share, state.kappa, resp, np.zeros(k), density, 0.0, True)
        return replace(state, p=convolve(state.p, settings.omega), weights=state.weights.ahead()), idle
    density = np.full(x.shape[0], np.nan)
    if state.kappa is not None:
        log_weights = np.log(state.weights.weights[-1])
        density = next_slice_density(x, state.p, settings.anchor, state.kappa, log_weights)
    b = anchored(settings.anchor, state.p, k)
    n_seen, t_seen = settings.memory * state.n_seen, settings.memory * state.t_seen
    model = replace(settings.kappa, n_seen=n_seen, t_seen=t_seen)
    masses = None if mass is None else [mass]
    start = started([x], None if resp0 is None else [resp0], [b], state.kappa, state.weights, masses)
    fit = fit_chain([x], start, Links(b), model, max_iter=settings.max_iter, tol=settings.tol)
    found = fit.state
    h = anchored(-settings.anchor, found.f[0], k)
    learnt = FilterState(
        convolve(h, settings.omega),
        found.proportions.ahead(),
        found.kappa,
        n_seen + model.grouped(fit.counts[0]),
        t_seen + model.grouped(fit.cosines),
    )
    return learnt, FilteredSlice(
        state.p,
        h,
        found.proportions.weights[-1],
        found.kappa,
        found.resps[0],
        fit.counts[0],
        density,
        float(fit.trace[-1]) - model.earlier(len(h)),
        fit.converged,
    )
