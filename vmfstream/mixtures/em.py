"""The loop of expectation and maximisation, shared by mixtures of von Mises-Fisher and of Watson distributions.

A `MixtureModel` has the two steps; `climb` repeats them until the objective or the labels stop changing. It ends with
an E-step, so that labels and statistics belong to exactly the parameters that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vmfstream.arrays import Rows, Vector
from vmfstream.directional.params import Mixture
from vmfstream.mixtures.columns import eligible
from vmfstream.progress import swept

DEAD = 0.5
"""Weight, in documents, below which a component is dead and starts again from the document explained worst.

A document weighs 1, or what a row weighs on average if that is less.
"""

TIE = 1e-10
"""Relative difference of objectives that is rounding: which of two fits that end alike is kept must not hang on it."""

S = TypeVar("S")


@dataclass(frozen=True, slots=True, eq=False)
class Expectation(Generic[S]):
    """What an E-step finds.

    ``statistics`` is what the M-step of the same model needs; ``objective`` the mean over documents, in nats; ``nk``
    (k,) the weight of each component; ``labels`` (N,) the component of the largest score, -1 for rows without
    direction; ``loglik`` (N,) how well each document is explained.
    """

    statistics: S
    objective: float
    nk: Vector
    labels: NDArray[np.integer]
    loglik: Vector


class MixtureModel(Protocol[S]):
    """The steps of EM for one kind of component, on documents that it holds."""

    def e_step(self, mixture: Mixture) -> Expectation[S]:
        """Assign documents to components, softly or wholly."""
        ...

    def m_step(self, mixture: Mixture, found: Expectation[S], sweep: int) -> Mixture:
        """Estimate the mixture after E-step number ``sweep``, from 1, whose result under ``mixture`` is ``found``."""
        ...

    def restart(
        self, mixture: Mixture, found: Expectation[S], sweep: int, dead: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> Mixture:
        """Do `m_step` so that the ``dead`` components start again, each from one of the documents ``rows``.

        ``mixture``, ``found`` and ``sweep`` are those of `m_step`; ``dead`` and ``rows`` have the same length.
        """
        ...


@dataclass(frozen=True, slots=True)
class Stop:
    """When EM ends: at the latest after ``max_iter`` M-steps.

    Before, if ``by_labels``, when no document changes its component; otherwise when the objective changes by less than
    ``tol``. In neither case before E-step number ``earliest``.
    """

    max_iter: int
    tol: float
    by_labels: bool = False
    earliest: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Climb(Generic[S]):
    """The end of EM: the mixture, the E-step under it, the objective of every E-step, whether it converged."""

    mixture: Mixture
    last: Expectation[S]
    trace: Vector
    converged: bool


def climb(model: MixtureModel[S], x: Rows, mixture: Mixture, stop: Stop, weights: Vector | None = None) -> Climb[S]:
    """Alternate E-steps and M-steps from ``mixture`` on.

    Components that have less than half a document start again, at most as many times as there are components; the
    objective may fall then.

    Parameters
    ----------
    model : MixtureModel of the documents ``x`` and their ``weights``
    x : (N, D) unit rows
    mixture : Mixture, where EM starts
    stop : Stop
    weights : (N,) float64, how often each document was seen; once by default
    """
    taking_part = eligible(x, weights)
    one = 1.0 if weights is None else min(1.0, float(weights[taking_part].mean()))
    trace: list[float] = []
    labels = np.full(x.shape[0], -1, np.int64)
    spare = mixture.k
    while True:
        before, found = labels, model.e_step(mixture)
        labels = found.labels
        trace.append(found.objective)
        swept(len(trace), "nats a row", found.objective)
        dead = np.flatnonzero(found.nk < DEAD * one)[:spare]
        if stop.by_labels:
            rest = np.array_equal(labels[taking_part], before[taking_part])
        else:
            rest = len(trace) > 1 and abs(trace[-1] - trace[-2]) < stop.tol
        converged = rest and len(trace) >= stop.earliest and not len(dead)
        if converged or len(trace) > stop.max_iter:
            return Climb(mixture, found, np.array(trace), converged)
        spare -= len(dead)
        if len(dead):
            worst = np.argsort(np.where(taking_part, found.loglik, np.inf))[: len(dead)]
            mixture = model.restart(mixture, found, len(trace), dead[: len(worst)], worst)
        else:
            mixture = model.m_step(mixture, found, len(trace))


class Traced(Protocol):
    """A fit with the objective of every sweep."""

    @property
    def trace(self) -> Vector:
        """Its last entry is the objective of the fit."""
        ...


F = TypeVar("F", bound=Traced)


def best_of(fits: Iterable[F], objective: Callable[[F], float] = lambda fit: float(fit.trace[-1])) -> F:
    """Return the first of the ``fits`` whose ``objective`` is the largest, up to rounding."""
    every = iter(fits)
    best = next(every)
    for fit in every:
        if objective(fit) - objective(best) > TIE * abs(objective(best)):
            best = fit
    return best
