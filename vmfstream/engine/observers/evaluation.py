"""Compare the tracker with batch models refitted on all past: predictive log-likelihood of the next slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vmfstream.bayes.predictive import predictive
from vmfstream.bayes.temporal.chain import convolve, forward, next_slice_density
from vmfstream.directional.bessel import bessel_ratio, inv_bessel_ratio
from vmfstream.directional.kernels import accumulate
from vmfstream.engine.models.tracker import TrackerModel
from vmfstream.mixtures.columns import directed
from vmfstream.online.reading import predictive_log_likelihood
from vmfstream.online.state import Rows, TrackerSettings, TrackState, rows_of, slice_rng, stack
from vmfstream.online.vocabulary_change import carried_vectors
from vmfstream.online.window import from_static, static_fits, topics_for
from vmfstream.slicing import Slicing
from vmfstream.text.encoders import Counted, DocumentEncoder, Growth

METHODS = {
    "tracker": "the tracker, one pass",
    "static": "(a) static B-vMFmix, refitted on all past at every slice",
    "smoother": "(b) T-vMFmix smoother, refitted on all past at every slice",
    "cut": "(c) the tracker with the link between slices cut",
    "frozen": "(d) the tracker's means frozen once 500 documents were read",
}

WARM_UP = 5
"""Slices left out of the means: every method is still short of documents there."""

FREEZE_AFTER = 500
"""Documents read before the means of the frozen tracker are frozen."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One slice: its documents and the mean log-density per document of each method, nats relative to uniform."""

    label: str
    documents: int
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """All slices that could be predicted."""

    rows: list[Compared]

    def mean(self, method: str) -> float:
        """Return the mean over slices after the warm-up; NaN if there is no slice."""
        return float(np.mean([row.scores[method] for row in self._counted])) if self.rows else float("nan")

    @property
    def _counted(self) -> list[Compared]:
        return self.rows[WARM_UP - 1 :] if len(self.rows) > WARM_UP else self.rows

    def render(self) -> str:
        """Format as a table for a terminal."""
        if not self.rows:
            return "nothing to compare: no slice came after the first topics"
        head = f"{'slice':<12}{'documents':>10}" + "".join(f"{m:>10}" for m in METHODS)
        lines = ["log-density of the next slice, nats per document relative to uniform", head]
        for row in self.rows:
            lines.append(f"{row.label:<12}{row.documents:>10,}" + "".join(f"{row.scores[m]:>10.1f}" for m in METHODS))
        span = f"{self._counted[0].label} on"
        lines.append(f"{'mean, ' + span:<22}" + "".join(f"{self.mean(m):>10.1f}" for m in METHODS))
        lines += [f"{name:<10}{meaning}" for name, meaning in METHODS.items()]
        return "\n".join(lines)


class Evaluator:
    """Keeps the documents of all slices and, at the end of each slice, lets batch models predict it too.

    A `vmfstream.engine.loop.state.SliceHook`.

    Parameters
    ----------
    encoder, model, slicing : those of the engine that it observes.

    Attributes
    ----------
    rows : the slices that could be predicted so far.
    """

    def __init__(self, encoder: DocumentEncoder, model: TrackerModel, slicing: Slicing) -> None:
        self._encoder, self._model, self._slicing = encoder, model, slicing
        self.rows: list[Compared] = []
        self._past: list[Counted] = []
        self._frozen: TrackState | None = None

    def before_end(self, index: int, documents: Counted) -> None:
        """Let all methods predict the documents of a slice."""
        state, encoder = self._model.state, self._encoder
        if sum(len(counts) for counts in self._past[:-1]) < FREEZE_AFTER:
            self._frozen = state
        if state is not None and len(documents):
            x = encoder.encode(documents)
            past = [encoder.encode(counts) for counts in self._past]
            scores = _scores(state, self._frozen or state, past, x, self._model.settings)
            self.rows.append(Compared(self._slicing.slice(index).label, rows_of(x), scores))
        self._past.append(documents)

    def vocabulary_changed(self, growth: Growth) -> None:
        """Follow the change of terms and columns."""
        if growth.terms is not None:
            self._past = [counts.remap(growth.terms) for counts in self._past]
        if self._frozen is not None:
            self._frozen = _regrown(self._frozen, growth)


def _regrown(state: TrackState, growth: Growth) -> TrackState:
    """Move a state that learns nothing any more to a new vocabulary."""
    new = len(growth.columns)
    return replace(
        state,
        base=carried_vectors(state.base, growth.columns),
        kappa=float(inv_bessel_ratio(new, bessel_ratio(state.dim, state.kappa))),
        window=(),
        past=None,
    )


def _scores(
    state: TrackState, frozen: TrackState, past: Sequence[Rows], x: Rows, settings: TrackerSettings
) -> dict[str, float]:
    anchor = np.zeros_like(state.base)
    anchor[:, : state.k] = state.anchor[:, None]
    static, smoother = _refitted(state, past, x, settings)
    return {
        "tracker": float(predictive_log_likelihood(state, x, settings).mean()),
        "static": static,
        "smoother": smoother,
        "cut": float(predictive_log_likelihood(state, x, settings, base=anchor).mean()),
        "frozen": float(predictive_log_likelihood(frozen, x, settings).mean()),
    }


def _refitted(state: TrackState, past: Sequence[Rows], x: Rows, settings: TrackerSettings) -> tuple[float, float]:
    """Best of the cold starts by each model's own bound, static and linked, fitted on everything before the slice."""
    rng = slice_rng(settings.seed, state.slice, 3)
    omega = settings.persistences[state.leader]
    rows = stack(list(past), state.dim)
    k = topics_for(past, settings)
    fits = list(static_fits(rows, k, settings, rng, settings.cold_starts))
    fit, _ = max(fits, key=lambda f: f[0].trace[-1])
    has_direction = directed(x)
    weights = np.log(fit.rho / fit.rho.sum())
    static = predictive(x, fit.f, fit.gamma, fit.kappa, weights)[has_direction].mean()
    linked = max((from_static(past, fit, prior, settings, omega) for fit, prior in fits), key=lambda c: c.bound)
    stats = [accumulate(part, resp, threads=settings.threads) for part, resp in zip(past, linked.resp, strict=True)]
    _, h = forward(stats, linked.kappa, np.zeros_like(stats[0]), omega)
    n = np.sum([resp.sum(axis=0, dtype=np.float64) for resp in linked.resp], axis=0)[:k]
    weights = np.log(n + settings.alpha) - np.log(n.sum() + k * settings.alpha)
    density = next_slice_density(x, convolve(h[-1], omega), linked.anchor, linked.kappa, weights)
    return float(static), float(density[has_direction].mean())
