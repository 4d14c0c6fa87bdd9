"""Refits of the recent slices as a whole, which correct what a forward filter cannot.

A forward filter keeps the topics of its first documents, and in high dimension labels hardly ever change. So the
documents of the last slices are refitted together at the end of a slice: from where they are, by restarted annealing,
and, while they are few and none has left the window, by fits from nothing. The largest bound wins.

Functions fit unit rows ``x`` (N, D) of all slices together, or ``xs``, those of each slice, oldest first, under
``settings`` and a persistence ``omega`` in (0, 1). ``k`` is the number of topics, ``starts`` how often a fit begins
anew; ``rng`` draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vmfstream.bayes.factors.priors import Prior, moment_prior
from vmfstream.bayes.flat import variational
from vmfstream.bayes.starts import CONTINUED, annealed_starts, sampled_start
from vmfstream.bayes.temporal.smoother import fit_smoother
from vmfstream.bayes.temporal.word_sums import pins_of
from vmfstream.directional.kernels import padded
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.annealing import melting, temperatures
from vmfstream.mixtures.columns import directed
from vmfstream.mixtures.movmf import annealed
from vmfstream.mixtures.steps import e_step, m_step
from vmfstream.online import filtering
from vmfstream.online.state import Matrix, Rows, TrackerSettings, TrackState, rows_of, stack
from vmfstream.stages import timed


@dataclass(frozen=True, slots=True, eq=False)
class Refit:
    """A candidate for the window: memberships per slice, anchor, concentration and the bound that judges it.

    ``cold`` is True if its topics are not matched to the present ones; ``present`` is the bound of the memberships
    before, -inf where it cannot be compared. ``prior`` (D, kp) is that of its first topics, if these have seeds.
    """

    resp: list[Matrix]
    anchor: Matrix
    kappa: float
    bound: float
    k: int
    cold: bool
    present: float = -np.inf
    prior: Matrix | None = None

    @property
    def gain(self) -> float:
        """By how much the bound has grown, as a share of it."""
        return float((self.bound - self.present) / max(abs(self.bound), 1e-300))


def cold_fits(
    xs: Sequence[Rows],
    k: int,
    settings: TrackerSettings,
    omega: float,
    rng: np.random.Generator,
    seeds: Matrix | None = None,
) -> Refit:
    """Fit slices from nothing: a static fit, then the smoother.

    Several starts compete on few documents. In many, topics are looked for in a sample, and all documents continue.
    With ``seeds`` (D, J), unit columns, there is one start, and the first J topics are theirs.
    """
    x = stack(list(xs), int(xs[0].shape[1]))
    if seeds is not None:
        from vmfstream.online.seeded import seeded_fit

        found = seeded_fit(x, k, seeds, settings, rng)
        return from_static(xs, found.fit, found.prior, settings, omega, found.own)
    rows = _sample(x, k, settings, rng)
    if len(rows) < rows_of(x) and directed_rows(x[rows]) >= k:
        starts = min(settings.cold_starts, settings.fitting.least_starts)
        resp = sampled_start(x, rows, k, rng, starts, threads=settings.threads)
        fit, prior = static_fit(x, resp, k, settings)
        return from_static(xs, fit, prior, settings, omega)
    fewer = max(settings.fitting.least_starts, round(settings.fitting.cold_documents / max(1, rows_of(x))))
    fits = static_fits(x, k, settings, rng, min(settings.cold_starts, fewer))
    candidates = (from_static(xs, fit, prior, settings, omega) for fit, prior in fits)
    return max(candidates, key=lambda c: c.bound)


def _sample(x: Rows, k: int, settings: TrackerSettings, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the rows of ``x`` among which topics are looked for, in their order; all if they are few."""
    most = max(settings.fitting.sampled_documents, settings.fitting.sampled_per_topic * k)
    n = rows_of(x)
    return np.arange(n) if n <= most else np.sort(rng.permutation(n)[:most])


def static_fits(
    x: Rows, k: int, settings: TrackerSettings, rng: np.random.Generator, starts: int
) -> Iterator[tuple[variational.FlatFit, Prior]]:
    """Fit variational B-vMFmix to rows of all times, once per start: annealed EM, then the Bayesian sweeps."""
    for resp in annealed_starts(x, k, rng, starts, threads=settings.threads):
        yield static_fit(x, resp, k, settings)


def static_fit(x: Rows, resp: Matrix, k: int, settings: TrackerSettings) -> tuple[variational.FlatFit, Prior]:
    """Fit variational B-vMFmix to rows of all times from memberships ``resp`` (N, kp)."""
    prior = moment_prior(x, resp, k, alpha=settings.alpha)
    sweeps, threads = settings.fitting.flat_sweeps, settings.threads
    return variational.fit(x, resp, k, prior, kappa="point", max_iter=sweeps, threads=threads), prior


def from_static(
    xs: Sequence[Rows],
    fit: variational.FlatFit,
    prior: Prior,
    settings: TrackerSettings,
    omega: float,
    own: Matrix | None = None,
) -> Refit:
    """Link a static ``fit`` over slices by the smoother, with its ``prior`` as the anchor; ``own`` is that of seeds."""
    k = len(fit.rho)
    anchor = np.asarray(prior.b, np.float32)
    splits = np.cumsum([rows_of(part) for part in xs])[:-1]
    linked = fit_smoother(
        xs,
        np.split(fit.resp, splits),
        float(fit.kappa.mean[0]),
        np.zeros(k),
        np.zeros((len(anchor), padded(k)), np.float32),
        anchor,
        omega,
        settings.alpha,
        max_iter=settings.fitting.cold_sweeps,
        threads=settings.threads,
        pins=None if own is None else pins_of(own),
    )
    return Refit([_f32(r) for r in linked.resps], anchor, linked.kappa, linked.bound, k, cold=True, prior=own)


@timed("refits")
def refit(state: TrackState, settings: TrackerSettings, rng: np.random.Generator, *, cold: bool) -> Refit:
    """Choose among the candidates for the window of ``state``.

    While nothing is committed: continue, and fits from nothing if ``cold``; one with more topics wins at once, since
    bounds compare only at equal K. Where documents are many, topics that are as many already are annealed again
    instead: a search among few of them finds little that the first one has not. Afterwards: restarted annealing. Where
    annealing does not better the bound: continue.
    """
    xs = [w.x for w in state.window]
    omega = settings.persistences[state.leader]
    many = sum(map(rows_of, xs)) > settings.fitting.sampled_documents
    again = None
    if not state.warm_up:
        again = _warm(state, settings, _restart_temperatures(state, settings))
    elif cold and many and state.seeds is None and topics_for(xs, settings) <= state.k:
        present = _warm(state, settings, (), sweeps=0).bound
        again = replace(_warm(_annealed(state, settings, rng), settings, ()), present=present)
    if again is not None:
        return again if again.bound > again.present else _warm(state, settings, ())
    candidates = [_warm(state, settings, ())]
    if cold and sum(directed_rows(x) for x in xs) >= state.k:  # a new vocabulary may have emptied some
        anew = cold_fits(xs, max(topics_for(xs, settings), state.k), settings, omega, rng, state.seeds)
        if anew.k > state.k:
            return anew
        candidates.append(anew)
    return replace(max(candidates, key=lambda c: c.bound), present=candidates[0].present)


def topics_for(xs: Sequence[Rows], settings: TrackerSettings) -> int:
    """Topics that documents can carry: all that are wanted, or one for every two documents while there are few."""
    return max(1, min(settings.topics, sum(directed_rows(x) for x in xs) // 2))


def directed_rows(x: Rows) -> int:
    """Number of rows that carry a direction."""
    return int(np.count_nonzero(directed(x)))


def _restart_temperatures(state: TrackState, settings: TrackerSettings) -> list[float]:
    """Inverse temperatures from shortly above melting to 1."""
    beta = settings.fitting.reheating * melting(*_flat(state, settings), threads=settings.threads)
    return temperatures(beta, settings.fitting.cooling)


def _annealed(state: TrackState, settings: TrackerSettings, rng: np.random.Generator) -> TrackState:
    """Melt the topics of the window and anneal them as if none of them moved, first by a sample of documents."""
    x, mixture = _flat(state, settings)
    cooling, threads = settings.fitting.cooling, settings.threads
    sample = x[_sample(x, state.k, settings, rng)]
    beta = settings.fitting.melted * melting(sample, mixture, threads=threads)
    found = annealed(sample, mixture, beta, cooling, threads=threads)
    resp = e_step(x, annealed(x, found, CONTINUED, cooling, threads=threads), threads=threads)[0]
    parts = np.split(resp, np.cumsum([rows_of(w.x) for w in state.window])[:-1])
    return replace(state, window=tuple(replace(w, resp=part) for w, part in zip(state.window, parts, strict=True)))


def _flat(state: TrackState, settings: TrackerSettings) -> tuple[Rows, Mixture]:
    """Return the documents of the window, and the mixture of their present topics, taken to stay where they are."""
    x, resp = stack([w.x for w in state.window], state.dim), np.concatenate([w.resp for w in state.window])
    return x, m_step(x, resp, state.k, threads=settings.threads)


def _warm(state: TrackState, settings: TrackerSettings, betas: Sequence[float], sweeps: int | None = None) -> Refit:
    """Continue from the present memberships, annealed by ``betas`` if any; the past is the prior of the first slice.

    ``sweeps`` is how many there are at most, by default as many as the settings say.
    """
    h0 = filtering.past(state, state.leader)
    fit = fit_smoother(
        [w.x for w in state.window],
        [w.resp for w in state.window],
        state.kappa,
        state.n_past[: state.k],
        h0,
        state.anchor,
        settings.persistences[state.leader],
        settings.alpha,
        betas=betas,
        max_iter=settings.fitting.warm_sweeps if sweeps is None else sweeps,
        threads=settings.threads,
        pins=state.pins,
    )
    resps = [_f32(r) for r in fit.resps]
    return Refit(resps, state.anchor, fit.kappa, fit.bound, state.k, cold=False, present=fit.begun)


def _f32(a: NDArray[np.floating]) -> Matrix:
    return np.ascontiguousarray(a, np.float32)
